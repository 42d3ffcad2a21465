"""Time causal-agent-replay's forward engine on an agent of n steps; runs in that package's own environment."""

import asyncio
import json
import statistics
import sys
import time

from car.record.recorder import SyntheticCodec
from car.replay.forward import run_forward
from car.schemas.trajectory import State, Step, Trajectory
from car.synthetic import DictEnvironment, RulePolicy, final, tool_call, turn_index

ROLLOUTS = 10


def main() -> None:
    """Read {steps, rounds}, print {us_per_step}: CPU time of a rollout from step 0, per step."""
    settings = json.load(sys.stdin)
    steps = settings["steps"]

    def decide(state):
        return tool_call("go", {}) if turn_index(state) < steps - 1 else final("done")

    policy = RulePolicy(decide)
    first = State(
        system_prompt="",
        tool_schemas=[],
        model=policy.model_id,
        provider="synthetic",
        sampling={},
        messages=[{"role": "user", "content": "x" * 60}],
    )
    only = Step(index=0, state_before=first, action=final("x"), observation=None)
    parent = Trajectory(trajectory_id="p", steps=[only], final_output="x")

    async def rollout() -> None:
        await run_forward(
            trajectory_id="c",
            parent=parent,
            k=0,
            policy=policy,
            environment=DictEnvironment({"go": "go on"}),
            codec=SyntheticCodec(),
            messages_at_k=first.messages,
            sampling={},
            max_extra_steps=steps + 1,
        )

    samples = []
    for _ in range(settings["rounds"] + 1):
        start = time.process_time()
        for _ in range(ROLLOUTS):
            asyncio.run(rollout())
        samples.append((time.process_time() - start) / (ROLLOUTS * steps) * 1e6)
    print(json.dumps({"us_per_step": statistics.median(samples[1:])}))


main()
