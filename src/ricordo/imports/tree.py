"""A conversation that was edited and asked again is a tree; here it becomes paths that can be read one by one.

In: who answers whom, and where the reader of the tree stood last. Out: that branch whole, and each other branch from
the beginning of the turn in which it leaves what is known already. Every message is on a path, and none goes in a
circle.
"""

from collections.abc import Callable, Iterable, Mapping

Parents = Mapping[str, str | None]
MOST_SHARED = 4  # times the messages of a tree, that its branches take along of each other; people's trees take less


def branches(parents: Parents, current: str | None, opens_turn: Callable[[str], bool]) -> list[list[str]]:
    """The paths of a tree: the one that ends in `current`, then those of the other leaves, the latest first.

    `parents` is in the order of the file. Without a `current`, its last leaf is the current one.
    """
    answered = {parent for parent in parents.values() if parent is not None}
    leaves = [node for node in parents if node not in answered]
    ends = [*([current] if current in parents else []), *reversed(leaves)]
    taken: set[str] = set()
    paths = []
    left = MOST_SHARED * len(parents)  # or a turn without end, left at every step, would be its own square
    # After the leaves come nodes that none of them leads to: those of a circle.
    for end in _each(ends, reversed(list(parents))):
        if end is not None and end not in taken:
            path = _climb(end, parents, taken, opens_turn, left)
            left -= sum(node in taken for node in path)
            taken.update(path)
            paths.append(path)
    return paths


def without(parents: Parents, hidden: Callable[[str], bool]) -> dict[str, str | None]:
    """The tree without some nodes: who answered one of them answers the nearest that is left above it."""
    above: dict[str, str | None] = {}

    def visible(node: str | None) -> str | None:
        passed = []
        while node is not None and node in parents and hidden(node):
            if node in above:
                node = above[node]
                break
            above[node] = None  # a circle of hidden nodes ends here
            passed.append(node)
            node = parents[node]
        found = node if node is not None and node in parents else None
        above.update(dict.fromkeys(passed, found))
        return found

    return {node: visible(parent) for node, parent in parents.items() if not hidden(node)}


def nearest(parents: Parents, node: str | None, hidden: Callable[[str], bool]) -> str | None:
    """The node itself, or the first above it that is not hidden."""
    passed: set[str] = set()
    while node is not None and node in parents and node not in passed:
        if not hidden(node):
            return node
        passed.add(node)
        node = parents[node]
    return None


def _climb(
    end: str, parents: Parents, taken: set[str], opens_turn: Callable[[str], bool], most_shared: int
) -> list[str]:
    """From an end up to the root, or into what is taken as far as the turn reaches; returned from the top down."""
    path: list[str] = []
    shared = 0
    passed: set[str] = set()
    node: str | None = end
    while node is not None and node in parents and node not in passed:
        if node in taken:
            if opens_turn(path[-1]) or shared == most_shared:
                break
            shared += 1
        passed.add(node)
        path.append(node)
        node = parents[node]
    return path[::-1]


def _each(*lists: Iterable[str | None]) -> Iterable[str | None]:
    for each in lists:
        yield from each
