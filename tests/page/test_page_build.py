"""The built files: as small as promised, made from the sources at hand, and sufficient to themselves."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

from page_samples import HERE

ROOT = HERE.parent.parent
BUILT = ROOT / "src" / "ricordo" / "web"
MOST_SCRIPT = 120 * 1024


def test_the_script_is_small() -> None:
    """All JavaScript together is at most 120 KB, gzipped."""
    scripts = list((BUILT / "assets").glob("*.js"))
    assert scripts
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in scripts) <= MOST_SCRIPT


def test_the_built_files_are_those_of_the_sources() -> None:
    """The digests beside the built files are those of what lies in web/ and in the package."""
    done = subprocess.run([sys.executable, ROOT / "scripts" / "build-page", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_nothing_comes_from_elsewhere() -> None:
    """The page names no other server and has neither scripts nor styles in its HTML."""
    page = (BUILT / "index.html").read_text()
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == re.findall(r'"(/assets/[^"]+)"', page)
    assert not re.search(r"<style|style=|<script(?![^>]* src=)", page)
    style = "".join(path.read_text() for path in (BUILT / "assets").glob("*.css"))
    assert not re.search(r"@import|url\((?!data:)", style)
    assert len(list(Path(BUILT / "assets").glob("*.css"))) == 1
