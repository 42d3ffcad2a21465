"""`butfor pairs`: training files from validated repairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from butfor.cli import options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from butfor.repairs.pairs import Exported

# Spelled out here, so that --help needs no room; tests/unit/repairs holds them against the room's own.
FORMATS = ("trl-dpo", "trl-kto", "trl-reward", "openai")
_SHOWN = 20


@click.group("pairs")
def command() -> None:
    """Write validated repairs as training pairs, and check such files."""


@command.command("export")
@click.option("--format", "name", type=click.Choice(FORMATS), required=True, help="what reads the files")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="folder to write to")
@click.option("--runs", "selection", metavar="FILTER", default="all", show_default=True, help="as butfor repair --all")
@options.level("--test", 0.1, "share of the tasks that go to test.jsonl")
@click.option("--seed", type=int, default=0, show_default=True, help="another seed gives another split")
@options.as_json
def export(name: str, out: Path, selection: str, test: float, seed: int, as_json: bool) -> int:
    """Write the pairs of every validated repair: (state, repaired action, factual action).

    Only repairs that rollouts have shown are written, and none that contains what only the verifier knows. No-ops,
    duplicates, contradictions and pairs that differ by form alone are left out and counted. A task is in train.jsonl
    or in test.jsonl, never in both. provenance.jsonl says, row by row, what was shown.
    """
    from butfor.repairs.many import Selection
    from butfor.repairs.pairs import FORMATS as KNOWN
    from butfor.repairs.pairs import derive_pairs, export_pairs

    chosen = Selection.parse(selection)
    with options.open_store() as store:
        # The first stored first, so that a later run does not move the rows of an earlier one.
        runs = [each.run_id for each in reversed(store.list_runs()) if chosen.takes(each)]
        derived = derive_pairs(store, runs)
    exported = export_pairs(derived, name=KNOWN[FORMATS.index(name)], out=out, test=test, seed=seed)
    if as_json:
        click.echo(json.dumps(exported.to_json(), indent=2, ensure_ascii=False))
    else:
        _say(_lines(exported, out))
    return 0


@command.command("check")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--format", "name", type=click.Choice(FORMATS), help="told by the fields of the first row otherwise")
@options.as_json
def check(file: Path, name: str | None, as_json: bool) -> int:
    """Hold FILE against its format, line by line, and look for duplicates, contradictions and shortcuts."""
    from butfor.repairs.pairs import FORMATS as KNOWN
    from butfor.repairs.pairs import check_file

    checked = check_file(file, name=None if name is None else KNOWN[FORMATS.index(name)])
    if as_json:
        click.echo(json.dumps(checked.to_json(), indent=2, ensure_ascii=False))
    else:
        left = len(checked.problems) - _SHOWN
        more = [f"… and {left} more problems (--json shows all)"] if left > 0 else []
        audited = [checked.shortcut.sentence] if checked.shortcut is not None else []
        _say([*map(str, checked.problems[:_SHOWN]), *more, checked.sentence, *audited])
    return 0 if checked.ok else 1


def _lines(exported: Exported, out: Path) -> Iterable[str]:
    yield f"pairs: {exported.pairs}, of {exported.repairs} stored repairs, as {exported.format}, in {out}"
    for split, counts in exported.splits.items():
        yield f"  {split}.jsonl: rows: {counts['rows']}, pairs: {counts['pairs']}, tasks: {counts['tasks']}"
    if "test" not in exported.splits:
        yield "  no task fell to test.jsonl; more tasks, or a larger --test, will fill it"
    for reason, count in exported.dropped.items():
        yield f"  left out: {count} × {reason}"
    yield exported.shortcut.sentence


def _say(lines: Iterable[str]) -> None:
    from butfor.report.visible import one_line

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        style = "bold yellow" if line.startswith("WARNING") else ""
        indent = "  " if line.startswith("  ") else ""
        console.print(Text(indent + one_line(line, 500), style=style))
