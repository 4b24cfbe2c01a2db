"""Which language model to use: a setting goes in, a model or none comes out.

None is a choice like the others: everything works without a model. Nothing is asked or loaded here, so that opening a
memory never waits for a model.
"""

import os
from collections.abc import Callable, Mapping

from ricordo.engine.llm.endpoint import Endpoint
from ricordo.engine.llm.remote import RemoteLLM
from ricordo.engine.protocols import LLM, TokenCounter
from ricordo.errors import LLMError, SettingsError

SETTING = "llm"
KEY = "RICORDO_LLM_KEY"


def choose_llm(
    setting: str,
    *,
    environ: Mapping[str, str] | None = None,
    counting: Callable[[str], TokenCounter] | None = None,
) -> LLM | None:
    """The model that a setting names: `none`, `URL#MODEL` or `gguf:PATH`; SettingsError when it cannot work.

    The key of an endpoint comes from RICORDO_LLM_KEY. `counting` gives the counter for a model's name, used where an
    endpoint does not tell what an answer cost.
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
