"""How long importing takes, and how much memory, as a trace file grows."""

from __future__ import annotations

import json
import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from butfor import noise
from butfor.benchmarks.harness import Check, Report, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.canonical import Json

TRACE_STEPS = 10
ONE_TRACE = 5_000
# It is four, and noise on a busy machine; a quadratic importer would take sixteen times as long.
TIME_RATIO = 6.0
MEMORY_MIB = 48.0
_MIB = 1 << 20
_SCATTER = 64


def run(settings: Settings) -> Report:
    """Import OTLP files of n and 4n steps, each in a process of its own.

    *Many traces* of ten steps each, whose spans are scattered over the file: memory must not grow with the file.
    *One trace* of all the steps: a run is held as a whole, so memory grows with it, and time must stay linear.
    """
    small = 5_000 if settings.quick else 25_000
    rows: list[dict[str, Json]] = []
    with tempfile.TemporaryDirectory() as folder:
        for shape, length, least in (("many traces", TRACE_STEPS, small), ("one trace", None, ONE_TRACE)):
            for steps in (least, 4 * least):
                path = Path(folder) / f"{steps}.otlp.jsonl"
                with path.open("w", encoding="utf-8") as file:
                    write(file, steps, length or steps, settings.seed)
                rows.append({"shape": shape, "steps": steps} | _measured(path))
                path.unlink()
    return Report(
        name="speed:importers",
        settings={
            "quick": settings.quick,
            "seed": settings.seed,
            "steps": [small, 4 * small, ONE_TRACE, 4 * ONE_TRACE],
        },
        rows=rows,
        checks=_checks(rows),
        notes=[
            "ours; seconds are processor time of the importing process, peak MiB its resident memory at most",
            "spans of neighbouring traces are interleaved, as batches of a busy service are",
        ],
    )


def _checks(rows: list[dict[str, Json]]) -> list[Check]:
    checks = []
    for shape in ("many traces", "one trace"):
        small, large = (row for row in rows if row["shape"] == shape)
        ratio = large["seconds"] / small["seconds"]
        checks.append(
            Check(
                name=f"{shape}: 4 × the steps in ≤ 6 × the time", value=ratio, bound=TIME_RATIO, ok=ratio <= TIME_RATIO
            )
        )
        lost = sum(row["steps"] - row["imported"] for row in (small, large))
        checks.append(Check(name=f"{shape}: every step imported", value=lost, bound=0, ok=lost == 0))
    small, large = (row for row in rows if row["shape"] == "many traces")
    grown = large["peak_mib"] - small["peak_mib"]
    name = f"many traces: 4 × the file needs ≤ {MEMORY_MIB:g} MiB more"
    checks.append(Check(name=name, value=grown, bound=MEMORY_MIB, ok=grown <= MEMORY_MIB))
    return checks


def _measured(path: Path) -> dict[str, Json]:
    """Import in a fresh process, so that its peak memory is its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(measure, str(path)).result()


def measure(path: str) -> dict[str, Json]:
    """Import a file, keep nothing, and return what it took."""
    from butfor import importers

    start = time.process_time()
    steps = sum(len(each.steps) for each in importers.import_file(Path(path)).runs)
    seconds = time.process_time() - start
    return {
        "file_mib": Path(path).stat().st_size / _MIB,
        "imported": steps,
        "seconds": seconds,
        "us_a_step": 1e6 * seconds / max(1, steps),
        "peak_mib": _peak_mib(),
    }


def _peak_mib() -> float:
    """Return this process's peak resident memory; `ru_maxrss` would include its parent's at the time of the fork."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def write(file: TextIO, steps: int, trace_steps: int, seed: int) -> None:
    """Write a trace file, one span a line, scattered within a window as concurrent traces are.

    Args:
        file: Where to.
        steps: Model calls in all.
        trace_steps: Model calls of one trace.
        seed: Of the scatter.
    """
    random = noise.generator(seed, "import_speed")
    window: list[str] = []
    for line in _lines(steps, trace_steps):
        window.append(line)
        if len(window) > _SCATTER:
            file.write(window.pop(random.randrange(len(window))))
    random.shuffle(window)
    file.writelines(window)


def _lines(steps: int, trace_steps: int) -> Iterator[str]:
    for step in range(steps):
        trace, position = divmod(step, trace_steps)
        call = f"call-{step}"
        asked: Json = [{"role": "user", "parts": [{"type": "text", "content": f"question {trace}, step {position}"}]}]
        answered: Json = [
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": call, "name": "lookup", "arguments": {"n": step}}],
            }
        ]
        model = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.request.temperature": "0.5",
            "gen_ai.input.messages": json.dumps(asked),
            "gen_ai.output.messages": json.dumps(answered),
            "gen_ai.tool.definitions": '[{"name": "lookup", "parameters": {"type": "object"}}]',
        }
        tool = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "lookup",
            "gen_ai.tool.call.id": call,
            "gen_ai.tool.call.arguments": json.dumps({"n": step}),
            "gen_ai.tool.call.result": f"answer {step}",
        }
        yield _line(trace, 2 * step, model)
        yield _line(trace, 2 * step + 1, tool)


def _line(trace: int, number: int, attributes: dict[str, str]) -> str:
    span = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number + 1:016x}",
        "name": "span",
        "startTimeUnixNano": str(10**18 + 1000 * number),
        "endTimeUnixNano": str(10**18 + 1000 * number + 900),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + "\n"
