"""Simultaneous frictional impacts as a set of outcomes: random orders of compression along the impact."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..progress import ProgressBar
from . import routh_sample_kernels as kernels
from .anitescu_potra import edge_directions
from .impact_problem import ImpactProblem
from .law import checked_count, generator_of, power_of_two, quietly
from .outcome import ImpactOutcome, ImpactStatus, OutcomeSet
from .tolerances import ROUTH_APPROACH, ROUTH_STEP

Array = NDArray[np.float64]

_STATUS = {
    kernels.FINISHED: (ImpactStatus.RESOLVED, ""),
    kernels.STEP_LIMIT: (ImpactStatus.NOT_TERMINATED, "a contact still approaches after all steps"),
    kernels.GAINED: (ImpactStatus.ENERGY_GAINED, "a step gained energy beyond rounding"),
    kernels.UNSOLVED: (ImpactStatus.NO_SOLUTION, "a step has no solution that Lemke's method finds"),
}
_RATES = {"persistent": kernels.PERSISTENT, "independent": kernels.INDEPENDENT}
_RESTITUTION = {"none": kernels.INELASTIC, "poisson": kernels.POISSON, "energetic": kernels.ENERGETIC}
_ENUMERATED = 3  # planar contacts whose 7**nc modes are all tried
_SOBOL_STEPS = 16  # whose bounds come from a low-discrepancy sequence; later ones are random
_PIECE = 1 << 17  # outcomes at once


@dataclass(frozen=True)
class SetValuedRouth:
    """Impacts of several contacts whose share in each instant of compression is undecided.

    Along the impact every approaching contact may press at any rate, so one impact has a set of outcomes.
    `resolve` draws one of them: each step bounds the normal impulses and solves

        0 <= s ⟂ λ_max - λ >= 0,  0 <= λ ⟂ v_n⁺ + s >= 0,  0 <= β ⟂ D v⁺ + E σ >= 0,  0 <= σ ⟂ μ λ - Eᵀ β >= 0

    until no contact approaches. `sample` draws many.

    Parameters
    ----------
    step : [N s], above 0, or None
        Largest normal impulse of a contact in one step; None takes the impulse that would stop the fastest
        contact alone (see `step_of`). Smaller steps follow the paper's differential inclusion more closely and take
        longer.
    cone_edges : at least 3
        Edges of the friction pyramid of a spatial contact.
    max_steps : at least 1
        More end as NOT_TERMINATED.
    branches : "all" or "first"
        A step may have several solutions. "all" draws evenly among all of them for planar problems of up to
        three contacts; beyond, and in space, Lemke's method starts from a random covering vector, so that
        every solution it can meet has a chance. "first" takes the one it meets from the usual covering vector,
        which can leave out most of the set.
    restitution : "none", "energetic" or "poisson"
        "energetic": a contact stores e² of its own work of compression. As soon as it has stopped it returns that,
        at its rate, while others may still be compressed; if it is pressed into approach again, it is compressed
        again. "poisson": when all compression has ended, contact i adds at once e_i times its own impulse of that
        compression. What approaches then is compressed again. The addition is shortened where it would raise the
        kinetic energy above that before the impact. The paper has no restitution.
    rates : "persistent" or "independent"
        "persistent": each contact keeps its rate for a random length of impulse, whatever the step, so the set does
        not shrink with it. In half of the draws on average a rate is all or nothing, else even in [0, 1); the mean
        length, between a tenth and ten times the impulse that stops the fastest contact, and the shares of contacts
        that press and of rates that are all or nothing are drawn once a sample. In one sample of eight one contact
        after the other presses alone until it has finished. Which of several solutions is taken persists too.
        "independent": every bound is drawn anew in every step, evenly up to the step: the paper's Algorithm 1 as
        its table 3 ran it. Small steps then average out, and the set shrinks to one outcome.

    Friction and restitution of a problem may be intervals; every sample draws its own, evenly and for each contact.

    Energy is never gained by "energetic" restitution. With midpoint work w_i = λ_i (v_n,i + v_n,i⁺)/2 of normal
    impulses a contact stores e_i² (-w_i) while it is compressed and pays w_i while it returns. Let S be the sum of
    the stores, never below zero, and L the loss of kinetic energy since the impact began, both zero at first; every
    step keeps S <= L. A step that would break it, because friction did positive midpoint work or another contact
    was pressed while it opened, stores less, or takes from all stores in proportion. Should a step leave L < 0, it
    is solved again with v_n,i⁺ <= S_i/λ_max,i for contacts that return. Then impulses p change the energy by
    p·v⁺ - ½ p·W p <= p·v⁺ <= Σ λ_i v_n,i⁺ over those contacts, since friction opposes v⁺ and compressed contacts
    end with λ_i v_n,i⁺ <= 0. Each term is at most S_i and is paid from it, so S <= L holds after it. Hence L >= 0
    always.

    How well the set is known: samples fill it from inside. Corners that need several changes at the right instants
    are rare; where `outcome_bounds` ends near the samples, nothing is missing between.

    Source: Halm & Posa, equations (39) and (75), Algorithm 1; energetic restitution after Stronge 1990, which the
    paper's conclusion proposes.
    """

    step: float | None = None
    cone_edges: int = 8
    max_steps: int = 100_000
    branches: str = "all"
    restitution: str = "none"
    rates: str = "persistent"

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
            ("restitution", self.restitution, tuple(_RESTITUTION)),
            ("rates", self.rates, tuple(_RATES)),
        ):
            if not isinstance(value, str) or value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")

    @property
    def honours_restitution(self) -> bool:
        """Whether the law uses the contacts' restitution."""
        return self.restitution != "none"

    @quietly
    def step_of(self, problem: ImpactProblem) -> Array:
        """The steps [N s] taken for a problem, (nc,): the one given, or what the largest approach asks for.

        With a the largest |v_n|/√W_nn before the impact, contact i takes a/√W_nn,i: the impulse that stops it
        alone where it is the fastest.
        """
        if self.step is not None:
            return np.full(problem.contact_count, float(self.step))
        return ROUTH_STEP * _stopping(problem)

    def draws_among_all(self, problem: ImpactProblem) -> bool:
        """Whether every solution of a step is known when one is drawn, so that `branched_steps` counts them."""
        return self.branches == "all" and problem.dim == 2 and problem.contact_count <= _ENUMERATED

    def _branching(self, problem: ImpactProblem) -> int:
        if self.branches == "first":
            return kernels.FIRST_BRANCH
        return kernels.ALL_BRANCHES if self.draws_among_all(problem) else kernels.RANDOM_COVERS

    @quietly
    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """One random outcome; ``rng`` draws it. The path has a stage for each step and each common restitution.

        ``info``: step [N s], (nc,); solves; branched_steps, how many steps had several solutions; friction and
        restitution, (nc,), as they were drawn.
        """
        seed = int(generator_of(rng).integers(0, 2**63 - 1))
        system, unit = self._system(problem)
        limit, size = self.max_steps, problem.u.size
        stages, kinds = np.empty((limit, size)), np.empty(limit, dtype=np.int64)
        drawn = np.empty((2, problem.contact_count))
        ended, made, solves, branched = kernels.sample_with_path(system, seed, stages, kinds, drawn)
        status, message = _STATUS[ended]
        labels = [f"step {k + 1}" if kinds[k] == kernels.STEP else "restitution" for k in range(made)]
        info = {
            "step": self.step_of(problem), "solves": solves, "branched_steps": branched, "friction": drawn[0],
            "restitution": drawn[1],
        }  # fmt: skip
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
        system, unit = self._system(problem, velocity_noise)
        size, contacts = problem.u.size, problem.contact_count
        sequence = None
        if sampling == "sobol":
            from scipy.stats import qmc

            sequence = qmc.Sobol(_SOBOL_STEPS * contacts, rng=np.random.default_rng(seed))
        for first in range(0, count, piece):
            number = min(piece, count - first)
            points = np.empty((number, 0))
            if sequence is not None:
                with warnings.catch_warnings():  # about counts that are no power of two: pieces need not be
                    warnings.simplefilter("ignore", UserWarning)
                    points = sequence.random(number)
            impulses, velocities = np.empty((number, size)), np.empty((number, size))
            counts = np.empty((3, number), dtype=np.int64)
            kernels.many_samples(system, seed, first, self.max_steps, points, impulses, velocities, counts)
            yield OutcomeSet(
                velocities / unit,
                impulses * unit,
                counts[1],
                counts[0] == kernels.FINISHED,
                branched_steps=counts[2],
            )

    @quietly
    def _system(self, problem: ImpactProblem, noise: float = 0.0) -> tuple[kernels.System, float]:
        """What kernels take of a problem, with W of about 1, and the unit of impulses [N s], a power of two, which
        divides velocities."""
        inertia, before = problem.motion_arrays()
        friction, restitution = problem.coefficient_intervals()
        if not self.honours_restitution:
            restitution = np.zeros_like(restitution)
        unit = float(power_of_two(1.0 / problem.kinetic_scale.max()))
        inertia, before = inertia * unit * unit, before * unit
        diagonal = np.sqrt(np.diag(inertia))
        component_scale = np.where(diagonal > 0.0, diagonal, 1.0)
        threshold = -ROUTH_APPROACH * float(np.abs(before / component_scale).max())
        if noise > 0.0:  # the kernel compares v_n/√W_nn
            threshold = -noise / float(problem.kinetic_scale.max())
        drawn = any(bool((pair[:, 0] < pair[:, 1]).any()) for pair in (friction, restitution))
        return kernels.System(
            inertia,
            before,
            friction,
            restitution,
            edge_directions(problem.dim, self.cone_edges),
            problem.kinetic_scale_array * unit,
            component_scale,
            self.step_of(problem) / unit,
            _stopping(problem) / unit,
            threshold,
            noise * unit,
            np.array([self._branching(problem), _RATES[self.rates], _RESTITUTION[self.restitution], drawn]),
        ), unit


def _stopping(problem: ImpactProblem) -> Array:
    """Impulses (nc,) [N s] a/√W_nn, a the largest |v_n|/√W_nn: of the fastest contact, what stops it alone."""
    return float(np.abs(problem.approach_measure()).max()) / problem.kinetic_scale
