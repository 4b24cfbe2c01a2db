"""What is brought in carries its token counts, so that no window counts it again."""

from pathlib import Path
from typing import Any

import pytest
from foreign_exports import write
from hypothesis import given
from hypothesis import strategies as st
from test_importing import MAKERS, bring, memory

import ricordo
from ricordo.imports.counting import counted
from ricordo.testing import MemoryStore
from ricordo.tokens import ApproximateCounter, content_tokens

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = JSON | st.fixed_dictionaries(
    {"role": st.text(max_size=5)},
    optional={"content": JSON, "tool_calls": JSON, "name": JSON, "tokens": JSON},
)
TURNS = JSON | st.fixed_dictionaries(
    {}, optional={"question": MESSAGES, "answer": MESSAGES, "steps": JSON | st.lists(MESSAGES), "counter": JSON}
)


@given(st.dictionaries(st.text(max_size=5), JSON) | st.fixed_dictionaries({"turns": JSON | st.lists(TURNS)}))
def test_counting_refuses_nothing(document: dict[str, Any]) -> None:
    """Whatever a document looks like, counting changes only counts: whoever reads it says what is wrong with it."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(each) for key, each in value.items() if key not in ("tokens", "counter")}
        return [without(each) for each in value] if isinstance(value, list | tuple) else value

    assert without(counted(document, ApproximateCounter())) == without(document)


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
