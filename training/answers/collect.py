"""Collect the labelled pairs of question and message that `pairs.py` learns from.

    python training/answers/collect.py --out pairs.json.gz [--talk FILE…] FILE…

FILE are scripts as `train.py` reads them; the messages that recall finds for each question are labelled by the words
that an answer holds. `training/answers/pairs/*.jsonl` are single messages with questions that they answer and do not
answer; `--talk` are messages with questions and a look-alike. Italian is written as the English model reads it.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gloss import in_english
from train import Asked, read

HERE = Path(__file__).resolve().parent
CONCLUDED = ("inference",)  # questions of talk that a message answers only by conclusion
MESSAGE, ASKED = 400, 100  # characters of a message, and of what it answers


def as_read(role: str, text: str, around: str = "") -> str:
    """A message as the network reads it: an answer of the assistant is marked and stands before what was asked."""
    if role != "assistant":
        return in_english(text[:MESSAGE])
    asked = f" ({in_english(around[:ASKED])})" if around else ""
    return f"assistant: {in_english(text[:MESSAGE])}{asked}"


def of_asked(asked: Asked) -> dict[str, Any]:
    """A question of a script with the messages that recall finds; 1 holds the answer, -1 held it before."""
    labels = [1 if right else -1 if past else 0 for right, past in zip(asked.right, asked.past, strict=True)]
    return {
        "set": Path(asked.file).stem,
        "row": asked.row,
        "kind": asked.kind,
        "q": in_english(asked.question.text),
        "m": [as_read(each.role, each.text, each.around) for each in asked.passages],
        "at": [each.said_at.timestamp() for each in asked.passages],
        "y": labels,
    }


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def of_pairs(path: Path) -> Iterator[dict[str, Any]]:
    """Single messages: questions that they answer or not, and what replaces them."""
    for row in rows(path):
        said = as_read(row.get("role", "user"), row["said"])
        own = {"set": f"pairs_{row['lang']}", "row": row["id"], "kind": "pair"}
        for question in row["yes"]:
            yield {**own, "q": in_english(question), "m": [said], "y": [1]}
        for question in row["no"]:
            yield {**own, "q": in_english(question), "m": [said], "y": [0]}
        if row.get("newer"):
            new, aside = (as_read("user", row[name]) for name in ("newer", "aside"))
            yield {**own, "kind": "change", "q": in_english(row["newq"]), "m": [said, new, aside], "y": [1, 1, 0]}


def of_talk(path: Path) -> Iterator[dict[str, Any]]:
    """Messages of written talk, with a look-alike that does not answer."""
    for row in rows(path):
        messages = [as_read("user", text) for text in (row["said"], row["near"])]
        for ask in row.get("asks", ()):
            if ask["kind"] not in CONCLUDED:
                own = {"set": f"talk_{row['lang']}", "row": row["id"], "kind": ask["kind"]}
                yield {**own, "q": in_english(ask["q"]), "m": messages, "y": [1, 0]}


def main() -> None:
    """Write all pairs, one question a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--talk", nargs="*", default=[])
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    found = [each for path in sorted((HERE / "pairs").glob("*.jsonl")) for each in of_pairs(path)]
    found += [each for path in options.talk for each in of_talk(Path(path))]
    found += [of_asked(each) for path in options.files for each in read(path)]
    with gzip.open(options.out, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(each, ensure_ascii=False) + "\n" for each in found)


if __name__ == "__main__":
    main()
