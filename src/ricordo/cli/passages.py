"""Chunks and the budget on the command line: a file of passages in, chunks out.

A file may be a JSON list, JSON lines (`{"id": …, "text": …}` or plain strings), or text whose paragraphs are apart
by an empty line.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from ricordo.cli.options import Options
from ricordo.errors import ValidationError
from ricordo.records import Chunk


def add_chunks(parser: argparse.ArgumentParser) -> None:
    """--chunks."""
    parser.add_argument("--chunks", metavar="FILE", help="passages: JSON, JSON lines or paragraphs; - for stdin")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """--budget."""
    parser.add_argument("--budget", metavar="TOKENS", type=int, help="limit for the whole prompt")


def read_chunks(options: Options) -> list[Chunk]:
    """The passages of --chunks, in their order."""
    if options.chunks is None:
        return []
    try:
        text = sys.stdin.read() if options.chunks == "-" else Path(options.chunks).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValidationError("chunks", f"{options.chunks} is not text ({error}); give UTF-8") from error
    return parse_chunks(text)


def parse_chunks(text: str) -> list[Chunk]:
    """Chunks from any of the three shapes; those without an id are numbered."""
    if text.lstrip()[:1] not in ("[", "{"):
        paragraphs = [part.strip() for part in re.split(r"\n\s*\n", text)]
        return [_chunk(number, part) for number, part in enumerate(filter(None, paragraphs), start=1)]
    try:
        listed = json.loads(text)
    except ValueError:
        listed = [_json_line(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if isinstance(listed, dict):
        listed = [listed]
    return [_chunk(number, each) for number, each in enumerate(listed, start=1)]


def _json_line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValidationError("chunks", f"line {number} is not JSON ({error})") from error


def _chunk(number: int, value: Any) -> Chunk:
    if isinstance(value, str):
        return Chunk(f"chunk-{number}", value)
    if isinstance(value, dict):
        identity, text = value.get("id", f"chunk-{number}"), value.get("text", value.get("content"))
        if isinstance(identity, str) and isinstance(text, str):
            return Chunk(identity, text)
    raise ValidationError("chunks", f"passage {number}: expected text, or an object with id and text")
