"""What an impact law answers: one outcome with its path and status, or a set of outcomes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import outcome_kernels
from .impact_problem import ImpactProblem

Array = NDArray[np.float64]

_FEW = 8  # stages; longer paths gain from the library's matrix product
LONGEST_PATH = 10_000  # stages


class ImpactStatus(Enum):
    """How a resolution ended; ``value`` is its name in files and tables, ``advice`` what to do about it."""

    RESOLVED = "resolved", "The impact is resolved; nothing to do."
    NOT_TERMINATED = (
        "not_terminated",
        "The law used up its steps with a contact still approaching: raise its limit, or check whether "
        "the contacts leave any motion that separates all of them (a body wedged between opposite walls "
        "has none).",
    )
    NO_SOLUTION = (
        "no_solution",
        "The law has no solution here: look for a contact between two immovable bodies, or friction so "
        "large that the contacts jam, and compare with another law.",
    )
    ENERGY_GAINED = (
        "energy_gained",
        "The result would raise the kinetic energy: the problem is too badly scaled for double "
        "precision, or W is not what belongs to these velocities; check masses and lever arms.",
    )
    INACCURATE = (
        "inaccurate",
        "The solver's residual stayed above its tolerance: look for mass ratios beyond 1e6 or very large "
        "friction, and drop duplicated contacts.",
    )
    RENEWED_COMPRESSION = (
        "renewed_compression",
        "The contact began to compress again before restitution ended, where the law defines no "
        "coefficient: lower friction or use a law without restitution.",
    )

    ORDER_MISFIT = (
        "order_misfit",
        "The law's order does not fit the contacts of this impact: use a word such as 'cyclic', names of bodies, "
        "or a function of the problem, which fit any number of contacts.",
    )
    RATIO_MISFIT = (
        "ratio_misfit",
        "The law's stiffness ratios do not fit the contacts of this impact: use names of bodies, or a function of "
        "the problem, which fit any number of contacts, or none where all are equally stiff.",
    )
    CONTRACT_BROKEN = (
        "contract_broken",
        "The law, which is not one of carom's, breaks its contract: `carom.check_law` says on which problems.",
    )

    advice: str

    def __new__(cls, value: str, advice: str) -> "ImpactStatus":
        member = object.__new__(cls)
        member._value_ = value
        member.advice = advice
        return member


@dataclass(frozen=True, eq=False)
class ImpactPath:
    """Cumulative impulse and contact velocity along a resolution of k stages.

    impulse : (k+1, dim*nc), [N s], first row zero, last row the outcome's impulse
    velocity : (k+1, dim*nc), [m/s], each u + W @ impulse
    labels : k+1 words, what has just happened at each row; the first is "before impact"
    """

    impulse: Array
    velocity: Array
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class ImpactOutcome:
    """The answer of a law to one problem.

    impulse : (dim*nc,), [N s]
    velocity : (dim*nc,), [m/s], post-impact contact velocity u + W @ impulse
    energy_change : [J], impulse·u + ½ impulse·W·impulse, never above rounding when resolved
    path : ImpactPath, the way there
    status : ImpactStatus
    message : the status in this case, one sentence
    info : what else the law knows, such as ``sequence`` or ``pivots``
    """

    impulse: Array
    velocity: Array
    energy_change: float
    path: ImpactPath
    status: ImpactStatus
    message: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def resolved(self) -> bool:
        """Whether the status is RESOLVED."""
        return self.status is ImpactStatus.RESOLVED

    @classmethod
    def from_stages(
        cls,
        problem: ImpactProblem,
        stages: Array,
        labels: Sequence[str],
        status: ImpactStatus = ImpactStatus.RESOLVED,
        message: str = "",
        info: Mapping[str, Any] | None = None,
    ) -> "ImpactOutcome":
        """The outcome of cumulative impulses ``stages`` (k, dim*nc), one label each, after the zero impulse.

        Velocity and energy follow from the impulse alone, so the momentum balance is exact by construction. A
        result that leaves an approaching contact or gains energy is never called resolved. Of very many stages
        LONGEST_PATH are kept, evenly, the last among them. Where numbers overflow, the impulse is zero and the
        status says that it failed.
        """
        inertia, before = problem.motion_arrays()
        if len(labels) > LONGEST_PATH:
            kept = np.linspace(0, len(labels) - 1, LONGEST_PATH).astype(np.intp)
            stages, labels = stages[kept], [labels[k] for k in kept.tolist()]
        impulses = np.empty((len(labels) + 1, before.size))
        velocities = np.empty_like(impulses)
        if len(labels) <= _FEW:
            outcome_kernels.trace(inertia, before, stages, impulses, velocities)
        else:
            impulses[0] = 0.0
            impulses[1:] = stages
            np.add(impulses @ inertia, before, out=velocities)
        impulse = impulses[-1]
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is judged below
            response = inertia @ impulse
            velocity = before + response
        velocities[-1] = velocity
        code, least, energy = outcome_kernels.judge(
            inertia,
            impulse,
            before,
            response,
            velocity,
            problem.kinetic_scale_array,
            problem.dim,
            problem.approach_threshold,
        )
        if not math.isfinite(energy):  # such an impulse is none: what is known is how it failed
            failed = ImpactStatus.INACCURATE if status is ImpactStatus.RESOLVED else status
            words = message or "an impulse is beyond the range of numbers"
            return cls.from_stages(problem, np.zeros((0, before.size)), (), failed, words, info)
        if status is ImpactStatus.RESOLVED:
            if code == outcome_kernels.APPROACHES:
                status = ImpactStatus.INACCURATE
                message = f"a contact still approaches at {least:.3g} m/s kg^1/2 after the impact"
            elif code == outcome_kernels.GAINS_ENERGY:
                status = ImpactStatus.ENERGY_GAINED
                message = f"kinetic energy would grow by {energy:.3g} J"
        path = ImpactPath(impulses, velocities, ("before impact", *labels))
        return cls(impulse.copy(), velocity, energy, path, status, message, info or {})


@dataclass(frozen=True, eq=False)
class OutcomeSet:
    """Several outcomes of one problem.

    velocity, impulse : (n, dim*nc), [m/s] and [N s]
    solves : (n,) integers, how many small problems were solved for each
    resolved : (n,) booleans
    labels : n entries, what tells the outcomes apart (a sequence of contacts, the pressed contacts, ...)
    branched_steps : (n,) integers, how many of the small problems had several solutions, where known
    complete : whether these are all outcomes there are, where a law can tell; of a part of a set it cannot
    message : why they are not all, one sentence
    """

    velocity: Array
    impulse: Array
    solves: NDArray[np.int64]
    resolved: NDArray[np.bool_]
    labels: tuple[Any, ...] = ()
    branched_steps: NDArray[np.int64] | None = None
    complete: bool | None = None
    message: str = ""

    def __len__(self) -> int:
        return len(self.velocity)

    def __getitem__(self, index: slice | NDArray[Any]) -> "OutcomeSet":
        """Those of a slice, an array of numbers or a mask."""
        chosen = np.arange(len(self))[index]
        return OutcomeSet(
            self.velocity[chosen],
            self.impulse[chosen],
            self.solves[chosen],
            self.resolved[chosen],
            tuple(self.labels[k] for k in chosen) if self.labels else (),
            None if self.branched_steps is None else self.branched_steps[chosen],
        )

    @classmethod
    def joined(cls, parts: "Sequence[OutcomeSet]") -> "OutcomeSet":
        """All outcomes of several sets of one problem, in order."""
        branched = [part.branched_steps for part in parts if part.branched_steps is not None]
        return cls(
            np.concatenate([part.velocity for part in parts]),
            np.concatenate([part.impulse for part in parts]),
            np.concatenate([part.solves for part in parts]),
            np.concatenate([part.resolved for part in parts]),
            tuple(label for part in parts for label in part.labels),
            np.concatenate(branched) if len(branched) == len(parts) else None,
        )
