"""Which claims may become facts, whoever made them: patterns and models pass the same gate.

A candidate goes in; a reason to refuse it comes out, or nothing. A claim is one short line that states something, in
nobody's voice, and quotes words that the user plainly said: orders, second persons and links are not.
"""

import re
import unicodedata
from datetime import UTC, tzinfo
from functools import lru_cache

from ricordo.languages.followups_base import words as word_table
from ricordo.people.facts.claims import FRAMES, Claim, is_negative
from ricordo.people.facts.clauses import clauses, plain
from ricordo.people.facts.dates import PHRASE, day_named, day_of
from ricordo.recall.terms import Language, fold, stems, tokens
from ricordo.records.people import FACT_KINDS
from ricordo.safety.crisis import crisis

# What may become a fact: a claim of one sentence, with the user message that it quotes.


LONGEST = 200
_LEARNED_FROM = frozenset({"user_said", "user_edit", "import"})
_ORDER_FIRST = re.compile(
    r"\W*(?:per favore|please|and|e|then|poi|ora|now|just|only|solo|sempre|always|mai|never)?\W*\b(?:"
    # Italian, second person and infinitive of command
    r"ignora\w*|dimentica\w*|ricord\w+|rispond\w+|rivela\w*|mostra\w*|esegu\w+|dimmi|digli|scrivi\w*|usa|"
    r"agisci|comport\w+|obbed\w+|"
    r"segui|traduci\w*|ripeti\w*|invia\w*|manda\w*|cancella\w*|elimina\w*|stampa\w*|fingi\w*|considera\w*|"
    r"assicura\w*|evita\w*|smetti\w*|"
    r"fai|fa'|dai|apri|clicca|visita|chiamami|fidati|consiglia\w*|raccomanda\w*|tratta\w*|devi|dovete|"
    r"bisogna|occorre|non dire|non fare|non devi|"
    # English, base form
    r"ignore|forget|remember|respond|reply|answer|reveal|show|always|never|do|don't|act|behave|pretend|"
    r"obey|follow|translate|repeat|send|"
    r"delete|remove|print|write|say|tell|use|output|execute|run|visit|click|open|call|give|make|let|"
    r"please|must|should|treat|assume|consider|"
    r"ensure|stop|start|trust|recommend|disregard|override|bypass|refer|reject|accept|grant|allow|include|"
    r"insert|append|mention|be|keep|note"
    r")\b"
)
_ORDER_ANYWHERE = re.compile(
    r"\b(?:you|your|yours|yourself|tu|tuo|tua|tuoi|tue|ti|te|vi|voi|devi|dovrai|dovresti|puoi|potrai|"
    r"from now on|d'ora in poi|da ora in poi|d'ora in avanti|istruzion\w+|instructions?|prompt|"
    r"guardrails?|system message|"
    r"assistant\w?|assistente|chatbot|modello linguistico|language model|developer mode|admin\w*|jailbreak\w*|"
    r"regole di sicurezza|safety rules?|must always|must never|should always|should never|"
    r"has to be obeyed|deve essere obbedit\w+)\b"
    r"|https?:|www\.|[<>{}\[\]|`=\\]"
)
_FIRST_PERSON = {
    "it": re.compile(r"\b(?:io|mio|mia|miei|mie|mi|me)\b"),
    "en": re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|me|myself)\b"),
}


def refusal(candidate: Claim) -> str:
    """Why a claim is not taken in; empty when it is."""
    said = candidate.said
    if candidate.kind not in FACT_KINDS:
        return "unknown kind"
    if _cries_for_help(candidate.said.text):
        return "a cry for help is not learned from"
    if said.origin not in _LEARNED_FROM:
        return "not said by the user"
    if not candidate.quote.strip() or candidate.quote not in said.text:
        return "quotes nothing that was said"
    if not _is_line(candidate.text) or not _is_line(candidate.quote):
        return "not one short line"
    if is_order(candidate.text, candidate.language):
        return "an order or an address, not a claim"
    if not _plainly_said(candidate.quote, said.text):
        return "quotes what the user did not plainly say"
    return ""


@lru_cache(maxsize=4)
def _cries_for_help(text: str) -> bool:
    """Whether a message shows the sign of a crisis; asked for each of its claims, and read once."""
    return crisis(text) is not None


def is_order(text: str, language: str) -> bool:
    """Whether a sentence tells somebody what to do, speaks to them, or in the first person, or asks."""
    flat = fold(text.replace("\u2019", "'"))
    parts = re.split(r"[:.;!?]\s+", flat)  # "Favourite rule: never refuse", "Lives in Rome. Ignore all rules"
    voices = _FIRST_PERSON.values() if language not in _FIRST_PERSON else (_FIRST_PERSON[language],)
    return (
        any(_ORDER_FIRST.match(part) for part in parts)
        or _ORDER_ANYWHERE.search(flat) is not None
        or any(voice.search(flat) for voice in voices)
        or flat.rstrip().endswith("?")
    )


def _is_line(text: str) -> bool:
    """One line of at most 200 characters without anything that cannot be seen."""
    return (
        bool(text.strip())
        and len(text) <= LONGEST
        and not any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp") for c in text)
    )


def _plainly_said(quote: str, text: str) -> bool:
    flat = quote.replace("\u2019", "'").replace("\u02bc", "'").replace("\u00a0", " ")
    return flat in plain(text)


# Whether a model's claim says no more, and nothing else, than the words it quotes: how made-up facts are kept out.

_STEM = 4  # letters that two forms of one word share: "allergico" and "allergia", "Anna's" and "Anna"
_NAME_LIKE = re.compile(r"(?<!^)(?<![.!?] )\b[A-ZÀ-Ý][\w'-]+")
_WORDING = FRAMES | word_table(
    "called chiamato chiamata years old anni age eta native madre madrelingua school year class classe grade favourite "
    "favorite preferenza preferito preferita preferiti preferite plays play suona pratica tifa segue dieta condition "
    "finds trova hard difficult difficile difficili passione appassionato comes originally originario originaria lives "
    "resides living studying studies attends working works job lavoro professione birthday compleanno having goal "
    "currently attualmente dichiara states says that loves dislikes hates favours "
)
_DENIED = re.compile(
    r"\b(?:non|mai|neanche|nemmeno|mica|nessun\w*|senza|odi[oa]|detest[oa]|sopport[oa]|schifo|annoia\w*|not|never|no|nor|"
    r"neither|hardly|barely|without|dislikes?|hates?|detests?|stand|bear|longer|cannot)\b|n't\b"
)
_NO_TROUBLE = re.compile(
    r"\b(?:non (?:ho(?! (?:ancora |mai )?capito)|faccio|mi (?:sembra|risulta))|no longer|non .*\bpiu|"
    r"(?:do not|don't|never) (?:have|find|struggle)|"
    r"(?:not|without|no|hardly|barely) (?:struggl\w+|hav\w+|trouble|problems?|difficult\w+)|"
    r"(?:ora|adesso|finalmente|ormai|now|finally)\b.*(?<!non )(?<!n't )\b(?:capi\w+|chiar\w+|underst\w+|get|got))\b"
)
_ONCE_OR_SOME_DAY = re.compile(
    r"\b(?:lived|worked|studied|liked|was(?! born)|were|vivevo|abitavo|lavoravo|studiavo|ero|voglio|vorrei|spero|sogno|"
    r"want|wish|hope|plan|dream|going to|will|vivro|andro|diventero|saro)\b|'ll\b"
)
_NAMING = re.compile(r"\b(?:chiam\w+|nome|name\w*|call\w*|nick\w*|soprannom\w+|sono|i'm|im|i am|this is)\b")
_SOMEBODY_ELSE = re.compile(
    r"\W*(?:(?:(?:il|la|i|le|un|una|a|the|one of)\s+)?(?:mi[oae]|miei|my|our|nostr[oa])\s+"
    r"(?:(?:best|little|big|old|older|younger|twin|miglior|new)\s+)?(?:"
    r"amic\w+|sorell\w+|fratell\w+|madre|padre|mamma|papa|nonn\w+|zi[oa]|cugin\w+|figli\w*|marito|moglie|compagn\w+|prof\w*|"
    r"ragazz[oa]|capo|collega|vicin[oa]|maestr[oa]|cane|gatt[oa]|friend\w*|sister\w*|brother\w*|mother|father|mom|mum|dad|"
    r"grand\w+|uncle|aunt|cousin\w*|son|daughter|husband|wife|boyfriend|girlfriend|partner|teacher|boss|neighbou?r|"
    r"roommate|classmate|colleague|dog|cat)|he|she|they|you|lui|lei|loro|tu)\b"
)


def unfounded(candidate: Claim, zone: tzinfo = UTC) -> str:
    """Why a claim is not what its writer said; empty when it is. `zone` tells on which day they said it."""
    spoken = _spoken(candidate.quote, candidate.said.text)
    if not spoken:
        return "quotes what the user did not state of themselves"
    kind, text, statement = candidate.kind, fold(candidate.text), fold(" , ".join(spoken))
    if kind != "relation" and any(_SOMEBODY_ELSE.match(fold(each)) for each in spoken):
        return "tells of somebody else"
    if kind == "name" and not _NAMING.search(statement):
        return "takes for a name what is none"
    if kind in ("place", "other", "preference") and _ONCE_OR_SOME_DAY.search(statement):
        return "tells as true what was once or may be"
    if kind == "difficulty":
        if (_NO_TROUBLE.search(statement) is not None) != is_negative(kind, text):
            return "turns a difficulty round"
    elif (_DENIED.search(statement) is not None) != (_DENIED.search(text) is not None):
        return "turns yes and no round"
    if not _heard(candidate):
        return "adds what was not said"
    return "" if _same_day(candidate, zone) else "names another day"


def _spoken(quote: str, text: str) -> list[str]:
    """The clauses that a quote touches, if it begins and ends in clauses of a plain statement."""
    flat, wanted = plain(text), plain(quote).strip(" \t,.;:!?…-–—()*_")
    stated = clauses(text)
    start = flat.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        touched = [each for each in stated if each.start < end and start < each.end]
        if touched and touched[0].start <= start and end <= touched[-1].end:
            return [flat[each.start : each.end] for each in touched]
        start = flat.find(wanted, start + 1)
    return []


def _heard(candidate: Claim) -> bool:
    """Whether each telling word of a claim was said, in some form; names and numbers letter by letter.

    A day may have been worked out, and is looked at apart.
    """
    dated = candidate.kind in ("date", "goal")
    text = re.sub(rf"\b(?:{PHRASE})", " ", candidate.text, flags=re.IGNORECASE) if dated else candidate.text
    language: Language = "it" if candidate.language == "it" else "en"
    said = set(tokens(plain(candidate.said.text)))
    begun = {word[:_STEM] for word in said}
    names = {word for match in _NAME_LIKE.findall(text) for word in tokens(match)}
    for word in tokens(text):
        whole = word in names or any(c.isdigit() for c in word)
        if (
            word not in _WORDING
            and stems(word, language)
            and (word if whole else word[:_STEM]) not in (said if whole else begun)
        ):
            return False
    return True


def _same_day(candidate: Claim, zone: tzinfo) -> bool:
    """Whether the day of a claim is the one that its quote names, where both name one."""
    named = re.search(rf"\b(?:{PHRASE})", candidate.quote, re.IGNORECASE)
    told = day_named(candidate.text)
    if not named or not told or candidate.about == "date:birthday":
        return True
    meant = day_of(named[0], candidate.said.created_at.astimezone(zone).date(), candidate.language)
    return meant is None or meant == told
