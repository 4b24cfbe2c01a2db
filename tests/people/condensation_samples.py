"""What the tests of condensation share: talks made of texts, and talks made by chance that have known key details."""

import string
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from ricordo.engine.tokens import ApproximateCounter
from ricordo.records.derived import Summary
from ricordo.records.turns import Message, Owner, Turn, message_id

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
COUNTER = ApproximateCounter()
OWNER = Owner("test", "marco")


class WordCounter:
    """A word is a token, which adds up where texts are joined."""

    def count(self, text: str) -> int:
        return len(text.split())


def turn(number: int, query: str | None, response: str | None, *, chunks: Sequence[str] = (), tokens: int = 0) -> Turn:
    """One turn, with a fixed number of tokens a message if it is given."""
    at = NOW + timedelta(minutes=number)
    turn_id = f"turn-{number}"

    def message(part: str, role: str, text: str) -> Message:
        cited = tuple(chunks) if role == "assistant" else ()
        size = tokens or COUNTER.count(text)
        return Message(message_id(turn_id, part), role, text, at, size, chunk_ids=cited)  # type: ignore[arg-type]

    question = message("query", "user", query) if query else None
    answer = message("response", "assistant", response) if response else None
    return Turn(turn_id, OWNER, "tutor", "s1", number, at, question, answer)


def talk(*texts: str, first: int = 1) -> list[Turn]:
    """Turns of texts: question, answer, question, answer…"""
    pairs = zip(texts[::2], [*texts[1::2], None], strict=False)
    return [turn(first + position, query, response) for position, (query, response) in enumerate(pairs)]


def summary(text: str, first: int, last: int, *, tokens: int | None = None, topics: Sequence[str] = ()) -> Summary:
    """An earlier summary."""
    size = COUNTER.count(text) if tokens is None else tokens
    return Summary("id", "s1", "tutor", "condensation", text, first, last, tuple(topics), NOW, size, "c", "extractive")


_letters = st.text(string.ascii_lowercase, min_size=4, max_size=8)
# No generated name is a small word of a language: those that begin with these letters are not.
names = st.builds(lambda a, b: f"Zk{a} Qx{b}", _letters, _letters) | _letters.map(lambda word: f"Zk{word}")
numbers = (
    st.integers(10, 10**6).map(str) | st.decimals(1, 999, places=2).map(str) | st.integers(10, 99).map("{} kg".format)
)
dates = st.dates().map(lambda day: day.isoformat()) | st.builds(
    "{} {} {}".format, st.integers(1, 28), st.sampled_from(["marzo", "June", "dicembre"]), st.integers(1990, 2030)
)
paths = st.builds("/srv/{}/{}.py".format, _letters, _letters) | st.builds("src/{}/{}.md".format, _letters, _letters)
urls = st.builds("https://{}.example/{}?q=1".format, _letters, _letters)
_few = st.integers(1, 999)
ids = st.one_of(
    st.builds("doc{}#{}".format, _few, _few),
    st.builds("GX-{}".format, st.integers(10, 9999)),
    st.builds("manuale-{}#{}".format, _few, _few),
    st.builds("bio:{}:{}".format, _few, _few),
    st.builds("cap-{}.{}/p{}".format, _few, _few, _few),
    st.builds("v{}.{}.{}".format, _few, _few, _few),
    st.uuids().map(str),
)
code = (
    _letters.map("`run_{}()`".format)
    | st.builds("`{} --{} -x`".format, _letters, _letters)
    | _letters.map("run_{}".format)
)
key_details = st.one_of(names, numbers, dates, paths, urls, ids, code)
fillers = st.sampled_from(
    [
        "mi sembra che il corso parli di {} e di altro ancora",
        "we were talking about {} the other day",
        "ricordo bene {} dalla lezione",
        "non so se {} sia giusto",
        "the notes mention {} somewhere near the end",
    ]
)
saying = st.builds(lambda frame, thing: (frame.format(thing) + ".", thing), fillers, key_details)
sayings = st.lists(saying, min_size=2, max_size=24)
