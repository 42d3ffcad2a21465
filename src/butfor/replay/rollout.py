"""A rollout: the run again, held up to a step, changed there, and live from then on."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from butfor import canonical, noise
from butfor.errors import Abandoned, BudgetStop, ReplayDivergence, TransportFault, UnsupportedCall
from butfor.replay import faults, reading
from butfor.replay.crossings import Crossing, describe_difference
from butfor.replay.draws import Seeds, has_seed, recorded_noise, with_seed
from butfor.replay.journal import digest_of, rebuild
from butfor.replay.plan import import_by_name
from butfor.replay.session import Live, Served, Session, text_and_digest
from butfor.replay.tools import ToolAnswers, ToolPolicy

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.replay.budget import Meter
    from butfor.replay.lanes import Lane
    from butfor.replay.plan import Plan


class RolloutSession(Session):
    """Serves the held prefix from the journal, applies the intervention, and lets the rest happen.

    Args:
        plan: What to hold and what to change.
        seeds: Which noise the policy decides with.
        tools: What tools may do.
        meter: Counts what is spent; None where nothing is limited.
    """

    def __init__(self, plan: Plan, *, seeds: Seeds, tools: ToolPolicy, meter: Meter | None = None) -> None:
        super().__init__(first_seq=len(plan.journal.crossings), ambient=plan.journal.ambient)
        self.plan = plan
        self.counts = dict.fromkeys(("held", "policy", "forced", "simulated", "recorded", "live", "unsupported"), 0)
        self.usage = [0, 0]
        self.action_matched: bool | None = None
        self.matched_until = plan.hold
        self._matching = all("." not in crossing.lane for crossing in plan.journal.crossings)
        self._by_address = plan.journal.by_address
        self._seeds = seeds
        self._tools = ToolAnswers(plan.journal, tools)
        self._meter = meter
        self._clock: tuple[float, float] | None = None
        self._forced = False
        # Live steps are numbered after the held ones, whatever order the held ones are served in.
        self.steps = plan.hold

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
        if recorded is not None and self.plan.holds(recorded):
            if self._is_same(recorded, kind, name, digest, text):
                return self._serve(lane, recorded, text)
        elif recorded is None and kind != "ambient" and not self.plan.intervention.operations:
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
        if (recorded.kind, recorded.name, recorded.digest) == (kind, name, digest):
            return True
        if self._forced or recorded.before > self.plan.hold:
            return False
        difference = None
        if (recorded.kind, recorded.name) == (kind, name):
            difference = describe_difference(rebuild(recorded, self.plan.journal.crossings), text)
            if difference is None:  # only the order of keys
                return True
        raise self.latch(_divergence(recorded, kind, name, difference))

    # The policy

    def _begin_model(
        self, lane: Lane, crossing: Crossing, recorded: Crossing | None, payload: Json, text: str
    ) -> Served | Live:
        self._check_state(crossing, recorded, text)
        self._extend_match(crossing, recorded)
        address = (crossing.lane, crossing.occurrence)
        ticket = self.live(lane, crossing, payload, text)
        forced = self.plan.forced.get(address)
        if forced is not None:
            crossing.answered = "forced"
            self.counts["forced"] += 1
            self.complete(ticket, forced.response, forced.codec)
            return forced
        crossing.answered = "policy"
        if self.plan.edits:
            ticket.payload = self._edit(lane, address, payload)
        if self.plan.policies:
            self._apply_policy(ticket)
        if '"seed":' in text and has_seed(ticket.payload):
            self._replace_seed(ticket)
        if self._meter is not None:
            try:
                self._meter.take_call()
            except BudgetStop as stop:
                raise self.latch(stop) from None
        self.counts["policy"] += 1
        return ticket

    def _replace_seed(self, ticket: Live) -> None:
        crossing = ticket.crossing
        changed = bool(self.plan.edits or self.plan.policies)
        digest = digest_of(canonical.encode(ticket.payload)) if changed else crossing.digest
        crossing.seed = self._seeds.seed(digest, crossing.lane, crossing.occurrence)
        if crossing.seed is not None:
            ticket.payload = with_seed(ticket.payload, crossing.seed)

    def _check_state(self, crossing: Crossing, recorded: Crossing | None, text: str) -> None:
        """Check that the changed step decides from the recorded state: all before it was held."""
        if (
            recorded is not None
            and recorded.kind == "model"
            and recorded.step == self.plan.hold
            and recorded.before <= self.plan.hold
        ):
            self._is_same(recorded, crossing.kind, crossing.name, crossing.digest, text)

    def _edit(self, lane: Lane, address: tuple[str, int], payload: Json) -> Json:
        """Edit the request at its step, and every later one of the lane that contains the history that was edited."""
        for original, edited in lane.edits:
            payload = _with_prefix(payload, original, edited)
        edit = self.plan.edits.get(address)
        if edit is None:
            return payload
        changed = edit(canonical.decode(canonical.encode_exact(payload)))
        lane.edits += ((payload, changed),)
        return changed

    def _apply_policy(self, ticket: Live) -> None:
        for step, policy in self.plan.policies:
            if self.steps >= step:
                if "set" in policy:
                    ticket.payload = _with_fields(ticket.payload, policy["set"])
                else:
                    ticket.policy = import_by_name(str(policy["call"]), what="the policy")
                return

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
            self.complete(self.live(lane, crossing, payload, text), forced.response, forced.codec)
            return forced
        with self._lock:
            answered = self._tools.answer(crossing, text)
        if answered is None:
            raise self.latch(self._unsupported(crossing))
        crossing.answered = answered.by
        self.counts[answered.by] += 1
        ticket = self.live(lane, crossing, payload, text)
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
        return self.live(lane, crossing, payload, "null")

    def _begin_ambient(self, lane: Lane, crossing: Crossing, payload: Json, text: str) -> Served | Live:
        ticket = self.live(lane, crossing, payload, text)
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

    # What happened, compared with the recording

    def placed(self, crossing: Crossing) -> None:
        """Count tokens, and see whether the rollout still follows the recording byte for byte."""
        recorded = self._by_address.get((crossing.lane, crossing.occurrence))
        if crossing.kind == "model":
            self._count_usage(crossing)
            if recorded is not None and recorded.kind == "model" and recorded.step == self.plan.hold:
                self.action_matched = _same_action(recorded, crossing)
        elif crossing.kind == "tool" and crossing.answered == "live":  # one that raised may have written too
            self._tools.completed(crossing, crossing.middle, crossing.response or "null")
        if self._matching:
            self._matching = (
                recorded is not None
                and recorded.digest == crossing.digest
                and recorded.response == crossing.response
                and recorded.error == crossing.error
                and crossing.answered not in ("live", "forced")
            )

    def _extend_match(self, crossing: Crossing, recorded: Crossing | None) -> None:
        """Nested reuse (design §5): the next request is byte-equal too, so this is a sample for the next step."""
        if (
            self._matching
            and recorded is not None
            and recorded.digest == crossing.digest
            and recorded.step == self.matched_until + 1
        ):
            self.matched_until = recorded.step

    def _count_usage(self, crossing: Crossing) -> None:
        if crossing.answered != "policy" or crossing.response is None or '"usage"' not in crossing.response:
            return
        prompt, completion = reading.read(canonical.decode(crossing.response)).usage
        self.usage[0] += prompt or 0
        self.usage[1] += completion or 0
        if self._meter is not None:
            self._meter.spend_tokens(prompt or 0, completion or 0)

    def abandon(self) -> None:
        """Give the rollout up: its next boundary raises."""
        self.latch(Abandoned("the rollout was given up after its time limit"))


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


def _with_fields(payload: Json, fields: dict[str, Json]) -> Json:
    for inner in ("body", "kwargs"):
        if isinstance(payload, dict) and isinstance(payload.get(inner), dict):
            return payload | {inner: payload[inner] | fields}
    return payload | fields if isinstance(payload, dict) else payload


def _with_prefix(payload: Json, original: Json, edited: Json) -> Json:
    """Where a request begins with the history that was edited, put the edited history in its place.

    A history is a list of messages, or one text that grows; either may be a field or a positional argument.
    """
    if isinstance(payload, dict) and isinstance(original, dict) and isinstance(edited, dict):
        known = {key: (original[key], edited[key]) for key in original if key in edited}
        return {key: _field(key, value, *known[key]) if key in known else value for key, value in payload.items()}
    if isinstance(payload, list) and isinstance(original, list) and payload[: len(original)] == original:
        return [*edited, *payload[len(original) :]]
    if isinstance(payload, str) and isinstance(original, str) and original and payload.startswith(original):
        return edited + payload[len(original) :] if isinstance(edited, str) else payload
    return edited if payload == original else payload


def _field(key: str, value: Json, original: Json, edited: Json) -> Json:
    if key == "args" and isinstance(value, list) and len(value) == len(original) == len(edited):
        return [_with_prefix(*each) for each in zip(value, original, edited, strict=True)]
    return _with_prefix(value, original, edited)
