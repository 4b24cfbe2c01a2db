"""A server under load: many chats at once against a real process, and whether every turn was stored.

In: the number of chats, the duration, the database. Out: answers, errors, the time of everything but the answerer, and
the memory growth of the process. Afterwards every session is read back: each acknowledged turn must be stored once,
with its number. The answerer is an endpoint in this process that streams words slowly, as models do; with 0 seconds,
the reader. With `--turns` users are replaced after some turns, which shows memory leaks in a soak.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

_QUESTIONS = (
    "Che cos'è la fotosintesi?",
    "Quali sono i gradi di un'ustione?",
    "approfondisci il punto 2",
    "What is the Maillard reaction?",
    "continua",
    "E nei bambini?",
)
_WORDS = 40
SERVER_CORES = 2
SAMPLES = 8
_BESIDE_THE_ANSWER = ("load", "compose", "store")


@dataclass
class Outcome:
    """What a run gave. Times are milliseconds of everything but the answerer, memory from the start to the end."""

    chats: int
    seconds: float
    answers: int = 0
    errors: int = 0
    lost: int = 0
    misnumbered: int = 0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    wall_p99_ms: float = 0.0
    people: int = 0
    rss_mb: list[float] = field(default_factory=list)
    answers_by_then: list[int] = field(default_factory=list)
    kb_an_answer: float = 0.0  # in the second half
    problems: list[str] = field(default_factory=list)


def run(
    chats: int = 200,
    seconds: float = 60.0,
    url: str | None = None,
    answering: float = 4.0,
    turns: int = 0,
    samples: int = SAMPLES,
    curve: Path | None = None,
) -> Outcome:
    """Start a server, chat with it, read everything back, stop it. A model's answer takes `answering` seconds.

    After `turns` turns a new user takes the place of the old one; with 0 all users stay. The memory of the process is
    measured `samples` times, and each time written to `curve`, so that a soak that is stopped leaves its figures.
    """
    return asyncio.run(_run(chats, seconds, url, answering, turns, samples, curve))


async def _run(
    chats: int, seconds: float, url: str | None, answering: float, turns: int, samples: int, curve: Path | None
) -> Outcome:
    model = await asyncio.start_server(lambda reader, writer: _answer(reader, writer, answering), "127.0.0.1", 0)
    with tempfile.TemporaryDirectory(prefix="ricordo-load-") as folder:
        place = url or str(Path(folder) / "load.db")
        environment = {**os.environ, "RICORDO_SERVER_REQUESTS_PER_MINUTE": "1000000", "RICORDO_LOCALE": "it"}
        command = [sys.executable, "-m", "ricordo", "serve", "--db", place, "--no-auth", "--port", "0", "--json"]
        if answering:
            command += ["--llm", f"http://127.0.0.1:{model.sockets[0].getsockname()[1]}/v1#slow"]
        server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        )
        try:
            port = await asyncio.to_thread(_port, server)
            return await _talk(server.pid, port, chats, seconds, answering, turns, samples, curve)
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(server.wait, 30)
            server.kill()
            model.close()


def _apart(pid: int) -> None:
    """Pin the server to two cores and this process to the others, if there are more."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > SERVER_CORES:
        os.sched_setaffinity(pid, cores[:SERVER_CORES])
        os.sched_setaffinity(0, cores[SERVER_CORES:])


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """An endpoint that streams forty words over some seconds; requests without streaming are answered at once."""
    with suppress(OSError, asyncio.IncompleteReadError, ValueError):
        length = 0
        while (line := await reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            length = int(value) if name.lower() == "content-length" else length
        asked = json.loads(await reader.readexactly(length))
        if not asked.get("stream"):
            message = {"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
            writer.write(json.dumps(message).encode())
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            pause = seconds / _WORDS * random.uniform(0.5, 1.5)
            for word in range(_WORDS):
                await asyncio.sleep(pause)
                writer.write(_event({"content": f"parola{word} "}, None))
            writer.write(_event({}, "stop") + b"data: [DONE]\n\n")
        await writer.drain()
    writer.close()


def _event(delta: dict[str, str], finish: str | None) -> bytes:
    return f"data: {json.dumps({'choices': [{'delta': delta, 'finish_reason': finish}]})}\n\n".encode()


def _port(server: "subprocess.Popen[str]") -> int:
    assert server.stdout is not None
    for line in server.stdout:
        with suppress(ValueError):
            told = json.loads(line)
            if isinstance(told, dict) and "port" in told:
                return int(told["port"])
    raise RuntimeError("the server did not start; run `ricordo serve --no-auth` to see why")


async def _talk(
    pid: int, port: int, chats: int, seconds: float, pace: float, most: int, samples: int, curve: Path | None
) -> Outcome:
    outcome = Outcome(chats, seconds)
    from ricordo.cli.story import lessons

    first = _Client(port)
    for lesson in lessons():
        document = {"title": lesson.title, "text": lesson.text, "kind": "markdown", "id": lesson.id}
        await first.send("POST", "/documents?shared=1", document)
    await first.send("POST", "/chat", {"query": _QUESTIONS[0], "user_id": "first"})
    beside: list[float] = []
    wall: list[float] = []
    talks: dict[str, tuple[str, list[tuple[str, int | None]]]] = {}
    until = time.monotonic() + seconds
    chance = random.Random(1)

    async def place() -> None:
        await asyncio.sleep(chance.random() * pace)  # users do not all start at the same moment
        client = _Client(port)
        while time.monotonic() < until:
            outcome.people += 1
            await one(client, f"user-{outcome.people}")

    async def one(client: _Client, user: str) -> None:
        session = None
        turns: list[tuple[str, int | None]] = []  # no number: the answer said that it was not stored
        asked = 0
        while time.monotonic() < until and (not most or asked < most):
            body = {"query": _QUESTIONS[asked % len(_QUESTIONS)], "user_id": user, "session_id": session}
            asked += 1
            begun = time.perf_counter()
            try:
                status, answer = await client.send("POST", "/chat", body)
            except (OSError, asyncio.IncompleteReadError, ValueError) as error:
                status, answer = 0, {"detail": type(error).__name__}
                client.connect_anew()
            if status != 200:
                outcome.errors += 1
                outcome.problems.append(f"{status}: {answer.get('detail')}")
                continue
            known = answer["metadata"]
            session = answer["session_id"]
            turns.append((known["turn_id"], known["turn_number"]))
            timings = known["timings_ms"]
            beside.append(sum(timings.get(step, 0.0) for step in _BESIDE_THE_ANSWER))
            wall.append((time.perf_counter() - begun) * 1000)
            outcome.answers += 1
        if session:
            talks[user] = (session, turns)

    async def watch() -> None:
        begun = time.monotonic()
        for sample in range(samples + 1):
            await asyncio.sleep(max(0.0, begun + sample * seconds / samples - time.monotonic()))
            outcome.rss_mb.append(_rss(pid))
            outcome.answers_by_then.append(outcome.answers)
            if curve:
                line = f"{sample * seconds / samples:.0f},{outcome.answers},{outcome.people},{_rss(pid)},{_cpu(pid)}\n"
                with curve.open("a") as file:
                    file.write(line if sample else f"seconds,answers,users,rss_mb,cpu_seconds\n{line}")

    await asyncio.gather(watch(), *(place() for _ in range(chats)))
    first = _Client(port)  # the first connection was idle for too long
    for user, (session, turns) in talks.items():
        stored = await _stored(first, user, session)
        outcome.lost += sum(number is None or stored.get(turn_id) != number for turn_id, number in turns)
        outcome.misnumbered += sorted(stored.values()) != list(range(1, len(stored) + 1)) or len(stored) != len(turns)
    outcome.p50_ms, outcome.p99_ms = _percentile(beside, 50), _percentile(beside, 99)
    outcome.wall_p99_ms = _percentile(wall, 99)
    half, grown = outcome.answers_by_then[samples // 2], outcome.rss_mb[-1] - outcome.rss_mb[samples // 2]
    outcome.kb_an_answer = round(grown * 1024 / max(outcome.answers_by_then[-1] - half, 1), 2)
    outcome.problems = sorted(set(outcome.problems))[:10]
    return outcome


async def _stored(client: "_Client", user: str, session: str) -> dict[str, int]:
    """Every turn of a session by id, with its number."""
    found: dict[str, int] = {}
    after = 0
    while True:
        path = f"/sessions/{session}/messages?user_id={user}&limit=200&after={after}"
        _, page = await client.send("GET", path, None)
        if not page["items"]:
            return found
        found |= {turn["id"]: turn["turn_number"] for turn in page["items"]}
        after = page["items"][-1]["turn_number"]


class _Client:
    """One connection that is kept open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def connect_anew(self) -> None:
        """The connection is of no use any more."""
        self._streams = None

    async def send(self, method: str, path: str, body: Any) -> tuple[int, dict[str, Any]]:
        """A request, and what came back as JSON."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        await writer.drain()
        status = int((await reader.readline()).split()[1])
        length = 0
        while (line := await reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            length = int(value) if name.lower() == "content-length" else length
        return status, json.loads(await reader.readexactly(length))


def _rss(pid: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def _cpu(pid: int) -> float:
    """Seconds of processor time that the process has used."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return round((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), 1)
    return 0.0


def _percentile(times: Sequence[float], percent: int) -> float:
    ranked = sorted(times)
    return round(ranked[min(len(ranked) * percent // 100, len(ranked) - 1)], 1) if ranked else 0.0


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench load`: the load, and its verdict."""
    parser = argparse.ArgumentParser(prog="ricordo bench load", description=__doc__.split("\n")[0])
    parser.add_argument("--chats", type=int, default=200, help="chats at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="for how long; 3600 is a soak")
    parser.add_argument("--answering", type=float, default=4.0, help="seconds of a model's answer; 0: the reader")
    parser.add_argument("--turns", type=int, default=0, help="turns after which a new user comes; 0: all stay")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="how often the memory is measured")
    parser.add_argument("--curve", type=Path, help="a CSV file that gets each measurement at once")
    parser.add_argument("--url", help="a PostgreSQL; without it, a SQLite file of its own")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args(argv)
    outcome = run(
        options.chats,
        options.seconds,
        options.url,
        options.answering,
        options.turns,
        options.samples,
        options.curve,
    )
    if options.json:
        print(json.dumps(asdict(outcome)))
    else:
        table = Table("what", "figure")
        for name, value in asdict(outcome).items():
            table.add_row(name.replace("_", " "), str(value))
        Console().print(table)
    return int(bool(outcome.errors or outcome.lost or outcome.misnumbered))


if __name__ == "__main__":
    raise SystemExit(main())
