"""Key details: what a summary must keep verbatim (names, numbers, dates, code, paths, addresses, chunk ids).

A text goes in, its key details come out, verbatim and in order. Each text is read alone. Recall is preferred to
precision: doubtful finds (a capital at the start of a sentence, a single digit) are marked weak and dropped first. A
model's sentence is grounded if its key details were said. Also the keywords and key topics of texts.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from ricordo.languages.registry import AnyLanguage, all_words, languages

if TYPE_CHECKING:
    from ricordo.languages.base import Language

_WORD = re.compile(r"[^\W\d_]+")
_PHRASE = re.compile(r"[^\W\d_]+|[^\w\s'’-]|\n|\d+")
_ID = re.compile(r"(?=\S*\d)[\w.:/@+~%-]*#[\w.:/-]+")  # a chunk id, for example; "#" before letters only is a hashtag
_VOWELS = "aeiouàèéìòù"
_LONGEST_PHRASE = 3
_BEGINNING = 600  # characters read of each text
# Orders to a model, chat template tokens, and a role at the start of a line.
ORDER = AnyLanguage(
    r"\b(?:<titles.orders>)\b|<\|\w+\|>|</?(?:s|sys|system|user|assistant|instructions?)>|\[/?inst\]"
    r"|^\s*(?:<titles.roles>)\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_ABOUT = 0.25  # least share of a summary's keywords that were said


@lru_cache(maxsize=20_000)
def base_form(word: str) -> str:
    """A lower-case word without its plural and gender ending."""
    if len(word) > 4 and word.endswith("s"):
        word = word[:-1]
    return word.rstrip(_VOWELS) if len(word) > 4 and word[-1] in _VOWELS else word


def keywords(text: str) -> list[str]:
    """The base forms of the content words, in order."""
    return [base_form(word) for word in _WORD.findall(text.lower()) if len(word) > 2 and not is_stop_word(word)]


def is_stop_word(word: str) -> bool:
    """Whether a lower-case word is a function word, a common verb or small talk."""
    return word in _small_words(languages())


@cache
def _small_words(known: tuple["Language", ...]) -> frozenset[str]:
    fields = ("vocabulary.stop_words", "vocabulary.small_talk", "followups.function_words", "followups.verbs")
    return frozenset().union(*map(all_words, fields))


@cache
def _not_topical(known: tuple["Language", ...]) -> frozenset[str]:
    return _small_words(known).union(all_words("followups.relational"), all_words("followups.modifiers"))


def key_topics(texts: Sequence[str], *, most: int = 8, before: Sequence[str] = ()) -> tuple[str, ...]:
    """The most frequent phrases of one to three words, interleaved with the topics of `before`."""
    counts: Counter[tuple[str, ...]] = Counter()
    spelled: dict[tuple[str, ...], str] = {}
    for text in texts:
        for phrase in _phrases(text[:_BEGINNING]):
            for size in range(1, min(len(phrase), _LONGEST_PHRASE) + 1):
                for start in range(len(phrase) - size + 1):
                    words = phrase[start : start + size]
                    if words[0].isdigit():
                        continue  # a number may only continue a name
                    key = tuple([base_form(word.lower()) for word in words])
                    counts[key] += 1
                    spelled.setdefault(key, " ".join(words))
    # Score: uses times words, so "stenosi lombare" three times beats "stenosi" five times.
    enough = 2 if len(texts) > 2 else 1
    ranked = sorted((key for key in counts if counts[key] >= enough), key=lambda key: (-counts[key] * len(key), key))
    fresh: list[tuple[str, ...]] = []
    for key in ranked:
        if len(fresh) >= most:
            break
        if not any(_within(key, other) or _within(other, key) for other in fresh):
            fresh.append(key)
    return _beside(before, [spelled[key] for key in fresh])[:most]


def _beside(before: Sequence[str], fresh: Sequence[str]) -> tuple[str, ...]:
    mixed: dict[str, str] = {}
    for position in range(max(len(before), len(fresh))):
        for source in (before, fresh):
            if position < len(source):
                mixed.setdefault(source[position].lower(), source[position])
    return tuple(mixed.values())


def _phrases(text: str) -> Iterable[list[str]]:
    """Runs of words that can name a topic, split at stop words and punctuation."""
    run: list[str] = []
    passed_over = _not_topical(languages())
    for word in _PHRASE.findall(_ID.sub("\n", text)):
        if len(word) > 2 and word.lower() not in passed_over:
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    size = len(part)
    return any(whole[start : start + size] == part for start in range(len(whole) - size + 1))


DetailKind = Literal["name", "date", "number", "url", "path", "code", "id", "chunk"]

_WORTH: Mapping[str, float] = {
    "name": 3.0,
    "date": 3.0,
    "number": 2.5,
    "id": 2.5,
    "url": 2.5,
    "path": 2.5,
    "chunk": 2.0,
    "code": 2.0,
}
_LONGEST = 400  # characters of code; longer code is weak


@dataclass(frozen=True, slots=True)
class KeyDetail:
    """A verbatim span of a text. `weak`: possibly only a common word or a digit."""

    text: str
    kind: DetailKind
    weak: bool = False


_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪĮİĶĹĻĽŁŃŅŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŹŻŽΑ-ΩА-Я"
_MONTHS = r"(?:<calendar.months>|<calendar.month_abbreviations>)\b\.?"
_UNITS = (
    r"(?:%|‰|°[CF]?|€|\$|£|(?:k|c|m|d|h|µ|n)?[mgl]|km/h|k?cal|kwh?|[kmgt]i?b|[kmg]?hz|ms|sec|min|h|euro|eur|usd|gbp"
    r"|<vocabulary.measures>)"
)
_FILES = (
    r"(?:py|js|ts|tsx|jsx|json|ya?ml|toml|md|txt|csv|tsv|pdf|docx?|xlsx?|pptx?|png|jpe?g|svg|html?|css|sql|sh|java|go|rs"
    r"|cpp|hpp|ini|cfg|log|zip|gz|tar|db|sqlite|ipynb|tex|xml)"
)
_DAY_OF = rf"\b\d{{1,2}}(?:<calendar.ordinal_marks>)?\ (?:(?:<calendar.of_month>)\ )?(?i:{_MONTHS})(?:,?\ \d{{4}}\b)?"
_MONTH_OF = (
    rf"\b(?i:{_MONTHS})\ \d{{1,2}}(?:<calendar.ordinal_marks>)?\b(?:,?\ \d{{4}}\b)? | \b(?i:{_MONTHS})\ \d{{4}}\b"
)
# The first alternative that matches takes the characters. Repetitions are bounded, because pasted text
# is not.
_MARKED = AnyLanguage(
    rf"""
      (?P<code> `[^`\n]{{1,400}}` )
    | (?P<url> \b(?:https?|ftp)://[^\s<>"'«»`]+ | \bwww\.[^\s<>"'«»`]+
        | (?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,64}}\.[\w.-]{{0,64}}\w )
    | (?P<path> (?<![\w/.])(?:~|\.{{1,2}})?/(?:[\w.@+-]{{1,80}}/){{0,30}}[\w.@+-]{{0,80}}\w/?
        | \b[A-Za-z]:\\[^\s:*?"<>|]+
        | (?<![\w@+-])(?:[\w@+-]{{1,80}}/){{1,30}}[\w.@+-]{{0,80}}\.\w+
        | (?<![\w-])[\w-]{{1,80}}(?:\.[\w-]{{1,80}}){{0,4}}\.{_FILES}\b(?!\() )
    | (?P<date>
        \b\d{{4}}-\d{{2}}(?:-\d{{2}}(?:[T ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?(?:Z|[+-]\d{{2}}:?\d{{2}})?)?)?\b
        | \b\d{{1,2}}(?P<sep>[/.-])\d{{1,2}}(?P=sep)\d{{2,4}}\b
        | {_DAY_OF} | {_MONTH_OF}
        | \b\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\ ?[ap]\.?m\b\.?)? | \b\d{{1,2}}\ ?[ap]m\b )
    | (?P<id> \b[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}\b
        | \b(?=[^\W\d_]{{0,40}}\d)(?=\d{{0,40}}[^\W\d_])\w{{1,80}}(?:[-.:\#/]\w{{1,80}}){{1,8}}
        | (?<![\w-])[^\W\d_]{{1,40}}(?:[-:][^\W\d_]{{1,40}}){{0,3}}[-:\#]?\d(?:[\w.:\#/-]{{0,80}}\w)? | \#\w+ )
    | (?P<number> (?:[€$£]\ ?)?(?<![\w.])(?<!\d,)[+−-]?\d+(?:[.,'’]\d+)*(?:/\d+)?(?:\ ?{_UNITS}(?!\w))?\w* )
    | (?P<call> \b[^\W\d_]\w{{0,60}}(?:\.\w{{1,60}}){{0,4}}\(\) | \b[a-z]{{1,40}}(?:_[a-z0-9]{{1,40}}){{1,8}}\b
        | \b[a-z]{{1,40}}[A-Z]\w*\b )
    """,
    re.VERBOSE | re.DOTALL,
)
_CAPITALISED = rf"[{_UPPER}]\w*(?:['’-][{_UPPER}]\w*)*"
_NAME = AnyLanguage(
    rf"(?<![\w`])(?:(?:<vocabulary.name_titles>)\. )?{_CAPITALISED}"
    rf"(?: (?:(?:de|van|von|<vocabulary.name_particles>) )?{_CAPITALISED}){{0,5}}",
    flags=0,
)
_BLOCK = re.compile(r"```.*?```|~~~.*?~~~", re.DOTALL)
_SIGN = re.compile(r"(?<!\S)\S*?(?:`[^`\n]{1,400}`|[\d`/\\@_#~]|\(\)|[a-z][A-Z]|\.\w)\S*")
_LONGEST_MONTH = 12
_WORDS_AFTER = re.compile(r"(?: \S+){1,3}")
_LIST_MARK = re.compile(r"(?m)^[ \t]*(?:\d{1,2}[.)]|[-*•#>]+)[ \t]+")
_LOWER = re.compile(r"(?<![\w'’])[a-zà-öø-ÿ]\w+")
_ELISION = AnyLanguage(r"(?:<vocabulary.elisions>)['’]")
_OPENS = frozenset('.!?:;…\n«»"“”([{-–—*#>•|')
_TAIL = ".,;:!?)]}'’…"


def find_key_details(text: str) -> list[KeyDetail]:
    """The key details of one text, each once, in order of appearance."""
    found: dict[str, tuple[int, KeyDetail]] = {}
    taken: list[tuple[int, int]] = []
    plain = _LIST_MARK.sub(lambda mark: " " * len(mark[0]), text)
    if "```" in plain or "~~~" in plain:
        for block in _BLOCK.finditer(plain):
            if block[0].strip("`~ \n"):
                _note(found, block.start(), KeyDetail(block[0], "code", weak=len(block[0]) > _LONGEST))
        plain = _BLOCK.sub(lambda block: " " * (len(block[0]) - 1) + "\n", plain)
    for start, end in _windows(plain):
        for match in _MARKED.compiled.finditer(plain, start, end):
            detail = _marked(match)
            if detail is not None:
                taken.append(match.span())
                _note(found, match.start(), detail)
    for start, words in _names(plain, taken):
        _note(found, start, words)
    return [detail for _, detail in sorted(found.values(), key=lambda each: each[0])]


def _windows(text: str) -> Iterable[tuple[int, int]]:
    """The spans that can contain more than names: words with a digit or a sign, and their neighbours.

    Most text is plain words; skipping it saves the cost of the large pattern.
    """
    low = high = 0
    for word in _SIGN.finditer(text):
        # Include a month before its day, and a unit or month and year after a number.
        start, after = word.start(), _WORDS_AFTER.match(text, word.end())
        end = after.end() if after else word.end()
        before = text.rfind(" ", max(start - _LONGEST_MONTH, 0), max(start - 1, 0))
        begin = before + 1 if before >= 0 else max(start - _LONGEST_MONTH, 0)
        if begin > high:
            if high > low:
                yield low, high
            low = begin
        high = max(high, end)
    if high > low:
        yield low, high


def _note(found: dict[str, tuple[int, KeyDetail]], at: int, detail: KeyDetail) -> None:
    if detail.text:
        found.setdefault(detail.text, (at, detail))


def _marked(match: re.Match[str]) -> KeyDetail | None:
    kind = match.lastgroup if match.lastgroup != "sep" else "date"
    words = match[0]
    if kind == "code":
        return KeyDetail(words, "code") if words.strip("`~ \n") else None
    if kind in ("url", "path"):
        words = words.rstrip(_TAIL)
        return KeyDetail(words, "url" if kind == "url" else "path") if len(words) > 1 else None
    if kind == "call":
        return KeyDetail(words, "code")
    if kind == "number":
        return KeyDetail(words.strip(), "number", weak=len(words) == 1)
    if kind == "date":
        return KeyDetail(words.rstrip(".,"), "date")
    return KeyDetail(words.rstrip(_TAIL), "id")


def _names(text: str, taken: Sequence[tuple[int, int]]) -> Iterable[tuple[int, KeyDetail]]:
    """Runs of capitalised words; at the start of a sentence without leading stop words."""
    spans = iter([*taken, (len(text) + 1, len(text) + 1)])
    low, high = next(spans)
    for match in _NAME.finditer(text):
        start = match.start()
        while high <= start:
            low, high = next(spans)
        if low < match.end() and start < high:
            continue
        before = text[max(start - 40, 0) : start].rstrip(" \t")[-1:]
        yield from _run(match[0], start, opening=not before or before in _OPENS)


def _run(words: str, start: int, *, opening: bool) -> Iterable[tuple[int, KeyDetail]]:
    if elided := _ELISION.match(words):
        words, start, opening = words[elided.end() :], start + elided.end(), False
    if opening:
        while words and _only_opens(words.partition(" ")[0]):
            rest = words.partition(" ")[2]
            start, words, opening = start + len(words) - len(rest), rest, False
    if len(words) > 1:
        alone = opening and " " not in words and not any(c.isupper() for c in words[1:])
        if not (alone and words.endswith(_gerunds())):  # a gerund at the start of a sentence is rarely a name
            yield start, KeyDetail(words, "name", weak=alone)


def _gerunds() -> tuple[str, ...]:
    return tuple(each.followups.gerund for each in languages() if each.followups.gerund)


def _only_opens(word: str) -> bool:
    return is_stop_word(word.lower()) and word not in all_words("vocabulary.names_like_words")


def common_words(texts: Iterable[str]) -> frozenset[str]:
    """The words written in lower case: a capital at the start of a sentence does not make them names."""
    return frozenset(word for text in texts for word in _LOWER.findall(text))


def ranked_key_details(found: Iterable[tuple[KeyDetail, float]]) -> list[KeyDetail]:
    """All key details, each once, ranked by kind, frequency and source.

    `found` pairs each detail with a bonus for its source. One that is not weak in any text is not weak.
    """
    worth: dict[str, float] = {}
    times: dict[str, int] = {}
    best: dict[str, KeyDetail] = {}
    for detail, bonus in found:
        known = best.get(detail.text)
        if known is None or (known.weak and not detail.weak):
            best[detail.text] = detail
        times[detail.text] = times.get(detail.text, 0) + 1
        worth[detail.text] = max(worth.get(detail.text, 0.0), bonus)
    order = {text: position for position, text in enumerate(best)}

    def value(text: str) -> float:
        detail = best[text]
        return (0.5 if detail.weak else _WORTH[detail.kind]) + worth[text] + math.log2(times[text])

    return [best[text] for text in sorted(best, key=lambda text: (-value(text), order[text]))]


def contains_verbatim(words: str, text: str) -> bool:
    """Whether a text contains the words as whole words: "2012" does not contain "12"."""
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        before = text[at - 1 : at] if at else ""
        if not (_joined(before, words[:1]) or _joined(words[-1:], text[end : end + 1])):
            return True
        at = text.find(words, at + 1)
    return False


def _joined(left: str, right: str) -> bool:
    return bool(left and right) and (left.isalnum() or left == "_") and (right.isalnum() or right == "_")


def is_about(text: str, said: Iterable[str]) -> bool:
    """Whether enough keywords of a text were said; a refusal or an answer to an injected order is not."""
    words = set(keywords(text))
    known = {term for each in said for term in keywords(each)}
    return bool(words) and len(words & known) >= _ABOUT * len(words)


@cache
def _reporting(known: tuple["Language", ...]) -> frozenset[str]:
    """Reporting words of a summary, which need not have been said."""
    return frozenset(word for each in known for word in keywords(each.summaries.reporting))


def grounded_sentences(own: Sequence[str], said: Sequence[str]) -> list[str]:
    """The model's sentences whose names, numbers and dates were all said, with few words of its own.

    Sentences that give orders are dropped too.
    """
    whole = "\n".join(said).casefold()
    known = {term for each in said for term in keywords(each)} | _reporting(languages())

    def holds(sentence: str) -> bool:
        words = keywords(sentence)
        named = (found.text for found in find_key_details(sentence) if not found.weak)
        return (
            2 * sum(word in known for word in words) >= len(words)
            and all(contains_verbatim(text.casefold(), whole) for text in named)
            and not ORDER.search(sentence)
        )

    return [sentence for sentence in own if holds(sentence)]
