"""Answers from memory: what was said is quoted with its speaker and day; what was not said is not claimed."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ricordo
from ricordo import Memory
from ricordo.chat.answerability import ANSWERED_FROM
from ricordo.chat.pipeline import Chat
from ricordo.chat.question import dialogue_act
from ricordo.chat.response import ChatRequest, ChatResponse, Understood
from ricordo.errors import StoreUnavailable
from ricordo.languages.registry import language
from ricordo.records.turns import Owner
from ricordo.worker import SessionLane


@pytest.fixture
def memory() -> Iterator[Memory]:
    """A memory with two past sessions of one user."""
    with ricordo.open(":memory:", embedder="light") as opened:
        now = datetime.now(UTC)
        first = opened.session(user_id="anna")
        first.add_turn("My dentist appointment is on Thursday at 15:40", "Noted.", created_at=now - timedelta(days=9))
        first.add_turn(
            "My knee hurts after running",
            "For the knee I recommend ten minutes of ice and a shorter stride.",
            created_at=now - timedelta(days=9),
        )
        second = opened.session(user_id="anna")
        second.add_turn("Il mio forno arriva a 275 gradi", "Perfetto per la pizza.", created_at=now - timedelta(days=1))
        yield opened


def ask(memory: Memory, question: str, user: str = "anna", session: str | None = None) -> ChatResponse:
    """The answer of a chat without a model."""
    return Chat(memory).ask(ChatRequest(question, user, session_id=session))


def test_recall_of_the_users_words(memory: Memory) -> None:
    """What the user said in another session is quoted, with its day and its source."""
    answer = ask(memory, "when is my dentist appointment?")
    assert "15:40" in answer.message
    assert "9 days ago" in answer.message
    source = answer.metadata["memory_sources"][0]
    assert source["role"] == "user"
    assert source["turn_number"] == 1


def test_recall_in_italian(memory: Memory) -> None:
    """The answer is in the language of the question."""
    answer = ask(memory, "A quanti gradi arriva il mio forno?")
    assert "275" in answer.message
    assert "ieri" in answer.message


def test_summary_of_a_day(memory: Memory) -> None:
    """The talk of a day tells that day and no other."""
    told = ask(memory, "di che cosa abbiamo parlato ieri?").message
    assert "forno" in told
    assert "dentist" not in told


def test_claim_that_was_said(memory: Memory) -> None:
    """A claim that an earlier answer bears out is confirmed with the passage."""
    told = ask(memory, "you told me to put ice on the knee, right?").message
    assert "ten minutes of ice" in told


def test_claim_that_was_never_said(memory: Memory) -> None:
    """A claim that nothing bears out is not confirmed."""
    told = ask(memory, "you told me to buy an electric bike, right?").message
    assert "I do not find that" in told
    assert not told.startswith("Yes")


def test_nothing_known(memory: Memory) -> None:
    """A user of whom nothing is known gets a refusal without a source, in the language of the question."""
    answer = ask(memory, "quanti anni ha mio fratello?", user="bruno")
    assert answer.message.startswith("Nel materiale non c'è una risposta")
    assert answer.metadata["memory_sources"] == []


@pytest.mark.parametrize(
    ("message", "wanted"),
    [("Hello!", "Hello"), ("Grazie!", "Prego"), ("I got the job!!", "Noted"), ("Mi chiamo Anna", "Annotato")],
)
def test_small_talk_and_statements(memory: Memory, message: str, wanted: str) -> None:
    """Greetings are greeted and statements acknowledged, in their language."""
    assert wanted in ask(memory, message, user="carla").message


def test_own_answers_are_no_source(memory: Memory) -> None:
    """A question that was asked before, and its refusal, answer nothing later."""
    ask(memory, "what is my neighbour's phone number?", user="dora")
    answer = ask(memory, "what is my neighbour's phone number?", user="dora")
    assert answer.metadata["memory_sources"] == []


def test_what_is_forgotten_is_not_quoted(memory: Memory) -> None:
    """After "forget …" the message is quoted no more."""
    ask(memory, "Forget my dentist appointment please")
    assert "15:40" not in ask(memory, "when is my dentist appointment?").message


FORGETTABLE = (
    ("My wife Helen works nights at the port", "forget what I said about Helen", "where does my wife work?", "nights"),
    ("L'altro giorno Luca si è tagliato e ha preso cinque punti", "dimentica quello che ti ho detto sul taglio di Luca",
     "quanti punti ha preso Luca?", "cinque"),
    ("my brother Ned breeds alpacas in Wales", "forget what I told you about Ned", "what does Ned do?", "alpacas"),
    ("sono allergica alle noci", "dimentica la mia allergia alle noci", "a cosa sono allergica?", "noci"),
    ("ho 33 anni", "dimentica quanti anni ho", "quanti anni ho?", "33"),
    ("I play the oboe in the Leeds orchestra", "forget about the oboe", "what do I play?", "oboe"),
    ("il mio gatto si chiama Pepe", "dimentica il nome del mio gatto", "come si chiama il mio gatto?", "Pepe"),
    ("my dog is called Rex", "forget the name of my dog", "what is my dog called?", "Rex"),
)  # fmt: skip


@pytest.mark.parametrize(("said", "command", "question", "gone"), FORGETTABLE)
def test_the_reply_tells_what_is_forgotten(memory: Memory, said: str, command: str, question: str, gone: str) -> None:
    """What is forgotten is named, is known no more, and is not quoted; nothing else is lost."""
    ask(memory, "My name is Eva and I live in Bergen", user="eva")
    ask(memory, said, user="eva")
    reply = ask(memory, command, user="eva").message
    assert gone in reply
    assert memory.settle(60)
    assert gone not in ask(memory, question, user="eva").message
    assert gone not in " ".join(fact.text for fact in memory.facts("eva", superseded=True))
    assert {"Is called Eva", "Lives in Bergen"} <= {fact.text for fact in memory.facts("eva")}


@given(st.data())
@settings(max_examples=10, deadline=None)
def test_the_reply_to_a_command_to_forget_is_what_was_done(data: st.DataObject) -> None:
    """Of any facts, those that are gone are those that the reply names; where it finds nothing, nothing is gone."""
    told = data.draw(st.lists(st.sampled_from([row[0] for row in FORGETTABLE]), min_size=1, max_size=4, unique=True))
    command = data.draw(st.sampled_from([row[1] for row in FORGETTABLE] + ["forget about my yacht"]))
    with ricordo.open(":memory:", embedder="light") as opened:
        for each in told:
            ask(opened, each, user="ivo")
        assert opened.settle(60)
        before = {fact.text for fact in opened.facts("ivo")}
        reply = ask(opened, command, user="ivo").message
        assert opened.settle(60)
        gone = before - {fact.text for fact in opened.facts("ivo")}
        assert gone == {text for text in before if text in reply}
        assert bool(gone) == any(row[0] in told and row[1] == command for row in FORGETTABLE)


@pytest.mark.parametrize(
    ("message", "wanted", "never"),
    [
        ("non vivo più con Marta, si è trasferita a Milano", "Annotato", "Hai detto"),
        ("da oggi prendo il paracetamolo invece dell'ibuprofene", "Annotato: prendi il", "D'ora in poi"),
        ("from now on I work from home on Fridays", "Noted: you work", "From now on"),
        ("Ho tre dipendenti: Luca ai primi, Amina ai dolci e Paolo al lavello", "Annotato", "D'ora in poi"),
        ("grazie, ora parliamo del mal di schiena", "Va bene", "D'ora in poi"),
        ("da ora in poi rispondimi in modo breve", "D'ora in poi", "Annotato"),
    ],
)
def test_a_statement_is_acknowledged_as_one(memory: Memory, message: str, wanted: str, never: str) -> None:
    """Also after a question, and if it says from when it holds; a wish for all answers is told as such."""
    session = memory.session(user_id="gaia").id
    ask(memory, "ho l'esame di anatomia il 3 dicembre", user="gaia", session=session)
    ask(memory, "quando ho l'esame?", user="gaia", session=session)
    reply = ask(memory, message, user="gaia", session=session).message
    assert wanted in reply
    assert never not in reply


def test_users_do_not_mix(memory: Memory) -> None:
    """What one user said answers no other user."""
    assert "15:40" not in ask(memory, "when is my dentist appointment?", user="bruno").message


def test_memory_that_cannot_be_read(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the past cannot be read the chat answers without it, and the response says so."""

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("the database is away")

    monkeypatch.setattr(Memory, "search", away)
    answer = ask(memory, "when is my dentist appointment?")
    assert answer.message.startswith("The material holds no answer")
    assert "memory could not be read for this answer" in answer.metadata["degraded"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Qual è la capitale del Perù?", "Nel materiale non c'è"),
        ("Quanto pesa un elefante?", "Nel materiale non c'è"),
        ("How tall is Mount Everest?", "The material holds no answer"),
    ],
)
def test_a_question_about_the_world_is_not_answered_with_something_said(
    memory: Memory, question: str, said: str
) -> None:
    """Where no word of it was ever said, a quote would only look like an answer."""
    answer = ask(memory, question)
    assert said in answer.message
    assert not answer.metadata.get("memory_sources")


def told_before(memory: Memory, user: str, *sessions: list[tuple[str, str]]) -> None:
    """Store past sessions of a user, the last one two days ago, and learn from them."""
    now = datetime.now(UTC)
    for at, turns in enumerate(sessions):
        session = memory.session(user_id=user)
        day = now - timedelta(days=2 + 7 * (len(sessions) - 1 - at))
        for number, (question, answer) in enumerate(turns):
            session.add_turn(question, answer, created_at=day + timedelta(minutes=number))
        session.end()
    assert memory.settle(60)


def test_an_acknowledgement_names_what_was_learned(memory: Memory) -> None:
    """A statement is acknowledged in the second person, with the way to correct it."""
    told = ask(memory, "I moved to Ghent last week").message
    assert told.startswith("Noted: you moved to Ghent last week.")
    assert "Tell me if" in told
    assert "ti chiami Anna" in ask(memory, "Mi chiamo Anna").message


def test_the_wished_name_is_used(memory: Memory) -> None:
    """A greeting is answered to the name that the user wants to be called by, before the one that is theirs."""
    told_before(memory, "max", [("My name is Maximilian", "Hello."), ("From now on call me Max", "All right.")])
    assert ask(memory, "hello", user="max").message.startswith("Hello, Max!")
    told_before(memory, "carla", [("Mi chiamo Carla", "Ciao.")])
    assert ask(memory, "ciao", user="carla").message.startswith("Ciao, Carla!")


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("when's my exam?", ["Scots law", "tax"]),
        ("what does my brother do?", ["Callum", "Fergus"]),
        ("what does my brother Fergus do?", []),
        ("how many brothers do I have?", []),
        ("who are my brothers?", []),
    ],
)
def test_several_things_that_fit_are_asked_back(memory: Memory, question: str, names: list[str]) -> None:
    """Where one of several things is asked for, the answer asks which, with their names."""
    told_before(
        memory,
        "ewan",
        [
            (
                "I've got two brothers, Callum and Fergus. Callum's a roofer, Fergus does something with bonds.",
                "A pair.",
            ),
            ("I've two exams as well: Scots law on the 2nd of May and tax on the 17th of May", "Study tax first."),
        ],
    )
    told = ask(memory, question, user="ewan").message
    assert told.startswith("Which one do you mean") == bool(names)
    assert all(name in told.partition("\n")[0] for name in names)


def test_what_was_superseded_is_told_as_past(memory: Memory) -> None:
    """The newest home is the answer; the older one is told with the day until which it counted."""
    told_before(memory, "ada", [("I live in Turin", "A fine city.")], [("I live in Ghent now", "Noted.")])
    told = ask(memory, "where do I live?", user="ada").message
    assert "Ghent" in told
    assert "Turin" not in told
    known = ask(memory, "what do you know about me?", user="ada").message
    assert "Until 2 days ago" in known or "Until" in known.partition("Turin")[0].splitlines()[-1]


def test_an_answered_question_is_quoted_with_its_answer(memory: Memory) -> None:
    """Where the user asked the same before, the answer that was given is quoted, not the question."""
    told_before(memory, "rita", [("How long do I boil the beetroot?", "Forty minutes, with the skin on.")])
    assert "Forty minutes" in ask(memory, "how long do I have to boil the beetroot?", user="rita").message


@pytest.mark.parametrize("question", ["how old is Obafemi?", "quanti anni ha Obafemi?"])
def test_a_detail_that_was_not_told_is_refused(memory: Memory, question: str) -> None:
    """The talk mentions the subject and not the detail: the answer says that it is nowhere."""
    told_before(memory, "joan", [("Little Obafemi beat me at chess, fair and square", "Well played.")])
    answer = ask(memory, question, user="joan")
    assert answer.metadata["memory_sources"] == []


def test_nothing_held_says_what_one_can_do(memory: Memory) -> None:
    """Without documents and memory the answer says how to give it something."""
    assert "add a document" in ask(memory, "when is my exam?", user="new").message
    assert "Aggiungi un documento" in ask(memory, "quando ho l'esame?", user="nuovo").message


def test_a_statement_counts_at_once(memory: Memory) -> None:
    """The message after a statement is answered with the facts that it states."""
    chat = Chat(memory)
    chat.ask(ChatRequest("My name is Bartholomew", "new"))
    assert "Bartholomew" in chat.ask(ChatRequest("Hello!", "new")).message


def test_facts_of_one_user_are_waited_for_alone() -> None:
    """Waiting for one owner ends when that owner's work is done, and gives up where it takes too long."""
    freed, anna, ben = threading.Event(), Owner("t", "anna"), Owner("t", "ben")

    def work(owner: Owner, session_id: str, details: frozenset[str]) -> None:
        if owner == ben:
            freed.wait(30)

    lane = SessionLane("people", work)
    try:
        lane.add(anna, "s")
        assert lane.settle(anna, 30)
        lane.add(ben, "s")
        assert lane.settle(anna, 0.01)
        assert not lane.settle(ben, 0.01)
        freed.set()
        assert lane.settle(ben, 30)
    finally:
        freed.set()
        lane.lane.close()


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("no worries", "All right."),
        ("thank you so much, that helped", "You're welcome."),
        ("haha nice one", "All right."),
        ("buonanotte", "A presto!"),
    ],
)
def test_remarks_get_one_short_line(memory: Memory, said: str, line: str) -> None:
    """A short remark that says nothing of its speaker is not repeated as if it were learned."""
    assert ask(memory, said).message == line


def test_a_question_about_oneself_after_another_subject(memory: Memory) -> None:
    """What was talked about in between is no part of the question."""
    first = ask(memory, "I live in Turin.", "carla")
    ask(memory, "What are the causes of earthquakes in Japan?", "carla", first.session_id)
    answer = ask(memory, "Where do I live?", "carla", first.session_id)
    assert "Turin" in answer.message
    assert not answer.metadata["standalone"]


def test_a_fact_of_the_user_is_not_looked_for_in_the_material(memory: Memory) -> None:
    """A passage that shares the verb does not answer where the user lives."""
    ask(memory, "I live in Turin.", "dora")
    passage = ("bread", "Wild yeasts and lactic acid bacteria live together in a starter.")
    answer = Chat(memory).ask(ChatRequest("Where do I live?", "dora", chunks=[passage]))
    assert "Turin" in answer.message
    assert "yeasts" not in answer.message


TOLD = {
    "en": (
        (200, "I live in Turin and I work as a nurse", "I have three cats: Milo, Otto and Nina"),
        (20, "I moved to Ghent", "I have a degree in biology and one in music", "Last year I took a degree in law"),
        (19, "I have read Dune, Emma and Ulysses", "My sister Ada has a dog called Biscuit"),
    ),
    "it": (
        (200, "Abito a Torino e faccio l'infermiera", "Ho tre gatti: Milo, Otto e Nina"),
        (20, "Mi sono trasferita a Gand", "Ho una laurea in biologia e una in musica", "Ho preso una laurea in legge"),
        (19, "Ho letto Dune, Emma e Ulisse", "Mia sorella Ada ha un cane che si chiama Biscuit"),
    ),
}


@pytest.fixture(params=["en", "it"])
def told(request: pytest.FixtureRequest) -> Iterator[tuple[Memory, str]]:
    """A memory of a user who told the same things in one of the languages."""
    with ricordo.open(":memory:", embedder="light") as opened:
        for day, *messages in TOLD[request.param]:
            session = opened.session(user_id="carla")
            for message in messages:
                session.add_turn(message, "Ok.", created_at=datetime.now(UTC) - timedelta(days=day))
        opened.settle(60)
        yield opened, request.param


@pytest.mark.parametrize(
    ("questions", "named"),
    [
        (("How many degrees do I have?", "Quante lauree ho?"), [("biolog",), ("law", "legge")]),
        (("Which degrees do I have?", "Quali lauree ho?"), [("biolog",), ("law", "legge")]),
        (("How many books have I read?", "Quanti libri ho letto?"), [("Dune",)]),
        (("How many cats do I have?", "Quanti gatti ho?"), [("three", "tre")]),
        (("What are my cats called?", "Come si chiamano i miei gatti?"), [("Milo, Otto",)]),
    ],
)
def test_lists_are_complete(told: tuple[Memory, str], questions: tuple[str, str], named: list[tuple[str, ...]]) -> None:
    """What is asked to be counted or listed is quoted from every message that names it, or with the number told."""
    answer = ask(told[0], questions[told[1] == "it"], "carla").message
    assert all(any(word in answer for word in words) for words in named), answer


@pytest.mark.parametrize(
    "questions", [("Where did I live before?", "Dove abitavo prima?"), ("Where did I use to live?", "Dove vivevo?")]
)
def test_an_earlier_home_is_told_as_past(told: tuple[Memory, str], questions: tuple[str, str]) -> None:
    """A question about earlier gets the superseded fact and the day until which it held; one about now the new one."""
    before = ask(told[0], questions[told[1] == "it"], "carla").message
    assert before.startswith(("Until", "Fino a"))
    assert "Turin" in before or "Torino" in before
    now = ask(told[0], ("Where do I live?", "Dove abito?")[told[1] == "it"], "carla").message
    assert "Ghent" in now or "Gand" in now


def test_what_is_known_names_its_sources(told: tuple[Memory, str]) -> None:
    """Each fact of "what do you know about me" comes from a message that the answer names."""
    known = ask(told[0], ("What do you know about me?", "Che cosa sai di me?")[told[1] == "it"], "carla")
    assert len(known.metadata["memory_sources"]) >= 4


@pytest.mark.parametrize(
    ("statement", "question", "choice", "names"),
    [
        ("I have two exams, art on 3 May and chemistry on 9 June", "When is my exam?", "art", "art, chemistry"),
        ("Ho due esami, fisica il 3 maggio e chimica il 9 giugno", "Quando ho l'esame?", "2", "fisica, chimica"),
    ],
)  # fmt: skip
def test_the_choice_completes_the_question(
    memory: Memory, statement: str, question: str, choice: str, names: str
) -> None:
    """After "which one?" a name or a number answers the question that was asked; days and months are no names."""
    first = ask(memory, statement, "dora")
    which = ask(memory, question, "dora", first.session_id)
    assert f": {names}?" in which.message
    chosen = ask(memory, choice, "dora", first.session_id)
    assert statement in chosen.message, chosen


@pytest.mark.parametrize(
    ("first", "second", "age"),
    [
        ("What is my brother called?", "How old is he?", "34"),
        ("Tell me about my brother", "And where does he live?", "Oslo"),
        ("Come si chiama mio fratello?", "Quanti anni ha?", "34"),
        ("Parlami di mio fratello", "E dove vive?", "Oslo"),
    ],
)
def test_a_pronoun_means_who_was_talked_of(memory: Memory, first: str, second: str, age: str) -> None:
    """A question about "he" is answered of the person that the question before named."""
    said = ("My brother Luca is 34 and he lives in Oslo", "Mio fratello Luca ha 34 anni e vive a Oslo")
    memory.session(user_id="emma").add_turn(said["fratello" in first], "Ok.")
    memory.session(user_id="emma").add_turn(("I teach maths", "Insegno matematica")["fratello" in first], "Ok.")
    talk = ask(memory, first, "emma")
    assert "Luca" in talk.message
    assert age in ask(memory, second, "emma", talk.session_id).message


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ("Answer briefly from now on", "From now on: “Answer briefly”"),
        ("no pork please", "From now on: “no pork please”"),
        ("niente maiale, per favore", "D'ora in poi: “niente maiale, per favore”"),
        ("Call me Max", "“Call me Max”"),
    ],
)
def test_a_wish_is_repeated_as_it_was_said(memory: Memory, wish: str, told: str) -> None:
    """A standing wish is acknowledged as one, with the words that matter."""
    assert told in ask(memory, wish, "fred").message


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("My son Danylo is 8 and speaks better than me", "What is my husband called?"),
        ("Mio figlio Danylo ha 8 anni e parla meglio di me", "Come si chiama mio marito?"),
        ("My sister Clelia wants to keep the shop", "How old is my mother?"),
        ("Mia sorella Clelia vuole tenere la bottega", "Quanti anni ha mia madre?"),
    ],
)
def test_another_relative_is_no_answer(memory: Memory, said: str, question: str) -> None:
    """The name or age of a relative who was never talked of is not taken from another one."""
    memory.session(user_id="gina").add_turn(said, "Ok.")
    told = ask(memory, question, "gina").message
    assert not any(name in told for name in ("Danylo", "Clelia"))


@pytest.mark.parametrize(
    ("said", "answered", "question", "quoted"),
    [
        ("I never remember what the estates general were", "Three orders: clergy, nobles, commons.",
         "what were the estates general?", ("clergy",)),
        ("Non so come scrivere il necrologio", "Scrivi: si è fermato il tempo di Settimio.",
         "come devo scrivere il mio necrologio?", ("si è fermato",)),
        ("Do I need the salesman who wants to charge me 2,150 for injections?", "No, save your money.",
         "what did the salesman want to charge me?", ("2,150", "save your money")),
    ],
)  # fmt: skip
def test_what_was_not_known_is_quoted_with_its_answer(
    memory: Memory, said: str, answered: str, question: str, quoted: tuple[str, ...]
) -> None:
    """A statement of not knowing got an answer, and a question may hold the asked detail itself."""
    memory.session(user_id="iris").add_turn(said, answered)
    told = ask(memory, question, "iris").message
    assert all(each in told for each in quoted), told


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("We took the boat out on the lake with my neighbour", "where did we buy the boat?"),
        ("Abbiamo portato la barca sul lago con il mio vicino", "dove abbiamo comprato la barca?"),
    ],
)
def test_the_nearest_is_not_told_as_the_answer(memory: Memory, said: str, question: str) -> None:
    """A message that may answer is quoted behind the sentence that no certain answer was found; it is a source."""
    memory.session(user_id="hugo").add_turn(said, "Ok.")
    told = ask(memory, question, "hugo")
    assert told.message.startswith((language("en").reader.unsure, language("it").reader.unsure))
    assert said in told.message
    assert told.confidence < ANSWERED_FROM
    assert len(told.metadata["memory_sources"]) == 1


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("Freelance illustrator here, first year of taxes", "What do I do for work?"),
        ("Guadagno 1.640 euro al mese come saldatore", "Che mestiere faccio?"),
        ("Sono Donata e insegno matematica in un liceo", "Che lavoro faccio?"),
    ],
)
def test_work_is_told_in_the_words_of_the_user(memory: Memory, said: str, question: str) -> None:
    """What one does is known from how people say it, whatever else was said later."""
    told_before(memory, "lena", [(said, "Ok.")], [("My accountant retired, I forgot a client", "Ok.")])
    assert said in ask(memory, question, "lena").message


def test_a_new_place_of_work_counts(memory: Memory) -> None:
    """A later message that takes up the old place of work replaces it."""
    later = "I'm not at the studio any more, I started at the museum shop on Monday"
    told_before(memory, "maud", [("I work at a ceramics studio", "Ok.")], [(later, "Ok.")])
    assert "museum shop" in ask(memory, "what do I do for work?", "maud").message


def test_what_was_said_of_something_else_replaces_nothing(memory: Memory) -> None:
    """A later amount of money is no newer rent."""
    told_before(
        memory,
        "dina",
        [("L'affitto è di 620 euro al mese", "Ok.")],
        [("Il meccanico ha cambiato la batteria, 130 euro", "Ok.")],
    )
    assert "620" in ask(memory, "quanto pago di affitto?", "dina").message


def test_what_a_change_leaves_open_is_quoted_from_before(memory: Memory) -> None:
    """ "The same time" alone is no answer: the message with the time is quoted beside it."""
    told_before(
        memory,
        "nora",
        [("Il colloquio con la preside è il 3 dicembre alle 15 e 30", "Ok.")],
        [("La preside ha spostato il colloquio al 10 dicembre, stessa ora", "Ok.")],
    )
    assert "15 e 30" in ask(memory, "a che ora è il colloquio?", "nora").message


def test_the_age_of_a_child_is_not_the_users(memory: Memory) -> None:
    """Without a word of the user's own age nothing is quoted as the answer."""
    told_before(memory, "olga", [("Abbiamo due figli, Nina di 9 anni e Pietro di 6", "Ok.")])
    assert not ask(memory, "quanti anni ho?", "olga").metadata["memory_sources"]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("ok bye", language("en").reader.farewell),
        ("thanks, that's all", language("en").reader.thanks),
        ("what can you do?", language("en").reader.nothing_yet),
        ("chi sei?", language("it").reader.nothing_yet),
        ("ok grazie, a dopo", language("it").reader.farewell),
    ],
)
def test_short_talk_gets_its_own_line(memory: Memory, message: str, said: str) -> None:
    """A goodbye behind an okay is a goodbye, and a question about the assistant is answered."""
    assert ask(memory, message).message == said


def test_a_correction_is_noted(memory: Memory) -> None:
    """A short sentence that corrects something is no mere remark."""
    assert "la bicicletta è blu" in ask(memory, "anzi, la bicicletta è blu").message


def test_the_last_conversation_is_not_the_present_one(memory: Memory) -> None:
    """The summary of the last talk tells the session before this one."""
    told_before(memory, "pia", [("We planted twelve apple trees by the river", "Water them well.")])
    first = ask(memory, "I bought a green bicycle today", "pia")
    told = ask(memory, "summarise our last conversation", "pia", first.session_id).message
    assert "apple trees" in told
    assert "bicycle" not in told


def test_an_end_is_dated_in_good_italian(memory: Memory) -> None:
    """A date has its article, a word such as "ieri" has none."""
    told_before(
        memory, "rosa", [("Abito a Torino", "Ok.")], [("Mi sono trasferita a Gand", "Ok.")], [("Ciao", "Ciao.")]
    )
    known = ask(memory, "cosa sai di me?", "rosa").message
    assert "Fino al giorno" in known, known


CHANGES = (
    ("My pottery class is on Monday at 7", "the pottery class was moved to Friday at 8",
     "when was pottery before?", "Monday"),
    ("Il corso di nuoto è il martedì alle 18", "il corso di nuoto è stato spostato al giovedì alle 19",
     "quando era prima il corso di nuoto?", "martedì"),
    ("I take lisinopril 10 mg at night", "from today I take 20 mg of lisinopril instead",
     "what dose did I take before?", "10 mg"),
)  # fmt: skip


@pytest.mark.parametrize(("first", "change", "question", "told"), CHANGES)
def test_what_counted_before_a_change_is_told(first: str, change: str, question: str, told: str) -> None:
    """A question about the time before is answered with what was replaced, not with what replaced it."""
    with ricordo.open(":memory:", embedder="light") as memory:
        memory.session(user_id="emma").add_turn(first, "Ok.", created_at=datetime.now(UTC) - timedelta(days=5))
        memory.session(user_id="emma").add_turn(change, "Ok.", created_at=datetime.now(UTC) - timedelta(days=2))
        memory.settle(30)
        answer = ask(memory, question, "emma")
    assert told in answer.message
    assert change not in answer.message


@pytest.mark.parametrize(
    ("question", "lead", "first"),
    [
        ("what did we talk about two days ago?", "I find no conversation", "275"),
        ("di che cosa abbiamo parlato due giorni fa?", "Non trovo nessuna conversazione", "275"),
        ("what did we talk about yesterday?", "What we talked about (yesterday)", "275"),
    ],
)
def test_a_day_without_talk_is_said(memory: Memory, question: str, lead: str, first: str) -> None:
    """The talk of another day is told as the nearest, never as that of the day that was asked for."""
    answer = ask(memory, question)
    assert answer.message.startswith(lead)
    assert first in answer.message


@pytest.mark.parametrize(
    ("said", "asked", "question"),
    [
        ("I have planted leeks", "How deep do leeks go?", "what did I ask you today?"),
        ("Ho piantato i porri", "A che profondità vanno i porri?", "che cosa ti ho chiesto oggi?"),
    ],
)
def test_what_was_asked_is_part_of_the_talk(said: str, asked: str, question: str) -> None:
    """Questions that the reader answered belong to the talk of a day, and alone where they are asked for."""
    with ricordo.open(":memory:", embedder="light") as memory:
        session = ask(memory, said, "emma").session_id
        ask(memory, asked, "emma", session)
        answer = ask(memory, question, "emma", session)
    assert asked in answer.message
    assert said not in answer.message


@pytest.mark.parametrize(
    ("said", "question", "choice", "chosen", "unknown", "neither"),
    [
        ("I want to visit Bergen, Tromso and Alesund", "list the towns I want to visit", "the second one", ": Tromso",
         "what is my shoe size?", "do not know which"),
        ("Devo comprare il latte, le mele e il sapone", "quali cose devo comprare?", "la seconda", ": le mele",
         "qual è il mio numero di scarpe?", "Non so quale"),
    ],
)  # fmt: skip
def test_one_thing_of_a_quoted_list_is_chosen(
    said: str, question: str, choice: str, chosen: str, unknown: str, neither: str
) -> None:
    """It is named with its message; where no list was told there is nothing to choose from, and the answer says so."""
    with ricordo.open(":memory:", embedder="light") as memory:
        memory.session(user_id="emma").add_turn(said, "Ok.")
        session = ask(memory, question, "emma").session_id
        assert ask(memory, choice, "emma", session).message.endswith(chosen)
        ask(memory, unknown, "emma", session)
        assert ask(memory, choice, "emma", session).message.endswith(chosen)  # the newest list wins
        other = ask(memory, unknown, "emma").session_id
        assert neither in ask(memory, choice, "emma", other).message


def test_a_statement_with_a_place_in_it_is_no_choice() -> None:
    """What names a course or a shift by a number is taken as a statement, also after a list."""
    with ricordo.open(":memory:", embedder="light") as memory:
        session = ask(memory, "Il corriere viene il lunedì, il mercoledì e il sabato", "emma").session_id
        told = ask(memory, "Ho tre aiuti: Gino ai primi, Rita ai dolci e Ugo al banco", "emma", session)
    assert told.message.startswith(("Annotato", "D'ora in poi"))


@pytest.mark.parametrize(
    ("wish", "lead"),
    [("could you call me Robbie from now on?", "From now on"), ("puoi darmi del lei d'ora in poi?", "D'ora in poi")],
)
def test_a_standing_wish_may_be_a_question(wish: str, lead: str) -> None:
    """It is acknowledged and kept; and told once where the user asks what is known."""
    with ricordo.open(":memory:", embedder="light") as memory:
        assert ask(memory, wish, "emma").message.startswith(lead)
        memory.settle(30)
        assert any(fact.is_instruction for fact in memory.facts(user_id="emma"))
        known = ask(memory, "what do you know about me?" if lead[0] == "F" else "cosa sai di me?", "emma")
    assert known.message.count(wish.rstrip("?")) == 1


def test_the_medicines_that_one_takes() -> None:
    """ "che medicine" asks for no doctor; what a person has done to themselves is no question about the talk."""
    with ricordo.open(":memory:", embedder="light") as memory:
        memory.session(user_id="emma").add_turn("Prendo il bisoprololo la mattina", "Ok.")
        memory.session(user_id="emma").add_turn("Ieri mia sorella si è slogata la caviglia", "Ok.")
        assert "bisoprololo" in ask(memory, "che medicine prendo?", "emma").message
        assert ask(memory, "che cosa si è fatta mia sorella?", "emma").message.startswith("Hai detto")


def test_a_search_finds_what_was_said_and_not_the_quote_of_it() -> None:
    """An answer that only quotes is no hit."""
    with ricordo.open(":memory:", embedder="light") as memory:
        session = ask(memory, "My oboe exam is on 14 May", "emma").session_id
        assert "14 May" in ask(memory, "When is my oboe exam?", "emma", session).message
        hits = memory.search("oboe exam", user_id="emma")
        assert [hit.text for hit in hits if "You said" in hit.text] == []
        assert any(hit.text == "My oboe exam is on 14 May" for hit in hits)


@pytest.mark.parametrize(
    ("said", "denied", "question"),
    [
        ("I take levothyroxine every morning", "I can't take aspirin", "which medicines do I take?"),
        ("prendo l'eutirox ogni mattina", "non posso prendere l'aspirina", "che medicine prendo?"),
    ],
)
def test_a_list_holds_nothing_that_was_denied(memory: Memory, said: str, denied: str, question: str) -> None:
    """What one cannot take is no medicine that one takes."""
    told_before(memory, "ida", [(denied, "Ok."), (said, "Ok.")])
    told = ask(memory, question, "ida").message
    assert said in told
    assert denied not in told


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("we usually fly to Porto in June to see my aunt", "which airline do I fly?"),
        ("I'm allergic to shellfish", "am I allergic to peanuts?"),
        ("sono allergica ai crostacei", "sono allergica alle arachidi?"),
    ],
)
def test_what_was_not_named_is_never_certain(memory: Memory, said: str, question: str) -> None:
    """A message with the verb, but without the thing that is asked for, is at most the nearest."""
    told_before(memory, "ugo", [(said, "Ok.")])
    phrases = language("it" if "sono" in question else "en").reader
    assert ask(memory, question, "ugo").message.startswith((phrases.unsure, phrases.absent))


@pytest.mark.parametrize(
    ("said", "other", "first", "question"),
    [
        (
            "My knee operation was on 3 March last year",
            "we usually fly to Porto in June",
            "which airline do I fly?",
            "when was the operation?",
        ),
        (
            "L'operazione al ginocchio è stata il 3 marzo",
            "a giugno andiamo sempre a Porto",
            "con che compagnia volo?",
            "quando è stata l'operazione?",
        ),
    ],
)
def test_a_whole_question_is_read_as_it_is(memory: Memory, said: str, other: str, first: str, question: str) -> None:
    """What was talked of before is not read into a question that is answered by itself."""
    told_before(memory, "rita", [(said, "Ok."), (other, "Ok.")])
    chat = Chat(memory)
    session = chat.ask(ChatRequest(first, "rita")).session_id
    told = chat.ask(ChatRequest(question, "rita", session_id=session)).message
    assert said in told
    assert other not in told


def test_an_age_is_forgotten_by_its_name(memory: Memory) -> None:
    """ "The age" names what was told with a number."""
    told_before(memory, "lia", [("viene anche mia sorella Flavia, ha fatto 40 anni a maggio", "Ok.")])
    assert "40" in ask(memory, "dimentica l'età di mia sorella", "lia").message
    assert "40" not in ask(memory, "quanti anni ha mia sorella?", "lia").message


def test_a_body_part_without_a_side_is_never_certain(memory: Memory) -> None:
    """ "My knee hurts" does not say which knee; "my left knee" does."""
    told_before(memory, "ida", [("My knee has been hurting for a week", "Rest it.")], [("I saw the physio", "Good.")])
    told_before(memory, "ugo", [("My left knee has been hurting for a week", "Rest it.")], [("I saw her", "Good.")])
    assert "holds no answer" in ask(memory, "Which knee was it?", "ida").message
    assert "left knee" in ask(memory, "Which knee was it?", "ugo").message


def test_talk_about_something_that_was_not_talked_of_says_so(memory: Memory) -> None:
    """The nearest messages are told after the sentence that nothing of it was found."""
    told_before(memory, "eva", [("The dentist moved me to the 11th", "All right.")])
    assert ask(memory, "What did we say about the zeppelin?", "eva").message.startswith("I find no conversation")


@pytest.mark.parametrize(
    ("said", "question", "forbidden"),
    [
        ("I did my first loop of the lake in 34 minutes", "What's my resting heart rate?", "34"),
        ("ho fatto il giro del lago in 34 minuti", "Quanto peso?", "34"),
        ("I'm a nurse on nights and I sleep 4 hours", "Which hospital do I work at?", "nurse"),
        ("faccio l'infermiera di notte e dormo 4 ore", "In quale ospedale lavoro?", "infermiera"),
        ("My car instalment is 210 euros until October", "How much do I pay for parking?", "210"),
        ("La rata della macchina è di 210 euro fino a ottobre", "Quanto pago di affitto?", "210"),
    ],
)
def test_another_unit_name_or_purpose_answers_nothing(memory: Memory, said: str, question: str, forbidden: str) -> None:
    """Minutes are no weight or pulse, "which hospital" wants a name, and an amount for one thing is not for another."""
    told_before(memory, "eva", [(said, "All right.")], [("I saw my sister on Sunday", "Good.")])
    assert forbidden not in ask(memory, question, "eva").message


@pytest.mark.parametrize(
    ("said", "question", "wanted"),
    [
        ("My run around the lake took 34 minutes", "How long did my run around the lake take?", "34"),
        ("Il giro del lago è durato 34 minuti", "Quanto è durato il giro del lago?", "34"),
        ("I work at the Royal Infirmary hospital", "Which hospital do I work at?", "Royal"),
        ("Lavoro all'ospedale Niguarda", "In quale ospedale lavoro?", "Niguarda"),
        ("I pay 90 euros a month for parking", "How much do I pay for parking?", "90"),
        ("Pago 640 euro di affitto", "Quanto pago di affitto?", "640"),
    ],
)
def test_the_wanted_unit_name_or_purpose_is_quoted(memory: Memory, said: str, question: str, wanted: str) -> None:
    """What has the wanted unit, name or purpose is still the answer."""
    told_before(memory, "eva", [(said, "All right.")], [("I saw my sister on Sunday", "Good.")])
    assert wanted in ask(memory, question, "eva").message


def test_a_long_talk_tells_what_was_told_before_what_was_asked() -> None:
    """Where not every message has room, what the user told stands before the questions that the reader answered."""
    with ricordo.open(":memory:", embedder="light") as memory:
        session = ask(memory, "I keep two donkeys in Ghent").session_id
        for number in range(16):
            ask(memory, f"what is the name of donkey {number}?", session=session)
        told = ask(memory, "what did we talk about?", session=session).message
    assert "two donkeys in Ghent" in told
    assert "donkey 3" not in told


def test_a_statement_is_taken_as_it_stands() -> None:
    """No rewritten form of a statement is shown: the reader acknowledges the words that were said."""
    with ricordo.open(":memory:", embedder="light") as memory:
        memory.session("dentist", user_id="anna").add_turn("My dentist is called Orr", "Noted.")
        events = Chat(memory).respond(ChatRequest("they moved it to Monday", "anna", session_id="dentist"))
        understood = [event for event in events if isinstance(event, Understood)]
    assert [event.standalone for event in understood] == [""]


@pytest.mark.parametrize(
    ("said", "noted", "question", "told"),
    [
        ("i'm allergic to peanuts, what can I cook tonight?", "Noted: you're allergic to peanuts",
         "what am I allergic to?", "“i'm allergic to peanuts”"),
        ("Got a cat called Mog. Which food is best for her?", "Mog", "What is my cat called?", "Mog"),
        ("Sono celiaca, che cosa posso cucinare stasera?", "Annotato: sei celiaca", "Sono celiaca?", "«Sono celiaca»"),
        ("Come si cuoce il riso? Il mio forno arriva a 230 gradi", "230", "A quanti gradi arriva il mio forno?",
         "«Il mio forno arriva a 230 gradi»"),
    ],
)  # fmt: skip
def test_a_statement_beside_a_question_counts(memory: Memory, said: str, noted: str, question: str, told: str) -> None:
    """What a message states beside its question is acknowledged before the answer, and is a source from then on."""
    first = ask(memory, said, user="bea")
    acknowledgement, _, answer = first.message.partition("\n\n")
    assert noted in acknowledgement
    assert answer
    later = ask(memory, question, user="bea")
    assert told in later.message
    assert later.metadata["memory_sources"]
    assert "?" not in later.message  # the question itself is no source


def test_a_question_alone_states_nothing(memory: Memory) -> None:
    """A question without a statement gets its answer alone, and stays no source."""
    answer = ask(memory, "Well, when is my dentist appointment, please?")
    assert answer.message.startswith("You said")
    turn = memory.session(answer.session_id, user_id="anna").history()[-1]
    assert "told" not in turn.metadata


@pytest.mark.parametrize(
    ("said", "change", "question", "still", "gone"),
    [
        ("My name is Anna and I live in Turin", "I live in Genoa now", "what do you know about me?",
         "- “My name is Anna”", "- Until today: “I live in Turin”"),
        ("Mi chiamo Marco e vivo a Bari", "Ora vivo a Roma", "che cosa sai di me?", "- «Mi chiamo Marco»",
         "- Fino a oggi: «vivo a Bari»"),
    ],
)  # fmt: skip
def test_what_still_holds_of_a_message_is_not_told_as_past(
    memory: Memory, said: str, change: str, question: str, still: str, gone: str
) -> None:
    """Of a message that tells two facts only the superseded one is told as past; the other is quoted alone."""
    for each in (said, change):
        ask(memory, each, user="bea")
        memory.settle(60)
    answer = ask(memory, question, user="bea").message
    assert still in answer
    assert gone in answer
    name = ask(memory, "what's my name?" if still.isascii() else "come mi chiamo?", user="bea").message
    assert gone.partition(": ")[2].strip("“”«»") not in name


@pytest.mark.parametrize("question", ["Who is Callum married to?", "how old is callum?"])
def test_a_named_one_of_several_is_not_asked_back(memory: Memory, question: str) -> None:
    """A question that names one of several things gets no question back, also in lower case."""
    ask(memory, "I have two brothers, Callum who is 31 and Fergus who is 28", user="bea")
    assert "which" not in ask(memory, question, user="bea").message.lower()


@pytest.mark.parametrize(
    ("said", "command", "question"),
    [
        ("i'm allergic to nuts", "forget that", "what am I allergic to?"),
        ("Sono allergica alle noci", "dimentica quello che ti ho appena detto", "A che cosa sono allergica?"),
    ],
)
def test_what_was_said_last_is_forgotten(memory: Memory, said: str, command: str, question: str) -> None:
    """A command that names nothing forgets what the user said last in this session, and nothing before it."""
    first = ask(memory, "My dog is called Rex", user="bea")
    ask(memory, said, user="bea", session=first.session_id)
    memory.settle(60)
    reply = ask(memory, command, user="bea", session=first.session_id).message
    assert "llerg" in reply
    assert "“" not in ask(memory, question, user="bea").message.replace("«", "“")
    assert "Rex" in ask(memory, "What is my dog called?", user="bea").message


@pytest.mark.parametrize(
    ("first", "second", "question", "wanted"),
    [
        ("my son Leo plays football on saturdays", "my daughter Mina plays football on sundays",
         "when does leo play football?", "saturdays"),
        ("mio figlio Ugo gioca a calcio il sabato", "mia figlia Rita gioca a calcio la domenica",
         "quando gioca a calcio ugo?", "sabato"),
    ],
)  # fmt: skip
def test_a_later_message_about_another_person_replaces_nothing(
    memory: Memory, first: str, second: str, question: str, wanted: str
) -> None:
    """What was said of the person who is asked for is quoted, also where the same was told of another one later."""
    for each in (first, second):
        ask(memory, each, user="bea")
    assert wanted in ask(memory, question, user="bea").message


@pytest.mark.parametrize(
    ("said", "correction", "question", "new", "old"),
    [
        ("plumber comes on Monday at 8", "no wait, Tuesday at 10", "when is the plumber coming?", "Tuesday", "at 8"),
        ("giovedì alle 15 ho il dentista", "anzi no, venerdì alle 16", "quand'è che ho il dentista?", "venerdì", "15"),
    ],
)  # fmt: skip
def test_a_correction_right_after_counts(
    memory: Memory, said: str, correction: str, question: str, new: str, old: str
) -> None:
    """What corrects a message in the next one is quoted instead of it, though it names nothing."""
    told_before(memory, "ugo", [(said, "OK."), (correction, "OK."), ("I have two cats", "OK.")])
    answer = ask(memory, question, user="ugo").message
    assert new in answer
    assert old not in answer


@pytest.mark.parametrize(
    ("question", "wanted", "never"),
    [
        ("what was the first thing I told you?", "Hamish", "baker"),
        ("what was the last thing I said?", "baker", "Hamish"),
        ("qual è l'ultima cosa che ti ho detto?", "baker", "Hamish"),
        ("what did I tell you about the baker?", "Ishbel", "Hamish"),
        ("who is Ishbel?", "baker", "no certain"),
    ],
)
def test_the_ends_of_the_talk(memory: Memory, question: str, wanted: str, never: str) -> None:
    """The first and the last thing said are told, what was said of a subject, and who a person is."""
    told_before(memory, "eva", [("Hamish is getting married", "Congratulations.")], [("Ishbel is a baker", "Nice.")])
    answer = ask(memory, question, user="eva").message
    assert wanted in answer
    assert never not in answer


@pytest.mark.parametrize(
    ("said", "question", "wanted"),
    [
        ("abito a Torino con mia sorella Livia", "con chi vivo?", "Livia"),
        ("I live in Turin with my sister Livia", "who do I live with?", "Livia"),
    ],
)
def test_what_the_user_said_of_themselves_comes_before_the_material(
    memory: Memory, said: str, question: str, wanted: str
) -> None:
    """No material can know it, whatever words it shares with the question."""
    told_before(memory, "zed", [(said, "OK.")])
    passages = [("n1", "Di notte respirano tutte le cellule vive."), ("n2", "Wild yeasts live with bacteria.")]
    answer = Chat(memory).ask(ChatRequest(question, "zed", chunks=passages)).message
    assert wanted in answer
    assert "cellule" not in answer
    assert "yeasts" not in answer


@pytest.mark.parametrize("question", ["chi è Pippo?", "who is Pippo?"])
def test_who_a_name_is_among_many_messages(memory: Memory, question: str) -> None:
    """The message with the name is quoted, whatever else the models hold for more like the question."""
    said = ["abito a Sesto", "il mio gatto Pippo ha la gastrite e mangia solo le crocchette renali", "che sai fare?"]
    later = ["come mi chiamo?", "chi viene a cena?", "chi abita con me?", "adesso con noi c'è Sara", "chi è Sara?"]
    told_before(memory, "luca", [(one, "OK.") for one in said], [(one, "OK.") for one in later])
    assert "crocchette" in ask(memory, question, user="luca").message


def test_the_question_that_was_asked_last(memory: Memory) -> None:
    """What was asked of a subject is told also where the reader answered it."""
    ask(memory, "why does bread rise?", user="ida")
    ask(memory, "my favourite bread is rye", user="ida")
    told = ask(memory, "what did I ask you about bread?", user="ida").message
    assert "why does bread rise" in told
    assert "rye" not in told
    assert "why does bread rise" in ask(memory, "what was the last question I asked?", user="ida").message


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("write me a poem about the sea", "I answer from your documents"),
        ("scrivimi una poesia sul mare", "Rispondo dai tuoi documenti"),
        ("are you a robot?", "I answer from your documents"),
        ("nice one", "All right."),
        ("grazie, sei stato bravissimo", "Prego"),
        ("she's allergic to eggs", "she's allergic to eggs"),
        ("???", "holds no answer"),
    ],
)
def test_what_a_stranger_says(memory: Memory, message: str, wanted: str) -> None:
    """Orders that no quote obeys, thanks with a compliment and remarks on a third person get a fitting line."""
    assert wanted in ask(memory, message, user="zoe").message


@pytest.mark.parametrize(
    ("said", "question", "names"),
    [
        ("my neighbours Priya and Colin have my keys", "what is my neighbour called?", ("Priya", "Colin")),
        ("i miei figli sono Catello e Ginevra", "quanti anni ha mio figlio?", ("Catello", "Ginevra")),
    ],
)
def test_names_without_a_number_are_asked_back(
    memory: Memory, said: str, question: str, names: tuple[str, ...]
) -> None:
    """Two names that stand together after a plural are a choice."""
    told_before(memory, "leo", [(said, "OK.")])
    answer = ask(memory, question, user="leo").message
    assert all(name in answer.partition("\n")[0] for name in names)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("my boyfriend Luca is a chef", "what does my boyfriend do"),
        ("la mia povera zia Iole faceva la sarta", "che mestiere faceva Iole?"),
        ("Ella plays the cello", "which instrument does Ella play"),
        ("alleno i pulcini della Virtus", "che squadra alleno?"),
        ("my car's a 2014 skoda", "what car do i drive"),
        ("training for the Oslo marathon, it's on 24 May", "when's the marathon"),
        ("mi alleno per la maratona di Roma, è il 22 marzo", "quand'è la maratona"),
    ],
)
def test_what_a_sentence_says_outright_is_certain(memory: Memory, said: str, question: str) -> None:
    """A sentence with all that a question says and what can be its answer is no nearest one."""
    told_before(memory, "ida", [(said, "Ok.")])
    answer = ask(memory, question, user="ida").message
    assert said in answer
    assert not answer.startswith((language("en").reader.unsure, language("it").reader.unsure))


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("He likes jazz and hot sauce.", "do I like jazz?"),
        ("Gli piacciono il jazz e la salsa piccante.", "mi piace il jazz?"),
        ("se vincessi al lotto mi comprerei una casa in Toscana", "ho una casa?"),
        ("we took a lodger, the kids are Ida and Bo", "what school does Ida go to?"),
    ],
)
def test_another_ones_value_or_a_hypothesis_is_never_certain(memory: Memory, said: str, question: str) -> None:
    """What is said of another, or only supposed, answers no question about the user."""
    told_before(memory, "ida", [(said, "Ok.")])
    phrases = [language(code).reader for code in ("en", "it")]
    starts = tuple(line for each in phrases for line in (each.unsure, each.absent))
    assert ask(memory, question, user="ida").message.startswith(starts)


def test_a_correction_of_a_correction_counts(memory: Memory) -> None:
    """Each of the messages right after one may correct another part of it: the day, then the time."""
    said = ["Ho il dentista lunedì alle 15.", "no aspetta, è martedì", "scusa, anche l'ora è sbagliata: è alle 16:30"]
    told_before(memory, "ida", [(each, "Ok.") for each in said])
    answer = ask(memory, "a che ora ho il dentista?", user="ida").message
    assert "16:30" in answer
    assert "alle 15" not in answer


@pytest.mark.parametrize("message", ["waht is the capital of Canada", "qunado parte il treno"])
def test_a_slip_in_the_question_word_is_read(message: str) -> None:
    """Letters in the wrong order leave a question a question."""
    assert dialogue_act(message).act == "question"


@pytest.mark.parametrize(
    ("said", "message", "wanted"),
    [
        ("My cat is called Mog", "my cat's name", "Mog"),
        ("Il mio gatto si chiama Micio", "nome del gatto", "Micio"),
        ("My gym shuts at 22:30", "the gym shuts at what time", "22:30"),
        ("La mia palestra chiude alle 22:30", "la palestra a che ora chiude", "22:30"),
    ],
)
def test_fragments_are_answered(memory: Memory, said: str, message: str, wanted: str) -> None:
    """A question without the mark or the order of one is answered from memory, and nothing is learned from it."""
    told_before(memory, "noa", [(said, "OK.")])
    memory.settle(30)
    known = [fact.text for fact in memory.facts("noa")]
    assert wanted in ask(memory, message, user="noa").message
    memory.settle(30)
    assert [fact.text for fact in memory.facts("noa")] == known


@pytest.mark.parametrize("message", ["compleanno di papà", "my doctor's name", "password of the office wifi"])
def test_nothing_is_learned_from_what_only_asks(memory: Memory, message: str) -> None:
    """A fragment that asks is no fact, also where no answer is held."""
    ask(memory, message, user="tea")
    memory.settle(30)
    assert not memory.facts("tea")


@pytest.mark.parametrize(
    ("said", "message", "held"),
    [
        ("My exam is on 2 June", "my exam is on 9 June", "9 June"),
        ("Il mio esame è il 2 giugno", "quando finisco l'esame del 9 giugno parto per Bari", "Bari"),
    ],
)
def test_news_is_noted(memory: Memory, said: str, message: str, held: str) -> None:
    """A message that says more than is known is acknowledged, whatever it opens with."""
    told_before(memory, "sam", [(said, "OK.")])
    answer = ask(memory, message, user="sam").message
    assert answer.startswith(("Noted", "Annotato"))
    assert held in answer
