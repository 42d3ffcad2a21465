"""Hypothesis strategies that several rooms share."""

import itertools
import unicodedata
from datetime import datetime

from hypothesis import strategies as st

from butfor import runs
from butfor.graphs import ROLES, Graph

text = st.text(st.characters(), max_size=20)  # lone surrogates included
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.integers(-(10**40), 10**40) | st.floats(allow_nan=True) | text
keys = text | st.sampled_from(["$float", "$int", "$bytes", "$tuple", "$map", "$esc"])
json_values = st.recursive(
    scalars,
    lambda children: st.lists(children, max_size=4) | st.dictionaries(keys, children, max_size=4),
    max_leaves=20,
)
values = json_values.map(runs.Value.of)

texts = st.builds(runs.Text, kind=st.sampled_from(runs.PartKind), content=values)
tool_calls = st.builds(runs.ToolCall, call_id=names, name=names, arguments=values, extra=values)
observations = st.builds(runs.Observation, call_id=st.none() | names, content=values, is_error=st.booleans())
parts = st.lists(texts | tool_calls | observations, max_size=5).map(tuple)
samplings = st.builds(
    runs.Sampling,
    model=st.none() | names,
    temperature=st.none() | st.floats(0, 2),
    seed=st.none() | st.integers(0, 2**31),
)
grades = st.builds(
    runs.Grade, level=st.sampled_from(runs.Replayability), missing=st.lists(names, max_size=2).map(tuple)
)
moments = st.none() | st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.timezones())


@st.composite
def recorded_runs(draw: st.DrawFn) -> runs.Run:
    """Runs with parallel calls, several agents, shared request prefixes, or no step at all."""
    chain = runs.RequestChain()
    history = draw(st.lists(json_values, max_size=2))
    steps: list[runs.Step] = []
    for index in range(draw(st.integers(0, 5))):
        history = history + draw(st.lists(json_values, max_size=2))
        steps.append(
            runs.Step(
                index=index,
                agent=draw(names),
                lane=draw(st.sampled_from(["0", "0.1", "0.2"])),
                request=chain.add({"messages": history, "tools": []}),
                sampling=draw(samplings),
                parts=draw(parts),
                response=draw(values),
                started_at=draw(moments),
                grade=draw(grades),
                extra=draw(values),
            )
        )
    return runs.Run(
        run_id=draw(names),
        task=draw(values),
        agents=tuple(draw(st.lists(st.builds(runs.Agent, name=names), max_size=2))),
        steps=tuple(steps),
        output=draw(values),
        outcome=draw(st.none() | st.builds(runs.Outcome, value=st.floats(0, 1), rule=names, detail=values)),
        extra=draw(values),
    )


# ---- causal graphs ----

node_names = st.text(
    st.characters(exclude_categories=("C", "Z", "M"), exclude_characters='"\\'), min_size=1, max_size=6
)
"""Names that every graph format can carry."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """ADMGs of up to seven nodes with any names and roles."""
    usable = node_names.filter(lambda name: unicodedata.is_normalized("NFC", name) and name.isprintable())
    names = draw(st.lists(usable, max_size=7, unique=True))
    pairs = list(itertools.combinations(names, 2))
    directed = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    bidirected = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    roles = {name: draw(st.sampled_from(ROLES)) for name in names}
    return Graph.of(nodes=roles, directed=directed, bidirected=bidirected)


def graph_files() -> st.SearchStrategy[str]:
    """Text that looks more or less like a graph file."""
    words = [
        "dag",
        "digraph",
        "strict",
        "{",
        "}",
        "[",
        "]",
        "->",
        "<-",
        "<->",
        "--",
        ";",
        "\n",
        " ",
        '"',
        "a",
        "b",
        "c",
    ]
    words += ["nodes:", "edges:", "directed:", "- ", "[a, b]", "a -> b", "a <-> b", "latent", "role=", "dir=both", "="]
    words += [
        ",",
        ":",
        "&x",
        "*x",
        "#",
        "//",
        "/*",
        "*/",
        "\t",
        "subgraph",
        "schema: butfor.graph/1",
        "'",
        "|",
        "é",
        "\x00",
    ]
    return st.one_of(
        st.text(),
        st.lists(st.sampled_from(words), max_size=25).map("".join),
        st.lists(st.sampled_from(words), max_size=25).map(" ".join),
    )
