"""Causal steps in the order in which they may be learnt: what often comes right by luck first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from butfor.errors import InputError, system_reason

if TYPE_CHECKING:
    from pathlib import Path

    from butfor.repairs.skills.causal import CausalStep
    from butfor.repairs.skills.skills import Skills


def curriculum(skills: Skills) -> list[dict[str, Any]]:
    """Order every causal step, the easiest first.

    Difficulty is 1 − P(success) when the step is merely decided again, measured by the repair's null arm. Ties go to
    the smaller edit, then to the larger group. A step without a measured difficulty is null there and comes last.

    Returns:
        One row a step: place, skill, run, task, the factual action, the repaired one, difficulty.
    """
    group = {i: (n, each.name) for n, each in enumerate(skills.skills) for i in each.members}
    order = sorted(
        range(len(skills.steps)), key=lambda i: (*_hardness(skills.steps[i]), group.get(i, (1 << 30, ""))[0], i)
    )
    return [
        {
            "place": place,
            "skill": group[i][1] if i in group else None,
            **_row(skills.steps[i]),
        }
        for place, i in enumerate(order, start=1)
    ]


def write_curriculum(skills: Skills, path: Path) -> int:
    """Write the curriculum as JSON Lines; returns how many rows.

    Raises:
        InputError: The file exists, or cannot be written.
    """
    rows = curriculum(skills)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    except OSError as error:
        raise InputError(
            f"the curriculum cannot be written ({system_reason(error)})", fix="give a new file in a folder"
        ) from None
    return len(rows)


def _hardness(step: CausalStep) -> tuple[bool, float, int]:
    luck = step.luck
    return (luck is None, 0.0 if luck is None else 1.0 - luck, 0 if step.repair is None else step.repair.edit.distance)


def _row(step: CausalStep) -> dict[str, Any]:
    repair = step.repair
    return {
        "run_id": step.run_id,
        "step": step.step,
        "task": step.task,
        "outcome": step.outcome,
        "action": step.action,
        "repaired": None if repair is None else repair.repaired,
        "difficulty": None if step.luck is None else round(1.0 - step.luck, 6),
        "null": None if repair is None or repair.verdict is None else repair.verdict.null.to_json(),
        "edit": None if repair is None else repair.edit.distance,
        "result_id": step.result_id,
    }
