"""Redaction and places belong to the source, so that no container can forget them."""

import gzip
import io
import json
import sqlite3
import zipfile
from pathlib import Path

import pytest

from butfor import importers
from butfor.importers.inputs import Source
from butfor.importers.registry import records_of


def document(folder: Path) -> importers.Input:
    return importers.from_bytes(b'[{"a": 1}, {"a": 2}]', "t.json")


def lines(folder: Path) -> importers.Input:
    return importers.from_bytes(gzip.compress(b'{"a": 1}\n{"a": 2}\n'), "t.jsonl.gz")


def archive(folder: Path) -> importers.Input:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name in ("header.json", "samples/1.json"):
            file.writestr(name, json.dumps({"a": 1}))
    return importers.from_bytes(packed.getvalue(), "t.eval")


def protobuf(folder: Path) -> importers.Input:
    trace = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
    data = trace.TracesData(resource_spans=[trace.ResourceSpans(schema_url="a")])
    return importers.from_bytes(data.SerializeToString(), "t.pb")


def checkpoints(folder: Path) -> importers.Input:
    path = folder / "t.sqlite"
    with sqlite3.connect(path) as database:
        columns = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
        database.execute(f"CREATE TABLE checkpoints ({columns})")
        database.execute("INSERT INTO checkpoints VALUES ('t', '', '1', NULL, 'json', '{}', '{}')")
    database.close()
    return importers.from_path(path)


@pytest.mark.parametrize(
    ("container", "places"),
    [
        (document, [", [0]", ", [1]"]),
        (lines, [":1", ":2"]),
        (archive, [", samples/1.json"]),
        (protobuf, [", ResourceSpans 1"]),
        (checkpoints, [", checkpoint 1"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_container_gives_cleaned_records_that_know_their_place(container, places, tmp_path):
    given = container(tmp_path)
    cleaned = importers.Opening(cleaned=lambda value: [{"hidden": True}, {"hidden": True}][: len(places)])
    plain = records_of(Source(given, importers.Opening()))
    hidden = records_of(Source(given, cleaned))
    assert [each.where for each in plain.each()] == [given.name + place for place in places]
    assert "hidden" not in str([each.value for each in plain.each()])
    assert all("hidden" in str(each.value) for each in hidden.each())
    assert hidden.digest == given.digest
