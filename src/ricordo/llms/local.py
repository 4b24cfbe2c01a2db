"""A GGUF model in this process, with the runtime of the `local` extra.

The runtime serves the OpenAI protocol on the loopback interface, on a free port and behind a random key, so the model
is asked like any other endpoint: the same streaming, limits and accounting. Text that spells a control token of the
model is defused first. The file is loaded with the first question.
"""

import secrets
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ricordo.errors import LLMError
from ricordo.llms.defuse import Defuser
from ricordo.llms.endpoint import Endpoint, Patience
from ricordo.llms.gguf import control_tokens
from ricordo.llms.remote import RemoteLLM
from ricordo.ports import Completion

# A processor reads a long prompt in minutes, and says nothing meanwhile.
_PATIENT = Patience(connect=10.0, read=900.0, whole=1800.0, attempts=2)


@dataclass(frozen=True, slots=True)
class Running:
    """What a local model may take: threads (more than there are free cores is slower), tokens of context, seed."""

    threads: int = 1
    context: int = 4_096
    temperature: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.threads < 1 or self.context < 1:
            raise LLMError("a local model needs at least one thread and one token of context")


class LocalLLM:
    """A model file. `close` frees it; the next question loads it again."""

    def __init__(self, path: Path | str, running: Running | None = None) -> None:
        self._path = Path(path)
        self._running = running or Running()
        self._lock = threading.Lock()
        self._server: Any = None
        self._remote: RemoteLLM | None = None
        if not self._path.is_file():
            raise LLMError(f"there is no model file {self._path}: name a GGUF file that is there")
        if find_spec("xllamacpp") is None:
            raise LLMError("a local model needs the runtime: install ricordo[local]")
        self._defuser = Defuser(control_tokens(self._path))

    @property
    def name(self) -> str:
        return self._path.stem

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        schema: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Completion:
        asked = self._defuser.messages(messages)
        return self._loaded().complete(asked, max_tokens=max_tokens, schema=schema, options=options)

    def stream(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Generator[str, None, Completion]:
        asked = self._defuser.messages(messages)
        return (yield from self._loaded().stream(asked, max_tokens=max_tokens, options=options))

    def close(self) -> None:
        """Free the model and its port."""
        with self._lock:
            self._server = self._remote = None

    def _loaded(self) -> RemoteLLM:
        with self._lock:
            if self._remote is None:
                key = secrets.token_urlsafe(32)
                self._server = _serve(self._path, self._running, key)
                extra = {"temperature": self._running.temperature, "seed": self._running.seed}
                url = f"{self._server.listening_address}/v1"
                self._remote = RemoteLLM(Endpoint(url, self.name, key, _PATIENT, extra))
            return self._remote


def _serve(path: Path, running: Running, key: str) -> Any:
    xllamacpp = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = running.context
    params.n_parallel = 1
    params.cpuparams.n_threads = running.threads
    params.cpuparams_batch.n_threads = running.threads
    params.api_keys = [key]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.ui = False
    params.server_tools = []
    params.offline = True
    params.warmup = False
    params.verbosity = -1
    try:
        return xllamacpp.Server(params)
    except Exception as cause:
        raise LLMError(f"the model {path.name} cannot be loaded ({cause}): is it a chat model in GGUF form?") from cause
