"""One system and one task of the comparison, in a process of its own: JSON in on standard input, JSON out at its end.

Run by `bench/compare.py` with the Python that has the system's packages; imports nothing of this repository, except for
Ricordo itself. Every system is used through its public interface and as it is shipped; the peers get the embedder that
is named to them, since none of them brings one.
"""

import asyncio
import json
import os
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

KEPT = 50  # hits that are asked for
SHOWN = 3  # turns of a window
Unit = dict[str, Any]


class Ricordo:
    """As it is opened by default."""

    root, extras = "ricordo", ("embed",)

    def __init__(self, folder: Path, model: str) -> None:
        import ricordo

        self.memory = ricordo.open(folder / "ricordo.db")

    def add(self, owner: str, units: Sequence[Unit]) -> None:
        from ricordo.cli.evaluate import LabelledTalks

        self.ids: dict[str, str] = {}
        row = {
            "conv_id": owner,
            "units": units,
            "queries": [{"id": u["id"], "text": "", "gold": [u["id"]]} for u in units],
        }
        for each in LabelledTalks((row,)).put_into(self.memory):
            (message,) = each.expected
            self.ids[message] = each.id.partition(":")[2]
        self.memory.settle(600)

    def search(self, owner: str, question: str) -> list[str]:
        hits = self.memory.search(question, user_id=f"talk-{owner}", limit=KEPT)
        return [self.ids[hit.message_id] for hit in hits]

    def append(self, session: str, asked: str, answered: str) -> None:
        self.memory.session(session, user_id="anna").add_turn(asked, answered)

    def window(self, session: str) -> list[str]:
        return [each.content for each in self.memory.session(session, user_id="anna").window().messages]

    def history(self, session: str) -> list[str]:
        return [each.query for each in self.memory.session(session, user_id="anna").history()]

    def close(self) -> None:
        self.memory.close()


class Mem0:
    """Messages are kept as they are (`infer=False`): no language model is asked. Qdrant in a folder, its default."""

    root = "mem0ai"

    def __init__(self, folder: Path, model: str) -> None:
        os.environ |= {"MEM0_DIR": str(folder / "mem0"), "MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}
        from mem0 import Memory

        store = {"collection_name": "m", "embedding_model_dims": 384, "path": str(folder / "qdrant"), "on_disk": True}
        self.memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
                "embedder": {"provider": "huggingface", "config": {"model": model, "embedding_dims": 384}},
                "llm": {"provider": "openai", "config": {}},
            }
        )

    def add(self, owner: str, units: Sequence[Unit]) -> None:
        for unit in units:
            said = [{"role": "user", "content": f"{unit['role']}: {unit['text']}"}]
            self.memory.add(said, user_id=owner, metadata={"unit": unit["id"]}, infer=False)

    def search(self, owner: str, question: str) -> list[str]:
        found = self.memory.search(question, filters={"user_id": owner}, top_k=KEPT, threshold=0.0)["results"]
        return [each["metadata"]["unit"] for each in found]

    def append(self, session: str, asked: str, answered: str) -> None:
        turn = [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
        self.memory.add(turn, user_id="anna", run_id=session, infer=False)

    def _all(self, session: str) -> list[dict[str, Any]]:
        found = self.memory.get_all(filters={"user_id": "anna", "run_id": session}, top_k=1_000_000)["results"]
        return sorted(found, key=lambda each: str(each["created_at"]))

    def window(self, session: str) -> list[str]:
        return [each["memory"] for each in self._all(session)[-2 * SHOWN :]]

    def history(self, session: str) -> list[str]:
        return [each["memory"] for each in self._all(session) if each["role"] == "user"]

    def close(self) -> None:
        self.memory.vector_store.client.close()


class LlamaIndex:
    """Recall by VectorMemory over its default store, which is in memory; turns by Memory over SQLite."""

    root, asynchronous = "llama-index-core", True

    def __init__(self, folder: Path, model: str) -> None:
        from llama_index.core.llms import ChatMessage

        self.message, self.folder, self.model = ChatMessage, folder, model
        self.sessions: dict[str, Any] = {}

    def add(self, owner: str, units: Sequence[Unit]) -> None:
        from llama_index.core.memory import VectorMemory
        from llama_index.embeddings.huggingface import HuggingFaceEmbedding

        given = {"similarity_top_k": KEPT}
        self.vectors = VectorMemory.from_defaults(
            vector_store=None, embed_model=HuggingFaceEmbedding(self.model, device="cpu"), retriever_kwargs=given
        )
        self.vectors.batch_by_user_message = False
        self.ids: dict[str, str] = {}
        for unit in units:
            text = f"{unit['role']}: {unit['text']}"
            self.ids.setdefault(text, unit["id"])
            self.vectors.put(self.message(role="user", content=text))

    def search(self, owner: str, question: str) -> list[str]:
        return [self.ids[each.content] for each in self.vectors.get(question) if each.content in self.ids]

    def _session(self, session: str) -> Any:
        from llama_index.core.memory import Memory

        if session not in self.sessions:
            where = f"sqlite+aiosqlite:///{self.folder / 'memory.db'}"
            self.sessions[session] = Memory.from_defaults(
                session_id=session, async_database_uri=where, token_limit=2_000
            )
        return self.sessions[session]

    async def append(self, session: str, asked: str, answered: str) -> None:
        turn = [self.message(role="user", content=asked), self.message(role="assistant", content=answered)]
        await self._session(session).aput_messages(turn)

    async def window(self, session: str) -> list[str]:
        return [str(each.content) for each in (await self._session(session).aget())[-2 * SHOWN :]]

    async def history(self, session: str) -> list[str]:
        return [str(each.content) for each in await self._session(session).aget_all() if each.role == "user"]

    def close(self) -> None:
        self.sessions.clear()


class LangGraph:
    """Turns in the store over SQLite; recall by the store in memory, whose index needs no extension of SQLite."""

    root = "langgraph-checkpoint-sqlite"

    def __init__(self, folder: Path, model: str) -> None:
        from langgraph.store.sqlite import SqliteStore

        self.model = model
        self.opened = SqliteStore.from_conn_string(str(folder / "store.db"))
        self.store = self.opened.__enter__()
        self.store.setup()
        self.lock = threading.Lock()

    def add(self, owner: str, units: Sequence[Unit]) -> None:
        from langgraph.store.memory import InMemoryStore
        from sentence_transformers import SentenceTransformer

        encoder = SentenceTransformer(self.model, device="cpu")

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return encoder.encode(list(texts), normalize_embeddings=True).tolist()  # type: ignore[no-any-return]

        self.recalled = InMemoryStore(index={"dims": 384, "embed": embed, "fields": ["text"]})
        for unit in units:
            self.recalled.put((owner,), str(unit["id"]), {"text": f"{unit['role']}: {unit['text']}"})

    def search(self, owner: str, question: str) -> list[str]:
        return [each.key for each in self.recalled.search((owner,), query=question, limit=KEPT)]

    def append(self, session: str, asked: str, answered: str) -> None:
        self.store.put((session,), f"{time.time_ns()}-{threading.get_ident()}", {"asked": asked, "answered": answered})

    def window(self, session: str) -> list[str]:
        found = sorted(self.store.search((session,), limit=SHOWN), key=lambda each: each.key)
        return [each.value[kind] for each in found for kind in ("asked", "answered")]

    def history(self, session: str) -> list[str]:
        return [each.value["asked"] for each in self.store.search((session,), limit=1_000_000)]

    def close(self) -> None:
        self.opened.__exit__(None, None, None)


_SMALL = frozenset(
    [
        "a",
        "an",
        "the",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
        "of",
        "to",
        "in",
        "on",
        "at",
        "for",
        "with",
        "and",
        "or",
        "what",
        "when",
        "where",
        "who",
        "whom",
        "which",
        "why",
        "how",
        "her",
        "his",
        "he",
        "she",
        "it",
        "its",
        "they",
        "their",
        "them",
        "by",
        "from",
        "that",
        "this",
        "as",
        "about",
        "would",
        "could",
        "should",
        "will",
        "can",
    ]
)


class Bm25:
    """SQLite's own full-text search, by hand: no package, no embedder."""

    root = ""

    def __init__(self, folder: Path, model: str) -> None:
        self.lock = threading.Lock()
        self.file = sqlite3.connect(folder / "words.db", isolation_level=None, check_same_thread=False)
        self.file.execute("pragma journal_mode=wal")
        self.file.execute("pragma synchronous=full")
        self.file.execute("create virtual table if not exists said using fts5(id unindexed, text, tokenize='porter')")
        self.file.execute("create table if not exists turns(id integer primary key, session, asked, answered)")
        self.file.execute("create index if not exists of_session on turns(session, id)")

    def add(self, owner: str, units: Sequence[Unit]) -> None:
        rows = ((unit["id"], f"{unit['role']}: {unit['text']}") for unit in units)
        self.file.executemany("insert into said values(?, ?)", rows)

    def search(self, owner: str, question: str) -> list[str]:
        words = [each for each in re.findall(r"\w+", question.lower()) if each not in _SMALL] or ["x"]
        asked = " OR ".join(f'"{each}"' for each in words)
        found = self.file.execute("select id from said where said match ? order by bm25(said) limit ?", (asked, KEPT))
        return [str(row[0]) for row in found]

    def append(self, session: str, asked: str, answered: str) -> None:
        with self.lock:
            self.file.execute("insert into turns(session, asked, answered) values(?, ?, ?)", (session, asked, answered))

    def window(self, session: str) -> list[str]:
        newest = "select asked, answered from turns where session=? order by id desc limit ?"
        return [text for row in reversed(self.file.execute(newest, (session, SHOWN)).fetchall()) for text in row]

    def history(self, session: str) -> list[str]:
        return [row[0] for row in self.file.execute("select asked from turns where session=? order by id", (session,))]

    def close(self) -> None:
        self.file.close()


SYSTEMS: dict[str, Any] = {
    "ricordo": Ricordo,
    "mem0": Mem0,
    "llamaindex": LlamaIndex,
    "langgraph": LangGraph,
    "bm25": Bm25,
}


async def _done(found: Any) -> Any:
    return await found if asyncio.iscoroutine(found) else found


async def recall(system: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Take a talk in and answer its questions with the names of messages, best first."""
    begun = time.perf_counter()
    await _done(system.add(given["owner"], given["units"]))
    taken_in = time.perf_counter() - begun
    found, times = {}, []
    for question in given["questions"]:
        begun = time.perf_counter()
        found[question["id"]] = await _done(system.search(given["owner"], question["text"]))
        times.append(time.perf_counter() - begun)
    return {"found": found, "taken_in_s": taken_in, "ms": [1000 * each for each in times]}


async def times(system: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Append turns to one session; then ask for its window again and again."""
    added, shown = [], []
    for turn in given["turns"]:
        begun = time.perf_counter()
        await _done(system.append("s", *turn))
        added.append(1000 * (time.perf_counter() - begun))
    for _ in range(given["windows"]):
        begun = time.perf_counter()
        window = await _done(system.window("s"))
        shown.append(1000 * (time.perf_counter() - begun))
    return {"append_ms": added, "window_ms": shown, "right": window[-1] == given["turns"][-1][1]}


async def writers(system: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Many writers on one session: what was acknowledged, and which errors came."""
    kept: list[str] = []
    errors: list[str] = []

    def texts(writer: int) -> list[tuple[str, str]]:
        return [(f"writer {writer} turn {turn}", "noted " * 50) for turn in range(given["turns"])]

    await _done(system.append("s", "first", "noted"))  # tables and session exist before the clock starts
    begun = time.perf_counter()
    if getattr(system, "asynchronous", False):

        async def write(writer: int) -> None:
            for asked, answered in texts(writer):
                try:
                    await system.append("s", asked, answered)
                    kept.append(asked)
                except Exception as error:
                    errors.append(f"{type(error).__name__}: {error}"[:120])

        await asyncio.gather(*(write(writer) for writer in range(given["writers"])))
    else:

        def write_all(writer: int) -> None:
            for asked, answered in texts(writer):
                try:
                    system.append("s", asked, answered)
                    kept.append(asked)
                except Exception as error:
                    errors.append(f"{type(error).__name__}: {error}"[:120])

        threads = [threading.Thread(target=write_all, args=(writer,)) for writer in range(given["writers"])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {"kept": kept, "errors": errors, "seconds": time.perf_counter() - begun}


async def history(system: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The questions of the session, as a new process finds them."""
    return {"asked": list(await _done(system.history("s")))}


async def stop(system: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Append turns and end without closing anything."""
    for turn in given["turns"]:
        await _done(system.append("s", *turn))
    return {"kept": [turn[0] for turn in given["turns"]]}


TASKS: dict[str, Callable[..., Any]] = {
    "recall": recall,
    "times": times,
    "writers": writers,
    "history": history,
    "stop": stop,
}


def about(kind: Any) -> dict[str, Any]:
    """Version, and the installed size of the package with all that it needs, in bytes."""
    if not kind.root:
        return {"version": sqlite3.sqlite_version, "packages": 0, "bytes": 0}
    from packaging.requirements import Requirement

    def name_of(text: str) -> str:
        return re.sub(r"[-_.]+", "-", text).lower()

    seen: dict[str, int] = {}
    waiting = [(name_of(kind.root), ("", *getattr(kind, "extras", ())))]
    while waiting:
        name, extras = waiting.pop()
        if name in seen:
            continue
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        files = [Path(str(each.locate())) for each in found.files or ()]
        seen[name] = sum(each.stat().st_size for each in files if each.is_file())
        for text in found.requires or ():
            needed = Requirement(text)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append((name_of(needed.name), ("", *needed.extras)))
    version = metadata.version(kind.root)
    return {"version": version, "packages": len(seen), "bytes": sum(seen.values())}


def run_task() -> None:
    """`compare_systems.py SYSTEM TASK FOLDER MODEL`."""
    name, task, folder, model = sys.argv[1:5]
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no result
    if task == "about":
        found = about(SYSTEMS[name])
    else:
        given = json.load(sys.stdin)

        async def work() -> dict[str, Any]:
            system = SYSTEMS[name](Path(folder), model)
            done: dict[str, Any] = await TASKS[task](system, given)
            if task != "stop":
                system.close()
            return done

        found = asyncio.run(work())
    out.write(json.dumps(found))
    out.flush()
    os._exit(0)  # some clients leave threads behind


if __name__ == "__main__":
    run_task()
