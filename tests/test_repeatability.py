"""The same input gives the same bytes in every process and on any threads, and a flipped one the flipped surface."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from quotientgraph import Pinhole, RayMap, integrate, scenes

CODE = """
import hashlib
from quotientgraph import integrate, scenes
for name in ("sphere", "boxes"):
    scene = scenes.make(name, shape=(96, 120))
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv")
    print(name, hashlib.sha256(result.depth.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_compiled_now_or_before_on_one_thread_or_two(tmp_path):
    """A kernel may not come out differently when it is inlined elsewhere: its arithmetic has one order."""

    def run(**environment):
        cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", CODE], env={**os.environ, **cache, **environment}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    fresh = run()
    assert run() == fresh
    assert run(NUMBA_NUM_THREADS="1") == fresh


EVERYWHERE = """
import gc, hashlib, json, multiprocessing, os
from concurrent.futures import ThreadPoolExecutor
from laplacians.core.jit import Kernel
from quotientgraph import integrate, scenes
from quotientgraph.integration import METHODS
made = {name: scenes.make(name, shape=(96, 120)) for name in ("sphere", "boxes")}
cases = [(name, method) for name in made for method in METHODS]

def run(case):
    scene = made[case[0]]
    result = integrate(scene.normals, scene.mask, scene.camera, "opencv", method=case[1])
    return hashlib.sha256(result.depth.tobytes()).hexdigest()

found = {"serial kernels": [run(case) for case in cases]}
for kernel in gc.get_objects():
    if isinstance(kernel, Kernel):
        kernel.parallel_from = 0  # a map this small would not use them
found["parallel kernels"] = [run(case) for case in cases]
if os.environ["NUMBA_NUM_THREADS"] == "4":
    with ThreadPoolExecutor(4) as pool:
        found["at once"] = list(pool.map(run, cases))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found["in children"] = pool.map_async(run, cases).get(500)
print(json.dumps([cases, found]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_every_method_on_any_threads_at_once_and_after_a_fork(tmp_path):
    """Serial and parallel forms of all kernels, on 1, 2 and 4 threads, at once, and in forked children of such a process."""
    script = tmp_path / "script.py"
    script.write_text(EVERYWHERE)
    found, cases = {}, []
    for n_threads in ("4", "2", "1"):
        threads = {"NUMBA_NUM_THREADS": n_threads, "OMP_NUM_THREADS": n_threads, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, str(script)]
        done = subprocess.run(command, env={**os.environ, **threads}, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
        cases, bits = json.loads(done.stdout)
        found |= {f"{way}, {n_threads} threads": these for way, these in bits.items()}
    usual = found["serial kernels, 1 threads"]
    different = [(way, case) for way in found for case, a, b in zip(cases, found[way], usual, strict=True) if a != b]
    assert different == []


# The eight symmetries of a picture: whether it is transposed at last, and flipped in rows and in columns before.
SYMMETRIES = {
    "mirrored": (False, False, True),
    "upside down": (False, True, False),
    "turned": (False, True, True),
    "transposed": (True, False, False),
    "turned right": (True, True, False),
    "turned left": (True, False, True),
    "transposed the other way": (True, True, True),
}


def flipped(image, how):
    transposed, rows, columns = SYMMETRIES[how]
    image = image[:: -1 if rows else 1, :: -1 if columns else 1]
    return image.swapaxes(0, 1) if transposed else image


def flipped_back(image, how):
    transposed, rows, columns = SYMMETRIES[how]
    image = image.swapaxes(0, 1) if transposed else image
    return image[:: -1 if rows else 1, :: -1 if columns else 1]


def flipped_vectors(vectors, how):
    """Vectors at their new places and in their new directions."""
    transposed, rows, columns = SYMMETRIES[how]
    out = flipped(vectors, how) * [-1 if columns else 1, -1 if rows else 1, 1]
    return out[..., [1, 0, 2]] if transposed else out


def flipped_camera(camera, shape, how):
    if not camera.central:
        return camera
    if isinstance(camera, RayMap):
        return RayMap(flipped_vectors(camera.directions, how))
    transposed, rows, columns = SYMMETRIES[how]
    cx = shape[1] - 1 - camera.cx if columns else camera.cx
    cy = shape[0] - 1 - camera.cy if rows else camera.cy
    return Pinhole(camera.fy, camera.fx, cy, cx) if transposed else Pinhole(camera.fx, camera.fy, cx, cy)


def distance(a, b, central):
    """Median difference of two depth maps: of the logarithm, or as a part of the range."""
    assert np.array_equal(np.isfinite(a), np.isfinite(b))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    apart = np.log(a / b) if central else (a - b) / np.ptp(b)
    return np.median(np.abs(apart - np.median(apart)))


def check_flips(scene, symmetries, **settings):
    depth = integrate(scene.normals, scene.mask, scene.camera, "opencv", check=False, **settings).depth
    for how in symmetries:
        normals, mask = flipped_vectors(scene.normals, how), flipped(scene.mask, how)
        view = flipped_camera(scene.camera, scene.shape, how)
        other = integrate(normals, mask, view, "opencv", check=False, **settings).depth
        assert distance(flipped_back(other, how), depth, scene.camera.central) < 1e-6, how


@pytest.mark.parametrize("camera", ["perspective", "orthographic"])
@pytest.mark.parametrize("name", ["boxes", "bumps", "occlusions", "room", "sphere", "spheres", "stairs", "torus"])
@pytest.mark.parametrize("joining", ["none", "certain"])
def test_a_flipped_map_gives_the_flipped_surface(name, camera, joining):
    """To a millionth, on clean maps of two sizes; nothing prefers left to right, or rows to columns."""
    check_flips(scenes.make(name, shape=(96, 120), camera=camera), list(SYMMETRIES)[:4], joining=joining)
    check_flips(scenes.make(name, shape=(77, 61), camera=camera), list(SYMMETRIES)[1:6:2], joining=joining)


@pytest.mark.parametrize("kind", scenes.KINDS)
def test_all_symmetries_of_random_scenes(kind):
    """Rooms, streets, heaps and shelves, whose components are joined by their borders.

    After so many iterations: rounding may end the reweighting an iteration sooner or later, which moves some depths by 1e-4.
    """
    check_flips(scenes.random(kind, 0, shape=(90, 120)), SYMMETRIES, max_iterations=5)


@pytest.mark.parametrize("how", SYMMETRIES)
@pytest.mark.parametrize("name", ["room", "sphere"])
@pytest.mark.parametrize("joining", ["none", "certain"])
def test_mirrored_rays_give_the_same_surface(name, how, joining):
    """Rays may fall along rows and columns, as a mirror makes them; the normals stay as they are."""
    scene = scenes.make(name, shape=(64, 80))
    rays = scene.camera.rays(scene.shape)
    depth = integrate(scene.normals, scene.mask, RayMap(rays), "opencv", joining=joining).depth
    given = (flipped(values, how) for values in (scene.normals, scene.mask, rays))
    normals, mask, view = given
    result = integrate(normals, mask, RayMap(view), "opencv", joining=joining)
    assert distance(flipped_back(result.depth, how), depth, True) < 1e-6
    assert np.ptp(result.depth[np.isfinite(result.depth)]) > 0.1
