"""The offset between two groups of components that their borders make most likely, and joining pair after pair at it."""

from __future__ import annotations

import numpy as np

from laplacians.core.edges import sort_by_count
from laplacians.core.jit import kernel


@kernel(no_cpython_wrapper=True)
def in_order(value, n, order, spare):
    """Write the first n numbers to `order`, by increasing value; equal ones keep their order. For kernels.

    Runs of eight are sorted by insertion, and merged. The sort that Numba has takes a second to compile.
    """
    for i in range(n):
        k = i
        while k % 8 > 0 and value[i] < value[order[k - 1]]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    run = 8
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
def best_offsets(start, offset, tolerance, weight, touch, low_front, high_front, pull, margin, fresh, delta, lead):
    """For each pair of groups find the most likely offset at which they touch somewhere, and its lead over all others.

    The pieces of pair p are start[p]:start[p+1], with `low` on their left. A piece touches within its tolerance of its
    offset; below that `low` is in front, above it `high`. Of pieces that touch, `pull` is the share that each has in the
    offset. Pairs that are not `fresh` are left alone.

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
                total += pull[k]
                mean += pull[k] * offset[k]
        delta[p] = min(upper, max(lower, mean / total if total > 0 else middle))
        lead[p] = best - rival


@kernel
def join_groups(
    left, right, offset, tolerance, weight, touch, left_front, right_front, margin, share, size, shift
):  # fmt: skip
    """Join groups in rounds, the pairs that lead by most first, until no pieces between two groups are left.

    Writes the shifts of all components to `shift`, zero on entry; `size` is used up. Pairs whose lead is at least `share`
    of the largest one are joined in the same round.
    """
    n, n_pieces = len(size), len(left)
    group, changed = np.arange(n), np.ones(n, np.bool_)
    pull = np.zeros(n_pieces)
    for k in range(n_pieces):
        if tolerance[k] > 0:  # parallel rays on a plane leave no range of depth for it to be a part of
            odds = touch[k] - max(left_front[k], right_front[k])
            pull[k] = (weight[k] + 1e-3) / (tolerance[k] * tolerance[k]) / (1 + np.exp(-odds))
    pair, start, piece = np.empty(n_pieces, np.int64), np.empty(n_pieces + 1, np.int64), np.empty(n_pieces, np.int32)
    # Rows: offset, tolerance, weight, log-probabilities of touching, low and high in front, pull.
    told = np.empty((7, n_pieces))
    fresh, delta, lead = np.empty(n_pieces, np.bool_), np.empty(n_pieces), np.empty(n_pieces)
    n_before, before, former = 0, np.empty(n_pieces, np.int64), np.empty((2, n_pieces))
    while True:
        n_pairs = _list_pairs(group, left, right, pair, start, piece)
        if n_pairs == 0:
            break
        for i in range(start[n_pairs]):
            k = piece[i]
            step = offset[k] - (shift[left[k]] - shift[right[k]])
            turned = group[left[k]] > group[right[k]]
            told[0, i] = -step if turned else step
            told[1, i], told[2, i], told[3, i], told[6, i] = tolerance[k], weight[k], touch[k], pull[k]
            told[4, i] = right_front[k] if turned else left_front[k]
            told[5, i] = left_front[k] if turned else right_front[k]
        q = 0  # what is known of pairs that did not change since the last round is taken over
        for p in range(n_pairs):
            while q < n_before and before[q] < pair[p]:
                q += 1
            known = q < n_before and before[q] == pair[p]
            fresh[p] = not known or changed[pair[p] // n] or changed[pair[p] % n]
            if not fresh[p]:
                delta[p], lead[p] = former[0, q], former[1, q]
        best_offsets(
            start[: n_pairs + 1], told[0], told[1], told[2], told[3], told[4], told[5], told[6], margin, fresh, delta, lead
        )  # fmt: skip
        n_before = n_pairs
        for p in range(n_pairs):
            before[p], former[0, p], former[1, p] = pair[p], delta[p], lead[p]
        rank = _leading(pair[:n_pairs], lead, share, size)
        if not _joined(pair, rank, delta, size, group, shift, changed):  # offsets that are no numbers lead nowhere
            break


@kernel(inline="always")
def _list_pairs(group, left, right, pair, start, piece):
    """List the pieces between groups, pair by pair, and return the number of pairs.

    Pair p is written as low·n + high, and its pieces are piece[start[p]:start[p+1]], in increasing order.
    """
    n, m, n_pairs = len(group), 0, 0
    low, high = np.empty(len(left), np.int32), np.empty(len(left), np.int32)
    chosen, order = np.empty(len(left), np.int32), np.empty(len(left), np.int32)
    for k in range(len(left)):
        one, other = group[left[k]], group[right[k]]
        if one != other:
            low[m], high[m], chosen[m], order[m] = min(one, other), max(one, other), k, m
            m += 1
    sort_by_count(high[:m], order[:m], np.zeros(n + 1, np.int64), piece[:m])
    sort_by_count(low[:m], piece[:m], np.zeros(n + 1, np.int64), order[:m])
    for i in range(m):
        key = np.int64(low[order[i]]) * n + high[order[i]]
        if i == 0 or key != pair[n_pairs - 1]:
            pair[n_pairs], start[n_pairs] = key, i
            n_pairs += 1
        piece[i] = chosen[order[i]]
    start[n_pairs] = m
    return n_pairs


@kernel(inline="always")
def _leading(pair, lead, share, size):
    """The pairs that lead by most, in the order in which they are joined.

    Of equal leads the larger groups come first: an order that does not depend on how the components are numbered.
    """
    n, top, n_ranked = len(size), lead[0], 0
    for p in range(len(pair)):
        top = max(top, lead[p])
    least = share * top if top > 1 else top - 1
    rank, value = np.empty(len(pair), np.int64), np.empty(len(pair))
    order, spare = np.empty(len(pair), np.int64), np.empty(len(pair), np.int64)
    for p in range(len(pair)):
        if lead[p] >= least:
            rank[n_ranked] = p
            n_ranked += 1
    for criterion in range(3):
        for i in range(n_ranked):
            one, other = size[pair[rank[i]] // n], size[pair[rank[i]] % n]
            if criterion == 0:
                value[i] = -max(one, other)
            elif criterion == 1:
                value[i] = -(one + other)
            else:
                value[i] = -np.rint(1e4 * lead[rank[i]])
        in_order(value, n_ranked, order, spare)
        for i in range(n_ranked):
            spare[i] = rank[order[i]]
        for i in range(n_ranked):
            rank[i] = spare[i]
    return rank[:n_ranked]


@kernel(inline="always")
def _joined(pair, rank, delta, size, group, shift, changed):
    """Join pairs in the order of `rank`, the smaller group moves; return whether any was joined.

    In one round a group moves or receives, not both. Which groups did is written to `changed`.
    """
    n, any_joined = len(size), False
    into, moved, received = np.arange(n), np.zeros(n), np.zeros(n, np.bool_)
    for c in range(n):
        changed[c] = False
    for p in rank:
        one, other, step = pair[p] // n, pair[p] % n, delta[p]
        if size[one] > size[other]:
            one, other, step = other, one, -step
        if into[one] != one or received[one] or into[other] != other:
            continue
        into[one], moved[one], received[other] = other, step, True
        changed[one] = changed[other] = any_joined = True
    for c in range(n):
        if into[c] != c:
            size[into[c]] += size[c]
    for c in range(n):
        shift[c] += moved[group[c]]
        group[c] = into[group[c]]
    return any_joined


@kernel
def number_runs(pair, lower, upper, out):
    """Number the runs of sorted intervals of one pair in which each begins before the first of the run ends."""
    run, end = -1, 0.0
    for k in range(len(pair)):
        if k == 0 or pair[k] != pair[k - 1] or lower[k] > end:
            run += 1
            end = upper[k]
        out[k] = run
