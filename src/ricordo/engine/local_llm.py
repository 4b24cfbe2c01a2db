"""A GGUF model in this process, with the runtime of the `local` extra.

The runtime serves the OpenAI protocol on the loopback interface, on a free port and behind a random key, so the model
is called like any other endpoint: the same streaming, limits and accounting. Text that spells a control token of the
model is broken up first. The file is loaded at the first call.
"""

import re
import secrets
import struct
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from ricordo.engine import Completion
from ricordo.engine.http import RequestPolicy
from ricordo.engine.remote_llm import Endpoint, RemoteLLM
from ricordo.errors import LLMError

# The GGUF header.
_MAGIC = b"GGUF"
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_CONTROL, _USER_DEFINED = 3, 4
_MAX_TEXT = 1 << 27  # bytes
_MAX_COUNT = 1 << 24


def control_tokens(path: Path) -> tuple[str, ...]:
    """The control tokens in the header of a GGUF file, longest first; LLMError if it is no GGUF file."""
    try:
        with path.open("rb") as file:
            tokens, kinds = _vocabulary(file)
    except (OSError, ValueError, struct.error) as cause:
        raise LLMError(f"{path.name} cannot be read as a GGUF model ({cause}): name another file") from cause
    found = {
        token
        for token, kind in zip(tokens, kinds, strict=False)
        if kind == _CONTROL or (kind == _USER_DEFINED and token[:1] in "<[" and len(token) > 1)
    }
    return tuple(sorted((token for token in found if token.strip()), key=lambda token: (-len(token), token)))


def _vocabulary(file: BinaryIO) -> tuple[list[str], tuple[int, ...]]:
    if file.read(4) != _MAGIC:
        raise ValueError("it does not begin with the GGUF signature")
    _version, _tensors, pairs = struct.unpack("<IQQ", file.read(20))
    if pairs > _MAX_COUNT:
        raise ValueError("its head is damaged")
    tokens: list[str] = []
    kinds: tuple[int, ...] = ()
    for _ in range(pairs):
        key = _text(file)
        kind = _number(file, "<I")
        if key == "tokenizer.ggml.tokens" and kind == _ARRAY:
            tokens = _array(file, lambda: _text(file), _STRING)
        elif key == "tokenizer.ggml.token_type" and kind == _ARRAY:
            inner, count = struct.unpack("<IQ", file.read(12))
            if _SIZES.get(inner) != 4 or count > _MAX_COUNT:
                raise ValueError("its vocabulary is damaged")
            kinds = struct.unpack(f"<{count}i", file.read(4 * count))
        else:
            _skip(file, kind)
    return tokens, kinds


def _array(file: BinaryIO, read: Callable[[], str], expected: int) -> list[str]:
    inner, count = struct.unpack("<IQ", file.read(12))
    if inner != expected or count > _MAX_COUNT:
        raise ValueError("its vocabulary is damaged")
    return [read() for _ in range(count)]


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _text(file)
    elif kind == _ARRAY:
        inner, count = struct.unpack("<IQ", file.read(12))
        if count > _MAX_COUNT:
            raise ValueError("its head is damaged")
        if inner in _SIZES:
            file.seek(_SIZES[inner] * count, 1)
        else:
            for _ in range(count):
                _skip(file, inner)
    elif kind in _SIZES:
        file.seek(_SIZES[kind], 1)
    else:
        raise ValueError("it contains a value of an unknown type")


def _text(file: BinaryIO) -> str:
    size = _number(file, "<Q")
    if size > _MAX_TEXT:
        raise ValueError("its head is damaged")
    raw = file.read(size)
    if len(raw) < size:
        raise ValueError("it ends too early")
    return raw.decode("utf-8", "replace")


def _number(file: BinaryIO, form: str) -> int:
    (value,) = struct.unpack(form, file.read(struct.calcsize(form)))
    return int(value)


_UNCHANGED_FIELDS = frozenset({"role", "type"})


class Defuser:
    """Breaks up control tokens spelled in message text, so that text cannot pass for the chat template.

    Tokens of one character cannot be broken and are left alone.
    """

    def __init__(self, tokens: Iterable[str]) -> None:
        spelled = sorted({token for token in tokens if len(token) > 1}, key=lambda token: (-len(token), token))
        self._pattern = re.compile("|".join(map(re.escape, spelled))) if spelled else None

    def text(self, text: str) -> str:
        """The text without a control token."""
        # Breaking one token may complete another that began inside it, so repeat until none is left. A token that
        # itself contains spaces could repeat forever, so the rounds are limited and what remains is removed.
        for _ in range(8):
            if self._pattern is None or not self._pattern.search(text):
                return text
            text = self._pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
        return self._pattern.sub("", text) if self._pattern else text

    def messages(self, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The messages with every text in them broken up, except roles and types."""
        return [self._mapping(message) for message in messages]

    def _mapping(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value if key in _UNCHANGED_FIELDS else self._value(value) for key, value in values.items()}

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            return [self._value(each) for each in value]
        return value


# A CPU needs minutes to read a long prompt, and sends nothing until then.
_SLOW = RequestPolicy(connect=10.0, read=900.0, total=1800.0, attempts=2)


@dataclass(frozen=True, slots=True)
class Running:
    """How a local model runs. More threads than free cores are slower; `context` is in tokens."""

    threads: int = 1
    context: int = 4_096
    temperature: float = 0.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.threads < 1 or self.context < 1:
            raise LLMError("a local model needs at least one thread and one token of context")


class LocalLLM:
    """A model file. `close` frees it; the next call loads it again."""

    def __init__(self, path: Path | str, running: Running | None = None) -> None:
        self._path = Path(path)
        self._running = running or Running()
        self._lock = threading.Lock()
        self._server: Any = None
        self._remote: RemoteLLM | None = None
        if not self._path.is_file():
            raise LLMError(f"there is no model file {self._path}: name an existing GGUF file")
        if find_spec("xllamacpp") is None:
            raise LLMError("a local model needs the runtime: install ricordo[local]")
        self._defuser = Defuser(control_tokens(self._path))

    @property
    def name(self) -> str:
        return self._path.stem

    def complete(self, messages: Sequence[Mapping[str, Any]], **limits: Any) -> Completion:
        return self._loaded().complete(self._defuser.messages(messages), **limits)

    def stream(self, messages: Sequence[Mapping[str, Any]], **limits: Any) -> Generator[str, None, Completion]:
        return (yield from self._loaded().stream(self._defuser.messages(messages), **limits))

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
                self._remote = RemoteLLM(Endpoint(url, self.name, key, _SLOW, extra))
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
        raise LLMError(
            f"the model {path.name} cannot be loaded ({cause}): check that it is a chat model in GGUF format"
        ) from cause
