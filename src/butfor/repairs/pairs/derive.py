"""From stored repairs to pairs: what may be learnt from, and why the rest may not."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from butfor import canonical
from butfor.errors import InputError
from butfor.repairs.pairs.messages import NotWritable, answer_message, prompt_of
from butfor.repairs.pairs.pair import Pair
from butfor.repairs.pairs.sieve import sieve
from butfor.repairs.result import Repair
from butfor.repairs.stored import REPAIR
from butfor.runs import to_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from butfor.runs import Run
    from butfor.store import ResultRecord, Storage


@dataclass(kw_only=True)
class Derived:
    """The pairs that stored repairs give.

    Attributes:
        pairs: In the order of the runs, then of the repairs.
        repairs: How many repairs were looked at.
        dropped: Reason to count.
        contradictions: Prompt digest and answer of each one that is chosen in one pair and rejected in another.
    """

    pairs: list[Pair] = field(default_factory=list)
    repairs: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    contradictions: list[tuple[str, str]] = field(default_factory=list)

    def checked(self) -> Derived:
        """Return itself, where there is a pair.

        Raises:
            InputError: There is none.
        """
        if self.pairs:
            return self
        if not self.repairs:
            raise InputError(
                "no pair can be derived: no repair is stored", fix="run butfor repair RUN (or --all failed) first"
            )
        why = ", ".join(f"{count} × {reason}" for reason, count in self.dropped.most_common())
        raise InputError(
            f"no honest pair can be derived from {self.repairs} stored repair{'s' * (self.repairs > 1)} ({why})",
            fix="validate repairs with butfor repair, and withhold what only the verifier knows from proposers",
        )


def derive_pairs(store: Storage, run_ids: Iterable[str]) -> Derived:
    """Derive the pairs of many runs.

    Only repairs that rollouts have shown count: none that a model predicts, none that contains what only the verifier
    knows.

    Args:
        store: Where the runs and their repairs are.
        run_ids: Whole ids, in the order of the answer.
    """
    derived, found = Derived(), list[Pair]()
    for run_id in run_ids:
        records = [each for each in store.list_results(run_id) if each.kind == REPAIR]
        if not records:
            continue
        run = store.load_run(run_id)
        digest = canonical.digest_text(to_text(run))
        for record in records:
            derived.repairs += 1
            try:
                found.append(_pair(run, digest, record))
            except NotWritable as why:
                derived.dropped[str(why)] += 1
    sieved = sieve(found)
    derived.pairs, derived.contradictions = sieved.kept, sieved.contradictions
    derived.dropped += sieved.dropped
    return derived


def _pair(run: Run, digest: str, record: ResultRecord) -> Pair:
    repair = Repair.from_json(canonical.decode(record.body))
    _may_be_learnt(repair)
    pair = Pair(
        prompt=prompt_of(run.request(repair.step)),
        chosen=answer_message(repair.repaired, step=repair.step),
        rejected=answer_message(repair.factual, step=repair.step),
        repair=repair,
        result_id=record.result_id,
        task=canonical.digest(run.task.get()),
        run_digest=digest,
    )
    try:
        json.dumps([list(pair.prompt.messages), pair.chosen, pair.rejected], ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise NotWritable("it holds text that UTF-8 cannot write") from None
    return pair


def _may_be_learnt(repair: Repair) -> None:
    """Refuse what `Repair.exportable` refuses, and say which of its reasons it was."""
    if repair.kind != "validated" or repair.verdict is None:
        raise NotWritable("predicted, not validated")
    if repair.proposal.leaks:
        raise NotWritable("it contains what only the verifier knows")
    if not repair.exportable:
        raise NotWritable("not accepted")
