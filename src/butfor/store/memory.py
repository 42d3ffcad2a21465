"""A store that lives as long as its process: for tests, notebooks and dry runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from butfor import canonical, runs
from butfor.store import refusals, summaries
from butfor.store.memory_ledger import MemoryLedger
from butfor.store.records import ArmSummary, ResultRecord, RolloutRecord, StoredRollout, Verification

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from butfor.canonical import Json
    from butfor.runs import Run
    from butfor.store.records import RunSummary


class _MemoryRecording:
    def __init__(self, run_id: str, header: str, lock: threading.RLock) -> None:
        self.run_id = run_id
        self.header = header
        self.lines: list[str] = []
        self._lock = lock
        self._finished = False

    def append(self, line: str) -> None:
        refusals.one_line(line, self.run_id)
        with self._lock:
            if self._finished:
                raise refusals.finished(self.run_id)
            self.lines.append(line)

    def finish(self) -> None:
        self._finished = True


class MemoryStore:
    """What `Store` does, without a file; `Storage` says what each method does."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # What a list of runs shows, in the order of storing; a run without a document is a recording.
        self._shown: dict[str, Mapping[str, object]] = {}
        self._documents: dict[str, str] = {}
        self._recordings: dict[str, _MemoryRecording] = {}
        self._specs: dict[str, str] = {}
        self._rollouts: dict[str, RolloutRecord] = {}
        self._draws: dict[tuple[str, str, str, int], str] = {}
        self._results: dict[str, ResultRecord] = {}
        self._ledger = MemoryLedger(self._lock)

    def save_run(self, run: Run) -> None:
        """Store a run."""
        refusals.writable(run.run_id)
        with self._lock:
            text = runs.to_text(run)
            if self._documents.setdefault(run.run_id, text) != text:
                raise refusals.already("run", run.run_id)
            self._shown[run.run_id] = summaries.of_run(run)

    def load_run(self, run_id: str) -> Run:
        """Return a run."""
        whole = self.resolve(run_id)
        if whole not in self._documents:
            raise refusals.no_document(whole)
        return runs.from_text(self._documents[whole])

    def resolve(self, run_id: str) -> str:
        """Return the whole id for an id or a unique prefix."""
        refusals.writable(run_id)
        return refusals.match_id(run_id, list(reversed(self._shown)))

    def list_runs(self, limit: int | None = None) -> list[RunSummary]:
        """List the runs and unfinished recordings, the last stored first."""
        newest = list(reversed(self._shown.items()))[:limit]
        return [summaries.summary(shown, complete=run_id in self._documents) for run_id, shown in newest]

    def save_spec(self, run_id: str, text: str) -> None:
        """Keep how a run is to be re-executed."""
        self._require(run_id)
        self._specs[run_id] = text

    def load_spec(self, run_id: str) -> str:
        """Return the spec that was saved last."""
        whole = self.resolve(run_id)
        if whole not in self._specs:
            raise refusals.no_spec(whole)
        return self._specs[whole]

    def open_recording(self, run_id: str, header: Mapping[str, Json]) -> _MemoryRecording:
        """Begin a journal."""
        refusals.writable(run_id)
        with self._lock:
            if run_id in self._shown:
                raise refusals.already("run", run_id)
            recording = _MemoryRecording(run_id, canonical.encode_exact(dict(header)), self._lock)
            self._shown[run_id] = summaries.of_header(run_id, header)
            self._recordings[run_id] = recording
            return recording

    def read_header(self, run_id: str) -> dict[str, Json]:
        """Return the header of a recording."""
        value = canonical.decode(self._recording(run_id).header)
        assert isinstance(value, dict)
        return value

    def read_journal(self, run_id: str) -> Iterator[str]:
        """Return the lines of a journal, finished or not."""
        return iter(list(self._recording(run_id).lines))

    def save_rollout(self, record: RolloutRecord) -> None:
        """Store one rollout."""
        refusals.writable(record.rollout_id, record.run_id, record.fingerprint, record.status)
        with self._lock:
            self._require(record.run_id)
            if record.rollout_id in self._rollouts:
                if self._rollouts[record.rollout_id] != record:
                    raise refusals.already("rollout", record.rollout_id)
                return
            if self._draws.setdefault(_place(record), record.rollout_id) != record.rollout_id:
                raise refusals.draw_taken(record.draw, record.arm, record.run_id)
            self._rollouts[record.rollout_id] = record

    def load_rollouts(self, run_id: str, fingerprint: str, arm: str) -> list[StoredRollout]:
        """Return the rollouts of an arm in the order of their draws."""
        wanted = (self.resolve(run_id), fingerprint, arm)
        refusals.writable(fingerprint)
        found = [each.without_journal() for each in self._rollouts.values() if _place(each)[:3] == wanted]
        return sorted(found, key=lambda each: each.draw)

    def rollout_journal(self, rollout_id: str) -> str:
        """Return the journal of a rollout."""
        refusals.writable(rollout_id)
        if rollout_id not in self._rollouts:
            raise refusals.no_such("rollout", rollout_id)
        return self._rollouts[rollout_id].journal

    def list_arms(self, run_id: str) -> list[ArmSummary]:
        """List the arms of a run that have rollouts."""
        whole = self.resolve(run_id)
        ended: dict[tuple[str, str], list[datetime]] = {}
        for each in self._rollouts.values():
            if each.run_id == whole:
                ended.setdefault((each.fingerprint, each.arm), []).append(each.created_at)
        return [
            ArmSummary(fingerprint=fingerprint, arm=arm, rollouts=len(times), oldest=min(times))
            for (fingerprint, arm), times in ended.items()
        ]

    def save_result(self, result_id: str, run_id: str, kind: str, params_text: str, body_text: str) -> None:
        """Store an answer."""
        refusals.writable(result_id, kind)
        self._require(run_id)
        record = ResultRecord(result_id=result_id, run_id=run_id, kind=kind, params=params_text, body=body_text)
        if self._results.setdefault(result_id, record) != record:
            raise refusals.already("result", result_id)

    def load_result(self, result_id: str) -> ResultRecord:
        """Return an answer."""
        refusals.writable(result_id)
        if result_id not in self._results:
            raise refusals.no_such("result", result_id)
        return self._results[result_id]

    def list_results(self, run_id: str) -> list[ResultRecord]:
        """Return the answers about a run."""
        whole = self.resolve(run_id)
        return [each for each in self._results.values() if each.run_id == whole]

    def ledger(self) -> MemoryLedger:
        """Return the table of the gate's ledger."""
        return self._ledger

    def verify(self) -> Verification:
        """Report that all is well: nothing in memory has a digest."""
        return Verification(checked=0, mismatches=())

    def close(self) -> None:
        """Do nothing; what was stored can still be read."""

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the store."""

    def _require(self, run_id: str) -> None:
        refusals.writable(run_id)
        if run_id not in self._shown:
            raise refusals.no_such_run(run_id)

    def _recording(self, run_id: str) -> _MemoryRecording:
        whole = self.resolve(run_id)
        if whole not in self._recordings:
            raise refusals.no_journal(whole)
        return self._recordings[whole]


def _place(record: StoredRollout) -> tuple[str, str, str, int]:
    return record.run_id, record.fingerprint, record.arm, record.draw
