"""What goes wrong where: causal steps of many runs in groups, with names, examples and how far to trust them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from butfor.repairs.skills import density
from butfor.repairs.skills.terms import distances, terms_of, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from butfor.repairs.skills.causal import CausalStep

EXAMPLES = 3
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Skill:
    """A group of causal steps.

    Attributes:
        name: What they do, what mends them, and the words that set them apart.
        members: Positions of its steps in `Skills.steps`, the most typical first.
        stability: Mean overlap with itself when a fifth of the steps is left out.
        runs: How many runs it is seen in.
        mended: How many of its steps have a validated repair.
        where: Relative position in the run (0 the first step, 1 the last): smallest, median, largest.
    """

    name: str
    members: tuple[int, ...]
    stability: float
    runs: int
    mended: int
    where: tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Skills:
    """The groups, and what is in none.

    Attributes:
        steps: Every causal step.
        skills: The largest first.
        unclustered: Positions of the steps in no group.
        agreement: Share of pairs that stay together when a fifth is left out.
        settings: Radius, least size, seed, subsamples.
    """

    steps: tuple[CausalStep, ...]
    skills: tuple[Skill, ...]
    unclustered: tuple[int, ...]
    agreement: float
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def share_unclustered(self) -> float:
        """Share of the steps that are in no group."""
        return len(self.unclustered) / len(self.steps)

    @property
    def sentence(self) -> str:
        """The grouping in words."""
        runs = len({each.run_id for each in self.steps})
        return (
            f"{len(self.steps)} causal steps of {runs} runs: groups {len(self.skills)}, "
            f"{self.share_unclustered:.0%} of the steps in none; {self.agreement:.0%} of the pairs stay together when "
            "a fifth is left out."
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "sentence": self.sentence,
            "steps": len(self.steps),
            "skills": [
                {
                    "name": each.name,
                    "size": len(each.members),
                    "runs": each.runs,
                    "mended": each.mended,
                    "stability": each.stability,
                    "where": list(each.where),
                    "examples": [self._example(i) for i in each.members[:EXAMPLES]],
                    "members": [[self.steps[i].run_id, self.steps[i].step] for i in each.members],
                }
                for each in self.skills
            ],
            "unclustered": {
                "share": self.share_unclustered,
                "members": [[self.steps[i].run_id, self.steps[i].step] for i in self.unclustered],
            },
            "agreement": self.agreement,
            "settings": dict(self.settings),
        }

    def _example(self, position: int) -> dict[str, Any]:
        step = self.steps[position]
        return {
            "run_id": step.run_id,
            "step": step.step,
            "action": step.action,
            "repaired": None if step.repair is None else step.repair.repaired,
        }


def skills_of(
    steps: Sequence[CausalStep], *, radius: float = density.RADIUS, least: int = density.LEAST, seed: int = 0
) -> Skills:
    """Group causal steps by what they do and what they saw.

    Deterministic: the same steps give the same groups, in whatever order they come.

    Args:
        steps: One or more.
        radius: Cosine distance below which two steps are near.
        least: How many near steps make a group.
        seed: Of the subsamples that show how stable the groups are.
    """
    ordered = tuple(sorted(steps, key=lambda each: (each.run_id, each.step)))
    documents = [terms_of(each) for each in ordered]
    apart = distances(documents)
    labels = density.cluster(apart, radius=radius, least=least)
    stable = density.stability(apart, labels, radius=radius, least=least, seed=seed)
    groups: dict[int, list[int]] = {}
    for i, label in enumerate(labels):
        groups.setdefault(label, []).append(i)
    made = [
        _skill(ordered, sorted(members, key=lambda i: (float(apart[i, members].sum()), i)), stable.groups[label])
        for label, members in groups.items()
        if label >= 0
    ]
    return Skills(
        steps=ordered,
        skills=tuple(sorted(made, key=lambda each: (-len(each.members), each.name))),
        unclustered=tuple(groups.get(-1, ())),
        agreement=stable.agreement,
        settings={"radius": radius, "least": least, "seed": seed, "subsamples": stable.subsamples},
    )


def _skill(steps: tuple[CausalStep, ...], members: list[int], stable: float) -> Skill:
    own = [steps[i] for i in members]
    places = sorted(each.step / max(1, each.steps - 1) for each in own)
    return Skill(
        name=_name(steps, own),
        members=tuple(members),
        stability=stable,
        runs=len({each.run_id for each in own}),
        mended=sum(each.repair is not None for each in own),
        where=(places[0], places[len(places) // 2], places[-1]),
    )


def _name(steps: tuple[CausalStep, ...], own: list[CausalStep]) -> str:
    """Name a group: what is done, what should be, and the words that are commoner in it than elsewhere."""
    does = _commonest(each.does for each in own)
    mended = [each.repaired_by for each in own if each.repaired_by is not None]
    said = f"{does} where {_commonest(mended)} mends it" if mended else does
    inside = Counter(word for each in own for word in set(words_of(f"{each.action} {each.seen}")))
    overall = Counter(word for each in steps for word in set(words_of(f"{each.action} {each.seen}")))
    known = set(words_of(said))
    ranked = sorted(
        (word for word, count in inside.items() if 2 * count > len(own) and word not in known),
        key=lambda word: (-(inside[word] / len(own)) * (1.0 - overall[word] / (len(steps) + 1)), word),
    )
    return f"{said} ({', '.join(ranked[:_NAMED])})" if ranked else said


def _commonest(words: Any) -> str:
    counts = Counter(words)
    return str(min(counts, key=lambda word: (-counts[word], word)))
