"""Every check of a certificate, one after another; what can still be looked at after a failure is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.canonical import digest_text
from butfor.errors import ButforError
from butfor.gate.verify.case import Case, Given
from butfor.gate.verify.checks import Report, failed
from butfor.gate.verify.claims import check_call, check_commitment, check_graph, check_proof
from butfor.gate.verify.consents import check_approval, check_policy
from butfor.gate.verify.derived import check_budget, check_derived, check_evidence
from butfor.gate.verify.document import check_bytes, check_fields, check_form, check_schema, check_signature
from butfor.gate.verify.inclusion import check_ledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.gate.verify.checks import Check, Level, Name


def verify(data: bytes, given: Given | None = None) -> Report:
    """Derive again everything that a certificate says, and hold it against what it says.

    Args:
        data: The certificate file.
        given: What the caller brings: whose keys count, rows, call, ledger.

    Returns:
        Each check and what became of it. Nothing is raised for a certificate that is wrong.
    """
    read, document = check_bytes(data)
    checks: list[Check] = [read]
    level: Level = "nothing"
    if document is not None:
        form, sealed = check_form(document)
        checks.append(form)
        if sealed is not None:
            case = Case(data=data, sealed=sealed, given=given or Given())
            more, level = _within(case)
            checks += more
    return Report(digest=digest_text(data), level=level, checks=tuple(checks))


def _within(case: Case) -> tuple[list[Check], Level]:
    schema = check_schema(case)
    checks = [schema, check_signature(case), check_fields(case)]
    if schema.status == "failed":
        # What is not of the schema's form cannot be decided again; the fields are named already.
        return [*checks, _made("ledger", lambda: check_ledger(case))], "attested"
    checks += [
        _made("policy", lambda: check_policy(case)),
        _made("call", lambda: check_call(case)),
        _made("approval", lambda: check_approval(case)),
        _made("graph", lambda: check_graph(case)),
        _made("commitment", lambda: check_commitment(case)),
        _made("proof", lambda: check_proof(case)),
    ]
    level: Level = "attested"
    try:
        evidence, level = check_evidence(case)
        checks += [evidence, _made("budget", lambda: check_budget(case)), *check_derived(case, level)]
    except _FAULTS as error:
        checks.append(failed("estimate", _sentence(error)))
    return [*checks, _made("ledger", lambda: check_ledger(case))], level


def _made(name: Name, make: Callable[[], Check]) -> Check:
    """Make a check; where the certificate's own words break it, it failed."""
    try:
        return make()
    except _FAULTS as error:
        return failed(name, _sentence(error))


# What a changed certificate of the right form can still raise in the code that reads it.
_FAULTS = (ButforError, KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, AssertionError)


def _sentence(error: Exception) -> str:
    return str(error) if isinstance(error, ButforError) else f"it cannot be followed ({type(error).__name__}: {error})"
