"""An extractive summary: quoted sentences, and the key details that they leave out.

Turns and the earlier summary go in, a `SummaryDraft` comes out. Sentences are quoted, never rewritten, so nothing is
invented. The same input gives the same summary. Sentences of the earlier summary compete with new ones, and the
key details of both are kept by rank.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import sentences
from ricordo.people.summaries.key_details import (
    KeyDetail,
    common_words,
    find_key_details,
    key_topics,
    keywords,
    ranked_key_details,
)
from ricordo.people.summaries.layout import (
    EXTRACTIVE,
    TRUNCATED,
    SummaryDraft,
    SummaryFitter,
    SummaryParts,
    covered_range,
    parse_summary,
    quotable_messages,
    speaker_lines,
    split_speaker,
    truncate_text,
    uncovered_turns,
)

if TYPE_CHECKING:
    from ricordo.engine import TokenCounter
    from ricordo.languages.base import SummaryWording
    from ricordo.records.derived import Summary
    from ricordo.records.turns import Message, Turn

_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_MARK = re.compile(r"^[^\S\n]*(?:(?:[-*•>]+|#+|\d{1,2}[.)])[^\S\n]+|\|)", re.MULTILINE)
_WORDS = re.compile(r"\w")


def quotable_sentences(text: str) -> list[str]:
    """The sentences of a text that contain a word, in order, without code blocks and list markers."""
    plain = _MARK.sub("", _FENCE.sub("\n", text))
    spans = (plain[start:end] for start, end in sentences(plain, chat=True))
    return [" ".join(sentence.split()) for sentence in spans if _WORDS.search(sentence)]


_CENTRALITY, _DETAILS, _OPENING, _SPEAKER = 1.0, 0.5, 0.1, 0.1
_ASKED_BACK = -0.5
_FEW = 5.0  # smoothing: sentences with few keywords score lower
_EVERYWHERE = 0.05  # keywords in more than this share of sentences count nothing
_FROM = 40  # sentences; the share above applies only from this many
_WORDS_OF_ONE_THING = 12.0  # words per key detail at full density


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its speaker, its position, its keywords and its key details."""

    text: str
    speaker: str
    role: str
    opening: bool
    words: frozenset[str]
    named: tuple[KeyDetail, ...] = ()

    @property
    def has_content(self) -> bool:
        """Whether it says more than a greeting."""
        return bool(self.named) or len(self.words) > 1


def sentence_scores(candidates: Sequence[Sentence]) -> list[float]:
    """A score for each sentence, in the same order."""
    counts = Counter(term for sentence in candidates for term in sentence.words)
    most = max(counts.values(), default=1)
    common = max(_EVERYWHERE * len(candidates), 2.0) if len(candidates) >= _FROM else math.inf
    top = math.log1p(min(most, common))
    weight = {term: math.log1p(count) / top if count <= common else 0.0 for term, count in counts.items()}
    named = Counter(detail.text for sentence in candidates for detail in sentence.named)
    return [_score(sentence, weight, named) for sentence in candidates]


def _score(sentence: Sentence, weight: dict[str, float], named: Counter[str]) -> float:
    length = sentence.text.count(" ") + 1
    # Sorted: float addition depends on the order.
    score = _CENTRALITY * sum([weight[term] for term in sorted(sentence.words)]) / (len(sentence.words) + _FEW)
    details = sum((0.2 if each.weak else 1.0) / math.sqrt(named[each.text]) for each in sentence.named)
    score += _DETAILS * min(details * _WORDS_OF_ONE_THING / max(length, _WORDS_OF_ONE_THING), 2.0)
    score += _OPENING * sentence.opening + _SPEAKER * (sentence.role == "user")
    if sentence.role == "assistant" and sentence.text.endswith("?"):
        score += _ASKED_BACK
    return score


def spread_by_rank(order: Sequence[float], parts: int = 8) -> Iterable[int]:
    """Positions by score, taken in turn from each part of the conversation."""
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


_USER, _NOTED = 0.5, 1.0  # rank bonus of the user's messages and of the earlier summary
_LONGEST_TOKEN = 40  # characters; bounds how much text is read


def extractive_summary(
    turns: Sequence["Turn"],
    previous: "Summary | None",
    limit_tokens: int,
    counter: "TokenCounter",
    language: str,
    *,
    leave_out: frozenset[str] = frozenset(),
) -> SummaryDraft | None:
    """A summary of the turns after the earlier one, extending it; None if there is nothing to say.

    Turns that the earlier summary covers are not read again; with nothing new it is returned unchanged. Messages whose
    ids are in `leave_out` are not quoted.
    """
    added = uncovered_turns(turns, previous)
    if not added:
        return unchanged_summary(previous, limit_tokens, counter)
    messages = quotable_messages(added, leave_out)
    before = parse_summary(previous.text) if previous else SummaryParts()
    wording = language_by_code(language).summaries
    noted = list(_earlier_sentences(before))
    found = [find_key_details(message.content) for message in messages]
    said = list(_message_sentences(messages, found, wording))
    candidates = [*noted, *([each for each in said if each.has_content] or said)]
    fitting = SummaryFitter(limit_tokens, counter, wording, lambda chosen: _lines(candidates, chosen))
    order = _alternating(sentence_scores(candidates), len(noted))
    sheet = fitting.fill(
        [each.text for each in candidates], order, rank_found_details(messages, found, before), before.left_out
    )
    text = sheet.text(wording)
    if not text:
        return None
    topics = key_topics([message.content for message in messages], before=previous.topics if previous else ())
    return SummaryDraft(text, topics, EXTRACTIVE, covered_range(added, previous), counter.count(text), sheet.left_out)


def truncated_summary(
    turns: Sequence["Turn"],
    previous: "Summary | None",
    limit_tokens: int,
    counter: "TokenCounter",
    language: str,
    *,
    leave_out: frozenset[str] = frozenset(),
) -> SummaryDraft | None:
    """The beginning of the conversation, cut to fit: the last fallback. None if nothing fits."""
    added = uncovered_turns(turns, previous)
    if not added:
        return unchanged_summary(previous, limit_tokens, counter)
    wording = language_by_code(language).summaries
    # The earlier summary takes at most half.
    noted = truncate_text(previous.text, limit_tokens // 2, counter) if previous else ""
    said: list[str] = [noted] if noted else []
    room = _LONGEST_TOKEN * max(limit_tokens, 1)
    for message in quotable_messages(added, leave_out):
        if room <= 0:
            break
        if not message.content.strip():
            continue
        said.append(f"{wording.speaker(message.role)}: {' '.join(message.content[:room].split())}")
        room -= len(said[-1])
    text = truncate_text("\n".join(said), limit_tokens, counter)
    if not text:
        return None
    topics = previous.topics if previous else ()
    return SummaryDraft(text, topics, TRUNCATED, covered_range(added, previous), counter.count(text))


def unchanged_summary(previous: "Summary | None", limit_tokens: int, counter: "TokenCounter") -> SummaryDraft | None:
    """The earlier summary, if there is nothing to add and it fits."""
    if previous is None or counter.count(previous.text) > limit_tokens:
        return None
    left_out = parse_summary(previous.text).left_out
    covers = covered_range((), previous)
    return SummaryDraft(
        previous.text, previous.topics, previous.made_by, covers, counter.count(previous.text), left_out
    )


def rank_key_details(messages: Sequence["Message"], before: SummaryParts) -> list[KeyDetail]:
    """All key details by rank: of the messages, of cited chunks, and of the earlier summary."""
    return rank_found_details(messages, [find_key_details(message.content) for message in messages], before)


def rank_found_details(
    messages: Sequence["Message"], found: Sequence[Sequence[KeyDetail]], before: SummaryParts
) -> list[KeyDetail]:
    """The same, if the key details of each message are known already."""
    common = common_words(message.content for message in messages)

    def pairs() -> Iterable[tuple[KeyDetail, float]]:
        for position, item in enumerate(before.mentioned):
            # The line was written in rank order.
            known = [each for each in find_key_details(item) if each.text == item and each.kind != "name"]
            yield known[0] if known else KeyDetail(item, "name"), _NOTED * (1 - position / len(before.mentioned))
        for line in before.lines:
            yield from ((each, _NOTED) for each in find_key_details(split_speaker(line)[1]))
        for message, named in zip(messages, found, strict=True):
            bonus = _USER if message.role == "user" else 0.0
            yield from ((each, bonus) for each in named if not (each.weak and each.text.lower() in common))
            yield from ((KeyDetail(chunk, "chunk"), bonus) for chunk in message.chunk_ids)

    return ranked_key_details(pairs())


def _earlier_sentences(before: SummaryParts) -> Iterable[Sentence]:
    for line in before.lines:
        speaker, words = split_speaker(line)
        for text in quotable_sentences(words):
            yield Sentence(text, speaker, "noted", True, frozenset(keywords(text)), tuple(find_key_details(text)))


def _message_sentences(
    messages: Sequence["Message"], found: Sequence[Sequence[KeyDetail]], wording: "SummaryWording"
) -> Iterable[Sentence]:
    for message, things in zip(messages, found, strict=True):
        speaker = wording.speaker(message.role)
        for position, text in enumerate(quotable_sentences(message.content)):
            named = tuple(each for each in things if each.text in text)
            yield Sentence(text, speaker, message.role, position == 0, frozenset(keywords(text)), named)


def _alternating(order: Sequence[float], noted: int) -> Iterable[int]:
    """Earlier and new sentences alternately, best first: an extended summary keeps about half of its text."""
    old = spread_by_rank(order[:noted])
    new = (noted + position for position in spread_by_rank(order[noted:]))
    for pair in zip_longest(old, new):
        yield from (position for position in pair if position is not None)


def _lines(candidates: Sequence[Sentence], chosen: Sequence[int]) -> tuple[str, ...]:
    return speaker_lines([(candidates[position].speaker, candidates[position].text) for position in chosen])
