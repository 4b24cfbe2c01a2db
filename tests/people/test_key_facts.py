"""What is known at a moment, what is told first, and forgetting."""

from datetime import timedelta

import pytest
from fact_samples import NOW, a_fact, heard, histories
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import NotFoundError
from ricordo.people.facts.claims import UserMessage
from ricordo.people.facts.learn import forget_change
from ricordo.people.profile import key_facts
from ricordo.records.derived import KnownFacts, Source

DAY = timedelta(days=1)


@given(histories(), st.integers(0, 400))
def test_nothing_is_known_before_it_was_said(history: list[UserMessage], day: int) -> None:
    """What was known at a moment began before it and had not ended."""
    moment = history[0].created_at + day * DAY
    for fact in (each for each in heard(history).facts if each.known_at(moment)):
        assert fact.valid_from <= moment
        assert fact.valid_to is None or moment < fact.valid_to


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_key_facts_follows_from_the_facts(history: list[UserMessage], rng: object) -> None:
    """Facts in any order are told in one order, and none that does not hold now is told."""
    facts = list(heard(history).facts)
    told = key_facts(facts, NOW)
    rng.shuffle(facts)  # type: ignore[attr-defined]
    assert key_facts(facts, NOW) == told
    assert set(told) <= {fact for fact in facts if fact.known_at(NOW)}


def test_name_first_then_difficulties_and_goals() -> None:
    """What a tutor must not get wrong comes before what is nice to know."""
    facts = [
        a_fact("Vive a Roma", kind="place"),
        a_fact("Ha difficoltà con le frazioni", kind="difficulty", valid_from=NOW - 90 * DAY),
        a_fact("Ama la pizza", kind="preference"),
        a_fact("Si chiama Anna", kind="name", valid_from=NOW - 300 * DAY),
    ]
    assert [fact.text for fact in key_facts(facts, NOW)] == [
        "Si chiama Anna",
        "Ha difficoltà con le frazioni",
        "Ama la pizza",
        "Vive a Roma",
    ]


def test_recent_and_repeated_come_first() -> None:
    """Of two difficulties the newer, of two equally old the one said more often."""
    sources = tuple(Source(f"m{n}", "s", "q") for n in range(4))
    old = a_fact("Ha difficoltà con i verbi", kind="difficulty", valid_from=NOW - 60 * DAY)
    new = a_fact("Ha difficoltà con i limiti", kind="difficulty", valid_from=NOW - DAY)
    often = a_fact("Ha difficoltà con le frazioni", kind="difficulty", valid_from=NOW - 60 * DAY, sources=sources)
    assert key_facts([old, new], NOW)[0] == new
    assert key_facts([old, often], NOW)[0] == often


def test_what_is_over_is_not_told() -> None:
    """A past exam, a missed deadline and an overcome difficulty are known, and told no more; a birthday always is."""
    facts = [
        a_fact("Ha l'esame di fisica il 3 giugno 2026", kind="date"),
        a_fact("Vuole superare l'esame entro il 3 giugno 2026", kind="goal"),
        a_fact("Non ha più difficoltà con le frazioni", kind="difficulty"),
        a_fact("Data di nascita: 3 maggio 2010", kind="date", about="date:birthday"),
    ]
    assert [fact.text for fact in key_facts(facts, NOW)] == ["Data di nascita: 3 maggio 2010"]
    assert sum(fact.known_at(NOW) for fact in facts) == 4


def test_forgetting_takes_the_same_claim_of_other_times_along() -> None:
    """No word of a forgotten claim stays in any interval."""
    facts = (
        a_fact("Vive a Roma", id="1", digest="roma", about="place:home", valid_to=NOW, superseded_by="2"),
        a_fact("Vive a Milano", id="2", digest="milano", about="place:home"),
        a_fact("Vive a Roma", id="3", digest="roma", about="place:home"),
    )
    change = forget_change(KnownFacts(facts, revision=5), "3")
    assert change.revision == 5
    assert [(fact.id, fact.text, fact.about, fact.forgotten) for fact in change.put] == [
        ("1", "", "", True),
        ("3", "", "", True),
    ]


def test_forgetting_what_is_not_there_says_so() -> None:
    """An unknown id is named in the error."""
    with pytest.raises(NotFoundError, match="'nobody'"):
        forget_change(KnownFacts(), "nobody")


def test_what_reads_badly_comes_last() -> None:
    """A fragment, a quote and a sentence about "her" come after a clause that says something by itself."""
    whole = a_fact("Keeps bees behind the mill", about="said:other:9", valid_from=NOW - 60 * DAY)
    rest = [
        a_fact(text, about=f"said:{group}:{number}", valid_from=NOW - DAY)
        for group in ("other", "health", "name")
        for number, text in enumerate(("Found him", "“we let them go”", "She corrected the letter", "85, half of it"))
    ]
    assert key_facts([*rest, whole], NOW)[0] == whole
