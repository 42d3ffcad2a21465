"""`butfor graph`: check a graph file, show it, ask whether an effect is identified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from butfor.cli.graph_commitments import approve, commit, log
from butfor.errors import InputError
from butfor.graphs import read_file, svg
from butfor.identification import (
    Adjustment,
    Hedge,
    Proof,
    Query,
    cheapest_adjustment,
    check,
    estimand,
    identify,
    implied_independences,
    in_words,
    minimal_adjustment,
    precise_adjustment,
    remedies,
)

if TYPE_CHECKING:
    from butfor.graphs import Graph

_SHOWN = 20
_json = click.option("--json", "as_json", is_flag=True, help="print JSON")
_file = click.argument("file", type=click.Path(dir_okay=False))


@click.group("graph")
def command() -> None:
    """Read causal graphs: dagitty text, DOT, YAML or JSON; commit, approve and list the versions that a gate may use.

    Exit code 3 where an effect is not identified.
    """


for _subverb in (commit, approve, log):
    command.add_command(_subverb)


@command.command("check")
@_file
@_json
def check_file(file: str, *, as_json: bool) -> int:
    """Say whether FILE is a graph, and what data could contradict in it."""
    graph = read_file(file)
    implied = implied_independences(graph)
    statements = [str(each) for each in implied.independences]
    if as_json:
        _print({**_summary(graph), "independences": statements, "complete": implied.complete})
        return 0
    _head(file, graph)
    click.echo(f"{len(statements)} testable independences{'' if implied.complete else ' (and more)'}")
    for statement in statements[:_SHOWN]:
        click.echo(f"  {statement}")
    if len(statements) > _SHOWN:
        click.echo(f"  … {len(statements) - _SHOWN} more with --json")
    return 0


@command.command("show")
@_file
@click.option("--svg", "picture", type=click.Path(dir_okay=False), help="write a drawing here")
@_json
def show_file(file: str, picture: str | None, *, as_json: bool) -> int:
    """Print the canonical form of FILE, and draw it."""
    graph = read_file(file)
    _draw(graph, picture, ())
    if as_json:
        _print({**_summary(graph), "graph": graph.to_json()})
        return 0
    _head(file, graph)
    for name, role in zip(graph.names, graph.roles, strict=True):
        click.echo(f"  {name}" + ("" if role == "state" else f"  [{role}]"))
    for tail, head in graph.directed:
        click.echo(f"  {tail} -> {head}")
    for one, other in graph.bidirected:
        click.echo(f"  {one} <-> {other}")
    return 0


@command.command("identify")
@_file
@click.option("--treatment", "-t", multiple=True, help="what is set (default: the file's treatment)")
@click.option("--outcome", "-y", multiple=True, help="what is looked at (default: the file's outcome)")
@click.option("--given", "-s", multiple=True, help="a stratum variable")
@click.option("--measured", help="the columns that evidence has, separated by commas (default: all but latent nodes)")
@click.option("--cost", "prices", multiple=True, metavar="NAME=COST", help="cost of measuring; NAME may be 'A <-> B'")
@click.option("--require", multiple=True, help="a variable that adjustment sets must have")
@click.option("--forbid", multiple=True, help="a variable that adjustment sets must not have")
@click.option("--svg", "picture", type=click.Path(dir_okay=False), help="write a drawing here")
@_json
def identify_file(
    file: str,
    treatment: tuple[str, ...],
    outcome: tuple[str, ...],
    given: tuple[str, ...],
    measured: str | None,
    prices: tuple[str, ...],
    require: tuple[str, ...],
    forbid: tuple[str, ...],
    picture: str | None,
    *,
    as_json: bool,
) -> int:
    """Say whether the effect is identified, why, and what would help if not. Exit code 3 if not."""
    graph = read_file(file)
    query = Query.effect(
        treatment or graph.with_role("treatment"),
        outcome or graph.with_role("outcome"),
        within=given,
        measured=None if measured is None else [name.strip() for name in measured.split(",")],
    )
    answer = identify(graph, query)
    costs = dict(map(_price, prices))
    document = _answer(graph, answer, costs)
    document["adjustment_sets"] = _sets(graph, query, costs, require, forbid)
    _draw(graph, picture, answer.blocking if isinstance(answer, Hedge) else ())
    if as_json:
        _print(document)
    else:
        _tell(document)
    return 0 if isinstance(answer, Proof) else 3


def _answer(graph: Graph, answer: Proof | Hedge, costs: dict[str, float]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "identified": isinstance(answer, Proof),
        "reason": in_words(graph, answer),
        "checked": check(graph, answer.query, answer).ok,
    }
    if isinstance(answer, Proof):
        return {**document, "estimand": str(estimand(graph, answer)), "proof": answer.to_json()}
    help_ = [vars(remedy) for remedy in remedies(graph, answer, costs=costs)]
    return {**document, "remedies": help_, "hedge": answer.to_json()}


def _sets(
    graph: Graph, query: Query, costs: dict[str, float], required: tuple[str, ...], forbidden: tuple[str, ...]
) -> dict[str, list[str]]:
    """Return the adjustment sets that exist: minimal and cheapest with the user's wishes, and the most precise.

    Where no set is known to be the most precise, a minimal one stands in its place and is called so.
    """
    precise = precise_adjustment(graph, query)
    prices = {name: cost for name, cost in costs.items() if name in graph}
    found = {
        "minimal": minimal_adjustment(graph, query, required=required, forbidden=forbidden),
        "cheapest": cheapest_adjustment(graph, query, costs=prices, required=required, forbidden=forbidden),
    }
    if precise is not None:
        found["most precise" if precise.is_optimal else "precise, not claimed the most"] = precise.proof
    arguments = {name: proof.argument for name, proof in found.items() if proof is not None}
    return {name: list(each.adjust_for) for name, each in arguments.items() if isinstance(each, Adjustment)}


def _tell(document: dict[str, Any]) -> None:
    click.echo("identified" if document["identified"] else "not identified")
    click.echo(document["reason"])
    if document["identified"]:
        click.echo(document["estimand"])
    for name, names in document["adjustment_sets"].items():
        click.echo(f"  {name} adjustment set: {', '.join(names) or 'nothing'}")
    for remedy in document.get("remedies", ()):
        cost = "" if remedy["cost"] is None else f" (cost {remedy['cost']:g})"
        click.echo(f"  - {remedy['text']}{cost}")
    claim = "proof" if document["identified"] else "hedge"
    verdict = "accepted" if document["checked"] else "REFUSED"
    click.echo(f"{claim} {verdict} by the independent checker")


def _price(text: str) -> tuple[str, float]:
    name, mark, cost = text.rpartition("=")
    try:
        return name.strip(), float(cost if mark else "")
    except ValueError:
        raise InputError(f"{text!r} is not a cost", where="--cost", fix="write NAME=COST") from None


def _draw(graph: Graph, picture: str | None, marked: tuple[tuple[str, str], ...]) -> None:
    if picture is not None:
        try:
            Path(picture).write_text(svg(graph, marked=marked), encoding="utf-8")
        except OSError as error:
            raise InputError(f"the drawing cannot be written ({error.strerror})", where=picture) from None


def _head(file: str, graph: Graph) -> None:
    summary = _summary(graph)
    click.echo(f"{file}: {summary['nodes']} nodes, {summary['arrows']} arrows, {summary['latent_edges']} latent edges")
    click.echo(graph.digest)


def _summary(graph: Graph) -> dict[str, Any]:
    return {
        "digest": graph.digest,
        "nodes": len(graph.names),
        "arrows": len(graph.directed),
        "latent_edges": len(graph.bidirected),
    }


def _print(document: dict[str, Any]) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))
