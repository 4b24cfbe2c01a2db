"""Topics to test with."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ricordo.recall.quantization import bytes_of
from ricordo.records.derived import Topic

NOW = datetime(2024, 6, 1, 12, tzinfo=UTC)


def a_topic(topic_id: str = "t", *, idle_days: float = 0.0, direction: int = 0, **fields: Any) -> Topic:
    """A topic left `idle_days` ago whose centre points along one of four axes."""
    left = NOW - timedelta(days=idle_days)
    usual: dict[str, Any] = {
        "id": topic_id,
        "title": topic_id,
        "centre": bytes_of(np.eye(4, dtype=np.float32)[direction]),
        "created_at": left,
        "last_active_at": left,
    }
    return Topic(**{**usual, **fields})


@st.composite
def topic_lists(draw: st.DrawFn, max_size: int = 30) -> list[Topic]:
    """Topics of all ages, uses, importances and states, each with its own id."""
    size = draw(st.integers(min_value=0, max_value=max_size))
    return [
        a_topic(
            f"t{number}",
            idle_days=draw(st.floats(min_value=0, max_value=200)),
            direction=draw(st.integers(min_value=0, max_value=3)),
            importance=draw(st.floats(min_value=0, max_value=1)),
            access_count=draw(st.integers(min_value=0, max_value=40)),
            message_count=draw(st.integers(min_value=1, max_value=99)),
            state=draw(st.sampled_from(["working", "archived"])),
        )
        for number in range(size)
    ]
