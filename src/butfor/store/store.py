"""The store on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from butfor.store import journals, location, results, rollouts, run_rows, schema, verification
from butfor.store.database import Database
from butfor.store.ledger_rows import LedgerTable
from butfor.store.records import ResultRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.runs import Run
    from butfor.store.protocol import Recording
    from butfor.store.records import ArmSummary, RolloutRecord, RunSummary, StoredRollout, Verification


class Store:
    """Runs, journals, rollouts and results in one SQLite file; `Storage` says what each method does.

    Every save is one transaction, on disk when the method returns. One process writes at a time, for as long as its
    transaction takes; any number read meanwhile. Several threads may share a store: they take turns.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._rollouts = rollouts.RolloutRows(database)
        self._ledger: LedgerTable | None = None

    @classmethod
    def open(cls, path: Path | None = None, *, patience: float = 5.0) -> Self:
        """Open the store in a directory; it is created, or its tables migrated, where needed.

        Args:
            path: The directory; `BUTFOR_HOME`, else `./.butfor`, where None.
            patience: Seconds to wait for another process that is writing.

        Raises:
            StoreTooNew: A newer version of butfor wrote this store.
            CorruptRecord: The file is not a store, or is damaged.
            StoreError: The directory or the file cannot be used.
        """
        database = Database(location.make(location.home() if path is None else path), patience=patience)
        try:
            schema.bring_up_to_date(database)
            return cls(database)
        except BaseException:
            database.close()
            raise

    @property
    def path(self) -> Path:
        """The database file."""
        return self._database.path

    def save_run(self, run: Run) -> None:
        """Store a run."""
        with self._database.writing() as connection:
            run_rows.save(connection, self._database.packer, run)

    def load_run(self, run_id: str) -> Run:
        """Return a run."""
        with self._database.reading() as connection:
            return run_rows.load(connection, run_rows.resolve(connection, run_id))

    def resolve(self, run_id: str) -> str:
        """Return the whole id for an id or a unique prefix."""
        with self._database.reading() as connection:
            return run_rows.resolve(connection, run_id)

    def list_runs(self, limit: int | None = None) -> list[RunSummary]:
        """List the runs and unfinished recordings, the last stored first."""
        with self._database.reading() as connection:
            return run_rows.listed(connection, limit)

    def save_spec(self, run_id: str, text: str) -> None:
        """Keep how a run is to be re-executed."""
        with self._database.writing() as connection:
            run_rows.save_spec(connection, self._database.packer, run_id, text)

    def load_spec(self, run_id: str) -> str:
        """Return the spec that was saved last."""
        with self._database.reading() as connection:
            return run_rows.load_spec(connection, run_rows.resolve(connection, run_id))

    def open_recording(self, run_id: str, header: Mapping[str, Json]) -> Recording:
        """Begin a journal."""
        return journals.begin(self._database, run_id, header)

    def read_header(self, run_id: str) -> dict[str, Json]:
        """Return the header of a recording."""
        with self._database.reading() as connection:
            return journals.header(connection, run_rows.resolve(connection, run_id))

    def read_journal(self, run_id: str) -> Iterator[str]:
        """Return the lines of a journal, finished or not."""
        with self._database.reading() as connection:
            return iter(journals.lines(connection, run_rows.resolve(connection, run_id)))

    def save_rollout(self, record: RolloutRecord) -> None:
        """Store one rollout in one commit."""
        self._rollouts.save(record)

    def load_rollouts(self, run_id: str, fingerprint: str, arm: str) -> list[StoredRollout]:
        """Return the rollouts of an arm in the order of their draws."""
        with self._database.reading() as connection:
            return rollouts.load(connection, run_rows.resolve(connection, run_id), fingerprint, arm)

    def rollout_journal(self, rollout_id: str) -> str:
        """Return the journal of a rollout."""
        with self._database.reading() as connection:
            return rollouts.journal(connection, rollout_id)

    def list_arms(self, run_id: str) -> list[ArmSummary]:
        """List the arms of a run that have rollouts."""
        with self._database.reading() as connection:
            return rollouts.arms(connection, run_rows.resolve(connection, run_id))

    def save_result(self, result_id: str, run_id: str, kind: str, params_text: str, body_text: str) -> None:
        """Store an answer."""
        record = ResultRecord(result_id=result_id, run_id=run_id, kind=kind, params=params_text, body=body_text)
        with self._database.writing() as connection:
            results.save(connection, self._database.packer, record)

    def load_result(self, result_id: str) -> ResultRecord:
        """Return an answer."""
        with self._database.reading() as connection:
            return results.load(connection, result_id)

    def list_results(self, run_id: str) -> list[ResultRecord]:
        """Return the answers about a run."""
        with self._database.reading() as connection:
            return results.listed(connection, run_rows.resolve(connection, run_id))

    def ledger(self) -> LedgerTable:
        """Return the table of the gate's ledger, on a connection of its own that waits for the disk."""
        with self._database.lock:
            if self._ledger is None:
                self._ledger = LedgerTable(self._database)
            return self._ledger

    def verify(self) -> Verification:
        """Derive every digest again and report what does not match."""
        return verification.verify(self._database)

    def close(self) -> None:
        """Give the store up."""
        if self._ledger is not None:
            self._ledger.close()
        self._database.close()

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the store."""
        self.close()
