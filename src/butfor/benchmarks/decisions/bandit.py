"""Show an item to everyone or not, from Open Bandit logs.

Protocol, ours: showing an item is right where its click rate, had everyone seen it, is above the mean rate of all.
The real small set (ZOZO, women's items) has 10,000 rows a policy and about one click in 200, and its truth is unknown:
it shows what is refused. The synthetic log has the real one's columns and a known truth, which uniform-random showing
would give: a policy that prefers some items for people who click anyway.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import numpy as np

from butfor.benchmarks.table_data import OBP, csv_columns, member
from butfor.benchmarks.toolbench.regression import NORMAL
from butfor.estimation import Columns
from butfor.gate import Inputs, Rules, Sample, answer_for
from butfor.gate.decide import decide
from butfor.graphs import Graph
from butfor.identification import Query
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from butfor.gate import Decision
    from butfor.graphs import Role

ALPHA = 0.05
ITEMS, POSITIONS = 46, 3
ROWS = 46_000
RATES = (0.02, 0.08)
# Keen people, a third, click twice as often as the others.
KEEN, KEENNESS = 1.0 / 3.0, 2.0
# How far the logging policy leans towards an item for keen people, at most: its odds between keen and other people.
LEAN = 4.0


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Log:
    """A log in Open Bandit's columns.

    Attributes:
        table: `item_id`, `position`, `click`, `propensity_score`, `user_feature_0`, each of shape (n,).
        rates: Each item's click rate had everyone seen it, shape (items,); None where nobody knows.
    """

    table: Mapping[str, NDArray[np.float64]]
    rates: NDArray[np.float64] | None

    @functools.cached_property
    def items(self) -> NDArray[np.float64]:
        """The items that were shown."""
        return np.unique(self.table["item_id"])

    @functools.cached_property
    def threshold(self) -> float:
        """τ_u: the mean rate of all items; where the truth is unknown, that of the log."""
        return float(self.table["click"].mean() if self.rates is None else self.rates.mean())


def synthetic(root: int, number: int, rows: int = ROWS, items: int = ITEMS) -> Log:
    """Draw a log whose policy shows items by how keen a person is, with the probability of each showing."""
    noise = numpy_generator("decisions, synthetic bandit", root, number)
    rates = noise.uniform(*RATES, items)
    lean = np.exp(noise.uniform(-1.0, 1.0, items) * np.log(LEAN))
    chances = np.array([np.ones(items) / items, lean / lean.sum()])  # for others, for keen people
    keen = (noise.random(rows) < KEEN).astype(int)
    shown = np.empty(rows, dtype=int)
    for who in (0, 1):
        shown[keen == who] = noise.choice(items, int((keen == who).sum()), p=chances[who])
    scale = np.array([1.0, KEENNESS]) / (1.0 - KEEN + KEEN * KEENNESS)
    clicked = noise.random(rows) < rates[shown] * scale[keen]
    table = {
        "item_id": shown.astype(np.float64),
        "position": noise.integers(1, POSITIONS + 1, rows).astype(np.float64),
        "click": clicked.astype(np.float64),
        "propensity_score": chances[keen, shown],
        "user_feature_0": keen.astype(np.float64),
    }
    return Log(table=table, rates=rates)


def real(policy: str) -> Log | None:
    """Read the small real log of a policy (``random`` or ``bts``); None where the wheel was not fetched."""
    raw = member(OBP, f"obp/dataset/obd/{policy}/women/women.csv")
    if raw is None:
        return None
    columns = csv_columns(raw)
    numeric = ("item_id", "position", "click", "propensity_score")
    table = {name: np.array(columns[name], dtype=float) for name in numeric}
    table["user_feature_0"] = np.unique(columns["user_feature_0"], return_inverse=True)[1].astype(float)
    return Log(table=table, rates=None)


def oracle(log: Log) -> NDArray[np.bool_]:
    """Know each item's rate."""
    assert log.rates is not None
    return log.rates > log.threshold


def show_all(log: Log) -> NDArray[np.bool_]:
    """Show everything."""
    return np.ones(log.items.size, dtype=bool)


def _counts(log: Log) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    shown = np.array([(log.table["item_id"] == item).sum() for item in log.items], dtype=float)
    clicks = np.array([log.table["click"][log.table["item_id"] == item].sum() for item in log.items])
    return shown, clicks / shown


def raw_rate(log: Log) -> NDArray[np.bool_]:
    """Show the items whose rate in the log is above τ_u."""
    return _counts(log)[1] > log.threshold


def raw_bound(log: Log) -> NDArray[np.bool_]:
    """Show the items whose rate in the log has a lower normal bound above τ_u."""
    shown, rate = _counts(log)
    return rate - NORMAL.inv_cdf(1.0 - ALPHA) * np.sqrt(rate * (1.0 - rate) / shown) > log.threshold


def by_known_chances(log: Log) -> NDArray[np.bool_]:
    """Ask the gate with the showing's logged probabilities."""
    return np.array([found.verdict == "EXECUTE" for found in known_chances(log)])


def known_chances(log: Log, step: int = 1) -> list[Decision]:
    """Decide about every item, or every so many: a trial whose logged odds differed between people."""
    columns = _columns(log, probability="propensity_score")
    return [_decided(log, columns, item, randomised=True) for item in log.items.tolist()[::step]]


def by_adjustment(log: Log) -> NDArray[np.bool_]:
    """Ask the gate without the probabilities: keenness confounds what is shown with what is clicked."""
    columns = _columns(log, probability=None)
    found = [_decided(log, columns, item, randomised=False) for item in log.items.tolist()]
    return np.array([each.verdict == "EXECUTE" for each in found])


def _columns(log: Log, probability: str | None) -> Columns:
    kept = ["user_feature_0"]
    return Columns.of(log.table, treatment="item_id", outcome="click", covariates=kept, probability=probability)


@functools.cache
def _graph() -> Graph:
    nodes: dict[str, Role] = {"item_id": "treatment", "click": "outcome", "user_feature_0": "state"}
    arrows = [("item_id", "click"), ("user_feature_0", "item_id"), ("user_feature_0", "click")]
    return Graph.of(nodes=nodes, directed=arrows)


def _decided(log: Log, columns: Columns, item: float, *, randomised: bool) -> Decision:
    graph, query = _graph(), Query.effect("item_id", "click")
    other = next(each for each in log.items.tolist() if each != item)
    return decide(
        Inputs(
            graph=graph,
            query=query,
            answer=answer_for(graph, query, randomised=randomised),
            sample=Sample(data=columns, kind="randomised" if randomised else "observational", age=0.0),
            rules=Rules(
                to=item,
                against=other,
                bound_on="level",
                tau_u=log.threshold,
                alpha=ALPHA,
                outcome_range=(0.0, 1.0),
                two_valued=True,
            ),
        )
    )


RULES: Mapping[str, Callable[[Log], NDArray[np.bool_]]] = {
    "Oracle": oracle,
    "show everything": show_all,
    "raw click rate": raw_rate,
    "raw click rate, LCB": raw_bound,
    "this gate, logged probabilities": by_known_chances,
    "this gate, adjusting for the user": by_adjustment,
}
