"""What of the chat protocol an endpoint understands: servers differ, and say so by refusing a request.

A request is written in a dialect; a refusal that can be met by saying less gives the poorer dialect to try next. What
an endpoint once refused is not asked of it again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
