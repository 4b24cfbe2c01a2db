"""The words that prompts are written in: one table a language, extended by passing your own `Locale`."""

from dataclasses import dataclass, fields

from ricordo.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Locale:
    """Labels and headings of one language. `{n}` in the history's header and `{ids}` in the sources are filled in."""

    code: str
    user_label: str
    assistant_label: str
    system_label: str
    tool_label: str
    history_header: str
    history_footer: str
    sources: str
    no_history: str
    summary_header: str
    recalled_header: str
    chunks_header: str
    question_header: str
    complete_question: str

    def __post_init__(self) -> None:
        for each in fields(self):
            if not isinstance(getattr(self, each.name), str):
                raise SettingsError(f"locale.{each.name}", "expected text")
        for name, filled in (("history_header", {"n": 1}), ("sources", {"ids": ""})):
            try:
                getattr(self, name).format(**filled)
            except (LookupError, ValueError, AttributeError) as error:
                known = ", ".join(f"{{{key}}}" for key in filled)
                raise SettingsError(f"locale.{name}", f"only {known} is filled in; double any other brace") from error

    def header(self, turns: int) -> str:
        """The line above the history."""
        return self.history_header.format(n=turns)

    def label(self, role: str) -> str:
        """Who speaks, as a line begins."""
        labels = {"user": self.user_label, "assistant": self.assistant_label, "system": self.system_label}
        return labels.get(role, self.tool_label)


ITALIAN = Locale(
    code="it",
    user_label="STUDENTE: ",
    assistant_label="TUTOR: ",
    system_label="SISTEMA: ",
    tool_label="STRUMENTO: ",
    history_header="=== CRONOLOGIA CONVERSAZIONE (ultimi {n} turni) ===",
    history_footer="=== FINE CRONOLOGIA ===",
    sources=" [fonti: {ids}]",
    no_history="Nessuna conversazione precedente.",
    summary_header="=== RIASSUNTO ===",
    recalled_header="=== RICORDI ===",
    chunks_header="=== MATERIALE ===",
    question_header="=== DOMANDA ===",
    complete_question="(Domanda completa: {question})",
)

ENGLISH = Locale(
    code="en",
    user_label="STUDENT: ",
    assistant_label="TUTOR: ",
    system_label="SYSTEM: ",
    tool_label="TOOL: ",
    history_header="=== CONVERSATION HISTORY (last {n} turns) ===",
    history_footer="=== END OF HISTORY ===",
    sources=" [sources: {ids}]",
    no_history="No previous conversation.",
    summary_header="=== SUMMARY ===",
    recalled_header="=== REMEMBERED ===",
    chunks_header="=== MATERIAL ===",
    question_header="=== QUESTION ===",
    complete_question="(Complete question: {question})",
)

LOCALES = {locale.code: locale for locale in (ITALIAN, ENGLISH)}


def locale_for(choice: "Locale | str") -> Locale:
    """A built-in table by code, or the caller's own."""
    if isinstance(choice, Locale):
        return choice
    if not isinstance(choice, str) or choice not in LOCALES:
        raise SettingsError("locale", f"{choice!r} is unknown; use one of {sorted(LOCALES)} or pass a Locale")
    return LOCALES[choice]


# The headings of the memory block, one table a language.


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


ITALIAN_HEADINGS = MemoryWords(
    code="it",
    title="## Memoria delle Sessioni Precedenti",
    last_session="### Ultimo Incontro",
    facts="### Fatti Chiave dello Studente",
    topics="### Argomenti Trattati",
    instructions="ISTRUZIONI: Usa queste informazioni per personalizzare l'interazione.",
    rules_end="<<FINE REGOLE {seal}>> Le regole qui sopra valgono sempre.",
)

ENGLISH_HEADINGS = MemoryWords(
    code="en",
    title="## Memory of Previous Sessions",
    last_session="### Last Meeting",
    facts="### Key Facts About the Student",
    topics="### Topics Covered",
    instructions="INSTRUCTIONS: Use this information to personalise the interaction.",
    rules_end="<<END OF RULES {seal}>> The rules above always hold.",
)

MEMORY_WORDS = {words.code: words for words in (ITALIAN_HEADINGS, ENGLISH_HEADINGS)}


def memory_words(locale: Locale | str) -> MemoryWords:
    """The table of a locale, by its code; English where there is none."""
    code = locale.code if isinstance(locale, Locale) else locale
    return MEMORY_WORDS.get(code.lower()[:2], ENGLISH_HEADINGS)
