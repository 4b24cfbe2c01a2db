"""The pages of the integrations: what they name is there, and every complaint has tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs" / "integrations").glob("*.md"))
TESTS = "\n".join(each.read_text(encoding="utf-8") for each in Path(__file__).parent.glob("test_*.py"))


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_names_is_there(page: Path) -> None:
    """Links reach files and headings; scripts, examples and tests that are named exist."""
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), target
            assert not anchor or anchor in slugs(file), target
    for name in re.findall(r"\b((?:scripts|examples|tests)/[\w./-]*\w)", text):
        assert (ROOT / name).exists(), name


def test_every_complaint_has_its_tests() -> None:
    """The table has eighteen rows, and each names tests of this folder."""
    page = (ROOT / "docs" / "integrations" / "tested.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|.*\| (`test_.*`) \|$", page, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 19))
    for _, named in rows:
        for test in re.findall(r"`(\w+)`", named):
            assert f"def {test}(" in TESTS, test
