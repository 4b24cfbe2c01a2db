"""Secrets are masked before they are kept: what is recognised, what stays, and that masking twice is masking once."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.safety.pii import SECRET, mask_secrets

# Put together here, so that no scanner takes this file for a leak.
LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("use ", "sk-" + "ant-" + LETTERS, " here"),
        ("token ", "ghp" + "_" + LETTERS, "."),
        ("", "AKIA" + "ABCDEFGH12345678", ""),
        ("Authorization: Bearer ", LETTERS + ".x", ""),
        ("DATABASE_PASSWORD=", "changeme", "\nNEXT=1"),
        ('{"api_key": "', "not long", '"}'),
        ("password: ", "hunter22", ""),
        ("postgres://app:", "s3cr", "@db.example.org/x"),
        ("My password is ", "Gatto99", "."),
        ("la password è ", "gatto_nero!", " e basta"),
        ("key ", "-----BEGIN RSA " + "PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----", " end"),
        ("jwt ", "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln", ""),
        ("random ", LETTERS + LETTERS, " word"),
    ],
)
def test_a_secret_is_masked_and_its_surroundings_stay(before: str, secret: str, after: str) -> None:
    """Only the value goes."""
    assert mask_secrets(before + secret + after) == before + SECRET + after


@pytest.mark.parametrize(
    "text",
    [
        "def login(password: str, token: str | None = None) -> bool:",
        "password = get_password()",
        "The token count of this prompt is 1500.",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "session 123e4567-e89b-12d3-a456-426614174000",
        "see src/ricordo/imports/transcripts.py and test_a_secret_is_masked_and_its_surroundings_stay",
        "https://example.org/a/b?page=2#top",
        "My password is on the desk",
        "Il segreto è la pazienza.",
    ],
)
def test_ordinary_words_and_code_stay(text: str) -> None:
    """Names of variables, hashes of commits, ids and paths are no secrets."""
    assert mask_secrets(text) == text


@given(st.text(st.sampled_from(string.printable + "è€"), max_size=300))
def test_masking_twice_is_masking_once(text: str) -> None:
    """The law, for any text."""
    once = mask_secrets(text)
    assert mask_secrets(once) == once


@given(st.text(string.ascii_letters + string.digits + "-_", min_size=16, max_size=60), st.text(max_size=40))
def test_a_known_beginning_is_enough(value: str, around: str) -> None:
    """Whatever follows a known beginning, no piece of it stays."""
    assert value not in mask_secrets(f"{around} sk-{value} {around}") or value in around
