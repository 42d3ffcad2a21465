"""Which noise a rollout decides with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from butfor import noise

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.replay.lanes import Lane


class Seeds(Protocol):
    """Gives the seed of a live decision."""

    def seed(self, digest: str, lane: str, occurrence: int) -> int | None:
        """Return the seed, or None to leave the agent's own in place.

        Args:
            digest: Digest of the request.
            lane: Spawn path of the part that decides.
            occurrence: How many crossings of that lane began before it.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class FreshSeeds:
    """A policy draw is keyed by (analysis fingerprint, request digest, lane, occurrence, draw id); design §4.

    Attributes:
        fingerprint: Of the analysis: agent code, tools, simulators, outcome, model.
        draw: The draw's id. Arms use disjoint ids, so that no draw enters two estimates.
    """

    fingerprint: str
    draw: str

    def seed(self, digest: str, lane: str, occurrence: int) -> int | None:
        """Return the draw's seed for this decision."""
        return noise.seed_of("draw", self.fingerprint, digest, lane, occurrence, self.draw)


@dataclass(frozen=True, kw_only=True)
class RecordedSeeds:
    """Leave every seed as the agent sets it: the same request is decided with the same noise as in the recording."""

    def seed(self, digest: str, lane: str, occurrence: int) -> int | None:
        """Return None."""
        del digest, lane, occurrence
        return None


def recorded_noise(entropy: bytes, lane: Lane) -> int:
    """Return the seed of a recording's ambient randomness in a lane since its last crossing.

    Args:
        entropy: The recording's.
        lane: The lane.
    """
    return noise.seed_of(entropy, "ambient", lane.path, lane.crossings)


def has_seed(payload: Json) -> bool:
    """Say whether a request carries a seed."""
    return _seed_holder(payload) is not None


def with_seed(payload: Json, seed: int) -> Json:
    """Replace a request's seed, where it has one; nothing else of it changes."""
    place = _seed_holder(payload)
    if place is None:
        return payload
    if not place:
        return payload | {"seed": seed}
    field, position = place
    if position is None:
        return payload | {field: payload[field] | {"seed": seed}}
    args = list(payload[field])
    args[position] = args[position] | {"seed": seed}
    return payload | {field: args}


def _seed_holder(payload: Json) -> tuple[()] | tuple[str, int | None] | None:
    """Find what holds the seed: the request itself (), its body or keyword arguments, or one of its arguments."""
    if not isinstance(payload, dict):
        return None
    if isinstance(payload.get("seed"), int):
        return ()
    for field in ("body", "kwargs"):
        inner = payload.get(field)
        if isinstance(inner, dict) and isinstance(inner.get("seed"), int):
            return field, None
    for position, argument in enumerate(payload.get("args") or ()):
        if isinstance(argument, dict) and isinstance(argument.get("seed"), int):
            return "args", position
    return None
