"""Evidence has one digest for one multiset of rows, and sums that do not depend on where they were made."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from butfor.estimation import Cells
from butfor.estimation.evidence import Evidence, Roles, aggregate, read_object

ROLES = Roles(treatment="t", outcome="y", covariates=("x", "team"))
rows = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6).map(lambda value: round(value, 3)),
        st.integers(-3, 3),
        st.sampled_from(["red", "blue", "", " ", "é", "a,b"]),
    ),
    min_size=2,
    max_size=30,
).filter(lambda found: len({row[0] for row in found}) > 1)


def table(found):
    t, y, x, team = zip(*found, strict=True)
    return {"t": list(t), "y": [float(value) for value in y], "x": list(x), "team": list(team)}


def usable(found):
    """Two columns that are the same are refused, whatever their names."""
    columns = table(found)
    code = {text: i for i, text in enumerate(sorted(set(columns["team"])))}
    assume(columns["x"] != columns["y"])
    assume([code[text] for text in columns["team"]] not in (columns["x"], columns["y"]))
    return columns


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_no_part_of_the_digest(found, random):
    first = read_object(usable(found), ROLES, kind="mixed")
    random.shuffle(found)
    assert read_object(table(found), ROLES, kind="mixed").evidence.digest == first.evidence.digest
    assert Evidence.from_json(first.evidence.to_json()) == first.evidence


@given(rows, st.data())
def test_another_multiset_is_another_digest(found, data):
    first = read_object(usable(found), ROLES, kind="mixed").evidence.digest
    place = data.draw(st.integers(0, len(found) - 1))
    longer = [*found, found[place]]
    assert read_object(usable(longer), ROLES, kind="mixed").evidence.digest != first
    t, y, x, team = found[place]
    changed = [*found[:place], (t, y + 1.0, x, team), *found[place + 1 :]]
    assert read_object(usable(changed), ROLES, kind="mixed").evidence.digest != first


@settings(max_examples=40)
@given(rows)
def test_the_engine_s_sums_are_the_rows_own(found):
    columns = usable(found)
    own = Cells.of(read_object(columns, ROLES, kind="mixed").columns, ROLES.covariates)
    values = ", ".join(f"({t}, {y!r}::DOUBLE, {x}, '{team}')" for t, y, x, team in zip(*columns.values(), strict=True))
    theirs = aggregate(f"SELECT * FROM (VALUES {values}) AS log(t, y, x, team)", ROLES, kind="mixed").cells
    assert own.unit == theirs.unit
    for part in ("arms", "keys", "n", "total", "squares"):
        assert np.array_equal(getattr(own, part), getattr(theirs, part)), part
