"""`butfor gate bypass`: see `gate_approve`."""

from __future__ import annotations

from butfor.cli.gate_approve import bypass as command

__all__ = ["command"]
