"""Traces: vectors kept beside their turns, and marks that tell whether anything has changed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from ricordo.ports import Store
from ricordo.records import Owner, SessionChanges, SessionMark, Trace
from ricordo.testing import strategies
from ricordo.testing.clock import START
from ricordo.testing.contract.base import Contract, law
from ricordo.testing.examples import a_block, a_topic, a_trace, a_turn, an_answer, an_owner
from ricordo.topics.shelf import TopicChange


class TraceContract(Contract):
    """keep_traces, traces, drop_traces, marks."""

    @law
    @given(bodies=st.lists(st.binary(min_size=1, max_size=64), max_size=5), embedder=strategies.ids(), data=st.data())
    def test_traces_come_back_as_they_were(
        self, store: Store, bodies: list[bytes], embedder: str, data: st.DataObject
    ) -> None:
        """Bytes, checksum and embedder are kept; of a session the traces come in rising order of turn."""
        owner = an_owner()
        said = [store.append(a_turn(owner, f"question {n}")) for n in range(len(bodies))]
        traces = [a_trace(turn, embedder, body) for turn, body in zip(said, bodies, strict=True)]
        store.keep_traces(owner, data.draw(st.permutations(traces)))
        assert list(store.traces(owner, embedder)) == traces
        assert list(store.traces(owner, embedder, "lesson")) == traces
        assert list(store.traces(owner, f"{embedder}-other"[-255:])) == []

    def test_a_trace_takes_the_place_of_the_one_before(self, store: Store) -> None:
        """One trace per turn and embedder, the latest; another embedder's stays beside it."""
        turn = store.append(a_turn(an_owner()))
        other = a_trace(turn, "large")
        store.keep_traces(turn.owner, [a_trace(turn, body=b"old"), other])
        newer = replace(a_trace(turn, body=b"new"), checksum="0" * 16)
        store.keep_traces(turn.owner, [newer])
        assert list(store.traces(turn.owner, "small")) == [newer]
        assert list(store.traces(turn.owner, "large")) == [other]

    def test_traces_of_turns_that_are_not_there_are_ignored(self, store: Store) -> None:
        """Unknown numbers, sessions and owners leave nothing behind, and do not harm the others."""
        turn = store.append(a_turn(an_owner()))
        good = a_trace(turn)
        strays = [replace(good, turn_number=2), replace(good, session_id="nowhere")]
        store.keep_traces(turn.owner, [strays[0], good, strays[1]])
        store.keep_traces(Owner(turn.owner.tenant_id, "bruno"), [good])
        store.keep_traces(turn.owner, [])
        assert list(store.traces(turn.owner, "small")) == [good]
        assert list(store.traces(Owner(turn.owner.tenant_id, "bruno"), "small")) == []

    def test_other_embedders_are_dropped_together(self, store: Store) -> None:
        """How many went; the kept embedder's traces stay in every session, and everybody else's do."""
        anna = an_owner()
        bruno = Owner(anna.tenant_id, "bruno")
        for owner, session_id in ((anna, "lesson"), (anna, "other"), (bruno, "lesson")):
            turn = store.append(a_turn(owner, session_id=session_id))
            store.keep_traces(owner, [a_trace(turn, name) for name in ("small", "large", "old")])
        assert store.drop_traces(anna, keep="small") == 4
        assert store.drop_traces(anna, keep="small") == 0
        assert [trace.session_id for trace in store.traces(anna, "small")] == ["lesson", "other"]
        assert [list(store.traces(anna, name)) for name in ("large", "old")] == [[], []]
        assert len(list(store.traces(bruno, "large"))) == 1

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
        """Everybody finds the traces of their own turns by the embedder they name, and no others."""
        tenant = an_owner().tenant_id
        wanted: dict[tuple[Owner, str, str], Trace] = {}
        for suffix, user_id, session_id, embedder in kept:
            owner = Owner(tenant + suffix, user_id)
            turn = store.append(a_turn(owner, "q", turn_id=f"only turn of {session_id}", session_id=session_id))
            trace = a_trace(turn, embedder, f"{owner} {session_id} {embedder}".encode())
            store.keep_traces(owner, [trace])
            wanted[owner, session_id, embedder] = trace
        for suffix, user_id in (("", "anna"), ("", "banna"), ("b", "anna"), ("b", "banna")):
            owner = Owner(tenant + suffix, user_id)
            for embedder in ("small", "large"):
                for session_id in ("s", "S"):
                    mine = wanted.get((owner, session_id, embedder))
                    assert list(store.traces(owner, embedder, session_id)) == ([mine] if mine else [])
                everything = [wanted[key] for key in wanted if key[0] == owner and key[2] == embedder]
                assert sorted(trace.session_id for trace in store.traces(owner, embedder)) == sorted(
                    trace.session_id for trace in everything
                )

    def test_marks_tell_how_far_each_session_has_come(self, store: Store) -> None:
        """Every session of the owner with its revision, newest number and count; nobody else's."""
        owner = an_owner()
        assert store.marks(owner) == {}
        for session_id in ("lesson", "lesson", "other"):
            store.append(a_turn(owner, session_id=session_id))
        store.append(a_turn(Owner(owner.tenant_id, "bruno")))
        assert store.marks(owner) == {"lesson": SessionMark(2, 2, 2), "other": SessionMark(1, 1, 1)}
        for session_id, mark in store.marks(owner).items():
            info = store.session(owner, session_id)
            assert info is not None
            assert mark == SessionMark(info.revision, info.last_turn, info.turn_count)

    def test_marks_move_with_every_change(self, store: Store) -> None:
        """Turns written, answered, loaded and removed, fields set, a clearing: no state looks like one before."""
        owner = an_owner()
        asked = store.append(a_turn(owner, response=None))
        seen = [store.marks(owner)["lesson"]]
        day = timedelta(days=1)
        info = store.session(owner, "lesson")
        assert info is not None
        changes: list[Callable[[], object]] = [
            lambda: store.answer(owner, asked.id, an_answer("yes"), {}, None),
            lambda: store.append(a_turn(owner, created_at=START + day)),
            lambda: store.load(info, [replace(a_turn(owner, created_at=START + day), turn_number=3)]),
            lambda: store.update_session(owner, "lesson", SessionChanges(title="Fugues")),
            lambda: store.expire(owner, turns_before=START + day, idle_before=None, batch=10),
            lambda: store.delete_turns(owner, "lesson", [2]),
            lambda: store.clear(owner, "lesson"),
            lambda: store.append(a_turn(owner)),
        ]
        for change in changes:
            assert change()
            seen.append(store.marks(owner)["lesson"])
        assert len(set(seen)) == len(changes) + 1
        store.delete_session(owner, "lesson")
        assert store.marks(owner) == {}

    def test_marks_stand_still_while_nothing_is_said(self, store: Store) -> None:
        """Repeats, topics, the archive and traces change no word: whoever has read up to a mark is up to date."""
        turn = store.append(a_turn(an_owner()))
        owner, before = turn.owner, store.marks(turn.owner)
        store.append(turn)
        assert store.put_topics(owner, "lesson", TopicChange(0, put=(a_topic(),), assigned={1: "fugues"}))
        assert store.archive(owner, "lesson", a_block([turn]))
        assert store.rehydrate(owner, "lesson", [1])
        assert store.release(owner, "lesson", [1])
        store.keep_traces(owner, [a_trace(turn)])
        assert store.drop_traces(owner, keep="other")
        assert store.delete_turns(owner, "lesson", [7]) == 0
        assert store.marks(owner) == before
