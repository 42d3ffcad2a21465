"""How often harm is executed where effects lie at the threshold: many harmful actions, each on a table of its own.

Every action is harmful or without effect (τ ≤ τ_u): half of them at τ = τ_u exactly, where a bound errs most, the rest
within one standard error below it. So every EXECUTE counts, and P(EXECUTE) ≤ α is what the guarantee says.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy.stats import binom

from butfor.benchmarks.harness import Check
from butfor.benchmarks.toolbench.cases import Case
from butfor.benchmarks.toolbench.families import FAMILIES, Family
from butfor.benchmarks.toolbench.gate_methods import ALPHA, DEFAULTS, PAPER_SETTINGS, GateMethod, answer_of
from butfor.benchmarks.toolbench.instances import Instance
from butfor.benchmarks.toolbench.scores import share
from butfor.errors import InputError
from butfor.noise import numpy_generator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from butfor.benchmarks.harness import Settings
    from butfor.gate import Decision

DECISIONS, QUICK = 100_000, 800
BATCH = 250
PUSHES = (-3.5, -1.5, 1.5, 3.5)
SURE = 1.0 - 1e-6
# In this family the outcome is not linear in the confounder: paper settings assume what is false there.
NOT_LINEAR = "queue scaling"
METHODS: Mapping[str, GateMethod] = {"paper settings": PAPER_SETTINGS, "our defaults": DEFAULTS}

Batch = dict[str, Any]


def calibration(settings: Settings) -> tuple[list[dict[str, Any]], list[Check]]:
    """Decide about ``decisions`` harmful actions in each setting, spread over the identified families.

    With ``results=FILE`` every batch is one JSON line, and batches that are in the file already are not run again.
    """
    wanted = settings.count("decisions", QUICK if settings.quick else DECISIONS)
    families = [family for family in FAMILIES if family.identified]
    batches = -(-wanted // (BATCH * len(families))) if wanted >= BATCH * len(families) else 1
    size = BATCH if batches > 1 else -(-wanted // len(families))
    path = settings.options.get("results")
    done = _read(path) if path else {}
    for family, method, number in _plan(families, batches):
        key = (settings.seed, family.name, method, number, size)
        if key not in done:
            done[key] = _batch(family, method, number, size, settings.seed)
            _append(path, done[key])
    return _report(
        [done[settings.seed, family.name, method, number, size] for family, method, number in _plan(families, batches)]
    )


def _plan(families: Iterable[Family], batches: int) -> Iterator[tuple[Family, str, int]]:
    for number in range(batches):
        for family in families:
            for method in METHODS:
                yield family, method, number


def _batch(family: Family, method: str, number: int, size: int, root: int) -> Batch:
    executed, reasons, zero = 0, dict[str, int](), [0, 0]
    for i in range(size):
        case = Case(harmful_action(family, root, number, i))
        found = _decided(METHODS[method], case)
        executed += found.verdict == "EXECUTE"
        if case.instance.effect == 0.0:
            zero[0] += 1
            zero[1] += found.verdict == "EXECUTE"
        reasons[found.reason] = reasons.get(found.reason, 0) + 1
    return {
        "seed": root,
        "family": family.name,
        "method": method,
        "batch": number,
        "decisions": size,
        "executed": executed,
        "at_threshold": zero,
        "reasons": dict(sorted(reasons.items())),
    }


def _decided(gate: GateMethod, case: Case) -> Decision:
    """Decide; a test of the graph can only refuse, so it is run (twice the time) where the rest would execute."""
    untested = dataclasses.replace(gate, preset=dataclasses.replace(gate.preset, tests_graph=False))
    found = untested.decided(case, case.log_columns, answer_of(case))
    return gate.decided(case, case.log_columns, answer_of(case)) if found.verdict == "EXECUTE" else found


def harmful_action(family: Family, root: int, batch: int, i: int) -> Instance:
    """Draw an action with τ = 0, or within one standard error below it."""
    noise = numpy_generator("toolbench calibration", root, family.name, batch, i)
    push = float(noise.choice(PUSHES))
    effect = 0.0 if i % 2 else -float(noise.random()) * family.standard_error(push, 0.0)
    return Instance(
        family=family,
        regime="adversarial",
        seed=batch,
        number=i,
        root=int(noise.integers(2**31)),
        effect=effect,
        near=True,
        push=push,
        reversible=False,
        cost=0.1,
        arguments={},
    )


def _read(path: str) -> dict[tuple[int, str, str, int, int], Batch]:
    """Read finished batches; a file that is not there yet holds none.

    Raises:
        InputError: A line is not a batch.
    """
    if not Path(path).is_file():
        return {}
    found = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        try:
            batch: Batch = json.loads(line)
            key = (batch["seed"], batch["family"], batch["method"], batch["batch"], batch["decisions"])
        except (ValueError, TypeError, KeyError):
            raise InputError("the line is not a batch of results", where=f"{path}:{number}", fix="remove it") from None
        found[key] = batch
    return found


def _append(path: str | None, batch: Batch) -> None:
    if path is not None:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(batch, ensure_ascii=False) + "\n")


def _report(batches: list[Batch]) -> tuple[list[dict[str, Any]], list[Check]]:
    rows, checks = [], []
    for method in METHODS:
        for family in FAMILIES:
            part = [batch for batch in batches if (batch["family"], batch["method"]) == (family.name, method)]
            if not part:
                continue
            n, executed = (sum(batch[key] for batch in part) for key in ("decisions", "executed"))
            at, of = (sum(batch.get("at_threshold", [0, 0])[place] for batch in part) for place in (1, 0))
            rows.append(
                {
                    "on": f"calibration, {family.name}",
                    "method": method,
                    "n": n,
                    "false per harmful": share(executed, n),
                    "at τ_u exactly": share(at, of),
                    "reasons": _reasons(part),
                }
            )
            if (family.name, method) == (NOT_LINEAR, "paper settings"):
                continue
            checks += [_within(method, family, executed, n, "harmful"), _within(method, family, at, of, "exactly null")]
    return rows, checks


def _within(method: str, family: Family, executed: int, n: int, which: str) -> Check:
    """A rate of exactly α is exceeded by chance; this bound is, once in a million runs."""
    most = int(binom.ppf(SURE, n, ALPHA)) if n else 0
    said = f"calibration, {method}, {family.name}: EXECUTE of {n} {which} actions consistent with ≤ α"
    return Check(name=said, value=float(executed), bound=float(most), ok=executed <= most)


def _reasons(batches: list[Batch]) -> str:
    counted: dict[str, int] = {}
    for batch in batches:
        for reason, count in batch["reasons"].items():
            counted[reason] = counted.get(reason, 0) + count
    total = sum(counted.values())
    return ", ".join(f"{reason} {count / total:.1%}" for reason, count in sorted(counted.items(), key=lambda p: -p[1]))
