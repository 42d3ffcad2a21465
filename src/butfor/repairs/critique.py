"""Three agents on one repair: who proposed it, a critic, and a critic of the critic. It never replaces a rollout.

The consensus is the published one, (CRS + c_B·a_B + c_C·a_C)/3 with DISAGREE 0, PARTIAL 0.5 and AGREE 1 (an earlier
draft of arXiv 2605.25338). A critic that was not asked, or whose answer cannot be read, leaves it undefined: what was
not checked has no score, least of all a perfect one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from butfor.confidence import Interval, Undefined, clopper_pearson
from butfor.repairs.edits import readable
from butfor.repairs.proposers.asked import history_of
from butfor.replay import reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from butfor.repairs.proposal import Failure, Proposal
    from butfor.repairs.proposers import Chat
    from butfor.repairs.result import RepairAnswer

Agreement: TypeAlias = Literal["AGREE", "PARTIAL", "DISAGREE"]

SCORES: dict[str, float] = {"AGREE": 1.0, "PARTIAL": 0.5, "DISAGREE": 0.0}
KEEP = 0.5
"""A repair is kept at a consensus of at least this, as published."""

CRITIC_TEMPLATE = "critic/1"
META_TEMPLATE = "meta-critic/1"

_FORM = (
    'Answer with JSON alone: {"verdict": "AGREE" or "PARTIAL" or "DISAGREE", "confidence": a number from 0 to 1, '
    '"reason": "one sentence"}'
)


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What one critic said.

    Attributes:
        agreement: Its verdict.
        confidence: c, in [0, 1], as the critic gave it.
        reason: Its words.
    """

    agreement: Agreement
    confidence: float
    reason: str = ""

    @property
    def weight(self) -> float:
        """c·a."""
        return self.confidence * SCORES[self.agreement]


@dataclass(frozen=True, kw_only=True)
class Critique:
    """What three agents make of a repair.

    Attributes:
        proposal: The repair.
        crs: CausalFlow's CRS of the step, 0 or 1; Undefined where no rollout gave it.
        critic: B's opinion; Undefined where there is none.
        meta: C's opinion; Undefined where there is none.
        consensus: In [0, 1]; Undefined where any of the three is.
    """

    proposal: Proposal
    crs: float | Undefined
    critic: Opinion | Undefined
    meta: Opinion | Undefined
    consensus: float | Undefined

    @property
    def kept(self) -> bool:
        """Whether the consensus keeps the repair; without one it does not."""
        return not isinstance(self.consensus, Undefined) and self.consensus >= KEEP

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "proposal": self.proposal.to_json(),
            "crs": _plain(self.crs),
            "critic": _plain(self.critic),
            "meta": _plain(self.meta),
            "consensus": _plain(self.consensus),
            "kept": self.kept,
        }


def critique_of(
    proposal: Proposal,
    failure: Failure,
    *,
    crs: float | Undefined,
    critic: Chat | None,
    meta: Chat | None,
    temperature: float | None = 0.0,
) -> Critique:
    """Ask a critic about a repair, and a meta-critic about the critic.

    Guarantee: heuristic. `agreement_with_truth` says how far these agents can be trusted, against rollouts.
    Reference: the three-agent validation of an earlier draft of arXiv 2605.25338.

    Args:
        proposal: The repair.
        failure: The failed run, without what only the verifier knows.
        crs: CausalFlow's CRS of the step.
        critic: B; None asks nobody, which leaves the consensus undefined.
        meta: C, likewise.
        temperature: Sent as it is; None sends none.
    """
    question = _about(proposal, failure)
    opinion = _ask(critic, f"{question}\n\nIs this repair right, and is it the smallest? {_FORM}", temperature)
    second: Opinion | Undefined
    if isinstance(opinion, Undefined):
        second = Undefined(reason="there is no critic's opinion to look at")
    else:
        said = f'{opinion.agreement} with confidence {opinion.confidence:g}: "{opinion.reason}"'
        second = _ask(
            meta, f"{question}\n\nA critic said {said}. Weigh both. Do you agree with the repair? {_FORM}", temperature
        )
    return Critique(proposal=proposal, crs=crs, critic=opinion, meta=second, consensus=consensus(crs, opinion, second))


def consensus(crs: float | Undefined, critic: Opinion | Undefined, meta: Opinion | Undefined) -> float | Undefined:
    """Return (CRS + c_B·a_B + c_C·a_C)/3, or why there is none."""
    for name, each in (("CRS", crs), ("critic", critic), ("meta-critic", meta)):
        if isinstance(each, Undefined):
            return Undefined(reason=f"{name}: {each.reason}")
    assert not isinstance(crs, Undefined)
    assert isinstance(critic, Opinion)
    assert isinstance(meta, Opinion)
    return (crs + critic.weight + meta.weight) / 3.0


def read_opinion(text: str) -> Opinion | Undefined:
    """Read a critic's answer; what cannot be read is no opinion."""
    match = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        document = json.loads(match.group()) if match else None
    except ValueError:
        document = None
    if not isinstance(document, dict):
        return Undefined(reason="the answer has no JSON object")
    verdict, confidence = str(document.get("verdict", "")).upper(), document.get("confidence")
    if verdict not in SCORES:
        return Undefined(reason=f"the verdict {verdict[:40]!r} is none of {', '.join(SCORES)}")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.0 <= confidence <= 1.0:
        return Undefined(reason=f"the confidence {str(confidence)[:40]!r} is no number from 0 to 1")
    agreement: Agreement = "AGREE" if verdict == "AGREE" else "PARTIAL" if verdict == "PARTIAL" else "DISAGREE"
    return Opinion(agreement=agreement, confidence=float(confidence), reason=str(document.get("reason", "")))


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How well critics agree with what rollouts showed.

    Attributes:
        precision: P(rollouts accept | critics keep).
        recall: P(critics keep | rollouts accept).
        judged: Repairs with a consensus and a decided verdict.
        without_consensus: Repairs that the critics gave no consensus on; they count in neither.
    """

    precision: Interval
    recall: Interval
    judged: int
    without_consensus: int

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "precision": self.precision.to_json(),
            "recall": self.recall.to_json(),
            "judged": self.judged,
            "without_consensus": self.without_consensus,
        }


def agreement_with_truth(judged: Iterable[tuple[Critique, bool]], *, alpha: float = 0.05) -> Quality:
    """Hold critics against interventional truth.

    Estimand: precision and recall of "kept" for "accepted by rollouts".
    Assumptions: the repairs are independent draws of the population that is meant.
    Guarantee: finite-sample, each interval at 1 − alpha; Undefined where nothing was kept, or nothing is true.
    Reference: Clopper and Pearson 1934.

    Args:
        judged: Critiques, each with whether rollouts accepted the repair.
        alpha: Allowed miss probability of each interval.
    """
    pairs = list(judged)
    known = [(each, truth) for each, truth in pairs if not isinstance(each.consensus, Undefined)]
    kept = [truth for each, truth in known if each.kept]
    true = [each.kept for each, truth in known if truth]
    return Quality(
        precision=clopper_pearson(sum(kept), len(kept), alpha=alpha) if kept else Undefined(reason="nothing was kept"),
        recall=clopper_pearson(sum(true), len(true), alpha=alpha) if true else Undefined(reason="no repair is true"),
        judged=len(known),
        without_consensus=len(pairs) - len(known),
    )


def critique_answer(
    answer: RepairAnswer, failure: Failure, *, critic: Chat | None, meta: Chat | None
) -> tuple[tuple[Critique, ...], Quality]:
    """Ask the critics about everything that a repair tested, and hold them against what its rollouts showed.

    CRS is 1 for every tested candidate's step, since a candidate is tested only where one of its screening rollouts
    flipped the verifier. Candidates that stayed undecided have no truth to be held against.
    """
    critiques = tuple(critique_of(each.proposal, failure, crs=1.0, critic=critic, meta=meta) for each in answer.tried)
    pairs = zip(critiques, answer.tried, strict=True)
    decided = [(each, tried.verdict.accepted) for each, tried in pairs if tried.verdict.decision != "undecided"]
    return critiques, agreement_with_truth(decided)


def _ask(chat: Chat | None, prompt: str, temperature: float | None) -> Opinion | Undefined:
    if chat is None:
        return Undefined(reason="nobody was asked")
    sent = {} if temperature is None else {"temperature": temperature}
    answer = chat(messages=[{"role": "user", "content": prompt}], **sent)
    return read_opinion(reading.read(answer).text or "")


def _about(proposal: Proposal, failure: Failure) -> str:
    return (
        f"An agent failed at this task:\n{failure.task}\n\nWhat it had seen before step {proposal.step}:\n"
        f"{history_of(failure, proposal.step)}\n\nWhat it decided:\n{readable(failure.actions[proposal.step])}\n\n"
        f"What is proposed instead:\n{readable(proposal.action)}"
    )


def _plain(value: float | Opinion | Undefined) -> Any:
    if isinstance(value, Opinion):
        return {"agreement": value.agreement, "confidence": value.confidence, "reason": value.reason}
    return value.to_json() if isinstance(value, Undefined) else value
