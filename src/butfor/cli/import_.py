"""`butfor import`: read the traces that are there already."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from butfor.cli import options
from butfor.cli.import_report import document, tell, tell_replayable
from butfor.cli.progress import shown
from butfor.errors import ButforError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from butfor.importers import Import, ImportReport, Opening
    from butfor.runs import Run
    from butfor.store import Store


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR|-...")
@click.option("--format", "format_name", metavar="NAME", help="name the format instead of detecting it")
@click.option("--out", metavar="FILE", help="write the runs here instead of into the store; - for standard output")
@click.option("--as", "written_as", type=click.Choice(["butfor", "atif"]), default="butfor", help="form of --out")
@click.option("--redact", is_flag=True, help="replace secrets and e-mail addresses before anything is stored")
@click.option("--redact-rule", "rules", multiple=True, metavar="NAME=REGEX", help="a further rule (implies --redact)")
@click.option("--keep", multiple=True, metavar="RULE", help="leave this standard rule out, such as email")
@click.option("--redaction-key", metavar="TEXT", help="give equal secrets equal names across imports")
@click.option("--replayable", is_flag=True, help="also make the runs replayable, as the options below say")
@click.option("--policy", metavar="MODULE:FUNCTION", help="who decides in rollouts; the recorded model by default")
@click.option("--defaults", metavar="FILE", help="JSON object that requests lack: model, tools, temperature")
@click.option("--tool", "tools", multiple=True, metavar="NAME=MODULE:FUNCTION", help="the function of a tool")
@click.option("--effect", "effects", multiple=True, metavar="NAME=EFFECT", help="none, read or write (the default)")
@options.as_json
def command(
    paths: tuple[str, ...],
    format_name: str | None,
    out: str | None,
    written_as: str,
    redact: bool,
    rules: tuple[str, ...],
    keep: tuple[str, ...],
    redaction_key: str | None,
    as_json: bool,
    **replaying: Any,
) -> int:
    """Import traces: files, directories, or - for standard input.

    The format is detected by content. Each step gets a replayability grade; what could not be placed is counted.

    With --replayable (implied by --policy, --defaults, --tool and --effect) `butfor attribute` works on the runs:
    answers and tool results are served from the trace up to the intervention, and --policy decides from there on.
    """
    rehearsal = _rehearsal(replaying)
    if rehearsal is not None and out is not None:
        raise InputError("a run becomes replayable in the store, not in a file", fix="leave out --out")
    opening = _opening(redact or bool(rules) or redaction_key is not None, rules, keep, redaction_key)
    reports: list[ImportReport] = []
    failures: list[ButforError] = []
    with _sink(out, written_as, rehearsal) as (save, ids), shown("MiB read") as bar:
        opening = dataclasses.replace(opening, progress=_MebiBytes(bar))
        for source in _sources(paths):
            try:
                reports.append(_import(source, format_name, opening, save))
            except ButforError as error:
                if len(paths) == 1 and not Path(paths[0]).is_dir():
                    raise
                failures.append(error)
    if not reports:
        raise failures[0] if failures else InputError("there is no file to import", where=", ".join(paths))
    if as_json:
        click.echo(json.dumps(document(reports, failures, ids), indent=2), err=out == "-")
    else:
        tell(reports, failures, ids, stored=out is None, rehearsed=rehearsal is not None)
    return 0


def _opening(redact: bool, rules: Sequence[str], keep: Sequence[str], key: str | None) -> Opening:
    from butfor.importers import Opening, redactor

    if not redact:
        return Opening()
    secret = secrets.token_bytes(32) if key is None else key.encode("utf-8", "surrogateescape")
    return Opening(cleaned=redactor(secret, extra=rules, without=keep))


def _sources(paths: Sequence[str]) -> Iterator[str]:
    for name in paths:
        path = Path(name)
        if name == "-" or not path.is_dir():
            yield name
            continue
        for each in sorted(path.rglob("*")):
            if each.is_file() and not any(part.startswith(".") for part in each.relative_to(path).parts):
                yield str(each)


def _open(source: str, format_name: str | None, opening: Opening) -> Import:
    from butfor.importers import from_stream, import_file, import_input

    if source == "-":
        stream = from_stream(sys.stdin.buffer, "-", opening.limits)
        return import_input(stream, format_name=format_name, opening=opening)
    return import_file(Path(source), format_name=format_name, opening=opening)


def _import(
    source: str,
    format_name: str | None,
    opening: Opening,
    save: Callable[[Run], None],
) -> ImportReport:
    imported = _open(source, format_name, opening)
    for run in imported.runs:
        save(run)
    return imported.report()


class _MebiBytes:
    """Shows how much was read; formats whose lines may stand anywhere are read twice, so there is no total."""

    def __init__(self, bar: Callable[[int, int], None]) -> None:
        self._bar = bar
        self._bytes = 0

    def __call__(self, count: int) -> None:
        before = self._bytes >> 20
        self._bytes += count
        if self._bytes >> 20 != before:
            self._bar(self._bytes >> 20, self._bytes >> 20)


class _sink:  # noqa: N801  a context manager that reads as a function
    """Where runs go: a file of JSON Lines, or the store; yields (save, the ids so far)."""

    def __init__(self, out: str | None, written_as: str, rehearsal: dict[str, Any] | None) -> None:
        self._rehearsal = rehearsal
        self._out = out
        self._written_as = written_as
        self._stream: IO[str] | None = None
        self._store: Store | None = None
        self._ids: list[str] = []

    def __enter__(self) -> tuple[Callable[[Run], None], list[str]]:
        if self._out is None:
            return self._keep, self._ids
        if self._out != "-":
            try:
                self._stream = Path(self._out).open("w", encoding="utf-8")
            except OSError as error:
                raise InputError(f"the output cannot be written ({error.strerror})", where=self._out) from None
        return self._write, self._ids

    def __exit__(self, *exception: object) -> None:
        for opened in (self._stream, self._store):
            if opened is not None:
                opened.close()

    def _write(self, run: Run) -> None:
        from butfor import canonical, runs
        from butfor.importers import to_atif

        text = canonical.encode(to_atif(run)) if self._written_as == "atif" else runs.to_text(run)
        print(text, file=self._stream or sys.stdout)
        self._ids.append(run.run_id)

    def _keep(self, run: Run) -> None:
        from butfor.store import Store

        if self._store is None:
            self._store = Store.open()  # with the first run: a file that cannot be read makes no store
        if self._rehearsal is None:
            self._ids.append(save(run, self._store))
            return
        from butfor.replay.imported import make_replayable

        try:
            made = make_replayable(run, store=self._store, **self._rehearsal)
        except InputError as error:
            click.echo(f"not replayable: {error}", err=True)
            self._ids.append(save(run, self._store))
            return
        self._ids.append(made.run.run_id)
        tell_replayable(made)


def _rehearsal(given: dict[str, Any]) -> dict[str, Any] | None:
    """Gather the options that make runs replayable; None where none was given."""
    if not any(given.values()):
        return None
    defaults = options.read_input(given["defaults"]) if given["defaults"] else {}
    if not isinstance(defaults, dict):
        raise InputError("--defaults must hold a JSON object", where=given["defaults"])
    made = {
        "defaults": defaults,
        "tools": _pairs(given["tools"], "--tool"),
        "effects": _pairs(given["effects"], "--effect"),
    }
    return made | ({"policy": given["policy"]} if given["policy"] else {})


def _pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    split = [text.partition("=") for text in texts]
    wrong = [text for text, (_, separator, _) in zip(texts, split, strict=True) if not separator]
    if wrong:
        raise InputError(f"{option} {wrong[0]!r} is not NAME=VALUE")
    return {name: value for name, _, value in split}


def save(run: Run, store: Store) -> str:
    """Store an imported run and return the id that it has there.

    Importing a file again stores nothing new. Another run that has the same name, as thread and session names repeat
    from file to file, is stored under a longer one.
    """
    from butfor import canonical

    try:
        store.save_run(run)
        return run.run_id
    except InputError:
        stored = store.load_run(run.run_id)
    if _content(stored) == _content(run):
        return run.run_id
    mark = canonical.digest_text(_content(run)).split(":")[-1][:8]
    renamed = run.model_copy(update={"run_id": f"{run.run_id}-{mark}"})
    with contextlib.suppress(InputError):  # stored before, from a file of another name
        store.save_run(renamed)
    return renamed.run_id


def _content(run: Run) -> str:
    """Write a run without the names of the files that it was read from."""
    from butfor import runs

    steps = tuple(
        step.model_copy(update={"source": step.source and step.source.model_copy(update={"file": None})})
        for step in run.steps
    )
    provenance = run.provenance.model_copy(update={"file": None, "digest": None})
    return runs.to_text(run.model_copy(update={"steps": steps, "provenance": provenance}))
