"""Chat endpoints, asked over real sockets."""

import gc
import json
import logging
import socket
from collections.abc import Callable, Generator
from typing import Any

import pytest
from chat_server import USAGE, ChatServer, Handler, answers, delta, fails, playing, says, streams

from ricordo.engine import LLM, Completion
from ricordo.engine.http import RequestPolicy
from ricordo.engine.remote_llm import Endpoint, RemoteLLM
from ricordo.errors import LLMError

ASK = [{"role": "user", "content": "Ciao"}]
KEY = "sk-very-secret-1234"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
COST = {"choices": [], "usage": USAGE}


def asking(server: ChatServer, waits: list[float] | None = None, **limits: Any) -> RemoteLLM:
    """A model on the server that notes its waits instead of waiting."""
    policy = RequestPolicy(**{"connect": 5.0, "read": 5.0, **limits})
    noted = [] if waits is None else waits
    return RemoteLLM(Endpoint(server.url, "small", KEY, policy), sleep=noted.append, jitter=lambda: 1.0)


def drained(stream: Generator[str, None, Completion]) -> tuple[list[str], Completion]:
    """The pieces of a stream and what it returned."""
    pieces: list[str] = []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return pieces, end.value


def test_answer() -> None:
    """A whole answer comes back with the endpoint's own figures; model, messages, limit and key went out."""
    with playing(answers("Salve")) as server:
        model: LLM = asking(server)
        done = model.complete(ASK, max_tokens=9)
    assert done == Completion("Salve", "small", 11, 3)
    path, headers, body = server.asked[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "small", "messages": ASK, "max_tokens": 9}


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "11", "completion_tokens": 3}, {"prompt_tokens": -1}])
def test_counted(usage: object) -> None:
    """Where the endpoint does not say what an answer cost, it is counted here and marked as not exact."""
    with playing(answers("Salve a tutti", usage=usage)) as server:
        done = asking(server).complete(ASK)
    assert (done.prompt_tokens, done.completion_tokens, done.tokens_exact) == (1 + 4, 4, False)


def test_tool_calls() -> None:
    """Tool calls pass through both ways, with an answer that says nothing else."""
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": 1}'}}
    sent = [*ASK, {"role": "assistant", "content": None, "tool_calls": [call]}]
    with playing(answers(None, message={"tool_calls": [call]})) as server:
        done = asking(server).complete(sent)
    assert done.text == ""
    assert done.tool_calls == (call,)
    assert server.asked[0][2]["messages"] == sent


def test_busy_then_answering() -> None:
    """A server that is busy is asked again after what it asks for, and one that fails after waits that double."""
    waits: list[float] = []
    with playing(fails(429, Retry_After="2"), fails(503), fails(500), answers("ok")) as server:
        assert asking(server, waits).complete(ASK).text == "ok"
    assert waits == [pytest.approx(2.05), 1.0, 2.0]


def test_giving_up() -> None:
    """After the last attempt the error names the model, the status and the remedy."""
    waits: list[float] = []
    with playing(fails(503)) as server, pytest.raises(LLMError, match=r"'small'.*503.*later"):
        asking(server, waits, attempts=3).complete(ASK)
    assert len(server.asked) == 3
    assert len(waits) == 2


def test_too_long_a_wait() -> None:
    """A server that asks for more patience than there is, is not asked again."""
    with playing(fails(429, Retry_After="86400")) as server, pytest.raises(LLMError, match="429"):
        asking(server).complete(ASK)
    assert len(server.asked) == 1


@pytest.mark.parametrize(("status", "remedy"), [(400, "request"), (401, "RICORDO_LLM_KEY"), (404, "address")])
def test_refused(status: int, remedy: str) -> None:
    """What would be refused again is asked once, and the error says what to mend."""
    play = fails(status, {"code": "no_such_thing", "message": f"bad {KEY}"})
    told = f"{status} .no_such_thing.: .*{remedy}"
    with playing(play) as server, pytest.raises(LLMError, match=told):
        asking(server).complete(ASK)
    assert len(server.asked) == 1


def test_redirects_are_not_followed() -> None:
    """The key goes to the address that was configured and nowhere else."""
    with playing(answers("elsewhere")) as other:
        with playing(fails(307, Location=other.url)) as server, pytest.raises(LLMError, match="307"):
            asking(server).complete(ASK)
        assert other.asked == []


def test_nobody_there() -> None:
    """A closed port is tried again, then reported as not reached."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waits: list[float] = []
    model = RemoteLLM(Endpoint(f"http://127.0.0.1:{port}/v1", "small", KEY), sleep=waits.append)
    with pytest.raises(LLMError, match="cannot be reached"):
        model.complete(ASK)
    assert len(waits) == 3


def hangs(handler: Handler) -> None:
    """Take the question and say nothing until the test ends."""
    handler.server.release.wait(30)


def hangs_up(handler: Handler) -> None:
    """Promise an answer, send half of it, close."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')


def test_silence() -> None:
    """A server that takes the question and falls silent is not asked again: it would double the longest wait."""
    with playing(hangs) as server:
        with pytest.raises(LLMError, match=r"nothing for 2 s"):
            asking(server, read=2.0).complete(ASK)
        assert len(server.asked) == 1


def test_half_an_answer() -> None:
    """A whole answer that breaks off is asked for again, because nobody has seen the half."""
    with playing(hangs_up, answers("whole")) as server:
        assert asking(server).complete(ASK).text == "whole"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>login</html>",
        b"[]",
        b"null",
        b'"text"',
        b'{"choices": []}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [{"message": {"content": "x", "tool_calls": ["y"]}}]}',
        b'{"choices": {"message": 1}}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
)
def test_rubbish(body: bytes) -> None:
    """Anything that is no chat completion is an LLMError that says what to check, and is asked for once."""
    with playing(says(body)) as server:
        with pytest.raises(LLMError, match="did not answer with a chat completion"):
            asking(server).complete(ASK)
        assert len(server.asked) == 1


def test_a_page_instead_of_a_stream() -> None:
    """A proxy's page is told as what it is, not as an answer that broke off."""
    with playing(says(b"<html>login</html>", "text/html; charset=utf-8")) as server:
        with pytest.raises(LLMError, match="did not answer with a chat completion") as failure:
            list(asking(server).stream(ASK))
        assert failure.value.cause == "failed"


def test_failure_in_an_answer() -> None:
    """A failure told with status 200 is a failure."""
    play = says(b'{"error": {"code": "overloaded", "message": "x"}}')
    with playing(play) as server, pytest.raises(LLMError, match="overloaded"):
        asking(server).complete(ASK)


def test_schema() -> None:
    """A schema is asked for in the protocol's own way."""
    with playing(answers('{"n": 1}')) as server:
        assert json.loads(asking(server).complete(ASK, schema=SCHEMA).text) == {"n": 1}
    asked = server.asked[0][2]["response_format"]
    assert asked["type"] == "json_schema"
    assert asked["json_schema"]["schema"] == SCHEMA


def test_schema_refused() -> None:
    """A server that does not know schemas is told the schema in words, and at once the next time."""
    with playing(fails(400), answers('{"n": 1}'), answers('{"n": 2}')) as server:
        model = asking(server)
        assert model.complete(ASK, schema=SCHEMA).text == '{"n": 1}'
        assert model.complete(ASK, schema=SCHEMA).text == '{"n": 2}'
    bodies = [body for _, _, body in server.asked]
    assert ["response_format" in body for body in bodies] == [True, False, False]
    assert all(json.dumps(SCHEMA) in body["messages"][-1]["content"] for body in bodies[1:])


def test_bad_request_is_not_blamed_on_the_schema() -> None:
    """A request that is refused without its schema too leaves the endpoint's name as one that knows schemas."""
    with playing(fails(400), fails(400), answers("{}")) as server:
        model = asking(server)
        with pytest.raises(LLMError, match="400"):
            model.complete(ASK, schema=SCHEMA)
        model.complete(ASK, schema=SCHEMA)
    assert "response_format" in server.asked[2][2]


def test_other_name_of_the_limit() -> None:
    """A server that wants the limit by its newer name gets it."""
    refusal = {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}
    with playing(fails(400, refusal), answers("ok")) as server:
        assert asking(server).complete(ASK, max_tokens=7).text == "ok"
    assert server.asked[1][2]["max_completion_tokens"] == 7
    assert "max_tokens" not in server.asked[1][2]


def test_stream() -> None:
    """A stream gives its pieces as they come and returns the whole with the endpoint's figures."""
    with playing(streams(delta("Sal"), delta("ve"), STOP, COST, "[DONE]")) as server:
        pieces, done = drained(asking(server).stream(ASK, max_tokens=5))
    assert pieces == ["Sal", "ve"]
    assert done == Completion("Salve", "small", 11, 3)
    assert server.asked[0][2] == {
        "model": "small",
        "messages": ASK,
        "max_tokens": 5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_stream_without_cost() -> None:
    """A stream that does not tell its cost is counted; one that stops without saying done has ended all the same."""
    with playing(streams(delta("Salve"), STOP)) as server:
        pieces, done = drained(asking(server).stream(ASK))
    assert pieces == ["Salve"]
    assert not done.tokens_exact
    assert done.completion_tokens == 2


def test_stream_options_refused() -> None:
    """A server that refuses to tell the cost of a stream is asked without it."""
    refusal = {"message": "unknown field stream_options"}
    with playing(fails(422, refusal), streams(delta("a"), STOP)) as server:
        assert drained(asking(server).stream(ASK))[0] == ["a"]
    assert "stream_options" not in server.asked[1][2]


def test_stream_of_tool_calls() -> None:
    """Tool calls that come in parts are put together."""

    def part(index: int, **function: str) -> dict[str, Any]:
        call = {"index": index, "function": function, **({"id": f"c{index}"} if "name" in function else {})}
        return {"choices": [{"delta": {"tool_calls": [call]}}]}

    parts = [part(0, name="find", arguments=""), part(0, arguments='{"q":'), part(1, name="b"), part(0, arguments="1}")]
    with playing(streams(*parts, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})) as server:
        _, done = drained(asking(server).stream(ASK))
    assert done.finish_reason == "tool_calls"
    assert [(call["id"], call["function"]) for call in done.tool_calls] == [
        ("c0", {"name": "find", "arguments": '{"q":1}'}),
        ("c1", {"name": "b"}),
    ]


def test_server_that_does_not_stream() -> None:
    """A whole answer where a stream was asked for is one piece."""
    with playing(answers("Salve")) as server:
        pieces, done = drained(asking(server).stream(ASK))
    assert pieces == ["Salve"]
    assert done.tokens_exact


def test_stream_broken_off() -> None:
    """A stream that breaks off is an error after the pieces that came, and is never asked for again."""
    with playing(streams(delta("Sal"))) as server:
        stream = asking(server).stream(ASK)
        assert next(stream) == "Sal"
        with pytest.raises(LLMError, match="broke off"):
            next(stream)
        assert len(server.asked) == 1


def test_busy_before_a_stream() -> None:
    """Before its first byte a stream is tried again like any request."""
    with playing(fails(429), streams(delta("a"), STOP)) as server:
        assert drained(asking(server).stream(ASK))[0] == ["a"]


def silent_stream(handler: Handler) -> None:
    """Begin to answer and fall silent."""
    handler.begin()
    handler.event(delta("Sal"))
    handler.server.release.wait(30)


def test_silent_stream() -> None:
    """A stream that falls silent is broken off here."""
    with playing(silent_stream) as server:
        stream = asking(server, read=2.0).stream(ASK)
        assert next(stream) == "Sal"
        with pytest.raises(LLMError, match="broke off"):
            next(stream)


@pytest.mark.parametrize("event", ["{rubbish", "[1]", "5"])
def test_rubbish_in_a_stream(event: str) -> None:
    """Events that are no JSON objects end a stream with an error."""
    with playing(streams(delta("Sal"), event)) as server:
        stream = asking(server).stream(ASK)
        assert next(stream) == "Sal"
        with pytest.raises(LLMError, match="not an answer"):
            next(stream)


def test_failure_in_a_stream() -> None:
    """A failure told in the middle of a stream is an error with its code."""
    play = streams(delta("Sal"), {"error": {"type": "server_error", "message": "x"}})
    with playing(play) as server, pytest.raises(LLMError, match="server_error"):
        drained(asking(server).stream(ASK))


def endless(handler: Handler) -> None:
    """Stream until nobody listens."""
    handler.begin()
    while True:
        handler.event(delta("and " * 100))


def test_closing_a_stream() -> None:
    """Closing a stream hangs up, which the server notices."""
    with playing(endless) as server:
        stream = asking(server).stream(ASK)
        next(stream)
        stream.close()
        assert server.hung_up.wait(10)
    gc.collect()


def test_keeping_alive() -> None:
    """Comments and other fields between events are passed over."""

    def play(handler: Handler) -> None:
        handler.begin()
        handler.wfile.write(b": ping\n\nevent: x\nid: 4\r\ndata: " + json.dumps(delta("a")).encode() + b"\r\n\r\n")
        handler.event(STOP)

    with playing(play) as server:
        assert drained(asking(server).stream(ASK))[0] == ["a"]


@pytest.mark.parametrize(
    "call", [lambda model: model.complete(ASK), lambda model: drained(model.stream(ASK))], ids=["whole", "stream"]
)
@pytest.mark.parametrize("play", [fails(401, {"message": KEY, "code": KEY}), fails(500, {"type": "a b"})])
def test_secrets(play: Any, call: Callable[[RemoteLLM], Any], caplog: pytest.LogCaptureFixture) -> None:
    """Neither the key nor what was said is in any error, representation or log line."""
    caplog.set_level(logging.DEBUG)
    with playing(play) as server:
        model = asking(server)
        with pytest.raises(LLMError) as refused:
            call(model)
    told = "".join([str(refused.value), repr(refused.value.__cause__), repr(model), caplog.text])
    assert KEY not in told
    assert "Ciao" not in told
    assert KEY not in repr(Endpoint(server.url, "small", KEY))


@pytest.mark.parametrize(
    ("url", "model", "key"),
    [
        ("ftp://host/v1", "m", None),
        ("host", "m", None),
        ("http://[bad", "m", None),
        ("http://host:port/v1", "m", None),
        ("https://me:pw@host/v1", "m", None),
        ("https://host/v1", "", None),
        ("https://host/v1", "m", "a\nb"),
    ],
)
def test_bad_addresses(url: str, model: str, key: str | None) -> None:
    """An address that cannot work is refused without repeating what may be secret in it."""
    with pytest.raises(LLMError) as refused:
        Endpoint(url, model, key)
    assert "pw" not in str(refused.value)


def test_query_in_the_address() -> None:
    """A query in the address stays at its end, and out of what is shown."""
    endpoint = Endpoint("https://host/deployments/x/?api-version=1&code=hidden", "m")
    assert endpoint.address.target == "/deployments/x/chat/completions?api-version=1&code=hidden"
    assert "hidden" not in endpoint.shown


def chunk(handler: Handler, data: bytes) -> None:
    """One piece of a body whose length is not known."""
    handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    handler.wfile.flush()


def chunked(*pieces: bytes, kind: str, ended: bool) -> Callable[[Handler], None]:
    """A body in pieces of its own, ended or broken off."""

    def play(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", kind)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for piece in pieces:
            chunk(handler, piece)
        handler.wfile.write(b"0\r\n\r\n" if ended else b"ff\r\nhalf")

    return play


def test_chunked_stream() -> None:
    """Events may be cut anywhere by the transport."""
    raw = b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in (delta("Sa"), delta("lve"), STOP))
    pieces = [raw[at : at + 7] for at in range(0, len(raw), 7)]
    with playing(chunked(*pieces, kind="text/event-stream", ended=True)) as server:
        assert drained(asking(server).stream(ASK))[0] == ["Sa", "lve"]


def test_chunked_stream_broken_off() -> None:
    """A chunked stream that breaks off is an error, not the end of an answer."""
    event = f"data: {json.dumps(delta('Sal'))}\n\n".encode()
    with playing(chunked(event, kind="text/event-stream", ended=False)) as server:
        stream = asking(server).stream(ASK)
        assert next(stream) == "Sal"
        with pytest.raises(LLMError, match="broke off"):
            next(stream)


def test_chunked_answer_broken_off() -> None:
    """A whole answer in pieces that breaks off is asked for again."""
    broken = chunked(b'{"choices"', kind="application/json", ended=False)
    with playing(broken, answers("whole")) as server:
        assert asking(server).complete(ASK).text == "whole"


def test_answer_without_end() -> None:
    """An answer that does not end is left when the time for a whole answer is over, and not asked for again."""

    def play(handler: Handler) -> None:
        handler.begin()
        while True:
            handler.wfile.write(b" " * 65_536)

    with playing(play) as server:
        with pytest.raises(LLMError, match="without end"):
            asking(server, total=0.1).complete(ASK)
        assert len(server.asked) == 1


def test_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment is used for other machines, and never for this one."""
    for name in ("no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with playing(answers("through")) as proxy, playing(answers("directly")) as server:
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1"))
        assert RemoteLLM(Endpoint("http://models.example/v1", "small")).complete(ASK).text == "through"
        assert asking(server).complete(ASK).text == "directly"
    assert proxy.asked[0][0] == "http://models.example:80/v1/chat/completions"
