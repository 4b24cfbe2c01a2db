"""The index of one owner together with its state: what was read of each session, and which turns lack vectors.

A store, session marks and traces go in; an index that holds every current turn comes out. A new index is built at once
from the words and vectors that are stored. Later turns are read page by page and the position is noted after each, so
that an interruption loses nothing.
"""

import gc
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, groupby
from operator import not_
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple

from ricordo.languages.text import fold
from ricordo.recall.evidence import terms, words_version
from ricordo.recall.index import OwnerIndex, Row
from ricordo.recall.quantization import blob_size
from ricordo.recall.stored_rows import (
    ANSWER,
    ASKS,
    BLANK,
    MARK_BITS,
    MOST_MESSAGES,
    NOTED,
    QUESTION,
    ROLES,
    SHOWS,
    StoredRows,
)
from ricordo.records.turns import TurnVectors, message_id

if TYPE_CHECKING:
    from ricordo.records.turns import IndexedTurn, Message, Owner, SessionInfo, SessionMark, Turn
    from ricordo.stores.protocols import Store

_NONE: Mapping[str, bytes] = {}
_NO_TOPICS: Mapping[str, str] = {}

_PREFIX = re.compile(r"([A-ZÀ-Þ][\w.'’-]{0,24}(?: [A-ZÀ-Þ][\w.'’-]{0,24}){0,2}):\s+\S")
# Words before a colon that are not names.
_NOT_NAMES_TEXT = (
    "note nota warning attenzione example esempio question domanda answer risposta summary riassunto update "
    "aggiornamento todo edit ps tip important importante error errore problem problema solution soluzione step "
    "title titolo subject oggetto date data time ora total totale result risultato input output user assistant "
    "system tool utente assistente sistema tutor studente human bot"
)
_NOT_NAMES = frozenset(_NOT_NAMES_TEXT.split())
_LAST_SIGN = re.compile(r"[^\w?]+$")
_ATTACHED = re.compile(r"(?:\[(?:image|video|audio|contact|file)(?:: [^\[\]]*)?\]\s*)+$")  # as imports write it
_LONGEST_SIGNS = 500  # characters of attachments at the end of a message


def speaker_in(text: str) -> str | None:
    """The name that a message begins with, as in "Anna: ciao"; None when it begins otherwise."""
    match = _PREFIX.match(text)
    if match is None or fold(match[1]) in _NOT_NAMES:
        return None
    return match[1]


def indexed_text(content: str, name: str | None) -> str:
    """The text that is indexed and embedded: the content with the speaker's name before it, once."""
    return f"{name}: {content}" if name and not content.startswith(f"{name}:") else content


def ends_with_question(content: str) -> bool:
    """Whether a message ends with a question mark, whatever signs, emoji and attachments follow it."""
    return _LAST_SIGN.sub("", _before_attachments(content)[-40:]).endswith("?")


def shows(content: str) -> bool:
    """Whether an attachment follows the text, as in "What do you think? [image: a red kayak]"."""
    return len(_before_attachments(content)) < len(content)


def _before_attachments(content: str) -> str:
    if not content.rstrip().endswith("]"):
        return content
    found = _ATTACHED.search(content, max(0, len(content) - _LONGEST_SIGNS))
    return content[: found.start()] if found else content


def speaker_of(message: "Message") -> str | None:
    """The speaker: the name of the message, or the one that its text begins with."""
    return message.name or speaker_in(message.content)


def text_to_index(message: "Message") -> str:
    """The text of a message that is indexed and embedded: its content after the speaker's name, if there is one."""
    return indexed_text(message.content, speaker_of(message))


def rows_of(
    turn: "Turn",
    *,
    vectors: Mapping[str, bytes] = _NONE,
    topics: Mapping[str, str] = _NO_TOPICS,
    tags: frozenset[str] = frozenset(),
) -> list[Row]:
    """One row for each message of a turn that is not blank; the mappings are by message id, as stored."""
    return [
        Row(
            message_id=message.id,
            session_id=turn.session_id,
            turn_number=turn.turn_number,
            position=position,
            created_at=message.created_at,
            role=message.role,
            terms=terms(text_to_index(message)),
            vector=vectors.get(message.id),
            agent_id=turn.agent_id,
            speaker=speaker_of(message),
            topic_id=topics.get(message.id),
            tags=tags,
            asks=ends_with_question(message.content),
            shows=shows(message.content),
        )
        for position, message in enumerate(turn.messages)
        if message.content.strip()
    ]


def words_of(turn: "Turn", rows: Sequence[Row] | None = None) -> bytes:
    """The rows of a turn without vectors, as `stored_rows` reads them; empty if they cannot be stored.

    `rows` are those of the turn, if the caller has them already.
    """
    known = {row.message_id: row for row in (rows_of(turn) if rows is None else rows)}
    heads, said, notes = [], [], []
    steps = 0
    for position, message in enumerate(turn.messages):
        row = known.get(message.id)
        asked, answered = message is turn.question, message is turn.answer
        steps += not (asked or answered)
        part = "query" if asked else "response" if answered else steps
        if message.id != message_id(turn.id, part) or len(turn.messages) > MOST_MESSAGES:
            return b""
        noted = speaker_of(message) is not None or (not answered and message.created_at != turn.created_at)
        if noted:
            notes.append((position, speaker_of(message), message.created_at.timestamp()))
        marks = ROLES.index(message.role) | QUESTION * asked | ANSWER * answered | NOTED * noted
        marks |= ASKS * row.asks | SHOWS * row.shows if row else BLANK
        heads.append((len(row.terms) if row else 0) << MARK_BITS | marks)
        said += [row.terms.astype("<u4").tobytes()] if row else []
    text = json.dumps(notes).encode() if notes else b""
    text += b" " * (-len(text) % 4)
    body = b"".join((*(head.to_bytes(4, "little") for head in heads), *said, text))
    seal = zlib.crc32(body, words_version()) ^ int(turn.checksum[:8], 16)
    return (seal >> MARK_BITS << MARK_BITS | len(heads)).to_bytes(4, "little") + body


PAGE = 256  # turns read at once
SESSIONS = 1_000  # sessions read at once
AT_ONCE = 64  # turns from which on a new index is built from what is stored

TurnKey = tuple[str, int]


class UnsettledTurn(NamedTuple):
    """A turn that may still change or be replaced, as it is in the index."""

    turn_id: str
    checksum: str
    is_open: bool


@dataclass
class SessionProgress:
    """How far a session is indexed, and its mark at that time.

    `unsettled` are its open turns and the newest one; they reveal a session that was emptied and filled again.
    """

    mark: "SessionMark"
    tags: frozenset[str] = frozenset()
    through: int = 0
    unsettled: dict[int, UnsettledTurn] = field(default_factory=dict)

    def is_up_to(self, mark: "SessionMark") -> bool:
        """Whether the session is unchanged and completely read."""
        return self.mark == mark and self.through >= mark.last_turn

    def lost_any(self, mark: "SessionMark") -> bool:
        """Whether the new mark shows that turns were removed, or inserted before the end."""
        longer, more = mark.last_turn - self.mark.last_turn, mark.turn_count - self.mark.turn_count
        return longer < 0 or longer != more or mark.revision < self.mark.revision

    def note(self, turn: "Turn | IndexedTurn", *, is_open: bool) -> None:
        """Note a turn that was indexed, as long as it may change."""
        last = turn.turn_number
        self.unsettled = {number: each for number, each in self.unsettled.items() if each.is_open or number > last}
        if is_open or last >= max(self.unsettled, default=0):
            self.unsettled[last] = UnsettledTurn(turn.id, turn.checksum, is_open)
        else:
            self.unsettled.pop(last, None)


@dataclass(frozen=True, slots=True)
class Progress:
    """How many turns an index has not read yet, and has not embedded yet."""

    unread: int
    unembedded: int

    @property
    def done(self) -> bool:
        """Whether everything is indexed with its vector."""
        return not (self.unread or self.unembedded)


@dataclass
class IndexState:
    """An index and how far it has been read.

    `unembedded` are turns without vectors, with their checksum in the index; `damaged` are turns that cannot be read,
    with the reason; `traced` is the last turn with a trace, of sessions whose traces were read. `words` are those of
    turns without vectors, with their checksum, to be stored with them; `remade` are traces that were stored without
    usable words. `lock` is held briefly; `embedding` is held while vectors are computed, so that only callers that need
    vectors wait.
    """

    owner: "Owner"
    embedder: str
    index: OwnerIndex
    lock: RLock = field(default_factory=RLock)
    embedding: RLock = field(default_factory=RLock)
    sessions: dict[str, SessionProgress] = field(default_factory=dict)
    unembedded: dict[TurnKey, str] = field(default_factory=dict)
    damaged: dict[TurnKey, str] = field(default_factory=dict)
    traces: dict[TurnKey, "TurnVectors"] | None = None
    traced: dict[str, int] = field(default_factory=dict)
    words: dict[TurnKey, tuple[str, bytes]] = field(default_factory=dict)
    remade: list[TurnVectors] = field(default_factory=list)

    def read(self, store: "Store", marks: Mapping[str, "SessionMark"], most: int | None = None) -> Progress:
        """Index new turns, at most about `most`; all if None. The caller holds the lock."""
        if any(name not in marks or seen.lost_any(marks[name]) for name, seen in self.sessions.items()):
            self._reset()
        if most is None and not self.sessions and sum(mark.turn_count for mark in marks.values()) > AT_ONCE:
            collects = gc.isenabled()
            gc.disable()  # nothing that is made here is garbage; looking for it would take a fifth of the time
            try:
                self._load(store, marks)
            finally:
                if collects:
                    gc.enable()
        if not self._read_on(store, marks, most):
            self._reset()
            self._read_on(store, marks, most)
        return self.progress(marks)

    def _read_on(self, store: "Store", marks: Mapping[str, "SessionMark"], most: int | None) -> bool:
        """Read every session that has changed; False if one was replaced by another session of the same name."""
        left = most
        for session_id, mark in marks.items():
            seen = self.sessions.get(session_id) or SessionProgress(mark)
            if seen.is_up_to(mark):
                self.sessions.setdefault(session_id, seen)
                continue
            if left is not None and left <= 0:
                break
            changed = self._changed(store, session_id, seen)
            if changed is None:
                return False
            taken = self._read_session(store, session_id, seen, mark, changed, left)
            left = None if left is None else left - taken
        return True

    def progress(self, marks: Mapping[str, "SessionMark"]) -> Progress:
        """How far it has been read, compared with the current marks."""
        behind = (
            max(mark.last_turn - self.sessions[name].through, 0) if name in self.sessions else mark.turn_count
            for name, mark in marks.items()
        )
        return Progress(sum(behind), len(self.unembedded))

    def awaits_answer(self, key: TurnKey) -> bool:
        """Whether a turn is open and the newest of its session: it is embedded later, with its answer."""
        seen = self.sessions.get(key[0])
        known = seen.unsettled.get(key[1]) if seen and seen.through == key[1] else None
        return known is not None and known.is_open

    def has_no_trace(self, turn: "Turn") -> bool:
        """Whether a turn surely has no stored vectors, so that the store need not be queried."""
        if turn.topic_id:  # it was embedded before, perhaps by another process
            return False
        seen = self.sessions.get(turn.session_id)
        if seen and turn.turn_number <= seen.through:
            return (turn.session_id, turn.turn_number) in self.unembedded
        return turn.turn_number > self.traced.get(turn.session_id, turn.turn_number)

    def _reset(self) -> None:
        """Start with an empty index, because something was removed or changed; traces make rebuilding fast."""
        self.index = OwnerIndex(self.index.dimensions)
        self.sessions, self.unembedded, self.damaged, self.traces, self.traced = {}, {}, {}, None, {}
        self.words = {}

    def _load(self, store: "Store", marks: Mapping[str, "SessionMark"]) -> None:
        """Index all sessions at once from what is stored; turns of which that cannot be used are read as text.

        A session that is not there as its mark says, because it has just changed, is left to be read page by page.
        """
        found: dict[str, list[IndexedTurn]] = {}
        for turn in store.vectors.turns(self.owner, self.embedder):
            found.setdefault(turn.session_id, []).append(turn)
        tags = {info.id: frozenset(info.tags) for info in _sessions(store, self.owner)}
        seen = {
            name: SessionProgress(mark, tags[name], mark.last_turn)
            for name, mark in marks.items()
            if name in tags and len(own := found.get(name, ())) >= mark.turn_count
            if (own[-1].turn_number if own else 0) >= mark.last_turn
        }
        turns = list(chain.from_iterable(found.get(name, ()) for name in seen))
        stored = StoredRows(turns, self.index.dimensions)
        good, is_open = stored.good.tolist(), (stored.asked & ~stored.answered).tolist()
        unused = chain.from_iterable(found[name] for name in found.keys() - seen.keys())
        self.traces = {
            (turn.session_id, turn.turn_number): TurnVectors(
                turn.session_id, turn.turn_number, self.embedder, turn.checksum, turn.body, turn.words
            )
            for turn in chain(unused, compress(turns, map(not_, good)))
            if turn.body
        }
        for name, session in seen.items():
            if session.tags:
                self.index.set_tags(name, session.tags)
        added = 0
        try:
            for (name, usable), places in groupby(range(len(turns)), lambda at: (turns[at].session_id, good[at])):
                run = list(places)
                first, last = run[0], run[-1]
                if usable:
                    for at in (*compress(run[:-1], is_open[first:last]), last):
                        seen[name].note(turns[at], is_open=is_open[at])
                else:  # what comes before is added first, so that rows stand in the order of their turns
                    stored.add_to(self.index, added, first, tags)
                    added = last + 1
                    start, end = turns[first].turn_number - 1, turns[last].turn_number
                    for after in range(start, end, PAGE):  # by their text
                        before = min(after + PAGE, end) + 1
                        page = store.turns.page(self.owner, name, after=after, before=before)
                        self._add(store, seen[name], page)
                seen[name].through = max(seen[name].through, turns[last].turn_number)
            stored.add_to(self.index, added, len(turns), tags)
        except BaseException:
            self._reset()
            raise
        self.sessions = seen

    def _read_session(
        self,
        store: "Store",
        session_id: str,
        seen: SessionProgress,
        mark: "SessionMark",
        changed: list["Turn"],
        most: int | None,
    ) -> int:
        """Index what has changed in a session and what is new, at most about `most` turns; returns how many."""
        self.sessions[session_id] = seen
        self._note_tags(store, session_id, seen)
        self._add(store, seen, changed)
        taken = len(changed)
        while seen.through < mark.last_turn and (most is None or taken < most):
            size = PAGE if most is None else min(PAGE, most - taken)
            reach = seen.through + size + 1
            turns = store.turns.page(self.owner, session_id, after=seen.through, before=reach)
            self._add(store, seen, turns)
            seen.through = max([min(reach - 1, mark.last_turn), *(turn.turn_number for turn in turns)])
            taken += max(len(turns), 1)
        seen.mark = mark
        return taken

    def _changed(self, store: "Store", session_id: str, seen: SessionProgress) -> list["Turn"] | None:
        """The unsettled turns that have changed; None if one was replaced by another turn."""
        changed = []
        for number, known in sorted(seen.unsettled.items()):
            found = store.turns.page(self.owner, session_id, after=number - 1, before=number + 1)
            if not found or found[0].id != known.turn_id:
                return None
            changed += [turn for turn in found if turn.checksum != known.checksum]
        return changed

    def _note_tags(self, store: "Store", session_id: str, seen: SessionProgress) -> None:
        session = store.sessions.get(self.owner, session_id)
        tags = frozenset(session.tags if session else ())
        if tags != seen.tags:
            self.index.set_tags(session_id, tags)
            seen.tags = tags

    def _add(self, store: "Store", seen: SessionProgress, turns: Iterable["Turn"]) -> None:
        """Add turns to the index in one batch, with the vectors of their traces."""
        batch: list[Row] = []
        missing: dict[TurnKey, str] = {}
        added = list(turns)
        for turn in added:
            key = turn.session_id, turn.turn_number
            trace = self._traces(store).pop(key, None)
            vectors = split_trace(trace, turn, self.index.dimensions) if trace else None
            topics = {message.id: turn.topic_id for message in turn.messages} if turn.topic_id else {}
            rows = rows_of(turn, vectors=vectors or {}, topics=topics, tags=seen.tags)
            if vectors is None and rows:
                missing[key] = turn.checksum
                self.words[key] = turn.checksum, words_of(turn, rows)
            elif trace and vectors is not None and (words := words_of(turn, rows)) != trace.words:
                self.remade.append(replace(trace, words=words))
            batch += rows
        self.index.add(batch)
        self.unembedded.update(missing)
        for turn in added:
            if turn.damage:
                self.damaged[turn.session_id, turn.turn_number] = turn.damage
            seen.note(turn, is_open=turn.is_open)

    def _traces(self, store: "Store") -> dict[TurnKey, "TurnVectors"]:
        """The stored traces, read once per index."""
        if self.traces is None:
            found = store.vectors.read(self.owner, self.embedder)
            self.traces = {(trace.session_id, trace.turn_number): trace for trace in found}
        return self.traces


def _sessions(store: "Store", owner: "Owner") -> Iterator["SessionInfo"]:
    page = store.sessions.page(owner, limit=SESSIONS)
    while page:
        yield from page
        page = store.sessions.page(owner, limit=SESSIONS, before=page[-1]) if len(page) == SESSIONS else ()


def split_trace(trace: "TurnVectors", turn: "Turn", dimensions: int) -> dict[str, bytes] | None:
    """The vectors of a turn's messages by message id; None if the turn has changed since, or they are another size."""
    size = blob_size(dimensions)
    if trace.checksum != turn.checksum or len(trace.body) != size * len(turn.messages):
        return None
    return {message.id: trace.body[at * size : (at + 1) * size] for at, message in enumerate(turn.messages)}
