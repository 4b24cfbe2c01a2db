"""The fence: a line before and a line after stored text in a prompt, and nothing inside that looks like either.

In: the texts that a prompt shows as data. Out: a marker that occurs in none of them, the two lines with the marker, and
the texts with roles, template tokens, headings and fences defused, without hidden characters. Every text is fenced and
defused, whether or not it looks suspicious.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from ricordo.languages.registry import AnyLanguage, LazyPattern, filled, language, languages

if TYPE_CHECKING:
    from ricordo.languages.base import Language

MARKER_LENGTH = 8
MOST_HIDDEN_CHARACTERS = 20_000  # characters of a text that are searched

# Soft hyphen, fillers, zero-width, bidirectional marks, variation selectors, byte-order mark, tags, private use,
# and the control characters that are neither a tab nor an end of line.
_FORMAT = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb"
)
_CONTROL = "\x00-\x08\x0e-\x1f\x7f\x80-\x84\x86-\x9f"
_PLANES = "\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f"
# Scripts beyond Latin, Greek and Cyrillic use joiners; symbols and emoji use both.
_WRITTEN_WITH_THEM = "\u0590-\u1fff\u2190-\u2bff\u3000-\ud7ff\ufe0f\U0001f000-\U0001faff"

HIDDEN = f"[{_FORMAT}{_CONTROL}{_PLANES}{_JOINERS}{_SELECTORS}]"


@cache
def _hidden() -> re.Pattern[str]:
    """Compiled on first use, so that importing stays fast."""
    return re.compile(HIDDEN)


@cache
def _smuggled() -> re.Pattern[str]:
    """Hidden characters, except joiners and selectors in their proper place."""
    return re.compile(
        f"[{_FORMAT}{_CONTROL}{_PLANES}]|(?<![{_WRITTEN_WITH_THEM}])[{_JOINERS}]"
        f"|(?<![{_WRITTEN_WITH_THEM}#*0-9©®])[{_SELECTORS}]|(?<=\ufe0f)[{_SELECTORS}]"
    )


def strip_hidden(text: str) -> str:
    """The text without hidden characters; unchanged if it has none."""
    if (text.isascii() and text.isprintable()) or not _hidden().search(text):
        return text
    while (shown := _smuggled().sub("", text)) != text:  # removing one may expose another
        text = shown
    return text


def normalise(text: str, most: int = MOST_HIDDEN_CHARACTERS) -> str:
    """The first `most` characters, NFKC-normalised and without hidden characters."""
    text = text[:most]
    if text.isascii():
        return text if text.isprintable() else _hidden().sub("", text)
    return _hidden().sub("", unicodedata.normalize("NFKC", _hidden().sub("", text)))[:most]


def has_hidden(text: str) -> bool:
    """Whether a text contains characters that ordinary writing does not."""
    return not (text.isascii() and text.isprintable()) and _smuggled().search(text) is not None


_DIGITS = re.compile("[0-9]+")


def marker(texts: Iterable[str], salt: str = "", source: Iterable[str] | None = None) -> str:
    """A short word that none of the texts contains, derived from them, or from a lasting `source`."""
    fenced = tuple(texts)
    whole = "\n".join(fenced)
    made_of = fenced if source is None else tuple(source)
    joined = whole if source is None else "\n".join(made_of)
    seed = sha256(f"{salt}\n{[len(text) for text in made_of]}\n{joined}".encode("utf-8", "surrogatepass"))
    # Digits have no upper or lower case: if the longest run of digits is not found, the word is not.
    while (
        max(_DIGITS.findall(word := seed.hexdigest()[:MARKER_LENGTH]), key=len, default="") in whole
        and word in whole.casefold()
    ):
        seed.update(b"again")
    return word


def open_fence(marker: str, locale_code: str) -> str:
    """The line before the data."""
    return language(locale_code).safety.fence_open.format(marker=marker)


def close_fence(marker: str, locale_code: str) -> str:
    """The line after the data."""
    return language(locale_code).safety.fence_close.format(marker=marker)


# Line starts beyond those of `^`, and characters that may precede a role.
_LINE = r"(?:\A|(?<=[\n\r\x0b\x0c\x85\u2028\u2029]))"
_LEAD = r"[ \t\u00a0>*_\[(]*+"
_GAP = r"[ \t]*+"
_COLON = r"[*_\])]*+[ \t]*+[:：﹕∶][:：﹕∶ \t*_)\]]*+"
_ROLES = "<safety.roles>"
_TAGS = (
    r"(?:<safety.tags>|sys|tool_call|tool_response|end|endoftext|bos|eos|pad|unk|s|mask|start_of_turn|end_of_turn"
    r"|admin|root|(?:\w{1,20}+:)?(?:function_calls?|invoke|parameter)"
    r"|(?:system|developer|assistant|user|human|tool|function)s?[-_][\w-]{1,40}+)"
)
_BRACKETED = (
    "/?(?:INST|SYS|SYSTEM(?:_PROMPT)?|USER|ASSISTANT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|SISTEMA|SEP"
    "|CLS|BOS|EOS)"
)
_TEMPLATE_HEADINGS = r"(?:response|input|output|completion|task|end)"
_FENCE_WORDS = r"(?:/?SYS|<safety.fence_words>)\b"

# Possessive quantifiers: no text can cause catastrophic backtracking.
_BREAKS: tuple[tuple[str, str], ...] = (
    # <|im_start|>, <|eot_id|>, <｜begin▁of▁sentence｜>, and truncated ones
    (r"<[ \t]?[|｜]([^|｜<>\n]{1,60})[|｜][ \t]?>", r"‹¦\1¦›"),
    (r"<[|｜](?=[\w/▁])", "‹¦"),
    (r"(?<=\w)[|｜]>", "¦›"),
    # [INST], [/INST], [SYSTEM_PROMPT], [AVAILABLE_TOOLS]
    (rf"\[{_GAP}({_BRACKETED}){_GAP}\]", r"(\1)"),
    # our fences, and <<SYS>>
    (rf"(?<!<)<<++{_GAP}({_FENCE_WORDS}[^<>\n]{{0,60}}+)>>++", r"‹‹\1››"),
    (rf"(?<!<)<<++({_GAP}{_FENCE_WORDS})", r"‹‹\1"),
    # <system>, </memory attr="x">, <s>, <start_of_turn>, <system-reminder>, <function=name>
    (rf"<{_GAP}(/?{_GAP}{_TAGS}(?:[ \t=][^<>\n]{{0,200}}+|{_GAP}/)?{_GAP})>", r"‹\1›"),
    (rf"<({_GAP}/{_GAP}{_TAGS}\b)", r"‹\1"),
    # our headers and footers, on a line of their own or inside one
    (rf"{_LINE}({_LEAD})={{3,}}+(?={_GAP}[^=\s])", r"\1---"),
    (rf"(?<!=)={{3,}}+(?={_GAP}(?-i:[A-ZÀ-Ý])[^=\n]{{0,120}}={{3}})", "---"),
    (rf"(---{_GAP}(?-i:[A-ZÀ-Ý])[^=\n]{{0,120}}+)={{3,}}+", r"\1---"),
    (rf"(?<!#)#++{_GAP}(<memory.headings>)\b", r"(\1)"),
    # ### System, ### Instruction: and a role at the start of a line; ### Response: of instruction templates
    (rf"{_LINE}({_LEAD})#{{2,}}+{_GAP}({_TEMPLATE_HEADINGS}){_GAP}{_COLON}", r"\1(\2) "),
    (rf"{_LINE}({_LEAD})#++{_GAP}({_ROLES})\b{_GAP}(?:{_COLON})?", r"\1(\2) "),
    (rf"{_LINE}({_LEAD})({_ROLES}){_GAP}{_COLON}", r"\1(\2) "),
)


@cache
def _rules(known: "tuple[Language, ...]") -> tuple[tuple[re.Pattern[str], str], ...]:
    """Compiled on first use, so that importing stays fast."""
    return tuple((re.compile(filled(pattern), re.IGNORECASE), into) for pattern, into in _BREAKS)


# A quick check whether any rule can apply; it fails for most texts.
_MARKED = LazyPattern(rf"\[{_GAP}(?i:{_BRACKETED})", flags=0)
_SPEAKS = AnyLanguage(rf"{_LEAD}(?:{_ROLES}){_GAP}{_COLON}")
_LINE_ENDS = re.compile(r"[\n\r\x0b\x0c\x85\u2028\u2029]")


def _is_possible(text: str) -> bool:
    speaks = _SPEAKS.compiled.match
    return (
        ("<" in text or ">" in text or "#" in text or "===" in text)
        or _MARKED.compiled.search(text) is not None
        or speaks(text) is not None
        or any(speaks(text, line.end()) for line in _LINE_ENDS.finditer(text))
    )


def defuse(text: str) -> str:
    """The text without anything that a model could take for a role, a template token, a tag, a heading or a fence.

    Ordinary text is unchanged, and defusing twice changes nothing more. Defused text stays readable: `<|im_start|>`
    becomes `‹¦im_start¦›`, `System: hello` becomes `(System) hello`.
    """
    return _defused_cached(text) if len(text) <= _MAX_CACHED_LENGTH else _defused(text)


def _defused(text: str) -> str:
    text = strip_hidden(text)
    if not _is_possible(text):
        return text
    while True:
        before = text
        for rule, into in _rules(languages()):
            text = rule.sub(into, text)
        if text == before:
            return text


# History and chunks are defused again with every question.
_MAX_CACHED_LENGTH = 4_000
_defused_cached = lru_cache(maxsize=4_096)(_defused)


def fenced(text: str, code: str) -> str:
    """A defused text between its own fences."""
    safe = defuse(text)
    word = marker((safe,))
    return f"{open_fence(word, code)}\n{safe}\n{close_fence(word, code)}"
