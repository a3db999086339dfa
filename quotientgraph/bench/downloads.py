"""Where benchmark data come from, how to fetch them, and how to check a local copy: ``quotientgraph data``.

No data are part of this package. ``files.csv`` holds the hashes of the files with which the tables of the documentation were
made. K.txt is written from the numbers below, because copies in circulation differ in the order of their entries.
"""

from __future__ import annotations

import csv
import hashlib
import logging
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

logger = logging.getLogger(__name__)

_BINI = "https://raw.githubusercontent.com/xucao-42/bilateral_normal_integration"
# The commit of that repository in which each file of an object was last changed.
_COMMIT = {
    "normal_map.png": "c38c253875c8c6fba322fd300c3b505e65a0f3ef",
    "mask.png": "c38c253875c8c6fba322fd300c3b505e65a0f3ef",
    "depth_gt.npz": "93ad6d5b2fdc4d1eeafaaa4c4ae1251a039ec216",
}
_OBJECTS = ("bear", "buddha", "cat", "cow", "goblet", "harvest", "pot1", "pot2", "reading")
_DILIGENT_K = ((3772.07747101073, 0, 305.875), (0, 3759.00543107133, 255.125), (0, 0, 1))

ABOUT = """\
DiLiGenT (diligent/: bear buddha cat cow goblet harvest pot1 pot2 reading)
  Boxin Shi, Zhipeng Mo, Zhe Wu, Dinglong Duan, Sai-Kit Yeung, Ping Tan: A Benchmark Dataset and Evaluation for
  Non-Lambertian and Uncalibrated Photometric Stereo, CVPR 2016.
  Home:    https://sites.google.com/site/photometricstereodata/single
  Licence: its authors offer it for research; read the terms on that page before any other use.
  Here:    ground-truth normals (16-bit PNG, frame opengl), masks, intrinsics and depths in mm as bundled with BiNI,
           https://github.com/xucao-42/bilateral_normal_integration, folder data/Fig7_diligent
           (that repository's code is GPL-3.0; nothing of it is used or copied here).
  `quotientgraph data fetch FOLDER` gets these files and checks those of bear, buddha, cat, goblet and harvest by their
           hashes; of the other four objects no hashes are known here.

Example scenes of the component paper (scenes/: bedroom wedding_cake)
  Home:    https://github.com/francescomilano172/normal_integration_continuous_components, folder example_data
  bedroom: rendered from the mesh "Cozy modern bedroom" by dylanheyes, CC BY 4.0; 608×512, depth in its own unit.
  wedding_cake: normals predicted by DSINE on a photograph by cara fealy choate; no true depth.
  Not fetched: they need converting to normals.npz (key `normals`, frame opengl) and depth_gt.npz (key `depth_gt`).

Built-in scenes (scene:NAME): analytic, exact normals and depth, part of this package, no licence question.

Layouts that `bench` reads: a folder with normal_map.png (BiNI), normals.npz or Normal_gt.mat (DiLiGenT), and beside it
mask.png, K.txt and, for errors, depth_gt.npz; or a folder of such folders.
"""


@dataclass(frozen=True)
class KnownFile:
    """A file with which the tables were made: its path, size and SHA-256."""

    path: str
    bytes: int
    sha256: str


def known_files() -> list[KnownFile]:
    """Return the files whose hash is known."""
    text = resources.files(__package__).joinpath("files.csv").read_text()
    return [KnownFile(row["path"], int(row["bytes"]), row["sha256"]) for row in csv.DictReader(text.splitlines())]


def check_files(folder: Path) -> list[tuple[str, str]]:
    """Return path and state of every known file under `folder`: "ok", "missing", "other size" or "other content"."""
    out = []
    for known in known_files():
        path = folder / known.path
        if not path.is_file():
            state = "missing"
        elif path.name == "K.txt":
            state = "ok" if _same_camera(path, known) else "other content"
        elif path.stat().st_size != known.bytes:
            state = "other size"
        else:
            state = "ok" if _digest(path) == known.sha256 else "other content"
        out.append((known.path, state))
    return out


def fetch(folder: Path) -> list[Path]:
    """Download DiLiGenT's files into `folder`/diligent and return their paths.

    Files that are there already are kept. Each file is compared with its hash. Of the four objects with which no table was
    made the hashes are not known here; a warning names them, so that nobody takes them for checked.
    """
    try:
        import pooch
    except ImportError:
        raise ValueError('fetching needs pooch; install it with: pip install "quotientgraph[data]"') from None
    hashes = {known.path: known.sha256 for known in known_files()}
    unchecked = [name for name in _OBJECTS if f"diligent/{name}/normal_map.png" not in hashes]
    if unchecked:
        logger.warning("no hash is known of the files of %s: they are fetched unchecked", ", ".join(unchecked))
    out = []
    for name in _OBJECTS:
        place = folder / "diligent" / name
        for file, commit in _COMMIT.items():
            known = hashes.get(f"diligent/{name}/{file}")
            url = f"{_BINI}/{commit}/data/Fig7_diligent/{name}/{file}"
            out.append(Path(pooch.retrieve(url, f"sha256:{known}" if known else None, file, place)))
        if not (place / "K.txt").exists():
            rows = "\n".join(" ".join(f"{value:.18e}" for value in row) for row in _DILIGENT_K)
            (place / "K.txt").write_text(rows + "\n")
    return out


def _same_camera(path: Path, known: KnownFile) -> bool:
    if _digest(path) == known.sha256:
        return True
    try:
        numbers = [float(word) for word in path.read_text().split()]
    except (ValueError, UnicodeDecodeError):
        return False
    expected = [value for row in _DILIGENT_K for value in row]
    close = len(numbers) == 9 and all(abs(a - b) < 1e-6 for a, b in zip(numbers, expected))
    return close and known.path.startswith("diligent/")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
