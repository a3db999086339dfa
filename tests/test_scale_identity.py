"""A run that goes on, or is complete, belongs to the input that is passed: also where an input may change unnoticed."""

import numpy as np
import pytest

import quotientgraph
from quotientgraph import RayMap, scale
from quotientgraph.scale import cameras

dask = pytest.importorskip("dask.array")
pytest.importorskip("pyarrow.parquet")
zarr = pytest.importorskip("zarr")


class Stop(Exception):
    """Ends a run as a kill would."""


def tilted(slope):
    """A plane, and one for each sign of the slope."""
    normal = np.float32([slope, 0, 1])
    return np.tile(normal / np.linalg.norm(normal), (64, 70, 1))


def integrate(normals, folder, camera=None, **options):
    options = {"tile": 64, "workers": 1, "angle": 20.0, "preset": "paper", "resume": True, **options}
    return scale.integrate(normals, None, camera, folder / "depth.zarr", **options)


def in_memory(normals):
    store = zarr.create_array(store={}, shape=normals.shape, dtype=normals.dtype, chunks=(32, 32, 3))
    store[:] = normals
    return store


@pytest.mark.parametrize("kind", ["numpy", "npy", "dask", "zarr", "zarr in memory"])
def test_results_of_another_input_are_not_returned(tmp_path, kind):
    """A complete run is resumed with another map of the same shape, at the same place if it has one."""
    file = tmp_path / f"in.{kind}"

    def given(normals):
        if kind == "numpy":
            return normals
        if kind == "npy":
            np.save(file, normals)
            return file
        if kind == "dask":
            return dask.from_array(normals, chunks=(32, 32, 3))
        if kind == "zarr in memory":
            return in_memory(normals)
        if not file.exists():
            zarr.create_array(file, shape=normals.shape, dtype=normals.dtype, chunks=(32, 32, 3))
        zarr.open_array(file)[:] = normals  # only the files of the chunks change
        return file

    first = integrate(given(tilted(0.5)), tmp_path)[0].compute()
    with pytest.raises(OSError, match=r"depth\.zarr: exists; pass overwrite=True"):
        integrate(given(tilted(-0.5)), tmp_path)
    second = integrate(given(tilted(-0.5)), tmp_path, overwrite=True)[0].compute()
    assert np.allclose(np.diff(first), -np.diff(second))
    assert np.abs(np.diff(first)).min() > 0.1


@pytest.mark.parametrize("kind", ["npy", "zarr"])
def test_complete_results_of_a_file_or_a_store_are_returned(tmp_path, kind):
    """Nothing is computed again, since what was read has not changed."""
    file, seen = tmp_path / f"in.{kind}", []
    if kind == "npy":
        np.save(file, tilted(0.5))
    else:
        zarr.create_array(file, data=tilted(0.5), chunks=(32, 32, 3))
    _, report = integrate(file, tmp_path)
    assert integrate(file, tmp_path, progress=lambda *one: seen.append(one))[1] == report
    assert not seen


def test_an_interrupted_run_does_not_go_on_with_another_dask_array(tmp_path):
    """The same array made once more is the same, one with other values is not."""

    def stop(stage, done, total):
        if stage == "labels" and done == total:
            raise Stop

    def array(slope):
        return dask.from_array(tilted(slope), chunks=(32, 32, 3))

    with pytest.raises(Stop):
        integrate(array(0.5), tmp_path, progress=stop)
    with pytest.raises(OSError, match="belongs to a run with other input"):
        integrate(array(-0.5), tmp_path)
    assert integrate(array(0.5), tmp_path)[1].reused


def test_results_of_other_rays_are_not_returned(tmp_path):
    """Two ray maps of the same shape, as those of two lenses."""
    v, u = np.mgrid[:64, :70].astype(float)
    wide, narrow = (RayMap(np.dstack([(u - 35) / f, (v - 32) / f, np.ones((64, 70))])) for f in (100, 300))
    integrate(tilted(0.2), tmp_path, wide)
    with pytest.raises(OSError, match=r"depth\.zarr: exists; pass overwrite=True"):
        integrate(tilted(0.2), tmp_path, narrow)


@pytest.mark.parametrize("lazy", [False, True], ids=["numpy", "dask"])
def test_masked_arrays_keep_their_mask(tmp_path, lazy):
    """As normals and as a mask, whatever their values are; what is hidden is part of the input."""
    hidden = np.zeros((64, 70), dtype=bool)
    hidden[:20] = True
    flat = np.uint8([[[128, 128, 255]]])
    vectors, three = tilted(0.3), np.repeat(hidden[..., None], 3, axis=2)

    def valid(normals, mask=None, **options):
        given = [None if one is None else dask.from_array(one) if lazy else one for one in (normals, mask)]
        options = {"tile": 64, "workers": 1, "angle": 20.0, "preset": "paper", "overwrite": True, **options}
        return np.isfinite(scale.integrate(*given, None, tmp_path / "depth.zarr", **options)[0].compute())

    for normals in (vectors, np.tile(flat, (64, 70, 1))):
        assert np.array_equal(valid(np.ma.masked_array(normals, three)), ~hidden)
    assert np.array_equal(valid(vectors, np.ma.masked_array(np.ones((64, 70), np.int64), hidden)), ~hidden)
    with pytest.raises(OSError, match="exists; pass overwrite=True"):
        valid(vectors, np.ma.masked_array(np.ones((64, 70), np.int64), ~hidden), resume=True, overwrite=False)


@pytest.mark.parametrize("frame", ["opengl", "opencv"])
def test_paint_is_no_normal(tmp_path, frame):
    """Black, white and mid-grey in images, as in memory: black would be a normal that z forward turns to the viewer."""
    image = np.tile(np.uint8([128, 128, 255 if frame == "opengl" else 1]), (64, 70, 1))
    for row, paint in enumerate((0, 127, 128, 255)):
        image[row] = paint
    depth, _ = integrate(image, tmp_path, frame=frame)
    expected = np.isfinite(quotientgraph.integrate(image, frame=frame).depth)
    assert np.array_equal(np.isfinite(depth.compute()), expected)
    assert not expected[:4].any()
    assert expected[4:].all()


def test_a_formula_is_known_by_its_rays():
    """Not by the place of a function in the memory of a process, which the process that resumes does not share."""
    formula = scale.RayFormula.fisheye(60, (40, 64))
    assert cameras.identity(formula) == cameras.identity(scale.RayFormula.fisheye(60, (40, 64)))
    assert cameras.identity(formula) != cameras.identity(scale.RayFormula.fisheye(61, (40, 64)))
    assert "0x" not in str(cameras.identity(formula))
