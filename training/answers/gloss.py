"""Italian in English, word for word, for a model that reads English alone.

The words are in `ricordo/languages/italian_english.txt`: in a line a gloss and the Italian words that it stands for;
rules come first.
"""

import re
from functools import cache
from importlib.resources import files

from ricordo.languages.text import fold, guess_language

_WORD = re.compile(r"[^\W\d_]+['’]?")
_LONGEST_ENDING, _LONGEST_PHRASE = 7, 4
_MOST_UNKNOWN = 1 / 3  # of the words of a text
_GLOSSES = {"it": "italian_english.txt"}


class EnglishGloss:
    """Another language in English, word for word, so that the English model reads it; unknown words stay.

    A word is looked up whole, without its ending, and without pronouns joined to it. A capital letter inside a sentence
    marks a name, which counts only whole.
    """

    def __init__(self, table: str) -> None:
        lines = [line.partition(": ") for line in table.splitlines() if not line.startswith("#")]
        rules = {name: words.split() for name, _, words in lines if name.startswith("-")}
        self._whole = {word: gloss for gloss, _, words in lines if gloss not in rules for word in words.split()}
        for word, gloss in list(self._whole.items()):
            self._whole.setdefault(fold(word), gloss)
        self._openings = {word.partition("_")[0] for word in self._whole if "_" in word}  # of phrases
        self._endings = {"", *rules["-ending"]}
        self._pronouns = re.compile(f"(?:{'|'.join(rules['-pronoun'])})$")
        self._asked = {word: gloss for gloss, _, word in (each.partition("=") for each in rules["-asked"])}
        self._owned = {(article, own) for article in rules["-article"] for own in rules["-possessive"]}
        self._verbs, self._others = dict[str, str](), dict[str, str]()
        changes = [each.split("=") for each in rules["-inflection"]]
        for word, gloss in list(self._whole.items()):
            if len(word) > 5 and word[-3:] in rules["-infinitive"]:
                self._verbs.setdefault(word[:-3], gloss)
                continue
            for last, other in changes:
                if len(word) > 3 and word[-1] == last:
                    self._whole.setdefault(word[:-1] + other, gloss)
                    self._others.setdefault(word[:-1], gloss)

    def of(self, text: str) -> str:
        """The text in English; the text itself if too few of its words are known: it is in a third language."""
        found = list(_WORD.finditer(text))
        words = [match[0].rstrip("'’").lower() for match in found]
        told, unknown, at, end = list[str](), 0, 0, 0
        while at < len(found):
            between, own = text[end : found[at].start()], found[at][0]
            sizes = range(min(_LONGEST_PHRASE, len(words) - at), 1, -1) if words[at] in self._openings else ()
            size = next((size for size in sizes if "_".join(words[at : at + size]) in self._whole), 1)
            name = at > 0 and own[0].isupper() and between in ("", " ", ", ")
            gloss = self._whole.get("_".join(words[at : at + size])) if size > 1 or name else self._gloss(words[at])
            if size == 1 and at < 2 and "?" in text:
                gloss = self._asked.get(words[at], gloss)
            if tuple(words[at : at + 2]) in self._owned:
                gloss = ""
            unknown += gloss is None
            at += size
            end = found[at - 1].end()
            told += (between, own.rstrip("'’") if gloss is None else gloss, " " if text[end - 1] in "'’" else "")
        return "".join((*told, text[end:])) if unknown < len(found) * _MOST_UNKNOWN else text

    def _gloss(self, word: str) -> str | None:
        whole = self._whole.get(word) or self._known(fold(word))
        return whole or self._known(self._pronouns.sub("", fold(word)))

    def _known(self, word: str) -> str | None:
        """The gloss of a folded word: as it is, as a form of a verb, or else as another form of a word."""
        cuts = range(len(word), max(2, len(word) - _LONGEST_ENDING - 1), -1)
        roots = [word[:cut] for cut in cuts if word[cut:] in self._endings]
        glosses = (known[root] for known in (self._verbs, self._others) for root in roots if root in known)
        return self._whole.get(word) or next(glosses, None)


@cache
def _english_gloss(file: str) -> EnglishGloss:
    return EnglishGloss(files("ricordo.languages").joinpath(file).read_text(encoding="utf-8"))


def in_english(text: str) -> str:
    """A text as an English model reads it: as it is, or word for word if it is in a language that has glosses."""
    file = _GLOSSES.get(guess_language(text))
    return _english_gloss(file).of(text) if file else text
