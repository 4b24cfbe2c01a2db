"""The few words the reader says itself, Italian and English; everything else it says is the material's."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phrases:
    """`opening` stands above the points and says that they are extracts; `absent` is said when nothing answers,
    `no_more` when somebody wants to hear more than there is.
    """

    opening: str
    absent: str
    no_more: str


ITALIAN = Phrases(
    opening="Dal materiale, con le sue parole (risposta estrattiva):",
    absent="Nel materiale non c'è una risposta a questa domanda. Rispondo soltanto con frasi prese dal materiale.",
    no_more="Il materiale non dice altro su questo.",
)
ENGLISH = Phrases(
    opening="From the material, in its own words (extractive answer):",
    absent="The material holds no answer to this question. I only answer with sentences taken from the material.",
    no_more="The material says no more about this.",
)


def phrases_for(language: str) -> Phrases:
    """Italian for "it", English for any other language."""
    return ITALIAN if language == "it" else ENGLISH
