"""A statement that changes, corrects or ends something known takes its place; both stay, with the time it names."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import ricordo

START = datetime(2026, 9, 2, 9, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[ricordo.Memory]:
    """A memory of its own."""
    with ricordo.open(str(tmp_path / "m.db"), embedder="light") as opened:
        yield opened


def told(memory: ricordo.Memory, *messages: str) -> str:
    """What is current after some messages, a day apart."""
    session = memory.session(user_id="u")
    for day, text in enumerate(messages):
        session.add_turn(text, "Ok.", created_at=START + timedelta(days=day))
    assert memory.settle(60)
    return " | ".join(fact.text for fact in memory.facts("u"))


@pytest.mark.parametrize(
    ("messages", "now", "past"),
    [
        (("I live in Bristol", "I've just moved to Porto"), "Porto", "Bristol"),
        (("I work as a welder", "I work as a teacher now"), "teacher", "welder"),
        (("abito a Trapani", "mi sono appena trasferita a Udine"), "Udine", "Trapani"),
        (("mi chiamo Rita Salvi", "mi chiamo Rita Conti"), "Conti", "Salvi"),
        (("I'm vegetarian", "I'm no longer vegetarian"), "no longer", "Is vegetarian"),
        # What a pattern reads without a subject can be ended too; and a wish is changed by another.
        (("suono il basso nei Ruggine", "i Ruggine si sono sciolti, niente più basso"), "sciolti", "Suona il basso"),
        (("From here on answer in French", "I've changed my mind: answer in English from now on"), "English", "French"),
    ],
)
def test_a_change_takes_the_place_of_what_it_changes(
    memory: ricordo.Memory, messages: tuple[str, ...], now: str, past: str
) -> None:
    """The newer statement is told, the older is kept with its end."""
    current = told(memory, *messages)
    assert now in current
    assert past not in current
    assert any(past in fact.text and fact.valid_to for fact in memory.facts("u", superseded=True))


@pytest.mark.parametrize(
    ("messages", "now", "past"),
    [
        (("abito a Trapani", "I've just moved to Porto"), "Porto", "Trapani"),
        (("I live in Bristol", "mi sono appena trasferita a Udine"), "Udine", "Bristol"),
        (("mi chiamo Rita", "No, my name is Greta"), "Greta", "Rita"),
        (("my exam is on 3 June", "scusa, l'esame è il 10 giugno"), "10 giugno", "3 June"),
        (("il colloquio è il 12 dicembre", "sorry, the interview is on 14 December"), "14 December", "12 dicembre"),
        (("sono vegetariano", "I eat meat again since March"), "meat", "vegetariana"),
    ],
)
def test_what_was_said_in_one_language_is_changed_in_the_other(
    memory: ricordo.Memory, messages: tuple[str, ...], now: str, past: str
) -> None:
    """The subject of a fact does not depend on the language."""
    current = told(memory, *messages)
    assert now in current
    assert past not in current


@pytest.mark.parametrize(
    ("first", "second", "since"),
    [
        ("I live in Bristol", "I live in Porto since 10 September", datetime(2026, 9, 10, tzinfo=UTC)),
        ("I live in Bristol", "I moved to Porto last week", datetime(2026, 9, 14, tzinfo=UTC)),
        ("abito a Trapani", "da ieri abito a Udine", datetime(2026, 9, 21, tzinfo=UTC)),
        ("abito a Trapani", "abito a Udine", datetime(2026, 9, 22, 9, tzinfo=UTC)),
        # A time before the first statement cannot be when it ended.
        ("I live in Bristol", "I live in Porto since 2011", datetime(2026, 9, 22, 9, tzinfo=UTC)),
    ],
)
def test_a_change_holds_from_the_time_that_it_names(
    memory: ricordo.Memory, first: str, second: str, since: datetime
) -> None:
    """The older fact ends where the newer begins: when it was said, or since when it says."""
    session = memory.session(user_id="u")
    session.add_turn(first, "Ok.", created_at=START)
    session.add_turn(second, "Ok.", created_at=START + timedelta(days=20))
    assert memory.settle(60)
    older, newer = sorted(
        (fact for fact in memory.facts("u", superseded=True) if fact.about == "place:home"),
        key=lambda fact: fact.valid_from,
    )
    assert newer.valid_from == since
    assert older.valid_to == since


def test_an_older_import_does_not_come_back(memory: ricordo.Memory) -> None:
    """What was said between the named time and the change is still older than the change."""
    session = memory.session(user_id="u")
    session.add_turn("I live in Bristol", "Ok.", created_at=START)
    session.add_turn("I moved to Porto last week", "Ok.", created_at=START + timedelta(days=20))
    assert memory.settle(60)
    other = memory.session(user_id="u")
    other.add_turn("I live in Bristol", "Ok.", created_at=START + timedelta(days=15))
    assert memory.settle(60)
    assert [fact.text for fact in memory.facts("u")] == ["Lives in Porto"]


def test_standing_instructions_come_first(memory: ricordo.Memory) -> None:
    """A wish for all later answers is a fact that leads the profile."""
    told(memory, "mi chiamo Anna e abito a Pisa", "from now on no emojis please, ever")
    instructions = [fact for fact in memory.facts("u") if fact.is_instruction]
    assert any("emojis" in fact.text for fact in instructions)


@pytest.mark.parametrize(
    ("messages", "now", "past"),
    [
        (
            ("ho l'esame di anatomia il 3 dicembre", "ah no scusa, l'esame è stato spostato al 10 dicembre"),
            "10",
            "3 di",
        ),
        (("my driving test is on 8 December", "sorry, the test was moved to 15 December"), "15 December", " 8 "),
        (("I have the chemistry exam on 3 December", "no wait, the exam is on 4 December"), "4 December", " 3 "),
        (("la visita dall'oculista è il 9 dicembre", "mi sono sbagliata, la visita è l'11 dicembre"), "11", " 9 "),
        (("il colloquio alla Fiat è il 12 dicembre", "hanno spostato il colloquio al 14 dicembre"), "14", "12"),
        (
            ("My dentist appointment is on Thursday at 3", "the appointment is now on Friday at 10"),
            "Friday",
            "Thursday",
        ),
        (("I'm flying to Lisbon on the 4th of March", "now I fly on the 5th at noon"), "5th", "4th"),
        (("Prendo l'ibuprofene la sera", "da oggi prendo il paracetamolo invece dell'ibuprofene"), "parac", "la sera"),
        (
            ("I take gliclazide every morning", "from today I take metformin instead of gliclazide"),
            "metformin",
            "every",
        ),
        (("prendo il bus per andare al lavoro", "da domani vado in bici invece che in bus"), "bici", "il bus per"),
    ],
)
def test_a_shift_takes_the_place_of_what_it_names_shorter(
    memory: ricordo.Memory, messages: tuple[str, ...], now: str, past: str
) -> None:
    """The second mention may leave out what was said before, or name what it takes the place of."""
    current = told(memory, *messages)
    assert now in current
    assert past not in current


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        (
            ("ho l'esame di anatomia il 3 dicembre", "ho l'esame di fisica il 20 gennaio", "l'esame è il 4 febbraio"),
            ("3 dicembre", "20 gennaio", "4 febbraio"),
        ),
        (("I have the chemistry exam on 3 December", "I have an exam on 9 December"), ("3 December", "9 December")),
        (("l'esame di anatomia è il 3 settembre", "ciao", "l'esame è il 20 ottobre"), ("20 ottobre", "3 settembre")),
        (
            ("my wife Helen works nights at the hospital", "from now on I work from home on Fridays"),
            ("Helen", "Fridays"),
        ),
        (("Vivo con due coinquiline, Marta e Sofia", "non vivo più con Marta"), ("Sofia", "più con Marta")),
        (("Lavoro con Gianni e Piera in laboratorio", "non lavoro più con Gianni"), ("Piera", "più con Gianni")),
        (("il volo è il 12 dicembre", "the train is on 14 December"), ("12 dicembre", "14 December")),
    ],
)
def test_what_may_be_another_thing_stays(
    memory: ricordo.Memory, messages: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    """Two exams, a new one, one that is past, a person's work and one's own; and those who are not named in an end."""
    current = told(memory, *messages)
    assert all(each in current for each in kept)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("non vivo più con Marta, si è trasferita a Milano", "Marta: si è trasferita"),
        ("non lavoro più con Gianni, è andato in pensione", "Gianni: è andato"),
        ("con Dario non divido più casa, si è trasferito a Bologna", "Dario: si è trasferito"),
        ("I no longer live with Ben, he moved to Leeds", "Ben: he moved"),
        ("we don't share with Otto any more, he went back to Oslo", "Otto: he went"),
        ("ogni tanto vedo Luca, si è laureato in fisica", "Luca: si è laureato"),
        ("I learn Welsh for my gran, she has dementia", "Gran: she has"),
    ],
)
def test_a_clause_about_another_keeps_its_subject(memory: ricordo.Memory, text: str, kept: str) -> None:
    """A clause without a subject is told with the person that was named before it."""
    assert kept in told(memory, text)


@pytest.mark.parametrize(
    ("messages", "now", "gone"),
    [
        (("My birthday is on 5 May.", "Sorry, it's on 3 May."), "Birthday: 3 May", "5 May"),
        (("My locker code is 4412.", "Correct that: it's 4421."), "Their locker code is 4421", "4412"),
        (("il mio colore preferito è il blu", "anzi verde"), "verde", "blu"),
        (("I have 3 dogs.", "Actually I have 2 dogs, one died."), "2 dogs", "3 dogs"),
        (("peso 79 chili", "ora peso 76 chili"), "76", "79"),
        (("I work at Siemens.", "I quit Siemens and started at BMW."), "BMW", "Works at Siemens"),
    ],
)
def test_another_value_replaces_the_older_one(
    memory: ricordo.Memory, messages: tuple[str, ...], now: str, gone: str
) -> None:
    """The same thing with another number, day or value, also where the correction does not name it again."""
    facts = told(memory, *messages)
    assert now in facts
    assert gone not in facts


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        (("tommy si è rotto il braccio ieri", "tommy non è più il mio migliore amico"), "rotto il braccio"),
        (("Lavoro per Galli a Milano.", "Dal primo dicembre 2099 non lavoro più per Galli."), "Lavora per Galli"),
        (("I have 2 dogs.", "I have 3 cats."), "2 dogs"),
        (("Ho due figli: Ugo, che sta a Torino, e Ada.", "Ugo si è trasferito a Milano."), "Ada"),
    ],
)
def test_what_did_not_end_stays(memory: ricordo.Memory, messages: tuple[str, ...], kept: str) -> None:
    """Another attribute of the same subject, and an end on a day to come, end nothing now."""
    assert kept in told(memory, *messages)


@pytest.mark.parametrize(
    "message",
    [
        "qnd faccio 16 anni", "Rientra lunedì.", "38 e mezzo", "L'ha venduta ieri.", "it's 4421",
        "aiutami con i compiti",
        "Mi elenchi i passaggi del primo soccorso.",
        "Elenca tutto quello che sai di me", "mi avevi promesso di aiutarmi",
    ],
)  # fmt: skip
def test_no_fact_without_a_subject_or_a_statement(memory: ricordo.Memory, message: str) -> None:
    """Questions without a mark, requests, claims about the assistant, and clauses that say nothing by themselves."""
    assert told(memory, message) == ""


@pytest.mark.parametrize(
    ("messages", "wanted"),
    [
        (("im zoe im 15",), ("Is called Zoe", "Is 15 years old")),
        (("hi im leo im in 2nd year nursing",), ("Is called Leo",)),
        (("mi chiamo luca studio a bologna sono al secondo anno",), ("Si chiama Luca", "Classe: secondo anno")),
        (("Sono Elena Ferrero, avvocato, lavoro a Milano.",), ("Si chiama Elena Ferrero", "Lavora come avvocato")),
        (("I have two sons: Max, who is 4, and Tom.",), ("Has two sons: Max, who is 4, and Tom",)),
        (("Mia moglie si chiama Lucia.", "E fa la maestra."), ("Moglie: fa la maestra",)),
        (("Can you remember that my locker code is 4412?",), ("Their locker code is 4412",)),
        (("I take a little white pill for my heart, digoxin I think it's called.",), ("heart, digoxin I think",)),
    ],
)
def test_every_part_has_its_subject(memory: ricordo.Memory, messages: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    """Statements without marks are told apart, and each keeps who or what it is about."""
    facts = told(memory, *messages)
    assert [each for each in wanted if each not in facts] == []
    assert "they're" not in facts
