"""The solver of many contacts: rounds of relaxation and Newton steps, or sweeps over bodies without a matrix."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import numbering_kernels, relaxation_kernels
from .anderson_kernels import MIXED, go_on, relax_accelerated
from .contact_matrices import (
    BlockMatrix,
    ContactMatrix,
    DenseMatrix,
    Flags,
    contact_matrix,
    coupled_if_many,
    parts_of,
)
from .contact_network import ContactNetwork
from .impact_problem import rows_of
from .law import generator_of
from .newton_kernels import (
    GAPS_KEPT,
    HALVINGS,
    NEWTON_AT_ONCE,
    NEWTON_STEPS,
    SMALLEST_STEP,
    good_enough,
    natural_newton,
    newton_dense,
)
from .tolerances import NEWTON_SHIFTS, RELAXATION_GAIN

Array = NDArray[np.float64]

_NATURAL_STEPS, _INNER = 60, 20
_RESTARTS = 20  # of Newton's method alone, a round
_NEWTON_UNKNOWNS = 3000  # above, a dense Newton step costs more than it gains
_RELAXATIONS = (1.0, 1.0, 0.7, 1.2)  # of the rounds in turn
_PROXIMAL = 0.1  # of the mean of the diagonal of W, at first
_LEAST_PROXIMAL, _MOST_PROXIMAL = 1e-7, 1.0
_PROXIMAL_STEPS = 400
_MOST_NEWTON_STEPS = 10_000  # of one problem, after which only sweeps follow: badly scaled ones took minutes
_EASY, _HARD = 6, 12  # steps of Newton's method up to which one is easy, and above which it is hard


class NetworkRelaxation:
    """Sweeps over the contacts of a network, sorted by colour: those of one share no movable body.

    Impulses x (nc, 3) are in that order, of which ``order`` gives the contact's number.
    """

    def __init__(self, network: ContactNetwork, rule: int):
        count = network.contact_count
        colours = np.empty(count, dtype=np.int64)
        movable = np.any(network.inverse_mass != 0.0, axis=(1, 2))
        self.network = network
        self.colour_count = relaxation_kernels.colour_contacts(network.bodies, movable, colours)
        self.order = np.argsort(colours, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(colours, minlength=self.colour_count))])
        bodies = network.bodies[self.order]
        bodies[~movable[np.maximum(bodies, 0)]] = -1
        jacobian, friction = network.jacobian[self.order], network.friction[self.order]
        blocks, response = np.empty((count, 3, 3)), np.empty((count, 2, 3, 6))
        relaxation_kernels.contact_blocks(bodies, jacobian, network.inverse_mass, blocks, response)
        frames = np.empty((count, 10))
        relaxation_kernels.contact_frames(blocks, friction, frames)
        shift = np.zeros((count, 3))
        shift[:, 0] = network.slack[self.order]
        self._system = (starts, bodies, jacobian, response, blocks, friction, frames, rule, shift)

    def ask_for(self, normal: Array) -> None:
        """Let contacts have normal velocities (nc,) of at least `normal` from now on, as
        `relaxation_kernels.ask_for_normal_velocity` says."""
        *_, blocks, _, _, rule, shift = self._system
        shift[:] = 0.0
        shift[:, 0] = -normal[self.order]
        if rule == relaxation_kernels.MAXIMUM_DISSIPATION:
            own = blocks[:, 0, 0] > 0.0
            shift[own, 1:] = shift[own, :1] * blocks[own, 1:, 0] / blocks[own, :1, 0]

    def unsorted(self, x: Array) -> Array:
        """Impulses in the order of the network's contacts."""
        impulse = np.empty_like(x)
        impulse[self.order] = x
        return impulse

    def sweep(self, x: Array, sweeps: int, tolerance: float) -> int:
        """Update x in place, by so many sweeps at most, until its residual is about the tolerance; sweeps made."""
        velocity = self.network.velocity_after(self.unsorted(x))  # without the drift of many small updates
        return int(relaxation_kernels.relax_conjugate(*self._system, x, velocity, sweeps, tolerance)[0])

    def residual(self, x: Array) -> float:
        """Largest distance of an impulse from its one-contact solution, relative to the largest impulse."""
        velocity = self.network.velocity_after(self.unsorted(x))
        return float(relaxation_kernels.relax_colours(*self._system, x, velocity, False, 1, 0.0)[1])


def relax_in_parts(
    W: Array, q: Array, friction: Array, rule: int, dim: int, impulse: Array, tolerance: float, max_sweeps: int,
    rng: np.random.Generator | None,
) -> "Relaxation":  # fmt: skip
    """One problem of many contacts, in an order that their numbers have no part in, part by part where contacts do
    not move each other."""
    whole = Relaxation(W, q, friction, rule, dim, impulse)
    if (
        whole.together is None
    ):  # of a few contacts, the first sweeps order them by themselves, and mostly suffice
        whole.begin(tolerance, max_sweeps)
        if whole.residual <= tolerance:
            return whole
    order = np.empty(friction.size, dtype=np.int64)
    numbering_kernels.order_by_state(W, q, friction, dim, order)
    rows = rows_of(order, dim)
    ordered = Relaxation(W[np.ix_(rows, rows)], q[rows], friction[order], rule, dim, whole.impulse[rows])
    if whole.together is None:
        ordered.residual, ordered.sweeps = whole.residual, whole.sweeps
        ordered.go_on(tolerance, max_sweeps, rng)
    else:
        ordered.solve_parts(tolerance, max_sweeps, rng)
    whole.impulse[rows] = ordered.impulse
    whole.residual, whole.sweeps, whole.newton_steps = ordered.residual, ordered.sweeps, ordered.newton_steps
    return whole


class Relaxation:
    """Rounds of relaxation and Newton steps on one problem of contacts; keeps the best impulse met."""

    def __init__(self, W: Array, q: Array, friction: Array, rule: int, dim: int, impulse: Array):
        self.W, self.q, self.friction, self.rule, self.dim = W, q, friction, rule, dim
        self.impulse = impulse
        self.residual = np.inf
        self.sweeps = 0
        self.newton_steps = 0

    def solve(self, tolerance: float, max_sweeps: int, rng: np.random.Generator | None = None) -> None:
        """Bring the residual to the tolerance, or, beyond the first sweeps, to what is `good_enough`; or make all
        sweeps."""
        self.begin(tolerance, max_sweeps)
        if self.residual > tolerance:
            self.go_on(tolerance, max_sweeps, rng)

    def solve_parts(self, tolerance: float, max_sweeps: int, rng: np.random.Generator | None = None) -> None:
        """As `solve`, those contacts apart that do not move each other."""
        parts = parts_of(self.together, self.friction.size)
        if len(parts) == 1:
            self.solve(tolerance, max_sweeps, rng)
            return
        for part in parts:
            rows = rows_of(part, self.dim)
            alone = Relaxation(
                np.ascontiguousarray(self.W[np.ix_(rows, rows)]), self.q[rows], self.friction[part], self.rule,
                self.dim, self.impulse[rows],
            )  # fmt: skip
            alone.solve(tolerance, max_sweeps, rng)
            self.impulse[rows] = alone.impulse
            self.sweeps = max(self.sweeps, alone.sweeps)
            self.newton_steps += alone.newton_steps
        self.residual = self.measure(self.impulse)

    def begin(self, tolerance: float, max_sweeps: int) -> None:
        """The first few sweeps."""
        few = min(relaxation_kernels.FEW_SWEEPS, max_sweeps)
        if self.q.size <= NEWTON_AT_ONCE or not isinstance(self.matrix, BlockMatrix):
            self.sweeps, self.residual = relaxation_kernels.relax_and_judge(
                self.W, self.q, self.friction, self.rule, self.dim, few, tolerance, self.impulse
            )
        else:
            self._keep(self._relaxed(self.impulse.copy(), 1.0, few, tolerance))

    @cached_property
    def together(self) -> Flags | None:
        """Which contacts move each other, as of `coupled_if_many`."""
        return coupled_if_many(self.W, self.dim)

    @cached_property
    def matrix(self) -> ContactMatrix:
        """W in the form in which it costs least; the first sweeps of a small problem do without."""
        return contact_matrix(self.W, self.dim, self.together)

    @cached_property
    def frames(self) -> Array:
        """(nc, 10), as of `contact_frames`; planar contacts need none."""
        frames = np.empty((self.friction.size, 10))
        if self.dim == 3:
            relaxation_kernels.contact_frames(self.matrix.local, self.friction, frames)
        return frames

    @cached_property
    def _lean(self) -> Array | None:
        """(nc, 2) of `lean_of_friction`, zero of Coulomb's friction; None where `natural_map` is not what the rule
        asks for."""
        lean = np.zeros((self.friction.size, 2))
        if self.rule == relaxation_kernels.COULOMB:
            return lean
        applies = relaxation_kernels.lean_of_friction(self.matrix.local, self.friction, self.dim, lean)
        return lean if applies else None

    @property
    def _newton_pays(self) -> bool:
        few = self.q.size <= _NEWTON_UNKNOWNS or isinstance(self.matrix, BlockMatrix)
        return few and self.newton_steps < _MOST_NEWTON_STEPS

    def solves(self, tolerance: float) -> bool:
        """Whether the best impulse met counts as a solution."""
        return bool(good_enough(self.W, self.q, self.dim, self.impulse, self.residual, tolerance))

    def go_on(self, tolerance: float, max_sweeps: int, rng: np.random.Generator | None) -> None:
        """What follows the first sweeps: rounds of more of them, and of Newton's method."""
        rng = generator_of(rng)
        if self.q.size <= NEWTON_AT_ONCE:
            self._newton(self.impulse, tolerance)
            if self.solves(tolerance):
                return
        x = self.impulse.copy()
        length = relaxation_kernels.FEW_SWEEPS
        rounds = 1
        while self.sweeps < max_sweeps:
            length = min(length, max_sweeps - self.sweeps)
            if (rounds == 1 or rounds >= 4) and self._newton_pays:
                self._proximal(self.impulse, tolerance)
                if self.solves(tolerance):
                    return
            if rounds % 2 == 0:
                omega = _RELAXATIONS[rounds // 2 % len(_RELAXATIONS)]
                x = self._relaxed(x, omega, length, tolerance)
            else:
                x = self._accelerated(x, 4 * length, tolerance)
            self._keep(x)
            if self.solves(tolerance):
                return
            if self._newton_pays:
                self._newton(x, tolerance)
                if self.solves(tolerance):
                    return
            rounds += 1
            x = self.impulse.copy()
            if rounds >= 4 and rounds % 2 == 0:
                if self.rule == relaxation_kernels.COULOMB and self.q.size <= NEWTON_AT_ONCE:
                    for _ in range(_RESTARTS if self._newton_pays else 0):
                        self._newton(self._anywhere(rng), tolerance)
                        if self.solves(tolerance):
                            return
                x = self._anywhere(rng)
            length = min(2 * length, 1000)

    def _anywhere(self, rng: np.random.Generator) -> Array:
        """Random impulses inside the cones, within a decade or so of the best ones met."""
        largest = float(np.abs(self.impulse).max()) or 1.0
        size = largest * 10.0 ** rng.uniform(-1.0, 1.0)
        x = rng.normal(size=(self.friction.size, self.dim)) * size
        x[:, 0] = np.abs(x[:, 0])
        x[:, 1:] *= self.friction[:, None]
        x = x.ravel()
        relaxation_kernels.within_cones(x, self.friction, self.dim)
        return x

    def _accelerated(self, x: Array, sweeps: int, tolerance: float) -> Array:
        """Sweeps mixed by Anderson's method: the next impulse combines the last few so that their changes
        cancel best."""
        if isinstance(self.matrix, DenseMatrix) and self.q.size <= NEWTON_AT_ONCE:
            self.sweeps += relax_accelerated(
                self.W, self.q, self.friction, self.frames, self.rule, self.dim, sweeps, 0.1 * tolerance, x
            )
            return x
        points, changes = np.empty((2, MIXED, x.size))
        kept, least = 0, np.inf
        for _ in range(sweeps):
            swept = self._relaxed(x.copy(), 1.0, 1, 0.0)
            kept, least, stays = go_on(points, changes, kept, least, 0.1 * tolerance, swept, x)
            if stays:
                break
            relaxation_kernels.within_cones(x, self.friction, self.dim)
        return x

    def _relaxed(self, x: Array, omega: float, sweeps: int, tolerance: float) -> Array:
        self.sweeps += self.matrix.sweep(
            self.q, self.friction, self.frames, self.rule, omega, sweeps, 0.1 * tolerance, x
        )
        return x

    def measure(self, x: Array) -> float:
        """The residual of impulses x."""
        return self._residual(x)[0]

    def _residual(self, x: Array) -> tuple[float, Array, Array]:
        """The residual of impulses x, velocities after them, and every contact's solution given all others."""
        u, target = self.matrix.velocity(self.q, x), np.empty(x.size)
        residual = relaxation_kernels.residual_given(
            self.matrix.local, self.q, u, self.friction, self.frames, self.rule, self.dim, x, target
        )
        return float(residual), u, target

    def _keep(self, x: Array) -> float:
        """Remember x if it is the best so far; its residual."""
        residual = self.measure(x)
        if residual < self.residual:
            self.residual = residual
            self.impulse = x.copy()
        return residual

    def _newton(self, x: Array, tolerance: float) -> None:
        """Newton steps on x - S(x), S the one-contact solutions, with slopes of S by differences; or, where these
        do not solve it or the rule is Coulomb's, of `_natural_newton`."""
        lean = np.zeros((self.friction.size, 2))
        if self.rule != relaxation_kernels.COULOMB:
            self._newton_of_solutions(x, tolerance)
            if self._lean is None or self.solves(tolerance):
                return
            # solutions with Coulomb's friction are found from farther away, and are near
            x = self._natural_newton(self.matrix, self.q, lean, x, _NATURAL_STEPS, tolerance)[0]
            lean = self._lean
        self._keep(self._natural_newton(self.matrix, self.q, lean, x, _NATURAL_STEPS, tolerance)[0])

    def _newton_of_solutions(self, x: Array, tolerance: float) -> None:
        """Newton steps on x - S(x)."""
        if self.q.size <= NEWTON_AT_ONCE:
            self.residual, made = newton_dense(
                self.W, self.q, self.friction, self.frames, self.rule, self.dim, tolerance, x, self.impulse,
                self.residual,
            )  # fmt: skip
            self.newton_steps += made
        else:
            self._newton_of_many(x, tolerance)

    def _newton_of_many(self, x: Array, tolerance: float) -> None:
        """As `newton_dense`, with the steps that W offers."""
        here, u, target = self._residual(x)
        first = here
        for _ in range(NEWTON_STEPS):
            slopes = np.empty((self.friction.size, self.dim, self.dim))
            relaxation_kernels.solution_slopes(
                self.matrix.local, u, self.friction, self.frames, self.rule, self.dim, x, slopes
            )
            self.newton_steps += 1
            found, before = np.inf, here
            for shift in NEWTON_SHIFTS:
                step = self.matrix.newton_step(slopes, slopes @ self.matrix.local, target - x, shift)
                if step is None:
                    continue
                for halving in range(HALVINGS):
                    trial = x + 0.5**halving * step
                    relaxation_kernels.within_cones(trial, self.friction, self.dim)
                    found, trial_u, trial_target = self._residual(trial)
                    if found < here:
                        break
                if found < here:
                    break
            if not found < here:
                break
            x, u, target, here = trial, trial_u, trial_target, found
            if here < self.residual:
                self.residual, self.impulse = here, x.copy()
            if self.residual <= tolerance or (here > 0.9 * before and here > RELAXATION_GAIN * first):
                break

    def _natural_newton(
        self, matrix: ContactMatrix, q: Array, lean: Array, x: Array, most: int, tolerance: float
    ) -> tuple[Array, int, bool]:
        """Newton steps on x - P(x - ρ (q + W x)), whose zeros are all solutions with Coulomb's friction, or, with a
        `lean` (nc, 2), with that of maximum dissipation: the impulses they lead to, how many, and whether these are
        a zero.

        Where one contact has several, x - S(x) jumps between them; this does not. Steps may raise the gap up to
        the largest of the last few (Grippo, Lampariello & Lucidi).
        """
        dim, count = self.dim, self.friction.size
        x, target = x.copy(), np.empty(x.size)
        if isinstance(matrix, DenseMatrix) and q.size <= NEWTON_AT_ONCE:
            made, solved = natural_newton(
                matrix.W, matrix.local, q, self.friction, lean, dim, x, most, tolerance
            )
            self.newton_steps += made
            return x, made, solved
        own, slopes = np.empty((2, count, dim, dim))

        def gap_at(point: Array) -> float:
            velocity = matrix.velocity(q, point)
            return float(
                relaxation_kernels.natural_map(
                    matrix.local, self.friction, lean, dim, point, velocity, target, own, slopes
                )
            )

        squares = [gap_at(x)]
        solved, made = False, 0
        for _ in range(most):
            gap = target - x
            solved = float(np.abs(gap).max()) <= 0.1 * tolerance * float(np.abs(x).max())
            if solved:
                break
            step = matrix.newton_step(slopes, own, gap, NEWTON_SHIFTS[1])
            if step is None:
                break
            made += 1
            size = 1.0
            while True:
                trial = x + size * step
                square = gap_at(trial)
                if square <= (1.0 - 1e-4 * size) * max(squares[-GAPS_KEPT:]) or size < SMALLEST_STEP:
                    break
                size *= 0.5
            x = trial
            squares.append(square)
        self.newton_steps += made
        relaxation_kernels.within_cones(x, self.friction, dim)
        return x, made, solved

    def _proximal(self, x: Array, tolerance: float) -> None:
        """The proximal point method, each step by Newton's method: with W + a I, which is regular where W is not;
        beyond the critical friction towards a solution with Coulomb's, then steps of the rule itself from there.

        `a` shrinks slowly while steps are easy, since each then gains more, and grows where they are hard or find
        no end. In packings of 336 to 801 planar contacts of disks, which lack hundreds of ranks, all four tried are
        solved so after 45 to 217 steps; with a tenth of `a` after each easy step, or from a thousandth of W on,
        `a` went to and fro, and one was solved after 60. Interior points with the shift by slip inside stall at
        1e-3 from 347 contacts on; fixed points on slip, each a convex problem (Acary & Cadoux), do not converge.
        """
        mean = float(np.trace(self.W)) / self.q.size
        share, x = _PROXIMAL, x.copy()
        lean = np.zeros((self.friction.size, 2)) if self._lean is None else self._lean
        for _ in range(_PROXIMAL_STEPS):
            if self.newton_steps >= _MOST_NEWTON_STEPS:
                break
            a = share * mean
            regular = self.matrix.plus(a)
            found, made, solved = self._natural_newton(regular, self.q - a * x, lean, x, _INNER, tolerance)
            if not solved:
                if share == _MOST_PROXIMAL:
                    break
                share = min(3.0 * share, _MOST_PROXIMAL)
                continue
            way, x = float(np.abs(found - x).max()), found
            if self._keep(x) <= tolerance:
                self._newton(x, 1e-2 * tolerance)  # from here it gains much at once
                return
            if share * way <= 0.1 * tolerance * float(np.abs(x).max()):
                break
            if made <= _EASY:
                share = max(0.6 * share, _LEAST_PROXIMAL)
            elif made > _HARD:
                share = min(2.0 * share, _MOST_PROXIMAL)
        if self.rule != relaxation_kernels.COULOMB:
            self._newton(x, tolerance)
