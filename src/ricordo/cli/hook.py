"""`ricordo hook`: what a coding agent calls at each event. It hands the event to a local process and prints its reply.

In: the host's JSON on standard input. Out: the reply for the host, or nothing. A host waits for every hook, so this
module imports almost nothing, reads no JSON, waits `CAP_SECONDS` at most and always exits with 0: a failure is a line
in the log, and an event that could not be delivered waits in a folder for the next process.
"""

import os
import sys
import time

try:
    import _socket as socket  # only the part in C, because importing the whole module takes longer than the call
except ImportError:  # another Python
    import socket  # type: ignore[no-redef]

CAP_SECONDS = 1.0  # for the whole command
MAX_BYTES = 16 * 1024 * 1024
MAX_LOG = 1024 * 1024
POLL_SECONDS = 0.01
MAX_STARTS = 2
OPTIONS = ("--host", "--db", "--user", "--project")
PROTOCOL = b"ricordo-hook-1"


def parse(arguments: "list[str]") -> "dict[str, str] | None":
    """The options of a call by a host; None for other uses, such as `install` or `--help`."""
    asked: dict[str, str] = {}
    rest = list(arguments)
    if not rest and _at_terminal():
        return None
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name not in OPTIONS or not (equals or rest):
            return None
        asked[name[2:]] = value if equals else rest.pop(0)
    return asked


def _at_terminal() -> bool:
    """Whether the command was started in a terminal, not by a host."""
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):  # there is no standard input
        return False


def call(asked: "dict[str, str]") -> int:
    """Hand the event on standard input to the process and print what it replies; always 0."""
    deadline = time.monotonic() + CAP_SECONDS
    message = b""
    try:
        body = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise OSError(f"the event is larger than {MAX_BYTES} bytes")
        message = framed(asked, body)
        reply = deliver(message, database(asked), deadline)
        if reply is None:
            raise TimeoutError(f"no reply within {CAP_SECONDS:g} s")
        message = b""
        sys.stdout.buffer.write(reply)
        sys.stdout.buffer.flush()
    except Exception as error:  # a failure must not disturb the host
        log(f"{type(error).__name__}: {error}")
        if message:
            keep_for_later(message)
    return 0


def framed(asked: "dict[str, str]", body: bytes) -> bytes:
    """The event as it is sent: the protocol and the options, then the host's own bytes."""
    fields = [asked.get(name[2:], "").encode("utf-8", "surrogateescape") for name in OPTIONS]
    return b"\0".join([PROTOCOL, *fields]) + b"\0" + body


def database(asked: "dict[str, str]") -> str:
    """The database: the option, else RICORDO_URL, else the user's own; a path is made absolute."""
    named = asked.get("db") or os.environ.get("RICORDO_URL") or personal_database()
    return named if "://" in named or named == "memory:" else os.path.abspath(os.path.expanduser(named))


def personal_database() -> str:
    """The database of this machine's user, wherever a program is started."""
    base = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "ricordo", "ricordo.db")


def personal_user() -> str:
    """The user if none is named: RICORDO_USER, or the login name."""
    named = os.environ.get("RICORDO_USER") or os.environ.get("USER") or os.environ.get("LOGNAME")
    if named:
        return named
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return "user"


def deliver(message: bytes, place: str, deadline: float) -> "bytes | None":
    """Send an event and read the reply; starts the process if none answers. None without a reply in time."""
    path = socket_path(place)
    starts, running = 0, True
    while time.monotonic() < deadline:
        try:
            return exchange(path, message, deadline)
        except (FileNotFoundError, ConnectionRefusedError):
            if running and starts < MAX_STARTS:
                start(place)
                starts, running = starts + 1, False
        except ConnectionError:  # it ended while it was asked
            running = True
        except TimeoutError:
            return None
        time.sleep(POLL_SECONDS)
    return None


def exchange(path: str, message: bytes, deadline: float) -> bytes:
    """Send one event over the socket and read the whole reply."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        connection.connect(path)
        view = memoryview(message)
        while view:
            view = view[connection.send(view) :]
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
            parts.append(part)
    finally:
        connection.close()
    reply = b"".join(parts)
    if reply[:1] != b"+":
        raise ConnectionResetError("the process ended before it replied")
    return reply[1:]


def start(place: str) -> None:
    """Start the process for a database, detached, because it must outlive the host."""
    os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "ricordo.cli.hook_daemon", place],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log_path(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def socket_path(place: str) -> str:
    """The socket of the process that serves a database, in a folder that only this user can enter."""
    import zlib

    base = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("TMPDIR") or "/tmp"
    name = f"hook-{zlib.crc32(place.encode('utf-8', 'surrogateescape')):08x}.sock"
    for folder in (os.path.join(base, "ricordo-hook"), f"/tmp/ricordo-hook-{os.getuid()}"):
        path = os.path.join(folder, name)
        if len(os.fsencode(path)) < 100:  # the limit of a socket address on all systems
            private_folder(folder)
            return path
    raise OSError("no folder for the socket has a path that is short enough")


def private_folder(folder: str) -> str:
    """Create a folder that only this user can enter; PermissionError if it belongs to another user."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if found.st_uid != os.getuid() or (found.st_mode & 0o170000) != 0o040000:
        raise PermissionError(f"{folder} belongs to another user")
    if found.st_mode & 0o077:
        os.chmod(folder, 0o700)
    return folder


def state_folder() -> str:
    """The folder with the log and the waiting events."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return private_folder(os.path.join(base, "ricordo", "hook"))


def keep_for_later(message: bytes) -> None:
    """Keep an event on disk until a process takes it."""
    try:
        folder = private_folder(os.path.join(state_folder(), "inbox"))
        path = os.path.join(folder, f"{time.time_ns()}-{os.getpid()}")
        with open(os.open(f"{path}.partial", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(message)
        os.rename(f"{path}.partial", f"{path}.event")
    except OSError as error:
        log(f"the event is lost: {error.strerror}")


def log_path() -> str:
    """The log file; a full one is renamed first."""
    path = os.path.join(state_folder(), "hook.log")
    try:
        if os.stat(path).st_size > MAX_LOG:
            os.replace(path, f"{path}.1")
    except OSError:
        pass
    return path


def log(problem: str) -> None:
    """Add a line to the log; never with the text of a message."""
    try:
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%S')} hook: {' '.join(problem.split())}\n"
        with open(os.open(log_path(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "w", encoding="utf-8") as file:
            file.write(line)
    except OSError:
        pass
