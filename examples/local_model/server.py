"""An OpenAI-compatible server over SmolLM2-135M-Instruct, on this machine's loopback interface only.

Run `python examples/local_model/server.py`; it prints its address when it is ready.
"""

from __future__ import annotations

import argparse
import json
import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from engine import ContextOverflow, Engine
from policy import decide
from wire import BadRequest, ChatRequest, chunks, completion, failure, models, parse

HOST = "127.0.0.1"
MAX_BODY_BYTES = 4 * 1024 * 1024


class Server(ThreadingHTTPServer):
    """The listening socket and the model behind it."""

    daemon_threads = True

    def __init__(self, port: int, engine: Engine) -> None:
        self.engine = engine
        super().__init__((HOST, port), Handler)


class Handler(BaseHTTPRequestHandler):
    """One connection; requests on it are answered in order."""

    protocol_version = "HTTP/1.1"
    # Headers and body are two writes; without this the second waits 40 ms for an acknowledgement of the first.
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        """Answer `/v1/models` and `/health`."""
        if self.path == "/v1/models":
            self._json(HTTPStatus.OK, models())
        elif self.path == "/health":
            self._json(HTTPStatus.OK, {"status": "ok"})
        else:
            self._json(HTTPStatus.NOT_FOUND, failure(f"no such address: {self.path}"))

    def do_POST(self) -> None:
        """Answer `/v1/chat/completions`."""
        raw = self._body()
        if raw is None:
            return
        if self.path != "/v1/chat/completions":
            self._json(HTTPStatus.NOT_FOUND, failure(f"no such address: {self.path}"))
            return
        try:
            self._answer(parse(raw))
        except (BadRequest, ContextOverflow) as error:
            self._json(HTTPStatus.BAD_REQUEST, failure(str(error)))

    def _answer(self, request: ChatRequest) -> None:
        # Without a seed every request is a fresh draw, as with a hosted model.
        seed = secrets.randbits(31) if request.seed is None else request.seed
        decision = decide(self.server.engine, request, seed=seed)
        if request.stream:
            self._events(chunks(request, decision))
        else:
            self._json(HTTPStatus.OK, completion(request, decision))

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            self.close_connection = True
            self._json(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, failure(f"a body needs a length up to {MAX_BODY_BYTES} bytes")
            )
            return None
        return self.rfile.read(int(length))

    def _json(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        raw = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _events(self, values: Any) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for value in values:
            self._piece(f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode())
        self._piece(b"data: [DONE]\n\n")
        self._piece(b"")

    def _piece(self, raw: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(raw), raw))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  http.server's name
        """Stay silent: the standard handler writes a line for each request."""


def main() -> None:
    """Load the model, listen, and serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8135, help="0 picks a free one")
    server = Server(parser.parse_args().port, Engine())
    print(f"http://{HOST}:{server.server_address[1]}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print("stopped")


if __name__ == "__main__":
    main()
