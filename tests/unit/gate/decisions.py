"""Decisions as the gate records them, made by hand."""

from datetime import UTC, datetime
from typing import Any

from butfor.gate.certificate.envelope import seal
from butfor.gate.ledger.chain import Entry, Ledger
from butfor.gate.signing.signatures import Signer

SIGNER = Signer(bytes(range(32)))
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def body(name: str, **changes: Any) -> dict[str, Any]:
    """Return the parts of a certificate's body that readers of the ledger use."""
    said = {
        "verdict": "EXECUTE",
        "reason": "bound_met",
        "mode": "enforce",
        "tool": "restart",
        "agent": "a",
        "to": 1.0,
        "treatment": "restart",
        "context": {"load": 3.0},
        "level": 0.6,
        "risk": 0.3,
        "harm_line": 0.5,
        "range": [0.0, 1.0],
        "better": "more",
        "policy": "sha256:p1",
        **changes,
    }
    return {
        "schema": "butfor.certificate/1",
        "decision": {"id": name, "verdict": said["verdict"], "reason": said["reason"], "mode": said["mode"]},
        "action": {
            "tool": said["tool"],
            "agent": said["agent"],
            "treatment": said["treatment"],
            "to": said["to"],
            "against": 0.0,
            "outcome": "recovered",
            "context": {
                variable: {"value": value, "source": "argument", "at": "2026-11-30T12:00:00Z"}
                for variable, value in said["context"].items()
            },
        },
        "policy": {
            "digest": said["policy"],
            "entry": {"outcome": {"name": "recovered", "range": said["range"], "better": said["better"]}},
        },
        "estimate": None
        if said["level"] is None
        else {"level": {"point": said["level"] + 0.1, "lower": said["level"]}},
        "risk": {"harm_line": said["harm_line"], "bound": said["risk"]},
    }


def decided(ledger: Ledger, name: str, **changes: Any) -> Entry:
    """Append a decision with its certificate."""
    document = body(name, **changes)
    payload = {
        **{key: document["decision"][key] for key in ("verdict", "reason", "mode")},
        **{key: document["action"][key] for key in ("tool", "agent")},
        "call": f"sha256:call of {name}",
        "lower": changes.get("level", 0.6),
        "alpha": 0.05,
    }
    return ledger.append("decision", payload, subject=name, attachment=seal(document, SIGNER))
