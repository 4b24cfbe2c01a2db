"""In which dialect of the chat protocol a server is asked."""

from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.chat_protocol import Dialect

OPTIONS = ({}, {"max_tokens": 5}, {"response_format": {"type": "json_object"}}, {"stream_options": {}})


@given(
    st.integers(400, 599) | st.just(400),
    st.text(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(OPTIONS),
)
def test_dialects_end(
    status: int, complaint: str, schema: bool, limited: bool, stream: bool, options: dict[str, object]
) -> None:
    """Whatever a server refuses and says, and whatever a caller asks for, few dialects are tried."""
    dialect: Dialect | None = Dialect()
    words = f"{complaint} max_completion_tokens stream_options"
    tried = 0
    while dialect is not None and tried < 9:
        body = dialect.body(
            [],
            max_tokens=5 if limited else None,
            schema={"type": "object"} if schema else None,
            stream=stream,
            options=options,
        )
        dialect = dialect.reduced(body, status, words)
        tried += 1
    assert tried <= 4
