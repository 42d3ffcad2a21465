"""The help pages of the command line as one page of the docs: `python -m butfor.cli.help_pages > docs/cli.md`."""

from __future__ import annotations

import sys

import click

from butfor.cli.main import VERBS, cli

WIDTH = 100


def pages() -> str:
    """Return `butfor --help` and every verb's help, as Markdown."""
    parts = [
        "# The command line\n\nEvery verb's `--help`, as it is printed. Made by `make docs`.\n",
        _page("butfor", cli),
    ]
    top = click.Context(cli, info_name="butfor")
    for verb in VERBS:
        command = cli.get_command(top, verb)
        assert command is not None  # VERBS names nothing else
        parts.append(_page(f"butfor {verb}", command))
    return "\n".join(parts)


def _page(name: str, command: click.Command) -> str:
    sections = [_section(name, command)]
    if isinstance(command, click.Group) and command is not cli:
        context = click.Context(command, info_name=name)
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            assert inner is not None
            sections.append(_page(f"{name} {each}", inner))
    return "\n".join(sections)


def _section(name: str, command: click.Command) -> str:
    # The width of a reader's terminal is no part of the docs.
    context = click.Context(
        command,
        info_name=name,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return f"## `{name}`\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(pages())
