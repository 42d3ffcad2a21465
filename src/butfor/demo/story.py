"""What `butfor demo` does: conversations until one goes wrong, then the step that made it so."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from butfor.attribution import Ask, Attribution, attribute_run
from butfor.errors import ButforError
from butfor.outcomes import find_outcome
from butfor.replay import record_run
from butfor.report import ReportData, gather_report, render_html

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from butfor.attribution import Quote
    from butfor.store import Storage

AGENT = "butfor.demo.agent:agent"
OUTCOME = 'tool_called("issue_refund")'
QUESTION = "My parcel 1042 never reached me. I want my money back."
MOST_CONVERSATIONS = 40


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happened.

    Attributes:
        run_id: The conversation that went wrong.
        conversations: How many were held until then.
        attribution: The answer.
        report: Where the report was written.
        data: What is in it.
    """

    run_id: str
    conversations: int
    attribution: Attribution
    report: Path
    data: ReportData


def tell(
    store: Storage,
    out: Path,
    *,
    seed: int,
    draws: int,
    say: Callable[[str], None],
    announce: Callable[[Quote], None],
    progress: Callable[[int, int], None],
) -> Story:
    """Hold conversations until one ends in a wrong refund, attribute it, write the report.

    Args:
        store: Where runs and rollouts are kept.
        out: The report's file.
        seed: Of the first conversation; the next has the next number.
        draws: Rollouts of each step.
        say: Told what happens, a line at a time.
        announce: Told the price before anything is spent.
        progress: Called after each rollout.

    Raises:
        ButforError: No conversation went wrong.
    """
    score = find_outcome(OUTCOME)
    for conversation in range(MOST_CONVERSATIONS):
        task = {"question": QUESTION, "seed": seed + conversation}
        recorded = record_run(AGENT, task, store=store, score=score)
        store.save_spec(recorded.run.run_id, json.dumps({"agent": AGENT, "outcome": OUTCOME}))
        wrong = recorded.run.outcome is not None and recorded.run.outcome.value > 0
        say(f"conversation {conversation + 1}: " + ("a refund that was not due" if wrong else "handled correctly"))
        if not wrong:
            continue
        attribution = attribute_run(
            recorded.run.run_id,
            store=store,
            method="profile",
            ask=Ask(draws=draws),
            announce=announce,
            progress=progress,
        )
        data = gather_report(store, recorded.run.run_id, result_id=attribution.result_id)
        out.write_text(render_html(data), encoding="utf-8")
        return Story(
            run_id=recorded.run.run_id,
            conversations=conversation + 1,
            attribution=attribution,
            report=out.resolve(),
            data=data,
        )
    raise ButforError(f"none of {MOST_CONVERSATIONS} conversations went wrong", fix="try another --seed")
