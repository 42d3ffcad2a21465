"""What every store can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from butfor.canonical import Json
    from butfor.runs import Run
    from butfor.store.ledger_records import LedgerRows
    from butfor.store.records import ArmSummary, ResultRecord, RolloutRecord, RunSummary, StoredRollout, Verification


class Recording(Protocol):
    """A journal that is being written. Whatever `append` returned from survives the death of the process."""

    @property
    def run_id(self) -> str:
        """The run that is being recorded."""

    def append(self, line: str) -> None:
        """Commit one boundary crossing, in the order of the calls; any thread may call.

        Args:
            line: JSON text on one line; the store does not read it.

        Raises:
            InputError: The text has a line break, or the recording is finished.
            StoreError: It could not be written.
        """

    def finish(self) -> None:
        """Close the journal: it is packed into one compressed blob with a digest. A second call does nothing.

        Raises:
            StoreError: It could not be written.
        """


class Storage(Protocol):
    """Runs, journals, rollouts and results.

    Nothing is ever deleted or overwritten. A save that repeats what is stored does nothing; one that contradicts it
    raises `InputError`. Reading methods take a run's id or any prefix that only one run has; saving methods take the
    whole id. Every method may raise `StoreError` where the store cannot be used, and reading methods `CorruptRecord`
    where stored bytes do not match their digest.
    """

    def save_run(self, run: Run) -> None:
        """Store a run; where a recording of that id exists, it becomes its document.

        Raises:
            InputError: Another run of that id is stored.
        """

    def load_run(self, run_id: str) -> Run:
        """Return a run.

        Raises:
            NotFound: No run has that id, or several ids begin with it, or there is only an unfinished recording.
        """

    def resolve(self, run_id: str) -> str:
        """Return the whole id for an id or a unique prefix.

        Raises:
            NotFound: None or several match; the message names the nearest.
        """

    def list_runs(self, limit: int | None = None) -> list[RunSummary]:
        """List the runs and unfinished recordings, the last stored first."""

    def save_spec(self, run_id: str, text: str) -> None:
        """Keep how a run is to be re-executed (agent, input, outcome rule); the last one saved counts.

        Raises:
            NotFound: No run or recording has that id.
        """

    def load_spec(self, run_id: str) -> str:
        """Return the spec that was saved last.

        Raises:
            NotFound: The run does not exist, or has none.
        """

    def open_recording(self, run_id: str, header: Mapping[str, Json]) -> Recording:
        """Begin a journal.

        Args:
            run_id: A new id.
            header: Any JSON object; `agent` and `recorded_at`, where they are strings, are shown by `list_runs`.

        Raises:
            InputError: A run or recording of that id exists.
        """

    def read_header(self, run_id: str) -> dict[str, Json]:
        """Return the header of a recording.

        Raises:
            NotFound: The run does not exist, or was not recorded here.
        """

    def read_journal(self, run_id: str) -> Iterator[str]:
        """Return the lines of a journal, finished or not, as they stand at this moment.

        Raises:
            NotFound: The run does not exist, or was not recorded here.
        """

    def save_rollout(self, record: RolloutRecord) -> None:
        """Store one rollout in one commit.

        Raises:
            DrawTaken: Another rollout is this draw of this arm.
            InputError: Another rollout has this id.
            NotFound: The run does not exist.
        """

    def load_rollouts(self, run_id: str, fingerprint: str, arm: str) -> list[StoredRollout]:
        """Return the rollouts of an arm in the order of their draws; an arm that was never drawn has none."""

    def rollout_journal(self, rollout_id: str) -> str:
        """Return the journal of a rollout.

        Raises:
            NotFound: No rollout has that id.
        """

    def list_arms(self, run_id: str) -> list[ArmSummary]:
        """List the arms of a run that have rollouts, in the order in which they were begun."""

    def save_result(self, result_id: str, run_id: str, kind: str, params_text: str, body_text: str) -> None:
        """Store an answer.

        Raises:
            InputError: Another result has this id.
            NotFound: The run does not exist.
        """

    def load_result(self, result_id: str) -> ResultRecord:
        """Return an answer.

        Raises:
            NotFound: No result has that id.
        """

    def list_results(self, run_id: str) -> list[ResultRecord]:
        """Return the answers about a run, the first saved first."""

    def ledger(self) -> LedgerRows:
        """Return the table of the gate's ledger; it is closed with the store."""

    def verify(self) -> Verification:
        """Derive every digest again and report what does not match; nothing is raised for it."""

    def close(self) -> None:
        """Give the store up; a second call does nothing."""

    def __enter__(self) -> Self:
        """Return the store itself."""

    def __exit__(self, *exception: object) -> None:
        """Close the store."""
