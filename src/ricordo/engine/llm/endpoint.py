"""Where and how a chat endpoint is asked: address, model, key, time limits and patience, checked once.

The key is in no representation and in no error; an address that carries a password is refused, because addresses are
logged.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
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


# What of the chat protocol an endpoint understands: servers differ, and say so by refusing a request.

Body = dict[str, Any]

REFUSED = frozenset({400, 415, 422, 501})
_FOLLOW = "Answer with one JSON value and nothing else. It must follow this JSON schema:\n"


@dataclass(frozen=True, slots=True)
class Dialect:
    """`schema`: answers can be bound to a JSON schema; `usage`: a stream can end with its cost; `limit`: the field
    that bounds an answer.
    """

    schema: bool = True
    usage: bool = True
    limit: str = "max_tokens"

    def body(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        stream: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> Body:
        """The request, without the model's name; `options` go along as they are."""
        body: Body = {**(options or {}), "messages": [dict(message) for message in messages]}
        if schema is not None and self.schema:
            named = {"name": "answer", "schema": dict(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None:
            body["messages"] = [*body["messages"], {"role": "user", "content": _FOLLOW + json.dumps(dict(schema))}]
        if max_tokens is not None:
            body[self.limit] = max_tokens
        if stream:
            body["stream"] = True
            if self.usage:
                body["stream_options"] = {"include_usage": True}
        return body

    def poorer(self, body: Mapping[str, Any], status: int, complaint: str) -> "Dialect | None":
        """The dialect to try after `body` was refused with these words; None if the refusal is about something else.

        A field is given up when the refusal names it; a schema also when it names nothing, since servers that do not
        know schemas fail in many ways.
        """
        if status not in REFUSED:
            return None
        said = complaint.lower()
        if "max_tokens" in body and "max_completion_tokens" in said:
            return replace(self, limit="max_completion_tokens")
        if "stream_options" in body and ("stream_options" in said or "include_usage" in said):
            return replace(self, usage=False)
        if "response_format" in body:
            return replace(self, schema=False)
        return None


# Whether and when to ask again: a failure goes in, the seconds to wait come out, or None to give up.

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, 529})


def wait(attempt: int, patience: Patience, *, chance: float, asked: float | None = None) -> float | None:
    """Seconds before the attempt after number `attempt` (from 1); None when there is none.

    `chance` lies between 0 and 1 and decides where in the upper half of the doubled wait this one falls.
    """
    if attempt >= patience.attempts or (asked is not None and asked > patience.longest_wait):
        return None
    doubled: float = min(patience.backoff * 2.0 ** min(attempt - 1, 30), patience.longest_wait)
    spread = doubled * (0.5 + chance / 2)
    return spread if asked is None else asked + spread * 0.1


def asked_for(headers: Mapping[str, str], now: datetime) -> float | None:
    """How long the server asks to wait; None when it does not say or says nonsense."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = lowered.get(name, "")
        if value.isascii() and value.replace(".", "", 1).isdigit():
            return float(value) * unit
    try:
        moment = parsedate_to_datetime(lowered.get("retry-after", ""))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((moment - now).total_seconds(), 0.0)
