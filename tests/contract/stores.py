"""What the tests of stores share."""

from datetime import UTC, datetime
from typing import Any

from butfor import runs
from butfor.store import ResultRecord, RolloutRecord

WHEN = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)
RESULT = ResultRecord(result_id="a1", run_id="r1", kind="profile", params='{"delta":0.1}', body='{"v":[1.0]}')


def run(run_id: str = "r1", *, output: object = None) -> runs.Run:
    return runs.Run(run_id=run_id, output=runs.Value.of(output))


def rollout(**changes: Any) -> RolloutRecord:
    fields: dict[str, Any] = {
        "rollout_id": "x0",
        "run_id": "r1",
        "fingerprint": "f",
        "arm": "resample(2)",
        "draw": 0,
        "status": "completed",
        "outcome": 1.0,
        "counts": '{"model_calls":3}',
        "created_at": WHEN,
        "journal": '{"kind":"model"}\n{"kind":"tool"}',
    }
    return RolloutRecord(**(fields | changes))
