"""The solver of many contacts: rounds of relaxation and Newton steps, or sweeps over bodies without a matrix."""

import numpy as np
from numpy.typing import NDArray

from . import relaxation_kernels
from .contact_network import ContactNetwork
from .law import generator_of
from .newton_kernels import NEWTON_AT_ONCE, good_enough, newton_dense
from .tolerances import NEWTON_SHIFTS

Array = NDArray[np.float64]

_NATURAL_STEPS, _INNER = 60, 20
_RESTARTS = 20  # of Newton's method alone, a round
_ANDERSON = 8  # sweeps mixed
_NEWTON_UNKNOWNS = 3000  # above, a dense Newton step costs more than it gains
_RELAXATIONS = (1.0, 1.0, 0.7, 1.2)  # of the rounds in turn
_PROXIMAL, _LEAST_PROXIMAL = 1e-3, 1e-7  # of the mean of the diagonal of W: the first, and the least
_PROXIMAL_STEPS, _EASY = 60, 5  # steps, and in how many of Newton's one is easy


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
        slack = network.slack[self.order]
        self._system = (starts, bodies, jacobian, response, blocks, friction, frames, rule, slack)

    def unsorted(self, x: Array) -> Array:
        """Impulses in the order of the network's contacts."""
        impulse = np.empty_like(x)
        impulse[self.order] = x
        return impulse

    def sweep(self, x: Array, sweeps: int, tolerance: float) -> int:
        """Update x in place until its largest change in a sweep, relative, is within tolerance; sweeps made."""
        velocity = self.network.velocity_after(self.unsorted(x))  # without the drift of many small updates
        return int(relaxation_kernels.relax_colours(*self._system, x, velocity, True, sweeps, tolerance)[0])

    def residual(self, x: Array) -> float:
        """Largest distance of an impulse from its one-contact solution, relative to the largest impulse."""
        velocity = self.network.velocity_after(self.unsorted(x))
        return float(relaxation_kernels.relax_colours(*self._system, x, velocity, False, 1, 0.0)[1])


class DenseRelaxation:
    """Rounds of relaxation and Newton steps on one dense problem; keeps the best impulse met."""

    def __init__(self, W: Array, q: Array, friction: Array, rule: int, dim: int, impulse: Array):
        self.W, self.q, self.friction, self.rule, self.dim = W, q, friction, rule, dim
        self.impulse = impulse
        self.residual = np.inf
        self.sweeps = 0
        self.newton_steps = 0

    def solve(self, tolerance: float, max_sweeps: int, rng: np.random.Generator | None = None) -> None:
        """Bring the residual to the tolerance, or, beyond the first sweeps, to what is `good_enough`; or make all
        sweeps."""
        self.sweeps, self.residual = relaxation_kernels.relax_and_judge(
            self.W,
            self.q,
            self.friction,
            self.rule,
            self.dim,
            min(relaxation_kernels.FEW_SWEEPS, max_sweeps),
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

    def solves(self, tolerance: float) -> bool:
        """Whether the best impulse met counts as a solution."""
        return bool(good_enough(self.W, self.q, self.dim, self.impulse, self.residual, tolerance))

    def _solve_in_rounds(self, tolerance: float, max_sweeps: int, rng: np.random.Generator | None) -> None:
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
            if (rounds == 1 or rounds >= 4) and self.q.size <= _NEWTON_UNKNOWNS:
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
            if self.q.size <= _NEWTON_UNKNOWNS:
                self._newton(x, tolerance)
                if self.solves(tolerance):
                    return
            rounds += 1
            x = self.impulse.copy()
            if rounds >= 4 and rounds % 2 == 0:
                if self.rule == relaxation_kernels.COULOMB and self.q.size <= NEWTON_AT_ONCE:
                    for _ in range(_RESTARTS):
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
        points: list[Array] = []
        changes: list[Array] = []
        least = np.inf
        for _ in range(sweeps):
            swept = self._relaxed(x.copy(), 1.0, 1, 0.0)
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

    def _relaxed(self, x: Array, omega: float, sweeps: int, tolerance: float) -> Array:
        made, _ = relaxation_kernels.relax_dense(
            self.W,
            self.q,
            self.friction,
            self.frames,
            self.rule,
            self.dim,
            omega,
            sweeps,
            0.1 * tolerance,
            x,
            self._u,
        )
        self.sweeps += made
        return x

    def measure(self, x: Array) -> float:
        return relaxation_kernels.residual_dense(
            self.W, self.q, self.friction, self.frames, self.rule, self.dim, x, self._u, self._target
        )

    def _keep(self, x: Array) -> float:
        """Remember x if it is the best so far; its residual."""
        residual = self.measure(x)
        if residual < self.residual:
            self.residual = residual
            self.impulse = x.copy()
        return residual

    def _newton(self, x: Array, tolerance: float) -> None:
        """Newton steps on x - S(x), S the one-contact solutions, with slopes of S by differences."""
        if self.rule == relaxation_kernels.COULOMB:
            self._keep(self._natural_newton(self.W, self.q, x, _NATURAL_STEPS, tolerance)[0])
            return
        self.residual, made = newton_dense(
            self.W, self.q, self.friction, self.frames, self.rule, self.dim, tolerance, x, self.impulse,
            self.residual,
        )  # fmt: skip
        self.newton_steps += made

    def _natural_newton(
        self, W: Array, q: Array, x: Array, most: int, tolerance: float
    ) -> tuple[Array, int, bool]:
        """Newton steps on x - P(x - ρ (q + W x)), whose zeros are all solutions with Coulomb's friction: the
        impulses they lead to, how many, and whether these are a zero.

        Where one contact has several, x - S(x) jumps between them; this does not. Steps may raise the gap up to
        the largest of the last few (Grippo, Lampariello & Lucidi).
        """
        dim, count = self.dim, self.friction.size
        own, slopes = np.empty((2, count, dim, dim))
        x, u, target = x.copy(), np.empty(x.size), np.empty(x.size)
        system = (W, q, self.friction, dim)
        square = relaxation_kernels.natural_map(*system, x, u, target, own, slopes)
        squares = [square]
        solved, made = False, 0
        for _ in range(most):
            gap = target - x
            solved = float(np.abs(gap).max()) <= 0.1 * tolerance * float(np.abs(x).max())
            if solved:
                break
            matrix, right, rows = self._newton_system(W, slopes, own, gap)
            step = gap.copy()
            try:
                step[rows] = np.linalg.solve(matrix + NEWTON_SHIFTS[1] * np.eye(len(right)), right)
            except np.linalg.LinAlgError:
                break
            if not np.isfinite(step).all():
                break
            made += 1
            size = 1.0
            while True:
                trial = x + size * step
                square = relaxation_kernels.natural_map(*system, trial, u, target, own, slopes)
                if square <= (1.0 - 1e-4 * size) * max(squares[-5:]) or size < 1e-3:
                    break
                size *= 0.5
            x = trial
            squares.append(square)
        self.newton_steps += made
        relaxation_kernels.within_cones(x, self.friction, dim)
        return x, made, solved

    def _newton_system(
        self, W: Array, slopes: Array, own: Array, gap: Array
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Matrix I - own + slopes W over the contacts that a derivative lets move, its right side, its rows."""
        dim, count = self.dim, self.friction.size
        active = (slopes.reshape(count, -1) != 0.0).any(axis=1)
        rows = np.repeat(active, dim)
        inside = np.flatnonzero(active)
        turned = slopes[active] @ W.reshape(count, dim, -1)[active]
        turned.reshape(len(inside), dim, count, dim)[np.arange(len(inside)), :, inside] -= own[active]
        turned = turned.reshape(-1, gap.size)
        return turned[:, rows] + np.eye(int(rows.sum())), gap[rows] - turned[:, ~rows] @ gap[~rows], rows

    def _proximal(self, x: Array, tolerance: float) -> None:
        """The proximal point method, each step by Newton's method: with W + a I, which is regular where W is not,
        towards a solution with Coulomb's friction; then steps of the rule itself from there.

        `a` shrinks while steps are easy, since each then gains more, and grows where one finds no end: with a
        thousandth of W steps were found from anywhere in stacks of 50 spheres, whose W lacks 14 of 234 ranks, and
        with a tenth of that from nowhere.
        """
        mean = float(np.trace(self.W)) / self.q.size
        share, x = _PROXIMAL, x.copy()
        for _ in range(_PROXIMAL_STEPS):
            a = share * mean
            regular = self.W + a * np.eye(self.q.size)
            found, made, solved = self._natural_newton(regular, self.q - a * x, x, _INNER, tolerance)
            if not solved:
                share *= 10.0
                if share > 1.0:
                    break
                continue
            way, x = float(np.abs(found - x).max()), found
            if self._keep(x) <= tolerance:
                self._newton(x, 1e-2 * tolerance)  # from here it gains much at once
                return
            if share * way <= 0.1 * tolerance * float(np.abs(x).max()):
                break
            if made <= _EASY:
                share = max(0.1 * share, _LEAST_PROXIMAL)
        if self.rule != relaxation_kernels.COULOMB:
            self._newton(x, tolerance)
