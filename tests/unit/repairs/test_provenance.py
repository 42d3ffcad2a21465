"""Dependencies from what was seen to flow, not from what was declared."""

import pytest

from butfor.repairs import check_declared, downstream, flows_of
from butfor.runs import Dependency, Observation, PartRef, Run, Step, Text, ToolCall, Value


def call(name, arguments, returned, call_id="c"):
    return (
        ToolCall(call_id=call_id, name=name, arguments=Value.of(arguments)),
        Observation(call_id=call_id, content=Value.of(returned)),
    )


def run_of(*steps, task="Refund order 1042.", declared=()):
    return Run(
        run_id="r",
        task=Value.of(task),
        steps=tuple(Step(index=i, parts=parts) for i, parts in enumerate(steps)),
        dependencies=tuple(
            Dependency(source=PartRef(step=a), target=PartRef(step=b), origin="recorded") for a, b in declared
        ),
    )


def pairs(run):
    return [(each.source.step, each.target.step) for each in flows_of(run)]


SUPPORT = (
    call("lookup", {"order": "1042"}, {"customer": "c-77", "total": 940.0}),
    call("policy", {"customer": "c-77"}, {"eligible": False}),
    call("refund", {"order": "1042", "amount": 940}, {"reference": "RF9931"}),
    (Text(content=Value.of("Refunded as RF9931.")),),
)


def test_a_value_makes_an_edge_from_where_it_first_appeared():
    assert pairs(run_of(*SUPPORT)) == [(0, 1), (0, 2), (2, 3)]
    reasons = {(each.source.step, each.target.step): each.reason for each in flows_of(run_of(*SUPPORT))}
    assert reasons[0, 1] == "the value c-77"
    assert reasons[0, 2] == "the value 940"
    assert all(each.origin == "inferred" for each in flows_of(run_of(*SUPPORT)))


def test_what_the_task_said_comes_from_the_task():
    # Order 1042 stands in every call, and no step made it known.
    assert all("1042" not in (each.reason or "") for each in flows_of(run_of(*SUPPORT)))


def test_a_step_does_not_depend_on_its_own_answer():
    run = run_of(call("draw", {}, {"number": 3141}))
    assert pairs(run) == []


@pytest.mark.parametrize("written", ["940", "940.0", "the sum is 940.", "[940]"])
def test_a_number_is_the_same_however_it_is_written(written):
    run = run_of(call("lookup", {}, {"total": 940}), (Text(content=Value.of(written)),), task="go")
    assert pairs(run) == [(0, 1)]


def test_small_numbers_stand_everywhere_and_make_no_edge():
    run = run_of(call("count", {}, {"n": 3}), (Text(content=Value.of("3 of them")),), task="go")
    assert pairs(run) == []
    assert [(e.source.step, e.target.step) for e in flows_of(run, least_digits=1)] == [(0, 1)]


def test_a_part_of_a_number_is_not_the_number():
    run = run_of(call("lookup", {}, {"total": 94}), (Text(content=Value.of("9400 and 1.94")),), task="go")
    assert pairs(run) == []


def test_declared_dependencies_that_are_not_the_data_flow_are_found():
    # As public code declares them: every step on the one before it.
    found = check_declared(run_of(*SUPPORT, declared=[(0, 1), (1, 2), (2, 3)]))
    assert found is not None
    assert found.seen == ((0, 1), (2, 3))
    assert found.unseen == ((1, 2),)
    assert found.undeclared == ()  # 0 → 2 is accounted for by 0 → 1 → 2
    assert "1 → 2" in found.sentence


def test_a_flow_that_nobody_declared_is_found():
    found = check_declared(run_of(*SUPPORT, declared=[(0, 1), (2, 3)]))
    assert found is not None
    assert found.undeclared == ((0, 2),)


def test_a_run_that_declares_nothing_is_not_checked():
    assert check_declared(run_of(*SUPPORT)) is None


def test_what_lies_downstream_of_a_step():
    edges = flows_of(run_of(*SUPPORT))
    assert downstream(edges, 0) == (1, 2, 3)
    assert downstream(edges, 1) == ()
