"""Measuring how much two cores do: the processes that it needs start, work and report."""

import pytest

from quotientgraph.bench import throughput


def test_two_at_once_are_compared_with_one():
    """Each row has what was measured and a goal."""
    entries = throughput.throughput((40, 48), n_runs=1, repeat=1)
    rows = {(entry.row, entry.column): entry.ours for entry in entries}
    assert set(rows) == {(row, c) for row in ("processes", "threads of one program") for c in ("measured", "goal")}
    assert all(value > 0 for value in rows.values())


def test_a_process_that_fails_is_reported():
    with pytest.raises(RuntimeError, match="ended before it began"):
        throughput._seconds((-1, 4), 1, 1, 1)
