"""The question in a message: what is said beside it does not hide it from the reader."""

import re
from statistics import fmean

import pytest
from bench.answers import CHUNKS, course, judge, questions
from hypothesis import given
from hypothesis import strategies as st

from ricordo.chat.material_reader import read
from ricordo.chat.passages import coverage
from ricordo.chat.question import kind_of_question, split_question, subject_words
from ricordo.documents import PieceIndex, as_chunk

INDEX = PieceIndex(course())
REMARKS = {
    "it": [
        "Mi chiamo Anna e studio a Padova. {}",
        "Ciao, sono Anna e domani ho un esame importante con la professoressa Bianchi. {} Grazie mille!",
        "Sto studiando queste cose da ieri sera e non ci capisco niente. {}",
    ],
    "en": [
        "My name is Anna and I study in Padua. {}",
        "Hi, I'm Anna and tomorrow I have an important exam with professor White. {} Thanks a lot!",
        "I have been studying these things since yesterday evening and understand nothing. {}",
    ],
}
PIECES = ["Ciao, ", "sono Anna", ", ", ". ", "? ", "\n", "cos'è il pane", "Spiegami tutto", "va bene", "»", "I'm Bob: "]
tellings = st.sampled_from(["Mi chiamo Anna", "Studio a Padova", "My dog is old", "Ieri pioveva", "I like bread"])
askings = st.sampled_from(
    ["Cos'è la fotosintesi?", "Why is bread brown?", "Spiegami le ustioni", "Tell me about sleep"]
)


@given(before=st.lists(tellings, max_size=3), asked=askings, after=st.lists(tellings, max_size=2))
def test_the_question_is_found_wherever_it_stands(before: list[str], asked: str, after: list[str]) -> None:
    """Whatever is told before and after it, what asks is the question, and decides its kind and its first words."""
    message = " ".join(f"{each}." if each[-1] != "?" else each for each in [*before, asked, *after])
    found, beside = split_question(message)
    assert found.rstrip(".") == asked or (not before and not after)
    assert all(each in beside for each in [*before, *after])
    assert kind_of_question(message) == kind_of_question(asked)
    alone = [word.word for word in subject_words(asked)]
    words = subject_words(message)
    assert [word.word for word in words[: len(alone)]] == alone
    assert all(word.beside and word.worth < 0.5 for word in words[len(alone) :])


@given(st.text(max_size=80) | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_word_is_lost(message: str) -> None:
    """A message is divided, never shortened; one that only asks or only tells is its own question."""
    found, beside = split_question(message)
    assert sorted(re.findall(r"\w", found + beside)) == sorted(re.findall(r"\w", message))
    assert beside or found == message


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("Ciao, mi chiamo Anna, cos'è la fotosintesi?", "cos'è la fotosintesi?"),
        ("Hello, I'm Anna: what is alum?", "what is alum?"),
        ("Spiegami la fotosintesi. Va bene?", "Spiegami la fotosintesi."),
        ("Burns hurt. Could you please help me? What helps against burns?", "What helps against burns?"),
        ("Quando piove, perché le foglie brillano?", "Quando piove, perché le foglie brillano?"),
        ("La fotosintesi.\nLe piante.", "La fotosintesi.\nLe piante."),
    ],
)
def test_what_asks(message: str, asked: str) -> None:
    """Introductions, thanks and calls for help ask nothing; a clause of the question is a part of it."""
    assert split_question(message)[0] == asked


@pytest.mark.parametrize("remark", range(3))
def test_a_personal_remark_does_not_hide_the_question(remark: int) -> None:
    """Of the questions of the sample course nearly as many are answered with a remark about oneself as without."""
    outcomes = []
    for question in questions():
        message = REMARKS[question.language][remark].format(question.text)
        found = INDEX.rank(message, limit=CHUNKS)
        answer = read(message, "", [as_chunk(each.piece) for each in found], question.language)
        outcomes.append(judge(question, found, answer))
    assert fmean(each.answered for each in outcomes if each.question.answerable) >= 0.93
    assert fmean(each.answered for each in outcomes if not each.question.answerable) >= 0.88


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("Mi chiamo Anna e studio a Padova. Cos'è la fotosintesi?", "La fotosintesi è il processo"),
        ("Mi interessa la fotosintesi. Cos'è?", "La fotosintesi è il processo"),
        ("Sto studiando le ustioni. Quali sono i gradi?", "Primo grado"),
    ],
)
def test_a_subject_beside_the_question_still_helps(message: str, says: str) -> None:
    """Where the question does not name its subject, what was said beside it does."""
    chunks = [as_chunk(each.piece) for each in INDEX.rank(message, limit=CHUNKS)]
    assert says in read(message, "", chunks, "it").points[0].text


def test_a_subject_beside_a_foreign_question_answers_nothing() -> None:
    """That the material knows what was told does not make it know what was asked."""
    message = "Studio la fotosintesi. Chi ha vinto i mondiali del 1982?"
    chunks = [as_chunk(each.piece) for each in INDEX.rank(message, limit=CHUNKS)]
    assert not read(message, "", chunks, "it").found
    assert coverage(message, ["La fotosintesi è un processo."]) == 0.0


def test_of_a_long_message_the_ends_are_read() -> None:
    """A question before or after a megabyte of text is found, and what lies between is not analysed."""
    for between in ("word " * 200_000, "\n" * 1_000_000):
        for message in (f"What is a sonata? {between}", f"{between}. What is a sonata?"):
            asked, beside = split_question(message)
            assert asked.strip() == "What is a sonata?"
            assert len(asked) + len(beside) < 20_000
            assert "sonata" in {word.word for word in subject_words(message)}
