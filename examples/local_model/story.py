"""Everything in one go: a conversation that goes wrong, its replay, the step that made it so, and the report.

Run `python examples/local_model/story.py`. It starts the server of this folder and stops it at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from butfor.attribution import Ask, attribute_run
from butfor.outcomes import find_outcome
from butfor.replay import Job, RecordedSeeds, Rollouts, do, find_agent, record_run
from butfor.report import gather_report, print_terminal, render_html
from butfor.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from butfor.store import Storage

FOLDER = Path(__file__).parent
AGENT = "agent:agent"
OUTCOME = 'tool_called("issue_refund")'
QUESTION = "Where is my order 1043?"
MOST_CONVERSATIONS = 40


@contextmanager
def served() -> Iterator[str]:
    """Run the server on a free port; gives its address."""
    command = [sys.executable, str(FOLDER / "server.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        try:
            if not address:
                raise SystemExit("the server did not start: run `make local-model` first")
            yield address
        finally:
            process.terminate()


def first_failure(store: Storage, seed: int) -> str:
    """Hold conversations until one ends in a refund that nobody asked for; gives the run's id."""
    score = find_outcome(OUTCOME)
    for conversation in range(MOST_CONVERSATIONS):
        task = {"question": QUESTION, "seed": seed + conversation}
        recorded = record_run(AGENT, task, store=store, score=score)
        store.save_spec(recorded.run.run_id, json.dumps({"agent": AGENT, "outcome": OUTCOME}))
        said = recorded.ending.output or {}
        print(f"conversation {conversation + 1} (seed {task['seed']}): {said.get('answer') or said}")
        if recorded.run.outcome is not None and recorded.run.outcome.value > 0:
            return recorded.run.run_id
    raise SystemExit(f"none of {MOST_CONVERSATIONS} conversations went wrong: try another --seed")


def match_rate(store: Storage, run_id: str) -> float:
    """Decide every step again with its recorded seed; gives the share of steps with the recorded action."""
    rollouts = Rollouts(run_id, store, agent=find_agent(AGENT), score=find_outcome(OUTCOME))
    jobs = [
        Job(intervention=do.resample(step), arm=f"fixed:{step}", ordinal=0, seeds=RecordedSeeds())
        for step in range(len(rollouts.journal.steps))
    ]
    matched = [each.action_matched is True for each in rollouts.run(jobs)]
    return sum(matched) / len(jobs)


def main() -> None:
    """Tell the story."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=13, help="of the first conversation; the next has the next number")
    parser.add_argument("--draws", type=int, default=32, help="rollouts of each step")
    parser.add_argument("--out", type=Path, default=Path("butfor-local-model.html"), help="the report")
    options = parser.parse_args()
    print(f'a customer asks: "{QUESTION}"')
    with served() as address, Store.open() as store:
        os.environ["OPENAI_BASE_URL"] = address
        run_id = first_failure(store, options.seed)
        print(f"action-match rate of a replay with the recorded seeds: {match_rate(store, run_id):.3f}")
        attribution = attribute_run(
            run_id,
            store=store,
            method="profile",
            ask=Ask(draws=options.draws),
            announce=lambda quote: print(f"price: {quote}"),
        )
        data = gather_report(store, run_id, result_id=attribution.result_id)
    options.out.write_text(render_html(data), encoding="utf-8")
    print_terminal(data, Console())
    print(f"report: {options.out.resolve()}")


if __name__ == "__main__":
    main()
