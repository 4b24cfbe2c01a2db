"""Lines and evidence within a number of tokens: candidates by rank go in, a sheet that fits comes out.

Two fifths of the room are for sentences, the rest for evidence that they do not hold; what either leaves, the other
takes. Costs are added up piece by piece, which overestimates, and the whole is counted once in the end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ricordo.condensation.evidence import Evidence, survives
from ricordo.condensation.layout import BETWEEN, Sheet
from ricordo.condensation.wording import Wording
from ricordo.model_ports import TokenCounter

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
