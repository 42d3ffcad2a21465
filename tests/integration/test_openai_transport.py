"""The transport under the real `openai` client, against a real HTTP server on loopback that answers from a script."""

import asyncio
import gzip
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import openai
import pytest

import butfor
from butfor.replay import Job, Rollouts, Score, do, record_run
from butfor.replay.agents import wrap_agent
from butfor.replay.assemble import assemble
from butfor.replay.draws import FreshSeeds, RecordedSeeds
from butfor.replay.engine import check_held, drive
from butfor.replay.journal import Journal, footer_line
from butfor.replay.lanes import Wrapped
from butfor.replay.plan import compile_plan
from butfor.replay.recording import RecordingSession
from butfor.replay.rollout import RolloutSession
from butfor.replay.tools import ToolPolicy
from butfor.runs import Replayability
from butfor.store import MemoryStore
from tests.patience import PATIENCE, joined

KEY = "sk-secret-of-the-test"


@dataclass
class Answer:
    """One scripted answer; `pieces` are sent one by one, `cut` closes the connection instead of ending the body."""

    status: int = 200
    kind: str = "application/json"
    pieces: tuple[bytes, ...] = ()
    gzipped: bool = False
    cut: bool = False
    delay: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)


def completion(text, **more):
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 7,
        "model": "m",
        "choices": [choice],
        "usage": usage,
    } | more


def plain(text, **more):
    return Answer(pieces=(json.dumps(completion(text)).encode(),), **more)


def failure(status):
    body = json.dumps({"error": {"message": "not now", "type": "busy"}}).encode()
    return Answer(status=status, pieces=(body,), headers={"retry-after-ms": "1"})


def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]}


def events(*words, done=True, **more):
    deltas = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": word}) for word in words)]
    pieces = [f"data: {json.dumps(each)}\n\n".encode() for each in [*deltas, chunk({}, "stop")][: None if done else -1]]
    if done:
        pieces.append(b"data: [DONE]\n\n")
    return Answer(kind="text/event-stream; charset=utf-8", pieces=tuple(pieces), **more)


class Model(ThreadingHTTPServer):
    """Answers from `script`, one answer a request, and keeps what was asked."""

    daemon_threads = True

    def __init__(self):
        self.script: list[Answer] = []
        self.asked: list[Any] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request, client_address):
        """A client that closes early is part of these tests."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Model

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        answer = self.server.script.pop(0)
        time.sleep(answer.delay)
        if answer.cut and not answer.pieces:
            self.close_connection = True
            self.connection.close()
            return
        pieces = (gzip.compress(b"".join(answer.pieces)),) if answer.gzipped else answer.pieces
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Set-Cookie", "session=secret-cookie")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.gzipped:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
        if answer.cut:
            self.connection.close()
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def do_GET(self):
        self.server.asked.append(self.path)
        raw = json.dumps({"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "x"}]})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def model():
    with Model() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        joined(thread)


def sync_http():
    # Certificates are not read, since loopback needs none and reading them is half of these tests' time.
    return httpx2.Client(transport=butfor.openai_transport(httpx2.HTTPTransport(verify=False)))


def async_http():
    return httpx2.AsyncClient(transport=butfor.openai_transport(httpx2.AsyncHTTPTransport(verify=False)))


def said(stream_parts):
    return [part.model_dump(exclude_none=True) for part in stream_parts]


def trouble(error):
    return {"error": type(error).__name__, "status": getattr(error, "status_code", None)}


def sync_agent(model, requests, **options):
    """An agent that sends the requests one by one and returns what the client gave it, errors included."""

    def agent(task):
        results = []
        http = sync_http()
        with openai.OpenAI(base_url=model.url, api_key=KEY, http_client=http, **options) as client:
            for request in requests:
                parts = []
                try:
                    answer = client.chat.completions.create(model="m", **request)
                    if not request.get("stream"):
                        results.append(answer.model_dump(exclude_none=True))
                        continue
                    parts.extend(answer)
                    results.append(said(parts))
                except openai.APIError as error:
                    results.append([*said(parts), trouble(error)])
        return results

    return agent


def async_agent(model, requests, **options):
    """The same agent, asynchronous."""

    async def agent(task):
        results = []
        http = async_http()
        async with openai.AsyncOpenAI(base_url=model.url, api_key=KEY, http_client=http, **options) as client:
            for request in requests:
                parts = []
                try:
                    answer = await client.chat.completions.create(model="m", **request)
                    if not request.get("stream"):
                        results.append(answer.model_dump(exclude_none=True))
                        continue
                    async for part in answer:
                        parts.append(part)
                    results.append(said(parts))
                except openai.APIError as error:
                    results.append([*said(parts), trouble(error)])
        return results

    return agent


both = pytest.mark.parametrize("make", [sync_agent, async_agent], ids=["sync", "async"])
ASK: dict[str, Any] = {"messages": [{"role": "user", "content": "hello"}]}
SECOND: dict[str, Any] = {"messages": [{"role": "user", "content": "and now?"}]}
STREAM = ASK | {"stream": True}


def record(agent):
    lines: list[str] = []
    header = {"agent": "test", "input": None, "entropy": "00" * 16}
    with Wrapped():
        ending = asyncio.run(drive(wrap_agent(agent), None, RecordingSession(lines.append)))
    lines.append(footer_line({"status": ending.status, "output": ending.output, "error": ending.error}))
    return Journal.read(header, lines, where="test"), ending, "\n".join(lines)


def roll(journal, agent, intervention=do.nothing, seeds=None):
    session = RolloutSession(compile_plan(journal, intervention), seeds=seeds or RecordedSeeds(), tools=ToolPolicy())
    with Wrapped():
        ending = asyncio.run(drive(wrap_agent(agent), None, session))
    return session, check_held(session, ending)


def replayed(model, journal, agent, recorded):
    """Check that an untouched replay gives the same output and sends nothing."""
    before = len(model.asked)
    started = time.perf_counter()
    session, ending = roll(journal, agent)
    assert (ending.status, ending.output, ending.error) == (recorded.status, recorded.output, recorded.error)
    assert len(model.asked) == before
    assert session.counts["held"] == len(journal.crossings)
    return time.perf_counter() - started


def waits(model, journal, agent, recorded):
    """Say whether each replay takes as long as the client's shortest pause before it repeats a request."""
    return min(replayed(model, journal, agent, recorded) for _ in range(3)) >= 0.375


@both
@pytest.mark.parametrize("gzipped", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_an_answer_is_recorded_once_and_served_without_a_request(model, make, gzipped, streamed):
    model.script = [events("Good ", "day ✓", gzipped=gzipped) if streamed else plain("Good day ✓", gzipped=gzipped)]
    agent = make(model, [STREAM if streamed else ASK])
    journal, ending, text = record(agent)
    (crossing,) = journal.crossings
    assert (crossing.kind, crossing.name, crossing.step, crossing.error) == ("model", "m", 0, None)
    assert "day" in json.dumps(ending.output)
    assert json.loads(journal.request_text(crossing)) == {
        "path": "/v1/chat/completions",
        "body": {"model": "m", **(STREAM if streamed else ASK)},
    }
    assert KEY not in text
    assert "secret-cookie" not in text
    replayed(model, journal, agent, ending)


@both
def test_the_agent_sees_in_a_recording_what_it_sees_without_one(model, make):
    model.script = [plain("a"), events("b", "c"), plain("a"), events("b", "c")]
    agent = make(model, [ASK, STREAM])
    result = agent(None)
    bare = asyncio.run(result) if asyncio.iscoroutine(result) else result
    assert bare == record(agent)[1].output


@both
@pytest.mark.parametrize("status", [429, 500, 503])
def test_the_clients_own_retries_are_one_crossing(model, make, status):
    model.script = [failure(status), failure(status), plain("at last"), plain("next")]
    agent = make(model, [ASK, SECOND], max_retries=2)
    journal, ending, _ = record(agent)
    assert len(model.asked) == 4
    assert [crossing.step for crossing in journal.crossings] == [0, 1]
    assert [each["choices"][0]["message"]["content"] for each in ending.output] == ["at last", "next"]
    replayed(model, journal, agent, ending)


@both
def test_a_failure_that_the_agent_survives_is_one_crossing_with_the_last_answer(model, make):
    model.script = [failure(500), failure(429), plain("another way")]
    agent = make(model, [ASK, SECOND], max_retries=1)
    journal, ending, _ = record(agent)
    assert ending.output[0] == [{"error": "RateLimitError", "status": 429}]
    assert [crossing.occurrence for crossing in journal.crossings] == [0, 1]
    assert [json.loads(crossing.response)["status"] for crossing in journal.crossings] == [429, 200]
    assert not waits(model, journal, agent, ending)  # the client does not wait to repeat what is final


@both
def test_a_failure_at_the_very_end_is_recorded(model, make):
    model.script = [plain("fine"), failure(429)]
    agent = make(model, [ASK, SECOND], max_retries=0)
    journal, ending, _ = record(agent)
    assert [json.loads(crossing.response)["status"] for crossing in journal.crossings] == [200, 429]
    replayed(model, journal, agent, ending)


@both
def test_the_agents_own_repetition_is_another_crossing(model, make):
    model.script = [failure(429), plain("now")]
    agent = make(model, [ASK, ASK], max_retries=0)
    journal, ending, _ = record(agent)
    assert len(journal.crossings) == 2
    replayed(model, journal, agent, ending)


@both
def test_a_connection_lost_before_the_answer_is_repeated_by_the_client(model, make):
    model.script = [Answer(cut=True), plain("here")]
    agent = make(model, [ASK], max_retries=1)
    journal, ending, _ = record(agent)
    assert ending.output[0]["choices"][0]["message"]["content"] == "here"
    assert len(journal.crossings) == 1
    replayed(model, journal, agent, ending)


@both
def test_a_lost_connection_that_the_client_gives_up_on_is_the_recorded_error(model, make):
    model.script = [Answer(cut=True), plain("another way")]
    agent = make(model, [ASK, SECOND], max_retries=0)
    journal, ending, _ = record(agent)
    assert ending.output[0] == [{"error": "APIConnectionError", "status": None}]
    assert journal.crossings[0].error is not None
    replayed(model, journal, agent, ending)


@both
def test_a_time_out_is_the_recorded_error(model, make):
    model.script = [plain("too late", delay=5.0), plain("too late", delay=5.0), plain("quick")]
    agent = make(model, [ASK, SECOND], max_retries=1, timeout=1.0)
    journal, ending, _ = record(agent)
    assert ending.output[0] == [{"error": "APITimeoutError", "status": None}]
    assert [crossing.error is not None for crossing in journal.crossings] == [True, False]
    assert not waits(model, journal, agent, ending)


@both
def test_a_stream_that_breaks_breaks_again_at_the_same_place(model, make):
    model.script = [events("half ", "an answ", done=False, cut=True), plain("another way")]
    agent = make(model, [STREAM, SECOND], max_retries=2)
    journal, ending, _ = record(agent)
    assert ending.output[0][-1] == {"error": "APIConnectionError", "status": None}
    assert "an answ" in json.dumps(ending.output[0])
    assert len(model.asked) == 2
    replayed(model, journal, agent, ending)


@both
def test_a_body_that_is_no_json_reaches_the_agent_as_it_is(model, make):
    model.script = [
        Answer(status=502, kind="text/html", pieces=(b"<p>bad \xff gateway",)),
        Answer(pieces=(b'{"choices": [',)),
    ]
    agent = make(model, [ASK, SECOND], max_retries=0)
    journal, ending, _ = record(agent)
    assert len(journal.crossings) == 2
    assert ending.status == "raised"
    replayed(model, journal, agent, ending)


def test_a_stream_that_is_closed_early_is_complete(model):
    model.script = [events("a", "b", "c"), plain("next")]

    def agent(task):
        http = httpx2.Client(transport=butfor.openai_transport())
        with openai.OpenAI(base_url=model.url, api_key=KEY, http_client=http) as client:
            with client.chat.completions.create(model="m", **STREAM) as stream:
                first = next(iter(stream)).model_dump(exclude_none=True)
            return [first, client.chat.completions.create(model="m", **SECOND).model_dump(exclude_none=True)]

    journal, ending, _ = record(agent)
    assert [crossing.step for crossing in journal.crossings] == [0, 1]
    replayed(model, journal, agent, ending)


def test_a_stream_that_is_never_closed_is_complete_when_the_agent_ends(model):
    model.script = [events("a", "b")]
    kept = []

    def agent(task):
        client = openai.OpenAI(base_url=model.url, api_key=KEY, http_client=sync_http())
        stream = client.chat.completions.create(model="m", **STREAM)
        kept.extend([client, stream])
        return next(iter(stream)).model_dump(exclude_none=True)

    journal, ending, _ = record(agent)
    assert len(journal.crossings) == 1
    replayed(model, journal, agent, ending)
    for client, stream in zip(kept[::2], kept[1::2], strict=True):
        stream.close()
        client.close()


def test_named_events_of_the_responses_api_are_served_with_their_names(model):
    done = {
        "id": "r1", "object": "response", "created_at": 7, "model": "m", "status": "completed", "output": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    kinds = [{"type": "response.created", "response": done}, {"type": "response.completed", "response": done}]
    pieces = tuple(
        f": hello\nevent: {each['type']}\ndata: {json.dumps(each | {'sequence_number': i})}\n\n".encode()
        for i, each in enumerate(kinds)
    )
    model.script = [Answer(kind="text/event-stream", pieces=pieces)]

    def agent(task):
        http = sync_http()
        with openai.OpenAI(base_url=model.url, api_key=KEY, http_client=http) as client:
            return [event.type for event in client.responses.create(model="m", input="hello", stream=True)]

    journal, ending, _ = record(agent)
    assert ending.output == ["response.created", "response.completed"]
    replayed(model, journal, agent, ending)


def test_a_history_that_the_provider_keeps_makes_the_run_view_only(model):
    done = {"id": "r2", "object": "response", "created_at": 7, "model": "m", "output": []}
    model.script = [Answer(pieces=(json.dumps(done).encode(),))]

    def agent(task):
        with openai.OpenAI(base_url=model.url, api_key=KEY, http_client=sync_http()) as client:
            return client.responses.create(model="m", input="and now?", previous_response_id="r1").id

    journal, _, _ = record(agent)
    grade = assemble(journal, journal.crossings, run_id="r").overall_grade
    assert grade.level is Replayability.VIEW_ONLY
    assert grade.missing == ("body.previous_response_id: the history is with the provider",)


# Live rollouts


def fresh(draw):
    return FreshSeeds(fingerprint="test", draw=draw)


@both
def test_a_live_draw_gets_its_own_seed_and_the_same_temperature(model, make):
    model.script = [plain("a"), plain("b"), plain("c")]
    agent = make(model, [ASK | {"seed": 11, "temperature": 0.7}, SECOND])
    journal, _, _ = record(agent)
    model.script = [plain("other")]
    session, ending = roll(journal, agent, do.resample(1), fresh("arm#0"))
    assert ending.status == "completed"
    assert model.asked[2] == {"model": "m", **SECOND}  # no seed was there, none is added
    model.script = [plain("x"), plain("y")]
    session, ending = roll(journal, agent, do.resample(0), fresh("arm#1"))
    assert model.asked[3] == model.asked[0] | {"seed": session.crossings[0].seed}
    assert model.asked[3]["seed"] != 11
    assert [session.counts["policy"], session.counts["held"]] == [2, 0]
    assert session.usage == [10, 4]


@both
def test_a_live_fault_is_tried_again_with_the_same_draw_before_the_client_hears_of_it(model, make):
    model.script = [plain("a")]
    agent = make(model, [ASK | {"seed": 1}], max_retries=0)
    journal, _, _ = record(agent)
    model.script = [failure(429), Answer(cut=True), events(done=False, cut=True), plain("b")]
    model.script[2].pieces = (b": wait\n\n",)
    session, ending = roll(journal, agent, do.resample(0), fresh("arm#0"))
    assert ending.output[0]["choices"][0]["message"]["content"] == "b"
    assert {session.crossings[0].seed} == {asked["seed"] for asked in model.asked[1:]}
    assert (len(model.asked), session.counts["policy"]) == (5, 1)


@both
def test_a_live_time_out_is_a_result_and_one_draw_however_often_the_client_repeats_it(model, make):
    model.script = [plain("a")]
    agent = make(model, [ASK | {"seed": 1}], max_retries=1, timeout=1.0)
    journal, _, _ = record(agent)
    model.script = [plain("late", delay=5.0), plain("in time")]
    session, ending = roll(journal, agent, do.resample(0), fresh("arm#0"))
    assert ending.output[0]["choices"][0]["message"]["content"] == "in time"
    assert (session.counts["policy"], len(session.crossings)) == (1, 1)
    assert len({asked["seed"] for asked in model.asked[1:]}) == 1


@both
def test_a_live_fault_waits_as_long_as_the_model_asks(model, make):
    model.script = [plain("a")]
    agent = make(model, [ASK])
    journal, _, _ = record(agent)
    busy = failure(429)
    busy.headers = {"retry-after": "1"}  # the first pause of its own would be half a second at most
    model.script = [busy, plain("b")]
    started = time.perf_counter()
    _, ending = roll(journal, agent, do.resample(0), fresh("arm#0"))
    assert ending.status == "completed"
    assert time.perf_counter() - started > 1


def test_a_model_that_stays_away_ends_the_rollout(model, monkeypatch):
    model.script = [plain("a")]
    agent = sync_agent(model, [ASK], max_retries=2)
    journal, _, _ = record(agent)
    monkeypatch.setattr("butfor.replay.faults._FIRST_PAUSE", 0.001)
    model.script = [failure(503) for _ in range(20)]
    session, ending = roll(journal, agent, do.resample(0), fresh("arm#0"))
    assert ending.status == "transport"
    assert session.latched is not None


@both
@pytest.mark.parametrize("request_", [ASK, STREAM], ids=["whole", "stream"])
def test_an_action_put_in_the_place_of_a_recorded_one_comes_in_the_form_that_was_asked_for(model, make, request_):
    model.script = [events("yes") if request_.get("stream") else plain("yes"), plain("then"), plain("then")]
    agent = make(model, [request_, SECOND])
    journal, _, _ = record(agent)
    _, ending = roll(journal, agent, do.action(0, ["no", {"tool": "look", "arguments": {}}]), fresh("arm#0"))
    assert ending.error is None
    first = json.dumps(ending.output[0])
    assert '"no"' in first
    assert '"look"' in first
    assert "yes" not in first


def shout(body):
    """A policy in the model's place."""
    return completion(body["messages"][-1]["content"].upper())


async def shout_later(body):
    """The same, asynchronous."""
    await asyncio.sleep(0)
    return shout(body)


@pytest.mark.parametrize(("make", "policy"), [(sync_agent, shout), (async_agent, shout), (async_agent, shout_later)])
def test_another_policy_decides_without_a_request(model, make, policy):
    model.script = [plain("a"), plain("b")]
    agent = make(model, [ASK, SECOND])
    journal, _, _ = record(agent)
    _, ending = roll(journal, agent, do.policy(1, policy), fresh("arm#0"))
    assert [each["choices"][0]["message"]["content"] for each in ending.output] == ["a", "AND NOW?"]
    assert len(model.asked) == 2


@both
def test_an_edited_history_is_what_the_model_is_sent(model, make):
    model.script = [plain("a"), plain("b")]
    agent = make(model, [ASK])
    journal, _, _ = record(agent)
    _, ending = roll(journal, agent, do.context(0, {"replace": ["hello", "good-bye"]}), fresh("arm#0"))
    assert ending.status == "completed"
    assert model.asked[1]["messages"][0]["content"] == "good-bye"


@both
def test_a_changed_request_is_a_divergence_that_names_the_field(model, make):
    model.script = [plain("a")]
    journal, _, _ = record(make(model, [ASK | {"temperature": 0.5}]))
    _, ending = roll(journal, make(model, [ASK | {"temperature": 0.6}]))
    assert ending.status == "diverged"
    assert ending.cause.path == "$.body.temperature"
    assert len(model.asked) == 1


def test_resamples_that_say_the_same_are_noticed_whatever_ids_they_carry(model):
    model.script = [plain("a")]
    agent = sync_agent(model, [ASK])
    with MemoryStore() as store:
        run = record_run(agent, None, store=store, verify=False).run
        model.script = [
            Answer(pieces=(json.dumps(completion(word, id=f"c{i}", created=i)).encode(),))
            for i, word in enumerate(["same", "same", "other"])
        ]
        score = Score(name="never", function=lambda trajectory: 0.0)
        rollouts = Rollouts(run.run_id, store, agent=wrap_agent(agent), score=score, concurrency=1)
        jobs = [Job(intervention=do.resample(0), arm="resample:0", ordinal=i) for i in range(3)]
        first, second, third = (each.tail for each in rollouts.run(jobs))
    assert first == second != third


# Beside the boundary


def test_other_addresses_go_straight_through(model):
    model.script = [plain("a")]

    def agent(task):
        http = sync_http()
        with openai.OpenAI(base_url=model.url, api_key=KEY, http_client=http) as client:
            return [each.id for each in client.models.list()]

    journal, ending, _ = record(agent)
    assert (ending.output, journal.crossings) == (["m"], ())


def test_concurrent_parts_of_an_agent_find_their_answers_again(model):
    """With one client for all runs, as modules have it: its first use starts a thread, later ones do not."""
    client = openai.AsyncOpenAI(base_url=model.url, api_key=KEY, http_client=async_http())

    async def part(name):
        answers = []
        for i in range(2):
            messages: Any = [{"role": "user", "content": f"{name} {i}"}]
            got = await client.chat.completions.create(model="m", messages=messages)
            answers.append(got.choices[0].message.content)
        return answers

    async def agent(task):
        first = await part("first")
        rest = await asyncio.gather(part("left"), part("right"))
        return [first, *rest]

    model.script = [plain(str(i), headers={"Connection": "close"}) for i in range(6)]
    journal, ending, _ = record(agent)
    assert {"0"} < {crossing.lane for crossing in journal.crossings}
    replayed(model, journal, agent, ending)
    replayed(model, journal, agent, ending)


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_concurrent_parts_are_retried_each_in_its_own_lane(model, streamed):
    request = STREAM if streamed else ASK

    async def part(client):
        answer: Any = await client.chat.completions.create(model="m", **request)
        return [each.model_dump(exclude_none=True) async for each in answer] if streamed else answer.model_dump()

    async def agent(task):
        async with openai.AsyncOpenAI(base_url=model.url, api_key=KEY, http_client=async_http()) as client:
            return await asyncio.gather(*(part(client) for _ in range(3)))

    model.script = [failure(429), failure(500), failure(503), *(events("ok") if streamed else plain("ok"),) * 3]
    journal, ending, _ = record(agent)
    assert ending.status == "completed"
    assert sorted(crossing.lane for crossing in journal.crossings) == ["0.0", "0.1", "0.2"]
    assert len(model.asked) == 6
    replayed(model, journal, agent, ending)


def test_without_httpx2_the_error_names_the_extra():
    script = "import sys; sys.modules['httpx2'] = None; import butfor; butfor.openai_transport()"
    child = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert "pip install 'butfor[openai]'" in child.stderr.splitlines()[-1]


def test_a_transport_of_the_wrong_kind_is_refused():
    transport = butfor.openai_transport(httpx2.AsyncHTTPTransport())
    with (
        httpx2.Client(transport=transport) as client,
        pytest.raises(butfor.errors.InputError, match="cannot send synchronous requests"),
    ):
        client.get("http://127.0.0.1:9/")
