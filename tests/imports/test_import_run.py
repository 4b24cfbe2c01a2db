"""Bringing in: once however often, only what is new, nothing written over, nothing written on a dry run."""

import copy
import json
import random
import zipfile
from collections.abc import Callable
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
    libre_talk,
    llama_store,
    mem0_database,
    node,
    webui_talk,
    write,
    write_lines,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ricordo
from ricordo.errors import ValidationError
from ricordo.imports import sources
from ricordo.imports.conversation import Imported
from ricordo.imports.read import detect, read
from ricordo.imports.run import ImportReport, import_path
from ricordo.safety.screen import origin_of
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing import FakeClock, MemoryStore

SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def memory(store: Any = None) -> ricordo.Memory:
    """An empty memory that only keeps, with a clock that stands still."""
    return ricordo.Memory(store or MemoryStore(), ricordo.Settings(), clock=FakeClock())


def everything(kept: ricordo.Memory, user_id: str = "anna") -> list[dict[str, Any]]:
    """All sessions of a user, as documents in a fixed order."""
    return sorted(kept.export(user_id), key=lambda document: document["session"]["id"])


def words(kept: ricordo.Memory) -> list[list[tuple[str, str]]]:
    """Who said what in each session, the sessions in a fixed order."""
    found = []
    for session in kept.sessions(user_id="anna", limit=100):
        turns = kept.session(session.id, user_id="anna").history()
        found.append([(message.role, message.content) for turn in turns for message in turn.messages])
    return sorted(found)


def bring(kept: ricordo.Memory, path: Path, **more: Any) -> ImportReport:
    """Bring a file in for Anna."""
    return import_path(kept, path, **{"user_id": "anna", **more})


MAKERS: dict[str, Callable[[Path], Path]] = {
    "chatgpt": lambda path: write(path, [chatgpt_talk("c1"), chatgpt_talk("c2", turns=5)]),
    "claude": lambda path: write(path, [claude_talk([claude_message("m", "human", "Ciao", "2025-03-01T09:00:00Z")])]),
    "open-webui": lambda path: write(path, [webui_talk()]),
    "librechat": lambda path: write(path, libre_talk(recursive=True)),
    "chatbot-ui": lambda path: write(path, {"version": 4, "history": [{"id": 1, "name": "x", "messages": API_TALK}]}),
    "sharegpt": lambda path: write(path, [{"conversations": [{"from": "human", "value": "Ciao"}]}]),
    "messages": lambda path: write_lines(path, API_TALK),
    "llamaindex": lambda path: write(path, llama_store()),
    "langchain": langchain_database,
    "openai-agents": agents_database,
    "mem0": mem0_database,
}


@pytest.mark.parametrize("form", MAKERS)
def test_twice_is_once(tmp_path: Path, form: str) -> None:
    """Whatever the format, the second time everything is known and nothing has changed; a dry run says as much."""
    path = MAKERS[form](tmp_path / "x.json")
    assert detect(path) == form
    with memory(SqliteStore(tmp_path / "m.db")) as kept:
        rehearsed = bring(kept, path, dry_run=True)
        assert not everything(kept)
        first = bring(kept, path)
        assert kept.settle(30)  # titles and topics come after
        before = everything(kept)
        second = bring(kept, path)
        assert kept.settle(30)
        assert first.format == form
        assert (rehearsed.sessions_added, rehearsed.turns_added) == (first.sessions_added, first.turns_added)
        assert first.turns_added > 0
        assert (second.sessions_added, second.turns_added, second.turns_known) == (0, 0, first.turns_added)
        assert first.problems == second.problems == ()
        assert everything(kept) == before
        assert bring(kept, path, dry_run=True).turns_known == first.turns_added
        assert kept.verify().ok


@st.composite
def talk_trees(draw: st.DrawFn) -> dict[str, Any]:
    """Any ChatGPT conversation: any tree of any roles, edited and asked again, dated or not."""
    size = draw(st.integers(1, 12))
    nodes = {}
    for n in range(size):
        parent = f"n{draw(st.integers(0, n - 1)) if draw(st.booleans()) else n - 1}" if n else None
        role = draw(st.sampled_from(["user", "assistant", "user", "assistant", "system", "tool"]))
        at = draw(st.none() | st.integers(1_600_000_000, 1_700_000_000).map(float))
        nodes[f"n{n}"] = node(f"n{n}", parent, role, f"words {n}", at)
    return {"id": "c", "title": "T", "mapping": nodes, "current_node": f"n{draw(st.integers(0, size - 1))}"}


@given(talk_trees())
@SHARED
def test_no_word_of_a_tree_is_lost(tmp_path: Path, talk: dict[str, Any]) -> None:
    """Every message of any tree is stored; what is stored again on a branch is only the turn it leaves in."""
    with memory() as kept:
        report = bring(kept, write(tmp_path / "x.json", [talk]))
        assert report.problems == ()
        stored = {content for session in words(kept) for _, content in session}
        assert stored == {f"words {n}" for n in range(len(talk["mapping"]))}
        assert bring(kept, tmp_path / "x.json").turns_added == 0


@given(talk_trees(), st.data())
@SHARED
def test_the_order_of_two_exports_does_not_lose_a_word(
    tmp_path: Path, talk: dict[str, Any], data: st.DataObject
) -> None:
    """First a part of a tree, seen from anywhere, then all of it, seen from elsewhere: all is stored, then known."""
    size = len(talk["mapping"])
    part = copy.deepcopy(talk)
    cut = data.draw(st.integers(1, size))
    part["mapping"] = {f"n{n}": part["mapping"][f"n{n}"] for n in range(cut)}
    part["current_node"] = f"n{data.draw(st.integers(0, cut - 1))}"
    with memory() as kept:
        bring(kept, write(tmp_path / "part.json", [part]))
        report = bring(kept, write(tmp_path / "whole.json", [talk]))
        assert report.problems == ()
        stored = {content for session in words(kept) for _, content in session}
        assert stored == {f"words {n}" for n in range(size)}
        before = everything(kept)
        assert bring(kept, tmp_path / "whole.json").turns_added == 0
        assert everything(kept) == before
        assert kept.verify().ok


@given(st.integers(1, 5), st.integers(1, 5))
@SHARED
def test_a_longer_talk_brings_only_what_is_new(tmp_path: Path, first: int, more: int) -> None:
    """What is known stays as it is, what is new is added after it, and the order is that of the talk."""
    with memory() as kept:
        bring(kept, write(tmp_path / "a.json", [chatgpt_talk(turns=first)]))
        (before,) = everything(kept)
        report = bring(kept, write(tmp_path / "b.json", [chatgpt_talk(turns=first + more)]))
        (after,) = everything(kept)
        assert (report.sessions_added, report.turns_added, report.turns_known) == (0, more, first)
        assert after["turns"][:first] == before["turns"]
        assert [turn["turn_number"] for turn in after["turns"]] == list(range(1, first + more + 1))
        assert [turn["question"]["content"] for turn in after["turns"]] == [
            f"question {n} of c1" for n in range(first + more)
        ]


def test_an_answer_that_came_later_completes_its_turn(tmp_path: Path) -> None:
    """A question that was stored unanswered gets its steps and its answer, and the talk goes on after it."""
    with memory() as kept:
        bring(kept, write(tmp_path / "x.json", API_TALK[:2]))
        longer = [*API_TALK, {"role": "user", "content": "And low water?"}]
        report = bring(kept, write(tmp_path / "x.json", longer))
        assert (report.turns_completed, report.turns_added, report.problems) == (1, 1, ())
        assert words(kept) == [
            [
                ("system", "You are brief."),
                ("user", "When is high water?"),
                ("assistant", ""),
                ("tool", "06:12"),
                ("assistant", "At 06:12."),
                ("user", "And low water?"),
            ]
        ]
        assert bring(kept, tmp_path / "x.json").turns_known == 3
        assert {turn["origin"] for turn in everything(kept)[0]["turns"]} == {"import"}


def test_changed_words_are_reported_and_left(tmp_path: Path) -> None:
    """Words that were changed over there are a problem with their place; what is new goes in all the same."""
    with memory() as kept:
        bring(kept, write(tmp_path / "x.json", [chatgpt_talk(turns=2)]))
        changed = chatgpt_talk(turns=3)
        changed["mapping"]["a0"]["message"]["content"]["parts"] = ["rewritten"]
        report = bring(kept, write(tmp_path / "x.json", [changed]))
        assert [(each.place, each.kind) for each in report.problems] == [("x.json, entry 1, turn 1", "changed")]
        assert (report.turns_added, report.turns_known) == (1, 1)
        assert words(kept)[0][1] == ("assistant", "answer 0 of c1")


def test_a_talk_that_went_on_here_is_not_mixed_with_what_went_on_there(tmp_path: Path) -> None:
    """Turns that were added over there after the talk was continued here come as a branch of it."""
    with memory() as kept:
        bring(kept, write(tmp_path / "x.json", [chatgpt_talk(turns=1)]))
        (session,) = kept.sessions(user_id="anna")
        kept.session(session.id, user_id="anna").add_turn("Said here", "Answered here")
        report = bring(kept, write(tmp_path / "x.json", [chatgpt_talk(turns=2)]))
        assert (report.sessions_added, report.turns_added) == (1, 1)
        other = next(each for each in kept.sessions(user_id="anna") if each.id != session.id)
        assert other.metadata["branch_of"] == session.id
        assert bring(kept, tmp_path / "x.json").turns_known == 2


def test_a_branch_that_became_the_current_one_is_not_stored_twice(tmp_path: Path) -> None:
    """Seen from another branch the same tree is the same turns."""
    talk = chatgpt_talk(turns=2)
    talk["mapping"]["b1"] = node("b1", "q1", "assistant", "another answer", 1_700_000_500.0)
    with memory() as kept:
        bring(kept, write(tmp_path / "x.json", [talk]))
        before = everything(kept)
        report = bring(kept, write(tmp_path / "x.json", [{**talk, "current_node": "b1"}]))
        assert (report.turns_added, report.turns_known) == (0, 3)
        assert everything(kept) == before


def test_the_same_talk_in_two_shards_is_one(tmp_path: Path) -> None:
    """Shards that overlap bring a talk once, also in a rehearsal."""
    path = write(tmp_path / "x.json", [chatgpt_talk(turns=2), chatgpt_talk(turns=3)])
    with memory() as kept:
        for dry_run in (True, False):
            report = bring(kept, path, dry_run=dry_run)
            assert (report.sessions_added, report.turns_added, report.turns_known) == (1, 3, 2)


def test_a_dry_run_writes_nothing_at_all(tmp_path: Path) -> None:
    """The database file is the same, byte for byte, and so is what is exported."""
    with memory(SqliteStore(tmp_path / "m.db")) as kept:
        bring(kept, write(tmp_path / "x.json", [chatgpt_talk(turns=1)]))
        assert kept.settle(30)
        before = everything(kept)
        report = bring(kept, write(tmp_path / "x.json", [chatgpt_talk(turns=3), chatgpt_talk("c2")]), dry_run=True)
        assert (report.dry_run, report.sessions_added, report.turns_added, report.turns_known) == (True, 1, 4, 1)
        assert everything(kept) == before


def test_a_damaged_entry_is_reported_and_the_rest_goes_in(tmp_path: Path) -> None:
    """Between two sound conversations a damaged one and one that is none are named with their places."""
    sound = [json.dumps(chatgpt_talk(name)) for name in ("c1", "c2")]
    path = tmp_path / "x.json"
    path.write_text(f'[{sound[0]}, {{"mapping": oops}}, 17, {sound[1]}]', encoding="utf-8")
    with memory() as kept:
        report = bring(kept, path)
        assert (report.sessions_added, report.turns_added) == (2, 4)
        assert [each.place for each in report.problems] == ["x.json, entry 2", "x.json, entry 3"]
        assert report.problem_count == {"damaged": 2}


def test_a_damaged_row_is_reported_and_the_rest_goes_in(tmp_path: Path) -> None:
    """A row of a database that is not JSON is named; the session comes without it."""
    import sqlite3
    from contextlib import closing

    path = langchain_database(tmp_path / "x.db")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO message_store (session_id, message) VALUES ('s1', '{oops'), ('s1', '[]')")
    with memory() as kept:
        report = bring(kept, path)
        assert report.turns_added == 2
        assert [each.place for each in report.problems] == [f"x.db, session 's1', row {n}" for n in (6, 7)]


def test_imported_words_are_never_trusted_like_an_operators(tmp_path: Path) -> None:
    """A system message of an import is stored as imported, which is less than what the user says."""
    with memory() as kept:
        bring(kept, write(tmp_path / "x.json", API_TALK))
        turn = kept.session(kept.sessions(user_id="anna")[0].id, user_id="anna").history()[0]
        assert (turn.steps[0].role, turn.origin) == ("system", "import")
        assert origin_of("system", turn.origin) == "import"


def test_notes_of_mem0_grow_at_the_end_and_make_no_facts(tmp_path: Path) -> None:
    """A memory that was changed is one more note; nothing is learned from notes."""
    listed = [{"id": "m1", "memory": "My name is Anna", "user_id": "u", "created_at": "2025-01-01T00:00:00Z"}]
    more = [{**listed[0], "memory": "My name is Anna Rossi"}, {**listed[0], "id": "m0", "memory": "I live in Rome"}]
    with memory() as kept:
        bring(kept, write(tmp_path / "x.json", listed))
        report = bring(kept, write(tmp_path / "x.json", [*more, *listed]))
        assert (report.turns_added, report.turns_known) == (2, 1)
        assert [content for _, content in words(kept)[0]] == [
            "My name is Anna",
            "My name is Anna Rossi",
            "I live in Rome",
        ]
        kept.settle(30)
        assert kept.facts("anna") == []


# Our own export

SAYINGS = st.lists(st.sampled_from(["turn", "ask", "system", "tool", "Bob"]), max_size=6)


@given(st.lists(SAYINGS, min_size=1, max_size=3), st.booleans())
@SHARED
def test_our_own_export_comes_back_as_it_was(tmp_path: Path, talks: list[list[str]], lines: bool) -> None:
    """Exported and brought in elsewhere by somebody who trusts it, every session is the same, in JSON and in lines."""
    with memory() as kept, memory() as other:
        for n, sayings in enumerate(talks):
            session = kept.session(f"s{n}", user_id="anna")
            session.create(title=f"T{n}")
            for said in sayings:
                if said == "turn":
                    session.add_turn("Asked", "Answered", metadata={"k": 1}, chunk_ids=["c"])
                elif said == "ask":
                    session.ask("Open")
                else:
                    session.add_message(said, "Words")
        documents = everything(kept)
        path = write_lines(tmp_path / "x", documents) if lines else write(tmp_path / "x", documents)
        assert detect(path) == "ricordo"
        assert [each.document for each in read(path) if isinstance(each, Imported)] == documents
        report = import_path(other, path, user_id=None, trusted=True)
        assert report.problems == ()
        assert everything(other) == documents
        again = import_path(other, path, user_id=None, trusted=True)
        assert (again.turns_added, again.turns_known) == (0, report.turns_added)


def test_our_own_export_from_somebody_else_is_an_import(tmp_path: Path) -> None:
    """Unless it is trusted, what a document calls said here counts as imported."""
    with memory() as kept, memory() as other:
        kept.session("s", user_id="anna").add_turn("Asked", "Answered")
        path = write_lines(tmp_path / "x", everything(kept))
        assert bring(other, path, dry_run=True).turns_added == 1
        assert not everything(other)
        bring(other, path)
        assert everything(other)[0]["turns"][0]["origin"] == "import"


# Refusals


def test_whose_they_are_has_to_be_said(tmp_path: Path) -> None:
    """A foreign file without a user is refused at its first conversation, and a name that is not for users at once."""
    path = write(tmp_path / "x.json", [chatgpt_talk()])
    with memory() as kept:
        with pytest.raises(ValidationError, match="does not name a user"):
            import_path(kept, path, user_id=None)
        with pytest.raises(ValidationError, match="reserved prefix"):
            import_path(kept, path, user_id="ricordo:library")
        assert list(kept.store.owners("default")) == []


def test_a_file_that_is_not_there_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    """Both are named before anything is read."""
    with memory() as kept:
        with pytest.raises(ValidationError, match="does not exist"):
            bring(kept, tmp_path / "missing.json")
        with pytest.raises(ValidationError, match="use auto or one of"):
            bring(kept, write(tmp_path / "x.json", []), format="wechat")


def test_a_file_of_no_known_format_is_told(tmp_path: Path) -> None:
    """What is not recognised is a problem that names the formats."""
    path = tmp_path / "x.txt"
    path.write_text("Dear diary", encoding="utf-8")
    with memory() as kept:
        report = bring(kept, path)
        assert report.format == "unknown"
        assert "is in no known format" in report.errors[0]


def test_an_archive_that_swells_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member that unpacks to far more than it should is given up with what was read before."""
    monkeypatch.setattr(sources, "UNCHECKED_BYTES", 100_000)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        first = json.dumps(chatgpt_talk())
        archive.writestr("conversations.json", f"[{first}, " + " " * 5_000_000 + f"{first}]")
    with memory() as kept:
        report = bring(kept, tmp_path / "x.zip")
        assert "unpacks to far more" in " ".join(report.errors)


def test_a_damaged_archive_is_told(tmp_path: Path) -> None:
    """A zip whose bytes were changed is a problem and never an error."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([chatgpt_talk(f"c{n}") for n in range(50)]))
    whole = bytearray((tmp_path / "x.zip").read_bytes())
    chance = random.Random(7)
    with memory() as kept:
        for _ in range(40):
            bent = bytearray(whole)
            for _ in range(3):
                bent[chance.randrange(len(bent))] ^= 1 << chance.randrange(8)
            (tmp_path / "y.zip").write_bytes(bent)
            bring(kept, tmp_path / "y.zip")


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    """Bytes done never go back and end at all of them."""
    heard: list[tuple[int, int]] = []
    path = write(tmp_path / "x.json", [chatgpt_talk(f"c{n}") for n in range(50)])
    with memory() as kept:
        bring(kept, path, progress=lambda done, total: heard.append((done, total)))
    assert heard == sorted(heard)
    assert heard[-1] == (path.stat().st_size, path.stat().st_size)
