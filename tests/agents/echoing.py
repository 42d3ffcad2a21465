"""A model that knows nothing: it answers every request with 18 and an empty program."""

from typing import Any


def answer(request: dict[str, Any]) -> dict[str, Any]:
    del request
    message = {"role": "assistant", "content": "A: 18\n```python\ndef f(): pass\n```"}
    return {"choices": [{"message": message, "finish_reason": "stop"}]}
