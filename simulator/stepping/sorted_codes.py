"""Numbers that stand for pairs or contacts, and where they are among sorted ones."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def pair_code(first: Any, second: Any) -> Any:
    """One number of each pair of bodies, in the order of pairs."""
    return (first << 32) + second


def found_in(known: NDArray[Any], sought: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where each of the numbers that are sought (k,) would be among those known, which are sorted, and whether it
    is there."""
    if not len(known):
        return np.zeros(len(sought), np.intp), np.zeros(len(sought), bool)
    at = np.minimum(np.searchsorted(known, sought), len(known) - 1)
    return at, known[at] == sought
