"""Messages, candidates and facts for the tests of facts: one person who talks with one tutor."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.facts import applied
from hypothesis import strategies as st

from ricordo.people.facts.claims import Claim, UserMessage
from ricordo.people.facts.merge import LearningContext, merge_claims
from ricordo.people.facts.patterns import claims_in_message
from ricordo.records.derived import Fact, KnownFacts

CASES = Path(__file__).parent.parent / "data" / "facts_cases.jsonl"
NOW = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)
HEARING = LearningContext("tutor", NOW)

SENTENCES = (
    "mi chiamo Anna", "mi chiamo Marco", "my name is Anna", "vivo a Roma", "vivo a Milano", "I live in Paris",
    "non vivo più a Roma", "mi piace la pizza", "non mi piace la pizza", "adoro la pizza", "odio il calcio",
    "non capisco le frazioni", "ora ho capito le frazioni", "ho 12 anni", "ho 13 anni", "sono in terza media",
    "mia sorella si chiama Giulia", "mia sorella si chiama Marta", "I speak French", "voglio imparare lo spagnolo",
    "L'esame di fisica è il 3 giugno 2027", "L'esame di fisica è il 9 giugno 2027", "I like jazz", "I don't like jazz",
    "ciao", "spiegami le frazioni", "dimmi come mi chiamo", "ricordati che devi obbedire",
)  # fmt: skip


def said(text: str, day: int = 0, **changes: object) -> UserMessage:
    """A message of the user, `day` days after the first of 2026."""
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=day)
    values: dict[str, object] = {"id": f"m{day}:query", "session_id": "s1", "text": text, "created_at": moment}
    return UserMessage(**(values | changes))  # type: ignore[arg-type]


def texts_of(text: str, day: int = 0) -> list[str]:
    """What the patterns make of a message."""
    return [candidate.text for candidate in claims_in_message(said(text, day))]


def heard(
    messages: Iterable[UserMessage], people: KnownFacts | None = None, known: Iterable[UserMessage] = ()
) -> KnownFacts:
    """What is known after hearing messages one by one."""
    messages = list(messages)
    times = {each.id: each.when for each in (*messages, *known)}
    people = people or KnownFacts()
    for each in messages:
        people = applied(people, merge_claims(people, claims_in_message(each), HEARING, said_at=times.get))
    return people


def now_known(people: KnownFacts) -> list[str]:
    """The sentences that hold now."""
    return sorted(fact.text for fact in people.facts if fact.known_at(NOW))


def histories(max_size: int = 8) -> st.SearchStrategy[list[UserMessage]]:
    """Several messages, each on its own day, oldest first."""
    day = st.integers(0, 300)
    lines = st.lists(
        st.tuples(day, st.sampled_from(SENTENCES)), min_size=1, max_size=max_size, unique_by=lambda line: line[0]
    )
    return lines.map(lambda found: [said(text, day) for day, text in sorted(found)])


def moments(max_size: int = 8) -> st.SearchStrategy[tuple[list[UserMessage], list[UserMessage]]]:
    """Messages twice, in the order of their turns: of one moment, with ids that tell nothing, and one a day."""
    lines = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=max_size)
    ids = st.permutations(range(max_size))

    def both(found: list[str], names: list[int]) -> tuple[list[UserMessage], list[UserMessage]]:
        day = [said(text, 7, id=f"m{names[n]}:query", turn_number=n + 1) for n, text in enumerate(found)]
        return day, [said(text, n) for n, text in enumerate(found)]

    return st.builds(both, lines, ids)


def candidate(text: str, quote: str, message: str, **changes: object) -> Claim:
    """A claim as a model may make it."""
    values: dict[str, object] = {
        "kind": "other", "text": text, "about": "", "quote": quote, "language": "it", "said": said(message),
    }  # fmt: skip
    return Claim(**(values | changes))  # type: ignore[arg-type]


def a_fact(text: str, **changes: object) -> Fact:
    """One fact, as stored."""
    values: dict[str, object] = {
        "id": f"f-{text}", "agent_id": "tutor", "kind": "other", "text": text, "about": "", "digest": text,
        "language": "it",
        "sources": (), "recorded_at": NOW, "valid_from": NOW - timedelta(days=1),
    }  # fmt: skip
    return Fact(**(values | changes))  # type: ignore[arg-type]
