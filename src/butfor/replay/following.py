"""A rollout beside its recording: what is held is compared and served, and where the rollout leaves is noticed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.errors import ReplayDivergence
from butfor.replay import reading
from butfor.replay.crossings import Crossing, describe_difference
from butfor.replay.journal import rebuild
from butfor.replay.session import Served, Session
from butfor.replay.tools import ToolAnswers, ToolPolicy

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.replay.lanes import Lane
    from butfor.replay.plan import Plan


class FollowingSession(Session):
    """Knows what was recorded at each address, and whether the rollout has left it.

    Args:
        plan: What to hold and what to change.
        tools: What tools may do.

    Attributes:
        counts: Crossings by who answered them.
        action_matched: Whether the action drawn at the first live step is the recorded one; None before it was drawn.
        matched_until: The last step whose state came out byte-equal to the recorded one.
    """

    def __init__(self, plan: Plan, *, tools: ToolPolicy) -> None:
        super().__init__(first_seq=len(plan.journal.crossings), ambient=plan.journal.ambient)
        self.plan = plan
        self.counts = dict.fromkeys(("held", "policy", "forced", "simulated", "recorded", "live", "unsupported"), 0)
        self.action_matched: bool | None = None
        self.matched_until = plan.hold
        # Live steps are numbered after the held ones, whatever order the held ones are served in.
        self.steps = plan.hold
        self._by_address = plan.journal.by_address
        self._tools = ToolAnswers(plan.journal, tools)
        self._matching = plan.journal.one_lane
        self._forced = False
        self._clock: tuple[float, float] | None = None

    # The held prefix

    def _serve(self, lane: Lane, recorded: Crossing, text: str) -> Served:
        lane.crossings += 1
        address = (recorded.lane, recorded.occurrence)
        next(self._began)
        with self._lock:
            forced = self.plan.forced.get(address)
            self.counts["held" if forced is None else "forced"] += 1
            if recorded.kind == "model":
                lane.step = recorded.step
                lane.last = (recorded.seq, text)
            elif recorded.kind == "tool":
                if forced is None:
                    self._serve_inside(address)
                response = forced.response if forced else recorded.response
                self._tools.held(recorded, text, response or "null")
            elif recorded.kind in ("now", "ambient") and recorded.response:
                self._clock = (float(canonical.decode(recorded.response)), time.monotonic())
            if forced is not None:
                self._matching, self._forced = False, True
                self._keep_forced(recorded, forced)
                return forced
            self.crossings.append(recorded)
        return Served(recorded.response, recorded.codec, recorded.error, recorded.seconds)

    def _serve_inside(self, address: tuple[str, int]) -> None:
        """Let what was crossed inside a call that is served whole have happened too: calls, writes, steps."""
        for each in self.plan.journal.inside.get(address, ()):
            self.counts["held"] += 1
            self.crossings.append(each)
            if each.kind == "tool":
                self._tools.held(each, each.middle, each.response or "null")

    def _keep_forced(self, recorded: Crossing, forced: Served) -> None:
        # Its request is a difference from recorded ones, which the rollout's numbers go on from: it stands as it is.
        changes = {"seq": self.next_seq, "response": forced.response, "error": None, "answered": "forced"}
        self.next_seq += 1
        self.crossings.append(Crossing(**{name: getattr(recorded, name) for name in Crossing.__slots__} | changes))

    def _is_same(self, recorded: Crossing, kind: str, name: str, digest: str, text: str) -> bool:
        """Compare a held crossing with what is asked now; False where something that was changed may explain it.

        Raises:
            ReplayDivergence: It differs, and nothing that was changed can have caused it.
        """
        if recorded.digest == digest and recorded.name == name and recorded.kind == kind:
            return True
        if self._forced or recorded.before > self.plan.hold:
            return False
        difference = None
        if recorded.kind == kind and recorded.name == name:
            difference = describe_difference(rebuild(recorded, self.plan.journal.crossings), text)
            if difference is None:  # only the order of keys
                return True
        raise self.latch(_divergence(recorded, kind, name, difference))

    # Beyond it

    def _compare_request(self, recorded: Crossing, crossing: Crossing, text: str) -> None:
        """See what a live model request, at the address of a recorded one, has in common with it."""
        hold = self.plan.hold
        if recorded.step == hold and recorded.before <= hold and recorded.kind == "model":
            # The changed step decides from the recorded state: all before it was held.
            self._is_same(recorded, crossing.kind, crossing.name, crossing.digest, text)
        if self._matching and recorded.step == self.matched_until + 1 and recorded.digest == crossing.digest:
            # Nested reuse (design §5): the next request is byte-equal too, so this is a sample for the next step.
            self.matched_until = recorded.step

    def _compare_answer(self, crossing: Crossing) -> None:
        """See whether the rollout still follows the recording byte for byte."""
        recorded = self._by_address.get((crossing.lane, crossing.occurrence))
        if recorded is None:
            self._matching = False
            return
        if recorded.step == self.plan.hold and crossing.kind == "model" and recorded.kind == "model":
            self.action_matched = _same_action(recorded, crossing)
        if self._matching:
            self._matching = (
                recorded.response == crossing.response
                and recorded.digest == crossing.digest
                and recorded.error == crossing.error
                and crossing.answered not in ("live", "forced")
            )


def _divergence(
    recorded: Crossing, kind: str, name: str, difference: tuple[str, Json, Json] | None
) -> ReplayDivergence:
    where = f"lane {recorded.lane}, crossing {recorded.occurrence}, step {max(recorded.step, 0)}"
    if difference is None:
        return ReplayDivergence(
            f"the agent reaches the {kind} {name!r} where the recording has the {recorded.kind} {recorded.name!r}",
            path="$.name",
            recorded=recorded.name,
            asked=name,
            where=where,
        )
    path, old, new = difference
    return ReplayDivergence(
        f"the request to {name!r} differs from the recording at {path}: recorded {_short(old)}, now {_short(new)}",
        path=path,
        recorded=old,
        asked=new,
        where=where,
    )


def _same_action(recorded: Crossing, crossing: Crossing) -> bool:
    if recorded.response == crossing.response:
        return recorded.error == crossing.error
    if recorded.response is None or crossing.response is None:
        return False
    return _action_key(recorded.response) == _action_key(crossing.response)


def _action_key(response: str) -> str:
    return reading.read(canonical.decode(response)).key


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
