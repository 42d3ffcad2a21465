"""Write pairs as training files, with what was shown about each of them beside."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from butfor import canonical
from butfor.errors import InputError, system_reason
from butfor.repairs.pairs.formats import rows_of
from butfor.repairs.pairs.schema import problems_of
from butfor.repairs.pairs.shortcut import Audit, audit
from butfor.repairs.pairs.split import Split, counts_of, split_of, tasks_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from butfor.repairs.pairs.derive import Derived
    from butfor.repairs.pairs.formats import Format, Row
    from butfor.repairs.pairs.pair import Pair

SIDECAR, MANIFEST = "provenance.jsonl", "export.json"
FILES = ("train.jsonl", "test.jsonl", SIDECAR, MANIFEST)


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What was written.

    Attributes:
        format: Of the rows.
        repairs: How many stored repairs were looked at.
        splits: Pairs, tasks and rows of each split.
        dropped: Reason to count.
        contradictions: How many answers are chosen in one pair and rejected in another.
        shortcut: Whether length or formatting alone tell chosen from rejected.
        files: Name to the digest of its content.
        seed: Of the split.
        test: Share of the tasks that were to go to test.
    """

    format: Format
    repairs: int
    splits: dict[Split, dict[str, int]]
    dropped: dict[str, int]
    contradictions: int
    shortcut: Audit
    files: dict[str, str] = field(default_factory=dict)
    seed: int = 0
    test: float = 0.0

    @property
    def pairs(self) -> int:
        """How many pairs were written."""
        return sum(each["pairs"] for each in self.splits.values())

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "format": self.format,
            "repairs": self.repairs,
            "pairs": self.pairs,
            "splits": {name: dict(counts) for name, counts in self.splits.items()},
            "dropped": dict(self.dropped),
            "contradictions": self.contradictions,
            "shortcut": self.shortcut.to_json(),
            "split": {"by": "task", "seed": self.seed, "test": self.test},
            "files": dict(self.files),
        }


def export_pairs(derived: Derived, *, name: Format, out: Path, test: float = 0.1, seed: int = 0) -> Exported:
    """Write the pairs to a folder: a file a split, a sidecar with a line a row, and a manifest.

    The same repairs give the same bytes. An empty split has no file.

    Args:
        derived: The pairs, and what was left out.
        name: The format.
        out: The folder; it is made where it does not exist.
        test: Share of the tasks that go to test.
        seed: Of the split.

    Raises:
        InputError: There is no pair to write, or the folder holds an export already.
    """
    fitting, unfit = _fitting(derived.checked().pairs, name)
    dropped = derived.dropped + unfit
    if not fitting:
        raise InputError(f"none of {len(derived.pairs)} pairs can be written as {name} ({', '.join(dropped)})")
    there = [each for each in FILES if (out / each).exists()]
    if there:
        raise InputError(
            f"the folder holds {there[0]} already", where=str(out), fix="give another --out, or remove it first"
        )
    tasks = tasks_of(fitting)
    splits = split_of(tasks, test=test, seed=seed)
    side = {id(pair): (task, split) for pair, task, split in zip(fitting, tasks, splits, strict=True)}
    texts, written = _texts(fitting, name, side), counts_of(tasks, splits)
    for split, counts in written.items():
        counts["rows"] = texts[f"{split}.jsonl"].count("\n")
    exported = Exported(
        format=name,
        repairs=derived.repairs,
        splits=written,
        dropped=dict(dropped),
        contradictions=len(derived.contradictions),
        shortcut=audit([(task, each.chosen, each.rejected) for task, each in zip(tasks, fitting, strict=True)]),
        files={file: canonical.digest_text(text) for file, text in texts.items()},
        seed=seed,
        test=test,
    )
    texts[MANIFEST] = json.dumps(exported.to_json(), indent=2, ensure_ascii=False) + "\n"
    _write(out, texts)
    return exported


def _fitting(pairs: Iterable[Pair], name: Format) -> tuple[list[Pair], Counter[str]]:
    """Keep the pairs whose rows pass the check of their format."""
    kept: list[Pair] = []
    dropped: Counter[str] = Counter()
    for pair in pairs:
        problems = [problem for _, row in rows_of([pair], name) for problem in problems_of(row, name)]
        if problems:
            dropped[f"not writable as {name}: {problems[0].field}: {problems[0].what}"] += 1
        else:
            kept.append(pair)
    return kept, dropped


def _texts(pairs: list[Pair], name: Format, side: dict[int, tuple[str, Split]]) -> dict[str, str]:
    lines: dict[str, list[str]] = {}
    told: list[str] = []
    for pair, row in rows_of(pairs, name):
        task, split = side[id(pair)]
        file = lines.setdefault(f"{split}.jsonl", [])
        file.append(_line(row))
        told.append(_line(_provenance(pair, row, task=task, file=f"{split}.jsonl", line=len(file))))
    return {file: "\n".join(rows) + "\n" for file, rows in sorted(lines.items())} | {SIDECAR: "\n".join(told) + "\n"}


def _provenance(pair: Pair, row: Row, *, task: str, file: str, line: int) -> Row:
    repair = pair.repair
    assert repair.verdict is not None  # only validated repairs become pairs
    shown = repair.verdict.to_json()
    return {
        "file": file,
        "line": line,
        "row": canonical.digest_text(_line(row)),
        "prompt": pair.prompt.digest,
        "task": task,
        "run_id": repair.run_id,
        "run": pair.run_digest,
        "step": repair.step,
        "result_id": pair.result_id,
        "outcome": repair.outcome,
        "source": repair.proposal.source,
        "origin": dict(repair.proposal.origin),
        "success": shown["success"],
        "null": shown["null"],
        "lift": shown["lift"],
        "hypothesis": repair.verdict.hypothesis,
        "level": repair.verdict.level,
        "edit": repair.edit.to_json(),
        "minimality": repair.minimality,
    } | ({"label": row["label"]} if "label" in row else {})


def _line(value: Row) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write(out: Path, texts: dict[str, str]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (out / file).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"the export cannot be written ({system_reason(error)})", where=str(out)) from None
