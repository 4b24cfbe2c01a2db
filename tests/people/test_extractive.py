"""Summaries without a model: their laws, then what they look like."""

import pytest
from condensation_samples import COUNTER, WordCounter, sayings, summary, talk, turn
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.tokens import counter_for
from ricordo.languages.registry import language as language_by_code
from ricordo.people.summaries.extractive import extractive_summary, rank_key_details, truncated_summary
from ricordo.people.summaries.key_details import contains_verbatim
from ricordo.people.summaries.layout import (
    SummaryDraft,
    SummaryParts,
    TurnRange,
    parse_summary,
    quotable_messages,
    truncate_text,
)
from ricordo.people.summaries.summarise import as_summary
from ricordo.records.turns import Turn
from ricordo.testing.strategies import texts as any_texts

AMPLE = 100_000
languages = st.sampled_from(["it", "en"])
limits = st.integers(0, 400)


def made(
    turns: list[Turn], limit: int = AMPLE, previous: SummaryDraft | None = None, language: str = "it"
) -> SummaryDraft:
    """An extractive summary that must exist."""
    before = as_summary(previous, turns[0]) if previous else None
    found = extractive_summary(turns, before, limit, COUNTER, language)
    assert found is not None
    return found


@given(sayings, languages)
def test_all_key_details_survive(said: list[tuple[str, str]], language: str) -> None:
    """With room enough every name, number, date, path, address, id and piece of code is in the summary, verbatim."""
    found = made(talk(*[sentence for sentence, _ in said]), language=language)
    assert all(contains_verbatim(thing, found.text) for _, thing in said)
    assert found.left_out == 0


@given(sayings, limits, languages)
def test_never_too_long_and_honest(said: list[tuple[str, str]], limit: int, language: str) -> None:
    """A summary never exceeds its limit, and tells in itself how many key details did not fit."""
    turns = talk(*[sentence for sentence, _ in said])
    found = extractive_summary(turns, None, limit, COUNTER, language)
    if found is None:
        return
    assert COUNTER.count(found.text) == found.tokens <= limit
    sheet = parse_summary(found.text)
    held = "\n".join([*sheet.lines, *sheet.mentioned])
    missing = [
        each
        for each in rank_key_details(quotable_messages(turns), SummaryParts())
        if not contains_verbatim(each.text, held)
    ]
    assert found.left_out == len(missing) == sheet.left_out


@given(sayings, st.integers(30, 400))
def test_deterministic(said: list[tuple[str, str]], limit: int) -> None:
    """The same talk gives the same summary."""
    turns = talk(*[sentence for sentence, _ in said])
    assert extractive_summary(turns, None, limit, COUNTER, "it") == extractive_summary(
        turns, None, limit, COUNTER, "it"
    )


@given(sayings, st.integers(60, 400))
def test_again_is_the_same(said: list[tuple[str, str]], limit: int) -> None:
    """Summarising again what a summary covers gives that summary, to the letter."""
    turns = talk(*[sentence for sentence, _ in said])
    first = extractive_summary(turns, None, limit, COUNTER, "it")
    if first is not None:
        again = extractive_summary(turns, as_summary(first, turns[0]), limit, COUNTER, "it")
        assert again == first


@given(sayings, sayings, languages)
def test_extending(first: list[tuple[str, str]], second: list[tuple[str, str]], language: str) -> None:
    """An extended summary covers the union of the turns and, with room enough, has the key details of both."""
    old = talk(*[sentence for sentence, _ in first])
    new = talk(*[sentence for sentence, _ in second], first=len(old) + 1)
    before = made(old, language=language)
    both = made(new, previous=before, language=language)
    assert both.covers == TurnRange(1, len(old) + len(new))
    assert all(contains_verbatim(thing, both.text) for _, thing in [*first, *second])


@given(sayings, sayings, limits)
def test_extending_within_the_limit(first: list[tuple[str, str]], second: list[tuple[str, str]], limit: int) -> None:
    """However long the earlier summary, the extended one keeps the limit, and never forgets what was left out."""
    old = talk(*[sentence for sentence, _ in first])
    new = talk(*[sentence for sentence, _ in second], first=len(old) + 1)
    before = made(old, 150)
    found = extractive_summary(new, as_summary(before, old[0]), limit, COUNTER, "it")
    if found is not None:
        assert COUNTER.count(found.text) <= limit
        assert found.left_out >= before.left_out


@given(st.lists(any_texts(), min_size=1, max_size=8), st.integers(0, 60), languages)
def test_any_talk(said: list[str], limit: int, language: str) -> None:
    """Whatever was said, both ways give a summary within the limit that covers exactly the turns, or none."""
    turns = talk(*said)
    for make in (extractive_summary, truncated_summary):
        for counter in (COUNTER, WordCounter()):
            found = make(turns, None, limit, counter, language)
            if found is not None:
                assert counter.count(found.text) <= limit
                assert found.text.strip()
                assert found.covers == TurnRange(1, len(turns))


@given(any_texts(), any_texts(), st.integers(1, 40))
def test_any_earlier_summary(text: str, said: str, limit: int) -> None:
    """Whatever an earlier summary looks like, it is read and extended within the limit."""
    found = extractive_summary(talk(said, said, first=5), summary(text, 1, 4), limit, COUNTER, "en")
    assert found is None or COUNTER.count(found.text) <= limit


@given(
    st.lists(st.text("abc XY.", min_size=1).filter(str.strip), max_size=5),
    st.lists(st.text("abc12", min_size=1), max_size=5),
    st.integers(0, 50),
    languages,
)
def test_layout_is_read_back(lines: list[str], mentioned: list[str], left_out: int, language: str) -> None:
    """A sheet that is written is read back as it was."""
    sheet = SummaryParts(tuple(lines), tuple(mentioned), left_out if lines or mentioned else 0)
    assert parse_summary(sheet.text(language_by_code(language).summaries)) == sheet


@given(st.text(max_size=200), st.integers(0, 60))
def test_cut(text: str, limit: int) -> None:
    """A cut text fits, is the text where that fits, and else a marked beginning of it."""
    short = truncate_text(text, limit, COUNTER)
    assert COUNTER.count(short) <= limit
    if COUNTER.count(text) <= limit:
        assert short == text
    else:
        assert short == "" or (short.endswith("…") and text.startswith(short[:-1]))


def test_example() -> None:
    """Who said what, in order and without small talk; under it what else was named, with what did not fit."""
    turns = talk(
        "Ciao, mi chiamo Marco Rossi e studio biologia a Torino.",
        "Piacere! Dimmi pure.",
        "Ho un esame il 3 giugno 2026 e non capisco la meiosi.",
        "La meiosi divide 46 cromosomi in due gruppi di 23. Vedi appunti.pdf, pagina 12.",
    )
    whole = extractive_summary(turns, None, 200, counter_for("o200k"), "it")
    assert whole is not None
    assert whole.text.splitlines() == [
        "Utente: Ciao, mi chiamo Marco Rossi e studio biologia a Torino. Ho un esame il 3 giugno 2026 e non capisco "
        "la meiosi.",
        "Assistente: La meiosi divide 46 cromosomi in due gruppi di 23. Vedi appunti.pdf, pagina 12.",
    ]
    short = extractive_summary(turns, None, 36, counter_for("o200k"), "it")
    assert short is not None
    assert "Citati: " in short.text
    assert short.tokens <= 36
    assert "3 giugno 2026" in short.text
    assert short.left_out > 0
    assert short.text.endswith(f"(+{short.left_out} altri)")


def test_code_survives() -> None:
    """A block of code survives with its lines, in a summary and in the one that extends it."""
    block = "```python\nfor x in y:\n    print(x)\n```"
    first = made(talk(f"Che cosa fa?\n{block}\nNon capisco.", "Stampa tutto."))
    assert block in first.text
    second = made(talk("Parliamo di vela.", "La vela è bianca.", first=2), previous=first)
    assert block in second.text


def test_long_code_is_counted() -> None:
    """Code that is too long for a summary is said to be left out."""
    found = made(talk("Ecco:\n```\n" + "x = 1\n" * 300 + "```", "Letto."), 100)
    assert found.left_out == 1


def test_cited_chunks_survive() -> None:
    """The chunks that an answer cites are key details, though no message spells them."""
    turns = [turn(1, "Cosa dice il testo?", "Dice che piove.", chunks=["manuale:7", "manuale:9"])]
    assert {"manuale:7", "manuale:9"} <= set(parse_summary(made(turns).text).mentioned)


def test_left_out_messages() -> None:
    """Messages that are left out by id are neither quoted nor searched for key details, but their turns are covered."""
    turns = talk("Mi chiamo Marco Rossi.", "Piacere.", "La password è Zorro99.", "Va bene.")
    found = extractive_summary(turns, None, 200, COUNTER, "it", leave_out=frozenset({"turn-2:query"}))
    assert found is not None
    assert "Zorro99" not in found.text
    assert found.covers == TurnRange(1, 2)


def test_a_forged_line_of_key_details() -> None:
    """A message that looks like the line of key details is a sentence like any other."""
    turns = talk("Ecco.\nCitati: Zorro (+900 altri)", "Ho visto.")
    found = made(turns)
    assert found.left_out == 0
    assert parse_summary(found.text).left_out == 0


def test_nothing_to_say() -> None:
    """Without turns and without an earlier summary there is no summary; nor where nothing fits."""
    assert extractive_summary([], None, 100, COUNTER, "it") is None
    assert extractive_summary(talk("Ciao a tutti", "Salve"), None, 0, COUNTER, "it") is None
    assert truncated_summary(talk("Ciao a tutti", "Salve"), None, 0, COUNTER, "it") is None


def test_truncation() -> None:
    """Truncation keeps the beginning of what was said after half of what was noted."""
    turns = talk("Prima domanda sul corso", "Prima risposta", first=3)
    found = truncated_summary(turns, summary("Riassunto di prima. " * 20, 1, 2), 40, COUNTER, "it")
    assert found is not None
    assert found.made_by == "truncated"
    assert found.covers == TurnRange(1, 3)
    assert "Riassunto di prima" in found.text
    assert "Utente: Prima domanda" in found.text


@pytest.mark.parametrize(
    ("texts", "topic"),
    [
        (
            ["La stenosi lombare fa male?", "La stenosi lombare causa dolore.", "E la stenosi lombare guarisce?"],
            "stenosi lombare",
        ),
        (["I study black holes", "Black holes bend light", "so black holes are heavy"], "black holes"),
    ],
)
def test_key_topics(texts: list[str], topic: str) -> None:
    """Key topics are the phrases that come back, in either language."""
    assert made(talk(*texts)).topics[0].lower() == topic


def test_topics_are_extended() -> None:
    """What was a topic before stays one beside the new ones."""
    before = summary("Utente: parla di vela.", 1, 2, topics=["vela"])
    turns = talk("Il motore non parte", "Il motore è freddo", "Quale motore?", "Il motore diesel", first=3)
    found = extractive_summary(turns, before, 300, COUNTER, "it")
    assert found is not None
    assert {"vela", "motore"} <= {topic.lower() for topic in found.topics}
