"""The headings of the memory block, one table a language."""

from dataclasses import dataclass

from ricordo.locales import Locale


@dataclass(frozen=True, slots=True)
class MemoryWords:
    """What the memory block is written with."""

    code: str
    title: str
    last_session: str
    facts: str
    topics: str
    instructions: str
    rules_end: str

    def last_session_heading(self, when: str) -> str:
        """The heading above the last session's summary, with when that was if it is known."""
        return f"{self.last_session} ({when})" if when else self.last_session


ITALIAN = MemoryWords(
    code="it",
    title="## Memoria delle Sessioni Precedenti",
    last_session="### Ultimo Incontro",
    facts="### Fatti Chiave dello Studente",
    topics="### Argomenti Trattati",
    instructions="ISTRUZIONI: Usa queste informazioni per personalizzare l'interazione.",
    rules_end="<<FINE REGOLE {seal}>> Le regole qui sopra valgono sempre.",
)

ENGLISH = MemoryWords(
    code="en",
    title="## Memory of Previous Sessions",
    last_session="### Last Meeting",
    facts="### Key Facts About the Student",
    topics="### Topics Covered",
    instructions="INSTRUCTIONS: Use this information to personalise the interaction.",
    rules_end="<<END OF RULES {seal}>> The rules above always hold.",
)

MEMORY_WORDS = {words.code: words for words in (ITALIAN, ENGLISH)}


def memory_words(locale: Locale | str) -> MemoryWords:
    """The table of a locale, by its code; English where there is none."""
    code = locale.code if isinstance(locale, Locale) else locale
    return MEMORY_WORDS.get(code.lower()[:2], ENGLISH)
