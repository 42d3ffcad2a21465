"""Peers run in environments of their own, beside ours in the same call; an absent one says *not run*.

An environment is a virtual environment in ``$BUTFOR_PEERS/NAME`` (by default ``~/.cache/butfor/peers/NAME``), made with
``make peers``. Its script reads one JSON object from standard input and prints one.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parent / "peer_scripts"


def environment(name: str) -> Path:
    """Where a peer's environment is, or would be."""
    root = os.environ.get("BUTFOR_PEERS") or str(Path.home() / ".cache" / "butfor" / "peers")
    return Path(root) / name


def run_peer(name: str, script: str, settings: dict[str, Any], *, seconds: float = 600) -> dict[str, Any]:
    """Run a peer's script in its environment.

    Returns:
        What the script printed with ``{"status": "ok"}``, or a status that says why it was not run.
    """
    python = environment(name) / "bin" / "python"
    if not python.exists():
        return {"status": "not run: no environment (make peers)"}
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "VIRTUAL_ENV"))}
    try:
        child = subprocess.run(  # noqa: S603  our own script in an environment the user made
            [str(python), str(SCRIPTS / f"{script}.py")],
            input=json.dumps(settings),
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            env=clean,
        )
    except subprocess.TimeoutExpired:
        return {"status": f"not run: no answer in {seconds:g} s"}
    try:
        return {"status": "ok", **json.loads(child.stdout.splitlines()[-1])}
    except (ValueError, IndexError):
        last = (child.stderr.strip().splitlines() or ["no output"])[-1]
        return {"status": f"not run: {last[:120]}"}
