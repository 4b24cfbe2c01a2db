"""The profile of a user within exact token limits."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ricordo.people.profile import as_bullets, as_list, build_profile, profile_json
from ricordo.records.derived import Fact, Profile, Summary
from ricordo.settings import ProfileSettings

NOW = datetime(2026, 11, 15, 9, tzinfo=UTC)
LIMITS = ProfileSettings()


class Characters:
    """A counter without a model: four characters a token, begun ones counted."""

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return -(-len(text) // 4)


COUNTER = Characters()


def a_summary(text: str, days_ago: int, session: str = "", topics: tuple[str, ...] = ()) -> Summary:
    """The summary of a session that ended some days ago."""
    return Summary(
        f"sum-{days_ago}-{session}", session or f"s{days_ago}", "tutor", "session", text, 1, 9, topics,
        NOW - timedelta(days=days_ago), 10, "c", "extractive",
    )  # fmt: skip


def a_fact(text: str, kind: str = "preference") -> Fact:
    """A fact that holds."""
    moment = NOW - timedelta(days=2)
    return Fact(f"f-{text}", "tutor", kind, text, "", text, "it", (), moment, moment)  # type: ignore[arg-type]


words = st.text("abcdè ", min_size=1, max_size=12)
lines = st.lists(words, min_size=1, max_size=12).map(" ".join)
prose = st.lists(lines, min_size=1, max_size=6).map(". ".join)
settings = st.builds(
    ProfileSettings,
    profile_sessions=st.integers(0, 4),
    profile_facts=st.integers(0, 6),
    profile_topics=st.integers(0, 12),
    profile_summary_tokens=st.integers(0, 60),
    profile_facts_tokens=st.integers(0, 40),
    profile_topics_tokens=st.integers(0, 20),
)


@given(st.lists(prose, max_size=5), st.lists(lines, max_size=9), st.lists(words, max_size=14), settings)
def test_no_part_exceeds_its_tokens_or_its_count(
    told: list[str], facts: list[str], topics: list[str], limits: ProfileSettings
) -> None:
    """Limits hold by the given counter, for the parts as they are rendered."""
    summaries = [a_summary(text, day) for day, text in enumerate(told)]
    profile = build_profile(summaries, [a_fact(text) for text in set(facts)], topics, limits, COUNTER, NOW)
    assert COUNTER.count(profile.recent_summary) <= limits.profile_summary_tokens
    assert COUNTER.count(as_bullets(profile.key_facts)) <= limits.profile_facts_tokens
    assert COUNTER.count(as_list(profile.topics)) <= limits.profile_topics_tokens
    assert len(profile.key_facts) <= limits.profile_facts
    assert len(profile.topics) <= limits.profile_topics


@given(st.lists(lines, max_size=9), st.lists(words, max_size=14), settings)
def test_facts_and_topics_are_whole(facts: list[str], topics: list[str], limits: ProfileSettings) -> None:
    """Nothing is cut in the middle: what is told is what is known."""
    profile = build_profile([], [a_fact(text) for text in set(facts)], topics, limits, COUNTER, NOW)
    assert set(profile.key_facts) <= {" ".join(text.split()) for text in facts}
    assert set(profile.topics) <= {" ".join(text.split()) for text in topics}


@given(st.permutations([a_summary(f"Sessione {day}.", day) for day in range(5)]))
def test_only_the_last_three_sessions_are_told(summaries: list[Summary]) -> None:
    """The newest first, in whatever order they are given; the date is that of the newest."""
    profile = build_profile(summaries, [], [], LIMITS, COUNTER, NOW)
    assert profile.recent_summary == "Sessione 0. Sessione 1. Sessione 2."
    assert profile.last_session_date == NOW


def test_a_summary_is_cut_between_sentences() -> None:
    """What does not fit is left out from a sentence on."""
    limits = ProfileSettings(profile_summary_tokens=8)
    profile = build_profile(
        [a_summary("Prima frase corta. Seconda frase molto più lunga della prima.", 1)], [], [], limits, COUNTER, NOW
    )
    assert profile.recent_summary == "Prima frase corta."


def test_one_sentence_that_is_too_long_is_cut_between_words() -> None:
    """With a mark that there was more."""
    limits = ProfileSettings(profile_summary_tokens=5)
    profile = build_profile([a_summary("Una sola frase senza alcun punto fermo", 1)], [], [], limits, COUNTER, NOW)
    assert profile.recent_summary == "Una sola frase…"


def test_a_fact_that_is_too_long_makes_room_for_the_next() -> None:
    """A long fact does not keep the shorter ones out."""
    limits = ProfileSettings(profile_facts_tokens=10)
    facts = [a_fact("Si chiama " + "Anna Maria " * 9, "name"), a_fact("Ama la pizza")]
    assert build_profile([], facts, [], limits, COUNTER, NOW).key_facts == ("Ama la pizza",)


def test_topics_of_summaries_follow_those_given_without_repetition() -> None:
    """Case and accents do not make another topic."""
    summaries = [a_summary("Ok.", 1, topics=("Frazioni", "denominatori"))]
    assert build_profile(summaries, [], ["frazioni", "Perché"], LIMITS, COUNTER, NOW).topics == (
        "frazioni",
        "Perché",
        "denominatori",
    )


def test_of_a_session_summed_up_twice_the_newer_view_is_told() -> None:
    """One session counts once."""
    summaries = [a_summary("Vecchia.", 2, "s"), a_summary("Nuova.", 1, "s")]
    assert build_profile(summaries, [], [], LIMITS, COUNTER, NOW).recent_summary == "Nuova."


def test_the_document_has_the_shape_of_the_endpoint() -> None:
    """Camel case, times in UTC with a Z, null where there is nothing."""
    profile = Profile("Frazioni.", ("Si chiama Anna",), ("frazioni",), datetime(2026, 1, 1, 10, tzinfo=UTC))
    assert profile_json(profile) == {
        "recentSummary": "Frazioni.",
        "keyFacts": ["Si chiama Anna"],
        "topics": ["frazioni"],
        "lastSessionDate": "2026-01-01T10:00:00Z",
    }
    assert profile_json(Profile()) == {"recentSummary": None, "keyFacts": [], "topics": [], "lastSessionDate": None}
