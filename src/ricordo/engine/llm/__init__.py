"""Language models behind one port: any OpenAI-compatible endpoint, a local GGUF file, or none.

Everything that asks a model has a way without it, so a model is always optional and never imported by default.
"""

from ricordo.engine.llm.choose import choose_llm
from ricordo.engine.llm.endpoint import Endpoint
from ricordo.engine.llm.remote import RemoteLLM

__all__ = ["Endpoint", "RemoteLLM", "choose_llm"]
