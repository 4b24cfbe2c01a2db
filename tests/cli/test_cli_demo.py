"""The demo: a whole story on the screen, or a server with a course; without a key or a network."""

import re
from pathlib import Path

import pytest
from cli_runs import Cli, Running

import ricordo
from ricordo.chat import Chat, ChatRequest
from ricordo.cli.story import LANGUAGES, lessons, suggestions
from ricordo.documents.library import Library
from ricordo.languages.text import guess_language
from ricordo.records.turns import library_of

WORDS = Path(__file__).resolve().parents[2] / "web" / "src"

STORIES = {
    "it": [
        "Approfondisci il punto 2",
        "understood as Approfondisci il punto 2 (Puntata, pane)",
        "points at turn 4, point 2: Puntata: l'impasto lievita in massa",
        "ask back Quale: pietra refrattaria o pentola di ghisa?",
        "understood as Dove la compro (pentola di ghisa)?",
    ],
    "en": [
        "Tell me more about point 2",
        "understood as Tell me more about point 2 (Bulk rise, bread)",
        "points at turn 4, point 2: Bulk rise: the whole dough ferments",
        "ask back Which one: baking stone or cast iron pot?",
        "understood as Where can I buy it (cast iron pot)?",
    ],
}


@pytest.mark.parametrize("language", STORIES)
def test_the_demo_tells_the_whole_story(bare: Cli, language: str) -> None:
    """Follow-up, budget, receipt with a dropped passage, recall, clarification, topics, proof."""
    ran = bare("demo", "--terminal", "--language", language)
    assert ran.code == 0
    assert ran.err == ""
    words = " ".join(ran.out.split())
    assert [each for each in STORIES[language] if each not in words] == []
    assert "of 420 tokens" in words
    assert "✓ kept turn 4, point 2 recalled" in words
    assert "over the limit of 6 chunks" in words
    assert "searched with light-256@1" in words
    assert "0.02 █░░░░░░░░░ 1 d short-term" in words
    assert "✓ identical, byte for byte" in words
    assert max(map(len, ran.out.splitlines())) <= 110


def test_the_demo_leaves_nothing_behind(bare: Cli, tmp_path: Path) -> None:
    """Without --db its file is temporary, whatever RICORDO_URL says."""
    bare("demo", "--terminal")
    assert list(tmp_path.iterdir()) == []


def test_the_demo_keeps_what_it_is_told_to_keep(cli: Cli) -> None:
    """With --db the talk can be explored with the other commands, and again after a second run."""
    assert cli("demo", "--terminal").code == 0
    assert cli("demo", "--terminal").code == 0
    assert [turn["turn_number"] for turn in cli("show", "-u", "anna", "--json").lines] == list(range(1, 11))
    assert len(cli("sessions", "-u", "anna", "--json").lines) == 4
    assert cli("verify").code == 0


def test_the_demo_as_json(bare: Cli) -> None:
    """Everything on the screen is there for a program."""
    told = bare("demo", "--terminal", "--json").document
    assert told["rebuilt_is_identical"] is True
    assert len(told["turns"]) == 8
    assert told["context"]["receipt"]["total_tokens"] <= 420
    assert told["context"]["references"][0]["turn_number"] == 4
    best = told["recalled"]["hits"][0]
    assert "220" in best["content"]
    assert best["session_id"] != told["session_id"]
    assert [option["name"] for option in told["asked_back"]["options"]] == ["pietra refrattaria", "pentola di ghisa"]
    assert told["topics"][0]["priority"] < 0.05 < told["topics"][-1]["priority"]


def test_the_demo_in_memory(bare: Cli) -> None:
    """It runs on the in-memory store too."""
    assert bare("demo", "--terminal", "--db", "memory:", "--budget", "1000").code == 0


def test_the_demo_suggests_questions_in_its_language() -> None:
    """What it suggests is asked in the language of its page, and the lessons of that language answer it."""
    for code in LANGUAGES:
        asked = suggestions(code)
        assert len(asked) == 3
        assert {guess_language(each) for each in asked} == {code}


def test_the_demo_serves_a_course_and_a_talk(running: Running, tmp_path: Path) -> None:
    """The address answers, from the lessons, in a talk of some days that taught it something of its user."""
    with running("demo", "--folder", str(tmp_path / "kept"), "--port", "0", "--json") as server:
        talks = server.get("/sessions")["items"]
        assert [talk["turn_count"] for talk in talks] == [4, 5, 5]
        assert [talk["ended_at"] is None for talk in talks] == [True, False, False]
        answer = server.post("/chat", {"query": "E nei bambini?", "session_id": talks[0]["id"]})
        assert "ustione" in answer["metadata"]["standalone"]
        assert "18 %" in answer["message"]
        assert "Si chiama Anna" in server.get("/profile")["key_facts"]
    assert (server.code, server.left) == (0, "")
    with running("demo", "--folder", str(tmp_path / "kept"), "--port", "0", "--json") as again:
        assert [talk["turn_count"] for talk in again.get("/sessions")["items"]] == [5, 5, 5]


def test_the_served_demo_leaves_nothing_behind(running: Running, tmp_path: Path) -> None:
    """Its temporary folder goes with it, also when it is told to stop."""
    with running("demo", "--port", "0", "--json", TMPDIR=str(tmp_path)) as server:
        assert [each.name for each in tmp_path.glob("ricordo-demo-*/demo.db")] == ["demo.db"]
    assert server.code == 0
    assert list(tmp_path.glob("ricordo-demo-*")) == []


def test_the_demo_refuses_two_places(bare: Cli) -> None:
    """It is either a folder or a database."""
    assert bare("demo", "--folder", "a", "--db", "b.db").code == 2


@pytest.mark.parametrize("language", STORIES)
def test_the_page_offers_questions_that_are_answered(language: str) -> None:
    """The start view asks for documents by their titles, of either language: each is answered from that document."""
    offered = re.findall(r'exampleTitled\d: "(.+)",', (WORDS / f"words.memory.{language}.ts").read_text())
    with ricordo.open("memory:") as memory:
        library = Library(memory, memory.store.documents)
        for each in lessons():
            library.add(library_of(memory.settings.tenant_id), each.title, each.text, "markdown", each.id)
        chat = Chat(memory, passages=library)
        asked = [(each.id, form.format(title=each.title)) for each in lessons() for form in offered]
        cited = [(lesson, chat.ask(ChatRequest(words, words)).metadata["citations"]) for lesson, words in asked]
    assert len(asked) == 18
    assert [lesson for lesson, ids in cited if not ids or not ids[0].startswith(lesson)] == []
