"""Safety rules, base prompt, memory, in this order; and the base prompt back, whatever it contains.

In: a base prompt, a profile and the rules. Out: one text that carries a seal: the length of the rules, and a digest of
rules, base and memory together. A text is only ever taken apart where its seal is true of the whole of it, so a base
prompt may hold our headings, our fences, even another text's seal: it comes back byte for byte.
"""

import re
from dataclasses import dataclass

from ricordo.errors import ValidationError
from ricordo.locales import Locale
from ricordo.person import Profile
from ricordo.prompt.block import Count, content_lines
from ricordo.prompt.shares import MemoryShares
from ricordo.prompt.words import MEMORY_WORDS, MemoryWords, memory_words
from ricordo.safety.fence import close_fence, marker, open_fence

BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class _Sealed:
    """An enhanced prompt taken apart."""

    safety: str
    base: str
    memory: str


def enhance_prompt(
    base: str,
    profile: Profile,
    *,
    count: Count,
    safety_rules: str = "",
    locale: Locale | str = "it",
    when: str = "",
    shares: MemoryShares | None = None,
) -> str:
    """The base prompt between the safety rules and what is known of the person.

    `count` gives the tokens of a text; `when` says in words when the last session was. A base that was already
    enhanced is taken apart first, so its old memory and old rules are replaced. Without memory, or without room for
    any, only the rules are added; without rules either, the base is returned as it is.
    """
    if not isinstance(base, str):
        raise ValidationError("base", "expected text; pass the system prompt of the agent")
    base = extract_base_prompt(base)
    words = memory_words(locale)
    shares = shares or MemoryShares()
    if not profile.is_empty and (enhanced := _with_memory(base, safety_rules, profile, when, words, shares, count)):
        return enhanced
    return _with_rules(base, safety_rules, words)


def has_memory_context(prompt: str) -> bool:
    """Whether a prompt carries the memory of a person, put there by `enhance_prompt` and not touched since."""
    sealed = _open(prompt)
    return sealed is not None and bool(sealed.memory)


def extract_base_prompt(prompt: str) -> str:
    """The base of an enhanced prompt, byte for byte; any other text is its own base."""
    sealed = _open(prompt)
    return prompt if sealed is None else sealed.base


def _with_memory(
    base: str, safety: str, profile: Profile, when: str, words: MemoryWords, shares: MemoryShares, count: Count
) -> str:
    """The enhanced prompt with as much memory as the whole has room for; empty where it has none."""
    most = (shares.most_facts, shares.most_topics)
    room = shares.memory
    while room > 0:
        lines = content_lines(profile, when, words, shares.within(room), most, count)
        if not lines:
            return ""
        enhanced = _sealed(safety, base, "\n".join(lines), words)
        excess = count(enhanced) - shares.total
        if excess <= 0:
            return enhanced
        room -= excess
    return ""


def _with_rules(base: str, safety: str, words: MemoryWords) -> str:
    """The rules, the line that ends them, and the base."""
    if not safety:
        return base
    return BREAK.join((safety, words.rules_end.format(seal=_seal(safety, base, "", words)), base))


def _sealed(safety: str, base: str, memory: str, words: MemoryWords) -> str:
    """Rules, base and memory; the seal is the marker of the fence."""
    seal = _seal(safety, base, memory, words)
    block = "\n".join(
        (words.title, open_fence(seal, words.code), memory, close_fence(seal, words.code), words.instructions)
    )
    return f"{safety}{BREAK if safety else ''}{base}{BREAK}{block}"


def _seal(safety: str, base: str, memory: str, words: MemoryWords) -> str:
    """How long the rules are, and a digest of everything that none of the texts contains."""
    return f"{len(safety):x}.{marker((safety, base, memory), words.code)}"


def _open(prompt: str) -> _Sealed | None:
    """The parts of an enhanced prompt, or None for any other text."""
    for words in MEMORY_WORDS.values():
        if sealed := _open_memory(prompt, words) or _open_rules(prompt, words):
            return sealed
    return None


def _open_memory(prompt: str, words: MemoryWords) -> _Sealed | None:
    """The parts where the text ends with the close of our fence; its opening is found by the same seal."""
    before, close, after = prompt.rpartition(f"\n{close_fence('', words.code).partition('>>')[0]}")
    found = re.match(r"([0-9a-f]{1,12})\.[0-9a-f]+(?=>>)", after)
    if not close or not found:
        return None
    seal = found[0]
    head, opening, memory = before.rpartition(f"{BREAK}{words.title}\n{open_fence(seal, words.code)}\n")
    length = int(found[1], 16)
    start = length + len(BREAK) if length else 0
    parts = _Sealed(head[:length], head[start:], memory)
    if not opening or not memory or _sealed(parts.safety, parts.base, parts.memory, words) != prompt:
        return None
    return parts


def _open_rules(prompt: str, words: MemoryWords) -> _Sealed | None:
    """The parts where only rules were added: their end stands where its own seal says that it does."""
    before, after = (re.escape(part) for part in words.rules_end.split("{seal}"))
    for found in re.finditer(rf"{BREAK}{before}([0-9a-f]{{1,12}})\.[0-9a-f]+{after}(?={BREAK})", prompt):
        if int(found[1], 16) != found.start() or not found.start():
            continue
        parts = _Sealed(prompt[: found.start()], prompt[found.end() + len(BREAK) :], "")
        if _with_rules(parts.base, parts.safety, words) == prompt:
            return parts
    return None
