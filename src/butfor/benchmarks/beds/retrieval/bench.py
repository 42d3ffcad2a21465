"""`butfor bench retrieval`: repairs of search runs, audited against exact success probabilities."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from butfor.benchmarks.beds.baselines import asker, self_refine, self_reflection
from butfor.benchmarks.beds.baselines import direct as asked_directly
from butfor.benchmarks.beds.retrieval import files
from butfor.benchmarks.beds.retrieval.agent import Agent, direct
from butfor.benchmarks.beds.retrieval.corpus import Corpus, plant
from butfor.benchmarks.beds.retrieval.repairing import Choice, Searched, repair
from butfor.benchmarks.beds.shares import NOT_RUN, Share, mean, share
from butfor.benchmarks.harness import Check, Report, Settings
from butfor.confidence import Estimate
from butfor.noise import generator
from butfor.repairs import Standard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.confidence import Interval

COMPANIES, QUICK = 400, 100
SUPPLIED = ("sealqa", "medbrowsecomp", "questions")
PUBLISHED = {
    "direct": "SealQA Hard 42.5%, MedBrowseComp 30.8%",
    "CausalFlow rule, K = 3": "55.1%, 61.6%; repairs 21.9%, 44.5% of failures",
    "Self-Refine": "37.4%, 33.5%",
    "Self-Reflection": "37.0%, 31.4%",
}
_NOTES = [
    (
        "π is a table: three queries of .6/.25/.15 and .65/.2/.15, the pages found read with .85/.1/.05; so"
        " P(success) under any"
        " intervention is computed exactly, and each accepted repair is audited against it"
    ),
    "'holds on a fresh run' runs the accepted repair once more with new draws; a repair that was luck fails there",
    "published figures are of agents with a live search (arXiv 2605.25338): beside ours, not comparable",
]


def run(settings: Settings) -> Report:
    """Run the planted corpus, and the files that a user supplies where a model is given."""
    companies = settings.count("companies", QUICK if settings.quick else COMPANIES)
    corpus = plant(companies, settings.seed)
    standard = Standard()
    started = time.perf_counter()
    right, failed = [], []
    for number, question in enumerate(corpus.questions):
        agent = Agent(corpus=corpus, question=question)
        actions, good = agent.play([], generator(settings.seed, "factual", number))
        right.append(good)
        if not good:
            failed.append(repair(agent, tuple(actions), key=str(number), standard=standard, seed=settings.seed))
    seconds = time.perf_counter() - started
    shown = {
        "seed": settings.seed,
        "questions": len(corpus.questions),
        "pages": len(corpus.pages),
        "target": standard.target,
        "α": standard.alpha,
        "draws": f"at most {standard.most} an arm",
    }
    rows = _rows(corpus, right, failed, settings.seed)
    supplied = [row for name in SUPPLIED if name in settings.options for row in _supplied(name, settings)]
    notes = [*_NOTES, *_planted_notes(failed, seconds)]
    notes += (
        [] if supplied else [f"no file was supplied: --set {'|'.join(SUPPLIED)}=FILE with --set model=module:function"]
    )
    return Report(
        name="retrieval", settings=shown, rows=[*rows, *supplied], checks=_checks(failed, settings.seed), notes=notes
    )


def _rows(corpus: Corpus, right: Sequence[bool], failed: Sequence[Searched], seed: int) -> list[dict[str, Any]]:
    ours = [each.ours[0] if each.ours else None for each in failed]
    published = [each.published for each in failed]
    retried = [_retries(each, number, seed) for number, each in enumerate(failed)]
    good = sum(right)
    return [
        _row("direct", accuracy=share([direct(corpus, question) for question in corpus.questions])),
        _row("structured", accuracy=share(list(right))),
        _row(
            "blind retry, 3 tries, verifier told",
            accuracy=Share(hits=good + sum(retried), n=len(right)),
            rate=share(retried),
            extra="12",
        ),
        _method("CausalFlow rule, K = 3", failed, published, good, seed, extra=mean([9.0 for _ in failed])),
        _method("repaired (ours)", failed, ours, good, seed, extra=mean([each.rollouts for each in failed])),
        _row("Self-Refine"),
        _row("Self-Reflection"),
    ]


def _method(
    name: str, failed: Sequence[Searched], chosen: Sequence[Choice | None], good: int, seed: int, *, extra: str
) -> dict[str, Any]:
    taken = [each for each in chosen if each is not None]
    held = _held(failed, chosen, seed)
    return _row(
        name,
        accuracy=Share(hits=good + held.hits, n=good + len(failed)),
        rate=share([each is not None for each in chosen]),
        holds=held,
        luck=share([each.is_luck for each in taken]),
        minimality=mean([each.positional for each in taken]),
        paths=mean([each.distance for each in taken]),
        extra=extra,
    )


def _held(failed: Sequence[Searched], chosen: Sequence[Choice | None], seed: int) -> Share:
    """Run every repair once more, on draws that nothing else has seen."""
    pairs = [(number, each, choice) for number, (each, choice) in enumerate(zip(failed, chosen, strict=True)) if choice]
    return share([_fresh(each, choice, number, seed) for number, each, choice in pairs])


def _fresh(each: Searched, choice: Choice, number: int, seed: int) -> bool:
    source = generator(seed, "fresh", number, choice.step)
    return each.agent.play([*each.actions[: choice.step], choice.action], source)[1]


def _retries(each: Searched, number: int, seed: int) -> bool:
    return any(each.agent.play([], generator(seed, "retry", number, draw))[1] for draw in range(3))


def _supplied(name: str, settings: Settings) -> list[dict[str, Any]]:
    """Ask a model the questions of a file, by each of the baselines."""
    titles = ("direct", "Self-Refine", "Self-Reflection")
    if "model" not in settings.options:
        return [_row(f"{title} on {name}") for title in titles]
    ask = asker(settings.options["model"])
    found: dict[str, list[bool]] = {title: [] for title in titles}
    for each in files.load(Path(settings.options[name]))[: settings.count("limit", 50)]:
        first = asked_directly(ask, each.question).text
        reflected = self_reflection(ask, each.question, first, partial(files.is_right, answer=each.answer))
        answers = (first, self_refine(ask, each.question, first).text, reflected.text)
        for title, text in zip(titles, answers, strict=True):
            found[title].append(files.is_right(text, each.answer))
    return [_row(f"{title} on {name}", accuracy=share(found[title]), published=PUBLISHED[title]) for title in titles]


def _row(
    method: str,
    *,
    accuracy: Share | None = None,
    rate: Share | None = None,
    holds: Share | None = None,
    luck: Share | None = None,
    minimality: str = "",
    paths: str = "",
    extra: str = "0",
    published: str | None = None,
) -> dict[str, Any]:
    return {
        "method": method,
        "accuracy": str(accuracy) if accuracy else NOT_RUN,
        "repair rate": str(rate) if rate else "",
        "holds on a fresh run": str(holds) if holds else "",
        "truly no better than deciding again": str(luck) if luck else "",
        "M (published)": minimality,
        "paths changed": paths,
        "extra rollouts a failure": extra,
        "published": published or PUBLISHED.get(method, ""),
    }


def _planted_notes(failed: Sequence[Searched], seconds: float) -> list[str]:
    steps = [each.ours[0].step for each in failed if each.ours]
    names = ("query 1", "read 1", "query 2", "read 2")
    at = ", ".join(f"{name} {steps.count(step)}" for step, name in enumerate(names))
    return [
        (
            f"{len(failed)} failed runs; fixed by one step {share([each.ours is not None for each in failed])}"
            f" ({at}); no valid"
            f" proposal {share([each.ours is None for each in failed])}"
        ),
        (
            f"the step with the largest estimated blame is the one with the largest true blame in"
            f" {share([each.located == each.decisive for each in failed])}"
        ),
        (
            f"{sum(each.proposals for each in failed)} hypotheses, {sum(each.rollouts for each in failed)} rollouts,"
            f" {seconds:.1f} s"
        ),
    ]


def _holds(interval: Interval, value: float) -> bool:
    return isinstance(interval, Estimate) and interval.lower - 1e-9 <= value <= interval.upper + 1e-9


def _checks(failed: Sequence[Searched], seed: int) -> list[Check]:
    ours = [each.ours for each in failed if each.ours]
    false = sum(choice.is_luck or choice.success < verdict.target for choice, verdict in ours)
    outside = sum(
        not (_holds(verdict.success, choice.success) and _holds(verdict.null, choice.null)) for choice, verdict in ours
    )
    allowed = 0.05 * len(failed)
    held = _held(failed, [each.ours[0] if each.ours else None for each in failed], seed)
    theirs = _held(failed, [each.published for each in failed], seed)
    return [
        Check(
            name=f"failures with an accepted repair that is truly none (of {len(failed)}; α allows) ≤",
            value=false,
            bound=allowed,
            ok=false <= allowed,
        ),
        Check(
            name=f"accepted repairs whose bounds miss the exact value (of {len(ours)}; α allows) ≤",
            value=outside,
            bound=allowed,
            ok=outside <= allowed,
        ),
        Check(
            name="share of accepted repairs that hold on a fresh run, above the published rule's >",
            value=held.value,
            bound=theirs.value,
            ok=held.value > theirs.value,
        ),
    ]
