"""The offset between two groups of components that their borders make most likely, and which pairs are joined at it."""

from __future__ import annotations

import numpy as np

from laplacians.core.jit import kernel


@kernel(no_cpython_wrapper=True)
def in_order(value, n, order, spare):
    """Write the first n numbers to `order`, by increasing value; equal ones keep their order. For kernels.

    Runs of 1, 2, 4, … are merged. The sort that Numba has takes a second to compile.
    """
    for i in range(n):
        order[i] = i
    run = 1
    while run < n:
        for begin in range(0, n, 2 * run):
            middle, end = min(begin + run, n), min(begin + 2 * run, n)
            i, j = begin, middle
            for k in range(begin, end):
                if j == end or (i < middle and not value[order[j]] < value[order[i]]):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        for k in range(n):
            order[k] = spare[k]
        run *= 2


@kernel
def best_offsets(start, offset, tolerance, weight, touch, low_front, high_front, margin, fresh, delta, lead):
    """For each pair of groups find the most likely offset at which they touch somewhere, and its lead over all others.

    The pieces of pair p are start[p]:start[p+1], with `low` on their left. A piece touches within its tolerance of its
    offset; below that `low` is in front, above it `high`. Pairs that are not `fresh` are left alone.

    The likelihood changes only where a piece begins or ceases to touch, so a walk over those places sees all of it.
    """
    longest, sliver = 0, 0.01 * margin  # what is narrower may come from rounding
    for p in range(len(start) - 1):
        longest = max(longest, start[p + 1] - start[p])
    place, change = np.empty(2 * longest), np.empty(2 * longest)
    order, spare = np.empty(2 * longest, np.int64), np.empty(2 * longest, np.int64)
    for p in range(len(start) - 1):
        if not fresh[p]:
            continue
        s, n = start[p], start[p + 1] - start[p]
        far = 0.0
        for i in range(n):  # at 2i the piece begins to touch, at 2i + 1 it ceases to
            k = s + i
            far += weight[k] * low_front[k]
            place[2 * i], place[2 * i + 1] = offset[k] - tolerance[k], offset[k] + tolerance[k]
            change[2 * i] = weight[k] * (touch[k] - low_front[k])
            change[2 * i + 1] = weight[k] * (high_front[k] - touch[k])
        in_order(place, 2 * n, order, spare)
        now, touching, best, lower, upper = far, 0, -np.inf, 0.0, 0.0
        for q in range(2 * n - 1):
            now += change[order[q]]
            touching += 1 - 2 * (order[q] & 1)
            if touching <= 0 or place[order[q + 1]] - place[order[q]] <= sliver:
                continue
            # Of stretches that are equally likely the widest, of those the nearest: whichever group is called low.
            begin, end = place[order[q]], place[order[q + 1]]
            wider = (end - begin) - (upper - lower)
            better = wider > sliver or (wider > -sliver and abs(begin + end) < abs(lower + upper))
            if now > best + 1e-4 or (better and now > best - 1e-4):
                best, lower, upper = now, begin, end
        rival, now = far, far
        for q in range(2 * n):
            now += change[order[q]]
            last = q + 1 == 2 * n
            if not last and place[order[q + 1]] <= place[order[q]]:
                continue  # in the middle of several changes at one place
            beyond = last or place[order[q + 1]] < lower - margin or place[order[q]] > upper + margin
            if beyond and now > rival:
                rival = now
        # Within the most likely stretch, the mean of what the pieces that touch there ask for.
        middle, total, mean = 0.5 * (lower + upper), 0.0, 0.0
        for i in range(n):
            k = s + i
            if abs(middle - offset[k]) <= tolerance[k]:
                odds = touch[k] - max(low_front[k], high_front[k])
                share = (weight[k] + 1e-3) / (tolerance[k] * tolerance[k]) / (1 + np.exp(-odds))
                total += share
                mean += share * offset[k]
        delta[p] = min(upper, max(lower, mean / total if total > 0 else middle))
        lead[p] = best - rival


@kernel
def pair_up(rank, low, high, delta, size, into, moved, received):
    """Join pairs in the order of `rank`: the smaller group moves. In one round a group moves or receives, not both.

    Writes where each group goes to `into`, on entry itself, and `moved`; `received` is False on entry.
    """
    for r in rank:
        one, other, step = low[r], high[r], delta[r]
        if size[one] > size[other]:
            one, other, step = other, one, -step
        if into[one] != one or received[one] or into[other] != other:
            continue
        into[one], moved[one], received[other] = other, step, True


@kernel
def number_runs(pair, lower, upper, out):
    """Number the runs of sorted intervals of one pair in which each begins before the first of the run ends."""
    run, end = -1, 0.0
    for k in range(len(pair)):
        if k == 0 or pair[k] != pair[k - 1] or lower[k] > end:
            run += 1
            end = upper[k]
        out[k] = run
