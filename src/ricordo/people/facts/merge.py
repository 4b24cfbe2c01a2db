"""Merge claims into the stored facts: what is new, what repeats a fact, and what supersedes one.

Facts and claims go in, a `FactChange` comes out. All statements about one subject form a timeline. A fact is a run of
equal statements, valid from its first statement until the next run begins. The timeline is rebuilt whenever a statement
is added, so the order of arrival does not matter: an import of older turns never supersedes newer ones.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import dropwhile, pairwise
from uuid import UUID, uuid5

from ricordo.languages.dates import PHRASE, last_day_in
from ricordo.languages.registry import AnyLanguage, all_words
from ricordo.people.facts.claims import (
    JUDGE,
    Claim,
    ForgetCommand,
    MessageTime,
    Similarity,
    about_family,
    claim_digest,
    core_terms,
    is_negative,
    is_same_claim,
    is_same_subject,
    opens_without_subject,
    refusal_reason,
)
from ricordo.people.facts.judge import OTHER, describe, likeness
from ricordo.people.facts.timeline import (
    MAX_SOURCES,
    Statement,
    StatementRun,
    TimeLookup,
    facts_from_runs,
    group_runs,
    ordered_statements,
    unknown_time,
)
from ricordo.recall.evidence import tokens
from ricordo.records.derived import Fact, FactChange, FactKind, KnownFacts
from ricordo.safety.screen import least_trusted

# Groups with one value at a time: a newer claim replaces the older.
SINGLE = frozenset({"name", "age", "home", "work", "study", "partner", "diet"})
# The nearness that one group adds to two statements; the least nearness of a change to the fact that it changes; that
# of a standing wish, or of a possible change, to the fact that it replaces; the least probability of a change.
_GROUPED, _NEAR, _NEAR_OTHERWISE, _MAYBE = 0.5, 0.55, 0.9, 0.15
_SURE, _CERTAIN = 0.65, 0.9  # least probability of a change that may be less near; of one that is not an addition
_LATEST = 0.15  # nearness that is added for the fact that was said last
_NEAR_ONLY = 0.2  # least nearness if only one fact can be meant
_TRANSLATED = 0.75  # least similarity of two names of one thing in two languages
_DAY = AnyLanguage(rf"\b(?:{PHRASE})(?:\s+\d{{4}})?")
_CHANGED = AnyLanguage(r"\b(?:<dialogue.changed>)\b")
# What wishes about answers are about, their language first. A newer wish replaces one about the same.
_MATTERS = [
    AnyLanguage(rf"\b(?:<facts.wish_{name}>)\b")
    for name in ("languages", "lengths", "units", "marks", "sources", "spelling")
]
_AMOUNT = AnyLanguage(r"\b(?:\d+(?:[.,]\d+)*|<dialogue.held:number>)\b")
_STATE = AnyLanguage(r"\W*(?:<facts.states>)\b")
_SUBJECT = 3  # words of a fact among which its subject is named
_SHORT = 2  # letters; a word of so few does not identify a person
_OF_OTHERS = AnyLanguage(r"(?:(?:<vocabulary.articles>)\s+)?(?:<facts.possessives>)\s")
_NAMES = re.compile(r"[A-ZÀ-Ý][\w'-]+")
_LISTED = AnyLanguage(rf"{_NAMES.pattern}(?:(?:,|,?\s+(?i:<facts.joins>))\s+{_NAMES.pattern})+", flags=0)
# The groups of the subjects in patterns.
_GROUPS = {
    "date:birthday": "age", "date:birthyear": "age", "place:origin": "origin", "place:birth": "origin",
    "name": "name", "age": "age", "place:home": "home", "job": "work", "study": "study", "class": "study",
    "place:school": "study",
}  # fmt: skip


def placed(claim: Claim, known: Iterable[Fact]) -> Claim:
    """The claim with the subject of the fact that it replaces, or that was learned from the same words before."""
    instruction = claim.about.startswith("instruction:")
    current: dict[str, Fact] = {}
    for fact in known:
        if any(source.message_id == claim.said.id and source.quote == claim.quote for source in fact.sources):
            return replace(claim, about=fact.about, kind=fact.kind)
        if (
            fact.text
            and fact.about.startswith("instruction:") == instruction
            and fact.valid_from < claim.said.created_at
            and (key := fact.about or fact.id)
            and (key not in current or current[key].valid_from < fact.valid_from)
        ):
            current[key] = fact
    facts = [fact for fact in current.values() if all(source.message_id != claim.said.id for source in fact.sources)]
    chosen = current.get(claim.about) if claim.replaces else None
    chosen = chosen or _renamed(claim, facts) or _recounted(claim, facts)
    if claim.made_by == JUDGE and chosen is None and (claim.replaces or instruction or claim.change >= _MAYBE):
        chosen = _replaced(claim, [fact for fact in facts if not _stays(fact, claim)])
    if claim.replaces and opens_without_subject(claim):
        fitting = (fact for fact in facts if _corrected(fact.text, claim.quote))
        chosen = chosen or max(fitting, key=lambda fact: fact.valid_from, default=None)
    if chosen and claim.replaces and opens_without_subject(claim):
        claim = replace(claim, text=_corrected(chosen.text, claim.quote) or claim.text)
    return replace(claim, about=chosen.about or own_about(chosen), kind=chosen.kind) if chosen else claim


def _corrected(known: str, said: str) -> str:
    """What is known with the day or the amount that "it's on 3 May", "it's 4421" says; empty if that tells neither."""
    leaning = all_words("facts.leaning")
    for value in (_DAY, _AMOUNT):
        old, new = (list(value.compiled.finditer(text)) for text in (known, said))
        if len(old) == len(new) == 1:
            was, now = (" ".join(dropwhile(leaning.__contains__, each[0][0].split())) for each in (old, new))
            return known.replace(was, now, 1)
    return ""


def own_about(fact: Fact) -> str:
    """The subject for a fact without one, which it needs when another fact supersedes it."""
    return f"said:{OTHER}:{fact.id}"


def _replaced(claim: Claim, facts: list[Fact]) -> Fact | None:
    """The fact that a claim is most likely about; None if none is near.

    Shared words count most, rare ones more; then the group of the subject; then similarity in meaning, which also finds
    what was said in another language or in other words.
    """
    terms = {fact.id: _terms(fact.text, fact.language) for fact in facts}
    common = Counter(term for own in terms.values() for term in own)
    if claim.change < _CERTAIN:  # "took a degree in law" says nothing of another degree
        added = _introduced(claim.text, claim.language)
        facts = [fact for fact in facts if not added & terms[fact.id]]
    wanted = _terms(claim.text, claim.language)
    group = group_of(claim.about)
    facts = [fact for fact in facts if not _is_of_same_only(fact, claim, terms[fact.id] & wanted, wanted)]

    if claim.about.startswith("instruction:"):  # wishes about different things hold side by side
        matters = _matters(claim)
        facts = [
            fact
            for fact in facts
            if (known := _matters(fact)) & matters or not (known or matters or wanted.isdisjoint(terms[fact.id]))
        ]
        languages = [fact for fact in facts if 0 in matters & _matters(fact)]
        if languages:
            return max(languages, key=lambda fact: fact.valid_from)
    sure = claim.replaces and claim.change >= _SURE
    latest = max((fact.valid_from for fact in facts), default=None)

    def nearness(fact: Fact) -> float:
        shared = sum(1 / common[term] for term in terms[fact.id] & wanted)
        own = group_of(fact.about) or describe(fact.text)[1]
        grouped = own == group != "other" and (sure or group in SINGLE)
        return shared + _GROUPED * grouped + _LATEST * (fact.valid_from == latest) + likeness(fact.text, claim.text)

    if not facts:
        return None
    best = max(facts, key=lambda fact: (nearness(fact), fact.valid_from))
    if nearness(best) >= (_NEAR if sure else _NEAR_OTHERWISE):
        return best
    return best if len(facts) == 1 and sure and nearness(best) >= _NEAR_ONLY else None


def _is_of_same_only(fact: Fact, claim: Claim, shared: frozenset[str], wanted: frozenset[str]) -> bool:
    """Whether a fact only has the same subject: "Tom broke his arm" is not ended by "Tom is no longer my friend"."""
    openings = (_terms(" ".join(each.text.split()[:_SUBJECT]), each.language) for each in (fact, claim))
    ends = is_negative(claim.kind, claim.text) and frozenset() < shared < wanted
    return ends and all(shared <= each for each in openings)


def _recounted(claim: Claim, facts: Iterable[Fact]) -> Fact | None:
    """The fact that states the same of another number: "has 3 dogs" and "has 2 dogs"."""
    wanted, amount = _counted(claim.text, claim.language)
    for fact in facts:
        known, before = _counted(fact.text, fact.language) if amount and fact.language == claim.language else ((), "")
        if before and before != amount and known == wanted:
            return fact
    return None


def _counted(text: str, language: str) -> tuple[frozenset[str], str]:
    """The words of a state with one amount, and the amount; empty for others."""
    bare = _CHANGED.sub(" ", text.lower())
    amounts = _AMOUNT.compiled.findall(bare)
    if len(amounts) != 1 or not _STATE.match(bare):
        return frozenset(), ""
    return core_terms("name", _AMOUNT.sub(" ", bare), language), amounts[0]


def _matters(wish: Claim | Fact) -> set[int]:
    """What a standing wish about answers is about; empty for other claims."""
    told = enumerate(_MATTERS) if wish.about.startswith("instruction:") else ()
    return {number for number, matter in told if matter.search(wish.text)}


def _renamed(claim: Claim, facts: list[Fact]) -> Fact | None:
    """The fact about a future day for which the claim names another day, with the same or a shorter name."""
    named = _subject_of_day(claim.text, claim.language)
    if not named or _introduced(claim.quote, claim.language):
        return None
    fitting = [
        fact
        for fact in facts
        if fact.about != claim.about
        and (named <= _subject_of_day(fact.text, fact.language) or _translates(claim, fact))
        and ((day := last_day_in(fact.text)) is None or day >= claim.said.created_at.date())
    ]
    return fitting[0] if len(fitting) == 1 else None


def _translates(claim: Claim, fact: Fact) -> bool:
    """Whether a claim and a fact of another language name one day of one thing: "l'esame" and "the exam"."""
    said, known = (_DAY.sub(" ", each.text) for each in (claim, fact))
    words = [" ".join(sorted(core_terms("name", text, each.language))) for text, each in ((said, claim), (known, fact))]
    return (
        claim.language != fact.language
        and bool(_subject_of_day(fact.text, fact.language))
        and likeness(*words) >= _TRANSLATED
    )


def _subject_of_day(text: str, language: str) -> frozenset[str]:
    """The terms of a sentence that names one day, without the day; empty if it names none or several."""
    bare, days = _DAY.compiled.subn(" ", text)
    return _terms(_CHANGED.sub(" ", bare), language) if days == 1 else frozenset()


def _stays(fact: Fact, claim: Claim) -> bool:
    """Whether a claim does not change a fact, because it is about another person or only some of those in it."""
    whose, separator, rest = claim.text.partition(": ")
    if (
        separator
        and rest[1:] == claim.quote[1:]
        and not _terms(whose, claim.language) & _terms(fact.text, fact.language)
    ):
        return True
    # "my wife works nights" and "I work at home"
    if claim.change < _CERTAIN and fact.sources and _OF_OTHERS.match(fact.sources[0].quote):
        shared = _terms(fact.text, fact.language) & _terms(claim.text, claim.language)
        return all(len(each) <= _SHORT for each in shared)
    lists = [*(listed[0] for listed in _LISTED.finditer(fact.text)), fact.text.partition(": ")[2]]
    return any(
        0 < sum(name in claim.text for name in names) < len(names)
        for listed in lists
        if len(names := _NAMES.findall(listed)) > 1
    )


def _terms(text: str, language: str) -> frozenset[str]:
    """The stems and the words of a sentence: names are the same in both languages, stems are not."""
    return core_terms("other", text, language) | core_terms("name", text, language)


def _introduced(text: str, language: str) -> frozenset[str]:
    """The terms after an indefinite article: something new."""
    articles = all_words("followups.indefinite")
    said = text.lower().replace("'", " ").split()
    new = " ".join(word for before, word in pairwise(said) if before in articles)
    return _terms(new, language) if new else frozenset()


def facts_to_forget(command: ForgetCommand, known: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts that a command means; none if it fits none, or fits several equally well and does not say "all".

    Words decide, the rarest most; if no fact shares a word with the command, the only fact of its group is meant.
    """
    facts = [fact for fact in known if _could_be_forgotten(fact, command)]
    named = _without_command_words(command)
    wanted = _terms(named, command.language)
    terms = {fact.id: _terms(fact.text, fact.language) for fact in facts}
    common = Counter(term for own in terms.values() for term in own)
    shared = {fact.id: sum(1 / common[term] for term in terms[fact.id] & wanted) for fact in facts}
    most = max(shared.values(), default=0.0)
    if most > 0:
        least = 0.0 if command.everything else most - 1e-9
        meant = [fact for fact in facts if shared[fact.id] > least]
    elif command.everything or named != named.lower() or any(c.isdigit() for c in named):
        return ()  # a name or number that no fact contains, or no words at all
    else:
        meant = [fact for fact in facts if group_of(fact.about) == command.group != "other"]
    return tuple(meant) if command.everything or len({fact.about or fact.id for fact in meant}) == 1 else ()


def _could_be_forgotten(fact: Fact, command: ForgetCommand) -> bool:
    """Whether a fact was known before the command, from other messages."""
    return (
        not fact.forgotten
        and bool(fact.text)
        and fact.valid_from <= command.said.created_at
        and all(source.message_id != command.said.id for source in fact.sources)
    )


def _without_command_words(command: ForgetCommand) -> str:
    words = all_words("facts.command_words")
    kept = [word for word in command.quote.split() if not set(tokens(word)) <= words]
    return " ".join(word if word != command.quote.split()[0] else word.lower() for word in kept)


def group_of(about: str) -> str:
    """The group of the subject that an `about` value names."""
    family, _, rest = about.partition(":")
    return rest.partition(":")[0] if family in ("said", "instruction") else _GROUPS.get(about, "")


_FACTS = UUID("a3b53c0e-7d0f-5a0e-8c39-5c2f1f0f6d11")


@dataclass(frozen=True, slots=True)
class LearningContext:
    """The agent, the time, and the ids of messages that must not be learned from."""

    agent_id: str
    now: datetime
    excluded: frozenset[str] = frozenset()


def merge_claims(
    people: KnownFacts,
    candidates: Iterable[Claim],
    context: LearningContext,
    *,
    said_at: TimeLookup = unknown_time,
    similarity: Similarity | None = None,
    learned: tuple[tuple[str, int], ...] = (),
) -> FactChange:
    """The change that stores the claims; merging the same claims again changes nothing.

    `said_at` looks up when the message of an older source was said. It is called only for facts that the claims touch,
    if they have several sources or share a moment with others. An unknown source counts as said when its fact began.
    """
    kept = dict.fromkeys(candidate for candidate in candidates if is_admitted(candidate, people, context))
    touched: dict[str, list[Claim]] = defaultdict(list)
    facts = {fact.id: fact for fact in people.facts}
    for candidate in sorted(kept, key=_sort_key):
        if candidate.made_by == JUDGE or candidate.kind == "date" or not candidate.about:
            there = placed(candidate, (*facts.values(), *_pending(touched, context)))
            # A message makes one statement about a subject: the second one that changes a fact becomes a new fact.
            rivals = (claim.said.id for claim in touched.get(there.about, ()))
            if candidate.replaces and there.about == candidate.about and opens_without_subject(candidate):
                continue  # "back on Monday" changes nothing that is known
            candidate = candidate if there.about != candidate.about and candidate.said.id in rivals else there
        for fact in facts.values():  # a replaced fact gets a subject, so that both are on one timeline
            if not fact.about and own_about(fact) == candidate.about:
                facts[fact.id] = replace(fact, about=candidate.about)
                break
        if candidate.about:
            touched[_about(candidate, facts.values(), similarity)].append(candidate)
        else:
            _add_uncontested(candidate, facts, context, similarity)
    for about, claims in touched.items():
        for fact in _timeline(about, claims, facts, context, said_at, similarity):
            facts[fact.id] = fact
    before = {fact.id: fact for fact in people.facts}
    put = tuple(fact for fact in move_pins(facts.values()) if before.get(fact.id) != fact)
    return FactChange(people.revision, put, learned)


def move_pins(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts, where the one that superseded a pinned fact is pinned in its place."""
    known = {fact.id: fact for fact in facts}
    for fact in tuple(known.values()):
        last = fact
        for _ in known:  # at most one step for each fact, because a damaged chain may be a cycle
            following = known.get(last.superseded_by or "")
            if following is None or following.forgotten:
                break
            last = following
        if fact.pinned and last is not fact:
            known[fact.id] = replace(known[fact.id], pinned=False)
            known[last.id] = replace(known[last.id], pinned=True)
    return tuple(known.values())


def _pending(touched: dict[str, list[Claim]], context: LearningContext) -> Iterable[Fact]:
    """The facts that the claims of this pass will become."""
    return (new_fact(claim, about, context) for about, claims in touched.items() for claim in claims)


def is_admitted(candidate: Claim, people: KnownFacts, context: LearningContext) -> bool:
    """Whether a claim may be learned: admitted, not from an excluded message, and not forgotten before."""
    if candidate.said.id in context.excluded or refusal_reason(candidate):
        return False
    forgotten = {fact.digest for fact in people.facts if fact.forgotten}
    return not forgotten or _digest(candidate) not in forgotten


def _sort_key(candidate: Claim) -> tuple[MessageTime, str, int, str]:
    return candidate.said.when, candidate.said.id, candidate.said.text.find(candidate.quote), candidate.text


def _digest(candidate: Claim) -> str:
    return claim_digest(candidate.kind, candidate.about, candidate.text, candidate.language)


def _about(candidate: Claim, facts: Iterable[Fact], similarity: Similarity | None) -> str:
    """The `about` of a stored fact on the same subject, or the claim's own."""
    near = ""
    for fact in facts:
        if fact.about == candidate.about:
            return candidate.about
        if (
            near
            or not fact.about
            or fact.kind != candidate.kind
            or about_family(fact.about) != about_family(candidate.about)
        ):
            continue
        texts = (fact.text, fact.language), (candidate.text, candidate.language)
        if about_family(fact.about) and (
            is_same_subject(fact.kind, *texts)
            or is_same_claim(fact.kind, *texts, narrower=False, similarity=similarity)
        ):
            near = fact.about
    return near or candidate.about


def _add_uncontested(
    candidate: Claim, facts: dict[str, Fact], context: LearningContext, similarity: Similarity | None
) -> None:
    """Add a claim without `about`: as one more source of an equal fact, or as a new fact."""
    for fact in facts.values():
        if fact.about or fact.forgotten or fact.kind != candidate.kind:
            continue
        texts = (fact.text, fact.language), (candidate.text, candidate.language)
        if is_same_claim(fact.kind, *texts, narrower=False, similarity=similarity):
            known = {source.message_id for source in fact.sources}
            if candidate.said.id not in known and len(known) < MAX_SOURCES:
                older = candidate.said.created_at < fact.valid_from
                sources = (candidate.source, *fact.sources) if older else (*fact.sources, candidate.source)
                facts[fact.id] = replace(
                    fact,
                    sources=sources,
                    valid_from=min(fact.valid_from, candidate.said.created_at),
                    origin=least_trusted((fact.origin, candidate.said.origin)),
                    confidence=max(fact.confidence, candidate.confidence),
                )
            return
    fact = new_fact(candidate, "", context)
    facts[fact.id] = fact


def _timeline(
    about: str,
    claims: Sequence[Claim],
    facts: dict[str, Fact],
    context: LearningContext,
    said_at: TimeLookup,
    similarity: Similarity | None,
) -> list[Fact]:
    """The facts about one subject after adding some claims."""
    own = [fact for fact in facts.values() if fact.about == about and not fact.forgotten]
    # A forgotten fact keeps its place, so that the fact it superseded does not become current again.
    after = {fact.superseded_by for fact in own}
    own += [fact for fact in facts.values() if fact.forgotten and fact.id in after]
    known = {source.message_id for fact in own for source in fact.sources}
    # A message makes one statement about a subject, even if another extractor reads it again.
    fresh = [candidate for candidate in _one_per_message(claims) if candidate.said.id not in known]
    new = [Statement(candidate.said.when, candidate.said.id, None, candidate) for candidate in fresh]
    statements = ordered_statements(own, new, said_at)

    def same(one: Statement, other: Statement) -> bool:
        if one.digest(about) == other.digest(about):
            return True
        if one.kind != other.kind or not one.text or not other.text:
            return False
        if other.candidate and other.made_by == JUDGE and (other.candidate.replaces or _CHANGED.search(other.text)):
            return False  # a change or an end of a fact does not repeat it, even without a new word
        return is_same_claim(one.kind, one.words, other.words, narrower=True, similarity=similarity)

    runs = facts_from_runs(
        group_runs(statements, same, _denies_something_else), lambda run: new_fact(run.candidate, about, context)
    )
    return [replace(fact, origin=least_trusted((fact.origin, *origins))) for fact, origins in runs]


def _one_per_message(claims: Sequence[Claim]) -> Iterable[Claim]:
    """One claim per message: the last that affirms, else the last."""
    chosen: dict[str, Claim] = {}
    for candidate in claims:
        rival = chosen.get(candidate.said.id)
        if rival is None or not (_is_negative(candidate) and not _is_negative(rival)) or about_family(candidate.about):
            chosen[candidate.said.id] = candidate
    return chosen.values()


def _is_negative(candidate: Claim) -> bool:
    return is_negative(candidate.kind, candidate.text)


def _denies_something_else(run: StatementRun, statement: Statement) -> bool:
    """Whether a negation is about another value: "not in Rome any more" from a user who lives in Milan."""
    last = run.statements[-1]
    if (
        not (last.text and statement.text)
        or statement.made_by == JUDGE  # a clause that ends a fact need not repeat its words
        or not is_negative(statement.kind, statement.text)
        or is_negative(last.kind, last.text)
    ):
        return False
    return not statement.shares_words_with(last)


def new_fact(candidate: Claim, about: str, context: LearningContext) -> Fact:
    """A fact with the claim as its only source. Its id is derived from the claim and the message."""
    kind: FactKind = candidate.kind
    digest = claim_digest(kind, about, candidate.text, candidate.language)
    return Fact(
        id=str(uuid5(_FACTS, "\x1f".join((context.agent_id, digest, candidate.said.id)))),
        agent_id=context.agent_id,
        kind=kind,
        text=candidate.text,
        about=about,
        digest=digest,
        language=candidate.language,
        sources=(candidate.source,),
        recorded_at=context.now,
        valid_from=candidate.said.created_at,
        made_by=candidate.made_by,
        origin=candidate.said.origin,
        confidence=candidate.confidence,
    )
