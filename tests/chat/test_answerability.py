"""Which past messages answer a question: by meaning, words and the wanted type; near misses are told from answers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.chat.answerability import lacks_detail, score_memory
from ricordo.chat.past import MemoryPassage, MessageWords
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
        ("what happens when Corinne hugs me?", ""),
        ("cosa si fa quando ci sono le radici?", ""),
        ("what did you suggest for the girl who is nervous?", ""),
        ("how much does Zorro weigh?", "number"),
        ("quanto devo aspettare?", "number"),
        ("how much was the blazer?", "amount"),
        ("quanto ho pagato le scarpe?", "amount"),
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
        ("what did the vet charge me?", "the vet put four stitches in", False),
        ("what did the vet charge me?", "the vet took 85 quid", True),
        ("what did the vet charge me?", "the vet charged me 85 and a smile", True),
        ("quanto ho speso per il telescopio?", "il telescopio è un Dobson da 20 centimetri", False),
        ("quanto ho speso per il telescopio?", "il telescopio mi è costato 12,50 euro", True),
        ("how many of us are in the choir?", "the choir sings on the 3rd of December", False),
        ("when is the exam?", "I have the exam at 9, room 4", True),
        ("quando ha l'esame di chimica?", "ha preso 4 nella simulazione di chimica", False),
        ("quando si vota?", "il voto è anticipato al 19", True),
        ("when was the house built?", "the house is a 1930s semi", True),
        ("come si chiama la piadineria?", "apro una piadineria a Viareggio", False),
    ],
)
def test_an_answer_of_the_wanted_type(question: str, text: str, answers: bool) -> None:
    """A message that mentions the subject and not the asked detail holds no answer."""
    (found,) = score_memory(memory_question(question), [passage(text)]).passages
    assert found.answers is answers


@pytest.mark.parametrize(
    ("question", "personal"),
    [("how old is my dog?", True), ("dove abito?", True), ("what did you suggest?", True), ("who wrote Emma?", False)],
)
def test_a_question_about_the_user(question: str, personal: bool) -> None:
    """A question is about the user by its words, or asks for an earlier answer; others may be for anybody."""
    assert memory_question(question).is_personal is personal


def test_a_possessor_is_not_the_name() -> None:
    """ "Rhodri's nan" does not tell what the nan is called."""
    asked = memory_question("what's the nan's name?")
    possessed = score_memory(asked, [passage("Rhodri's nan speaks Welsh only")])
    named = score_memory(asked, [passage("the nan is called Olwen")])
    assert possessed.answered < named.answered


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("what's the nan's name?", "Rhodri's nan is kind", []),
        ("what's my sister's name?", "my sister Anna's car broke down", ["anna"]),
        ("who is interviewing me?", "I've an interview at the Derby depot", []),
        ("who is interviewing me?", "I've an interview with Derby", ["derby"]),
        ("how old is Obafemi?", "Obafemi beat me, and I was 9 when I began", []),
        ("what colour is the hive?", "the hive is painted lilac", ["lilac"]),
    ],
)
def test_what_may_be_the_answer(question: str, text: str, found: list[str]) -> None:
    """The owner of the thing, the place of it and the user's own age are no answer."""
    words = MessageWords.of(text)
    assert [words.plain[at] for at in words.fillers(memory_question(question))] == found


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("who's the plumber?", "preventivo dall'idraulico Saverio"),
        ("dove tengo la barca?", "the boat is in Bristol"),
    ],
)
def test_a_word_of_the_other_language_is_heard(question: str, text: str) -> None:
    """A question in one language finds what was said in the other by the glosses of its words."""
    assert MessageWords.of(text).heard(memory_question(question))


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("we upgraded to Postgres 16", True),
        ("la media del 6 e mezzo", True),
        ("we run Postgres locally", True),
        ("we run it on Postgres", False),
    ],
)
def test_a_number_behind_a_noun_tells_which(text: str, tells: bool) -> None:
    """A number behind a noun, or a word beside it, tells which one is meant."""
    noun = frozenset(("postgr", "postgres", "med", "media"))
    assert MessageWords.of(text).tells_which(noun, frozenset()) is tells


def test_what_the_best_message_replaces_is_marked() -> None:
    """An older message of which the best one tells the change is no longer current."""
    asked = memory_question("how much do I charge for a service?")
    old = passage("I charge 45 pounds for a service", number=1, cosine=0.1)
    new = replace(passage("I put the service up to 60 pounds, I charge 60 now", number=9, cosine=0.3), session_id="t")
    found = score_memory(asked, [old, new]).passages
    assert (found[0].passage, found[0].replaced) == (new, False)
    assert found[1].replaced


@pytest.mark.parametrize(
    ("question", "text", "lacks"),
    [
        ("what time does it start?", "it starts on Monday", True),
        ("what time does it start?", "it starts at 7:30", False),
        ("a che ora apriamo?", "apriamo di giovedì", True),
        ("how long is the boat?", "the boat is 52 foot", False),
        ("how long does it take?", "it is a good film", True),
    ],
)
def test_an_exact_detail_is_missing(question: str, text: str, lacks: bool) -> None:
    """A day is no answer to a question for the hour."""
    asked = memory_question(question)
    assert lacks_detail(asked, score_memory(asked, [passage(text)]).passages) is lacks


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


@pytest.mark.parametrize(
    ("question", "text", "told"),
    [
        ("who do I live with?", "I live in Sesto with two flatmates, Ahmed and Giulio", True),
        ("con chi vivo?", "abito a Sesto con due coinquilini, Ahmed e Giulio", True),
        ("who am I going to Rome with?", "I'm going to Rome with my choir in May", True),
        ("who am I going to Rome with?", "I'm going to Rome in May; the rest I plan with care", False),
        ("who lives in Rome?", "I go to Rome with my choir", False),
    ],
)
def test_who_is_with_the_user(question: str, text: str, told: bool) -> None:
    """Who is asked for "with" stands behind "with", in the clause that says the rest."""
    assert MessageWords.of(text).holds_in_clause(memory_question(question)) == told
