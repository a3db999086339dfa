"""Textures in tiles that are one surface without any jump, judged as `quotientgraph.method.torus` judges them in memory.

Fourier transforms run along rows and along columns, so tasks have strips of whole rows and of whole columns of the spectrum
here, as many pixels each as a tile has.
"""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import scipy

from ..method.torus import derivatives, explains, project_spectrum, stated_slopes
from .nearest import NEAREST, share, strip
from .run import Run
from .slope import has_all_normals
from .window import Job, normal_map
from .work import Written

_ROWS, _COLUMNS = "spectrum.rows", "spectrum.columns"


def transform_rows(job: Job, k: int) -> Written:
    """Write the spectra along the rows of a strip, of the slopes to the right and downwards: (2, rows, columns)."""
    spectra = [scipy.fft.rfft(values, axis=1) for values in _stated(job, k)]
    return job.work.write(_ROWS, k, np.stack(spectra) if spectra else np.zeros((2, 0, _n_columns(job)), complex))


def transform_columns(job: Job, k: int) -> Written:
    """Write the same of the nearest surface, and of itself, from whole columns of the spectrum: (3, rows, columns)."""
    first, last = share(_n_columns(job), job.tiling.n_tiles, k)
    p, q = np.concatenate([read[:, :, first:last] for read in _strips(job, _ROWS)], axis=1)
    u, v = derivatives(job.tiling.shape)
    u = u[:, first:last]
    surface = project_spectrum(scipy.fft.fft(p, axis=0), scipy.fft.fft(q, axis=0), u, v)
    for c in {0, _n_columns(job) - 1} if job.tiling.shape[1] % 2 == 0 else {0}:
        if first <= c < last:  # the surface is real, and so are these columns before they are transformed
            surface[:, c - first] = scipy.fft.fft(scipy.fft.ifft(surface[:, c - first]).real)
    return job.work.write(_COLUMNS, k, scipy.fft.ifft(np.stack([surface * u, surface * v, surface]), axis=1))


def compare(job: Job, k: int) -> Written:
    """Write the nearest surface of a strip, with its slopes, and whether it explains the normals there."""
    rows, stated = strip(job, k), _stated(job, k)
    spectra = np.concatenate([read[:, rows.top : rows.bottom] for read in _strips(job, _COLUMNS)], axis=2)
    found = scipy.fft.irfft(spectra, job.tiling.shape[1], axis=2) if stated else np.zeros((3, 0, job.tiling.shape[1]))
    good = not stated or explains(stated[0], stated[1], found[0], found[1], job.slope)
    return {**job.work.write(NEAREST, k, found), **job.work.write("continuous", k, np.array([good]))}


def use_continuity(run: Run) -> None:
    """If a texture that wraps in both directions is one surface without any jump, have it filled as such."""
    work, tiling = run.job.work, run.job.tiling
    if not has_all_normals(run):
        return
    if not work.path("continuous.found").exists():
        run.stage(_ROWS, transform_rows)
        run.stage(_COLUMNS, transform_columns)
        run.stage("continuous", compare)
        good = all(bool(work.read("continuous", k)[0]) for k in range(tiling.n_tiles))
        work.write("continuous.found", None, np.array([good]))
        for name in (_ROWS, _COLUMNS):
            shutil.rmtree(work.path(name).parent)
    if bool(work.read("continuous.found")[0]):
        # It has no hidden jumps, so none are looked for.
        run.job = replace(run.job, continuous=True, settings=replace(run.job.settings, filling="induced"))


def _strips(job: Job, name: str) -> list[np.ndarray]:
    return [job.work.read(name, k) for k in range(job.tiling.n_tiles)]


def _n_columns(job: Job) -> int:
    """Columns of the spectrum of a real image."""
    return job.tiling.shape[1] // 2 + 1


def _stated(job: Job, k: int) -> tuple[np.ndarray, ...]:
    """The slopes that the normals of a strip state; none if it has no row."""
    rows = strip(job, k)
    return stated_slopes(normal_map(job, rows)) if rows.top < rows.bottom else ()
