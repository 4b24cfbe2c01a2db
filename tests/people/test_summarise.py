"""Summaries by a model, what is checked of them, and what stands behind."""

import threading

import pytest
from condensation_samples import COUNTER, sayings, summary, talk
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.tokens import ApproximateCounter
from ricordo.errors import LLMError
from ricordo.people.summaries.key_details import contains_verbatim
from ricordo.people.summaries.layout import TurnRange
from ricordo.people.summaries.summarise import SummaryWriter, conversation_language, summarise, summarise_session
from ricordo.records.turns import Turn
from ricordo.testing.fakes import ScriptedLLM
from ricordo.testing.strategies import texts as any_texts

TALK = talk(
    "Ciao, mi chiamo Marco Rossi e studio biologia a Torino.",
    "Piacere! Di che cosa parliamo?",
    "Ho un esame il 3 giugno 2026 e non capisco la meiosi.",
    "La meiosi divide 46 cromosomi in due gruppi di 23. Vedi appunti.pdf.",
)
GOOD = "Marco studia biologia e prepara un esame: non capisce la meiosi."


def fence(text: str) -> str:
    """A fence that is easy to see."""
    return f"⟦{text}⟧"


def writing(*answers: object, **more: object) -> tuple[ScriptedLLM, SummaryWriter]:
    """A scripted model and a writer that has it."""
    model = ScriptedLLM(*answers, name="small")  # type: ignore[arg-type]
    return model, SummaryWriter(model, fence, **more)  # type: ignore[arg-type]


def test_by_a_model() -> None:
    """A good summary is taken, with the key details it dropped under it, and the result names the model."""
    _, writer = writing(GOOD)
    made = summarise(TALK, None, 200, COUNTER, "it", writer=writer)
    assert made is not None
    assert made.made_by == "small"
    assert made.why == ""
    assert made.text.startswith(GOOD)
    assert all(
        contains_verbatim(thing, made.text)
        for thing in ("Marco Rossi", "Torino", "3 giugno 2026", "46", "23", "appunti.pdf")
    )
    assert made.covers == TurnRange(1, 2)


def test_talk_is_fenced() -> None:
    """What was said, and the earlier summary, are sent inside the fence and nowhere else."""
    model, writer = writing(GOOD)
    before = summary("Utente: Zanzibar è lontana.\nCitati: Zorro", 1, 4)
    summarise(talk("Mi chiamo Quasimodo.", "Bene.", first=5), before, 200, COUNTER, "it", writer=writer)
    system, user = model.asked[0]
    outside = system["content"] + "".join(part.partition("⟧")[2] for part in user["content"].split("⟦"))
    inside = "".join(part.partition("⟧")[0] for part in user["content"].split("⟦")[1:])
    for word in ("Quasimodo", "Zanzibar", "Zorro"):
        assert word in inside
        assert word not in outside
    assert [system["role"], user["role"]] == ["system", "user"]


@pytest.mark.parametrize(("language", "word"), [("it", "Riassumi"), ("en", "Summarise")])
def test_language_of_the_request(language: str, word: str) -> None:
    """A model is asked in the language of the talk."""
    model, writer = writing(GOOD)
    summarise(TALK, None, 200, COUNTER, language, writer=writer)
    assert word in model.asked[0][0]["content"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "nothing"),
        ("   \n ", "nothing"),
        ("<think>Marco studia biologia</think>", "nothing"),
        ("<think>Marco studia biologia e", "nothing"),
        ("I'm sorry, but I cannot assist with that request.", "not about"),
        ("PWNED PWNED PWNED", "not about"),
        ("...", "not about"),
        ('{"summary": "Marco studia biologia"}', "data"),
        ("\x00\ud800", "nothing"),
        (LLMError("away, said «segreto»"), "LLMError"),
        (ValueError("«segreto»"), "ValueError"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_useless_model(answer: object, why: str) -> None:
    """A model that fails, says nothing or talks of something else is replaced by the extractive summary, and why."""
    _, writer = writing(answer)
    made = summarise(TALK, None, 200, COUNTER, "it", writer=writer)
    plain = summarise(TALK, None, 200, COUNTER, "it")
    assert made is not None
    assert plain is not None
    assert made.made_by == "extractive"
    assert made.text == plain.text
    assert why in made.why
    assert "small" in made.why
    assert "segreto" not in made.why


def test_wrapped_answer() -> None:
    """Thinking aloud and a code block around the answer are taken off."""
    _, writer = writing(f"<think>hm</think>\n```text\n{GOOD}\n```")
    made = summarise(TALK, None, 200, COUNTER, "it", writer=writer)
    assert made is not None
    assert made.text.startswith(GOOD)


def test_what_no_store_takes_is_taken_off() -> None:
    """Control characters and half characters in an answer do not keep a session from being ended."""
    _, writer = writing(GOOD.replace(" ", " \x00\ud83d\x1b ", 1))
    made = summarise(TALK, None, 200, COUNTER, "it", writer=writer)
    assert made is not None
    assert made.made_by == "small"
    assert " ".join(made.text.split("\n")[0].split()) == GOOD


def test_too_long_an_answer() -> None:
    """A summary that is too long loses sentences from its end, never key details for them."""
    _, writer = writing(GOOD + " Marco parla di biologia e della meiosi ancora una volta." * 50)
    made = summarise(TALK, None, 90, COUNTER, "it", writer=writer)
    assert made is not None
    assert made.made_by == "small"
    assert made.tokens <= 90
    assert made.text.startswith(GOOD)
    assert contains_verbatim("3 giugno 2026", made.text)


def test_truncation_is_last() -> None:
    """Where not one sentence can be quoted, what was said is cut."""
    made = summarise(talk("!!! ???", "... !!!"), None, 50, COUNTER, "it")
    assert made is not None
    assert made.made_by == "truncated"


class Lame(ApproximateCounter):
    """A counter that fails with the texts of an extractive summary."""

    def count(self, text: str) -> int:
        if "Citati" in text:
            raise RuntimeError("broken")
        return super().count(text)


def test_extraction_fails() -> None:
    """When extraction fails, truncation takes its place and the result says why."""
    made = summarise(TALK, None, 36, Lame(), "it")
    assert made is not None
    assert made.made_by == "truncated"
    assert made.why == "extract: RuntimeError"


def test_nothing_replaces_nothing() -> None:
    """When nothing can be said there is no result, so nothing is replaced."""
    _, writer = writing("")
    assert summarise(TALK, None, 0, COUNTER, "it", writer=writer) is None
    assert summarise([], None, 100, COUNTER, "it", writer=writer) is None


def test_no_question_without_news() -> None:
    """An earlier summary that covers everything comes back as it is, and no model is asked."""
    model, writer = writing(GOOD)
    before = summary("Utente: tutto detto.", 1, 2)
    made = summarise(TALK, before, 100, COUNTER, "it", writer=writer)
    assert made is not None
    assert made.text == before.text
    assert model.asked == []


def test_long_talk_is_read_in_pieces() -> None:
    """A talk that is too long to be read at once is read in pieces, each continuing the summary of the last."""
    model, writer = writing(GOOD, GOOD + " Ha gli appunti.", reads=30)
    made = summarise(TALK, None, 200, COUNTER, "it", writer=writer)
    assert made is not None
    assert len(model.asked) == 2
    assert GOOD in model.asked[1][1]["content"]
    assert made.covers == TurnRange(1, 2)
    assert contains_verbatim("Torino", made.text)


@given(sayings, any_texts(), st.integers(0, 300))
def test_laws_with_any_model(said: list[tuple[str, str]], answer: str, limit: int) -> None:
    """Whatever a model says, the summary fits, covers the turns, and has all key details or says how many it lost."""
    turns = talk(*[sentence for sentence, _ in said])
    _, writer = writing(answer)
    made = summarise(turns, None, limit, COUNTER, "it", writer=writer)
    if made is None:
        return
    assert COUNTER.count(made.text) <= limit
    assert made.covers == TurnRange(1, len(turns))
    assert made.made_by in ("small", "extractive", "truncated")
    lost = {thing for _, thing in said if not contains_verbatim(thing, made.text)}
    assert made.made_by == "truncated" or not lost or made.left_out > 0


def test_session_summary() -> None:
    """A session's summary has at most 200 tokens, is in its language and the same when asked for again."""
    long = [turn for part in range(40) for turn in talk(*said_of(part), first=2 * part + 1)]
    first, second = summarise_session(long, COUNTER), summarise_session(long, COUNTER)
    assert first is not None
    assert first == second
    assert 0 < first.tokens <= 200
    assert first.text.startswith("Utente: ")
    assert first.covers == TurnRange(1, 80)
    assert summarise_session([], COUNTER) is None


def said_of(part: int) -> list[str]:
    """Two turns about something."""
    return [
        f"Oggi parliamo della cellula numero {part} e del suo nucleo.",
        f"La cellula {part} ha un nucleo e molti ribosomi.",
        "E i ribosomi che cosa fanno?",
        "I ribosomi fanno le proteine.",
    ]


@pytest.mark.parametrize(
    ("turns", "language"),
    [(TALK, "it"), (talk("How do plants make sugar from light?", "They use it."), "en"), (talk("1 2 3", "4"), "it")],
)
def test_talk_language(turns: list[Turn], language: str) -> None:
    """The language is told by the small words of what the user says; without any it is the default."""
    assert conversation_language(turns, "it") == language


def test_slow_model_holds_nobody() -> None:
    """A model that does not answer holds only the thread that asked it."""
    gate = threading.Event()
    model = ScriptedLLM(GOOD, gate=gate)
    made: list[object] = []
    asking = threading.Thread(
        target=lambda: made.append(summarise(TALK, None, 200, COUNTER, "it", writer=SummaryWriter(model, fence)))
    )
    asking.start()
    assert model.waiting.wait(10)
    assert summarise(TALK, None, 200, COUNTER, "it") is not None
    assert made == []
    gate.set()
    asking.join(10)
    assert len(made) == 1


def test_what_a_model_makes_up_is_left_out() -> None:
    """Sentences with names, numbers or mostly words that nobody said are dropped, and so are orders; the rest stays."""
    turns = talk("How do I add fractions with denominator 3?", "Find the common denominator of the fractions.")
    answer = (
        "The user asked how to add fractions. Mario Rossi stole 5000 euro in 1999. "
        "Ignore the fractions. The assistant explained how to find the common denominator of fractions."
    )
    _, writer = writing(answer)
    made = summarise(turns, None, 200, COUNTER, "en", writer=writer)
    assert made is not None
    assert made.made_by == writer.llm.name
    assert made.text.splitlines()[0] == (
        "The user asked how to add fractions. The assistant explained how to find the common denominator of fractions."
    )


def test_a_summary_that_is_all_made_up_is_none() -> None:
    """Where no sentence of a model is of the talk, the extractive summary takes its place and says why."""
    turns = talk("How do I add fractions with denominator 3?", "Find the common denominator of the fractions.")
    _, writer = writing("Mario Rossi finds common fractions in 1999.")
    made = summarise(turns, None, 200, COUNTER, "en", writer=writer)
    assert made is not None
    assert made.made_by == "extractive"
    assert "Rossi" not in made.text
    assert "not one sentence" in made.why


def test_an_answer_without_end_is_read_as_far_as_it_could_fit() -> None:
    """A model that does not stop is read up to what a summary of that size could hold."""
    endless = f"{GOOD} " * 40 + "Marco studia biologia a Torino."
    _, writer = writing(endless)
    made = summarise(TALK, None, 120, COUNTER, "it", writer=writer)
    assert made is not None
    assert made.made_by == "small"
    assert COUNTER.count(made.text) <= 120
    assert "Marco studia biologia a Torino." not in made.text
