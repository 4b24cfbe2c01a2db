"""Intent, confidence, coverage, instructions: what is said about a question and its answer."""

import pytest
from answer_samples import PARAGRAPHS, QUESTIONS
from hypothesis import given
from hypothesis import strategies as st

from ricordo.chat.answerers import instructions
from ricordo.chat.passages import AnswerSupport, confidence, coverage, margin
from ricordo.chat.response import INTENTS, intent

shares = st.floats(0, 1)
counts = st.integers(0, 20)
evidence = st.builds(AnswerSupport, counts, shares, shares, counts, counts)


@given(evidence, st.booleans())
def test_confidence_is_a_share(seen: AnswerSupport, found: bool) -> None:
    """Confidence lies between 0 and 1 whatever was observed."""
    assert 0 <= confidence(seen, found=found) <= 1


@given(counts, shares, shares, shares, counts, counts, st.booleans())
def test_more_coverage_never_lowers_confidence(
    offered: int, one: float, other: float, lead: float, cited: int, removed: int, found: bool
) -> None:
    """Of two answers alike in all else, the better covered one is never less confident."""
    less, more = sorted((one, other))
    low = confidence(AnswerSupport(offered, less, lead, cited, removed), found=found)
    assert low <= confidence(AnswerSupport(offered, more, lead, cited, removed), found=found)


@given(shares, shares, counts, counts)
def test_without_chunks_there_is_no_confidence(covered: float, lead: float, cited: int, removed: int) -> None:
    """Nothing was offered, so nothing supports the answer."""
    assert confidence(AnswerSupport(0, covered, lead, cited, removed)) == 0


@given(evidence)
def test_an_invented_citation_never_raises_confidence(seen: AnswerSupport) -> None:
    """One more citation that had to be taken out does not make an answer better."""
    worse = AnswerSupport(seen.offered, seen.coverage, seen.margin, seen.cited, seen.removed + 1)
    assert confidence(worse) <= confidence(seen)


@given(evidence)
def test_nothing_found_is_never_confident(seen: AnswerSupport) -> None:
    """An answer that nothing was found stays at or below a quarter."""
    assert confidence(seen, found=False) <= 0.25


@given(st.lists(st.floats(0, 10), max_size=6))
def test_a_margin_is_a_share(scores: list[float]) -> None:
    """The lead of the best lies between 0 and 1 and is 0 for a tie."""
    assert 0 <= margin(scores) <= 1
    assert margin([*scores, *scores, 1.0, 1.0]) <= 1
    assert margin([2.0, 2.0]) == 0


@given(QUESTIONS, st.lists(PARAGRAPHS, max_size=4), PARAGRAPHS)
def test_more_texts_never_cover_less(question: str, texts: list[str], more: str) -> None:
    """A text added to the others can only add to what is covered."""
    assert 0 <= coverage(question, texts) <= coverage(question, [*texts, more]) <= 1


def test_coverage_counts_the_subject_of_a_question() -> None:
    """Words that only put the question do not count; half of the subject is a half."""
    assert coverage("Che cos'è la fotosintesi?", ["La fotosintesi usa la luce."]) == 1
    assert coverage("Spiegami la fotosintesi e il terremoto", ["La fotosintesi usa la luce."]) == 0.5
    assert coverage("Explain earthquakes", ["Bread is baked."]) == 0
    assert coverage("perché?", ["Il pane è cotto."]) == 0


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Che cos'è la spondilolistesi?", "definition"),
        ("What is gluten?", "definition"),
        ("Cosa significa emulsione?", "definition"),
        ("Perché il cielo è blu?", "explanation"),
        ("Why is bread brown?", "explanation"),
        ("Spiegami la fotosintesi", "explanation"),
        ("How does yeast work?", "explanation"),
        ("Quali sono i gradi delle ustioni?", "list"),
        ("What are the stages of sleep?", "list"),
        ("Elenca i sintomi", "list"),
        ("Che differenza c'è tra derma ed epidermide?", "comparison"),
        ("Compare acute and chronic pain", "comparison"),
        ("Come si tratta un'ustione?", "procedure"),
        ("How do I bake bread?", "procedure"),
        ("Quanto dura un ciclo?", "fact"),
        ("At what temperature does yeast die?", "fact"),
        ("Chi ha scoperto la penicillina?", "fact"),
        ("When is surgery considered?", "fact"),
        ("Is bed rest good for back pain?", "fact"),
        ("Ciao!", "smalltalk"),
        ("grazie mille", "smalltalk"),
        ("Hello, how are you?", "smalltalk"),
        ("Thanks!", "smalltalk"),
        ("Il mio ginocchio", "other"),
    ],
)
def test_the_intent_is_read_off_the_message(message: str, expected: str) -> None:
    """Each kind of question is known by how it is put, in Italian and in English."""
    assert intent(message) == expected


@given(st.text(max_size=80), st.booleans(), st.booleans())
def test_a_crisis_comes_first(message: str, follows: bool, clarifies: bool) -> None:
    """A crisis is a crisis whatever else a message is, and every message has one of the known intents."""
    assert intent(message, follow_up=follows, clarification=clarifies, crisis=True) == "crisis"
    assert intent(message, follow_up=follows, clarification=True) == "clarification"
    assert intent(message, follow_up=follows) in INTENTS


def test_a_follow_up_is_one_however_it_is_put() -> None:
    """A question that leans on the talk is a follow-up; thanks are not, though they lean on it too."""
    assert intent("Perché?", follow_up=True) == "follow_up"
    assert intent("Grazie!", follow_up=True) == "smalltalk"


@pytest.mark.parametrize("language", ["it", "en"])
def test_a_model_is_told_how_to_cite(language: str) -> None:
    """The instructions are in the language and name ids as the example; with nothing to cite they show none."""
    with_ids = instructions(language, ["doc#1a2b", "doc{x}"])
    assert "[doc#1a2b] [doc{x}]" in with_ids.format
    assert with_ids.system.startswith("Rispondi in italiano" if language == "it" else "Answer in English")
    without = instructions(language)
    assert without.system == with_ids.system
    assert "[" not in without.format
