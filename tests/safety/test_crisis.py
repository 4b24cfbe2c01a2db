"""Crises are noticed, school talk is not, and the answer is fixed."""

import json
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.errors import SettingsError
from ricordo.safety.crisis import (
    CATEGORIES,
    Crisis,
    check_patterns,
    crisis_reply,
    detect_crisis,
    load_phrases,
    read_phrases,
    shipped_phrases,
)

DATA = Path(__file__).parent.parent / "data"
PHRASES = [
    json.loads(line)
    for lang in ("it", "en")
    for line in (DATA / f"crisis_{lang}.jsonl").read_text(encoding="utf-8").split("\n")
    if line
]
SHIPPED = Path(__file__).parent.parent.parent / "src" / "ricordo" / "safety" / "data"


def phrases(lang: str, label: str, split: str = "") -> list[str]:
    """The labelled phrases of a language."""
    return [r["text"] for r in PHRASES if r["lang"] == lang and r["label"] == label and split in ("", r["split"])]


@pytest.mark.parametrize("lang", ["it", "en"])
def test_the_labelled_set_is_large_and_balanced(lang: str) -> None:
    """There are at least two hundred phrases a language, each once, and neither kind is scarce."""
    crises, quiet = phrases(lang, "crisis"), phrases(lang, "quiet")
    assert len(crises) + len(quiet) >= 200
    assert len({text.casefold() for text in crises + quiet}) == len(crises) + len(quiet)
    assert 0.4 <= len(crises) / (len(crises) + len(quiet)) <= 0.6


@pytest.mark.parametrize("lang", ["it", "en"])
@pytest.mark.parametrize("told", [True, False])
def test_crises_are_noticed_and_school_talk_is_not(lang: str, told: bool) -> None:
    """Of the labelled phrases at least 95 % of the crises are noticed, with at most 2 % false alarms."""
    language = lang if told else None
    crises, quiet = phrases(lang, "crisis"), phrases(lang, "quiet")
    assert sum(detect_crisis(text, language) is not None for text in crises) >= 0.95 * len(crises)
    assert sum(detect_crisis(text, language) is not None for text in quiet) <= 0.02 * len(quiet)


@pytest.mark.parametrize(
    ("text", "noticed"),
    [
        ("list ten countries that no longer exist", False),
        ("I'm making a quiz about countries that no longer exist", False),
        ("the shop will cease to exist in May", False),
        ("my old school no longer exists, they stopped existing as a charity", False),
        ("what happens to a file that stopped existing on the server?", False),
        ("which airlines no longer exist", False),
        ("I no longer exist for them and I want it to be true", True),
        ("I just want to cease to exist", True),
        ("sometimes I think about not existing", True),
        ("it would be easier to stop existing", True),
        ("no longer exist. that's all I want", True),
        ("i wish i could just stop existing", True),
        ("what if i stopped existing", True),
        ("the thought of not existing calms me", True),
    ],
)
def test_what_no_longer_exists_must_be_the_person(text: str, noticed: bool) -> None:
    """Countries, shops and files that no longer exist are no crisis; the person who wants to is."""
    assert (detect_crisis(text, "en") is not None) is noticed


@pytest.mark.parametrize("lang", ["it", "en"])
def test_phrases_kept_aside_are_noticed_too(lang: str) -> None:
    """Of phrases whose errors were never read nine crises in ten are noticed, with at most 2 % false alarms."""
    crises, quiet = phrases(lang, "crisis", "kept_aside"), phrases(lang, "quiet", "kept_aside")
    assert sum(detect_crisis(text, lang) is not None for text in crises) >= 0.9 * len(crises)
    assert sum(detect_crisis(text, lang) is not None for text in quiet) <= 0.02 * len(quiet)


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("non ce la faccio più a vivere", "self_harm"),
        ("NN VOJO VIVERE +", "self_harm"),
        ("vogl\u200bio mor\u200bire", "self_harm"),
        ("voglio   morireeee 😭", "self_harm"),
        ("mio zio mi tocca", "abuse"),
        ("domani porto il coltello a scuola", "violence"),
        ("i wanna kms", "self_harm"),
        ("my uncle touches me", "abuse"),
        ("I’m bringing a gun to school", "violence"),
    ],
)
def test_a_crisis_has_its_category(text: str, category: str) -> None:
    """However it is spelled, what was said has the category it belongs to."""
    found = detect_crisis(text)
    assert found is not None
    assert found.category == category


@pytest.mark.parametrize(
    "text",
    [
        "mi ammazza questo esercizio",
        "morire dal ridere",
        "Romeo si uccide",
        "la peste uccise un terzo della popolazione",
        "taglia la torta",
        "il suicidio di Seneca",
        "mi tocca studiare",
        "this homework is killing me",
        "to kill a mockingbird",
        "how do I kill a process in Linux?",
    ],
)
def test_false_friends_stay_quiet(text: str) -> None:
    """Idioms, history, literature and games are no crises."""
    assert detect_crisis(text) is None


def test_a_plan_is_graver_than_a_wish() -> None:
    """A means or a time raises the tier; worry for a friend is the lowest."""
    friend, wish, plan = (
        detect_crisis(text, "it")
        for text in (
            "la mia amica vuole uccidersi",
            "vorrei essere morta",
            "stanotte mi impicco, ho scritto una lettera d'addio",
        )
    )
    assert friend is not None
    assert wish is not None
    assert plan is not None
    assert friend.tier <= wish.tier < plan.tier == 3


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_only_the_user_is_listened_to(role: str) -> None:
    """What an assistant, a tool or the program says is no crisis of the user."""
    assert detect_crisis("voglio morire", "it", role) is None


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["it", "en", None, "de"]))
def test_any_text_can_be_read(text: str, language: str | None) -> None:
    """Any text gives a sign or none; a sign names a rule and a category and never holds the text."""
    found = detect_crisis(text, language)
    if found is not None:
        assert found.category in CATEGORIES
        assert found.tier in (1, 2, 3)


def test_a_crisis_never_holds_the_words() -> None:
    """No field of a crisis holds what the user wrote."""
    text = "voglio morire, lo dico a te sola"
    found = detect_crisis(text, "it")
    assert found is not None
    assert all(text not in str(getattr(found, field.name)) for field in fields(found))


@pytest.mark.parametrize(
    "text", ["a" * 50_000, "mi " * 20_000, "voglio " * 8_000, "\n" * 40_000, "non voglio " * 5_000]
)
def test_long_texts_end(text: str) -> None:
    """A very long text is read only as far as it matters, and has no crisis that is not there."""
    assert detect_crisis(text) is None


@pytest.mark.parametrize("lang", ["it", "en"])
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("tier", [1, 2, 3])
def test_every_crisis_has_a_fixed_reply_with_a_helpline(lang: str, category: str, tier: int) -> None:
    """For every category and tier there is a text, the same each time, that names where to call."""
    seen = Crisis(tier, "x", category, "", lang)  # type: ignore[arg-type]
    text = crisis_reply(seen)
    assert text == crisis_reply(seen, lang)
    assert "112" in text
    if lang == "it":
        assert "114" in text
        assert "19696" in text


@pytest.mark.parametrize("lang", ["it", "en"])
def test_shipped_data_say_that_they_are_not_validated(lang: str) -> None:
    """The note and the first line of each file say that nothing in it was clinically validated."""
    assert "NOT CLINICALLY VALIDATED" in shipped_phrases(lang)[0].note
    assert "NOT CLINICALLY VALIDATED" in (SHIPPED / f"crisis_{lang}.toml").read_text(encoding="utf-8").split("\n")[0]


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    """Phrases, notice and replies can be replaced by a file; only that file then speaks."""
    path = tmp_path / "crisis_fr.toml"
    path.write_text(
        'language = "fr"\nnote = "validé"\nnotice = "Appelle le 3114."\n'
        '[replies]\nself_harm = "Merci."\nabuse = "Merci."\nviolence = "Merci."\n'
        '[words]\nwant = "veux|voudrais"\n'
        '[[rule]]\nid = "fr.die"\ncategory = "self_harm"\ntier = 2\nneeds = ["mourir"]\n'
        'phrases = ["je {want} ~ mourir"]\n',
        encoding="utf-8",
    )
    mine = (load_phrases(path),)
    found = detect_crisis("Je voudrais vraiment mourir", phrases=mine)
    assert found == Crisis(2, "fr.die", "self_harm", "Appelle le 3114.", "fr")
    assert crisis_reply(found, phrases=mine) == "Merci.\n\nAppelle le 3114."
    assert detect_crisis("voglio morire", phrases=mine) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("language = ", "Invalid value"),
        ('language = "x"', "rule"),
        (
            'language = "x"\n[[rule]]\nid = "a"\ncategory = "other"\ntier = 1\nneeds = ["a"]\nphrases = ["a"]',
            "category",
        ),
        ('language = "x"\n[[rule]]\nid = "a"\ncategory = "abuse"\ntier = 1\nneeds = ["a"]', "phrases"),
    ],
)
def test_a_broken_file_is_named(text: str, problem: str) -> None:
    """A file that cannot be used is refused with its name and what is wrong in it."""
    with pytest.raises(SettingsError, match=problem) as refused:
        read_phrases(text, "mine.toml")
    assert "mine.toml" in str(refused.value)


def test_a_broken_pattern_is_named_when_it_is_loaded(tmp_path: Path) -> None:
    """A regular expression with a mistake is refused at once, by file and rule; the shipped ones have none."""
    text = (SHIPPED / "crisis_it.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    assert load_phrases(path).rules
    path.write_text(text.replace("phrases = [", 'phrases = ["(", ', 1), encoding="utf-8")
    with pytest.raises(SettingsError, match=r"mine\.toml: rule 'it\."):
        load_phrases(path)


@pytest.mark.parametrize("lang", ["it", "en"])
def test_shipped_patterns_compile(lang: str) -> None:
    """Every pattern of the shipped files is a regular expression, and every context a rule names exists."""
    (known,) = shipped_phrases(lang)
    check_patterns(known, lang)
    assert {name for rule in known.rules for name in rule.unless} <= set(known.contexts)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A file that is not there is refused by its name."""
    with pytest.raises(SettingsError, match=r"none\.toml"):
        load_phrases(tmp_path / "none.toml")


@settings(max_examples=100, deadline=None)
@given(before=st.integers(0, 11_000), after=st.integers(0, 11_000), far=st.sampled_from(["", "before", "after"]))
def test_a_cry_for_help_is_noticed_wherever_it_stands(before: int, after: int, far: str) -> None:
    """Before, behind or between pasted pages a sentence is read, up to twelve thousand characters from an end."""
    essay = "Oggi studiamo le frazioni. " * 4_000
    head, tail = essay[: before + 90_000 * (far == "before")], essay[: after + 90_000 * (far == "after")]
    text = f"{head}. Voglio morire. {tail}"
    found = detect_crisis(text)
    assert found is not None
    assert found.category == "self_harm"
    assert detect_crisis(text.replace("Voglio morire", "Ho finito")) is None


@pytest.mark.parametrize(
    "said",
    [
        "Al babbo natale segreto mi è toccato Vinicio",
        "Con mio padre mi è toccato parlare di soldi",
        "A casa di papà mi è toccato lavare i piatti",
    ],
)
def test_what_falls_to_one_is_no_touch(said: str) -> None:
    """ "Mi è toccato" says whose turn it was, not that a person was touched."""
    assert not detect_crisis(said)


def test_a_touch_is_still_found() -> None:
    """The same words with the other auxiliary still give the notice."""
    assert detect_crisis("Mio zio mi ha toccata, ho paura di stare a casa")
