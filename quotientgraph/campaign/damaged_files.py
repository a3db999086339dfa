"""Damaged files of every format that is read: an `InputError` that names the file, or an array; nothing else."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .trial import Attack, Outcome, in_child

_SHAPE = (9, 7)
_SLOW = 10.0  # seconds that no file of a kilobyte may take
_MEMORY = 6 * 2**30  # bytes of address space; a file that asks for more must be refused


def _normals() -> np.ndarray:
    n = np.random.default_rng(0).normal(size=(*_SHAPE, 3))
    return (n / np.linalg.norm(n, axis=-1, keepdims=True)).astype(np.float32)


def _image(encode: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        import imagecodecs

        image = np.rint((_normals() + 1) * 127.5).astype(np.uint8)
        path.write_bytes(getattr(imagecodecs, encode)(image))

    return write


def _write_array(path: Path) -> None:
    from ..io import write_image

    write_image(path, np.rint((_normals() + 1) * 32767.5).astype(np.uint16) if path.suffix == ".png" else _normals())


def _write_packed_exr(path: Path) -> None:
    import OpenEXR

    planes = {name: _normals()[..., i].copy() for i, name in enumerate("RGB")}
    header = {"compression": OpenEXR.PIZ_COMPRESSION, "type": OpenEXR.scanlineimage}
    OpenEXR.File(header, planes).write(str(path))


def _text(content: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(content)

    return write


# Name of the file: how a good one is written, what part of the cases it gets, and how it is read.
KINDS: dict[str, tuple[Callable[[Path], Any], float, str]] = {
    "a.png": (_write_array, 1, "normals"),
    "a.npy": (_write_array, 1, "normals"),
    "a.npz": (_write_array, 1, "normals"),
    "a.mat": (_write_array, 1, "normals"),
    "a.tiff": (_write_array, 1, "normals"),
    "a.exr": (_write_array, 1, "normals"),
    "packed.exr": (_write_packed_exr, 0.02, "normals"),  # each in a process of its own, which takes time
    "a.jpg": (_image("jpeg8_encode"), 1, "normals"),
    "a.webp": (_image("webp_encode"), 1, "normals"),
    "a.bmp": (_image("bmp_encode"), 1, "normals"),
    "k.txt": (_text("500 0 3.5\n0 500 4.5\n0 0 1\n"), 0.5, "camera"),
    "k.json": (_text('{"K": [[500, 0, 3.5], [0, 500, 4.5], [0, 0, 1]], "width": 7, "height": 9}'), 0.5, "camera"),
    "k.yaml": (_text("image_width: 7\nimage_height: 9\nK:\n  data: [500, 0, 3, 0, 500, 4, 0, 0, 1]\n"), 0.5, "camera"),
    "d.png": (lambda path: _write_depth(path), 0.5, "depth"),
}  # fmt: skip


def _write_depth(path: Path) -> None:
    from ..io import write_depth

    write_depth(path, np.abs(_normals()[..., 0]).astype(np.float64))


def damaged(data: bytes, random: np.random.Generator, kind: int) -> bytes:
    """A damaged copy: cut off, with one bit or several bytes changed, or with a part repeated or removed."""
    if kind == 0:
        return data[: random.integers(0, len(data))]
    out = bytearray(data)
    if kind == 3:
        at, size = random.integers(0, len(out)), random.integers(1, 40)
        part = out[at : at + size]
        if random.random() < 0.5:
            del out[at : at + size]
        else:
            out[at:at] = part
        return bytes(out)
    for _ in range(1 if kind == 1 else random.integers(2, 12)):
        at = random.integers(0, len(out) if random.random() < 0.5 else min(400, len(out)))
        out[at] = out[at] ^ (1 << random.integers(0, 8)) if random.random() < 0.7 else random.integers(0, 256)
    return bytes(out)


def read(how: str, path: Path) -> None:
    """Read a file as a user would."""
    from ..io import read_camera, read_depth, read_normals

    if how == "camera":
        read_camera(path, _SHAPE)
    elif how == "depth":
        read_depth(path)
    else:
        found = read_normals(path)
        if found.normals.ndim != 3:
            raise AssertionError(f"normals of shape {found.normals.shape}")


def cases(report: Any, name: str, start: int, count: int, seed: int) -> None:
    """Read `count` damaged copies of one kind of file; runs in a child."""
    import contextlib
    import resource

    from ..io import InputError

    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    write, _, how = KINDS[name]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        target = path
        if how == "depth":
            target = path.with_name(path.name + ".json")  # the offset and the scale are damaged, not the picture
        good = target.read_bytes()
        for case in range(start, start + count):
            random = np.random.default_rng([seed, case, len(name)])
            target.write_bytes(damaged(good, random, case % 4))
            report.begin(json.dumps({"file": name, "case": case, "seed": seed}))
            failure, began = None, time.perf_counter()
            try:
                read(how, path)
            except InputError as error:
                if "\n" in str(error) or Path(name).stem not in str(error):
                    failure = f"the message does not name the file on one line: {error}"
            except BaseException as error:
                failure = f"{type(error).__name__}: {error}"
            if time.perf_counter() - began > _SLOW:
                failure = failure or f"took {time.perf_counter() - began:.0f} s"
            report.end(failure)


def _run(n_cases: int, seed: int, deadline: float) -> Outcome:
    total = sum(share for _, share, _ in KINDS.values())
    outcome = Outcome()
    for name, (_, share, _) in KINDS.items():
        left, start = max(4, round(n_cases * share / total)), 0
        while left > 0 and time.monotonic() < deadline:
            found = in_child(
                "damaged_files:cases", {"name": name, "start": start, "count": left, "seed": seed}, deadline
            )
            outcome.merge(found)
            start, left = start + max(found.tried, 1), left - max(found.tried, 1)  # go on behind a case that crashed
    return outcome


ATTACKS = [
    Attack(
        "damaged files",
        "A damaged file gives an array or one line that names it; never a crash or a wait.",
        10_500,
        _run,
    )
]
