"""Talk without labels, for teachers to judge: what was written elsewhere, and our rows cut up, joined anew, reworded.

Most of it makes no sense as a whole, which does no harm: a teacher says what each clause would be, and the small
networks learn from many more clauses than were labelled. A message made of rows is made of rows of one fold.
"""

import json
import random
import re
from pathlib import Path

import numpy as np

from ricordo.languages.text import fold
from ricordo.people.facts import judge as model

WORD = re.compile(r"[^\W\d_]+")
JOINS = (", ", ". ", " - ", "\n", "? ", "! ", ", ", ". ", " ", "; ", ": ", ", ", ". ")
WORD_JOINS = {"en": (" and ", " so ", " but "), "it": (" e ", " quindi ", " ma ")}
COMMON = 160  # words of a language that are never replaced
NEAR = 12  # words that may stand for one
LONGEST = 700  # characters


class Words:
    """The words of a language, and those of like meaning."""

    def __init__(self, texts, vectors) -> None:
        counts: dict[str, int] = {}
        for word in (fold(each) for text in texts for each in WORD.findall(text)):
            counts[word] = counts.get(word, 0) + 1
        self.common = set(sorted(counts, key=lambda word: -counts[word])[:COMMON])
        known = [n for n, word in enumerate(vectors["words"]) if str(word) in counts]
        self.words = [str(vectors["words"][n]) for n in known]
        rows = vectors["rows"][known].astype(np.float32)
        self.rows = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-6)
        self.places = {word: place for place, word in enumerate(self.words)}
        self.near: dict[str, list[str]] = {}

    def like(self, word: str) -> list[str]:
        """Words of like meaning."""
        if word not in self.places:
            return []
        if word not in self.near:
            own = self.places[word]
            nearest = np.argpartition(-(self.rows @ self.rows[own]), NEAR)[: NEAR + 1]
            self.near[word] = [self.words[n] for n in nearest if n != own]
        return self.near[word]

    def reworded(self, text: str, share: float, chance: random.Random) -> str:
        """The text with some of its rarer words replaced."""

        def change(match: re.Match[str]) -> str:
            word = fold(match[0])
            if len(word) < 3 or word in self.common or chance.random() > share or not (others := self.like(word)):
                return match[0]
            other = chance.choice(others)
            return other.capitalize() if match[0][:1].isupper() else other

        return WORD.sub(change, text)


def written(folder: Path | None):
    """What other files hold: `said` and the questions `asks`, or the same in two languages."""
    for file in sorted(folder.glob("*.jsonl")) if folder else ():
        for row in map(json.loads, file.open(encoding="utf-8")):
            if "said" in row:
                yield row["lang"], row["said"], None, -1
                for each in row["asks"]:
                    yield row["lang"], each["q"], None, -1
            elif "en" in row and "it" in row:
                yield "en", row["en"], None, -1
                yield "it", row["it"], None, -1


def talk(rows, folds, vectors, folder: Path | None, count: int):
    """Messages as (language, text, message before, fold); the fold is -1 for what is not made of rows."""
    chance = random.Random(1)
    found = list(written(folder))
    said: dict[tuple[str, int], list[tuple[str, str | None]]] = {}
    for row, own in zip(rows, folds, strict=True):
        for earlier, text in zip([None, *row["messages"]], row["messages"], strict=False):
            said.setdefault((row["lang"], own), []).append((text, earlier))
    parts = {
        key: [[text[s.start : s.end] for s in model.segments(text)] for text, _ in own] for key, own in said.items()
    }
    vectors = {name: vectors[name] for name in ("words", "rows")}
    words = {
        lang: Words([text for row in rows if row["lang"] == lang for text in row["messages"]], vectors)
        for lang in WORD_JOINS
    }
    keys, sizes = list(said), [len(own) for own in said.values()]
    while len(found) < count:
        key = chance.choices(keys, sizes)[0]
        text, before = chance.choice(said[key])
        kind = chance.random()
        if kind < 0.45:
            text = words[key[0]].reworded(text, chance.choice((0.15, 0.3, 0.5)), chance)
        elif kind < 0.85:
            text = joined(parts[key], key[0], chance)
            before = chance.choice(said[key])[0] if chance.random() < 0.25 else None
            if chance.random() < 0.5:
                text = words[key[0]].reworded(text, 0.2, chance)
        else:
            before = chance.choice(said[key])[0]
        if chance.random() < 0.35:
            text = text.lower()
        if chance.random() < 0.15:
            text = re.sub(r"(?<!\d)[,.;?!](?=\s|$)|['\u2019](?=[a-z])", "", text.lower())
        if text.strip() and len(text) < LONGEST:
            found.append((key[0], text, before, key[1]))
    return found


def joined(parts: list[list[str]], lang: str, chance: random.Random) -> str:
    """Clauses of up to three messages as one."""
    chosen: list[str] = []
    for _ in range(chance.choice((1, 2, 2, 3))):
        if own := chance.choice(parts):
            begin = chance.randrange(len(own))
            chosen += own[begin : begin + chance.choice((1, 1, 2, 3))]
    if chance.random() < 0.3:
        chance.shuffle(chosen)
    text = ""
    for each in chosen:
        text += (chance.choice(JOINS + WORD_JOINS[lang]) if text else "") + each
    return text + (chance.choice("?.!") if chance.random() < 0.4 else "")
