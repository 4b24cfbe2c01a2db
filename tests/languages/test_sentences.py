"""Where sentences end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.languages.text import sentences

anything = st.text(
    alphabet=st.one_of(st.sampled_from("ab .!?\n\r\t#-*|`=>1)\f\u2028 "), st.characters(codec="utf-8")), max_size=600
)


@given(anything)
def test_sentences_cover_the_text(text: str) -> None:
    """Sentences follow one another and leave out nothing but blanks."""
    last = 0
    for start, end in sentences(text):
        assert last <= start < end
        assert not text[last:start].strip()
        assert text[start:end] == text[start:end].strip()
        last = end
    assert not text[last:].strip()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Uno. Due! Tre?", ["Uno.", "Due!", "Tre?"]),
        ("Il dott. Rossi è qui. Va via.", ["Il dott. Rossi è qui.", "Va via."]),
        ("Pesa 3.5 kg. Costa poco.", ["Pesa 3.5 kg.", "Costa poco."]),
        ("See e.g. the table. It is long.", ["See e.g. the table.", "It is long."]),
        ("Pane, latte, ecc. sono qui. Fine.", ["Pane, latte, ecc. sono qui.", "Fine."]),
        ("Pane, latte, ecc. Poi altro.", ["Pane, latte, ecc.", "Poi altro."]),
        ("«Vieni.» Disse così.", ["«Vieni.»", "Disse così."]),
        ("From I to IV.\n2. Second point. Third.", ["From I to IV.", "2. Second point.", "Third."]),
        ("J. S. Bach wrote it. So be it.", ["J. S. Bach wrote it.", "So be it."]),
        ("one line\nand another. End.", ["one line\nand another.", "End."]),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, parts: list[str]) -> None:
    """Abbreviations, numbers, initials and the numbers of points do not end a sentence."""
    assert [text[start:end] for start, end in sentences(text)] == parts


@given(anything, st.booleans())
def test_no_sentence_of_a_chat_crosses_a_line(text: str, twice: bool) -> None:
    """In a chat the sentences of a text are those of its lines."""
    said = f"{text}\n{text}" if twice else text
    assert [said[start:end] for start, end in sentences(said, chat=True)] == [
        line[start:end] for line in said.split("\n") for start, end in sentences(line, chat=True)
    ]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("i live in ghent. call me tom", ["i live in ghent.", "call me tom"]),
        ("Ciao\nsono Anna. ho fame", ["Ciao", "sono Anna.", "ho fame"]),
        ("ask j. smith about it. thanks", ["ask j. smith about it.", "thanks"]),
        ("grade 12 with bio and art B. what fits", ["grade 12 with bio and art B.", "what fits"]),
        ("Chanel no. 5 please. ta", ["Chanel no. 5 please.", "ta"]),
        ("lei è vegana e io no. pranzo insieme", ["lei è vegana e io no.", "pranzo insieme"]),
        ("firma prof. G. Bellomo. grazie", ["firma prof. G. Bellomo.", "grazie"]),
    ],
)
def test_sentences_of_a_chat_end_at_lines_and_before_small_letters(text: str, parts: list[str]) -> None:
    """In a hasty message a line end and a full stop before a small letter end a sentence."""
    assert [text[start:end] for start, end in sentences(text, chat=True)] == parts
