"""The benchmark's own options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.errors import InputError

if TYPE_CHECKING:
    from butfor.benchmarks.harness import Settings


def positive(settings: Settings, option: str, default: int) -> int:
    """Read an option that counts something.

    Raises:
        InputError: It is not a positive number.
    """
    text = settings.options.get(option, str(default))
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"{option} = {text!r} is not a positive number", fix=f"pass {option}={default}, say")
    return int(text)
