"""Trees of messages: every message lies on a path, no path goes in a circle, the current branch comes first."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ricordo.imports.conversation import MAX_SHARED, branches, nearest_visible, without_hidden

NODES = st.integers(0, 12).map(str)
ANY_GRAPH = st.dictionaries(NODES, st.none() | NODES, max_size=12)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str | None]:
    """A tree whose nodes answer earlier ones."""
    size = draw(st.integers(1, 15))
    parents: dict[str, str | None] = {"0": None}
    for n in range(1, size):
        parents[str(n)] = str(draw(st.integers(0, n - 1)) if draw(st.booleans()) else n - 1)
    return parents


@given(ANY_GRAPH, st.none() | NODES, st.sets(NODES))
def test_no_message_is_lost_and_no_path_goes_in_a_circle(
    parents: dict[str, str | None], current: str | None, opening: set[str]
) -> None:
    """Whatever answers whatever, circles included: all are on some path, and none is twice on one."""
    paths = branches(parents, current, lambda node: node in opening)
    assert {node for path in paths for node in path} == set(parents)
    assert all(len(set(path)) == len(path) for path in paths)


@given(trees(), st.sets(NODES))
def test_paths_follow_the_answers(parents: dict[str, str | None], opening: set[str]) -> None:
    """On a path each message answers the one before it."""
    for path in branches(parents, None, lambda node: node in opening):
        assert all(parents[after] == before for before, after in pairwise(path))


@given(trees(), st.integers(0, 14))
def test_the_current_branch_is_whole_and_first(parents: dict[str, str | None], at: int) -> None:
    """The first path leads from a root to the current message."""
    current = str(at % len(parents))
    first = branches(parents, current, lambda node: True)[0]
    assert first[-1] == current
    assert parents[first[0]] is None


@given(trees())
def test_where_every_message_opens_a_turn_nothing_is_doubled(parents: dict[str, str | None]) -> None:
    """A branch begins where it leaves the others."""
    paths = branches(parents, None, lambda node: True)
    assert sorted(node for path in paths for node in path) == sorted(parents)


def test_an_answer_asked_for_twice_takes_its_question_along() -> None:
    """A branch that leaves inside a turn begins with that turn's question."""
    parents = {"q1": None, "a1": "q1", "q2": "a1", "a2": "q2", "b2": "q2"}
    assert branches(parents, "a2", lambda node: node[0] == "q") == [["q1", "a1", "q2", "a2"], ["q2", "b2"]]


@given(ANY_GRAPH, st.sets(NODES))
def test_hidden_messages_leave_the_others_in_their_order(parents: dict[str, str | None], hidden: set[str]) -> None:
    """Without the hidden ones, each answers the nearest visible one above it."""
    left = without_hidden(parents, lambda node: node in hidden)
    assert set(left) == set(parents) - hidden
    for node, above in left.items():
        assert above == nearest_visible(parents, parents[node], lambda each: each in hidden)


@given(st.integers(1, 400), st.booleans())
def test_branches_of_one_endless_turn_grow_with_the_tree(length: int, current: bool) -> None:
    """However many branches leave one turn, all paths together are a few times the tree and not its square."""
    parents: dict[str, str | None] = {}
    for n in range(length):
        parents[f"step {n}"] = f"step {n - 1}" if n else None
        parents[f"leaf {n}"] = f"step {n}"
    paths = branches(parents, f"step {length - 1}" if current else None, lambda node: False)
    assert {node for path in paths for node in path} == set(parents)
    assert sum(map(len, paths)) <= (1 + MAX_SHARED) * len(parents)
