"""Which way a normal map's axes point, decided by evidence.

The candidates are the sixteen signed permutations that keep z apart: x and y may be exchanged, each axis may
be reversed. Five kinds of evidence are asked in turn, and each removes candidates that are clearly worse than
the best:

1. *facing*: a visible surface has n·ray < 0. Fixes z, and with a wide perspective view often everything else.
2. *integrability*: the jumps of the potential, summed around loops of pixels, are zero for a surface.
   Separates single reversals and exchanges. Reversing x and y together turns a relief inside out and leaves
   the sums nearly as they were.
3. *silhouette*: at the border of the mask normals point out of it.
4. *perspective*: it makes even the inside-out twin not integrable, though weakly, so it has to be clear to count.
5. *limbs*: where a steep surface ends at a jump of the normal inside the image, the normal mostly points
   across it.

An object without silhouette and limbs (a texture, a relief that fills the frame) cannot be told from its inside-out
twin under an orthographic camera. Where the evidence leaves several frames, those that have a name are preferred: the
twin of "opengl" is used by nobody. If more than one of them is left, `FrameEvidence.frame` is None, and `require`
raises with the scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

import numpy as np

from ..geometry.camera import Camera, as_camera
from ..geometry.frames import FRAMES, frame_axes, frame_name
from .evidence import NormalSample, by_limbs, by_loops, by_silhouette, change_axes

MAX_AWAY = 0.35  # of the pixels may face away in the best frame (a perspective map read as orthographic)
AWAY_MARGIN = 0.01


@dataclass(frozen=True)
class FrameScore:
    """Evidence on one candidate: share facing away, loop residual, silhouette, limbs; NaN = not asked."""

    away: float
    residual: float = np.nan
    outward: float = np.nan
    limbs: float = np.nan


@dataclass(frozen=True)
class FrameEvidence:
    """What is known of a normal map's frame.

    Attributes
    ----------
    frame : str or None
        Name from `FRAMES`, or the directions of x, y, z such as ``"up,right,viewer"``; None when undecided.
    scores : dict
        `FrameScore` of each candidate that was looked at, by name.
    reason : str
        One line: what decided, or why nothing could.
    possible : tuple of str
        The frames that the evidence leaves, usual or not; empty if there was none.
    """

    frame: str | None
    scores: dict[str, FrameScore] = field(repr=False)
    reason: str
    possible: tuple[str, ...] = ()

    def require(self) -> str:
        """The frame, or ValueError with the scores and the flag to pass."""
        if self.frame is None:
            names = _some(self.possible or FRAMES)
            raise ValueError(f"frame: {self.reason}; pass --frame with one of {names} [{self.table()}]")
        return self.frame

    def table(self, limit: int = 4) -> str:
        """The best candidates and their scores, on one line."""
        ranked = sorted(self.scores.items(), key=lambda item: (round(item[1].away, 2), item[1].residual))
        parts = []
        for name, score in ranked[:limit]:
            values = {
                "away": score.away,
                "residual": score.residual,
                "outward": score.outward,
                "limbs": score.limbs,
            }
            parts.append(name + ": " + " ".join(f"{k} {v:.3g}" for k, v in values.items() if not np.isnan(v)))
        return "; ".join(parts)


def to_opencv(normals: np.ndarray, frame: str) -> np.ndarray:
    """Normals of any frame in the OpenCV frame: a way in for frames that have no name."""
    return change_axes(np.asarray(normals), frame_axes(frame))


def candidates() -> list[str]:
    """All sixteen frames, the named ones first."""
    names = list(FRAMES)
    for swap, signs in product((False, True), product((1.0, -1.0), repeat=3)):
        axes = np.diag(signs)
        name = frame_name(axes[:, [1, 0, 2]] if swap else axes)
        if name not in names:
            names.append(name)
    return names


def detect_frame(
    normals: np.ndarray,
    mask: np.ndarray | None = None,
    camera: Camera | np.ndarray | None = None,
    *,
    frames: Iterable[str] | None = None,
    sample: NormalSample | None = None,
    away_margin: float = AWAY_MARGIN,
) -> FrameEvidence:
    """Find the frame of a normal map from the map itself; the text of the module says how.

    Parameters
    ----------
    normals : (H, W, 3) array
    mask : (H, W) array, optional
    camera : Camera or 3×3 matrix, optional
    frames : names, optional
        The candidates, by default all sixteen.
    sample : NormalSample, optional
        The pixels to look at, instead of a sample of all of them.
    away_margin : float
        A frame is ruled out by facing if more than twice the share of the best frame, and this, face away.

    Examples
    --------
    >>> from quotientgraph import scenes
    >>> ball = scenes.make("sphere", shape=(60, 80))
    >>> detect_frame(ball.normals, ball.mask, ball.camera).frame
    'opencv'
    """
    sample = NormalSample.from_map(normals, mask, as_camera(camera)) if sample is None else sample
    if sample.valid.sum() < 16:
        return FrameEvidence(None, {}, "too few normals to judge")
    left = {name: frame_axes(name) for name in (candidates() if frames is None else frames)}
    scores = {name: FrameScore(sample.away(axes)) for name, axes in left.items()}
    best = min(score.away for score in scores.values())
    if best > MAX_AWAY:
        return FrameEvidence(None, scores, f"{best:.0%} of the normals face away from the camera in every frame")
    left = {name: axes for name, axes in left.items() if scores[name].away <= 2 * best + away_margin}
    why = ["facing"]
    for kind, score, ask in (
        ("integrability", "residual", by_loops),
        ("silhouette", "outward", by_silhouette),
        ("perspective", "residual", partial(by_loops, twins=True)),
        ("limbs", "limbs", by_limbs),
    ):
        if sample.same(left):
            break
        kept, values = ask(sample, left)
        for name, value in values.items():
            scores[name] = replace(scores[name], **{score: value})
        if len(kept) < len(left):
            why.append(kind)
            left = {name: left[name] for name in kept}
    possible = tuple(left)
    if sample.same(left):
        return FrameEvidence(possible[0], scores, f"decided by {', '.join(why)}", possible)
    usual = {name: axes for name, axes in left.items() if name in FRAMES}
    if usual and sample.same(usual):
        reason = f"decided by {', '.join(why)}; it is more usual than {_some(set(left) - set(usual))}"
        return FrameEvidence(next(iter(usual)), scores, reason, possible)
    return FrameEvidence(None, scores, f"the evidence does not separate {_some(usual or left, ' from ')}", possible)


def _some(names: Iterable[str], between: str = ", ") -> str:
    names = sorted(names, key=lambda name: (name not in FRAMES, name))
    return between.join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
