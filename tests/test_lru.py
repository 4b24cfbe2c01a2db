"""The laws of the LRU cache: what it holds, and what it evicts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.core import LRU

keys = st.integers(0, 7)
operations = st.lists(
    st.one_of(
        st.tuples(st.just("put"), keys, st.integers(0, 9)),
        st.tuples(st.sampled_from(["get", "peek", "pop"]), keys, st.just(0)),
    )
)


@given(operations, st.integers(1, 5), st.integers(0, 25))
def test_it_behaves_like_a_list_ordered_by_use(steps: list[tuple[str, int, int]], entries: int, weight: int) -> None:
    """After any operations it holds what a list holds that drops its oldest entries, with the same values and order."""
    cache: LRU[int, str] = LRU(entries, weight)
    model: list[tuple[int, str, int]] = []
    for number, (operation, key, heavy) in enumerate(steps):
        known = next((entry for entry in model if entry[0] == key), None)
        if operation == "put":
            cache.put(key, str(number), heavy)
            model = [*(entry for entry in model if entry[0] != key), (key, str(number), heavy)]
            while len(model) > entries or (len(model) > 1 and sum(entry[2] for entry in model) > weight):
                model.pop(0)
        else:
            assert getattr(cache, operation)(key) == (known[1] if known else None)
            if known and operation != "peek":
                model.remove(known)
                model += [known] if operation == "get" else []
        assert list(cache) == [entry[0] for entry in model]
        assert cache.values() == [entry[1] for entry in model]
        assert cache.weight == sum(entry[2] for entry in model)
        assert (len(cache), key in cache) == (len(model), key in [entry[0] for entry in model])


@given(st.lists(st.tuples(keys, st.integers(0, 9))), st.integers(1, 5), st.integers(0, 25))
def test_the_limit_holds_and_the_newest_stays(puts: list[tuple[int, int]], entries: int, weight: int) -> None:
    """It never exceeds its limit, except by a single entry that is too heavy alone; what was put last is there.

    What is removed takes its weight along.
    """
    cache: LRU[int, int] = LRU(entries, weight)
    for key, heavy in puts:
        cache.put(key, heavy, heavy)
        assert cache.peek(key) == heavy
        assert len(cache) <= entries
        assert cache.weight <= weight or len(cache) == 1
    cache.remove_where(lambda key: key % 2 == 0)
    assert all(key % 2 for key in cache)
    assert cache.weight == sum(cache.values())


def test_a_cache_without_room_is_refused() -> None:
    """A limit below one entry is an error of the caller."""
    with pytest.raises(ValueError, match="max_entries"):
        LRU(0)
