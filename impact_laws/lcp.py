"""Linear complementarity problems: w = q + M z, w >= 0, z >= 0, w·z = 0."""

import math
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import lcp_kernels
from .impact_problem import _real_array
from .tolerances import ENUMERATION_SOLUTIONS, ENUMERATION_UNKNOWNS, LCP_RESIDUAL, LCP_SEMIDEFINITE

Array = NDArray[np.float64]


_DRAWS = 8  # covering vectors over four decades, after a ray


class LcpStatus(Enum):
    """How Lemke's method ended."""

    SOLVED = "solved"
    RAY = "ray"
    """It ran out along a ray from every covering vector tried. Where M is positive semi-definite, as of impacts,
    that proves that there is no solution; else it proves nothing, and all complementary bases are tried where the
    problem is small enough (see `solve_lcp`). The message says which."""
    PIVOT_LIMIT = "pivot_limit"
    INACCURATE = "inaccurate"
    """A basis was found, but its residual stays above 1e-9 of the scaled problem."""


_STATUS = {
    lcp_kernels.SOLVED: LcpStatus.SOLVED,
    lcp_kernels.RAY: LcpStatus.RAY,
    lcp_kernels.PIVOT_LIMIT: LcpStatus.PIVOT_LIMIT,
    lcp_kernels.INACCURATE: LcpStatus.INACCURATE,
}


@dataclass(frozen=True, eq=False)
class LcpSolution:
    """Answer of `solve_lcp`.

    z : (n,), never negative
    w : (n,), q + M z; negative only by rounding when solved
    status : LcpStatus; z is the best point met when it is not SOLVED
    pivots : exchanges made in all attempts together
    residual : largest |min(z, w)| of the scaled problem, in which max|q| is 1
    restarts : attempts after the first
    message : what a ray means here; empty for the other statuses
    """

    z: Array
    w: Array
    status: LcpStatus
    pivots: int
    residual: float
    restarts: int = 0
    message: str = ""

    @property
    def solved(self) -> bool:
        """Whether the status is SOLVED."""
        return self.status is LcpStatus.SOLVED


@np.errstate(over="ignore", invalid="ignore")  # what is not finite is no solution
def solve_lcp(M: ArrayLike, q: ArrayLike) -> LcpSolution:
    """One solution of w = q + M z, w >= 0, z >= 0, w·z = 0 by Lemke's method.

    M (n, n) may be unsymmetric and singular; q (n,) in the units of M z. Solutions are found for every
    copositive-plus M that has one (impact problems are such); for a general M a ray does not prove that there
    is none: then covering vectors over four decades are tried, and for n up to 16 all complementary bases. The
    ratio test is lexicographic, so the method cannot cycle; degenerate problems are restarted from a fixed
    sequence of covering vectors, so equal input gives equal output, bit for bit. Source: Cottle, Pang & Stone,
    The Linear Complementarity Problem, section 4.4.
    """
    matrix, vector = _checked(M, q)
    if vector.size == 1:
        return _one_unknown(float(matrix[0, 0]), float(vector[0]))
    z = np.empty(vector.size)
    status, pivots, restarts, residual = lcp_kernels.solve_lcp_kernel(matrix, vector, z)
    answer = LcpSolution(z, vector + matrix @ z, _STATUS[status], pivots, residual, restarts)
    return _beyond_a_ray(matrix, vector, answer) if answer.status is LcpStatus.RAY else answer


def _beyond_a_ray(matrix: Array, vector: Array, ray: LcpSolution) -> LcpSolution:
    """What else can be said of a problem on which Lemke's method ended on a ray."""
    values = np.linalg.eigvalsh(0.5 * matrix + 0.5 * matrix.T)
    if values[0] >= -LCP_SEMIDEFINITE * np.abs(values).max():
        return replace(
            ray, message="there is no solution: M is positive semi-definite, where a ray proves that"
        )
    pivots, restarts = ray.pivots, ray.restarts
    for draw in range(1, _DRAWS + 1):
        z = np.empty(vector.size)
        status, made, again, residual = lcp_kernels.solve_lcp_from(matrix, vector, draw, z)
        pivots, restarts = pivots + made, restarts + 1 + again
        w = vector + matrix @ z
        if status == lcp_kernels.SOLVED and np.isfinite(w).all():
            return LcpSolution(z, w, LcpStatus.SOLVED, pivots, residual, restarts)
    message = (
        "none was found, though M is not positive semi-definite: a ray does not prove that there is none"
    )
    if vector.size <= ENUMERATION_UNKNOWNS:
        found = np.empty((ENUMERATION_SOLUTIONS, vector.size))
        count = abs(lcp_kernels.enumerate_lcp_kernel(matrix, vector, found))
        for z in found[: min(count, ENUMERATION_SOLUTIONS)]:
            w = vector + matrix @ z
            residual = float(np.abs(np.minimum(z / np.abs(z).max(), w / np.abs(vector).max())).max())
            if residual <= LCP_RESIDUAL:  # false for NaN: numbers that overflow
                return LcpSolution(z.copy(), w, LcpStatus.SOLVED, pivots, residual, restarts)
        message = "there is no basic solution: all complementary bases that are regular were tried"
    return replace(ray, pivots=pivots, restarts=restarts, message=message)


def _one_unknown(m: float, q: float) -> LcpSolution:
    """The closed form, so that a single contact never waits for Lemke's method to be compiled."""
    z = 0.0 if q >= 0.0 else (-q / m if m > 0.0 else math.inf)
    if math.isinf(z):
        return LcpSolution(np.zeros(1), np.array([q]), LcpStatus.RAY, 0, 1.0)
    return LcpSolution(np.array([z]), np.array([q + m * z]), LcpStatus.SOLVED, int(z > 0.0), 0.0)


def enumerate_lcp_solutions(M: ArrayLike, q: ArrayLike) -> Array:
    """All distinct basic solutions z, (count, n), of the problem of `solve_lcp`, by trying every
    complementary basis.

    A basis whose principal submatrix of M is singular is left out, so of a continuum of solutions only those
    corners appear that have a regular basis. For n up to 16; ValueError beyond, or above 1024 solutions.
    """
    matrix, vector = _checked(M, q)
    if vector.size > ENUMERATION_UNKNOWNS:
        raise ValueError(
            f"enumeration tries 2**n complementary bases and is for n up to {ENUMERATION_UNKNOWNS}, "
            f"got n = {vector.size}"
        )
    found = np.empty((ENUMERATION_SOLUTIONS, vector.size))
    count = lcp_kernels.enumerate_lcp_kernel(matrix, vector, found)
    if count < 0:
        raise ValueError(f"the problem has more than {ENUMERATION_SOLUTIONS} distinct basic solutions")
    return found[:count].copy()


def _checked(M: ArrayLike, q: ArrayLike) -> tuple[Array, Array]:
    vector = _real_array("q", q)
    if vector.ndim != 1 or vector.size == 0:
        raise ValueError(f"q must have shape (n,) with n at least 1, got shape {vector.shape}")
    matrix = _real_array("M", M)
    if matrix.shape != (vector.size, vector.size):
        raise ValueError(
            f"M must have shape {(vector.size, vector.size)} to match q, got shape {matrix.shape}"
        )
    return matrix, vector
