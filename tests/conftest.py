"""Tiny named scenes with exact normals and depth, and the benchmark data where there is any."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path
from typing import NamedTuple

import hypothesis
import numpy as np
import pytest

from quotientgraph import Camera, Orthographic, Pinhole, scenes

ROOT = Path(__file__).resolve().parents[1]
if "PYTEST_XDIST_WORKER" in os.environ:  # the workers share the cores already
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
# Programs that a test starts import the same files as the test itself.
_PATHS = [str(ROOT), str(ROOT / "solvers"), os.environ.get("PYTHONPATH", "")]
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, _PATHS))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as for jobs in the background; programs would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples in every run, and no time limits: whether a test passes depends on the code alone.
hypothesis.settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("repeatable")


def pytest_addoption(parser):
    """``pytest --slow`` runs everything."""
    parser.addoption("--slow", action="store_true", help="run the tests marked as slow, too")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the tests that ask for the benchmark data, and leave out slow tests that nobody asked for."""
    for item in items:
        if "data_dir" in getattr(item, "fixturenames", ()):
            item.add_marker("data")
    if not config.getoption("--slow") and "slow" not in config.option.markexpr:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in set(slow)]


class Toy(NamedTuple):
    """Normals in the OpenCV frame, mask, depth (NaN outside the mask) and the camera that saw them."""

    normals: np.ndarray
    mask: np.ndarray
    depth: np.ndarray
    camera: Camera

    @property
    def arguments(self) -> dict:
        """Keywords for `integrate` and `QuotientGraph.from_normals`."""
        return {"normals": self.normals, "mask": self.mask, "camera": self.camera, "frame": "opencv"}


def _plane(shape=(24, 32), camera=None, normal=(0.3, -0.5, -0.8), mask=None) -> Toy:
    """A tilted plane: n·X = −5 for a central camera, z = −(n_x u + n_y v)/n_z + 5 for an orthographic one."""
    camera = Pinhole.from_fov(40, shape) if camera is None else camera
    n = np.array(normal) / np.linalg.norm(normal)
    if camera.central:
        depth = -5 / (camera.rays(shape) @ n)
    else:
        v, u = np.indices(shape)
        depth = camera.pixel_size * (5 - (n[0] * u + n[1] * v) / n[2])
    mask = np.ones(shape, dtype=bool) if mask is None else mask
    return Toy(np.tile(n, (*shape, 1)), mask, np.where(mask, depth, np.nan), camera)


def _sphere(shape=(40, 48)) -> Toy:
    """A ball of radius 1.2 before a pinhole, seen up to 60° off its front."""
    camera = Pinhole.from_fov(35, shape)
    rays = camera.rays(shape)
    centre = np.array([0.05, -0.1, 5.0])
    along, square = rays @ centre, np.sum(rays**2, axis=-1)
    root = along**2 - square * (centre @ centre - 1.2**2)
    depth = (along - np.sqrt(np.where(root > 0, root, np.nan))) / square
    normals = (rays * depth[..., None] - centre) / 1.2
    facing = np.sum(normals * rays, axis=-1) / np.sqrt(square)
    mask = facing < -0.5
    return Toy(np.where(mask[..., None], normals, np.nan), mask, np.where(mask, depth, np.nan), camera)


def _step(shape=(20, 30)) -> Toy:
    """Two planes that touch at the top of the image; the step between them grows downwards."""
    v, u = np.indices(shape)
    right = u >= shape[1] // 2
    normals = np.where(right[..., None], [0.0, 0.6, -0.8], [0.0, 0.0, -1.0])
    return Toy(normals, np.ones(shape, dtype=bool), np.where(right, 0.75 * (v - 1.0), 0.0), Orthographic())


def _disconnected() -> Toy:
    """Three islands of one plane: two blocks and a single pixel."""
    mask = np.zeros((16, 20), dtype=bool)
    mask[2:9, 1:8] = mask[3:14, 11:19] = mask[13, 2] = True
    return _plane((16, 20), mask=mask)


def _one(shape) -> Toy:
    return _plane(shape, Pinhole(30, 30, shape[1] / 2, shape[0] / 2))


_TOYS = {
    "plane": _plane,
    "plane_orthographic": lambda: _plane(camera=Orthographic(0.25)),
    "sphere": _sphere,
    "step": _step,
    "disconnected": _disconnected,
    "single_pixel": lambda: _one((1, 1)),
    "one_row": lambda: _one((1, 17)),
    "one_column": lambda: _one((13, 1)),
    "empty": lambda: _plane((6, 7), mask=np.zeros((6, 7), dtype=bool)),
}


@pytest.fixture
def toy():
    """``toy(name)``: one of the tiny named scenes."""
    return lambda name: _TOYS[name]()


@pytest.fixture
def plane_of():
    """``plane_of(shape, camera, normal, mask)``: a plane with exact depth."""
    return _plane


@pytest.fixture(params=["plane", "plane_orthographic", "sphere", "step", "disconnected", "single_pixel", "one_row"])
def any_toy(request):
    """Each valid tiny scene in turn."""
    return _TOYS[request.param]()


@pytest.fixture
def leaking():
    """Boxes on a floor of which some `rows` by 48 pixels bend away little by little, as where a component leaks."""

    def make(rows, noise=0.0):
        scene = scenes.make("boxes", shape=(120, 160))
        normals, turn = scene.normals.copy(), np.radians(1.25 * np.arange(48))
        y, z = scene.normals[-rows:, :48, 1:].transpose(2, 0, 1)
        normals[-rows:, :48, 1] = y * np.cos(turn) - z * np.sin(turn)
        normals[-rows:, :48, 2] = y * np.sin(turn) + z * np.cos(turn)
        return dataclasses.replace(scene, normals=normals).with_noise(noise)

    return make


@pytest.fixture
def noisy_graph():
    """``noisy_graph(seed, shape, hole, angle)``: Q0 of random smooth normals with random holes, orthographic."""
    from quotientgraph import QuotientGraph

    def make(seed=0, shape=(9, 11), hole=0.2, angle=12.0, connectivity=8):
        random = np.random.default_rng(seed)
        slope = np.cumsum(random.normal(0, 0.12, (*shape, 2)), axis=1)
        normals = np.concatenate([slope, -np.ones((*shape, 1))], axis=-1)
        mask = random.random(shape) >= hole
        mask[shape[0] // 2, shape[1] // 2] = True
        return QuotientGraph.from_normals(normals, mask, frame="opencv", angle=angle, connectivity=connectivity)

    return make


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark data: $QUOTIENTGRAPH_DATA, or ../shared/data beside the project."""
    folder = Path(os.environ.get("QUOTIENTGRAPH_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "diligent").is_dir():
        pytest.skip(f"no benchmark data at {folder}; set QUOTIENTGRAPH_DATA to the folder that holds diligent/")
    return folder
