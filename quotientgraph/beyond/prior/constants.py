"""Constants of the placement of surfaces by a depth prior, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Constants:
    """Chosen on three real views: a living room, a bathroom and a car.

    `adopted`, `expelled` and `unmeasured` were chosen on the DiLiGenT objects buddha, cat and goblet.

    Errors are relative for central cameras, and parts of the range of the prior for orthographic ones.
    """

    bend_size: float = 0.03  # expected smooth error of the prior
    bend_length: float = 0.4  # distance over which it changes, in image widths
    bend_steps: int = 8  # grid intervals of its splines over the longer side of the image
    cell_error: float = 0.005  # error of the prior that neighbouring cells do not share, beside noise
    part_error: float = 0.005  # error of the prior that one component has as a whole
    side_error: float = 0.004  # error of the comparison of the two sides of a border, beside noise
    group_error: float = 0.012  # error of the comparison of two whole groups
    body_error: float = 0.012  # the same of parts of a body, and even if the prior seems to be precise
    span: float = 0.3  # range of the offsets at tears
    wrong: float = 0.001  # probability that the prior is wrong about a pair altogether
    tolerance: float = 0.15  # pixels by which an edge may miss the offset of its contact
    vote: float = 0.06  # log-odds for contact of a unit of evidence that agrees
    most: float = 5.0  # log-odds that all votes of a border can give: a border may fit by chance as a whole
    objection: float = 0.008  # log-odds against contact of a unit of evidence that does not agree
    blurring: float = 0.5  # part of the change by blur that a blurred cell may be off
    fit: float = 0.5  # pixels of gap up to which components of a given reconstruction touch
    reliable: float = 0.01  # mean deviation from the prior up to which a given reconstruction is used at all
    vague: float = 0.002  # deviation above which the place of a component is too uncertain to be compared
    adopted: float = 2.75  # deviations up to which the prior does not object to two components that touch in it
    known: float = 0.015  # deviation up to which a group has a place of its own
    unblurred: float = 0.3  # part of the change by blur that is still wrong after it was taken out
    unmeasured: float = 0.65  # the same where the prior does not show its blur, and none was taken out
    expelled: float = 4.5  # deviations beyond which a component leaves its group
    least_points: float = 5.0  # of a sparse prior, in a component that leaves its group
    outlier: float = 3.0  # deviations beyond which a cell counts for less
    rounds: tuple[float, ...] = (6.0, 5.0, 4.0, 3.0)  # log-odds above which pairs are joined


CHOSEN = Constants()
