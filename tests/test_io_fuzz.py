"""Damaged files of every format: an `InputError` that names the file, or an array; no other exception, no output.

The campaign (``python -m quotientgraph.campaign``) does the same with more cases and in processes of its own.
"""

import numpy as np
import pytest

import quotientgraph.io as qio
from quotientgraph.campaign.damaged_files import KINDS, damaged, read

CASES = {name: 8 if name == "packed.exr" else 200 for name in KINDS}  # the packed ones take a process each


@pytest.mark.parametrize("name", CASES)
def test_damage_is_an_input_error_or_an_array(tmp_path, name, capfd):
    write, _, how = KINDS[name]
    file = tmp_path / name
    write(file)
    read(how, file)  # the good one is read
    target = tmp_path / f"{name}.json" if how == "depth" else file
    data = target.read_bytes()
    accepted = refused = 0
    for case in range(CASES[name]):
        target.write_bytes(damaged(data, np.random.default_rng(case), case % 4))
        try:
            read(how, file)
        except qio.InputError as error:
            refused += str(error).count("\n") == 0 and file.name in str(error)
        else:
            accepted += 1
    assert accepted + refused == CASES[name]
    assert refused > CASES[name] // 10
    assert capfd.readouterr() == ("", "")


def test_every_reader_is_damaged():
    """A reader that is added gets its damaged files."""
    known = {f".{name.rpartition('.')[2]}" for name in KINDS}
    assert set(qio.readable()) - {".tif", ".jpeg"} <= known
    assert sum(CASES.values()) >= 2000
