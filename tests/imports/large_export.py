"""Writes a large synthetic ChatGPT export, reads it or brings it in, and tells how far memory grew.

`python large_export.py write|read|bring MEGABYTES FOLDER` is a program of its own, so that its memory is its own too.
It prints JSON: bytes, conversations, turns, seconds, processor seconds, and growth in bytes.
"""

import json
import random
import resource
import sys
import time
from pathlib import Path

import ricordo
from ricordo.engine.tokens import counter_for
from ricordo.imports.conversation import Imported
from ricordo.imports.read import read
from ricordo.imports.run import import_path
from ricordo.stores.sqlite import SqliteStore

WORDS = ("la", "vela", "prende", "il", "vento", "e", "barca", "mentre", "mare", "sotto", "luna", "marzo", "è", "già")


def write_export(path: Path, size: int) -> None:
    """Conversations of forty to eighty turns until the file has its size; one in a hundred is twenty times as long."""
    chance = random.Random(11)
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        written, number = 1, 0
        while written < size:
            turns = chance.randrange(40, 80) * (20 if number % 100 == 99 else 1)
            text = json.dumps(_talk(chance, number, turns))
            written += file.write((",\n" if number else "") + text)
            number += 1
        file.write("]")


def _talk(chance: random.Random, number: int, turns: int) -> dict[str, object]:
    nodes: dict[str, object] = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    above = "root"
    for n in range(turns * 2):
        name = f"{number}-{n}"
        said = " ".join(chance.choices(WORDS, k=chance.randrange(20, 200 if n % 2 else 60)))
        author = {"role": "assistant" if n % 2 else "user", "name": None, "metadata": {}}
        content = {"content_type": "text", "parts": [f"{name} {said}"]}
        more = {
            "status": "finished_successfully",
            "weight": 1.0,
            "metadata": {"model_slug": "gpt-4o"},
            "recipient": "all",
        }
        message = {"id": name, "author": author, "create_time": 1.7e9 + number * 1e4 + n, "content": content, **more}
        nodes[name] = {"id": name, "parent": above, "children": [f"{number}-{n + 1}"], "message": message}
        above = name
    times = {"create_time": 1.7e9 + number * 1e4, "update_time": 1.7e9 + number * 1e4 + turns * 2}
    return {
        "conversation_id": f"c{number}",
        "title": f"Talk {number}",
        **times,
        "mapping": nodes,
        "current_node": above,
    }


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Write, read or bring in, and tell."""
    what, size, folder = sys.argv[1], int(sys.argv[2]) * 1024 * 1024, Path(sys.argv[3])
    path = folder / "conversations.json"
    settings = ricordo.Settings()
    counter_for(settings.model, settings.locale.code).count("What every memory at work has loaded.")
    before, begun, worked = _peak(), time.perf_counter(), time.process_time()
    told = {}
    if what == "write":
        write_export(path, size)
    elif what == "read":
        lengths = [len(found.document["turns"]) for found in read(path) if isinstance(found, Imported)]
        told = {"conversations": len(lengths), "turns": sum(lengths)}
    else:
        # Without the work beside the chat, which begins after any import and takes its own time.
        with ricordo.Memory(SqliteStore(folder / "memory.db"), settings) as memory:
            memory.rest()
            report = import_path(memory, path, user_id="anna")
        told = {"conversations": report.sessions_added, "turns": report.turns_added}
    spent = {"seconds": time.perf_counter() - begun, "processor": time.process_time() - worked}
    print(json.dumps({"bytes": path.stat().st_size, **told, **spent, "growth": _peak() - before}))


if __name__ == "__main__":
    main()
