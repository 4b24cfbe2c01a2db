"""In which dialect of the chat protocol a server is asked."""

from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.chat_protocol import Dialect


@given(st.integers(400, 599), st.text(), st.booleans(), st.booleans(), st.booleans())
def test_dialects_end(status: int, complaint: str, schema: bool, limited: bool, stream: bool) -> None:
    """Whatever a server refuses and says, after a few reduced dialects there is none left to try."""
    dialect: Dialect | None = Dialect()
    words = f"{complaint} max_completion_tokens stream_options"
    tried = 0
    while dialect is not None:
        body = dialect.body(
            [], max_tokens=5 if limited else None, schema={"type": "object"} if schema else None, stream=stream
        )
        dialect = dialect.reduced(body, status, words)
        tried += 1
    assert tried <= 4
