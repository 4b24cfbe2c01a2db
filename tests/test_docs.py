"""The documents: examples run, links lead somewhere, and the reference is what the code says."""

import ast
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import ricordo
from ricordo import errors
from ricordo.cli import COMMANDS
from ricordo.presets import PRESETS
from ricordo.settings import setting_names

pytest_plugins = ["ricordo.testing.postgres"]

ROOT = Path(__file__).parent.parent
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
IMPORT = re.compile(r"^[ \t]*from (ricordo[\w.]*) import ([\w, ]+|\([^)]*\))", re.MULTILINE)
POSTGRES = re.compile(r'"postgres(?:ql)?://[^"]*"')
FENCE = re.compile(
    r"(?P<unrun><!-- not run: [^>]+ -->\n+)?^```(?P<kind>\w+)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks(page: Path) -> list[tuple[str, str]]:
    """Kind and text of every fenced block that is meant to run, in order."""
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [(match["kind"], match["text"]) for match in found if not match["unrun"]]


def pages_with(kind: str) -> list[str]:
    """Pages that have a block of a kind."""
    return [name for name, page in zip(NAMES, PAGES, strict=True) if any(kind == each for each, _ in blocks(page))]


def needs(name: str) -> str:
    """The id of a page's test, with the server that its examples need: `--fast` leaves that out."""
    return f"{name}-postgres" if any(POSTGRES.search(text) for _, text in blocks(ROOT / name)) else name


@pytest.mark.parametrize("name", pages_with("python"), ids=needs)
def test_python_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The Python blocks of a page run one after the other and print what the page says they print.

    Where a page names a PostgreSQL server, a real one stands in for it.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RICORDO_EMBEDDER", "light")  # what a page prints depends on no weights
    space: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    left_open: dict[int, ricordo.Memory] = {}
    for number, (kind, text) in enumerate(blocks(ROOT / name)):
        if kind == "python":
            if POSTGRES.search(text):
                text = POSTGRES.sub(f'"{request.getfixturevalue("own_postgres_url")}"', text)
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(text, f"{name}, block {number}", "exec"), space)
            printed = said.getvalue()
            if isinstance(opened := space.get("memory"), ricordo.Memory):
                left_open[id(opened)] = opened
        elif kind == "output":
            assert printed == text
    for memory in left_open.values():
        memory.close()


def test_there_are_examples_to_run() -> None:
    """The README and the quick start have Python that runs and shell lines that run."""
    assert {"README.md", "docs/quickstart.md"} <= set(pages_with("python")) & set(pages_with("sh"))


@pytest.mark.parametrize("name", pages_with("sh"))
def test_shell_examples_run(name: str, tmp_path: Path) -> None:
    """Blocks of `ricordo` commands run in the shell, in order; scripts that they name exist."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RICORDO_")}
    environment |= {"PATH": path, "RICORDO_EMBEDDER": "light", "XDG_RUNTIME_DIR": str(tmp_path)}
    for kind, text in blocks(ROOT / name):
        if kind != "sh":
            continue
        for script in re.findall(r"scripts/[\w-]+", text):
            assert os.access(ROOT / script, os.X_OK), script
        if re.search(r"^ricordo ", text, re.MULTILINE):
            script = f"set -euo pipefail\n{text}"
            ran = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert ran.returncode == 0, ran.stderr


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    """Every link inside the repository reaches a file, and its anchor a heading."""
    page = ROOT / name
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in slugs(file)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("name", NAMES)
def test_named_files_exist(name: str) -> None:
    """A file of the repository that a page names is there."""
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|docs|tests|scripts|bench)/[\w./-]*)`", text)
    assert [each for each in named if not (ROOT / each).exists()] == []


@cache
def names_in(module: str) -> set[str] | None:
    """What can be imported from a module, read from its source; None if there is no such module."""
    place = ROOT / "src" / Path(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not file.exists():
        return None
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    names = {each.asname or each.name for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names}
    names |= set(re.findall(r"^(?:async )?(?:def |class )?(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE))
    return names | {each.stem for each in place.glob("*")}


def test_named_imports_exist() -> None:
    """Every `from ricordo… import …` of a document, a script or an example names a module and a name that are there."""
    broken = []
    for file in tracked():
        if file.suffix in (".png", ".onnx") or file.relative_to(ROOT).parts[0] in ("bench", "src", "tests", "web"):
            continue
        for module, names in IMPORT.findall(file.read_text(encoding="utf-8")):
            known = names_in(module)
            broken += [
                f"{file.name}: {module} {name}"
                for name in re.findall(r"(\w+)(?: as \w+)?", names)
                if known is None or name not in known
            ]
    assert broken == []


def test_the_glossary_has_the_names_that_readers_meet() -> None:
    """Every public class that three modules import is in the glossary, and every class of the glossary exists."""
    defined: dict[str, Path] = {}
    importers: dict[str, set[Path]] = {}
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                defined[node.name] = file
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ricordo"):
                for each in node.names:
                    importers.setdefault(each.name, set()).add(file)
    known = set(re.findall(r"`([A-Z]\w+)`", (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")))
    met = {name for name, files in importers.items() if name in defined and len(files) >= 3 and name[0] != "_"}
    missing = sorted(name for name in met - known if defined[name].name != "errors.py")
    assert (missing, sorted(known - defined.keys())) == ([], [])


def tracked() -> list[Path]:
    """The text files of the repository, as git lists them; without git, the documents."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    files = [ROOT / name for name in listed.stdout.split("\0") if name] if listed.returncode == 0 else PAGES
    return [file for file in files if file.is_file() and file != Path(__file__)]


def test_no_file_names_a_machine() -> None:
    """No document, script or module names a home folder, a checkout's place or a package index."""
    telling = re.compile(rb"/(?:home|Users)/\w+/|/roo[t]/|/wor[k]/|index[-]url|https?://[^\s\"')]*/simple\b")
    assert [str(file) for file in tracked() if telling.search(file.read_bytes())] == []


# The reference


def script(name: str) -> ModuleType:
    """A script that writes a page, as a module."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The script that writes the reference."""
    return script("make-reference")


@pytest.mark.parametrize("page", ["reference", "profiles"])
def test_a_page_that_is_written_from_the_code_is_up_to_date(page: str) -> None:
    """docs/PAGE.md is what scripts/make-PAGE writes now."""
    assert script(f"make-{page}").page() == (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def test_everything_has_its_entry() -> None:
    """Every public name, command, setting, preset and error stands in the reference."""
    text = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    wanted = [f"### `ricordo {command.name}`" for command in COMMANDS]
    wanted += [f"### `{preset}`" for preset in PRESETS]
    wanted += [f"\n| `{setting}` |" for setting in setting_names()]
    wanted += [f"\n| `{name}` |" for name, kind in vars(errors).items() if isinstance(kind, type)]
    wanted += [f"`{name}`" for name in ricordo.__all__ if name[0].isupper()]
    wanted += [f"ricordo.{name}" for name in ricordo.__all__ if name[0].islower()]
    assert [each for each in wanted if each not in text] == []


# Claims


def test_dependencies_are_justified() -> None:
    """Each package that is declared is explained on the page that says why."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(each for group in project["optional-dependencies"].values() for each in group),
    ]
    packages = {re.split(r"[\[<>=~! ]", each)[0] for each in declared} - {"ricordo"}
    text = (ROOT / "docs" / "why.md").read_text(encoding="utf-8")
    assert [package for package in packages if f"`{package}`" not in text] == []


def test_dependencies_are_pinned_without_a_place() -> None:
    """The constraints pin every declared package by version alone; integrations have a file of their own."""
    files = [ROOT / "constraints.txt", ROOT / "constraints-integrations.txt"]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    pins = [line for line in lines if not line.startswith("#")]
    assert [line for line in pins if not re.fullmatch(r"[A-Za-z0-9._-]+==[\w.+!]+", line)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(each for group in project["optional-dependencies"].values() for each in group),
    ]
    wanted = {re.split(r"[\[<>=~! ]", each)[0].lower() for each in declared} - {"ricordo"}
    assert wanted - {pin.split("==")[0].lower() for pin in pins} == set()


def test_the_two_commands_are_the_ones_that_run() -> None:
    """The README names the commands literally, and continuous integration runs one of them."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    steps = [
        line
        for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith(("#", "set ", "cd "))
    ]
    assert steps == ["scripts/test"]
    assert "\nscripts/test " in readme
    assert "\nscripts/demo " in readme


def test_the_version_is_one() -> None:
    """Package, project file and change log agree on the version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert project["version"] == ricordo.__version__
    assert f"\n## {ricordo.__version__} " in changes
