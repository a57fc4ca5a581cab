"""Inelastic impacts with friction one contact after the other, each the complementarity problem of that contact
alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .anitescu_potra import edge_directions
from .impact_problem import ImpactProblem
from .law import checked_count, generator_of
from .outcome import ImpactOutcome, ImpactStatus, OutcomeSet
from .reflection_kernels import next_contact
from .sequential_reflection import checked_order, visits_of
from .tolerances import DISTINCT, LCP_RESIDUAL, ROUNDING

Array = NDArray[np.float64]

_MOST_PERMUTED = 5  # contacts: 120 orders


@dataclass(frozen=True)
class SequentialLCP:
    """One contact at a time, each perfectly inelastic with friction as if alone, until none approaches.

    A contact that approaches is resolved by the problem of `AnitescuPotra` for that contact only,

        0 <= λ ⟂ v_n⁺ >= 0,   0 <= β ⟂ D v⁺ + 1 σ >= 0,   0 <= σ ⟂ μ λ - 1ᵀ β >= 0,

    which leaves v_n⁺ = 0 there and changes the velocity of the others. The outcome depends on the order;
    `outcomes` gives those of all cyclic orders. Restitution is ignored.

    Parameters
    ----------
    order : which approaching contact is next
        "most_approaching" (least u_n/√W_nn, ties to the lowest index), "least_approaching", "cyclic"
        (contacts in turn), "random" (drawn from ``rng``), or a sequence of contact indices, visited in turn
        and over again, which must name every contact.
    cone_edges : at least 3
        Edges of the friction pyramid of a spatial contact, see `AnitescuPotra`.
    max_impacts : at least 1
        More single impacts end as NOT_TERMINATED.

    Source: the baseline called sequential in Halm & Posa, section 2.2.2.
    """

    order: str | Sequence[int] = "most_approaching"
    cone_edges: int = 8
    max_impacts: int = 1000

    name: ClassVar[str] = "sequential-lcp"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", checked_order(self.order))
        checked_count("cone_edges", self.cone_edges, 3)
        checked_count("max_impacts", self.max_impacts, 1)

    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """The outcome; ``rng`` is used for order "random" only.

        The path has a stage for each single impact; ``info``: sequence, the contacts in the order resolved.
        """
        inertia, before, friction, _ = problem.kernel_arrays()
        count, dim = problem.contact_count, problem.dim
        kind, visits = visits_of(self.order, count)
        seed = int(generator_of(rng).integers(1, 2**31 - 1)) if self.order == "random" else 1
        directions, scale = edge_directions(dim, self.cone_edges), problem.kinetic_scale_array
        cursor, workspace = np.array([0, seed % 2147483646 + 1]), np.empty(count, dtype=np.int64)
        velocity, impulse = before.copy(), np.zeros(before.size)
        stages: list[Array] = []
        sequence: list[int] = []
        status, message = ImpactStatus.RESOLVED, ""
        while True:
            contact = next_contact(
                velocity, dim, scale, problem.approach_threshold, kind, visits, cursor, workspace
            )
            if contact < 0:
                break
            if len(sequence) == self.max_impacts:
                status = ImpactStatus.NOT_TERMINATED
                message = f"a contact still approaches after {len(sequence)} single impacts"
                break
            rows = slice(dim * contact, dim * contact + dim)
            rounding = ROUNDING * float(np.abs(before).max() + np.abs(velocity - before).max())
            single, status = _single_impact(
                inertia[rows, rows], velocity[rows], float(friction[contact]), directions, rounding
            )
            if status is not ImpactStatus.RESOLVED:
                accurate = "" if status is ImpactStatus.NO_SOLUTION else "accurate "
                message = f"contact {contact} alone has no {accurate}solution"
                break
            impulse[rows] += single
            velocity += inertia[:, rows] @ single
            velocity[dim * contact] = 0.0  # exactly, so that rounding cannot make it approach again
            stages.append(impulse.copy())
            sequence.append(contact)
        return ImpactOutcome.from_stages(
            problem,
            np.array(stages).reshape(-1, before.size),
            [f"impact at contact {contact}" for contact in sequence],
            status,
            message,
            {"sequence": tuple(sequence)},
        )

    def outcomes(self, problem: ImpactProblem) -> OutcomeSet:
        """The outcomes of all permutations of up to five contacts, each repeated as a cyclic order.

        Only distinct post-impact velocities, sorted by velocity; ``labels`` are the permutations (the first
        of several that give the same velocity), ``solves`` the single impacts. ``order`` is not used.
        """
        if problem.contact_count > _MOST_PERMUTED:
            raise ValueError(
                f"outcomes tries all orders of at most {_MOST_PERMUTED} contacts, this problem has "
                f"{problem.contact_count}: use fewer contacts, or resolve with orders of your choice"
            )
        found: list[tuple[tuple[int, ...], ImpactOutcome]] = []
        for order in permutations(range(problem.contact_count)):
            outcome = replace(self, order=order).resolve(problem)
            largest = float(np.abs([problem.u, outcome.velocity]).max())
            if all(
                np.abs(outcome.velocity - known.velocity).max() > DISTINCT * largest
                or outcome.resolved is not known.resolved
                for _, known in found
            ):
                found.append((order, outcome))
        # rounded, so that a zero of either sign sorts alike
        found.sort(key=lambda entry: (np.round(entry[1].velocity, 9) + 0.0).tolist())
        return OutcomeSet(
            velocity=np.array([outcome.velocity for _, outcome in found]),
            impulse=np.array([outcome.impulse for _, outcome in found]),
            solves=np.array([len(outcome.info["sequence"]) for _, outcome in found]),
            resolved=np.array([outcome.resolved for _, outcome in found]),
            labels=tuple(order for order, _ in found),
        )


def _single_impact(
    W: Array, u: Array, friction: float, directions: Array, rounding: float
) -> tuple[Array, ImpactStatus]:
    """Impulse (dim,) of one contact with u_n < 0, and RESOLVED where it solves the contact's problem.

    W (dim, dim), u (dim,), pyramid edges ``directions`` (edges, dim-1); ``rounding`` [m/s] is the error of u.

    The contact ends with v_n = 0, so λ = -(u_n + W_nt·β)/W_nn, and its slip is c + S β with c the slip after
    the frictionless impulse and S = W_tt - W_tn W_nt/W_nn. It sticks where S β = -c has a solution inside the
    pyramid, else it slides. Neither S nor the coupling need be regular.
    """
    impulse = np.zeros(u.size)
    if not W[0, 0] > 0.0:
        return impulse, ImpactStatus.NO_SOLUTION
    alone, coupling = -u[0] / W[0, 0], W[0, 1:] / W[0, 0]
    if friction == 0.0:
        impulse[0] = alone
        return impulse, ImpactStatus.RESOLVED
    slip = u[1:] + W[0, 1:] * alone
    mobility = W[1:, 1:] - np.outer(W[0, 1:], W[0, 1:]) / W[0, 0]
    values, axes = np.linalg.eigh(mobility)
    mobile = values > ROUNDING * W[1:, 1:].trace()
    tangential = -(axes[:, mobile] / values[mobile]) @ (axes[:, mobile].T @ slip)
    normal = alone - coupling @ tangential
    terms = np.abs(slip) + np.abs(W[1:, 1:]) @ np.abs(tangential)
    sticks = np.all(np.abs(slip + mobility @ tangential) <= rounding + ROUNDING * terms)
    middles = 0.5 * (directions + _following(directions))
    if sticks and np.all(middles @ tangential <= (middles**2).sum(axis=1) * friction * normal):
        impulse[0], impulse[1:] = normal, tangential
        return impulse, ImpactStatus.RESOLVED
    return _sliding_impulse(alone, coupling, slip, mobility, friction, directions, rounding)


def _sliding_impulse(
    alone: float,
    coupling: Array,
    slip: Array,
    mobility: Array,
    friction: float,
    directions: Array,
    rounding: float,
) -> tuple[Array, ImpactStatus]:
    """Impulse (λ, μ λ d) with λ = alone/(1 + μ coupling·d) and d on the rim of the polygon of edges.

    Either d is a vertex, or a point of a side at right angles to the slip, which is an equation linear in the
    place on the side. Of all these the one is taken whose friction opposes the slip best, that is with
    max_k(-d_k·slip) = -d·slip.
    """
    sides = _following(directions) - directions
    across, turning = sides @ slip, friction * alone * sides @ mobility
    constant = across * (1.0 + friction * directions @ coupling) + (turning * directions).sum(axis=1)
    slope = friction * across * (sides @ coupling) + (turning * sides).sum(axis=1)
    crossed = (constant * slope < 0.0) & (np.abs(constant) < np.abs(slope))
    place = -constant[crossed] / slope[crossed]
    along = np.vstack([directions, directions[crossed] + place[:, None] * sides[crossed]])
    share = 1.0 + friction * along @ coupling
    along, share = along[share > 0.0], share[share > 0.0]
    if not len(along):
        return np.zeros(1 + slip.size), ImpactStatus.NO_SOLUTION
    strength = friction * alone / share
    change = strength[:, None] * (along @ mobility)
    ends = slip + change
    gap = (-ends @ directions.T).max(axis=1) + (along * ends).sum(axis=1)
    error = gap / (np.abs(slip).max() + np.abs(change).max(axis=1) + rounding)
    chosen = int(np.argmax(error <= error.min() + ROUNDING))  # the first of several solutions
    accurate = error[chosen] <= LCP_RESIDUAL or gap[chosen] <= rounding
    impulse = np.concatenate([[alone / share[chosen]], strength[chosen] * along[chosen]])
    return impulse, ImpactStatus.RESOLVED if accurate else ImpactStatus.INACCURATE


def _following(directions: Array) -> Array:
    """The next vertex of each; a planar contact has no sides, there each follows itself."""
    return np.roll(directions, -1, axis=0) if directions.shape[1] == 2 else directions
