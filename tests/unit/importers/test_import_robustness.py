"""Files that are cut off, damaged, hostile or something else: a clear error, or a partial import that says so."""

import gzip
import io
import json
import random
import sqlite3
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
import zstandard

from butfor import importers
from butfor.errors import InputError, NotFound
from butfor.importers import Limits, Opening
from butfor.importers.checkpoints import CheckpointRecords
from butfor.importers.inputs import Source

INPUTS = Path(__file__).parents[2] / "golden" / "importers" / "inputs"
CHAT = b'[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]'
OTLP = (INPUTS / "otlp_genai.otlp.jsonl").read_bytes()


def read(data, name="trace", **options):
    opened = importers.import_input(importers.from_bytes(data, name), **options)
    return list(opened.runs), opened.report()


def bare(runs):
    def step(each):
        return each.model_copy(update={"source": None})

    return [[step(each) for each in run.steps] for run in runs]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cut off"),
        (b"hello", "not JSON at character 1"),
        (b"[" * 10**6, "nested deeper than 200 levels"),
        (b'{"a":' * 10**6, "nested deeper than 200 levels"),
        (b"[" * 10**6 + b"]" * 10**6, "nested deeper than 200 levels"),
        (CHAT[:-9], r"cut off .*\(trace\)"),
        (b'{"role": "user", "content": "\xff"}', "not UTF-8 at byte 30"),
        (b'{"n": ' + b"9" * 5000 + b"}", "4300"),
        (b"\x1f\x8b\x08\x00", "cut off or damaged"),
        (b"\x28\xb5\x2f\xfd\x00\x89", "cut off or damaged"),
        (b"PK\x03\x04 not a zip", "archive is cut off or damaged"),
        (b"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "64 bits"),
        (b"\n\x7fshort", "cut off or damaged after 0 messages"),
        (b'{"weather": "fine", "wind": 3}', "no trace that we know.*'weather', 'wind'.*--format"),
        (b"[]", "no trace that we know"),
        (b'{"resourceSpans": []}', "no run in this otlp file"),
        (b'{"agent": {}, "steps": [{"source": "user"}]}', "no agent step.*field steps"),
    ],
    ids=range(17),
)
def test_what_cannot_be_imported_is_named(data, message):
    with pytest.raises(InputError, match=message):
        read(data)


def test_an_unknown_format_lists_the_known_ones():
    with pytest.raises(NotFound, match="otlp"):
        read(CHAT, format_name="pdf")


def test_a_named_format_overrides_detection():
    with pytest.raises(InputError, match="no run in this otlp file"):
        read(CHAT, format_name="otlp")


def test_a_cut_off_last_line_leaves_a_partial_import_that_says_so():
    lines = OTLP.splitlines()
    runs, report = read(b"\n".join([lines[0], lines[2], lines[1][:100]]))
    assert len(runs) == 1
    assert report.partial
    assert "trace:3" in report.problems[0]


def test_a_malformed_line_names_itself_and_the_rest_is_imported():
    runs, report = read(b'{"messages": ' + CHAT + b"}\n{oops\n" + b'{"messages": ' + CHAT + b"}\n")
    assert [len(run.steps) for run in runs] == [1, 1]
    assert report.problem_count == 1
    assert "(trace:2)" in report.problems[0]
    assert runs[0].run_id != runs[1].run_id


def test_lines_of_another_format_are_counted():
    runs, report = read(OTLP + b'{"messages": ' + CHAT + b"}\n")
    assert len(runs) == 1
    other, report = read(b'{"messages": ' + CHAT + b'}\n{"messages": ' + CHAT + b'}\n{"log": "line"}\n')
    assert len(other) == 2
    assert report.ignored == {"record of another kind": 1}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_unicode_with_a_byte_order_mark_is_read(encoding):
    text = '[{"role": "user", "content": "größe 😀"}, {"role": "assistant", "content": "ok"}]'
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    ((run,), _) = read((mark + text).encode(encoding))
    assert run.task.get() == "größe 😀"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_compressed_file_is_opened(pack):
    assert bare(read(pack(OTLP))[0]) == bare(read(OTLP)[0])


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_compressed_file_that_is_cut_off_says_so(pack):
    words = [random.Random(i).randbytes(600).hex().encode() for i in range(400)]
    lines = b"".join(b'{"messages": ' + CHAT.replace(b"hi", word) + b"}\n" for word in words)
    runs, report = read(pack(lines)[:-2000])
    assert 100 < len(runs) < 400
    assert "cut off or damaged" in " ".join(report.problems)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_decompression_bomb_is_stopped(pack):
    bomb = pack(b'{"messages": "' + b" " * (64 << 20) + b'"}')
    with pytest.raises(InputError, match="bomb"):
        read(bomb, opening=Opening(limits=Limits(ratio=50)))


def test_a_line_beyond_the_limit_is_passed_over():
    line = b'{"messages": ' + CHAT + b"}\n"
    runs, report = read(line + b'{"x": "' + b"a" * 5000 + b'"}\n' + line, opening=Opening(limits=Limits(document=4000)))
    assert len(runs) == 2
    assert "trace:2" in report.problems[0]


def test_a_document_beyond_the_limit_says_how_to_stream_it():
    with pytest.raises(InputError, match="jq -c"):
        read(CHAT, opening=Opening(limits=Limits(document=20)))


def member(name: str, plain: bytes, method: int = 93, *, crc: int | None = None) -> tuple[bytes, bytes, int]:
    """Return (local header and data, central entry without its offset, method)."""
    packed = {
        93: zstandard.ZstdCompressor().compress,
        8: lambda raw: zlib.compress(raw, wbits=-15),
        0: bytes,
        99: bytes,
    }[method](plain)
    sums = struct.pack("<III", zlib.crc32(plain) if crc is None else crc, len(packed), len(plain))
    raw_name = name.encode()
    local = struct.pack("<4sHHHHH", b"PK\x03\x04", 20, 0, method, 0, 0) + sums + struct.pack("<HH", len(raw_name), 0)
    central = struct.pack("<4sHHHHHH", b"PK\x01\x02", 20, 20, 0, method, 0, 0) + sums
    central += struct.pack("<HHHHHI", len(raw_name), 0, 0, 0, 0, 0)
    return local + raw_name + packed, central, len(raw_name)


def archive(*members: tuple[bytes, bytes, int], names: list[str]) -> bytes:
    """Write a zip with members of any method, which zipfile on 3.11 cannot."""
    body, directory = b"", b""
    for (local, central, _), name in zip(members, names, strict=True):
        directory += central + struct.pack("<I", len(body)) + name.encode()
        body += local
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + end


LOG = json.loads((INPUTS / "inspect.json").read_text())
HEADER = json.dumps({key: value for key, value in LOG.items() if key != "samples"}).encode()
SAMPLES = [json.dumps(sample).encode() for sample in LOG["samples"]]


def log_archive(method: int = 93, **options: int) -> bytes:
    names = ["header.json", "samples/1.json", "samples/2.json"]
    first = member(names[1], SAMPLES[0], method, **options)
    members = [member(names[0], HEADER), first, member(names[2], SAMPLES[1])]
    return archive(*members, names=names)


@pytest.mark.parametrize("method", [93, 8, 0])
def test_an_archive_of_any_usual_method_is_the_same_log(method):
    assert bare(read(log_archive(method))[0]) == bare(read((INPUTS / "inspect.json").read_bytes())[0])


def test_a_damaged_member_leaves_the_others():
    runs, report = read(log_archive(crc=1))
    assert len(runs) == 1
    assert "checksum (trace, samples/1.json)" in report.problems[0]
    assert "method 99" in read(log_archive(99))[1].problems[0]


def test_a_bomb_inside_an_archive_is_stopped():
    names = ["header.json", "samples/1.json"]
    bomb = archive(member(names[0], HEADER), member(names[1], b" " * (64 << 20)), names=names)
    with pytest.raises(InputError, match="bomb"):
        read(bomb, opening=Opening(limits=Limits(ratio=50)))


def test_an_ordinary_zip_is_no_log():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a.txt", "a")
    with pytest.raises(InputError, match="no Inspect log"):
        read(buffer.getvalue())


def test_a_pickled_checkpoint_is_never_opened(tmp_path):
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as database:
        database.execute(
            "CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,"
            " metadata)"
        )
        # This pickle, opened, would raise SystemExit.
        database.execute(
            "INSERT INTO checkpoints VALUES ('t','','1',NULL,'pickle',?, '{}')", (b"cbuiltins\nexit\n(tR.",)
        )
    database.close()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="a pickle blob is not opened"):
        list(importers.import_file(path).runs)
    assert sorted(tmp_path.iterdir()) == before


def test_a_write_ahead_log_that_is_not_read_is_told(tmp_path):
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id,"
                         " type, checkpoint, metadata)")  # fmt: skip
    database.close()
    path.with_name("c.sqlite-wal").write_bytes(b"x")
    problems: list[InputError] = []
    list(CheckpointRecords(Source(importers.from_path(path), Opening())).each(problems.append))
    assert "write-ahead log" in str(problems[0])


def test_a_view_named_checkpoints_is_not_a_table(tmp_path):
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE VIEW checkpoints AS SELECT 1")
    database.close()
    with pytest.raises(InputError, match="no LangGraph checkpoints"):
        list(importers.import_file(path).runs)


def test_a_cycle_of_parents_ends():
    def span(name, parent):
        attributes = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]
        return {"traceId": "t", "spanId": name, "parentSpanId": parent, "attributes": attributes}

    lines = {"resourceSpans": [{"scopeSpans": [{"spans": [span("a", "b"), span("b", "a"), span("c", "c")]}]}]}
    runs, report = read(json.dumps(lines).encode())
    assert len(runs) == 1
    assert report.ignored["model span around another model span"] == 2


def test_each_record_of_a_mixed_log_is_read_in_its_own_dialect():
    blocks = [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]
    items = [
        {"role": "user", "content": "x"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ]
    lines = [
        {"messages": json.loads(CHAT)},
        {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": blocks}]},
        {"model": "m", "input": items},
        {"messages": [{"type": "human", "content": "x"}, {"type": "ai", "content": "y"}]},
        {"messages": [{"role": "user", "parts": [{"type": "text", "content": "x"}]},
                      {"role": "assistant", "parts": [{"type": "text", "content": "y"}]}]},
    ]  # fmt: skip
    runs, report = read("\n".join(map(json.dumps, lines)).encode())
    formats = [run.provenance.format for run in runs]
    assert formats == [f"messages ({name})" for name in ("chat", "anthropic", "responses", "chat", "chat")]
    assert [len(run.steps[0].parts) for run in runs] == [1] * 5
    assert report.ignored == {}


@pytest.mark.parametrize("vocabulary", ["openinference", "langfuse"])
def test_a_judges_model_call_is_no_decision_of_the_agent(vocabulary):
    spans = [("a", None, "AGENT"), ("m", "a", "LLM"), ("e", None, "EVALUATOR"), ("j", "e", "LLM")]
    if vocabulary == "langfuse":
        kinds = {"AGENT": "AGENT", "LLM": "GENERATION", "EVALUATOR": "EVALUATOR"}
        document: object = [
            {"id": name, "traceId": "t" * 20, "parentObservationId": parent, "type": kinds[kind], "output": "x"}
            for name, parent, kind in spans
        ]
    else:
        document = {"resourceSpans": [{"scopeSpans": [{"spans": [
            {"traceId": "t", "spanId": name, "parentSpanId": parent, "attributes": [
                {"key": "openinference.span.kind", "value": {"stringValue": kind}}]}
            for name, parent, kind in spans
        ]}]}]}  # fmt: skip
    ((run,), report) = read(json.dumps(document).encode())
    assert len(run.steps) == 1
    assert report.ignored["model or tool call of an evaluator"] == 1


def test_a_million_names_make_a_short_report():
    message = {"role": "assistant", "content": "x"} | {f"k{i}": 1 for i in range(5000)}
    _, report = read(json.dumps([message]).encode())
    assert len(report.ignored) <= 301
    assert sum(report.ignored.values()) == 5000
