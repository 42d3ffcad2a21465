"""The methods by name: what `butfor attribute --method` chooses from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from butfor.attribution.case import Question, open_case
from butfor.attribution.drive import Attribution, drive_method
from butfor.attribution.margins import Margins
from butfor.attribution.profile import ProfileSampler
from butfor.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from butfor.attribution.bill import Quote
    from butfor.attribution.sampling import Sampler
    from butfor.store import Storage

METHODS = ("profile",)


def attribute_run(
    run_id: str,
    *,
    store: Storage,
    method: str = "profile",
    draws: int = 64,
    margins: Margins | None = None,
    question: Question | None = None,
    announce: Callable[[Quote], None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Attribution:
    """Say which step of a recorded run caused its outcome.

    Args:
        run_id: The run, or the beginning of its id.
        store: Where the run is; rollouts and the answer are stored there.
        method: One of `METHODS`.
        draws: Rollouts of each arm (`profile`).
        margins: Error level and margins; the defaults of the design.
        question: Agent, outcome, tools and budget, where they differ from what was recorded.
        announce: Told the price before anything is spent.
        progress: Called after each rollout with (finished, asked for).

    Raises:
        NotFound: No such run or method.
        InputError: The run does not hold what the method needs; the message names it.
        AgentError: The agent cannot be imported.
        ReplayDivergence: An untouched replay differs from the recording.
        OutcomeError: The outcome function failed.
    """
    if method not in METHODS:
        raise NotFound(f"there is no method {method!r}", fix=f"choose one of {', '.join(METHODS)}")
    case = open_case(run_id, store=store, question=question or Question(), progress=progress)
    chosen = margins or Margins()
    sampler: Sampler[Any] = ProfileSampler(
        steps=len(case.journal.steps), factual=case.factual, draws=draws, margins=chosen
    )
    return drive_method(case, sampler, method=method, settings={"draws": draws, **chosen.to_json()}, announce=announce)
