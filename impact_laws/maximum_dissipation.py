"""Impacts with friction at any number of contacts at once, by relaxation over one-contact solutions."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import numbering_kernels, relaxation_kernels
from .contact_network import ContactNetwork, NetworkOutcome
from .impact_problem import ImpactProblem, _real_array
from .law import checked_count, quietly
from .newton_restitution import asked_for, gains, largest_share, rebound, with_largest_share
from .outcome import ImpactOutcome, ImpactStatus
from .relaxation import NetworkRelaxation, Relaxation, relax_in_parts
from .tolerances import RELAXATION_FINEST

Array = NDArray[np.float64]

RULES = {
    "maximum-dissipation": relaxation_kernels.MAXIMUM_DISSIPATION,
    "coulomb": relaxation_kernels.COULOMB,
}


@dataclass(frozen=True)
class MaximumDissipation:
    """Contacts at once whose friction dissipates as much energy as it can, or slips as Coulomb's.

    Each contact's impulse minimises the kinetic energy after the impact over its friction cone, given all
    others, among impulses that leave it a normal velocity of at least e times its approach (of exactly that where
    it presses). The solution is a fixed point of all contacts, found by rounds of block relaxation, each followed
    by semismooth Newton steps. Restitution is Newton's; where all coefficients together would gain energy, the
    largest share of them counts with which they do not (`newton_restitution`).

    Parameters
    ----------
    friction_rule : what one contact does
        "maximum-dissipation" (the global minimum), or "coulomb" (friction opposes slip; the minimum where
        there is no such solution).
    tolerance : above 0
        Largest distance of a contact's impulse from its one-contact solution given all others, relative to
        the largest impulse, or to what would stop the contact that moves fastest where that is more, at which
        a problem counts as solved; a hundred times that, where a few sweeps and Newton's method bring it no
        nearer, but nothing approaches any more and no energy is gained. Restitution is solved to 1e-10 at least:
        what is coarser cannot be told from an impact without it.
    max_sweeps : at least 1
        Relaxation sweeps in all; more end as INACCURATE with the residual reached.

    Source: Preclik, Eibl & Rüde. The rounds of relaxation and Newton steps were chosen over relaxation alone,
    which cycles on hyperstatic problems (docs/laws.md); with most dissipation, slip that opposes friction leans by
    μ W_tn / W_nn, so that one Newton method serves both rules.
    """

    friction_rule: str = "maximum-dissipation"
    tolerance: float = 1e-10
    max_sweeps: int = 20000

    name: ClassVar[str] = "maximum-dissipation"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.friction_rule, str) or self.friction_rule not in RULES:
            raise ValueError(f"friction_rule must be one of {', '.join(RULES)}, got {self.friction_rule!r}")
        if isinstance(self.tolerance, bool) or not isinstance(self.tolerance, int | float | np.floating):
            raise TypeError(f"tolerance must be a number above 0, got {self.tolerance!r}")
        if not 0.0 < self.tolerance < 1.0:
            raise ValueError(f"tolerance must lie between 0 and 1, got {self.tolerance}")
        checked_count("max_sweeps", self.max_sweeps, 1)

    @quietly
    def resolve(
        self,
        problem: ImpactProblem,
        rng: np.random.Generator | None = None,
        *,
        start: ArrayLike | None = None,
    ) -> ImpactOutcome:
        """The outcome; ``rng`` places the last restarts of problems that resist everything else.

        ``start`` (dim*nc,) are impulses to begin from, such as those of a similar problem. ``info``: residual,
        sweeps and newton_steps, and restitution_share where it is below 1.
        """
        velocity = problem.u
        impulse = np.zeros(velocity.size)
        if start is not None:
            impulse = _real_array("start", start)
            if impulse.shape != velocity.shape:
                raise ValueError(f"start must have shape {velocity.shape}, got shape {impulse.shape}")
        if problem.normal_velocity.min() > 0.0:  # grazing contacts may jam: an impulse without collision
            return ImpactOutcome.from_stages(
                problem, np.zeros((1, velocity.size)), ("simultaneous impact",),
                info={"residual": 0.0, "sweeps": 0, "newton_steps": 0},
            )  # fmt: skip
        order = self._order(problem)
        if order is None:
            return with_largest_share(
                problem, lambda normal: self._solved(problem, normal, impulse.copy(), rng)
            )
        # the search for a share decides by sums, whose last digits depend on the order of contacts
        ordered, rows = problem.renumbered(order), problem.rows_of(order)
        found = with_largest_share(ordered, lambda normal: self._solved(ordered, normal, impulse[rows], rng))
        impulse = np.empty(velocity.size)
        impulse[rows] = found.impulse
        return ImpactOutcome.from_stages(
            problem, impulse[None], ("simultaneous impact",), found.status, found.message, found.info
        )

    def _order(self, problem: ImpactProblem) -> NDArray[np.int64] | None:
        """The order (nc,) in which contacts with restitution are taken; None where it is that of their numbers."""
        inertia, _, friction, restitution = problem.kernel_arrays()
        if problem.contact_count == 1 or not restitution.any():
            return None
        order = np.empty(problem.contact_count, dtype=np.int64)
        asked = asked_for(problem, rebound(problem))
        changes = numbering_kernels.order_by_state(inertia, asked, friction, problem.dim, order)
        return order if changes else None

    def _solved(
        self, problem: ImpactProblem, normal: Array, impulse: Array, rng: np.random.Generator | None
    ) -> ImpactOutcome:
        """The outcome that leaves normal velocities (nc,) of at least `normal`, begun at an impulse (dim*nc,)."""
        inertia, velocity, _, _ = problem.kernel_arrays()
        tolerance = self.tolerance
        if normal.any():
            tolerance = min(tolerance, type(self).tolerance)
            velocity = velocity.copy()
            rule = RULES[self.friction_rule]
            relaxation_kernels.ask_for_normal_velocity(inertia, normal, rule, problem.dim, velocity)
        solver, outcome = self._relaxed_to(problem, velocity, impulse, tolerance, rng)
        while outcome.status is ImpactStatus.INACCURATE and solver.residual <= tolerance > RELAXATION_FINEST:
            # contacts that wedge bodies with impulses far above those of the impact: its share of them is finer
            tolerance *= 1e-2
            solver, outcome = self._relaxed_to(problem, velocity, solver.impulse, tolerance, rng)
        return outcome

    def _relaxed_to(
        self, problem: ImpactProblem, velocity: Array, impulse: Array, tolerance: float,
        rng: np.random.Generator | None,
    ) -> tuple[Relaxation, ImpactOutcome]:  # fmt: skip
        """The outcome of relaxation to a tolerance, of a problem with velocities (dim*nc,) that stand for the
        normal ones asked for."""
        inertia, _, friction, _ = problem.kernel_arrays()
        solver = relax_in_parts(
            inertia, velocity, friction, RULES[self.friction_rule], problem.dim, impulse, tolerance,
            self.max_sweeps, rng,
        )  # fmt: skip
        status, message = ImpactStatus.RESOLVED, ""
        if not solver.solves(tolerance):
            status = ImpactStatus.INACCURATE
            message = f"residual {solver.residual:.3g} after {solver.sweeps} sweeps"
            if self.friction_rule != "coulomb":
                message += (
                    "; beyond critical friction there may be none: friction_rule='coulomb' solves nearly all"
                )
        return solver, ImpactOutcome.from_stages(
            problem,
            solver.impulse[None],
            ("simultaneous impact",),
            status,
            message,
            {"residual": solver.residual, "sweeps": solver.sweeps, "newton_steps": solver.newton_steps},
        )

    @quietly
    def resolve_network(
        self, network: ContactNetwork, *, start: ArrayLike | None = None, tolerance: float | None = None
    ) -> NetworkOutcome:
        """The outcome of a large problem, by relaxation over body velocities; W is never formed.

        Contacts are coloured so that those of one colour share no body; the colours are solved one after the
        other, each in parallel, so the result is the same for any number of threads. ``start`` (nc, 3) are
        impulses to begin from; ``tolerance`` defaults to the law's. Restitution is as in `resolve`: the largest
        share of all coefficients with which energy is not gained, also where sweeps end before the tolerance.
        """
        bound = self.tolerance if tolerance is None else tolerance
        impulse = np.zeros((network.contact_count, 3))
        if start is not None:
            impulse = _real_array("start", start)
            if impulse.shape != (network.contact_count, 3):
                raise ValueError(
                    f"start must have shape {(network.contact_count, 3)}, got shape {impulse.shape}"
                )
        relaxation = NetworkRelaxation(network, RULES[self.friction_rule])
        if not network.restitution.any():
            return self._relaxed(network, relaxation, impulse, bound)
        before = network.contact_velocity()
        wanted = network.restitution * np.maximum(-before[:, 0], 0.0)

        def solve(share: float) -> NetworkOutcome:
            relaxation.ask_for(share * wanted)
            return self._relaxed(network, relaxation, impulse, bound)

        outcome, share = largest_share(
            solve,
            lambda outcome, _: not gains(outcome, before),
            lambda outcome: gains(outcome, before),
            lambda: 1.0,
        )
        return replace(outcome, restitution_share=share)

    def _relaxed(
        self, network: ContactNetwork, relaxation: NetworkRelaxation, start: Array, bound: float
    ) -> NetworkOutcome:
        """The outcome whose residual is within a bound, begun at impulses (nc, 3)."""
        x = start[relaxation.order]
        sweeps, residual = 0, relaxation.residual(x)
        while residual > bound and sweeps < self.max_sweeps:
            sweeps += relaxation.sweep(x, self.max_sweeps - sweeps, bound)
            residual = relaxation.residual(x)
        impulse = relaxation.unsorted(x)
        velocity = network.velocity_after(impulse)
        before, after = network.contact_velocity(), network.contact_velocity(velocity)
        change = 0.5 * float(np.sum(impulse * (before + after)))
        return NetworkOutcome(impulse, velocity, change, float(residual), sweeps, bool(residual <= bound))
