"""What a benchmark is, what it reports, and the list of them."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from butfor.errors import InputError, NotFound


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """How a benchmark is asked to run.

    Attributes:
        quick: End within 60 seconds on two cores.
        seed: Root of every random draw.
        options: What the benchmark's own options said, such as ``{"room": "replay"}``.
    """

    quick: bool
    seed: int
    options: Mapping[str, str]

    def count(self, option: str, default: int) -> int:
        """Read an option that counts something.

        Raises:
            InputError: It is not a positive whole number.
        """
        text = self.options.get(option, str(default))
        if not text.isdecimal() or int(text) < 1:
            raise InputError(f"{option} = {text!r} is not a positive number", fix=f"pass {option}={default}, say")
        return int(text)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """One claim held against one bound.

    Attributes:
        name: The claim in words, with its direction ("≤ 20 µs per step").
        value: What was measured.
        bound: What it is held against.
        ok: Whether it holds.
    """

    name: str
    value: float
    bound: float
    ok: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class Report:
    """A finished benchmark: design's ``{name, settings, rows, checks}`` and notes for a reader.

    Attributes:
        name: The benchmark's name, with its room where it has one.
        settings: Everything needed to run it again, the seed included.
        rows: The table, one dict a row; the first row's keys are the columns. A cell that could not be measured
            says "not run" and a note says why.
        checks: The claims; one that fails makes the command exit with 1.
        notes: What is ours, what is published, and what was not run.
    """

    name: str
    settings: Mapping[str, Any]
    rows: list[dict[str, Any]]
    checks: list[Check]
    notes: list[str] = dataclasses.field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        return dataclasses.asdict(self)


Benchmark: TypeAlias = Callable[[Settings], Report]

BENCHMARKS: dict[str, str] = {
    "speed:identification": "butfor.benchmarks.speed_identification:speed_identification",
    "speed:evidence": "butfor.benchmarks.speed_evidence:speed_evidence",
    "speed:estimation": "butfor.benchmarks.speed_estimation:speed_estimation",
    "speed:gate": "butfor.benchmarks.speed_gate:speed_gate",
    "speed:store": "butfor.benchmarks.speed_store:speed_store",
    "speed:replay": "butfor.benchmarks.speed_replay:speed",
    "planted": "butfor.benchmarks.planted.bench:run",
    "speed:importers": "butfor.benchmarks.import_speed:run",
    "whoandwhen": "butfor.benchmarks.who_and_when:run",
    "coverage": "butfor.benchmarks.coverage.bench:run",
    "tau": "butfor.benchmarks.tau:run",
    "arithmetic": "butfor.benchmarks.beds.arithmetic.bench:run",
    "arithmetic:mistakes": "butfor.benchmarks.beds.bigbench.bench:run",
    "code": "butfor.benchmarks.beds.code.bench:run",
    "retrieval": "butfor.benchmarks.beds.retrieval.bench:run",
    "tables": "butfor.benchmarks.tables.bench:run",
    "decisions": "butfor.benchmarks.decisions.bench:run",
    "redteam": "butfor.benchmarks.redteam.bench:run",
    "toolbench": "butfor.benchmarks.toolbench.bench:run",
    "luck": "butfor.benchmarks.luck:run",
}
"""Name (``speed:replay`` for a room of `speed`) to ``module:function``; imported when it is run."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "arithmetic": ("problems", "model", "limit", "data"),
    "arithmetic:mistakes": ("data",),
    "code": ("tasks", "model", "limit", "data", "humaneval"),
    "coverage": ("worlds", "n", "repetitions", "keep", "peers", "peer_repetitions"),
    "planted": ("part", "repetitions", "keep", "svg"),
    "redteam": ("part", "n"),
    "retrieval": ("companies", "model", "limit", "sealqa", "medbrowsecomp", "questions"),
    "speed:estimation": ("n", "peers"),
    "speed:identification": ("peers", "budget"),
    "tables": ("plots",),
    "tau": ("data", "judge"),
    "toolbench": ("part", "seeds", "decisions", "proposers", "models", "results"),
    "whoandwhen": ("data", "judge"),
}
"""The options of a benchmark's own; one that is not here has none."""


def check_options(names: Sequence[str], options: Mapping[str, str]) -> None:
    """Refuse an option that none of the benchmarks has: a misspelt one would leave hours of work at its default.

    Raises:
        InputError: Nobody reads it.
    """
    known = sorted({option for name in names for option in OPTIONS.get(name, ())})
    for option in options:
        if option not in known:
            raise InputError(
                f"{', '.join(names) if len(names) < 4 else 'no benchmark'} has no option {option!r}",
                fix=f"its options are {', '.join(known)}" if known else "leave out --set",
            )


def find(name: str) -> Benchmark:
    """Import a benchmark by name.

    Raises:
        NotFound: No benchmark has that name.
    """
    if name not in BENCHMARKS:
        raise NotFound(f"there is no benchmark {name!r}", fix=f"choose one of {', '.join(sorted(BENCHMARKS))}")
    module, _, function = BENCHMARKS[name].partition(":")
    benchmark: Benchmark = getattr(importlib.import_module(module), function)
    return benchmark
