"""Clarifications: asking which option is meant, understanding the answer, and where a pending one is kept.

A pending clarification expires after five minutes of inactivity and never enters long-term memory. A number, an
ordinal, a name or a misspelled name answers it; any other message cancels it and is treated as a new question. It is
kept in the memory of this process, or in files that all processes share: one file per session in a private directory,
on a memory file system if there is one, written by atomic replacement.
"""

import hashlib
import json
import os
import stat
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from pathlib import Path

from ricordo.engine.core import Engine, Scope, log_failure
from ricordo.errors import SettingsError
from ricordo.followups.ordinals import label_sequence, places, whole_message
from ricordo.followups.reference import (
    PATIENCE,
    Candidate,
    ClarificationKey,
    ClarificationOption,
    ClarificationStates,
    Outcome,
    Pending,
    Pick,
    followup_words,
)
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import Words, all_words
from ricordo.languages.text import WordSpans, language_of, split_words, stem
from ricordo.records.turns import Owner

_NEAR, _ALIKE = 0.8, 0.02
_BESIDE_NEAR = 0.75  # what two strings of very different lengths cannot reach, and no option needs to
_SHORTEST_NEAR = 4
_LONGEST_ANSWER = 12


def ask(
    question: str, candidates: Sequence[Candidate], *, language: str, now: datetime, patience: timedelta = PATIENCE
) -> Pending:
    """The clarification for several candidates; `pending.prompt` is the text to show."""
    options = tuple(
        ClarificationOption(
            candidate.name,
            candidate.turn_number,
            candidate.item.text if candidate.item is not None else "",
            candidate.item.chunk_ids if candidate.item is not None else (),
        )
        for candidate in candidates
    )
    return Pending(question, options, language, now, patience)


def answer(pending: Pending, message: str, *, now: datetime) -> Outcome:
    """Interpret a message while a clarification is pending."""
    if now >= pending.expires_at:
        return Outcome("expired")
    line = split_words(message)
    if not line.words or len(line.words) > _LONGEST_ANSWER:
        return Outcome("cancelled")
    for language in _languages(pending, message):
        pick = _picked(line, language, frozenset(str(place) for place in range(1, len(pending.options) + 1)))
        if pick is not None:
            return _by_pick(pending, pick)
    named = _named(pending, line) or _mentioned(pending, line) or _nearly_named(pending, line)
    if len(named) == 1:
        return _answered(pending, named)
    if named:
        return Outcome("unclear", pending=replace(pending, last_active_at=now))
    return Outcome("cancelled")


def handle(states: ClarificationStates, key: ClarificationKey, message: str, *, now: datetime) -> Outcome | None:
    """Interpret a message by the pending clarification of its session, if there is one, and update the store."""
    pending = states.get(key, now)
    if pending is None:
        return None
    outcome = answer(pending, message, now=now)
    if outcome.pending is not None:
        states.put(key, outcome.pending)
        return outcome
    # Of two processes that read the same clarification, only the one that removes it may act on it.
    return outcome if states.delete(key) else None


def _picked(line: WordSpans, language: FollowUpWords, labels: Words) -> Pick | None:
    named = label_sequence(line, language, labels)
    if named is not None:
        return named.pick
    alone = whole_message(line, language)
    if alone is not None:
        return alone.pick
    found = tuple(places(line, language))
    return found[0].pick if len(found) == 1 else None


def _by_pick(pending: Pending, pick: Pick) -> Outcome:
    options = pending.options
    if pick.negated:
        return Outcome("cancelled")
    if pick.every:
        fits = pick.count in (0, len(options))
        return _answered(pending, options) if fits else Outcome("cancelled")
    indexes = [place - 1 if place > 0 else len(options) + place for place in pick.positions]
    if not indexes or not all(0 <= index < len(options) for index in indexes):
        return Outcome("cancelled")
    return _answered(pending, tuple(options[index] for index in indexes))


def _named(pending: Pending, line: WordSpans) -> tuple[ClarificationOption, ...]:
    """The options that contain every content word of the message."""
    said = _meaning(line)
    if not said:
        return ()
    exact = tuple(option for option in pending.options if _meaning(split_words(option.name)) == said)
    if _is_question(line):
        # "How long does the train take?" is a question of its own, though it names an option.
        return tuple(option for option in exact if split_words(option.name).words == line.words)
    return exact or tuple(option for option in pending.options if said <= _meaning(split_words(option.name)))


def _mentioned(pending: Pending, line: WordSpans) -> tuple[ClarificationOption, ...]:
    """ "Intendo l'aereo", "I mean the train": the one option whose own words are all said in a short statement."""
    if line.text.endswith("?") or _is_question(line):
        return ()
    said = _meaning(line)
    names = [_meaning(split_words(option.name)) for option in pending.options]
    found = []
    for at, name in enumerate(names):
        own = name.difference(*(other for i, other in enumerate(names) if i != at))
        # Beside the name stands at most the verb that chooses it; more would be a question of its own.
        if own and own <= said and len(said - name) <= 1:
            found.append(pending.options[at])
    return tuple(found) if len(found) == 1 else ()


def _is_question(line: WordSpans) -> bool:
    asking = [all_words(f"followups.{table}") for table in ("manner_words", "sorting_words", "person_words")]
    asked = [at for at, word in enumerate(line.words) if any(word in words for words in asking)]
    return bool(asked) and (asked[0] == 0 or line.text.endswith("?"))


def _nearly_named(pending: Pending, line: WordSpans) -> tuple[ClarificationOption, ...]:
    """The options that the message names with a spelling error, by the whole name or one word."""
    if _is_question(line):
        return ()
    scores = [0.0] * len(pending.options)
    for read_words in (_meaning, _spelled):
        said = " ".join(sorted(read_words(line)))
        if len(said) >= _SHORTEST_NEAR:
            near = [_nearness(said, read_words(split_words(option.name))) for option in pending.options]
            scores = [max(pair) for pair in zip(scores, near, strict=True)]
    best = max(scores, default=0.0)
    if best < _NEAR:
        return ()
    return tuple(option for option, score in zip(pending.options, scores, strict=True) if score >= best - _ALIKE)


def _nearness(said: str, name: frozenset[str]) -> float:
    spellings = [" ".join(sorted(name)), *(word for word in sorted(name) if len(word) >= _SHORTEST_NEAR)]
    near = [each for each in spellings if 2 * min(len(said), len(each)) >= _BESIDE_NEAR * (len(said) + len(each))]
    return max((SequenceMatcher(None, said, spelling).ratio() for spelling in near), default=0.0)


def _meaning(line: WordSpans) -> frozenset[str]:
    """Stems of the words that could belong to a name."""
    return frozenset(stem(word) for word in _spelled(line))


def _spelled(line: WordSpans) -> frozenset[str]:
    """The words that could belong to a name, as they are written."""
    return frozenset(line.words) - all_words("followups.function_words") - all_words("followups.fillers")


def _answered(pending: Pending, chosen: tuple[ClarificationOption, ...]) -> Outcome:
    body = pending.question.rstrip()
    bare = body.rstrip("?!.… ")
    names = ", ".join(option.name for option in chosen)
    return Outcome("answered", chosen, f"{bare} ({names}){body[len(bare) :].strip()}")


def _languages(pending: Pending, message: str) -> tuple[FollowUpWords, ...]:
    """The language of the message first, then the one of the question."""
    asked = followup_words(pending.language)
    spoken = language_of(message, default=asked)
    return (spoken,) if spoken == asked else (spoken, asked)


_SUFFIX = ".json"
_making = threading.Lock()


def clarifications_of(engine: Engine) -> ClarificationStates:
    """The store of pending clarifications of a memory: in this process, or shared by all processes."""
    if engine.clarifications is None:
        with _making:
            if engine.clarifications is None:
                engine.clarifications = _make(engine)
    return engine.clarifications


def _make(engine: Engine) -> ClarificationStates:
    if not engine.shares_clarifications:
        return ProcessClarifications()
    place = engine.store.location  # two paths of one file are the same store
    place = str(Path(place).resolve()) if Path(place).exists() else place
    return SharedClarifications(default_directory(place))


def remember_question(engine: Engine, scope: Scope, question: str, names: Sequence[str], language: str) -> None:
    """Keep a question that was answered with "which of these?", so that the next message can name one."""
    newest = engine.store.turns.page(scope.owner, scope.session_id, last=1)
    options = tuple(ClarificationOption(name, newest[-1].turn_number, "", ()) for name in names if newest)
    pending = Pending(question, options, language, engine.clock.now(), engine.settings.clarification_timeout)
    if options:
        clarifications_of(engine).put(key_of(scope), pending)


def settle_clarification(engine: Engine, scope: Scope, query: str) -> None:
    """Remove the pending clarification after a turn was answered, unless this turn asked it."""
    now, states = engine.clock.now(), clarifications_of(engine)
    pending = states.get(key_of(scope), now)
    if pending and pending.question != query and answer(pending, query, now=now).kind != "unclear":
        states.delete(key_of(scope))


def key_of(scope: Scope) -> ClarificationKey:
    """The key of the clarification of a session."""
    return ClarificationKey(scope.owner.tenant_id, scope.owner.user_id, scope.session_id)


def drop_clarification(engine: Engine, owner: Owner, session_id: str) -> None:
    """Remove the pending clarification of a session whose text was deleted."""
    try:
        clarifications_of(engine).delete(ClarificationKey(owner.tenant_id, owner.user_id, session_id))
    except OSError as error:  # the turns are deleted; `understand` ignores a file that remains
        log_failure("clarification", "a clarification cannot be removed", owner, session_id, error)


class ProcessClarifications:
    """Pending clarifications in memory, for one process. Thread-safe."""

    def __init__(self) -> None:
        self._pending: dict[ClarificationKey, Pending] = {}
        self._lock = threading.Lock()

    def may_be_pending(self, session_id: str) -> bool:
        """Whether a session of that id has one, or any session if the id is empty."""
        return any(session_id in ("", key.session_id) for key in list(self._pending))

    def get(self, key: ClarificationKey, now: datetime) -> Pending | None:
        """The pending clarification of a session; expired ones of other sessions are removed."""
        with self._lock:
            # An expired one of this session is still returned, so that the caller learns that it expired.
            gone = [k for k, pending in self._pending.items() if k != key and now >= pending.expires_at]
            for other in gone:
                del self._pending[other]
            return self._pending.get(key)

    def put(self, key: ClarificationKey, pending: Pending) -> None:
        """Store a clarification, replacing another of the same session."""
        with self._lock:
            self._pending[key] = pending

    def delete(self, key: ClarificationKey) -> bool:
        """Remove it; True if it existed."""
        with self._lock:
            return self._pending.pop(key, None) is not None

    def forget(self, tenant_id: str, user_id: str) -> int:
        """Remove everything of one user; returns how many."""
        with self._lock:
            gone = [key for key in self._pending if (key.tenant_id, key.user_id) == (tenant_id, user_id)]
            for key in gone:
                del self._pending[key]
            return len(gone)


class SharedClarifications:
    """Pending clarifications in a private directory that all server processes of one machine read."""

    def __init__(self, directory: Path) -> None:
        self._directory = private_directory(directory)

    def may_be_pending(self, session_id: str) -> bool:
        """True: another process may have asked."""
        return True

    def get(self, key: ClarificationKey, now: datetime) -> Pending | None:
        """The pending clarification of a session; None for a file that cannot be read."""
        self._sweep(key, now)
        return _read(self._path(key))

    def put(self, key: ClarificationKey, pending: Pending) -> None:
        """Write a temporary file and rename it, so that readers never see a partial one."""
        path = self._path(key)
        for directory in (path.parent.parent, path.parent):
            directory.mkdir(mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            json.dump(_plain(pending), file)
        os.replace(file.name, path)

    def delete(self, key: ClarificationKey) -> bool:
        """Remove it; True for exactly one of several processes."""
        try:
            self._path(key).unlink()
        except FileNotFoundError:
            return False
        return True

    def forget(self, tenant_id: str, user_id: str) -> int:
        """Remove everything of one user; returns how many."""
        home = self._home(tenant_id, user_id)
        return sum(_unlinked(path) for path in sorted(home.glob("*")) if path.is_file())

    def _home(self, tenant_id: str, user_id: str) -> Path:
        return self._directory / _digest(tenant_id) / _digest(user_id)

    def _path(self, key: ClarificationKey) -> Path:
        return self._home(key.tenant_id, key.user_id) / f"{_digest(key.session_id)}{_SUFFIX}"

    def _sweep(self, key: ClarificationKey, now: datetime) -> None:
        """Remove expired ones of other sessions; there are few files, because clarifications expire soon."""
        own = self._path(key)
        for path in self._directory.glob(f"*/*/*{_SUFFIX}"):
            pending = _read(path) if path != own else None
            if pending is not None and now >= pending.expires_at:
                _unlinked(path)


def default_directory(name: str) -> Path:
    """The private directory for one store: in the runtime directory, shared memory, or the temporary directory."""
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    shared_memory = Path("/dev/shm")
    if runtime and os.access(runtime, os.W_OK):
        base = Path(runtime) / "ricordo"
    elif os.access(shared_memory, os.W_OK):
        base = shared_memory / f"ricordo-{owner}"
    else:
        base = Path(tempfile.gettempdir()) / f"ricordo-{owner}"
    return base / _digest(name)


def private_directory(directory: Path) -> Path:
    """Create a directory that only this user can read; SettingsError if it cannot be private."""
    directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise SettingsError("clarifications", f"{directory} is not a directory; choose another place")
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
        raise SettingsError(
            "clarifications", f"{directory} is open to other users; give it mode 700 or choose another place"
        )
    return directory


def _plain(pending: Pending) -> dict[str, object]:
    return {
        **asdict(pending),
        "last_active_at": pending.last_active_at.isoformat(),
        "patience": pending.patience.total_seconds(),
    }


def _read(path: Path) -> Pending | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        options = tuple(
            ClarificationOption(str(o["name"]), int(o["turn_number"]), str(o["text"]), tuple(map(str, o["chunk_ids"])))
            for o in data["options"]
        )
        moment = datetime.fromisoformat(data["last_active_at"])
        patience = timedelta(seconds=float(data["patience"]))
        return Pending(str(data["question"]), options, str(data["language"]), moment, patience)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None


def _unlinked(path: Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
