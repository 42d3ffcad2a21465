"""Recording and replaying any client that speaks an OpenAI-compatible HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.errors import MissingExtra

if TYPE_CHECKING:
    import httpx2

    from butfor.replay.httpx_drivers import ModelTransport


def openai_transport(inner: httpx2.BaseTransport | httpx2.AsyncBaseTransport | None = None) -> ModelTransport:
    """Make a transport that records and replays what an HTTP client asks a model.

    ::

        client = OpenAI(http_client=httpx2.Client(transport=butfor.openai_transport()))
        client = AsyncOpenAI(http_client=httpx2.AsyncClient(transport=butfor.openai_transport()))

    Each POST to ``…/chat/completions``, ``/responses``, ``/messages`` or ``/completions`` is one policy decision,
    however often the client repeats it after a failure. Its request is ``{"path", "body"}``; credentials are in headers
    and never kept. Streams are kept as events. Outside a recording or a replay everything goes straight through, and so
    does always what is sent to other addresses.

    In a live rollout a `seed` in the body is replaced by the draw's seed. Statuses 429 and 5xx and lost connections are
    tried again there, with the same draw, before the client hears of them.

    Args:
        inner: What sends the requests; by default httpx2's own transports.

    Raises:
        MissingExtra: httpx2 is not installed.
    """
    try:
        from butfor.replay.httpx_drivers import ModelTransport
    except ModuleNotFoundError as error:
        if error.name != "httpx2":
            raise
        raise MissingExtra("httpx2", extra="openai", purpose="the transport for the openai client") from None
    return ModelTransport(inner)
