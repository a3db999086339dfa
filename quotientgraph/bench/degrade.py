"""Normal maps as they come in practice: stored in few bits, noisy, blurred, or off by a smooth error, as networks make it.

A degradation is a short text, so that it can stand in the name of a case and in the journal: ``""`` for exact normals,
``"bits=8"``, ``"noise=1"`` (degrees), ``"blur=1"`` (pixels), or a smooth error of the two kinds of `Scene.with_bias`,
``"bias=3"`` and ``"turn=3"`` (degrees).
"""

from __future__ import annotations

from ..scenes import Scene

# What the table of unseen scenes goes through, under the names that it prints.
DEGRADATIONS: dict[str, str] = {
    "clean": "",
    "8 bit": "bits=8",
    "0.5°": "noise=0.5",
    "1°": "noise=1",
    "2°": "noise=2",
    "blur 1 px": "blur=1",
    "bias 3°": "bias=3",
    "turn 3°": "turn=3",
}


def degraded(scene: Scene, degradation: str, seed: int = 0) -> Scene:
    """Return a scene with worse normals; depth, mask and camera stay as they are.

    Parameters
    ----------
    scene : Scene
    degradation : str
        "", "bits=N", "noise=DEGREES", "blur=PIXELS", "bias=DEGREES" or "turn=DEGREES".
    seed : int
        Chooses the noise or the smooth error.

    Returns
    -------
    Scene

    Examples
    --------
    >>> from quotientgraph import scenes
    >>> plane = scenes.make("plane", shape=(8, 9))
    >>> degraded(plane, "noise=1").depth is plane.depth
    True
    """
    if not degradation:
        return scene
    name, _, amount = degradation.partition("=")
    if name == "bits":
        return scene.quantised(int(amount))
    if name == "noise":
        return scene.with_noise(float(amount), seed)
    if name == "blur":
        return scene.blurred(float(amount))
    if name in ("bias", "turn"):
        return scene.with_bias(float(amount), seed, "turn" if name == "turn" else "pull")
    raise ValueError(
        f"degradation={degradation!r} is not known; use bits=N, noise=DEGREES, blur=PIXELS, bias=DEGREES or turn=DEGREES"
    )
