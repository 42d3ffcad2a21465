"""An agent whose live model calls leave a line in a file, so that they can be counted across processes and crashes."""

from pathlib import Path
from typing import Any

import butfor
from butfor import noise
from tests.agents.pacing import answer

STEPS = 3


@butfor.model
def ask(*, log: str, prompt: str, pause: float, seed: int) -> str:
    with Path(log).open("a") as file:
        file.write(f"{seed}\n")
    answer(Path(log), pause)
    return f"{prompt}{noise.seed_of('paying', prompt, seed) % 10}"


def agent(task: dict[str, Any]) -> str:
    """Decide three times; `stop` names a step that takes too long for the test's patience."""
    said = ""
    for step in range(STEPS):
        pause = 60.0 if step == task.get("stop") else float(task["pause"])
        said = ask(log=task["log"], prompt=said, pause=pause, seed=step)
    return said


def ends_high(trajectory: Any) -> float:
    """An outcome that is 1 in about half of all runs."""
    return float(str(trajectory.output)[-1] >= "5")
