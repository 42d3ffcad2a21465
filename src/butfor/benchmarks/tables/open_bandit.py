"""Open Bandit: click rates of fashion items, shown at random and by a bandit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from butfor.benchmarks.harness import Check
from butfor.benchmarks.table_data import OBP, csv_columns, member
from butfor.benchmarks.tables.part import ALPHA, Part, answered, mark, row
from butfor.estimation import Columns, Insufficient, Level, Randomised, estimate
from butfor.estimation.evidence import Roles, read_object
from butfor.identification import Query

if TYPE_CHECKING:
    from butfor.benchmarks.harness import Settings
    from butfor.estimation import Effect
    from butfor.estimation.evidence import Table


# Items whose answers are drawn: those shown most often. All 46 would hide the two that matter.
DRAWN = 5


def open_bandit(settings: Settings) -> Part | None:
    """Answer each item, and items at random, in both logs; None where they are not here."""
    logs = [_read(policy) for policy in ("random", "bts")]
    if any(log is None for log in logs):
        return None
    parts = [_answers(log, settings) for log in logs if log is not None]
    return Part(
        rows=[each for part in parts for each in part.rows],
        checks=[check for part in parts for check in part.checks],
        marks=[each for part in parts for each in part.marks],
        unit="clicks a showing",
    )


def _read(policy: str) -> Table | None:
    raw = member(OBP, f"obp/dataset/obd/{policy}/women/women.csv")
    if raw is None:
        return None
    table = csv_columns(raw)
    shown = {name: [float(v) for v in table[name]] for name in ("item_id", "position", "click", "propensity_score")}
    roles = Roles(treatment="item_id", outcome="click", covariates=("position",), probability="propensity_score")
    return read_object(shown, roles, kind="randomised", name=f"{policy}/women")


def _answers(log: Table, settings: Settings) -> Part:
    columns, name = log.columns, log.evidence.source
    items, counts = np.unique(columns.t, return_counts=True)
    uniform = uniform_value(columns, settings.seed)
    by_item = {item: _value(columns, item, settings.seed) for item in items.tolist()}
    refused = sum(isinstance(each, Insufficient) for each in by_item.values())
    rows = [
        row(
            name,
            f"click rate of each of {items.size} items",
            f"{items.size - refused} answered, {refused} refused",
            n=columns.n,
            digest=log.evidence.digest[7:],
        ),
        answered(name, "click rate of items at random", log, uniform, truth=_worth(columns, items.size)),
    ]
    most = items[np.argsort(-counts, kind="stable")[:DRAWN]].tolist()
    marks = [
        mark(f"{name}, items at random", uniform),
        *(mark(f"{name}, item {item:g}", by_item[item]) for item in most),
    ]
    return Part(rows=rows, checks=[_check(name, uniform)], marks=marks, unit="clicks a showing")


def _value(columns: Columns, item: float, seed: int) -> Effect:
    query = Query.effect(["item_id"], ["click"])
    return estimate(query, Randomised(), columns, target=Level(at=item), alpha=ALPHA, seed=seed)


def _worth(columns: Columns, items: int) -> str:
    """Say what the log is worth for the question how items drawn at random would do."""
    assert columns.probability is not None
    weights = 1.0 / items / columns.probability
    worth = float(weights.sum() ** 2 / (weights**2).sum())
    return f"largest weight {weights.max():,.0f}, worth {worth:,.0f} units"


def _check(name: str, uniform: Effect) -> Check:
    expected, found = name.startswith("bts"), isinstance(uniform, Insufficient)
    say = "refused" if expected else "answered"
    return Check(
        name=f"Open Bandit: {name} must be {say}; refused (0 or 1)",
        value=float(found),
        bound=float(expected),
        ok=found == expected,
    )


def uniform_value(columns: Columns, seed: int) -> Effect:
    """Value the policy that shows an item at random: a unit is kept where an item so drawn is the one that was shown.

    So the question is about one arm, that of the kept units, each with a known probability.
    """
    from butfor.noise import numpy_generator

    assert columns.probability is not None
    items = np.unique(columns.t)
    drawn = numpy_generator("uniform value", seed).choice(items, columns.n)
    kept = (drawn == columns.t).astype(float)
    # P(kept | the drawn item) is known where the item was shown; of the others only their number is used.
    chance = np.where(kept == 1, columns.probability, 1.0)
    table = {"kept": kept, "click": columns.y, "chance": chance}
    arm = Columns.of(table, treatment="kept", outcome="click", covariates=[], probability="chance")
    return estimate(Query.effect(["kept"], ["click"]), Randomised(), arm, target=Level(at=1.0), alpha=ALPHA, seed=seed)
