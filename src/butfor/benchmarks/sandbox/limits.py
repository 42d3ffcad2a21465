"""What one run may use up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one run.

    Attributes:
        seconds: Wall time; the processor time of each process is limited to the next whole second.
        memory: Bytes of address space of each process; the run as a whole has `processes` times that.
        processes: Processes and threads at one time, the program's own included.
        files: Bytes that it may write in its private /tmp, which is gone afterwards.
    """

    seconds: float = 5.0
    memory: int = 512 * 2**20
    processes: int = 8
    files: int = 16 * 2**20
