"""Inelastic impacts with friction at any number of contacts, by relaxation over one-contact solutions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import relaxation_kernels
from .contact_network import ContactNetwork, NetworkOutcome
from .impact_problem import ImpactProblem, _real_array
from .law import checked_count, generator_of
from .outcome import ImpactOutcome, ImpactStatus
from .tolerances import RELAXATION_GAIN

Array = NDArray[np.float64]

_RULES = {
    "maximum-dissipation": relaxation_kernels.MAXIMUM_DISSIPATION,
    "coulomb": relaxation_kernels.COULOMB,
}
_SWEEPS = 25  # before the first Newton step
_NEWTON_STEPS = 20
_NEWTON_AT_ONCE = 300  # unknowns; larger problems are first relaxed with acceleration
_ANDERSON = 8  # sweeps mixed
_SHIFTS = (0.0, 1e-8, 1e-5, 1e-3)  # of the Newton matrix, tried in turn where it is singular
_NEWTON_UNKNOWNS = 3000  # above, a dense Newton step costs more than it gains
_RELAXATIONS = (1.0, 1.0, 0.7, 1.2)  # of the rounds in turn
_PROXIMAL = (1e-2, 1e-1, 1e-3)  # of the mean of the diagonal of W, in turn


@dataclass(frozen=True)
class MaximumDissipation:
    """Contacts without restitution whose friction dissipates as much energy as it can, or slips as Coulomb's.

    Each contact's impulse minimises the kinetic energy after the impact over its friction cone, given all
    others, among impulses that end its approach (with zero normal velocity where it presses). The solution is
    a fixed point of all contacts, found by rounds of block relaxation, each followed by semismooth Newton
    steps.

    Parameters
    ----------
    friction_rule : what one contact does
        "maximum-dissipation" (the global minimum), or "coulomb" (friction opposes slip; the minimum where
        there is no such solution).
    tolerance : above 0
        Largest distance of a contact's impulse from its one-contact solution given all others, relative to
        the largest impulse, at which a problem counts as solved.
    max_sweeps : at least 1
        Relaxation sweeps in all; more end as INACCURATE with the residual reached.

    Source: Preclik, Eibl & Rüde. The rounds of relaxation and Newton steps were chosen over relaxation alone,
    which cycles on hyperstatic problems (docs/laws.md).
    """

    friction_rule: str = "maximum-dissipation"
    tolerance: float = 1e-10
    max_sweeps: int = 20000

    name: ClassVar[str] = "maximum-dissipation"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.friction_rule not in _RULES:
            raise ValueError(f"friction_rule must be one of {', '.join(_RULES)}, got {self.friction_rule!r}")
        if isinstance(self.tolerance, bool) or not isinstance(self.tolerance, int | float | np.floating):
            raise TypeError(f"tolerance must be a number above 0, got {self.tolerance!r}")
        if not 0.0 < self.tolerance < 1.0:
            raise ValueError(f"tolerance must lie between 0 and 1, got {self.tolerance}")
        checked_count("max_sweeps", self.max_sweeps, 1)

    def resolve(
        self,
        problem: ImpactProblem,
        rng: np.random.Generator | None = None,
        *,
        start: ArrayLike | None = None,
    ) -> ImpactOutcome:
        """The outcome; ``rng`` places the last restarts of problems that resist everything else.

        ``start`` (dim*nc,) are impulses to begin from, such as those of a similar problem. ``info``: residual,
        sweeps and newton_steps.
        """
        inertia, velocity, friction, _ = problem.kernel_arrays()
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
        solver = _Solver(inertia, velocity, friction, _RULES[self.friction_rule], problem.dim, impulse)
        solver.solve(self.tolerance, self.max_sweeps, rng)
        status, message = ImpactStatus.RESOLVED, ""
        if solver.residual > self.tolerance:
            status = ImpactStatus.INACCURATE
            message = f"residual {solver.residual:.3g} after {solver.sweeps} sweeps"
        return ImpactOutcome.from_stages(
            problem,
            solver.impulse[None],
            ("simultaneous impact",),
            status,
            message,
            {"residual": solver.residual, "sweeps": solver.sweeps, "newton_steps": solver.newton_steps},
        )

    def resolve_network(
        self, network: ContactNetwork, *, start: ArrayLike | None = None, tolerance: float | None = None
    ) -> NetworkOutcome:
        """The outcome of a large problem, by relaxation over body velocities; W is never formed.

        Contacts are coloured so that those of one colour share no body; the colours are solved one after the
        other, each in parallel, so the result is the same for any number of threads. ``start`` (nc, 3) are
        impulses to begin from; ``tolerance`` defaults to the law's.
        """
        count = network.contact_count
        bound = self.tolerance if tolerance is None else tolerance
        impulse = np.zeros((count, 3))
        if start is not None:
            impulse = _real_array("start", start)
            if impulse.shape != (count, 3):
                raise ValueError(f"start must have shape {(count, 3)}, got shape {impulse.shape}")
        colours = np.empty(count, dtype=np.int64)
        movable = np.any(network.inverse_mass != 0.0, axis=(1, 2))
        number = relaxation_kernels.colour_contacts(network.bodies, movable, colours)
        order = np.argsort(colours, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(colours, minlength=number))])
        bodies = network.bodies[order]
        bodies[~movable[np.maximum(bodies, 0)]] = -1
        jacobian, friction = network.jacobian[order], network.friction[order]
        blocks, response = np.empty((count, 3, 3)), np.empty((count, 2, 3, 6))
        relaxation_kernels.contact_blocks(bodies, jacobian, network.inverse_mass, blocks, response)
        frames = np.empty((count, 10))
        relaxation_kernels.contact_frames(blocks, friction, frames)
        x = impulse[order]
        rule = _RULES[self.friction_rule]
        sweeps, residual = 0, np.inf
        while sweeps < self.max_sweeps:
            velocity = network.velocity_after(_unsorted(x, order))  # without the drift of many small updates
            system = (starts, bodies, jacobian, response, blocks, friction, frames, rule, 1.0, x, velocity)
            _, residual = relaxation_kernels.relax_colours(*system, False, 1, 0.0)
            if residual <= bound:
                break
            made, _ = relaxation_kernels.relax_colours(
                *system, True, min(50, self.max_sweeps - sweeps), 0.5 * bound
            )
            sweeps += made
        impulse = _unsorted(x, order)
        velocity = network.velocity_after(impulse)
        before, after = network.contact_velocity(), network.contact_velocity(velocity)
        change = 0.5 * float(np.sum(impulse * (before + after)))
        return NetworkOutcome(impulse, velocity, change, float(residual), sweeps, bool(residual <= bound))


def _unsorted(values: Array, order: NDArray[np.int64]) -> Array:
    result = np.empty_like(values)
    result[order] = values
    return result


class _Solver:
    """Rounds of relaxation and Newton steps on one dense problem; keeps the best impulse met."""

    def __init__(self, W: Array, q: Array, friction: Array, rule: int, dim: int, impulse: Array):
        self.W, self.q, self.friction, self.rule, self.dim = W, q, friction, rule, dim
        self.impulse = impulse
        self.residual = np.inf
        self.sweeps = 0
        self.newton_steps = 0

    def solve(self, tolerance: float, max_sweeps: int, rng: np.random.Generator | None = None) -> None:
        self.sweeps, self.residual = relaxation_kernels.relax_and_judge(
            self.W,
            self.q,
            self.friction,
            self.rule,
            self.dim,
            min(_SWEEPS, max_sweeps),
            tolerance,
            self.impulse,
        )
        if self.residual > tolerance:
            self.prepare()
            self._solve_in_rounds(tolerance, max_sweeps, rng)

    def prepare(self) -> None:
        """What everything beyond the first sweeps needs."""
        self.frames = np.empty((self.friction.size, 10))
        self._u = np.empty(self.q.size)
        self._target = np.empty(self.q.size)
        relaxation_kernels.frames_of(self.W, self.friction, self.dim, self.frames)

    def _solve_in_rounds(self, tolerance: float, max_sweeps: int, rng: np.random.Generator | None) -> None:
        rng = generator_of(rng)
        if self.q.size <= _NEWTON_AT_ONCE:
            self._newton(self.impulse, tolerance)
            if self.residual <= tolerance:
                return
        x = self.impulse.copy()
        length = _SWEEPS
        rounds = 1
        while self.sweeps < max_sweeps:
            length = min(length, max_sweeps - self.sweeps)
            if rounds % 2 == 0:
                omega = _RELAXATIONS[rounds // 2 % len(_RELAXATIONS)]
                x = self._relaxed(self.W, self.q, x, omega, length, tolerance)
            else:
                x = self._accelerated(x, 4 * length, tolerance)
            if self._keep(x) <= tolerance:
                return
            if self.q.size <= _NEWTON_UNKNOWNS:
                self._newton(x, tolerance)
                if self.residual <= tolerance:
                    return
            rounds += 1
            x = self.impulse.copy()
            if rounds >= 4:
                self._proximal(x, _PROXIMAL[rounds % len(_PROXIMAL)], length, tolerance)
                if self.residual <= tolerance:
                    return
                x = self.impulse.copy()
            if rounds >= 8 and rounds % 2 == 0:
                largest = float(np.abs(self.impulse).max()) or 1.0
                x = np.abs(rng.normal(size=x.size)) * largest * (np.arange(x.size) % self.dim == 0)
            length = min(2 * length, 1000)

    def _accelerated(self, x: Array, sweeps: int, tolerance: float) -> Array:
        """Sweeps mixed by Anderson's method: the next impulse combines the last few so that their changes
        cancel best."""
        points: list[Array] = []
        changes: list[Array] = []
        least = np.inf
        for _ in range(sweeps):
            swept = self._relaxed(self.W, self.q, x.copy(), 1.0, 1, 0.0)
            change = swept - x
            size = float(np.abs(change).max())
            if size <= 0.1 * tolerance * float(np.abs(swept).max(initial=0.0)):
                return swept
            if size > 10.0 * least:  # mixing has led astray
                points.clear()
                changes.clear()
            least = min(least, size)
            points.append(swept)
            changes.append(change)
            del points[:-_ANDERSON], changes[:-_ANDERSON]
            x = swept
            if len(points) > 1:
                differences = np.diff(np.array(changes), axis=0).T
                mixing = np.linalg.lstsq(differences, change, rcond=1e-12)[0]
                x = swept - np.diff(np.array(points), axis=0).T @ mixing
                relaxation_kernels.within_cones(x, self.friction, self.dim)
        return x

    def _relaxed(
        self,
        W: Array,
        q: Array,
        x: Array,
        omega: float,
        sweeps: int,
        tolerance: float,
        frames: Array | None = None,
    ) -> Array:
        frames = self.frames if frames is None else frames
        made, _ = relaxation_kernels.relax_dense(
            W, q, self.friction, frames, self.rule, self.dim, omega, sweeps, 0.1 * tolerance, x, self._u
        )
        self.sweeps += made
        return x

    def _measure(self, x: Array) -> float:
        return relaxation_kernels.residual_dense(
            self.W, self.q, self.friction, self.frames, self.rule, self.dim, x, self._u, self._target
        )

    def _keep(self, x: Array) -> float:
        """Remember x if it is the best so far; its residual."""
        residual = self._measure(x)
        if residual < self.residual:
            self.residual = residual
            self.impulse = x.copy()
        return residual

    def _newton(self, x: Array, tolerance: float) -> None:
        """Newton steps on x - S(x), S the one-contact solutions, with slopes of S by differences."""
        dim, count = self.dim, self.friction.size
        slopes = np.empty((count, dim, dim))
        x = x.copy()
        residual = self._measure(x)
        begin = residual
        for _ in range(_NEWTON_STEPS):
            gap = self._target - x
            relaxation_kernels.solution_slopes(
                self.W, self._u, self.friction, self.frames, self.rule, dim, x, slopes
            )
            matrix, right, rows = self._newton_system(slopes, gap)
            self.newton_steps += 1
            for shift in _SHIFTS:
                step = gap.copy()
                try:
                    step[rows] = np.linalg.solve(matrix + shift * np.eye(len(right)), right)
                except np.linalg.LinAlgError:
                    continue
                trial, found = self._searched(x, step, residual)
                if found < residual:
                    break
            else:
                return
            gained = found / residual
            x, residual = trial, found
            if residual < self.residual:
                self.residual, self.impulse = residual, x.copy()
            if residual <= tolerance or (gained > 0.9 and residual > RELAXATION_GAIN * begin):
                return

    def _newton_system(self, slopes: Array, gap: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Matrix I + S' (W - own blocks) over the contacts that S' lets move, its right side, and its rows."""
        dim, count = self.dim, self.friction.size
        active = slopes.reshape(count, -1).any(axis=1)
        rows = np.repeat(active, dim)
        inside = np.flatnonzero(active)
        coupling = self.W.reshape(count, dim, -1)[active].copy()
        coupling.reshape(len(inside), dim, count, dim)[np.arange(len(inside)), :, inside] = 0.0
        turned = np.einsum("crs,csj->crj", slopes[active], coupling).reshape(-1, gap.size)
        return turned[:, rows] + np.eye(int(rows.sum())), gap[rows] - turned[:, ~rows] @ gap[~rows], rows

    def _searched(self, x: Array, step: Array, residual: float) -> tuple[Array, float]:
        """The first of halved steps that lowers the residual, with its residual; else x and infinity."""
        size = 1.0
        for _ in range(9):
            trial = x + size * step
            if np.isfinite(trial).all():
                relaxation_kernels.within_cones(trial, self.friction, self.dim)
                found = self._measure(trial)
                if found < residual:
                    return trial, found
            size *= 0.5
        return x, np.inf

    def _proximal(self, x: Array, share: float, sweeps: int, tolerance: float) -> None:
        """A few steps of the proximal point method: W + a I is regular where W is not."""
        a = share * float(np.trace(self.W)) / self.q.size
        regular = self.W + a * np.eye(self.q.size)
        frames = np.empty_like(self.frames)
        relaxation_kernels.frames_of(regular, self.friction, self.dim, frames)
        for step in range(10):
            x = self._relaxed(regular, self.q - a * x, x, 1.0, sweeps, tolerance, frames)
            if self._keep(x) <= tolerance:
                return
            if step % 3 == 2 and self.q.size <= _NEWTON_UNKNOWNS:
                self._newton(x, tolerance)
                if self.residual <= tolerance:
                    return
