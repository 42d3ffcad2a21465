"""Everything that a report shows, read from the store."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import butfor
from butfor import canonical
from butfor.attribution import METHODS, Bill
from butfor.errors import InputError, NotFound
from butfor.replay.stored import find_rollout
from butfor.report.commands import commands_again, commands_of, only_from_python
from butfor.report.data import ReportData, Reproduction
from butfor.report.examples import choose, compare_all, resampled_step
from butfor.report.findings import read_finding
from butfor.report.notes import notes_of
from butfor.report.repairs import read_repairs
from butfor.report.scores import read_responsibility, read_shapley
from butfor.report.visible import one_line, readable_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from butfor.report.findings import Finding
    from butfor.report.scores import Scores
    from butfor.runs import Run
    from butfor.store import ResultRecord, Storage, StoredRollout

KINDS = tuple(METHODS)
"""Results that a report can show; the one saved last is taken."""

_WITH_EFFECTS = ("profile", "search")


def gather_report(
    store: Storage, run_id: str, *, result_id: str | None = None, rollout_ids: Sequence[str] = ()
) -> ReportData:
    """Read a run, its answer, the rollouts behind it and their price.

    Args:
        store: Where they are.
        run_id: The run, or a unique prefix of its id.
        result_id: Which answer; the last one by default. Without any the report shows the run alone.
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
            repairs=read_repairs(store, run.run_id),
            reproduction=Reproduction(commands=commands_of(run), facts=_run_facts(store, run)),
        )
    body = canonical.decode(record.body)
    finding, scores = _answer(store, run, body)
    bill = Bill.from_json(body["bill"])
    rollouts = _rollouts(store, run.run_id, str(body["fingerprint"]))
    estimates = () if (answer := finding or scores) is None else answer.estimates()
    complete = scores is None or scores.complete
    return ReportData(
        run=run,
        finding=finding,
        scores=scores,
        result_id=record.result_id,
        bill=bill,
        notes=notes_of(run, finding, bill, told=body["notes"], stopped=body["stopped"], complete=complete),
        assumptions=_weakest(each for estimate in estimates for each in estimate.assumptions),
        methods=_unique(estimate.method for estimate in estimates),
        examples=compare_all(store, run, _once([*choose(run, rollouts), *wanted])),
        reproduction=_reproduction(store, run, body),
        repairs=read_repairs(store, run.run_id),
    )


def _answer(store: Storage, run: Run, body: dict[str, Any]) -> tuple[Finding | None, Scores | None]:
    """Read the answer of whichever method gave it."""
    document, method = body["answer"], str(body["method"])
    if "kind" in document:  # a profile, a search, or any method on a run that cannot be replayed
        return read_finding(document, method=method), None
    if method == "responsibility":
        return None, read_responsibility(document, proposals=body["settings"].get("proposals", {}))
    return None, read_shapley(document, method=method, beside=_beside(store, run, str(body["fingerprint"])))


def _beside(store: Storage, run: Run, fingerprint: str) -> Finding | None:
    """Return the last profile from draws of the same fingerprint, else the last search: they know single effects."""
    bodies = [canonical.decode(each.body) for each in store.list_results(run.run_id) if each.kind in _WITH_EFFECTS]
    usable = [each for each in bodies if each["fingerprint"] == fingerprint and "steps" in each["answer"]]
    usable.sort(key=lambda each: each["method"] == "profile")
    return read_finding(usable[-1]["answer"], method=str(usable[-1]["method"])) if usable else None


def _result(store: Storage, run_id: str, result_id: str | None) -> ResultRecord | None:
    if result_id is None:
        found = [each for each in store.list_results(run_id) if each.kind in KINDS]
        return found[-1] if found else None
    record = store.load_result(result_id)
    if record.kind not in KINDS or record.run_id != run_id:
        raise InputError(
            f"result {result_id!r} is a {record.kind} of run {record.run_id}",
            fix=f"name an answer about {run_id}; `butfor runs {run_id}` lists them",
        )
    return record


def _rollouts(store: Storage, run_id: str, fingerprint: str) -> list[StoredRollout]:
    arms = [arm.arm for arm in store.list_arms(run_id) if arm.fingerprint == fingerprint]
    found = [each for arm in arms for each in store.load_rollouts(run_id, fingerprint, arm)]
    return [each for each in found if resampled_step(each) is not None]


def _reproduction(store: Storage, run: Run, body: dict[str, Any]) -> Reproduction:
    settings = {key: value for key, value in body["settings"].items() if value is not None and value != {}}
    plain = {f"setting {key}": one_line(readable_json(value, indent=None), 160) for key, value in settings.items()}
    facts = {"result": str(body["result_id"]), "fingerprint of the draws": str(body["fingerprint"])}
    return Reproduction(
        commands=commands_again(run, body),
        facts=facts | only_from_python(settings) | plain | _run_facts(store, run),
    )


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


def _weakest(assumptions: Iterable[str]) -> tuple[str, ...]:
    """Name each assumption once; one that another begins with is said by that one."""
    found = _unique(assumptions)
    return tuple(each for each in found if not any(other != each and other.startswith(each) for other in found))


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
