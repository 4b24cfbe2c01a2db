"""Condensation as a DSPy module; with the real DSPy where it is installed."""

import sys
from typing import Any

import pytest
from condensation_samples import COUNTER, talk

from ricordo.contrib.dspy_condenser import SIGNATURE, DspyModel, condenser
from ricordo.errors import LLMError
from ricordo.people.summaries.summarise import SummaryWriter, summarise

TALK = talk("Mi chiamo Marco Rossi e studio la meiosi.", "Bene, Marco.", "Ho 23 cromosomi?", "Nei gameti, sì.")
GOOD = {"condensed_context": "Marco studia la meiosi e chiede dei cromosomi.", "key_topics": "meiosi, cromosomi"}


@pytest.fixture
def dspy() -> Any:
    """The real DSPy."""
    return pytest.importorskip("dspy", reason="DSPy is not installed: pip install 'ricordo[dspy]' runs these tests")


@pytest.mark.filterwarnings("default")
def test_signature(dspy: Any) -> None:
    """The module has the promised signature and predicts both of its outputs."""
    module = condenser()
    fields = module.condense.signature
    assert [*fields.input_fields] == ["conversation_history", "current_query"]
    assert [*fields.output_fields] == ["condensed_context", "key_topics"]
    with dspy.context(lm=dspy.utils.DummyLM([GOOD])):
        predicted = module(conversation_history="Marco: studio la meiosi.", current_query="Che cosa studio?")
    assert predicted.condensed_context == GOOD["condensed_context"]
    assert predicted.key_topics == GOOD["key_topics"]


@pytest.mark.filterwarnings("default")
def test_writing_summaries(dspy: Any) -> None:
    """A DSPy module writes summaries behind the same checks: the key details it dropped are put back."""
    with dspy.context(lm=dspy.utils.DummyLM([GOOD])):
        made = summarise(TALK, None, 100, COUNTER, "it", writer=SummaryWriter(DspyModel(), lambda text: f"⟦{text}⟧"))
    assert made is not None
    assert made.made_by == "dspy"
    assert made.text.startswith(GOOD["condensed_context"])
    assert "Marco Rossi" in made.text
    assert "23" in made.text


class Module:
    """Stands where a DSPy module would: says one thing, or fails."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.history = ""

    def __call__(self, *, conversation_history: str, current_query: str) -> Any:
        self.history = conversation_history
        if isinstance(self.answer, Exception):
            raise self.answer
        return type("Prediction", (), self.answer)()


def test_any_module() -> None:
    """Any module with the signature can write; it is given the fenced talk and none of our own instructions."""
    module = Module(GOOD)
    made = summarise(TALK, None, 100, COUNTER, "it", writer=SummaryWriter(DspyModel(module), lambda text: f"⟦{text}⟧"))
    assert made is not None
    assert made.made_by == "dspy"
    assert "⟦Utente: Mi chiamo Marco Rossi" in module.history
    assert "Riassumi in italiano" not in module.history


@pytest.mark.parametrize("answer", [ValueError("x"), {"condensed_context": None, "key_topics": None}, {}])
def test_failing_module(answer: Any) -> None:
    """A module that fails, or predicts nothing, leaves the extractive summary."""
    writer = SummaryWriter(DspyModel(Module(answer)), lambda text: text)
    made = summarise(TALK, None, 100, COUNTER, "it", writer=writer)
    assert made is not None
    assert made.made_by == "extractive"


def test_without_dspy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without DSPy the error says what to install."""
    monkeypatch.setitem(sys.modules, "dspy", None)
    with pytest.raises(LLMError, match=r"ricordo\[dspy\]"):
        condenser()


def test_signature_is_public() -> None:
    """The signature can be used on its own."""
    assert SIGNATURE == "conversation_history, current_query -> condensed_context, key_topics"
