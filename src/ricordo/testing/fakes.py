"""Test doubles: a clock that you move, a store that you can make fail, and a language model with fixed answers."""

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

from ricordo.engine import Completion
from ricordo.errors import LLMError
from ricordo.records.derived import Fact, Flag, Source, Summary, Topic
from ricordo.records.service import ApiKey, Document, StoredChunk
from ricordo.records.turns import Block, Json, Message, Owner, Role, Turn, TurnVectors, message_id, open_turn
from ricordo.stores.archive.block import pack
from ricordo.stores.memory import MemoryStore
from ricordo.stores.protocols import Store

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class FakeClock:
    """A clock for tests: `now` is what you set, `advance` moves it."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def advance(self, step: timedelta | None = None, **parts: float) -> datetime:
        """Move on by a timedelta or by its parts (`hours=2`); returns the new now."""
        self._now += step if step is not None else timedelta(**parts)
        return self._now


PARTS = ("turns", "sessions", "topics", "vectors", "people", "documents", "keys", "jobs", "items")
LOCAL = ("health", "without_waiting", "sessions.notes")  # these never ask the database


class StoreProxy:
    """A store in front of another, to count calls or to make them fail.

    Override `turns_page` to replace `store.turns.page`, `erase` to replace `store.erase`, or `through` to wrap every
    method that asks the database; `inner` is the store behind.
    """

    def __init__(self, inner: Store | None = None) -> None:
        self.inner: Any = MemoryStore() if inner is None else inner

    def through(self, call: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """What to call for `call`, which is named like "turns.page" or "erase"."""
        return method

    def __getattr__(self, name: str) -> Any:
        if name in PARTS:
            return _PartProxy(self, name)
        found = getattr(self.inner, name)
        return self.through(name, found) if callable(found) and name not in LOCAL else found


class _PartProxy:
    def __init__(self, store: StoreProxy, part: str) -> None:
        self._store, self._part = store, part

    def __getattr__(self, name: str) -> Any:
        inner = getattr(getattr(self._store.inner, self._part), name)
        replaced = getattr(type(self._store), f"{self._part}_{name}", None)
        method = replaced.__get__(self._store) if replaced else inner
        call = f"{self._part}.{name}"
        return self._store.through(call, method) if callable(inner) and call not in LOCAL else method


Messages = Sequence[Mapping[str, Any]]
Answer = str | Completion | Exception | Callable[[Messages], str]


class ScriptedLLM:
    """Gives its answers in order, the last one for ever; an exception among them is raised, a function is called.

    `asked` holds the messages of every call. With a `gate` no call is answered before it is set; `waiting` is set once
    a call waits for it.
    """

    def __init__(
        self,
        *answers: Answer,
        name: str = "scripted",
        gate: threading.Event | None = None,
        patience: float = 60.0,
    ) -> None:
        self._answers = answers or ("",)
        self._name = name
        self._gate = gate
        self._patience = patience
        self._lock = threading.Lock()
        self.asked: list[list[dict[str, Any]]] = []
        self.waiting = threading.Event()
        self.closed = 0

    @property
    def name(self) -> str:
        return self._name

    def complete(
        self,
        messages: Messages,
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Completion:
        answer = self._next(messages)
        if self._gate is not None:
            self.waiting.set()
            if not self._gate.wait(self._patience):
                raise LLMError(f"model {self._name!r} was never let through its gate: set it")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        text = answer if isinstance(answer, str) else answer(messages)
        prompt = sum(len(str(message.get("content") or "").split()) for message in messages)
        return Completion(text, self._name, prompt, len(text.split()), tokens_exact=False)

    def stream(
        self, messages: Messages, *, max_tokens: int | None = None, options: Mapping[str, Any] | None = None
    ) -> Generator[str, None, Completion]:
        """Word by word; `closed` counts the streams that were left before their end."""
        whole = self.complete(messages, max_tokens=max_tokens)
        try:
            for word in whole.text.split(" ")[:1]:
                yield word
            for word in whole.text.split(" ")[1:]:
                yield " " + word
        except GeneratorExit:
            self.closed += 1
            raise
        return whole

    def _next(self, messages: Messages) -> Answer:
        with self._lock:
            self.asked.append([dict(message) for message in messages])
            return self._answers[min(len(self.asked), len(self._answers)) - 1]


def an_owner(user_id: str = "anna") -> Owner:
    """A user of a new tenant: examples that share a store never meet."""
    return Owner(f"tenant-{uuid4()}", user_id)


def a_turn(
    owner: Owner,
    query: str = "What is a fugue?",
    response: str | None = "A piece in which voices enter one after another.",
    *,
    session_id: str = "lesson",
    turn_id: str | None = None,
    agent_id: str = "tutor",
    created_at: datetime = START,
    metadata: Json | None = None,
) -> Turn:
    """A question and its answer; open when the response is None."""
    turn_id = turn_id or str(uuid4())
    question = Message(message_id(turn_id, "query"), "user", query, created_at, tokens=5)
    answer = None
    if response is not None:
        answer = Message(message_id(turn_id, "response"), "assistant", response, created_at, tokens=9)
    return Turn(turn_id, owner, agent_id, session_id, 0, created_at, question, answer, metadata=metadata or {})


def an_answer(text: str, created_at: datetime = START) -> Message:
    """The words of an answer that comes later."""
    return Message("", "assistant", text, created_at, tokens=3)


def a_message(
    owner: Owner, role: Role, content: str, *, session_id: str = "lesson", created_at: datetime = START, **more: object
) -> Turn:
    """A turn that carries one message, as `Store.add_message` takes it."""
    message = Message("", role, content, created_at, tokens=2, **more)  # type: ignore[arg-type]
    empty = Turn(str(uuid4()), owner, "tutor", session_id, 0, created_at, None, None)
    return open_turn(empty, message)


def a_topic(topic_id: str = "fugues", **fields: object) -> Topic:
    """A topic in working memory."""
    given = {"title": topic_id.title(), "centre": bytes(8), "created_at": START, "last_active_at": START, **fields}
    return Topic(topic_id, **given)  # type: ignore[arg-type]


def a_block(
    turns: Sequence[Turn], *, topic_id: str = "fugues", block_id: str | None = None, created_at: datetime = START
) -> Block:
    """Turns of one topic, packed together."""
    numbers = tuple(turn.turn_number for turn in turns)
    body = pack([message for turn in turns for message in turn.messages])
    return Block(block_id or str(uuid4()), topic_id, numbers, created_at, body)


def a_trace(turn: Turn, embedder: str = "small", body: bytes = b"vectors", words: bytes = b"words") -> TurnVectors:
    """What an embedder made of a stored turn, and its words."""
    return TurnVectors(turn.session_id, turn.turn_number, embedder, turn.checksum, body, words)


def a_source(turn: Turn) -> Source:
    """The question of a stored turn, quoted whole."""
    return Source(message_id(turn.id, "query"), turn.session_id, turn.query)


def a_fact(fact_id: str, *said_in: Turn, **fields: object) -> Fact:
    """A fact that was said in the given turns."""
    given = {
        "agent_id": "tutor", "kind": "place", "text": f"Lives in {fact_id}.", "about": "place:home",
        "digest": f"digest of {fact_id}", "language": "en", "sources": tuple(map(a_source, said_in)),
        "recorded_at": START, "valid_from": START, **fields,
    }  # fmt: skip
    return Fact(fact_id, **given)  # type: ignore[arg-type]


def a_summary(session_id: str = "lesson", last_turn: int = 1, **fields: object) -> Summary:
    """A condensed view of the first turns of a session."""
    given = {
        "id": str(uuid4()), "session_id": session_id, "agent_id": "tutor", "kind": "condensation",
        "text": "They spoke of fugues.", "first_turn": 1, "last_turn": last_turn, "topics": ("fugues",),
        "created_at": START, "tokens": 5, "counter": "", "made_by": "extractive", **fields,
    }  # fmt: skip
    return Summary(**given)  # type: ignore[arg-type]


def a_flag(subject_id: str = "turn:query", session_id: str = "lesson", **fields: object) -> Flag:
    """A message that looks like an order."""
    given = {
        "id": str(uuid4()), "subject": "message", "subject_id": subject_id, "session_id": session_id,
        "rules": ("imperative",), "origin": "user_said", "state": "flagged", "created_at": START, **fields,
    }  # fmt: skip
    return Flag(**given)  # type: ignore[arg-type]


def a_document(document_id: str = "primer", chunk_count: int = 0, **fields: object) -> Document:
    """A short text."""
    given = {
        "title": document_id.title(), "kind": "text", "digest": f"digest of {document_id}", "created_at": START,
        "chunk_count": chunk_count, "bytes": 12, **fields,
    }  # fmt: skip
    return Document(document_id, **given)  # type: ignore[arg-type]


def some_chunks(document_id: str = "primer", count: int = 2, **fields: object) -> list[StoredChunk]:
    return [
        StoredChunk(f"{document_id}#{n}", document_id, n, f"Passage {n}.", **fields)  # type: ignore[arg-type]
        for n in range(count)
    ]


def a_key(tenant_id: str, secret: str = "secret", **fields: object) -> ApiKey:
    digest = sha256(f"{tenant_id} {secret}".encode()).hexdigest()
    given = {"id": secret, "user_id": None, "name": "a program", "digest": digest, "created_at": START, **fields}
    return ApiKey(tenant_id=tenant_id, **given)  # type: ignore[arg-type]
