"""A chat whose database is away, or falls silent in the middle of a question: it answers as before."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from spool_samples import HASTY, Switched, spooled

from ricordo.chat.pipeline import Chat
from ricordo.chat.response import ChatRequest
from ricordo.documents.library import Library, library_of
from ricordo.errors import StoreUnavailable
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.records.turns import Owner
from ricordo.stores.memory import MemoryStore
from ricordo.stores.spool import SpooledStore
from ricordo.testing.fakes import a_turn, an_owner

TEXT = "# Fugues\n\nA fugue has a subject and an answer.\n\n# Canons\n\nA canon repeats one melody in every voice.\n"


@pytest.fixture
def database() -> Switched:
    """A database with a switch and a voice."""
    return Switched(MemoryStore())


@pytest.fixture
def store(database: Switched, tmp_path: Path) -> Iterator[SpooledStore]:
    """A spooled store before it."""
    store = spooled(lambda: database, tmp_path / "spool", HASTY)
    yield store
    database.up = True
    database.speak()
    store.close()


@pytest.fixture
def chat(store: SpooledStore) -> Chat:
    """A chat with a document, over the spooled store."""
    whole = store
    memory = Memory(whole, settings_from({"embedder": "light", "locale": "en"}, {}))
    library = Library(memory, whole.documents)
    library.add(library_of(memory.settings.tenant_id), "Counterpoint", TEXT)
    return Chat(memory, passages=library)


@pytest.mark.parametrize("how", ["away", "silent"])
def test_a_chat_goes_on_as_before(chat: Chat, database: Switched, how: str) -> None:
    """History and documents are there for the next questions, the turns are kept, and all is stored in the end."""
    first = chat.ask(ChatRequest("What does a fugue have?", "anna"))
    session_id = first.session_id
    second = chat.ask(ChatRequest("What does a canon repeat?", "anna", session_id=session_id))
    assert second.metadata["citations"]
    assert chat.memory.settle(20)
    if how == "away":
        database.up = False
    else:
        database.hush()
    third = chat.ask(ChatRequest("What does a fugue have besides a subject?", "anna", session_id=session_id))
    fourth = chat.ask(ChatRequest("What does a canon repeat in every voice?", "anna", session_id=session_id))
    assert [third.metadata["turn_number"], fourth.metadata["turn_number"]] == [3, 4]
    assert fourth.metadata["citations"]
    context = chat.memory.session(session_id, user_id="anna").context("And then?")
    assert "one melody" in str(context.messages)
    assert any("kept on disk" in note for note in third.metadata["degraded"])
    assert any("kept on disk" in note for note in fourth.metadata["degraded"])
    assert not any("history" in note or "chunks" in note for note in fourth.metadata["degraded"])
    database.up = True
    database.speak()
    assert chat.memory.store.settle(20)  # type: ignore[attr-defined]
    fifth = chat.ask(ChatRequest("What does a fugue have?", "anna", session_id=session_id))
    assert fifth.metadata["degraded"] == second.metadata["degraded"] == []
    kept = database.store.turns.page(Owner("default", "anna"), session_id)
    assert [turn.turn_number for turn in kept] == [1, 2, 3, 4, 5]
    assert [turn.response for turn in kept] == [each.message for each in (first, second, third, fourth, fifth)]


def test_notes_are_in_the_language_of_the_question(chat: Chat, database: Switched) -> None:
    """An Italian question during an outage is told so in Italian, whatever room noticed what is missing."""
    database.up = False
    told = chat.ask(ChatRequest("Che cosa ripete un canone in ogni voce?", "carla")).metadata["degraded"]
    assert any("tenuto su disco" in note for note in told)
    assert not any(word in note for note in told for word in (" is ", " are ", "database away", "unavailable"))


def test_whoever_is_in_a_hurry_is_told_at_once(store: SpooledStore, database: Switched) -> None:
    """What is not at hand is not waited for in a hurry, while nobody is answered or while writes wait."""
    anna = an_owner()
    store.turns.append(a_turn(anna, "first"))
    database.hush()
    with store.without_waiting(), pytest.raises(StoreUnavailable, match="just now"):
        store.topics.load(anna, "lesson")
    store.turns.append(a_turn(anna, "second"))
    assert store.health().spool.depth == 1
    with store.without_waiting(), pytest.raises(StoreUnavailable, match="overtake"):
        store.sessions.clear(anna, "lesson")


def test_a_talk_that_begins_while_the_database_is_away(chat: Chat, store: SpooledStore, database: Switched) -> None:
    """Its second question finds the first, though nothing is known of the person; who has time is told the truth."""
    database.up = False
    first = chat.ask(ChatRequest("What does a fugue have?", "bruno"))
    chat.ask(ChatRequest("And a canon?", "bruno", session_id=first.session_id))
    with store.without_waiting():
        context = chat.memory.session(first.session_id, user_id="bruno").context("Which of them?")
    assert "What does a fugue have?" in str(context.messages)
    assert "And a canon?" in str(context.messages)
    bruno = Owner("default", "bruno")
    for ask in (
        lambda: store.people.facts(bruno, "default"),
        lambda: store.people.flags(bruno),
        lambda: store.people.summaries(bruno),
        lambda: store.sessions.page(bruno, limit=3),
    ):
        with pytest.raises(StoreUnavailable):
            ask()


def test_what_is_kept_away_is_not_guessed(store: SpooledStore, database: Switched) -> None:
    """Of somebody of whom anything is at hand, flags that were never told are not taken for none."""
    anna = an_owner()
    store.turns.append(a_turn(anna, "first"))
    store.people.facts(anna, "default")
    database.up = False
    with store.without_waiting():
        assert store.people.facts(anna, "default").facts == ()
        with pytest.raises(StoreUnavailable):
            store.people.flags(anna, state="quarantined")
