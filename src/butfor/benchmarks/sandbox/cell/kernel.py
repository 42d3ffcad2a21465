"""The few system calls that Python 3.11 has no function for."""

from __future__ import annotations

import ctypes
import os
import signal

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x1, 0x2, 0x4, 0x8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 0x20, 0x1000, 0x4000, 0x40000
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID = 0x1, 0x2  # not nodev: /dev/null is below
_MOUNT_SETATTR = 442  # the same number on every architecture
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_CAPABILITY_V3 = 0x20080522
_LAST_CAPABILITY = 40

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("spread", ctypes.c_uint64),
        ("ns", ctypes.c_uint64),
    )


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def unshare(flags: int) -> None:
    """Leave the namespaces in `flags`."""
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def enter(namespace: int, kind: int) -> None:
    """Go into the namespace that a file descriptor stands for."""
    _check(_libc.setns(namespace, kind), "setns")


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount `source` on `target`; None as the kind where the flags say what is done."""
    done = _libc.mount(
        source.encode(), target.encode(), kind.encode() if kind else None, ctypes.c_ulong(flags), options.encode()
    )
    _check(done, f"mount {source} on {target}")


def make_read_only(target: str) -> None:
    """Make a mount and every mount below it read-only."""
    attributes = _MountAttributes(set=_MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID)
    done = _libc.syscall(
        ctypes.c_long(_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        ctypes.c_char_p(target.encode()),
        ctypes.c_uint(_AT_RECURSIVE),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _check(done, f"mount_setattr {target}")


def change_root(new: str) -> None:
    """Make `new` the root and lose sight of the old one."""
    os.chdir(new)
    _check(_libc.pivot_root(b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH), "umount2")
    os.chdir("/")


def die_with_parent() -> None:
    """Be killed when the parent ends, however it ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0), "prctl(PDEATHSIG)")


def set_dumpable(dumpable: bool) -> None:
    """Say whether others of the same user may trace this process and own its /proc entry."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, ctypes.c_ulong(dumpable), 0, 0, 0), "prctl(DUMPABLE)")


def drop_privileges() -> None:
    """Give up every capability for good, and be closed to tracing by others of the same user."""
    for capability in range(_LAST_CAPABILITY + 1):
        # A kernel with fewer capabilities answers EINVAL to the numbers that it does not know.
        _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)
    header = _CapabilityHeader(version=_CAPABILITY_V3, pid=0)
    none = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(ctypes.byref(header), none), "capset")
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0), "prctl(NO_NEW_PRIVS)")
    set_dumpable(False)


def _check(done: int, what: str) -> None:
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
