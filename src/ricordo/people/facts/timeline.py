"""The timeline of one subject: makes runs of equal statements, and facts from the runs.

Runs never overlap: each is valid from its first statement to the first statement of the next run. A run that replaces
another is valid from the time that it names ("since March"), if that lies between the two. A run with statements of a
stored fact keeps that fact. If the statements of a fact fall into two runs, the second becomes a new fact.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from uuid import UUID, uuid5

from ricordo.languages.dates import PHRASE, has_year, periods, resolve_day
from ricordo.languages.registry import AnyLanguage
from ricordo.people.facts.claims import Claim, MessageTime, claim_digest, core_terms
from ricordo.records.derived import Fact, FactKind, Source, Trust

TimeLookup = Callable[[str], MessageTime | None]
MAX_SOURCES = 20  # per fact: the first and the newest
_FROM_DAY = AnyLanguage(rf"\W*(?:<facts.starting>)\s?(?P<day>{PHRASE})\b")
_NEXT_HALF = 183  # days; a day of the year that is farther ahead is more likely the last one
_SPLIT = UUID("0d6c1f3e-51f5-5b0a-9f0d-4f4b8b2a7c55")


@dataclass(frozen=True, slots=True)
class Statement:
    """One message about the subject: stored (`fact`) or new (`candidate`)."""

    when: MessageTime
    message_id: str
    fact: Fact | None
    candidate: Claim | None

    @property
    def text(self) -> str:
        """The claim; empty if it was forgotten."""
        return self.fact.text if self.fact else self.candidate.text if self.candidate else ""

    @property
    def words(self) -> tuple[str, str]:
        language = self.fact.language if self.fact else self.candidate.language if self.candidate else ""
        return self.text, language

    @property
    def kind(self) -> FactKind:
        return self.fact.kind if self.fact else self.candidate.kind if self.candidate else "other"

    def digest(self, about: str) -> str:
        return self.fact.digest if self.fact else claim_digest(self.kind, about, *self.words)

    @property
    def made_by(self) -> str:
        return self.fact.made_by if self.fact else self.candidate.made_by if self.candidate else ""

    @property
    def source(self) -> Source | None:
        if self.candidate:
            return self.candidate.source
        assert self.fact is not None
        return next((source for source in self.fact.sources if source.message_id == self.message_id), None)

    def shares_words_with(self, other: "Statement") -> bool:
        """Whether two statements share core terms."""
        return bool(core_terms(self.kind, *self.words) & core_terms(other.kind, *other.words))


@dataclass(frozen=True, slots=True)
class StatementRun:
    """Consecutive statements that make the same claim; at most one stored fact among them."""

    statements: tuple[Statement, ...]

    @property
    def start(self) -> datetime:
        """The time of the first statement."""
        return self.statements[0].when.moment

    @property
    def fact(self) -> Fact | None:
        """The stored fact that the run continues."""
        return next((statement.fact for statement in self.statements if statement.fact), None)

    @property
    def candidate(self) -> Claim:
        """The claim that a new fact is made from."""
        return next(statement.candidate for statement in self.statements if statement.candidate)


@dataclass(frozen=True, slots=True)
class TimelineRuns:
    """The runs in order, and negations of other values, which matter if an older turn with the value is added."""

    runs: tuple[StatementRun, ...]
    irrelevant: tuple[Statement, ...]


def group_runs(
    statements: Sequence[Statement],
    same: Callable[[Statement, Statement], bool],
    is_irrelevant: Callable[[StatementRun, Statement], bool],
) -> TimelineRuns:
    """Group statements, oldest first, into runs of equal ones; two stored facts are never joined."""
    runs: list[StatementRun] = []
    irrelevant: list[Statement] = []
    for statement in statements:
        if runs and is_irrelevant(runs[-1], statement):
            irrelevant.append(statement)
            continue
        last = runs[-1] if runs else None
        if last and same(last.statements[-1], statement) and _one_fact(last, statement):
            runs[-1] = StatementRun((*last.statements, statement))
        else:
            runs.append(StatementRun((statement,)))
    return TimelineRuns(tuple(runs), tuple(irrelevant))


def _one_fact(run: StatementRun, statement: Statement) -> bool:
    return run.fact is None or statement.fact is None or run.fact.id == statement.fact.id


def facts_from_runs(found: TimelineRuns, new: Callable[[StatementRun], Fact]) -> list[tuple[Fact, tuple[Trust, ...]]]:
    """The fact of each run, with the trust levels of its new statements."""
    taken: set[str] = set()
    facts: list[Fact] = []
    for run in found.runs:
        fact = _fact_of(run, new, taken)
        facts.append(replace(fact, valid_from=_start(run, facts[-1].valid_from)) if facts else fact)
    ended = [
        replace(fact, valid_to=_end(run, following.valid_from), superseded_by=following.id)
        for (fact, following), run in zip(pairwise(facts), found.runs[1:], strict=True)
    ]
    if facts:
        ended.append(replace(facts[-1], valid_to=None, superseded_by=None))
    irrelevant = [StatementRun((statement,)) for statement in found.irrelevant]
    ended += [_never_true(_fact_of(run, new, taken), facts) for run in irrelevant]
    origins = [
        tuple(m.candidate.said.origin for m in run.statements if m.candidate) for run in (*found.runs, *irrelevant)
    ]
    return list(zip(ended, origins, strict=True))


def _start(run: StatementRun, previous: datetime) -> datetime:
    """When a run that replaces another begins: at the time that its first statement names, or when that was said."""
    first = run.statements[0]
    named = named_start(first.source.quote, run.start) if first.source else None
    return named if named and previous < named else run.start


def _end(following: StatementRun, begun: datetime) -> datetime:
    """When a run ends that another follows: when that was said, or on the later day that it names."""
    first = following.statements[0]
    day = _FROM_DAY.match(first.source.quote) if first.source else None
    if not day:
        return begun
    named = resolve_day(day["day"], begun.date(), first.words[1])
    far = named is None or ((named - begun.date()).days > _NEXT_HALF and not has_year(day["day"]))
    return begun if named is None or far else max(begun, datetime(*named.timetuple()[:3], tzinfo=begun.tzinfo))


def named_start(quote: str, said: datetime) -> datetime | None:
    """The past time from which a statement says that it holds: "since March", "last week"; None if it names none."""
    named = periods(quote, said)
    return named[0].start if len(named) == 1 and named[0].start < said else None


def _fact_of(run: StatementRun, new: Callable[[StatementRun], Fact], taken: set[str]) -> Fact:
    fact = run.fact
    if fact is None:
        fact = new(run)
    elif fact.id in taken:
        fact = replace(fact, id=str(uuid5(_SPLIT, f"{fact.id}\x1f{run.statements[0].message_id}")))
    taken.add(fact.id)
    fact = _with_newest_wording(fact, run)
    sources = tuple(dict.fromkeys(statement.source for statement in run.statements if statement.source))
    if len(sources) > MAX_SOURCES:
        sources = (sources[0], *sources[1 - MAX_SOURCES :])
    return replace(fact, sources=sources if fact.text else (), valid_from=run.start)


def _with_newest_wording(fact: Fact, run: StatementRun) -> Fact:
    """The fact in its newest wording and language; a less specific statement changes nothing."""
    newest = run.statements[-1].candidate
    if newest is None or run.statements[-1].digest(fact.about) != fact.digest:
        return fact
    sure = max(fact.confidence, newest.confidence)
    return replace(fact, text=newest.text, language=newest.language, made_by=newest.made_by, confidence=sure)


def _never_true(fact: Fact, facts: Sequence[Fact]) -> Fact:
    """A negation about another value, stored as a fact that was never current."""
    instead = next((each.id for each in reversed(facts) if each.valid_from <= fact.valid_from), None)
    return replace(fact, valid_to=fact.valid_from, superseded_by=instead)


def unknown_time(message_id: str) -> MessageTime | None:
    """The default lookup: no message time is known."""
    return None


def ordered_statements(facts: Sequence[Fact], new: Sequence[Statement], said_at: TimeLookup) -> list[Statement]:
    """All statements about one subject, oldest first; `new` ones keep their own order."""
    known = [statement for fact in _in_supersession_order(facts) for statement in _statements_of(fact, said_at)]
    known.sort(key=lambda statement: statement.when.moment)
    sharing = Counter(statement.when.moment for statement in (*known, *new))
    placed: list[Statement] = []
    for statement in known:
        if sharing[statement.when.moment] > 1:
            statement = replace(statement, when=_time_within_moment(statement, placed[-1] if placed else None, said_at))
        placed.append(statement)
    return sorted((*placed, *new), key=lambda statement: statement.when)


def _time_within_moment(statement: Statement, before: Statement | None, said_at: TimeLookup) -> MessageTime:
    """The time of a statement within a shared moment; if its turn is gone, not before its predecessor."""
    when = statement.when
    found = said_at(statement.message_id) if statement.message_id else None
    if found and found.moment == when.moment:
        return found
    return max(when, before.when) if before and before.when.moment == when.moment else when


def _in_supersession_order(facts: Sequence[Fact]) -> list[Fact]:
    """Facts in the order in which they superseded one another, even if their times are equal."""
    by_id = {fact.id: fact for fact in facts}

    def steps_to_end(fact: Fact) -> int:
        steps, each = 0, fact
        while each.valid_to == each.valid_from and each.superseded_by in by_id and steps < len(by_id):
            steps, each = steps + 1, by_id[each.superseded_by]
        return steps

    def order(fact: Fact) -> tuple[datetime, int]:
        return fact.valid_from, -steps_to_end(fact)

    return sorted(facts, key=order)


def _statements_of(fact: Fact, said_at: TimeLookup) -> list[Statement]:
    """One statement per source of a fact; the first was said when the fact began, unless it names an earlier time."""
    if not fact.sources:
        return [Statement(MessageTime(fact.valid_from), "", fact, None)]
    first = said_at(fact.sources[0].message_id) if named_start(fact.sources[0].quote, fact.recorded_at) else None
    found = [first, *(said_at(source.message_id) for source in fact.sources[1:])]
    moments = [when.moment if when else fact.valid_from for when in found]
    return [
        Statement(MessageTime(max(moment, fact.valid_from), source.session_id), source.message_id, fact, None)
        for moment, source in zip(moments, fact.sources, strict=True)
    ]
