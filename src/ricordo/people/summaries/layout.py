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
from ricordo.languages.summaries import ENGLISH_PHRASES, ITALIAN_PHRASES, WORDINGS, Wording
from ricordo.people.summaries.evidence import Evidence, survives
from ricordo.records.people import Summary
from ricordo.records.turns import Message, Turn

BETWEEN = " · "
_MORE = re.compile(rf" \(\+(\d{{1,9}}) (?:{'|'.join(wording.more for wording in WORDINGS.values())})\)\Z")
_ALONE = re.compile(rf"\+(\d{{1,9}}) (?:{'|'.join(wording.more for wording in WORDINGS.values())})\Z")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A summary in its parts: lines, evidence beside them, and how many pieces of evidence were left out."""

    lines: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    left_out: int = 0

    def text(self, wording: Wording) -> str:
        """The summary as one text."""
        return "\n".join([*self.lines, *self._tail(wording)])

    def _tail(self, wording: Wording) -> list[str]:
        if self.mentioned:
            more = f" (+{self.left_out} {wording.more})" if self.left_out else ""
            return [f"{wording.mentioned}: {BETWEEN.join(self.mentioned)}{more}"]
        # With no evidence beside the lines, what was left out is still told.
        return [f"{wording.mentioned}: +{self.left_out} {wording.more}"] if self.left_out and self.lines else []


def read(text: str) -> Sheet:
    """The parts of a summary that was written here, in any of the languages; other text is all lines."""
    head, tail = text, ""
    for wording in WORDINGS.values():
        at = max(text.rfind(f"\n{wording.mentioned}: "), 0 if text.startswith(f"{wording.mentioned}: ") else -1)
        if at >= 0 and len(text) - at > len(tail):
            mark = f"{wording.mentioned}: "
            head, tail = text[:at], text[text.index(mark, at) + len(mark) :]
    lines = tuple(line for line in head.split("\n") if line.strip())
    if alone := _ALONE.fullmatch(tail):
        return Sheet(lines, (), int(alone[1]))
    more = _MORE.search(tail)
    listed = tail[: more.start()] if more else tail
    return Sheet(lines, tuple(item for item in listed.split(BETWEEN) if item), int(more[1]) if more else 0)


def divided(line: str) -> tuple[str, str]:
    """Who said a line, and what; nobody where it does not say."""
    for wording in WORDINGS.values():
        for label in (wording.user, wording.assistant):
            if line.startswith(f"{label}: "):
                return label, line[len(label) + 2 :]
    return "", line


def unlabelled(text: str) -> str:
    """What a summary says, without our own labels: as it is judged."""
    sheet = read(text)
    return "\n".join([*(divided(line)[1] for line in sheet.lines), BETWEEN.join(sheet.mentioned)])


def gathered(said: Sequence[tuple[str, str]]) -> tuple[str, ...]:
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

_OURS = tuple(text for each in (ITALIAN_PHRASES, ENGLISH_PHRASES) for text in (each.opening, each.absent, each.no_more))
_BRACKET = re.compile(r"[ \t]*(?<![\w)`])\[([^\[\]\n]{1,400})\](?!\()")
_LABEL = re.compile(r"\s*(?:fonti|fonte|sources?|cit|refs?|chunks?|id)\s*[:=]\s*", re.IGNORECASE)
_CHUNK = re.compile(r"(?=\S*\d)[\w.:/@+~%-]+#[\w.:/-]+")  # as the ids of a document's chunks are made


def spoken(message: Message) -> Message:
    """The message without what was not said; itself, for most."""
    if message.role != "assistant":
        return message
    text = without_ours(message.content)
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


def without_ours(text: str) -> str:
    """A text without the sentences of the reader's own; the same text where there are none."""
    for ours in _OURS:
        if ours in text:
            text = text.replace(ours, "")
    return text


# A text cut to so many tokens, at a word.


def cut(text: str, limit: int, counter: TokenCounter) -> str:
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

Written = Callable[[Sequence[int]], tuple[str, ...]]


class Fitting:
    """One summary being filled: `written` makes lines of the positions that were chosen."""

    def __init__(self, limit: int, counter: TokenCounter, wording: Wording, written: Written) -> None:
        self._limit = limit
        self._counter = counter
        self._wording = wording
        self._written = written

    def fill(
        self, sentences: Sequence[str], order: Iterable[int], evidence: Sequence[Evidence], left_out: int = 0
    ) -> Sheet:
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
        sheet = Sheet(self._written(sorted(chosen)), tuple(kept))
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
        return [each for each in evidence if not survives(each.text, text)]

    def _name(self, missing: Sequence[Evidence], room: int) -> tuple[list[str], int]:
        """As much evidence as fits, by rank, in the order it ranks; pieces that cannot be read back are not named."""
        kept: list[str] = []
        spent = refused = 0
        for each in missing:
            if BETWEEN in each.text:
                continue
            cost = self._counter.count(BETWEEN + each.text)
            if spent + cost <= room:
                kept.append(each.text)
                spent += cost
            else:
                refused += 1
            if refused > 40:
                break
        return kept, spent

    def _squeezed(self, sheet: Sheet, by_rank: list[int], evidence: Sequence[Evidence], left_out: int) -> Sheet:
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
                return Sheet()


def _counted(sheet: Sheet, evidence: Sequence[Evidence], left_out: int) -> Sheet:
    """The sheet with the number of things that it does not hold, beside those that were left out before."""
    held = "\n".join([*sheet.lines, BETWEEN.join(sheet.mentioned)])
    return replace(sheet, left_out=left_out + sum(not survives(each.text, held) for each in evidence))


# Whether a talk is due for condensation, and which of its turns.


@dataclass(frozen=True, slots=True)
class Range:
    """Turns from `first_turn` to `last_turn`, both included."""

    first_turn: int
    last_turn: int

    def of(self, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Those of the turns that lie in the range."""
        return tuple(turn for turn in turns if self.first_turn <= turn.turn_number <= self.last_turn)


EXTRACTIVE = "extractive"
TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class Condensed:
    """A summary before it is kept.

    `made_by` is a model's name, `extractive` or `truncated`; `why` tells why nothing better made it. `left_out` counts
    the evidence that did not fit.
    """

    text: str
    topics: tuple[str, ...]
    made_by: str
    covers: Range
    tokens: int
    left_out: int = 0
    why: str = ""


def heard(turns: Sequence[Turn], leave_out: frozenset[str] = frozenset()) -> list[Message]:
    """What user and assistant said, in order; tools, systems, and messages left out by id are not quoted.

    Of an answer it is what is left without citations, which stand among its chunk ids, and the reader's own sentences.
    """
    said = (
        spoken(message)
        for turn in turns
        for message in turn.messages
        if message.role in ("user", "assistant") and message.id not in leave_out
    )
    return [message for message in said if message.content.strip() or message.chunk_ids]


def fresh(turns: Sequence[Turn], previous: Summary | None) -> tuple[Turn, ...]:
    """The turns that an earlier summary does not cover yet."""
    return tuple(turn for turn in turns if previous is None or turn.turn_number > previous.last_turn)


def covered(turns: Sequence[Turn], previous: Summary | None) -> Range:
    """What a summary of these turns covers together with the earlier one; there must be one or the other."""
    numbers = [turn.turn_number for turn in turns]
    if previous is not None:
        numbers += [previous.first_turn, previous.last_turn]
    return Range(min(numbers), max(numbers))
