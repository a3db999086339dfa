"""One input, read as the options of the command line say."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import CAMERA
from .messages import UsageError

if TYPE_CHECKING:
    from ..geometry.camera import Camera
    from ..io import FrameEvidence, NormalInput

FILES = ("mask", "camera", "rays", "texture", "depth_prior", "prior_confidence", "segments", "split_image", "lines")


@dataclass(frozen=True)
class Understood:
    """An input and the frame of its normals.

    Attributes
    ----------
    found : NormalInput
        Normals, mask and camera as they were read.
    frame : str or None
        None if the evidence does not decide.
    reason : str
        Why it is this frame: "given", or what decided.
    evidence : FrameEvidence or None
        None if the frame was given.
    warnings : tuple of str
        What the normals contradict, and what was corrected in them.
    """

    found: NormalInput
    frame: str | None
    reason: str
    evidence: FrameEvidence | None
    warnings: tuple[str, ...] = ()


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
        if name == "mask" and file == "none":
            continue
        if file is not None and "{name}" not in file and not Path(file).is_file():
            reason = "is a folder, a file was expected" if Path(file).is_dir() else "no such file"
            raise UsageError(f"argument --{name.replace('_', '-')}: {file}: {reason}")


def file_for(pattern: str | None, name: str) -> str | None:
    """``masks/{name}.png`` stands for another file for each input."""
    return None if pattern is None else pattern.replace("{name}", name)


def files_read(path: Path, name: str, args: argparse.Namespace) -> list[Path]:
    """The files that are read for an input: its normal map, what stands beside it, and those that the options name."""
    from ..io import find_files_beside, find_input_files
    from ..io.depth_files import sidecar

    found = find_input_files(path) if path.is_dir() else find_files_beside(path)
    given = {option: file_for(getattr(args, option, None), name) for option in FILES}
    files = [found.normals, found.truth]
    if args.beside and given["mask"] is None:
        files.append(found.mask)
    if args.beside and all(getattr(args, option) is None for option in CAMERA):
        files.append(found.camera)
    if given["mask"] == "none":
        given["mask"] = None
    files += [Path(file) for file in given.values() if file is not None]
    prior = given["depth_prior"]
    if prior is not None and sidecar(Path(prior)).exists():  # offset and scale of a depth map of whole numbers
        files.append(sidecar(Path(prior)))
    return [file for file in files if file is not None]


def understand(path: Path, name: str, args: argparse.Namespace) -> Understood:
    """Read an input, find its frame, and compare frame and camera with what the normals show."""
    from ..geometry.camera import Orthographic, Pinhole, RayMap
    from ..io import check_conventions, detect_frame, read_normals

    mask: str | bool | None = file_for(args.mask, name)
    camera: Camera | str | None = file_for(args.camera or args.rays, name)
    by_size = args.fov is not None or args.fisheye is not None or bool(args.panorama)
    if args.orthographic is not None or by_size:
        camera = Orthographic(args.orthographic or 1.0)
    found = read_normals(path, False if mask == "none" else mask, camera, beside=args.beside, frame=args.frame)
    if by_size:
        shape = (found.normals.shape[0], found.normals.shape[1])
        view: Camera = RayMap.equirectangular(shape) if args.panorama else Orthographic()
        if args.fov is not None:
            view = Pinhole.from_fov(args.fov, shape)
        elif args.fisheye is not None:
            view = RayMap.fisheye(args.fisheye, shape)
        found = replace(found, camera=view)
    evidence = None
    frame, reason = args.frame, "given"
    if args.frame == "auto":
        evidence = detect_frame(found.normals, found.mask, found.camera)
        frame, reason = evidence.frame, evidence.reason
        if frame is None and found.usual_frame in evidence.possible:
            frame, reason = found.usual_frame, f"usual for such a folder; {evidence.reason}"
    doubts: list[str] = []
    if frame is not None:
        stated = evidence is None
        doubts = check_conventions(found.normals, found.mask, found.camera, frame, frame_is_stated=stated)
    return Understood(found, frame, reason, evidence, (*found.warnings, *found.about_lengths(found.mask), *doubts))


def describe_input(source: Understood) -> str:
    """The frame, the camera and the mask that are used, on one line."""
    found = source.found
    camera = describe_camera(found.camera)
    if found.camera_from not in ("", "given"):
        camera += f" from {found.camera_from}"
    mask = "none"
    if found.mask is not None:
        mask = f"{found.mask.mean():.1%} of the image" + (f" from {found.mask_from}" if found.mask_from else "")
    return f"frame {source.frame} ({source.reason}); camera {camera}; mask {mask}"


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
        return "one ray for each pixel" + (", all around; depth is the distance" if camera.spherical else "")
    return str(camera)
