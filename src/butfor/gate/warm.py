"""What is remembered between decisions: answers, bounds and examinations, by the digests that they follow from."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, TypeVar

from butfor.gate.inputs import answer_for
from butfor.gate.measure import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from butfor.gate.inputs import Answer, Inputs
    from butfor.gate.measure import Measured
    from butfor.gate.robustness.report import Robustness
    from butfor.graphs import Graph
    from butfor.identification import Assumption, Query

_T = TypeVar("_T")
MOST = 4096


class Warm:
    """A memory that never changes an answer.

    Every key holds the digests of graph and evidence, so a change of either is another question; nothing has to be
    told that it changed. What raised is not remembered. Threads may share it.

    Args:
        most: How many things to keep; the one used longest ago goes first.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def answer(
        self, graph: Graph, query: Query, *, randomised: bool = False, instrument: tuple[str, Assumption] | None = None
    ) -> Answer:
        """Return proof or hedge; see `answer_for`."""
        key = ("answer", graph.digest, query, randomised, instrument)
        return self._get(key, lambda: answer_for(graph, query, randomised=randomised, instrument=instrument))

    def measured(self, inputs: Inputs) -> Measured:
        """Return the bounds; see `measure`."""
        return self._get(("measured", *_key(inputs)), lambda: measure(inputs))

    def robustness(self, inputs: Inputs, *, show: bool) -> Robustness | None:
        """Return what an examination finds; see `examine`."""
        from butfor.gate.robustness.examination import examine

        return self._get(("robustness", show, *_key(inputs)), lambda: examine(inputs, show=show))

    def remember(self, key: Hashable, make: Callable[[], _T]) -> _T:
        """Return what was made for a key before, or make it."""
        return self._get(("other", key), make)

    def pieces(self, inputs: Inputs, decided: Hashable, make: Callable[[], _T]) -> _T:
        """Return what was written of a question's certificate before, or write it."""
        return self._get(("pieces", decided, *_key(inputs)), make)

    def peek(self, key: Hashable) -> Any:
        """Return what `keep` put under a key; None where there is nothing."""
        with self._lock:
            return self._kept.get(("other", key))

    def keep(self, key: Hashable, value: object) -> None:
        """Put something under a key."""
        with self._lock:
            self._kept["other", key] = value
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def _get(self, key: Hashable, make: Callable[[], _T]) -> _T:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                found: _T = self._kept[key]
                return found
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


def _key(inputs: Inputs) -> tuple[Hashable, ...]:
    sample = inputs.sample
    within = tuple(sorted(inputs.within.items()))
    return inputs.graph.digest, inputs.query, sample.digest, sample.kind, within, inputs.rules, inputs.level
