"""Turns become rows: every message that says something, in its place, with what was stored beside it."""

from dataclasses import replace

from recall_samples import NOW, START

from ricordo.recall.index import OwnerIndex
from ricordo.recall.index_state import rows_of, speaker_of, text_to_index
from ricordo.recall.ranking import RecallQuestion, rank
from ricordo.records.turns import Message, Owner, Turn

QUESTION = Message("t:query", "user", "Anna: dove sono le chiavi?", START)
ANSWER = Message("t:response", "assistant", "Nel cassetto della cucina.", START, name="Marco")
TURN = Turn("t", Owner("app", "u"), "tutor", "s", 3, START, QUESTION, ANSWER)


def test_messages_stand_in_the_order_they_were_said() -> None:
    """Question before answer, each with its turn, session, agent and speaker."""
    rows = rows_of(TURN, topics={"t:query": "keys"}, tags=frozenset({"home"}))
    asked, answered = rows
    assert (asked.message_id, asked.turn_number, asked.position) == ("t:query", 3, 0)
    assert (answered.message_id, answered.turn_number, answered.position) == ("t:response", 3, 1)
    assert (asked.speaker, asked.topic_id, asked.agent_id) == ("Anna", "keys", "tutor")
    assert (answered.speaker, answered.topic_id, answered.tags) == ("Marco", None, frozenset({"home"}))


def test_the_name_is_part_of_what_is_indexed_once() -> None:
    """A name beside the message is put before its words; one in the text is not repeated."""
    assert speaker_of(QUESTION) == "Anna"
    assert text_to_index(QUESTION) == QUESTION.content
    assert text_to_index(ANSWER) == "Marco: Nel cassetto della cucina."


def test_open_and_silent_turns_have_fewer_rows() -> None:
    """A missing answer and a blank message have no row."""
    assert len(rows_of(replace(TURN, answer=None))) == 1
    assert len(rows_of(replace(TURN, answer=replace(ANSWER, content="  ")))) == 1


def test_a_turn_is_found_as_soon_as_it_is_there() -> None:
    """Rows need no vector to be found."""
    [hit, *_] = rank(OwnerIndex(8, rows_of(TURN)), RecallQuestion("dov'erano le chiavi in cucina?", NOW))
    assert hit.message_id in {"t:query", "t:response"}
