"""A transcript four times as long takes about four times as long: reading, keeping, exporting."""

import json
import time

from butfor import importers, runs

# Quadratic work would take 16 times; noise on a busy machine has been seen at 6.
MOST = 10.0


def transcript(steps: int) -> bytes:
    messages: list[object] = [{"role": "user", "content": "go"}]
    for i in range(steps):
        call = {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": f'{{"i": {i}}}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{i}", "content": "result " * 30})
    return json.dumps(messages).encode()


def seconds(steps: int) -> float:
    data = transcript(steps)
    start = time.process_time()
    (run,) = importers.import_input(importers.from_bytes(data, "t")).runs
    text = runs.to_text(run)
    document = importers.to_atif(run)
    spent = time.process_time() - start
    assert len(run.steps) == steps
    assert len(text) < 6 * len(data)
    assert len(document["steps"]) == steps + 1
    return spent


def test_a_long_transcript_is_read_kept_and_exported_in_linear_time():
    seconds(200)  # imports and caches
    few, many = (min(seconds(steps) for _ in range(2)) for steps in (500, 2000))
    assert many < MOST * few
