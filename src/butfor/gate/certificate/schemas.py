"""The published JSON Schemas of certificate, trust file and commitment (draft 2020-12).

`verify` holds a certificate against its schema; the files under ``schemas/`` are written from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from butfor.gate.verdict import EXIT_CODES, REASONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from butfor.canonical import Json

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DIGEST = "^sha256:[0-9a-f]{64}$"
_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$"

_text: Json = {"type": "string"}
_number: Json = {"type": "number"}
_maybe_text: Json = {"type": ["string", "null"]}
_maybe_number: Json = {"type": ["number", "null"]}
_value: Json = {"type": ["number", "string"]}
_maybe_value: Json = {"type": ["number", "string", "null"]}
_any_object: Json = {"type": "object"}
_texts: Json = {"type": "array", "items": _text}
_digest: Json = {"type": "string", "pattern": _DIGEST}
_maybe_digest: Json = {"type": ["string", "null"], "pattern": _DIGEST}
_time: Json = {"type": "string", "pattern": _TIME}

_pairs: Json = {"type": "array", "items": _texts}
_levels: Json = {"type": "object", "additionalProperties": _texts}


def _object(fields: Mapping[str, Json], *, optional: tuple[str, ...] = (), words: str = "") -> Json:
    required = [name for name in fields if name not in optional]
    found: dict[str, Json] = {"type": "object", "required": required, "additionalProperties": False}
    found |= {"properties": dict(fields)}
    return {**found, "description": words} if words else found


def _or_null(schema: Json) -> Json:
    return {**schema, "type": [schema["type"], "null"]}


_key: Json = {"type": "string", "pattern": "^ed25519:[0-9a-f]{32}$"}
_signature = _object(
    {
        "algorithm": {"const": "Ed25519"},
        "key": _key,
        "value": {"type": "string", "pattern": "^[A-Za-z0-9+/]{86}==$"},
    }
)
_graph = _object(
    {
        "schema": {"const": "butfor.graph/1"},
        "nodes": {"type": "object", "additionalProperties": _text},
        "directed": _pairs,
        "bidirected": _pairs,
    },
    words="an ADMG; a bidirected edge is latent confounding",
)
_query = _object(
    {"treatments": _texts, "outcomes": _texts, "given": _texts, "measured": {"type": ["array", "null"], "items": _text}}
)
_commitment_part = _object(
    {
        "schema": {"const": "butfor.commitment/1"},
        "name": _text,
        "version": {"type": "integer", "minimum": 1},
        "graph": {**_digest, "description": "digest of the graph's canonical form"},
        "previous": {**_maybe_digest, "description": "digest of the version before"},
        "author": _text,
        "reason": _text,
        "at": _time,
        "expires_at": _time,
        "statements": {
            "type": "array",
            "items": _object({"treatment": _text, "outcome": _text, "reason": _text}),
            "description": "why there is no latent edge where agents chose the treatment themselves",
        },
    }
)
_approvals: Json = {"type": "array", "items": _object({"at": _time, "signature": _signature})}

_effect = _object(
    {
        "schema": {"enum": ["butfor.estimate/1", "butfor.insufficient/1"]},
        "point": _maybe_number,
        "lower": _maybe_number,
        "upper": _maybe_number,
        "alpha": _maybe_number,
        "n_per_arm": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
        "target": {"enum": ["contrast", "level"]},
        "estimator": _text,
        "assumptions": _texts,
        "guarantee": _text,
        "reason_code": _text,
        "sentence": _text,
        "diagnostics": {"type": "object", "additionalProperties": _maybe_number},
    },
    optional=(
        "point", "lower", "upper", "alpha", "n_per_arm", "target", "estimator", "assumptions", "guarantee",
        "reason_code", "sentence",
    ),
)  # fmt: skip

_BODY: Mapping[str, Json] = {
    "schema": {"const": "butfor.certificate/1"},
    "decision": _object(
        {
            "id": _text,
            "at": _time,
            "verdict": {"enum": list(EXIT_CODES)},
            "reason": {"enum": list(REASONS)},
            "missing": {**_texts, "description": "each assumption, hedge or bound that failed, in words"},
            "mode": {"enum": ["observe", "enforce"]},
            "evidence_age": {**_maybe_number, "description": "seconds since the newest unit"},
        }
    ),
    "action": _object(
        {
            "tool": _text,
            "agent": _text,
            "call": {**_maybe_digest, "description": "digest of the exact canonical call"},
            "treatment": _maybe_text,
            "to": {**_maybe_value, "description": "t*"},
            "against": {**_maybe_value, "description": "t0"},
            "outcome": _maybe_text,
            "cost": _maybe_number,
            "reversible": {"type": ["boolean", "null"]},
            "stratum": {"type": "object", "additionalProperties": _value},
            "context": {"type": "object", "description": "value, source and time of each context variable"},
        }
    ),
    "policy": _object(
        {
            "digest": _digest,
            "preset": {"enum": ["default", "paper"]},
            "name": _maybe_text,
            "entry": {"type": ["object", "null"], "description": "as the policy's own schema has it"},
            "signatures": {
                "type": "array",
                "items": _object({"at": _time, "reason": _text, "signature": _signature}),
                "description": "of approvers under the policy's digest",
            },
        },
        optional=("signatures",),
    ),
    "graph": _or_null(
        _object(
            {
                "document": _graph,
                "digest": _digest,
                "commitment": _or_null(_object({"commitment": _commitment_part, "approvals": _approvals})),
                "query": _query,
            }
        )
    ),
    "assumptions": {
        "type": "array",
        "items": _object({"code": _text, "words": _text, "checked": _text}),
        "description": "what the verdict rests on, and how each was checked or that it was not",
    },
    "proof": {"type": ["object", "null"], "description": "why the effect is identified"},
    "hedge": {"type": ["object", "null"], "description": "why it is not"},
    "estimate": _or_null(
        _object(
            {
                "level": {**_or_null(_effect), "description": "E[Y | do(t*)]"},
                "contrast": {**_or_null(_effect), "description": "E[Y | do(t*)] - E[Y | do(t0)]"},
                "worst_case": {"type": ["object", "null"]},
                "bound_on": {"enum": ["contrast", "level"], "description": "which of the two τ_u meets"},
                "lower": _maybe_number,
                "upper": _maybe_number,
                "tau_u": _number,
                "alpha": _maybe_number,
            }
        )
    ),
    "risk": _or_null(
        _object(
            {
                "cost": {**_number, "description": "declared; meets τ_c (in the paper's settings τ_r)"},
                "tau_c": _maybe_number,
                "cost_limit": {"enum": ["tau_c", "tau_r"]},
                "harm_line": _maybe_number,
                "bound": {**_maybe_number, "description": "an upper bound on the risk, from the evidence; meets τ_r"},
                "point": _maybe_number,
                "words": _maybe_text,
                "tau_r": _maybe_number,
            }
        )
    ),
    "robustness": _object(
        {
            "falsification": {"type": ["object", "null"]},
            "mutations": {"type": ["array", "null"], "items": _any_object},
            "strength": {"type": ["object", "null"]},
        }
    ),
    "provenance": _object(
        {
            "level": {"enum": ["rows", "statistics", "attested", None]},
            "query": _maybe_text,
            "lineage": _text,
            "window": {"type": ["array", "null"], "items": _text},
            "roles": _any_object,
            "rows": {"type": "integer", "minimum": 0},
            "rows_hash": {**_maybe_text, "description": "of the multiset of rows, by the engine that counted"},
            "arms": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
            "evidence": {**_digest, "description": "digest of the rows, or of the statistics"},
            "kind": {"enum": ["observational", "randomised", "mixed", "policy-confounded"]},
            "statistics": {"type": ["object", "null"]},
            "harmed": {"type": ["object", "null"]},
            "levels": _levels,
            "versions": {"type": "object", "additionalProperties": _text},
        },
        optional=(
            "query", "lineage", "window", "roles", "rows", "rows_hash", "arms", "evidence", "kind", "statistics",
            "harmed", "levels",
        ),
    ),
    "budget": _or_null(
        _object(
            {
                "family": _digest,
                "epoch": {"type": "integer", "minimum": 1},
                "place": {"type": "integer", "minimum": 1},
                "alpha": _number,
                "key": _digest,
                "share": _text,
                "questions": {"type": ["integer", "null"], "minimum": 1},
            }
        )
    ),
    "approval": _object(
        {
            "terms": _object(
                {
                    "schema": {"const": "butfor.permit/1"},
                    "kind": {"const": "approval"},
                    "call": {**_digest, "description": "digest of the exact canonical call"},
                    "tool": _text,
                    "reason": _text,
                    "uses": {"type": "integer", "minimum": 1},
                    "valid_from": _time,
                    "valid_until": _time,
                }
            ),
            "signature": _signature,
            "use": {"type": "integer", "minimum": 1, "description": "which of its uses this was"},
        },
        words="the approval that EXECUTE used, where the policy demands one",
    ),
    "says": {**_texts, "description": "what this certificate says and does not say"},
}  # fmt: skip

_OPTIONAL = ("approval",)

CERTIFICATE: Mapping[str, Json] = _object(_BODY, optional=_OPTIONAL, words="what a gate says of one tool call")
"""The schema of a certificate's body."""

_FIELDS = _object(
    dict.fromkeys(_BODY, _digest),
    optional=_OPTIONAL,
    words="digest of each field of the body: what the signature covers",
)

SCHEMAS: Mapping[str, Mapping[str, Json]] = {
    "certificate": {
        "$schema": _DIALECT,
        "$id": "https://butfor.dev/schemas/certificate-1.json",
        "title": "butfor certificate",
        **_object({"body": CERTIFICATE, "fields": _FIELDS, "signature": _signature}),
    },
    "trust": {
        "$schema": _DIALECT,
        "$id": "https://butfor.dev/schemas/trust-1.json",
        "title": "butfor trust file",
        **_object(
            {
                "schema": {"const": "butfor.trust/1"},
                "keys": {
                    "type": "array",
                    "items": _object(
                        {
                            "id": _key,
                            "name": _text,
                            "public": {"type": "string", "pattern": "^[A-Za-z0-9+/]{43}=$"},
                            "role": {"enum": ["gate", "approver"]},
                            "valid_from": _text,
                            "valid_until": _maybe_text,
                            "revoked_at": _maybe_text,
                        }
                    ),
                },
            }
        ),
    },
    "commitment": {
        "$schema": _DIALECT,
        "$id": "https://butfor.dev/schemas/commitment-1.json",
        "title": "butfor graph commitment: one version of a graph, as kept in a folder of commitments",
        **_object({"commitment": _commitment_part, "graph": _graph}),
    },
}
"""Each published schema by the name of its file, ``schemas/<name>.schema.json``."""
