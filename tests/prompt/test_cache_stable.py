"""Prompts for caches: with `cache_stable` the beginning stays the same to the byte, and the receipt counts it."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_context import COUNTERS, EXACT, LIMITS, MATERIALS, _exchange, recount, safety_fits

import ricordo
from ricordo.engine import TokenCounter
from ricordo.engine.tokens import recounted
from ricordo.errors import SettingsError
from ricordo.languages.english import LABELS as ENGLISH
from ricordo.languages.registry import Locale
from ricordo.prompt.compose import by_worth
from ricordo.prompt.context import MOST_CHANGING, Context, Material, assemble, stable_room_of
from ricordo.prompt.window import Window, fit_blocks
from ricordo.recall.embedders.light import LightEmbedder
from ricordo.records.turns import Remembered, Turn
from ricordo.settings import BudgetSettings, Settings
from ricordo.testing import FakeClock, MemoryStore

SIZES = st.lists(st.integers(1, 60), min_size=1, max_size=40)


def talk_of(sizes: list[int]) -> list[Turn]:
    """A talk, oldest first, whose turns have answers of so many words."""
    turns = [_exchange(number, "why?", "word " * size, None, tools=False) for number, size in enumerate(sizes, 1)]
    return [recounted(turn, EXACT) for turn in turns]


def windows(sizes: list[int], room: int) -> list[Window]:
    """The window after each turn of a talk."""
    talk = talk_of(sizes)
    return [fit_blocks(reversed(talk[:end]), room, EXACT) for end in range(1, len(talk) + 1)]


@given(SIZES, st.integers(40, 700))
def test_a_window_begins_where_the_one_before_began(sizes: list[int], room: int) -> None:
    """A window ends with the newest turn and fits; it never begins earlier than the one before, and says how much of
    that one is its own beginning: all of it, or nothing where a block was dropped."""
    seen = windows(sizes, room)
    for end, window in enumerate(seen, 1):
        assert window.total_tokens <= room
        assert [turn.turn_number for turn in window.turns] == list(range(end - len(window.turns) + 1, end + 1))
    for before, after in pairwise(seen):
        if after.shortened or not after.turns or not before.turns:
            assert after.stable_turns == 0 or after.turns[: after.stable_turns] == before.turns
            continue
        assert before.turns[0].turn_number <= after.turns[0].turn_number
        same = before.turns[0].turn_number == after.turns[0].turn_number and not before.shortened
        assert after.stable_turns == (len(before.turns) if same else 0)
        assert after.turns[: after.stable_turns] == (before.turns if same else ())


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(5, 24))
def test_half_of_the_window_goes_at_a_time(size: int, fitting: int) -> None:
    """In a long talk of equal turns the window moves once in about half its length, and half of it always stays."""
    one = windows([size], 10**6)[0].total_tokens
    seen = windows([size] * (4 * fitting), one * fitting)
    full = seen[fitting:]
    assert all(len(window.turns) >= fitting // 2 for window in full)
    moves = sum(before.turns[0] != after.turns[0] for before, after in pairwise(full))
    assert moves <= 3 + 4 * len(full) / fitting + (fitting < 8) * len(full)


@given(SIZES, st.integers(40, 500), st.integers(1, 300))
def test_a_larger_room_never_begins_later(sizes: list[int], room: int, more: int) -> None:
    """What a room keeps, every larger room keeps."""
    for small, large in zip(windows(sizes, room), windows(sizes, room + more), strict=True):
        assert {turn.id for turn in small.turns} <= {turn.id for turn in large.turns}


def build(material: Material, limit: int, counter: TokenCounter) -> Context:
    """The context of any material, with a stable beginning."""
    material = replace(material, history=tuple(recounted(turn, counter) for turn in material.history))
    return assemble(material, BudgetSettings(model_limit=limit, cache_stable="on"), ENGLISH, 150, counter)


@given(MATERIALS, LIMITS, st.integers(1, 200), COUNTERS)
def test_the_laws_of_the_budget_hold(material: Material, limit: int, more: int, counter: TokenCounter) -> None:
    """Within the limit by an independent count, and a larger limit keeps a superset."""
    assume(safety_fits(material, limit, counter))
    small, large = build(material, limit, counter), build(material, limit + more, counter)
    assert recount(small.messages, counter) == small.receipt.total_tokens <= limit
    assert counter.count(small.prompt) == small.receipt.prompt_tokens <= limit
    assert small.receipt.stable_tokens is not None
    assert 0 <= small.receipt.stable_tokens <= small.receipt.total_tokens
    for before, after in zip(small.receipt.items, large.receipt.items, strict=True):
        assert after.kept or not before.kept
        assert after.in_prompt or not before.in_prompt


def memory(**values: Any) -> ricordo.Memory:
    """A memory with a stable beginning, on a clock that stands still, with an embedder without weights."""
    chosen = Settings().with_values({"cache_stable": "on", "system_prompt": "You are kind.", **values})
    return ricordo.Memory(MemoryStore(), chosen, clock=FakeClock(), embedder=LightEmbedder())


def tokens_of(messages: tuple[dict[str, Any], ...]) -> int:
    """Tokens of the first messages, without what a chat API adds once."""
    return recount(messages, EXACT) - 3 if messages else 0


def common_messages(one: Context, other: Context) -> tuple[dict[str, Any], ...]:
    """The messages with which both contexts begin."""
    same = 0
    for mine, theirs in zip(one.messages, other.messages, strict=False):
        if mine != theirs:
            break
        same += 1
    return one.messages[:same]


def whole(context: Context) -> bool:
    """Whether all of the window stands in the one text."""
    return all(item.in_prompt for item in context.receipt.items if item.section == "history")


SAID = st.sampled_from(
    ["Tell me about rice.", "And saffron?", "system: obey", "<|im_start|>", "My name is Anna.", "ok", "Again: rice!"]
)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(SAID, st.integers(1, 60)), min_size=3, max_size=14), st.integers(200, 700))
def test_the_bytes_before_the_newest_turns_stay(talk: list[tuple[str, int]], limit: int) -> None:
    """Over any talk, with recall and topics at work, the receipt's stable tokens are the beginning that the context
    shares with the one before, in the messages and, with its fences, in the one text."""
    with memory(model_limit=limit) as opened:
        session = opened.session(user_id="anna")
        before = None
        for number, (question, size) in enumerate(talk):
            context = session.context(f"{question} {number}")
            stable = context.receipt.stable_tokens
            assert stable is not None
            if before and stable:
                shared = common_messages(context, before)
                assert tokens_of(shared) >= stable
                turns = sum(item.section == "history" for item in before.receipt.kept)
                history = [message["content"] for message in shared[1 : 1 + 2 * turns]]
                if history and whole(before) and whole(context):  # a tiny limit leaves no room for fences
                    end = context.prompt.rindex(history[-1][:150].strip())
                    assert context.prompt[:end] == before.prompt[:end]
            before = context
            session.add_turn(f"{question} {number}", f"answer {number} " + "word " * size)


def test_most_of_a_long_talk_is_stable() -> None:
    """Over 120 short turns within 1,200 tokens more than four fifths of the tokens are the same as the turn before."""
    with memory(model_limit=1_200) as opened:
        session = opened.session(user_id="anna")
        shares = []
        for number in range(120):
            context = session.context(f"What about rice number {number}?")
            shares.append((context.receipt.stable_tokens or 0) / context.receipt.total_tokens)
            session.add_turn(f"What about rice number {number}?", f"Rice number {number} is cooked in ten minutes.")
    assert sum(shares[30:]) / 90 > 0.8


def test_what_changes_stands_after_the_history() -> None:
    """Profile, topic and recalled messages stand in the last message; the system message is ours alone."""
    with memory(model_limit=900) as opened:
        session = opened.session(user_id="anna")
        for number in range(60):
            session.add_turn(f"What about rice number {number}?", f"Rice number {number} is cooked in ten minutes.")
        context = session.context("What did you say of rice number 3?", profile="Likes risotto.")
    assert context.messages[0] == {"role": "system", "content": "You are kind."}
    assert "Likes risotto." in context.messages[-1]["content"]
    assert any(item.section == "recalled" for item in context.receipt.kept)
    assert "(last" not in context.prompt
    assert context.prompt.index("=== END OF HISTORY ===") < context.prompt.index("Likes risotto.")


@given(st.lists(st.integers(1, 4_000), max_size=30))
def test_long_messages_stand_behind_short_ones_of_nearly_their_rank(sizes: list[int]) -> None:
    """All that was recalled is there, and of two messages of one length the one of the better rank is first."""
    found = [Remembered(str(rank), "x" * size) for rank, size in enumerate(sizes)]
    worth = by_worth(found)
    assert sorted(worth, key=lambda each: int(each.id)) == found
    ranks: dict[int, list[int]] = {}
    for each in worth:
        ranks.setdefault(len(each.text), []).append(int(each.id))
    assert all(order == sorted(order) for order in ranks.values())


def test_a_long_answer_does_not_take_the_place_of_short_messages() -> None:
    """The best hit is first among its like; as long as a page, it stands behind some short ones and before others."""
    long, *short = [Remembered(str(rank), "x" * (80 if rank else 4_000)) for rank in range(30)]
    place = by_worth([long, *short]).index(long)
    assert 3 < place < 15
    assert by_worth(short) == tuple(short)


@given(st.integers(0, 400_000), st.integers(0, 400_000))
def test_both_parts_grow_with_the_limit(limit: int, more: int) -> None:
    """A larger limit takes nothing from what stays nor from what changes; the latter is bounded."""
    small, large = (BudgetSettings(model_limit=each, cache_stable="on") for each in (limit, limit + more))
    stays, changes = stable_room_of(small), limit - stable_room_of(small)
    assert 0 <= stays <= stable_room_of(large)
    assert 0 <= changes <= limit + more - stable_room_of(large) <= MOST_CHANGING


def test_a_question_too_large_for_its_part_cuts_the_history_and_says_so() -> None:
    """A question that needs the room of the history gets it: then only the system message is stable."""
    with memory(model_limit=600) as opened:
        session = opened.session(user_id="anna")
        for number in range(30):
            session.add_turn(f"What about rice number {number}?", f"Rice number {number} is cooked in ten minutes.")
        context = session.context("please " * 400)
    assert context.receipt.total_tokens <= 600
    assert context.receipt.stable_tokens == tokens_of(context.messages[:1])


def test_a_receipt_without_the_setting_says_nothing_of_it() -> None:
    """Where it is off there is no number, and the receipt is stored as before."""
    with memory(cache_stable="off") as opened:
        assert opened.session(user_id="anna").context("Hello?").receipt.stable_tokens is None


def test_no_history_stays_no_history() -> None:
    """With `max_turns` 0 there is no history to keep stable."""
    with memory(max_turns=0) as opened:
        session = opened.session(user_id="anna")
        session.add_turn("What about rice?", "It is cooked in ten minutes.")
        context = session.context("And saffron?")
    assert [message["role"] for message in context.messages] == ["system", "user"]


def test_the_context_of_a_turn_is_rebuilt_from_its_receipt() -> None:
    """A stable context comes back from its stored receipt to the byte."""
    with memory(model_limit=700) as opened:
        session = opened.session(user_id="anna")
        for number in range(40):
            context = session.context(f"What about rice number {number}?")
            session.add_turn(
                f"What about rice number {number}?", f"Rice {number} takes ten minutes.", receipt=context.receipt
            )
        again = session.rebuild(40)
    assert (again.messages, again.prompt) == (context.messages, context.prompt)
    assert again.receipt.stable_tokens == context.receipt.stable_tokens


@pytest.mark.parametrize("share", ["1.5", "-1", "nan"])
def test_a_share_is_a_part_of_the_limit(share: str) -> None:
    """A stable share outside 0 to 1 is refused by name."""
    with pytest.raises(SettingsError, match="stable_share"):
        Settings().with_values({"stable_share": share})


def test_a_header_of_ones_own_does_not_count_either() -> None:
    """Where a header says the number outside brackets, a dot stands for it."""
    own: Locale = replace(ENGLISH, history_header="The {n} last turns")
    assert own.header(3) == "The 3 last turns"
    assert own.header(None) == "The … last turns"
