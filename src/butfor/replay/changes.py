"""What an intervention makes of a live request: an edited history, another policy, the draw's own seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.replay.draws import with_seed
from butfor.replay.journal import digest_of
from butfor.replay.plan import import_by_name

if TYPE_CHECKING:
    from butfor.canonical import Json
    from butfor.replay.draws import Seeds
    from butfor.replay.plan import Plan
    from butfor.replay.session import Live


def edit_history(ticket: Live, plan: Plan) -> None:
    """Edit the request at its step, and every later one of the lane that contains the history that was edited."""
    lane, payload = ticket.lane, ticket.payload
    for original, edited in lane.edits:
        payload = _with_prefix(payload, original, edited)
    edit = plan.edits.get((ticket.crossing.lane, ticket.crossing.occurrence))
    if edit is not None:
        changed = edit(canonical.decode(canonical.encode_exact(payload)))
        lane.edits += ((payload, changed),)
        payload = changed
    ticket.payload = payload


def apply_policy(ticket: Live, plan: Plan, *, step: int) -> None:
    """Let the policy that holds from an earlier step or this one decide."""
    for first, policy in plan.policies:
        if step >= first:
            if "set" in policy:
                ticket.payload = _with_fields(ticket.payload, policy["set"])
            else:
                ticket.policy = import_by_name(str(policy["call"]), what="the policy")
            return


def replace_seed(ticket: Live, plan: Plan, seeds: Seeds) -> None:
    """Put the draw's seed in the place of the recorded one."""
    crossing = ticket.crossing
    changed = bool(plan.edits or plan.policies)
    digest = digest_of(canonical.encode(ticket.payload)) if changed else crossing.digest
    crossing.seed = seeds.seed(digest, crossing.lane, crossing.occurrence)
    if crossing.seed is not None:
        ticket.payload = with_seed(ticket.payload, crossing.seed)


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
