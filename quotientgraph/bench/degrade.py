"""Normal maps as they come in practice: stored in few bits, noisy, or off by a smooth error, as networks make it.

A degradation is a short text, so that it can stand in the name of a case and in the journal: ``""`` for exact normals,
``"bits=8"``, ``"noise=1"`` (degrees) or ``"bias=3"`` (degrees).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..scenes import Scene

# What the table of unseen scenes goes through, under the names that it prints.
DEGRADATIONS: dict[str, str] = {
    "clean": "",
    "8 bit": "bits=8",
    "0.5°": "noise=0.5",
    "1°": "noise=1",
    "2°": "noise=2",
    "bias 3°": "bias=3",
}
_WAVES = 3  # a smooth error has at most so many half waves along each side of the image


def degraded(scene: Scene, degradation: str, seed: int = 0) -> Scene:
    """Return a scene with worse normals; depth, mask and camera stay as they are.

    Parameters
    ----------
    scene : Scene
    degradation : str
        "", "bits=N", "noise=DEGREES" or "bias=DEGREES".
    seed : int
        Chooses the noise or the smooth error.

    Returns
    -------
    Scene

    Examples
    --------
    >>> from quotientgraph import scenes
    >>> plane = scenes.make("plane", shape=(8, 9))
    >>> bool(np.all(degraded(plane, "noise=1").depth == plane.depth))
    True
    """
    if not degradation:
        return scene
    name, _, amount = degradation.partition("=")
    if name == "bits":
        return scene.quantised(int(amount))
    if name == "noise":
        return scene.with_noise(float(amount), seed)
    if name == "bias":
        return _biased(scene, float(amount), seed)
    raise ValueError(f"degradation={degradation!r} is not known; use bits=N, noise=DEGREES or bias=DEGREES")


def _biased(scene: Scene, degrees: float, seed: int) -> Scene:
    """Turn all normals by a smooth field of rotations whose angle is `degrees` in the root mean square over the mask."""
    height, width = scene.mask.shape
    random = np.random.default_rng(seed)
    amplitude = random.normal(size=(3, _WAVES + 1, _WAVES + 1))
    phase = random.uniform(0, 2 * np.pi, size=(2, 3, _WAVES + 1, _WAVES + 1))
    v, u = np.linspace(0, np.pi, height), np.linspace(0, np.pi, width)
    turn = np.zeros((height, width, 3))
    for axis in range(3):
        for k in range(_WAVES + 1):
            for m in range(_WAVES + 1):
                across = np.cos(m * u + phase[1, axis, k, m])
                down = np.cos(k * v + phase[0, axis, k, m])
                turn[..., axis] += amplitude[axis, k, m] * down[:, None] * across
    # A rotation about the normal itself changes nothing, so only the rest of it counts for its size.
    tilt = np.cross(turn, scene.normals)
    size = float(np.sqrt(np.mean(np.sum(tilt[scene.mask] ** 2, axis=-1))))
    angle = np.linalg.norm(tilt, axis=-1, keepdims=True) * (np.radians(degrees) / max(size, 1e-300))
    direction = tilt / np.maximum(np.linalg.norm(tilt, axis=-1, keepdims=True), 1e-300)
    normals = np.cos(angle) * scene.normals + np.sin(angle) * direction
    return replace(
        scene, normals=normals, description=f"{scene.description}; smooth error of {degrees:g}°, seed {seed}"
    )
