"""The command lines that give an answer again, from the settings that are stored with it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from butfor.attribution import Margins

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from butfor.runs import Run

_OWN_OPTIONS = {
    "search": {"max_help": "--max-help"},
    "profile": {"draws": "--draws"},
    "shapley": {"rollouts": "--rollouts", "seed": "--seed"},
    "shapley-published": {"rollouts": "--rollouts", "seed": "--seed"},
    "responsibility": {"draws": "--draws"},
}
_FROM_PYTHON = ("simulators",)


def commands_of(run: Run) -> tuple[str, ...]:
    """Name what to do with a run that nothing was asked about, safe to paste: an imported run's id may be anything."""
    name = shlex.quote(run.run_id)
    return (f"butfor attribute {name}", f"butfor report {name}")


def commands_again(run: Run, body: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the commands that give a stored answer again, and that show it."""
    name, settings = shlex.quote(run.run_id), body["settings"]
    options = [
        f"--method {shlex.quote(str(body['method']))}",
        *_options(settings, _OWN_OPTIONS.get(str(body["method"]), {})),
        *_options(settings, {"alpha": "--alpha", "commit": "--margin"}),
        *_question(settings.get("question", {})),
    ]
    before = ""
    if settings.get("proposals"):
        before = f"printf %s {shlex.quote(json.dumps(settings['proposals']))} | "
        options.append("--proposals -")
    result = shlex.quote(str(body["result_id"]))
    return (f"{before}butfor attribute {name} {' '.join(options)}", f"butfor report {name} --result {result}")


def only_from_python(settings: Mapping[str, Any]) -> dict[str, str]:
    """Name the settings that no option of the command line can give."""
    usual = Margins().to_json()
    odd = {name: settings[name] for name in ("decisive", "tie") if name in settings and settings[name] != usual[name]}
    odd |= {name: value for name, value in settings.get("question", {}).items() if name in _FROM_PYTHON}
    return {f"from Python only, {name}": json.dumps(value) for name, value in odd.items()}


def _options(settings: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[str]:
    for name, option in names.items():
        if settings.get(name) is not None:
            yield f"{option} {_written(settings[name])}"


def _question(question: Mapping[str, Any]) -> Iterator[str]:
    for name, value in question.items():
        option = "--" + name.replace("_", "-")
        if name in _FROM_PYTHON:
            continue
        if value is True:
            yield option
        elif name == "allow_write":
            yield from (f"{option} {_written(each)}" for each in value)
        elif name == "prices":
            yield f"{option} {' '.join(_written(each) for each in value)}"
        else:
            yield f"{option} {_written(value)}"


def _written(value: object) -> str:
    # repr gives the shortest digits that read back as the same number.
    return shlex.quote(value if isinstance(value, str) else repr(value))
