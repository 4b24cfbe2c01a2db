"""API keys: `rk_<id>_<secret>`, shown once. Only a digest is kept, which is enough for a secret that is random."""

import hashlib
import secrets

PREFIX = "rk"


def make_key() -> tuple[str, str, str]:
    """A new key's id, the key itself, and the digest to keep."""
    key_id = secrets.token_hex(6)
    secret = secrets.token_urlsafe(32).replace("_", "-")
    key = f"{PREFIX}_{key_id}_{secret}"
    return key_id, key, digest_of(key)


def digest_of(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


def looks_like_key(text: str) -> bool:
    """Whether a credential is meant as an API key; anything else is taken for a token."""
    return text.startswith(f"{PREFIX}_")
