"""What every store must do; a store of another kind is added to `store`'s parameters."""

import threading
from datetime import UTC, datetime, timedelta, timezone

import pytest

from butfor import runs
from butfor.errors import DrawTaken, InputError, NotFound, OutcomeError
from butfor.store import ArmSummary, MemoryStore, RunSummary, Storage, Store
from tests.contract.stores import RESULT, WHEN, rollout, run
from tests.patience import joined


@pytest.fixture(params=["disk", "memory"])
def store(request, tmp_path):
    with Store.open(tmp_path) if request.param == "disk" else MemoryStore() as opened:
        yield opened


def test_a_run_comes_back(store: Storage):
    store.save_run(run(output={"refund": [1, None, float("inf")]}))
    assert store.load_run("r1") == run(output={"refund": [1, None, float("inf")]})


def test_saving_a_run_twice_is_saving_it_once(store: Storage):
    store.save_run(run())
    store.save_run(run())
    assert [each.run_id for each in store.list_runs()] == ["r1"]


def test_a_run_is_never_overwritten(store: Storage):
    store.save_run(run())
    with pytest.raises(InputError, match="another run 'r1' is stored"):
        store.save_run(run(output="different"))
    assert store.load_run("r1") == run()


def test_a_unique_prefix_names_a_run(store: Storage):
    for run_id in ("abc", "abd", "xyz", "xy"):
        store.save_run(run(run_id))
    assert store.resolve("xy") == "xy"
    assert store.load_run("xyz") == run("xyz")
    assert store.resolve("xyz") == "xyz"
    with pytest.raises(NotFound, match="2 runs begin with 'ab': abd, abc"):
        store.resolve("ab")


def test_a_wrong_id_is_answered_with_the_nearest(store: Storage):
    with pytest.raises(NotFound, match="no other in this store"):
        store.load_run("refnud")
    store.save_run(run("refund-1"))
    store.save_run(run("weather"))
    with pytest.raises(NotFound, match="there is no run 'refnud-1': the nearest are refund-1"):
        store.load_run("refnud-1")
    with pytest.raises(NotFound, match="there is no run ''"):
        store.load_run("")


def test_runs_are_listed_last_first_with_what_is_known_of_them(store: Storage):
    recorded = runs.Run(
        run_id="b",
        steps=(runs.Step(index=0, grade=runs.Grade(level=runs.Replayability.APPROXIMATE)),),
        outcome=runs.Outcome(value=0.25, rule="text_matches"),
        provenance=runs.Provenance(agent="shop:agent", recorded_at=datetime(2026, 1, 2, tzinfo=UTC)),
    )
    store.save_run(runs.Run(run_id="a", agents=(runs.Agent(name="planner"),)))
    store.save_run(recorded)
    expected = RunSummary(
        run_id="b",
        recorded_at="2026-01-02T00:00:00.000000+00:00",
        agent="shop:agent",
        format="butfor",
        steps=1,
        outcome=0.25,
        grade=runs.Replayability.APPROXIMATE,
    )
    assert store.list_runs(limit=1) == [expected]
    assert [(each.run_id, each.agent, each.outcome) for each in store.list_runs()] == [
        ("b", "shop:agent", 0.25),
        ("a", "planner", None),
    ]


def test_a_recording_is_read_while_it_is_written_and_afterwards(store: Storage):
    lines = ['{"n":0}', "", '"\u2028\r\x0b"', '"\ud800"']
    recording = store.open_recording("r1", {"agent": "shop:agent", "recorded_at": "2026-01-02", "odd": float("inf")})
    assert list(store.read_journal("r1")) == []
    for count, line in enumerate(lines, start=1):
        recording.append(line)
        assert list(store.read_journal("r1")) == lines[:count]
    recording.finish()
    recording.finish()
    assert list(store.read_journal("r")) == lines
    assert store.read_header("r") == {"agent": "shop:agent", "recorded_at": "2026-01-02", "odd": float("inf")}


def test_a_recording_without_crossings_is_an_empty_journal(store: Storage):
    store.open_recording("r1", {}).finish()
    assert list(store.read_journal("r1")) == []


def test_an_unfinished_recording_is_listed_as_such(store: Storage):
    store.open_recording("r1", {"agent": "shop:agent", "recorded_at": 7})
    assert store.list_runs() == [RunSummary(run_id="r1", agent="shop:agent", format="butfor", complete=False)]
    with pytest.raises(NotFound, match="the recording of 'r1' is unfinished"):
        store.load_run("r1")


def test_a_recording_becomes_a_run(store: Storage):
    recording = store.open_recording("r1", {})
    store.save_run(run("r2"))
    recording.append("{}")
    recording.finish()
    store.save_run(run())
    assert [(each.run_id, each.complete) for each in store.list_runs()] == [("r2", True), ("r1", True)]
    assert store.load_run("r1") == run()
    assert list(store.read_journal("r1")) == ["{}"]


def test_a_recording_refuses_what_would_not_come_back(store: Storage):
    recording = store.open_recording("r1", {})
    with pytest.raises(InputError, match="has a line break"):
        recording.append("{\n}")
    recording.finish()
    with pytest.raises(InputError, match="the recording of 'r1' is finished"):
        recording.append("{}")


@pytest.mark.parametrize("stored", ["run", "recording"])
def test_a_recording_needs_a_new_id(store: Storage, stored: str):
    if stored == "run":
        store.save_run(run())
    else:
        store.open_recording("r1", {})
    with pytest.raises(InputError, match="another run 'r1' is stored"):
        store.open_recording("r1", {})


def test_an_imported_run_has_no_journal(store: Storage):
    store.save_run(run())
    for read in (store.read_journal, store.read_header):
        with pytest.raises(NotFound, match="has no journal"):
            read("r1")


def test_threads_append_to_one_recording(store: Storage):
    recording = store.open_recording("r1", {})

    def append(name: int) -> None:
        for count in range(25):
            recording.append(f"{name} {count}")

    threads = [threading.Thread(target=append, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    joined(*threads)
    recording.finish()
    lines = list(store.read_journal("r1"))
    for name in range(4):
        assert [line for line in lines if line.startswith(f"{name} ")] == [f"{name} {count}" for count in range(25)]
    assert len(lines) == 100


def test_the_last_spec_counts(store: Storage):
    store.open_recording("r1", {})
    with pytest.raises(NotFound, match="nothing is stored about how to run 'r1' again"):
        store.load_spec("r1")
    for spec in ("one", "one", "two", "one", "three"):
        store.save_spec("r1", spec)
        assert store.load_spec("r") == spec


def test_rollouts_come_back_in_the_order_of_their_draws(store: Storage):
    store.save_run(run())
    records = [
        rollout(
            rollout_id=f"x{draw}",
            draw=draw,
            outcome=[0.0, 1.0, None][draw % 3],
            status=["completed", "timeout"][draw % 2],
        )
        for draw in (11, 2, 10, 0)
    ]
    for record in records:
        store.save_rollout(record)
    loaded = store.load_rollouts("r1", "f", "resample(2)")
    assert loaded == [record.without_journal() for record in sorted(records, key=lambda each: each.draw)]
    assert store.rollout_journal("x2") == rollout().journal


def test_arms_and_analyses_are_apart(store: Storage):
    store.save_run(run())
    store.save_run(run("r2"))
    places = [("r1", "f", "a", 0), ("r1", "f", "b", 0), ("r1", "g", "a", 0), ("r2", "f", "a", 0), ("r1", "f", "a", 1)]
    for count, (run_id, fingerprint, arm, draw) in enumerate(places):
        place = {"run_id": run_id, "fingerprint": fingerprint, "arm": arm, "draw": draw}
        store.save_rollout(rollout(rollout_id=f"x{count}", created_at=WHEN - timedelta(days=count), **place))
    assert [each.rollout_id for each in store.load_rollouts("r1", "f", "a")] == ["x0", "x4"]
    assert store.load_rollouts("r1", "f", "never drawn") == []
    assert store.list_arms("r1") == [
        ArmSummary(fingerprint="f", arm="a", rollouts=2, oldest=WHEN - timedelta(days=4)),
        ArmSummary(fingerprint="f", arm="b", rollouts=1, oldest=WHEN - timedelta(days=1)),
        ArmSummary(fingerprint="g", arm="a", rollouts=1, oldest=WHEN - timedelta(days=2)),
    ]


def test_saving_a_rollout_twice_is_saving_it_once(store: Storage):
    store.save_run(run())
    store.save_rollout(rollout())
    store.save_rollout(rollout())
    assert store.load_rollouts("r1", "f", "resample(2)") == [rollout().without_journal()]


@pytest.mark.parametrize(
    "change", [{"outcome": 0.0}, {"journal": "other"}, {"draw": 1}, {"arm": "b"}, {"counts": "{}"}]
)
def test_a_rollout_is_never_overwritten(store: Storage, change: dict[str, object]):
    store.save_run(run())
    store.save_rollout(rollout())
    with pytest.raises(InputError, match="another rollout 'x0' is stored"):
        store.save_rollout(rollout(**change))
    assert store.load_rollouts("r1", "f", "resample(2)") == [rollout().without_journal()]


def test_a_draw_enters_an_arm_once(store: Storage):
    store.save_run(run())
    store.save_rollout(rollout())
    with pytest.raises(DrawTaken, match="draw 0 of this arm is stored already"):
        store.save_rollout(rollout(rollout_id="x1"))


def test_the_moment_is_kept_whatever_its_zone(store: Storage):
    store.save_run(run())
    moment = datetime(2026, 3, 1, 0, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    store.save_rollout(rollout(created_at=moment))
    assert store.load_rollouts("r1", "f", "resample(2)")[0].created_at == moment


def test_results_come_back_in_order(store: Storage):
    store.save_run(run())
    for result_id in ("b", "a1", "a1"):
        store.save_result(result_id, "r1", RESULT.kind, RESULT.params, RESULT.body)
    assert store.load_result("a1") == RESULT
    assert [each.result_id for each in store.list_results("r")] == ["b", "a1"]
    with pytest.raises(InputError, match="another result 'a1' is stored"):
        store.save_result("a1", "r1", RESULT.kind, RESULT.params, "other")


def test_nothing_is_saved_for_a_run_that_is_not_there(store: Storage):
    store.save_run(run("r1-and-more"))  # a prefix is for reading, never for writing
    for save in (
        lambda: store.save_rollout(rollout()),
        lambda: store.save_spec("r1", "text"),
        lambda: store.save_result("a1", "r1", "profile", "{}", "{}"),
    ):
        with pytest.raises(NotFound, match="there is no run 'r1' to save this for"):
            save()
    assert store.list_arms("r1") == []
    assert store.list_results("r1") == []


def test_what_is_not_there_is_named(store: Storage):
    with pytest.raises(NotFound, match="there is no rollout 'x'"):
        store.rollout_journal("x")
    with pytest.raises(NotFound, match="there is no result 'x'"):
        store.load_result("x")


def test_a_name_that_no_file_can_hold_is_refused(store: Storage):
    store.save_run(run())
    for save in (
        lambda: store.save_run(run("\ud800")),
        lambda: store.open_recording("\ud800", {}),
        lambda: store.save_spec("\ud800", ""),
        lambda: store.save_rollout(rollout(rollout_id="\ud800")),
        lambda: store.save_rollout(rollout(status="\ud800")),
        lambda: store.save_result("\ud800", "r1", "profile", "", ""),
    ):
        with pytest.raises(InputError, match="half of a surrogate pair"):
            save()
    assert [each.run_id for each in store.list_runs()] == ["r1"]
    assert store.list_arms("r1") == []


def test_a_fresh_store_is_well(store: Storage):
    store.save_run(run())
    store.open_recording("r2", {}).append("{}")
    assert store.verify().ok
    assert store.verify().mismatches == ()


@pytest.mark.parametrize("outcome", [float("nan"), -0.01, 1.01, float("inf")])
def test_an_outcome_is_a_number_or_missing(outcome: float):
    with pytest.raises(OutcomeError, match=r"is not in \[0, 1\]"):
        rollout(outcome=outcome)


@pytest.mark.parametrize("change", [{"draw": -1}, {"draw": 2**63}, {"created_at": datetime(2026, 1, 1)}])
def test_a_rollout_that_cannot_be_kept_is_refused(change: dict[str, object]):
    with pytest.raises(InputError, match=r"rollout x0"):
        rollout(**change)
