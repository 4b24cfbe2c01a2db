"""Topics: a shelf that two organisers never overwrite for each other, and which turn belongs to which topic."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ricordo.records.derived import TopicChange, TopicShelf
from ricordo.records.turns import IndexedTurn, Owner, SessionChanges, SessionMark, TurnVectors
from ricordo.stores.protocols import Store
from ricordo.testing import strategies
from ricordo.testing.contract.base import Contract, assert_sound, at_once, law
from ricordo.testing.fakes import START, a_block, a_topic, a_trace, a_turn, an_answer, an_owner

WRITERS = 8


def topic_ids(store: Store, owner: Owner, session_id: str = "lesson") -> list[str]:
    """The topics on a shelf, in its order."""
    return [topic.id for topic in store.topics.load(owner, session_id).topics]


class TopicContract(Contract):
    """topics, put_topics, turns_of."""

    @law
    @given(data=st.data())
    def test_topics_come_back_complete_and_in_the_order_they_began(self, store: Store, data: st.DataObject) -> None:
        """Whatever a topic holds is what reading it gives back, oldest first, ties by id, once per id."""
        owner = store.turns.append(a_turn(an_owner())).owner
        topics = data.draw(st.lists(strategies.topics(), max_size=3, unique_by=lambda topic: topic.id))
        change = TopicChange(store.topics.load(owner, "lesson").revision, put=tuple(topics), through=1)
        assert store.topics.put(owner, "lesson", change)
        shelf = store.topics.load(owner, "lesson")
        assert shelf.topics == tuple(sorted(topics, key=lambda topic: (topic.created_at, topic.id)))
        assert shelf.through == 1

    def test_a_session_without_topics_has_an_empty_shelf(self, store: Store) -> None:
        """So has a session that does not exist; nothing can be put on a shelf that is not there."""
        owner = an_owner()
        assert store.topics.load(owner, "lesson") == TopicShelf()
        assert not store.topics.put(owner, "lesson", TopicChange(0, put=(a_topic(),), assigned={1: "fugues"}))
        assert store.sessions.get(owner, "lesson") is None
        store.turns.append(a_turn(owner))
        assert store.topics.load(owner, "lesson").topics == ()
        assert list(store.topics.turns_of(owner, "lesson", "fugues")) == []

    def test_a_change_moves_the_revision_and_keeps_the_rest(self, store: Store) -> None:
        """A topic that is put again is replaced, the others stay; `through` stays where it is not given."""
        owner = store.turns.append(a_turn(an_owner())).owner
        first, second = a_topic("a"), a_topic("b", created_at=START + timedelta(hours=1))
        seen = []
        for put, through in (((second, first), 1), ((replace(first, title="again"),), None), ((), 3)):
            revision = store.topics.load(owner, "lesson").revision
            assert store.topics.put(owner, "lesson", TopicChange(revision, put=put, through=through))
            seen.append(store.topics.load(owner, "lesson"))
        assert [shelf.through for shelf in seen] == [1, 1, 3]
        assert [topic.title for topic in seen[-1].topics] == ["again", "B"]
        assert len({shelf.revision for shelf in seen}) == 3

    def test_of_two_organisers_the_second_is_told(self, store: Store) -> None:
        """A change made from an older shelf changes nothing: no topic, no assignment, no `through`."""
        turn = store.turns.append(a_turn(an_owner()))
        owner, seen = turn.owner, store.topics.load(turn.owner, "lesson")
        assert store.topics.put(owner, "lesson", TopicChange(seen.revision, put=(a_topic("mine"),), through=1))
        after = store.topics.load(owner, "lesson")
        late = TopicChange(seen.revision, (a_topic("theirs"),), ("mine",), {1: "theirs"}, through=9)
        assert not store.topics.put(owner, "lesson", late)
        assert not store.topics.put(owner, "lesson", replace(late, revision=after.revision + 1))
        assert store.topics.load(owner, "lesson") == after
        assert store.turns.get(owner, turn.id) == turn

    def test_of_many_organisers_at_once_one_wins(self, store: Store) -> None:
        """Of changes that start from the same shelf, exactly one is applied, whole."""
        owner = store.turns.append(a_turn(an_owner())).owner
        revision = store.topics.load(owner, "lesson").revision

        def organise(name: str) -> str | None:
            change = TopicChange(revision, put=(a_topic(name),), assigned={1: name})
            return name if store.topics.put(owner, "lesson", change) else None

        names = [f"topic {n}" for n in range(WRITERS)]
        outcomes = at_once([lambda name=name: organise(name) for name in names])  # type: ignore[misc]
        (winner,) = [outcome for outcome in outcomes if outcome]
        assert topic_ids(store, owner) == [winner]
        assert list(store.topics.turns_of(owner, "lesson", winner)) == [1]

    @law
    @given(
        steps=st.lists(
            st.tuples(
                st.dictionaries(st.integers(1, 7), st.sampled_from(["a", "b", "c"]), max_size=4),
                st.sets(st.sampled_from(["a", "b", "c"]), max_size=2),
            ),
            max_size=5,
        )
    )
    def test_a_turn_belongs_to_the_topic_it_was_assigned_to_last(
        self, store: Store, steps: list[tuple[dict[int, str], set[str]]]
    ) -> None:
        """Turns are found by topic, rising; a removed topic lets its turns go; nothing else about them changes."""
        owner = an_owner()
        written = [store.turns.append(a_turn(owner, f"question {n}")) for n in range(5)]
        belongs: dict[int, str] = {}
        for assigned, removed in steps:
            revision = store.topics.load(owner, "lesson").revision
            put = tuple(a_topic(name) for name in sorted(set(assigned.values())))
            change = TopicChange(revision, put=put, removed=tuple(removed), assigned=assigned)
            assert store.topics.put(owner, "lesson", change)
            belongs = {number: name for number, name in belongs.items() if name not in removed}
            belongs |= {number: name for number, name in assigned.items() if number <= 5}
        for name in ("a", "b", "c"):
            wanted = [number for number in sorted(belongs) if belongs[number] == name]
            assert list(store.topics.turns_of(owner, "lesson", name)) == wanted
        found = store.turns.page(owner, "lesson")
        assert [turn.topic_id for turn in found] == [belongs.get(n) for n in range(1, 6)]
        assert [replace(turn, topic_id=None) for turn in found] == written
        assert_sound(store, owner.tenant_id)

    def test_topics_are_of_one_session_of_one_owner(self, store: Store) -> None:
        """The same topic id elsewhere is another topic; no owner changes or sees another's."""
        anna = an_owner()
        bruno = Owner(anna.tenant_id, "bruno")
        for owner, session_id in ((anna, "lesson"), (anna, "other"), (bruno, "lesson")):
            store.turns.append(a_turn(owner, session_id=session_id))
            title = f"{owner.user_id} {session_id}"
            change = TopicChange(0, put=(a_topic(title=title),), assigned={1: "fugues"}, through=1)
            assert store.topics.put(owner, session_id, change)
        revision = store.topics.load(bruno, "lesson").revision
        assert store.topics.put(bruno, "lesson", TopicChange(revision, removed=("fugues",), through=0))
        assert topic_ids(store, bruno) == []
        for session_id in ("lesson", "other"):
            assert [topic.title for topic in store.topics.load(anna, session_id).topics] == [f"anna {session_id}"]
            assert list(store.topics.turns_of(anna, session_id, "fugues")) == [1]
        stranger = Owner(f"{anna.tenant_id}-other", "anna")
        assert store.topics.load(stranger, "lesson") == TopicShelf()
        assert list(store.topics.turns_of(stranger, "lesson", "fugues")) == []

    def test_organising_is_not_a_change_to_what_was_said(self, store: Store) -> None:
        """The session's fields stay as they are, and so does the shelf when the session's fields change."""
        owner = store.turns.append(a_turn(an_owner())).owner
        before = store.sessions.get(owner, "lesson")
        store.topics.put(owner, "lesson", TopicChange(0, put=(a_topic(),), assigned={1: "fugues"}, through=1))
        assert store.sessions.get(owner, "lesson") == before
        shelf = store.topics.load(owner, "lesson")
        store.sessions.update(owner, "lesson", SessionChanges(title="Fugues"))
        store.turns.append(a_turn(owner))
        assert store.topics.load(owner, "lesson") == shelf

    def test_a_turn_comes_in_without_a_topic(self, store: Store) -> None:
        """Topics are found here, not brought along: appended or loaded, a turn belongs to none."""
        owner, source = an_owner(), an_owner()
        turn = replace(a_turn(owner), topic_id="from elsewhere", block_id="lost", archived=True)
        assert store.turns.append(turn).topic_id is None
        store.turns.append(a_turn(source))
        info = store.sessions.get(source, "lesson")
        assert info is not None
        loaded = replace(turn, id="loaded", session_id="other", turn_number=1)
        assert store.turns.load(replace(info, id="other", owner=owner), [loaded]) == (1, 0)
        assert store.turns.load(replace(info, id="other", owner=owner), [loaded]) == (0, 1)
        for session_id in ("lesson", "other"):
            (found,) = store.turns.page(owner, session_id)
            assert (found.topic_id, found.block_id, found.archived) == (None, None, False)
            assert found.query == turn.query


# Traces: vectors kept beside their turns, and marks that tell whether anything has changed.


class VectorContract(Contract):
    """keep_traces, traces, drop_traces, marks."""

    @law
    @given(
        bodies=st.lists(st.tuples(st.binary(min_size=1, max_size=64), st.binary(max_size=64)), max_size=5),
        embedder=strategies.ids(),
        data=st.data(),
    )
    def test_traces_come_back_as_they_were(
        self, store: Store, bodies: list[tuple[bytes, bytes]], embedder: str, data: st.DataObject
    ) -> None:
        """Vectors, words, checksum and embedder are kept; of a session the traces come in rising order of turn."""
        owner = an_owner()
        said = [store.turns.append(a_turn(owner, f"question {n}")) for n in range(len(bodies))]
        traces = [a_trace(turn, embedder, *body) for turn, body in zip(said, bodies, strict=True)]
        store.vectors.write(owner, data.draw(st.permutations(traces)))
        assert list(store.vectors.read(owner, embedder)) == traces
        assert list(store.vectors.read(owner, embedder, "lesson")) == traces
        assert list(store.vectors.read(owner, f"{embedder}-other"[-255:])) == []

    def test_a_trace_takes_the_place_of_the_one_before(self, store: Store) -> None:
        """One trace per turn and embedder, the latest; another embedder's stays beside it."""
        turn = store.turns.append(a_turn(an_owner()))
        other = a_trace(turn, "large")
        store.vectors.write(turn.owner, [a_trace(turn, body=b"old"), other])
        newer = replace(a_trace(turn, body=b"new"), checksum="0" * 16)
        store.vectors.write(turn.owner, [newer])
        assert list(store.vectors.read(turn.owner, "small")) == [newer]
        assert list(store.vectors.read(turn.owner, "large")) == [other]

    def test_turns_come_without_text_and_with_what_is_valid(self, store: Store) -> None:
        """All turns of the owner by session and number; vectors and words only of the turn as it is now."""
        owner = an_owner()
        asked = store.turns.append(a_turn(owner, response=None, session_id="s"))
        said = [store.turns.append(a_turn(owner, session_id=session)) for session in ("S", "s")]
        store.turns.append(a_turn(Owner(owner.tenant_id, "bruno")))
        good, stale = a_trace(said[0]), replace(a_trace(said[1]), checksum="0" * 16)
        store.vectors.write(owner, [a_trace(asked), good, stale, a_trace(said[1], "large")])
        answer = an_answer("Voices.", START + timedelta(seconds=5))
        answered = store.turns.answer(owner, asked.id, answer, {}, None)
        found = list(store.vectors.turns(owner, "small"))
        at = (START - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        assert found == [
            IndexedTurn("S", 1, said[0].id, "tutor", at, at, said[0].checksum, None, good.body, good.words),
            IndexedTurn("s", 1, asked.id, "tutor", at, at + 5_000_000, answered.checksum, None, b"", b""),
            IndexedTurn("s", 2, said[1].id, "tutor", at, at, said[1].checksum, None, b"", b""),
        ]
        assert list(store.vectors.turns(Owner(owner.tenant_id, "carla"), "small")) == []

    def test_traces_of_turns_that_are_not_there_are_ignored(self, store: Store) -> None:
        """Unknown numbers, sessions and owners leave nothing behind, and do not harm the others."""
        turn = store.turns.append(a_turn(an_owner()))
        good = a_trace(turn)
        strays = [replace(good, turn_number=2), replace(good, session_id="nowhere")]
        store.vectors.write(turn.owner, [strays[0], good, strays[1]])
        store.vectors.write(Owner(turn.owner.tenant_id, "bruno"), [good])
        store.vectors.write(turn.owner, [])
        assert list(store.vectors.read(turn.owner, "small")) == [good]
        assert list(store.vectors.read(Owner(turn.owner.tenant_id, "bruno"), "small")) == []

    def test_other_embedders_are_dropped_together(self, store: Store) -> None:
        """How many went; the kept embedder's vectors stay in every session, and those of other owners do."""
        anna = an_owner()
        bruno = Owner(anna.tenant_id, "bruno")
        for owner, session_id in ((anna, "lesson"), (anna, "other"), (bruno, "lesson")):
            turn = store.turns.append(a_turn(owner, session_id=session_id))
            store.vectors.write(owner, [a_trace(turn, name) for name in ("small", "large", "old")])
        assert store.vectors.drop(anna, keep="small") == 4
        assert store.vectors.drop(anna, keep="small") == 0
        assert [trace.session_id for trace in store.vectors.read(anna, "small")] == ["lesson", "other"]
        assert [list(store.vectors.read(anna, name)) for name in ("large", "old")] == [[], []]
        assert len(list(store.vectors.read(bruno, "large"))) == 1

    @law
    @given(
        kept=st.lists(
            st.tuples(
                st.sampled_from(["", "b"]), st.sampled_from(["anna", "banna"]), st.sampled_from(["s", "S"]),
                st.sampled_from(["small", "large"]),
            ),
            max_size=8,
        )
    )  # fmt: skip
    def test_traces_never_mix(self, store: Store, kept: list[tuple[str, str, str, str]]) -> None:
        """Every owner finds the vectors of their own turns by the embedder they name, and no others."""
        tenant = an_owner().tenant_id
        wanted: dict[tuple[Owner, str, str], TurnVectors] = {}
        for suffix, user_id, session_id, embedder in kept:
            owner = Owner(tenant + suffix, user_id)
            turn = store.turns.append(a_turn(owner, "q", turn_id=f"only turn of {session_id}", session_id=session_id))
            trace = a_trace(turn, embedder, f"{owner} {session_id} {embedder}".encode())
            store.vectors.write(owner, [trace])
            wanted[owner, session_id, embedder] = trace
        for suffix, user_id in (("", "anna"), ("", "banna"), ("b", "anna"), ("b", "banna")):
            owner = Owner(tenant + suffix, user_id)
            for embedder in ("small", "large"):
                for session_id in ("s", "S"):
                    mine = wanted.get((owner, session_id, embedder))
                    assert list(store.vectors.read(owner, embedder, session_id)) == ([mine] if mine else [])
                everything = [wanted[key] for key in wanted if key[0] == owner and key[2] == embedder]
                assert sorted(trace.session_id for trace in store.vectors.read(owner, embedder)) == sorted(
                    trace.session_id for trace in everything
                )

    def test_marks_tell_how_far_each_session_has_come(self, store: Store) -> None:
        """Every session of the owner with its revision, newest number and count; no other owner's."""
        owner = an_owner()
        assert store.sessions.marks(owner) == {}
        for session_id in ("lesson", "lesson", "other"):
            store.turns.append(a_turn(owner, session_id=session_id))
        store.turns.append(a_turn(Owner(owner.tenant_id, "bruno")))
        assert store.sessions.marks(owner) == {"lesson": SessionMark(2, 2, 2), "other": SessionMark(1, 1, 1)}
        for session_id, mark in store.sessions.marks(owner).items():
            info = store.sessions.get(owner, session_id)
            assert info is not None
            assert mark == SessionMark(info.revision, info.last_turn, info.turn_count)

    def test_marks_move_with_every_change(self, store: Store) -> None:
        """Turns written, answered, loaded and removed, fields set, a clearing: no state looks like one before."""
        owner = an_owner()
        asked = store.turns.append(a_turn(owner, response=None))
        seen = [store.sessions.marks(owner)["lesson"]]
        day = timedelta(days=1)
        info = store.sessions.get(owner, "lesson")
        assert info is not None
        changes: list[Callable[[], object]] = [
            lambda: store.turns.answer(owner, asked.id, an_answer("yes"), {}, None),
            lambda: store.turns.append(a_turn(owner, created_at=START + day)),
            lambda: store.turns.load(info, [replace(a_turn(owner, created_at=START + day), turn_number=3)]),
            lambda: store.sessions.update(owner, "lesson", SessionChanges(title="Fugues")),
            lambda: store.sessions.expire(owner, turns_before=START + day, idle_before=None, batch=10),
            lambda: store.turns.delete(owner, "lesson", [2]),
            lambda: store.sessions.clear(owner, "lesson"),
            lambda: store.turns.append(a_turn(owner)),
        ]
        for change in changes:
            assert change()
            seen.append(store.sessions.marks(owner)["lesson"])
        assert len(set(seen)) == len(changes) + 1
        store.sessions.delete(owner, "lesson")
        assert store.sessions.marks(owner) == {}

    def test_marks_stand_still_while_nothing_is_said(self, store: Store) -> None:
        """Repeats, topics, the archive and vectors change no message, so they change no mark."""
        turn = store.turns.append(a_turn(an_owner()))
        owner, before = turn.owner, store.sessions.marks(turn.owner)
        store.turns.append(turn)
        assert store.topics.put(owner, "lesson", TopicChange(0, put=(a_topic(),), assigned={1: "fugues"}))
        assert store.topics.archive(owner, "lesson", a_block([turn]))
        assert store.topics.rehydrate(owner, "lesson", [1])
        assert store.topics.release(owner, "lesson", [1])
        store.vectors.write(owner, [a_trace(turn)])
        assert store.vectors.drop(owner, keep="other")
        assert store.turns.delete(owner, "lesson", [7]) == 0
        assert store.sessions.marks(owner) == before
