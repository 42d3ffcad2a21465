"""`butfor replay`: run a recorded run again, untouched or changed."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from butfor.cli import options, progress

if TYPE_CHECKING:
    from butfor.attribution.case import Case
    from butfor.replay import Intervention


@click.command("replay")
@click.argument("run")
@click.option("--do", "operations", metavar="OPS", help="such as 'resample(3)' or 'observation(2, @new.json)'")
@click.option("-n", "draws", type=click.IntRange(1), default=1, show_default=True, help="rollouts")
@options.level("--alpha", 0.05, "error level of the interval")
@click.option(
    "--fixed-seed", is_flag=True, help="decide every step again with its recorded seed; report the match rate"
)
@options.agent
@options.outcome
@options.budgeted
@options.as_json
def command(
    run: str, operations: str | None, draws: int, alpha: float, fixed_seed: bool, as_json: bool, **rest: Any
) -> int:
    """Run RUN again. Without --do nothing is changed and everything is served from the recording.

    With --do the outcome of the changed run is printed with its interval.
    """
    from butfor.attribution.case import open_case
    from butfor.replay import do, load_journal, untouched_differences

    with options.open_store() as store, progress.shown("rollouts") as bar:
        case = open_case(run, store=store, question=options.question_of(rest), progress=bar)
        if fixed_seed:
            document = _match_rates(case)
        elif operations is None:
            differences = untouched_differences(load_journal(store, case.run.run_id), case.agent)
            document = {"run_id": case.run.run_id, "faithful": not differences, "differences": differences}
        else:
            document = _changed(case, do.parse(operations), draws, alpha)
    click.echo(json.dumps(document, indent=2, ensure_ascii=False) if as_json else _sentence(document))
    return 0 if document.get("faithful", True) else 3


def _changed(case: Case, intervention: Intervention, draws: int, alpha: float) -> dict[str, Any]:
    from butfor.confidence import bounded_mean
    from butfor.replay import Job

    jobs = [Job(intervention=intervention, arm=f"do:{intervention}", ordinal=i) for i in range(draws)]
    rollouts = case.rollouts.run(jobs)
    return {
        "run_id": case.run.run_id,
        "do": str(intervention),
        "rollouts": len(rollouts),
        "missing": sum(each.outcome is None for each in rollouts),
        "factual": case.factual if isinstance(case.factual, float) else case.factual.point,
        "interval": bounded_mean([each.outcome for each in rollouts], alpha=alpha).to_json(),
        "statuses": dict(Counter(each.status for each in rollouts)),
        "errors": sorted({each.error for each in rollouts if each.error})[:3],
        "rollout_ids": [each.rollout_id for each in rollouts[:5]],
        "stopped": None if case.rollouts.stopped is None else str(case.rollouts.stopped),
    }


def _match_rates(case: Case) -> dict[str, Any]:
    from butfor.replay import Job, RecordedSeeds, do

    jobs = [
        Job(intervention=do.resample(step), arm=f"fixed:{step}", ordinal=0, seeds=RecordedSeeds())
        for step in range(len(case.journal.steps))
    ]
    rollouts = case.rollouts.run(jobs)
    matched = [each.action_matched is True for each in rollouts]
    return {
        "run_id": case.run.run_id,
        "action_match_rate": sum(matched) / len(matched) if matched else None,
        "by_step": matched,
    }


def _sentence(document: dict[str, Any]) -> str:
    if "faithful" in document:
        if document["faithful"]:
            return "the untouched replay is faithful: every boundary was asked and answered as recorded"
        return "the untouched replay differs: " + "; ".join(document["differences"])
    if "action_match_rate" in document:
        rate = document["action_match_rate"]
        return f"action-match rate with the recorded seeds: {'no step' if rate is None else f'{rate:.3f}'}"
    interval = document["interval"]
    text = (
        f"do({document['do']}): outcome {interval['point']:.3f} [{interval['lower']:.3f}, {interval['upper']:.3f}] "
        f"from {document['rollouts']} rollouts; recorded {document['factual']:g} (1 = bad)"
        if "point" in interval
        else f"do({document['do']}): the outcome is undefined: {interval.get('reason')}"
    )
    if document["missing"]:
        text += f"; {document['missing']} without an outcome, counted as 0 and as 1"
    return "\n".join([text, *document["errors"], *filter(None, [document["stopped"]])])
