"""The labels and headings that prompts are written with; pass your own `Locale` to write them in another language."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from ricordo.errors import SettingsError
from ricordo.languages.registry import codes, language

if TYPE_CHECKING:
    from ricordo.languages.base import MemoryWords


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
        """The label of a role, as a line begins."""
        labels = {"user": self.user_label, "assistant": self.assistant_label, "system": self.system_label}
        return labels.get(role, self.tool_label)


def locale_for(choice: "Locale | str") -> Locale:
    """A built-in table by code, or the caller's own."""
    if isinstance(choice, Locale):
        return choice
    if not isinstance(choice, str) or choice not in codes():
        raise SettingsError("locale", f"{choice!r} is unknown; use one of {sorted(codes())} or pass a Locale")
    return language(choice).labels


def memory_words(locale: Locale | str) -> "MemoryWords":
    """The headings of the memory block in the language of a locale; English where there are none."""
    return language(locale.code if isinstance(locale, Locale) else locale).memory
