"""Language models: any OpenAI-compatible endpoint, a local GGUF file, or none.

`choose_llm` takes the setting `llm` and returns a model or None. It connects to nothing and loads nothing, so opening a
memory never waits for a model; everything works without one.
"""

import os
from collections.abc import Callable, Mapping

from ricordo.engine.llm.remote import Endpoint, RemoteLLM
from ricordo.engine.protocols import LLM, TokenCounter
from ricordo.errors import LLMError, SettingsError

__all__ = ["Endpoint", "RemoteLLM", "choose_llm"]

SETTING = "llm"
KEY = "RICORDO_LLM_KEY"


def choose_llm(
    setting: str,
    *,
    environ: Mapping[str, str] | None = None,
    counting: Callable[[str], TokenCounter] | None = None,
) -> LLM | None:
    """The model that a setting names: `none`, `URL#MODEL` or `gguf:PATH`; SettingsError when it cannot work.

    The key of an endpoint comes from RICORDO_LLM_KEY. `counting` returns the counter for a model name; it is used when
    an endpoint does not report the cost of an answer.
    """
    chosen = setting.strip()
    if chosen in ("", "none"):
        return None
    try:
        if chosen.startswith("gguf:"):
            from ricordo.engine.llm.local import LocalLLM

            return LocalLLM(chosen.removeprefix("gguf:"))
        if chosen.startswith(("http://", "https://")):
            url, _, model = chosen.partition("#")
            key = (os.environ if environ is None else environ).get(KEY, "").strip() or None
            return RemoteLLM(Endpoint(url, model, key), counter=counting(model) if counting and model else None)
    except LLMError as cause:
        raise SettingsError(SETTING, str(cause)) from cause
    raise SettingsError(SETTING, "expected none, URL#MODEL (an OpenAI-compatible address) or gguf:PATH")
