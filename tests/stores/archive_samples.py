"""Messages to archive: any text, any moment, any metadata."""

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from ricordo.records.turns import ROLES, Message, message_id

MOMENT = datetime(2024, 6, 1, 12, 30, 15, 123456, tzinfo=UTC)

# Lone surrogates too: the core refuses them, but what is archived must come back whatever it is.
texts = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
objects = st.dictionaries(texts, values, max_size=3)
ids = texts | st.builds(
    message_id, st.uuids().map(str), st.sampled_from(["query", "response"]) | st.integers(min_value=0, max_value=9)
)
zones = st.timezones() | st.just(UTC)
moments = st.datetimes(
    min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31), timezones=zones, allow_imaginary=False
)

messages = st.builds(
    Message,
    id=ids,
    role=st.sampled_from(ROLES),
    content=texts,
    created_at=moments,
    tokens=st.integers(min_value=0, max_value=10**7),
    chunk_ids=st.lists(texts, max_size=3).map(tuple),
    metadata=objects,
    tool_calls=st.lists(objects, max_size=2).map(tuple),
    tool_call_id=st.none() | texts,
    name=st.none() | texts,
)
message_lists = st.lists(messages, max_size=12)


def a_talk(size: int) -> list[Message]:
    """A talk of plain messages, two to a turn."""
    turns = [f"7b1f8a52-6d0e-4c7a-9c1e-{number:012d}" for number in range(size)]
    return [
        Message(
            id=message_id(turns[number // 2], "response" if number % 2 else "query"),
            role="assistant" if number % 2 else "user",
            content=f"Messaggio numero {number}: parliamo del cuore, dei polmoni e di come respirano i pesci.",
            created_at=MOMENT + timedelta(seconds=31 * number),
            tokens=17 + number,
        )
        for number in range(size)
    ]
