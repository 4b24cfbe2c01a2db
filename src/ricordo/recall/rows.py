"""From stored turns to index rows: what of a message is indexed and embedded, and where it stands.

A turn and what is stored beside its messages (hashed words, vector, topic) go in, rows come out; words that
were not stored yet are read from the text, so a message can be found before any background work has seen it.
"""

from collections.abc import Mapping

from ricordo.recall.index import Row
from ricordo.recall.speakers import indexed_text, speaker_in
from ricordo.recall.words import terms, terms_from_blob
from ricordo.records import Message, Turn

_NONE: Mapping[str, bytes] = {}
_NO_TOPICS: Mapping[str, str] = {}


def speaker_of(message: Message) -> str | None:
    """Who said it: the name the message carries, or the one its text begins with."""
    return message.name or speaker_in(message.content)


def text_to_index(message: Message) -> str:
    """What is indexed and embedded of a message: its words, with the speaker's name before them if there is one."""
    return indexed_text(message.content, speaker_of(message))


def rows_of(
    turn: Turn,
    *,
    words: Mapping[str, bytes] = _NONE,
    vectors: Mapping[str, bytes] = _NONE,
    topics: Mapping[str, str] = _NO_TOPICS,
    tags: frozenset[str] = frozenset(),
) -> list[Row]:
    """One row for each message of a turn that says something; the mappings are by message id, as stored."""
    return [
        Row(
            message_id=message.id,
            session_id=turn.session_id,
            turn_number=turn.turn_number,
            position=position,
            created_at=message.created_at,
            role=message.role,
            terms=terms_from_blob(words[message.id]) if message.id in words else terms(text_to_index(message)),
            vector=vectors.get(message.id),
            agent_id=turn.agent_id,
            speaker=speaker_of(message),
            topic_id=topics.get(message.id),
            tags=tags,
        )
        for position, message in enumerate(turn.messages)
        if message.content.strip()
    ]
