"""The walls: what a program in the sandbox can see, and what it may use up."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from . import kernel

NOBODY = 65534
OWN = "/tmp"  # noqa: S108  a tmpfs of the run alone, mounted by us
_DEVICES = ("null", "zero", "random", "urandom")
# Where shared libraries live, on Debian as on Nix; nothing of a user's home but the interpreter itself.
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/etc/ld.so.cache")


def raise_walls(root: str, visible: list[str]) -> tuple[int, int]:
    """Leave the host's namespaces for a read-only root of the interpreter and its libraries.

    Args:
        root: An empty directory; the new root is mounted over it, where only this process sees it.
        visible: Further paths that are bound read-only.

    Returns:
        Descriptors of the host's /proc and of this process's pid namespace; both are closed before a program runs.

    Raises:
        OSError: The kernel refuses; the message names the call.
    """
    processes = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    uid, gid = os.geteuid(), os.getegid()
    if uid != 0:
        kernel.unshare(kernel.CLONE_NEWUSER)
        _map(processes, f"0 {uid} 1", f"0 {gid} 1")
    numbers = _go_on_as_first_process(processes)
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS)
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", root, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=755")
    for path in dict.fromkeys([*_SYSTEM, sys.base_prefix, sys.base_exec_prefix, *visible]):
        _show(path, root)
    for name in _DEVICES:
        _bind(f"/dev/{name}", f"{root}/dev/{name}")
    Path(root + OWN).mkdir()
    kernel.make_read_only(root)
    kernel.change_root(root)
    return processes, numbers


def _go_on_as_first_process(processes: int) -> int:
    """Go on in a child that is process 1 of a pid namespace of our own, to which runs may come back from theirs."""
    kernel.unshare(kernel.CLONE_NEWPID)
    child = os.fork()
    if child != 0:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    kernel.die_with_parent()
    return os.open("self/ns/pid", os.O_RDONLY, dir_fd=processes)


def go_inside(processes: int, limits: dict[str, int]) -> None:
    """In the process of one run: a private /tmp, an unprivileged user, no capability, and limits.

    Args:
        processes: Descriptor of the host's /proc, where the user's mapping is written; closed here.
        limits: ``processes``, ``memory`` and ``files`` in bytes, ``seconds`` of processor time.

    Raises:
        OSError: The kernel refuses; the message names the call.
    """
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("tmpfs", OWN, "tmpfs", flags, f"size={limits['files']},mode=1777")
    if _is_real_root(processes):
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        kernel.set_dumpable(True)  # a change of user makes /proc/self root's, where the mapping is to be written
    # A user namespace below the one that owns the mounts: whatever a program gains in it, the mounts are out of reach.
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER)
    _map(processes, f"{NOBODY} {uid} 1", f"{NOBODY} {gid} 1")
    os.close(processes)
    _limit(limits)
    kernel.drop_privileges()
    kernel.die_with_parent()
    os.chdir(OWN)


def _is_real_root(processes: int) -> bool:
    """Whether user 0 here is user 0 of the host."""
    return _read(processes, "self/uid_map").split()[:2] == ["0", "0"]


def _limit(limits: dict[str, int]) -> None:
    # Since Linux 5.14 processes are counted per user namespace: other programs of the same user do not count.
    for kind, most in (
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_AS, limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["files"]),
        (resource.RLIMIT_CPU, limits["seconds"]),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def _show(path: str, root: str) -> None:
    source = Path(path)
    if source.is_symlink():
        link = Path(root + path)
        link.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(link):
            link.symlink_to(source.readlink())
    elif source.exists() and not _is_below_another(path):
        _bind(path, root + path)


def _is_below_another(path: str) -> bool:
    return any(path != other and path.startswith(other + "/") for other in _SYSTEM)


def _bind(source: str, target: str) -> None:
    if Path(source).is_dir():
        Path(target).mkdir(parents=True, exist_ok=True)
    else:
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(target).touch()
    kernel.mount(source, target, None, kernel.MS_BIND | kernel.MS_REC)


def _map(processes: int, users: str, groups: str) -> None:
    _write(processes, "self/setgroups", "deny")
    _write(processes, "self/uid_map", users)
    _write(processes, "self/gid_map", groups)


def _write(processes: int, name: str, text: str) -> None:
    descriptor = os.open(name, os.O_WRONLY, dir_fd=processes)
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise OSError(error.errno, f"writing {name}: {os.strerror(error.errno or 0)}") from None
    finally:
        os.close(descriptor)


def _read(processes: int, name: str) -> str:
    descriptor = os.open(name, os.O_RDONLY, dir_fd=processes)
    try:
        return os.read(descriptor, 4096).decode()
    finally:
        os.close(descriptor)
