"""Anything at all as a file: nothing but documents and problems comes out, and every document can be imported."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from foreign_exports import (
    API_TALK,
    chatgpt_talk,
    claude_message,
    claude_talk,
    langchain_database,
    libre_talk,
    llama_store,
    webui_talk,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo.imports.conversation import Imported, ImportProblem
from ricordo.imports.json_stream import FORMATS, OWN
from ricordo.imports.read import detect, read
from ricordo.limits import Limits
from ricordo.turns.export import from_document

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10)
NAMES = st.sampled_from(
    ["mapping", "message", "author", "role", "content", "parts", "content_type", "parent", "messages", "chat_messages",
     "chat", "history", "conversationId", "messagesTree", "children", "text", "store", "tool_calls", "function",
     "metadata", "results", "memory", "conversations", "from", "value", "data", "type", "id", "create_time", "title"]
)  # fmt: skip
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=4), inner, max_size=5),
    max_leaves=20,
)
SOUND: dict[str, Any] = {
    "chatgpt": [chatgpt_talk()],
    "claude": [claude_talk([claude_message("m", "human", "Ciao", "2025-03-01T09:00:00Z", "x")])],
    "open-webui": [webui_talk()],
    "librechat": libre_talk(recursive=True),
    "messages": API_TALK,
    "llamaindex": llama_store(),
    "sharegpt": [{"conversations": [{"from": "human", "value": "Ciao"}]}],
    "chatbot-ui": {"version": 4, "history": [{"id": 1, "name": "x", "messages": API_TALK}]},
    "mem0": {"results": [{"id": "m", "memory": "x", "user_id": "u"}]},
}


def check(path: Path, form: str | None = None) -> None:
    """Read everything; what comes is a document that can be imported, or a problem with a place."""
    for found in read(path, form):
        assert isinstance(found, Imported | ImportProblem)
        if isinstance(found, ImportProblem):
            assert found.place
            assert found.problem
        elif found.format != OWN:
            from_document(found.document, "t", "anna", Limits())


@given(st.binary(max_size=300))
@SHARED
def test_random_bytes_are_refused_and_never_an_error(tmp_path: Path, content: bytes) -> None:
    """Whatever the bytes, also after the marks of an archive or a database."""
    for mark in (b"", b"PK\x03\x04", b"SQLite format 3\x00", b"\xff\xfe", b'[{"mapping": '):
        (tmp_path / "x").write_bytes(mark + content)
        detect(tmp_path / "x")
        check(tmp_path / "x")


@given(JSON, st.sampled_from(FORMATS))
@SHARED
def test_random_json_is_refused_and_never_an_error(tmp_path: Path, value: Any, form: str) -> None:
    """Whatever the JSON, also where the format is named."""
    (tmp_path / "x").write_text(json.dumps(value), encoding="utf-8")
    check(tmp_path / "x")
    check(tmp_path / "x", form)
    (tmp_path / "x").write_text(json.dumps([value, value]), encoding="utf-8")
    check(tmp_path / "x", form)


def bent(value: Any, data: st.DataObject) -> Any:
    """The value with one thing in it, anywhere, replaced by another."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 5)):
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: bent(value[key], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 5)):
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], bent(value[at], data), *value[at + 1 :]]
    return data.draw(JSON)


@given(st.sampled_from(sorted(SOUND)), st.data())
@settings(SHARED, max_examples=300)
def test_a_sound_export_with_one_wrong_value_is_survived(tmp_path: Path, form: str, data: st.DataObject) -> None:
    """A real shape in which one value is not what it should be gives documents and problems only."""
    (tmp_path / "x").write_text(json.dumps(bent(SOUND[form], data)), encoding="utf-8")
    check(tmp_path / "x", form)
    check(tmp_path / "x")


@given(st.lists(st.tuples(st.none() | st.integers() | st.text(max_size=5), JSON | st.binary(max_size=10)), max_size=5))
@SHARED
def test_random_rows_are_survived(tmp_path: Path, rows: list[tuple[Any, Any]]) -> None:
    """Rows that hold anything, under any session, give documents and problems only."""
    path = tmp_path / "x.db"
    path.unlink(missing_ok=True)
    langchain_database(path)
    with closing(sqlite3.connect(path)) as database, database:
        for session, message in rows:
            written = message if isinstance(message, bytes) else json.dumps(message)
            key = session if not isinstance(session, int) or abs(session) < 2**62 else 0
            database.execute("INSERT INTO message_store (session_id, message) VALUES (?, ?)", (key, written))
    check(path)


def test_a_database_with_a_trap_is_not_entered(tmp_path: Path) -> None:
    """A view that takes the place of a table is not read."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE VIEW message_store AS SELECT 1 AS id, 's' AS session_id, '{}' AS message")
    assert detect(path) is None
