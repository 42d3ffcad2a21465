"""The recorder: everything is answered live and written down."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from butfor import noise
from butfor.replay.draws import recorded_noise
from butfor.replay.lanes import current
from butfor.replay.session import Live, Served, Session, text_and_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.canonical import Json
    from butfor.replay.crossings import Crossing
    from butfor.replay.lanes import Lane


class RecordingSession(Session):
    """Answers every crossing live and writes each one down as soon as it is complete.

    Args:
        write: Takes one journal line; it must have stored the line when it returns, so that a killed process loses
            no finished crossing.
        entropy: Seeds `butfor.rng()`, `butfor.uuid4()` and ambient randomness of this recording.
        ambient: Whether module-level time and randomness are boundaries too.

    Attributes:
        refusals: Boundaries that were refused, while this was recorded, to code that nobody can place.
    """

    def __init__(self, write: Callable[[str], None], *, entropy: bytes | None = None, ambient: bool = False) -> None:
        super().__init__(ambient=ambient)
        self._write = write
        self.refusals = 0
        self._entropy = entropy if entropy is not None else os.urandom(16)

    def begin(self, lane: Lane, kind: str, name: str, payload: Json, effect: str = "") -> Served | Live:
        """Answer live; what happens inside a model call belongs to that call and is not written down."""
        if self.latched is not None:
            raise self.latched
        if lane.inside_model:
            return self._inside_model(lane, kind, name, payload, effect)
        text, digest = text_and_digest(payload)
        crossing = self.open_crossing(lane, kind, name, text, digest, effect)
        if kind in ("rng", "uuid"):
            crossing.seed = noise.seed_of(self._entropy, lane.path, crossing.occurrence)
        return Live(crossing, lane, payload, text)

    def _inside_model(self, lane: Lane, kind: str, name: str, payload: Json, effect: str) -> Live:
        crossing = self.open_crossing(lane, kind, name, "null", "", effect)
        crossing.seed = noise.seed_of(self._entropy, lane.path, crossing.occurrence)
        return Live(crossing, lane, payload, "null")

    def retries(self, ticket: Live, error: BaseException) -> float | None:
        """Never: a recording shows what the agent itself does about a fault."""
        del ticket, error
        return None

    def placed(self, crossing: Crossing) -> None:
        """Write the crossing's line, outside all lanes: what the store does is no part of the agent."""
        token = current.set(None)
        try:
            self._write(crossing.line())
        finally:
            current.reset(token)

    def unplaced(self, error: BaseException) -> None:
        """Count it, and stop nothing: what a recorded agent does is real, and half of it may be worse than all."""
        del error
        self.refusals += 1

    def noise_seed(self, lane: Lane) -> tuple[bool, int]:
        """Derive it from the recording's entropy, so that nothing of it needs to be written down."""
        return False, recorded_noise(self._entropy, lane)
