"""Models with explicit latent variables, solved by enumeration: the truth that identification is held against.

Nothing here knows any identification theory. A model is drawn, its joint and its effects are summed out, and a hedge
is turned into two models that agree on everything observed and disagree on the effect.
"""

import itertools

import numpy as np

from butfor.graphs import Graph, bits
from butfor.graphs.parts import Edges

NAMES = "ABCDEF"


def graph_of(n, arrows, latent):
    """Build the graph on n nodes whose pairs (i < j) carry the bits of `arrows` and `latent`."""
    pairs = list(itertools.combinations(range(n), 2))
    directed = [(NAMES[i], NAMES[j]) for k, (i, j) in enumerate(pairs) if arrows >> k & 1]
    bidirected = [(NAMES[i], NAMES[j]) for k, (i, j) in enumerate(pairs) if latent >> k & 1]
    return Graph.of(nodes=NAMES[:n], directed=directed, bidirected=bidirected)


def all_graphs(n):
    """Yield every ADMG on n nodes up to the names of its nodes (each has one that follows the order of the names)."""
    size = n * (n - 1) // 2
    for arrows in range(1 << size):
        for latent in range(1 << size):
            yield graph_of(n, arrows, latent)


def random_graph(rng, n):
    """Draw an ADMG on n nodes: both densities are drawn first, so sparse and dense ones both occur."""
    size = n * (n - 1) // 2
    arrows, latent = rng.uniform(0.2, 0.8), rng.uniform(0.05, 0.6)
    draw = [sum(1 << k for k in range(size) if rng.random() < p) for p in (arrows, latent)]
    return graph_of(n, *draw)


def cliques(graph):
    """Cover the bidirected edges by cliques, each one latent variable: fewer latents, the same graph."""
    spouses = graph.edges.spouses
    left = {(i, j) for i in range(len(graph.names)) for j in bits(spouses[i]) if i < j}
    found = []
    while left:
        i, j = min(left)
        clique = {i, j}
        for k in range(len(graph.names)):
            if k not in clique and all(spouses[k] >> m & 1 for m in clique):
                clique.add(k)
        left -= set(itertools.combinations(sorted(clique), 2))
        found.append(sorted(clique))
    return found


def softmax(logits):
    weights = np.exp(logits)
    return weights / weights.sum(axis=-1, keepdims=True)


def perturbed(logits, chosen):
    """Repeat one model once a chosen parameter, with an imaginary step in that parameter."""
    count = sum(raw.size for raw in logits)
    flat = np.concatenate([raw.ravel() for raw in logits]) + 1e-30j * np.eye(count)[chosen]
    ends = np.cumsum([raw.size for raw in logits])[:-1]
    parts = np.split(flat, ends, axis=1)
    return [part.reshape(len(flat), *raw.shape[1:]) for part, raw in zip(parts, logits, strict=True)]


class LatentModel:
    """Several random models of a graph at once.

    Args:
        graph: The graph, without nodes of the role latent.
        rng: Source of every probability.
        models: How many.
        card: Number of values of each observed node.
        latent_card: Number of values of each latent variable.
        merged: Whether latent edges that form a clique share one latent variable.
    """

    def __init__(self, graph, rng, *, models=20, card=2, latent_card=2, merged=True):
        self.graph = graph
        self.n = len(graph.names)
        self.latents = cliques(graph) if merged else [sorted(map(graph.number, edge)) for edge in graph.bidirected]
        self.total = len(self.latents)
        axes = [[k] for k in range(self.total)]
        shapes = [[latent_card] for _ in self.latents]
        for i in range(self.n):
            mine = [k for k, clique in enumerate(self.latents) if i in clique]
            parents = list(bits(graph.edges.parents[i]))
            axes.append([*mine, *(self.total + p for p in parents), self.total + i])
            shapes.append([latent_card] * len(mine) + [card] * (len(parents) + 1))
        # Sharp tables: with flat ones every effect is close to zero and errors hide.
        self._axes = axes
        self.logits = [np.log(rng.gamma(0.5, size=(models, *shape)) + 0.02) for shape in shapes]
        self.groups = self._groups()
        self.set(self.logits)

    def set(self, logits):
        """Take other parameters."""
        self.models = len(logits[0])
        tables = [self._shape(softmax(raw), where) for raw, where in zip(logits, self._axes, strict=True)]
        self.priors, self.tables = tables[: self.total], tables[self.total :]
        self._kernels: dict[object, np.ndarray] = {}

    def _shape(self, table, axes):
        order = np.argsort(axes)
        table = np.transpose(table, (0, *(1 + order)))
        shape = [self.models] + [1] * (self.total + self.n)
        for axis, size in zip(np.array(axes)[order], table.shape[1:], strict=True):
            shape[1 + axis] = size
        return table.reshape(shape)

    def _groups(self):
        """Nodes that share latents, directly or through others."""
        groups: list[tuple[set[int], set[int]]] = [({i}, set()) for i in range(self.n)]
        for k, clique in enumerate(self.latents):
            joined = [g for g in groups if g[0] & set(clique)]
            rest = [g for g in groups if not g[0] & set(clique)]
            groups = [*rest, (set().union(*(g[0] for g in joined)), {k}.union(*(g[1] for g in joined)))]
        return groups

    def doing(self, treatments=()):
        """Return P(v without t | do(t)) of each model, shape (models, card, …): one axis a node, t's among them."""
        fixed = {self.graph.names.index(name) for name in treatments}
        whole = np.ones([1] * (1 + self.n))
        for nodes, latents in self.groups:
            key = (frozenset(nodes), frozenset(nodes & fixed))
            if key not in self._kernels:
                self._kernels[key] = self._kernel(nodes - fixed, latents)
            whole = whole * self._kernels[key]
        return whole

    def _kernel(self, nodes, latents):
        product = np.ones([1] * (1 + self.total + self.n))
        for factor in [*(self.priors[k] for k in latents), *(self.tables[i] for i in nodes)]:
            product = product * factor
        return product.sum(axis=tuple(range(1, 1 + self.total)))

    def effect(self, query):
        """Return P(outcomes | do(treatments), given) of each model, one axis a node, of length 1 if summed out."""
        whole = self.doing(query.treatments)
        keep = {*query.treatments, *query.outcomes, *query.given}
        rest = tuple(1 + i for i, name in enumerate(self.graph.names) if name not in keep)
        kept = whole.sum(axis=rest, keepdims=True)
        outcomes = tuple(1 + self.graph.names.index(name) for name in query.outcomes)
        return kept / kept.sum(axis=outcomes, keepdims=True) if query.given else kept


def spanning_forest(edges: Edges, start, within):
    """Return bidirected edges that join `within` to `start` (a bitset) without a circle."""
    found, seen, todo = [], start, list(bits(start))
    while todo:
        i = todo.pop()
        for j in bits(edges.spouses[i] & within & ~seen):
            found.append((i, j))
            seen |= 1 << j
            todo.append(j)
    return found


def next_towards(neighbours, goal, within):
    """Map each node of `within` that has a directed path to goal to the next node on a shortest one."""
    found, seen, layer = {}, goal, goal
    while layer:
        fresh = 0
        for i in bits(within & ~seen):
            ahead = neighbours[i] & layer
            if ahead:
                found[i] = (ahead & -ahead).bit_length() - 1
                fresh |= 1 << i
        seen |= fresh
        layer = fresh
    return found


def witness(graph, hedge, noise=0.1):
    """Build two models from a hedge without a stratum.

    Returns:
        (P1(v), P2(v), P1(v | do x), P2(v | do x)) as arrays with one axis a node.

    Each node of F is the parity of its parents in a forest and of fair coins that it shares along a bidirected tree; in
    the second model the nodes of F' see only what lies in F'. Observed, the roots' parity is even in both; under do(x)
    it is a fair coin in the first only. Roots are noisy, so everything is positive, and send their bit to the outcome.
    """
    edges, n = graph.edges, len(graph.names)
    outer, inner, roots = (graph.mask(s) for s in (hedge.outer, hedge.inner, hedge.roots))
    x, y = graph.mask(hedge.query.treatments), graph.mask(hedge.query.outcomes)
    inner_tree = spanning_forest(edges, inner & -inner, inner)
    tree = inner_tree + spanning_forest(edges, inner, outer)
    child = next_towards(edges.children, roots, inner)
    child |= {i: j for i, j in next_towards(edges.children, inner, outer).items() if i not in child}
    road = next_towards(edges.children, y, graph.all & ~x)
    sends = set()
    for i in bits(roots):
        while i in road and i not in sends:
            sends.add(i)
            i = road[i]
    ends = {road[i] for i in sends}
    second = [i in ends for i in range(n)]
    cards = [(2 if outer >> i & 1 else 1) * (2 if second[i] else 1) for i in range(n)]
    size = len(tree)
    grid = np.indices([2] * size + cards, sparse=True)
    coins, values = grid[:size], grid[size:]
    first_bit = [v % 2 if outer >> i & 1 else 0 * v for i, v in enumerate(values)]
    second_bit = [(v // 2 if outer >> i & 1 else v) if second[i] else 0 * v for i, v in enumerate(values)]

    def table(i, model):
        probability = 1.0
        if outer >> i & 1:
            expected = np.zeros((), dtype=int)
            for j, k in child.items():
                seen = model == 1 or not inner >> i & 1 or inner >> j & 1
                if k == i and seen:
                    expected = expected ^ first_bit[j]
            for e, (a, b) in enumerate(tree):
                if i in (a, b) and (model == 1 or not inner >> i & 1 or e < len(inner_tree)):
                    expected = expected ^ coins[e]
            agree = first_bit[i] == expected
            probability = np.where(agree, 1 - noise, noise) if roots >> i & 1 else agree * 1.0
        if second[i]:
            expected = np.zeros((), dtype=int)
            for j in sends:
                if road[j] == i:
                    expected = expected ^ (first_bit[j] if roots >> j & 1 else 0) ^ second_bit[j]
            probability = probability * np.where(second_bit[i] == expected, 1 - noise, noise)
        return probability

    def solve(model, fixed):
        whole = np.full([2] * size + cards, 0.5**size)
        for i in range(n):
            if not fixed >> i & 1:
                whole = whole * table(i, model)
        return whole.sum(axis=tuple(range(size)))

    return solve(1, 0), solve(2, 0), solve(1, x), solve(2, x)


def check_witness(graph, hedge):
    """Assert that a hedge's two models are what they should be; return how far their effects differ."""
    p1, p2, do1, do2 = witness(graph, hedge)
    assert p1.min() > 0
    assert abs(p1.sum() - 1) < 1e-12
    assert abs(p1 - p2).max() <= 1e-12
    keep = {*hedge.query.treatments, *hedge.query.outcomes}
    rest = tuple(i for i, name in enumerate(graph.names) if name not in keep)
    return float(abs(do1.sum(axis=rest) - do2.sum(axis=rest)).max())


def outside_row_space(graph, query, rng, *, latent_card=2, merged=True):
    """Return how much of the effect's gradient no observed probability explains, as a share of its length.

    At a generic model (here a random one) a share above rounding means that models with the same P(v) and another
    effect lie arbitrarily near: the effect is not identified. An identified effect has a share of zero. Derivatives are
    exact: a step of 1e-30 along the imaginary axis.
    """
    model = LatentModel(graph, rng, models=1, latent_card=latent_card, merged=merged)
    logits, count = model.logits, sum(raw.size for raw in model.logits)
    cells = 2 ** len(graph.names) * latent_card**model.total
    size = max(1, 2_000_000 // cells)
    observed, gradient = [], []
    for start in range(0, count, size):
        model.set(perturbed(logits, np.arange(start, min(start + size, count))))
        observed.append(model.doing().imag.reshape(model.models, -1) * 1e30)
        gradient.append(model.effect(query)[(slice(None), *(-1 for _ in graph.names))].imag * 1e30)
    jacobian, target = np.concatenate(observed), np.concatenate(gradient)
    solution = np.linalg.lstsq(jacobian, target, rcond=1e-10)[0]
    length = float(np.linalg.norm(target))
    return float(np.linalg.norm(target - jacobian @ solution)) / max(length, 1e-300)


RICHER = (
    {"latent_card": 2},
    {"latent_card": 3},
    {"latent_card": 4},
    {"latent_card": 2, "merged": False},
    {"latent_card": 3, "merged": False},
    {"latent_card": 8},
)
"""Ever richer latents. A latent with few values and three or more children can be recovered from them, so a small one
may show nothing; one rich enough always shows a non-identified effect."""


def is_shown_open(graph, query, rng):
    """Say whether some latent model shows that the effect is not identified."""
    return any(outside_row_space(graph, query, rng, **latents) > 1e-6 for latents in RICHER)
