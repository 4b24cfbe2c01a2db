"""Everything that a running server holds: one store, a memory and a chat for each tenant, the answers under way.

Memories of several tenants share the store and the work beside the chat; a tenant's memory is made with its first
request. Closing finishes what is at hand and gives the rest back.
"""

import os
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ricordo.chat.library import Library
from ricordo.chat.pipeline import Chat
from ricordo.errors import RicordoError
from ricordo.memory import Memory
from ricordo.ports import LLM, Store
from ricordo.server.caller import Caller, NotAllowed
from ricordo.server.keys import digest_of, looks_like_key
from ricordo.server.metrics import Metrics
from ricordo.server.options import ServerOptions
from ricordo.server.streams import Answers
from ricordo.server.tokens import Tokens
from ricordo.settings import Settings

MOST_TENANTS = 1_000


class Service:
    """What the routes work with. Thread-safe."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        options: ServerOptions,
        *,
        llm: LLM | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.options = options
        self.metrics = Metrics()
        self._llm = llm
        self._tokens = Tokens(options)
        self._memories: OrderedDict[str, Memory] = OrderedDict()
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(options.threads, thread_name_prefix="ricordo-chat")
        self.answers = Answers(self._executor, _told)
        self.name = f"{os.uname().nodename}:{os.getpid()}"

    def caller(self, credential: str | None) -> Caller:
        """Who shows this credential, or NotAllowed."""
        if not credential:
            if self.options.auth:
                raise NotAllowed("send an API key or a token: Authorization: Bearer …", 401)
            return Caller(self.settings.tenant_id)
        if not looks_like_key(credential):
            return self._tokens.caller(credential)
        key = self.store.key_by_digest(digest_of(credential))
        if key is None or key.revoked_at is not None:
            raise NotAllowed("the API key is unknown or was revoked", 401)
        return Caller(key.tenant_id, key.user_id, frozenset(key.scopes), "key")

    def memory(self, tenant_id: str) -> Memory:
        """The memory of a tenant."""
        with self._lock:
            if tenant_id not in self._memories:
                settings = replace(self.settings, tenant_id=tenant_id)
                self._memories[tenant_id] = Memory(self.store, settings, llm=self._llm)
            self._memories.move_to_end(tenant_id)
            return self._memories[tenant_id]

    def library(self, tenant_id: str) -> Library:
        """The documents of a tenant."""
        return Library(self.memory(tenant_id))

    def chat(self, tenant_id: str) -> Chat:
        """The chat of a tenant."""
        return Chat(self.memory(tenant_id), passages=self.library(tenant_id))

    @property
    def degraded(self) -> tuple[str, ...]:
        """What the service does without just now."""
        state = getattr(self.store, "state", None)
        return (
            (f"the database is away since {state.since}: {state.depth} writes wait on disk",)
            if state and state.degraded
            else ()
        )

    def close(self) -> None:
        """Finish the answers at hand, then the work beside the chat, and let go of the store."""
        self._executor.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            memories, self._memories = list(self._memories.values()), OrderedDict()
        for memory in memories:
            memory.rest()
        self.store.close()


def _told(error: Exception) -> dict[str, Any]:
    """A failure as the last event of a stream."""
    detail = str(error) if isinstance(error, RicordoError) else "something failed; the log has the cause"
    return {"type": "about:blank", "title": type(error).__name__, "status": 500, "detail": detail}
