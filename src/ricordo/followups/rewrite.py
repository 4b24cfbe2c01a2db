"""Standalone questions: rewritten by rules, or by a model behind the protocol `Rewriter`.

The rules add at most twenty words, each with the turn it comes from: the topic, what was asked about it, the text of
the item. English pronouns are replaced; everything else is added in brackets before the final mark, which is enough for
retrieval and leaves the user's words unchanged.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from ricordo.engine import LLM
from ricordo.followups.reference import Addition, PastTurn, ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import language_of, split_words
from ricordo.safety.fence import close_fence, defuse, marker, open_fence

MOST_ADDED_WORDS = 20
_MARKUP = re.compile(r"[*_`#|>]+|\[[^\[\]]*\]")
_HEADLINE_END = re.compile(r"\n|[:;.!?](?=\s|$)| [–—-] |, | \| ")
_LONGEST_RATIO = 6
_LONGEST_SLACK = 200


class Rewriter(Protocol):
    """A model that writes standalone questions; the rules are used when it fails."""

    def rewrite(self, question: str, history: Sequence[PastTurn]) -> str:
        """The question with everything it needs from the conversation, in its own language."""
        ...


def headline(text: str, most_words: int = 10) -> str:
    """The short name of an item: its first clause, without markup and citations."""
    plain = " ".join(_MARKUP.sub(" ", text.split("\n", 1)[0]).split()) or " ".join(_MARKUP.sub(" ", text).split())
    first = _HEADLINE_END.split(plain, maxsplit=1)[0].strip() or plain
    return " ".join(first.split()[:most_words]).rstrip(" ,;")


def fit_additions(question: str, offered: Sequence[Addition], most: int = MOST_ADDED_WORDS) -> tuple[Addition, ...]:
    """The additions with new words, in order, up to the allowed number of words."""
    known = set(split_words(question).words)
    kept: list[Addition] = []
    left = most
    for addition in offered:
        words = split_words(addition.text).words
        if not words or set(words) <= known or left <= 0:
            continue
        pieces = addition.text.split()[:left]
        left -= len(pieces)
        known.update(words)
        kept.append(replace(addition, text=" ".join(pieces)))
    return tuple(kept)


def write_standalone(
    question: str,
    additions: Sequence[Addition],
    references: Sequence[ReferenceCue],
    language: FollowUpWords,
    in_place: bool = True,
) -> str:
    """The question with its additions: the first in place of an English pronoun if `in_place`, others in brackets."""
    rest = [addition.text for addition in additions]
    text = question
    pronoun = _replaceable(question, references, language) if in_place else None
    if rest and pronoun is not None:
        phrase = f"{additions[0].article} {rest.pop(0)}".strip()
        if question[pronoun.start].isupper():
            phrase = phrase[0].upper() + phrase[1:]
        owned = question[pronoun.start : pronoun.end].lower() in language.owned
        text = f"{question[: pronoun.start]}{phrase}{_possessive(phrase) if owned else ''}{question[pronoun.end :]}"
    return bracketed(text, rest) if rest else text


def bracketed(text: str, added: Sequence[str]) -> str:
    """A text with phrases in brackets before its final mark."""
    body = text.rstrip()
    bare = body.rstrip("?!.… ")
    return f"{bare} ({', '.join(added)}){body[len(bare) :].strip()}"


def traced(standalone: str, question: str, history: Sequence[PastTurn]) -> tuple[Addition, ...]:
    """The words that a standalone question gained, by the newest turns in which they are written."""
    known = set(split_words(question).words)
    found: dict[int, list[str]] = {}
    for token in split_words(standalone).tokens:
        word = standalone[token.start : token.end]
        if not token.is_word or token.word in known:
            continue
        for turn in reversed(history):
            if word in turn.query or word in turn.response:
                found.setdefault(turn.turn_number, []).append(word)
                break
    return tuple(Addition(" ".join(said), number, "question") for number, said in found.items())


def trusted_rewrite(question: str, rewritten: str, language: FollowUpWords) -> str | None:
    """What a model returned, or None when it is blank, in another language, or far longer than the question."""
    text = rewritten.strip()
    if not text or len(text) > _LONGEST_RATIO * len(question) + _LONGEST_SLACK:
        return None
    return text if language_of(text, default=language) == language else None


def _replaceable(question: str, references: Sequence[ReferenceCue], language: FollowUpWords) -> ReferenceCue | None:
    if not references:
        return None
    first = references[0]
    word = question[first.start : first.end].lower()
    if first.kind != "pronoun" or word not in language.replaceable | language.owned:
        return None
    # A possessive needs its noun: "her" at the end is the person.
    follows = question[first.end : first.end + 1] == " "
    return first if word not in language.owned or follows else None


def _possessive(phrase: str) -> str:
    return "'" if phrase.endswith("s") else "'s"


TURNS = 6
CHARACTERS = 1_200  # of each message
MOST_TOKENS = 120


class ModelRewriter:
    """Rewrites with a language model. Thread-safe if the model is."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def rewrite(self, question: str, history: Sequence[PastTurn]) -> str:
        """The question with everything it needs from the talk."""
        language = language_of(question)
        talk = "\n".join(
            f"- {defuse(said[:CHARACTERS])}"
            for turn in history[-TURNS:]
            for said in (turn.query, turn.response)
            if said
        )
        word = marker((talk, question))
        asked = f"{open_fence(word, language.code)}\n{talk}\n{close_fence(word, language.code)}\n\n{question}"
        messages = [{"role": "system", "content": language.rewrite_instructions}, {"role": "user", "content": asked}]
        return self._llm.complete(messages, max_tokens=MOST_TOKENS).text
