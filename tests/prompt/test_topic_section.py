"""The active topic in the prompt: its summary and messages, also when the window has moved on to something else."""

from typing import Any

import pytest

import ricordo
from ricordo.errors import StoreError, ValidationError
from ricordo.prompt.context import Context
from ricordo.recall.embedders import EmbedderError
from ricordo.recall.embedders.light import LightEmbedder
from ricordo.settings import Settings
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.fakes import StoreProxy

RISOTTO = [
    ("Come si cuoce il risotto alla milanese?", "Tosta il riso, sfuma con il vino e aggiungi il brodo caldo."),
    ("Quanto brodo serve per il risotto?", "Circa un litro di brodo per 320 grammi di riso."),
    ("E lo zafferano quando si mette nel risotto?", "Lo zafferano si scioglie nel brodo a fine cottura."),
    ("Come si manteca il risotto senza burro?", "Il risotto si manteca con olio e parmigiano."),
]
BICYCLE = [
    ("Come si cambia la catena della bicicletta?", "Serve uno smagliacatena: apri il perno e sfila la catena."),
    ("Ogni quanti chilometri va cambiata la catena della bici?", "Tra 3000 e 5000 chilometri."),
    ("Che olio uso per la catena della bicicletta?", "Un lubrificante secco d'estate e umido d'inverno."),
    ("Come si regolano i freni della bicicletta?", "Con la vite sul manettino si tende il cavo."),
]
BACK = "Torniamo al risotto: che vino uso per sfumare il risotto?"


def memory(store: Any = None, embedder: Any = None, **settings: Any) -> ricordo.Memory:
    """A memory with a clock that stands still and an embedder that needs no weights."""
    chosen = Settings().with_values({"recall_messages": 0, **settings})
    return ricordo.Memory(store or MemoryStore(), chosen, clock=FakeClock(), embedder=embedder or LightEmbedder())


def talk(session: ricordo.Session, *parts: list[tuple[str, str]]) -> None:
    """Say some turns and wait until they have their topics."""
    for query, response in [turn for part in parts for turn in part]:
        session.add_turn(query, response)
    assert session.topics().degraded == ()


def topic_items(context: Context) -> list[str]:
    """The ids of what the topic section keeps."""
    return [item.id for item in context.receipt.kept if item.section == "topic"]


def system_text(context: Context) -> str:
    """The system message."""
    return str(context.messages[0]["content"])


def test_coming_back_to_a_topic_brings_it_back_into_the_prompt() -> None:
    """The window holds the bicycle; a question about the risotto brings the risotto's messages, and names its topic."""
    session = memory().session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    context = session.context(BACK)
    risotto = session.topics()[0]
    assert context.topic == (risotto.id, risotto.title)
    assert topic_items(context)[0] == risotto.id
    assert context.receipt.sections["topic"] > 0
    for query, response in RISOTTO:
        assert query in system_text(context)
        assert response in system_text(context)
        assert query in context.prompt
    assert {item.reason for item in context.receipt.kept if item.section == "topic"} == {"topic"}


def test_the_active_topic_speaks_when_the_window_has_moved_on() -> None:
    """A long talk about one thing: the turns before the window stand in the topic section, those in it do not."""
    session = memory().session(user_id="anna")
    talk(session, RISOTTO)
    context = session.context("Quanto riso serve per il risotto?")
    history = [item.id for item in context.receipt.kept if item.section == "history"]
    assert topic_items(context)[1:] == [session.history()[0].id]
    assert not set(topic_items(context)) & set(history)


def test_a_new_subject_brings_no_topic() -> None:
    """What was never talked about belongs to no topic yet."""
    session = memory().session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    context = session.context("Quali documenti servono per il passaporto elettronico?")
    assert context.topic is None
    assert not any(item.section == "topic" for item in context.receipt.items)


def test_a_follow_up_stays_in_the_active_topic() -> None:
    """A question that leans on the talk keeps the topic of the last turn."""
    session = memory().session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    context = session.context("Dimmi di più")
    assert context.topic is not None
    assert context.topic[0] == session.topic().id


def test_archived_messages_come_back_with_their_summary() -> None:
    """What a topic has archived is read for the prompt, and its summary stands before it."""
    session = memory(max_messages_per_topic=4, recent_message_keep=2).session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    risotto = session.topics()[0]
    assert risotto.archived_count
    assert risotto.summary
    context = session.context(BACK)
    assert risotto.summary in system_text(context)
    assert RISOTTO[0][1] in system_text(context)


def test_the_topic_keeps_its_share_and_the_limit() -> None:
    """A small budget keeps the newest turns of the topic; every larger one keeps a superset."""
    session = memory().session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    before: set[str] = set()
    for limit in range(60, 900, 60):
        context = session.context(BACK, budget=limit, chunks=["materiale " * 40] * 4)
        assert context.receipt.total_tokens <= limit
        kept = {f"{item.section}:{item.id}" for item in context.receipt.kept}
        assert before <= kept
        before = kept
    assert any(each.startswith("topic:") for each in before)


def test_what_recall_found_in_the_topic_is_told_once_and_first() -> None:
    """A recalled message of the topic stands in the topic section alone, before the newer turns of it."""
    session = memory(recall_messages=5).session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    context = session.context(BACK)
    turns = [item.id for item in context.receipt.items if item.section == "topic"][1:]
    recalled = {item.id.partition(":")[0] for item in context.receipt.items if item.section == "recalled"}
    assert len(turns) == len(RISOTTO)
    assert not recalled & set(turns)
    assert turns[0] == session.history()[0].id
    assert context.prompt.count(RISOTTO[0][0]) == 1


def test_a_quarantined_message_is_not_told_by_its_topic() -> None:
    """A message that is kept out of prompts is missing from the topic, and so is a summary that was made of it."""
    kept = memory(max_messages_per_topic=4, recent_message_keep=2)
    session = kept.session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    kept.forget_message(session.history()[0].messages[0].id, user_id="anna")
    context = session.context(BACK)
    assert "milanese" not in str(context.messages)
    assert RISOTTO[1][1] in system_text(context)


def test_a_context_with_a_topic_is_rebuilt() -> None:
    """The receipt gives back the prompt to the byte after the topic has moved on."""
    session = memory().session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    context = session.context(BACK)
    turn = session.add_turn(BACK, "Un bianco secco.")
    talk(session, BICYCLE)
    again = session.rebuild(turn.turn_number)
    assert (again.messages, again.prompt) == (context.messages, context.prompt)


def test_topics_that_are_off_have_no_section() -> None:
    """Where nothing is organised, no topic is asked for."""
    session = memory(organise="off").session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    assert session.context(BACK).topic is None


class Failing(LightEmbedder):
    """An embedder that fails when it is told to."""

    broken = False

    def embed_passages(self, texts: Any) -> Any:
        if self.broken:
            raise EmbedderError("no answer")
        return super().embed_passages(texts)


def test_a_failing_embedder_leaves_the_active_topic() -> None:
    """Without a vector it cannot be told where the question belongs: the active topic is taken, and it is said."""
    embedder = Failing()
    session = memory(embedder=embedder).session(user_id="anna")
    talk(session, RISOTTO, BICYCLE)
    embedder.broken = True
    context = session.context(BACK)
    assert context.topic is not None
    assert context.topic[0] == session.topic().id
    assert any("topic" in note for note in context.receipt.degraded)


class Damaged(StoreProxy):
    """A store that cannot read topics."""

    def topics_load(self, *_: Any) -> Any:
        raise StoreError("topics are damaged")


def test_the_chat_goes_on_when_topics_cannot_be_read() -> None:
    """A store that fails for topics costs the section alone; the receipt says so."""
    store = MemoryStore()
    talk(memory(store).session("s", user_id="anna"), RISOTTO, BICYCLE)

    session = memory(Damaged(store)).session("s", user_id="anna")
    context = session.context(BACK)
    assert context.topic is None
    assert any("topics are damaged" in note for note in context.receipt.degraded)
    assert any(item.section == "history" for item in context.receipt.kept)


def test_importance_given_with_a_turn_is_its_topics() -> None:
    """The last importance that was said for a topic holds; a turn without one leaves it."""
    session = memory().session(user_id="anna")
    session.add_turn(*RISOTTO[0], importance=0.4)
    session.add_turn(*RISOTTO[1])
    assert session.topic().read().importance == 0.4
    session.ask(BICYCLE[0][0], importance=0.9).answer(BICYCLE[0][1])
    assert session.topic().read().importance == 0.9
    assert session.topics()[0].importance == 0.4


@pytest.mark.parametrize("importance", [-0.1, 1.1, float("nan"), True, "high"])
def test_an_importance_out_of_range_is_refused_by_name(importance: Any) -> None:
    """Importance goes from 0 to 1, and nothing is stored of a turn that is refused."""
    session = memory().session(user_id="anna")
    with pytest.raises(ValidationError, match="importance"):
        session.add_turn("Domanda?", "Risposta.", importance=importance)
    assert session.history() == []


def test_metadata_that_happens_to_be_called_importance_is_not_obeyed_blindly() -> None:
    """Only a number from 0 to 1 says how important a topic is."""
    session = memory().session(user_id="anna")
    session.add_turn(*RISOTTO[0], metadata={"importance": "high"})
    assert session.topic().read().importance == 1.0
