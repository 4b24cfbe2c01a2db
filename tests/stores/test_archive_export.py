"""Export as base64 gzip JSON, and back."""

import base64
import gzip
import json
from datetime import datetime, timedelta

import pytest
from archive_samples import MOMENT, texts
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import ValidationError
from ricordo.records.turns import ROLES
from ricordo.stores.archive.export import ExportedMessage, export_messages, import_messages

# Seconds as a float carry microseconds exactly for some centuries around now.
moments = st.integers(min_value=-(10**15), max_value=10**16).map(
    lambda microseconds: MOMENT + timedelta(microseconds=microseconds // 8)
)
exported = st.builds(ExportedMessage, st.sampled_from(ROLES), texts, moments)


@given(st.lists(exported, max_size=10))
def test_import_is_the_inverse_of_export(given_messages: list[ExportedMessage]) -> None:
    """Role, content and moment come back as they were."""
    assert import_messages(export_messages(given_messages)) == tuple(given_messages)


@given(st.lists(exported, max_size=5))
def test_an_export_is_readable_with_standard_tools(given_messages: list[ExportedMessage]) -> None:
    """Base64, gzip and JSON, one after the other, give role, content and timestamp."""
    raw = gzip.decompress(base64.b64decode(export_messages(given_messages)))
    rows = json.loads(raw.decode("utf-8", "surrogatepass"))
    assert [(row["role"], row["content"]) for row in rows] == [(m.role, m.content) for m in given_messages]
    assert [set(row) for row in rows] == [{"role", "content", "timestamp"}] * len(rows)


@given(st.text(max_size=200))
def test_anything_else_is_refused_with_its_field(noise: str) -> None:
    """What is not an export raises one error that says so."""
    with pytest.raises(ValidationError, match="export"):
        import_messages(noise)


def test_an_export_of_another_program_is_read() -> None:
    """Whole seconds, spaces in the JSON and more fields do not matter."""
    raw = json.dumps([{"role": "user", "content": "Hello", "timestamp": 1234567890, "extra": True}]).encode()
    (message,) = import_messages(base64.b64encode(gzip.compress(raw)).decode())
    assert message == ExportedMessage("user", "Hello", datetime.fromisoformat("2009-02-13T23:31:30+00:00"))


@pytest.mark.parametrize(
    ("entries", "field"),
    [
        ({"role": "user"}, "export"),
        (["text"], r"export\[0\]"),
        ([{"role": "nobody", "content": "x", "timestamp": 1}], r"export\[0\].role"),
        ([{"role": "user", "content": 3, "timestamp": 1}], r"export\[0\].content"),
        ([{"role": "user", "content": "x", "timestamp": "now"}], r"export\[0\].timestamp"),
        ([{"role": "user", "content": "x", "timestamp": 1e300}], r"export\[0\].timestamp"),
        ([{"role": "user", "content": "x", "timestamp": float("nan")}], r"export\[0\].timestamp"),
    ],
)
def test_a_wrong_entry_is_named(entries: object, field: str) -> None:
    """The error names the entry and the field that is wrong."""
    text = base64.b64encode(gzip.compress(json.dumps(entries).encode())).decode()
    with pytest.raises(ValidationError, match=field):
        import_messages(text)
