"""How far the outcome of an elastic impact depends on which contact is reflected first, and when it does not."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .impact_problem import ImpactProblem
from .law import checked_number, quietly
from .sequential_reflection import feasible_sequences, normal_part
from .tolerances import TERMINATION_RANK

Array = NDArray[np.float64]

_LONGEST = 10000


@dataclass(frozen=True)
class Uniqueness:
    """Whether theory makes the elastic outcome unique, whatever the approach.

    unique : whether it does; False says that no theorem here applies, not that there are several outcomes
    theorem : 2 or 3 of Seghete & Murphey, None where neither applies
    reason : one sentence
    """

    unique: bool
    theorem: int | None
    reason: str


def contact_angles(problem: ImpactProblem) -> Array:
    """Angles between the contact normals in the kinetic metric, (nc, nc), [rad], from 0 to π.

    The cosine is W_ij/√(W_ii W_jj) of the normal components; an immovable contact has no angle, NaN.
    """
    angles = np.arccos(_cosines(problem))
    np.fill_diagonal(angles, np.where(np.isnan(angles.diagonal()), np.nan, 0.0))
    return angles


@quietly
def indeterminacy(problem: ImpactProblem, kinetic_energy: float | None = None) -> float:
    """ξ, the largest ‖p_i - p_j‖/‖p_0‖ in the kinetic metric over the elastic outcomes p of all orders, 0 to 2.

    For two contacts that is the paper's ‖p_ab - p_ba‖/‖p_0‖, each contact being reflected first, if it
    approaches; for up to six, an order is any choice of the next approaching contact. ξ belongs to the one
    approach p_0 of the problem, not to the worst: with γ as in `SequentialReflection.resolve` and both orders of
    n reflections,

        ξ = 2 |sin 2nγ| ‖P p_0‖/‖p_0‖,

    P the projection onto the span of the normals. All that the approach changes is its share in that span, and
    n. Restitution and friction are ignored. Wedged bodies, which have no outcome, give NaN.

    Parameters
    ----------
    kinetic_energy : [J], optional
        Kinetic energy before the impact, ‖p_0‖²/2, of the whole system; the default is that of the problem,
        where it knows one. Contact velocities alone do not tell it: without it, ‖p_0‖ is the part that acts on
        the contacts, ½ uᵀW⁺u, and ξ is an upper bound.

    Raises ValueError beyond six contacts, and where a system with less than `kinetic_energy` could not have the
    contact velocities.

    Source: Seghete & Murphey, section VII-A.
    """
    least = _contact_energy(problem)
    if kinetic_energy is None:
        kinetic_energy = problem.kinetic_energy
    energy = least if kinetic_energy is None else checked_number("kinetic_energy", kinetic_energy)
    if not least * (1.0 - 1e-9) <= energy < np.inf:
        raise ValueError(
            f"kinetic_energy must be finite and at least {least:.6g} J, which the contact velocities have by "
            f"themselves, got {energy:g}"
        )
    _, impulses = feasible_sequences(problem, _LONGEST, separating=False, minimal=False)
    if not len(impulses):
        return float("nan")
    if len(impulses) == 1 or energy == 0.0:
        return 0.0
    normal_inertia, _ = normal_part(problem)
    values, axes = np.linalg.eigh(normal_inertia)
    points = impulses @ (axes * np.sqrt(np.maximum(values, 0.0)))
    return _diameter(points) / float(np.sqrt(2.0 * energy))


@quietly
def uniqueness(problem: ImpactProblem, tolerance: float = 1e-9) -> Uniqueness:
    """Whether the angles between the contacts make the elastic outcome of all orders one, for any approach.

    Theorem 2: all normals are orthogonal. Theorem 3: two contacts with ⟨u, v⟩ = -1/2 for unit normals, in three
    stages. Both are cases of ⟨u, v⟩ = -cos(π/m), m = 2 and 3: where every pair has that with some integer m,
    the reflections generate a finite group, and the separating velocities hold one point of each of its orbits.

    Parameters
    ----------
    tolerance : [rad]
        Largest |m β - π|, β the angle between the planes of two contacts, that counts as none; ξ of two contacts
        is at most about twice that.

    Source: Seghete & Murphey, section V; Humphreys, Reflection Groups and Coxeter Groups, 1990, section 1.12.
    """
    tolerance = checked_number("tolerance", tolerance)
    if not 0.0 <= tolerance < 0.1:
        raise ValueError(f"tolerance must lie within [0, 0.1), got {tolerance:g}")
    count = problem.contact_count
    cosines = _cosines(problem)
    if np.isnan(cosines).any():
        fixed = int(np.flatnonzero(np.isnan(cosines.diagonal()))[0])
        return Uniqueness(
            False, None, f"Contact {fixed} is immovable and has no normal in the kinetic metric."
        )
    if count == 1:
        return Uniqueness(True, None, "A single contact has only one reflection.")
    first, second = np.triu_indices(count, 1)
    between = np.arccos(-cosines[first, second])  # of the planes, through the separating velocities
    with np.errstate(divide="ignore"):
        orders = np.round(np.pi / between)
    fits = (orders >= 2) & np.isfinite(orders)
    fits[fits] = np.abs(orders[fits] * between[fits] - np.pi) <= tolerance
    if not fits.all():
        worst = int(np.flatnonzero(~fits)[0])
        pair = f"{first[worst]} and {second[worst]}"
        return Uniqueness(
            False,
            None,
            f"The normals of contacts {pair} have the inner product {cosines[first[worst], second[worst]]:.6g}, "
            "neither 0 nor -1/2 nor any other -cos(π/m).",
        )
    if (orders == 2).all():
        return Uniqueness(True, 2, "All normals are orthogonal (theorem 2).")
    if count == 2 and orders[0] == 3:
        return Uniqueness(True, 3, "Two normals have the inner product -1/2: three stages (theorem 3).")
    if not np.linalg.eigvalsh(cosines)[0] > tolerance:
        return Uniqueness(False, None, "The normals are dependent, and no finite group fits their angles.")
    return Uniqueness(
        True, None, "All inner products of normals are -cos(π/m) with integers m: a finite reflection group."
    )


def _cosines(problem: ImpactProblem) -> Array:
    """Inner products of the unit normals in the kinetic metric, (nc, nc), NaN for immovable contacts."""
    normal_inertia, _ = normal_part(problem)
    diagonal = normal_inertia.diagonal()
    length = np.sqrt(np.where(diagonal > 0.0, diagonal, np.nan))
    cosines = np.clip(normal_inertia / np.outer(length, length), -1.0, 1.0)
    np.fill_diagonal(cosines, np.where(diagonal > 0.0, 1.0, np.nan))
    return cosines


def _contact_energy(problem: ImpactProblem) -> float:
    """½ uᵀW⁺u [J]: the least kinetic energy of a system with these contact velocities."""
    inertia, velocity, _, _ = problem.kernel_arrays()
    scale = np.sqrt(np.maximum(inertia.diagonal(), 0.0))
    scale[scale == 0.0] = 1.0
    values, axes = np.linalg.eigh(inertia / np.outer(scale, scale))
    kept = values > TERMINATION_RANK * max(values[-1], 0.0)
    share = axes[:, kept].T @ (velocity / scale)
    return float(0.5 * (share**2 / values[kept]).sum())


def _diameter(points: Array) -> float:
    """Largest distance between two of (k, n) points.

    Points whose farthest corner of the box around all, along the principal axes, is not farther than a pair found
    by walking from farthest point to farthest point belong to no larger pair; nor then in the box around the rest.
    """
    centred = points - points.mean(axis=0)
    points = centred @ np.linalg.eigh(centred.T @ centred)[1]
    largest, start = 0.0, points[np.argmax((points**2).sum(axis=1))]
    while True:
        away = np.sqrt(((points - start) ** 2).sum(axis=1))
        if away.max() <= largest:
            break
        largest, start = float(away.max()), points[np.argmax(away)]
    while len(points):
        corner = np.maximum(points - points.min(axis=0), points.max(axis=0) - points)
        left = np.sqrt((corner**2).sum(axis=1)) > largest
        if left.all():
            break
        points = points[left]
    for k in range(1, len(points)):
        away = ((points[:k] - points[k]) ** 2).sum(axis=1)
        largest = max(largest, float(np.sqrt(away.max())))
    return largest
