"""A turn finds its topic by its subject, read from question and answer."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.recall.embedders.light import LightEmbedder
from ricordo.records.derived import Topic
from ricordo.topics.assign import TopicMessage
from ricordo.topics.subjects import (
    FIRST_TURNS,
    RECENT_TURNS,
    KnownTopic,
    TopicTurn,
    decide_turn,
    form_of,
    is_polite,
    manner_of,
    observe,
    small_talk_of,
    turns_compared,
)
from ricordo.topics.thresholds import SubjectScale, first_centre, known_embedders, moved_centre, scale_for

NOW = datetime(2024, 6, 1, tzinfo=UTC)
EMBEDDER = LightEmbedder()
MEASURED = scale_for(EMBEDDER.name).subjects
assert MEASURED is not None
SCALE: SubjectScale = MEASURED
texts = st.text(max_size=60)


def a_turn(question: str, answer: str | None = None) -> TopicTurn:
    """A turn with its vectors."""
    asked, told = EMBEDDER.embed_passages([question, answer or "-"])
    return TopicTurn(TopicMessage(question, asked), TopicMessage(answer, told, "assistant") if answer else None)


def known(topic_id: str, *turns: TopicTurn) -> KnownTopic:
    """A topic of these turns."""
    vectors = [message.vector for turn in turns for message in turn.messages]
    centre = first_centre(vectors[0])
    for number, vector in enumerate(vectors[1:], start=1):
        centre = moved_centre(centre, number, vector)
    return KnownTopic(Topic(topic_id, topic_id, centre, NOW, NOW, message_count=len(vectors)), turns)


BREAD = known(
    "bread",
    a_turn("How do I keep a sourdough starter alive?", "Feed the starter with flour and water twice a day."),
    a_turn("Rye or white?", "A spoonful of rye flour wakes the starter up faster."),
)
TYRE = known(
    "tyre",
    a_turn("How do I change a flat tyre?", "Loosen the wheel nuts, lift the car with the jack, swap the wheel."),
    a_turn("How tight?", "Tighten the wheel nuts crosswise to about 110 newton metres."),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is a haiku?", "A Japanese poem of seventeen syllables."),
        ("Who was Ada Lovelace?", "An English mathematician who wrote the first published program."),
        ("Cos'è la cedolare secca?", "Un'imposta sostitutiva sugli affitti."),
    ],
)
def test_a_short_question_on_something_else_opens_a_topic(question: str, answer: str) -> None:
    """After a topic of two turns, a short question on a new subject does not join it."""
    assert decide_turn(a_turn(question, answer), "bread", [BREAD], SCALE).reason == "new"


@pytest.mark.parametrize(("question", "answer"), [("how often?", "Twice a day."), ("Why?", "It carries wild yeast.")])
def test_a_short_follow_up_stays(question: str, answer: str) -> None:
    """A question that says nothing without the talk stays in the active topic."""
    assert decide_turn(a_turn(question, answer), "bread", [BREAD, TYRE], SCALE).topic_id == "bread"


@pytest.mark.parametrize(
    ("question", "binds"),
    [
        ("Capital of Mongolia?", False),  # no verb, but it lacks nothing
        ("Capitale dell'Australia?", False),
        ("And oolong?", True),
        ("e quelli?", True),
        ("Quali?", True),
        ("as you said before about the starter", True),
    ],
)
def test_only_a_question_that_needs_the_talk_can_open_no_topic(question: str, binds: bool) -> None:
    """A question without a verb that names something may open a topic; one that leans on what was said may not."""
    assert form_of(question).binds is binds


@pytest.mark.parametrize("name", known_embedders())
def test_the_vector_of_a_question_says_how_it_is_meant(name: str) -> None:
    """Every measured embedder has all signs, -1 to 1, and a common part; a vector of another length shows nothing."""
    scale = scale_for(name).subjects
    assert scale is not None
    size = {direction.size for direction, _ in scale.manner.values()}.pop()
    assert scale.common.size == size
    for vector in (np.eye(1, size, dtype=np.float32)[0], np.full(size, 1e6, dtype=np.float32)):
        signs = manner_of(vector, scale)
        assert signs.keys() == {"opens", "comes_back", "chats"}
        assert all(-1 <= sign <= 1 for sign in signs.values())
    assert set(manner_of(np.ones(size + 1, dtype=np.float32), scale).values()) == {0.0}


@pytest.mark.parametrize("part", ["common", "within"])
def test_what_all_texts_or_turns_of_any_topic_show_says_nothing(part: str) -> None:
    """Two texts alike only in what every vector has, or in how turns of one topic differ, are no nearer than chance."""
    size = SCALE.common.size
    common, mine, theirs = np.eye(3, size, dtype=np.float32) * 0.8
    asked, told = ((common + 0.75 * own) / np.linalg.norm(common + 0.75 * own) for own in (mine, theirs))
    turn, other = TopicTurn(TopicMessage("Aa?", asked)), known("other", TopicTurn(TopicMessage("Bb?", told)))
    bare = replace(SCALE, common=np.zeros(size, np.float32), within=np.zeros((1, size), np.float32))
    without = replace(bare, common=common) if part == "common" else replace(bare, within=common[None] / 0.8)
    apart, together = (observe(turn, [other], scale)["question_nearest"][0] for scale in (without, bare))
    assert apart < 0.5 < together


def test_an_opening_question_is_told_from_a_follow_up_by_its_vector() -> None:
    """A question that lacks nothing opens more than one that leans on the talk, before any topic is compared."""
    opening, following = (
        [manner_of(EMBEDDER.embed_passages([text])[0], SCALE)["opens"] for text in texts]
        for texts in (("What is a leap year?", "Who invented the radio?"), ("how often?", "and with milk?"))
    )
    assert min(opening) > max(following)


def test_a_return_is_found_among_all_topics() -> None:
    """A question with the rare words of a topic that was left goes back to it."""
    turn = a_turn("My sourdough starter has a grey liquid on top", "That is hooch; pour it off and feed the starter.")
    decision = decide_turn(turn, "tyre", [BREAD, TYRE], SCALE)
    assert (decision.topic_id, decision.reason) == ("bread", "returns")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("hello", "Hello! How can I help?"),
        ("thnks a lot", "You're welcome!"),
        ("graziee mille", "Prego!"),
        ("ok ciao ciao", "A presto!"),
        ("buongiorno", "Buongiorno a te!"),
    ],
)
def test_small_talk_belongs_to_no_topic(text: str, answer: str) -> None:
    """Greetings, thanks and leave open no topic and join none, first or later, with typos too."""
    for active, topics in ((None, []), ("bread", [BREAD, TYRE])):
        decision = decide_turn(a_turn(text, answer), active, topics, SCALE)
        assert (decision.topic_id, decision.reason) == (None, "small talk")


@given(texts, texts, st.sampled_from([None, "bread", "tyre", "gone"]))
def test_a_turn_goes_to_a_known_topic_or_to_none(question: str, answer: str, active: str | None) -> None:
    """Whatever is said, the decision names an offered topic or none, its reason fits, and it is the same twice."""
    turn = a_turn(question, answer or None)
    decision = decide_turn(turn, active, [BREAD, TYRE], SCALE)
    assert decision == decide_turn(turn, active, [BREAD, TYRE], SCALE)
    assert decision.topic_id in (None, "bread", "tyre")
    assert (decision.topic_id is None) == (decision.reason in ("new", "first", "small talk"))


@pytest.mark.parametrize("text", ["continue", "Approfondisci il punto 2", "tell me more"])
def test_what_only_continues_stays_whatever_its_answer(text: str) -> None:
    """A request to go on stays in the active topic, though its answer names another one."""
    turn = a_turn(text, "The starter wants rye flour and water.")
    assert decide_turn(turn, "tyre", [BREAD, TYRE], SCALE).topic_id == "tyre"


@given(st.text(alphabet="abcdefghij", min_size=1, max_size=4))
def test_short_words_are_not_corrected(word: str) -> None:
    """One wrong letter makes another word of a short one, so it is polite only as it is written."""
    assert not is_polite(word) or word[0] * 3 in word or small_talk_of(word).polite_words == 1


def test_an_embedder_that_was_never_measured_has_no_scale_for_subjects() -> None:
    """Its turns are judged message by message, by the cosines of the session."""
    assert scale_for("never measured").subjects is None


@pytest.mark.parametrize(
    "question",
    ["Back to the sourdough: how long does the starter live?", "Tornando allo starter, quanto vive il sourdough?"],
)
def test_words_that_take_up_a_subject_again_lead_back_to_it(question: str) -> None:
    """A question that says it comes back finds the topic that it names, before its answer is known too."""
    for answer in (None, "A fed starter lives for years."):
        decision = decide_turn(a_turn(question, answer), "tyre", [BREAD, TYRE], SCALE)
        assert (decision.topic_id, decision.reason) == ("bread", "returns")


@given(st.lists(st.integers(), max_size=12))
def test_a_turn_is_compared_with_the_first_and_the_last_turns_of_a_topic(turns: list[int]) -> None:
    """The turns that are compared keep their order, hold the first and the last one, and none twice."""
    numbered = list(enumerate(turns))
    compared = turns_compared(numbered)
    assert compared == sorted(set(compared))
    assert len(compared) == min(len(turns), FIRST_TURNS + RECENT_TURNS)
    assert not turns or (compared[0], compared[-1]) == (numbered[0], numbered[-1])


def test_turns_of_another_embedder_are_not_compared() -> None:
    """A topic whose centre has other dimensions is left out, and the only topic left out makes a turn the first."""
    foreign = KnownTopic(Topic("foreign", "bread", first_centre(np.ones(8, dtype=np.float32)), NOW, NOW))
    turn = a_turn("How do I keep a sourdough starter alive?", "Feed it twice a day.")
    assert decide_turn(turn, "foreign", [foreign], SCALE).reason == "first"
    assert decide_turn(turn, "foreign", [foreign, BREAD], SCALE).topic_id == "bread"
