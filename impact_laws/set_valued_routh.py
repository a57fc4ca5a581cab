"""Simultaneous frictional impacts as a set of outcomes: random orders of compression along the impact."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from . import routh_kernels
from .anitescu_potra import edge_directions
from .impact_problem import ImpactProblem
from .law import checked_count, generator_of
from .outcome import ImpactOutcome, ImpactStatus, OutcomeSet
from .tolerances import ROUTH_APPROACH, ROUTH_STEP

Array = NDArray[np.float64]

_STATUS = {
    routh_kernels.FINISHED: (ImpactStatus.RESOLVED, ""),
    routh_kernels.STEP_LIMIT: (ImpactStatus.NOT_TERMINATED, "a contact still approaches after all steps"),
    routh_kernels.UNSOLVED: (ImpactStatus.NO_SOLUTION, "a step has no solution that Lemke's method finds"),
}


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

    Where a step has several solutions, Lemke's method takes one of them, so the set depends on it. Restitution
    is ignored.

    Source: Halm & Posa, equation (75) and Algorithm 1.
    """

    step: float | None = None
    cone_edges: int = 8
    max_steps: int = 1000

    name: ClassVar[str] = "set-valued-routh"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.step is not None:
            if isinstance(self.step, bool) or not isinstance(self.step, int | float | np.floating):
                raise TypeError(f"step must be a number of N s or None, got {self.step!r}")
            if not 0.0 < self.step < np.inf:
                raise ValueError(f"step must be above 0 and finite, got {self.step}")
        checked_count("cone_edges", self.cone_edges, 3)
        checked_count("max_steps", self.max_steps, 1)

    def step_of(self, problem: ImpactProblem) -> Array:
        """The steps [N s] taken for a problem, (nc,): the one given, or what the largest approach asks for.

        With a the largest |v_n|/√W_nn before the impact, contact i takes a/√W_nn,i: the impulse that stops it
        alone where it is the fastest.
        """
        if self.step is not None:
            return np.full(problem.contact_count, float(self.step))
        return ROUTH_STEP * float(np.abs(problem.approach_measure()).max()) / problem.kinetic_scale

    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """One random outcome; ``rng`` draws it. The path has a stage for each step; ``info``: step [N s], (nc,)."""
        seed = int(generator_of(rng).integers(0, 2**63 - 1))
        inertia, before, friction, _ = problem.kernel_arrays()
        directions = edge_directions(problem.dim, self.cone_edges)
        unknowns = 2 * len(friction) + (len(directions) + 1) * int(np.count_nonzero(friction))
        M, q = np.empty((unknowns, unknowns)), np.empty(unknowns)
        routh_kernels.assemble_step(inertia, friction, directions, M, q)
        stages = np.empty((self.max_steps, before.size))
        step = self.step_of(problem)
        ended, made = routh_kernels.one_sample(
            inertia, before, friction, directions, M, q, problem.kinetic_scale_array, step,
            self._threshold(problem), np.uint64(routh_kernels.first_state(seed, 0)), np.empty(before.size),
            np.empty(before.size), stages,
        )  # fmt: skip
        status, message = _STATUS[ended]
        labels = [f"step {k + 1}" for k in range(made)]
        return ImpactOutcome.from_stages(problem, stages[:made], labels, status, message, {"step": step})

    def sample(self, problem: ImpactProblem, count: int, seed: int = 0) -> OutcomeSet:
        """`count` independent outcomes, on all cores, in the order of their numbers.

        Sample k depends on the problem, the law, the seed and k only, not on the number of threads.
        """
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise ValueError(f"count must be an integer of at least 1, got {count!r}")
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"seed must be an integer of at least 0, got {seed!r}")
        inertia, before, friction, _ = problem.kernel_arrays()
        impulses, velocities = np.empty((count, before.size)), np.empty((count, before.size))
        solves, status = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        routh_kernels.many_samples(
            inertia, before, friction, edge_directions(problem.dim, self.cone_edges),
            problem.kinetic_scale_array, self.step_of(problem), self._threshold(problem), self.max_steps, seed, 0,
            impulses, velocities, solves, status,
        )  # fmt: skip
        return OutcomeSet(velocities, impulses, solves, status == routh_kernels.FINISHED)

    @staticmethod
    def _threshold(problem: ImpactProblem) -> float:
        return -ROUTH_APPROACH * float(np.abs(problem.approach_measure()).max())
