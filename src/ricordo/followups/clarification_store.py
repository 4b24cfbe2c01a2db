"""Where pending clarifications are kept: in the memory of this process, or in files that all processes share.

Both keep a clarification only until it expires. There is one file per session in a private directory, on a memory file
system if there is one, written by atomic replacement, so that any server process can read the answer to a question that
another one asked. They are not part of the long-term store.
"""

import hashlib
import json
import os
import stat
import tempfile
import threading
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

from ricordo.engine.core import Engine, Scope, log_failure
from ricordo.errors import SettingsError
from ricordo.followups.clarify import answer
from ricordo.followups.reference import ClarificationKey, ClarificationOption, ClarificationStates, Pending
from ricordo.records.turns import Owner

_SUFFIX = ".json"
_making = threading.Lock()


def clarifications_of(engine: Engine) -> ClarificationStates:
    """The store of pending clarifications of a memory: in this process, or shared by all processes."""
    if engine.clarifications is None:
        with _making:
            engine.clarifications = engine.clarifications or _make(engine)
    return engine.clarifications


def _make(engine: Engine) -> ClarificationStates:
    if not engine.shares_clarifications:
        return ProcessClarifications()
    place = engine.store.location  # two paths of one file are the same store
    place = str(Path(place).resolve()) if Path(place).exists() else place
    return SharedClarifications(default_directory(place))


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
