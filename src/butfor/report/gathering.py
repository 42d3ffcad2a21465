"""Everything that a report shows, read from the store."""

from __future__ import annotations

import platform
import shlex
from typing import TYPE_CHECKING, Any

import butfor
from butfor import canonical
from butfor.attribution import Bill
from butfor.errors import InputError, NotFound
from butfor.replay.stored import find_rollout
from butfor.report.data import ReportData, Reproduction
from butfor.report.examples import choose, compare_all, resampled_step
from butfor.report.findings import read_finding
from butfor.report.notes import notes_of
from butfor.report.visible import one_line, readable_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.runs import Run
    from butfor.store import ResultRecord, Storage, StoredRollout

KINDS = ("profile", "search")
"""Results that a report can show; the one saved last is taken."""


def gather_report(
    store: Storage, run_id: str, *, result_id: str | None = None, rollout_ids: Sequence[str] = ()
) -> ReportData:
    """Read a run, its answer, the rollouts behind it and their price.

    Args:
        store: Where they are.
        run_id: The run, or a unique prefix of its id.
        result_id: Which answer; the last profile or search by default. Without any the report shows the run alone.
        rollout_ids: Rollouts to show beside the original, whatever was changed in them; ids or their beginnings.

    Raises:
        NotFound: No such run, result or rollout.
        InputError: The result is of another kind, or about another run.
        CorruptRecord: What is stored does not match its digest.
    """
    run = store.load_run(run_id)
    record = _result(store, run.run_id, result_id)
    wanted = [find_rollout(store, run.run_id, each) for each in rollout_ids]
    if record is None:
        return ReportData(
            run=run,
            notes=notes_of(run, None, None),
            examples=compare_all(store, run, wanted),
            reproduction=Reproduction(commands=commands_of(run), facts=_run_facts(store, run)),
        )
    body = canonical.decode(record.body)
    finding = read_finding(body["answer"], method=record.kind)
    bill = Bill.from_json(body["bill"])
    rollouts = _rollouts(store, run.run_id, str(body["fingerprint"]))
    return ReportData(
        run=run,
        finding=finding,
        result_id=record.result_id,
        bill=bill,
        notes=notes_of(run, finding, bill, told=body["notes"], stopped=body["stopped"]),
        assumptions=_unique(each for estimate in finding.estimates() for each in estimate.assumptions),
        methods=_unique(estimate.method for estimate in finding.estimates()),
        examples=compare_all(store, run, _once([*choose(run, rollouts), *wanted])),
        reproduction=_reproduction(store, run, body),
    )


def _result(store: Storage, run_id: str, result_id: str | None) -> ResultRecord | None:
    if result_id is None:
        found = [each for each in store.list_results(run_id) if each.kind in KINDS]
        return found[-1] if found else None
    record = store.load_result(result_id)
    if record.kind not in KINDS or record.run_id != run_id:
        raise InputError(
            f"result {result_id!r} is a {record.kind} of run {record.run_id}",
            fix=f"name a {' or '.join(KINDS)} of {run_id}",
        )
    return record


def _rollouts(store: Storage, run_id: str, fingerprint: str) -> list[StoredRollout]:
    arms = [arm.arm for arm in store.list_arms(run_id) if arm.fingerprint == fingerprint]
    found = [each for arm in arms for each in store.load_rollouts(run_id, fingerprint, arm)]
    return [each for each in found if resampled_step(each) is not None]


def _reproduction(store: Storage, run: Run, body: dict[str, Any]) -> Reproduction:
    settings = {key: value for key, value in body["settings"].items() if value is not None}
    plain = {f"setting {key}": one_line(readable_json(value, indent=None), 160) for key, value in settings.items()}
    facts = {"result": str(body["result_id"]), "fingerprint of the draws": str(body["fingerprint"])}
    return Reproduction(commands=commands_of(run, options=_options(body)), facts=facts | plain | _run_facts(store, run))


def commands_of(run: Run, *, options: str = "") -> tuple[str, ...]:
    """The commands that give these numbers again, safe to paste: an imported run's id may be anything."""
    name = shlex.quote(run.run_id)
    return (f"butfor attribute {name}{options}", f"butfor report {name}")


def _options(body: dict[str, Any]) -> str:
    draws = body["settings"].get("draws")
    return f" --method {shlex.quote(str(body['method']))}" + ("" if draws is None else f" --draws {int(draws)}")


def _once(rollouts: list[StoredRollout]) -> list[StoredRollout]:
    return list({each.rollout_id: each for each in rollouts}.values())


def _run_facts(store: Storage, run: Run) -> dict[str, str]:
    facts = {
        "agent": run.provenance.agent or "not recorded by name",
        "recorded": "unknown" if run.provenance.recorded_at is None else run.provenance.recorded_at.isoformat(),
        "recorded with butfor": run.provenance.butfor_version or "unknown",
        "reported with": f"butfor {butfor.__version__}, Python {platform.python_version()}",
    }
    if run.outcome is not None:
        facts["outcome rule"] = one_line(run.outcome.rule, 160)
    try:
        code = store.read_header(run.run_id).get("code")
        if isinstance(code, dict):
            facts["agent's code"] = canonical.digest(code)
    except NotFound:
        facts["source"] = one_line(run.provenance.file or run.provenance.format, 160)
    return facts


def _unique(items: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
