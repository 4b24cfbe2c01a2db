"""What is kept at hand of a session: always a true tail of it, and never more than there is room for."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ricordo.records.turns import Owner, SessionInfo, Turn
from ricordo.stores.spool.cache import TURNS, RecentTurns
from ricordo.testing.fakes import a_turn

ANNA = Owner("acme", "anna")
NOW = datetime(2025, 3, 1, tzinfo=UTC)


def numbered(number: int, session_id: str = "s") -> Turn:
    """A stored turn."""
    turn = a_turn(ANNA, f"question {number}", session_id=session_id, turn_id=f"{session_id}-{number}")
    return replace(turn, turn_number=number)


steps = st.lists(st.tuples(st.sampled_from(["write", "elsewhere", "read", "answer"]), st.integers(1, 40)), max_size=60)


@given(steps=steps)
def test_what_is_cache_is_a_tail_as_it_was_last_seen(steps: list[tuple[str, int]]) -> None:
    """Whatever is written here or elsewhere: without a gap, whole only if it begins at the beginning, and bounded."""
    cache, last, seen = RecentTurns(), 0, 0
    for step, size in steps:
        if step in ("write", "elsewhere"):
            last += 1
        if step == "write":
            cache.note_turn(numbered(last))
            seen = last
        if step == "answer" and seen:
            cache.note_turn(numbered(seen))
        if step == "read":
            turns = [numbered(number) for number in range(max(1, last - size + 1), last + 1)]
            cache.read_tail(ANNA, "s", turns, whole=len(turns) < size, since=cache.version)
            seen = last
    known = cache.get(ANNA, "s")
    numbers = [turn.turn_number for turn in known.turns] if known else []
    assert len(numbers) <= TURNS
    assert numbers == list(range(seen - len(numbers) + 1, seen + 1))
    if known and known.whole:
        assert numbers == list(range(1, seen + 1))
    for number in numbers:
        assert cache.session_of(ANNA, f"s-{number}") == "s"


@given(order=st.integers(1, TURNS).flatmap(lambda most: st.permutations(range(1, most + 1))), data=st.data())
def test_results_in_any_order_come_to_the_same(order: list[int], data: st.DataObject) -> None:
    """Turns that are heard of in whatever order are all at hand on the way, without a gap, and whole in the end."""
    cache = RecentTurns()
    info = SessionInfo("s", ANNA, "tutor", NOW, NOW, 0, 0)
    cache.read_fields(ANNA, "s", info, since=cache.version)
    stop = data.draw(st.integers(1, len(order)))
    for count, number in enumerate(order, start=1):
        cache.note_turn(numbered(number))
        known = cache.get(ANNA, "s")
        assert known is not None
        assert {turn.turn_number for turn in known.every} == set(order[:count])
        numbers = [turn.turn_number for turn in known.turns]
        assert numbers == list(range(max(order[:count]) - len(numbers) + 1, max(order[:count]) + 1))
        assert known.whole == (numbers[0] == 1)
        if count == stop:
            cache.note_turn(numbered(order[0]))  # its answer, say
    assert numbers == sorted(order)
    assert known.info is not None
    assert (known.info.last_turn, known.info.turn_count) == (len(order), len(order))


@given(first=st.integers(1, 60), length=st.integers(1, TURNS), last=st.integers(1, TURNS), more=st.integers(0, 5))
def test_reading_less_loses_nothing(first: int, length: int, last: int, more: int) -> None:
    """What is at hand stays though fewer of the newest turns are read, unless others stand there now."""
    cache = RecentTurns()
    known = [numbered(number) for number in range(first, first + length)]
    cache.read_tail(ANNA, "s", known, whole=first == 1, since=cache.version)
    newest = [numbered(number) for number in range(first, first + length + more)][-last:]
    cache.read_tail(ANNA, "s", newest, whole=False, since=cache.version)
    joined = last >= more
    kept = cache.get(ANNA, "s")
    assert kept is not None
    assert [turn.turn_number for turn in kept.turns] == (
        list(range(first, first + length + more))[-TURNS:] if joined else [turn.turn_number for turn in newest]
    )
    assert kept.whole == (joined and first == 1 and length + more <= TURNS)
    others = [replace(turn, id=f"{turn.id} anew") for turn in newest]
    cache.read_tail(ANNA, "s", others, whole=False, since=cache.version)
    kept = cache.get(ANNA, "s")
    assert kept is not None
    assert list(kept.turns) == others


numbers = st.sets(st.integers(1, 80))


@given(opened=st.sets(st.integers(1, 80), max_size=TURNS), reads=numbers, elsewhere=numbers)
def test_open_questions_stay_cache(opened: set[int], reads: set[int], elsewhere: set[int]) -> None:
    """As many open turns as there is room for can be answered, however much is said after them and read of it."""
    cache = RecentTurns()
    for number in range(1, 81):
        turn = replace(numbered(number), answer=None) if number in opened else numbered(number)
        if number not in elsewhere:
            cache.note_turn(turn)
        if number in reads:
            cache.read_tail(ANNA, "s", [turn], whole=number == 1, since=cache.version)
    for number in opened - elsewhere:
        assert cache.session_of(ANNA, f"s-{number}") == "s"


@given(names=st.lists(st.sampled_from("abcdef"), min_size=1, max_size=30), most=st.integers(1, 4))
def test_the_session_used_longest_ago_goes_first(names: list[str], most: int) -> None:
    """There are never more sessions than allowed, and those that stay are the ones last used."""
    cache = RecentTurns(sessions=most)
    for number, name in enumerate(names, start=1):
        cache.note_turn(numbered(number, name))
    latest = list(dict.fromkeys(reversed(names)))[:most]
    assert {known.session_id for known in cache.of(ANNA)} == set(latest)


def test_long_texts_leave_less_room() -> None:
    """Room is counted in characters too; what goes takes its index along."""
    cache = RecentTurns(characters=100)
    for name in "abc":
        cache.note_turn(replace(a_turn(ANNA, "x" * 40, "", session_id=name, turn_id=name), turn_number=1))
    assert {known.session_id for known in cache.of(ANNA)} == {"b", "c"}
    assert cache.session_of(ANNA, "a") is None


def test_a_session_that_is_not_there_is_known_to_be_new() -> None:
    """The database's word that there is no session counts, until somebody begins it."""
    cache = RecentTurns()
    cache.read_fields(ANNA, "s", None, since=cache.version)
    known = cache.get(ANNA, "s")
    assert known is not None
    assert known.is_new
    cache.note_turn(numbered(1))
    known = cache.get(ANNA, "s")
    assert known is not None
    assert known.whole
    assert not known.is_new
    cache.forget(ANNA)
    assert cache.get(ANNA, "s") is None
