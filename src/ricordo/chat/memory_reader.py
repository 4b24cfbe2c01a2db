"""Answers from memory: small talk, statements, commands, and questions about the user, the past and the talk itself.

An act and the user's past go in; an answer that quotes and dates what was said comes out, or None where memory holds no
answer. Nothing is concluded: every sentence beside the fixed phrases is a quote with its source.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from ricordo.chat.answerability import (
    ANSWERED_FROM,
    CHANGED,
    POINTING,
    RELATED_FROM,
    Findings,
    ScoredMemory,
    holds_precisely,
    lacks_detail,
    lacks_purpose,
    score_memory,
    stems_of,
)
from ricordo.chat.passages import best_part, shortened
from ricordo.chat.past import (
    DENIED,
    NAMING,
    UNTYPED,
    MessageWords,
    alternatives,
    ends,
    enumerates,
    is_of_another,
    is_opposed,
    speaks_of_person,
)
from ricordo.chat.question import (
    FEELINGS,
    FIRST_PERSON,
    SMALL_TALK,
    STATED,
    WH,
    DialogueAct,
    MemoryQuestion,
    dialogue_act,
    folded,
    forms,
    heard,
    memory_question,
    synonyms,
)
from ricordo.languages.dates import periods, relative_day
from ricordo.languages.registry import AnyLanguage, all_values, all_words
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import sentences
from ricordo.people.facts.clauses import supposes
from ricordo.people.facts.merge import group_of
from ricordo.people.facts.statements import announces, facts_of_message

if TYPE_CHECKING:
    from ricordo.chat.past import MemoryPassage, Past
    from ricordo.languages.base import ReaderPhrases
    from ricordo.people.facts.statements import SaidFact

_NEAR_THE_BEST = 0.35
_LATER_FROM = 0.2
_BESIDE_FROM = 0.5  # share of the best quote's coverage that one beside it needs where no answer is certain
_MEANT_FROM = 0.5  # least probability of a known subject where a question is not about the user and shares no word
_SPOKEN_FROM = 0.3  # share of a question that a message of the session holds which speaks of its subject
_FACT_CONFIDENCE = 0.9
_MOST_QUOTES, _MOST_LISTED = 2, 6
_RIVAL_FROM = 0.8  # share of the best quote's coverage that an older one needs to have counted before it
_LONGEST_LINE = 180
_CONFIRMED_FROM = 0.8  # least coverage of a claim by one message
_NEAREST_FROM = 0.1
_MOST_LINES = 14
_LOOKED_AT, _MOST_ASKED = 6, 40  # sessions, and turns of each
_MOST_KNOWN, _MOST_PAST = 8, 4
_ASKED_ONE = AnyLanguage(r"\b(?:<dialogue.asked_one>)\b", flags=0)
_MESSAGE = AnyLanguage(r"\b(?:<dialogue.message>)\b", flags=0)
_LAST = AnyLanguage(r"\b(?:<dialogue.last_session>)\b", flags=0)
_TALK = AnyLanguage(r"\b(?:<dialogue.talk>|<dialogue.last_session>|<dialogue.talk_nouns>)\b", flags=0)
_I_ASKED = AnyLanguage(r"\b(?:<dialogue.i_asked>)\b", flags=0)
_SAID = AnyLanguage(
    r"\b(?:<dialogue.assistant_said>|<dialogue.user_said>)\b|(?:[\s,]+(?:<dialogue.claim_tags>))+\W*$", flags=0
)
CONFIRMS = AnyLanguage(r"\W*(?:<dialogue.confirms>)\W*", flags=0)
_POINTS = AnyLanguage(r"\b(?:<dialogue.points>)\b", flags=0)
_MENTIONED = AnyLanguage(r"^\W*(?:<dialogue.how_often>|<dialogue.ever>)", flags=0)
_HOW_OFTEN = AnyLanguage(r"^\W*(?:<dialogue.how_often>)", flags=0)
_CLAIM = AnyLanguage(r"\b(?:<dialogue.assistant_said>|<dialogue.user_said>|<dialogue.claim_tags>)\b", flags=0)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_EARLIER = AnyLanguage(r"\b(?:<dialogue.earlier>)\b", flags=0)
_PAST = AnyLanguage(r"\b(?:<dialogue.held:past>)\b", flags=0)
_CALL_ME = AnyLanguage(r"\b(?:<dialogue.call_me>)\s+(?P<name>[^\s,.;:!?”»\"]+)", flags=re.IGNORECASE)
_OWN = {group: AnyLanguage(rf"<dialogue.held:own_{group}>", flags=0) for group in ("work", "home")}
_CORRECTED = AnyLanguage(r"^\W*(?:<dialogue.corrections>)", flags=0)
_THIRD_PERSON = AnyLanguage(r"\W*(?:<dialogue.held:third_person>)\s")
_INTRODUCTION = AnyLanguage(r"\W*(?:<dialogue.wanted:introduction>)\b", flags=0)
_ENDS = [AnyLanguage(rf"\b(?:<dialogue.wanted:{end}_said>)", flags=0) for end in ("first", "last")]
# Words of a question that its answer need not repeat, by what it wants.
_REPEATED = {
    kind: AnyLanguage(rf"(?:<dialogue.held:repeated_{kind or 'any'}>)", flags=0)
    for kind in ("", "place", "time", "trade")
}
_BY_SENTENCE = frozenset(("", "place", "time"))  # wanted things that one sentence seldom holds two of
_TRADE_ASKED = AnyLanguage(r"\b(?:<dialogue.wanted:trade>)\b", flags=0)
_TRADE = AnyLanguage(r"<dialogue.held:trade>", flags=0)
_OBJECT = AnyLanguage(r"\b(?:<dialogue.asked_noun>)[^\W\d_]+ (?:<dialogue.held:object_of>)(?P<verb>\w{4,})", flags=0)
_HAPPENED = AnyLanguage(r"\W*(?:<dialogue.wanted:happened>)\b", flags=0)
_WISHES = AnyLanguage(r"\b(?:<facts.wishes>)\b")
_DEFINITE = AnyLanguage(r"\W*(?:<dialogue.held:definite>)\b", flags=0)
_MOST_TOLD = 6  # messages, best first, of which one may tell outright what is asked for
_FREE_GROUPS = (["name"], ["work"], ["study"])  # what is told of these needs no word of a certain type
_FEW_WORDS, _SUBJECTS = 6, 3  # a statement that says nothing of its speaker is repeated from these on
_UNKNOWING = AnyLanguage(r"\b(?:<dialogue.unknowing>)\b", flags=0)  # "I never remember what…": a question, too
_BRIEF = AnyLanguage(r"\b(?:<dialogue.brief>)\b", flags=0)


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """An answer from memory. `sources` are the messages that it quotes; small talk and acknowledgements have none."""

    text: str
    confidence: float
    sources: tuple["MemoryPassage", ...] = ()
    found: bool = True
    of_user: bool = False  # it tells a fact of the user, which no material can know
    options: tuple[str, ...] = ()  # it asks which of these is meant
    chunk_ids: tuple[str, ...] = ()  # of an earlier answer that it repeats or tells the source of


class MemoryReader:
    """Answers one message from one user's past, in one language."""

    def __init__(self, past: "Past", code: str) -> None:
        self._past = past
        self._code = code
        self._phrases: ReaderPhrases = language_by_code(code).reader

    def small_talk(self, act: DialogueAct) -> MemoryAnswer:
        """One short line, to the user's name where it is known; a first greeting also says what one can do."""
        said = self._phrases
        lines = {"greeting": said.greeting, "thanks": said.thanks, "farewell": said.farewell}
        line = (lines | {"feeling": said.feeling, "gladness": said.gladness}).get(act.act, said.okay)
        if act.act == "greeting" and self._past.is_empty:
            line = f"{line} {said.nothing_yet}"
        elif act.act == "greeting" and (name := self._user_name()):
            line = said.greeting_name.replace("{name}", name)
        return MemoryAnswer(line, 1.0)

    def documents(self, titles: Sequence[str]) -> MemoryAnswer:
        """The titles of the documents in the material."""
        listed = "\n".join(f"- {title}" for title in titles)
        told = self._phrases.titles.replace("{count}", str(len(titles))).replace("{titles}", listed)
        return MemoryAnswer(told if titles else self._phrases.nothing_yet, 1.0)

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
        said = self._phrases
        if act.act == "forget":
            return self._forget(act.content)
        if act.act == "forget_all":
            return MemoryAnswer(said.forget_all, 1.0)
        if act.act == "end_wish":
            ended = "; ".join(fact.text for fact in self._past.end_wishes(act.content))
            return MemoryAnswer(said.forgotten.replace("{quote}", ended) if ended else said.nothing_to_forget, 1.0)
        phrase = {"remember": said.remembered, "standing": said.standing}.get(act.act, said.noted)
        said_facts = facts_of_message(act.content)
        learned = [fact for fact in said_facts if fact.kind == "fact"]
        if act.act in ("statement", "standing") and said_facts:  # "from today I work at home" is a fact
            wishes = any(fact.kind == "instruction" for fact in said_facts)
            phrase = said.standing if wishes else said.noted
        if phrase != said.standing and learned and all(fact.addressed for fact in learned):
            return MemoryAnswer(phrase.replace("{quote}", _listed(learned)), 1.0)
        if not said_facts and announces(act.content):
            return self.small_talk(DialogueAct("okay", act.content))
        words = MessageWords.of(act.content)
        spoken, subjects = words.plain, len(words.subjects()) + len(words.names) + bool(words.matching("time"))
        remark = phrase == said.noted and not (learned or act.about_oneself or _CORRECTED.search(folded(act.content)))
        told = (
            len(spoken) > _FEW_WORDS
            or subjects >= _SUBJECTS
            or _NUMBER.search(act.content)
            or _THIRD_PERSON.match(act.content)
        )
        if (remark and not (told and spoken)) or (act.act == "statement" and len(spoken) < 2):
            thanked = not language_by_code(self._code).followups.thanks.isdisjoint(spoken)
            return self.small_talk(DialogueAct("thanks" if thanked else "okay", act.content))
        quote = shortened(act.content, _LONGEST_LINE).rstrip(" .?")
        return MemoryAnswer(phrase.replace("{quote}", f"“{quote}”"), 1.0)

    def learned(self, message: str) -> list["SaidFact"]:
        """What a message states that can be told to the user."""
        return [fact for fact in facts_of_message(message) if fact.addressed or fact.kind == "instruction"]

    def noted(self, facts: Sequence["SaidFact"]) -> str:
        """The acknowledgement of what was stated beside a question."""
        wishes = "; ".join(f"“{fact.quote}”" for fact in facts if fact.kind == "instruction")
        known = [fact for fact in facts if fact.kind != "instruction"]
        lines = [self._phrases.noted.replace("{quote}", _listed(known))] if known else []
        return "\n".join([*lines, self._phrases.standing.replace("{quote}", wishes)] if wishes else lines)

    def _forget(self, content: str) -> MemoryAnswer:
        """Forget what was said of something, and tell what that was."""
        facts, said = self._past.forget_about(content)
        told = [fact.text for fact in facts] + [f"“{shortened(each.text, _LONGEST_LINE)}”" for each in said]
        phrase = self._phrases.forgotten if told else self._phrases.nothing_to_forget
        return MemoryAnswer(phrase.replace("{quote}", "; ".join(dict.fromkeys(told))), 1.0)

    def confirmed(self) -> MemoryAnswer | None:
        """Forget everything, as a message confirms; None if the last answer did not ask that."""
        if not any(turn.metadata.get("act") == "forget_all" for turn in self._past.answered[:1]):
            return None
        self._past.forget_everything()
        return MemoryAnswer(self._phrases.all_forgotten, 1.0)

    def wishes(self) -> MemoryAnswer:
        """The standing wishes of the user."""
        wishes = list(dict.fromkeys(f"- {fact.text}" for fact in self._past.facts if fact.is_instruction))
        return MemoryAnswer("\n".join([self._phrases.wishes, *wishes]) if wishes else self._phrases.no_wishes, 1.0)

    def again(self, act: DialogueAct) -> MemoryAnswer:
        """The last answer once more, or where it came from; or what the reader cannot do with it."""
        said, last = self._phrases, self._past.last_turn
        if act.act in ("no_translation", "no_other_words"):
            return MemoryAnswer(said.no_translation if act.act == "no_translation" else said.no_other_words, 1.0)
        if last is None or last.answer is None:
            return MemoryAnswer(said.no_origin, 0.5, found=False)
        ids, quoted = self._past.sources_of(last)
        if act.act == "repeat":
            return MemoryAnswer(last.answer.content, 1.0, tuple(quoted), chunk_ids=ids)
        names = [f"{one.rpartition('#')[0]} [{one}]".strip() for one in dict.fromkeys(ids)]
        names += [self._quote(each, memory_question("")) for each in quoted]
        if not names:
            return MemoryAnswer(said.no_origin, 0.5, found=False)
        phrase = said.origin if act.act == "origin" else said.certainty
        return MemoryAnswer(phrase.replace("{names}", "; ".join(names)), 1.0, tuple(quoted), chunk_ids=ids)

    def item(self, text: str) -> MemoryAnswer:
        """The message that holds one thing of a list that was quoted before; that none is meant, if there is none."""
        name = text.strip(' .“”«»"')
        held = [each for each in self._past.passages(name) if folded(name) in folded(each.text)] if name else []
        if not held:
            return MemoryAnswer(self._phrases.no_item, 0.5, found=False)
        return MemoryAnswer(f"{self._quote(held[0], memory_question(name))}: {name}", _FACT_CONFIDENCE, (held[0],))

    def recall(self, question: str) -> MemoryAnswer | None:
        """The quotes that answer a question about the user or the past; None if nothing said supports an answer.

        What is said of another is at most the nearest, and confirms nothing.
        """
        asked = memory_question(question)
        if not (asked.terms or asked.is_personal or asked.wanted not in UNTYPED):
            return None  # "why?" asks for nothing that a message could hold
        earlier = _EARLIER.search(asked.text) is not None
        offered: Sequence[MemoryPassage] = self._past.passages(question)
        offered = offered if earlier else _without_corrected(offered)
        offered = [each for each in offered if asked.is_yes_no or not is_opposed(asked.text, each.text)]
        if earlier and (before := self._told_before(asked, offered)):
            return before
        fitting = [each for each in offered if each.role != "user" or not is_of_another(each.text, asked)]
        answer = self._recalled(asked, fitting)
        if answer and answer.found:
            return answer if earlier else self._as_it_is_now(answer, asked, offered)
        if len(fitting) == len(offered) or asked.is_yes_no:
            return answer
        nearest = self._recalled(asked, offered)
        if nearest is None or not nearest.found:
            return nearest
        return replace(nearest, text=f"{self._phrases.unsure}\n{nearest.text}", found=False, options=())

    def _told_before(self, asked: MemoryQuestion, offered: Sequence["MemoryPassage"]) -> MemoryAnswer | None:
        """What the user says was so before ("I used to live in Rome"), or said before a change; None without any."""
        said = [each for each in offered if each.role == "user" and not is_of_another(each.text, asked)]
        told = [each for each in said if _repeats(each.text, asked) and not each.text.endswith("?")]
        past = [each for each in told if _EARLIER.search(folded(each.text))]
        if past:
            newest = max(past, key=_said_at)
            return MemoryAnswer(self._quote(newest, asked), _FACT_CONFIDENCE, (newest,), of_user=True)
        change = max((each for each in said if CHANGED.search(folded(each.text))), key=_said_at, default=None)
        older = [each for each in told if change and each.said_at < change.said_at and each is not change]
        if change is None or not older or change.message_id in self._past.outdated:
            return None
        last = max(older, key=_said_at)
        line = self._filled(self._phrases.known_line, last, asked)
        return MemoryAnswer(self._ended(change.said_at, line), _FACT_CONFIDENCE, (last,), of_user=True)

    def _as_it_is_now(
        self, answer: MemoryAnswer, asked: MemoryQuestion, offered: Sequence["MemoryPassage"]
    ) -> MemoryAnswer:
        """An answer, or what corrected its message right after, or what ended it since, and what ended as past."""
        best = answer.sources[0] if answer.sources else None
        if best is None or best.role != "user" or answer.options or asked.is_list or _PAST.search(asked.text):
            return answer
        after = self._past.after(best)
        if (corrected := self._corrected(best, asked, after)) and corrected not in answer.sources:
            return replace(answer, text=self._quote(corrected, asked), sources=(corrected,))
        over = self._past.replaced.get(best.message_id)
        later = {each.message_id: each for each in (*offered, *after) if each.role == "user"}
        if over and not over.replaced_by <= later.keys():
            newer = [fact for fact in self._past.facts for one in fact.sources if one.message_id in over.replaced_by]
            later |= {each.message_id: each for each in self._past.sources(newer)}
        replaced = over.replaced_by if over else frozenset[str]()
        typed = asked.wanted not in UNTYPED
        gone = [
            each
            for each in later.values()
            if each.said_at > best.said_at
            and each not in answer.sources
            and (
                ends(each.text, best.text, asked, next_to=each in after or each.message_id in replaced)
                or (typed and each.message_id in replaced and MessageWords.of(each.text).fillers(asked))
            )
        ]
        if not gone:
            return answer
        newest = max(gone, key=_said_at)
        if typed and MessageWords.of(newest.text).fillers(asked):
            return replace(answer, text=self._quote(newest, asked), sources=(newest,))
        past = self._ended(newest.said_at, self._filled(self._phrases.known_line, best, asked))
        return replace(answer, text=f"{self._quote(newest, asked)}\n{past}", sources=(newest, best))

    def _recalled(self, asked: MemoryQuestion, offered: Sequence["MemoryPassage"]) -> MemoryAnswer | None:
        """The quotes of what was said before that answer a question; None if nothing supports an answer."""
        earlier = _EARLIER.search(asked.text) is not None
        known = self._past_fact(asked) if earlier else self._fact(asked)
        if known and any(_tells_it(each.text, asked) for each in known.sources):
            return known
        findings = score_memory(asked, offered)
        every = findings.passages
        if asked.fact_groups == ["age"]:  # the age of a child is not the user's
            every = tuple(each for each in every if _may_be_own(each.passage))
        found = every if earlier else self._current(every)
        own = [
            each
            for each in _own_statements(findings.passages, asked)
            if earlier or not _EARLIER.search(folded(each.text))
        ]
        if own := [each for each in own if earlier or not (known and _takes_up(known.sources[-1], each))]:
            told = (min if earlier else max)(own, key=lambda each: each.said_at)
            return MemoryAnswer(self._quote(told, asked), _FACT_CONFIDENCE, (told,), of_user=True)
        if known:
            return known
        if borne_out := _borne_out(found, asked):
            return self._quoted(borne_out, asked, findings.related)
        several = found[:1] if findings.is_answer else [each for each in found if each.coverage > 0]
        offers = [(each, names) for each in several if (names := alternatives(each.passage.text, asked))]
        holder, names = min(offers, key=lambda offer: not offer[1][0][0].isupper(), default=(None, []))
        named = any(_is_named(name, asked) for name in names)
        if holder and not named:
            line = self._phrases.which.replace("{names}", ", ".join(names))
            asking = self._quoted([holder], asked, findings.related)
            return replace(asking, text=f"{line}\n{asking.text}", options=tuple(names))
        outright = _outright(asked, findings, found, self._past)
        if outright:  # it answers for certain, whatever is more like the question
            current = findings.current if outright[0] is every[0] else None
            findings = replace(findings, current=current, answered=max(findings.answered, ANSWERED_FROM))
            found = tuple(outright)
        elif _asks_who(asked):
            found = tuple(sorted(found, key=lambda each: not each.coverage))
        if found and not (
            outright
            or asked.is_personal
            or findings.related >= _MEANT_FROM
            or (_DEFINITE.match(asked.text) and findings.related >= RELATED_FROM)
            or _is_spoken_of(asked, found)
        ):
            return None  # a question for anybody, and none of its words was said
        if not any(
            speaks_of_person(each.passage, asked, self._past.before(each.passage)) for each in found[:_MOST_QUOTES]
        ):
            return None  # "what is my husband called", and only the son was talked of
        known_subject = bool(found) and (asked.is_personal or findings.related >= RELATED_FROM)
        if known_subject and asked.counts and asked.wanted == "number" and (listed := _uncounted(found, asked)):
            return self._quoted(listed, asked, findings.related)
        precise = bool(outright) and holds_precisely(asked, found[0].passage.text)
        if not precise and lacks_detail(asked, found[:_MOST_QUOTES]):  # "the same time": what was replaced may hold it
            found = every
        missing = lacks_detail(asked, found[:_MOST_QUOTES]) or lacks_purpose(asked, found[:_MOST_QUOTES])
        missing = missing and not precise
        certain = bool(found) and (findings.is_answer or named or (_asks_who(asked) and found[0].coverage > 0))
        if not found or missing or not (certain or findings.is_near):
            return None
        chosen = self._chosen(found, findings, asked, earlier)
        if lacks_detail(asked, chosen):  # "the same time": what it replaces holds the time
            chosen += [each for each in found[:_MOST_QUOTES] if not lacks_detail(asked, [each])][:1]
        answer = self._quoted(chosen, asked, findings.answered, earlier=earlier)
        return answer if certain else replace(answer, text=f"{self._phrases.unsure}\n{answer.text}", found=False)

    def _chosen(
        self, found: Sequence[ScoredMemory], findings: Findings, asked: MemoryQuestion, earlier: bool
    ) -> list[ScoredMemory]:
        """The messages to quote: what counts now or counted before, everything where a list is asked for."""
        listed = asked.is_list and not self._is_brief and (findings.is_answer or found[0].coverage > 0)
        best = found[0]
        corrected = self._corrected(best.passage, asked, self._past.after(best.passage)) if listed else None
        current = replace(best, passage=corrected) if corrected else findings.current
        last = [current] if current and not earlier else []  # what was said last counts
        if last and not listed:
            return _with_answer(last, found, asked)
        least = 0.0 if findings.is_answer and not listed else _BESIDE_FROM * found[0].coverage
        others = (each for each in found[1:] if each.coverage >= least and _is_near(each, found[0]))
        near = _distinct([found[0], *others])
        if earlier:
            return _with_answer(self._before(found) or [_oldest(near[:_MOST_QUOTES])], found, asked)
        if listed:
            every = _distinct([*near, *_holders(found, asked)])[: _MOST_LISTED - len(last)]
            agreeing = [each for each in every if _agrees(each.passage.text, asked)]
            return sorted({*(agreeing or every), *last}, key=lambda each: each.passage.said_at)
        return _with_answer(near[: 1 if self._is_brief else _MOST_QUOTES], found, asked)

    def _corrected(
        self, best: "MemoryPassage", asked: MemoryQuestion, after: Sequence["MemoryPassage"]
    ) -> "MemoryPassage | None":
        """What corrects the best message right after it ("no wait, make it Tuesday"), if that holds a wanted thing."""
        if best.role != "user":
            return None
        said = list(takewhile(lambda each: _CORRECTED.search(folded(each.words or each.text)) is not None, after))
        told = [
            each
            for each in said
            if each.corrects == best.turn_number
            or (
                asked.wanted not in UNTYPED
                and MessageWords.of(each.text).fillers(asked)
                and (asked.wanted == "age" or holds_precisely(asked, each.text))
            )
        ]
        return told[-1] if told else None

    def _before(self, found: Sequence[ScoredMemory]) -> list[ScoredMemory]:
        """What the best message replaced, the one that shares most with it; empty if it replaced none."""
        best, outdated = found[0].passage, self._past.outdated
        gone = (each for each in found[1:] if each.replaced or each.passage.message_id in outdated)
        older = (each for each in gone if _takes_up(best, each.passage))
        return sorted(older, key=lambda each: -len(stems_of(best.text) & stems_of(each.passage.text)))[:1]

    def _quoted(
        self, chosen: Sequence[ScoredMemory], asked: MemoryQuestion, certain: float, *, earlier: bool = False
    ) -> MemoryAnswer:
        lines = [self._quote(each.passage, asked, earlier=earlier) for each in chosen]
        return MemoryAnswer("\n".join(lines), int(certain * 1000) / 1000, tuple(each.passage for each in chosen))

    def _current(self, found: Sequence[ScoredMemory]) -> tuple[ScoredMemory, ...]:
        """Without a message that another one of them has replaced, if that one fits the question too."""
        least = _LATER_FROM * max((each.probability for each in found), default=0.0)
        fitting = {each.passage.message_id for each in found if each.coverage > 0 and each.probability >= least}
        gone = {old for old, known in self._past.replaced.items() if not fitting.isdisjoint(known.replaced_by)}
        return tuple(each for each in found if each.passage.message_id not in gone)

    def _fact(self, asked: MemoryQuestion) -> MemoryAnswer | None:
        """The message from which the fact was learned that the question asks for; None if it asks for no such fact."""
        surname = asked.wanted == "surname" and len(asked.terms) == 1  # the user's own
        groups = ["name"] if asked.own_name or surname else asked.fact_groups
        facts = [fact for fact in self._past.facts if _in_groups(fact.about, groups)]
        # A fact without anything of the wanted type replaced another one wrongly: that one counts.
        older = [fact for fact in self._past.superseded if facts and _in_groups(fact.about, groups)]
        for source in [*reversed(self._past.sources(facts)), *reversed(self._past.sources(older))]:
            if is_of_another(source.text, asked) or _EARLIER.search(folded(source.text)):
                continue
            if (groups in _FREE_GROUPS and not surname) or MessageWords.of(source.text).fillers(asked):
                said = self._past.holding(source)
                return MemoryAnswer(self._quote(said, asked), _FACT_CONFIDENCE, (said,), of_user=True)
        return None

    def _past_fact(self, asked: MemoryQuestion) -> MemoryAnswer | None:
        """The messages of facts that the question asks for and that hold no more, told as past; None without any."""
        groups = asked.fact_groups
        facts = [fact for fact in self._past.superseded if _in_groups(fact.about, groups)]
        lines, quoted = [], []
        for fact in facts[-_MOST_QUOTES:]:
            for source in self._past.sources([fact])[:1]:
                lines.append(self._ended(fact.valid_to, self._quote(source, asked)))
                quoted.append(source)
        return MemoryAnswer("\n".join(lines), _FACT_CONFIDENCE, tuple(quoted), of_user=True) if lines else None

    def claim(self, message: str, *, own: bool) -> MemoryAnswer:
        """Yes with the passage if what is claimed was said; otherwise that it was not found, and the nearest."""
        content = _CLAIM.sub(" ", folded(message)).strip(" ?!.,") or message
        asked = memory_question(content)
        role = "user" if own else "assistant"
        offered = [each for each in self._past.passages(message) if each.role == role]
        offered += [] if own else self._past.quoted()
        scored = score_memory(asked, offered).passages
        found = sorted(scored, key=lambda each: (-round(each.coverage, 1), -each.probability))
        if not found:
            return MemoryAnswer(self._phrases.never_said, 0.5, found=False)
        best = found[0]
        told = self._bears_out(best, content, denied=DENIED.search(_SAID.sub(" ", folded(message))) is not None)
        phrase = self._phrases.confirmed if told and not own else self._phrases.you_said if told else ""
        if not phrase and best.coverage < _NEAREST_FROM and best.probability < _NEAREST_FROM:
            return MemoryAnswer(self._phrases.never_said, 0.5, found=False)
        text = self._filled(phrase or self._phrases.nearest, best.passage, asked)
        return MemoryAnswer(text, round(best.coverage, 3), (best.passage,))

    def _bears_out(self, best: ScoredMemory, content: str, *, denied: bool) -> bool:
        text = folded(dialogue_act(best.passage.text).content)  # "don't forget that…" denies nothing
        if best.coverage < _CONFIRMED_FROM or not memory_question(content).terms:
            return False
        if any(number not in text for number in _NUMBER.findall(content)):
            return False
        return denied == (DENIED.search(text) is not None)

    def talk(self, question: str) -> MemoryAnswer:
        """What was said on a day, in the last session, or about a subject, in order."""
        now = self._past.now
        if mentioned := _MENTIONED.match(folded(question)):
            return self._mentions(question, folded(question)[mentioned.end() :])
        if (
            last_one := next((at > 0 for at, end in enumerate(_ENDS) if end.search(folded(question))), None)
        ) is not None:
            return self._end_of_talk(question, last=last_one)
        spans = periods(question, now)
        most = _points_wanted(folded(question))
        subject = _TALK.sub(" ", _POINTS.sub(" ", folded(question)))
        for span in spans:
            subject = subject.replace(folded(span.text), " ")
        about = memory_question(subject)
        last = _LAST.search(folded(question)) is not None
        timeless = bool(about.terms) and not (spans or last)
        if timeless and _I_ASKED.search(folded(question)) and (asked := self._questions(about, subject)):
            return self._told(asked, apart=False, most=most)
        if timeless and (found := self._about(about, subject)):
            of_it = any(MessageWords.of(each.text).heard(about) for each in found)
            return self._told(found, apart=not of_it, most=most)
        lines = self._past.talk_of(spans, last=last, most=_MOST_LINES)
        if _I_ASKED.search(folded(question)):
            lines = [each for each in lines if dialogue_act(each.text).act == "question"] or lines
        elif len(lines) > _MOST_LINES:  # what was told goes before what the reader was asked
            lines = [each for each in lines if each.around or dialogue_act(each.text).act in STATED] or lines
        if about.terms:  # of that time only what was said of the subject, if anything was
            on_it = {each.turn_number for each in lines if MessageWords.of(each.text).heard(about)}
            lines = [each for each in lines if each.turn_number in on_it] or lines
        then = last or not spans or any(span.start <= each.said_at < span.end for span in spans for each in lines)
        return self._told(lines, apart=not then, most=most)

    def _mentions(self, question: str, subject: str) -> MemoryAnswer:
        """The messages of the user that speak of something, and how many they are if that is asked."""
        about = memory_question(subject)
        said = [*self._past.passages(subject), *self._questions(about, subject)] if about.terms else []
        held = [
            each
            for each in {one.message_id: one for one in said}.values()
            if each.role == "user" and len(_heard_in(each.text, about)) == len(about.terms)
        ]
        if not held:
            return MemoryAnswer(self._phrases.never_said, 0.5, found=False)
        told = sorted(held, key=lambda each: each.said_at)
        counted = _HOW_OFTEN.match(folded(question)) is not None
        lines = [self._phrases.mentions.replace("{number}", str(len(told)))] if counted else []
        shown = told[-_MOST_LISTED if counted else -_MOST_QUOTES :]
        return MemoryAnswer("\n".join([*lines, *(self._quote(each, about) for each in shown)]), 0.9, tuple(shown))

    def _end_of_talk(self, question: str, *, last: bool) -> MemoryAnswer:
        """The first or the last thing that the user said, about a subject if one is named."""
        subject = _TALK.sub(" ", _ENDS[last].sub(" ", folded(question)))
        about = memory_question(subject)
        if _I_ASKED.search(folded(question)) or _ASKED_ONE.search(folded(question)):
            asked = self._questions(about, subject, last=last)
            return self._told([asked[-last]] if asked else [], apart=False)
        found = self._about(about, subject) if about.terms else []
        of_it = [each for each in found if each.role == "user" and MessageWords.of(each.text).heard(about)]
        ends = self._past.end_of_talk(last=last, asked=_MESSAGE.search(folded(question)) is not None)
        return self._told([of_it[-last]] if of_it else ends, apart=False)

    def _questions(self, about: MemoryQuestion, subject: str, *, last: bool = True) -> list["MemoryPassage"]:
        """What the user asked in the newest or the oldest sessions, or about a subject at any time, in order."""
        sessions = self._past.sessions()
        near = sessions[:_LOOKED_AT] if last else sessions[-_LOOKED_AT:]
        said = [each for one in near for each in self._past.talk(one, _MOST_ASKED, asked=True)]
        said += self._about(about, subject) if about.terms else []
        asked = {one.message_id: one for one in said if one.role == "user" and dialogue_act(one.text).act == "question"}
        found = [one for one in asked.values() if not about.terms or MessageWords.of(one.text).heard(about)]
        return sorted(found, key=lambda one: one.said_at)

    def _about(self, asked: MemoryQuestion, subject: str) -> list["MemoryPassage"]:
        found = score_memory(asked, self._past.passages(subject)).passages
        best = max((each.passage.score for each in found), default=0.0)
        near = [each.passage for each in found if each.coverage > 0 or each.passage.score >= 0.75 * best > 0]
        return sorted(near[:_MOST_LINES], key=lambda each: (each.said_at, each.turn_number, each.role != "user"))

    def _told(self, lines: Sequence["MemoryPassage"], *, apart: bool, most: int = _MOST_LINES) -> MemoryAnswer:
        """Messages in order, after the sentence that nothing was found where they are `apart` from what is asked.

        Of more than `most` messages the user's statements are told first, then the questions.
        """
        kept = [each for each in lines if len(each.text.split()) > 2][:_MOST_LINES]
        if len(kept) > most:
            acts = {each.message_id: dialogue_act(each.text).act for each in kept}
            ranked = sorted(kept, key=lambda each: (each.role != "user", acts[each.message_id] not in STATED))
            kept = [each for each in kept if each in ranked[:most]]
        if not kept:
            return MemoryAnswer(self._phrases.no_talk, 0.5, found=False)
        days = dict.fromkeys(self._day(each.said_at) for each in kept)
        said = self._phrases.talk.replace("{day}", "; ".join(days))
        written = [f"{self._phrases.no_talk} {said}" if apart else said]
        for each in kept:
            phrase = self._phrases.talk_user if each.role == "user" else self._phrases.talk_assistant
            written.append(phrase.replace("{quote}", shortened(each.text, _LONGEST_LINE)))
        return MemoryAnswer("\n".join(written), 0.8, tuple(kept), found=not apart)

    def about_user(self) -> MemoryAnswer | None:
        """What the user wished, what is no longer true, and what they said of themselves, in order."""
        said: dict[str, MemoryPassage] = {}
        for session in self._past.sessions()[:_LOOKED_AT]:
            for each in self._past.talk(session):
                stated = each.role == "user" and not each.text.rstrip().endswith("?") and _tells_of_user(each.text)
                if stated and len(each.text.split()) > 3:
                    said.setdefault(each.message_id, each)
        wishes = [fact for fact in self._past.facts if fact.is_instruction]
        known = [fact for fact in self._past.facts if not fact.is_instruction][:_MOST_KNOWN]
        ended = self._past.superseded[-_MOST_PAST:]
        newest = sorted(said.values(), key=lambda each: each.said_at)[-_MOST_KNOWN:]
        learned = [each for each in self._past.sources([*wishes, *known, *ended]) if _is_told_of_user(each)]
        same = {folded(each.text): each for each in (*learned, *newest)}  # what was told again is listed once
        sources = {each.message_id: each for each in same.values()}
        wished = {source.message_id for fact in wishes for source in fact.sources}
        told = sorted(sources.values(), key=lambda each: (each.message_id not in wished, each.said_at))
        lines = [
            f"- {fact.text}" for fact in wishes if sources.keys().isdisjoint(one.message_id for one in fact.sources)
        ]
        texts = [folded(each.text) for each in told]
        for at, each in enumerate(told):
            if texts[at] in texts[at + 1 :]:
                continue  # said again later
            over = self._past.outdated.get(each.message_id)
            gone = self._past.holding(each, ended=True)
            if over:
                line = self._filled(self._phrases.known_line, gone, memory_question(""))
                lines.append(f"- {self._ended(over.until, line)}")
            if (now := self._past.holding(each)) != gone or not over:
                lines.append(f"- {self._filled(self._phrases.known_line, now, memory_question(''))}")
        return MemoryAnswer("\n".join([self._phrases.known, *lines]), 0.8, tuple(told)) if lines else None

    def _day(self, moment: datetime) -> str:
        return relative_day(moment, self._past.now, self._past.zone, self._code, dated=True)

    def _quote(self, passage: "MemoryPassage", asked: MemoryQuestion, *, earlier: bool = False) -> str:
        phrase = self._phrases.you_said if passage.role == "user" else self._phrases.i_said
        said = self._filled(phrase, passage, asked)
        ended = self._past.outdated.get(passage.message_id) if earlier else None
        return said if ended is None else self._ended(ended.until, said)

    def _ended(self, until: datetime | None, said: str) -> str:
        """Something that held until a day."""
        day = self._day(until) if until else "–"
        phrase = self._phrases.until_date if day[0].isdigit() else self._phrases.until
        return phrase.replace("{day}", day).replace("{quote}", said)

    def _filled(self, phrase: str, passage: "MemoryPassage", asked: MemoryQuestion) -> str:
        quote = passage.words or best_part(passage.text, asked)
        said = phrase.replace("{day}", self._day(passage.said_at)).replace("{quote}", quote)
        return f"{said} ({passage.text.rstrip(' .')})" if passage.words else said


def _without_corrected(offered: Sequence["MemoryPassage"]) -> Sequence["MemoryPassage"]:
    """The passages without what another corrects, which is found as well as what it corrects."""
    gone = {(each.session_id, each.turn_number, each.role): each for each in offered}
    fixed = {(each.session_id, each.corrects, "user") for each in offered if each.corrects}
    kept = [each for each in offered if (each.session_id, each.turn_number, each.role) not in fixed]
    for at, each in enumerate(kept):
        if old := gone.get((each.session_id, each.corrects, "user")) if each.corrects else None:
            kept[at] = replace(each, score=max(each.score, old.score), cosine=max(each.cosine, old.cosine))
    return kept


def _said_at(passage: "MemoryPassage") -> datetime:
    return passage.said_at


def _repeats(text: str, asked: MemoryQuestion) -> bool:
    """Whether a text holds a word of a question; a verb such as "like" where the question has no other."""
    words, small = MessageWords.of(text), all_words("vocabulary.stop_words")
    return bool(words.heard(asked)) or (not asked.terms and not (asked.words - small).isdisjoint(words.plain))


def _points_wanted(plain: str) -> int:
    """The most points that a summary may have: "in three bullet points"."""
    wanted = _POINTS.search(plain)
    said = wanted[0].split() if wanted else []
    numbers = all_values("followups.cardinals")
    count = next(
        (int(word) if word.isdigit() else numbers[word] for word in said if word.isdigit() or word in numbers), 1
    )
    return min(_MOST_LINES, max(1, count)) if wanted else _MOST_LINES


def _heard_in(text: str, asked: MemoryQuestion) -> frozenset[int]:
    """The numbers of the words of a question that a text holds."""
    return frozenset[int]().union(*MessageWords.of(text).heard(asked).values())


def _is_told_of_user(passage: "MemoryPassage") -> bool:
    """Whether a message that a fact was learned from may be told as what the user said of themselves."""
    return dialogue_act(passage.text).act not in (*SMALL_TALK, "about_you", "hijack")


def says_nothing_new(message: str, recalled: MemoryAnswer | None) -> bool:
    """Whether an answer is certain and holds all words of a message, with more: so the message asks for it."""
    if recalled is None or not recalled.found:
        return False
    asked, said = memory_question(message), [MessageWords.of(each.text) for each in recalled.sources]
    heard_of = frozenset[int]().union(*(numbers for words in said for numbers in words.heard(asked).values()))
    asking = [forms(word) for word in asked.words if WH.fullmatch(word)]  # "wheres" is no word of an answer
    unheard = [at for at in _needed(asked, asked.wanted) - heard_of if asked.terms[at] not in asking]
    return not unheard and any(not asked.words.issuperset(words.plain) for words in said)


def _tells_of_user(text: str) -> bool:
    """Whether a message states something in the first person, and is no small talk, feeling, question or order."""
    act = dialogue_act(text)
    return act.act in STATED - FEELINGS and (act.about_oneself or act.act != "statement")


def _listed(facts: Sequence["SaidFact"]) -> str:
    """Facts as the user is told them, without one that another holds."""
    told = list(dict.fromkeys(fact.addressed for fact in facts))
    return "; ".join(each for each in told if not any(each in other for other in told if other != each))


def _distinct(found: Sequence[ScoredMemory]) -> list[ScoredMemory]:
    """Without a passage that says the same as a better one."""
    kept: list[ScoredMemory] = []
    for each in found:
        own = stems_of(each.passage.text)
        others = (stems_of(one.passage.text) for one in kept)
        if not any(len(own & other) >= 0.8 * max(1, min(len(own), len(other))) for other in others):
            kept.append(each)
    return kept


def _is_spoken_of(asked: MemoryQuestion, found: Sequence[ScoredMemory]) -> bool:
    """Whether a question has a word of the session that the best passage is from, or points at what was said."""
    said = (each.coverage for each in found if each.passage.session_id == found[0].passage.session_id)
    return max(said) >= _SPOKEN_FROM or POINTING.search(asked.text) is not None


def _is_named(name: str, asked: MemoryQuestion) -> bool:
    """Whether a question names one of several things: by its whole name or its capitalized words ("Sara, 8")."""
    capitalized = [folded(word) for word in name.split() if word[0].isupper()]
    return folded(name) in asked.text or (bool(capitalized) and asked.words.issuperset(capitalized))


def _asks_who(asked: MemoryQuestion) -> bool:
    """Whether a question only asks who a person is: a message that covers it names that person."""
    return _INTRODUCTION.match(asked.text) is not None and len(asked.names) >= len(asked.terms) > 0


def _is_near(one: ScoredMemory, best: ScoredMemory) -> bool:
    """Whether a passage is nearly as good as the best."""
    if one.replaced or (best.answers and best.coverage > 0 and not one.coverage):
        return False
    return one.probability >= _NEAR_THE_BEST * best.probability


def _agrees(text: str, asked: MemoryQuestion) -> bool:
    """Whether a message says what a question asks, and does not deny it: "I can't take aspirin" is no medicine."""
    words = MessageWords.of(text)
    clauses = {words.clauses[at]: words.clause_at(at) for at in words.heard(asked)}
    denied = [DENIED.search(folded(said)) is not None for said in clauses.values()]
    return not all(denied) if DENIED.search(asked.text) is None else any(denied)


def _with_answer(
    chosen: list[ScoredMemory], found: Sequence[ScoredMemory], asked: MemoryQuestion
) -> list[ScoredMemory]:
    """With the assistant's answer where the best quote is the user's question, or advice is asked for.

    A question beside the best quote is told by its answer as well.
    """
    best, *others = chosen
    asks = best.passage.text.rstrip().endswith("?")
    wanted = asks or asked.for_advice or _UNKNOWING.search(folded(best.passage.text))
    if wanted and (answer := _answer_to(best, found)):
        return [best, answer] if not asks or best.answers else [answer]
    answers = (each.passage.text.rstrip().endswith("?") and _answer_to(each, found) for each in others)
    return _distinct([best, *(answer or each for each, answer in zip(others, answers, strict=True))])


def _answer_to(asking: ScoredMemory, found: Sequence[ScoredMemory]) -> ScoredMemory | None:
    """The assistant's answer to a message of the user; that of the next turn where it only says "all right"."""
    said = asking.passage
    answers = {
        each.passage.turn_number: each
        for each in found
        if each.passage.role == "assistant"
        and each.passage.session_id == said.session_id
        and dialogue_act(each.passage.text).act not in SMALL_TALK
    }
    turns = (said.turn_number, said.turn_number + 1) if said.role == "user" else ()
    return next((answers[turn] for turn in turns if turn in answers), None)


def _oldest(chosen: list[ScoredMemory]) -> ScoredMemory:
    """The oldest of the quotes that speak of the question's subject as much as the best one: what counted before."""
    least = _RIVAL_FROM * chosen[0].coverage
    return min((each for each in chosen if each.coverage >= least), key=lambda each: each.passage.said_at)


def _holders(found: Sequence[ScoredMemory], asked: MemoryQuestion) -> list[ScoredMemory]:
    """The statements of the wanted speaker that name what is asked for: "which degrees", "how many cats"."""
    said = (each for each in found if each.passage.role == asked.speaker and not each.passage.text.endswith("?"))
    noun = forms(asked.noun) if asked.noun else frozenset[str]()
    return [each for each in said if any(not noun.isdisjoint(one) for one in MessageWords.of(each.passage.text).stems)]


def _uncounted(found: Sequence[ScoredMemory], asked: MemoryQuestion) -> list[ScoredMemory]:
    """What is to be counted, where no number was told but the things were: all messages that name them, in order."""
    if found[0].counted:
        return []
    holders = _holders(found, asked)
    if not holders:  # "how many books have I read": "I have read Dune, Emma and Ulysses" holds all but the noun
        best = found[0].passage.text
        said = frozenset[int]().union(*MessageWords.of(best).heard(asked).values())
        return [found[0]] if said and len(said) + 1 == len(asked.terms) and enumerates(best) else []
    if len(holders) < 2 and not enumerates(holders[0].passage.text):
        return []
    return sorted(holders[:_MOST_LISTED], key=lambda each: each.passage.said_at)


def _may_be_own(passage: "MemoryPassage") -> bool:
    return passage.role == "user" and not MessageWords.of(passage.text).matching("kin")


def _own_statements(found: Sequence[ScoredMemory], asked: MemoryQuestion) -> list["MemoryPassage"]:
    """The messages in which the user says what their work is ("illustrator here"), or where they live, if asked for."""
    patterns = [_OWN[group] for group in asked.fact_groups if group == "home" or (group, asked.wanted) == ("work", "")]
    said = (each.passage for each in found if each.passage.role == "user")
    return [each for each in said if any(pattern.search(folded(each.text)) for pattern in patterns)]


def _outright(
    asked: MemoryQuestion, findings: Findings, found: Sequence[ScoredMemory], past: "Past"
) -> list[ScoredMemory]:
    """The messages with one in front that tells outright what is asked for; empty if none does.

    Of several that count the same the newest alone counts. What the models hold for the answer stays in front.
    """
    if not (found and asked.terms) or asked.wanted == "reason" or (asked.is_yes_no and asked.wanted in UNTYPED):
        return []
    said = list(found[: 1 if findings.is_answer and not asked.counts else _MOST_TOLD])
    telling = [
        each
        for each in said
        if each.passage.role == asked.speaker and _is_told(asked, each.passage.text, partial(past.before, each.passage))
    ]
    if asked.counts and telling[:1] == said[:1]:
        newest = max(telling, key=lambda each: each.passage.said_at)
        return [newest, *(each for each in found if each not in telling)]
    if not telling or (findings.is_answer and telling[0] is not found[0]):
        return []
    return [telling[0], *(each for each in found if each is not telling[0])]


def _is_told(asked: MemoryQuestion, text: str, before: Callable[[], str]) -> bool:
    """Whether one sentence says all that a question does, and something that can be its answer: "my dog is Rex".

    A word that only repeats what is wanted, as "stay" beside "where", may be missing, and so may what a pronoun stands
    for, if the user said it right before.
    """
    words = MessageWords.of(text)
    if asked.wanted not in UNTYPED and words.holds_in_clause(asked):
        return True
    trade = asked.wanted in UNTYPED and _TRADE_ASKED.search(asked.text) is not None
    needed = _needed(asked, "trade" if trade else asked.wanted)
    heard_at = {at: numbers & needed for at, numbers in words.heard(asked).items() if numbers & needed}
    fillers = sorted({*words.fillers(asked), *words.also_fit(asked)})
    for start, end in sentences(text):
        sentence = folded(text[start:end])
        if sentence.endswith("?") or not holds_precisely(asked, sentence):
            continue
        denied = DENIED.search(sentence) is not None
        none_left = denied and asked.counts and FIRST_PERSON.search(sentence) is not None  # "I have no children"
        if not none_left and denied != (DENIED.search(asked.text) is not None):
            continue
        inside = [at for at, (first, _) in enumerate(words.spans) if start <= first < end]
        here = [at for at in inside if at in heard_at]
        missing = needed.difference(*(heard_at[at] for at in here))
        if here and missing and asked.wanted in _BY_SENTENCE and POINTING.search(sentence):
            missing = missing.difference(*MessageWords.of(before()).heard(asked).values())
        if missing or not here or supposes(sentence):
            continue
        happened = asked.wanted == "time" and _HAPPENED.match(asked.text) and not _WISHES.search(sentence)
        if none_left or happened:  # the day on which it was said tells when, if nothing else does
            return True
        if _TRADE.search(sentence) if trade else _is_filled(asked, words, [at for at in fillers if at in inside], here):
            return True
    return False


def _needed(asked: MemoryQuestion, wanted: str) -> frozenset[int]:
    """The numbers of the words of a question that its answer has to hold."""
    every = frozenset(range(len(asked.terms)))
    spare = [forms(word) for word in asked.words if wanted in _REPEATED and _REPEATED[wanted].fullmatch(word)]
    kind = [forms(asked.noun)] if wanted in _BY_SENTENCE and not asked.counts else []  # "which year", "what instrument"
    left = (frozenset(at for at in every if asked.terms[at] not in gone) for gone in ([*spare, *kind], spare))
    return next(filter(None, left), every)


def _is_filled(asked: MemoryQuestion, words: MessageWords, fillers: Sequence[int], here: Sequence[int]) -> bool:
    """Whether something in a sentence can be the answer, as it stands to the words of the question `here`."""
    if asked.wanted in NAMING:
        return words.are_linked(fillers, here)
    if asked.wanted == "place":
        said = {words.clauses[one] for one in here}
        return any(
            words.is_placed(at) and not said.isdisjoint((words.clauses[at], words.said_of(at))) for at in fillers
        )
    if asked.wanted:
        return asked.wanted == "time" and bool(fillers)
    if not (asked.is_personal or FIRST_PERSON.search(asked.text) or asked.names or _DEFINITE.match(asked.text)):
        return False  # "what is gluten", and gluten was spoken of
    noun, like = forms(asked.noun), synonyms(asked.noun)
    if asked.noun and not any(heard(noun, like, words.stems[at]) for at in here):
        verb = _OBJECT.search(asked.text)  # "which instrument does Ella play": "plays the cello"
        if verb is None:
            return False
        here = [at for at in here if heard(forms(verb["verb"]), frozenset(), words.stems[at])]
    elif all(words.plain[at] in asked.names for at in here):
        return False
    return any(words.leads_to(at, fillers) for at in here)


def _borne_out(found: Sequence[ScoredMemory], asked: MemoryQuestion) -> list[ScoredMemory]:
    """The newest message in which the user says all that "am I a vegetarian?" asks, or denies it."""
    if not (asked.is_yes_no and asked.terms and FIRST_PERSON.search(asked.text)):
        return []
    own = [each for each in found if each.coverage == 1 and each.passage.role == "user"]
    own = [each for each in own if not supposes(each.passage.text) and not each.passage.text.rstrip().endswith("?")]
    return sorted(own, key=lambda each: each.passage.said_at)[-1:]


def _takes_up(new: "MemoryPassage", old: "MemoryPassage") -> bool:
    """Whether a later message speaks of the same thing as an older one."""
    return new.said_at > old.said_at and bool(stems_of(new.text) & stems_of(old.text))


def _tells_it(text: str, asked: MemoryQuestion) -> bool:
    """Whether the message of a fact tells it: true unless it is the user's work and nothing there speaks of work."""
    if asked.wanted or asked.fact_groups != ["work"] or _OWN["work"].search(folded(text)):
        return True
    pairs = [(forms(word), like) for word in asked.words if (like := synonyms(word))]
    return any(heard(*pair, each) for pair in pairs for each in MessageWords.of(text).stems)


def _in_groups(about: str, groups: Sequence[str]) -> bool:
    return about in groups or group_of(about) in groups
