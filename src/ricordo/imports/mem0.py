"""mem0's memories: notes about a person, kept as notes and not as facts.

In: the memories of a JSON export, or the rows of its history. Out: conversations of notes, some hundreds at a time.
Nobody of the talk said them, so they come as words of an assistant named mem0, from which no facts are learned. A
memory that was changed is another note; one that was deleted over there does not come.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from ricordo.imports.conversation import Conversation, ImportedMessage, ImportProblem
from ricordo.imports.values import identifier, mapping, moment, rest, text
from ricordo.records.turns import Json

NAME = "mem0"
BATCH = 500
_MEM0_KNOWN = ("id", "memory", "text", "content", "hash", "created_at", "updated_at", "event", "score")


def memories(entries: Iterable[tuple[Any, str]], name: str) -> Iterator[Conversation | ImportProblem]:
    """The memories of an export, by the user they are about."""
    batches: dict[str, list[ImportedMessage]] = {}
    for value, place in entries:
        fields = mapping(value)
        words = text(fields.get("memory")) or text(fields.get("text")) or text(fields.get("content"))
        if not words.strip():
            yield ImportProblem(place, "is not a memory: expected an object with 'memory'")
            continue
        about = identifier(fields.get("user_id"), fields.get("agent_id"), fields.get("run_id")) or name
        batch = batches.setdefault(about, [])
        batch.append(note(identifier(fields.get("id")), words, fields))
        if len(batch) == BATCH:
            yield noted(about, name, batches.pop(about))
    for about, batch in batches.items():
        yield noted(about, name, batch)


def note(memory_id: str, words: str, fields: Json) -> ImportedMessage:
    """One memory as it stands."""
    digest = hashlib.blake2b(words.encode(errors="surrogatepass"), digest_size=12).hexdigest()
    return ImportedMessage(
        id=f"{memory_id}:{digest}",
        role="assistant",
        content=words,
        created_at=moment(fields.get("updated_at"), fields.get("created_at")),
        name=NAME,
        metadata={"memory_id": memory_id or None},
        raw=rest(fields, *_MEM0_KNOWN),
    )


def noted(about: str, place: str, notes: list[ImportedMessage]) -> Conversation:
    """Notes about one person as a conversation to which more may be added."""
    return Conversation(id=about, place=place, paths=(tuple(notes),), title=f"Notes from mem0 ({about})", notes=True)
