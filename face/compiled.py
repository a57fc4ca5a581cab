"""How numerical kernels are compiled and kept.

Numba's file cache stamps a compiled function with the contents of its own source file only, so an edit
of a callee in another file leaves the caller's cached machine code in place, silently. Here the stamp
is one hash over every kernel source of the project, every tolerance module and the versions of the
compilers: any edit invalidates every kept kernel, and no stale caller can survive.
"""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy
from numba.core import caching

_KERNEL_SOURCES = ("kernels.py", "tolerances.py")


@cache
def kernel_stamp() -> str:
    """Hash of everything that compiled kernels depend on: sources, tolerances, compiler versions."""
    digest = hashlib.sha256()
    here = Path(__file__).resolve()
    rooms = here.parent.parent if here.parent.name == "face" else here.parent
    sources = {path for ending in _KERNEL_SOURCES for path in rooms.glob(f"*/**/*{ending}")}
    for path in [here, *sorted(sources)]:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    for module in (numba, llvmlite, numpy):
        digest.update(module.__version__.encode())
    return digest.hexdigest()


def _with_project_stamp(locator: type) -> type:
    """The same place for cached files, stamped with the whole project's kernels."""

    class ProjectLocator(locator):
        def get_source_stamp(self) -> str:
            return kernel_stamp()

    ProjectLocator.__name__ = ProjectLocator.__qualname__ = f"Project{locator.__name__.lstrip('_')}"
    return ProjectLocator


class _KernelCacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = [  # noqa: RUF012
        _with_project_stamp(locator) for locator in caching.CompileResultCacheImpl._locator_classes
    ]


class _KernelCache(caching.FunctionCache):
    _impl_class = _KernelCacheImpl


def kernel(**options: Any) -> Callable[[Callable], Any]:
    """Compile a function with numba in nopython mode, released from the interpreter lock and kept on disk.

    The function must live in a file whose name ends in ``kernels.py``: only those are hashed.
    """

    def compile_lazily(function: Callable) -> Any:
        source = Path(function.__code__.co_filename).name
        if not source.endswith(_KERNEL_SOURCES[0]):
            raise ValueError(
                f"kernel {function.__name__!r} must live in a file ending in 'kernels.py', not {source!r}"
            )
        dispatcher = numba.njit(nogil=True, error_model="numpy", **options)(function)
        if not numba.config.DISABLE_JIT:
            dispatcher._cache = _KernelCache(function)
        return dispatcher

    return compile_lazily
