"""Repairs without an executor: a model guesses whether a proposal would have helped.

This is the paper's predictive outcome modelling (arXiv 2605.25338). What comes out is labelled `predicted`: it has no
verdict, it is never called validated, and nothing is exported from it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.confidence import Undefined
from butfor.errors import NotFound
from butfor.repairs.candidates import Sifter
from butfor.repairs.edits import readable
from butfor.repairs.failure import failure_of_run
from butfor.repairs.proposers.asked import history_of
from butfor.repairs.result import Repair
from butfor.replay import reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.repairs.candidates import Candidate
    from butfor.repairs.proposal import Failure
    from butfor.repairs.proposers import Chat, Proposer
    from butfor.store import Storage

PREDICTED = "repair-predicted"
TEMPLATE = "predict/1"

_NUMBER = re.compile(r"(?<![\w.])(?:0(?:\.\d+)?|1(?:\.0+)?|\.\d+)(?![\w.]*\d)")


def predict_repairs(
    failure: Failure,
    steps: Sequence[int],
    *,
    proposers: Sequence[Proposer],
    chat: Chat,
    count: int = 4,
    temperature: float | None = 0.0,
) -> list[Repair]:
    """Let a model guess P(success) of every proposal, the likeliest first; what it does not answer is left out.

    Guarantee: none; a guess.

    Args:
        failure: The failed run.
        steps: Where to look.
        proposers: Where proposals come from.
        chat: The predictor; it sees what the proposer sees.
        count: Proposals of each proposer for each step.
        temperature: Sent as it is; None sends none.
    """
    sifter = Sifter(failure=failure)
    found: list[Repair] = []
    for step in steps:
        proposed = [each for proposer in proposers for each in proposer.propose(failure, step, count)]
        for candidate in sifter.sift(proposed):
            guess = _guess(candidate, failure, chat, temperature)
            if not isinstance(guess, Undefined):
                found.append(_repair(candidate, failure, guess))
    return sorted(found, key=lambda each: (-(each.predicted or 0.0), each.edit.distance))


def predict_run(
    run_id: str, *, store: Storage, steps: Sequence[int] = (), proposers: Sequence[Proposer], chat: Chat, count: int = 4
) -> list[Repair]:
    """Predict repairs of a stored run, whether or not it can be replayed, and store them as what they are.

    Args:
        run_id: The run, or the beginning of its id.
        store: Where it is.
        steps: Where to look; every step by default.
        proposers: Where proposals come from.
        chat: The predictor.
        count: Proposals of each proposer for each step.

    Raises:
        NotFound: No such run or step.
    """
    run = store.load_run(run_id)
    outside = [step for step in steps if not 0 <= step < len(run.steps)]
    if outside:
        raise NotFound(f"the run has no step {outside[0]}", fix=f"it has {len(run.steps)} steps, counted from 0")
    wanted = steps or range(len(run.steps))
    found = predict_repairs(failure_of_run(run), wanted, proposers=proposers, chat=chat, count=count)
    for each in found:
        body = canonical.encode(each.to_json())
        store.save_result(
            f"{run.run_id}:predicted:{canonical.digest_text(body)[7:31]}", run.run_id, PREDICTED, "{}", body
        )
    return found


def _guess(candidate: Candidate, failure: Failure, chat: Chat, temperature: float | None) -> float | Undefined:
    proposal = candidate.proposal
    prompt = (
        f"An agent failed at this task:\n{failure.task}\n\nWhat it had seen before step {proposal.step}:\n"
        f"{history_of(failure, proposal.step)}\n\nIt decided:\n{readable(failure.actions[proposal.step])}\n\nSuppose "
        f"that it had decided this instead:\n{readable(proposal.action)}\n\nHow probable is it that the run would then "
        "have succeeded? Answer with one number from 0 to 1."
    )
    sent = {} if temperature is None else {"temperature": temperature}
    text = reading.read(chat(messages=[{"role": "user", "content": prompt}], **sent)).text or ""
    numbers = _NUMBER.findall(text)
    return float(numbers[-1]) if numbers else Undefined(reason=f"the answer {text[:60]!r} has no number from 0 to 1")


def _repair(candidate: Candidate, failure: Failure, guess: float) -> Repair:
    proposal = candidate.proposal
    return Repair(
        run_id=failure.run_id,
        step=proposal.step,
        outcome=failure.outcome,
        factual=failure.actions[proposal.step],
        repaired=proposal.action,
        proposal=proposal,
        verdict=None,
        edit=candidate.edit,
        kind="predicted",
        predicted=guess,
    )
