"""Answers from memory: small talk, statements, commands, and questions about the user, the past and the talk itself.

An act and the user's past go in; an answer that quotes and dates what was said comes out, or None where memory holds no
answer. Nothing is concluded: every sentence beside the fixed phrases is a quote with its source.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ricordo.chat.answerability import MUST_HOLD, ScoredMemory, is_heard, score_memory
from ricordo.chat.question import DialogueAct, MemoryQuestion, asks_for_answers, folded, memory_question
from ricordo.languages.dates import Period, periods, relative_day
from ricordo.languages.registry import AnyLanguage, all_words, languages
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import guess_language, sentences
from ricordo.people.facts.merge import group_of
from ricordo.people.facts.statements import facts_of_message
from ricordo.recall.evidence import snowball_stems

if TYPE_CHECKING:
    from ricordo.chat.past import MemoryPassage, Past
    from ricordo.languages.base import ReaderPhrases

_NEAR_THE_BEST = 0.5
_LATER_FROM = 0.2
_FACT_CONFIDENCE = 0.9
_MOST_QUOTES, _MOST_LISTED = 2, 4
_LONGEST_QUOTE = 320  # characters
_LONGEST_LINE = 180
_CONFIRMED_FROM = 0.8  # least coverage of a claim by one message
_NEAREST_FROM = 0.15
_MOST_LINES = 14
_MOST_KNOWN, _MOST_PAST = 8, 4
_FORGOTTEN_FROM = 0.5
_LAST = AnyLanguage(r"\b(?:<dialogue.last_session>)\b", flags=0)
_TALK = AnyLanguage(r"\b(?:<dialogue.talk>|<dialogue.last_session>)\b", flags=0)
_CLAIM = AnyLanguage(r"\b(?:<dialogue.assistant_said>|<dialogue.user_said>|<dialogue.claim_tags>)\b", flags=0)
_NEGATED = AnyLanguage(r"(?:<statements.denied>)|\b(?:non|mai|senza)\b", flags=0)
_SELF = AnyLanguage(r"(?P<article>\b(?:<vocabulary.articles>)\s+)?\b(?P<word><facts.self_words>)\b", flags=0)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_EARLIER = AnyLanguage(r"\b(?:<dialogue.earlier>)\b", flags=0)
_LISTING = AnyLanguage(r"\b(?:<dialogue.listing>)\b", flags=0)
_CALL_ME = AnyLanguage(r"\b(?:<dialogue.call_me>)\s+(?P<name>[^\s,.;:!?”»\"]+)", flags=re.IGNORECASE)
_ASKED_FACTS = {
    group: AnyLanguage(rf"\b(?:<dialogue.asked_facts:{group}>)\b", flags=0)
    for group in ("age", "home", "work", "study", "origin")
}
_FEW_WORDS = 6  # of a statement that says nothing of its speaker and is not repeated
_BRIEF = AnyLanguage(r"\b(?:<dialogue.brief>)\b", flags=0)
_SEVERAL = AnyLanguage(r"\b(?:<dialogue.several>)\s+(?P<noun>\w+)(?:\s+(?P<next>\w+))?", flags=0)
_ITEM_END = AnyLanguage(r"\s+(?:<dialogue.item_ends>)\b.*|\s*[(:].*", flags=re.DOTALL)
_JOINED = AnyLanguage(r"\s*,\s*(?:(?:<dialogue.conjunctions>)\s+)?|\s+(?:<dialogue.conjunctions>)\s+", flags=0)
_NAME = re.compile(r"\b[A-Z][\w'’-]+(?:\s+[A-Z][\w'’-]+)*")
_CLAUSE_END = re.compile(r"[.;!?](?:\s|$)")


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """An answer from memory. `sources` are the messages that it quotes; small talk and acknowledgements have none."""

    text: str
    confidence: float
    sources: tuple["MemoryPassage", ...] = ()
    found: bool = True
    of_user: bool = False  # it tells a fact of the user, which no material can know


def _about_the_past(question: str) -> bool:
    """Whether a question is about the user, by a pronoun or a verb of the first person, or about an earlier answer."""
    own = {word for each in languages() for word in each.facts.self_words.split("|")}
    empty = all_words("vocabulary.stop_words") | all_words("questions.asking_words")
    found = _SELF.finditer(folded(question))
    return asks_for_answers(question) or any(
        each["word"] in own or not (each["article"] or each["word"] in empty) for each in found
    )


class MemoryReader:
    """Answers one message from one user's past, in one language."""

    def __init__(self, past: "Past", code: str) -> None:
        self._past = past
        self._code = code
        self._phrases: ReaderPhrases = language_by_code(code).reader

    def small_talk(self, act: DialogueAct) -> MemoryAnswer:
        """One short line, to the user's name where it is known; a first greeting also says what one can do."""
        said = self._phrases
        line = {"greeting": said.greeting, "thanks": said.thanks, "farewell": said.farewell}.get(act.act, said.okay)
        if act.act == "greeting" and self._past.is_empty:
            line = f"{line} {said.nothing_yet}"
        elif act.act == "greeting" and (name := self._user_name()):
            line = said.greeting_name.replace("{name}", name)
        return MemoryAnswer(line, 1.0)

    def _user_name(self) -> str:
        """How the user wants to be called, or is called."""
        for fact in reversed(self._past.facts):
            if fact.is_instruction and (found := _CALL_ME.search(fact.text)):
                return found["name"]
        names = [fact.text.split(" ", 2)[-1] for fact in self._past.facts if fact.about == "name"]
        return names[-1] if names else ""

    @property
    def _is_brief(self) -> bool:
        """Whether the user wants short answers."""
        return any(fact.is_instruction and _BRIEF.search(folded(fact.text)) for fact in self._past.facts)

    def acknowledge(self, act: DialogueAct) -> MemoryAnswer:
        """An acknowledgement that names what was learned, or repeats what was stated or ordered."""
        if act.act == "forget":
            return self._forget(act.content)
        said = self._phrases
        phrase = {"remember": said.remembered, "standing": said.standing}.get(act.act, said.noted)
        learned = [fact for fact in facts_of_message(act.content) if fact.kind == "fact"]
        if act.act != "standing" and learned and all(fact.addressed for fact in learned):
            return MemoryAnswer(phrase.replace("{quote}", "; ".join(fact.addressed for fact in learned)), 1.0)
        spoken = folded(act.content).split()
        if act.act == "statement" and not learned and not act.about_oneself and len(spoken) <= _FEW_WORDS:
            thanked = not language_by_code(self._code).followups.thanks.isdisjoint(spoken)
            return self.small_talk(DialogueAct("thanks" if thanked else "okay", act.content))
        quote = shortened(act.content, _LONGEST_LINE).rstrip(" .")
        return MemoryAnswer(phrase.replace("{quote}", f"“{quote}”"), 1.0)

    def _forget(self, content: str) -> MemoryAnswer:
        asked = memory_question(content)
        found = score_memory(asked, self._past.passages(content)).passages
        own = [each.passage for each in found if each.coverage >= _FORGOTTEN_FROM]
        wanted = {one for term in asked.terms for one in term}
        facts = [
            fact
            for fact in self._past.facts
            if not wanted.isdisjoint(snowball_stems(fact.text, fact.language)) or fact.about in folded(content).split()
        ]
        sources = {source.message_id for fact in facts for source in fact.sources}
        self._past.forget(own, facts)
        known = bool(own or sources)
        return MemoryAnswer(self._phrases.forgotten if known else self._phrases.nothing_to_forget, 1.0)

    def recall(self, question: str) -> MemoryAnswer | None:
        """The quotes that answer a question about the user or the past; None if nothing said supports an answer."""
        asked = memory_question(question)
        earlier = _EARLIER.search(asked.text) is not None
        if not earlier and (known := self._fact(asked)):
            return known
        findings = score_memory(asked, self._past.passages(question))
        found = findings.passages if earlier else self._current(findings.passages)
        own = _about_the_past(question)
        if not own:  # then meaning alone is no evidence: one of its words must have been said
            found = tuple(each for each in found if each.coverage > 0)
        if found and (own or findings.is_related) and (names := _alternatives(found[0].passage.text, asked)):
            line = self._phrases.which.replace("{names}", ", ".join(names))
            quoted = self._quote(found[0].passage, asked)
            return MemoryAnswer(f"{line}\n{quoted}", round(findings.related, 3), (found[0].passage,))
        missing = asked.wanted in MUST_HOLD and not any(each.answers for each in found[:_MOST_QUOTES])
        if not found or missing or not findings.is_answer:
            return None
        certain = round(findings.answered, 3)
        if not earlier and findings.current is not None:  # what was said last counts
            last = findings.current.passage
            return MemoryAnswer(self._quote(last, asked), certain, (last,))
        near = [found[0], *(each for each in found[1:] if _is_near(each, found[0]))]
        most = 1 if self._is_brief else _MOST_LISTED if _LISTING.search(asked.text) else _MOST_QUOTES
        chosen = _with_answer(_newest(_distinct(near)[:most]), found, asked)
        lines = [self._quote(each.passage, asked, earlier=earlier) for each in chosen]
        return MemoryAnswer("\n".join(lines), certain, tuple(each.passage for each in chosen))

    def _current(self, found: Sequence[ScoredMemory]) -> tuple[ScoredMemory, ...]:
        """Without a message that another one of them has replaced, if that one fits the question too."""
        least = _LATER_FROM * max((each.probability for each in found), default=0.0)
        fitting = {each.passage.message_id for each in found if each.coverage > 0 and each.probability >= least}
        kept = [
            each
            for each in found
            if not (known := self._past.outdated.get(each.passage.message_id)) or fitting.isdisjoint(known.replaced_by)
        ]
        return tuple(kept)

    def _fact(self, asked: MemoryQuestion) -> MemoryAnswer | None:
        """The message from which the fact was learned that the question asks for; None if it asks for no such fact."""
        groups = [group for group, pattern in _ASKED_FACTS.items() if pattern.search(asked.text)]
        facts = [fact for fact in self._past.facts if group_of(fact.about) in groups]
        if asked.own_name:
            facts = [fact for fact in self._past.facts if fact.about == "name"]
        if not facts or not (sources := self._past.sources(facts[-1:])):
            return None
        return MemoryAnswer(self._quote(sources[-1], asked), _FACT_CONFIDENCE, (sources[-1],), of_user=True)

    def claim(self, message: str, *, own: bool) -> MemoryAnswer:
        """Yes with the passage if what is claimed was said; otherwise that it was not found, and the nearest."""
        content = _CLAIM.sub(" ", folded(message)).strip(" ?!.,") or message
        asked = memory_question(content)
        role = "user" if own else "assistant"
        offered = [each for each in self._past.passages(message) if each.role == role]
        scored = score_memory(asked, offered).passages
        found = sorted(scored, key=lambda each: (-round(each.coverage, 1), -each.probability))
        if not found:
            return MemoryAnswer(self._phrases.never_said, 0.5, found=False)
        best = found[0]
        told = self._bears_out(best, message, content)
        phrase = self._phrases.confirmed if told and not own else self._phrases.you_said if told else ""
        if not phrase and best.coverage < _NEAREST_FROM and best.probability < _NEAREST_FROM:
            return MemoryAnswer(self._phrases.never_said, 0.5, found=False)
        text = self._filled(phrase or self._phrases.nearest, best.passage, asked)
        return MemoryAnswer(text, round(best.coverage, 3), (best.passage,))

    def _bears_out(self, best: ScoredMemory, message: str, content: str) -> bool:
        text = folded(best.passage.text)
        if best.coverage < _CONFIRMED_FROM or not memory_question(content).terms:
            return False
        if any(number not in text for number in _NUMBER.findall(content)):
            return False
        return (_NEGATED.search(content) is None) == (_NEGATED.search(text) is None)

    def talk(self, question: str) -> MemoryAnswer:
        """What was said on a day, in the last session, or about a subject, in order."""
        now = self._past.now
        spans = periods(question, now)
        subject = _TALK.sub(" ", folded(question))
        for span in spans:
            subject = subject.replace(folded(span.text), " ")
        about = memory_question(subject)
        if about.terms and not spans and (found := self._about(about, subject)):
            return self._told(found)
        return self._told(self._session_talk(spans, last=_LAST.search(folded(question)) is not None))

    def _about(self, asked: MemoryQuestion, subject: str) -> list["MemoryPassage"]:
        found = score_memory(asked, self._past.passages(subject)).passages
        best = max((each.passage.score for each in found), default=0.0)
        near = [each.passage for each in found if each.coverage > 0 or each.passage.score >= 0.75 * best > 0]
        return sorted(near[:_MOST_LINES], key=lambda each: (each.said_at, each.turn_number, each.role != "user"))

    def _session_talk(self, spans: Sequence[Period], *, last: bool) -> list["MemoryPassage"]:
        start = min((span.start for span in spans), default=None)
        end = max((span.end for span in spans), default=None)
        if last:
            start = end = None
        sessions = self._past.sessions(start, end) or self._past.sessions(
            start - timedelta(days=2) if start else None, end + timedelta(days=2) if end else None
        )
        for session in sessions:
            if lines := self._past.talk(session):
                return lines
        return []

    def _told(self, lines: Sequence["MemoryPassage"]) -> MemoryAnswer:
        kept = [each for each in lines if len(each.text.split()) > 2][:_MOST_LINES]
        if not kept:
            return MemoryAnswer(self._phrases.no_talk, 0.5, found=False)
        days = dict.fromkeys(self._day(each) for each in kept)
        written = [self._phrases.talk.replace("{day}", "; ".join(days))]
        for each in kept:
            phrase = self._phrases.talk_user if each.role == "user" else self._phrases.talk_assistant
            written.append(phrase.replace("{quote}", shortened(each.text, _LONGEST_LINE)))
        return MemoryAnswer("\n".join(written), 0.8, tuple(kept))

    def about_user(self) -> MemoryAnswer | None:
        """The facts that are known, and what the user said of themselves, newest first."""
        said: dict[str, MemoryPassage] = {}
        for session in self._past.sessions()[:6]:
            for each in self._past.talk(session):
                if each.role == "user" and not each.text.rstrip().endswith("?") and len(each.text.split()) > 3:
                    said.setdefault(each.message_id, each)
        kept = sorted(said.values(), key=lambda each: each.said_at)[-_MOST_KNOWN:]
        lines = [f"- {fact.text}" for fact in self._past.facts[:_MOST_KNOWN]]
        lines += [
            "- " + self._phrases.until.replace("{day}", self._told_day(fact.valid_to)).replace("{quote}", fact.text)
            for fact in self._past.superseded[-_MOST_PAST:]
            if fact.valid_to is not None
        ]
        lines += [f"- “{shortened(each.text, _LONGEST_LINE)}” ({self._day(each)})" for each in kept]
        if not lines:
            return None
        return MemoryAnswer("\n".join([self._phrases.known, *lines]), 0.8, tuple(kept))

    def _day(self, passage: "MemoryPassage") -> str:
        return self._told_day(passage.said_at)

    def _told_day(self, moment: datetime) -> str:
        return relative_day(moment, self._past.now, self._past.zone, self._code, dated=True)

    def _quote(self, passage: "MemoryPassage", asked: MemoryQuestion, *, earlier: bool = False) -> str:
        phrase = self._phrases.you_said if passage.role == "user" else self._phrases.i_said
        said = self._filled(phrase, passage, asked)
        if earlier and (ended := self._past.outdated.get(passage.message_id)) is not None:
            return self._phrases.until.replace("{day}", self._told_day(ended.until)).replace("{quote}", said)
        return said

    def _filled(self, phrase: str, passage: "MemoryPassage", asked: MemoryQuestion) -> str:
        quote = best_part(passage.text, asked)
        return phrase.replace("{day}", self._day(passage)).replace("{quote}", quote)


def _distinct(found: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    """Without a passage that says the same as a better one."""
    kept: list[ScoredMemory] = []
    for each in found:
        own = set(snowball_stems(each.passage.text, guess_language(each.passage.text)))
        others = (set(snowball_stems(one.passage.text, guess_language(one.passage.text))) for one in kept)
        if not any(len(own & other) >= 0.8 * max(1, min(len(own), len(other))) for other in others):
            kept.append(each)
    return kept


def _is_near(one: ScoredMemory, best: ScoredMemory) -> bool:
    """Whether a passage is nearly as good as the best, or a later answer of the same speaker that may replace it."""
    if one.probability >= _NEAR_THE_BEST * best.probability:
        return True
    later = one.passage.said_at > best.passage.said_at and one.passage.session_id != best.passage.session_id
    rival = best.answers and one.answers and one.coverage > 0 and one.passage.role == best.passage.role
    return rival and later and one.probability >= _LATER_FROM * best.probability


def _with_answer(
    chosen: list[ScoredMemory], found: Sequence[ScoredMemory], asked: MemoryQuestion
) -> list[ScoredMemory]:
    """With the assistant's answer where the best quote is the user's question, or advice is asked for."""
    best = chosen[0].passage
    asks = best.text.rstrip().endswith("?")
    if best.role != "user" or not (asks or asked.for_advice):
        return chosen
    turn = (best.session_id, best.turn_number)
    for each in found:
        if each.passage.role == "assistant" and (each.passage.session_id, each.passage.turn_number) == turn:
            return [chosen[0], each] if not asks else [each]
    return chosen


def _newest(chosen: list[ScoredMemory]) -> list[ScoredMemory]:
    """Without an older quote of the same speaker where two sessions each hold an answer: what was said last counts."""
    speaker = chosen[0].passage.role
    rivals = [each for each in chosen if each.answers and each.passage.role == speaker]
    if not chosen[0].answers or len({each.passage.session_id for each in rivals}) < 2:
        return chosen
    last = max(rivals, key=lambda each: each.passage.said_at)
    return [last, *(each for each in chosen if each.passage.role != speaker)]


def _alternatives(text: str, asked: MemoryQuestion) -> list[str]:
    """The names of the things that fit a question for one of them: two exams, three brothers; none if it says which."""
    plain = folded(text)
    if len(plain) != len(text):
        plain = text.lower()
    said = set(asked.text.split())
    for found in _SEVERAL.finditer(plain):
        nouns = [word for word in (found["noun"], found["next"]) if word]
        if not said.isdisjoint(nouns) or not any(is_heard(term, noun) for term in asked.terms for noun in nouns):
            continue
        rest = text[found.end("noun") :]
        end = _CLAUSE_END.search(rest)
        rest = rest[: end.start()] if end else rest
        names = list(dict.fromkeys(each for each in _NAME.findall(rest.partition(":")[0])))
        if len(names) < 2:
            listed = rest.partition(":")[2] or rest.lstrip(" ,")
            names = [
                name for part in _JOINED.sub("\n", listed).split("\n") if (name := _ITEM_END.sub("", part).strip(" ,"))
            ]
        if 2 <= len(names) <= 6 and not any(folded(name) in asked.text for name in names):
            return names
    return []


def best_part(text: str, asked: MemoryQuestion) -> str:
    """A short text whole; of a long one the sentence that covers the question best, with its neighbours."""
    flat = " ".join(text.split())
    if len(flat) <= _LONGEST_QUOTE:
        return flat
    parts = [" ".join(text[start:end].split()) for start, end in sentences(text)]
    wanted = {one for term in asked.terms for one in term} | {one for like in asked.alike for one in like}
    shares = [len(wanted.intersection(snowball_stems(part, guess_language(part)))) for part in parts]
    at = max(range(len(parts)), key=lambda index: (shares[index], -index)) if parts else 0
    kept, first, last = parts[at] if parts else flat, at, at
    while True:
        grown = False
        for near in (last + 1, first - 1):
            if 0 <= near < len(parts) and len(kept) + len(parts[near]) < _LONGEST_QUOTE:
                kept = f"{kept} {parts[near]}" if near > last else f"{parts[near]} {kept}"
                first, last, grown = min(first, near), max(last, near), True
        if not grown:
            return shortened(kept, 2 * _LONGEST_QUOTE)


def shortened(text: str, most: int) -> str:
    """A text on one line, cut at a word."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[:most].rsplit(" ", 1)[0] + "…"
