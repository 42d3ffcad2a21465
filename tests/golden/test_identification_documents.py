"""What is kept of graphs, proofs and hedges: a change of these bytes needs a new schema version.

Written again by ``python -m tests.golden.test_identification_documents``.
"""

import json
from pathlib import Path

from butfor.benchmarks.identification_cases import textbook
from butfor.graphs import Graph, read
from butfor.identification import Hedge, Proof, Query, check, estimand, find_instruments, identify

GOLDEN = Path(__file__).parent / "identification.json"


def documents():
    found = {}
    for case in textbook():
        answer = identify(case.graph, case.query)
        document = {"graph": case.graph.to_json(), "digest": case.graph.digest, "answer": answer.to_json()}
        if isinstance(answer, Proof):
            document["formula"] = str(estimand(case.graph, answer))
        found[case.name] = document
    stratum = Graph.of(directed=[("Z", "T"), ("Z", "Y"), ("T", "Y"), ("T", "S")], bidirected=[("S", "Y")])
    query = Query.effect("T", "Y", within="S")
    found["a stratum that the treatment moves"] = {
        "graph": stratum.to_json(),
        "digest": stratum.digest,
        "answer": identify(stratum, query).to_json(),
    }
    graph = next(case.graph for case in textbook() if case.name == "conditional instrument")
    (proof,) = find_instruments(graph, Query.effect("T", "Y"), assumption="monotonicity")
    found["an instrument"] = {"graph": graph.to_json(), "digest": graph.digest, "answer": proof.to_json()}
    return found


def test_the_documents_are_those_of_the_schema_version():
    assert json.loads(GOLDEN.read_text(encoding="utf-8")) == json.loads(json.dumps(documents()))


def test_stored_documents_still_read_and_still_check():
    for document in json.loads(GOLDEN.read_text(encoding="utf-8")).values():
        graph = read(json.dumps(document["graph"]))
        kind = Proof if document["answer"]["schema"].startswith("butfor.proof") else Hedge
        claim = kind.from_json(document["answer"])
        assert graph.digest == document["digest"]
        assert check(graph, claim.query, claim).ok


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(documents(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
