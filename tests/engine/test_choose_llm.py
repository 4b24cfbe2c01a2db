"""Which model a setting names, and the scripted one for tests."""

import threading
from pathlib import Path

import pytest

from ricordo.engine import LLM, Completion
from ricordo.engine.core import choose_llm
from ricordo.engine.remote_llm import RemoteLLM
from ricordo.engine.tokens import ApproximateCounter
from ricordo.errors import LLMError, SettingsError
from ricordo.testing.fakes import ScriptedLLM

ASK = [{"role": "user", "content": "Ciao a tutti"}]


@pytest.mark.parametrize("setting", ["none", "", " none "])
def test_none(setting: str) -> None:
    """No model is a choice."""
    assert choose_llm(setting) is None


def test_endpoint() -> None:
    """An address with a model name is an endpoint; its counter is chosen by the model's name."""
    asked: list[str] = []

    def counting(model: str) -> ApproximateCounter:
        asked.append(model)
        return ApproximateCounter()

    model = choose_llm("https://host/v1#org/small:8b", environ={"RICORDO_LLM_KEY": " k "}, counting=counting)
    assert isinstance(model, RemoteLLM)
    assert model.name == "org/small:8b"
    assert asked == ["org/small:8b"]


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("gpt-4", "URL#MODEL"),
        ("https://host/v1", "name"),
        ("https://a:secret@host/v1#m", "password"),
        ("gguf:/no/such/file.gguf", "file"),
        ("gguf:", "file"),
    ],
)
def test_what_cannot_work(setting: str, word: str) -> None:
    """What cannot work is refused by the name of the setting, without a secret in the words."""
    with pytest.raises(SettingsError, match=f"'llm'.*{word}") as refused:
        choose_llm(setting)
    assert "secret" not in str(refused.value)


def test_not_a_model(tmp_path: Path) -> None:
    """A file that is no model is refused when it is chosen, not when it is first asked."""
    pytest.importorskip("xllamacpp", reason="needs the local extra")
    path = tmp_path / "notes.gguf"
    path.write_text("hello")
    with pytest.raises(SettingsError, match=r"notes\.gguf"):
        choose_llm(f"gguf:{path}")


def test_script() -> None:
    """A scripted model says its answers in order, raises its failures, calls its functions, and repeats the last."""
    model = ScriptedLLM("uno", LLMError("away"), lambda messages: messages[-1]["content"].upper())
    port: LLM = model
    assert port.complete(ASK).text == "uno"
    with pytest.raises(LLMError, match="away"):
        port.complete(ASK)
    assert [port.complete(ASK).text for _ in range(2)] == ["CIAO A TUTTI"] * 2
    assert len(model.asked) == 4
    assert model.asked[0] == ASK


def test_scripted_stream() -> None:
    """A scripted stream gives words, returns the whole, and counts those who left early."""
    model = ScriptedLLM("uno due tre")
    pieces: list[str] = []
    stream = model.stream(ASK)
    try:
        while True:
            pieces.append(next(stream))
    except StopIteration as end:
        whole: Completion = end.value
    assert "".join(pieces) == whole.text == "uno due tre"
    left = model.stream(ASK)
    next(left)
    left.close()
    assert model.closed == 1


def test_slow_script() -> None:
    """A slow model stands at its gate until the gate is opened."""
    gate = threading.Event()
    model = ScriptedLLM("alla fine", gate=gate)
    said: list[str] = []
    asking = threading.Thread(target=lambda: said.append(model.complete(ASK).text))
    asking.start()
    assert model.waiting.wait(10)
    assert said == []
    gate.set()
    asking.join(10)
    assert said == ["alla fine"]
