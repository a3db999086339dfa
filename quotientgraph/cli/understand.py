"""One input, as the command line's options say it is to be read."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .messages import UsageError

if TYPE_CHECKING:
    import numpy as np

    from ..geometry.camera import Camera
    from ..io import FrameEvidence, NormalInput

FILES = ("mask", "camera", "rays", "texture", "depth_prior")


@dataclass(frozen=True)
class Understood:
    """An input, the frame its normals are in (None: undecided), and the evidence if that was asked for it."""

    found: NormalInput
    frame: str | None
    evidence: FrameEvidence | None

    @property
    def normals(self) -> np.ndarray:
        """(H, W, 3) in the OpenCV frame, whatever the frame of the file is."""
        from ..io import to_opencv

        assert self.frame is not None
        return to_opencv(self.found.normals, self.frame)


def check_options(args: argparse.Namespace) -> None:
    """Refuse, before any work, what is wrong with the options for every input."""
    if args.frame != "auto":
        from ..io import frame_axes

        try:
            frame_axes(args.frame)
        except ValueError as problem:
            text = str(problem).replace("frame=", "--frame: ", 1)
            raise UsageError(f"argument {text}, or auto") from None
    for name in FILES:
        file = getattr(args, name, None)
        if file is not None and "{name}" not in file and not Path(file).is_file():
            reason = "is a folder, a file was expected" if Path(file).is_dir() else "no such file"
            raise UsageError(f"argument --{name.replace('_', '-')}: {file}: {reason}")


def file_for(pattern: str | None, name: str) -> str | None:
    """``masks/{name}.png`` stands for another file for each input."""
    return None if pattern is None else pattern.replace("{name}", name)


def understand(path: Path, name: str, args: argparse.Namespace) -> Understood:
    """Read an input and find its frame."""
    from ..geometry.camera import Orthographic, Pinhole, RayMap
    from ..io import detect_frame, read_normals

    mask = file_for(args.mask, name)
    camera: Camera | str | None = file_for(args.camera or args.rays, name)
    by_size = args.fov is not None or args.fisheye is not None
    if args.orthographic is not None or by_size:
        camera = Orthographic(args.orthographic or 1.0)
    found = read_normals(path, mask, camera)
    if by_size:
        shape = found.normals.shape[:2]
        view = Pinhole.from_fov(args.fov, shape) if args.fov is not None else RayMap.fisheye(args.fisheye, shape)
        found = replace(found, camera=view)
    if args.frame != "auto":
        return Understood(found, args.frame, None)
    evidence = detect_frame(found.normals, found.mask, found.camera)
    return Understood(found, evidence.frame, evidence)


def describe_camera(camera: Camera | None) -> str:
    """A camera in a few words."""
    from ..geometry.camera import Orthographic, Pinhole, RayMap

    if camera is None:
        return "orthographic (assumed)"
    if isinstance(camera, Orthographic):
        return f"orthographic, pixel size {camera.pixel_size:g}"
    if isinstance(camera, Pinhole):
        return f"pinhole, fx {camera.fx:.6g}, fy {camera.fy:.6g}, cx {camera.cx:.6g}, cy {camera.cy:.6g}"
    if isinstance(camera, RayMap):
        return "one ray a pixel"
    return str(camera)
