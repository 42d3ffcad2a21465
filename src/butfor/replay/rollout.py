"""A rollout: the run again, held up to a step, changed there, and live from then on."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from butfor import canonical, noise
from butfor.errors import Abandoned, BudgetStop, ReplayDivergence, TransportFault, UnsupportedCall
from butfor.replay import faults, reading
from butfor.replay.changes import apply_policy, edit_history, replace_seed
from butfor.replay.draws import has_seed, recorded_noise
from butfor.replay.following import FollowingSession
from butfor.replay.session import Live, Served, text_and_digest

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.replay.budget import Meter
    from butfor.replay.crossings import Crossing
    from butfor.replay.draws import Seeds
    from butfor.replay.lanes import Lane
    from butfor.replay.plan import Plan
    from butfor.replay.tools import ToolPolicy


class RolloutSession(FollowingSession):
    """Serves the held prefix from the journal, applies the intervention, and lets the rest happen.

    Args:
        plan: What to hold and what to change.
        seeds: Which noise the policy decides with.
        tools: What tools may do.
        meter: Counts what is spent; None where nothing is limited.
    """

    def __init__(self, plan: Plan, *, seeds: Seeds, tools: ToolPolicy, meter: Meter | None = None) -> None:
        super().__init__(plan, tools=tools)
        self.usage = [0, 0]
        self._seeds = seeds
        self._meter = meter

    def begin(self, lane: Lane, kind: str, name: str, payload: Json, effect: str = "") -> Served | Live:
        """Serve what is held, apply what is changed, decide what may run.

        Raises:
            ReplayDivergence: The agent asks something other than what was recorded in the held prefix.
            UnsupportedCall: A tool call that nothing may answer.
            BudgetStop: The budget is used up.
        """
        if self.latched is not None:
            raise self.latched
        if lane.inside_model:
            return self._inside_model(lane, kind, name, payload, effect)
        text, digest = text_and_digest(payload)
        recorded = self._by_address.get((lane.path, lane.crossings))
        if recorded is not None:
            hold = self.plan.hold
            held = recorded.step < hold and recorded.last_inner < hold
            if held and self._is_same(recorded, kind, name, digest, text):
                return self._serve(lane, recorded, text)
        elif kind != "ambient" and not self.plan.intervention.operations:
            raise self.latch(
                ReplayDivergence(
                    f"the agent reaches the {kind} {name!r} once more than it did in the recording",
                    asked=canonical.decode(text),
                    where=f"lane {lane.path}, crossing {lane.crossings}",
                )
            )
        crossing = self.open_crossing(lane, kind, name, text, digest, effect)
        if kind == "model":
            return self._begin_model(lane, crossing, recorded, payload, text)
        if kind == "tool":
            return self._begin_tool(lane, crossing, payload, text)
        return self._begin_ambient(lane, crossing, payload, text)

    def unplaced(self, error: BaseException) -> None:
        """End: the refused call may have been this agent's, whatever it makes of the refusal."""
        self.latch(error)

    # The policy

    def _begin_model(
        self, lane: Lane, crossing: Crossing, recorded: Crossing | None, payload: Json, text: str
    ) -> Served | Live:
        if recorded is not None:
            self._compare_request(recorded, crossing, text)
        plan = self.plan
        ticket = Live(crossing, lane, payload, text)
        if plan.forced:
            forced = plan.forced.get((crossing.lane, crossing.occurrence))
            if forced is not None:
                crossing.answered = "forced"
                self.counts["forced"] += 1
                self.complete(ticket, forced.response, forced.codec)
                return forced
        crossing.answered = "policy"
        if plan.edits:
            edit_history(ticket, plan)
        if plan.policies:
            apply_policy(ticket, plan, step=self.steps)
        if '"seed":' in text and has_seed(ticket.payload):
            replace_seed(ticket, plan, self._seeds)
        meter = self._meter
        if meter is not None:
            if meter.unlimited:
                meter.policy_calls += 1
            else:
                self._take_call(meter)
        self.counts["policy"] += 1
        return ticket

    def _take_call(self, meter: Meter) -> None:
        try:
            meter.take_call()
        except BudgetStop as stop:
            raise self.latch(stop) from None

    def retries(self, ticket: Live, error: BaseException) -> float | None:
        """Repeat a transport fault with the same draw, with growing pauses; when they are used up the rollout stops.

        A timeout or a malformed answer is a result and never repeated: repeating it would condition on success.
        """
        if ticket.crossing.kind != "model" or not faults.is_transport_fault(error):
            return None
        if ticket.attempts >= faults.MOST_ATTEMPTS:
            self.latch(
                TransportFault(
                    f"the model could not be reached in {ticket.attempts} attempts ({error})",
                    fix="run the same command again later; finished rollouts are kept",
                )
            )
            return None
        return faults.pause_before(ticket.attempts, random.Random(ticket.crossing.seed or 0))

    # Tools

    def _begin_tool(self, lane: Lane, crossing: Crossing, payload: Json, text: str) -> Served | Live:
        forced = self._forced_observation(crossing)
        if forced is not None:
            crossing.answered = "forced"
            self.counts["forced"] += 1
            self._matching, self._forced = False, True
            self._tools.forced(crossing, text, forced.response or "null")
            self.complete(Live(crossing, lane, payload, text), forced.response, forced.codec)
            return forced
        with self._lock:
            answered = self._tools.answer(crossing, text)
        if answered is None:
            raise self.latch(self._unsupported(crossing))
        crossing.answered = answered.by
        self.counts[answered.by] += 1
        ticket = Live(crossing, lane, payload, text)
        if answered.by == "live":
            return ticket
        crossing.error = answered.error
        self.crossings.extend(answered.inside)
        self.complete(ticket, answered.response, answered.codec)
        return Served(answered.response, answered.codec, answered.error)

    def _forced_observation(self, crossing: Crossing) -> Served | None:
        """Return what answers the call in its place, where it is not held: other steps before it are live."""
        address = (crossing.lane, crossing.occurrence)
        recorded = self._by_address.get(address)
        if recorded is None or (recorded.kind, recorded.name) != ("tool", crossing.name):
            return None
        return self.plan.forced.get(address)

    def _unsupported(self, crossing: Crossing) -> UnsupportedCall:
        self.counts["unsupported"] += 1
        effect = crossing.effect or "unknown"
        if crossing.name in self.plan.journal.agent_tools:
            return UnsupportedCall(
                f"steps inside {crossing.name!r} are decided again, so it would run, and it is declared to write",
                tool=crossing.name,
                where=f"lane {crossing.lane}, after step {crossing.step}",
                fix='declare it effect="none" if whatever it changes passes tools inside it, or allow it to run live',
            )
        why = "it writes" if effect not in ("none", "read") else "it would read the world as it is after a write"
        return UnsupportedCall(
            f"the rollout calls {crossing.name!r} in a way that was not recorded, and {why}",
            tool=crossing.name,
            where=f"lane {crossing.lane}, after step {crossing.step}",
            fix=f'register a simulator with @butfor.simulator("{crossing.name}"), or allow it to run live',
        )

    # Inside a model call, and the rest

    def _inside_model(self, lane: Lane, kind: str, name: str, payload: Json, effect: str) -> Live:
        crossing = self.open_crossing(lane, kind, name, "null", "", effect)
        if kind == "tool" and not self._tools.may_run_inside_model(name, effect):
            raise self.latch(self._unsupported(crossing))
        crossing.seed = self._seed_for(kind, lane, crossing)
        return Live(crossing, lane, payload, "null")

    def _begin_ambient(self, lane: Lane, crossing: Crossing, payload: Json, text: str) -> Served | Live:
        ticket = Live(crossing, lane, payload, text)
        if crossing.kind in ("rng", "uuid"):
            crossing.seed = self._seed_for(crossing.kind, lane, crossing)
        elif crossing.kind in ("now", "ambient") and self._clock is not None:
            # Time goes on from the last held reading: a rollout must not see the prefix and the rest days apart.
            read, at = self._clock
            response = canonical.encode(read + time.monotonic() - at)
            self.complete(ticket, response, "")
            return Served(response, "")
        return ticket

    def _seed_for(self, kind: str, lane: Lane, crossing: Crossing) -> int:
        seed = self._seeds.seed(kind, lane.path, crossing.occurrence)
        if seed is not None:
            return seed
        recorded = self._by_address.get((lane.path, crossing.occurrence))
        if recorded is not None and recorded.seed is not None:
            return recorded.seed
        # Inside a model call nothing is journaled, so the recording's seed is derived again from its entropy.
        return noise.seed_of(bytes.fromhex(str(self.plan.journal.header["entropy"])), lane.path, crossing.occurrence)

    def noise_seed(self, lane: Lane) -> tuple[bool, int]:
        """Ambient randomness that follows a held step is the recording's; what follows a live one is drawn again."""
        if lane.inside_model or lane.step >= self.plan.hold:
            seed = self._seeds.seed("ambient", lane.path, lane.crossings)
            if seed is not None:
                # Equal requests or not: the agent's hidden state is not the recorded one.
                self._matching = self._matching and lane.inside_model
                return True, seed
        return False, recorded_noise(bytes.fromhex(str(self.plan.journal.header["entropy"])), lane)

    def placed(self, crossing: Crossing) -> None:
        """Count tokens, note what a live tool gave, and compare with the recording."""
        if crossing.kind == "model":
            if crossing.response is not None and '"usage"' in crossing.response and crossing.answered == "policy":
                self._count_usage(crossing.response)
        elif crossing.kind == "tool" and crossing.answered == "live":  # one that raised may have written too
            self._tools.completed(crossing, crossing.middle, crossing.response or "null")
        self._compare_answer(crossing)

    def _count_usage(self, response: str) -> None:
        prompt, completion = reading.read(canonical.decode(response)).usage
        self.usage[0] += prompt or 0
        self.usage[1] += completion or 0
        if self._meter is not None:
            self._meter.spend_tokens(prompt or 0, completion or 0)

    def abandon(self) -> None:
        """Give the rollout up: its next boundary raises."""
        self.latch(Abandoned("the rollout was given up after its time limit"))
