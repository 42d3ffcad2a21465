"""The command group: each verb lives in its own file and is imported only when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import click

from butfor.errors import ButforError, ReplayError

if TYPE_CHECKING:
    from collections.abc import Sequence

VERBS: dict[str, str] = {
    "record": "run an agent once and keep what a replay needs",
    "import": "read traces that other tools recorded",
    "replay": "run it again, untouched or changed",
    "bench": "run a published or planted comparison",
}
"""Verb to its one-line help, in the order of `butfor --help`. The command is `command` in `butfor.cli.<verb>`."""

EXIT_CODES = """\
Exit codes: 0 done; 1 a check failed; 2 unusable input; 3 the question cannot be answered from this run;
130 interrupted (finished rollouts are kept)."""


class Verbs(click.Group):
    """Load a verb's module when it is asked for, so that `butfor --help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the verbs in the order of VERBS."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb's command, or None for an unknown name (click then suggests)."""
        del ctx
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"butfor.cli.{module_of(cmd_name)}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the verbs without importing them."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))


def module_of(verb: str) -> str:
    """Name the module of a verb; `import` is a keyword, so its file has an underscore."""
    return "import_" if verb == "import" else verb


@click.group(cls=Verbs, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="butfor")
def cli() -> None:
    """Causal verification for LLM agents: gate a tool call, attribute a failure, repair the step that caused it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; an error of ours is one sentence on stderr and exit code 2."""
    try:
        result: Any = cli.main(args=None if arguments is None else list(arguments), standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; finished rollouts are kept", err=True)
        sys.exit(130)
    except ReplayError as error:
        click.echo(f"butfor: {error}", err=True)
        sys.exit(3)
    except ButforError as error:
        click.echo(f"butfor: {error}", err=True)
        sys.exit(2)
    sys.exit(result if isinstance(result, int) else 0)
