"""Laws of the store: it gives back what it was given, and the double in memory behaves as the one on disk."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from butfor.errors import InputError
from butfor.store import MemoryStore, Storage, Store
from tests.contract.stores import rollout, run
from tests.property.strategies import json_values, keys, names, recorded_runs

numbers = count()
any_text = st.text(st.characters(), max_size=200)


@pytest.fixture(scope="module", params=["disk", "memory"])
def store(request, tmp_path_factory):
    with Store.open(tmp_path_factory.mktemp("store")) if request.param == "disk" else MemoryStore() as opened:
        yield opened


@given(recorded_runs())
def test_any_run_comes_back(store: Storage, drawn):
    kept = drawn.model_copy(update={"run_id": f"{next(numbers)}-{drawn.run_id}"})
    store.save_run(kept)
    assert store.load_run(kept.run_id) == kept


@given(any_text, any_text, any_text)
def test_any_text_comes_back(store: Storage, one, two, three):
    run_id = f"t{next(numbers)}"
    store.save_run(run(run_id))
    store.save_spec(run_id, one)
    store.save_result(run_id, run_id, "profile", two, three)
    store.save_rollout(rollout(rollout_id=run_id, run_id=run_id, arm=one, counts=two, journal=three))
    assert store.load_spec(run_id) == one
    assert (store.load_result(run_id).params, store.load_result(run_id).body) == (two, three)
    assert [each.counts for each in store.load_rollouts(run_id, "f", one)] == [two]
    assert store.rollout_journal(run_id) == three


@given(st.lists(any_text.filter(lambda line: "\n" not in line), max_size=6), st.dictionaries(keys, json_values))
def test_any_journal_comes_back_before_and_after_its_end(store: Storage, lines, header):
    recording = store.open_recording(f"j{next(numbers)}", header)
    for line in lines:
        recording.append(line)
    assert list(store.read_journal(recording.run_id)) == lines
    recording.finish()
    assert list(store.read_journal(recording.run_id)) == lines
    assert repr(store.read_header(recording.run_id)) == repr(header)


@given(
    st.none() | st.floats(0, 1),
    st.integers(0, 2**63 - 1),
    names,
    st.datetimes(timezones=st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23)))),
)
def test_any_rollout_comes_back(store: Storage, outcome, draw, name, created_at):
    run_id = f"o{next(numbers)}"
    store.save_run(run(run_id))
    try:
        created_at.astimezone(UTC)
    except OverflowError:  # the first and last day of the calendar, in zones beyond it
        created_at = datetime(2026, 1, 1, tzinfo=UTC)
    record = rollout(
        rollout_id=run_id,
        run_id=run_id,
        outcome=outcome,
        draw=draw,
        status=name,
        fingerprint=name,
        created_at=created_at,
    )
    store.save_rollout(record)
    assert store.load_rollouts(run_id, name, record.arm) == [record.without_journal()]


some_ids = st.sampled_from(["a", "ab", "abc", "b", "\ud800"])
some_texts = st.sampled_from(["", "{}", "two\nlines", "\ud800"])


class TwoStores(RuleBasedStateMachine):
    """Do the same to both stores; each answer, and each refusal, must be the same."""

    directory: Any = None

    @initialize()
    def open(self) -> None:
        self.stores: list[Storage] = [Store.open(self.directory / str(next(numbers))), MemoryStore()]
        self.recordings: list[list[Any]] = []

    def both(self, action: Any, *targets: Any) -> list[Any]:
        answers, refusals = [], []
        for target in targets or self.stores:
            try:
                answers.append(action(target))
            except InputError as error:
                refusals.append((type(error), str(error)))
        assert not (answers and refusals)
        assert len(set(refusals)) <= 1
        return answers

    def same(self, action: Any) -> None:
        answers = self.both(action)
        assert all(answer == answers[0] for answer in answers)

    @rule(run_id=some_ids, output=st.integers(0, 1))
    def save_run(self, run_id, output):
        self.both(lambda store: store.save_run(run(run_id, output=output)))

    @rule(run_id=some_ids, header=some_texts)
    def open_recording(self, run_id, header):
        opened = self.both(lambda store: store.open_recording(run_id, {"agent": header}))
        self.recordings += [opened] if opened else []

    @rule(line=some_texts, data=st.data())
    def append(self, line, data):
        if self.recordings:
            self.both(lambda recording: recording.append(line), *data.draw(st.sampled_from(self.recordings)))

    @rule(data=st.data())
    def finish(self, data):
        if self.recordings:
            self.both(lambda recording: recording.finish(), *data.draw(st.sampled_from(self.recordings)))

    @rule(run_id=some_ids, spec=some_texts)
    def save_spec(self, run_id, spec):
        self.both(lambda store: store.save_spec(run_id, spec))

    @rule(
        rollout_id=some_ids,
        run_id=some_ids,
        arm=some_texts,
        draw=st.integers(0, 1),
        outcome=st.sampled_from([None, 0.0]),
    )
    def save_rollout(self, **fields):
        self.both(lambda store: store.save_rollout(rollout(**fields)))

    @rule(result_id=some_ids, run_id=some_ids, body=some_texts)
    def save_result(self, result_id, run_id, body):
        self.both(lambda store: store.save_result(result_id, run_id, "profile", "{}", body))

    @rule(name=st.sampled_from(["a", "ab", "abc", "b", "", "c", "\ud800"]), arm=some_texts)
    def read_all(self, name, arm):
        self.same(lambda store: store.list_runs())
        self.same(lambda store: store.resolve(name))
        self.same(lambda store: store.load_run(name))
        self.same(lambda store: store.load_spec(name))
        self.same(lambda store: store.read_header(name))
        self.same(lambda store: list(store.read_journal(name)))
        self.same(lambda store: store.load_rollouts(name, "f", arm))
        self.same(lambda store: store.rollout_journal(name))
        self.same(lambda store: store.list_arms(name))
        self.same(lambda store: store.load_result(name))
        self.same(lambda store: store.list_results(name))
        assert self.stores[0].verify().ok

    def teardown(self) -> None:
        for store in getattr(self, "stores", []):
            store.close()


def test_the_two_stores_agree(tmp_path):
    class Here(TwoStores):
        directory = tmp_path

    machine = Here.TestCase
    machine.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
    machine().runTest()
