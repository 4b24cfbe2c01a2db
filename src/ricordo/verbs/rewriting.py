"""A follow-up made to stand alone by a language model, behind the port that the rules share.

In: the question and the last turns. Out: what the model wrote; whether that can be used is decided where the rules
are. The talk goes to the model as data, between fences.
"""

from collections.abc import Sequence

from ricordo.followups.focus import PastTurn
from ricordo.followups.languages import language_of
from ricordo.ports import LLM
from ricordo.safety.fence import close_fence, defuse, marker, open_fence

TURNS = 6
CHARACTERS = 1_200  # of each message: enough to find what is meant
MOST_TOKENS = 120

_INSTRUCTIONS = {
    "it": (
        "Riscrivi l'ultima domanda in modo che si capisca senza la conversazione. Usa solo ciò che la "
        "conversazione dice, resta nella lingua della domanda, rispondi con la sola domanda riscritta."
    ),
    "en": (
        "Rewrite the last question so that it can be understood without the conversation. Use only what the "
        "conversation says, keep the language of the question, answer with the rewritten question alone."
    ),
}


class ModelRewriter:
    """Asks a model. Thread-safe if the model is."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm

    def rewrite(self, question: str, history: Sequence[PastTurn]) -> str:
        """The question with everything it needs from the talk."""
        code = language_of(question).code
        talk = "\n".join(
            f"- {defuse(said[:CHARACTERS])}"
            for turn in history[-TURNS:]
            for said in (turn.query, turn.response)
            if said
        )
        word = marker((talk, question))
        asked = f"{open_fence(word, code)}\n{talk}\n{close_fence(word, code)}\n\n{question}"
        messages = [{"role": "system", "content": _INSTRUCTIONS[code]}, {"role": "user", "content": asked}]
        return self._llm.complete(messages, max_tokens=MOST_TOKENS).text
