"""The text format of a summary: writing it, fitting it into a token limit, and parsing it again.

    User: My name is Marco Rossi.
    Assistant: The course begins on 12 March 2024.
    Mentioned: Torino · 35 kg · notes.pdf (+3 more)

The last line lists, verbatim, the key details that no line above contains, and counts those that did not fit. It is
parsed only at the end of a summary that Ricordo wrote, so that a message cannot forge it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ricordo.languages.registry import AnyLanguage, languages
from ricordo.people.summaries.key_details import KeyDetail, contains_verbatim

if TYPE_CHECKING:
    from ricordo.engine import TokenCounter
    from ricordo.languages.base import SummaryWording
    from ricordo.records.derived import Summary
    from ricordo.records.turns import Message, Turn

SEPARATOR = " · "
_MORE = AnyLanguage(r" \(\+(\d{1,9}) (?:<summaries.more>)\)\Z", flags=0)
_ALONE = AnyLanguage(r"\+(\d{1,9}) (?:<summaries.more>)\Z", flags=0)


@dataclass(frozen=True, slots=True)
class SummaryParts:
    """A parsed summary: lines, additional key details, and the number of key details left out."""

    lines: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    left_out: int = 0

    def text(self, wording: "SummaryWording") -> str:
        return "\n".join([*self.lines, *self._tail(wording)])

    def _tail(self, wording: "SummaryWording") -> list[str]:
        if self.mentioned:
            more = f" (+{self.left_out} {wording.more})" if self.left_out else ""
            return [f"{wording.mentioned}: {SEPARATOR.join(self.mentioned)}{more}"]
        # Without additional key details, the number left out is still shown.
        return [f"{wording.mentioned}: +{self.left_out} {wording.more}"] if self.left_out and self.lines else []


def parse_summary(text: str) -> SummaryParts:
    """Parse a summary in any of the languages; text in another format is all lines."""
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


def _wordings() -> tuple["SummaryWording", ...]:
    return tuple(each.summaries for each in languages())


def wording_of(summary: str) -> "SummaryWording":
    """The wording of the last label in a summary; the first wording if it has no label."""

    def last(wording: "SummaryWording") -> int:
        lines = f"\n{summary}"
        return max(lines.rfind(f"\n{label}: ") for label in (wording.mentioned, wording.user, wording.assistant))

    return max(_wordings(), key=last)


def split_speaker(line: str) -> tuple[str, str]:
    """The speaker label of a line and the rest; an empty label if there is none."""
    for wording in _wordings():
        for label in (wording.user, wording.assistant):
            if line.startswith(f"{label}: "):
                return label, line[len(label) + 2 :]
    return "", line


def without_labels(text: str, *, users: bool | None = None) -> str:
    """The text of a summary without labels, as safety signals are searched in it.

    With `users` true, only what the user says; with False, only the rest.
    """
    sheet, labels = parse_summary(text), {wording.user for wording in _wordings()}
    lines = [split_speaker(line) for line in sheet.lines]
    said = [line for speaker, line in lines if users is None or (speaker in labels) == users]
    return "\n".join(said if users else [*said, SEPARATOR.join(sheet.mentioned)])


def speaker_lines(said: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Pairs of speaker and sentence as lines; consecutive sentences of a speaker share a line."""
    lines: list[str] = []
    last: str | None = None
    for speaker, sentence in said:
        if speaker == last:
            lines[-1] += f" {sentence}"
        else:
            lines.append(f"{speaker}: {sentence}" if speaker else sentence)
        last = speaker
    return tuple(lines)


_BRACKET = re.compile(r"[ \t]*(?<![\w)`])\[([^\[\]\n]{1,400})\](?!\()")
_LABEL = AnyLanguage(r"\s*(?:<vocabulary.source_labels>|id)\s*[:=]\s*")
_CHUNK = re.compile(r"(?=\S*\d)[\w.:/@+~%-]+#[\w.:/-]+")  # the form of a document's chunk ids


def strip_answer(message: "Message") -> "Message":
    """An answer without citations and the reader's fixed phrases; other messages unchanged."""
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
    """A text without the reader's fixed phrases; the same object if there are none."""
    for each in languages():
        said = each.reader
        for ours in (
            said.opening, said.absent, said.unsure, said.no_more, said.both, said.never_said, said.no_talk,
            said.nothing_yet, said.nothing_held,
        ):  # fmt: skip
            if ours in text:
                text = text.replace(ours, "")
    return text


def truncate_text(text: str, limit: int, counter: "TokenCounter") -> str:
    """A prefix of `text` that ends at a word and costs at most `limit` tokens, with an ellipsis."""
    if counter.count(text) <= limit:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(_ended(text, middle)) <= limit:
            low = middle
        else:
            high = middle - 1
    # Token counts need not grow with length: check the result of the search again.
    shortened = _ended(text, low)
    return shortened if low and counter.count(shortened) <= limit else ""


def _ended(text: str, size: int) -> str:
    head = text[:size]
    if size < len(text) and not text[size].isspace() and " " in head:
        head = head.rpartition(" ")[0]
    return head.rstrip() + "…"


_FOR_SENTENCES = 0.4
_TAIL = 12  # tokens for the label, the count and joined tokens

LineWriter = Callable[[Sequence[int]], tuple[str, ...]]


class SummaryFitter:
    """Fits sentences and key details into a token limit; `written` renders the chosen positions as lines."""

    def __init__(self, limit: int, counter: "TokenCounter", wording: "SummaryWording", written: LineWriter) -> None:
        self._limit = limit
        self._counter = counter
        self._wording = wording
        self._written = written

    def fill(
        self, sentences: Sequence[str], order: Iterable[int], details: Sequence[KeyDetail], left_out: int = 0
    ) -> SummaryParts:
        """Sentences by rank, then key details, then more sentences; never over the limit."""
        ranked = list(order)
        costs: dict[int, int] = {}
        room = self._limit - _TAIL
        chosen, spent = self._choose(sentences, ranked, (), int(room * _FOR_SENTENCES), costs)
        kept, paid = self._name(self._missing(details, chosen), room - spent)
        if spent + paid < room:
            chosen, spent = self._choose(sentences, ranked, chosen, room - paid, costs)
            kept, _ = self._name(self._missing(details, chosen), room - spent)
        taken = set(chosen)
        sheet = SummaryParts(self._written(sorted(chosen)), tuple(kept))
        return self._squeezed(sheet, [position for position in ranked if position in taken], details, left_out)

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
            # After many sentences that do not fit, the limit is practically reached.
            if refused > 40 or spent >= room:
                break
        return chosen, spent

    def _missing(self, details: Sequence[KeyDetail], chosen: Sequence[int]) -> list[KeyDetail]:
        text = "\n".join(self._written(sorted(chosen)))
        return [each for each in details if not contains_verbatim(each.text, text)]

    def _name(self, missing: Sequence[KeyDetail], room: int) -> tuple[list[str], int]:
        """As many key details as fit, by rank; those that contain the separator are skipped."""
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
        self, sheet: SummaryParts, by_rank: list[int], details: Sequence[KeyDetail], left_out: int
    ) -> SummaryParts:
        """The summary within the limit: the lowest ranked goes first, key details before the last sentence."""
        while True:
            sheet = _counted(sheet, details, left_out)
            if self._counter.count(sheet.text(self._wording)) <= self._limit:
                return sheet
            if sheet.mentioned and (len(sheet.mentioned) > 1 or len(by_rank) <= 1):
                sheet = replace(sheet, mentioned=sheet.mentioned[:-1])
            elif by_rank:
                by_rank = by_rank[:-1]
                sheet = replace(sheet, lines=self._written(sorted(by_rank)))
            else:
                return SummaryParts()


def _counted(sheet: SummaryParts, details: Sequence[KeyDetail], left_out: int) -> SummaryParts:
    """The summary with the number of key details that it does not contain."""
    shown = "\n".join([*sheet.lines, SEPARATOR.join(sheet.mentioned)])
    return replace(sheet, left_out=left_out + sum(not contains_verbatim(each.text, shown) for each in details))


@dataclass(frozen=True, slots=True)
class TurnRange:
    """Turns from `first_turn` to `last_turn`, both included."""

    first_turn: int
    last_turn: int

    def of(self, turns: Sequence["Turn"]) -> tuple["Turn", ...]:
        """The turns in the range."""
        return tuple(turn for turn in turns if self.first_turn <= turn.turn_number <= self.last_turn)


EXTRACTIVE = "extractive"
TRUNCATED = "truncated"


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """A summary before it is stored.

    `made_by` is a model's name, `extractive` or `truncated`; `why` says why the better way failed. `left_out` counts
    the key details that did not fit.
    """

    text: str
    topics: tuple[str, ...]
    made_by: str
    covers: TurnRange
    tokens: int
    left_out: int = 0
    why: str = ""


def quotable_messages(turns: Sequence["Turn"], leave_out: frozenset[str] = frozenset()) -> list["Message"]:
    """The messages of user and assistant in order, without tools, system and the ids in `leave_out`.

    Answers come without citations, whose ids join the chunk ids, and without the reader's fixed phrases.
    """
    said = (
        strip_answer(message)
        for turn in turns
        for message in turn.messages
        if message.role in ("user", "assistant") and message.id not in leave_out
    )
    return [message for message in said if message.content.strip() or message.chunk_ids]


def uncovered_turns(turns: Sequence["Turn"], previous: "Summary | None") -> tuple["Turn", ...]:
    """The turns after those of the earlier summary."""
    return tuple(turn for turn in turns if previous is None or turn.turn_number > previous.last_turn)


def covered_range(turns: Sequence["Turn"], previous: "Summary | None") -> TurnRange:
    """The turns covered by these turns and the earlier summary; one of them must be given."""
    numbers = [turn.turn_number for turn in turns]
    if previous is not None:
        numbers += [previous.first_turn, previous.last_turn]
    return TurnRange(min(numbers), max(numbers))
