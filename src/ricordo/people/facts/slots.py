"""What a statement is about, made fit for a sentence on its writer: a thing, an action, a place, a name, a day.

The words that follow a pattern's opening go in; the same words cleaned, turned to the third person and checked come
out, or nothing: whatever points at the moment ("this exercise", "today"), at the listener or at the writer's troubles
with life is not a stable claim.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date

from ricordo.languages.facts_base import SPEECH as SPEECH
from ricordo.languages.facts_base import Speech
from ricordo.languages.followups_base import words as word_table
from ricordo.people.facts.dates import PHRASE, day_of, has_year, written
from ricordo.recall.terms import stems, tokens

_NAME = re.compile(
    r"[A-ZÀ-Ý][\w'-]*[a-zà-ÿ](?:\s+(?:de|di|del|della|van|von|la|le|d')?\s?[A-ZÀ-Ý][\w'-]*[a-zà-ÿ]){0,3}|"
    r"[a-zà-ÿ]{2,14}"
)
_PLACE_END = re.compile(
    r"\s+(?:da|dal|dalla|dall'|con|per|ora|adesso|insieme|ormai|già|attualmente|anche|oggi|circa|e studio|"
    r"with|since|for|from|now|right|currently|at the moment|these|atm|too|though|and study|and work)\b.*",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:(?:il|lo|la|i|gli|le|un|uno|una|the|a|an)\s+|l'|un')", re.IGNORECASE)
_DEADLINE = re.compile(rf"\s+(?P<lead>entro|by|before|prima del|prima di)\s+(?P<day>{PHRASE})$", re.IGNORECASE)
_GENERIC = re.compile(
    r"the (?:sea|ocean|beach|mountains?|outdoors|countryside|rain|cold|heat|snow|dark|piano|guitar|violin|"
    r"theat(?:er|re)|cinema|"
    r"gym|stars|sun|wind|water|news|radio|violin|drums|arts|sciences|humanities|internet)",
    re.IGNORECASE,
)
# Words of a job in progress: trouble with them passes with it.
_WORK_AT_HAND = word_table(
    "code app application script scripts deployment bug bugs config server api website page form repo database "
    "query test tests project codice programma script sito progetto server bug errore "
)
_GERUNDS = re.compile(
    r"(?:remembering|understanding|learning|reading|writing|solving|memori[sz]ing|pronouncing|"
    r"concentrating|focusing|spelling|"
    r"multiplying|dividing|calculating|counting|studying|listening|speaking|recalling|organi[sz]ing|distinguishing|"
    r"keeping up|paying attention|conjugating|translating|simplifying|factoring|graphing)\b",
    re.IGNORECASE,
)
_LASTING = word_table("compiti esercizi homework")  # nouns of the moment that can be hated for life
_OFFERED = re.compile(
    r"\b(?:prim[oaie]|second[oaie]|terz[oaie]|quart[oa]|ultim[oaie]|opzion[ei]|versione|alternativa|soluzione|"
    r"first|second|third|fourth|last|option|version|alternative|former|latter)\b",
    re.IGNORECASE,
)
_ALONE = word_table("graduate laurearsi diplomarsi dimagrire ")
_END_MARKS = " \t,.!?;:…*_-–—\"'"


def thing(words: str, speech: Speech) -> str | None:
    """What is liked, or hard, or wanted: a few words that mean the same tomorrow."""
    kept = _stripped(words, speech)
    if not kept or len(kept) > 90 or len(kept.split()) > 12:
        return None
    if (
        speech.refused.search(kept)
        or speech.refused_first.match(kept)
        or not stems(kept, "it" if speech.code == "it" else "en")
    ):
        return None
    pattern, instead = speech.reflexive
    kept = pattern.sub(instead, kept)
    turned = re.sub(r"[^\W\d_]+", lambda match: speech.turned.get(match[0].lower(), match[0]), kept)
    return turned[0].lower() + turned[1:] if _ARTICLE.match(turned) else turned


def taste(words: str, speech: Speech) -> str | None:
    """What is liked in general, and not chosen among what is offered ("la seconda opzione").

    English says "the" of what is at hand ("I love the colours"): that is a remark.
    """
    kept = thing(words, speech)
    if kept and (_OFFERED.search(kept) or _head(kept) & speech.passing - _LASTING):
        return None
    if (
        kept
        and re.match(r"(?:all )?the\b", kept, re.IGNORECASE)
        and speech.code == "en"
        and not _GENERIC.fullmatch(kept)
    ):
        return None
    return kept


def subject(words: str, speech: Speech) -> str | None:
    """A thing that can be hard for somebody; not the question, the exercise or the piece of work at hand."""
    kept = thing(words, speech)
    if kept is None or re.search(r"\bhow\b|\d\.\d", kept):
        return None
    if (_head(kept, 2) & speech.passing and "word problems" not in kept) or _WORK_AT_HAND & set(tokens(kept)):
        return None
    return kept


def _head(kept: str, count: int = 1) -> frozenset[str]:
    return frozenset(tokens(_ARTICLE.sub("", kept, count=1))[:count])


def person_name(words: str, speech: Speech) -> str | None:
    """A name: up to four capitalised words, or one that is not written so and is nothing else."""
    kept = re.sub(r"\s+(?:e|ed|and|but|ma)\s+[a-zà-ÿ].*", "", words).strip(_END_MARKS)
    if not _NAME.fullmatch(kept) or any(word in speech.never_names for word in tokens(kept)):
        return None
    return kept if kept[0].isupper() else kept.capitalize()


def proper_name(words: str, speech: Speech) -> str | None:
    """A name that is written like one."""
    kept = person_name(words, speech)
    return kept if kept and words.strip(_END_MARKS)[0].isupper() else None


def place(words: str, speech: Speech) -> str | None:
    """Where somebody lives or comes from, without since when and with whom."""
    kept = _PLACE_END.sub("", _stripped(words, speech)).strip(_END_MARKS)
    if not kept or len(kept) > 60 or speech.refused.search(kept):
        return None
    parts = kept.split()
    first = tokens(parts[0])
    if not first or first[0] in speech.never_places or any(c.isdigit() for c in kept):
        return None
    capital = any(part[0].isupper() or re.match(r"[dl]'[A-ZÀ-Ý]", part) for part in parts)
    return kept if capital and len(parts) <= 6 else kept.title() if len(parts) == 1 and kept.isalpha() else None


def proper_place(words: str, speech: Speech) -> str | None:
    """A place that is written like one, for openings that also lead elsewhere ("vengo da")."""
    kept = place(words, speech)
    return kept if kept and any(c.isupper() for c in words) else None


def day(words: str, speech: Speech, said_on: date) -> str | None:
    """A day, worked out from when it was said."""
    found = day_of(words.strip(_END_MARKS), said_on, speech.code)
    return written(found, speech.code) if found else None


def yearly_day(words: str, speech: Speech, said_on: date) -> str | None:
    """A day of every year, or with its year where that is in the past; never a relative one."""
    kept = words.strip(_END_MARKS)
    found = day_of(kept, said_on, speech.code) if any(c.isdigit() for c in kept) or "primo" in kept else None
    if found is None or re.match(r"(?:tra|fra|in)\s", kept, re.IGNORECASE) or (has_year(kept) and found >= said_on):
        return None
    return written(found, speech.code, year=has_year(kept))


def wish(words: str, speech: Speech, said_on: date) -> str | None:
    """What somebody wants to reach, with its deadline worked out."""
    deadline = _DEADLINE.search(words)
    bare = thing(words[: deadline.start()] if deadline else words, speech)
    if bare is None or (" " not in bare and bare not in _ALONE):
        return None
    if not deadline:
        return bare
    until = day_of(deadline["day"], said_on, speech.code)
    if until is None:
        return None
    return f"{bare} {'entro il' if speech.code == 'it' else 'by'} {written(until, speech.code)}"


def without_deadline(words: str) -> str:
    """A wish without the day it must be reached by: that day may move, the wish stays the same."""
    return re.sub(r"\s(?:entro il|by) \d{1,2} \w+ \d{4}$", "", words)


def manner(words: str, speech: Speech) -> str | None:
    """How somebody learns best: "con gli schemi", "by watching videos"."""
    kept = _stripped(words, speech)
    head, _, rest = kept.partition(" ")
    checked = thing(rest, speech)
    return f"{head.lower()} {checked}" if checked else None


def trouble(words: str, speech: Speech) -> str | None:
    """What somebody struggles with: a subject, or something to learn by doing; not their own work of the day."""
    kept = re.sub(r"^(?:in|to) (?=\w)", "", words.strip(), flags=re.IGNORECASE)
    if re.match(r"my\b", kept, re.IGNORECASE) or (re.match(r"\w+ing\b", kept) and not _GERUNDS.match(kept)):
        return None
    return subject(kept, speech)


def proper_thing(words: str, speech: Speech) -> str | None:
    """A thing with a name of its own: "Lincoln High School", not "school"."""
    kept = thing(words, speech)
    return kept if kept and kept[0].isupper() else None


def titled(words: str, speech: Speech) -> str | None:
    """A name with a title before it, or one that is written like a name."""
    title = re.match(r"(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.? ", words)
    name = proper_name(words[title.end() :] if title else words, speech)
    return f"{title[0] if title else ''}{name}" if name else None


def tongues(words: str, speech: Speech) -> str | None:
    """Names of languages, which English writes with a capital."""
    return re.sub(r"(?!and\b)\b[a-z]+", lambda match: match[0].capitalize(), words.strip(_END_MARKS).lower())


def counted(words: str, speech: Speech) -> str | None:
    """Words from a closed list, in lower case, spoken of somebody else."""
    kept = " ".join(words.lower().split()).strip(_END_MARKS)
    return re.sub(r"[^\W\d_]+", lambda match: speech.turned.get(match[0], match[0]), kept) or None


def age(words: str, speech: Speech) -> str | None:
    """An age that somebody who writes can have."""
    return words if 4 <= int(words) <= 99 else None


def folded(words: str, speech: Speech) -> str | None:
    """Words from a closed list, in lower case."""
    return " ".join(words.lower().split()).strip(" ,.") or None


_CONDITIONS = {
    "dislessic": "la dislessia", "discalculic": "la discalculia", "disgrafic": "la disgrafia", "adhd": "ADHD",
    "add": "ADD",     "dyslexic": "dyslexia", "dyscalculic": "dyscalculia",
}  # fmt: skip
_TRAITS = {
    "vegetarian": "Segue una dieta vegetariana", "vegan": "Segue una dieta vegana", "celiac": "Ha la celiachia",
    "astemi": "Non beve alcolici", "mancin": "Scrive con la sinistra", "miope": "Ha la miopia", "miop": "Ha la miopia",
    "daltonic": "Ha il daltonismo",
}  # fmt: skip


def condition(words: str, speech: Speech) -> str | None:
    """A condition by its noun, which has no gender to guess."""
    return _CONDITIONS.get(words.lower(), words.lower())


def trait(words: str, speech: Speech) -> str | None:
    """A trait as a sentence that fits everybody."""
    return _TRAITS.get(words.lower())


def allergy(words: str, speech: Speech) -> str | None:
    """ "allergica" as "Ha un'allergia"; what it is to, cleaned."""
    low = words.lower()
    if low.startswith("allergic"):
        return "Ha un'allergia"
    if low == "intollerante":
        return "Ha un'intolleranza"
    match = re.match(r"((?:all'|alle|alla|allo|agli|ai|al|a)\s?)(.+)", low)
    checked = thing(match[2], speech) if match else None
    return f"{match[1]}{checked}" if match and checked else None


def _stripped(words: str, speech: Speech) -> str:
    kept = re.sub(r"[^\w\s'’/%°.+&-]+", " ", words)
    kept = " ".join(kept.replace("\u2019", "'").split()).strip(_END_MARKS)
    while match := speech.fillers.match(kept):
        kept = kept[match.end() :]
    kept = speech.cut.sub("", kept)
    while match := speech.endings.search(kept):
        kept = kept[: match.start()]
    return kept.strip(_END_MARKS)


Check = Callable[[str, Speech, date], str | None]


def _timeless(check: Callable[[str, Speech], str | None]) -> Check:
    return lambda words, speech, _: check(words, speech)


CHECKS: Mapping[str, Check] = {
    "thing": _timeless(thing),
    "taste": _timeless(taste),
    "subject": _timeless(subject),
    "person": _timeless(person_name),
    "proper": _timeless(proper_name),
    "place": _timeless(place),
    "proper place": _timeless(proper_place),
    "proper thing": _timeless(proper_thing),
    "titled": _timeless(titled),
    "manner": _timeless(manner),
    "trouble": _timeless(trouble),
    "tongues": _timeless(tongues),
    "counted": _timeless(counted),
    "year": _timeless(counted),
    "age": _timeless(age),
    "condition": _timeless(condition),
    "trait": _timeless(trait),
    "allergy": _timeless(allergy),
    "folded": _timeless(folded),
    "day": day,
    "yearly": yearly_day,
    "wish": wish,
}
