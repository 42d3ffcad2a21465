"""`butfor repair`: the smallest change that really fixes a failed run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from butfor.cli import options, progress
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.attribution import Question, Quote
    from butfor.repairs import Proposer, RepairAnswer, RepairAsk
    from butfor.repairs.many import Yield
    from butfor.repairs.proposers import Chat
    from butfor.store import Store


@click.command("repair")
@click.argument("run", required=False)
@click.option("--all", "selection", metavar="FILTER", help="repair many runs: all, failed, agent=GLOB, y>=0.5, …")
@click.option("--verifier", metavar="RULE", help="with --all: the outcome that every run is held against; 1 = bad")
@click.option("--budget", type=click.IntRange(1), help="with --all: rollouts for all runs together")
@click.option("--step", "steps", type=click.IntRange(0), multiple=True, help="repair this step (repeatable)")
@click.option(
    "--by-responsibility", is_flag=True, help="find the step by what its proposals can save, not by its blame"
)
@click.option("--proposals", type=click.Path(dir_okay=False), help='your own: JSON file {"step": [actions]}')
@click.option("--proposer", metavar="MODULE:FUNCTION", help="a model to ask: takes messages, returns an answer")
@click.option(
    "--predict", metavar="MODULE:FUNCTION", help="run nothing: let this model guess which proposals would help"
)
@click.option("--critic", metavar="MODULE:FUNCTION", help="a model that judges what was tested, held against rollouts")
@click.option("--meta-critic", metavar="MODULE:FUNCTION", help="a model that judges the critic")
@click.option("--temperature", type=float, default=1.0, show_default=True, help="sent to --proposer")
@click.option("--count", type=click.IntRange(1), default=8, show_default=True, help="proposals of each source a step")
@click.option("--resamples", type=click.IntRange(0), default=16, show_default=True, help="the policy's own draws")
@click.option("--secret", "secrets", multiple=True, help="what only the verifier knows (repeatable)")
@click.option("--target", type=float, default=0.5, show_default=True, help="P(success) that a repair must reach")
@options.level("--alpha", 0.05, "P(any false repair), all proposals of a failure together")
@click.option("--draws", type=click.IntRange(1), default=96, show_default=True, help="rollouts of each arm, at most")
@click.option("--wanted", type=click.IntRange(1), default=1, show_default=True, help="stop after so many repairs")
@click.option("--shrink", type=click.IntRange(0), default=32, show_default=True, help="smaller candidates to look at")
@options.agent
@options.outcome
@options.budgeted
@options.as_json
def command(
    run: str | None,
    selection: str | None,
    verifier: str | None,
    budget: int | None,
    as_json: bool,
    outcome: str | None,
    proposals: str | None,
    proposer: str | None,
    temperature: float,
    predict: str | None,
    critic: str | None,
    meta_critic: str | None,
    **rest: Any,
) -> int:
    """Find the smallest change to RUN's decisive step that is shown to fix it.

    A change counts only where it succeeds more often than deciding the step again would by luck. The step is the one
    that the last `butfor attribute` blames; without one the run is attributed first.
    """
    if (run is None) == (selection is None):
        raise InputError("name one run, or many with --all", fix="write butfor repair RUN, or --all failed")
    if selection is not None and (predict or critic or meta_critic):
        raise InputError("--predict and the critics look at one run", fix="name the run instead of --all")
    if selection is None and (verifier or budget):
        raise InputError("--verifier and --budget belong to --all", fix="use --outcome and --max-rollouts for one run")
    rest["outcome"] = verifier or outcome
    rest["max_rollouts"] = budget or rest["max_rollouts"]
    ask, question, asked = _ask(rest), options.question_of(rest), (critic, meta_critic)
    with options.open_store() as store, progress.shown("rollouts") as bar:
        given = _proposers(proposals, proposer, temperature)
        if predict is not None:
            return _predict(store, run, predict, ask, given, as_json)
        if selection is not None:
            return _many(store, selection, ask, question, given, bar, as_json)
        assert run is not None  # one of the two was given
        # Imported before anything is spent.
        found = [None if each is None else _remembered(store, run, each, "the critic") for each in asked]
        critics = (found[0], found[1]) if any(asked) else None
        return _one(store, run, ask, question, given, bar, as_json, critics)


def _ask(rest: dict[str, Any]) -> RepairAsk:
    from butfor.repairs import RepairAsk, Standard

    return RepairAsk(
        steps=tuple(rest["steps"]),
        locate="responsibility" if rest["by_responsibility"] else "blame",
        standard=Standard(target=rest["target"], alpha=rest["alpha"], most=rest["draws"]),
        proposals=rest["count"],
        resamples=rest["resamples"],
        wanted=rest["wanted"],
        shrink_calls=rest["shrink"],
        secrets=tuple(rest["secrets"]),
    )


def _one(
    store: Store,
    run: str,
    ask: RepairAsk,
    question: Question,
    given: Sequence[Proposer],
    bar: Any,
    as_json: bool,
    critics: tuple[Chat | None, Chat | None] | None,
) -> int:
    from butfor.repairs import repair_run
    from butfor.report import print_repairs, view_of

    answer = repair_run(run, store=store, ask=ask, question=question, proposers=given, announce=_announce, progress=bar)
    said = None if critics is None else _critique(store, answer, critics)
    if as_json:
        document = answer.to_json() | ({} if said is None else {"critique": said})
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        print_repairs(view_of(answer), Console())
        if said is not None:
            _show_critique(said)
        click.echo(f"next: butfor report {answer.run_id} --out report.html", err=True)
    if answer.stopped and "interrupted" in answer.stopped:
        return 130
    return 0 if answer.repairs else 3


def _remembered(store: Store, run: str, name: str, what: str) -> Chat:
    """Import a model whose answers about a run are kept."""
    from butfor.repairs.ledger import StoredAnswers
    from butfor.replay import Meter

    return StoredAnswers(store, store.resolve(run), Meter()).around(options.import_function(name, what=what), name=name)


def _critique(store: Store, answer: RepairAnswer, critics: tuple[Chat | None, Chat | None]) -> dict[str, Any]:
    from butfor.repairs import critique_answer, failure_of_run

    failure = failure_of_run(store.load_run(answer.run_id))
    critiques, quality = critique_answer(answer, failure, critic=critics[0], meta=critics[1])
    return {"critiques": [each.to_json() for each in critiques], "quality": quality.to_json()}


def _show_critique(said: dict[str, Any]) -> None:
    click.echo("Critics (an opinion; the verdict above is what rollouts showed):")
    for each in said["critiques"]:
        found = each["consensus"]
        words = f"{found:.2f}" if isinstance(found, float) else f"undefined ({found['undefined']})"
        kept = "kept" if each["kept"] else "not kept"
        click.echo(f"  step {each['proposal']['step']}: consensus {words}, {kept}")
    for name in ("precision", "recall"):
        found = said["quality"][name]
        bounds = (
            f"{found['point']:.2f} [{found['lower']:.2f}, {found['upper']:.2f}]" if "point" in found else "undefined"
        )
        click.echo(f"  {name} against rollouts: {bounds}")


def _predict(
    store: Store, run: str | None, predict: str, ask: RepairAsk, given: Sequence[Proposer], as_json: bool
) -> int:
    from butfor.repairs import ArgumentEdits, predict_run
    from butfor.repairs.edits import readable
    from butfor.report.visible import one_line

    assert run is not None  # --all was refused
    chat = _remembered(store, run, predict, "the predictor")
    found = predict_run(
        run, store=store, steps=ask.steps, proposers=[*given, ArgumentEdits()], chat=chat, count=ask.proposals
    )
    if as_json:
        click.echo(json.dumps([each.to_json() for each in found], indent=2, ensure_ascii=False))
        return 0 if found else 3
    click.echo("Predicted by a model, validated by nothing; never exported.")
    for each in found:
        click.echo(f"{each.predicted:.2f}  step {each.step}: {one_line(readable(each.repaired), 120)}")
    return 0 if found else 3


def _many(
    store: Store,
    selection: str,
    ask: RepairAsk,
    question: Question,
    given: Sequence[Proposer],
    bar: Any,
    as_json: bool,
) -> int:
    from butfor.repairs.many import Selection, repair_many

    result = repair_many(
        Selection.parse(selection),
        store=store,
        ask=ask,
        question=question,
        proposers=given,
        progress=bar,
        announce=_announce,
        began=lambda run_id: click.echo(f"repairing {run_id}", err=True),
    )
    click.echo(json.dumps(result.to_json(), indent=2, ensure_ascii=False)) if as_json else _show(result)
    if any(each.stopped and "interrupted" in each.stopped for each in result.answers):
        return 130
    return 0 if result.counts["repaired"] else 3


def _show(result: Yield) -> None:
    from butfor.repairs.many import STAGES
    from butfor.report.visible import one_line, visible

    console = Console(highlight=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("runs", justify="right")
    table.add_column("yield")
    for stage in STAGES:
        table.add_row(str(result.counts[stage]), stage)
    console.print(table)
    for answer in result.answers:
        for repair in answer.repairs:
            console.print(Text(f"{visible(answer.run_id)}: {one_line(answer.sentence, 300)}"))
            del repair
    for run_id, why in result.fell_out.items():
        console.print(Text(f"{visible(run_id)}: {one_line(why, 300)}", style="dim"))
    said = "; the budget is used up" if result.stopped else ""
    console.print(Text(f"{result.rollouts} rollouts bought{said}"))


def _proposers(proposals: str | None, proposer: str | None, temperature: float) -> list[Proposer]:
    from butfor.repairs import AskedModel, GivenProposals

    given: list[Proposer] = []
    if proposals is not None:
        given.append(GivenProposals(options.read_proposals(proposals), origin=proposals))
    if proposer is not None:
        chat = options.import_function(proposer, what="the proposer")
        given.append(AskedModel(chat, name=proposer, temperature=temperature))
    return given


def _announce(quote: Quote) -> None:
    click.echo(f"price: {quote}", err=True)
