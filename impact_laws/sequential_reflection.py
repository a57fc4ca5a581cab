"""Frictionless impacts one contact after the other, as reflections in the kinetic metric."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from . import reflection_kernels
from .impact_problem import ImpactProblem
from .law import checked_count, generator_of
from .lcp import LcpStatus, solve_lcp
from .outcome import ImpactOutcome, ImpactStatus

Array = NDArray[np.float64]

ORDERS = {
    "most_approaching": reflection_kernels.MOST_APPROACHING,
    "least_approaching": reflection_kernels.LEAST_APPROACHING,
    "cyclic": reflection_kernels.VISITS,
    "random": reflection_kernels.RANDOM,
}


@dataclass(frozen=True)
class SequentialReflection:
    """Reflect the velocity across approaching contacts, one at a time, until none approaches. Friction is
    ignored.

    A reflection across contact i is elastic: p ← p - 2 ⟨p, u_i⟩/⟨u_i, u_i⟩ u_i under the kinetic metric. With
    restitution below one the result is mixed with the plastic impact p_p (impulses >= 0, normal velocities >=
    0, complementary): p⁺ = p_p + α (p_e - p_p), with α such that the energy lost is (1 - R²) of what the
    plastic impact loses. R² is the mean of the contacts' e² weighted by their work in the plastic impact, so
    equal e give R = e. (The mixing factor printed in the paper swaps elastic and plastic; this is its energy
    equation solved.)

    Parameters
    ----------
    order : which approaching contact is next
        "most_approaching" (least u_n/√W_nn, ties to the lowest index), "least_approaching", "cyclic"
        (contacts in turn), "random" (drawn from ``rng``), or a sequence of contact indices, visited in turn
        and over again, which must name every contact.
    max_reflections : at least 1
        More end as NOT_TERMINATED: contacts that leave no separating motion reflect for ever.

    Source: Seghete & Murphey, equations (11) and (16).
    """

    order: str | Sequence[int] = "most_approaching"
    max_reflections: int = 10000

    name: ClassVar[str] = "sequential-reflection"
    honours_friction: ClassVar[bool] = False
    honours_restitution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", checked_order(self.order))
        checked_count("max_reflections", self.max_reflections, 1)

    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """The outcome; ``rng`` is used for order "random" only.

        ``info``: sequence (contacts in the order reflected), restitution (R) and mixing (α). The path has a
        stage for each reflection, then "restitution" where R < 1; with R = 0 it is the plastic impact alone.
        """
        inertia, velocity, _, restitution = problem.kernel_arrays()
        dim, count = problem.dim, problem.contact_count
        normal_inertia = np.ascontiguousarray(inertia[::dim, ::dim])
        before = np.ascontiguousarray(velocity[::dim])
        status, message = ImpactStatus.RESOLVED, ""

        elastic = bool(restitution.min() == 1.0)
        plastic_impulse, overall = np.zeros(count), 1.0
        if not elastic and problem.approaching().any():
            plastic = solve_lcp(normal_inertia, before)
            plastic_impulse = plastic.z
            if not plastic.solved:
                no_solution = plastic.status is LcpStatus.RAY
                status = ImpactStatus.NO_SOLUTION if no_solution else ImpactStatus.INACCURATE
                message = (
                    f"the plastic impact has no accurate solution, scaled residual {plastic.residual:.3g}"
                )
            overall = _overall_restitution(before, plastic_impulse, restitution)

        stages, sequence = np.zeros((0, count)), np.empty(0, dtype=np.int64)
        labels: list[str] = []
        if overall > 0.0:
            sequence = np.empty(self.max_reflections, dtype=np.int64)
            after = before.copy()
            seed = int(generator_of(rng).integers(1, 2**31 - 1)) if self.order == "random" else 1
            kind, visits = visits_of(self.order, count)
            made, ended = reflection_kernels.reflect(
                normal_inertia,
                after,
                problem.kinetic_scale_array,
                problem.approach_threshold,
                kind,
                visits,
                seed,
                sequence,
            )
            sequence = sequence[:made].copy()
            stages, labels = _stages(normal_inertia, before, sequence)
            if ended == reflection_kernels.TOO_MANY:
                status = ImpactStatus.NOT_TERMINATED
                message = f"a contact still approaches after {made} reflections"
            elif ended == reflection_kernels.IMMOVABLE:
                status = ImpactStatus.NO_SOLUTION
                message = "a contact between immovable bodies approaches"
        mixing = 1.0
        if overall < 1.0:
            elastic_impulse = stages[-1] if len(stages) else plastic_impulse
            impulse, mixing = _mix(normal_inertia, before, plastic_impulse, elastic_impulse, overall)
            stages = np.vstack([stages, impulse])
            labels.append("restitution" if overall > 0.0 else "plastic impact")
        full = np.zeros((len(stages), velocity.size))
        full[:, ::dim] = stages
        return ImpactOutcome.from_stages(
            problem,
            full,
            labels,
            status,
            message,
            {"sequence": tuple(sequence.tolist()), "restitution": overall, "mixing": mixing},
        )


def checked_order(order: str | Sequence[int]) -> str | tuple[int, ...]:
    """An order of contacts as laws keep it, or an error that names the field."""
    if isinstance(order, str):
        if order not in ORDERS:
            raise ValueError(
                f"order must be one of {', '.join(ORDERS)} or a sequence of contact indices, got {order!r}"
            )
        return order
    try:
        visits = tuple(order)
    except TypeError:
        raise TypeError(f"order must be a word or a sequence of contact indices, got {order!r}") from None
    if not all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in visits):
        raise TypeError(f"order must hold contact indices, got {order!r}")
    return tuple(int(i) for i in visits)


def visits_of(order: str | Sequence[int], count: int) -> tuple[int, NDArray[np.int64]]:
    """The kernels' code of an order of `count` contacts, and the visits it makes."""
    if isinstance(order, str):
        return ORDERS[order], np.arange(count)
    if set(order) != set(range(count)):
        raise ValueError(
            f"order must name every contact from 0 to {count - 1} and no other, got {list(order)}"
        )
    return reflection_kernels.VISITS, np.array(order, dtype=np.int64)


def _stages(N: Array, before: Array, sequence: NDArray[np.int64]) -> tuple[Array, list[str]]:
    """Cumulative normal impulses (k, nc) along a sequence of reflections, and a label for each."""
    velocity = before.copy()
    impulse = np.zeros(before.size)
    stages = np.empty((sequence.size, before.size))
    labels = []
    for stage, contact in enumerate(sequence.tolist()):
        approach = velocity[contact]
        step = -2.0 * approach / N[contact, contact]
        impulse[contact] += step
        velocity += step * N[contact]
        velocity[contact] = -approach
        stages[stage] = impulse
        labels.append(f"reflection at contact {contact}")
    return stages, labels


def _overall_restitution(before: Array, plastic_impulse: Array, restitution: Array) -> float:
    """R: root of the mean of e² weighted by the work each contact does in the plastic impact.

    A contact that would separate by itself but is pressed by others does work of the other sign; R is kept
    within the coefficients of the pressed contacts.
    """
    pressed = plastic_impulse > 0.0
    if not pressed.any():
        return float(restitution.max())
    work = -0.5 * plastic_impulse * before  # the pressed contact's velocity goes from `before` to zero
    total = float(work.sum())
    least, largest = float(restitution[pressed].min()), float(restitution[pressed].max())
    if least == largest or total <= 0.0:
        return largest
    return float(np.clip(np.sqrt(max(float(work @ restitution**2) / total, 0.0)), least, largest))


def _mix(N: Array, before: Array, plastic: Array, elastic: Array, overall: float) -> tuple[Array, float]:
    """Impulse p_p + α (p_e - p_p) with c α² + 2 b α = R² (c + 2 b), and α in [0, 1]."""
    difference = elastic - plastic
    c = float(difference @ N @ difference)
    b = max(float(difference @ (before + N @ plastic)), 0.0)
    square = overall * overall
    root = np.sqrt(b * b + c * square * (c + 2.0 * b)) if c > 0.0 else 0.0
    # this form of the root has no cancellation for small c
    mixing = min(square * (c + 2.0 * b) / (b + root), 1.0) if b + root > 0.0 else overall
    return plastic + mixing * difference, float(mixing)
