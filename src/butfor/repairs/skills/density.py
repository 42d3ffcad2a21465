"""Groups by density, and whether they are still there when some steps are left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.csgraph import connected_components

from butfor import noise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

RADIUS = 0.6
LEAST = 3
SUBSAMPLES = 100
KEPT = 0.8


def cluster(apart: NDArray[np.float64], *, radius: float = RADIUS, least: int = LEAST) -> list[int]:
    """Group points that lie densely (DBSCAN); deterministic and independent of the order of the points.

    A point with `least` points within `radius`, itself included, is a core point; core points within `radius` of each
    other share a group. Another point joins the group of the nearest core point within `radius`, else it stays out.

    Guarantee: none about truth; heuristic.
    Reference: Ester, Kriegel, Sander and Xu 1996; border points go to the nearest core point, ties to the point that
        is nearest in sum, so that the order of the points decides nothing.

    Args:
        apart: n × n distances.
        radius: How near is near.
        least: How many make a group.

    Returns:
        A group's number from 0 a point, in the order of the groups' first points; −1 for a point in none.
    """
    near = apart <= radius
    core = near.sum(axis=1) >= least
    inside = np.flatnonzero(core)
    labels = np.full(len(apart), -1)
    if len(inside):
        labels[inside] = connected_components(near[np.ix_(inside, inside)], directed=False)[1]
    total = apart.sum(axis=1)
    for i in np.flatnonzero(~core & near[:, inside].any(axis=1)):
        reach = inside[near[i, inside]]
        labels[i] = labels[min(reach, key=lambda j: (apart[i, j], total[j]))]
    numbers = {label: n for n, label in enumerate(dict.fromkeys(each for each in labels.tolist() if each >= 0))}
    return [numbers.get(label, -1) for label in labels.tolist()]


@dataclass(frozen=True, kw_only=True)
class Stability:
    """How well groups survive when a fifth of the steps is left out.

    Attributes:
        groups: Mean Jaccard overlap of each group with the group most like it in a subsample: 1 unchanged; below about
            0.6 do not trust it, above 0.75 it is the data's (Hennig's reading).
        agreement: Share of pairs of steps, of those that are together in the whole or in the subsample, that are
            together in both; 1 where no two are together.
        subsamples: How many were drawn.
    """

    groups: tuple[float, ...]
    agreement: float
    subsamples: int


def stability(
    apart: NDArray[np.float64],
    labels: Sequence[int],
    *,
    radius: float = RADIUS,
    least: int = LEAST,
    seed: int = 0,
    subsamples: int = SUBSAMPLES,
) -> Stability:
    """Cluster subsamples of four fifths and compare.

    Estimand: E[overlap] over subsamples of these steps, not over new runs.
    Guarantee: heuristic.
    Reference: Hennig 2007, "Cluster-wise assessment of cluster stability".

    Args:
        apart: n × n distances.
        labels: The groups of the whole.
        radius: As in `cluster`.
        least: As in `cluster`.
        seed: Of the subsamples.
        subsamples: How many to draw.
    """
    whole, n = np.array(labels), len(labels)
    overlaps: list[list[float]] = [[] for _ in range(max(labels, default=-1) + 1)]
    agreements: list[float] = []
    for draw in range(subsamples):
        generator = noise.numpy_generator("skills subsample", seed, draw)
        kept = np.sort(generator.permutation(n)[: max(1, round(KEPT * n))])
        part = np.array(cluster(apart[np.ix_(kept, kept)], radius=radius, least=least))
        shared = _shared(whole[kept], part, groups=len(overlaps))
        sizes = np.bincount(whole[kept] + 1, minlength=len(overlaps) + 1)[1:]
        found = np.bincount(part + 1, minlength=shared.shape[1] + 1)[1:]
        for group in np.flatnonzero(sizes):
            either = sizes[group] + found - shared[group]
            overlaps[group].append(float((shared[group] / either).max(initial=0.0)))
        agreements.append(_agreement(sizes, found, shared))
    return Stability(
        groups=tuple(float(np.mean(each)) if each else 0.0 for each in overlaps),
        agreement=float(np.mean(agreements)),
        subsamples=subsamples,
    )


def _shared(before: NDArray[np.int_], part: NDArray[np.int_], *, groups: int) -> NDArray[np.int_]:
    """Count the points that are in one group of the whole and in one of the subsample."""
    counts = np.zeros((groups, int(part.max(initial=-1)) + 1), dtype=np.int_)
    both = (before >= 0) & (part >= 0)
    np.add.at(counts, (before[both], part[both]), 1)
    return counts


def _agreement(sizes: NDArray[np.int_], found: NDArray[np.int_], shared: NDArray[np.int_]) -> float:
    one, other, both = (int((each * (each - 1) // 2).sum()) for each in (sizes, found, shared))
    return both / (one + other - both) if one + other else 1.0
