"""Message text in which no chat-template token can be mistaken for the template's own.

In: messages and the spellings of a model's control tokens. Out: messages in which each such spelling is broken by a
space after its first character: readable for a person and for the model, and no longer a token.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_KEPT = frozenset({"role", "type"})


class Defuser:
    """Breaks the spellings of control tokens; single characters cannot be broken and are left out."""

    def __init__(self, tokens: Iterable[str]) -> None:
        spelled = sorted({token for token in tokens if len(token) > 1}, key=lambda token: (-len(token), token))
        self._pattern = re.compile("|".join(map(re.escape, spelled))) if spelled else None

    def text(self, text: str) -> str:
        """The text without a control token."""
        # Breaking one may leave another that began inside it, so it is looked at until nothing is found. Every round
        # moves a space further into a token, which are finite; a token that itself holds such spaces ends the rounds.
        for _ in range(8):
            if self._pattern is None or not self._pattern.search(text):
                return text
            text = self._pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
        return self._pattern.sub("", text) if self._pattern else text

    def messages(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Messages with every text in them defused, roles apart."""
        return [self._mapping(message) for message in messages]

    def _mapping(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value if key in _KEPT else self._value(value) for key, value in values.items()}

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            return [self._value(each) for each in value]
        return value
