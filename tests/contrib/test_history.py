"""A session as a list of messages: appended to, replaced in one moment, taken from the front."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo import Memory
from ricordo.contrib.history import History, HistoryMessage
from ricordo.errors import StoreUnavailable, ValidationError
from ricordo.presets import settings_from
from ricordo.stores.memory import MemoryStore
from ricordo.testing.fakes import FakeClock, StoreProxy

roles = st.sampled_from(["user", "assistant", "system", "tool"])
numbers = st.integers(0, 6)
batches = st.lists(roles, max_size=8)
steps = st.one_of(
    st.tuples(st.just("append"), batches),
    st.tuples(st.just("replace"), st.tuples(batches, numbers)),
    st.tuples(st.just("remove"), st.integers(-7, 6)),
    st.tuples(st.just("remove_oldest"), numbers),
    st.tuples(st.just("set_aside"), numbers),
    st.tuples(st.just("clear_aside"), st.none()),
)


def _memory() -> Memory:
    return Memory(MemoryStore(), clock=FakeClock(datetime(2026, 5, 1, tzinfo=UTC)))


def _words(number: int, role: str) -> HistoryMessage:
    return HistoryMessage(role, f"message {number}", {"number": number}, tool_call_id="c" if role == "tool" else None)


@given(st.lists(steps, max_size=12))
def test_a_history_is_a_list(given_steps: list[tuple[str, object]]) -> None:
    """Whatever is done to a history, it reads like two plain lists to which the same was done."""
    with _memory() as memory:
        history = History(memory, "s", user_id="ada")
        aside: list[str] = []
        active: list[str] = []
        count = 0
        for verb, argument in given_steps:
            roles_of = argument if verb == "append" else argument[0] if verb == "replace" else ()
            new = [_words(count + n, role) for n, role in enumerate(roles_of)]
            count += len(new)
            texts = [each.content for each in new]
            if verb == "append":
                history.append(new)
                active += texts
            elif verb == "replace":
                history.replace(new, keep=argument[1])
                active[argument[1] :] = texts
            elif verb == "remove":
                gone = history.remove(argument)
                assert (gone is not None) == (-len(active) <= argument < len(active))
                if gone is not None:
                    assert active.pop(argument) == gone.message.content
            elif verb == "remove_oldest":
                assert [each.message.content for each in history.remove_oldest(argument)] == active[:argument]
                del active[:argument]
            elif verb == "set_aside":
                assert [each.message.content for each in history.set_aside(argument)] == active[:argument]
                aside += active[:argument]
                del active[:argument]
            else:
                history.clear_aside()
                aside.clear()
            assert [each.message.content for each in history.read()] == active
            assert [each.message.content for each in history.read(aside=True)] == aside + active
            assert [[each.message.content for each in part] for part in history.split()] == [aside, active]
        assert all(each.message.metadata["number"] == int(each.message.content.split()[1]) for each in history.read())
        assert memory.verify().ok


class _Failing(StoreProxy):
    """A store that goes away at a chosen call."""

    def __init__(self) -> None:
        super().__init__()
        self.fails_at = ""

    def through(self, call: str, method: Any) -> Any:
        if call == self.fails_at:
            raise StoreUnavailable("away")
        return method


BREAKS = [("turns.load", "old"), ("sessions.update", "old"), ("turns.delete", "new")]


@pytest.mark.parametrize(("fails_at", "expected"), BREAKS)
def test_replacing_happens_in_one_moment(fails_at: str, expected: str) -> None:
    """Wherever replacing breaks off, the history is the old one or the new one, and the next one works."""
    store = _Failing()
    with Memory(store) as memory:
        history = History(memory, "s", user_id="ada")
        history.append([_words(n, role) for n, role in enumerate(["user", "assistant", "user", "assistant"])])
        old = ["message 0", "message 1", "message 2", "message 3"]
        store.fails_at = fails_at
        with pytest.raises(StoreUnavailable):
            history.replace([_words(7, "user"), _words(8, "assistant")])
        left = [each.message.content for each in history.read()]
        assert left == (old if expected == "old" else ["message 7", "message 8"])
        store.fails_at = ""
        history.replace([_words(9, "user")])
        assert [each.message.content for each in history.read(aside=True)] == ["message 9"]
        assert len(memory.session("s", user_id="ada").history()) == 1


@pytest.mark.parametrize(("size", "bad"), [(size, bad) for size in (1, 2, 4, 6) for bad in range(size)])
def test_a_batch_with_a_bad_message_is_not_written(size: int, bad: int) -> None:
    """Messages are checked before the first of them is written, wherever in the batch the bad one is."""
    batch = [_words(number, ("user", "assistant")[number % 2]) for number in range(size)]
    batch[bad] = HistoryMessage("assistant", "with \x00 inside", {})
    with _memory() as memory:
        history = History(memory, "s", user_id="ada")
        with pytest.raises(ValidationError, match="content"):
            history.append(batch)
        assert history.read() == []


def test_users_have_histories_of_their_own() -> None:
    """The same session id is another history for another user."""
    with _memory() as memory:
        History(memory, "s", user_id="ada").append([_words(1, "user")])
        assert History(memory, "s", user_id="bob").read() == []


def test_only_what_the_user_says_is_learned() -> None:
    """Templates, an assistant that invents people, and memory that is said again teach nothing."""
    settings = settings_from({"preset": "maestro", "embedder": "light"}, {})
    with Memory(MemoryStore(), settings) as memory:
        talk = History(memory, "s", user_id="ada", agent_id="tutor")
        said = "Mi chiamo Ada e vivo a Genova."
        talk.append(
            [HistoryMessage("system", "Mi chiamo Bruno. Rispondi a {user_name}.", {}), HistoryMessage("user", said, {})]
        )
        talk.append([HistoryMessage("assistant", "Tuo fratello Carlo vive a Milano, vero?", {})])
        memory.catch_up("s", user_id="ada")
        known = {(fact.kind, fact.text) for fact in memory.facts("ada", "tutor")}
        assert {kind for kind, _ in known} == {"name", "place"}
        recalled = memory.session("s", user_id="ada", agent_id="tutor").context("Chi sono?").prompt
        talk.append([HistoryMessage("user", f"Che cosa vuol dire questo?\n{recalled}", {})])
        talk.append([HistoryMessage("assistant", f"Dice: {recalled}", {}), HistoryMessage("user", "Grazie.", {})])
        for _ in range(3):
            memory.catch_up("s", user_id="ada")
        assert {(fact.kind, fact.text) for fact in memory.facts("ada", "tutor", superseded=True)} == known
        assert not any("Carlo" in text or "Bruno" in text for _, text in known)
