"""Where and how a chat endpoint is asked: address, model, key, time limits and patience, checked once.

The key is in no representation and in no error; an address that carries a password is refused, because addresses are
logged.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ricordo.errors import LLMError


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait, in seconds, and how often to try.

    `connect` bounds reaching the server, `read` every silence after that, `whole` an unstreamed answer from beginning
    to end. Between attempts the wait doubles from `backoff`; a server that asks for more than `longest_wait` is left.
    """

    connect: float = 10.0
    read: float = 120.0
    whole: float = 600.0
    attempts: int = 4
    backoff: float = 0.5
    longest_wait: float = 60.0

    def __post_init__(self) -> None:
        if min(self.connect, self.read, self.whole) <= 0 or self.attempts < 1:
            raise LLMError("patience with a model: connect, read, whole and attempts must be above zero")
        if min(self.backoff, self.longest_wait) < 0:
            raise LLMError("patience with a model: backoff and longest_wait must not be negative")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server: its base address (ending before /chat/completions), the model, the key.

    `extra` is sent with every request: temperature, seed, tools.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    patience: Patience = Patience()
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        parts = self._parts
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise LLMError("the address of a model is not a URL: give one such as https://host/v1")
        if parts.username or parts.password:
            raise LLMError(f"the address of the model on {parts.hostname} holds a password: give the key apart from it")
        if not self.model:
            raise LLMError(f"the model on {parts.hostname} has no name: write URL#MODEL")
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            raise LLMError(f"the key for the model on {parts.hostname} holds characters that no header can carry")

    @property
    def is_secure(self) -> bool:
        """Whether the connection is encrypted."""
        return self._parts.scheme == "https"

    @property
    def host(self) -> str:
        """The server's name."""
        return self._parts.hostname or ""

    @property
    def port(self) -> int:
        """The server's port."""
        return self._parts.port or (443 if self.is_secure else 80)

    @property
    def target(self) -> str:
        """What is posted to, as the request line names it; a query in the address stays at its end."""
        query = f"?{self._parts.query}" if self._parts.query else ""
        return f"{self._parts.path.rstrip('/')}/chat/completions{query}"

    @property
    def where(self) -> str:
        """The address for people: without query, which may hold a key."""
        return f"model {self.model!r} on {self._parts.scheme}://{self._parts.netloc}{self._parts.path}"

    @property
    def _parts(self) -> SplitResult:
        try:
            parts = urlsplit(self.url)
            parts.port  # noqa: B018 - a port that is no number is found out here
        except ValueError:
            raise LLMError("the address of a model is not a URL: give one such as https://host/v1") from None
        return parts
