"""Damage, format by format: what cannot be read is told with its place, and everything around it goes in."""

import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from foreign_exports import (
    API_TALK,
    agents_database,
    chatgpt_talk,
    claude_message,
    claude_talk,
    langchain_database,
    libre_message,
    libre_talk,
    llama_store,
    mem0_database,
    node,
    webui_talk,
    write,
)
from test_import_run import bring, memory

OOPS = "{oops"  # no JSON


def listed(path: Path, values: list[Any], around: str = "[%s]") -> Path:
    """Values as a list, with one in the middle that is no JSON."""
    texts = [json.dumps(value) for value in values]
    path.write_text(around % ", ".join([*texts[:1], f"{OOPS}}}", *texts[1:]]), encoding="utf-8")
    return path


def lines(path: Path, values: list[Any]) -> Path:
    """Values as JSON lines, with one in the middle that is none."""
    texts = [json.dumps(value) for value in values]
    path.write_text("\n".join([*texts[:1], OOPS, *texts[1:]]) + "\n", encoding="utf-8")
    return path


def claude(name: str) -> dict[str, Any]:
    """A conversation of Claude's."""
    said = [("human", "Ciao"), ("assistant", "Ciao a te")]
    messages = [
        claude_message(f"{name}{n}", who, words, f"2025-03-01T09:0{n}:00Z") for n, (who, words) in enumerate(said)
    ]
    return claude_talk(messages, name)


def llama(path: Path) -> Path:
    """A chat store with a message that is none."""
    store = llama_store()
    store["store"]["anna"].insert(2, 17)
    return write(path, store)


def libre(path: Path) -> Path:
    """A folder of exports, one of them cut off."""
    path.mkdir()
    write(path / "a.json", libre_talk(recursive=False))
    (path / "b.json").write_text(json.dumps(libre_talk(recursive=True))[:200], encoding="utf-8")
    return path


def database(make: Callable[[Path], Path], statement: str) -> Callable[[Path], Path]:
    """A database with a row that is none."""

    def made(path: Path) -> Path:
        make(path)
        with closing(sqlite3.connect(path)) as opened, opened:
            opened.execute(statement, (OOPS,))
        return path

    return made


def own(path: Path) -> Path:
    """Our own export of two sessions."""
    with memory() as kept:
        for name in ("one", "two"):
            kept.session(name, user_id="anna").add_turn("Ciao", "Ciao a te")
        return lines(path, list(kept.export("anna")))


def webui(name: str) -> dict[str, Any]:
    """A chat of Open WebUI."""
    return {**webui_talk(), "id": name}


ROW = "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES ('s1', ?, '2025-05-01 08:30:00')"
NOTE = "INSERT INTO history VALUES ('h9', 'm9', NULL, NULL, ?, 'no date', NULL, 0)"
DAMAGED: dict[str, tuple[Callable[[Path], Path], int]] = {
    "chatgpt": (lambda path: listed(path, [chatgpt_talk("c1"), chatgpt_talk("c2")]), 2),
    "claude": (lambda path: listed(path, [claude("k1"), claude("k2")]), 2),
    "open-webui": (lambda path: listed(path, [webui("w1"), webui("w2")]), 4),  # each has a branch
    "librechat": (libre, 1),
    "chatbot-ui": (
        lambda path: listed(
            path, [{"id": n, "name": "x", "messages": API_TALK} for n in (1, 2)], '{"version": 4, "history": [%s]}'
        ),
        2,
    ),
    "sharegpt": (
        lambda path: listed(path, [{"conversations": [{"from": "human", "value": f"Ciao {n}"}]} for n in (1, 2)]),
        2,
    ),
    "messages": (lambda path: lines(path, [{"messages": API_TALK}, {"messages": API_TALK[1:]}]), 2),
    "llamaindex": (llama, 2),
    "langchain": (
        database(langchain_database, "INSERT INTO message_store (session_id, message) VALUES ('s1', ?)"),
        2,
    ),
    "openai-agents": (database(agents_database, ROW), 1),
    "ricordo": (own, 2),
}


@pytest.mark.parametrize("form", DAMAGED)
def test_the_rest_goes_in(tmp_path: Path, form: str) -> None:
    """Whatever the format, one damaged entry is one or more problems with a place, and all sound sessions come in."""
    make, sessions = DAMAGED[form]
    path = make(tmp_path / ("x" if form == "librechat" else "x.json"))
    with memory() as kept:
        report = bring(kept, path)
        assert report.format == form
        assert report.sessions_added == sessions
        assert report.problem_count["damaged"] >= 1
        assert all(problem.place.strip() for problem in report.problems)
        again = bring(kept, path)
        assert (again.sessions_added, again.turns_added) == (0, 0)
        assert kept.verify().ok


def test_a_note_of_mem0_that_says_nothing_is_no_memory(tmp_path: Path) -> None:
    """A row of mem0's history without words, of an unknown kind, brings nothing, and the others come."""
    path = database(mem0_database, NOTE)(tmp_path / "x.db")
    with memory() as kept:
        report = bring(kept, path)
        assert report.format == "mem0"
        assert report.turns_added == 2


def broken(talk: dict[str, Any], *path: str) -> dict[str, Any]:
    """A conversation with something among its messages that is none."""
    inner: Any = talk
    for step in path:
        inner = inner[step]
    inner.update({"odd": 17}) if isinstance(inner, dict) else inner.append(17)
    return talk


AMONG: dict[str, Any] = {
    "chatgpt": lambda: [broken(chatgpt_talk("c1"), "mapping")],
    "claude": lambda: [broken(claude("k1"), "chat_messages")],
    "open-webui": lambda: [broken(webui("w1"), "chat", "history", "messages")],
    "librechat": lambda: broken(libre_talk(recursive=False), "messages"),
    "chatbot-ui": lambda: {"version": 4, "history": [{"id": 1, "name": "x", "messages": [*API_TALK, 17]}]},
    "sharegpt": lambda: [{"conversations": [{"from": "human", "value": "Ciao"}, 17]}],
    "messages": lambda: {"messages": [*API_TALK, 17]},
}


@pytest.mark.parametrize("form", AMONG)
def test_what_is_no_message_is_told(tmp_path: Path, form: str) -> None:
    """A conversation comes in without the one thing among its messages that is none, and that thing is reported."""
    path = write(tmp_path / "x.json", AMONG[form]())
    with memory() as kept:
        report = bring(kept, path)
        assert report.format == form
        assert report.turns_added >= 1
        (problem,) = report.problems
        assert problem.kind == "damaged"
        assert "message" in problem.place


@pytest.mark.parametrize("packed", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_part_of_an_archive_that_does_not_unpack_is_told(tmp_path: Path, packed: int) -> None:
    """However an archive is packed, a part that was damaged on its way is a problem and the next part goes in."""
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", packed) as archive:
        archive.writestr("conversations-000.json", json.dumps([chatgpt_talk(f"c{n}") for n in range(50)]))
        archive.writestr("conversations-001.json", json.dumps([chatgpt_talk("sound")]))
    whole = bytearray(file.read_bytes())
    whole[100:106] = bytes(byte ^ 0xFF for byte in whole[100:106])
    file.write_bytes(whole)
    with memory() as found:
        report = bring(found, file)
    assert report.turns_added == 2
    assert [problem.place for problem in report.problems] == ["conversations-000.json"]


def test_a_part_whose_name_is_no_text_is_told(tmp_path: Path) -> None:
    """A name in an archive that is not the text it claims to be is a problem of that part."""
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("conversations-é.json", json.dumps([chatgpt_talk()]))
    whole = file.read_bytes()
    file.write_bytes(whole.replace("é".encode(), b"\xff\xff", 1))  # beside its content; the list at the end is sound
    with memory() as found:
        report = bring(found, file)
    assert (report.turns_added, report.problem_count) == (0, {"damaged": 1})


def test_a_session_whose_name_is_no_text_comes_like_the_others(tmp_path: Path) -> None:
    """Bytes that are no text in the name of a session are mended there and do not stop what follows."""
    file = agents_database(tmp_path / "agents.db")
    with memory() as found:
        sound = bring(found, file, dry_run=True)
        with closing(sqlite3.connect(file)) as database, database:
            database.execute(
                "INSERT INTO agent_messages (session_id, message_data) VALUES (CAST(x'00ff' AS TEXT), ?)",
                (json.dumps({"role": "user", "content": "Ciao"}),),
            )
        report = bring(found, file)
    assert report.sessions_added == sound.sessions_added + 1
    assert "damaged" not in report.problem_count


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([chatgpt_talk("c\ud800"), chatgpt_talk("sound")]).encode(),
        json.dumps(
            {"store": {name: [{"role": "user", "content": "Ciao"}] for name in ("Andrè", "Bruno")}}, ensure_ascii=False
        ).encode("latin-1"),
        json.dumps([{"memory": "Sails.", "user_id": name, "id": name} for name in ("\udcff", "bruno")]).encode(),
    ],
    ids=["chatgpt", "llamaindex", "mem0"],
)
def test_an_id_that_is_no_text_names_a_session_all_the_same(tmp_path: Path, content: bytes) -> None:
    """An id over there may hold bytes of another encoding: its talk comes in, once, and so does the next."""
    file = tmp_path / "export.json"
    file.write_bytes(content)
    with memory() as found:
        report, again = bring(found, file), bring(found, file)
    assert report.sessions_added == 2
    assert "mended" in report.problem_count
    assert "damaged" not in report.problem_count
    assert (again.turns_added, again.turns_known) == (0, report.turns_added)


@pytest.mark.parametrize(
    "talk",
    [
        claude_talk([claude_message("m", "human", f"words {n}", f"2025-03-01T09:0{n}:00Z") for n in range(4)]),
        claude_talk([claude_message("m", "human", f"words {n}", f"2025-03-01T09:0{n}:00Z", "") for n in range(4)]),
        {"conversationId": "l", "messages": [
            libre_message("m", None, f"words {n}", f"2025-03-01T09:0{n}:00Z", user=True) for n in range(4)
        ]},
        {"id": "w", "chat": {"messages": [{"id": "m", "role": "user", "content": f"words {n}"} for n in range(4)]}},
    ],
    ids=["claude", "claude-tree", "librechat", "open-webui"],
)  # fmt: skip
def test_messages_that_share_an_id_are_all_kept(tmp_path: Path, talk: dict[str, Any]) -> None:
    """An id that was given to several messages over there hides none of them, and twice is once all the same."""
    file = write(tmp_path / "export.json", talk)
    with memory() as found:
        bring(found, file)
        again = bring(found, file)
        spoken = {
            turn.query
            for session in found.sessions(user_id="anna")
            for turn in found.session(session.id, user_id="anna").history()
        }
    assert spoken == {f"words {n}" for n in range(4)}
    assert again.turns_added == 0


def test_a_talk_that_is_nested_too_deeply_is_told_so(tmp_path: Path) -> None:
    """Answers inside answers without end are not called an unknown format: what is wrong with the file is said."""
    message = '{"messageId": "m", "isCreatedByUser": true, "text": "x", "children": ['
    file = tmp_path / "deep.json"
    file.write_text(
        '{"conversationId": "l", "messagesTree": [' + message * 50_000 + "]}" * 50_000 + "]}", encoding="utf-8"
    )
    with memory() as found:
        (problem,) = bring(found, file).problems
    assert "nested too deeply" in problem.problem


def test_nodes_that_share_a_message_id_are_all_kept(tmp_path: Path) -> None:
    """Branches of a ChatGPT tree whose messages were given one id are branches all the same."""
    talk = chatgpt_talk("c", turns=1)
    talk["mapping"]["again"] = node("a0", "q0", "assistant", "another answer")
    talk["mapping"]["on"] = node("a0", "again", "user", "and then?")
    file = write(tmp_path / "export.json", [talk])
    with memory() as found:
        report, again = bring(found, file), bring(found, file)
        said = {
            message.content
            for session in found.sessions(user_id="anna")
            for turn in found.session(session.id, user_id="anna").history()
            for message in turn.messages
        }
    assert {"answer 0 of c", "another answer", "and then?"} <= said
    assert (again.turns_added, again.turns_known) == (0, report.turns_added)
