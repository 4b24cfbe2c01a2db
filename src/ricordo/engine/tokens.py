"""Token counters (exact for a model family, or approximate), costs of messages, shares, truncated texts and turns.

In: text and a `TokenCounter`. Out: costs of messages, and prefixes that fit. A chat message costs its content, its tool
calls, its name and the overhead that its API adds. A truncated text ends with `CUT_MARK`.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from ricordo.engine import TokenCounter
from ricordo.records.values import canonical

if TYPE_CHECKING:
    from ricordo.records.turns import Message, Turn

CUT_MARK = "..."
LONGEST_PIECE = 65_536  # characters; a tokenizer takes seconds for a million characters without a word
PRECISION = 128  # characters; the end of a very long prefix is not searched more exactly
COUNTED, MOST_COUNTED = 4_096, 2_000  # texts whose counts are cached, and their most characters
SEAM = 2  # tokens by which the sum of two parts may differ from the whole
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class ApproximateCounter:
    """Divides the number of characters by a fixed rate: 3 for Italian, 4 for English. Not exact."""

    characters: int = 4
    reason: str = ""
    message_overhead: int = 4

    @property
    def name(self) -> str:
        return f"approximate-{self.characters}"

    @property
    def exact(self) -> bool:
        return False

    def count(self, text: str) -> int:
        return -(-len(text) // self.characters)


def content_tokens(
    content: str, tool_calls: Sequence[Mapping[str, Any]], counter: TokenCounter, name: str | None = None
) -> int:
    """The tokens of a message's content, tool calls and name, without overhead; they are stored with it."""
    calls = sum(counter.count(canonical(call)) for call in tool_calls)
    return counter.count(content) + calls + (counter.count(name) if name else 0)


def message_cost(message: "Message", counter: TokenCounter) -> int:
    """What a message costs in a chat API: its stored tokens, the overhead, and one token to separate a name."""
    return message.tokens + counter.message_overhead + (1 if message.name else 0)


def turn_cost(turn: "Turn", counter: TokenCounter) -> int:
    """What a whole turn costs in a chat API."""
    return sum(message_cost(message, counter) for message in turn.messages)


def recounted(turn: "Turn", counter: TokenCounter) -> "Turn":
    """The turn with counts of this counter; usually they are stored already, and it is unchanged."""
    if turn.counter == counter.name:
        return turn

    def again(message: "Message") -> "Message":
        return replace(message, tokens=content_tokens(message.content, message.tool_calls, counter, message.name))

    return replace(
        turn,
        question=again(turn.question) if turn.question else None,
        answer=again(turn.answer) if turn.answer else None,
        steps=tuple(again(step) for step in turn.steps),
        counter=counter.name,
    )


def cut(text: str, limit: int, counter: TokenCounter, *, after: str = "") -> str:
    """A prefix of `text` with `CUT_MARK` that costs at most `limit` tokens together with the text `after` it.

    The whole text if it fits; the mark alone if no character fits; empty if not even the mark does. Of a long text only
    as much is read as could fit.
    """
    if limit < 1:
        return ""
    tail = CUT_MARK + after
    low, high = 0, 8 * limit
    while high < len(text) and counter.count(text[:high] + tail) <= limit:
        low, high = high, 2 * high
    if high >= len(text):
        if counter.count(text + after) <= limit:
            return text
        high = len(text)
    if high > 2 * LONGEST_PIECE:
        return text[: _fitting_length(text, low, high, limit - counter.count(tail), counter)] + CUT_MARK
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(text[:middle] + tail) <= limit:
            low = middle
        else:
            high = middle - 1
    # A longer prefix may cost fewer tokens, so the search may stop early; but the prefix that it returns does fit.
    if low or counter.count(tail) <= limit:
        return text[:low] + CUT_MARK
    return ""


def _fitting_length(text: str, low: int, high: int, limit: int, counter: TokenCounter) -> int:
    """About how many characters of a very long text fit, from `low` to `high`; only new parts are counted.

    The counts of parts may differ a little from that of the whole, so a few characters fewer are taken.
    """
    first, cost = low, counter.count(text[:low])
    while high - low > PRECISION:
        middle = (low + high) // 2
        more = counter.count(text[low:middle])
        if cost + more <= limit:
            low, cost = middle, cost + more
        else:
            high = middle
    fitting = max(first, low - PRECISION)
    while fitting > first and counter.count(text[:fitting]) > limit - SEAM:
        fitting = max(first, fitting - max(PRECISION, fitting // 100))
    return fitting


def share_out(total: int, demands: Mapping[Key, int], weights: Mapping[Key, int]) -> dict[Key, int]:
    """Divide `total` by weight, to none more than its demand; a larger `total` gives none less."""
    shares = dict.fromkeys(demands, 0)
    open_keys = [key for key, demand in demands.items() if demand > 0]
    left = max(total, 0)
    while open_keys:
        weight = sum(weights[key] for key in open_keys)
        full = [key for key in open_keys if demands[key] * weight <= weights[key] * left]
        if not full:
            for key in open_keys:
                shares[key] = weights[key] * left // weight
            break
        for key in full:
            shares[key] = demands[key]
            left -= demands[key]
            open_keys.remove(key)
    return shares


def shorten_turn(turn: "Turn", limit: int, counter: TokenCounter) -> "Turn | None":
    """The turn with its messages truncated to `limit` tokens; None if not even the marks fit.

    Messages share the tokens evenly. Tool calls and results are of no use when truncated: they are dropped before the
    question or the answer is truncated. In a turn of nothing else the calls stay whole.
    """
    if turn.steps and (turn.question or turn.answer):
        return shorten_turn(replace(turn, steps=()), limit, counter)
    messages = turn.messages
    calling = [message for message in messages if message.tool_calls]
    fixed = sum(message_cost(message, counter) - message.tokens for message in messages)
    room = limit - fixed - sum(message.tokens for message in calling)
    if room < 0:
        return None
    demands = {message.id: message.tokens for message in messages if not message.tool_calls}
    shares = share_out(room, demands, dict.fromkeys(demands, 1))
    short = {message.id: message for message in calling} | {
        message.id: _shorten(message, shares[message.id], counter) for message in messages if message.id in shares
    }
    if any(message is None for message in short.values()):
        return None
    return replace(
        turn,
        question=short[turn.question.id] if turn.question else None,
        answer=short[turn.answer.id] if turn.answer else None,
        steps=tuple(step for each in turn.steps if (step := short[each.id])),
    )


def _shorten(message: "Message", limit: int, counter: TokenCounter) -> "Message | None":
    if message.tokens <= limit:
        return message
    named = content_tokens("", (), counter, message.name)
    text = cut(message.content, limit - named, counter)
    return replace(message, content=text, tokens=counter.count(text) + named) if text else None


log = logging.getLogger("ricordo")

# Family name to vocabulary. For OpenAI's families the overhead per message is exact too; for the others it is that of
# the common chat templates.
FAMILIES = {
    "o200k": "o200k_base",
    "cl100k": "cl100k_base",
    "llama3": "llama3",
    "qwen3": "qwen3",
    "gemma3": "gemma3",
    "deepseek": "deepseek_v3",
    "mistral": "mistral_v3",
    "phi4": "phi4",
}

# The longest prefix that matches decides.
MODEL_PREFIXES = {
    "gpt-5": "o200k",
    "gpt-4o": "o200k",
    "gpt-4.1": "o200k",
    "gpt-4.5": "o200k",
    "gpt-oss": "o200k",
    "chatgpt": "o200k",
    "o1": "o200k",
    "o3": "o200k",
    "o4": "o200k",
    "gpt-4": "cl100k",
    "gpt-3.5": "cl100k",
    "gpt-35": "cl100k",
    "text-embedding": "cl100k",
    "llama-3": "llama3",
    "llama3": "llama3",
    "qwen": "qwen3",
    "gemma": "gemma3",
    "deepseek": "deepseek",
    "mistral": "mistral",
    "phi-4": "phi4",
}


class ExactCounter:
    """Counts with the vocabulary of a family; approximately if it cannot be loaded, and `reason` says why."""

    exact = True
    reason = ""
    message_overhead = 4  # three marks around the message, and its role

    def __init__(self, name: str, load: Callable[[], Any]) -> None:
        self._name = name
        self._load = load
        # The caller stores this count with the text, so it is not cached.
        self.count_new: Callable[[str], int] = self._first
        self._again = lru_cache(maxsize=COUNTED)(lambda text: self.count_new(text))

    @property
    def name(self) -> str:
        return self._name

    def count(self, text: str) -> int:
        return self._again(text) if len(text) <= MOST_COUNTED else self.count_new(text)

    def _first(self, text: str) -> int:
        """Load the vocabulary at the first count, so that opening a store does not wait for it."""
        try:
            self.count_new = _counting(self._load())
        except Exception as error:  # any error: the message must still be stored
            self.reason = f"the tokenizer of {self._name} cannot be loaded: {error}"
            log.warning("%s; tokens are approximate", self.reason, extra={"operation": "count"})
            instead = approximate_for("it", self.reason)  # it counts more tokens than the rule for English
            self._name, self.exact, self.count_new = instead.name, False, instead.count
        return self.count_new(text)


_BETWEEN_WORDS = re.compile(r"(?<=[a-z]) (?=[a-z])")  # where every family begins a new piece


def _pieces(text: str) -> Iterator[str]:
    """A long text in pieces whose counts add up to that of the text; not always, if a long part has no words."""
    start = 0
    while len(text) - start > LONGEST_PIECE:
        half = start + LONGEST_PIECE // 2
        found = _BETWEEN_WORDS.search(text, half, start + LONGEST_PIECE)
        end = found.start() if found else start + LONGEST_PIECE
        yield text[start:end]
        start = end
    yield text[start:]


def _counting(vocabulary: Any) -> Callable[[str], int]:
    """Count the ids as bytes, four each, which is faster than a list of numbers.

    That way also matches special tokens; so a text that may contain one is encoded by the slower way, which does not.
    """
    flat, ordinary = vocabulary.encode_flat, vocabulary.encode_ordinary
    beginnings = {marker[:2] for marker in vocabulary.special_tokens()}

    def count(text: str) -> int:
        if len(text) > LONGEST_PIECE:
            return sum(map(count, _pieces(text)))
        for beginning in beginnings:
            if beginning in text:
                return len(ordinary(text))
        return len(flat(text)) // 4

    return count


def counter_for(model: str, language: str = "en") -> TokenCounter:
    """The counter of a family or model name; `approximate` asks for the character rule of the language."""
    if model == "approximate":
        return approximate_for(language, "asked for")
    family = family_of(model)
    if family is None:
        return approximate_for(language, f"no tokenizer is known for model {model!r}")
    try:
        return _exact(family)
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        return approximate_for(language, f"the tokenizer of {family} cannot be loaded: {error}")


def family_of(model: str) -> str | None:
    """The family of a model name; None when there is no tokenizer for it."""
    plain = model.lower().rpartition("/")[2].removeprefix("ft:")
    for family, vocabulary in FAMILIES.items():
        if plain in (family, vocabulary):
            return family
    matches = [prefix for prefix in MODEL_PREFIXES if plain.startswith(prefix)]
    return MODEL_PREFIXES[max(matches, key=len)] if matches else None


def approximate_for(language: str, reason: str) -> ApproximateCounter:
    """Three characters a token in Italian, four in English."""
    return ApproximateCounter(3 if language.lower().startswith("it") else 4, reason)


@lru_cache(maxsize=len(FAMILIES))
def _exact(family: str) -> ExactCounter:
    if find_spec("splintr") is None:  # ValueError when the module was blocked on purpose
        raise ImportError("splintr is not installed")
    return ExactCounter(family, lambda: _vocabulary(FAMILIES[family]))


def _vocabulary(name: str) -> Any:
    from splintr import Tokenizer

    return Tokenizer.from_pretrained(name)
