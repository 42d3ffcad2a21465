"""Ambient boundaries: module-level time and randomness of agents that were not written for us (opt-in).

While a session with `ambient` is open, `time.time`, the functions of `random`, the legacy functions of
`numpy.random` with an unseeded `default_rng`, and `uuid.uuid4` look for the lane of their caller. Without a lane they
do what they always did.

**Randomness costs no crossing.** A lane draws from generators of its own, seeded anew after each of its crossings by
(source, lane, number of crossings). In a recording the source is its entropy, which stands in the journal's header.
In a rollout it is that same entropy as long as the last step of the lane is held, and the draw's key from then on
and inside live model calls. So everything between held crossings comes out as recorded, whatever other lanes drew
and however often libraries draw inside a boundary; and drawing step k again redraws all noise after it.

**Each reading of the time is a crossing**, in a lane of its own, "0~3" for those after the third crossing of "0": one
reading more or less, in a loop that waits, displaces no other crossing. After `MOST_READINGS` without a crossing in
between the time is not journaled any more. In a replay, readings beyond the recorded ones go on from the last.

A seed that the agent sets itself (`random.seed(1)`) holds in its lane from then on. Not seen: methods of the agent's
own `random.Random()`, `datetime.now()`, and `random.random` or `getrandbits` under a name that was imported into a
module which is not the user's own; they show as divergence. Child processes pass through.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

from butfor import noise
from butfor.replay.code import is_installed
from butfor.replay.lanes import Lane, at
from butfor.replay.session import Served

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

MOST_READINGS = 256
"""Journaled readings of the time between two crossings of a lane: a loop that waits must not fill the journal."""

real_time = time.time
_real_uuid4 = uuid.uuid4

# Whose readings are no part of what an agent decides; each would be a line of the journal.
_UNREAD = frozenset({"asyncio", "concurrent", "logging", "sqlalchemy", "threading"})
_OURS = ("butfor.replay", "butfor.store")


class Noise:
    """The ambient randomness of one lane since its last crossing.

    Attributes:
        place: (crossings, step) of the lane when `source` was looked up last.
        source: (crossings, whether drawn again) that the generators belong to.
        seed: What they are seeded from.
        kept: Generators that the agent seeded itself: they stay.
        reading: The last reading of the time, and the monotonic time at it.
    """

    __slots__ = ("generators", "kept", "place", "reading", "seed", "source")

    def __init__(self) -> None:
        self.place = (-1, -2)
        self.source = (-1, False)
        self.seed = 0
        self.generators: dict[str, Any] = {}
        self.kept: set[str] = set()
        self.reading: tuple[float, float] | None = None

    def generator(self, family: str, make: Callable[[int], Any]) -> Any:
        """Return the generator of "random", "numpy" or "uuid"."""
        found = self.generators.get(family)
        if found is None:
            found = self.generators[family] = make(noise.seed_of("ambient", family, self.seed))
        return found


def noise_of(lane: Lane) -> Noise:
    """Return the lane's noise, seeded anew where it has crossed a boundary or come to live steps since it last drew."""
    mine = lane.noise
    if mine is None:
        mine = lane.noise = Noise()
    place = (lane.crossings, lane.step)
    if mine.place != place:
        again, seed = lane.session.noise_seed(lane)
        source = (lane.crossings, again)
        if mine.source != source:
            mine.source, mine.seed = source, seed
            mine.generators = {family: each for family, each in mine.generators.items() if family in mine.kept}
        mine.place = place
    return mine


def _lane() -> Lane | None:
    lane = at()
    if lane is None or not lane.session.ambient or lane.session.process != os.getpid():
        return None
    return lane


def _time() -> float:
    lane = _lane()
    if lane is None or lane.inside_model or _is_unread(sys._getframe(1).f_globals.get("__name__", "")):
        return real_time()
    return _reading(lane)


def _is_unread(module: str) -> bool:
    return module.partition(".")[0] in _UNREAD or module.startswith(_OURS)


def _reading(lane: Lane) -> float:
    mine = noise_of(lane)
    path = f"{lane.path}~{lane.crossings}"
    clock = lane.clock
    if clock is None or clock.path != path:
        clock = lane.clock = Lane(lane.session, path)
    clock.step = lane.step
    if clock.crossings >= MOST_READINGS and mine.reading is not None:
        return mine.reading[0] + time.monotonic() - mine.reading[1]
    verdict = lane.session.begin(clock, "ambient", "time.time", None)
    value = verdict.deliver() if isinstance(verdict, Served) else lane.session.finish(verdict, real_time())
    mine.reading = (float(value), time.monotonic())
    return mine.reading[0]


def _uuid4() -> uuid.UUID:
    lane = _lane()
    if lane is None:
        return _real_uuid4()
    return uuid.UUID(int=noise_of(lane).generator("uuid", random.Random).getrandbits(128), version=4)


_SEEDING = frozenset({"seed", "setstate", "set_state"})


def _routed(family: str, name: str, plain: Callable[..., Any], make: Callable[[int], Any]) -> Callable[..., Any]:
    """Return what stands in the place of a module-level function: the method of that name of the lane's generator."""

    def call(*args: Any, **kwargs: Any) -> Any:
        lane = _lane()
        if lane is None:
            return plain(*args, **kwargs)
        mine = noise_of(lane)
        if name in _SEEDING:
            mine.kept.add(family)
        return getattr(mine.generator(family, make), name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = plain.__doc__
    return call


def _default_rng(plain: Callable[..., Any]) -> Callable[..., Any]:
    def default_rng(seed: Any = None) -> Any:
        lane = _lane() if seed is None else None
        return plain(seed if lane is None else noise_of(lane).generator("uuid", random.Random).getrandbits(128))

    return default_rng


def _methods_of(instance: object, module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Find a module's functions that are bound methods of its hidden instance."""
    return {name: each for name, each in vars(module).items() if getattr(each, "__self__", None) is instance}


# Three of NumPy's are functions around the hidden instance.
_NUMPY_FUNCTIONS = {"seed": "seed", "sample": "random_sample", "ranf": "random_sample"}

_routes: dict[tuple[ModuleType, str], tuple[Any, Any]] = {}
"""(module, name) to (the plain function, ours); made once in a process."""


def _add_routes() -> None:
    if _routes:
        return
    # Imported even where the agent has not done so yet: it may do so in the middle, in one process and not in another.
    import numpy as np

    _routes[time, "time"] = (real_time, _time)
    _routes[uuid, "uuid4"] = (_real_uuid4, _uuid4)
    _add_methods(random, vars(random)["_inst"], "random", random.Random)
    _add_methods(np.random, np.random.mtrand._rand, "numpy", np.random.RandomState)
    for name, method in _NUMPY_FUNCTIONS.items():
        plain = getattr(np.random, name)
        _routes[np.random, name] = (plain, _routed("numpy", method, plain, np.random.RandomState))
    _routes[np.random, "default_rng"] = (np.random.default_rng, _default_rng(np.random.default_rng))


def _add_methods(module: ModuleType, instance: object, family: str, make: Callable[[int], Any]) -> None:
    for name, plain in _methods_of(instance, module).items():
        _routes[module, name] = (plain, _routed(family, name, plain, make))


_open = 0
_lock = threading.Lock()
_rebound: list[tuple[ModuleType, str, Any, Any]] = []


class Routed:
    """While at least one session with `ambient` is open: module-level time and randomness ask for the lane.

    Args:
        on: Whether this session is such a one; otherwise nothing is done.
    """

    def __init__(self, *, on: bool) -> None:
        self._on = on

    def __enter__(self) -> None:
        global _open
        if self._on:
            with _lock:
                if _open == 0:
                    _install()
                _open += 1

    def __exit__(self, *_: object) -> None:
        global _open
        if self._on:
            with _lock:
                _open -= 1
                if _open == 0:
                    _remove()


def _install() -> None:
    _add_routes()
    for (module, name), (plain, ours) in _routes.items():
        _rebind(module, name, plain, ours)
    ours_by_id = {id(plain): (plain, ours) for plain, ours in _routes.values()}
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            found = ours_by_id.get(id(value))
            if found is not None and _is_users(module):
                _rebind(module, name, *found)


def _is_users(module: ModuleType) -> bool:
    """Whether `from time import time` in this module is the user's: libraries keep what they imported."""
    file = getattr(module, "__file__", None)
    return bool(file) and not module.__name__.startswith(_OURS) and not is_installed(str(file))


def _rebind(module: ModuleType, name: str, plain: Any, ours: Any) -> None:
    if getattr(module, name) is plain:  # what somebody else has replaced stays theirs
        setattr(module, name, ours)
        _rebound.append((module, name, plain, ours))


def _remove() -> None:
    for module, name, plain, ours in _rebound:
        if getattr(module, name, None) is ours:
            setattr(module, name, plain)
    _rebound.clear()
