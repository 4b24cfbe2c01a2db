"""One way of telling something of oneself: how the clause goes, what kind of claim it is, how a fact says it.

`clause` matches a whole clause; its groups `x` and `y` are checked and cleaned by the named checks of `objects` and
filled into `text` and `about`. An `about` of "preference:{x}" stands for whatever is said of that one thing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ricordo.languages.followups_base import words
from ricordo.records.people import FactKind


@dataclass(frozen=True)
class Pattern:
    """`greeted` patterns are believed only right after a greeting."""

    kind: FactKind
    clause: str
    text: str
    about: str = ""
    x: str = "thing"
    y: str = "thing"
    confidence: float = 0.9
    greeted: bool = False

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The clause, compiled at first use."""
        return re.compile(self.clause, re.IGNORECASE)


@dataclass(frozen=True)
class Tongue:
    """The patterns of one language. `lead` may stand before any of them; `sign` is in every text that can match one."""

    code: str
    lead: re.Pattern[str]
    sign: re.Pattern[str]
    patterns: tuple[Pattern, ...]


# What the checks on a claim's words must know of a language: words to strip, to refuse, to cut at, to turn round.


@dataclass(frozen=True, slots=True)
class Speech:
    """The words of one language, by what is done with them."""

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
        r"(?:molto|tanto|tantissimo|moltissimo|davvero|proprio|veramente|anche|particolarmente|soprattutto|"
        r"un sacco|un po'|"
        r"abbastanza|troppo|per niente|affatto|assolutamente|sempre|ancora|di più|da sempre|bene|più di tutto|"
        r"da morire)\s+",
        re.IGNORECASE,
    ),
    refused=_words(
        "questo/questa/questi/queste/quest/quello/quella/quelli/quelle/quel/quei/quegli/ciò/cio/qualcosa/"
        "niente/nulla/tutto/"
        "oggi/stasera/stamattina/adesso/ora/ieri/subito/qui/qua/lì|là/così/cosi/tu/te/ti/tuo/tua/tuoi/tue/vi/"
        "voi/vostro/vostra/lei/"
        "è/io/mi/me/suo|sua|suoi|sue|loro|modo/ho/sono/devo|posso|voglio/hai|sei|puoi|vuoi|spieghi|parli|fai|"
        "dici|rispondi|aiuti/che/cui/chi/dove/come/quando/"
        "nessuno/qualcuno/vita|vivere|morire|suicid\\w+|uccid\\w+|ammazz\\w+|stess[oa]"
    ),
    refused_first=re.compile(
        r"(?:se|pensare|credere|perch[eé]|quanto|più|meno|di|da|in|per|con|a|ad|è|era|e|o|non|cosa|altro)\b",
        re.IGNORECASE,
    ),
    cut=re.compile(
        r"\s+(?:perch[eé]|ma|però|quindi|siccome|visto|dato|anche se|grazie|ciao|per favore|aiuto)\b.*", re.IGNORECASE
    ),
    endings=re.compile(
        r"\s+(?:molto|tanto|tantissimo|davvero|anche|un sacco|per niente|affatto|da sempre|purtroppo|infatti|"
        r"appunto|sai|eh|"
        r"haha|ahah\w*|lol|xd|di più|da morire|prof|grazie)$",
        re.IGNORECASE,
    ),
    turned={"mio": "suo", "mia": "sua", "miei": "suoi", "mie": "sue"},
    reflexive=(re.compile(r"^([a-z]{2,}[aei]r)mi\b"), r"\1si"),
    never_names=words(
        "fuori dentro presto tardi cosi non anche sempre spesso come male bene solo forse ancora mai davvero "
        "appunto in a e il la un una "
        "molto qui oggi stanco stanca felice triste pronto pronta nuovo nuova contento contenta arrabbiato "
        "confuso confusa in ritardo io italiano italiana straniero straniera curioso curiosa interessato "
        "interessata studente studentessa dio gesu nessuno padrone admin sistema tutor batman qui "
    ),
    never_places=words(
        "casa fatica lungo pieno meta stento fondo volte mille due destra sinistra scuola pranzo cena letto "
        "parte te me pezzi caso modo pace colori piano memoria lezione classe aula attesa ansia crisi bilico "
        "ritardo sogni contatto solo sola natale pasqua estate inverno giugno luglio agosto settembre maggio "
        "qui la li camera cucina salotto stanza bagno ufficio albergo hotel tenda capitolo pagina "
    ),
    passing=words(
        "tono domanda domande esercizio esercizi risposta problema compito consegna frase punto parola parole "
        "passaggio spiegazione motivo significato senso testo riga passo errore codice risultato traccia cosa "
        "cose battuta messaggio link file pagina fine resto compiti idea "
    ),
)
ENGLISH = Speech(
    "en",
    fillers=re.compile(
        r"(?:really|very|so|much|a lot|actually|also|always|still|especially|particularly|just|at all|quite|"
        r"truly|absolutely)\s+",
        re.IGNORECASE,
    ),
    refused=_words(
        "this/that/these/those/it/its|it's/something/anything/nothing/everything/stuff/things?/here/there/"
        "now/today/tonight/yesterday/"
        "you/your/yours/yourself/u|ur/i|i'm|i've|i'd|me|myself/we|us|our/he|she|him|they|them/which|who|whom|"
        "whose|where|what|"
        "when|why|if/how (?!to)/how$/one|ones|same/their|his|her|hers|theirs|such|including|both|way|like/is|"
        "are|was|were|am/life|living|suicid\\w+|kill\\w*|dying|die|death/someone|somebody|everyone"
    ),
    refused_first=re.compile(
        r"(?:not|no|to be|to think|to believe|to know|to ask|to hear|to say|to see|than|about|of|and|or|but|as|for|"
        r"from|in|on|at|by|with|any|another|more|less|too|yet|how(?! to\b))\b",
        re.IGNORECASE,
    ),
    cut=re.compile(
        r"\s+(?:because|but|so|since|though|although|thanks|thank|please|cause|lol|haha)\b.*", re.IGNORECASE
    ),
    endings=re.compile(
        r"\s+(?:a lot|so much|very much|too|at all|though|actually|really|lol|haha+|btw|the most|the best|"
        r"well|yet|as well|anymore|"
        r"right)$",
        re.IGNORECASE,
    ),
    turned={"my": "their", "mine": "theirs"},
    reflexive=(re.compile(r"\bmyself\b", re.IGNORECASE), "themselves"),
    never_names=words(
        "not here back good fine ok okay sorry new sure glad happy sad tired ready done sick late lost confused "
        "stuck in on at the a an from so very just really trying going looking learning working having "
        "wondering studying curious interested italian english american german french spanish british chinese "
        "indian canadian australian irish japanese catholic christian muslim jewish vegan vegetarian irrelevant "
        "unknown secret god nobody admin system root batman assistant tutor student master monday tuesday "
        "wednesday thursday friday saturday sunday "
    ),
    never_places=words(
        "fear peace pain hope denial doubt hell general love debt person time bed front charge case the a an my "
        "your this that harmony silence poverty here there home town school work college summer winter spring "
        "autumn two three hand hiding chaos misery chapter page step section level question part unit version "
    ),
    passing=words(
        "tone question questions exercise answer problem assignment sentence point word words step explanation "
        "reason meaning text line error code result instructions joke message link file page rest homework idea "
        "part example thing things answer "
    ),
)
SPEECH = {"it": ITALIAN, "en": ENGLISH}
