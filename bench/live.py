"""What strangers get from the chat in their first ten minutes: labelled talks go in, kept labels by kind come out.

Each talk is held in an empty memory with the built-in reader: no model, no documents but its own `chunks`. A message
that is `new` begins another session. A reply keeps its label if it holds one value of every group in `any`, none of
`none` and at most `lines` points. A message labelled `same` is complete: read as another question, it fails. What is
held but only given as the nearest to an answer is kept and counted as unsure. Talks with crc32(id) % 3 == 0 are the
untouched third: only counted.
"""

import argparse
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text

from ricordo.chat.pipeline import Chat
from ricordo.chat.response import ChatRequest, Done, Understood
from ricordo.languages import english, italian
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.recall.embedders import Embedder
from ricordo.recall.embedders.selection import choose
from ricordo.records.turns import Chunk
from ricordo.stores.open import store_for

SETTLE_SECONDS = 30.0
DATA = Path(__file__).parent.parent / "tests/data"
UNSURE = (english.READER.unsure, italian.READER.unsure)
Row = dict[str, Any]  # a message and its label as in the file, and what came of it: read_as, reply, unsure, broken


def hold(talk: Row, embedder: Embedder) -> Iterator[Row]:
    """Say every message of a talk to a chat with an empty memory."""
    memory = Memory(store_for("memory:"), settings_from({}, {}), embedder=embedder)
    try:
        chat, session_id = Chat(memory), None
        chunks = [Chunk(*each) for each in talk.get("chunks", ())] or None
        for number, turn in enumerate(talk["turns"], 1):
            read_as = reply = ""
            session_id = None if turn.get("new") else session_id
            for event in chat.respond(ChatRequest(turn["say"], talk["id"], session_id=session_id, chunks=chunks)):
                if isinstance(event, Understood):
                    read_as = event.standalone
                elif isinstance(event, Done):
                    reply, session_id = event.response.message, event.response.session_id
            memory.settle(SETTLE_SECONDS)
            judged = {"unsure": _unsure(turn, reply), "broken": list(_broken(turn, read_as, reply))}
            heard = {"id": f"{talk['id']}.{number}", "lang": talk["lang"], "read_as": read_as, "reply": reply}
            yield {**heard, **turn, **judged}
    finally:
        memory.rest()


def _broken(turn: Row, read_as: str, reply: str) -> Iterator[str]:
    lacking = (group for group in turn["any"] if not any(_holds(reply, value) for value in group))
    yield from ("lacks " + " | ".join(group[:3]) for group in lacking)
    yield from (f"says {value}" for value in turn["none"] if _holds(reply, value))
    if turn.get("lines", len(reply)) < len(re.findall(r"^- ", reply, re.MULTILINE)):
        yield "has too many points"
    if turn.get("same") and read_as and read_as.casefold() != turn["say"].casefold():
        yield "read as another question"


def _unsure(turn: Row, reply: str) -> bool:
    """Whether the reply says that it has no certain answer where the label wants no refusal."""
    refusals = [phrase for phrase in UNSURE if phrase in reply]
    return any(not any(_holds(phrase, value) for group in turn["any"] for value in group) for phrase in refusals)


def _holds(text: str, value: str) -> bool:
    """Whether a value is in a text, letter case aside; it begins a word, and a number is whole."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\d)", text, re.IGNORECASE) is not None


def read_talks(folder: Path, *, third: bool) -> list[Row]:
    """The talks of live_*.jsonl: the untouched third, or the others."""
    files = sorted(folder.glob("live_*.jsonl"))
    rows = (json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines())
    return [row for row in rows if (zlib.crc32(row["id"].encode()) % 3 == 0) == third]


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench live [--third]`: replies that keep their label by kind and language, and those that do not."""
    parser = argparse.ArgumentParser(prog="ricordo bench live", description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of live_*.jsonl (default: tests/data)")
    parser.add_argument("--embedder", default="auto", help="auto, bilingual, arctic, multilingual, light or URL#MODEL")
    parser.add_argument("--third", action="store_true", help="the untouched third instead: totals, without any text")
    parser.add_argument("--save", type=Path, help="file for the replies, one JSON line each")
    options = parser.parse_args(argv)
    talks, embedder = read_talks(options.data, third=options.third), choose(options.embedder).embedder
    replies = [each for talk in track(talks, embedder.name) for each in hold(talk, embedder)]
    if options.save and not options.third:  # nothing of the third is to be read
        options.save.write_text("".join(json.dumps(each) + "\n" for each in replies), encoding="utf-8")
    show(replies, failures=not options.third)
    return 0


def show(replies: Sequence[Row], *, failures: bool) -> None:
    """Print the broken labels, if `failures`, and how many are kept by kind and language."""
    console, count = Console(width=200), Counter[tuple[str, str, str]]()
    for each in replies:
        for what in (each["what"], "all"):
            count["all", what, each["lang"]] += 1
            count["kept", what, each["lang"]] += not each["broken"]
            count["unsure", what, each["lang"]] += each["unsure"] and not each["broken"]
        if each["broken"] and failures:
            line = "{id} {what}: {say} ({read_as}) | {reply} | {broken}".format(**each)
            console.print(Text(" ".join(line.split())), soft_wrap=True)
    langs = sorted({each["lang"] for each in replies})
    table = Table("what", *langs, title="labels kept of all (of these unsure)")
    for what in (*sorted({each["what"] for each in replies}), "all"):
        rows = ([count[name, what, lang] for name in ("kept", "all", "unsure")] for lang in langs)
        table.add_row(what, *("{}/{} ({})".format(*row) for row in rows))
    console.print(table)


if __name__ == "__main__":
    raise SystemExit(main())
