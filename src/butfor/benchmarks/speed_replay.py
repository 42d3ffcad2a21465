"""`speed --room replay`: what the engine adds to an agent's own work, beside the anchor package.

The work is the same everywhere: an agent of n steps around a trivial model. Its own cost, with the model not wrapped at
all, is measured and taken off; what remains is the engine's, one store commit per rollout included. Times are CPU time
of the process, the median of interleaved rounds.
"""

from __future__ import annotations

import inspect
import json
import statistics
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import butfor
from butfor import do
from butfor.benchmarks.harness import Check, Report, Settings
from butfor.benchmarks.peers import run_peer
from butfor.replay import Job, Rollouts, Score, record_run, wrap_agent
from butfor.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 100
ROLLOUTS = 40
CONSTANT_BOUND = 20.0
FULL_RATIO_BOUND = 3.0
PEER = "causal-agent-replay"


@butfor.model
def trivial(messages: list[dict[str, str]]) -> str:
    """Answer at once."""
    return "go on"


def constant(task: int, model: Callable[..., str] = trivial) -> int:
    """Send a request of constant size at each of n steps."""
    messages = [{"role": "user", "content": "x" * 60}]
    for _ in range(task):
        model(messages=messages)
    return task


async def constant_async(task: int) -> int:
    """Do the same on an event loop, without a thread."""
    return constant(task)


def full_history(task: int, model: Callable[..., str] = trivial) -> int:
    """Send a history that grows by two messages at each of n steps."""
    messages = [{"role": "user", "content": "x" * 200}]
    for step in range(task):
        answer = model(messages=messages)
        messages = [*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": f"{step} " * 40}]
    return task


async def full_history_async(task: int) -> int:
    """Do the same on an event loop, without a thread."""
    return full_history(task)


def speed(settings: Settings) -> Report:
    """Measure the engine's overhead per step, and compare it with one `json.dumps` + SHA-256 of what was sent."""
    rounds = 5 if settings.quick else 11
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder)) as store:
        flat = _overhead(constant_async, constant, store, rounds)
        flat_sync = _overhead(constant, constant, store, rounds)
        full = _overhead(full_history_async, full_history, store, rounds)
    reference = statistics.median(_dumps_and_hash() for _ in range(rounds))
    rows: list[dict[str, Any]] = [
        _row("butfor, constant-size request, async agent", flat, "µs per step"),
        _row("butfor, constant-size request, sync agent (a thread each)", flat_sync, "µs per step"),
        _row("butfor, full-history request, async agent", full, "µs per step"),
        _row("one json.dumps + SHA-256 of the full history", reference, "µs per step"),
    ]
    peer = run_peer(PEER, "car_speed", {"steps": STEPS, "rounds": rounds})
    rows.append(_row(f"{PEER} 0.0.1, constant-size request", peer.get("us_per_step", peer["status"]), "µs per step"))
    checks = [
        Check(
            name=f"engine overhead, n = {STEPS}, constant-size request: ≤ {CONSTANT_BOUND:g} µs CPU per step",
            value=flat,
            bound=CONSTANT_BOUND,
            ok=flat <= CONSTANT_BOUND,
        ),
        Check(
            name=f"full-history requests: ≤ {FULL_RATIO_BOUND:g} × one json.dumps + SHA-256 of what was sent",
            value=full / reference,
            bound=FULL_RATIO_BOUND,
            ok=full / reference <= FULL_RATIO_BOUND,
        ),
    ]
    return Report(
        name="speed:replay",
        settings={"steps": STEPS, "rollouts": ROLLOUTS, "rounds": rounds, "seed": settings.seed},
        rows=rows,
        checks=checks,
        notes=[
            "ours: every row but the last; nothing here is a published figure",
            "all steps are live (resample(0)); the agent's own CPU time around the bare model is taken off",
            *([] if "us_per_step" in peer else [f"{PEER} was not run: {peer['status']}"]),
        ],
    )


def _overhead(agent: Callable[..., Any], bare: Callable[..., int], store: Store, rounds: int) -> float:
    """Median microseconds of CPU per step beyond the agent's own."""
    score = Score(name="none", function=lambda trajectory: 0.0)
    run_id = record_run(agent, STEPS, store=store, score=score, verify=False).run.run_id
    rollouts = Rollouts(run_id, store, agent=wrap_agent(agent), score=score)
    unwrapped = inspect.unwrap(trivial)
    samples = []
    for number in range(rounds + 1):
        start = time.process_time()
        for _ in range(ROLLOUTS):
            bare(STEPS, unwrapped)
        own = time.process_time() - start
        start = time.process_time()
        jobs = [Job(intervention=do.resample(0), arm=f"round {number}", ordinal=i) for i in range(ROLLOUTS)]
        rollouts.run(jobs)
        samples.append((time.process_time() - start - own) / (ROLLOUTS * STEPS) * 1e6)
    return statistics.median(samples[1:])  # the first round warms caches


def _dumps_and_hash() -> float:
    """Microseconds of CPU per step for one json.dumps and SHA-256 of every request of the full-history agent."""
    requests = []
    messages = [{"role": "user", "content": "x" * 200}]
    for step in range(STEPS):
        requests.append({"messages": messages})
        messages = [*messages, {"role": "assistant", "content": "go on"}, {"role": "user", "content": f"{step} " * 40}]
    start = time.process_time()
    for _ in range(ROLLOUTS):
        for request in requests:
            sha256(json.dumps(request).encode()).digest()
    return (time.process_time() - start) / (ROLLOUTS * STEPS) * 1e6


def _row(what: str, value: float | str, unit: str) -> dict[str, Any]:
    return {"what": what, "value": value, "unit": unit}
