"""A DSPy program that remembers. Runs without a network, with DSPy's dummy model."""

import tempfile
from pathlib import Path

import dspy
from dspy.utils import DummyLM

import ricordo
from ricordo.contrib.dspy import Remembering, StandaloneQuestion, history_of


def main(place: str) -> None:
    """Two questions; the second has the first before it."""
    answers = [
        {"answer": "Dante Alighieri."},
        {"standalone_question": "When was Dante Alighieri born?"},
        {"answer": "In 1265."},
    ]
    program = Remembering(dspy.Predict("question, history: dspy.History -> answer"))
    with ricordo.open(place) as memory, dspy.context(lm=DummyLM(answers)):
        session = memory.session("today", user_id="ada")
        for question in ("Who wrote the Divine Comedy?", "When was he born?"):
            meant = StandaloneQuestion()(history=history_of(session), question=question)
            said = program(question=question, session=session)
            print(f"{question} (meant: {meant.standalone_question}) → {said.answer}")
        print(len(history_of(session).messages), "turns are kept")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(str(Path(folder) / "chat.db"))
