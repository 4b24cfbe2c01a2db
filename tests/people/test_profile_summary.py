"""A summary as a profile tells it: who said what, and nothing that looks like the talk itself."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.tokens import ApproximateCounter
from ricordo.languages.registry import codes
from ricordo.languages.registry import language as language_by_code
from ricordo.people.profile import build_profile, join_pieces, summary_pieces
from ricordo.people.summaries.layout import SummaryParts, speaker_lines
from ricordo.prompt.memory_block import one_line
from ricordo.records.derived import Summary
from ricordo.settings import ProfileSettings

NOW = datetime(2026, 11, 15, 9, tzinfo=UTC)
ROLE = re.compile(r"\b(?:User|Assistant|Utente|Assistente)\b")

sentences = st.text("abcdè ,'", min_size=1, max_size=30).map(str.strip).filter(bool).map("{}.".format)
talks = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), sentences), min_size=1, max_size=8)


def recent(text: str, tokens: int = 200) -> str:
    """What a profile tells of a session with this summary."""
    summary = Summary("1", "s", "tutor", "session", text, 1, 2, (), NOW, 10, "c", "extractive")
    limits = ProfileSettings(profile_summary_tokens=tokens)
    return build_profile([summary], [], [], limits, ApproximateCounter(), NOW).recent_summary


@given(talk=talks, language=st.sampled_from(sorted(codes())), named=st.lists(st.sampled_from(["Torino", "bio:1"])))
def test_every_sentence_is_told_and_no_role(talk: list[tuple[str, str]], language: str, named: list[str]) -> None:
    """All that was said is there in its order, no label is, and in a prompt it stands as it is."""
    wording = language_by_code(language).summaries
    lines = speaker_lines([(wording.speaker(role), said) for role, said in talk])
    line = join_pieces(summary_pieces(SummaryParts(lines, tuple(named), 2).text(wording)))
    at = 0
    for _, said in talk:
        at = line.index(" ".join(said.split()), at) + 1
    assert not ROLE.search(line)
    assert one_line(line) == line


@given(talk=talks, language=st.sampled_from(sorted(codes())), tokens=st.integers(0, 60))
def test_quotes_that_are_opened_are_closed(talk: list[tuple[str, str]], language: str, tokens: int) -> None:
    """However little room there is, what is told fits and ends its quotes."""
    wording = language_by_code(language).summaries
    line = recent("\n".join(speaker_lines([(wording.speaker(role), said) for role, said in talk])), tokens)
    assert ApproximateCounter().count(line) <= tokens
    for opening, closing in ("«»", "“”"):
        assert line.count(opening) == line.count(closing)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "Utente: Ciao, mi chiamo Anna. Non capisco le frazioni.\nAssistente: Il denominatore dice le parti.\n"
            "Utente: Grazie!\nCitati: Padova · 3 giugno 2026 · 46 · doc-635#ee33f27c · notes.pdf (+2 altri)",
            "Ha detto: «Ciao, mi chiamo Anna. Non capisco le frazioni.» In risposta: «Il denominatore dice le "
            "parti.» Ha detto: «Grazie!» Citati: Padova, 3 giugno 2026.",
        ),
        (
            "User: Hi, I'm Anna.\nAssistant: Hello Anna!\nMentioned: Padua · bio:1 · `run_it()` · 3 June 2026",
            "They said: “Hi, I'm Anna.” In reply: “Hello Anna!” Mentioned: Padua, 3 June 2026.",
        ),
        ("Anna studia le frazioni. Ama la pizza.", "Anna studia le frazioni. Ama la pizza."),
        ("Anna studies fractions.\nMentioned: doc-1#2 (+4 more)", "Anna studies fractions."),
    ],
    ids=["it", "en", "by a model", "nothing else that tells"],
)
def test_how_it_reads(text: str, line: str) -> None:
    """Quotes with who said them, in the summary's language; names and dates that no sentence has come last."""
    assert recent(text) == line


def test_sessions_are_told_apart() -> None:
    """What was said in two sessions stands in two quotes."""
    summaries = [
        Summary(
            str(day), f"s{day}", "tutor", "session", f"User: Day {day}.", 1, 2, (), NOW.replace(day=day), 1, "c", "x"
        )
        for day in (1, 2)
    ]
    profile = build_profile(summaries, [], [], ProfileSettings(), ApproximateCounter(), NOW)
    assert profile.recent_summary == "They said: “Day 2.” They said: “Day 1.”"
