"""A turn that was embedded for a search is not embedded again for its topic, whatever was forgotten in between."""

from pathlib import Path
from typing import Any

import pytest

from ricordo.recall import indexes
from ricordo.recall.indexes import VectorCache
from ricordo.records.turns import Owner
from ricordo.testing.fakes import a_turn
from talks import CountingEmbedder, fill, memory, on_file

TURNS = 40  # more than are organised in one pass


def searched(embedder: CountingEmbedder) -> Any:
    """A memory that was searched and in which nothing has found its topic."""
    kept = memory(embedder=embedder, organise="off")
    fill(kept.session("s", user_id="anna"), TURNS)
    fill(kept.session("other", user_id="anna"), 1, "altro")
    kept.search("domanda", user_id="anna")
    assert kept.settle(30)
    embedder.passages.clear()
    return kept


def test_topics_after_a_deletion_take_the_vectors_that_are_kept() -> None:
    """A session that stays keeps its vectors when another one of the same user is deleted."""
    embedder = CountingEmbedder()
    with searched(embedder) as kept:
        kept.delete_session("other", user_id="anna")
        kept.session("s", user_id="anna").topics()
        assert embedder.passages == []


def test_what_somebody_else_forgets_costs_nothing() -> None:
    """The vectors of one user stay at hand when another one is forgotten, and nothing of the other stays."""
    near = VectorCache()
    turns = {name: a_turn(Owner("default", name)).sealed() for name in ("anna", "bruno")}
    for turn in turns.values():
        near.keep(turn.owner, [turn], {message.id: b"vector" for message in turn.messages})
    near.forget(turns["bruno"].owner)
    assert near.of(turns["anna"].owner, [turns["anna"]]) != {}
    assert near.of(turns["bruno"].owner, [turns["bruno"]]) == {}
    near.forget()
    assert near.of(turns["anna"].owner, [turns["anna"]]) == {}


def test_topics_after_a_restart_take_the_vectors_that_are_kept(tmp_path: Path) -> None:
    """A file that was searched and closed before its turns found their topics is not embedded a second time."""
    with on_file(tmp_path / "r.db", embedder=CountingEmbedder(), organise="off") as kept:
        fill(kept.session("s", user_id="anna"), TURNS)
        kept.search("domanda", user_id="anna")
    again = CountingEmbedder()
    with on_file(tmp_path / "r.db", embedder=again, organise="off") as kept:
        session = kept.session("s", user_id="anna")
        session.topics()
        assert again.passages == []
        session.add_turn("una nuova domanda", "una nuova risposta")
        session.topics()
        assert again.passages == ["una nuova domanda", "una nuova risposta"]


@pytest.mark.parametrize("ahead", [1, 7, 256])
def test_more_turns_than_are_at_hand_are_embedded_once(monkeypatch: pytest.MonkeyPatch, ahead: int) -> None:
    """A long import that was searched finds its topics from the vectors that are kept, however few stay at hand."""
    monkeypatch.setattr(indexes, "CACHED_TURNS", 4)
    monkeypatch.setattr(indexes, "READ_AHEAD", ahead)
    embedder = CountingEmbedder()
    with searched(embedder) as kept:
        kept.session("s", user_id="anna").topics()
        assert embedder.passages == []
