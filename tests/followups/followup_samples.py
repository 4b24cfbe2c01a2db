"""Strategies and talks shared by the tests of follow-ups."""

from datetime import UTC, datetime
from pathlib import Path

from hypothesis import strategies as st

from ricordo.followups.reference import PastTurn

CASES = Path(__file__).parents[1] / "data" / "followups_cases.jsonl"
NOON = datetime(2025, 5, 1, 12, tzinfo=UTC)

# Any text at all, and text made of the very pieces the rules look for, so that they are all reached.
PIECES = (
    "il secondo punto", "the first two", "tutti e tre", "none of them", "continua", "tell me more", "hai detto che",
    "you said that", "come prima", "what you said about", "it", "they", "lo", "questo", "E nei bambini?", "what about",
    "rispetto al primo", "which one is better", "1.", "2)", "(b)", "-", "##", "|", "|---|", "a)", "iv.", "\n", "\n\n",
    "```", "First,", "In primo luogo", "Infine", "[chunk-1]", "[fonti: a-1, b-2]", "ragù", "the Sony", "or", "tra",
    "?", "\u0130", "\ud800", "\x00", "½", "²", "١", "ﬁ", "👩‍👩‍👧", "e\u0301", " ", "'", "’", "il prossimo", "quello",
    "altri", "1 e 3", "la b", "gli altri due", "the rest", "quello sui", "the one about", "the latter", "either of",
    "l'ha inventata", ", the", "devo portare",
)  # fmt: skip
any_text = st.one_of(
    st.text(max_size=200),
    st.text(alphabet=st.characters(), max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=14).map("\n".join),
)
chunk_ids = st.lists(st.sampled_from(("chunk-1", "a-1", "b-2", "x", "(", "")), max_size=4).map(tuple)
turns = st.builds(PastTurn, st.just(1), any_text, any_text, chunk_ids)
talks = st.lists(turns, max_size=4).map(
    lambda found: tuple(
        PastTurn(number, turn.query, turn.response, turn.chunk_ids) for number, turn in enumerate(found, start=1)
    )
)


def talk(*pairs: tuple[str, str] | tuple[str, str, tuple[str, ...]]) -> tuple[PastTurn, ...]:
    """Past turns from (query, response) or (query, response, chunk ids)."""
    return tuple(
        PastTurn(number, pair[0], pair[1], pair[2] if len(pair) == 3 else ())
        for number, pair in enumerate(pairs, start=1)
    )
