"""The built files: as small as promised, made from the sources at hand, and sufficient to themselves."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

from page_samples import HERE

ROOT = HERE.parent.parent
BUILT = ROOT / "src" / "ricordo" / "web"
MOST_SCRIPT = 140 * 1024


def test_the_first_view_needs_little_script() -> None:
    """The JavaScript of the first view, with all that it imports at once, is at most 140 KB gzipped; what colours code
    and draws formulas is not among it."""
    needed: set[str] = set()
    wanted = set(re.findall(r'"/assets/([^"]+\.js)"', (BUILT / "index.html").read_text()))
    while wanted:
        name = wanted.pop()
        needed.add(name)
        script = (BUILT / "assets" / name).read_text()
        wanted |= set(re.findall(r'(?:^|[;}])import(?:[^("\';]*from)?["\']\./([^"\']+\.js)', script)) - needed
    assert sum(len(gzip.compress((BUILT / "assets" / name).read_bytes(), 9)) for name in needed) <= MOST_SCRIPT
    later = {path.name.partition("-")[0] for path in (BUILT / "assets").glob("*.js")} - {
        n.partition("-")[0] for n in needed
    }
    assert {"highlight", "temml"} <= later


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
