"""What the gate of a model's claims lets through is counted."""

import json

from bench.facts_talk import gate_figures

from ricordo.testing.fakes import ScriptedLLM

ROW = {
    "id": "r1",
    "lang": "en",
    "messages": ["I live in Leeds. Paris is the capital of France."],
    "clauses": [
        {"m": 0, "text": "I live in Leeds", "label": "fact", "attribute": "home"},
        {"m": 0, "text": "Paris is the capital of France", "label": "none", "why": "general"},
    ],
}


def claim(text: str, quote: str) -> dict[str, object]:
    """A claim as a model writes it."""
    return {"message": 1, "kind": "place", "about": "", "text": text, "quote": quote}


def test_claims_proposed_and_kept() -> None:
    """A claim about the user is kept and right; an invented one and a general truth are dropped."""
    rows = [
        claim("Lives in Leeds", "I live in Leeds"),
        claim("Lives in Rome", "I live in Rome"),
        claim("Lives in Paris", "Paris is the capital of France"),
    ]
    figures = gate_figures([ROW], "en", ScriptedLLM(json.dumps({"facts": rows})))
    assert (figures.proposed, figures.proposed_right) == (3, 1)
    assert (figures.kept, figures.kept_right, figures.failed) == (1, 1, 0)


def test_a_model_that_answers_no_list() -> None:
    """It is counted as failed, and proposes nothing."""
    figures = gate_figures([ROW], "en", ScriptedLLM("I cannot do that."))
    assert (figures.rows, figures.failed, figures.proposed, figures.kept) == (1, 1, 0, 0)


def test_rows_of_the_other_language_are_not_read() -> None:
    """The model is not asked at all."""
    assert gate_figures([ROW], "it", ScriptedLLM("unused")).rows == 0
