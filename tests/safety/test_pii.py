"""Personal data in texts."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.safety.pii import PII_KINDS, PiiAction, PiiKind, find_pii, redact

SAMPLES: dict[PiiKind, str] = {
    "email": "mario.rossi@scuola.example",
    "phone": "+39 347 123 4567",
    "iban": "IT60X0542811101000000123456",
    "card": "4111 1111 1111 1111",
    "fiscal_code": "RSSMRA85T10A562S",
    "vat_number": "01234567897",
    "ip": "192.168.10.254",
}


@pytest.mark.parametrize("kind", PII_KINDS)
def test_each_kind_is_found_where_it_stands(kind: PiiKind) -> None:
    """A piece of each kind is found in the middle of a sentence, at its exact place."""
    text = f"scrivi a {SAMPLES[kind]}, grazie"
    assert [(span.kind, text[span.start : span.end]) for span in find_pii(text)] == [(kind, SAMPLES[kind])]


@pytest.mark.parametrize(
    "text",
    [
        "IT61X0542811101000000123456",
        "4111 1111 1111 1112",
        "RSSMRA85T10A562T",
        "01234567890",
        "999.168.10.254",
        "0000 0000 0000 0000",
    ],
)
def test_a_wrong_check_digit_is_an_ordinary_number(text: str) -> None:
    """What fails its checksum or its range is not reported as that kind."""
    assert find_pii(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "3.14159265358979",
        "nel 1789 e nel 1848",
        "12345678",
        "pagine 300 400 500",
        "x = 1000000 * 2",
        "10:30-12:45",
        "a @ b",
        "versione 1.2.3",
    ],
)
def test_ordinary_numbers_are_left_alone(text: str) -> None:
    """Years, decimals, pages, times and versions are no personal data."""
    assert find_pii(text) == ()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(st.text(max_size=20), st.sampled_from(list(SAMPLES.values()))), max_size=6).map(" ".join),
    st.sampled_from(["allow", "mask", "hash", "block"]),
)
def test_redacting_touches_only_what_was_found(text: str, action: PiiAction) -> None:
    """Spans are in order and apart; allowed text is unchanged, and nothing masked is left readable."""
    found = redact(text, dict.fromkeys(PII_KINDS, action), "key")
    ends = [0, *(span.end for span in found.spans)]
    assert all(end <= span.start < span.end for end, span in zip(ends, found.spans, strict=False))
    assert bool(found.blocked) == (action == "block" and bool(found.spans))
    if action == "allow":
        assert found.text == text
    else:
        outside = re.sub(r"\[(?:" + "|".join(PII_KINDS) + r")(?::[0-9a-f]{10})?\]", "", found.text)
        assert all(text[span.start : span.end] not in outside for span in found.spans)


def test_neighbours_are_told_apart() -> None:
    """Two numbers beside each other are two finds, though together they look like one long number."""
    text = f"{SAMPLES['iban']} {SAMPLES['email']} {SAMPLES['card']} {SAMPLES['card']}"
    assert [span.kind for span in find_pii(text)] == ["iban", "email", "card", "card"]


def test_a_hash_tells_apart_without_telling() -> None:
    """The same address has the same hash however it is spaced, another key another hash."""
    policy: dict[PiiKind, PiiAction] = {"phone": "hash"}
    one, same, other = (
        redact(text, policy, key).text
        for text, key in (("+39 347 123 4567", "k"), ("+393471234567", "k"), ("+39 347 123 4567", "l"))
    )
    assert one == same != other
    assert "347" not in one.split(":")[0]


def test_each_kind_has_its_own_policy() -> None:
    """Kinds without a policy are allowed, the others follow theirs, and a blocked kind is named."""
    text = f"{SAMPLES['email']} {SAMPLES['card']} {SAMPLES['ip']}"
    found = redact(text, {"email": "mask", "card": "block"})
    assert found.text == f"[email] [card] {SAMPLES['ip']}"
    assert found.blocked == ("card",)
