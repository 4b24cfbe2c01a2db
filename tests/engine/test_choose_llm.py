"""Which model a setting names, and the scripted one for tests."""

import threading
from pathlib import Path

import pytest

from ricordo.engine import LLM, Completion
from ricordo.engine.core import choose_llm, choose_llms
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


def keys(setting: str, key: str) -> dict[str, str | None]:
    """The key that goes to each model."""
    found = choose_llms(setting, environ={"RICORDO_LLM_KEY": key})
    return {llm.name: llm._endpoint.key for llm in found if isinstance(llm, RemoteLLM)}


def test_several() -> None:
    """Models are separated by commas; the first is the one that everything else uses."""
    setting = "https://a/v1#one, http://b:1/v1#two,https://a/v1#three"
    assert [llm.name for llm in choose_llms(setting, environ={})] == ["one", "two", "three"]
    first = choose_llm(setting, environ={})
    assert first is not None
    assert first.name == "one"
    assert choose_llms("none") == ()


def test_a_key_goes_to_its_own_server() -> None:
    """One key is for the server of the first model alone; several keys go by order, an empty one is none."""
    setting = "https://a/v1#one, http://b:1/v1#two,https://a/v1#three"
    assert keys(setting, "k") == {"one": "k", "two": None, "three": "k"}
    assert keys(setting, "k1,,k3") == {"one": "k1", "two": None, "three": "k3"}
    assert keys("https://a/v1#one", "k,with a comma") == {"one": "k,with a comma"}
    with pytest.raises(SettingsError, match="3 models, but 2 keys") as refused:
        keys(setting, "secret1,secret2")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("setting", "word"),
    [
        ("https://a/v1#m, https://b/v1#m", "name 'm'"),
        ("https://a/v1#m, gguf:/no/such/file.gguf", "file"),
        ("https://a/v1#m,", "URL#MODEL"),
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
