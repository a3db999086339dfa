"""Read and write files. A decoder is imported when the first file of its kind is read.

>>> import quotientgraph.io as qio
>>> qio.frame_axes("opengl").diagonal().tolist()
[1.0, -1.0, -1.0]
"""

from __future__ import annotations

from .atomic import OutputError, atomic
from .camera_files import read_camera
from .conventions import FrameEvidence, FrameScore, detect_frame, frame_axes, frame_name, to_opencv
from .depth_files import read_depth, read_labels, read_prior, write_depth, write_graphml, write_labels
from .folders import InputFiles, find_files_beside, find_input_files, is_input_folder
from .formats import InputError, read_arrays, readable, reader, writable, write_image, writer
from .graph_files import read_tables, write_tables
from .memory import shortage
from .mesh_files import mesh_suffixes, mesh_writer, write_mesh, write_points
from .normal_arrays import as_mask, as_normals, understand_camera, understand_mask
from .normal_files import NormalInput, read_normals
from .orientation import like_the_map, oriented, stated_orientation
from .other_arrays import as_anchors, as_confidence, as_depth, as_labels, as_lines, as_picture, understand_depth
from .plausibility import check_conventions

__all__ = [
    "FrameEvidence",
    "FrameScore",
    "InputError",
    "InputFiles",
    "NormalInput",
    "OutputError",
    "as_anchors",
    "as_confidence",
    "as_depth",
    "as_labels",
    "as_lines",
    "as_mask",
    "as_normals",
    "as_picture",
    "atomic",
    "check_conventions",
    "detect_frame",
    "find_files_beside",
    "find_input_files",
    "frame_axes",
    "frame_name",
    "is_input_folder",
    "like_the_map",
    "mesh_suffixes",
    "mesh_writer",
    "oriented",
    "read_arrays",
    "read_camera",
    "read_depth",
    "read_labels",
    "read_normals",
    "read_prior",
    "read_tables",
    "readable",
    "reader",
    "shortage",
    "stated_orientation",
    "to_opencv",
    "understand_camera",
    "understand_depth",
    "understand_mask",
    "writable",
    "write_depth",
    "write_graphml",
    "write_image",
    "write_labels",
    "write_mesh",
    "write_points",
    "write_tables",
    "writer",
]
