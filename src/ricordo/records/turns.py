"""What is stored of a conversation, as records (owner, message, turn, session), and what a prompt takes from it.

A record is a value: it is compared by content, changed by copy and never knows a database. Times are in UTC, with a
time zone. The id of a message is made from its turn (`<turn id>:query`, `:response`, `:1`…), so it is not stored.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import UUID, uuid5

from ricordo.records.values import canonical, record

if TYPE_CHECKING:
    from ricordo.followups.reference import Resolved

Role = Literal["user", "assistant", "system", "tool"]
Origin = Literal["chat", "import"]
Json = Mapping[str, Any]

ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")
DEFAULT_AGENT = "default"
LOOKBACK = 12  # past turns that a question may refer to without a search
RESERVED = "ricordo:"  # prefix of owners that are not users, such as a library; a user id must not have it
FAILURE = "failure"  # key of the metadata of an open turn: why there is no answer yet
_OWNERS = UUID("5f0d7b0e-6f3a-5a63-9f7e-2b1c6c1f0a11")


@record
class Owner:
    """The user of a tenant to whom data belongs. Every key of every store begins with `Owner.key`."""

    tenant_id: str
    user_id: str

    @property
    def key(self) -> UUID:
        """One id for tenant and user, computed from both, so that a write needs no lookup."""
        return _key_of(self.tenant_id, self.user_id)

    @property
    def is_reserved(self) -> bool:
        """Whether this is not a user but belongs to the tenant itself, such as its library."""
        return self.user_id.startswith(RESERVED)


@lru_cache(maxsize=4_096)
def _key_of(tenant_id: str, user_id: str) -> UUID:
    return uuid5(_OWNERS, f"{len(tenant_id)}:" + tenant_id + user_id)  # `+`: an enum of strings counts as its value


def log_details(operation: str, owner: Owner, session_id: str) -> dict[str, str]:
    """The fields that every log line about a session has."""
    return {"operation": operation, "tenant_id": owner.tenant_id, "user_id": owner.user_id, "session_id": session_id}


def library_of(tenant_id: str) -> Owner:
    """The owner of the documents that all users of a tenant share."""
    return Owner(tenant_id, f"{RESERVED}library")


@record
class Message:
    """What one role said. `tokens` counts name, content and tool calls, without a model's per-message overhead."""

    id: str
    role: Role
    content: str
    created_at: datetime
    tokens: int = 0
    chunk_ids: tuple[str, ...] = ()
    metadata: Json = field(default_factory=dict)
    tool_calls: tuple[Json, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None

    def says_the_same(self, other: "Message | None") -> bool:
        """Whether two messages are equal but for id, time and token count. Then one is a retry of the other."""
        return other is not None and _said(self) == _said(other) and same_json(_said(self)[2:], _said(other)[2:])


def _said(message: Message) -> tuple[object, ...]:
    return (
        message.role, message.content, message.chunk_ids, message.metadata, message.tool_calls, message.tool_call_id,
        message.name,
    )  # fmt: skip


@record
class Turn:
    """One user message and its answer, with the tool messages between them.

    `question` is missing where the user did not speak first (a greeting, an imported monologue); `answer` is
    missing while the turn is open. `counter` names the token counter behind the stored counts. `block_id` names the
    archive block that has the turn; if `archived`, its text is only there. `damage` says why the text is missing, if
    the block cannot be read.
    """

    id: str
    owner: Owner
    agent_id: str
    session_id: str
    turn_number: int
    created_at: datetime
    question: Message | None
    answer: Message | None
    steps: tuple[Message, ...] = ()
    metadata: Json = field(default_factory=dict)
    origin: Origin = "chat"
    counter: str = ""
    checksum: str = ""
    topic_id: str | None = None
    block_id: str | None = None
    archived: bool = False
    damage: str = ""

    @property
    def query(self) -> str:
        """The text of the question; empty if the turn has none."""
        return self.question.content if self.question else ""

    @property
    def response(self) -> str | None:
        """The text of the answer; None while the turn is open."""
        return self.answer.content if self.answer else None

    @property
    def is_open(self) -> bool:
        """Whether it has a question and no answer yet."""
        return self.question is not None and self.answer is None

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """The ids of the chunks that the answer cites."""
        return self.answer.chunk_ids if self.answer else ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """Question, steps, answer: those that exist, in the order they were said."""
        head = (self.question,) if self.question else ()
        tail = (self.answer,) if self.answer else ()
        return head + self.steps + tail

    @property
    def tokens(self) -> int:
        """Tokens of all its messages, without a model's per-message overhead."""
        return sum(message.tokens for message in self.messages)

    def answered(self, answer: Message, metadata: Json | None = None) -> "Turn":
        """This turn with its answer; `metadata` is merged into that of the question, and replaces equal keys."""
        merged = {**self.metadata, **(metadata or {})}
        merged.pop(FAILURE, None)
        return replace(self, answer=answer, metadata=merged).sealed()

    def as_new(self) -> "Turn":
        """The turn as a store first writes it: with its text, without topic, block or damage of another store."""
        if self.topic_id is None and self.block_id is None and not self.archived and not self.damage:
            return self
        return replace(self, topic_id=None, block_id=None, archived=False, damage="")

    def failed(self, failure: Json) -> "Turn":
        """This open turn with the cause of its failure."""
        return replace(self, metadata={**self.metadata, FAILURE: dict(failure)}).sealed()

    @property
    def failure(self) -> Json | None:
        """Why the last attempt to answer failed; None if none did, or if it is answered."""
        found = self.metadata.get(FAILURE)
        return found if self.is_open and isinstance(found, Mapping) else None

    def sealed(self) -> "Turn":
        """This turn with the checksum of its content."""
        return replace(self, checksum=checksum(self))

    def repeats(self, stored: "Turn") -> bool:
        """Whether this turn is `stored` again: a retry that adds nothing and changes nothing."""
        same_question = self.question.says_the_same(stored.question) if self.question else stored.question is None
        return (
            self.session_id == stored.session_id
            and same_question
            and (self.answer is None or stored.answer is None or self.answer.says_the_same(stored.answer))
            and (not self.steps or len(self.steps) == len(stored.steps))
            and all(a.says_the_same(b) for a, b in zip(self.steps, stored.steps, strict=False))
            and self._has_same_metadata(stored)
        )

    def _has_same_metadata(self, stored: "Turn") -> bool:
        if self.answer and stored.answer:
            return same_json(self.metadata, stored.metadata)
        return stored.has_metadata(self.metadata)

    def has_metadata(self, metadata: Json) -> bool:
        """Whether the turn's metadata contains all of these values."""
        return all(key in self.metadata and same_json(self.metadata[key], value) for key, value in metadata.items())


def message_id(turn_id: str, part: str | int) -> str:
    """The id of a message: its turn, and `query`, `response` or the number of a step."""
    return f"{turn_id}:{part}"


def turn_id_of(message: str) -> str:
    """The id of the turn in a message id."""
    return message.rpartition(":")[0]


def checksum(turn: Turn, number: int | None = None) -> str:
    """A checksum of eight bytes, in hex, over the content of a turn, to detect damage to a stored turn.

    `number` is the number of a turn that does not have it yet.
    """
    asked_at = turn.created_at
    asked = asked_at.isoformat()
    parts = [turn.id, turn.session_id, turn.agent_id, str(turn.turn_number if number is None else number), asked]
    for message in turn.messages:
        said = asked if message.created_at is asked_at else message.created_at.isoformat()
        parts += (message.role, message.content, said, str(message.tokens))
        if message.chunk_ids or message.metadata or message.tool_calls or message.name or message.tool_call_id:
            parts.append(canonical(_said(message)[2:]))
    if turn.metadata:
        parts.append(canonical(turn.metadata))
    # The lengths keep parts apart that contain the separator.
    parts.append(",".join([str(len(part)) for part in parts]))
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).hexdigest()


def same_json(one: object, other: object) -> bool:
    """Whether two values are equal, also as JSON, where 1, 1.0 and true differ."""
    return one == other and canonical(one) == canonical(other)


PROJECT_TAG = "project:"  # prefix of the tag that names a session's project


def project_tag(project: str) -> str | None:
    """The tag of the sessions of a project; None without a project."""
    return f"{PROJECT_TAG}{project}" if project else None


def with_project(tags: Iterable[str], project: str) -> tuple[str, ...]:
    """The tags with that of this project, and without that of another."""
    others = tuple(tag for tag in tags if not tag.startswith(PROJECT_TAG))
    return (*others, f"{PROJECT_TAG}{project}") if project else others


@record
class SessionInfo:
    """The fields of a session. `last_turn` is the counter that numbers turns.

    `message_count`, `token_count` and `condensation_count` are set by `Session.info()` and by a list with `counts`;
    else they are None.
    """

    id: str
    owner: Owner
    agent_id: str
    created_at: datetime
    last_active_at: datetime
    last_turn: int = 0
    turn_count: int = 0
    revision: int = 0
    title: str | None = None
    document_ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Json = field(default_factory=dict)
    ended_at: datetime | None = None
    message_count: int | None = field(default=None, compare=False)
    token_count: int | None = field(default=None, compare=False)
    condensation_count: int | None = field(default=None, compare=False)

    @property
    def project(self) -> str:
        """The project that the session belongs to, by its tag; empty if it belongs to none."""
        return next((tag[len(PROJECT_TAG) :] for tag in self.tags if tag.startswith(PROJECT_TAG)), "")


@record
class SessionMark:
    """The state of a session in three numbers: enough to see whether anything has changed."""

    revision: int
    last_turn: int
    turn_count: int


@record
class SessionChanges:
    """What to set on a session; None leaves a field alone."""

    title: str | None = None
    document_ids: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    metadata: Json | None = None
    ended_at: datetime | None = None


@record
class Chunk:
    """A passage of a document, offered to the prompt and cited by id."""

    id: str
    text: str


def passage_digest(text: str) -> str:
    """The digest by which a receipt refers to a longer text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@record
class StoredReceipt:
    """A turn's receipt as stored: JSON. Longer texts are stored once per session or user, under their digest."""

    session_id: str
    turn_number: int
    body: str
    passages: Mapping[str, str] = field(default_factory=dict)


@record
class TurnVectors:
    """The vectors of a turn's messages, in order, by one embedder, and their words for the index.

    `checksum` is that of the embedded turn: if the turn has another one now, the vectors are out of date. `words` are
    empty if they were not stored. `ricordo.recall.stored_rows` defines their bytes.
    """

    session_id: str
    turn_number: int
    embedder: str
    checksum: str
    body: bytes
    words: bytes = b""


class IndexedTurn(NamedTuple):
    """A turn without its text. `body` and `words` are those of its vectors, empty if there are none that are valid.

    Times are microseconds since 1970, as stored; `answered_at` is None without an answer.
    """

    session_id: str
    turn_number: int
    id: str
    agent_id: str
    created_at: int
    answered_at: int | None
    checksum: str
    topic_id: str | None
    body: bytes
    words: bytes


@record
class Block:
    """Archived turns of one topic, compressed together; `turn_numbers` are their numbers."""

    id: str
    topic_id: str
    turn_numbers: tuple[int, ...]
    created_at: datetime
    body: bytes


Place = Literal["new", "answer", "step"]


def place(message: Message, newest: Turn | None) -> Place:
    """Where a message belongs: in a new turn, or as the answer or a step of the newest one."""
    if message.role == "user" or newest is None or newest.answer is not None:
        return "new"
    if message.role == "assistant" and not message.tool_calls:
        return "answer"
    return "step"


def open_turn(turn: Turn, message: Message) -> Turn:
    """`turn` with the message as its question, its answer or its first step, and with the message id for that."""
    if message.role == "user":
        return replace(turn, question=replace(message, id=message_id(turn.id, "query")))
    if message.role == "assistant" and not message.tool_calls:
        return replace(turn, answer=replace(message, id=message_id(turn.id, "response")))
    return add_step(turn, message)


def add_step(turn: Turn, message: Message) -> Turn:
    """`turn` with one more step, numbered from 1."""
    step = replace(message, id=message_id(turn.id, len(turn.steps) + 1))
    return replace(turn, steps=(*turn.steps, step))


def the_message(turn: Turn) -> Message:
    """The one message of a turn that was made to carry a single message."""
    (message,) = turn.messages
    return message


Reason = Literal["always", "recent", "referenced", "recalled", "fact", "summary", "topic", "cited", "asked"]


@dataclass(frozen=True)
class Excerpt:
    """A passage of a stored message, from `start` to `end` or to its end, with a label before it."""

    message: Message
    label: str = ""
    start: int = 0
    end: int | None = None
    text: str = field(init=False, compare=False, repr=False)  # the passage as it stands in the prompt

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.label + self.message.content[self.start : self.end])


@record
class Remembered:
    """A past message or fact that was recalled for this question; `excerpt` is the stored passage, if there is one.

    `score` and `reasons` are those of the search that found it.
    """

    id: str
    text: str
    reason: Reason = "recalled"
    excerpt: Excerpt | None = None
    score: float | None = None
    reasons: tuple[str, ...] = ()


@record
class Asked:
    """What chunks are retrieved for: the standalone question, and what it refers to."""

    question: str
    references: "tuple[Resolved, ...]" = ()


@record
class KnownContext:
    """The profile of the person, and the summary of the session's older turns."""

    profile: str = ""
    summary: str = ""
    degraded: tuple[str, ...] = ()
