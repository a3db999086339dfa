"""A fixed piece of work to divide times by, so that figures of different machines can be compared.

The unit Y(height, width) is what a user in a hurry would run instead: one Frankot-Chellappa integration of a gradient
field of that size, in float64, on one core. It is the best of five runs in a process of its own: in a process that has had
large arrays before, the C library keeps their memory, and the same work takes a third less.
"""

from __future__ import annotations

import subprocess
import sys
from functools import cache

_PROGRAM = """
import sys, time
import numpy as np
from scipy import fft

def integrated(p, q):
    height, width = p.shape
    u = 2j * np.pi * fft.fftfreq(width)
    v = 2j * np.pi * fft.fftfreq(height)[:, None]
    power = (u * u + v * v).real
    power[0, 0] = 1.0
    spectrum = (u * fft.fft2(p) + v * fft.fft2(q)) / power
    spectrum[0, 0] = 0.0
    return fft.ifft2(spectrum).real

p, q = np.random.default_rng(0).standard_normal((2, *map(int, sys.argv[1:])))
best = [np.inf, np.inf]
for _ in range(5):
    began = time.perf_counter(), time.process_time()
    integrated(p, q)
    ended = time.perf_counter(), time.process_time()
    best = [min(b, e - a) for b, a, e in zip(best, began, ended)]
print(*best)
"""

_MEMORY = """
import time
import numpy as np

size, touched, copied = 2**26, [], []
for _ in range(4):
    source = np.empty(size)
    began = time.perf_counter()
    source.fill(1.0)
    touched.append(time.perf_counter() - began)
    target = source.copy()
    for _ in range(3):
        began = time.perf_counter()
        np.copyto(target, source)
        copied.append(time.perf_counter() - began)
    del source, target
print(size * 8e-9 / touched[0], size * 8e-9 / min(touched), size * 16e-9 / min(copied))
"""


@cache
def _measured(height: int, width: int) -> tuple[float, float]:
    command = [sys.executable, "-c", _PROGRAM, str(height), str(width)]
    seconds, processor = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(processor)


def yardstick(height: int, width: int) -> float:
    """Return Y(height, width) in seconds; measured once for each size in a process."""
    return _measured(height, width)[0]


def processor_yardstick(height: int, width: int) -> float:
    """Return the processor time of the same work in seconds, which a busy machine changes less."""
    return _measured(height, width)[1]


@cache
def bandwidth() -> dict[str, float]:
    """How fast one core moves memory, in GB/s: what no program that visits every pixel can beat.

    Memory that a process is given for the first time is handed out page by page, which on a virtual machine can be ten times
    slower than writing to it again.
    """
    done = subprocess.run([sys.executable, "-c", _MEMORY], check=True, capture_output=True, text=True)
    names = "first write to new memory", "write to memory given back before", "copy, read and written bytes"
    return dict(zip(names, map(float, done.stdout.split()), strict=True))
