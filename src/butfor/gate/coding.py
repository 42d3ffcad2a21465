"""The numbers that stand for treatment values and strata, in rows and in cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.errors import InputError
from butfor.estimation.answers import Insufficient
from butfor.estimation.columns import Columns
from butfor.estimation.questions import Contrast, Level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.estimation.questions import Target
    from butfor.gate.inputs import Inputs, Sample


def code_of(sample: Sample, name: str, value: float | str) -> float | None:
    """Return the number that stands for a value of a column; None for a text that never occurs.

    Raises:
        InputError: A text for a column of numbers, or a number for a column of texts.
    """
    levels: Mapping[str, tuple[str, ...]] = sample.data.levels if isinstance(sample.data, Columns) else sample.levels
    texts = levels.get(name)
    if (texts is None) == isinstance(value, str):
        kind = "numbers" if texts is None else "text"
        raise InputError(f"the column {name!r} holds {kind}, not {value!r}", fix="give a value of the column's kind")
    if texts is None:
        return float(value)
    return float(texts.index(str(value))) if value in texts else None


def treatment_code(inputs: Inputs) -> float:
    """Return the number that stands for t*; not a number where it never occurs."""
    code = code_of(inputs.sample, inputs.query.treatments[0], inputs.rules.to)
    return float("nan") if code is None else code


def stratum_codes(inputs: Inputs) -> dict[str, float | str]:
    """Return the stratum in numbers, without what never occurs."""
    codes = {name: code_of(inputs.sample, name, value) for name, value in inputs.within.items()}
    return {name: code for name, code in codes.items() if code is not None}


def coded_target(inputs: Inputs, target: Target) -> Target | Insufficient:
    """Return the target in numbers, or that a treatment value was never seen."""
    values = (target.to, target.against) if isinstance(target, Contrast) else (target.at,)
    codes = []
    for value in values:
        code = code_of(inputs.sample, inputs.query.treatments[0], value)
        if code is None:
            return Insufficient(
                reason_code="insufficient_evidence", sentence=f"the treatment {value!r} was never seen in the evidence"
            )
        codes.append(code)
    return Contrast(to=codes[0], against=codes[1]) if isinstance(target, Contrast) else Level(at=codes[0])
