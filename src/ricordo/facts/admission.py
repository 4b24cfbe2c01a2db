"""Which claims may become facts, whoever made them: patterns and models pass the same gate.

A candidate goes in; a reason to refuse it comes out, or nothing. A claim is one short line that states something, in
nobody's voice, and quotes words that the user plainly said: orders, second persons and links are not.
"""

import re
import unicodedata
from functools import lru_cache

from ricordo.facts.candidate import Candidate
from ricordo.facts.clauses import plain
from ricordo.person import FACT_KINDS
from ricordo.recall.words import fold
from ricordo.safety.crisis import crisis

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


def refusal(candidate: Candidate) -> str:
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
