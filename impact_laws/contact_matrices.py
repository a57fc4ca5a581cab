"""W as solvers of many contacts take it: full, or as its few blocks of contacts that share a body.

In a heap a contact shares a body with some ten others, so W of a thousand contacts is one percent full. Products,
sweeps and the factors of Newton's matrix then cost what is there.
"""

from abc import ABC, abstractmethod
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bsr_array, csc_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from . import relaxation_kernels, sparse_kernels
from .newton_kernels import NEWTON_AT_ONCE, eliminate

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

_FULL = 0.2  # share of blocks from which on W is not sparse
_FEW = 100  # contacts of which W is never taken apart


class ContactMatrix(ABC):
    """W of contacts, with what solvers ask of it; rows and columns dim a contact."""

    dim: int
    local: Array
    """(nc, dim, dim) own blocks of the contacts."""

    @abstractmethod
    def plus(self, a: float) -> "ContactMatrix":
        """W + a I."""

    @abstractmethod
    def velocity(self, q: Array, x: Array) -> Array:
        """q + W x."""

    @abstractmethod
    def sweep(
        self, q: Array, friction: Array, frames: Array, rule: int, omega: float, sweeps: int, tolerance: float,
        x: Array,
    ) -> int:  # fmt: skip
        """Sweeps of relaxation that change x in place until it changes by less than the tolerance; how many."""

    def newton_step(self, slopes: Array, own: Array, gap: Array, shift: float) -> Array | None:
        """The step that solves (I - own + slopes W + shift) step = gap, slopes and own block by block, over the
        contacts with a slope; others step by their gap. None where the matrix is singular."""
        active = (slopes.reshape(len(slopes), -1) != 0.0).any(axis=1)
        rows = np.repeat(active, self.dim)
        step = gap.copy()
        if rows.any():
            found = self._solved(slopes, own, gap, shift, active, rows)
            if found is None:
                return None
            step[rows] = found
        return step if np.isfinite(step).all() else None

    @abstractmethod
    def _solved(
        self, slopes: Array, own: Array, gap: Array, shift: float, active: Flags, rows: Flags
    ) -> Array | None:
        """That step over the rows (dim*nc,) of active contacts (nc,)."""


class DenseMatrix(ContactMatrix):
    """A full W."""

    def __init__(self, W: Array, dim: int):
        self.W, self.dim = W, dim
        self.local = np.empty((len(W) // dim, dim, dim))
        relaxation_kernels.local_blocks(W, dim, self.local)

    def plus(self, a: float) -> "DenseMatrix":
        """W + a I."""
        return DenseMatrix(self.W + a * np.eye(len(self.W)), self.dim)

    def velocity(self, q: Array, x: Array) -> Array:
        """q + W x."""
        u = np.empty(q.size)
        relaxation_kernels.velocity_given(self.W, q, x, u)
        return u

    def sweep(
        self, q: Array, friction: Array, frames: Array, rule: int, omega: float, sweeps: int, tolerance: float,
        x: Array,
    ) -> int:  # fmt: skip
        """See `ContactMatrix`."""
        made, _ = relaxation_kernels.relax_dense(
            self.W, q, friction, frames, rule, self.dim, omega, sweeps, tolerance, x, np.empty(q.size)
        )
        return int(made)

    def _solved(
        self, slopes: Array, own: Array, gap: Array, shift: float, active: Flags, rows: Flags
    ) -> Array | None:
        dim, count = self.dim, len(slopes)
        inside = np.flatnonzero(active)
        turned = slopes[active] @ self.W.reshape(count, dim, -1)[active]
        turned.reshape(len(inside), dim, count, dim)[np.arange(len(inside)), :, inside] -= own[active]
        turned = turned.reshape(-1, gap.size)
        matrix = turned[:, rows] + (1.0 + shift) * np.eye(int(rows.sum()))
        right = gap[rows] - turned[:, ~rows] @ gap[~rows]
        if right.size <= NEWTON_AT_ONCE:  # with any number of threads the same digits, and none that waits
            return right if eliminate(matrix, right, right.size) else None
        try:
            return np.linalg.solve(matrix, right).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            return None


class BlockMatrix(ContactMatrix):
    """A W of few blocks (nb, dim, dim), in order: those of contact c, of the contacts `columns`, are starts[c] to
    starts[c + 1]; each contact has its own."""

    def __init__(self, blocks: Array, columns: NDArray[np.int64], starts: NDArray[np.int64]):
        self.blocks, self.columns, self.starts = blocks, columns, starts
        self.dim = blocks.shape[1]
        self._rows = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        self._own = np.flatnonzero(self._rows == columns)
        self.local = blocks[self._own]

    @classmethod
    def of(cls, W: Array, together: NDArray[np.bool_]) -> "BlockMatrix":
        """The blocks of a W whose contacts move each other as `together` (nc, nc) says."""
        count = len(together)
        dim = len(W) // count
        rows, columns = np.nonzero(together | np.eye(count, dtype=bool))
        blocks = np.ascontiguousarray(W.reshape(count, dim, count, dim)[rows, :, columns, :])
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int64)
        return cls(blocks, columns.astype(np.int64), starts)

    def plus(self, a: float) -> "BlockMatrix":
        """W + a I."""
        blocks = self.blocks.copy()
        blocks[self._own] += a * np.eye(self.dim)
        return BlockMatrix(blocks, self.columns, self.starts)

    def velocity(self, q: Array, x: Array) -> Array:
        """q + W x."""
        u = np.empty(q.size)
        sparse_kernels.velocity_of_blocks(self.blocks, self.columns, self.starts, self.dim, q, x, u)
        return u

    def sweep(
        self, q: Array, friction: Array, frames: Array, rule: int, omega: float, sweeps: int, tolerance: float,
        x: Array,
    ) -> int:  # fmt: skip
        """See `ContactMatrix`."""
        made, _ = sparse_kernels.relax_blocks(
            self.blocks, self.columns, self.starts, self.local, q, friction, frames, rule, self.dim, omega, sweeps,
            tolerance, x, np.empty(q.size),
        )  # fmt: skip
        return int(made)

    def _solved(
        self, slopes: Array, own: Array, gap: Array, shift: float, active: Flags, rows: Flags
    ) -> Array | None:
        turned = slopes[self._rows] @ self.blocks
        turned[self._own] += (1.0 + shift) * np.eye(self.dim) - own
        matrix = csr_array(bsr_array((turned, self.columns, self.starts), shape=(gap.size, gap.size)))[rows]
        right = gap[rows] - matrix[:, ~rows] @ gap[~rows]
        try:
            return splu(csc_array(matrix[:, rows])).solve(right)
        except RuntimeError:  # exactly singular
            return None


def coupled(W: Array, dim: int) -> Flags:
    """Which contacts (nc, nc) move each other: whose block of W is not zero."""
    count = len(W) // dim
    filled = (W != 0.0).reshape(count, dim, count, dim)
    return reduce(np.logical_or, (filled[:, r, :, s] for r in range(dim) for s in range(dim)))


def coupled_if_many(W: Array, dim: int) -> Flags | None:
    """That, or None for up to a hundred contacts, whose W is never taken apart."""
    return coupled(W, dim) if len(W) > _FEW * dim else None


def contact_matrix(W: Array, dim: int, together: Flags | None) -> ContactMatrix:
    """W (dim*nc, dim*nc) in the form in which it costs least; `together` as of `coupled_if_many`."""
    if together is not None and together.mean() < _FULL:
        return BlockMatrix.of(W, together)
    return DenseMatrix(W, dim)


def parts_of(together: Flags | None, count: int) -> list[NDArray[np.intp]]:
    """The contacts, of so many, of each part that does not move the others."""
    if together is None:
        return [np.arange(count)]
    parts, label = connected_components(csc_array(together), directed=False)
    return [np.flatnonzero(label == part) for part in range(parts)]
