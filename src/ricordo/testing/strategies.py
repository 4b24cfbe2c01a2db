"""Hypothesis strategies for everything that may be stored, and for what may not.

Texts are any valid Unicode, ids are opaque, dates reach over the years: what a store gets from these, it has to
give back unchanged. `hostile_texts` and `refused_texts` are worth adding to tests of your own faces. Strategies
are built once, because building them is slow.
"""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any, cast
from uuid import uuid4

from hypothesis import strategies as st

from ricordo.records.derived import FACT_KINDS, TRUST, Fact, Flag, Source, Summary, Topic
from ricordo.records.service import ApiKey, Document, StoredChunk
from ricordo.records.turns import Json, Message, Owner, StoredReceipt, Turn, message_id
from ricordo.records.values import canonical

HOSTILE = (
    "'; DROP TABLE turns; --",
    'Robert"); DELETE FROM sessions WHERE ("1"="1',
    "%s %(owner)s ? :owner $1 {0} ${HOME}",
    "\\x00 \\u0000 \\0 \\",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "e\u0301 \u00e9 \u0130\u0131 \ufb01 \u1e9e",  # letters that fold, split and join
    "\u202eright to left\u202c \u200b\u200d\ufeff",
    "👩‍👩‍👧‍👦 🇮🇹 \U0001f9d1\U0001f3fd\u200d\U0001f680",
    "\U0010ffff\ue000\ufffe",
    "line\r\nline\rline\u2028line\u2029line\x0b\x0c\x1c\x85",
    "NULL",
    "0",
    "true",
    "[1, 2]",
)
STEPS = ("assistant_calling", "tool", "system")
BLANK = ("", " ", "\t\r\n", "\u00a0", "\u2003\u3000", "\x1f\x85\u2028")


@cache
def characters() -> st.SearchStrategy[str]:
    """One character of valid Unicode, without NUL."""
    return st.characters(exclude_categories=["Cs"], exclude_characters="\x00")


@cache
def ids() -> st.SearchStrategy[str]:
    """Opaque ids of 1 to 255 characters, hostile ones among them."""
    plain = st.text(characters(), min_size=1, max_size=20).filter(str.strip)
    longest = characters().filter(str.strip).map(lambda character: character * 255)
    return st.one_of(st.sampled_from(HOSTILE), plain, longest)


@cache
def texts(max_size: int = 100) -> st.SearchStrategy[str]:
    """What may be said: any valid Unicode that is not blank."""
    return st.one_of(st.sampled_from(HOSTILE), st.text(characters(), min_size=1, max_size=max_size).filter(str.strip))


def hostile_texts() -> st.SearchStrategy[str]:
    """Valid texts that break careless programs."""
    return st.sampled_from(HOSTILE)


@cache
def refused_texts() -> st.SearchStrategy[str]:
    """What may never be stored: blank, with a NUL, with a lone surrogate."""
    surrogates = st.characters(categories=["Cs"])
    return st.one_of(
        st.sampled_from(BLANK),
        st.builds(lambda a, b: f"{a}\x00{b}", texts(20), texts(20)),
        st.builds(lambda a, bad, b: f"{a}{bad}{b}", texts(20), surrogates, texts(20)),
    )


@cache
def metadata() -> st.SearchStrategy[Json]:
    numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | st.text(characters(), max_size=20)
    keys = st.text(characters(), max_size=10)
    values = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2), max_leaves=3
    )
    return cast("st.SearchStrategy[Json]", st.dictionaries(keys, values, max_size=2))


@cache
def moments() -> st.SearchStrategy[datetime]:
    """Any moment from the year 2 to 9998, in UTC, to the microsecond."""
    return st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)).map(lambda moment: moment.replace(tzinfo=UTC))


def owners() -> st.SearchStrategy[Owner]:
    return st.builds(Owner, tenant_id=ids(), user_id=ids())


@st.composite
def messages(draw: st.DrawFn, role: str, *, created_at: datetime | None = None) -> Message:
    """A message of the role, with all that the role may carry. Its id is filled in by the turn."""
    calls: tuple[dict[str, Any], ...] = ()
    if role == "assistant_calling":
        role, calls = "assistant", ({"id": draw(ids()), "function": {"name": draw(ids()), "arguments": "{}"}},)
    return Message(
        id="",
        role=role,  # type: ignore[arg-type]
        content=draw(texts()),
        created_at=created_at or draw(moments()),
        tokens=draw(st.integers(0, 10**6)),
        chunk_ids=tuple(draw(st.lists(ids(), max_size=3))) if role == "assistant" else (),
        metadata=draw(metadata()),
        tool_calls=calls,
        tool_call_id=draw(ids()) if role == "tool" else None,
        name=draw(st.none() | ids()),
    )


@st.composite
def turns(draw: st.DrawFn, owner: Owner, session_id: str | None = None) -> Turn:
    """A turn of the owner: answered or open, with or without steps and question."""
    turn_id = str(uuid4())
    created_at = draw(moments())
    question = draw(st.none() | messages("user", created_at=created_at))
    steps = [draw(messages(role)) for role in draw(st.lists(st.sampled_from(STEPS), max_size=2))]
    answer = draw(messages("assistant") if question is None and not steps else st.none() | messages("assistant"))
    return Turn(
        id=turn_id,
        owner=owner,
        agent_id=draw(ids()),
        session_id=session_id or draw(ids()),
        turn_number=0,
        created_at=created_at,
        question=_addressed(question, turn_id, "query"),
        answer=_addressed(answer, turn_id, "response"),
        steps=tuple(replace(each, id=message_id(turn_id, n)) for n, each in enumerate(steps, start=1)),
        metadata=draw(metadata()),
        origin=draw(st.sampled_from(["chat", "import"])),
        counter=draw(st.sampled_from(["", "o200k_base", "approximate-it"])),
    )


@st.composite
def receipts(draw: st.DrawFn, session_id: str) -> StoredReceipt:
    """A receipt whose body names each of its passages by digest."""
    passages = {sha256(text.encode()).hexdigest()[:32]: text for text in draw(st.lists(texts(), max_size=3))}
    body = {"account": draw(metadata()), "recipe": [{"passage": digest} for digest in passages]}
    return StoredReceipt(session_id, 0, canonical(body), passages)


@st.composite
def topics(draw: st.DrawFn) -> Topic:
    """A topic of any shape: its counts fit together, and that is all."""
    messages = draw(st.integers(0, 10**6))
    return Topic(
        id=draw(ids()),
        title=draw(st.text(characters(), max_size=80)),
        centre=draw(st.binary(max_size=64)),
        created_at=draw(moments()),
        last_active_at=draw(moments()),
        embedder=draw(st.sampled_from(["", "small"]) | ids()),
        importance=draw(st.floats(0, 1)),
        access_count=draw(st.integers(0, 10**6)),
        message_count=messages,
        archived_count=draw(st.integers(0, messages)),
        restored_count=draw(st.integers(0, messages)),
        hot=tuple(draw(st.lists(st.integers(1, 10**9), max_size=4))),
        tags=tuple(draw(st.lists(texts(20), max_size=3))),
        summary=draw(st.none() | texts()),
        state=draw(st.sampled_from(["working", "archived"])),
    )


@st.composite
def facts(draw: st.DrawFn, agent_id: str, sources: tuple[Source, ...] = ()) -> Fact:
    """A fact of any shape that was said where the sources say; a forgotten one has no words."""
    forgotten = draw(st.booleans())
    return Fact(
        id=draw(ids()),
        agent_id=agent_id,
        kind=draw(st.sampled_from(FACT_KINDS)),
        text="" if forgotten else draw(texts()),
        about=draw(st.just("") | texts(20)),
        digest=draw(ids()),
        language=draw(st.sampled_from(["", "it", "en"])),
        sources=() if forgotten else sources,
        recorded_at=draw(moments()),
        valid_from=draw(moments()),
        valid_to=draw(st.none() | moments()),
        superseded_by=draw(st.none() | ids()),
        made_by=draw(st.sampled_from(["patterns"]) | ids()),
        origin=draw(st.sampled_from(TRUST)),
        forgotten=forgotten,
        pinned=draw(st.booleans()),
        confidence=draw(st.floats(0, 1)),
    )


@st.composite
def summaries(draw: st.DrawFn, session_id: str, last_turn: int) -> Summary:
    """A summary of turns up to one that the session has."""
    last = draw(st.integers(1, last_turn))
    return Summary(
        id=draw(ids()),
        session_id=session_id,
        agent_id=draw(ids()),
        kind=draw(st.sampled_from(["condensation", "session"])),
        text=draw(texts()),
        first_turn=draw(st.integers(1, last)),
        last_turn=last,
        topics=tuple(draw(st.lists(texts(20), max_size=3))),
        created_at=draw(moments()),
        tokens=draw(st.integers(0, 10**6)),
        counter=draw(st.sampled_from(["", "o200k_base"])),
        made_by=draw(st.sampled_from(["extractive"]) | ids()),
        origin=draw(st.sampled_from(TRUST)),
    )


@st.composite
def flags(draw: st.DrawFn, session_id: str) -> Flag:
    return Flag(
        id=draw(ids()),
        subject=draw(st.sampled_from(["message", "fact", "summary", "title", "tag", "chunk"])),
        subject_id=draw(ids()),
        session_id=session_id,
        rules=tuple(draw(st.lists(texts(20), max_size=3))),
        origin=draw(st.sampled_from(TRUST)),
        state=draw(st.sampled_from(["flagged", "quarantined", "released"])),
        created_at=draw(moments()),
    )


@st.composite
def documents(draw: st.DrawFn) -> tuple[Document, list[StoredChunk]]:
    """A document with its chunks; those of documents with different ids never share an id."""
    document_id = draw(ids())
    chunks = []
    for position in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, 10**6))
        vector = draw(st.none() | st.binary(max_size=16))
        chunks.append(
            StoredChunk(
                f"{document_id}#{position}", document_id, position, draw(texts()), draw(st.just("") | texts(20)),
                start, start + draw(st.integers(0, 99)), draw(st.none() | st.integers(1, 99)), vector,
                "" if vector is None else draw(ids()),
            )
        )  # fmt: skip
    document = Document(
        id=document_id,
        title=draw(st.just("") | texts(40)),
        kind=draw(st.sampled_from(["text", "markdown", "pdf"])),
        digest=draw(ids()),
        created_at=draw(moments()),
        chunk_count=len(chunks),
        bytes=draw(st.integers(0, 10**9)),
        metadata=draw(metadata()),
    )
    return document, chunks


@st.composite
def api_keys(draw: st.DrawFn, tenant_id: str) -> ApiKey:
    return ApiKey(
        id=draw(ids()),
        tenant_id=tenant_id,
        user_id=draw(st.none() | ids()),
        name=draw(st.just("") | ids()),
        digest=sha256(uuid4().bytes).hexdigest(),
        created_at=draw(moments()),
        last_used_at=draw(st.none() | moments()),
        revoked_at=draw(st.none() | moments()),
        scopes=tuple(draw(st.lists(ids(), max_size=3))),
    )


def _addressed(message: Message | None, turn_id: str, part: str | int) -> Message | None:
    return message and replace(message, id=message_id(turn_id, part))
