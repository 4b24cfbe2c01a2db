"""What is known of a person: facts that two learners never overwrite for each other, summaries, flags."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import ValidationError
from ricordo.records.derived import FactChange, Flag, FlagState, KnownFacts, Summary
from ricordo.records.turns import Owner
from ricordo.stores.protocols import Store
from ricordo.testing import strategies
from ricordo.testing.contract.base import Contract, assert_sound, at_once, law
from ricordo.testing.fakes import START, a_fact, a_flag, a_source, a_summary, a_turn, an_owner

WRITERS = 8
hour = timedelta(hours=1)


def learn(store: Store, owner: Owner, *facts: object, agent_id: str = "tutor", **learned: int) -> None:
    """Write facts from the present revision on."""
    revision = store.people.facts(owner, agent_id).revision
    assert store.people.put_facts(owner, agent_id, FactChange(revision, facts, tuple(learned.items())))  # type: ignore[arg-type]


def _place(summary: Summary) -> tuple[str, str, int]:
    return summary.session_id, summary.kind, summary.last_turn


class PeopleContract(Contract):
    """agents, people, put_facts, learned_through, summaries, put_summary, drop_summaries, flags, put_flag, set_flag."""

    @law
    @given(data=st.data(), agent_id=strategies.ids())
    def test_facts_come_back_complete_and_in_the_order_they_were_recorded(
        self, store: Store, data: st.DataObject, agent_id: str
    ) -> None:
        """Whatever a fact holds is what reading it gives back, oldest first, ties by id, once per id."""
        turn = store.turns.append(a_turn(an_owner()))
        owner, source = turn.owner, a_source(turn)
        facts = data.draw(
            st.lists(strategies.facts(agent_id, (source,)), min_size=1, max_size=3, unique_by=lambda fact: fact.id)
        )
        learn(store, owner, *facts, agent_id=agent_id)
        people = store.people.facts(owner, agent_id)
        assert people.facts == tuple(sorted(facts, key=lambda fact: (fact.recorded_at, fact.id)))
        assert list(store.people.agents(owner)) == [agent_id]
        assert store.stats(owner.tenant_id).facts == len(facts)

    def test_nothing_is_known_of_a_stranger(self, store: Store) -> None:
        """Reading what was never learned gives nothing, at revision 0, and makes nothing."""
        owner = an_owner()
        assert store.people.facts(owner, "tutor") == KnownFacts()
        assert list(store.people.agents(owner)) == []
        assert store.people.learned_through(owner, "lesson") == 0
        assert list(store.people.summaries(owner)) == []
        assert list(store.people.flags(owner)) == []
        assert store.people.forget_derived(owner, "lesson") == 0
        assert store.people.set_flag(owner, "flag", "released") is None
        assert list(store.owners(owner.tenant_id)) == []

    def test_a_fact_is_written_over_by_its_id(self, store: Store) -> None:
        """A fact that is put again is replaced, the others stay, and the revision rises by one each time."""
        turn = store.turns.append(a_turn(an_owner()))
        owner = turn.owner
        first, second = a_fact("Rome", turn), a_fact("Pisa", turn, recorded_at=START + hour)
        learn(store, owner, second, first)
        learn(store, owner, replace(first, valid_to=START + hour, superseded_by="Pisa"))
        people = store.people.facts(owner, "tutor")
        assert [fact.id for fact in people.facts] == ["Rome", "Pisa"]
        assert people.facts[0].superseded_by == "Pisa"
        assert people.facts[1] == second
        assert people.revision == 2
        assert_sound(store, owner.tenant_id)

    def test_of_two_learners_the_second_is_told(self, store: Store) -> None:
        """A change made from an older state writes nothing: no fact, and nothing counts as learned."""
        turn = store.turns.append(a_turn(an_owner()))
        owner = turn.owner
        assert store.people.put_facts(owner, "tutor", FactChange(0, (a_fact("mine", turn),)))
        after = store.people.facts(owner, "tutor")
        for revision in (0, 2, -1):
            late = FactChange(revision, (a_fact("theirs", turn), a_fact("mine", turn, text="other")), (("lesson", 1),))
            assert not store.people.put_facts(owner, "tutor", late)
        assert store.people.facts(owner, "tutor") == after
        assert store.people.learned_through(owner, "lesson") == 0

    def test_of_many_learners_at_once_one_wins(self, store: Store) -> None:
        """Of changes that start from the same revision, exactly one is written, whole."""
        turn = store.turns.append(a_turn(an_owner()))
        owner = turn.owner
        for revision in (0, 1):

            def put(name: str, revision: int = revision) -> str | None:
                change = FactChange(revision, (a_fact(f"{name} a", turn), a_fact(f"{name} b", turn)), (("lesson", 1),))
                return name if store.people.put_facts(owner, "tutor", change) else None

            names = [f"{revision}-{n}" for n in range(WRITERS)]
            outcomes = at_once([lambda name=name: put(name) for name in names])  # type: ignore[misc]
            (winner,) = [outcome for outcome in outcomes if outcome]
            people = store.people.facts(owner, "tutor")
            assert people.revision == revision + 1
            assert {f"{winner} a", f"{winner} b"} <= {fact.id for fact in people.facts}
            assert len(people.facts) == 2 * (revision + 1)

    def test_agents_know_each_their_own(self, store: Store) -> None:
        """The same fact id with another agent, another user or another tenant is another fact."""
        anna = an_owner()
        for owner in (anna, Owner(anna.tenant_id, "bruno"), Owner(f"{anna.tenant_id}-other", "anna")):
            turn = store.turns.append(a_turn(owner))
            for agent_id in ("tutor", "coach"):
                text = f"{owner.tenant_id} {owner.user_id} {agent_id}"
                learn(store, owner, a_fact("Rome", turn, agent_id=agent_id, text=text), agent_id=agent_id)
        for owner in (anna, Owner(anna.tenant_id, "bruno")):
            assert list(store.people.agents(owner)) == ["coach", "tutor"]
            for agent_id in ("tutor", "coach"):
                (fact,) = store.people.facts(owner, agent_id).facts
                assert fact.text == f"{owner.tenant_id} {owner.user_id} {agent_id}"
        assert store.people.facts(anna, "stranger") == KnownFacts()

    def test_what_may_not_be_a_fact_is_refused(self, store: Store) -> None:
        """A fact of another agent and a forgotten one with words are refused, and nothing is written."""
        turn = store.turns.append(a_turn(an_owner()))
        refused = [
            a_fact("Rome", turn, agent_id="coach"),
            a_fact("Rome", turn, forgotten=True, text=""),
            a_fact("Rome", forgotten=True),
        ]
        for fact in refused:
            with pytest.raises(ValidationError):
                store.people.put_facts(
                    turn.owner, "tutor", FactChange(0, (a_fact("Pisa", turn), fact), (("lesson", 1),))
                )
        assert store.people.facts(turn.owner, "tutor") == KnownFacts()
        assert store.people.learned_through(turn.owner, "lesson") == 0

    def test_learned_through_goes_forward_and_not_beyond_the_session(self, store: Store) -> None:
        """It moves with facts, per session; a session that is not there is passed over; the session's fields stay."""
        owner = an_owner()
        for session_id in ("lesson", "lesson", "lesson", "other"):
            turn = store.turns.append(a_turn(owner, session_id=session_id))
        before = store.sessions.get(owner, "lesson")
        for through, expected in ((2, 2), (1, 2), (3, 3), (99, 3)):
            learn(store, owner, lesson=through, nowhere=5)
            assert store.people.learned_through(owner, "lesson") == expected
        assert store.people.learned_through(owner, "other") == 0
        assert store.people.learned_through(owner, "nowhere") == 0
        assert store.sessions.get(owner, "lesson") == before
        assert store.people.facts(owner, "tutor") == KnownFacts((), 4)
        assert store.people.put_facts(owner, "tutor", FactChange(4, learned=(("nowhere", 1),)))
        assert store.people.facts(owner, "tutor").revision == 4
        assert store.turns.append(replace(turn, id="next", session_id="lesson")).turn_number == 4
        assert store.people.learned_through(owner, "lesson") == 3
        assert_sound(store, owner.tenant_id)

    def test_what_was_quoted_from_turns_that_are_gone_is_not_learned(self, store: Store) -> None:
        """A learner that comes too late writes nothing of it; sources that are there count, and so do known ones."""
        owner = an_owner()
        gone, kept = store.turns.append(a_turn(owner)), store.turns.append(a_turn(owner, session_id="other"))
        aged = store.turns.append(a_turn(owner, session_id="old"))
        learn(store, owner, a_fact("known", kept), a_fact("old", aged), a_fact("given"))
        store.sessions.delete(owner, "lesson")
        store.turns.delete(owner, "old", [1])
        learn(
            store,
            owner,
            a_fact("late", gone),
            a_fact("half", gone, kept),
            a_fact("given", text="Given anew."),
            a_fact("known", gone, text="Other words."),
            a_fact("old", aged, kept, text="Said again."),
        )
        facts = {fact.id: fact for fact in store.people.facts(owner, "tutor").facts}
        assert facts == {
            "known": a_fact("known", kept),
            "half": a_fact("half", kept),
            "given": a_fact("given", text="Given anew."),
            "old": a_fact("old", aged, kept, text="Said again."),
        }

    def test_learning_from_someone_who_was_erased_leaves_no_trace(self, store: Store) -> None:
        """A late learner does not bring an erased user back."""
        turn = store.turns.append(a_turn(an_owner()))
        store.erase(turn.owner)
        assert store.people.put_facts(turn.owner, "tutor", FactChange(0, (a_fact("Rome", turn),), (("lesson", 1),)))
        assert not store.people.put_summary(turn.owner, a_summary())
        assert not store.people.put_flag(turn.owner, a_flag())
        assert store.people.facts(turn.owner, "tutor") == KnownFacts()
        assert list(store.owners(turn.owner.tenant_id)) == []
        assert not any(store.erase(turn.owner).values())

    @law
    @given(data=st.data())
    def test_summaries_come_back_newest_first(self, store: Store, data: st.DataObject) -> None:
        """Complete, by date, last turn and id; one per session, kind and last turn, and one per id."""
        owner = an_owner()
        for session_id in ("lesson", "lesson", "other"):
            store.turns.append(a_turn(owner, session_id=session_id))
        coming = data.draw(
            st.lists(
                st.sampled_from([("lesson", 2), ("other", 1)]).flatmap(lambda at: strategies.summaries(*at)), max_size=5
            )
        )
        kept: list[Summary] = []
        for summary in coming:
            free = all(summary.id != each.id and _place(summary) != _place(each) for each in kept)
            assert store.people.put_summary(owner, summary) == free
            kept += [summary] if free else []
        kept.sort(key=lambda each: (each.created_at, each.last_turn, each.id), reverse=True)
        assert list(store.people.summaries(owner)) == kept
        assert list(store.people.summaries(owner, limit=1)) == kept[:1]
        for session_id in ("lesson", "other"):
            assert list(store.people.summaries(owner, session_id=session_id)) == [
                each for each in kept if each.session_id == session_id
            ]
            assert (
                list(store.people.summaries(owner, session_id=session_id, kind="session", limit=1))
                == [each for each in kept if (each.session_id, each.kind) == (session_id, "session")][:1]
            )
        for summary in kept:
            assert list(store.people.summaries(owner, agent_id=summary.agent_id)) == [
                each for each in kept if each.agent_id == summary.agent_id
            ]
        assert store.stats(owner.tenant_id).summaries == len(kept)
        assert_sound(store, owner.tenant_id)

    def test_a_summary_is_of_turns_that_are_there(self, store: Store) -> None:
        """Of a session that is not there, or has not come so far, no summary is kept."""
        owner = an_owner()
        assert not store.people.put_summary(owner, a_summary())
        store.turns.append(a_turn(owner))
        assert not store.people.put_summary(owner, a_summary(last_turn=2))
        assert store.people.put_summary(owner, a_summary())
        assert not store.people.put_summary(Owner(owner.tenant_id, "bruno"), a_summary())
        assert [each.last_turn for each in store.people.summaries(owner)] == [1]

    def test_single_summaries_go_with_their_flags(self, store: Store) -> None:
        """Only those that are named, only of their owner; another may be kept in their place."""
        owner = an_owner()
        for _ in range(2):
            store.turns.append(a_turn(owner))
        first, second = a_summary(last_turn=1, id="first"), a_summary(last_turn=2, id="second")
        for summary in (first, second):
            assert store.people.put_summary(owner, summary)
            assert store.people.put_flag(owner, a_flag(summary.id, id=f"of {summary.id}", subject="summary"))
        assert store.people.drop_summaries(Owner(owner.tenant_id, "bruno"), ["first"]) == 0
        assert store.people.drop_summaries(owner, []) == 0
        assert store.people.drop_summaries(owner, ["first", "nothing"]) == 1
        assert list(store.people.summaries(owner)) == [second]
        assert [flag.subject_id for flag in store.people.flags(owner)] == ["second"]
        assert store.people.put_summary(owner, first)
        assert_sound(store, owner.tenant_id)

    @law
    @given(data=st.data())
    def test_flags_come_back_newest_first(self, store: Store, data: st.DataObject) -> None:
        """Complete, ties by id; one per thing that is flagged, whose first flag stays, and one per id."""
        owner = store.turns.append(a_turn(an_owner())).owner
        kept: list[Flag] = []
        for flag in data.draw(st.lists(strategies.flags("lesson"), max_size=5)):
            free = all(
                flag.id != each.id and (flag.subject, flag.subject_id) != (each.subject, each.subject_id)
                for each in kept
            )
            assert store.people.put_flag(owner, flag) == free
            kept += [flag] if free else []
        kept.sort(key=lambda flag: (flag.created_at, flag.id), reverse=True)
        assert list(store.people.flags(owner)) == kept
        assert list(store.people.flags(owner, limit=1)) == kept[:1]
        assert list(store.people.flags(owner, state="quarantined")) == [f for f in kept if f.state == "quarantined"]
        assert store.stats(owner.tenant_id).flags == len(kept)

    def test_a_flag_is_released_and_put_back(self, store: Store) -> None:
        """Only its state changes, only for its owner; a flag needs a session that is there."""
        owner = store.turns.append(a_turn(an_owner())).owner
        flag = a_flag(rules=("imperative", "crisis:red"))
        assert not store.people.put_flag(owner, a_flag(session_id="nowhere"))
        assert store.people.put_flag(owner, flag)
        assert not store.people.put_flag(owner, a_flag(state="released"))
        assert list(store.people.flags(owner)) == [flag]
        states: tuple[FlagState, ...] = ("quarantined", "released", "quarantined")
        for state in states:
            assert store.people.set_flag(owner, flag.id, state) == replace(flag, state=state)
            assert list(store.people.flags(owner)) == [replace(flag, state=state)]
        assert store.people.set_flag(Owner(owner.tenant_id, "bruno"), flag.id, "released") is None
        assert store.people.set_flag(owner, "another", "released") is None
        assert [each.state for each in store.people.flags(owner)] == ["quarantined"]

    def test_everything_is_still_there_after_a_restart(self, store: Store) -> None:
        """Facts with their revision, summaries, flags, and how far was learned."""
        turn = store.turns.append(a_turn(an_owner()))
        owner, summary, flag = turn.owner, a_summary(), a_flag()
        learn(store, owner, a_fact("Rome", turn), lesson=1)
        assert store.people.put_summary(owner, summary)
        assert store.people.put_flag(owner, flag)
        before = store.people.facts(owner, "tutor")
        again = self.reopened(store)
        assert again.people.facts(owner, "tutor") == before
        assert again.people.learned_through(owner, "lesson") == 1
        assert list(again.people.summaries(owner)) == [summary]
        assert list(again.people.flags(owner)) == [flag]
