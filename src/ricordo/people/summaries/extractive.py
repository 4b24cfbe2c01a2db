"""A summary without a model: sentences that were said, and evidence that survives whatever is left out.

Turns and the earlier summary go in, a `Condensed` comes out. Sentences are quoted, never rewritten, so nothing is
invented; the same input gives the same summary. What the earlier summary holds competes with what is new, and all
evidence of both is kept by rank.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ricordo.engine.protocols import TokenCounter
from ricordo.languages.summaries import Wording, wording_for
from ricordo.people.summaries.evidence import Evidence, common_words, find, ranked
from ricordo.people.summaries.keywords import key_topics, terms
from ricordo.people.summaries.layout import (
    EXTRACTIVE,
    TRUNCATED,
    Condensed,
    Fitting,
    Sheet,
    covered,
    cut,
    divided,
    fresh,
    gathered,
    heard,
    read,
)
from ricordo.records.people import Summary
from ricordo.records.turns import Message, Turn

# A message as the sentences that can be quoted from it.

_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_MARK = re.compile(r"^\s*(?:[-*•>]+|#+|\d{1,2}[.)])\s+|^\s*\|")
_END = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"»”')\]]))\s+")
_SHORT = re.compile(
    r"(?:^|[\s(])(?:dott|dr|prof|sig|sigg|ing|avv|art|es|ecc|pag|pp?|fig|cap|vol|n|mr|mrs|ms|st|vs|no|inc|approx|e\.g|i\.e"
    r"|[A-Z])\.$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w")


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, those with at least one word."""
    found: list[str] = []
    for line in _FENCE.sub("\n", text).splitlines() if "\n" in text or "```" in text or "~~~" in text else [text]:
        pending = ""
        for piece in _END.split(_MARK.sub("", line)):
            joined = f"{pending} {piece}".strip() if pending else piece.strip()
            if _SHORT.search(joined):
                pending = joined
                continue
            pending = ""
            if _WORDS.search(joined):
                found.append(" ".join(joined.split()))
        if pending and _WORDS.search(pending):
            found.append(" ".join(pending.split()))
    return found


# Which sentences of a talk are worth quoting: a number for each, made of four parts that can be explained.

_CENTRALITY, _EVIDENCE, _OPENING, _SPEAKER = 1.0, 0.5, 0.1, 0.1
_ASKED_BACK = -0.5
_FEW = 5.0  # a sentence of fewer telling words is held back, however central they are
_EVERYWHERE = 0.05  # words in more than this share of the sentences tell nothing
_FROM = 40  # sentences; in a short talk everything comes back everywhere
_WORDS_OF_ONE_THING = 12.0  # evidence is dense at one thing in a dozen words


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its speaker, its place in its message, its telling words, and what it names."""

    text: str
    speaker: str
    role: str
    opening: bool
    words: frozenset[str]
    named: tuple[Evidence, ...] = ()

    @property
    def tells(self) -> bool:
        """Whether it says more than a greeting does."""
        return bool(self.named) or len(self.words) > 1


def scores(candidates: Sequence[Sentence]) -> list[float]:
    """A score for each sentence, in the same order."""
    counts = Counter(term for sentence in candidates for term in sentence.words)
    most = max(counts.values(), default=1)
    common = max(_EVERYWHERE * len(candidates), 2.0) if len(candidates) >= _FROM else math.inf
    top = math.log1p(min(most, common))
    weight = {term: math.log1p(count) / top if count <= common else 0.0 for term, count in counts.items()}
    named = Counter(evidence.text for sentence in candidates for evidence in sentence.named)
    return [_score(sentence, weight, named) for sentence in candidates]


def _score(sentence: Sentence, weight: dict[str, float], named: Counter[str]) -> float:
    length = sentence.text.count(" ") + 1
    # Sorted, because the order in which floats are added shows in the last digits.
    score = _CENTRALITY * sum([weight[term] for term in sorted(sentence.words)]) / (len(sentence.words) + _FEW)
    told = sum((0.2 if each.weak else 1.0) / math.sqrt(named[each.text]) for each in sentence.named)
    score += _EVIDENCE * min(told * _WORDS_OF_ONE_THING / max(length, _WORDS_OF_ONE_THING), 2.0)
    score += _OPENING * sentence.opening + _SPEAKER * (sentence.role == "user")
    if sentence.role == "assistant" and sentence.text.endswith("?"):
        score += _ASKED_BACK
    return score


def in_turn(order: Sequence[float], parts: int = 8) -> Iterable[int]:
    """Positions, best first, each stretch of the talk in turn, so that no part of it goes unheard."""
    size = max(math.ceil(len(order) / parts), 1)
    stretches = [
        iter(sorted(range(start, min(start + size, len(order))), key=lambda at: (-order[at], at)))
        for start in range(0, len(order), size)
    ]
    while stretches:
        still = []
        for stretch in stretches:
            position = next(stretch, None)
            if position is not None:
                yield position
                still.append(stretch)
        stretches = still


_USER, _NOTED = 0.5, 1.0  # what the user said, and what an earlier summary found worth noting, ranks higher
_LONGEST_TOKEN = 40  # characters; no more of a text is read than could ever fit


def extract(
    turns: Sequence[Turn],
    previous: Summary | None,
    limit_tokens: int,
    counter: TokenCounter,
    language: str,
    *,
    leave_out: frozenset[str] = frozenset(),
) -> Condensed | None:
    """An extractive summary of the turns after the earlier one, extending it; None when nothing can be said.

    Turns that the earlier summary covers are not read again: with nothing new it comes back unchanged. `leave_out`
    holds ids of messages that are not to be quoted.
    """
    added = fresh(turns, previous)
    if not added:
        return unchanged(previous, limit_tokens, counter)
    messages = heard(added, leave_out)
    before = read(previous.text) if previous else Sheet()
    wording = wording_for(language)
    noted = list(_noted(before))
    found = [find(message.content) for message in messages]
    said = list(_said(messages, found, wording))
    candidates = [*noted, *([each for each in said if each.tells] or said)]
    fitting = Fitting(limit_tokens, counter, wording, lambda chosen: _lines(candidates, chosen))
    order = _alternating(scores(candidates), len(noted))
    sheet = fitting.fill([each.text for each in candidates], order, by_rank(messages, found, before), before.left_out)
    text = sheet.text(wording)
    if not text:
        return None
    topics = key_topics([message.content for message in messages], before=previous.topics if previous else ())
    return Condensed(text, topics, EXTRACTIVE, covered(added, previous), counter.count(text), sheet.left_out)


def truncate(
    turns: Sequence[Turn],
    previous: Summary | None,
    limit_tokens: int,
    counter: TokenCounter,
    language: str,
    *,
    leave_out: frozenset[str] = frozenset(),
) -> Condensed | None:
    """The beginning of what was said, cut to fit: the last resort. None when not even that can be said."""
    added = fresh(turns, previous)
    if not added:
        return unchanged(previous, limit_tokens, counter)
    wording = wording_for(language)
    # What was noted before takes at most half.
    noted = cut(previous.text, limit_tokens // 2, counter) if previous else ""
    said: list[str] = [noted] if noted else []
    room = _LONGEST_TOKEN * max(limit_tokens, 1)
    for message in heard(added, leave_out):
        if room <= 0:
            break
        if not message.content.strip():
            continue
        said.append(f"{wording.speaker(message.role)}: {' '.join(message.content[:room].split())}")
        room -= len(said[-1])
    text = cut("\n".join(said), limit_tokens, counter)
    if not text:
        return None
    topics = previous.topics if previous else ()
    return Condensed(text, topics, TRUNCATED, covered(added, previous), counter.count(text))


def unchanged(previous: Summary | None, limit_tokens: int, counter: TokenCounter) -> Condensed | None:
    """An earlier summary as it is, when there is nothing to add to it and it fits."""
    if previous is None or counter.count(previous.text) > limit_tokens:
        return None
    left_out = read(previous.text).left_out
    covers = covered((), previous)
    return Condensed(previous.text, previous.topics, previous.made_by, covers, counter.count(previous.text), left_out)


def evidence_of(messages: Sequence[Message], before: Sheet) -> list[Evidence]:
    """All evidence by rank: of what was said, of the chunks that answers cite, and of the earlier summary."""
    return by_rank(messages, [find(message.content) for message in messages], before)


def by_rank(messages: Sequence[Message], found: Sequence[Sequence[Evidence]], before: Sheet) -> list[Evidence]:
    """The same, where the evidence of each message has been found already."""
    common = common_words(message.content for message in messages)

    def pairs() -> Iterable[tuple[Evidence, float]]:
        for position, item in enumerate(before.mentioned):
            # The line was written by rank, and is believed in that order.
            known = [each for each in find(item) if each.text == item and each.kind != "name"]
            yield known[0] if known else Evidence(item, "name"), _NOTED * (1 - position / len(before.mentioned))
        for line in before.lines:
            yield from ((each, _NOTED) for each in find(divided(line)[1]))
        for message, named in zip(messages, found, strict=True):
            bonus = _USER if message.role == "user" else 0.0
            yield from ((each, bonus) for each in named if not (each.weak and each.text.lower() in common))
            yield from ((Evidence(chunk, "chunk"), bonus) for chunk in message.chunk_ids)

    return ranked(pairs())


def _noted(before: Sheet) -> Iterable[Sentence]:
    """The sentences of an earlier summary: they have been chosen once."""
    for line in before.lines:
        speaker, words = divided(line)
        for text in sentences(words):
            yield Sentence(text, speaker, "noted", True, frozenset(terms(text)), tuple(find(text)))


def _said(messages: Sequence[Message], found: Sequence[Sequence[Evidence]], wording: Wording) -> Iterable[Sentence]:
    for message, things in zip(messages, found, strict=True):
        speaker = wording.speaker(message.role)
        for position, text in enumerate(sentences(message.content)):
            named = tuple(each for each in things if each.text in text)
            yield Sentence(text, speaker, message.role, position == 0, frozenset(terms(text)), named)


def _alternating(order: Sequence[float], noted: int) -> Iterable[int]:
    """Noted and new sentences by turns, best first: a summary that is extended keeps about half of its room."""
    old = in_turn(order[:noted])
    new = (noted + position for position in in_turn(order[noted:]))
    for pair in zip_longest(old, new):
        yield from (position for position in pair if position is not None)


def _lines(candidates: Sequence[Sentence], chosen: Sequence[int]) -> tuple[str, ...]:
    return gathered([(candidates[position].speaker, candidates[position].text) for position in chosen])
