"""How faithfully a step can be run again."""

from __future__ import annotations

from enum import IntEnum

from pydantic import BaseModel, ConfigDict

from butfor.errors import InputError


class Replayability(IntEnum):
    """What can be done with a step, worst first, so that `min` of a run's steps is the run's grade."""

    VIEW_ONLY = 0
    """Content is missing: the step can be read, not replayed."""
    APPROXIMATE = 1
    """Something was defaulted or seen to differ; `Grade.missing` says what."""
    EXACT = 2
    """Request, tools and sampling parameters are known."""

    @property
    def label(self) -> str:
        """The word used in files and reports."""
        return self.name.lower().replace("_", "-")


class Grade(BaseModel):
    """A replayability grade and the fields that keep it from being better.

    Attributes:
        level: The grade.
        missing: Names of the missing, defaulted or differing fields, each with its reason after a colon where known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Replayability = Replayability.EXACT
    missing: tuple[str, ...] = ()

    def __and__(self, other: Grade) -> Grade:
        """Combine two grades: the worse level, all that is missing."""
        return Grade(level=min(self.level, other.level), missing=tuple(dict.fromkeys((*self.missing, *other.missing))))

    def require(self, least: Replayability, *, verb: str, where: str) -> None:
        """Refuse what the grade cannot support.

        Raises:
            InputError: The level is below `least`; the message names the missing fields.
        """
        if self.level < least:
            lacking = ", ".join(self.missing) or "content"
            raise InputError(
                f"{verb} needs a run graded {least.label}, and this one is {self.level.label}; missing: {lacking}",
                where=where,
                fix="record the run with butfor, or import a trace that carries these fields",
            )
