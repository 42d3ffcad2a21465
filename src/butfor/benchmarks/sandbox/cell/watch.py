"""Names for what a program tries.

The walls contain a program, this module only names what it tried, so a program that goes around it gains nothing.
"""

from __future__ import annotations

import os

from .walls import OWN

TYPE_CHECKING = False  # see serve.py
if TYPE_CHECKING:
    from collections.abc import Callable

_NAMED = {
    "os.fork": "process",
    "os.forkpty": "process",
    "os.posix_spawn": "process",
    "os.exec": "process",
    "os.system": "process",
    "subprocess.Popen": "process",
    "os.kill": "signal",
    "socket.__new__": "network",
    "socket.connect": "network",
    "socket.getaddrinfo": "network",
    "os.remove": "delete",
    "os.rmdir": "delete",
    "os.rename": "delete",
    "os.truncate": "delete",
    "shutil.rmtree": "delete",
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def kind_of(event: str, args: tuple[object, ...]) -> str | None:
    """Name what an audit event of Python tries; None where it is ordinary. Files under /tmp are the program's own."""
    kind = "write" if event == "open" and _writes(args) else _NAMED.get(event)
    own = kind in {"write", "delete"} and _is_own(args[0] if args else None, new=kind == "write")
    return None if own else kind


def watcher(say: Callable[[dict[str, object]], None]) -> Callable[[str, tuple[object, ...]], None]:
    """Return an audit hook that says each kind once, with its first example."""
    seen: set[str] = set()

    def hook(event: str, args: tuple[object, ...]) -> None:
        kind = kind_of(event, args)
        if kind is not None and kind not in seen:
            seen.add(kind)
            say({"tried": kind, "example": f"{event} {args[:1]!r}"[:200]})

    return hook


def _writes(args: tuple[object, ...]) -> bool:
    flags = args[2] if len(args) > 2 else 0
    return isinstance(flags, int) and bool(flags & _WRITING)


def _is_own(path: object, *, new: bool) -> bool:
    """Whether a path is the program's own: in its /tmp, and already there where it is not a new file."""
    if isinstance(path, int):  # an open descriptor
        return True
    if not isinstance(path, str):
        return False
    whole = path if path.startswith("/") else f"{OWN}/{path}"  # a program starts in its /tmp
    return os.path.normpath(whole).startswith(OWN + "/") and (new or os.path.lexists(whole))
