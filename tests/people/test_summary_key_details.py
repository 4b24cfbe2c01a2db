"""What must survive a summary, and how it is found."""

import pytest
from condensation_samples import key_details, names, numbers, sayings
from hypothesis import given
from hypothesis import strategies as st

from ricordo.people.summaries.extractive import quotable_sentences
from ricordo.people.summaries.key_details import KeyDetail, contains_verbatim, find_key_details, ranked_key_details


@given(sayings)
def test_generated_key_details_are_found(said: list[tuple[str, str]]) -> None:
    """Names, numbers, dates, paths, addresses, ids and code are found, verbatim, wherever they stand in a text."""
    text = " ".join(sentence for sentence, _ in said)
    found = "\n".join(each.text for each in find_key_details(text))
    assert all(contains_verbatim(thing, found) for _, thing in said)


@given(st.text(max_size=300))
def test_found_is_verbatim(text: str) -> None:
    """Whatever a text is, what is found in it stands in it, and each thing once."""
    found = [each.text for each in find_key_details(text)]
    assert all(each in text for each in found)
    assert len(found) == len(set(found))


@given((names | numbers).filter(str.isalnum), key_details)  # no other detail is alphanumeric
def test_survival(first: str, second: str) -> None:
    """A thing survives in a text that holds it, and not in one that holds it only as a part of a word."""
    assert contains_verbatim(first, f"prima {first}, poi {second}.")
    assert not contains_verbatim(first, f"x{first}x")


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("Ciao, mi chiamo Marco Rossi e abito a Torino.", ["Marco Rossi", "Torino"]),
        ("Anna Bianchi lavora in L'Oréal", ["Anna Bianchi", "Oréal"]),
        ("we read The Lord of the Rings with Dr. Smith", ["The Lord of the Rings", "Dr. Smith"]),
        ("I love Brave by Sara Bareilles", ["Brave", "Sara Bareilles"]),
        ("dal 12 marzo 2019 alle 14:30", ["12 marzo 2019", "14:30"]),
        ("due on May 7, 2023 or 2024-05-01T10:00Z or 3/4/2025", ["May 7, 2023", "2024-05-01T10:00Z", "3/4/2025"]),
        ("costa $1,200.50, pesa 35 kg, sconto 25%, -5 °C", ["$1,200.50", "35 kg", "25%", "-5 °C"]),
        (
            "apri src/app/main.py e C:\\dati\\a.txt, poi /etc/hosts.",
            ["src/app/main.py", "C:\\dati\\a.txt", "/etc/hosts"],
        ),
        ("vedi https://a.b/c?d=1. Scrivi a io@b.it!", ["https://a.b/c?d=1", "io@b.it"]),
        ("chiama my_func() o parseUrl con `pip install x`", ["my_func()", "parseUrl", "`pip install x`"]),
        ("versione v2.1 di GPT-4, doc1#12 e B12", ["v2.1", "GPT-4", "doc1#12", "B12"]),
        ("1. prima cosa\n2. seconda cosa\n- terza", []),
    ],
)
def test_kinds(text: str, things: list[str]) -> None:
    """Each kind of key detail, as people write it; the marks of a list are none."""
    assert [each.text for each in find_key_details(text) if not each.weak] == things


def test_code_block() -> None:
    """A block of code is one thing, with its lines."""
    block = "```python\nfor x in y:\n    print(x)\n```"
    assert KeyDetail(block, "code") in find_key_details(f"Ecco:\n{block}\nChiaro?")


def test_weak() -> None:
    """A capital that only begins a sentence, and a lone digit, are weak; a name inside a sentence is not."""
    assert [(each.text, each.weak) for each in find_key_details("Giulia ha 3 gatti, dice Paolo.")] == [
        ("Giulia", True),
        ("3", True),
        ("Paolo", False),
    ]


@given(
    st.lists(st.tuples(st.builds(KeyDetail, key_details, st.just("name"), st.booleans()), st.floats(0, 1)), max_size=20)
)
def test_ranking_keeps_everything(heard: list[tuple[KeyDetail, float]]) -> None:
    """Ranking loses nothing and repeats nothing; what is strong once is strong."""
    order = ranked_key_details(heard)
    assert sorted(each.text for each in order) == sorted({each.text for each, _ in heard})
    strong = {each.text for each, _ in heard if not each.weak}
    assert {each.text for each in order if not each.weak} == strong


@given(st.text(max_size=300))
def test_sentences_are_lines(text: str) -> None:
    """Every sentence is one line with single spaces that says something."""
    for sentence in quotable_sentences(text):
        assert sentence == " ".join(sentence.split())
        assert any(c.isalnum() or c == "_" for c in sentence)


def test_sentences() -> None:
    """Sentences end where they end, not at an abbreviation; lists and headings lose their marks, code is left out."""
    text = "# Titolo\n1. Il dott. Rossi ha detto «va bene.» Poi è andato!\n```\nx = 1\n```\n- fine"
    assert quotable_sentences(text) == ["Titolo", "Il dott. Rossi ha detto «va bene.»", "Poi è andato!", "fine"]


@pytest.mark.parametrize(
    "piece", ["a-", "a", "a_", "A ", "1.", "a/", "a.b@", "aB", "~/", "A-", "L'", "(1, ", "`a\n", "```\n"]
)
def test_pasted_rubbish(piece: str) -> None:
    """A long paste of anything is looked through to the end."""
    text = piece * 20_000
    assert all(each.text in text for each in find_key_details(text))
