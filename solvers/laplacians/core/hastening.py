"""Numba compiles kernels sooner: it is not asked the same question twice, and what no kernel needs is left out.

Numba infers the type of every operation in a kernel. For ``a + b`` it tries all forms of addition that it knows, of strings
and dates too, until one fits, and does so again at every other addition. That is a fifth of the time of a first run. While a
kernel is compiled, the answers are therefore remembered (`types_remembered`). Of the passes over a kernel two look for what
kernels do not have, functions inside functions and expressions of whole arrays (`LeanCompiler`).

The results are the same to the bit with and without both. Numba is left as it was when a kernel is done, so that other
functions of a program are compiled as ever.

This module imports parts of Numba that may look different in another version; then kernels are compiled without it
(`laplacians.core.jit`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.targetconfig import ConfigStack
from numba.core.types import functions

_NEEDLESS = {"inline_closure_likes", "nopython_rewrites"}  # names of passes

# For a function, where it is looked up and the types of its arguments: these objects, so that they stay alive and no other
# one has their `id`; the flags of the compiler; and the signature that was found.
_answers: dict[tuple[int, int, Any], tuple[Any, Any, dict[str, Any], Any]] = {}
_types: Any = functions
_get_call_type = _types.BaseFunction.get_call_type


class LeanCompiler(CompilerBase):
    """Numba's compiler without the passes that no kernel needs."""

    def define_pipelines(self) -> list[Any]:
        """The passes over a kernel; Numba asks for them."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [entry for entry in passes.passes if entry[0].name() not in _NEEDLESS]
        passes.finalize()
        return [passes]


@contextmanager
def types_remembered() -> Iterator[None]:
    """Let Numba remember which signature belongs to a function and types of arguments, for the duration of a block."""
    with global_compiler_lock:  # no other thread compiles meanwhile
        before = _types.BaseFunction.get_call_type
        _types.BaseFunction.get_call_type = _remembered_call_type
        try:
            yield
        finally:
            _types.BaseFunction.get_call_type = before


def _remembered_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """The signature of a function for types of arguments; a method of Numba's types of functions.

    Numba notes on the way which implementation belongs to the signature, and this does so too. Only functions whose
    implementation is built in are remembered. Others are compiled with the flags of the kernel that calls them, and the
    last one of them would serve all kernels.
    """
    flags = getattr(ConfigStack.top_or_none(), "_values", None)
    if kws or type(args) is not tuple or type(self) is not _types.Function or flags is None:
        return _get_call_type(self, context, args, kws)
    key = id(self), id(context), args
    found = _answers.get(key)
    if found is not None and found[2] == flags:
        signature = found[3]
        self._impl_keys[signature.args] = self.typing_key
        return signature
    signature = _get_call_type(self, context, args, kws)
    if getattr(self, "_impl_keys", {}).get(signature.args) == self.typing_key:
        _answers[key] = self, context, dict(flags), signature
    return signature
