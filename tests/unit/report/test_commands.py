"""Reproduction commands are the question that was asked, whatever it was."""

import shlex

import pytest

from butfor.attribution import Ask, Margins, Question
from butfor.cli.attribute import command
from butfor.cli.options import question_of
from butfor.replay import Budget, Prices, ToolPolicy
from butfor.report.commands import commands_again, only_from_python
from tests.unit.report.stories import run_of

QUESTION = Question(
    agent="shop:agent",
    outcome='tool_called("refund")',
    tools=ToolPolicy(allow_write=frozenset({"mail", "log it"}), live_reads_after_write=True),
    budget=Budget(
        rollouts=7, policy_calls=8, tokens=9, money=0.5, seconds=60.0, prices=Prices(prompt=1.0, completion=2.0)
    ),
    time_limit=1.5,
)
ASK = Ask(draws=33, margins=Margins(alpha=0.01, commit=0.2), max_help=0.03, rollouts=99, seed=5)
OWN = {
    "search": ["max_help"],
    "profile": ["draws"],
    "shapley": ["rollouts", "seed"],
    "shapley-published": ["rollouts", "seed"],
    "responsibility": ["draws"],
}


def again(method: str, ask: Ask, question: Question) -> tuple[str, ...]:
    settings = ask.to_json() | {"question": question.to_json()}
    return commands_again(run_of(1), {"method": method, "result_id": "r", "settings": settings})


@pytest.mark.parametrize("method", OWN)
def test_the_command_line_parses_to_what_was_asked(method):
    words = shlex.split(again(method, ASK, QUESTION)[0])
    assert words[:2] == ["butfor", "attribute"]
    parsed = command.make_context("attribute", words[2:]).params
    assert (parsed["run"], parsed["method"]) == ("run-1", method)
    assert (parsed["alpha"], parsed["margin"]) == (0.01, 0.2)
    assert {name: parsed[name] for name in OWN[method]} == {name: getattr(ASK, name) for name in OWN[method]}
    assert question_of(parsed).to_json() == QUESTION.to_json()


def test_proposals_are_piped_in():
    line = again("responsibility", Ask(proposals={2: ["it's", {"a": None}]}), Question())[0]
    written, _, rest = line.partition(" | ")
    assert shlex.split(written) == ["printf", "%s", '{"2": ["it\'s", {"a": null}]}']
    assert rest.endswith("--proposals -")


def test_what_the_command_line_cannot_say_is_named():
    assert only_from_python(Ask().to_json()) == {}
    odd = Ask(margins=Margins(tie=0.01)).to_json() | {"question": {"simulators": ["refund"]}}
    assert only_from_python(odd) == {"from Python only, tie": "0.01", "from Python only, simulators": '["refund"]'}


def test_the_report_shows_the_same_answer():
    assert again("profile", Ask(), Question())[1] == "butfor report run-1 --result r"
