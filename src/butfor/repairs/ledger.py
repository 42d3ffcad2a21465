"""What must survive a killed process: which hypotheses of a failure were begun, and what a model was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.errors import AgentError, ButforError, InputError, NotFound
from butfor.repairs.edits import key_of
from butfor.replay import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from butfor.canonical import Json
    from butfor.repairs.proposers import Chat
    from butfor.replay import Meter
    from butfor.store import ResultRecord, Storage

HYPOTHESIS = "repair-hypothesis"
GENERATION = "repair-generation"
QUESTION = "repair-question"
BOOKKEEPING = frozenset({HYPOTHESIS, GENERATION, QUESTION})
"""Kinds of stored results that are no answers."""


class Ledger:
    """Numbers the hypotheses of one failure across calls and processes.

    A number is committed before the first draw of its hypothesis, so that a killed process cannot test the same
    hypothesis twice at two levels, and a later call goes on counting.

    Args:
        store: Where the run is.
        run_id: The run.
        outcome: The outcome rule: another rule is another failure.
        fingerprint: Of the draws: the same candidate held against other draws (changed code, stale draws) is another
            hypothesis.
    """

    def __init__(self, store: Storage, run_id: str, outcome: str, fingerprint: str) -> None:
        self._store, self._run_id, self._fingerprint = store, run_id, fingerprint
        self._prefix = f"{run_id}:hypothesis:{canonical.digest(outcome)[7:19]}"
        self._numbers: dict[tuple[int, str, str], int] = {}
        self._read()

    def _read(self) -> None:
        for record in self._store.list_results(self._run_id):
            if record.kind == HYPOTHESIS and record.result_id.startswith(self._prefix):
                body = canonical.decode(record.body)
                self._numbers[body["step"], body["key"], body["fingerprint"]] = int(body["number"])

    @property
    def tested(self) -> int:
        """How many hypotheses were begun."""
        return max(self._numbers.values(), default=0)

    def number(self, step: int, action: Json) -> int:
        """Return the number of a hypothesis: its old one, or the next."""
        place = step, key_of(action), self._fingerprint
        while place not in self._numbers:
            number = self.tested + 1
            try:
                self._store.save_result(
                    f"{self._prefix}:{number}",
                    self._run_id,
                    HYPOTHESIS,
                    "{}",
                    canonical.canonical(
                        {"number": number, "step": step, "key": place[1], "fingerprint": self._fingerprint}
                    ),
                )
            except NotFound:
                raise
            except InputError:
                self._read()  # another process took the number
            else:
                self._numbers[place] = number
        return self._numbers[place]

    def null_from(self, step: int, actions: Sequence[Json], *, seen: int) -> int:
        """Return where the null draws of a list of candidates begin: as committed when the list was fixed, else now.

        Args:
            step: k.
            actions: The candidates.
            seen: How many null draws of the step were seen by now.
        """
        keys = sorted(key_of(action) for action in actions)
        name = f"{self._prefix}:list:{canonical.digest([step, keys, self._fingerprint])[7:31]}"
        try:
            self._store.save_result(
                name, self._run_id, GENERATION, "{}", canonical.canonical({"step": step, "null_from": seen})
            )
        except NotFound:
            raise
        except InputError:  # it was fixed before
            return int(canonical.decode(self._store.load_result(name).body)["null_from"])
        return seen


class StoredAnswers:
    """Keeps what models answered, so that a question that was paid for is not paid for again.

    Args:
        store: Where the run is.
        run_id: The run.
        meter: Counts what is asked against a budget.
    """

    def __init__(self, store: Storage, run_id: str, meter: Meter) -> None:
        self._store, self._run_id, self._meter = store, run_id, meter
        self.found = self.asked = 0

    def __call__(self, question: Json, ask: Callable[[], Json], /) -> Json:
        """Return the kept answer to a question, or ask and keep it.

        Raises:
            BudgetStop: The budget does not allow another call.
            AgentError: The model raised.
        """
        name = f"{self._run_id}:question:{canonical.digest(question)[7:47]}"
        kept = self._load(name)
        if kept is not None:
            self.found += 1
            return canonical.decode(kept.body)["answer"]
        self._meter.take_call()
        self.asked += 1
        answer = _answer_of(ask)
        usage = reading.read(answer).usage
        self._meter.spend_tokens(usage[0] or 0, usage[1] or 0)
        body = canonical.encode({"answer": answer})
        try:
            self._store.save_result(name, self._run_id, QUESTION, canonical.encode(question), body)
        except InputError:  # another process asked too and was faster; its answer is the answer
            kept = self._load(name)
            return answer if kept is None else canonical.decode(kept.body)["answer"]
        return answer

    def around(self, chat: Chat, *, name: str) -> Chat:
        """Return a chat that asks the same question of the same model once."""

        def remembered(**request: Json) -> Json:
            return self({"asked": name, **request}, lambda: chat(**request))

        return remembered

    def _load(self, name: str) -> ResultRecord | None:
        try:
            return self._store.load_result(name)
        except NotFound:
            return None


def _answer_of(ask: Callable[[], Json]) -> Json:
    try:
        return ask()
    except ButforError:
        raise
    except Exception as error:
        raise AgentError(
            f"the model that was asked raised {type(error).__name__}: {error}",
            fix="mend it and run the same command again; what was answered and drawn is kept",
        ) from error
