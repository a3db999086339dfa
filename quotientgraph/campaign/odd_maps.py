"""Odd normal maps with random options: a surface that is finite, or an error that says what is wrong."""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import numpy as np

from .trial import Attack, Outcome, in_child

_BATCH = 500
_METHODS = ("components",) * 6 + ("pixels", "logdepth", "logdepth-d", "bini", "poisson", "fft")


def _odd_normals(random: np.random.Generator) -> np.ndarray:
    kind = random.integers(0, 10)
    longest = 18 if random.random() < 0.85 else 70
    height, width = (int(n) for n in random.integers(*((20, 70) if kind == 9 else (1, longest)), 2))
    shape = (height, width)
    v, u = np.indices(shape)
    n = np.zeros((*shape, 3))
    n[..., 2] = 1
    if kind == 1:
        n = np.array([0, 0, 2]) + random.normal(size=(*shape, 3))
    elif kind == 2:
        n[..., :2] = random.normal(size=2)
    elif kind == 3:  # a ball
        n[..., 0], n[..., 1] = (u - width / 2) / (width + 1), (height / 2 - v) / (height + 1)
    elif kind == 4:  # steps
        n[..., 0] = np.where(u % 4 < 2, 0.7, -0.7)
    elif kind == 5:  # seen edge on
        n[..., 2] = 10.0 ** random.integers(-12, 0)
        n[..., 0] = 1
    elif kind == 6:
        n = n * 10.0 ** random.integers(-8, 8)
    elif kind == 7:
        n = random.normal(size=(*shape, 3))
    elif kind == 8:
        n[..., :2] = 0.3 * np.stack([np.cos(u / 2), np.sin(v / 3)], axis=-1)
    elif kind == 9:  # flat faces, which are joined by their borders
        n = (np.array([0, 0, 2]) + random.normal(size=(12, 3)))[_patches(random, shape)]
    if random.random() < 0.4:
        n[random.random(shape) < 0.2] = random.choice([np.nan, 0.0, np.inf, -1.0])
    return n


def _patches(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """(H, W) numbers below 12 of polygons, discs or noise."""
    v, u = np.indices(shape)
    kind = random.integers(0, 3)
    if kind == 2:
        return random.integers(0, 12, shape)
    at = random.uniform(0, max(shape), (2, int(random.integers(1, 12))))
    away = np.hypot(v[..., None] - at[0], u[..., None] - at[1])
    return np.argmin(away, axis=-1) if kind == 0 else np.minimum(away.min(axis=-1) / 5, 11).astype(int)


def _odd_camera(random: np.random.Generator, shape: tuple[int, int]) -> Any:
    from ..geometry.camera import Orthographic, Pinhole, RayMap

    kind = random.integers(0, 10)
    if kind == 0:
        return None
    if kind == 8:
        return RayMap.equirectangular(shape)
    if kind == 9:
        west, south = float(random.uniform(-180, 90)), float(random.uniform(-90, 0))
        return RayMap.equirectangular(shape, (west, west + float(random.uniform(1, 360))), (south, 80.0))
    if kind == 1:
        return Orthographic(10.0 ** random.integers(-6, 6))
    if kind == 2:
        return Pinhole.from_fov(float(random.uniform(1, 175)), shape)
    if kind == 3:
        return Pinhole(*(10.0 ** random.uniform(-1, 4, 2)), *random.uniform(-50, 50, 2))
    if kind == 4:
        return RayMap.fisheye(float(random.uniform(5, 360)), shape)
    rays = Pinhole.from_fov(60, shape).rays(shape)
    if kind == 5:  # mirrored
        return RayMap(rays[:, ::-1] if random.random() < 0.5 else rays[::-1])
    if kind == 6:
        return RayMap(rays + random.normal(0, 0.05, rays.shape))
    rays = rays * 10.0 ** random.integers(-200, 200)
    rays[random.random(shape) < 0.3] = np.nan
    return RayMap(rays)


_CHOICES: dict[str, list[Any]] = {
    "angle": ["auto", None, 0.1, 3.5, 30.0, 179.0],
    "connectivity": [4, 8],
    "preset": ["best", "paper"],
    "reweighting": ["soft", "hard", "none"],
    "thresholds": ["natural", "absolute"],
    "filling": ["contracted", "induced"],
    "creases": ["anywhere", "midway"],
    "joining": ["certain", "none"],
    "sharpening": ["edges", "none"],
    "straightening": ["smooth", "none"],
    "axes": ["shared", "none"],
    "wrap": ["auto", "none", "x", "y", "both"],
    "slope": ["remove", "keep", "steps"],
    "check": [True, False],
    "merge_every": [1, 2, 5],
    "max_iterations": [1, 3, 20],
    "energy_tol": [1e-12, 1e-3, 0.5],
    "lower": [1e-9, 1e-6],
    "upper": [2e-6, 1e-2, 10.0],
    "solver": ["auto", "direct", "scipy", "multigrid", "numba", "pyamg"],
    "fill_solver": ["auto", "direct", "scipy", "multigrid", "numba"],
    "prior_kind": ["auto", "depth", "disparity", "affine", "affine-disparity"],
    "prior_weight": [1e-3, 1.0, 1e3],
    "rtol": [1e-8, 1e-3],
}


_OF_GRAPHS = ("angle", "connectivity", "wrap", "slope", "check", "forbidden")
_LARGE = ("prior", "prior_confidence", "labels", "image", "forbidden")


def _options(random: np.random.Generator, shape: tuple[int, int]) -> dict[str, Any]:
    from laplacians import available

    from ..integration import keywords_of

    method = str(random.choice(_METHODS))
    frame = str(random.choice(["opengl", "opencv", "dsine", "directx"], p=[0.7, 0.1, 0.1, 0.1]))
    options: dict[str, Any] = {}
    for name, values in _CHOICES.items():
        if random.random() < 0.3:
            options[name] = values[random.integers(len(values))]
    for name in ("solver", "fill_solver"):
        if options.get(name) not in (None, *available()):
            del options[name]
    if random.random() < 0.25:
        options["prior"] = _odd_prior(random, shape)
        if random.random() < 0.3:
            options["prior_confidence"] = random.random(shape) * random.integers(0, 2, shape)
    elif random.random() < 0.97:  # what is about a prior is refused without one
        options = {name: value for name, value in options.items() if not name.startswith("prior")}
    if random.random() < 0.15:
        options["labels"] = _patches(random, shape) - int(random.integers(0, 3))
    if random.random() < 0.1:
        options["image"] = random.random((12, 3))[_patches(random, shape)]
    if random.random() < 0.1:
        options["forbidden"] = random.random(shape) < 0.1
    if random.random() < 0.15:
        places = [
            (int(random.integers(shape[1])), int(random.integers(shape[0]))) for _ in range(random.integers(1, 4))
        ]
        options["anchors"] = [(*place, float(random.uniform(0.1, 9))) for place in places]
    options.setdefault("max_iterations", 30)
    # What a method does not take is refused at once, so that most cases leave it out.
    taken = (*keywords_of(method), *_OF_GRAPHS)
    if method == "components":
        taken = (*taken, "labels", "image")
    if random.random() < 0.97:
        options = {name: value for name, value in options.items() if name in taken}
    return {"frame": frame, "method": method, **options}


def _odd_prior(random: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    prior = random.uniform(0.5, 3, shape)
    kind = random.integers(0, 4)
    if kind == 1:
        prior[random.random(shape) < 0.9] = np.nan
    elif kind == 2:
        prior[:] = prior[0, 0]
    elif kind == 3:
        prior *= 10.0 ** random.integers(-9, 9)
    return prior


def _verdict(result: Any) -> str | None:
    depth = result.depth
    if np.isinf(depth).any():
        return "the depth is infinite somewhere"
    if not np.array_equal(np.isfinite(depth), result.graph.pixels.map.index >= 0):
        return "the depth is not finite at valid pixels"
    if result.graph.pixels.map.camera.central and (depth[np.isfinite(depth)] <= 0).any():
        return "a depth of a central camera is not positive"
    return None


def cases(report: Any, start: int, count: int, seed: int) -> None:
    """Integrate odd maps; runs in a child."""
    import logging

    import laplacians

    from ..integration import integrate

    logging.disable(logging.CRITICAL)
    failures = laplacians.SolverError
    for case in range(start, start + count):
        random = np.random.default_rng([seed, case])
        normals = _odd_normals(random)
        shape = (normals.shape[0], normals.shape[1])
        mask = random.random(shape) < random.choice([0.3, 0.8, 1.0]) if random.random() < 0.5 else None
        options = _options(random, shape)
        known = {key: True if key in _LARGE else value for key, value in options.items()}
        report.begin(json.dumps({"case": case, "seed": seed, "shape": shape, **known}))
        failure = None
        try:
            camera = _odd_camera(random, shape)
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                failure = _verdict(integrate(normals, mask, camera, **options))
        except (ValueError, failures) as error:
            failure = None if str(error) else "an error without a text"
        except TypeError as error:  # a peer does not know every setting
            failure = None if "unexpected keyword" in str(error) else f"TypeError: {error}"
        except BaseException as error:
            failure = f"{type(error).__name__}: {error}"
        report.end(failure)


def _run(n_cases: int, seed: int, deadline: float) -> Outcome:
    outcome, start = Outcome(), 0
    while start < n_cases and time.monotonic() < deadline:
        count = min(_BATCH, n_cases - start)
        # Compiled code reads past the end of an array in silence, most of the time. So in a fifth of the cases the kernels
        # check every index, and fresh memory is filled with rubbish, which shows where it is used before it is written.
        strict = start // _BATCH % 5 == 4
        environment = {"NUMBA_BOUNDSCHECK": "1", "MALLOC_PERTURB_": "165"} if strict else {}
        arguments = {"start": start, "count": count, "seed": seed}
        found = in_child("odd_maps:cases", arguments, deadline, {"PYTHONFAULTHANDLER": "1", **environment})
        outcome.merge(found)
        start += max(found.tried, 1)
    return outcome


ATTACKS = [
    Attack(
        "odd maps and options",
        "Any map with any options gives a finite surface, or an error that says why not.",
        5_200,
        _run,
    )
]
