"""What is brought in carries its token counts, so that no window counts it again."""

from pathlib import Path

import pytest
from foreign_exports import write
from test_import_run import MAKERS, bring, memory

import ricordo
from ricordo.engine.tokens import ApproximateCounter, content_tokens
from ricordo.testing import MemoryStore


@pytest.mark.parametrize("form", MAKERS)
def test_every_format_comes_in_with_its_counts(tmp_path: Path, form: str) -> None:
    """Each stored message has the tokens that the memory's own counter gives, and its turn names that counter."""
    with memory() as kept:
        bring(kept, MAKERS[form](tmp_path / "x.json"))
        turns = [
            turn
            for session in kept.sessions(user_id="anna")
            for turn in kept.session(session.id, user_id="anna").history()
        ]
        assert turns
        assert {turn.counter for turn in turns} == {kept.counter.name}
        for message in (message for turn in turns for message in turn.messages):
            wanted = content_tokens(message.content, message.tool_calls, kept.counter, message.name)
            assert message.tokens == wanted > 0


def test_counts_of_another_counter_are_made_anew(tmp_path: Path) -> None:
    """An export of a memory that counted otherwise comes in with the counts of the one it comes into."""
    path = tmp_path / "x.jsonl"
    with memory() as kept:
        kept.session("s", user_id="anna").add_turn("Quando salpa la barca?", "Alle sei, con la marea.")
        (document,) = kept.export("anna")
    with ricordo.Memory(MemoryStore(), ricordo.Settings(), counter=ApproximateCounter()) as other:
        bring(other, write(path, document))
        (turn,) = other.session("s", user_id="anna").history()
        assert (turn.counter, turn.tokens) == (
            other.counter.name,
            sum(other.counter.count(message.content) for message in turn.messages),
        )
