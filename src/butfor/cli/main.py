"""The command group: each verb lives in its own file and is imported only when it is called."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from butfor.errors import ButforError, ReplayError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERBS: dict[str, str] = {
    "demo": "record a failing support agent, find the step, write the report; no key, no network",
    "record": "run an agent once and keep what a replay needs",
    "import": "read traces that other tools recorded",
    "replay": "run it again, untouched or changed",
    "attribute": "say which step caused the outcome",
    "repair": "find the smallest change that really fixes a failed run",
    "pairs": "write validated repairs as training pairs, and check such files",
    "skills": "group the steps that caused failures: what goes wrong where, over many runs",
    "runs": "list the recorded and imported runs, or show one",
    "report": "show an answer, on the terminal or as one HTML file",
    "doctor": "check the installation and the store",
    "bench": "run a published or planted comparison",
    "evidence": "describe a table of past units, test a graph on it, make one of recorded runs",
    "graph": "check a causal graph, draw it, say whether an effect is identified",
    "gate": "decide about a tool call before it runs; four verdicts, each with a certificate",
    "verify": "derive a certificate again, offline, and print each check",
}
"""Verb to its one-line help, in the order of `butfor --help`. The command is `command` in `butfor.cli.<verb>`."""

EXIT_CODES = """\
Exit codes: 0 done; 1 a check failed; 2 unusable input; 3 the question cannot be answered from this run;
130 interrupted (finished rollouts are kept); 141 the reader of the output went away."""


class BrokenPipe(Exception):
    """Carries a broken pipe past click, which takes any of them for the end of our output and exits with 1."""

    def __init__(self, error: BrokenPipeError) -> None:
        self.error = error
        super().__init__(str(error))


@contextmanager
def past_click() -> Iterator[None]:
    """Wrap a broken pipe."""
    try:
        yield
    except BrokenPipeError as error:
        raise BrokenPipe(error) from error


class Verbs(click.Group):
    """Load a verb's module when it is asked for, so that `butfor --help` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the verbs in the order of VERBS."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb's command, or None for an unknown name (see `resolve_command`)."""
        del ctx
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"butfor.cli.{module_of(cmd_name)}")
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; a misspelt one is answered with the nearest."""
        near = difflib.get_close_matches(args[0], VERBS, n=1)
        if args[0] not in VERBS and near:
            ctx.fail(f"No such command {args[0]!r}. (Did you mean {near[0]!r}?)")
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse, which for `--help` prints."""
        with past_click():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        with past_click():
            return super().invoke(ctx)

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
        sys.exit(2)  # click would say 1 for a file that cannot be opened, which is our "a check failed"
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted; finished rollouts are kept", err=True)
        sys.exit(130)
    except ReplayError as error:
        click.echo(f"butfor: {error}", err=True)
        sys.exit(3)
    except ButforError as error:
        click.echo(f"butfor: {error}", err=True)
        sys.exit(2)
    except BrokenPipe as broken:
        if not output_is_gone():
            raise broken.error from None
        sys.exit(141)
    sys.exit(result if isinstance(result, int) else 0)


def output_is_gone() -> bool:
    """Say whether nobody reads our output any more, as in `butfor runs | head`; what is left of it is dropped."""
    try:
        # Only writing tells; a flush after one that failed has nothing to write.
        click.echo()
    except BrokenPipeError:
        # Otherwise the rest would be flushed at exit, and complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False
