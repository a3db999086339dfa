"""Kernels compile sooner than Numba alone would let them, to the same code, and Numba is left as it was."""

import math

import numba
import numpy as np
import pytest
from numba.core.types.functions import BaseFunction
from numba.extending import overload

from laplacians.core import hastening, jit


def _ratio(a, b):
    return a / b


@overload(_ratio)
def _overloaded_ratio(a, b):
    return lambda a, b: a / b


def uncached(source, decorator=jit.kernel, **options):
    """The kernel f made from text, which is compiled anew every time because it has no file."""
    scope = {"__name__": "nowhere", "ratio": _ratio}
    exec(compile(source, "/nowhere/at/all.py", "exec"), scope)
    return decorator(scope["f"], **options)


def test_numba_is_asked_once_for_each_operation(monkeypatch):
    """Twenty sums of whole numbers are one question; a second kernel does not even ask that."""
    asked = []

    def count(function, context, args, kws):
        asked.append((function.typing_key, tuple(map(str, args))))
        return _get_call_type(function, context, args, kws)

    _get_call_type = hastening._get_call_type
    monkeypatch.setattr(hastening, "_get_call_type", count)
    monkeypatch.setattr(hastening, "_answers", {})
    body = "def f(a, b):\n" + "    a = b + a\n" * 20 + "    return a\n"
    assert uncached(body)(1, 2) == 41
    sums = [entry for entry in asked if entry[1] == ("int64", "int64")]
    assert len(sums) == len(set(sums)) == 1
    asked.clear()
    assert uncached(body)(3, 4) == 83
    assert [entry for entry in asked if entry[1] == ("int64", "int64")] == []


def test_numba_is_left_as_it_was():
    """Also when a kernel cannot be compiled."""
    before = BaseFunction.get_call_type
    assert uncached("def f(a):\n    return a - 1\n")(5) == 4
    assert BaseFunction.get_call_type is before
    with pytest.raises(Exception, match="No implementation of function"):
        uncached("def f(a):\n    return a - 'x'\n")(5)
    assert BaseFunction.get_call_type is before


@pytest.mark.parametrize("other", [jit.kernel, numba.njit])
@pytest.mark.parametrize("quotient", ["a / b", "ratio(a, b)"])
def test_what_is_remembered_does_not_cross_over_to_other_options(quotient, other):
    """Functions that differ in what a division by zero does, in turn, with the division in them or in what they call."""
    for sign in ("", "-", "1 + "):
        source = f"def f(a, b):\n    return {sign}({quotient})\n"
        with pytest.raises(ZeroDivisionError):
            uncached(source)(1.0, 0.0)
        assert not math.isfinite(uncached(source, other, error_model="numpy")(1.0, 0.0))


def test_passes_that_no_kernel_needs_are_left_out():
    """They exist in Numba, and the others are all there."""
    double = uncached("def f(a):\n    return 2 * a\n")
    assert double(2) == 4
    (entry,) = double.compiled().overloads.values()
    names = {name.partition("_")[2] for name in entry.metadata["pipeline_times"]["nopython"]}
    assert {"translate_bytecode", "reconstruct_ssa", "nopython_type_inference", "native_lowering"} <= names
    assert names & hastening._NEEDLESS == set()
    passes = hastening.DefaultPassBuilder.define_nopython_pipeline(_State()).passes
    assert {entry[0].name() for entry in passes} >= hastening._NEEDLESS


class _State:
    """As much of a compiler's state as the list of passes depends on."""

    func_ir = None

    class flags:
        no_rewrites = False
        enable_ssa = True

        class auto_parallel:
            enabled = False


def test_a_version_of_numba_that_is_built_otherwise(monkeypatch):
    """Kernels are compiled as Numba does it alone."""
    monkeypatch.setattr(jit, "_hastening", lambda: None)
    monkeypatch.setattr(BaseFunction, "get_call_type", hastening._get_call_type)
    out = np.zeros(3)
    uncached("def f(out):\n    for i in range(len(out)):\n        out[i] = i + 1\n")(out)
    np.testing.assert_array_equal(out, [1, 2, 3])
