"""A fill-reducing order of elimination: minimum degree on the quotient graph of the elimination.

Eliminating an unknown joins its neighbours to each other. Instead of adding those edges, the eliminated unknown becomes
an *element* that stands for them; elements that are covered by a new one are absorbed into it. Unknowns that are then joined
to nothing beyond the new element are eliminated with it. Degrees are bounded from above as in the approximate minimum degree
method of Amestoy, Davis and Duff (1996).
"""

from __future__ import annotations

import numpy as np

from ..core.jit import kernel


def minimum_degree(start: np.ndarray, neighbour: np.ndarray) -> np.ndarray:
    """Order the unknowns of a graph so that elimination adds few non-zeros.

    Parameters
    ----------
    start : (n + 1,) int32 or int64
    neighbour : (n_entries,) int32
        Neighbour lists without the diagonal: ``neighbour[start[i]:start[i+1]]``, every edge in the lists of both its ends.

    Returns
    -------
    (n,) int32
        The unknowns in the order of elimination.

    Examples
    --------
    >>> minimum_degree(np.array([0, 2, 3, 4], dtype=np.int32), np.array([1, 2, 0, 0], dtype=np.int32)).tolist()
    [1, 0, 2]
    """
    n = len(start) - 1
    order = np.empty(n, dtype=np.int32)
    zeros, none = np.zeros((6, n), dtype=np.int32), np.full((4, n + 1), -1, dtype=np.int32)
    _minimum_degree(start, neighbour.copy(), order, zeros, none, np.zeros((2, n), dtype=np.int64))
    return order


@kernel
def _minimum_degree(start, lists, order, zeros, none, longs):
    """Write the order of elimination. Overwrites `lists`, in which an unknown has its elements first, then its neighbours.

    Assumes lists in which every edge appears twice. `zeros`, `none` and `longs` are working memory, filled as their names
    say (`none` with −1, `longs` with 0); arrays made inside the kernel would take longer to compile.
    """
    n = len(order)
    n_elements, n_members, gone, absorbed, n_joined, degree = zeros[0], zeros[1], zeros[2], zeros[3], zeros[4], zeros[5]
    first, after, before, mark = none[0], none[1], none[2], none[3]  # doubly linked lists of each degree, and marks
    # outside[e] is the tag plus the number of unknowns of element e that the new element does not contain.
    member_start, outside = longs[0], longs[1]
    members = np.empty(max(1, len(lists)), dtype=np.int32)
    top = 0
    tag = np.int64(1)
    for u in range(n - 1, -1, -1):
        d = start[u + 1] - start[u]
        n_joined[u] = d
        degree[u] = d
        after[u] = first[d]
        if first[d] >= 0:
            before[first[d]] = u
        first[d] = u
    least, k = 0, 0
    while k < n:
        while first[least] < 0:
            least += 1
        p = first[least]
        first[least] = after[p]
        if after[p] >= 0:
            before[after[p]] = -1
        order[k] = p
        k += 1
        gone[p] = 1

        # The new element: everything that p is joined to, directly or through its elements.
        bound = n_joined[p]
        for q in range(start[p], start[p] + n_elements[p]):
            bound += n_members[lists[q]]
        if top + bound > len(members):
            larger = np.empty(2 * (top + bound), dtype=np.int32)
            for m in range(top):  # a slice assignment takes Numba seconds to compile
                larger[m] = members[m]
            members = larger
        begin = top
        mark[p] = p
        for q in range(start[p], start[p] + n_elements[p]):
            e = np.uint32(lists[q])  # unsigned: Numba need not look for negative indices
            for m in range(np.uint64(member_start[e]), np.uint64(member_start[e] + n_members[e])):
                i = np.uint32(members[m])
                if mark[i] != p:
                    mark[i] = p
                    members[top] = i
                    top += 1
            absorbed[e] = 1
        for q in range(start[p] + n_elements[p], start[p] + n_elements[p] + n_joined[p]):
            i = np.uint32(lists[q])
            if not gone[i] and mark[i] != p:
                mark[i] = p
                members[top] = i
                top += 1
        member_start[p] = begin
        n_members[p] = top - begin

        # How much of each older element lies outside the new one.
        for m in range(np.uint64(begin), np.uint64(top)):
            i = np.uint32(members[m])
            for q in range(np.uint64(start[i]), np.uint64(start[i] + n_elements[i])):
                e = np.uint32(lists[q])
                if not absorbed[e]:
                    if outside[e] < tag:
                        outside[e] = tag + n_members[e]
                    outside[e] -= 1

        end, top = top, begin
        for m in range(np.uint64(begin), np.uint64(end)):
            i = np.uint32(members[m])
            d = degree[i]
            if before[i] >= 0:
                after[before[i]] = after[i]
            else:
                first[d] = after[i]
            if after[i] >= 0:
                before[after[i]] = before[i]
            write = start[i]
            beyond = 0
            for q in range(np.uint64(start[i]), np.uint64(start[i] + n_elements[i])):
                e = np.uint32(lists[q])
                if not absorbed[e]:
                    if outside[e] == tag:
                        absorbed[e] = 1  # the new element covers it
                    else:
                        beyond += outside[e] - tag
                        lists[write] = e
                        write += 1
            last = start[i] + n_elements[i] + n_joined[i]
            from_joined = start[i] + n_elements[i]
            kept_elements = write - start[i]
            displaced = np.int64(-1)
            # p itself is put after the elements, and the neighbour that stood there goes to the end of the list.
            for q in range(from_joined, last):
                j = np.uint32(lists[np.uint64(q)])
                if not gone[j] and mark[j] != p:
                    if write == start[i] + kept_elements:
                        displaced = np.int64(j)
                    else:
                        lists[write] = j
                    write += 1
            if displaced >= 0:
                lists[write] = displaced
            lists[start[i] + kept_elements] = p
            n_elements[i] = kept_elements + 1
            n_joined[i] = write - start[i] - kept_elements
            if n_elements[i] == 1 and n_joined[i] == 0:
                # It is joined to what p was joined to and to nothing else. Eliminated right after p it adds nothing.
                order[k] = i
                k += 1
                gone[i] = 1
                continue
            degree[i] = min(d, n_joined[i] + beyond)
            members[top] = i
            top += 1
        n_members[p] = top - begin

        for m in range(np.uint64(begin), np.uint64(top)):
            i = np.uint32(members[m])
            d = min(degree[i] + n_members[p] - 1, n - k - 1)
            degree[i] = d
            before[i] = -1
            after[i] = first[d]
            if first[d] >= 0:
                before[first[d]] = i
            first[d] = i
            least = min(least, d)
        tag += n + 1
