"""What is made once and cached under `bench/.cache`: virtual environments of the peers, and filled stores.

A name holds the digest of everything it was made from, so a change of text, schema or version makes a new one. Runs
work on copies that are flushed to disk before the clock starts.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import ricordo
from bench import sample_turns
from bench.systems import CAREFUL, MESSAGES, OURS, PLAIN, SHIPPED, Entry
from bench.worker_client import ROOT, Child

CACHE = ROOT / "bench" / ".cache"
SCHEMA = Path(ricordo.__file__).parent / "stores" / "sql" / "sqlite"

Say = Callable[[str], None]


def python_of(entry: Entry, say: Say) -> Path:
    """The interpreter that has the entry's packages; its environment is made by uv on first use."""
    if not entry.requirements:
        return Path(sys.executable)
    folder = CACHE / "environments" / f"{entry.name}-{_digest(*entry.requirements)}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        say(f"installing {entry.title}")
        beside = Path(sys.executable).parent / "uv"
        uv = shutil.which("uv") or str(beside)
        subprocess.run([uv, "venv", "-q", "--clear", "--python", sys.executable, folder], check=True)
        subprocess.run([uv, "pip", "install", "-q", "--python", python, *entry.requirements], check=True)
        (folder / "complete").touch()
    return python


def sessions_store(entry: Entry, sizes: tuple[int, ...], say: Say) -> Path:
    """A store with one session `s<size>` for each size that the system can bear, and the tight one."""
    kept = [size for size in sizes if 0 < size <= entry.largest]

    def fill(folder: Path) -> None:
        with Child(python_of(entry, say), entry, folder) as child:
            for size in kept:
                child.ask("load", session=f"s{size}", count=size)
            child.ask("load", session=sample_turns.TIGHT, count=5)
            if entry == SHIPPED:
                for size in kept:
                    child.ask("settle", session=f"s{size}")

    return _kept(
        f"{entry.name}-sessions-{len(kept)}-{max(kept, default=0)}",
        _digest(*_makers(entry), *map(str, kept)),
        fill,
        say,
    )


def wide_store(users: int, say: Say) -> Path:
    """20 sessions of 50 turns for every user; a tenth of all turns is past its time.

    Every sixteenth session was last used 40 days ago; of the others the first two turns are a day and a half old.
    """
    from bench.systems.ours import ALONE, TODAY, load

    old, aged, fresh = TODAY - timedelta(days=40), TODAY - timedelta(hours=36), TODAY - timedelta(hours=1)

    def dates(number: int) -> list[datetime]:
        return [old] * 50 if number % 16 == 0 else [aged] * 2 + [fresh] * 48

    def fill(folder: Path) -> None:
        with ricordo.open(folder / "ricordo.db", **ALONE) as memory:
            for number in range(users * 20):
                name = f"w{number}"
                load(memory, name, sample_turns.turns(name, 50), user=f"user-{number // 20}", dates=dates(number))

    return _kept(f"ours-wide-{users}", _digest(*_makers(OURS), str(users)), fill, say)


@contextmanager
def workplace(template: Path | None = None) -> Iterator[Path]:
    """A folder on the same disk for one run, with a copy of the template; gone afterwards."""
    place = CACHE / "runs" / f"{os.getpid()}-{os.urandom(4).hex()}"
    place.mkdir(parents=True)
    try:
        for file in template.iterdir() if template else ():
            shutil.copyfile(file, place / file.name)
        flush(place)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def flush(folder: Path) -> None:
    """Put everything in the folder on disk, so that no later commit pays for it."""
    for file in folder.iterdir():
        with file.open("rb") as handle:
            os.fsync(handle.fileno())


def _kept(name: str, digest: str, fill: Callable[[Path], None], say: Say) -> Path:
    stores = CACHE / "stores"
    folder = stores / f"{name}-{digest}"
    if not folder.exists():
        say(f"filling {name}")
        for outdated in stores.glob(f"{name}-*"):  # as large, and made for another text or schema
            shutil.rmtree(outdated)
        partial = stores / f"{name}-{digest}.partial"
        partial.mkdir(parents=True)
        fill(partial)
        flush(partial)
        partial.rename(folder)
    return folder


def _makers(entry: Entry) -> list[str]:
    """The sources that decide what a store of this system holds."""
    file = "bare" if entry in (PLAIN, MESSAGES, CAREFUL) else entry.name
    sources = [ROOT / "bench" / "sample_turns.py", ROOT / "bench" / "systems" / f"{file}.py"]
    if entry == SHIPPED:
        sources.append(ROOT / "bench" / "systems" / "ours.py")
    if entry in (OURS, SHIPPED):
        sources += sorted(SCHEMA.glob("*.sql"))
    return [*entry.requirements, *(source.read_text() for source in sources)]


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=6).hexdigest()
