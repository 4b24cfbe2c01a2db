"""A project is a scope inside a person's memory: sessions, search, recall, facts, contexts, export and import."""

from datetime import timedelta
from pathlib import Path

import pytest

import ricordo
from ricordo.memory import Memory
from ricordo.settings import Settings
from ricordo.stores.memory import MemoryStore

QUERY = "Which database does the service use?"


def memory_of(project: str = "") -> Memory:
    """A memory in memory with the light embedder."""
    return Memory(MemoryStore(), Settings().with_values({"embedder": "light", "project": project}))


def talk(memory: Memory) -> None:
    """Two projects that say different things about the same matter, and a talk outside of them."""
    blue = memory.session("blue-1", user_id="anna", project="blue")
    blue.add_turn("The service uses PostgreSQL as its database. My goal is to ship by May.", "Noted.")
    red = memory.session("red-1", user_id="anna", project="red")
    red.add_turn("The service uses MongoDB as its database. My goal is to sell the shop.", "Noted.")
    memory.session("home", user_id="anna").add_turn("My name is Anna and the database is for work.", "Hello.")
    memory.settle(30)


def test_sessions_search_and_facts_are_filtered_by_project() -> None:
    """Each filter shows the project's own and nothing of the other."""
    with memory_of() as memory:
        talk(memory)
        assert [each.id for each in memory.sessions(user_id="anna", project="blue")] == ["blue-1"]
        assert {hit.session_id for hit in memory.search(QUERY, user_id="anna", project="red")} == {"red-1"}
        assert {hit.session_id for hit in memory.search(QUERY, user_id="anna")} == {"blue-1", "red-1", "home"}
        told = " ".join(fact.text for fact in memory.facts("anna", project="blue"))
        assert "May" in told
        assert "shop" not in told
        assert [each["session"]["id"] for each in memory.export("anna", project="blue")] == ["blue-1"]


def test_a_context_recalls_its_own_project_alone() -> None:
    """The project of a session decides, whether the handle names it or the stored session has it."""
    with memory_of() as memory:
        talk(memory)
        for session in (
            memory.session("blue-2", user_id="anna", project="blue"),
            memory.session("blue-1", user_id="anna"),
        ):
            prompt = session.context(QUERY).prompt
            assert "PostgreSQL" in prompt
            assert "MongoDB" not in prompt
        everything = memory.session(user_id="anna").context(QUERY).prompt
        assert "PostgreSQL" in everything
        assert "MongoDB" in everything


def test_the_profile_of_a_project_keeps_the_person() -> None:
    """The name and what was said outside of every project travel; the other project's facts do not."""
    with memory_of() as memory:
        talk(memory)
        told = " ".join(memory.profile("anna", project="blue").key_facts)
        assert "Anna" in told
        assert "May" in told
        assert "shop" not in told


def test_the_setting_is_the_default_of_everything(tmp_path: Path) -> None:
    """With `project` set, sessions begin in it and reads see it alone; an empty name sees everything."""
    path = tmp_path / "a.db"
    with ricordo.open(path, project="blue", embedder="light") as blue:
        blue.session("one", user_id="anna").add_turn("We chose tabs for the database code.", "Fine.")
        blue.session("empty", user_id="anna").create(tags=["x"])
        assert blue.session("one", user_id="anna").info().project == "blue"
        assert blue.session("empty", user_id="anna").info().tags == ("x", "project:blue")
    with ricordo.open(path, project="red", embedder="light") as red:
        assert red.sessions(user_id="anna") == []
        assert list(red.search("tabs", user_id="anna")) == []
        assert {each.id for each in red.sessions(user_id="anna", project="")} == {"one", "empty"}
        red.session("two", user_id="anna").add_message("user", "Spaces it is.")
        assert [each.id for each in red.sessions(user_id="anna")] == ["two"]


def test_new_tags_do_not_take_a_session_out_of_its_project() -> None:
    """Setting tags keeps the project; naming another project moves the session."""
    with memory_of() as memory:
        session = memory.session("s", user_id="anna", project="blue")
        session.add_turn("Hello there.", "Hello.")
        assert session.update(tags=["a"]).tags == ("a", "project:blue")
        assert session.update(project="red").project == "red"
        assert session.update(tags=["b", "project:green"]).project == "green"
        assert session.update(project="").tags == ("b",)


def test_a_known_session_stays_in_its_project() -> None:
    """Writing to a session through a handle of another project does not move it."""
    with memory_of() as memory:
        memory.session("s", user_id="anna", project="blue").add_turn("One.", "Two.")
        memory.session("s", user_id="anna", project="red").add_turn("Three.", "Four.")
        assert memory.session("s", user_id="anna").info().project == "blue"


def test_an_import_puts_sessions_without_a_project_into_one() -> None:
    """Exported projects come back as they were; sessions of none join the one that is named."""
    with memory_of() as memory, memory_of("green") as other:
        talk(memory)
        other.import_documents(memory.export("anna"))
        found = {each.id: each.project for each in other.sessions(user_id="anna", project="")}
        assert found == {"blue-1": "blue", "red-1": "red", "home": "green"}


@pytest.mark.parametrize("name", ["   ", "a\0b", "x" * 241, 7])
def test_a_name_that_cannot_be_a_tag_is_refused(name: object) -> None:
    """The error names the field before anything is written."""
    with memory_of() as memory, pytest.raises(ricordo.ValidationError, match="project"):
        memory.session("s", user_id="anna", project=name)  # type: ignore[arg-type]


def test_a_session_that_cannot_be_read_recalls_nothing() -> None:
    """Without its project a context must not show what other projects said."""

    with memory_of() as memory:
        talk(memory)
        sessions = memory.store.sessions
        found = sessions.get
        try:
            sessions.get = lambda *_: (_ for _ in ()).throw(ricordo.StoreError("gone"))  # type: ignore[method-assign]
            context = memory.session("blue-2", user_id="anna", project="blue").context(QUERY)
        finally:
            sessions.get = found  # type: ignore[method-assign]
        assert "MongoDB" not in context.prompt
        assert context.receipt.degraded


def test_a_project_joins_the_other_filters() -> None:
    """A search by date and project together keeps both conditions."""
    with memory_of() as memory:
        talk(memory)
        tomorrow = memory.clock.now() + timedelta(days=1)
        assert list(memory.search(QUERY, user_id="anna", project="blue", after=tomorrow)) == []
