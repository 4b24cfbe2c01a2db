"""The compact history: exact lines in Italian and English, one line a message for any text."""

from copy import copy
from dataclasses import fields, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.errors import SettingsError, ValidationError
from ricordo.languages.english import LABELS as ENGLISH
from ricordo.languages.italian import LABELS as ITALIAN
from ricordo.languages.registry import Locale, language, locale_for, memory_words
from ricordo.presets import PRESETS, settings_from
from ricordo.prompt.window import compact_line, compact_text, history_text, said
from ricordo.records.turns import Message, Owner, Turn
from ricordo.settings import Settings
from ricordo.testing import MemoryStore
from ricordo.testing.strategies import ids, texts

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def _message(role: str, content: str, **more: object) -> Message:
    return Message("t:1", role, content, NOW, **more)  # type: ignore[arg-type]


def _turn(*messages: Message) -> Turn:
    return Turn("t", Owner("acme", "anna"), "tutor", "s", 1, NOW, None, None, messages)


EXCHANGE = _turn(
    _message("user", "Quali sono\ni gradi  dello scompenso?"),
    _message("assistant", "Sono quattro: " + "x" * 200, chunk_ids=("cap1", "cap2", "cap3", "cap4")),
)
SHORTENED = ("Sono quattro: " + "x" * 200)[:150] + "..."


def test_the_italian_history_to_the_letter() -> None:
    """Header with the number of turns, labels, cut at 150 characters with dots, at most three sources, footer."""
    assert history_text([EXCHANGE], ITALIAN, 150, sources=True) == (
        "=== CRONOLOGIA CONVERSAZIONE (ultimi 1 turni) ===\n"
        "UTENTE: Quali sono i gradi dello scompenso?\n"
        f"ASSISTENTE: {SHORTENED} [fonti: cap1, cap2, cap3]\n"
        "=== FINE CRONOLOGIA ==="
    )


def test_the_english_history_to_the_letter() -> None:
    """The English table says the same; without sources the line ends with its text."""
    assert history_text([EXCHANGE, EXCHANGE], ENGLISH, 150) == (
        "=== CONVERSATION HISTORY (last 2 turns) ===\n"
        "USER: Quali sono i gradi dello scompenso?\n"
        f"ASSISTANT: {SHORTENED}\n"
        "USER: Quali sono i gradi dello scompenso?\n"
        f"ASSISTANT: {SHORTENED}\n"
        "=== END OF HISTORY ==="
    )


def test_no_history_is_one_sentence() -> None:
    """Without turns there is a sentence and neither header nor footer."""
    assert history_text([], ITALIAN, 150) == "Nessuna conversazione precedente."
    assert history_text([], ENGLISH, 150) == "No previous conversation."


def test_tools_system_and_speakers_have_their_lines() -> None:
    """A call shows the tool's name, a result and a note their labels, and a speaker their own name."""
    call = {"id": "c1", "function": {"name": "search", "arguments": "{}"}}
    turn = _turn(
        _message("user", "Ciao", name="Anna"),
        _message("assistant", "", tool_calls=(call, {"name": "look"}, {"function": "odd"})),
        _message("tool", "niente"),
        _message("system", "nota"),
    )
    assert history_text([turn], ITALIAN, 150).splitlines()[1:-1] == [
        "Anna: Ciao",
        "ASSISTENTE: [search, look, ?]",
        "STRUMENTO: niente",
        "SISTEMA: nota",
    ]


WORDS = st.text("ab \n\t\u2028\x1c", min_size=1, max_size=40)


@given(texts(400) | WORDS, st.integers(1, 12) | st.integers(1, 200))
def test_a_compact_text_is_a_marked_beginning_on_one_line(text: str, characters: int) -> None:
    """White space becomes single spaces; up to the given length the text is whole, beyond it cut and marked."""
    line = " ".join(text.split())
    compact = compact_text(text, characters)
    assert compact == (line if len(line) <= characters else line[:characters] + "...")
    assert compact.splitlines() == ([compact] if line else [])


@given(
    st.lists(
        st.builds(
            _message,
            st.sampled_from(["user", "assistant", "system", "tool"]),
            texts(),
            name=st.none() | ids(),
            chunk_ids=st.lists(ids(), max_size=5).map(tuple),
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([ITALIAN, ENGLISH]),
    st.integers(1, 200),
)
def test_one_line_a_message_for_any_text(messages: list[Message], locale: Locale, characters: int) -> None:
    """Whatever is said, whoever says it and whatever is cited, nobody adds a line to the block."""
    lines = history_text([_turn(*messages)], locale, characters, sources=True).splitlines()
    assert lines[0] == locale.header(1)
    assert lines[-1] == locale.history_footer
    assert lines[1:-1] == [compact_line(message, locale, characters, sources=True).text for message in messages]


@given(
    st.lists(st.dictionaries(st.sampled_from(["function", "name", "id"]), st.none() | st.just({}) | ids(), max_size=3))
)
def test_any_stored_call_has_a_name_or_a_question_mark(calls: list[dict[str, object]]) -> None:
    """Calls of a shape that no API uses are shown, not stumbled over."""
    shown = said(_message("assistant", "", tool_calls=tuple(calls)))
    assert shown == "" if not calls else shown.startswith("[") and shown.endswith("]")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("code", ["it", "en"])
def test_only_tutor_and_maestro_speak_of_student_and_tutor(preset: str, code: str) -> None:
    """In every other preset the lines of a prompt, what is recalled and the memory are of user and assistant."""
    teaches = preset in ("tutor", "maestro")
    speakers = {
        "it": ("STUDENTE", "TUTOR", "dello Studente") if teaches else ("UTENTE", "ASSISTENTE", "dell'Utente"),
        "en": ("STUDENT", "TUTOR", "About the Student") if teaches else ("USER", "ASSISTANT", "About the User"),
    }[code]
    settings = settings_from({"preset": preset, "locale": code}, {})
    text = history_text([EXCHANGE], settings.labels, 150)
    assert f"\n{speakers[0]}: Quali" in text
    assert f"\n{speakers[1]}: " in text
    assert memory_words(settings.labels).facts.endswith(speakers[2])


def test_a_window_is_written_as_it_is_set() -> None:
    """A window knows its labels, its characters and whether it names sources; a code or a locale changes the labels."""
    settings = settings_from({"preset": "tutor", "compact_chars": 20, "history_sources": "off"}, {})
    session = ricordo.Memory(MemoryStore(), settings).session(user_id="anna")
    session.add_turn("Quali sono i gradi dello scompenso?", "Quattro.", chunk_ids=["cap1"])
    window = session.window()
    lines = ["STUDENTE: Quali sono i gradi d...", "TUTOR: Quattro."]
    assert window.text().splitlines()[1:-1] == window.text("it").splitlines()[1:-1] == lines
    assert window.text("en").splitlines()[1:-1] == ["USER: Quali sono i gradi d...", "ASSISTANT: Quattro."]
    assert window.text("it", 200, sources=True).splitlines()[1:-1] == [
        "STUDENTE: Quali sono i gradi dello scompenso?",
        "TUTOR: Quattro. [fonti: cap1]",
    ]
    assert "cap1" not in session.context("E poi?").prompt
    with pytest.raises(SettingsError, match="unknown"):
        window.text("xx")
    with pytest.raises(ValidationError, match="compact_chars"):
        window.text("it", -1)


def test_an_own_locale_is_called_as_it_says() -> None:
    """A table of one's own is not renamed, unless it says what students and tutors are called."""
    german = replace(ENGLISH, code="de", user_label="NUTZER: ", student_label="", tutor_label="")
    assert Settings(locale=german, speakers="student").labels.user_label == "NUTZER: "
    taught = replace(german, student_label="SCHÜLER: ")
    assert Settings(locale=taught, speakers="student").labels.user_label == "SCHÜLER: "


def test_an_own_locale_is_used() -> None:
    """A caller's own table gives its own labels and headings."""
    german = Locale(
        "de", "SCHÜLER: ", "LEHRER: ", "SYSTEM: ", "WERKZEUG: ", "=== VERLAUF ({n}) ===", "=== ENDE ===",
        " [Quellen: {ids}]", "Noch kein Gespräch.", "Z", "E", "M", "F", "({question})",
    )  # fmt: skip
    assert locale_for(german) is german
    assert history_text([EXCHANGE], german, 10, sources=True) == (
        "=== VERLAUF (1) ===\nSCHÜLER: Quali sono...\nLEHRER: Sono quatt... [Quellen: cap1, cap2, cap3]\n=== ENDE ==="
    )


def test_built_in_labels_are_those_of_their_language() -> None:
    """Labels that are read at first use are equal to the table of the language, whatever is asked of them first."""
    for code in ("en", "it"):
        labels = language(code).labels
        assert locale_for(code) == labels
        assert labels == locale_for(code)
        assert hash(locale_for(code)) == hash(labels)
        assert repr(locale_for(code)) == repr(labels)
        assert replace(locale_for(code), user_label="X") == replace(labels, user_label="X")
        assert copy(locale_for(code)).tutor_label == labels.tutor_label
        for each in fields(Locale):
            assert getattr(locale_for(code), each.name) == getattr(labels, each.name)


@pytest.mark.parametrize(
    ("field", "value"),
    [("history_header", "{turns}"), ("history_header", "{"), ("sources", "{0}"), ("user_label", None)],
)
def test_a_locale_that_cannot_be_filled_in_is_refused(field: str, value: object) -> None:
    """A table with a broken template is refused when it is made, by the name of the field."""
    good = {name: getattr(ENGLISH, name) for name in Locale.__slots__}
    with pytest.raises(SettingsError, match=f"locale.{field}"):
        Locale(**(good | {field: value}))


@pytest.mark.parametrize("choice", ["de", "", "IT", ["it"], None, 3])
def test_an_unknown_locale_is_refused_with_the_known_ones(choice: object) -> None:
    """The error names the key and the codes that exist."""
    with pytest.raises(SettingsError, match=r"'locale'.*\['en', 'it'\]"):
        locale_for(choice)  # type: ignore[arg-type]
