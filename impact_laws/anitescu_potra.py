"""Simultaneous impact with friction as one linear complementarity problem."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from . import lcp_kernels
from .contact_modes import simultaneous_solutions
from .impact_problem import ImpactProblem
from .law import checked_count, power_of_two, quietly
from .lcp import _STATUS, LcpStatus
from .newton_restitution import asked_for, rebound, with_largest_share
from .outcome import ImpactOutcome, ImpactStatus, OutcomeSet
from .sequential_lcp_kernels import pyramid
from .tolerances import ENERGY_GAIN, LCP_RESIDUAL

Array = NDArray[np.float64]

_AT_ONCE, _JOINING = 12, 4


@dataclass(frozen=True)
class AnitescuPotra:
    """All contacts at once, friction over a pyramid inside the cone.

    Solves, with λ normal impulses, β impulses along the ``cone_edges`` directions of a contact, σ slip
    bounds,

        0 <= λ ⟂ v_n⁺ - b >= 0,   0 <= β ⟂ D v⁺ + E σ >= 0,   0 <= σ ⟂ μ λ - Eᵀ β >= 0.

    and b = e times the approach of a contact (Newton's restitution), or the largest share of it with which energy
    is not gained (`newton_restitution`). Every problem whose contacts can move has a solution without restitution,
    sometimes several; `resolve` returns the one that Lemke's method meets, `outcomes` all.

    Parameters
    ----------
    cone_edges : at least 3
        Edges of the friction pyramid, unit directions at angles 2πk/cone_edges from ``tangent`` towards
        ``tangent2``. Planar problems always have the two directions ±tangent.

    Source: Anitescu & Potra 1997; the baseline called simultaneous in Halm & Posa.
    """

    cone_edges: int = 8

    name: ClassVar[str] = "anitescu-potra"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checked_count("cone_edges", self.cone_edges, 3)

    @quietly
    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """The outcome Lemke's method finds; ``rng`` is not used. ``info`` holds pivots, restarts, residual,
        the number of contacts solved for, and restitution_share where it is below 1.

        Of more than a dozen contacts those join, a few at a time, that would still approach: a solution in
        which the others keep apart without impulse solves the whole problem.
        """
        return with_largest_share(problem, lambda normal: self._solved(problem, normal))

    def _solved(self, problem: ImpactProblem, normal: Array) -> ImpactOutcome:
        """The outcome that leaves normal velocities (nc,) of at least `normal`."""
        inertia, _, friction, _ = problem.kernel_arrays()
        count, dim = problem.contact_count, problem.dim
        velocity = asked_for(problem, normal)
        W, u, unit = _scaled(problem, velocity)
        impulse = np.zeros(velocity.size)
        chosen = np.ones(count, dtype=np.bool_)
        if count > _AT_ONCE:
            chosen = np.zeros(count, dtype=np.bool_)
            chosen[np.argsort(problem.approach_measure(), kind="stable")[:_JOINING]] = True
        while True:
            rows = np.repeat(chosen, dim)
            directions, M, q = self._complementarity_problem(
                np.ascontiguousarray(W[rows][:, rows]), u[rows], friction[chosen], dim
            )
            z, part = np.empty(q.size), np.empty(int(rows.sum()))
            ended, pivots, restarts, residual = lcp_kernels.solve_lcp_kernel(M, q, z)
            lcp_kernels.impulse_in_cones(z, friction[chosen], directions, part)
            impulse[rows] = part * unit[rows]
            if chosen.all():
                break
            after = (velocity + inertia @ impulse)[::dim] / problem.kinetic_scale
            worst = np.argsort(np.where(chosen, np.inf, after), kind="stable")[:_JOINING]
            worst = worst[after[worst] < -LCP_RESIDUAL * float(np.abs(problem.approach_measure()).max())]
            worst = worst[~chosen[worst]]
            if not len(worst):
                break
            chosen[worst] = True
        status, message = ImpactStatus.RESOLVED, ""
        if _STATUS[ended] is LcpStatus.RAY:
            status, message = ImpactStatus.NO_SOLUTION, "Lemke's method ended on a ray"
        elif _STATUS[ended] is not LcpStatus.SOLVED:
            status, message = (
                ImpactStatus.INACCURATE,
                f"scaled residual {residual:.3g} after {restarts} restarts",
            )
        return ImpactOutcome.from_stages(
            problem,
            impulse[None],
            ("simultaneous impact",),
            status,
            message,
            {"pivots": pivots, "restarts": restarts, "residual": residual, "contacts": int(chosen.sum())},
        )

    @quietly
    def outcomes(self, problem: ImpactProblem, *, most_cases: int = 20_000) -> OutcomeSet:
        """All outcomes with distinct post-impact velocity, by branching over what each contact does.

        Sorted by velocity; ``labels`` are the pressed contacts. ``complete`` says whether these are all; where they
        are not, since ``most_cases`` were looked at or velocities form a continuum, ``message`` says so. Impulses
        that give the same velocity count as one; of those, the first found is kept. Restitution counts with the
        share that it has in `resolve`; solutions that gain energy with it are left out.
        """
        checked_count("most_cases", most_cases, 1)
        inertia, velocity, friction, _ = problem.kernel_arrays()
        share = self.resolve(problem).info.get("restitution_share", 1.0) if problem.restitution.any() else 1.0
        W, u, unit = _scaled(problem, asked_for(problem, share * rebound(problem)))
        found = simultaneous_solutions(
            W, u, friction, edge_directions(problem.dim, self.cone_edges), most_cases
        )
        impulses = found.impulse * unit
        velocities = velocity + impulses @ inertia
        given, stored = impulses @ velocity, 0.5 * np.einsum("ij,ij->i", impulses @ inertia, impulses)
        loses = given + stored <= ENERGY_GAIN * (np.abs(given) + stored)
        # rounded, so that a zero of either sign sorts alike
        order = sorted(np.flatnonzero(loses), key=lambda k: (np.round(velocities[k], 9) + 0.0).tolist())
        normal = problem.normal_index
        return OutcomeSet(
            velocity=velocities[order],
            impulse=impulses[order],
            solves=np.ones(len(order), dtype=np.int64),
            resolved=np.ones(len(order), dtype=bool),
            labels=tuple(tuple(np.flatnonzero(impulses[k][normal] > 0.0).tolist()) for k in order),
            complete=found.complete,
            message=found.reason,
        )

    def _unknowns(self, friction: Array, dim: int) -> int:
        edges = len(edge_directions(dim, self.cone_edges))
        return len(friction) + (edges + 1) * int(np.count_nonzero(friction))

    def _complementarity_problem(
        self, inertia: Array, velocity: Array, friction: Array, dim: int
    ) -> tuple[Array, Array, Array]:
        """Edge directions, M and q of w = q + M z with z = (λ, β, σ)."""
        directions = edge_directions(dim, self.cone_edges)
        size = self._unknowns(friction, dim)
        M, q = np.empty((size, size)), np.empty(size)
        lcp_kernels.assemble_impact_lcp(inertia, velocity, friction, directions, M, q)
        return directions, M, q


def _scaled(problem: ImpactProblem, velocity: Array) -> tuple[Array, Array, Array]:
    """W and u in units in which every contact has W_nn of about 1 and the fastest a speed of about 1, and the
    units (dim*nc,) of impulses [N s]: masses of 1e30 kg beside slips of 1 m/s are no trouble of Lemke's method
    then. Powers of two, so that nothing is rounded."""
    inertia, _, _, _ = problem.kernel_arrays()
    scale = np.repeat(power_of_two(1.0 / problem.kinetic_scale_array), problem.dim)
    speed = float(power_of_two(np.abs(scale * velocity).max() or 1.0))
    return scale[:, None] * inertia * scale, scale * velocity / speed, scale * speed


@cache
def edge_directions(dim: int, cone_edges: int) -> Array:
    """Unit tangential directions of the friction pyramid, (edges, dim-1): ± for a planar contact. Do not
    write to it."""
    return np.ascontiguousarray(pyramid(dim, cone_edges)[:, : dim - 1])
