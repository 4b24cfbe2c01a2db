"""What a question asks for: its kind, and the words that say about what.

The kind (a definition, a list, a reason…) comes from how the question is put, Italian or English; the words that only
put it ("spiegami", "what is the difference") are told apart from those that name its subject, because an answer
repeats the second and hardly ever the first.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from ricordo.languages.registry import codes, language
from ricordo.recall.terms import fold, guess_language, stem, tokens

# The question in a message, and what is said beside it.

_END = re.compile(r"(?<=[.!?…])[\"»”')]*\s+|\n+")
# Who says "hello, I am Anna, what is…" has put a sentence before a comma.
_ABOUT_ME = re.compile(
    r"\W*(?:ciao|salve|buongiorno|buonasera|scusa(?:mi)?|mi chiamo|sono|hi|hello|hey|sorry|excuse me|my name is"
    r"|i am|i'm|good (?:morning|evening|afternoon))\b"
)
_COMMA = re.compile(r"\s*[,;:–—]\s+")
# They only ask whether one was understood, or for help.
_TAG = re.compile(
    r"\W*(?:va bene|ok|okay|giusto|vero|capito|d'accordo|sai|puoi|potresti|mi aiuti|(?:mi )?puoi aiutar(?:e|mi)"
    r"|(?:mi )?potresti aiutar(?:e|mi)|right|alright|is that ok(?:ay)?|you know"
    r"|(?:can|could) you(?: please)?(?: help(?: me)?)?)\W*"
)
# A request that is put as an order: it asks without a question mark.
_REQUEST = re.compile(
    r"\W*(?:per favore,? |please,? )?(?:spiega\w*|descriv\w+|dimmi|dammi|parlami|parla di|racconta\w*|elenca\w*"
    r"|definisci|confronta|approfondisci|continua|mi spieghi|mi dici|vorrei sapere|vorrei capire"
    r"|explain|describe|tell me|give me|list|name|define|compare|elaborate|expand|continue|go on|talk about"
    r"|i(?:'d| would) like to (?:know|understand)|i want to (?:know|understand))\b"
)


def question_in(message: str) -> tuple[str, str]:
    """What a message asks, and what else it says; all of it and nothing where only one of the two is there."""
    said = [part for sentence in _END.split(message) if sentence.strip() for part in _clauses(sentence.strip())]
    asking = [part for part in said if _asks(part)]
    if not asking or len(asking) == len(said):
        return message, ""
    return " ".join(asking), " ".join(part for part in said if part not in asking)


def _asks(part: str) -> bool:
    plain = _plain(part)
    if part.rstrip("\"»”') ").endswith("?"):
        return not _TAG.fullmatch(plain)
    return _REQUEST.match(plain) is not None


def _clauses(sentence: str) -> list[str]:
    """A sentence; without the introduction before its commas as a part of its own, where it begins with one."""
    rest, before = sentence, []
    while _ABOUT_ME.match(_plain(rest)) and (comma := _COMMA.search(rest)) and rest[comma.end() :]:
        before.append(rest[: comma.start()])
        rest = rest[comma.end() :]
    return [*before, rest]


def _plain(text: str) -> str:
    return fold(text.replace("’", "'"))


Kind = Literal[
    "comparison", "list", "reason", "quantity", "place", "person",
    "time", "definition", "procedure", "explanation", "open",
]  # fmt: skip

# Tried in this order on the folded question; the first that matches decides.
_RULES: tuple[tuple[Kind, str], ...] = (
    (
        "comparison",
        r"\b(?:differenz[ae]|distingu\w+|confront\w+|paragon\w+|rispetto a|a differenza|difference|differ|compare"
        r"|comparison|versus|vs|distinguish|contrast)\b",
    ),
    (
        "quantity",
        r"\b(?:quant[oaie]|quant'|how (?:many|much|long|old|far|often|high|hot|big|large|deep|fast|tall|wide)"
        r"|(?:che|quale|qual e la|a quali) (?:temperatur[ae]|velocita|percentual[ei]|eta|distanza|durata|altezza)"
        r"|(?:what|which) (?:temperature|percentage|speed|age|distance|share|amount|number|dose))\b",
    ),
    (
        "list",
        r"\b(?:quali sono|quali|elenca\w*|elenco|lista|tipi di|which are|what are|which|list|name the|kinds of|types of"
        r"|give me the|enumerate)\b",
    ),
    (
        "reason",
        r"\b(?:perche|come mai|per quale motivo|per quale ragione|a causa di|why|how come|what causes|reason)\b",
    ),
    ("person", r"^\W*(?:chi|di chi|da chi|who|whom|whose|by whom)\b"),
    ("place", r"\b(?:dove|da dove|dov'e|where)\b"),
    ("time", r"\b(?:quando|in che anno|in quale anno|da quando|when|what year|which year)\b"),
    (
        "procedure",
        r"\b(?:come (?:si|posso|devo|faccio|fare|bisogna|dovrei)"
        r"|in che modo si|cosa (?:si )?(?:deve|devo|bisogna|posso)"
        r"|how (?:do i|do you|can i|should i|to|can you|should you|do we)|what should (?:i|we|you)|what (?:do|can) i do"
        r"|steps|passaggi|procedura|istruzioni per)\b",
    ),
    (
        "definition",
        r"\b(?:cos'e|cos e|cosa e|che cosa e|che cos'e|cosa sono|cosa significa"
        r"|che cosa sono|cosa vuol dire|significato"
        r"|definizione|definisci|chi e|what is|what's|what are|define|definition|meaning of|what does .* mean)\b",
    ),
    (
        "explanation",
        r"\b(?:spiega\w*|descriv\w+|come|parlami|parla|racconta\w*|approfondisci|cosa (?:succede|fa|fanno)|explain"
        r"|describe|how|tell me|talk about|what (?:happens|does|do)|elaborate|expand)\b",
    ),
)
_KINDS = tuple((kind, re.compile(pattern)) for kind, pattern in _RULES)
_PLURAL_DEFINITION = re.compile(r"^\W*what are (?!the\b|some\b|its\b|their\b)\w+\W*$")

_HOW = re.compile(r"\bhow (?:long|old|far|often|high|hot|big|large|deep|fast|tall|wide|well)\b", re.IGNORECASE)

# They put the question and are hardly ever in its answer.
_PUTTING = frozenset(
    """
    spiega spiegami spiegare spieghi spiegazione descrivi descrivere dimmi dire dici parla parlami parlare racconta
    raccontami elenca elencami elenco lista differenza differenze distinguere confronta confronto significa significato
    definizione definisci definire approfondisci approfondire chiarisci continua vuol dire cioe esempio esempi tipo tipi
    motivo ragione mai modo quale cosa punto punti serve servono succede accade vuole fammi sapere vorrei sai puoi
    risposta domanda materiale lezione documento
    explain explanation describe tell say talk list difference differences differ distinguish compare comparison mean
    means meaning define definition elaborate expand clarify continue example examples type types kind kinds reason
    cause causes happen happens point points work works know question answer material lesson document please give
    name thing things want like
    """.split()  # noqa: SIM905 - words are read more easily than a list of literals
)
# Verbs of any question: an answer may repeat them or not.
_LIGHT = frozenset(
    """
    deve devo devi devono dovrei dovrebbe bisogna mettere metto mettono metti usare usa uso usano usato posso possono
    potrei fare fa faccio funziona tratta trattare curare cura avviene avvengono viene vengono diventa diventano grande
    tempo vale valgono trova trovano
    should need needs use uses used make makes do does can could treat treated treatment cure handle affect affects
    become becomes take takes last find good bad best time
    """.split()  # noqa: SIM905
)
_LIGHT_WORTH = 0.25
_BESIDE = 0.1  # what a word beside the question is worth, where the material has it
_MOST_WORDS = 64  # a longer question is judged by its beginning


@dataclass(frozen=True, slots=True)
class AskedWord:
    """One word of the subject, in the stems it may have; `worth` is less for a verb that any question may hold.

    A word said `beside` the question helps where the material has it, and is no loss where it has not.
    """

    word: str
    stems: frozenset[str]
    worth: float = 1.0
    beside: bool = False


def kind_of_question(question: str) -> Kind:
    """How a question is put; "open" when nothing tells."""
    folded = fold(question_in(question)[0].replace("’", "'"))
    if _PLURAL_DEFINITION.match(folded):
        return "definition"
    return next((kind for kind, pattern in _KINDS if pattern.search(folded)), "open")


def asked_words(question: str) -> tuple[AskedWord, ...]:
    """The distinct words that say what a question is about, in order; none for "spiegami" or "perché?".

    Those that are said beside the question follow, and are worth less, unless it has no subject without them.
    """
    asked, beside = question_in(question)
    found = _subject(asked)
    share = _BESIDE if any(word.worth == 1.0 for word in found.values()) else 1.0
    for variants, word in _subject(beside).items():
        found.setdefault(variants, replace(word, worth=share * word.worth, beside=True))
    return tuple(found.values())[:_MOST_WORDS]


def _subject(text: str) -> dict[frozenset[str], AskedWord]:
    small = language(guess_language(text)).vocabulary.stop_words
    found: dict[frozenset[str], AskedWord] = {}
    for word in tokens(_HOW.sub("how", text)):
        if word in small or word in _PUTTING:
            continue
        variants = frozenset(stem(word, code) for code in codes())
        found.setdefault(variants, AskedWord(word, variants, _LIGHT_WORTH if word in _LIGHT else 1.0))
    return found
