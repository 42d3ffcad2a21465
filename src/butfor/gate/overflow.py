"""Arithmetic that overflows is a refusal, never a number."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def overflow_refused() -> Iterator[None]:
    """Refuse what overflows inside.

    Estimators turn what is not finite into a refusal by themselves; what overflowed on the way might come out finite.

    Raises:
        InputError: A number overflowed, or a decomposition did not converge.
    """
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            yield
    except (ArithmeticError, np.linalg.LinAlgError):
        raise InputError(
            "the numbers of the evidence are too large or too small to compute with", fix="choose other units"
        ) from None
