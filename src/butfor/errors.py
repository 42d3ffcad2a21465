"""The error tree.

Exceptions are for misuse and broken machinery; an answer such as *not identified* or *not replayable* is a value.

::

    ButforError
    ├── InputError (ValueError)              what the user gave cannot be used
    │   ├── NotFound (LookupError)           no run, file, step or benchmark of that name
    │   ├── NotRecordable (TypeError)        a value that has no JSON form crossed a boundary
    │   ├── NothingFailed                    a run whose outcome is good was to be repaired
    │   ├── DrawTaken                        a draw of an arm is stored already, perhaps by another process
    │   └── OutcomeTaken                     another outcome of this decision is in the ledger
    ├── ActionRefused                        the gate did not let a tool call run; carries the certificate
    ├── AgentError                           the user's agent could not be imported, or raised
    ├── OutcomeError (ValueError)            an outcome outside [0, 1], NaN, or a rule that raised
    ├── ReplayError                          a rollout cannot go on as asked
    │   ├── ReplayDivergence                 the agent asks something other than what was recorded
    │   ├── UnsupportedCall                  a tool call that a rollout may not make and nothing can answer
    │   ├── UnknownLane                      a boundary was reached outside the recorded concurrency tree
    │   ├── BudgetStop                       the budget was used up
    │   └── Abandoned                        the rollout was given up (timeout); its next boundary raises
    ├── TransportFault (ConnectionError)     no answer content arrived; the same draw may be tried again
    ├── StoreError                           the store cannot be used
    │   ├── StoreTooNew                      written by a newer version
    │   └── CorruptRecord (ValueError)       bytes that do not match their digest or form
    ├── SandboxRefused                       the walls that a foreign program needs cannot be had on this machine
    └── MissingExtra (ImportError)           an optional package is not installed
"""

from __future__ import annotations

from typing import TypeVar

_E = TypeVar("_E", bound="ButforError")


class ButforError(Exception):
    """The root: one sentence that says what is wrong, where, and what to do.

    Args:
        what: What is wrong, without a full stop.
        where: File, line, field or step, where known.
        fix: What the user can do, in the imperative.
    """

    def __init__(self, what: str, *, where: str | None = None, fix: str | None = None) -> None:
        self.what = what
        self.where = where
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        remedy = f": {self.fix}" if self.fix else ""
        return _on_one_line(f"{self.what}{place}{remedy}")

    def __reduce__(self) -> tuple[object, ...]:
        # By default an exception is made again from its message alone, which fails where a field is required: an
        # error of a worker process would then arrive as a TypeError about itself.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(kind: type[_E], args: tuple[object, ...], fields: dict[str, object]) -> _E:
    error = kind.__new__(kind)
    super(ButforError, error).__init__(*args)
    error.__dict__.update(fields)
    return error


def _on_one_line(text: str) -> str:
    """Write control characters as escapes: a message may quote a trace, and a trace may hold a terminal's codes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\N{NO-BREAK SPACE}" else char.encode("unicode_escape").decode()
        for char in text
    )


class InputError(ButforError, ValueError):
    """What the user gave cannot be used."""


class NotFound(InputError, LookupError):
    """Nothing of that name exists."""


class NotRecordable(InputError, TypeError):
    """A value without a JSON form crossed a boundary."""


class NothingFailed(InputError):
    """A run whose outcome is good was to be repaired."""


class DrawTaken(InputError):
    """A draw of an arm is stored already: by the same analysis, or by another process that makes it too."""


class OutcomeTaken(InputError):
    """Another outcome of this decision is in the ledger, and nothing in it is overwritten."""


class ActionRefused(ButforError):
    """The gate did not let a tool call run.

    Args:
        what: Why, in words.
        verdict: REJECT, EXPERIMENT or ABSTAIN.
        reason: The reason code.
        decision: The decision's id.
        certificate: The certificate file's bytes; empty where it could not be made.
    """

    def __init__(self, what: str, *, verdict: str, reason: str, decision: str, certificate: bytes) -> None:
        self.verdict = verdict
        self.reason = reason
        self.decision = decision
        self.certificate = certificate
        super().__init__(what, where=f"decision {decision}")


class AgentError(ButforError):
    """The user's agent could not be imported, or raised."""


class OutcomeError(ButforError, ValueError):
    """An outcome is not a number in [0, 1], or its rule raised."""


class ReplayError(ButforError):
    """A rollout cannot go on as asked."""


class ReplayDivergence(ReplayError):
    """The agent asks something other than what was recorded.

    Args:
        what: What differs, in words.
        path: JSON path of the first differing field.
        recorded: The recorded value there.
        asked: The value that the agent gives now.
        where: Lane and occurrence of the crossing.
    """

    def __init__(
        self, what: str, *, path: str = "$", recorded: object = None, asked: object = None, where: str | None = None
    ) -> None:
        self.path = path
        self.recorded = recorded
        self.asked = asked
        super().__init__(
            what,
            where=where,
            fix="the agent's code, its input or something outside the boundaries changed since the recording",
        )


class UnsupportedCall(ReplayError):
    """A tool call that a rollout may not make, and that nothing recorded or simulated can answer."""

    def __init__(self, what: str, *, tool: str, where: str | None = None, fix: str | None = None) -> None:
        self.tool = tool
        super().__init__(what, where=where, fix=fix)


class UnknownLane(ReplayError):
    """A boundary was reached outside the recorded concurrency tree."""


class BudgetStop(ReplayError):
    """The budget was used up.

    Args:
        what: What ran out, in words.
        resource: One of rollouts, policy_calls, tokens, money, seconds.
    """

    def __init__(self, what: str, *, resource: str, fix: str | None = None) -> None:
        self.resource = resource
        super().__init__(what, fix=fix)


class Abandoned(ReplayError):
    """The rollout was given up; whatever it does now is discarded."""


class TransportFault(ButforError, ConnectionError):
    """No answer content arrived, so the same draw may be tried again."""


class StoreError(ButforError):
    """The store cannot be used."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of butfor."""


class CorruptRecord(StoreError, ValueError):
    """Stored bytes do not match their digest or their form."""


class SandboxRefused(ButforError):
    """The walls that a foreign program needs cannot be had on this machine, so it is not run."""


class MissingExtra(ButforError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, *, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package!r}", fix=f"pip install 'butfor[{extra}]'")


def system_reason(error: Exception) -> str:
    """Return what the system said of a file, without the number and the path, which a sentence names anyway."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
