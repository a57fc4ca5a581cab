"""Simultaneous frictional impacts as a set of outcomes: random orders of compression along the impact."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..progress import ProgressBar
from . import routh_kernels
from .anitescu_potra import edge_directions
from .impact_problem import ImpactProblem
from .law import checked_count, generator_of, power_of_two
from .outcome import ImpactOutcome, ImpactStatus, OutcomeSet
from .tolerances import ROUTH_APPROACH, ROUTH_STEP

Array = NDArray[np.float64]

_STATUS = {
    routh_kernels.FINISHED: (ImpactStatus.RESOLVED, ""),
    routh_kernels.STEP_LIMIT: (ImpactStatus.NOT_TERMINATED, "a contact still approaches after all steps"),
    routh_kernels.GAINED: (ImpactStatus.ENERGY_GAINED, "a step gained energy beyond rounding"),
    routh_kernels.UNSOLVED: (ImpactStatus.NO_SOLUTION, "a step has no solution that Lemke's method finds"),
}
_ENUMERATED = 3  # planar contacts whose 7**nc modes are all tried
_SOBOL_STEPS = 16  # whose bounds come from a low-discrepancy sequence; later ones are random
_PIECE = 1 << 17  # outcomes at once


@dataclass(frozen=True)
class SetValuedRouth:
    """Inelastic impacts of several contacts whose share in each instant of compression is undecided.

    Along the impact every approaching contact may press at any rate, so one impact has a set of outcomes.
    `resolve` draws one of them: each step bounds the normal impulses by random numbers between 0 and the step
    and solves

        0 <= s ⟂ λ_max - λ >= 0,  0 <= λ ⟂ v_n⁺ + s >= 0,  0 <= β ⟂ D v⁺ + E σ >= 0,  0 <= σ ⟂ μ λ - Eᵀ β >= 0

    until no contact approaches. `sample` draws many.

    Parameters
    ----------
    step : [N s], above 0, or None
        Largest normal impulse of a contact in one step; None takes the impulse that would stop the fastest
        contact alone (see `step_of`). Smaller steps fill the set more finely and take longer.
    cone_edges : at least 3
        Edges of the friction pyramid of a spatial contact.
    max_steps : at least 1
        More end as NOT_TERMINATED.
    branches : "all" or "first"
        A step may have several solutions. "all" draws uniformly among all of them for planar problems of up to
        three contacts; beyond, and in space, Lemke's method starts from a random covering vector, so that
        every solution it can meet has a chance. "first" takes the one it meets from the usual covering vector,
        which can leave out most of the set.
    restitution : "none" or "poisson"
        With "poisson" contact i adds e_i times its own impulse of a compression that has ended. What approaches
        then is compressed again. Impulses stay in their cones; the addition is shortened where it would raise
        the kinetic energy above that before the impact. The paper has no restitution.

    Source: Halm & Posa, equation (75) and Algorithm 1.
    """

    step: float | None = None
    cone_edges: int = 8
    max_steps: int = 1000
    branches: str = "all"
    restitution: str = "none"

    name: ClassVar[str] = "set-valued-routh"
    honours_friction: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.step is not None:
            if isinstance(self.step, bool) or not isinstance(self.step, int | float | np.floating):
                raise TypeError(f"step must be a number of N s or None, got {self.step!r}")
            if not 0.0 < self.step < np.inf:
                raise ValueError(f"step must be above 0 and finite, got {self.step}")
        checked_count("cone_edges", self.cone_edges, 3)
        checked_count("max_steps", self.max_steps, 1)
        for name, value, known in (
            ("branches", self.branches, ("all", "first")),
            ("restitution", self.restitution, ("none", "poisson")),
        ):
            if not isinstance(value, str) or value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")

    @property
    def honours_restitution(self) -> bool:
        """Whether the law uses the contacts' restitution."""
        return self.restitution == "poisson"

    def step_of(self, problem: ImpactProblem) -> Array:
        """The steps [N s] taken for a problem, (nc,): the one given, or what the largest approach asks for.

        With a the largest |v_n|/√W_nn before the impact, contact i takes a/√W_nn,i: the impulse that stops it
        alone where it is the fastest.
        """
        if self.step is not None:
            return np.full(problem.contact_count, float(self.step))
        return ROUTH_STEP * float(np.abs(problem.approach_measure()).max()) / problem.kinetic_scale

    def draws_among_all(self, problem: ImpactProblem) -> bool:
        """Whether every solution of a step is known when one is drawn, so that `branched_steps` counts them."""
        return self.branches == "all" and problem.dim == 2 and problem.contact_count <= _ENUMERATED

    def _branching(self, problem: ImpactProblem) -> int:
        if self.branches == "first":
            return routh_kernels.FIRST_BRANCH
        return routh_kernels.ALL_BRANCHES if self.draws_among_all(problem) else routh_kernels.RANDOM_COVERS

    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """One random outcome; ``rng`` draws it. The path has a stage for each step and each restitution.

        ``info``: step [N s], (nc,); solves; branched_steps, how many steps had several solutions.
        """
        seed = int(generator_of(rng).integers(0, 2**63 - 1))
        inertia, before, friction, restitution, directions, *rest = self._kernel_arguments(problem)
        unknowns = 2 * len(friction) + (len(directions) + 1) * int(np.count_nonzero(friction))
        M, q = np.empty((unknowns, unknowns)), np.empty(unknowns)
        routh_kernels.assemble_step(inertia, friction, directions, M, q)
        unit = rest.pop()
        stages, kinds = np.empty((self.max_steps, before.size)), np.empty(self.max_steps, dtype=np.int64)
        ended, made, solves, branched = routh_kernels.one_sample(
            inertia, before, friction, restitution, directions, M, q, *rest, 0.0,
            np.uint64(routh_kernels.first_state(seed, 0)), np.empty(0), np.empty(before.size),
            np.empty(before.size), stages, kinds,
        )  # fmt: skip
        status, message = _STATUS[ended]
        labels = [f"step {k + 1}" if kinds[k] == routh_kernels.STEP else "restitution" for k in range(made)]
        info = {"step": self.step_of(problem), "solves": solves, "branched_steps": branched}
        return ImpactOutcome.from_stages(problem, unit * stages[:made], labels, status, message, info)

    def sample(
        self, problem: ImpactProblem, count: int, seed: int = 0, sampling: str = "uniform"
    ) -> OutcomeSet:
        """`count` outcomes, on all cores, in the order of their numbers; see `sample_pieces`."""
        pieces = []
        done = 0
        with ProgressBar(0, count if isinstance(count, int) else 0, "sampling outcomes") as bar:
            for piece in self.sample_pieces(problem, count, seed, sampling):
                pieces.append(piece)
                done += len(piece)
                bar.show(done)
        return pieces[0] if len(pieces) == 1 else OutcomeSet.joined(pieces)

    def sample_pieces(
        self,
        problem: ImpactProblem,
        count: int,
        seed: int = 0,
        sampling: str = "uniform",
        piece: int = _PIECE,
        velocity_noise: float = 0.0,
    ) -> Iterator[OutcomeSet]:
        """The same outcomes as `sample`, `piece` of them at a time, for more than memory holds.

        sampling : "uniform" (independent) or "sobol"
            A scrambled Sobol' sequence gives the bounds of the first steps; the set is then filled more evenly,
            but outcomes are not independent.

        velocity_noise : [m/s], at least 0
            Standard deviation of an error added to every contact velocity after each solve, as an inaccurate solver
            leaves it; the impact then ends at that approach, as in the paper's code. `impulse` is without it.

        Outcome k depends on the problem, the law, the seed, the sampling and k only, not on the number of threads
        or the size of a piece.
        """
        checked_count("count", count, 1)
        checked_count("seed", seed, 0)
        checked_count("piece", piece, 1)
        if not isinstance(sampling, str) or sampling not in ("uniform", "sobol"):
            raise ValueError(f"sampling must be one of uniform, sobol, got {sampling!r}")
        if not 0.0 <= velocity_noise < np.inf:
            raise ValueError(f"velocity_noise must be at least 0 and finite, got {velocity_noise}")
        *system, threshold, branches, unit = self._kernel_arguments(problem)
        if velocity_noise > 0.0:  # the kernel compares v_n/√W_nn
            threshold = -velocity_noise / float(problem.kinetic_scale.max())
        size = problem.u.size
        sequence = None
        if sampling == "sobol":
            from scipy.stats import qmc

            sequence = qmc.Sobol(_SOBOL_STEPS * problem.contact_count, rng=np.random.default_rng(seed))
        for first in range(0, count, piece):
            number = min(piece, count - first)
            points = np.empty((number, 0))
            if sequence is not None:
                with warnings.catch_warnings():  # about counts that are no power of two: pieces need not be
                    warnings.simplefilter("ignore", UserWarning)
                    points = sequence.random(number)
            impulses, velocities = np.empty((number, size)), np.empty((number, size))
            solves, branched, status = np.empty((3, number), dtype=np.int64)
            routh_kernels.many_samples(
                *system, threshold, self.max_steps, branches, velocity_noise * unit, seed, first, points,
                impulses, velocities, solves, branched, status,
            )  # fmt: skip
            yield OutcomeSet(
                velocities / unit,
                impulses * unit,
                solves,
                status == routh_kernels.FINISHED,
                branched_steps=branched,
            )

    def _kernel_arguments(self, problem: ImpactProblem) -> tuple:
        """What both kernels take of a problem, from W to the way branches are chosen, with W of about 1, and last
        the unit of impulses [N s], which divides velocities: a power of two."""
        inertia, before, friction, restitution = problem.kernel_arrays()
        unit = float(power_of_two(1.0 / problem.kinetic_scale.max()))
        inertia, before = inertia * unit * unit, before * unit
        if not self.honours_restitution:
            restitution = np.zeros_like(friction)
        diagonal = np.sqrt(np.diag(inertia))
        component_scale = np.where(diagonal > 0.0, diagonal, 1.0)
        return (
            inertia,
            before,
            friction,
            restitution,
            edge_directions(problem.dim, self.cone_edges),
            problem.kinetic_scale_array * unit,
            component_scale,
            self.step_of(problem) / unit,
            -ROUTH_APPROACH * float(np.abs(before / component_scale).max()),
            self._branching(problem),
            unit,
        )
