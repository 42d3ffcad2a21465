"""The published JSON Schemas as files: `python -m butfor.cli.schema_files schemas`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from butfor.gate.certificate.schemas import SCHEMAS
from butfor.gate.policy import policy_schema


def write_schemas(directory: Path) -> None:
    """Write each schema as ``<name>.schema.json``."""
    for name, schema in {**SCHEMAS, "policy": policy_schema()}.items():
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        (directory / f"{name}.schema.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
