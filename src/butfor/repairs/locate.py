"""Which steps are to be repaired: the blamed ones, from a stored attribution or a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.attribution import Ask
from butfor.attribution.answers import AnswerKind
from butfor.attribution.drive import drive_method
from butfor.attribution.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from butfor.attribution import Attribution
    from butfor.attribution.case import Case
    from butfor.canonical import Json

_WITH_STEPS = ("search", "profile")
_BLAMES = {AnswerKind.DECISIVE.value, AnswerKind.WITHHELD.value}


@dataclass(frozen=True, kw_only=True)
class Located:
    """The steps to repair.

    Attributes:
        steps: The most blamed first; empty where no step is to blame.
        sentence: How they were found, or why there is none.
        attribution: The answer that names them, where this call asked for it.
    """

    steps: tuple[int, ...]
    sentence: str
    attribution: Attribution | None = None


def stored_blame(case: Case, *, most: int) -> Located | None:
    """Read the blamed steps from the last attribution of this run with this outcome; None where there is none."""
    bodies = [
        canonical.decode(each.body)
        for each in case.rollouts.store.list_results(case.run.run_id)
        if each.kind in (*_WITH_STEPS, "responsibility")
    ]
    usable = [each for each in bodies if each["settings"].get("outcome") == case.score.name]
    return read_blame(usable[-1], most=most) if usable else None


def find_blame(case: Case, *, most: int) -> Located:
    """Attribute the run by `search`."""
    attribution = drive_method(case, METHODS["search"](case, Ask()), method="search", settings=Ask().to_json())
    return _with(read_blame(attribution.to_json(), most=most), attribution)


def find_responsible(case: Case, proposals: Mapping[int, Sequence[Json]], *, draws: int, most: int) -> Located:
    """Attribute the run by `responsibility`, with proposals that someone really made."""
    ask = Ask(draws=draws, proposals=proposals)
    sampler = METHODS["responsibility"](case, ask)
    attribution = drive_method(case, sampler, method="responsibility", settings=ask.to_json(), proposals=proposals)
    return _with(read_blame(attribution.to_json(), most=most), attribution)


def read_blame(body: dict[str, Any], *, most: int) -> Located:
    """Read the blamed steps from an attribution's document, the most blamed first."""
    answer, name = body["answer"], f"attribution {str(body['result_id'])[:8]}"
    if body["method"] == "responsibility" and "steps" in answer:
        lifts = {
            each["step"]: each["lift"]["point"] for each in answer["steps"] if each["lift"].get("lower", 0.0) > 0.0
        }
        steps = sorted(lifts, key=lambda step: -lifts[step])[:most]
        return Located(steps=tuple(steps), sentence=f"{name} (responsibility): {answer['sentence']}")
    if answer["kind"] not in _BLAMES:
        return Located(steps=(), sentence=f"{answer['sentence']} ({name}) Name a step with --step to repair it anyway.")
    blames = {each["step"]: each["blame"].get("point", 0.0) for each in answer["steps"]}
    steps = sorted(answer["candidates"], key=lambda step: -blames.get(step, 0.0))[:most]
    return Located(steps=tuple(steps), sentence=f"{answer['sentence']} ({name})")


def _with(located: Located, attribution: Attribution) -> Located:
    return Located(steps=located.steps, sentence=located.sentence, attribution=attribution)
