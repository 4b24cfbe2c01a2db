"""Which past messages answer a question: by meaning, words and the wanted type; near misses are told from answers."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.chat.answerability import score_memory
from ricordo.chat.past import MemoryPassage
from ricordo.chat.question import memory_question

START = datetime(2026, 3, 1, tzinfo=UTC)


def passage(text: str, *, number: int = 1, role: str = "user", cosine: float = 0.1) -> MemoryPassage:
    """A message of the past."""
    return MemoryPassage(f"m{number}", "s", number, role, text, START + timedelta(hours=number), cosine=cosine)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("how old is Rufus?", "age"),
        ("quanti anni ha Rufus?", "age"),
        ("what's the vicar's surname?", "surname"),
        ("what's my wife's name?", "name"),
        ("come si chiama la gatta?", "name"),
        ("di che colore è la macchina?", "colour"),
        ("how much do I pay?", "amount"),
        ("when do we move?", "time"),
        ("dove abita Renzo?", "place"),
        ("chi suona il basso?", "person"),
        ("who lives at number 8?", "person"),
        ("what make is my bike?", "brand"),
        ("di che marca è la bici?", "brand"),
        ("what did the vet charge me?", "amount"),
        ("why is Kofi leaving?", "reason"),
        ("tell me about the boat", ""),
        ("when is my grade 5 exam?", "time"),
        ("quando ho l'esame del livello 5?", "time"),
        ("fino a quando pago l'auto?", "time"),
        ("che operazione devo fare?", ""),
        ("da chi la faccio controllare?", "person"),
    ],
)
def test_wanted_type(question: str, wanted: str) -> None:
    """The wanted type of an answer follows from the question's words, in both languages."""
    assert memory_question(question).wanted == wanted


@pytest.mark.parametrize(
    ("question", "text", "answers"),
    [
        ("what's my wife's name?", "My wife left on Friday.", False),
        ("what's my wife's name?", "My wife Solveig left on Friday.", True),
        ("what was my uncle's name?", "Two hives from my late uncle. I'm Rosalind by the way.", False),
        ("what's my name?", "Two hives from my late uncle. I'm Rosalind by the way.", True),
        ("how old is Noodle?", "Noodle bites him", False),
        ("how old is Mason?", "Kayleigh (12) and Mason (7) arrived", True),
        ("quanti anni ha Ravi?", "Ravi ha 7 anni", True),
        ("di che colore è la bici?", "la bici è di mio zio", False),
        ("when is the concert?", "the concert is on the 3rd of December", True),
        ("when is the concert?", "the concert will be wonderful", False),
        ("when is my grade 5 exam?", "she said I can stop after grade 5", False),
        ("who fixes the brakes?", "my brother fixes the brakes", True),
        ("what make is the boiler?", "the boiler is dead again", False),
    ],
)
def test_an_answer_of_the_wanted_type(question: str, text: str, answers: bool) -> None:
    """A message that mentions the subject and not the asked detail holds no answer."""
    (found,) = score_memory(memory_question(question), [passage(text)]).passages
    assert found.answers is answers


def test_a_near_miss_is_less_probable_than_an_answer() -> None:
    """The talk that names the wife answers the question for her name; the talk that only mentions her does not."""
    asked = memory_question("what's my wife's name?")
    named = score_memory(asked, [passage("My wife Solveig had the idea", cosine=0.2)])
    mentioned = score_memory(asked, [passage("My wife left on friday", cosine=0.2)])
    assert named.is_answer
    assert not mentioned.is_answer


def test_nothing_offered() -> None:
    """Without messages there is no answer."""
    findings = score_memory(memory_question("when is my exam?"), [])
    assert findings.passages == ()
    assert not findings.is_answer


@given(st.text(max_size=60), st.lists(st.text(max_size=80), min_size=1, max_size=6))
def test_any_text_is_scored(question: str, texts: list[str]) -> None:
    """No text raises an error; probabilities lie between 0 and 1 and come best first."""
    findings = score_memory(memory_question(question), [passage(text, number=at) for at, text in enumerate(texts)])
    chances = [each.probability for each in findings.passages]
    assert chances == sorted(chances, reverse=True)
    assert all(0 <= each <= 1 for each in [*chances, findings.related, findings.answered])
    assert len(chances) == len(texts)


def later(text: str, days: int) -> MemoryPassage:
    """A message of another session, some days later."""
    return MemoryPassage(f"later{days}", f"s{days}", 1, "user", text, START + timedelta(days=days), cosine=0.1)


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        ("what dose of propranolol do I take?", "They put me on propranolol 40 mg", "The dose went up to 80 mg now"),
        ("quando ho fisioterapia?", "Il fisioterapista è Yuri, il martedì alle 18", "Yuri mi ha spostato al venerdì"),
    ],
)
def test_a_later_message_replaces_what_it_changes(question: str, before: str, after: str) -> None:
    """What was said last on the same thing counts now."""
    findings = score_memory(memory_question(question), [passage(before), later(after, 5)])
    counts = findings.current or findings.passages[0]
    assert counts.passage.text == after


def test_a_later_message_on_something_else_replaces_nothing() -> None:
    """A newer message that changes another thing leaves the answer as it is."""
    said = [passage("They put me on propranolol 40 mg"), later("I moved my desk to the window", 5)]
    findings = score_memory(memory_question("what dose of propranolol do I take?"), said)
    assert findings.current is None
    assert findings.passages[0].passage.text == said[0].text


@pytest.mark.parametrize(
    ("question", "told", "not_told"),
    [
        ("what's my vet called?", "the vet, Dr Orr, put four stitches in", "the vet put four stitches in"),
        ("how much does Odile weigh?", "Odile weighs 61 kilos", "I weigh 88 kilos"),
        ("why did Tomasz quit?", "Tomasz quit because of the hours", "Tomasz has quit"),
        ("quanti chilometri ha il furgone?", "il furgone ha 90000 chilometri", "il furgone è un Ducato bianco"),
    ],
)
def test_a_near_miss_is_less_of_an_answer(question: str, told: str, not_told: str) -> None:
    """A message on the subject without the asked detail is less probably an answer than one with it."""
    asked = memory_question(question)
    near, right = (score_memory(asked, [passage(text)]).answered for text in (not_told, told))
    assert near < right
