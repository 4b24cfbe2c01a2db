"""Split a message into the clauses in which the user may state something about themselves.

A text goes in, spans of it come out. Text that is not the user's own statement is removed first: code, quotations,
pasted passages and transcripts, Ricordo's own headers, questions, hypotheses, reported speech and role play. The rest
is cut where a new statement begins, so that a pattern only has to match a clause from its start.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ricordo.languages.registry import AnyLanguage, all_words, filled, languages

if TYPE_CHECKING:
    from ricordo.languages.base import Language

MAX_SENTENCE = 200
_MAX_MESSAGE = 2_000  # characters; longer messages contain pasted text
_MASK = "\ufffc"


@dataclass(frozen=True, slots=True)
class Clause:
    """A span of the message. `greeted`: directly after a greeting, where "I'm Anna" is a name."""

    start: int
    end: int
    greeted: bool = False


# Text work, role play and stories: such a message is skipped.
_NOT_ONESELF = AnyLanguage(r"\b(?:<statements.not_oneself>)\b")
# Hypotheses, examples, reported speech, the past, doubt: such a sentence is skipped.
_NOT_STATED = AnyLanguage(r"\b(?:<statements.not_stated>)\b|^\s*[-*]?\s*(?:<statements.question_openings>)\b")
# Retractions ("just kidding") and ironic openings: such a message is skipped.
_TAKEN_BACK = AnyLanguage(
    r"(?:^|[.!?…;,(\n]|\s[-–—])\s*(?:(?:<statements.retraction_leads>)[\s,]+)*(?:<statements.retractions>)\b"
    r"(?!\s+(?:<statements.retraction_objects>)\b)"
)
_TAG_QUESTION = AnyLanguage(r"\s*(?:<statements.tag_questions>)\s*")
_GREETING = AnyLanguage(r"\s*(?:<statements.greetings>)\b")
_MASKED = re.compile(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`|\"[^\"]*(?:\"|\Z)|“[^”]*(?:”|\Z)|«[^»]*(?:»|\Z)|„[^“”]*(?:[“”]|\Z)"
    r"|(?<![\w'])'[^'\n]+(?:'[^'\n]+)*'(?!\w)|^[ \t]*[>|][^\n]*|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
# Headings and fences of our prompts anywhere in a line: the text after them came from memory.
_OWN_BLOCK = AnyLanguage(r"<memory.lines>|<<[^\n<>]{0,40}>>")
# The labels and headings that our own prompts write.
_LABELS = (
    "user_label", "assistant_label", "system_label", "tool_label", "history_header", "history_footer",
    "no_history", "summary_header", "recalled_header", "chunks_header", "question_header",
)  # fmt: skip


@cache
def _pasted(known: "tuple[Language, ...]") -> re.Pattern[str]:
    """The first line of pasted text: a heading, a transcript, a fence, or a label of our prompts."""
    own = {re.escape(getattr(each.labels, name).split("{")[0].strip()) for each in known for name in _LABELS}
    return re.compile(
        r"^[ \t]*(?:#{1,6} |={3,}|<{2,}|>{2,}|</?[a-z][\w-]*\W|\[/?[A-Z_]{3,}|-{5,}BEGIN|"
        + "|".join(sorted(own))
        + filled(r"|(?:<statements.instructions_heading>)\b|(?:<statements.transcript_labels>)\s?:\s)"),
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _sentence_end(known: "tuple[Language, ...]") -> re.Pattern[str]:
    """The end of a sentence; the full stop of a title ("Prof.") is none."""
    titles = "".join(rf"(?<!\b{title})" for title in sorted(all_words("statements.titles")))
    return re.compile(titles + r"[.!?…;]+(?=\s|\Z)|\n", re.IGNORECASE)


# Text after a colon is material ("Traduci: …"), unless the user introduces themselves before it.
_COLON = re.compile(r":(?=\s|\Z)")
_ABOUT_ONESELF = AnyLanguage(r"\b(?:<statements.about_oneself>)\s*\Z")
_CUT = AnyLanguage(r"\s*,\s*|\s+[-–—]\s+|\s*[()\[\]]\s*|\s+(?:<statements.joins>)|\s+(?:<statements.cuts>)\s+")


@lru_cache(maxsize=32)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses in which the user makes plain statements, in order."""
    flat = own_text(text)
    if not flat.strip() or _NOT_ONESELF.search(flat) or _TAKEN_BACK.search(flat):
        return ()
    found: list[Clause] = []
    greeted = _GREETING.match(flat) is not None
    for number, (start, end, asks) in enumerate(_sentences(flat)):
        sentence = flat[start:end]
        if end - start > MAX_SENTENCE or _NOT_STATED.search(sentence):
            continue
        parts = _cut(flat, start, end)
        if asks:
            # "Mi chiamo Anna, mi aiuti?" states, then asks; "Mi chiamo Anna, vero?" only asks.
            last = flat[parts[-1].start : parts[-1].end]
            parts = [] if _TAG_QUESTION.fullmatch(last) else parts[:-1]
        found.extend(
            Clause(part.start, part.end, greeted and number < 2)
            for part in parts
            if _MASK not in flat[part.start : part.end]
        )
    return tuple(found)


def is_not_oneself(text: str) -> bool:
    """Whether a message works on a text, plays a part, tells a story or takes back what it says."""
    flat = stated_text(text)
    return _NOT_ONESELF.search(flat) is not None or _TAKEN_BACK.search(flat) is not None


def supposes(clause: str) -> bool:
    """Whether a clause is a hypothesis, an example, reported speech or a question."""
    return _NOT_STATED.search(clause) is not None


@lru_cache(maxsize=32)
def stated_text(text: str) -> str:
    """The text without code, quotations and pasted material, at unchanged offsets; text after a colon stays."""
    flat = text[:_MAX_MESSAGE].replace("\u2019", "'").replace("\u02bc", "'").replace("\u00a0", " ")
    if len(text) > _MAX_MESSAGE:
        flat = flat[: flat.rfind("\n") + 1]
    flat = _MASKED.sub(lambda match: _MASK * len(match[0]), flat)
    for material in (_OWN_BLOCK.compiled, _pasted(languages())):
        pasted = material.search(flat)
        if pasted:
            flat = flat[: pasted.start()]
    return flat


@lru_cache(maxsize=32)
def own_text(text: str) -> str:
    """The text with everything masked that is not the user's own, at unchanged offsets.

    Pasted material is cut off. Masked characters become object replacement characters, which no pattern and no quote
    matches.
    """
    flat = stated_text(text)
    for colon in _COLON.finditer(flat):
        if not _ABOUT_ONESELF.search(flat[: colon.start()]):
            opening = max(flat.rfind(mark, 0, colon.start()) for mark in "\n.!?;") + 1
            return flat[:opening]
    return flat


def _sentences(flat: str) -> list[tuple[int, int, bool]]:
    """Start, end, and whether the sentence is a question."""
    found, start = [], 0
    for match in (*_sentence_end(languages()).finditer(flat), None):
        end = match.start() if match else len(flat)
        if flat[start:end].strip():
            found.append((start, end, match is not None and "?" in match[0]))
        start = match.end() if match else end
    return found


def _cut(flat: str, start: int, end: int) -> list[Clause]:
    found = []
    for match in (*_CUT.compiled.finditer(flat, start, end), None):
        stop = match.start() if match else end
        if flat[start:stop].strip():
            found.append(Clause(start, stop))
        start = match.end() if match else stop
    return found
