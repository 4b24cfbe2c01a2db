"""Candidates become facts: once, in any order, with intervals that never overlap."""

import random
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from bench.facts import applied
from fact_samples import HEARING, NOW, heard, histories, moments, now_known, said
from hypothesis import given
from hypothesis import strategies as st

from ricordo.people.facts.claims import UserMessage
from ricordo.people.facts.learn import forget_change
from ricordo.people.facts.merge import LearningContext, merge_claims
from ricordo.people.facts.patterns import claims_in_message
from ricordo.people.profile import key_facts
from ricordo.records.derived import FactChange, KnownFacts


def knows(*lines: str) -> KnownFacts:
    """What is known after some lines, one a day."""
    return heard([said(line, day) for day, line in enumerate(lines)])


@given(histories())
def test_hearing_the_same_again_changes_nothing(history: list[UserMessage]) -> None:
    """The same candidates twice are the same as once: nothing is left to write."""
    people = heard(history)
    times = {each.id: each.when for each in history}
    for each in history:
        assert merge_claims(people, claims_in_message(each), HEARING, said_at=times.get) == FactChange(people.revision)


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_change_what_is_known(history: list[UserMessage], rng: random.Random) -> None:
    """An import of older turns never supersedes what was said later."""
    shuffled = list(history)
    rng.shuffle(shuffled)
    assert now_known(heard(shuffled)) == now_known(heard(history))


@given(histories(), st.randoms(use_true_random=False))
def test_one_batch_or_many_is_the_same(history: list[UserMessage], rng: random.Random) -> None:
    """Candidates may come together, in any order."""
    candidates = [candidate for each in history for candidate in claims_in_message(each)]
    rng.shuffle(candidates)
    together = applied(KnownFacts(), merge_claims(KnownFacts(), candidates, HEARING))
    assert now_known(together) == now_known(heard(history))


@given(histories(), st.randoms(use_true_random=False))
def test_what_was_known_at_a_time_follows_from_what_was_said_until_then(
    history: list[UserMessage], rng: random.Random
) -> None:
    """At every moment the newest claim on a thing is what was known, in whatever words it is told later."""
    shuffled = list(history)
    rng.shuffle(shuffled)
    people = heard(shuffled)
    for number, each in enumerate(history, start=1):
        until = heard(history[:number])
        then = {fact.digest for fact in people.facts if fact.known_at(each.created_at)}
        assert then == {fact.digest for fact in until.facts if fact.known_at(NOW)}


@given(histories(), st.randoms(use_true_random=False))
def test_intervals_of_one_thing_never_overlap(history: list[UserMessage], rng: random.Random) -> None:
    """Of two facts about the same thing at most one holds at a time."""
    rng.shuffle(history)
    facts = heard(history).facts
    for about in {fact.about for fact in facts if fact.about}:
        spans = sorted((f.valid_from, f.valid_to or NOW) for f in facts if f.about == about)
        spans = [span for span in spans if span[0] < span[1]]  # a denial of something else never held
        assert all(first[1] <= second[0] for first, second in pairwise(spans))


@given(histories())
def test_every_fact_quotes_its_messages(history: list[UserMessage]) -> None:
    """Each source names a message that was said, and holds words of it."""
    texts = {each.id: each.text for each in history}
    for fact in heard(history).facts:
        assert fact.sources
        assert all(source.quote in texts[source.message_id] for source in fact.sources)


@given(histories())
def test_what_is_superseded_names_what_holds_instead(history: list[UserMessage]) -> None:
    """A fact that ended names the fact that ended it, which began then."""
    facts = {fact.id: fact for fact in heard(history).facts}
    for fact in facts.values():
        assert (fact.valid_to is None) == (fact.superseded_by is None)
        if fact.superseded_by:
            assert facts[fact.superseded_by].valid_from <= (fact.valid_to or NOW)


@given(moments(), st.randoms(use_true_random=False))
def test_of_one_moment_the_later_turn_is_the_newer_word(
    both: tuple[list[UserMessage], list[UserMessage]], rng: random.Random
) -> None:
    """Turns of one moment, as of an import by the day, count in their order, however they arrive."""
    moment, days = both
    shuffled = list(moment)
    rng.shuffle(shuffled)
    assert now_known(heard(moment)) == now_known(heard(days))
    assert now_known(heard(shuffled)) == now_known(heard(days))


@given(moments())
def test_hearing_one_moment_again_changes_nothing(both: tuple[list[UserMessage], list[UserMessage]]) -> None:
    """Turns of one moment are heard once, as all others are."""
    moment, _ = both
    people = heard(moment)
    whens = {each.id: each.when for each in moment}
    for each in moment:
        assert merge_claims(people, claims_in_message(each), HEARING, said_at=whens.get).put == ()


@given(histories(), st.data())
def test_what_was_forgotten_is_not_learned_again(history: list[UserMessage], data: st.DataObject) -> None:
    """A forgotten claim leaves no word, and no message brings it back."""
    people = heard(history)
    if not people.facts:
        return
    chosen = data.draw(st.sampled_from(people.facts))
    people = applied(people, forget_change(people, chosen.id))
    later = [replace(each, id=f"again-{each.id}", created_at=each.created_at + timedelta(days=301)) for each in history]
    people = heard(later, people, known=history)
    assert chosen.text not in [fact.text for fact in people.facts]
    assert all(not (f.text or f.about or f.sources) for f in people.facts if f.forgotten)


@given(histories(), st.data())
def test_excluded_messages_teach_nothing(history: list[UserMessage], data: st.DataObject) -> None:
    """Text that came from memory or from a prompt is left out by the id of its message."""
    excluded = frozenset(data.draw(st.sets(st.sampled_from([each.id for each in history]))))
    candidates = [candidate for each in history for candidate in claims_in_message(each)]
    change = merge_claims(KnownFacts(), candidates, LearningContext("tutor", NOW, excluded))
    assert not {source.message_id for fact in change.put for source in fact.sources} & excluded


def test_a_newer_word_supersedes_and_both_are_kept() -> None:
    """Who moves is known at the new place now, and at the old one then."""
    people = knows("Vivo a Roma", "Vivo a Milano")
    old, new = sorted(people.facts, key=lambda fact: fact.valid_from)
    assert (old.text, old.valid_to, old.superseded_by) == ("Vive a Roma", new.valid_from, new.id)
    assert (new.text, new.valid_to) == ("Vive a Milano", None)


def test_moving_back_is_a_third_interval() -> None:
    """Roma, Milano, Roma: the first Roma does not swallow the second."""
    people = knows("Vivo a Roma", "Vivo a Milano", "Vivo a Roma")
    assert [fact.text for fact in sorted(people.facts, key=lambda f: f.valid_from)] == [
        "Vive a Roma",
        "Vive a Milano",
        "Vive a Roma",
    ]


def test_an_old_word_between_two_mentions_parts_them() -> None:
    """One fact said twice becomes two when an import tells what was said between."""
    messages = [said("Vivo a Roma", 1), said("Abito a Roma", 9), said("Vivo a Milano", 5)]
    people = heard(messages)
    assert now_known(people) == ["Vive a Roma"]
    assert len(people.facts) == 3


def test_wordings_and_languages_of_one_claim_are_one_fact() -> None:
    """A repeated mention adds a source and no fact."""
    people = knows("mi chiamo Anna", "My name is Anna", "Il mio nome è anna")
    assert len(people.facts) == 1
    assert len(people.facts[0].sources) == 3
    assert len(knows("Mi piace la pizza", "Adoro la pizza").facts) == 1


def test_sources_are_the_first_and_the_newest() -> None:
    """Who says the same every day is remembered with twenty sources, and hearing any of them again changes nothing."""
    history = [said("mi chiamo Anna. mia sorella si chiama Giulia", day) for day in range(30)]
    people = heard(history)
    name = next(fact for fact in people.facts if fact.about == "name")
    assert [len(fact.sources) for fact in people.facts] == [20, 20]
    assert (name.sources[0].message_id, name.sources[-1].message_id) == ("m0:query", "m29:query")
    assert name.valid_from == history[0].created_at
    times = {each.id: each.when for each in history}
    assert all(merge_claims(people, claims_in_message(each), HEARING, said_at=times.get).put == () for each in history)


def test_two_sisters_are_two_facts() -> None:
    """What cannot contradict does not supersede."""
    assert now_known(knows("mia sorella si chiama Giulia", "mia sorella si chiama Marta")) == [
        "Sua sorella si chiama Giulia",
        "Sua sorella si chiama Marta",
    ]


def test_a_taste_that_turned_is_one_thing() -> None:
    """Liking and not liking the same decide the same."""
    assert now_known(knows("mi piace la pizza", "non mi piace la pizza")) == ["Non ama la pizza"]


def test_a_denial_of_something_else_ends_nothing() -> None:
    """Who lives in Milan and no longer in Rome lives in Milan."""
    assert now_known(knows("Vivo a Milano", "Non vivo più a Roma")) == ["Vive a Milano"]
    assert now_known(knows("Vivo a Roma", "Non vivo più a Roma")) == ["Non vive più a Roma"]


def test_a_denial_gets_its_point_from_an_older_turn() -> None:
    """When an import tells that Rome came after Milan, the denial of Rome that was heard before ends it."""
    messages = [said("Vivo a Milano", 1), said("Non vivo più a Roma", 5), said("Vivo a Roma", 3)]
    assert now_known(heard(messages)) == ["Non vive più a Roma"]


def test_a_moved_exam_has_one_day() -> None:
    """The last day that was told is the day."""
    people = knows("L'esame di fisica è il 3 giugno 2027", "L'esame di fisica è il 9 giugno 2027")
    assert now_known(people) == ["Ha l'esame di fisica il 9 giugno 2027"]


def test_the_embedder_may_tell_that_two_sentences_are_one() -> None:
    """A similarity that is passed in joins wordings that share no word, and never opposite ones."""
    one, other = (claims_in_message(said(text, day)) for day, text in enumerate(("I like jazz", "I love swing music")))
    close = merge_claims(KnownFacts(), (*one, *other), HEARING, similarity=lambda a, b: 0.99)
    people = applied(KnownFacts(), merge_claims(KnownFacts(), one, HEARING))
    people = applied(people, merge_claims(people, other, HEARING, similarity=lambda a, b: 0.99))
    assert len(people.facts) == 1
    assert len(close.put) == 2 or len(close.put) == 1
    opposite = merge_claims(people, claims_in_message(said("I hate tango", 5)), HEARING, similarity=lambda a, b: 0.99)
    assert [fact.text for fact in opposite.put] == ["Dislikes tango"]


def test_a_fact_has_the_least_trusted_origin_of_its_sources() -> None:
    """Repeating in an import what was said never raises, and may lower, how far it is trusted."""
    people = heard([said("vivo a Roma", 1), said("vivo a Roma", 2, origin="import")])
    assert [fact.origin for fact in people.facts] == ["import"]


def test_forgetting_does_not_bring_back_what_was_superseded() -> None:
    """After forgetting Milan nothing is known of a home, and Rome does not return by talking of something else."""
    people = knows("Vivo a Roma", "Vivo a Milano")
    milan = next(fact for fact in people.facts if fact.text == "Vive a Milano")
    people = applied(people, forget_change(people, milan.id))
    assert now_known(people) == []
    assert now_known(heard([said("Vivo a Torino", 200)], people)) == ["Vive a Torino"]


@pytest.mark.parametrize("ids", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
@pytest.mark.parametrize("there", [True, False])
def test_a_moment_keeps_its_order_when_its_turns_are_gone(ids: tuple[str, ...], there: bool) -> None:
    """Facts outlive their turns: those of one moment stay in the order they were first laid out in."""
    lines = ("Vivo a Roma", "Vivo a Milano", "Vivo a Torino")
    moment = [said(text, 7, id=f"{ids[n]}:query", turn_number=n + 1) for n, text in enumerate(lines)]
    older, later = said("Vivo a Napoli", 1), said("Abito a Torino", 7, id="d:query", turn_number=4)
    people = heard([older, later], heard(moment), known=moment if there else ())
    assert now_known(people) == ["Vive a Torino"]
    assert len(people.facts) == 4
    assert len(next(fact for fact in people.facts if fact.text == "Vive a Torino").sources) == 2


@pytest.mark.parametrize("ids", [("a", "b"), ("b", "a")])
def test_what_was_forgotten_keeps_its_place_within_a_moment(ids: tuple[str, str]) -> None:
    """Who forgets the last word of a moment does not get back what it had superseded, whatever else is heard."""
    lines = ("Vivo a Roma", "Vivo a Milano")
    moment = [said(text, 7, id=f"{ids[n]}:query", turn_number=n + 1) for n, text in enumerate(lines)]
    people = heard(moment)
    milan = next(fact for fact in people.facts if fact.text == "Vive a Milano")
    people = applied(people, forget_change(people, milan.id))
    people = heard([said("Vivo a Napoli", 1)], people, known=moment)
    assert now_known(people) == []
    newer = said("Vivo a Torino", 7, id="0:query", turn_number=3)
    assert now_known(heard([newer], people, known=moment)) == ["Vive a Torino"]


def test_sessions_of_one_moment_have_one_order() -> None:
    """Which of two sessions is right about one moment does not depend on which was heard first."""
    here, there = said("Vivo a Roma", 7, id="a:query"), said("Vivo a Milano", 7, id="b:query", session_id="s0")
    assert now_known(heard([here, there])) == now_known(heard([there, here])) == ["Vive a Roma"]


@pytest.mark.parametrize("quote", ["Mi chiamo Bruno", ""])
def test_a_claim_without_its_quote_is_refused(quote: str) -> None:
    """Only what a user message says verbatim is learned, whoever claims it."""
    (claim,) = claims_in_message(said("Mi chiamo Anna"))
    assert merge_claims(KnownFacts(), [replace(claim, quote=quote)], HEARING).put == ()


def test_how_far_facts_were_looked_for_travels_with_the_change() -> None:
    """The caller's marks are written in the same transaction."""
    assert merge_claims(KnownFacts(revision=4), (), HEARING, learned=(("s1", 7),)) == FactChange(4, (), (("s1", 7),))


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        (("I want to become a doctor", "I no longer want to become a doctor"), "No longer wants to become a doctor"),
        (("I want to win the race", "I don't want to win the race anymore"), "No longer wants to win the race"),
        (("Voglio diventare medico", "Non voglio più diventare medico"), "Non vuole più diventare medico"),
        (("I'm vegan", "I'm not vegan anymore"), "Is no longer vegan"),
        (("I am a vegetarian", "I'm no longer vegetarian"), "Is no longer vegetarian"),
        (("Sono vegetariana", "Non sono più vegetariana"), "Non più: Segue una dieta vegetariana"),
        (("Voglio diventare medico", "Non voglio più diventare medico", "Voglio diventare medico"),
         "Vuole diventare medico"),
    ],
)  # fmt: skip
def test_goals_and_habits_can_be_given_up(lines: tuple[str, ...], known: str) -> None:
    """Who says that they no longer want, or are, something is believed, and so is who comes back to it."""
    assert now_known(knows(*lines)) == [known]


def test_a_goal_that_was_given_up_is_no_key_fact() -> None:
    """It is known, and a profile has better things to tell."""
    people = knows("Voglio diventare medico", "Non voglio più diventare medico", "Mi chiamo Anna")
    assert [fact.text for fact in key_facts(people.facts, NOW)] == ["Si chiama Anna"]
