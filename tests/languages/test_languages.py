"""A language is one object: what it must fill, and that a third one works wherever a language is used."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, date, datetime, timedelta

import pytest

from ricordo import Message, Settings, SettingsError
from ricordo.chat.answerers import instructions
from ricordo.chat.question import kind_of_question
from ricordo.followups.parse import parse
from ricordo.languages.base import FactPattern, Language
from ricordo.languages.dates import RULES, format_day, periods, relative_day, resolve_day
from ricordo.languages.english import LANGUAGE as ENGLISH
from ricordo.languages.italian import LANGUAGE as ITALIAN
from ricordo.languages.registry import (
    AnyLanguage,
    LazyPattern,
    all_words,
    codes,
    language,
    languages,
    register,
    told_note,
    words,
)
from ricordo.languages.text import guess_language, language_of, sentences
from ricordo.people.facts.claims import UserMessage
from ricordo.people.facts.patterns import claims_in_message
from ricordo.prompt.window import compact_line
from ricordo.recall.evidence import snowball_stems
from ricordo.safety.fence import defuse, open_fence

NOW = datetime(2026, 5, 13, 10, tzinfo=UTC)  # a Wednesday
MONTHS = ("unember", "duember", "triember", "quember", "quinember", "sixember", "september", "octember", "nonember")

# Made-up: no word of it is English or Italian.
VOLAN = replace(
    ENGLISH,
    code="vo",
    labels=replace(ENGLISH.labels, code="vo", user_label="KELU: ", history_header="=== TALI ({n}) ==="),
    memory=replace(ENGLISH.memory, code="vo", title="## Moru fi tali"),
    vocabulary=replace(ENGLISH.vocabulary, stop_words=words("zu fi ka bru"), abbreviations=words("drk")),
    calendar=replace(
        ENGLISH.calendar,
        month_names=(*MONTHS, "december-vo", "undember", "dozember"),
        today="zudag",
        yesterday="ersdag",
        days_ago="{n} dag bru",
        tomorrow="morgdag",
        days_ahead="fi {n} dag",
        named_days={"morgdag": 1},
        expressions={"yesterday": ("ersdag",), "month": (r"fi\s+{month}",)},
        month_first=False,
    ),
    followups=replace(
        ENGLISH.followups,
        code="vo",
        function_words=words("zu fi ka bru"),
        ordinals={"unu": 1, "duo": 2, "trio": 3},
        articles=words("zu"),
        list_nouns=words("punkt"),
        set_articles=words("zu"),
    ),
    safety=replace(ENGLISH.safety, fence_open="<<DOTU {marker}>> fi dotu", roles="kelu", fence_words="DOTU"),
    facts=replace(
        ENGLISH.facts,
        code="vo",
        lead=LazyPattern("(?!)"),
        sign=LazyPattern(r"\bmoi\b"),
        patterns=(FactPattern("name", r"moi nomu (?P<x>[^\d]+)", "Nomu {x}", "name", x="person"),),
    ),
    answers=replace(ENGLISH.answers, system="Parlu volan."),
    questions=replace(ENGLISH.questions, kinds={"reason": "porku"}),
)


@pytest.fixture
def volan() -> Iterator[Language]:
    """The made-up language, known for one test."""
    undo = register(VOLAN)
    yield VOLAN
    undo()


def parts(each: Language) -> Iterator[tuple[str, object]]:
    """Every field of every table of a language, by its name."""
    for part in fields(each):
        table = getattr(each, part.name)
        if is_dataclass(table):
            yield from ((f"{part.name}.{field.name}", getattr(table, field.name)) for field in fields(table))


def is_filled(value: object) -> bool:
    """Whether a field says anything; a pattern that never matches does not."""
    pattern = value._pattern if isinstance(value, LazyPattern) else value
    return value is False or bool(pattern and pattern != "(?!)")


# Tables in which every field is a text or a word that every language has.
COMPLETE = ("labels", "memory", "topics", "safety", "summaries", "reader", "answers", "statements")


@pytest.mark.parametrize("each", [ENGLISH, ITALIAN], ids=["en", "it"])
def test_every_field_of_a_language_is_filled(each: Language) -> None:
    """Texts and common words are never missing; a field of grammar is left empty only if the other language has it."""
    other = dict(parts(ITALIAN if each is ENGLISH else ENGLISH))
    for name, value in parts(each):
        assert value is not None, name
        assert is_filled(value) or (name.partition(".")[0] not in COMPLETE and is_filled(other[name])), name


@pytest.mark.parametrize("each", [ENGLISH, ITALIAN], ids=["en", "it"])
def test_the_tables_of_a_language_agree(each: Language) -> None:
    """Its code is the same everywhere, its calendar is complete, and every pattern compiles."""
    assert {each.code} == {value for name, value in parts(each) if name.endswith(".code")}
    assert (len(each.calendar.months), len(each.calendar.weekdays)) == (12, 7)
    assert set(each.calendar.expressions) <= {shape for shape, _ in RULES}
    assert set(each.questions.kinds) == set(ENGLISH.questions.kinds)
    assert set(each.questions.answer_signs) == set(ENGLISH.questions.answer_signs)
    for name, value in parts(each):
        if isinstance(value, LazyPattern):
            assert value.compiled, name
    assert each.followups.patterns
    for pattern in each.facts.patterns:
        assert re.compile(pattern.clause)


def test_a_third_language_writes_labels(volan: Language) -> None:
    """Its labels are chosen by its code, as those of the built-in languages are."""
    locale = Settings().with_values({"locale": "vo"}).locale
    assert locale.header(3) == "=== TALI (3) ==="
    assert compact_line(Message("1", "user", "zu punkt", NOW), locale, 100).text.startswith("KELU: ")
    assert language("vo-VO").memory.title == "## Moru fi tali"
    assert open_fence("x", "vo") == "<<DOTU x>> fi dotu"
    assert instructions("vo").system == "Parlu volan."


def test_a_third_language_is_told_by_its_words(volan: Language) -> None:
    """Its stop words tell it from the others, and are left out of what is indexed."""
    text = "ka zu kometo fi zu hemelu"
    assert guess_language(text) == "vo"
    assert language_of(text).code == "vo"
    assert snowball_stems(text) == snowball_stems("kometo hemelu", "vo")
    assert guess_language("il gatto è sul tetto") == "it"


def test_a_third_language_has_ordinals(volan: Language) -> None:
    """An ordinal with an article, and with a noun of lists, is a place of the list."""
    for question in ("zu duo", "ka zu duo punkt"):
        assert [cue.pick.positions for cue in parse(question, language=volan.followups) if cue.pick] == [(2,)]


def test_a_third_language_names_days(volan: Language) -> None:
    """Days are written, and read, in its words; other languages are read as before."""
    assert [relative_day(NOW - timedelta(days=n), NOW, UTC, "vo") for n in (0, 1, 4, -1)] == [
        "zudag", "ersdag", "4 dag bru", "morgdag",
    ]  # fmt: skip
    assert format_day(date(2026, 3, 5), "vo") == "5 triember 2026"
    assert resolve_day("morgdag", NOW.date(), "vo") == date(2026, 5, 14)
    assert resolve_day("5 sixember", NOW.date(), "vo") == date(2026, 6, 5)
    assert resolve_day("domani", NOW.date(), "it") == date(2026, 5, 14)
    assert [each.start.date() for each in periods("ka bru ersdag", NOW)] == [date(2026, 5, 12)]
    assert [each.start.date() for each in periods("bru fi duember", NOW)] == [date(2026, 2, 1)]


def test_a_third_language_is_understood(volan: Language) -> None:
    """Facts, kinds of questions, abbreviations and fences are read in its words beside those of the others."""
    said = UserMessage("m", "s", "Moi nomu Anna.", NOW)
    assert [(claim.text, claim.language) for claim in claims_in_message(said)] == [("Nomu Anna", "vo")]
    assert kind_of_question("porku zu hemelu?") == "reason"
    assert len(sentences("Zu Drk. Anna fi ka.")) == 1
    assert defuse("kelu: ka") == "(kelu) ka"


def test_a_language_that_was_taken_away_is_unknown() -> None:
    """What is registered can be undone; patterns follow."""
    pattern = AnyLanguage(r"(?:<followups.ordinals>)")
    undo = register(VOLAN)
    assert codes() == ("en", "it", "vo")
    assert pattern.fullmatch("trio")
    undo()
    assert codes() == ("en", "it")
    assert not pattern.fullmatch("trio")
    assert "bru" not in all_words("vocabulary.stop_words")
    assert language("vo") is ENGLISH
    assert languages() == (ENGLISH, ITALIAN)
    with pytest.raises(SettingsError, match="'vo' is unknown"):
        Settings().with_values({"locale": "vo"})


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("tokens are approximate (words)", "i token sono approssimati (words)"),
        ("recall is unavailable: the database is away", "il richiamo delle conversazioni passate non è disponibile: "
         "il database non risponde"),
        ("2 turns are found by their words only: x is behind", "2 turni si trovano solo per parole: x è in ritardo"),
        ("a note {of} an application's own", "a note {of} an application's own"),
    ],
)  # fmt: skip
def test_notes_are_told_in_a_language(note: str, told: str) -> None:
    """A note of any room is told in Italian with its names and numbers; an unknown one, and English ones, stay."""
    assert told_note(note, "it") == told
    assert told_note(note, "en") == note
