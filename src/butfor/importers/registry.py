"""Which importer reads a file, decided by what is in it."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Protocol

from butfor.errors import InputError, NotFound
from butfor.importers import (
    atif,
    claude_code,
    inspect_logs,
    langfuse,
    langgraph,
    langsmith,
    message_lists,
    openai_agents,
    otlp,
    own,
    swe_agent,
    tau_bench,
    who_and_when,
)
from butfor.importers.inputs import Input, Opening, Source, from_path
from butfor.importers.reading import TextRecords
from butfor.importers.tally import ImportReport, Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from butfor.canonical import Json
    from butfor.importers.records import Records
    from butfor.runs import Run

    class _Importer(Protocol):
        def matches(self, value: Json, /) -> bool: ...
        def read(self, records: Records, tally: Tally, /) -> Iterator[Run]: ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Format:
    """An importer.

    Attributes:
        title: What it reads, in words.
        matches: Says whether a record is one of its own.
        read: Turns records into runs.
    """

    title: str
    matches: Callable[[Json], bool]
    read: Callable[[Records, Tally], Iterator[Run]]


def _format(title: str, module: _Importer) -> Format:
    return Format(title=title, matches=module.matches, read=module.read)


FORMATS: dict[str, Format] = {
    "butfor": _format("our own JSON Lines", own),
    "atif": _format("ATIF 1.5 to 1.8 trajectories", atif),
    "otlp": _format("OpenTelemetry traces, JSON or protobuf: GenAI and OpenInference attributes", otlp),
    "inspect": _format("Inspect logs, .eval and .json", inspect_logs),
    "claude_code": _format("Claude Code sessions", claude_code),
    "openai_agents": _format("OpenAI Agents SDK spans", openai_agents),
    "langfuse": _format("Langfuse observations", langfuse),
    "langsmith": _format("LangSmith runs", langsmith),
    "langgraph": _format("LangGraph state histories and SQLite checkpoints", langgraph),
    "swe_agent": _format("SWE-agent and mini-swe-agent trajectories", swe_agent),
    "tau_bench": _format("tau-bench and tau2-bench results", tau_bench),
    "who_and_when": _format("Who&When failure logs", who_and_when),
    "messages": _format("OpenAI Chat, OpenAI Responses and Anthropic message lists", message_lists),
}
"""Name to importer, most particular first: the first that matches a record reads the file."""

# Records looked at before deciding. Logs may begin with a header line or with lines of another kind.
_SAMPLE = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Import:
    """A file being imported: iterate `runs` to the end, then ask for the report.

    Attributes:
        format: The importer that reads it.
        runs: The runs, read as they are asked for.
    """

    format: str
    runs: Iterator[Run]
    tally: Tally

    def report(self) -> ImportReport:
        """Say what was imported, ignored and missing so far."""
        return self.tally.report()


def import_file(path: Path, *, format_name: str | None = None, opening: Opening | None = None) -> Import:
    """Open a file and detect its format.

    Args:
        path: The file.
        format_name: A key of `FORMATS`, where detection should not decide.
        opening: Limits, redaction and progress.

    Raises:
        InputError: The file cannot be read, or no importer knows it.
        NotFound: There is no such format.
    """
    return import_input(from_path(path), format_name=format_name, opening=opening)


def import_input(source: Input, *, format_name: str | None = None, opening: Opening | None = None) -> Import:
    """Do what `import_file` does for bytes that are opened already.

    Raises:
        InputError: The input cannot be read, or no importer knows it.
        NotFound: There is no such format.
    """
    if format_name is not None and format_name not in FORMATS:
        raise NotFound(f"there is no format {format_name!r}", fix=f"choose one of {', '.join(FORMATS)}")
    records = records_of(Source(source, opening or Opening()))
    chosen = format_name or detect(records, source.name)
    tally = Tally(source.name, chosen)
    return Import(format=chosen, runs=_counted(FORMATS[chosen].read(records, tally), tally), tally=tally)


def detect(records: Records, source: str) -> str:
    """Return the format of a file by what is in its first records.

    Raises:
        InputError: No importer knows them; the message says what was found.
    """
    problems: list[InputError] = []
    sample = list(itertools.islice(records.each(problems.append), _SAMPLE))
    votes = [next((name for name, each in FORMATS.items() if each.matches(record.value)), None) for record in sample]
    known = [vote for vote in votes if vote is not None]
    if known:
        return max(FORMATS, key=known.count)
    if problems:
        raise problems[0]
    raise InputError(
        f"this is no trace that we know ({_seen([record.value for record in sample])})",
        where=source,
        fix=f"name its format with --format ({', '.join(FORMATS)}), or convert it to a list of chat messages",
    )


def _seen(values: list[Json]) -> str:
    if not values:
        return "it holds no JSON record"
    first = values[0]
    if isinstance(first, dict):
        return f"an object with the keys {', '.join(repr(str(key)[:40]) for key in list(first)[:8])}"
    return f"a JSON {type(first).__name__}"


def _counted(runs: Iterator[Run], tally: Tally) -> Iterator[Run]:
    """Count runs, give each its own name, and turn an import without a run into the first problem met."""
    count = 0
    names: dict[str, int] = {}
    for run in runs:
        seen = names.get(run.run_id, 0)
        names[run.run_id] = seen + 1
        named = run.model_copy(update={"run_id": f"{run.run_id}#{seen + 1}"}) if seen else run
        count += 1
        tally.count(named)
        yield named
    if count:
        return
    if tally.first_problem is not None:
        raise tally.first_problem
    ignored = ", ".join(f"{name} ×{number}" for name, number in tally.ignored.most_common(5)) or "nothing else"
    raise InputError(
        f"no run in this {tally.format_name} file: nothing in it was decided by a model (found: {ignored})",
        where=tally.file,
        fix="export the spans or messages of the model calls too",
    )


def records_of(source: Source) -> Records:
    """Open any supported container as records.

    Raises:
        InputError: The container is damaged, or beyond the limits.
    """
    head = source.head(64)
    if head.startswith(b"PK\x03\x04"):
        from butfor.importers.archives import ArchiveRecords

        return ArchiveRecords(source)
    if head.startswith(b"SQLite format 3\0"):
        from butfor.importers.checkpoints import CheckpointRecords

        return CheckpointRecords(source)
    if head.startswith(b"PAR1"):
        from butfor.importers.parquet import ParquetRecords

        return ParquetRecords(source)
    if head[:1] not in (b"{", b"[", b"") and _is_protobuf(head):
        from butfor.importers.otlp_protobuf import ProtobufRecords

        return ProtobufRecords(source)
    return TextRecords(source)


def _is_protobuf(head: bytes) -> bool:
    """Say whether bytes begin like OTLP: field 1, length-delimited, alone or behind a 4-byte length."""
    bare = head[:1] == b"\n" and len(head) > 2 and not head[:16].strip().startswith((b"{", b"["))
    framed = len(head) > 5 and head[:1] == b"\0" and head[4:5] == b"\n"
    return bare or framed
