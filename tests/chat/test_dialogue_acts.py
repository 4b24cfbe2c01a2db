"""The dialogue act of a message: what is small talk, a command, a statement, a claim or a question."""

import json
from pathlib import Path

import pytest

from ricordo.chat.question import TOLD, asks_for_answers, dialogue_act
from ricordo.people.facts import judge


@pytest.mark.parametrize(
    ("message", "act"),
    [
        ("Hello!", "greeting"),
        ("Buonasera a tutti", "greeting"),
        ("thanks a lot", "thanks"),
        ("Grazie mille!", "thanks"),
        ("ok", "okay"),
        ("notte, alla prossima", "farewell"),
        ("remember that the gate code is 9921", "remember"),
        ("ricordati che il cancello si apre col 9921", "remember"),
        ("Forget my age please", "forget"),
        ("dimentica quanto guadagno", "forget"),
        ("from now on call me Max", "standing"),
        ("D'ora in poi rispondi in breve", "standing"),
        ("you told me to buy a boat, right?", "claim"),
        ("Mi avevi detto di comprare una barca?", "claim"),
        ("did I tell you about my sister?", "own_claim"),
        ("what did we talk about yesterday?", "talk"),
        ("di cosa abbiamo parlato ieri?", "talk"),
        ("riassumi la nostra chat", "talk"),
        ("what do you know about me?", "about_me"),
        ("che cosa sai di me?", "about_me"),
        ("when is my dentist appointment?", "question"),
        ("who am I travelling with?", "question"),
        ("A quanti gradi arriva il mio forno?", "question"),
        ("which road did you warn me off?", "question"),
        ("I got the job!!", "statement"),
        ("Mi chiamo Anna", "statement"),
        ("", "statement"),
    ],
)
def test_act(message: str, act: str) -> None:
    """Each message has the act that a person would give it, in both languages."""
    assert dialogue_act(message).act == act


def test_content_of_a_command() -> None:
    """A command gives the words that are to be kept, as they were written."""
    assert dialogue_act("Please remember that the Wi-Fi is Übung7.").content == "the Wi-Fi is Übung7"
    assert dialogue_act("dimentica qnt guadagno").content == "quanto guadagno"


def test_question_for_the_assistants_words() -> None:
    """A question that asks what the assistant said is told from one that asks what the user said."""
    assert asks_for_answers("which page did you tell me to start on?")
    assert not asks_for_answers("when is my dentist appointment?")


@pytest.mark.parametrize(
    ("message", "act"),
    [
        ("im in hobart, whens best time to plant garlic", "question"),
        ("standup moved to 10, can you tell me how to cook rice", "question"),
        ("ho un forno nuovo, come faccio la pizza", "question"),
        ("wen is marcus birthday", "question"),
        ("qnt anni ha il gatto", "question"),
        ("ke giorno nuoto", "question"),
        ("a ke ora ho il treno", "question"),
        ("ki mi accompagna domani", "question"),
        ("e il mio lavoro qual è", "question"),
        ("il compleanno di Ada quand'è", "question"),
        ("my next exam is when", "question"),
        ("non so chi è", "statement"),
        ("ho preso le solite cose", "statement"),
        ("finalmente ho capito qual era", "statement"),
        ("ke bello, ho finito", "statement"),
        ("is mercy good this season", "question"),
        ("could you tell me what my dog is called", "question"),
        ("did you tell me what to buy?", "claim"),
        ("My sister, who lives in Rome, is ill", "statement"),
        ("I moved when I was ten, which was hard", "statement"),
        ("Thank you ever so much.", "thanks"),
        ("forget that", "forget"),
        ("dimenticalo", "forget"),
        ("is fine thanks", "statement"),
    ],
)
def test_acts_of_hasty_messages(message: str, act: str) -> None:
    """A request behind a statement, a slip, or an order without an object is read as what it is."""
    assert dialogue_act(message).act == act


@pytest.mark.parametrize(
    ("message", "act"),
    [
        ("what can u do", "about_you"),
        ("what can I ask you?", "about_you"),
        ("what's your name?", "about_you"),
        ("how do I use this?", "about_you"),
        ("che sai fare?", "about_you"),
        ("e tu come ti chiami?", "about_you"),
        ("in cosa mi puoi aiutare?", "about_you"),
        ("can you help me with taxes?", "question"),
        ("what can I ask my landlord?", "question"),
        ("sei un medico?", "question"),
        ("thanks for the great tip", "thanks"),
        ("grazie dell'aiuto", "thanks"),
        ("sei un tesoro", "thanks"),
        ("thanks for asking my knee hurts", "statement"),
        ("grazie al mio capo ho le ferie", "statement"),
        ("gotta go", "farewell"),
        ("have a nice weekend", "farewell"),
        ("ciao ciao", "farewell"),
        ("ok ciao", "farewell"),
        ("devo andare", "farewell"),
        ("devo andare dal medico", "statement"),
        ("vado al lavoro in bici", "statement"),
        ("I have to go to court", "statement"),
        ("makes sense", "okay"),
        ("tutto chiaro", "okay"),
        ("I see my sister on sundays", "statement"),
    ],
)
def test_small_talk_and_what_only_looks_like_it(message: str, act: str) -> None:
    """Thanks, leave-taking and questions about the assistant are told from statements that begin like them."""
    assert dialogue_act(message).act == act


@pytest.mark.parametrize(
    "message", ["devo comprare il latte", "Devo consegnare la tesi a marzo", "caso chiuso, ho vinto"]
)
def test_a_word_with_the_letters_of_a_question_word_is_none(message: str) -> None:
    """Only two neighbouring letters are taken for swapped: "devo" is not "dove", "caso" is not "cosa"."""
    assert dialogue_act(message).act == "statement"


@pytest.mark.parametrize(
    ("message", "act"),
    [
        ("nome del gatto", "question"),
        ("my cat's name", "question"),
        ("and my sister", "question"),
        ("the gym shuts at what time", "question"),
        ("I need the plumber's phone number", "question"),
        ("my back is killing me, any tips", "question"),
        ("mi sfugge il nome dell'albergo di Merano", "question"),
        ("che ansia, domani ho la biopsia", "statement"),
        ("when I retire I'm moving to Skye", "statement"),
        ("quando nevica il mio cane diventa matto", "statement"),
        ("devo chiamare la banca lunedì", "statement"),
        ("I know who broke the vase, it was Milo", "statement"),
        ("Ella plays the cello", "statement"),
        ("dutch citizen", "statement"),
        ("allergica alle noci", "statement"),
        ("dentist at 3 on tuesday", "statement"),
    ],
)
def test_acts_of_fragments_and_of_what_opens_like_a_question(message: str, act: str) -> None:
    """What asks without the form of a question is told from what opens like one and tells."""
    assert dialogue_act(message).act == act


def test_act_without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the weights of the networks the form alone decides."""
    monkeypatch.setattr(judge, "asks", lambda _: 0.0)
    assert dialogue_act("when is my exam").act == "question"
    assert dialogue_act("my exam is on monday").act == "statement"


@pytest.mark.parametrize(
    ("message", "only"),
    [
        ("nome del gatto", True),
        ("my cat's name", True),
        ("I have a cat, what can it eat", False),
        ("I have a cat", False),
    ],
)
def test_what_only_asks(message: str, only: bool) -> None:
    """A clear question of one clause only asks; nothing is learned from it."""
    assert dialogue_act(message).only_asks == only


@pytest.mark.parametrize(("asks", "least"), [(False, 0.87), (True, 0.8)])
def test_hasty_messages_are_told_apart(asks: bool, least: float) -> None:
    """Messages without a question mark: how many that tell, and that ask, are taken for it (docs/answering.md)."""
    lines = Path(__file__).parents[1].joinpath("data", "hasty_acts.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["asks"] == asks]
    right = sum((dialogue_act(row["text"]).act not in TOLD) == asks for row in rows)
    assert right / len(rows) >= least
