"""All solutions of one contact with Coulomb-like friction, which need not be unique."""

import numpy as np
from numpy.typing import NDArray

from . import dissipation_kernels
from .impact_problem import ImpactProblem
from .outcome import OutcomeSet
from .tolerances import DISSIPATION_DEGENERATE, DISSIPATION_PARABOLA, DISTINCT

Array = NDArray[np.float64]


def coulomb_solutions(problem: ImpactProblem) -> OutcomeSet:
    """Every inelastic solution of one spatial contact whose friction opposes the slip after the impact.

    The normal velocity after the impact is zero, or the contact separates without impulse; tangential impulse
    lies in the cone, and on it, against the slip, where the contact slides. Labels are pairs (kind, objective)
    with kind "separating", "sticking" or "sliding" and the objective ½ p·W p + p·u, the change of kinetic
    energy [J]; solutions are sorted by it, highest first. A contact that already separates keeps doing so.

    A grazing contact (no normal velocity) has the zero solution besides others; if sliding solutions form a
    continuum, as at the critical friction, only its ends are listed. Tangents need not be unit vectors: W and
    u are taken as they come. Source: Preclik, Eibl & Rüde, figure 1 and table 1.

    Raises ValueError for several contacts, planar ones, and one without normal mobility.
    """
    if problem.contact_count != 1 or problem.dim != 3:
        raise ValueError(
            f"problem must have one spatial contact (dim 3), got {problem.contact_count} of dim {problem.dim}"
        )
    A, before, friction, _ = problem.kernel_arrays()
    if not A[0, 0] > 0.0:
        raise ValueError(f"problem must have W_nn > 0, got {A[0, 0]:g}")
    b, mu = -before, float(friction[0])
    largest = float(np.abs(b).max())
    found: list[tuple[str, Array]] = []
    grazing = abs(b[0]) <= DISSIPATION_DEGENERATE * largest
    if b[0] < 0.0 or grazing:
        found.append(("separating", np.zeros(3)))
    if b[0] >= 0.0 or grazing:
        if mu == 0.0:
            found.append(("sliding", np.array([max(b[0], 0.0) / A[0, 0], 0.0, 0.0])))
        else:
            stick = _sticking(A, b, mu, grazing)
            found += [("sticking", x) for x in stick]
            sliding = _sliding_on_edges(A, b, mu) if grazing else _sliding(A, b, mu)
            found += [("sliding", x) for x in sliding]
    distinct: list[tuple[float, str, Array]] = []
    for kind, x in found:
        if all(np.abs(x - other).max() > DISTINCT * np.abs(x).max() for _, _, other in distinct):
            distinct.append((float(0.5 * x @ A @ x - x @ b), kind, x))
    distinct.sort(key=lambda entry: -entry[0])
    impulse = np.array([x for _, _, x in distinct]).reshape(-1, 3)
    return OutcomeSet(
        velocity=before + impulse @ A,
        impulse=impulse,
        solves=np.ones(len(distinct), dtype=np.int64),
        resolved=np.ones(len(distinct), dtype=np.bool_),
        labels=tuple((kind, objective) for objective, kind, _ in distinct),
    )


def _sticking(A: Array, b: Array, mu: float, grazing: bool) -> list[Array]:
    """The least-norm impulse that stops the contact, if the cone holds it."""
    x = np.empty(3)
    at_rest = b if not grazing else np.array([0.0, b[1], b[2]])
    branch = dissipation_kernels.dissipate(A, at_rest, mu, x)
    on_edge = branch == dissipation_kernels.RAY and np.abs(A @ x - at_rest).max() <= 1e-13 * np.abs(b).max()
    return [x] if branch == dissipation_kernels.STICKING or on_edge else []


def _sliding(A: Array, b: Array, mu: float) -> list[Array]:
    """Roots of the slip across the impulse's direction, a quartic in exp(iα), where slip opposes it."""
    _, _, cosine, sine, g, h11, h12, h22, _, _ = dissipation_kernels.dissipation_frame(A, mu)
    unit = float(np.abs(b).max())
    k = b[0] / unit
    h1 = (cosine * b[1] + sine * b[2]) / unit - g * k
    h2 = (cosine * b[2] - sine * b[1]) / unit
    e, c = mu * g, mu * k

    def turn(angle: float) -> tuple[float, float, float]:
        u1, u2 = float(np.cos(angle)), float(np.sin(angle))
        return dissipation_kernels.slip_turn(h11, h12, h22, h1, h2, c, e, u1, u2)

    nodes = 2.0 * np.pi * np.arange(5) / 5.0
    transform = np.fft.fft([turn(angle)[0] for angle in nodes]) / 5.0
    coefficients = transform[[2, 1, 0, 4, 3]]
    solutions = []
    size = c * (abs(h11) + abs(h12) + abs(h22)) + (1.0 + e) * (abs(h1) + abs(h2))
    for angle in np.angle(np.roots(coefficients)):
        for _ in range(20):
            value, slope, _ = turn(angle)
            if slope == 0.0 or abs(value) > 0.5 * abs(slope):
                break
            angle -= value / slope
        value, _, opposed = turn(angle)
        u1, u2 = np.cos(angle), np.sin(angle)
        f = 1.0 + e * u1
        if abs(value) <= 1e-13 * size and opposed > 0.0 and f > 0.0:
            x = np.empty(3)
            dissipation_kernels.fill_impulse(x, c / f * u1, c / f * u2, cosine, sine, unit / A[0, 0], mu)
            solutions.append(x)
    return solutions


def _sliding_on_edges(A: Array, b: Array, mu: float) -> list[Array]:
    """Grazing: impulses along the edges of the cone that keep the normal velocity at zero, slip against them."""
    coupling = mu * float(np.hypot(A[0, 1], A[0, 2]))
    if coupling < A[0, 0] * (1.0 - DISSIPATION_PARABOLA):
        return []
    middle = np.arctan2(A[0, 2], A[0, 1])
    half = np.arccos(max(-1.0, -A[0, 0] / coupling))
    solutions = []
    for angle in (middle - half, middle + half):
        u = np.array([np.cos(angle), np.sin(angle)])
        edge = np.array([1.0 / mu, *u])
        # slip r A edge - b = -ζ u for r > 0, ζ > 0
        system = np.column_stack([A[1:] @ edge, u])
        if abs(np.linalg.det(system)) > 1e-13 * np.abs(system[:, 0]).max():
            r, opposed = np.linalg.solve(system, b[1:])
            if r > 0.0 and opposed > 0.0:
                solutions.append(r * edge)
    return solutions
