"""Reading on: what a follow-up points at, seen by the reader, and the passages that answer it.

"Tell me more about point 2" wants that point in full and what else the material says of its words, not its neighbours
in the list; "go on" wants what stands after what was said, in the order of the material, and nothing twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ricordo.answering.asking import AskedWord, asked_words
from ricordo.answering.evidence import weigh
from ricordo.answering.passages import Passage, one_line
from ricordo.answering.scoring import Scored
from ricordo.followups.resolution import Resolved

_MOST = 4
_MOST_WORDS = 16
_ITEM_WORD = 0.5  # what a word of the item is worth beside one of the question
# Of the question and the item that another passage must speak of, in the same document and in another.
_RELATED, _FAR = 0.05, 0.4
_MOST_RELATED = 2


@dataclass(frozen=True, slots=True)
class Following:
    """What a follow-up builds on: items it names, chunks they cite, what was said, whether it only says "go on"."""

    items: tuple[str, ...] = ()
    chunk_ids: frozenset[str] = frozenset()
    said: str = ""
    goes_on: bool = False

    def words(self, asked: Sequence[AskedWord]) -> tuple[AskedWord, ...]:
        """The question's words, and after them those of the items, which are worth less."""
        known = {each for word in asked for each in word.stems}
        added = [
            replace(word, worth=_ITEM_WORD * word.worth)
            for item in self.items
            for word in asked_words(item)
            if not word.stems & known
        ]
        return (*asked, *added[:_MOST_WORDS])


def follow(references: Sequence[Resolved], said: Sequence[str] = ()) -> Following:
    """What references mean for reading; `said` are earlier answers, which "go on" does not repeat."""
    goes_on = any(reference.kind == "continuation" for reference in references)
    items = () if goes_on else tuple(one_line(each.item.text) for each in references if each.item is not None)
    texts = [*said, *(reference.text for reference in references)] if goes_on else []
    cited = frozenset(name for reference in references for name in reference.chunk_ids)
    return Following(items, cited, "\n".join(one_line(text) for text in texts), goes_on)


def about_items(scored: Sequence[Scored], items: Sequence[str]) -> tuple[Passage, ...]:
    """The named items as the material has them, then what else it says of them; empty if it does not have them."""
    named = [each for each in scored if any(_same(each.passage.text, item) for item in items)]
    if not named:
        return ()
    documents = {_document(each.passage) for each in named}
    lists = {(each.passage.chunk_id, each.passage.group) for each in named if each.passage.group is not None}
    # The list's other points are what was not asked for, and the subject of the whole talk is said everywhere: what
    # counts are the words of the item itself.
    others = [
        each.passage
        for each in scored
        if each not in named
        and (each.passage.chunk_id, each.passage.group) not in lists
        and not any(each.passage.text in other.passage.said for other in named)
    ]
    weighed = weigh([word for item in items for word in asked_words(item)], [each.own_stems for each in others])
    near = {each.order: weighed.share(weighed.heard(each.own_stems)) for each in others}
    related = [
        each
        for each in sorted(others, key=lambda each: (-near[each.order], each.order))
        if near[each.order] >= (_RELATED if _document(each) in documents else _FAR)
    ]
    texts = {each.text: each for each in [*(each.passage for each in named), *related[:_MOST_RELATED]]}
    return tuple(texts.values())


def going_on(scored: Sequence[Scored], following: Following) -> tuple[Passage, ...]:
    """What stands after what was said in the chunks that were cited, then before it, then the best of the others."""
    last = max((each.passage.order for each in scored if each.passage.text in following.said), default=-1)
    fresh = [each for each in scored if each.passage.text not in following.said]
    here = [each for each in fresh if each.passage.chunk_id in following.chunk_ids]
    elsewhere = [each for each in fresh if each not in here and each.coverage >= _FAR]
    here.sort(key=lambda each: (each.passage.order < last, each.passage.order))
    elsewhere.sort(key=lambda each: (-each.score, each.passage.order))
    texts = {each.passage.text: each.passage for each in [*here, *elsewhere][:_MOST]}
    return tuple(texts.values())


def _document(passage: Passage) -> str:
    """The document of a passage: our ids begin with it; of an application's own ids each is its own."""
    return passage.chunk_id.partition("#")[0]


def _same(text: str, item: str) -> bool:
    """Whether a passage is an item of an answer; the item may hold two sentences of which it is one."""
    return text in item or item in text
