"""Repairs in the store: kept under a name that their content gives, and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor import canonical
from butfor.repairs.result import Repair, RepairAnswer

if TYPE_CHECKING:
    from butfor.store import Storage

REPAIR = "repair"
"""Kind of a stored repair."""
ANSWER = "repairs"
"""Kind of a stored answer of the verb."""


def save_answer(store: Storage, answer: RepairAnswer) -> None:
    """Store an answer, and each of its repairs by itself."""
    for each in answer.repairs:
        save_repair(store, each)
    settings, body = canonical.encode(answer.settings), canonical.encode(answer.to_json())
    store.save_result(answer.result_id, answer.run_id, ANSWER, settings, body)


def save_repair(store: Storage, repair: Repair) -> str:
    """Store a repair under a name that its content gives, so that the same repair is stored once; returns the name."""
    body = canonical.encode(repair.to_json())
    name = f"{repair.run_id}:repair:{canonical.digest_text(body)[7:31]}"
    store.save_result(name, repair.run_id, REPAIR, "{}", body)
    return name


def repairs_of(store: Storage, run_id: str) -> list[Repair]:
    """Read the stored repairs of a run, the last accepted last."""
    whole = store.resolve(run_id)
    return [Repair.from_json(canonical.decode(each.body)) for each in store.list_results(whole) if each.kind == REPAIR]


def answers_of(store: Storage, run_id: str) -> list[RepairAnswer]:
    """Read what `repair` answered about a run, the last answer last."""
    whole = store.resolve(run_id)
    return [
        RepairAnswer.from_json(canonical.decode(each.body)) for each in store.list_results(whole) if each.kind == ANSWER
    ]
