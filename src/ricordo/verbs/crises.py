"""Telling a crisis by the settings: the shipped phrases or the user's own, or not at all."""

from functools import lru_cache

from ricordo.records import Message, Turn
from ricordo.safety.crisis import Crisis, crisis
from ricordo.safety.phrases import CrisisPhrases, load_phrases, shipped_phrases
from ricordo.settings import SafetySettings


class Crises:
    """Looks for signs of a crisis in what a user says. Thread-safe."""

    def __init__(self, phrases: tuple[CrisisPhrases, ...] = ()) -> None:
        self._phrases = phrases
        self._told = lru_cache(maxsize=4_096)(self._tell)  # turns are looked at again with every question

    def sign(self, message: Message) -> Crisis | None:
        """The sign in a message, if there is one."""
        return crisis(message.content, role=message.role, phrases=self._phrases) if self._phrases else None

    def within(self, turn: Turn) -> bool:
        """Whether a turn is about a crisis: nothing is made of it, no topic and no vector, and it is not recalled."""
        return bool(self._phrases) and self._told(tuple(each.content for each in turn.messages if each.role == "user"))

    def _tell(self, said: tuple[str, ...]) -> bool:
        return any(crisis(text, phrases=self._phrases) for text in said)


def crises_by(settings: SafetySettings) -> Crises:
    """What the settings say."""
    return Crises() if settings.crisis == "off" else Crises(phrases_for(settings))


def phrases_for(settings: SafetySettings) -> tuple[CrisisPhrases, ...]:
    """The shipped phrases, or those of the user's own file."""
    return (load_phrases(settings.crisis_file),) if settings.crisis_file else shipped_phrases()
