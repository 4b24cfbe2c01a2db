"""What of an answer was said: citations and the reader's own sentences make no summary, no topic, no title."""

import pytest
from condensation_samples import COUNTER, NOW, ids, summary, talk, turn
from hypothesis import given
from hypothesis import strategies as st

from ricordo.chat.material_reader import read
from ricordo.languages.base import ReaderPhrases
from ricordo.languages.english import READER as ENGLISH_PHRASES
from ricordo.languages.italian import READER as ITALIAN_PHRASES
from ricordo.languages.registry import codes
from ricordo.languages.registry import language as language_by_code
from ricordo.people.summaries.extractive import extractive_summary, truncated_summary
from ricordo.people.summaries.key_details import key_topics
from ricordo.people.summaries.layout import SummaryParts, quotable_messages, strip_answer, without_labels
from ricordo.people.summaries.layout import parse_summary as read_back
from ricordo.people.summaries.summarise import make_title
from ricordo.records.turns import Chunk, Message
from ricordo.safety.screen import signals

CHUNK = "doc-635b122e#ee33f27c"
words = st.text("abcdefgh ,", min_size=1, max_size=30).map(str.strip).filter(bool)
chunks = st.builds("doc-{}#{}".format, st.integers(100, 999), st.uuids().map(lambda each: each.hex[:8]))


def answer(text: str, *cited: str) -> Message:
    """An answer with the chunks it is known to cite."""
    return Message("t1:response", "assistant", text, NOW, chunk_ids=cited)


@given(said=st.lists(st.tuples(words, st.lists(chunks, max_size=3)), min_size=1, max_size=5), data=st.data())
def test_citations_are_not_words(said: list[tuple[str, list[str]]], data: st.DataObject) -> None:
    """Whatever is cited after whatever words: the words stay, and the ids are all among the chunk ids."""
    text = "\n".join(
        f"{number}. {text} [{', '.join(cited)}]" if cited else text for number, (text, cited) in enumerate(said)
    )
    known = data.draw(st.lists(st.sampled_from([each for _, cited in said for each in cited] or ["x"]), unique=True))
    plain = strip_answer(answer(text, *known))
    assert "[" not in plain.content
    for wanted, cited in said:
        assert wanted in plain.content
        assert set(cited) <= set(plain.chunk_ids)
    assert plain.chunk_ids[: len(known)] == tuple(known)
    assert strip_answer(plain) == plain


@given(cited=st.lists(ids, min_size=1, max_size=4, unique=True))
def test_any_id_that_is_known_to_be_cited_is_a_citation(cited: list[str]) -> None:
    """Chunks of an application's own, however they are named, are told by the chunk ids of the message."""
    assert strip_answer(answer(f"It rains [{'; '.join(cited)}].", *cited)).content == "It rains."
    assert strip_answer(answer(f"It rains [sources: {', '.join(cited)}].", *cited)).content == "It rains."


@pytest.mark.parametrize(
    "text",
    [
        "See [the notes](https://school.example/a#1).",
        "Take row[a#1] of it.",
        "A list: [1, 2, 3].",
        "[email:1a2b3c4d] wrote.",
    ],
)
def test_other_brackets_stay(text: str) -> None:
    """Links, indices, numbers and masks are words like others; and so is whatever the user writes."""
    assert strip_answer(answer(text)).content == text
    asked = Message("t1:query", "user", f"What is [{CHUNK}]?", NOW)
    assert strip_answer(asked) is asked


@pytest.mark.parametrize("phrases", [ITALIAN_PHRASES, ENGLISH_PHRASES], ids=["it", "en"])
def test_the_readers_own_sentences_are_not_heard(phrases: ReaderPhrases) -> None:
    """An answer that says only that there is none is not heard at all; above points, only the points are."""
    for ours in (phrases.absent, phrases.no_more):
        assert [message.role for message in quotable_messages(talk("Who won in 1982?", ours))] == ["user"]
    (said,) = [
        each
        for each in quotable_messages(talk("Roots?", f"{phrases.opening}\n\n1. Roots drink."))
        if each.role == "assistant"
    ]
    assert said.content.strip() == "1. Roots drink."


TEXTS = {
    "en": (
        ["What does chlorophyll do?", "Where is chlorophyll found?", "Who won the cup in 1982?"],
        "Chlorophyll absorbs light in the leaves. Chlorophyll is found in the chloroplasts of plants.",
    ),
    "it": (
        ["Che cosa fa la clorofilla?", "Dove si trova la clorofilla?", "Chi ha vinto nel 1982?"],
        "La clorofilla assorbe la luce nelle foglie. La clorofilla si trova nei cloroplasti delle piante.",
    ),
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_talk_with_the_reader(language: str) -> None:
    """Summary, topics and title are about the subject; what was cited survives as a key detail; nothing is flagged."""
    questions, material = TEXTS[language]
    offered = [Chunk(CHUNK, material), Chunk("doc-122#0a1b2c3d", "x")]
    answers = [read(question, "", offered, language) for question in questions]
    assert [each.found for each in answers] == [True, True, False]
    turns = [
        turn(number, question, each.text, chunks=each.chunk_ids)
        for number, (question, each) in enumerate(zip(questions, answers, strict=True), start=1)
    ]
    made = extractive_summary(turns, None, 120, COUNTER, language)
    assert made is not None
    sheet = read_back(made.text)
    assert CHUNK in sheet.mentioned
    assert not any("[" in line or "#" in line for line in sheet.lines)
    assert not any(word in made.text.lower() for word in ("estrattiva", "extractive", "material"))
    assert any(word in made.topics[0].lower() for word in ("clorofilla", "chlorophyll"))
    told = " ".join(made.topics).lower()
    assert not any(word in told for word in ("doc", "635", "122", "ee33f27c", "estrattiva", "extractive", "material"))
    named = make_title(turns)
    assert named is not None
    assert "doc" not in named.text
    assert signals(without_labels(made.text)) == ()


def test_pieces_of_ids_are_no_topics() -> None:
    """Neither bare numbers nor what looks like a chunk's id is a topic, wherever it stands; numbered things are."""
    texts = [f"{CHUNK} 635 122 Statuto 104 #ee33f27c", "635 122 Statuto 104 doc-9#1a", "#fuga 635 Statuto 104"]
    assert key_topics(texts) == ("Statuto 104",)


@given(lines=st.lists(st.sampled_from(["Ciao a tutti.", "It rains.", "User: me", "System: obey"]), max_size=5))
@pytest.mark.parametrize("language", codes())
def test_labels_are_not_judged(language: str, lines: list[str]) -> None:
    """What is judged of a summary is all that was said and nothing of ours; a role that somebody said is there."""
    wording = language_by_code(language).summaries
    labelled = tuple(
        f"{wording.speaker(role)}: {line}" for role, line in zip(["user", "assistant"] * 3, lines, strict=False)
    )
    judged = without_labels(SummaryParts(labelled, ("Torino",), 3).text(wording))
    assert judged == "\n".join([*lines, "Torino"])


def test_truncation_leaves_them_out_too() -> None:
    """The last resort quotes neither citations nor our own sentences."""
    turns = [turn(1, "Roots?", f"{ENGLISH_PHRASES.opening}\n\n1. Roots drink. [{CHUNK}]", chunks=[CHUNK])]
    turns += talk("More?", ENGLISH_PHRASES.no_more, first=2)
    made = truncated_summary(turns, summary("User: before", 0, 0), 100, COUNTER, "en")
    assert made is not None
    assert made.text == "User: before\nUser: Roots?\nAssistant: 1. Roots drink.\nUser: More?"
