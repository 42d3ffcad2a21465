"""Context variables: each source gives a value in time and fresh enough, or none at all."""

import functools
import http.server
import json
import os
import select
import shlex
import sqlite3
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from butfor.errors import InputError
from butfor.gate.context import Reading, Unread, read_context
from butfor.gate.context.reading import Source, parsed, read_one
from butfor.gate.context.sources import (
    argument_source,
    callable_source,
    command_source,
    http_source,
    sql_source,
)
from tests.patience import PATIENCE, joined

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HERE = Path(__file__).parent


def read(source, **arguments):
    return read_one("x", source, arguments, lambda: NOW)


def value(source, **arguments):
    found = read(source, **arguments)
    assert isinstance(found, Reading), found
    return found.value


def why(source, **arguments):
    found = read(source, **arguments)
    assert isinstance(found, Unread), found
    return found.sentence


def given(raw, **limits):
    return Source(kind="callable", read=lambda _: raw, timeout=1.0, **limits)


@pytest.mark.parametrize(
    ("raw", "expected"), [(1, 1.0), (2.5, 2.5), (True, 1.0), ("gold", "gold"), ({"value": "gold"}, "gold")]
)
def test_a_plain_value_is_taken(raw, expected):
    assert value(given(raw)) == expected


def test_text_stays_text_where_the_policy_says_so():
    assert value(given(7, text=True)) == "7"


@pytest.mark.parametrize(
    "raw", [None, "", float("nan"), float("inf"), [1], {"value": 1, "x": 2}, 2**70 + 1, object(), {}]
)
def test_what_is_no_value_is_none(raw):
    assert "has no value" in why(given(raw))


@pytest.mark.parametrize(
    ("age", "words"), [(30.0, None), (61.0, "61 s old"), (-30.0, None), (-90.0, "from the future")]
)
def test_a_value_is_as_old_as_its_own_stamp(age, words):
    raw = {"value": 1, "at": (NOW - timedelta(seconds=age)).isoformat()}
    found = read(given(raw, max_age=60.0))
    assert (words is None) == isinstance(found, Reading)
    assert words is None or words in found.sentence


@pytest.mark.parametrize("stamp", ["yesterday", 5, "2026-11-30T12:00:00", None])
def test_a_stamp_that_is_none_is_no_value_unless_it_is_left_out(stamp):
    found = read(given({"value": 1, "at": stamp}))
    assert isinstance(found, Reading) == (stamp is None)


def test_an_argument_is_read_also_inside_an_object():
    assert value(argument_source("tier", timeout=1.0), tier="gold") == "gold"
    assert value(argument_source("options.tier", timeout=1.0), options={"tier": "gold"}) == "gold"
    assert "no argument 'tier'" in why(argument_source("tier", timeout=1.0))


def plain(tier):
    return {"gold": 1.0}[tier]


async def later(tier):
    return plain(tier)


def slow(**_):
    time.sleep(30)


def test_a_function_is_called_with_the_arguments_and_awaited_where_it_must_be():
    for name in ("plain", "later"):
        assert value(callable_source(f"{__name__}:{name}", timeout=5.0), tier="gold") == 1.0
    assert "KeyError" in why(callable_source(f"{__name__}:plain", timeout=5.0), tier="iron")
    assert "TypeError" in why(callable_source(f"{__name__}:plain", timeout=5.0), other=1)
    assert "no answer within 0.05 s" in why(callable_source(f"{__name__}:slow", timeout=0.05))
    for name in ("absent:f", f"{__name__}:absent", f"{__name__}:NOW", "no colon"):
        with pytest.raises(InputError):
            callable_source(name, timeout=1.0)


def command(*words, timeout=10.0):
    return command_source(words, timeout=timeout, directory=HERE)


def python(code, *words, timeout=10.0):
    return command(sys.executable, "-c", code, *words, timeout=timeout)


def test_a_command_gets_arguments_as_words_and_its_output_is_the_value():
    echo = "import sys; print(sys.argv[1])"
    assert value(python(echo, "{tier}"), tier="gold; rm -rf /") == "gold; rm -rf /"
    assert value(python(echo, "{n}"), n=3) == 3.0
    assert value(python("print('{\"value\": 2}')")) == 2.0
    assert "starts with '-'" in why(python(echo, "{tier}"), tier="--output=/etc/passwd")
    assert value(python(echo, "x={tier}"), tier="--output") == "x=--output"
    assert "zero byte" in why(python(echo, "{tier}"), tier="a\x00b")
    assert "no text and no number" in why(python(echo, "{tier}"), tier=["a"])


def test_a_command_that_fails_is_no_value():
    assert "exit code 3" in why(python("import sys; sys.exit(3)"))
    assert "cannot be run" in why(command("./absent"))
    assert "empty" in why(python("pass"))
    assert "bytes" in why(python("print('x' * 20000)"))
    assert "not UTF-8" in why(python("import sys; sys.stdout.buffer.write(b'\\xff')"))


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path):
    # Whatever is alive holds the pipe open: its end says that nothing is.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        script = f"exec 3>{shlex.quote(str(pipe))}; echo begun >&3; sleep 300 & wait"
        assert "took more than 2 s" in why(command("sh", "-c", script, timeout=2.0))
        seen = [os.read(reading, 100)]
        assert seen == [b"begun\n"]
        ready, _, _ = select.select([reading], [], [], PATIENCE)
        assert (ready, os.read(reading, 100)) == ([reading], b""), "what the command started outlived it"
    finally:
        os.close(reading)


@pytest.mark.parametrize("data", [b'{"a": 1, "a": 2}', b"[1", b'"x', b'{"value": NaN}'])
def test_json_that_is_nearly_some_is_no_value(data):
    with pytest.raises(InputError):
        parsed(data)


class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        status, text = {
            "/value/a%20b%2Fc": (200, '{"value": 4, "at": "2026-11-30T11:59:30Z"}'),
            "/plain": (200, "gold"),
            "/moved": (302, ""),
            "/slow": (200, "1"),
        }.get(self.path, (404, "no"))
        if self.path == "/slow":
            time.sleep(2)
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/plain")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()
        joined(thread)


def test_a_url_is_filled_and_read(server):
    get = functools.partial(http_source, timeout=5.0)
    assert value(get(f"{server}/value/{{name}}"), name="a b/c") == 4.0
    assert "30 s old" in why(get(f"{server}/value/{{name}}", max_age=10.0), name="a b/c")
    assert value(get(f"{server}/plain")) == "gold"
    assert "has no value" in why(get(f"{server}/absent"))
    assert "has no value" in why(get(f"{server}/moved"))
    late = why(http_source(f"{server}/slow", timeout=0.2))
    assert "within 0.2 s" in late or "timed out" in late
    assert "has no value" in why(get("http://127.0.0.1:9/x"))
    for url in ("file:///etc/passwd", "ftp://x", "x"):
        with pytest.raises(InputError):
            get(url)


def test_a_query_binds_its_arguments(tmp_path):
    with sqlite3.connect(tmp_path / "db") as connection:
        connection.execute("CREATE TABLE service (name TEXT, tier TEXT)")
        connection.executemany("INSERT INTO service VALUES (?, ?)", [("web", "gold"), ("db", "iron")])
    connection.close()
    url = f"sqlite:///{tmp_path / 'db'}"
    ask = sql_source("SELECT tier FROM service WHERE name = :name", url, timeout=5.0)
    assert value(ask, name="web") == "gold"
    assert "one row" in why(ask, name="web' OR '1'='1")
    assert "one row" in why(sql_source("SELECT tier FROM service", url, timeout=5.0))
    assert "the query fails" in why(sql_source("SELECT nothing FROM nowhere", url, timeout=5.0))
    assert "no argument 'name'" in why(ask)


def test_the_first_that_cannot_be_read_ends_it():
    sources = {"a": given(1), "b": given(None), "c": given(2)}
    found = read_context(sources, {}, lambda: NOW)
    assert isinstance(found, Unread)
    assert "'b'" in found.sentence
    readings = read_context({"a": given(1)}, {}, lambda: NOW)
    assert not isinstance(readings, Unread)
    assert set(readings) == {"a"}
    json.dumps([each.value for each in readings.values()])
