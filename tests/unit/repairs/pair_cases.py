"""Runs with one stored repair each, made by hand."""

import json
from typing import Any

from butfor.confidence import Estimate, known
from butfor.repairs import Proposal, Repair, Verdict, measure, save_repair
from butfor.repairs.pairs import Pair, answer_message, prompt_of
from butfor.runs import RequestChain, Run, Step, Value
from butfor.store import MemoryStore

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
    for name in ("look", "pay")
]


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def request(question: str, **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Be exact."}, {"role": "user", "content": question}]
    return {"model": "m", "messages": messages, "tools": TOOLS, "temperature": 1.0} | more


def verdict(decision: Any = "accepted") -> Verdict:
    lift = Estimate(point=0.6, lower=0.2, upper=0.9, alpha=0.05, n=48, method="paired bets")
    return Verdict(
        decision=decision,
        success=known(1.0),
        null=Estimate(point=0.4, lower=0.2, upper=0.6, alpha=0.05, n=24, method="sequence"),
        lift=lift,
        hypothesis=1,
        alpha=0.05,
        level=0.03,
        target=0.5,
        draws=24,
        null_draws=24,
    )


def repair(run_id: str, factual: Any, repaired: Any, *, leaks: tuple[str, ...] = (), **more: Any) -> Repair:
    fields: dict[str, Any] = {
        "run_id": run_id,
        "step": 0,
        "outcome": "wrong",
        "factual": factual,
        "repaired": repaired,
        "proposal": Proposal(step=0, action=repaired, source="user", leaks=leaks),
        "verdict": verdict(),
        "edit": measure(factual, repaired),
    }
    return Repair(**fields | more)


def keep(store: MemoryStore, run_id: str, asked: Any, *repairs: Repair, task: Any = None) -> None:
    chain = RequestChain()
    steps = (Step(index=0, request=chain.add(asked)),)
    store.save_run(Run(run_id=run_id, task=Value.of(task if task is not None else run_id), steps=steps))
    for each in repairs:
        save_repair(store, each)


def pair(question: str, rejected: Any, chosen: Any, *, task: str = "t", run_id: str = "r") -> Pair:
    return Pair(
        prompt=prompt_of(request(question)),
        chosen=answer_message(chosen, step=0),
        rejected=answer_message(rejected, step=0),
        repair=repair(run_id, rejected, chosen),
        result_id=f"{run_id}:repair",
        task=task,
        run_digest="sha256:0",
    )


def lines(path: Any) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
