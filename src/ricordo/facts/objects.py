"""What a statement is about, made fit for a sentence on its writer: a thing, an action, a place, a name, a day.

The words that follow a pattern's opening go in; the same words cleaned, turned to the third person and checked come
out, or nothing: whatever points at the moment ("this exercise", "today"), at the listener or at the writer's troubles
with life is not a stable claim.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from ricordo.facts.dates import PHRASE, day_of, has_year, written
from ricordo.recall.words import stems, tokens


@dataclass(frozen=True, slots=True)
class Speech:
    """What the checks must know of a language: words to strip, to refuse, to cut at and to turn round."""

    code: str
    fillers: re.Pattern[str]
    refused: re.Pattern[str]
    refused_first: re.Pattern[str]
    cut: re.Pattern[str]
    endings: re.Pattern[str]
    turned: Mapping[str, str]
    reflexive: tuple[re.Pattern[str], str]
    never_names: frozenset[str]
    never_places: frozenset[str]
    passing: frozenset[str]  # nouns of the moment: the question, the exercise


def _words(table: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(table.split('/'))})\b", re.IGNORECASE)


ITALIAN = Speech(
    "it",
    fillers=re.compile(
        r"(?:molto|tanto|tantissimo|moltissimo|davvero|proprio|veramente|anche|particolarmente|soprattutto|un sacco|un po'|"
        r"abbastanza|troppo|per niente|affatto|assolutamente|sempre|ancora|di più|da sempre|bene|più di tutto|da morire)\s+",
        re.IGNORECASE,
    ),
    refused=_words(
        "questo/questa/questi/queste/quest/quello/quella/quelli/quelle/quel/quei/quegli/ciò/cio/qualcosa/niente/nulla/tutto/"
        "oggi/stasera/stamattina/adesso/ora/ieri/subito/qui/qua/lì|là/così/cosi/tu/te/ti/tuo/tua/tuoi/tue/vi/voi/vostro/vostra/lei/"
        "io/mi/me/ho/sono/devo|posso|voglio/hai|sei|puoi|vuoi|spieghi|parli|fai|dici|rispondi|aiuti/che/cui/chi/dove/come/quando/"
        "nessuno/qualcuno/vita|vivere|morire|suicid\\w+|uccid\\w+|ammazz\\w+|stess[oa]"
    ),
    refused_first=re.compile(r"(?:se|perch[eé]|quanto|più|meno|di|da|in|per|con|a|ad|è|era|e|o|non|cosa|altro)\b", re.IGNORECASE),
    cut=re.compile(r"\s+(?:perch[eé]|ma|però|quindi|siccome|visto|dato|anche se|grazie|ciao|per favore|aiuto)\b.*", re.IGNORECASE),
    endings=re.compile(
        r"\s+(?:molto|tanto|tantissimo|davvero|anche|un sacco|per niente|affatto|da sempre|purtroppo|infatti|appunto|sai|eh|"
        r"haha|ahah\w*|lol|xd|di più|da morire|prof|grazie)$",
        re.IGNORECASE,
    ),
    turned={"mio": "suo", "mia": "sua", "miei": "suoi", "mie": "sue"},
    reflexive=(re.compile(r"\b(\w+r)mi\b"), r"\1si"),
    never_names=frozenset(
        "cosi non anche sempre spesso come male bene solo forse ancora mai davvero appunto in a e il la un una molto qui oggi "
        "stanco stanca felice triste pronto pronta nuovo nuova contento contenta arrabbiato confuso confusa in ritardo io "
        "italiano italiana straniero straniera curioso curiosa interessato interessata studente studentessa dio gesu nessuno "
        "padrone admin sistema tutor batman qui".split()
    ),
    never_places=frozenset(
        "casa fatica lungo pieno meta stento fondo volte mille due destra sinistra scuola pranzo cena letto parte te me pezzi "
        "caso modo pace colori piano memoria lezione classe aula attesa ansia crisi bilico ritardo sogni contatto solo sola "
        "natale pasqua estate inverno giugno luglio agosto settembre maggio qui la li".split()
    ),
    passing=frozenset(
        "domanda domande esercizio esercizi risposta problema compito consegna frase punto parola parole passaggio spiegazione "
        "motivo significato senso testo riga passo errore codice risultato traccia cosa cose battuta messaggio link file pagina "
        "fine resto compiti idea".split()
    ),
)
ENGLISH = Speech(
    "en",
    fillers=re.compile(
        r"(?:really|very|so|much|a lot|actually|also|always|still|especially|particularly|just|at all|quite|truly|absolutely)\s+",
        re.IGNORECASE,
    ),
    refused=_words(
        "this/that/these/those/it/its|it's/something/anything/nothing/everything/stuff/things?/here/there/now/today/tonight/yesterday/"
        "you/your/yours/yourself/u|ur/i|i'm|i've|i'd|me|myself/we|us|our/he|she|him|they|them/which|who|whom|whose|where|what|"
        "when|why|if/how (?!to)/how$/one|ones|same/is|are|was|were|am/life|living|suicid\\w+|kill\\w*|dying|die|death/someone|somebody|everyone"
    ),
    refused_first=re.compile(
        r"(?:not|no|to be|to know|to ask|to hear|to say|to see|than|about|of|and|or|but|as|for|from|in|on|at|by|with|any|another|more|"
        r"less|too|yet|how(?! to\b))\b",
        re.IGNORECASE,
    ),
    cut=re.compile(r"\s+(?:because|but|so|since|though|although|thanks|thank|please|cause|lol|haha)\b.*", re.IGNORECASE),
    endings=re.compile(
        r"\s+(?:a lot|so much|very much|too|at all|though|actually|really|lol|haha+|btw|the most|the best|well|yet|as well|anymore|"
        r"right)$",
        re.IGNORECASE,
    ),
    turned={"my": "their", "mine": "theirs"},
    reflexive=(re.compile(r"\bmyself\b", re.IGNORECASE), "themselves"),
    never_names=frozenset(
        "not here back good fine ok okay sorry new sure glad happy sad tired ready done sick late lost confused stuck in on at the a "
        "an from so very just really trying going looking learning working having wondering studying curious interested italian "
        "english american german french spanish british chinese indian canadian australian irish japanese catholic christian muslim "
        "jewish vegan vegetarian irrelevant unknown secret god nobody admin system root batman assistant tutor student master "
        "monday tuesday wednesday thursday friday saturday sunday".split()
    ),
    never_places=frozenset(
        "fear peace pain hope denial doubt hell general love debt person time bed front charge case the a an my your this that "
        "harmony silence poverty here there home town school work college summer winter spring autumn two three hand "
        "hiding chaos misery".split()
    ),
    passing=frozenset(
        "question questions exercise answer problem assignment sentence point word words step explanation reason meaning text line "
        "error code result instructions joke message link file page rest homework idea part example thing things answer".split()
    ),
)
SPEECH = {"it": ITALIAN, "en": ENGLISH}

_NAME = re.compile(
    r"[A-ZÀ-Ý][\w'-]*[a-zà-ÿ](?:\s+(?:de|di|del|della|van|von|la|le|d')?\s?[A-ZÀ-Ý][\w'-]*[a-zà-ÿ]){0,3}|[a-zà-ÿ]{2,14}"
)
_PLACE_END = re.compile(
    r"\s+(?:da|dal|dalla|dall'|con|per|ora|adesso|insieme|ormai|già|attualmente|anche|oggi|circa|e studio|"
    r"with|since|for|now|right|currently|at the moment|these|atm|too|though|and study|and work)\b.*",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:(?:il|lo|la|i|gli|le|un|uno|una|the|a|an)\s+|l'|un')", re.IGNORECASE)
_DEADLINE = re.compile(rf"\s+(?P<lead>entro|by|before|prima del|prima di)\s+(?P<day>{PHRASE})$", re.IGNORECASE)
_END_MARKS = " \t,.!?;:…*_-–—\"'"


def thing(words: str, speech: Speech) -> str | None:
    """What is liked, or hard, or wanted: a few words that mean the same tomorrow."""
    kept = _stripped(words, speech)
    if not kept or len(kept) > 90 or len(kept.split()) > 12:
        return None
    if speech.refused.search(kept) or speech.refused_first.match(kept) or not stems(kept, "it" if speech.code == "it" else "en"):
        return None
    pattern, instead = speech.reflexive
    kept = pattern.sub(instead, kept)
    turned = re.sub(r"[^\W\d_]+", lambda match: speech.turned.get(match[0].lower(), match[0]), kept)
    return turned[0].lower() + turned[1:] if _ARTICLE.match(turned) else turned


def subject(words: str, speech: Speech) -> str | None:
    """A thing that can be hard for somebody; not the question or the exercise at hand."""
    kept = thing(words, speech)
    if kept is None:
        return None
    head = tokens(_ARTICLE.sub("", kept, count=1))[:2]
    return None if any(word in speech.passing for word in head) else kept


def person_name(words: str, speech: Speech) -> str | None:
    """A name: up to four capitalised words, or one that is not written so and is nothing else."""
    kept = words.strip(_END_MARKS)
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
    if bare is None or not deadline:
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
    """What somebody struggles with: a subject, or "to" do something, told as what it is to do it."""
    return subject(re.sub(r"^(?:in|to) (?=\w)", "", words, flags=re.IGNORECASE), speech)


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
    "dislessic": "la dislessia", "discalculic": "la discalculia", "disgrafic": "la disgrafia", "adhd": "ADHD", "add": "ADD",
    "dyslexic": "dyslexia", "dyscalculic": "dyscalculia",
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
    """"allergica" as "Ha un'allergia"; what it is to, cleaned."""
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
