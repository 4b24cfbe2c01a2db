"""`Memory`: everything that is remembered for one tenant. It makes the engine and sessions, and calls the rooms."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ricordo.engine import Clock, TokenCounter
from ricordo.engine.core import Engine, Scope, SystemClock, choose_llm, in_project, new_id
from ricordo.engine.tokens import counter_for
from ricordo.errors import NotFoundError, StoreError, ValidationError
from ricordo.limits import check_id, check_ids, check_number, check_project, check_text, check_time, is_id
from ricordo.presets import settings_from
from ricordo.records.turns import DEFAULT_AGENT, Owner, SessionInfo, log_details, project_tag, turn_id_of
from ricordo.session import Session
from ricordo.settings import Retention, Settings, check_embedder
from ricordo.stores.open import DEFAULT_PATH, store_for
from ricordo.stores.protocols import Store
from ricordo.turns import export, forget, write
from ricordo.turns.write import catch_up, start_queue

log = logging.getLogger("ricordo")

if TYPE_CHECKING:
    from ricordo.engine import LLM
    from ricordo.recall.embedders import Embedder
    from ricordo.recall.search import Hits
    from ricordo.records.derived import Fact, Flag, FlagState, Profile
    from ricordo.records.service import CleanupResult, EraseReceipt, ImportResult, Repair, Stats, Verification
    from ricordo.worker import WorkQueue


class Memory:
    """Everything that is remembered for one tenant. Thread-safe. Close it, or use it in a `with` block."""

    def __init__(
        self,
        store: Store,
        settings: Settings | None = None,
        *,
        clock: Clock | None = None,
        counter: TokenCounter | None = None,
        embedder: "Embedder | None" = None,
        llm: "LLM | None" = None,
    ) -> None:
        chosen = settings or Settings()
        check_parts(chosen)
        self._engine = Engine(
            store,
            counter or counter_for(chosen.model, chosen.locale.code),
            clock or SystemClock(),
            chosen,
            embedder=embedder,
            llm=llm or choose_llm(chosen.llm, counting=lambda model: counter_for(model, chosen.locale.code)),
        )
        start_queue(self._engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._engine.settings

    @property
    def store(self) -> Store:
        """The store."""
        return self._engine.store

    @property
    def counter(self) -> TokenCounter:
        """The token counter."""
        return self._engine.counter

    @property
    def clock(self) -> Clock:
        """The source of the current time."""
        return self._engine.clock

    @property
    def llm(self) -> "LLM | None":
        """The configured language model; None without one."""
        return self._engine.llm

    @property
    def embedder(self) -> "Embedder":
        """The embedder; loaded at its first use."""
        from ricordo.recall.indexes import indexes_of

        return indexes_of(self._engine).embedder

    # Sessions

    def session(
        self,
        session_id: str | None = None,
        *,
        user_id: str,
        agent_id: str = DEFAULT_AGENT,
        project: str | None = None,
    ) -> Session:
        """The session with this id, stored or new; without an id, a new one with a new UUID.

        A new session belongs to `project`; None is the project of the settings, empty is no project.
        """
        return Session(self._engine, self._scope(session_id, user_id, agent_id, project))

    def resume(
        self, session_id: object, *, user_id: str, agent_id: str = DEFAULT_AGENT, project: str | None = None
    ) -> Session:
        """For a chat: the session if this user has it, else a new one with a new UUID; never an error.

        It is new if `session.id != session_id`. While the store is away this is unknown, and the id is used as it is,
        so that a conversation is not split in two.
        """
        name = session_id if is_id(session_id) else None
        known = name is not None and self._has(self._owner(user_id), name)
        return self.session(name if known else None, user_id=user_id, agent_id=agent_id, project=project)

    def sessions(
        self,
        *,
        user_id: str,
        limit: int | None = None,
        agent_id: str | None = None,
        before: SessionInfo | None = None,
        project: str | None = None,
        counts: bool = False,
    ) -> list[SessionInfo]:
        """A user's sessions, most recently active first; `before` is the last one of the previous page.

        With `counts` their messages, tokens and condensations are counted.
        """
        most = self.settings.recent_sessions if limit is None else check_number("limit", limit)
        agent = None if agent_id is None else check_id("agent_id", agent_id)
        if before is not None and not isinstance(before, SessionInfo):
            raise ValidationError("before", f"expected the last SessionInfo of a page, got {type(before).__name__}")
        tag = project_tag(self._project(project))
        page = self.store.sessions.page(self._owner(user_id), limit=most, agent_id=agent, tag=tag, before=before)
        return export.counted_sessions(self._engine, page) if counts else list(page)

    def delete_session(self, session_id: str, *, user_id: str) -> int:
        """Delete a session with everything in it; returns how many turns."""
        owner = self._owner(user_id)
        gone = self.store.sessions.delete(owner, session_id) if is_id(session_id) else None
        if gone is None:
            raise NotFoundError(f"session {session_id!r} does not exist for user {user_id!r}; list the sessions")
        forget.drop_session(self._engine, owner, session_id)
        return gone

    # Recalling

    def search(
        self,
        query: str,
        *,
        user_id: str,
        limit: int = 10,
        session_id: str | None = None,
        agent_id: str | None = None,
        topic_id: str | None = None,
        role: str | None = None,
        after: datetime | None = None,
        before: datetime | None = None,
        tags: Iterable[str] = (),
        project: str | None = None,
        relevant: bool = False,
        patience: float = 120.0,
    ) -> "Hits":
        """Past messages of a user that match the query, best first, each with its reasons.

        With `relevant`, only those that a context would recall; otherwise the best ones, however weak. Everything said
        before this call is searched, archived messages included. `patience` is how many seconds to wait for an index
        that is behind; after that `degraded` says what the result does not cover.
        """
        owner = self._owner(user_id)
        check_text("query", query, self.settings.limits)
        from ricordo.recall.ranking import Filters
        from ricordo.recall.search import Search
        from ricordo.recall.search import search as search_messages

        filters = Filters(
            session_id=None if session_id is None else check_id("session_id", session_id),
            agent_id=None if agent_id is None else check_id("agent_id", agent_id),
            topic_id=None if topic_id is None else check_id("topic_id", topic_id),
            role=None if role is None else check_id("role", role),
            after=None if after is None else check_time("after", after),
            before=None if before is None else check_time("before", before),
            tags=frozenset(check_ids("tags", tags)),
            session_tag=project_tag(self._project(project)),
        )
        wanted = Search(query, check_number("limit", limit), filters, relevant)
        if isinstance(patience, bool) or not isinstance(patience, int | float) or not patience >= 0:
            raise ValidationError("patience", f"expected seconds, 0 or more, got {patience!r}")
        return search_messages(self._engine, owner, wanted, patience=patience)

    def embed_again(self, *, progress: Callable[[int, int], None] | None = None) -> int:
        """Make all vectors with the current embedder and delete those of others; returns how many turns."""
        from ricordo.recall.indexes import embed_again, indexes_of

        return embed_again(self.store, indexes_of(self._engine), self.settings.tenant_id, progress)

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the background work (vectors, topics, facts, titles) is done; False after `timeout`."""
        return self._queue.settle(timeout)

    def settle_facts(self, user_id: str, timeout: float) -> bool:
        """Wait until the facts in a user's messages are learned; False after `timeout`."""
        return self._queue.people.settle(self._owner(user_id), timeout)

    # Knowing a person

    def profile(self, user_id: str, agent_id: str = DEFAULT_AGENT, *, project: str | None = None) -> "Profile":
        """What an agent knows about a user across sessions: recent summary, key facts, topics, last session's date."""
        from ricordo.people.profile import profile_of

        owner, agent = self._owner(user_id), check_id("agent_id", agent_id)
        return profile_of(self._engine, owner, agent, project=self._project(project))

    def enhance_prompt(
        self,
        base: str,
        *,
        user_id: str,
        agent_id: str = DEFAULT_AGENT,
        safety_rules: str | None = None,
        project: str | None = None,
    ) -> str:
        """A system prompt: the safety rules, then `base` unchanged, then the user's profile, as data.

        Rules left at None come from the settings. `ricordo.extract_base_prompt` returns `base` again.
        """
        rules = self.settings.safety_rules if safety_rules is None else safety_rules
        check_text("base", base, self.settings.limits, may_be_blank=True)
        check_text("safety_rules", rules, self.settings.limits, may_be_blank=True)
        from ricordo.prompt.memory_block import enhanced

        return enhanced(self._engine, base, self.profile(user_id, agent_id, project=project), rules)

    def facts(
        self,
        user_id: str,
        agent_id: str = DEFAULT_AGENT,
        *,
        at: datetime | None = None,
        superseded: bool = False,
        project: str | None = None,
    ) -> "list[Fact]":
        """The facts about a user that hold now, or held `at` a time; with `superseded`, also all earlier ones.

        Pinned facts come first. With a project: facts said in it or outside of every project, the name and standing
        instructions.
        """
        owner, agent, within = self._owner(user_id), check_id("agent_id", agent_id), self._project(project)
        known = [fact for fact in self.store.people.facts(owner, agent).facts if not fact.forgotten]
        known.sort(key=lambda fact: not fact.pinned)
        if within:
            known = in_project(self._engine, owner, known, within)
        if superseded:
            return known
        moment = self.clock.now() if at is None else check_time("at", at)
        return [fact for fact in known if fact.known_at(moment)]

    def write_fact(
        self, text: str, *, user_id: str, agent_id: str = DEFAULT_AGENT, kind: str = "", replaces: str = ""
    ) -> "Fact":
        """Write a fact by hand; it supersedes the fact `replaces`. The `kind` "instruction" is a standing wish."""
        from ricordo.people.facts.learn import write_fact

        check_text("text", text, self.settings.limits)
        owner, agent = self._owner(user_id), check_id("agent_id", agent_id)
        return write_fact(self._engine, owner, agent, text, kind=kind, replaces=replaces)

    def pin_fact(self, fact_id: str, *, user_id: str, agent_id: str = DEFAULT_AGENT, pinned: bool = True) -> "Fact":
        """Pin a fact, so that it comes first in profile and prompt, or unpin it. NotFoundError if there is none."""
        from ricordo.people.facts.learn import pin_fact

        agent, fact = check_id("agent_id", agent_id), check_id("fact_id", fact_id)
        return pin_fact(self._engine, self._owner(user_id), agent, fact, pinned=pinned)

    def forget_fact(self, fact_id: str, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> None:
        """Forget one fact: its text is deleted and it is not learned again. NotFoundError if there is none."""
        from ricordo.people.facts.learn import forget_fact

        agent, fact = check_id("agent_id", agent_id), check_id("fact_id", fact_id)
        forget_fact(self._engine, self._owner(user_id), agent, fact)

    def forget_message(self, message_id: str, *, user_id: str) -> None:
        """Keep one message out of prompts, facts and answers. NotFoundError if there is none."""
        from ricordo.safety.screen import screen_of

        owner = self._owner(user_id)
        turn = self.store.turns.get(owner, turn_id_of(check_id("message_id", message_id)))
        if turn is None:
            raise NotFoundError(f"there is no message {message_id!r}")
        screen_of(self._engine).quarantine_source(self._engine, owner, message_id, turn.session_id)

    def flags(self, user_id: str, *, state: "FlagState | None" = None, limit: int = 1_000) -> "list[Flag]":
        """The flags on a user's memories, newest first; they never contain the text."""
        if state is not None and state not in ("flagged", "quarantined", "released"):
            raise ValidationError("state", f"expected flagged, quarantined or released, got {state!r}")
        return list(self.store.people.flags(self._owner(user_id), state=state, limit=check_number("limit", limit)))

    def set_flag(self, flag_id: str, state: "FlagState", *, user_id: str) -> "Flag":
        """Release a memory from quarantine, or put it back. NotFoundError if there is no such flag."""
        if state not in ("flagged", "quarantined", "released"):
            raise ValidationError("state", f"expected flagged, quarantined or released, got {state!r}")
        flag = self.store.people.set_flag(self._owner(user_id), check_id("flag_id", flag_id), state)
        if flag is None:
            raise NotFoundError(f"flag {flag_id!r} does not exist for user {user_id!r}; list the flags")
        return flag

    def end_if_idle(self, session_id: str, *, user_id: str) -> bool:
        """End a session if it has been idle for `session_end_idle`; returns whether it was ended now."""
        from ricordo.people.facts.learn import end_if_idle

        return end_if_idle(self._engine, self._owner(user_id), check_id("session_id", session_id))

    def catch_up(self, session_id: str, *, user_id: str) -> None:
        """Do the background work of a session now: topics, vectors, facts, title, summary."""
        catch_up(self._engine, self._owner(user_id), check_id("session_id", session_id))

    def end_idle(self, *, user_id: str | None = None) -> int:
        """End the sessions of one user or of all that have been idle for `session_end_idle`; returns how many."""
        if self.settings.profile.remember_person == "off":
            return 0
        from ricordo.people.facts.learn import end_idle

        tenant = self.settings.tenant_id
        owners = self.store.owners(tenant) if user_id is None else [self._owner(user_id)]
        return sum(end_idle(self._engine, owner) for owner in owners)

    # Forgetting and care

    def cleanup(
        self, *, retention: Retention | None = None, progress: Callable[[int, int], None] | None = None
    ) -> "CleanupResult":
        """Delete the turns and sessions that are past the retention of the settings, or the given one."""
        if retention is not None and not isinstance(retention, Retention):
            raise ValidationError("retention", f"expected a Retention, got {type(retention).__name__}")
        result = forget.cleanup(self._engine, self.settings.tenant_id, retention or self.settings.retention, progress)
        if result.sessions_deleted:
            forget.drop_indexes(self._engine)
        return result

    def erase(self, user_id: str) -> "EraseReceipt":
        """Delete everything of a user; no byte of the text remains in the files that Ricordo controls."""
        owner = self._owner(user_id)
        return forget.erase(self._engine, owner)

    def export(self, user_id: str, *, project: str | None = None) -> Iterator[dict[str, Any]]:
        """The sessions of a user as JSON documents, one at a time; then facts, then adapter items.

        The facts are those that cannot be learned again from the turns: pinned ones and those written by hand. With a
        project, only its sessions.
        """
        return export.export_user(self._engine, self._owner(user_id), self._project(project))

    def import_documents(
        self,
        documents: Iterable[Mapping[str, Any] | Exception],
        *,
        user_id: str | None = None,
        progress: Callable[[int], None] | None = None,
        project: str | None = None,
    ) -> "ImportResult":
        """Import documents of `export`, for `user_id` or else the user that they name. Repeating it changes nothing.

        Sessions without a project get `project`, if it is given or set.
        """
        return write.import_documents(self._engine, documents, user_id, progress, self._project(project))

    def stats(self) -> "Stats":
        """How much is stored, where, and which parts are in use."""
        from ricordo.records.service import Stats

        counter = self.counter
        reason = getattr(counter, "reason", "")  # why it does not count exactly
        return Stats(
            store=self.store.location,
            tenant_id=self.settings.tenant_id,
            preset=self.settings.preset,
            counter=counter.name,
            counter_exact=counter.exact,
            embedder=self._embedder(),
            llm=self.llm.name if self.llm else "none",
            holds=self.store.stats(self.settings.tenant_id),
            degraded=(reason,) if reason else (),
        )

    def verify(self, progress: Callable[[int, int], None] | None = None) -> "Verification":
        """Compute counts, checksums and numbering again, and report every difference."""
        from ricordo.turns.verify import verify  # the archive comes with it

        return verify(self._engine, self.settings.tenant_id, progress)

    def repair(self, progress: Callable[[int, int], None] | None = None) -> "Repair":
        """Correct what `verify` reports of topics, summaries and facts, from the turns; then verify again."""
        from ricordo.turns.repair import repair

        return repair(self._engine, self.settings.tenant_id, progress)

    def backup(self, path: str | Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy everything to a new SQLite file while others read and write."""
        if not isinstance(path, str | Path) or not str(path).strip():
            raise ValidationError("path", f"expected the path of a new file, got {path!r}")
        self.store.backup(Path(path), progress)

    def rest(self) -> None:
        """Finish the current background work and begin no other; a shared store stays open."""
        self._queue.close()

    def close(self) -> None:
        """Finish the current background work and close files and connections. Safe to repeat."""
        self.rest()
        self.store.close()

    def _has(self, owner: Owner, session_id: str) -> bool:
        try:
            return self.store.sessions.get(owner, session_id) is not None
        except StoreError as error:
            log.warning("session cannot be looked up: %s", error, extra=log_details("resume", owner, session_id))
            return True

    def _embedder(self) -> str:
        """The embedder in use and why; the setting, if none was loaded yet."""
        indexes = self._engine.indexes
        if indexes is None:
            return f"{self.settings.recall.embedder} (not loaded yet)"
        return f"{indexes.embedder.name}: {indexes.choice.why}"

    @property
    def _queue(self) -> "WorkQueue":
        assert self._engine.queue is not None
        return self._engine.queue

    def _owner(self, user_id: str) -> Owner:
        owner = Owner(self.settings.tenant_id, check_id("user_id", user_id))
        if owner.is_reserved:
            raise ValidationError("user_id", f"{user_id!r} has a reserved prefix; choose another")
        return owner

    def _project(self, given: str | None) -> str:
        return check_project(given, self.settings.project)

    def _scope(self, session_id: str | None, user_id: str, agent_id: str, project: str | None) -> Scope:
        name = new_id(self._engine.clock.now()) if session_id is None else check_id("session_id", session_id)
        return Scope(self._owner(user_id), name, check_id("agent_id", agent_id), self._project(project))


def open(url_or_path: str | Path | None = None, **settings: Any) -> Memory:
    """Open a memory: a file path (SQLite), a `postgresql://` URL, or `memory:`.

    Without an argument: RICORDO_URL, else `ricordo.db` in the current folder. Keywords are settings, over
    RICORDO_* variables, over the preset.
    """
    place = url_or_path if url_or_path is not None else os.environ.get("RICORDO_URL") or DEFAULT_PATH
    chosen = settings_from(settings, os.environ)
    check_parts(chosen)  # before the store is opened, which would stay open after an error
    return Memory(store_for(place, chosen.spool, chosen.read_url), chosen)


def check_parts(settings: Settings) -> None:
    """SettingsError if the tenant, the embedder or the crisis file of the settings cannot be used."""
    check_id("tenant_id", settings.tenant_id)
    check_project(settings.project)
    check_embedder(settings.recall.embedder)
    if settings.safety.crisis == "on" and settings.safety.crisis_file:
        from ricordo.safety.crisis import load_phrases

        load_phrases(settings.safety.crisis_file)
