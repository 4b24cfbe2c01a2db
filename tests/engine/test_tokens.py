"""Counting is exact and offline, a cut text fits, and what a chat API adds around a message is counted too."""

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from splintr import Tokenizer

from ricordo.engine import TokenCounter, tokens
from ricordo.engine.tokens import (
    CUT_MARK,
    FAMILIES,
    ApproximateCounter,
    ExactCounter,
    content_tokens,
    counter_for,
    cut,
    family_of,
    message_cost,
    recounted,
    turn_cost,
)
from ricordo.memory import Memory
from ricordo.records.turns import Message, Owner, Turn
from ricordo.stores.memory import MemoryStore
from ricordo.testing.strategies import texts

TABLE = [
    json.loads(line) for line in (Path(__file__).parent.parent / "data" / "token_counts.jsonl").read_text().splitlines()
]
EXACT = counter_for("o200k")
COUNTERS = st.sampled_from([EXACT, counter_for("cl100k"), ApproximateCounter(3), ApproximateCounter(4)])
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300) | texts()


@cache
def vocabulary_of(family: str) -> Any:
    """The tokenizer itself, read once."""
    return Tokenizer.from_pretrained(FAMILIES[family])


class Tallying:
    """A counter that remembers how much it was asked to read."""

    def __init__(self, inner: TokenCounter) -> None:
        self.inner, self.calls, self.longest = inner, 0, 0
        self.name, self.exact, self.message_overhead = inner.name, inner.exact, inner.message_overhead

    def count(self, text: str) -> int:
        self.calls += 1
        self.longest = max(self.longest, len(text))
        return self.inner.count(text)


@pytest.mark.parametrize("family", ["o200k", "cl100k"])
def test_counts_equal_the_reference(family: str) -> None:
    """Each text of the table has as many tokens as the reference tokenizer of the family gives it."""
    counter = counter_for(family)
    assert {row["text"]: counter.count(row["text"]) for row in TABLE} == {row["text"]: row[family] for row in TABLE}


def test_special_markers_in_a_text_are_ordinary_text() -> None:
    """A user who types a special marker is counted for its characters: no marker is smuggled in as one token."""
    assert [EXACT.count(text) for text in ("<|endoftext|>", "<|im_start|>", "<|endofprompt|>")] == [7, 6, 7]


@pytest.mark.parametrize("family", FAMILIES)
@given(data=st.data())
def test_the_quick_way_of_counting_is_exact(family: str, data: st.DataObject) -> None:
    """Whatever is said, special markers and their halves included, counts what the ordinary encoding has ids for."""
    vocabulary = vocabulary_of(family)
    markers = st.sampled_from(sorted(vocabulary.special_tokens()))
    parts = data.draw(st.lists(ANY_TEXT | markers | markers.map(lambda marker: marker[:2]), max_size=4))
    assert counter_for(family).count("".join(parts)) == len(vocabulary.encode_ordinary("".join(parts)))


def test_all_counters_count_nothing_as_nothing() -> None:
    """The empty text costs 0 tokens in every family, by rule and by vocabulary."""
    everyone = [counter_for(family) for family in FAMILIES] + [ApproximateCounter(3), ApproximateCounter(4)]
    assert [counter.count("") for counter in everyone] == [0] * len(everyone)


@given(ANY_TEXT, st.sampled_from([3, 4]))
def test_the_approximation_is_characters_by_rate_rounded_up(text: str, rate: int) -> None:
    """The approximate counter divides characters by its rate and never gives 0 for something."""
    counted = ApproximateCounter(rate).count(text)
    assert counted * rate >= len(text) > (counted - 1) * rate
    assert (counted == 0) == (text == "")


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("o200k", "o200k"),
        ("o200k_base", "o200k"),
        ("cl100k_base", "cl100k"),
        ("gpt-4o-mini", "o200k"),
        ("openai/gpt-4.1", "o200k"),
        ("gpt-4-turbo", "cl100k"),
        ("gpt-35-turbo", "cl100k"),
        ("ft:gpt-4o-mini:acme", "o200k"),
        ("text-embedding-ada-002", "cl100k"),
        ("meta-llama/Llama-3.1-8B", "llama3"),
        ("Qwen/Qwen3-8B", "qwen3"),
        ("claude-opus", None),
        ("", None),
    ],
)
def test_a_model_name_leads_to_its_family(model: str, family: str | None) -> None:
    """The longest known beginning of a model name decides; an unknown one has no family."""
    assert family_of(model) == family


@pytest.mark.parametrize(("language", "rate"), [("it", 3), ("it-IT", 3), ("en", 4), ("de", 4)])
def test_an_unknown_model_is_counted_approximately_and_says_so(language: str, rate: int) -> None:
    """Without a tokenizer the rule of the language counts, and the counter says that it is not exact and why."""
    counter = counter_for("some-model", language)
    assert (counter.name, counter.exact) == (f"approximate-{rate}", False)
    assert isinstance(counter, ApproximateCounter)
    assert "some-model" in counter.reason


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_loads_offline_and_is_exact(family: str) -> None:
    """Every family named in the table has its vocabulary at hand."""
    counter = counter_for(family)
    assert (counter.name, counter.exact) == (family, True)
    assert counter.count("Quali sono i gradi?") >= 4


def test_a_tokenizer_that_cannot_load_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a vocabulary fails to load, the approximation takes over and names the family it stands in for."""

    def broken(family: str) -> TokenCounter:
        raise RuntimeError("no vocabulary")

    monkeypatch.setattr("ricordo.engine.tokens._exact", broken)
    counter = counter_for("gpt-4o", "it")
    assert (counter.name, counter.exact) == ("approximate-3", False)
    assert isinstance(counter, ApproximateCounter)
    assert "o200k" in counter.reason


def test_a_vocabulary_that_fails_with_the_first_count_costs_no_question(caplog: pytest.LogCaptureFixture) -> None:
    """It is read as late as that: what is said is kept, labelled as approximate from the first message on."""

    def broken() -> Any:
        raise RuntimeError("no vocabulary")

    for say in (
        lambda session: session.ask("Quali sono le fasi?"),
        lambda session: session.add_message("user", "Ciao"),
    ):
        memory = Memory(MemoryStore(), counter=ExactCounter("o200k", broken))
        session = memory.session(user_id="anna")
        say(session)
        (turn,) = session.history()
        assert (turn.counter, turn.tokens > 0) == ("approximate-3", True)
        assert not session.context("E poi?").receipt.counter_exact
        stats = memory.stats()
        assert (stats.counter, stats.counter_exact) == ("approximate-3", False)
        assert "o200k" in stats.degraded[0]
        memory.close()
    assert [record.name for record in caplog.records] == ["ricordo", "ricordo"]


# Messages


def _message(content: str, **more: object) -> Message:
    return Message("t:1", more.pop("role", "user"), content, datetime(2026, 1, 1, tzinfo=UTC), **more)  # type: ignore[arg-type]


def _counted(message: Message, counter: TokenCounter) -> Turn:
    turn = Turn("t", Owner("a", "b"), "agent", "s", 1, message.created_at, None, None, (message,))
    return recounted(turn, counter)


@pytest.mark.parametrize(
    ("family", "total"),
    [("o200k", 43), ("cl100k", 44)],
)
def test_a_chat_costs_what_the_api_charges(family: str, total: int) -> None:
    """Three marks and the role around each message, one more beside a name, three for the reply."""
    counter = counter_for(family)
    chat = [
        _message("Rispondi sempre in una frase.", role="system"),
        _message("Quanti turni restano nella finestra?", name="anna_rossi"),
        _message("Ne restano tre.", role="assistant"),
    ]
    assert 3 + sum(turn_cost(_counted(message, counter), counter) for message in chat) == total


@given(texts(), texts(), COUNTERS)
def test_names_and_tool_calls_are_counted(content: str, name: str, counter: TokenCounter) -> None:
    """A name costs its tokens and one more, a tool call the tokens of its JSON."""
    call = {"id": "c1", "function": {"name": "search", "arguments": '{"q": "gradi"}'}}
    plain = message_cost(_counted(_message(content, role="assistant"), counter).steps[0], counter)
    named = message_cost(_counted(_message(content, role="assistant", name=name), counter).steps[0], counter)
    calling = message_cost(_counted(_message(content, role="assistant", tool_calls=(call,)), counter).steps[0], counter)
    spelled = '{"function":{"arguments":"{\\"q\\": \\"gradi\\"}","name":"search"},"id":"c1"}'
    assert plain == counter.count(content) + counter.message_overhead
    assert named - plain == counter.count(name) + 1
    assert calling - plain == counter.count(spelled)


@given(texts(), COUNTERS)
def test_counts_of_the_same_counter_are_not_made_again(content: str, counter: TokenCounter) -> None:
    """A turn stored with this counter comes back as it is, uncounted; one of another counter is counted."""
    tallying = Tallying(counter)
    stored = _counted(_message(content), counter)
    assert recounted(stored, tallying) is stored
    assert tallying.calls == 0
    other = Turn("t", stored.owner, "a", "s", 1, stored.created_at, None, None, stored.steps, counter="another")
    assert recounted(other, tallying).tokens == content_tokens(content, (), counter)
    assert tallying.calls == 1


# Cutting


@given(ANY_TEXT, st.integers(-1, 60), COUNTERS, st.sampled_from(["", "\n"]))
@example("🇮🇹 " * 20, 3, EXACT, "")
@example("words " * 40, 2, EXACT, "\n")
def test_a_cut_text_fits_and_is_marked(text: str, limit: int, counter: TokenCounter, after: str) -> None:
    """The result fits together with what follows it, and is the text itself or a prefix with the mark."""
    result = cut(text, limit, counter, after=after)
    assert result == "" or counter.count(result + after) <= limit
    assert result in ("", text) or (result.endswith(CUT_MARK) and text.startswith(result.removesuffix(CUT_MARK)))


@given(ANY_TEXT, st.integers(0, 40), st.integers(0, 40), COUNTERS)
def test_more_room_never_cuts_a_text_away(text: str, limit: int, more: int, counter: TokenCounter) -> None:
    """What leaves something at a limit leaves something at every larger one."""
    if cut(text, limit, counter):
        assert cut(text, limit + more, counter)


@given(st.text("abc \n", min_size=1, max_size=200), st.integers(1, 30), st.sampled_from([3, 4]))
def test_the_longest_prefix_is_found(text: str, limit: int, rate: int) -> None:
    """Where longer texts always cost more, no longer prefix would have fitted."""
    counter = ApproximateCounter(rate)
    result = cut(text, limit, counter)
    if result != text:
        kept = len(result.removesuffix(CUT_MARK))
        assert counter.count(text[: kept + 1] + CUT_MARK) > limit


def test_where_no_word_fits_the_mark_stands_alone() -> None:
    """A word larger than the room leaves the mark; without room for the mark nothing is left."""
    assert cut("precipitevolissimevolmente", 1, EXACT) == CUT_MARK
    assert cut("🧑🏽‍🚀", 1, EXACT) == CUT_MARK
    assert cut("precipitevolissimevolmente", 0, EXACT) == ""


@pytest.mark.parametrize("unit", ["a", " ", "parola ", "😀", "漢", ".", "\n", "x1 "])
@pytest.mark.parametrize("limit", [1, 50, 2000])
def test_cutting_a_huge_text_reads_little_of_it(unit: str, limit: int) -> None:
    """A text of a million characters is counted a few dozen times, and never more of it than twice what fits."""
    counter = Tallying(EXACT)
    result = cut(unit * (1_000_000 // len(unit)), limit, counter)
    assert counter.calls <= 60
    assert counter.longest <= max(8 * limit, 2 * len(result)) + len(CUT_MARK)
    assert EXACT.count(result) <= limit


@pytest.mark.parametrize("family", FAMILIES)
def test_a_long_text_is_counted_exactly_in_pieces(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pieces of a text with words add up to the count of the whole, in every family."""
    sentence = "Che cos'è la fuga? Voci che entrano una dopo l'altra; see page 12 (or 13).\n\n- un elenco, e più...\n"
    text = "".join(f"{number}. {sentence}" for number in range(300))
    counter = counter_for(family)
    whole = counter.count(text)
    monkeypatch.setattr(tokens, "LONGEST_PIECE", 1_000)
    assert counter.count(text) == whole


@pytest.mark.parametrize("mark", ["*", " ", "#", ".", "\n", "ab", "🙂"])
def test_a_tokenizer_is_never_given_a_million_characters_at_once(mark: str) -> None:
    """What takes seconds as one piece, a million stars or blanks, is counted in pieces."""
    given: list[int] = []

    class Vocabulary:
        def encode_flat(self, text: str) -> bytes:
            given.append(len(text))
            return bytes(4 * len(text))

        def encode_ordinary(self, text: str) -> list[int]:
            raise AssertionError("there is no special marker in it")

        def special_tokens(self) -> dict[str, int]:
            return {"<|end|>": 1}

    text = mark * 1_000_000
    assert tokens._counting(Vocabulary())(text) == len(text)
    assert max(given) <= tokens.LONGEST_PIECE


@pytest.mark.parametrize("text", ["*" * 400_000, "a \n" * 130_000, "parola diversa, " * 25_000, "x" * 400_000])
@pytest.mark.parametrize("limit", [9_000, 40_000])
def test_a_very_long_text_is_cut_with_few_counts(text: str, limit: int) -> None:
    """What is left fits, wastes little, and the whole text is not counted again for each step of a search."""
    counted: list[int] = []

    class Counting:
        name, exact, message_overhead = "counting", True, 4
        inner = counter_for("gpt-4o")

        def count(self, text: str) -> int:
            counted.append(len(text))
            return self.inner.count(text)

    left = cut(text, limit, Counting(), after="\n\n")
    assert Counting.inner.count(left + "\n\n") <= limit
    assert left == text or Counting.inner.count(left) >= 0.9 * limit
    assert sum(counted) <= 12 * len(text)
