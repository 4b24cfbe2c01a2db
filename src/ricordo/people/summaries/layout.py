"""How a summary is written, and how an earlier one is read back: lines of who said what, then what else was named.

    User: My name is Marco Rossi.
    Assistant: The course begins on 12 March 2024.
    Mentioned: Torino · 35 kg · notes.pdf (+3 more)

The last line holds, verbatim, the evidence that no line above holds, and says how much did not fit. It is read back
only from the end of a summary that we wrote, so that a message cannot forge it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ricordo.engine.protocols import TokenCounter
from ricordo.languages.base import SummaryWording
from ricordo.languages.registry import AnyLanguage, languages
from ricordo.people.summaries.evidence import Evidence, contains_verbatim
from ricordo.records.people import Summary
from ricordo.records.turns import Message, Turn

SEPARATOR = " · "
_MORE = AnyLanguage(r" \(\+(\d{1,9}) (?:<summaries.more>)\)\Z", flags=0)
_ALONE = AnyLanguage(r"\+(\d{1,9}) (?:<summaries.more>)\Z", flags=0)


@dataclass(frozen=True, slots=True)
class SummaryParts:
    """A summary in its parts: lines, evidence beside them, and how many pieces of evidence were left out."""

    lines: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    left_out: int = 0

    def text(self, wording: SummaryWording) -> str:
        """The summary as one text."""
        return "\n".join([*self.lines, *self._tail(wording)])

    def _tail(self, wording: SummaryWording) -> list[str]:
        if self.mentioned:
            more = f" (+{self.left_out} {wording.more})" if self.left_out else ""
            return [f"{wording.mentioned}: {SEPARATOR.join(self.mentioned)}{more}"]
        # With no evidence beside the lines, what was left out is still told.
        return [f"{wording.mentioned}: +{self.left_out} {wording.more}"] if self.left_out and self.lines else []


def parse_summary(text: str) -> SummaryParts:
    """The parts of a summary that was written here, in any of the languages; other text is all lines."""
    head, tail = text, ""
    for wording in _wordings():
        at = max(text.rfind(f"\n{wording.mentioned}: "), 0 if text.startswith(f"{wording.mentioned}: ") else -1)
        if at >= 0 and len(text) - at > len(tail):
            mark = f"{wording.mentioned}: "
            head, tail = text[:at], text[text.index(mark, at) + len(mark) :]
    lines = tuple(line for line in head.split("\n") if line.strip())
    if alone := _ALONE.fullmatch(tail):
        return SummaryParts(lines, (), int(alone[1]))
    more = _MORE.search(tail)
    listed = tail[: more.start()] if more else tail
    return SummaryParts(lines, tuple(item for item in listed.split(SEPARATOR) if item), int(more[1]) if more else 0)


def _wordings() -> tuple[SummaryWording, ...]:
    return tuple(each.summaries for each in languages())


def wording_of(summary: str) -> SummaryWording:
    """The table that a summary was written with, told by the last label in it; the first one where it has none."""

    def last(wording: SummaryWording) -> int:
        lines = f"\n{summary}"
        return max(lines.rfind(f"\n{label}: ") for label in (wording.mentioned, wording.user, wording.assistant))

    return max(_wordings(), key=last)


def split_speaker(line: str) -> tuple[str, str]:
    """Who said a line, and what; nobody where it does not say."""
    for wording in _wordings():
        for label in (wording.user, wording.assistant):
            if line.startswith(f"{label}: "):
                return label, line[len(label) + 2 :]
    return "", line


def without_labels(text: str) -> str:
    """What a summary says, without our own labels: as it is judged."""
    sheet = parse_summary(text)
    return "\n".join([*(split_speaker(line)[1] for line in sheet.lines), SEPARATOR.join(sheet.mentioned)])


def speaker_lines(said: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Pairs of speaker and sentence as lines; what one speaker says in a row is one line."""
    lines: list[str] = []
    last: str | None = None
    for speaker, sentence in said:
        if speaker == last:
            lines[-1] += f" {sentence}"
        else:
            lines.append(f"{speaker}: {sentence}" if speaker else sentence)
        last = speaker
    return tuple(lines)


# What of a message was said: an answer without the sentences that the reader always says, and without citations.

_BRACKET = re.compile(r"[ \t]*(?<![\w)`])\[([^\[\]\n]{1,400})\](?!\()")
_LABEL = re.compile(r"\s*(?:fonti|fonte|sources?|cit|refs?|chunks?|id)\s*[:=]\s*", re.IGNORECASE)
_CHUNK = re.compile(r"(?=\S*\d)[\w.:/@+~%-]+#[\w.:/-]+")  # as the ids of a document's chunks are made


def strip_answer(message: Message) -> Message:
    """The message without what was not said; itself, for most."""
    if message.role != "assistant":
        return message
    text = without_reader_phrases(message.content)
    if "[" not in text:
        return message if text is message.content else replace(message, content=text)
    cited: dict[str, None] = dict.fromkeys(message.chunk_ids)

    def taken(bracket: re.Match[str]) -> str:
        listed = bracket[1].strip()
        inside = listed if listed in cited else _LABEL.sub("", listed, count=1)
        names = [inside] if inside in cited else [part.strip() for part in re.split(r"[,;]", inside) if part.strip()]
        if not names or not all(name in cited or _CHUNK.fullmatch(name) for name in names):
            return bracket[0]
        cited.update(dict.fromkeys(names))
        return ""

    plain = _BRACKET.sub(taken, text)
    return message if plain is message.content else replace(message, content=plain, chunk_ids=tuple(cited))


def without_reader_phrases(text: str) -> str:
    """A text without the sentences of the reader's own; the same text where there are none."""
    for each in languages():
        for ours in (each.reader.opening, each.reader.absent, each.reader.no_more):
            if ours in text:
                text = text.replace(ours, "")
    return text


# A text cut to so many tokens, at a word.


def truncate_text(text: str, limit: int, counter: TokenCounter) -> str:
    """The longest beginning of `text` found, at a word, that costs at most `limit` tokens; marked where it ends."""
    if counter.count(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(_ended(text, middle)) <= limit:
            low = middle
        else:
            high = middle - 1
    # Counts need not grow with length, so what the search found is looked at once more.
    shortened = _ended(text, low)
    return shortened if low and counter.count(shortened) <= limit else ""


def _ended(text: str, size: int) -> str:
    head = text[:size]
    if size < len(text) and not text[size].isspace() and " " in head:
        head = head.rpartition(" ")[0]
    return head.rstrip() + "…"


# Lines and evidence within a number of tokens: candidates by rank go in, a sheet that fits comes out.

_FOR_SENTENCES = 0.4
_TAIL = 12  # label, count and what joining tokens may cost

LineWriter = Callable[[Sequence[int]], tuple[str, ...]]


class SummaryFitter:
    """One summary being filled: `written` makes lines of the positions that were chosen."""

    def __init__(self, limit: int, counter: TokenCounter, wording: SummaryWording, written: LineWriter) -> None:
        self._limit = limit
        self._counter = counter
        self._wording = wording
        self._written = written

    def fill(
        self, sentences: Sequence[str], order: Iterable[int], evidence: Sequence[Evidence], left_out: int = 0
    ) -> SummaryParts:
        """Sentences in the order of their rank, then evidence, then more sentences; never over the limit."""
        ranked = list(order)
        costs: dict[int, int] = {}
        room = self._limit - _TAIL
        chosen, spent = self._choose(sentences, ranked, (), int(room * _FOR_SENTENCES), costs)
        kept, paid = self._name(self._missing(evidence, chosen), room - spent)
        if spent + paid < room:
            chosen, spent = self._choose(sentences, ranked, chosen, room - paid, costs)
            kept, _ = self._name(self._missing(evidence, chosen), room - spent)
        taken = set(chosen)
        sheet = SummaryParts(self._written(sorted(chosen)), tuple(kept))
        return self._squeezed(sheet, [position for position in ranked if position in taken], evidence, left_out)

    def _choose(
        self, sentences: Sequence[str], ranked: Sequence[int], have: Sequence[int], room: int, costs: dict[int, int]
    ) -> tuple[list[int], int]:
        chosen = list(have)
        spent = sum(costs[position] for position in chosen)
        taken = set(chosen)
        said = {sentences[position] for position in chosen}
        refused = 0
        for position in ranked:
            if position in taken or sentences[position] in said:
                continue
            cost = costs.get(position)
            if cost is None:
                cost = costs[position] = self._counter.count(sentences[position]) + 3
            if spent + cost <= room:
                chosen.append(position)
                said.add(sentences[position])
                spent += cost
            else:
                refused += 1
            # When nothing has fitted for long, the room is as good as full.
            if refused > 40 or spent >= room:
                break
        return chosen, spent

    def _missing(self, evidence: Sequence[Evidence], chosen: Sequence[int]) -> list[Evidence]:
        text = "\n".join(self._written(sorted(chosen)))
        return [each for each in evidence if not contains_verbatim(each.text, text)]

    def _name(self, missing: Sequence[Evidence], room: int) -> tuple[list[str], int]:
        """As much evidence as fits, by rank, in the order it ranks; pieces that cannot be read back are not named."""
        kept: list[str] = []
        spent = refused = 0
        for each in missing:
            if SEPARATOR in each.text:
                continue
            cost = self._counter.count(SEPARATOR + each.text)
            if spent + cost <= room:
                kept.append(each.text)
                spent += cost
            else:
                refused += 1
            if refused > 40:
                break
        return kept, spent

    def _squeezed(
        self, sheet: SummaryParts, by_rank: list[int], evidence: Sequence[Evidence], left_out: int
    ) -> SummaryParts:
        """The sheet within the limit for sure: the last by rank goes first, evidence before the last sentence."""
        while True:
            sheet = _counted(sheet, evidence, left_out)
            if self._counter.count(sheet.text(self._wording)) <= self._limit:
                return sheet
            if sheet.mentioned and (len(sheet.mentioned) > 1 or len(by_rank) <= 1):
                sheet = replace(sheet, mentioned=sheet.mentioned[:-1])
            elif by_rank:
                by_rank = by_rank[:-1]
                sheet = replace(sheet, lines=self._written(sorted(by_rank)))
            else:
                return SummaryParts()


def _counted(sheet: SummaryParts, evidence: Sequence[Evidence], left_out: int) -> SummaryParts:
    """The sheet with the number of things that it does not hold, beside those that were left out before."""
    held = "\n".join([*sheet.lines, SEPARATOR.join(sheet.mentioned)])
    return replace(sheet, left_out=left_out + sum(not contains_verbatim(each.text, held) for each in evidence))


# Whether a talk is due for condensation, and which of its turns.


@dataclass(frozen=True, slots=True)
class TurnRange:
    """Turns from `first_turn` to `last_turn`, both included."""

    first_turn: int
    last_turn: int

    def of(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Those of the turns that lie in the range."""
        return tuple(turn for turn in turns if self.first_turn <= turn.turn_number <= self.last_turn)


EXTRACTIVE = "extractive"
TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """A summary before it is kept.

    `made_by` is a model's name, `extractive` or `truncated`; `why` tells why nothing better made it. `left_out` counts
    the evidence that did not fit.
    """

    text: str
    topics: tuple[str, ...]
    made_by: str
    covers: TurnRange
    tokens: int
    left_out: int = 0
    why: str = ""


def quotable_messages(turns: Sequence[Turn], leave_out: frozenset[str] = frozenset()) -> list[Message]:
    """What user and assistant said, in order; tools, systems, and messages left out by id are not quoted.

    Of an answer it is what is left without citations, which stand among its chunk ids, and the reader's own sentences.
    """
    said = (
        strip_answer(message)
        for turn in turns
        for message in turn.messages
        if message.role in ("user", "assistant") and message.id not in leave_out
    )
    return [message for message in said if message.content.strip() or message.chunk_ids]


def uncovered_turns(turns: Sequence[Turn], previous: Summary | None) -> tuple[Turn, ...]:
    """The turns that an earlier summary does not cover yet."""
    return tuple(turn for turn in turns if previous is None or turn.turn_number > previous.last_turn)


def covered_range(turns: Sequence[Turn], previous: Summary | None) -> TurnRange:
    """What a summary of these turns covers together with the earlier one; there must be one or the other."""
    numbers = [turn.turn_number for turn in turns]
    if previous is not None:
        numbers += [previous.first_turn, previous.last_turn]
    return TurnRange(min(numbers), max(numbers))
