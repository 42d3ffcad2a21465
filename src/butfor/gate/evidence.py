"""From what a policy entry says about evidence to the sample that a decision reads."""

from __future__ import annotations

import dataclasses
import importlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from butfor.canonical import digest as digest_of
from butfor.errors import InputError
from butfor.estimation.evidence import (
    Roles,
    aggregate,
    decision_rows,
    open_evidence,
    read_file,
    read_object,
    read_sql,
)
from butfor.gate.inputs import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.estimation.columns import Columns
    from butfor.estimation.evidence import Evidence, Kind
    from butfor.gate.policy.model import Entry
    from butfor.graphs import Graph


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Loaded:
    """Evidence in memory.

    Attributes:
        sample: What decisions read; its age is filled in at each decision.
        description: What the evidence is.
        level: ``rows`` or ``statistics``.
        query: The query that gave it; None for a file.
        lineage: Name of its source: refreshed evidence of one source is one lineage.
        newest: When its newest unit was seen; None where unknown.
        rows: The rows as they were read, which the digest names; None where only statistics were.
        rows_hash: With statistics: a hash of the multiset of rows by the engine that aggregated them.
    """

    sample: Sample
    description: Evidence
    level: str
    query: str | None
    lineage: str
    newest: datetime | None
    rows: Columns | None = None
    rows_hash: str | None = None

    def at(self, now: datetime) -> Sample:
        """Return the sample with its age at a time."""
        age = None if self.newest is None else max(0.0, (now - self.newest).total_seconds())
        return dataclasses.replace(self.sample, age=age)


def load(entry: Entry, directory: Path, graph: Graph, *, now: datetime, home: Path | None = None) -> Loaded:
    """Read the evidence of a policy entry.

    Args:
        entry: The entry.
        directory: The policy's, from which file names count.
        graph: The entry's graph, whose measured nodes are the columns where the entry names none.
        now: The present; later times are refused.
        home: The run store, for evidence of recorded runs.

    Raises:
        NotFound: There is no such file.
        InputError: It cannot be read, or not as the entry says.
    """
    source = entry.evidence
    if source.level == "statistics":
        return _statistics(entry, directory, graph)
    if source.saved is not None:
        table = open_evidence(directory / source.saved)
        return loaded(entry, table.columns, table.evidence, lineage=source.saved)
    if source.runs is not None:
        return _runs(entry, source.runs, now, home)
    roles, kind = roles_of(entry, graph), _kind(entry)
    if source.file is not None:
        table = read_file(directory / source.file, roles, kind=kind, now=now)
        return loaded(entry, table.columns, table.evidence, lineage=source.file)
    assert source.sql is not None
    table = read_sql(source.sql, roles, kind=kind, connection=_engine(directory), now=now)
    return loaded(entry, table.columns, table.evidence, lineage=source.sql, query=source.sql)


def load_trial(entry: Entry, file: Path, *, name: str, now: datetime) -> Loaded:
    """Read the randomised rows of a trial; the columns needed are treatment, outcome and the strata.

    Raises:
        NotFound: There is no such file.
        InputError: It cannot be read.
    """
    source = entry.evidence
    roles = Roles(
        treatment=entry.treatment.name,
        outcome=entry.outcome.name,
        covariates=entry.strata,
        text=frozenset(source.text) & {entry.treatment.name, *entry.strata},
    )
    table = read_file(file, roles, kind="randomised", now=now)
    made = loaded(entry, table.columns, table.evidence, lineage=f"trials of {name}")
    # A trial is as old as its request: the policy's limit on the age of past evidence is not about it.
    return dataclasses.replace(made, newest=now)


def roles_of(entry: Entry, graph: Graph) -> Roles:
    """Return which column plays which part; without a list, every other measured node of the graph is a covariate."""
    source, parts = entry.evidence, {entry.treatment.name, entry.outcome.name}
    parts |= {name for name in (source.unit, source.clusters, source.time, source.probability) if name is not None}
    names = source.covariates
    if names is None:
        names = tuple(name for name in graph.names_of(graph.measured) if name not in parts)
    return Roles(
        treatment=entry.treatment.name,
        outcome=entry.outcome.name,
        covariates=names,
        unit=source.unit,
        clusters=source.clusters,
        time=source.time,
        probability=source.probability,
        text=frozenset(source.text),
    )


def loaded(entry: Entry, columns: Columns, description: Evidence, *, lineage: str, query: str | None = None) -> Loaded:
    """Make rows ready for an entry."""
    sample = Sample(data=upright(entry, columns), kind=description.kind, digest=description.digest)
    return Loaded(
        sample=sample,
        description=description,
        level="rows",
        query=query,
        lineage=lineage,
        newest=_newest(description.window),
        rows=columns,
    )


def upright(entry: Entry, columns: Columns) -> Columns:
    """Turn an outcome of which less is better upside down, so that more is better everywhere in the gate."""
    if entry.outcome.better == "more":
        return columns
    assert entry.outcome.range is not None
    low, high = entry.outcome.range
    table = {**columns.table, columns.outcome: low + high - columns.y}
    return dataclasses.replace(columns, table=table)


def _runs(entry: Entry, agent: str, now: datetime, home: Path | None) -> Loaded:
    from butfor.store import Store

    with Store.open(home) as store:
        listed = [each for each in store.list_runs() if each.complete and agent in ("*", each.agent)]
        names = sorted(each.run_id for each in listed)
        decisions = decision_rows((store.load_run(name) for name in names), tool=entry.tool)
    table = read_object(decisions.table, decisions.roles, kind="policy-confounded", now=now, name=f"runs of {agent}")
    return loaded(entry, table.columns, table.evidence, lineage=f"runs of {agent}")


def _statistics(entry: Entry, directory: Path, graph: Graph) -> Loaded:
    source = entry.evidence
    if source.file is None and source.sql is None:
        raise InputError("statistics are taken of a file or a query", fix="write level: rows, or name file or sql")
    if entry.outcome.better == "less":
        raise InputError("statistics are read as they are", fix="write level: rows, or turn the outcome in the query")
    roles, kind, engine = roles_of(entry, graph), _kind(entry), _engine(directory)
    asked: Path | str = directory / source.file if source.file is not None else str(source.sql)
    found = aggregate(asked, roles, kind=kind, connection=engine)
    harmed = None
    line = None if isinstance(entry.risk, str) else entry.risk.harm_line
    if line is not None and not entry.outcome.two_valued:
        below = aggregate(_below(asked, entry.outcome.name, line), roles, kind=kind, connection=engine)
        harmed = below.cells
    digest = digest_of([found.evidence.digest, None if harmed is None else harmed.to_json()])
    sample = Sample(
        data=found.cells,
        kind=kind,
        digest=found.evidence.digest if harmed is None else digest,
        harmed=harmed,
        levels=found.levels,
    )
    return Loaded(
        sample=sample,
        description=found.evidence,
        level="statistics",
        query=found.query,
        lineage=source.file or str(source.sql),
        newest=None,
        rows_hash=found.rows_hash,
    )


def _below(asked: Path | str, outcome: str, line: float) -> str:
    name = '"' + outcome.replace('"', '""') + '"'
    if isinstance(asked, Path):
        reader = "read_parquet" if asked.suffix in (".parquet", ".pq") else "read_csv"
        relation = f"{reader}('{str(asked).replace(chr(39), chr(39) * 2)}')"
    else:
        relation = f"({asked.strip().rstrip(';')})"
    return f"SELECT * REPLACE (CAST({name} < {line!r} AS INTEGER) AS {name}) FROM {relation}"  # noqa: S608  the policy's own


def _engine(directory: Path) -> Any:
    """Open DuckDB so that file names in a query count from the policy's directory, and no code is fetched."""
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        return None  # the reader says which extra is missing
    settings: Mapping[str, str] = {
        "autoinstall_known_extensions": "false",
        "file_search_path": str(directory.resolve()),
    }
    return duckdb.connect(":memory:", config=settings)


def _kind(entry: Entry) -> Kind:
    assert entry.evidence.kind is not None
    return entry.evidence.kind


def _newest(window: tuple[str, str] | None) -> datetime | None:
    if window is None:
        return None
    try:
        found = datetime.fromisoformat(window[1])
    except ValueError:
        return None  # numbers, whose unit nobody states
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def stamp_of(entry: Entry, directory: Path) -> tuple[int, int] | None:
    """Return when the evidence's file was written and its size, so that new evidence is read; None for a query."""
    name = entry.evidence.file or entry.evidence.saved
    if name is None:
        return None
    try:
        found = (directory / name).stat()
    except OSError:
        return (0, -1)
    return found.st_mtime_ns, found.st_size
