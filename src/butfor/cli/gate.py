"""`butfor gate`: decide about a tool call before it runs, and keep the record."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

SUBVERBS: dict[str, tuple[str, str]] = {
    "init": ("butfor.cli.gate_init", "write a commented policy to start from"),
    "lint": ("butfor.cli.gate_lint", "explain every mistake of a policy with line and column"),
    "sign": ("butfor.cli.gate_sign", "sign a policy, as an approver"),
    "decide": ("butfor.cli.gate_decide", "decide about one tool call"),
    "resolve": ("butfor.cli.gate_resolve", "decide again on the rows of a trial"),
    "export": ("butfor.cli.gate_export", "write one file for an auditor who does not have the store"),
    "keys": ("butfor.cli.gate_keys", "make, list, rotate and revoke the keys that sign"),
    "log": ("butfor.cli.gate_log", "list every decision and what became of it; sign where the ledger stands"),
    "verify-log": ("butfor.cli.gate_verify_log", "say whether the ledger was changed, or its end is missing"),
    "outcome": ("butfor.cli.gate_outcome", "tell what became of a decision"),
    "calibration": ("butfor.cli.gate_calibration", "hold promises against outcomes"),
    "rows": ("butfor.cli.gate_rows", "make evidence of decisions whose outcome is known"),
    "budget": ("butfor.cli.gate_budget", "show what is left of the error budget, or begin a new epoch"),
    "approve": ("butfor.cli.gate_approve", "allow one exact call, where a policy demands approval"),
    "bypass": ("butfor.cli.gate_bypass", "let one exact call run whatever the gate says"),
}
"""Subverb to the module that holds its `command`, and its one-line help, in the order of `butfor gate --help`."""


class Subverbs(click.Group):
    """Load a subverb's module when it is asked for."""

    subverbs: Mapping[str, tuple[str, str]] = SUBVERBS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the subverbs in the order of SUBVERBS."""
        del ctx
        return list(self.subverbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subverb's command, or None for an unknown name (click then suggests)."""
        del ctx
        if cmd_name not in self.subverbs:
            return None
        command = importlib.import_module(self.subverbs[cmd_name][0]).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the subverbs without importing them."""
        del ctx
        rows = [(name, words) for name, (_, words) in self.subverbs.items()]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


@click.group("gate", cls=Subverbs)
def command() -> None:
    """Decide about a tool call before it runs: EXECUTE, REJECT, EXPERIMENT or ABSTAIN, each with a certificate."""
