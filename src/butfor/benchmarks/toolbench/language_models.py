"""Three verifiers that ask a language model: terse, with self-verification, with a chain of thought.

The model is any callable from prompt to text, given as ``module:function`` and asked through the model boundary, so a
run of it can be recorded and replayed. The prompts are ours: the paper's are not published.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from butfor.benchmarks.toolbench.cases import Ruling
from butfor.benchmarks.toolbench.published_rule import ALPHA, TAU_U
from butfor.benchmarks.toolbench.regression import effect_of, lower
from butfor.replay.boundaries import model
from butfor.replay.plan import import_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from butfor.benchmarks.toolbench.cases import Case, Method, Verdict

STYLES = ("terse", "self-verification", "chain of thought")
VERDICTS: tuple[Verdict, ...] = ("EXECUTE", "REJECT", "EXPERIMENT", "ABSTAIN")
_VERDICT = re.compile(r"\b(EXECUTE|REJECT|EXPERIMENT|ABSTAIN)\b")


def language_models(names: str) -> Mapping[str, Method]:
    """Make three verifiers of each named model.

    Args:
        names: ``module:function``, several separated by commas; each takes a prompt and returns text.

    Raises:
        NotFound: There is no such module or function.
    """
    asked = [name for name in names.split(",") if name]
    methods: dict[str, Method] = {}
    for name in asked:
        ask = model(import_by_name(name, what="the model"), name=name)
        methods |= {f"LLM, {style} ({name})": _method(ask, style) for style in STYLES}
    return methods


def _method(ask: Callable[[str], str], style: str) -> Method:
    def rule(case: Case) -> Ruling:
        question = described(case)
        if style == "chain of thought":
            answer = ask(f"{question}\nThink step by step about what could confound the log. {_ENDING}")
        else:
            answer = ask(f"{question}\nAnswer with one word. {_ENDING}")
        if style == "self-verification":
            answer = ask(
                f"{question}\nYou answered: {answer.strip()}\nCheck that answer against the graph and the log, and "
                f"correct it if it is wrong. {_ENDING}"
            )
        return ruled(case, answer)

    return rule


_ENDING = "End with exactly one of EXECUTE, REJECT, EXPERIMENT, ABSTAIN."


def described(case: Case) -> str:
    """Write what a model is told: the call, the graph, and what the log shows; never the truth."""
    one, family = case.instance, case.instance.family
    t, y = case.log[family.treatment], case.log[family.outcome]
    arms = ", ".join(
        f"{int((t == arm).sum())} rows with {family.treatment} = {arm:g}: mean {family.outcome} "
        f"{y[t == arm].mean():.2f}, standard deviation {y[t == arm].std():.2f}"
        for arm in (1.0, 0.0)
    )
    edges = [f"{tail} -> {head}" for tail, head in case.graph.directed]
    edges += [f"{one_end} <-> {other} (hidden common cause)" for one_end, other in case.graph.bidirected]
    return (
        f"An agent proposes {family.tool}({dict(one.arguments)}). It should run only if it raises {family.outcome}.\n"
        f"Cost {one.cost:.2f} of at most 0.5; it can{'' if one.reversible else 'not'} be undone.\n"
        f"Causal graph: {'; '.join(edges)}.\nOperators' log: {arms}.\n"
        "EXECUTE runs it, REJECT refuses it, EXPERIMENT runs a randomised trial first, ABSTAIN does nothing."
    )


def ruled(case: Case, answer: str) -> Ruling:
    """Read the last verdict of an answer; an answer without one, or a trial of what cannot be undone, is ABSTAIN."""
    found = _VERDICT.findall(answer)
    verdict: Verdict = next((each for each in VERDICTS if found and found[-1] == each), "ABSTAIN")
    if verdict == "EXPERIMENT":
        if not case.instance.reversible:
            return Ruling(verdict="ABSTAIN", executed=False, reason="a trial of what cannot be undone")
        family = case.instance.family
        passed = lower(effect_of(case.trial, family.treatment, family.outcome), ALPHA) > TAU_U
        return Ruling(verdict="EXPERIMENT", executed=passed)
    return Ruling(verdict=verdict, executed=verdict == "EXECUTE", reason="" if found else "no verdict in the answer")
