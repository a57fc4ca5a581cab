"""Kernels that come compiled with a wheel, for kinds of processors, so that a first run need not compile them.

A wheel of `make wheel` has, in the folder ``shipped_kernels``, a folder for each kind it was made for, with the
kernels as numba keeps them. A processor takes the best kind all of whose instructions it has. What it does not
find there it compiles for itself, as without them: after an edit of a kernel, or with another version of numba,
llvmlite, numpy or Python, all of it.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import llvmlite.binding
import numba

SHIPPED = Path(__file__).resolve().with_name("shipped_kernels")
"""Where kinds of processors have their folders; there is none but in a wheel with kernels."""

_V2 = frozenset({"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})
_V3 = _V2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}
KINDS: dict[str, frozenset[str]] = {
    "x86-64-v3": _V3,
    "x86-64-v2": _V2,
    "x86-64": frozenset(),
    "generic": frozenset(),
}
"""Names of kinds as LLVM has them, the best first, with the instructions that each needs beyond those that every
processor of its architecture has (x86-64 psABI, "micro-architecture levels"); "generic" is that of any other
architecture. Of v3 are nearly all processors for desktops and servers since 2013: Intel Haswell, AMD Excavator."""

_ignored = False


def ignore_shipped_kernels() -> None:
    """From now on compile for this very processor what is not kept for it."""
    global _ignored
    _ignored = True


@cache
def usable_kinds(folder: Path) -> tuple[str, ...]:
    """The kinds in a folder that this processor can run, the best first; none where numba was told of another."""
    if numba.config.CPU_NAME is not None or not folder.is_dir():
        return ()
    has = {name for name, there in llvmlite.binding.get_host_cpu_features().items() if there}
    return tuple(kind for kind, needs in KINDS.items() if (folder / kind).is_dir() and needs <= has)


def shipped_folders(module: str) -> Iterator[tuple[str, Path]]:
    """Kinds, and where they have the kernels of a module such as ``carom.simulator.movers.hold_kernels``."""
    if _ignored or not module.startswith("carom."):
        return
    for kind in usable_kinds(SHIPPED):
        yield kind, SHIPPED.joinpath(kind, *module.split(".")[1:-1])
