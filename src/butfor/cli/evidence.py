"""`butfor evidence`: describe a table of past units, test a graph on it, make one of recorded runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from butfor.cli.options import open_store
from butfor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.estimation.evidence import Decisions, Table
    from butfor.estimation.falsification import Falsification
    from butfor.estimation.independence import IndependenceTest
    from butfor.identification import Independence

_SHOWN = 20
_json = click.option("--json", "as_json", is_flag=True, help="print JSON")
_file = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


def _parts(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what says which column plays which part; without it the description beside the file says so."""
    for option in reversed(_PARTS):
        command = option(command)
    return command


_PARTS = [
    click.option("--treatment", "-t", help="the treatment's column (default: the description beside FILE says all)"),
    click.option("--outcome", "-y", help="the outcome's column"),
    click.option("--covariates", "-x", default="", help="further columns, separated by commas"),
    click.option("--unit", help="the column that names a unit"),
    click.option("--clusters", help="the column that says which units belong together"),
    click.option("--time", help="the column that says when a unit was seen"),
    click.option("--text", default="", help="columns to read as text, separated by commas"),
    click.option(
        "--kind",
        type=click.Choice(["observational", "randomised", "mixed", "policy-confounded"]),
        default="observational",
        show_default=True,
        help="how treatments were chosen",
    ),
]


@click.group("evidence")
def command() -> None:
    """Describe and test tables of past units: CSV, JSON Lines or Parquet.

    Exit code 1 where the data contradict the graph.
    """


@command.command("show")
@_file
@_parts
@click.option("--save", is_flag=True, help="write the description beside FILE")
@_json
def show_file(file: Path, save: bool, as_json: bool, **parts: Any) -> int:
    """Check FILE, and print what it is: digest, kind, arms, window."""
    from butfor.estimation.evidence import save_evidence

    table = _opened(file, parts)
    saved = save_evidence(table, file) if save else None
    document = {**table.evidence.to_json(), "discrete": sorted(table.columns.discrete)}
    if as_json:
        _print(document)
        return 0
    _describe(table)
    if saved is not None:
        click.echo(f"described in {saved}")
    return 0


@command.command("test")
@_file
@_parts
@click.option("--graph", "-g", "graph_file", required=True, type=click.Path(dir_okay=False), help="the graph to test")
@click.option("--control", "controls", multiple=True, metavar="'P ~ T | A, B'", help="must be independent as well")
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@click.option("--baseline", type=click.IntRange(1), help="also compare with so many graphs of shuffled names")
@click.option("--seed", type=int, default=20261130, show_default=True)
@_json
def test_file(
    file: Path,
    graph_file: str,
    controls: tuple[str, ...],
    alpha: float,
    baseline: int | None,
    seed: int,
    as_json: bool,
    **parts: Any,
) -> int:
    """Test on FILE what the graph implies. Exit code 1 where the data contradict it."""
    from butfor.estimation.falsification import falsify, permutation_baseline
    from butfor.graphs import read_file

    graph, columns = read_file(graph_file), _opened(file, parts).columns
    found = falsify(columns, graph, controls=map(_control, controls), alpha=alpha, seed=seed)
    document = _tests(found)
    if baseline is not None:
        document["baseline"] = vars(permutation_baseline(columns, graph, shuffles=baseline, alpha=alpha, seed=seed))
    _print(document) if as_json else _tell(document)
    return 1 if found.refuted else 0


@command.command("sensitivity")
@_file
@_parts
@click.option("--adjust", "adjust_for", default="", help="the covariates adjusted for (default: all), with commas")
@click.option("--threshold", type=float, default=0.0, show_default=True, help="what the lower bound is held against")
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@_json
def sensitivity_file(file: Path, adjust_for: str, threshold: float, alpha: float, as_json: bool, **parts: Any) -> int:
    """Say how strong a hidden cause must be to flip the answer.

    The answer is the lower bound of a linear adjustment on FILE, held against --threshold. Exit code 3 where there is
    none.
    """
    from butfor.confidence import Undefined
    from butfor.estimation.sensitivity import linear_sensitivity

    columns = _opened(file, parts).columns
    found = linear_sensitivity(columns, _names(adjust_for) or columns.covariates, threshold=threshold, alpha=alpha)
    if isinstance(found, Undefined):
        _print(found.to_json()) if as_json else click.echo(f"no answer: {found.reason}")
        return 3
    document = {
        "effect": found.effect,
        "lower": found.lower,
        "robustness": found.robustness,
        "robustness_of_bound": found.robustness_of_bound,
        "words": found.in_words(),
    }
    if as_json:
        _print(document)
    else:
        click.echo(f"effect {found.effect:.4g}, lower bound {found.lower:.4g} (linear adjustment, alpha {alpha:g})")
        click.echo(document["words"])
    return 0


@command.command("build")
@click.option("--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="a .parquet or .jsonl")
@click.option("--tool", help="the treatment is whether a step called this tool (default: what it called, as text)")
@click.option("--agent", help="only runs of this agent, as `butfor runs` names it")
@_json
def build_file(out: Path, tool: str | None, agent: str | None, as_json: bool) -> int:
    """Make evidence of recorded runs.

    One row for each decision, the description of the rows, and a graph to start from, in which a hidden cause of
    treatment and outcome stays.
    """
    from butfor.estimation.evidence import decision_rows, read_file, save_evidence, starter_graph, write_rows
    from butfor.estimation.evidence.decisions import NOTE
    from butfor.graphs import write_yaml

    with open_store() as store:
        listed = [each for each in store.list_runs() if each.complete and agent in (None, each.agent)]
        # In order of their names: the same runs give the same file, whenever they were imported.
        decisions = decision_rows((store.load_run(name) for name in sorted(e.run_id for e in listed)), tool=tool)
    write_rows(decisions.table, out)
    now = datetime.now(UTC)
    table = read_file(out, decisions.roles, kind="policy-confounded", now=now, note=NOTE)
    saved, graph = save_evidence(table, out), out.with_name(f"{out.name}.graph.yaml")
    graph.write_text(write_yaml(starter_graph(decisions.roles)), encoding="utf-8")
    if as_json:
        _print({**table.evidence.to_json(), "left_out": dict(decisions.left_out), "graph": str(graph)})
    else:
        _tell_built(table, decisions, [out, saved, graph])
    return 0


def _opened(file: Path, parts: dict[str, Any]) -> Table:
    from butfor.estimation.evidence import Roles, open_evidence, read_file

    if parts["treatment"] is None and parts["outcome"] is None:
        return open_evidence(file)
    if parts["treatment"] is None or parts["outcome"] is None:
        raise InputError("evidence has a treatment and an outcome", where="--treatment, --outcome", fix="give both")
    roles = Roles(
        treatment=parts["treatment"],
        outcome=parts["outcome"],
        covariates=_names(parts["covariates"]),
        unit=parts["unit"],
        clusters=parts["clusters"],
        time=parts["time"],
        text=frozenset(_names(parts["text"])),
    )
    return read_file(file, roles, kind=parts["kind"], now=datetime.now(UTC))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _control(text: str) -> Independence:
    from butfor.identification import Independence

    sides, _, given = text.partition("|")
    variable, mark, others = sides.partition("~")
    if not mark or not variable.strip() or not _names(others):
        raise InputError(f"{text!r} is no control", where="--control", fix="write 'placebo ~ treatment | a, b'")
    return Independence(variable=variable.strip(), others=_names(others), given=_names(given))


def _tests(found: Falsification) -> dict[str, Any]:
    return {
        "words": found.in_words(),
        "refuted": [str(each.statement) for each in found.refuted],
        "alpha": found.alpha,
        "complete": found.complete,
        "tested": [
            {
                "statement": str(each.statement),
                "method": each.method,
                "n": each.n,
                "p": each.p,
                "adjusted": each.adjusted,
            }
            for each in found.tested
        ],
        "not_tested": [{"statement": str(each.statement), "reason": each.reason} for each in found.untested],
    }


def _statement(each: IndependenceTest) -> dict[str, Any]:
    return {"statement": str(each.statement), "method": each.method}


def _tell(document: dict[str, Any]) -> None:
    click.echo(document["words"])
    rows = sorted(document["tested"], key=lambda each: each["p"])
    for each in rows[:_SHOWN]:
        click.echo(f"  p {each['p']:.3g}, adjusted {each['adjusted']:.3g}  {each['statement']}  ({each['method']})")
    if len(rows) > _SHOWN:
        click.echo(f"  … {len(rows) - _SHOWN} more with --json")
    for each in document["not_tested"][:_SHOWN]:
        click.echo(f"  not tested: {each['statement']} ({each['reason']})")
    if not document["complete"]:
        click.echo("  the graph implies more than was listed")
    baseline = document.get("baseline")
    if baseline is not None and "reason" in baseline:
        click.echo(f"no baseline: {baseline['reason']}")
    elif baseline is not None:
        click.echo(
            f"{baseline['violated']} of {baseline['implied']} violated at the unadjusted level; "
            f"{baseline['share']:.0%} of graphs with shuffled names do as well (small is good)"
        )


def _describe(table: Table) -> None:
    evidence, roles = table.evidence, table.evidence.roles
    click.echo(f"{evidence.source}: {evidence.rows} units, {evidence.kind}")
    click.echo(evidence.digest)
    arms = ", ".join(f"{arm}: {n}" for arm, n in evidence.arms.items())
    click.echo(f"  treatment {roles.treatment} ({arms}), outcome {roles.outcome}")
    click.echo(f"  covariates {', '.join(roles.covariates) or 'none'}")
    if evidence.window is not None:
        click.echo(f"  seen from {evidence.window[0]} to {evidence.window[1]}")
    if evidence.note:
        click.echo(f"  {evidence.note}")


def _tell_built(table: Table, decisions: Decisions, files: list[Path]) -> None:
    _describe(table)
    click.echo(f"  from {decisions.runs} runs")
    for what, why in decisions.left_out.items():
        click.echo(f"  left out: {f'{why} runs with {what}' if isinstance(why, int) else f'{what} ({why})'}")
    click.echo(f"written: {', '.join(map(str, files))}")
    click.echo("the graph keeps a hidden cause of treatment and outcome; removing it is for you to state")


def _print(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
