"""All that was said about one thing, laid out in time: mentions in, runs of the same claim out, and facts made of them.

Runs never overlap: each holds from its first mention to the first mention of the next one. A run that holds mentions of
a fact keeps that fact; where the mentions of a fact fall into two runs, the second becomes a fact of its own.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from uuid import UUID, uuid5

from ricordo.people.facts.claims import (
    Claim,
    When,
    digest_of,
    essence,
)
from ricordo.records.people import Fact, FactKind, Source, Trust

MOST_SOURCES = 20  # the first and the newest; who says their name every day does not fill a shelf with it
_SPLIT = UUID("0d6c1f3e-51f5-5b0a-9f0d-4f4b8b2a7c55")


@dataclass(frozen=True, slots=True)
class Statement:
    """One message that says something about the thing: known already (`fact`), or new (`candidate`)."""

    when: When
    message_id: str
    fact: Fact | None
    candidate: Claim | None

    @property
    def text(self) -> str:
        """The claim; empty where it is forgotten."""
        return self.fact.text if self.fact else self.candidate.text if self.candidate else ""

    @property
    def words(self) -> tuple[str, str]:
        """The claim and its language."""
        language = self.fact.language if self.fact else self.candidate.language if self.candidate else ""
        return self.text, language

    @property
    def kind(self) -> FactKind:
        """What kind of claim it is."""
        return self.fact.kind if self.fact else self.candidate.kind if self.candidate else "other"

    def digest(self, about: str) -> str:
        """The name of the claim."""
        return self.fact.digest if self.fact else digest_of(self.kind, about, *self.words)

    @property
    def source(self) -> Source | None:
        """Where it was said."""
        if self.candidate:
            return self.candidate.source
        assert self.fact is not None
        return next((source for source in self.fact.sources if source.message_id == self.message_id), None)

    def shares_words_with(self, other: "Statement") -> bool:
        """Whether both speak of the same thing."""
        return bool(essence(self.kind, *self.words) & essence(other.kind, *other.words))


@dataclass(frozen=True, slots=True)
class Run:
    """Mentions that say the same, one after the other; at most one fact among them."""

    mentions: tuple[Statement, ...]

    @property
    def start(self) -> datetime:
        """When it was first said."""
        return self.mentions[0].when.moment

    @property
    def fact(self) -> Fact | None:
        """The fact it goes on with."""
        return next((mention.fact for mention in self.mentions if mention.fact), None)

    @property
    def candidate(self) -> Claim:
        """What a new fact is made of."""
        return next(mention.candidate for mention in self.mentions if mention.candidate)


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs in order, and the mentions that deny something else: kept, since an older turn may give them a point."""

    runs: tuple[Run, ...]
    beside: tuple[Statement, ...]


def runs_of(
    mentions: Sequence[Statement],
    same: Callable[[Statement, Statement], bool],
    beside_the_point: Callable[[Run, Statement], bool],
) -> Runs:
    """Mentions, oldest first, those that say the same together; facts are never joined."""
    runs: list[Run] = []
    beside: list[Statement] = []
    for mention in mentions:
        if runs and beside_the_point(runs[-1], mention):
            beside.append(mention)
            continue
        last = runs[-1] if runs else None
        if last and same(last.mentions[-1], mention) and _one_fact(last, mention):
            runs[-1] = Run((*last.mentions, mention))
        else:
            runs.append(Run((mention,)))
    return Runs(tuple(runs), tuple(beside))


def _one_fact(run: Run, mention: Statement) -> bool:
    return run.fact is None or mention.fact is None or run.fact.id == mention.fact.id


def laid_out(found: Runs, new: Callable[[Run], Fact]) -> list[tuple[Fact, tuple[Trust, ...]]]:
    """The facts that runs become, with where their new mentions came from."""
    taken: set[str] = set()
    facts = [_fact_of(run, new, taken) for run in found.runs]
    ended = [
        replace(fact, valid_to=following.valid_from, superseded_by=following.id) for fact, following in pairwise(facts)
    ]
    if facts:
        ended.append(replace(facts[-1], valid_to=None, superseded_by=None))
    beside = [Run((mention,)) for mention in found.beside]
    ended += [_never_true(_fact_of(run, new, taken), facts) for run in beside]
    origins = [tuple(m.candidate.said.origin for m in run.mentions if m.candidate) for run in (*found.runs, *beside)]
    return list(zip(ended, origins, strict=True))


def _fact_of(run: Run, new: Callable[[Run], Fact], taken: set[str]) -> Fact:
    fact = run.fact
    if fact is None:
        fact = new(run)
    elif fact.id in taken:
        fact = replace(fact, id=str(uuid5(_SPLIT, f"{fact.id}\x1f{run.mentions[0].message_id}")))
    taken.add(fact.id)
    fact = _in_the_newest_words(fact, run)
    sources = tuple(dict.fromkeys(mention.source for mention in run.mentions if mention.source))
    if len(sources) > MOST_SOURCES:
        sources = (sources[0], *sources[1 - MOST_SOURCES :])
    return replace(fact, sources=sources if fact.text else (), valid_from=run.start)


def _in_the_newest_words(fact: Fact, run: Run) -> Fact:
    """The fact as it was last said, in the language that the user speaks now; telling less changes nothing."""
    newest = run.mentions[-1].candidate
    if newest is None or run.mentions[-1].digest(fact.about) != fact.digest:
        return fact
    return replace(fact, text=newest.text, language=newest.language, made_by=newest.made_by)


def _never_true(fact: Fact, facts: Sequence[Fact]) -> Fact:
    """A denial of something that was not so: it is kept, and was never what was known."""
    instead = next((each.id for each in reversed(facts) if each.valid_from <= fact.valid_from), None)
    return replace(fact, valid_to=fact.valid_from, superseded_by=instead)


SaidAt = Callable[[str], When | None]


def nobody_knows(message_id: str) -> When | None:
    """When a message was said, for callers who cannot look it up."""
    return None


def in_order(facts: Sequence[Fact], new: Sequence[Statement], said_at: SaidAt) -> list[Statement]:
    """All that was said about one thing, oldest first; `new` comes in its own order."""
    known = [mention for fact in _as_they_followed(facts) for mention in _mentions(fact, said_at)]
    known.sort(key=lambda mention: mention.when.moment)
    sharing = Counter(mention.when.moment for mention in (*known, *new))
    placed: list[Statement] = []
    for mention in known:
        if sharing[mention.when.moment] > 1:
            mention = replace(mention, when=_place(mention, placed[-1] if placed else None, said_at))
        placed.append(mention)
    return sorted((*placed, *new), key=lambda mention: mention.when)


def _place(mention: Statement, before: Statement | None, said_at: SaidAt) -> When:
    """Where a mention stands in its moment; one whose turn is gone not before what it followed there."""
    when = mention.when
    found = said_at(mention.message_id) if mention.message_id else None
    if found and found.moment == when.moment:
        return found
    return max(when, before.when) if before and before.when.moment == when.moment else when


def _as_they_followed(facts: Sequence[Fact]) -> list[Fact]:
    """Facts as they superseded one another, also those of one moment, which lasted no time."""
    by_id = {fact.id: fact for fact in facts}

    def still_to_come(fact: Fact) -> int:
        steps, each = 0, fact
        while each.valid_to == each.valid_from and each.superseded_by in by_id and steps < len(by_id):
            steps, each = steps + 1, by_id[each.superseded_by]
        return steps

    def order(fact: Fact) -> tuple[datetime, int]:
        return fact.valid_from, -still_to_come(fact)

    return sorted(facts, key=order)


def _mentions(fact: Fact, said_at: SaidAt) -> list[Statement]:
    """Every time a fact was said. Of a single source, or of the first, the fact itself tells the moment."""
    if not fact.sources:
        return [Statement(When(fact.valid_from), "", fact, None)]
    found = [said_at(source.message_id) for source in fact.sources[1:]]
    moments = [fact.valid_from, *(when.moment if when else fact.valid_from for when in found)]
    return [
        Statement(When(max(moment, fact.valid_from), source.session_id), source.message_id, fact, None)
        for moment, source in zip(moments, fact.sources, strict=True)
    ]
