"""The page and the example of this integration say what is so."""

import re
import subprocess
import sys
from pathlib import Path

from mcp_samples import ADDS, READS, REMOVES

from ricordo.mcp.memories import FILTER_FIELDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "integrations" / "mcp.md").read_text(encoding="utf-8")


def test_every_tool_and_filter_is_explained() -> None:
    """The table names every tool once, and the text names every field that can be filtered by."""
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE, re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(rows))
    assert sorted(each for each in named if each in READS | ADDS | REMOVES) == sorted(READS | ADDS | REMOVES)
    assert [field for field in FILTER_FIELDS if f"`{field}`" not in PAGE] == []


def test_links_and_files_are_there() -> None:
    """Links inside the repository, and files that the page names, exist."""
    links = [each for each in re.findall(r"\]\(([^)#\s]+)", PAGE) if "://" not in each]
    assert links
    assert [each for each in links if not (ROOT / "docs" / "integrations" / each).exists()] == []
    files = re.findall(r"(?:examples|scripts|tests)/[\w./-]*\w", PAGE)
    assert [each for each in files if not (ROOT / each).exists()] == []


def test_the_example_runs() -> None:
    """The program remembers from one run of the server to the next."""
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "mcp_client.py")], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "found: How do I say good morning?",
        "tokens within the budget: True",
        "knows the talk: True",
    ]
