"""Candidates become facts: what is new, what was said before in other words, what is no longer true.

Facts and candidates go in, a `FactChange` comes out. All that was ever said about one thing is a timeline of mentions;
a fact is a run of mentions that say the same, true from its first mention until the next run begins. The timeline is
laid out again whenever something is added, so it does not matter in which order mentions arrive: an import of
older turns never supersedes what was said later.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid5

from ricordo.people.facts.admission import refusal
from ricordo.people.facts.claims import (
    Claim,
    Similarity,
    When,
    digest_of,
    family,
    is_negative,
    same_thing,
    says_the_same,
)
from ricordo.people.facts.timeline import (
    MOST_SOURCES,
    Run,
    SaidAt,
    Statement,
    in_order,
    laid_out,
    nobody_knows,
    runs_of,
)
from ricordo.records.people import TRUST, Fact, FactChange, FactKind, KnownFacts, Trust

# Which of two things was said first, also within one moment: an import by the day gives a whole day one time.


_FACTS = UUID("a3b53c0e-7d0f-5a0e-8c39-5c2f1f0f6d11")


@dataclass(frozen=True, slots=True)
class LearningContext:
    """Who hears, when, and what must not be learned from: ids of messages that hold recalled or composed text."""

    agent_id: str
    now: datetime
    excluded: frozenset[str] = frozenset()


def merge(
    people: KnownFacts,
    candidates: Iterable[Claim],
    hearing: LearningContext,
    *,
    said_at: SaidAt = nobody_knows,
    similarity: Similarity | None = None,
    learned: tuple[tuple[str, int], ...] = (),
) -> FactChange:
    """What to write so that the candidates are known; the same candidates again change nothing.

    `said_at` tells when the message of an older source was said; it is asked only for facts that the candidates touch,
    if they have several sources or share a moment with others. A source that it does not know counts as said when its
    fact began.
    """
    kept = dict.fromkeys(candidate for candidate in candidates if admitted(candidate, people, hearing))
    touched: dict[str, list[Claim]] = defaultdict(list)
    facts = {fact.id: fact for fact in people.facts}
    for candidate in sorted(kept, key=_order):
        if candidate.about:
            touched[_about(candidate, facts.values(), similarity)].append(candidate)
        else:
            _hear(candidate, facts, hearing, similarity)
    for about, heard in touched.items():
        for fact in _timeline(about, heard, facts, hearing, said_at, similarity):
            facts[fact.id] = fact
    before = {fact.id: fact for fact in people.facts}
    put = tuple(fact for fact in facts.values() if before.get(fact.id) != fact)
    return FactChange(people.revision, put, learned)


def admitted(candidate: Claim, people: KnownFacts, hearing: LearningContext) -> bool:
    """Whether a claim may be learned: it passes the gate, its message is no memory of ours, it was not forgotten."""
    if candidate.said.id in hearing.excluded or refusal(candidate):
        return False
    forgotten = {fact.digest for fact in people.facts if fact.forgotten}
    return not forgotten or _digest(candidate) not in forgotten


def _order(candidate: Claim) -> tuple[When, str, int, str]:
    return candidate.said.when, candidate.said.id, candidate.said.text.find(candidate.quote), candidate.text


def _digest(candidate: Claim) -> str:
    return digest_of(candidate.kind, candidate.about, candidate.text, candidate.language)


def _about(candidate: Claim, facts: Iterable[Fact], similarity: Similarity | None) -> str:
    """The `about` under which the same thing is known already, perhaps in other words."""
    near = ""
    for fact in facts:
        if fact.about == candidate.about:
            return candidate.about
        if near or not fact.about or fact.kind != candidate.kind or family(fact.about) != family(candidate.about):
            continue
        texts = (fact.text, fact.language), (candidate.text, candidate.language)
        if family(fact.about) and (
            same_thing(fact.kind, *texts) or says_the_same(fact.kind, *texts, narrower=False, similarity=similarity)
        ):
            near = fact.about
    return near or candidate.about


def _hear(candidate: Claim, facts: dict[str, Fact], hearing: LearningContext, similarity: Similarity | None) -> None:
    """A claim that nothing contradicts: one more source of a fact that says it, or a new fact."""
    for fact in facts.values():
        if fact.about or fact.forgotten or fact.kind != candidate.kind:
            continue
        texts = (fact.text, fact.language), (candidate.text, candidate.language)
        if says_the_same(fact.kind, *texts, narrower=False, similarity=similarity):
            heard = {source.message_id for source in fact.sources}
            if candidate.said.id not in heard and len(heard) < MOST_SOURCES:
                older = candidate.said.created_at < fact.valid_from
                sources = (candidate.source, *fact.sources) if older else (*fact.sources, candidate.source)
                facts[fact.id] = replace(
                    fact,
                    sources=sources,
                    valid_from=min(fact.valid_from, candidate.said.created_at),
                    origin=least_trusted((fact.origin, candidate.said.origin)),
                )
            return
    fact = new_fact(candidate, "", hearing)
    facts[fact.id] = fact


def _timeline(
    about: str,
    heard: Sequence[Claim],
    facts: dict[str, Fact],
    hearing: LearningContext,
    said_at: SaidAt,
    similarity: Similarity | None,
) -> list[Fact]:
    """The facts about one thing after hearing some more of it."""
    own = [fact for fact in facts.values() if fact.about == about and not fact.forgotten]
    # A forgotten fact keeps its place: what it had superseded does not become true again by forgetting.
    after = {fact.superseded_by for fact in own}
    own += [fact for fact in facts.values() if fact.forgotten and fact.id in after]
    known = {source.message_id for fact in own for source in fact.sources}
    # A message is heard once on a thing: what another reader makes of it later is no second statement.
    fresh = [candidate for candidate in _one_per_message(heard) if candidate.said.id not in known]
    new = [Statement(candidate.said.when, candidate.said.id, None, candidate) for candidate in fresh]
    mentions = in_order(own, new, said_at)

    def same(one: Statement, other: Statement) -> bool:
        if one.digest(about) == other.digest(about):
            return True
        if one.kind != other.kind or not one.text or not other.text:
            return False
        return says_the_same(one.kind, one.words, other.words, narrower=True, similarity=similarity)

    runs = laid_out(runs_of(mentions, same, _beside_the_point), lambda run: new_fact(run.candidate, about, hearing))
    return [replace(fact, origin=least_trusted((fact.origin, *origins))) for fact, origins in runs]


def _one_per_message(heard: Sequence[Claim]) -> Iterable[Claim]:
    """Of several claims of one message about one thing the last that affirms, or else the last."""
    chosen: dict[str, Claim] = {}
    for candidate in heard:
        rival = chosen.get(candidate.said.id)
        if rival is None or not (_negative(candidate) and not _negative(rival)) or family(candidate.about):
            chosen[candidate.said.id] = candidate
    return chosen.values()


def _negative(candidate: Claim) -> bool:
    return is_negative(candidate.kind, candidate.text)


def _beside_the_point(run: Run, mention: Statement) -> bool:
    """Whether a denial denies something else: who lives in Milan and says "not in Rome any more" still lives there."""
    last = run.mentions[-1]
    if (
        not (last.text and mention.text)
        or not is_negative(mention.kind, mention.text)
        or is_negative(last.kind, last.text)
    ):
        return False
    return not mention.shares_words_with(last)


def new_fact(candidate: Claim, about: str, hearing: LearningContext) -> Fact:
    """A fact with the candidate as its one source. The id follows from what it says and where it was said."""
    kind: FactKind = candidate.kind
    digest = digest_of(kind, about, candidate.text, candidate.language)
    return Fact(
        id=str(uuid5(_FACTS, "\x1f".join((hearing.agent_id, digest, candidate.said.id)))),
        agent_id=hearing.agent_id,
        kind=kind,
        text=candidate.text,
        about=about,
        digest=digest,
        language=candidate.language,
        sources=(candidate.source,),
        recorded_at=hearing.now,
        valid_from=candidate.said.created_at,
        made_by=candidate.made_by,
        origin=candidate.said.origin,
    )


def least_trusted(origins: Iterable[Trust]) -> Trust:
    """The origin that a thing made of several has: the least trusted of theirs."""
    return max(origins, key=TRUST.index)
