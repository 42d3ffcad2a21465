"""Options that several verbs share."""

from __future__ import annotations

import json
import math
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from butfor.errors import ButforError, InputError, NotFound, system_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from butfor.attribution import Question
    from butfor.canonical import Json
    from butfor.store import Store


def share(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse what is not between 0 and 1, under the option's own name."""
    del context
    if value is not None and not 0.0 < value < 1.0:
        raise InputError(f"{parameter.opts[0]} {value:g} is not between 0 and 1", fix="choose a share such as 0.05")
    return value


def positive(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse what is not a positive number, under the option's own name."""
    del context
    if value is not None and not 0.0 < value < math.inf:
        raise InputError(f"{parameter.opts[0]} {value:g} leaves no time", fix="give a positive number of seconds")
    return value


def level(name: str, default: float, words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make an option that takes a share."""
    return click.option(name, type=float, default=default, show_default=True, callback=share, help=words)


as_json = click.option("--json", "as_json", is_flag=True, help="print the answer as JSON")
agent = click.option("--agent", metavar="MODULE:FUNCTION", help="the agent; the recorded one by default")
outcome = click.option(
    "--outcome", metavar="RULE", help="a rule such as 'tool_called(\"refund\")', or module:function; 1 = bad"
)


def budgeted(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what limits rollouts: budget, concurrency, time, tools."""
    for option in reversed(_BUDGET):
        command = option(command)
    return command


_BUDGET = [
    click.option("--max-rollouts", type=int, help="budget: rollouts"),
    click.option("--max-calls", type=int, help="budget: live policy calls"),
    click.option("--max-tokens", type=int, help="budget: tokens"),
    click.option("--max-money", type=float, help="budget: money; needs --prices"),
    click.option("--max-seconds", type=float, help="budget: wall time"),
    click.option("--prices", nargs=2, type=float, metavar="IN OUT", help="money per million tokens, sent and answered"),
    click.option("--concurrency", type=click.IntRange(1), default=8, show_default=True, help="rollouts at once"),
    click.option("--time-limit", type=float, callback=positive, help="seconds for one rollout"),
    click.option(
        "--allow-write", multiple=True, metavar="TOOL", help="let this write tool run LIVE in rollouts (repeatable)"
    ),
    click.option("--live-reads", is_flag=True, help="let read tools run live after a write"),
]


def open_store() -> Store:
    """Open the store for a verb that only uses what is in it: none is made.

    Raises:
        NotFound: There is no store yet.
    """
    from butfor.store import Store, home

    if not is_there():
        raise NotFound(f"there is no store yet ({home().resolve()})", fix=START)
    return Store.open()


def is_there() -> bool:
    """Whether there is a store at all."""
    from butfor.store.location import FILE_NAME, home

    return (home() / FILE_NAME).exists()


START = "record a run first (butfor record --agent module:function --input FILE), or set BUTFOR_HOME"


def question_of(options: dict[str, Any]) -> Question:
    """Gather the shared options into what an attribution asks."""
    from butfor.attribution import Question
    from butfor.replay import Budget, Prices, ToolPolicy

    prices = options.get("prices")
    return Question(
        agent=options.get("agent"),
        outcome=options.get("outcome"),
        tools=ToolPolicy(allow_write=frozenset(options["allow_write"]), live_reads_after_write=options["live_reads"]),
        budget=Budget(
            rollouts=options["max_rollouts"],
            policy_calls=options["max_calls"],
            tokens=options["max_tokens"],
            money=options["max_money"],
            seconds=options["max_seconds"],
            prices=Prices(prompt=prices[0], completion=prices[1]) if prices else None,
        ),
        concurrency=options["concurrency"],
        time_limit=options["time_limit"],
    )


def read_input(name: str) -> Json:
    """Read an agent's input: JSON from a file, or from standard input for ``-``.

    Raises:
        NotFound: The file cannot be read.
        InputError: It is not JSON.
    """
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NotFound(
            f"cannot read the input {name!r} ({system_reason(error)})", fix="give a JSON file, or - for standard input"
        ) from None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(
            f"the input is not JSON ({error})", where=name, fix='a bare text is written "in quotes"'
        ) from None


def read_proposals(name: str | None) -> dict[int, list[Any]]:
    """Read proposed actions by step from a JSON file, or from standard input for ``-``.

    Raises:
        NotFound: The file cannot be read.
        InputError: It is something else.
    """
    if name is None:
        return {}
    document = read_input(name)
    if not isinstance(document, dict) or not all(
        re.fullmatch("[0-9]{1,9}", key) and isinstance(actions, list) and actions for key, actions in document.items()
    ):
        raise InputError(
            "the proposals are not an object of one or more actions by step",
            where=name,
            fix='write {"2": ["what to answer instead"]}',
        )
    return {int(key): actions for key, actions in document.items()}


def import_function(name: str, *, what: str) -> Callable[..., Any]:
    """Import ``module:function``, with the current folder on the path as `python -m` has it.

    Raises:
        NotFound: There is no such module or function.
        InputError: Importing it fails, or it cannot be called.
    """
    from butfor.replay.plan import import_by_name

    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_by_name(name, what=what)
    except ButforError:
        raise
    except Exception as error:
        raise InputError(f"importing {what} {name!r} raised {type(error).__name__}: {error}") from error
    if not callable(found):
        raise InputError(f"{what} {name!r} is a {type(found).__name__}, which cannot be called")
    function: Callable[..., Any] = found
    return function


@contextmanager
def about(path: str | Path) -> Iterator[None]:
    """Name the file in what is wrong with its text."""
    try:
        yield
    except InputError as error:
        error.where = f"{path}, {error.where}" if error.where else str(path)
        raise
