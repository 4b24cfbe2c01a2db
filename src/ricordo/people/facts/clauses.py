"""Split a message into the clauses in which the user may state something about themselves.

A text goes in, spans of it come out. Text that is not the user's own statement is removed first: code, quotations,
pasted passages and transcripts, Ricordo's own headers, questions, hypotheses, reported speech and role play. The rest
is cut where a new statement begins, so that a pattern only has to match a clause from its start.

`retold` changes a clause in the first person to the third person for facts, and to the second for answers.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ricordo.languages.registry import AnyLanguage, all_words, filled, languages
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import in_full, sentences

if TYPE_CHECKING:
    from ricordo.languages.base import FactWords, Language

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
    "user_label", "assistant_label", "student_label", "tutor_label", "system_label", "tool_label", "history_header",
    "history_footer", "no_history", "summary_header", "topic_header", "recalled_header", "chunks_header",
    "question_header",
)  # fmt: skip


@cache
def _pasted(known: "tuple[Language, ...]") -> re.Pattern[str]:
    """The first line of pasted text: a heading, a transcript, a fence, or a label of our prompts."""
    own = {re.escape(getattr(each.labels, name).split("{")[0].strip()) for each in known for name in _LABELS} - {""}
    return re.compile(
        r"^[ \t]*(?:#{1,6} |={3,}|<{2,}|>{2,}|</?[a-z][\w-]*\W|\[/?[A-Z_]{3,}|-{5,}BEGIN|"
        + "|".join(sorted(own))
        + filled(r"|(?:<statements.instructions_heading>)\b|(?:<statements.transcript_labels>)\s?:\s)"),
        re.IGNORECASE | re.MULTILINE,
    )


_UNTIL_SEMICOLON = re.compile(r"(?:[^;]|;(?!\s|$))+")
_MARKS = " .!?…;\"'»”’)]*_"
# Text after a colon is material ("Traduci: …"), unless the user introduces themselves before it.
_COLON = re.compile(r":(?=\s|\Z)")
_ABOUT_ONESELF = AnyLanguage(r"\b(?:<statements.about_oneself>)\s*\Z")
_NAME = r"[A-ZÀ-Ý][\w'-]+"
# Parts that belong to the noun before them: a name in apposition, a clause that begins with "who".
_TIED = AnyLanguage(
    rf"(?:\s*,?(?:(?<=,)|\s*,|\s+(?i:<facts.joins>))\s+{_NAME}(?:\s+(?i:<facts.joins>)\s+{_NAME})*(?=\s*(?:[,.;!?)]|$))"
    r"|\s*,?\s+(?i:<facts.relatives>)\s[^,.;:!?()\n]+?(?=\s*(?:[,.;:!?()\n]|$)|\s+(?i:<facts.joins>)\s))+,?",
    flags=0,
)
_BARE = AnyLanguage(r"(?:<facts.possessives>)(?:\s+\w+){1,2}\s*,")  # a noun with such parts between it and its verb
_REST = re.compile(r"\s*[a-zà-ÿ][^,.;:!?()\n]*")
# "I'm Ann" at the start tells a name if the user goes on about themselves.
_INTRODUCED = AnyLanguage(r"\s*(?:,|(?:,\s*)?(?:<facts.joins>))?\s*(?:<facts.self_words>)\b")
_NO_SUBJECT = AnyLanguage(r"\W*(?:<facts.bare_subjects>)\b")
_ONLY_AMOUNT = AnyLanguage(r"(?:(?:\d\S*|<dialogue.held:number>|<facts.joins>)\s*)+")
_SELF = AnyLanguage(r"\b(?:<dialogue.first_person>)\b")
_NAMED = AnyLanguage(rf"\b(?!(?i:<dialogue.held:calendar>)\b){_NAME}", flags=0)
# The sentence of an introduction, in which the user may go on without a comma: "mi chiamo Ada vivo a Bari".
_INTRODUCES = AnyLanguage(
    r"(?:^|[.!?;,\n])\s*(?:(?:<statements.greetings>)[\s,!]+)?(?:<facts.introduces>)\s+[^.!?;,\n]+"
)
_RUN_ON = AnyLanguage(r"\s+(?=(?i:<facts.run_ons>)\b)", flags=0)
_CUT = AnyLanguage(r"\s*,\s*|\s+[-–—]\s+|\s*[()\[\]]\s*|\s+(?:<statements.joins>)|\s+(?:<statements.cuts>)\s+")


@lru_cache(maxsize=32)
def clauses(text: str) -> tuple[Clause, ...]:
    """The clauses in which the user makes plain statements, in order."""
    flat = own_text(text)
    if not flat.strip() or _NOT_ONESELF.search(flat) or _TAKEN_BACK.search(flat):
        return ()
    found: list[Clause] = []
    greeted = _GREETING.match(flat) is not None
    for number, (start, end, asks) in enumerate(stated_sentences(flat)):
        sentence = flat[start:end]
        if end - start > MAX_SENTENCE or _NOT_STATED.search(sentence):
            continue
        parts = _cut(flat, start, end)
        if asks:
            # "Mi chiamo Anna, mi aiuti?" states, then asks; "Mi chiamo Anna, vero?" only asks.
            last = flat[parts[-1].start : parts[-1].end]
            parts = [] if _TAG_QUESTION.fullmatch(last) else parts[:-1]
        found.extend(
            Clause(part.start, part.end, number < 2 and (greeted or (part.start == 0 and _is_introduced(flat, part))))
            for part in parts
            if _MASK not in flat[part.start : part.end]
        )
    return tuple(found)


def _is_introduced(flat: str, part: Clause) -> bool:
    return _INTRODUCED.match(flat[part.end :]) is not None


def tied_end(flat: str, start: int, end: int) -> int:
    """Where a clause ends with the names and relative clauses that belong to its noun: "a son, Max, who is 4"."""
    tied = _TIED.compiled.match(flat, end - (flat[end - 1 : end] == ","))
    if not tied:
        return end
    rest = _REST.match(flat, tied.end()) if tied[0].endswith(",") and _BARE.match(flat[start:end] + ",") else None
    return rest.end() if rest else tied.end() - tied[0].endswith(",")


def is_not_oneself(text: str) -> bool:
    """Whether a message is about a text, plays a role, tells a story, or takes back what it says."""
    flat = stated_text(text)
    return _NOT_ONESELF.search(flat) is not None or _TAKEN_BACK.search(flat) is not None


def lacks_subject(clause: str, language: str) -> bool:
    """Whether nothing in a clause tells what it is about: "it's 4421", "rientra lunedì", "38 e mezzo"."""
    if _ONLY_AMOUNT.fullmatch(clause):
        return True
    table = language_by_code(language).facts
    own = not table.second_verbs.keys().isdisjoint(clause.lower().split()) or _SELF.search(clause)
    named = own or _NAMED.search(clause, 1)
    return not named and (_NO_SUBJECT.match(clause) is not None or has_other_verb(clause, language))


def has_other_verb(clause: str, language: str) -> bool:
    """Whether a clause begins with a verb of the third person, as an Italian one may: "ha 40 anni", "l'ha venduta"."""
    table = language_by_code(language).facts
    if not table.second_verbs:
        return False
    verbs = {*table.third_verbs.values(), *table.reflexives.values()}
    said = (word for word in clause.lower().split() if word in table.reflexives or not ADVERB.fullmatch(word))
    first, then = next(said, ""), next(said, "")
    if first in table.reflexives.values():  # "si parte" names no person
        return then in verbs
    return first in verbs or re.match(table.object_first, clause, re.IGNORECASE) is not None


def supposes(clause: str) -> bool:
    """Whether a clause only supposes: a hypothesis, an example, reported speech or a question."""
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


def stated_sentences(flat: str) -> list[tuple[int, int, bool]]:
    """Start and end of each sentence, cut at semicolons too, without its marks; and whether it asks."""
    found = []
    for start, end in sentences(flat, chat=True):
        for part in _UNTIL_SEMICOLON.finditer(flat, start, end):
            said = part[0].rstrip(_MARKS)
            if said.strip():
                found.append((part.start(), part.start() + len(said), "?" in part[0][len(said) :]))
    return found


def run_ons(text: str) -> list[re.Match[str]]:
    """The spaces before statements that follow an introduction without a mark."""
    leaning = all_words("facts.leaning") | all_words("facts.bound") | all_words("followups.clause_words")
    said = (found.span() for found in _INTRODUCES.finditer(text))
    cuts = (cut for start, end in said for cut in _RUN_ON.compiled.finditer(text, start, end))
    return [cut for cut in cuts if text[: cut.start()].split()[-1].lower() not in leaning]


def _cut(flat: str, start: int, end: int) -> list[Clause]:
    found = []
    own = [each for each in run_ons(flat) if start < each.start() < end]
    cuts = sorted((*_CUT.compiled.finditer(flat, start, end), *own), key=re.Match.start)
    for match in (*cuts, None):
        if match and match.start() < start:  # the cut before it holds its space
            continue
        stop = match.start() if match else end
        if flat[start:stop].strip():
            found.append(Clause(start, stop))
        start = match.end() if match else stop
    return found


Person = Literal["second", "third"]
_PIECE = re.compile(r"[\w'-]+|[^\w\s]|\s+")
# Words after which a verb of the first person may stand.
_BEFORE_VERB = AnyLanguage(r"(?:<facts.before_verbs>)", flags=re.IGNORECASE)
_UNKNOWN_VERB = re.compile(r"\w{3,}(?<!nn)(?<!\w\w[aeo]n)o")  # of the first person; "hanno" and "giocano" are not
ADVERB = AnyLanguage(r"(?:<facts.adverbs>)", flags=re.IGNORECASE)


def retold(statement: str, language: str, person: Person) -> str | None:
    """A first-person statement in the second or third person; None if the rules have no safe sentence for it."""
    table = language_by_code(language).facts
    plain = " ".join(in_full(statement.replace("\u2019", "'"), language).split()).strip(" ,.;:!?…-–—")
    pieces = _PIECE.findall(plain)
    written = "".join(pieces)
    # A verb in the first person is about the user; pronouns and possessives alone may be about others.
    if not pieces or table.not_retold[person if table.second_verbs else "second"].search(written):
        return None
    if not table.second_verbs and not any(piece.lower() in table.second_person for piece in pieces):
        return (written[:1].upper() + written[1:]) if person == "third" else written  # about others: unchanged
    if table.not_retold[person].search(written):
        return None
    pieces_said = _third_opening(pieces, table) if person == "third" or table.second_verbs else pieces
    if pieces_said is None:
        return None
    if person == "second":
        pieces_said = pieces
    verbs = table.third_verbs if person == "third" else table.second_verbs
    words = table.third_person if person == "third" else table.second_person
    out: list[str] = []
    last = ""
    for index, piece in enumerate(pieces_said):
        low = piece.lower()
        following = next((each.lower() for each in pieces_said[index + 1 :] if each.strip()), "")
        turns = (
            not last or _BEFORE_VERB.fullmatch(last) or (last not in table.leaning and low not in table.verbs_and_nouns)
        )
        if table.second_verbs and low in verbs and turns:
            piece = verbs[low]
        elif person == "third" and low in table.reflexives:
            if following not in verbs:
                return None
            piece = table.reflexives[low]
        elif f"{last} {low}" in words:
            piece = words[f"{last} {low}"].split()[1]
        elif low in words:
            piece = words[low]
        out.append(piece)
        last = low if piece.strip() else last
    sentence = "".join(out).strip()
    return (sentence[:1].upper() + sentence[1:]) if person == "third" else sentence


def _third_opening(pieces: list[str], table: "FactWords") -> list[str] | None:
    """The pieces without their subject, its verb in the third person; None if the verb is not known."""
    at = [index for index, piece in enumerate(pieces) if piece.strip()]
    words = [pieces[index].lower() for index in at]
    if table.second_verbs:  # the verb shows the person, and is changed where it stands
        verb = next((word for word in words if not ADVERB.fullmatch(word)), "")
        known = {*table.third_verbs, *table.third_verbs.values(), *table.reflexives.values()}
        after = words[words.index(verb) + 1 :][:1] if verb else []
        if _UNKNOWN_VERB.fullmatch(verb) and verb not in known and known.isdisjoint(after):  # "Piero si è rotto"
            return None
        return pieces[at[1] :] if words[0] in table.subjects and len(at) > 1 else pieces
    later = (before for before, word in pairwise(words) if word.partition("'")[0] in table.subjects)
    if not all(
        re.fullmatch(table.before_verbs, before, re.IGNORECASE) for before in later
    ):  # "digoxin I think it is", "I'm Leo I'm in my second year": one of them is no subject of the clause
        return None
    if "'" in words[0] and words[0] in table.third_verbs:
        rest = at[1] if words[:2] == ["i've", "got"] and len(at) > 2 else at[0]
        return [table.third_verbs[words[0]], *pieces[rest + 1 :]]
    if words[0] not in table.subjects or len(words) < 2:
        return pieces
    number = next((n for n, word in enumerate(words[1:], start=1) if not ADVERB.fullmatch(word)), 1)
    verb = words[number]
    return [*pieces[at[1] : at[number]], third_form(verb, table), *pieces[at[number] + 1 :]]


def third_form(verb: str, table: "FactWords") -> str:
    """A verb of the first person in the third."""
    known = verb if verb.endswith("ed") or table.second_verbs else _with_s(verb)
    return table.third_verbs.get(verb, known).lower()


def _with_s(verb: str) -> str:
    """The third person of a regular English verb."""
    if verb.endswith("y") and verb[-2:-1] not in tuple("aeiou"):
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "ch", "sh", "z", "o")) else f"{verb}s"
