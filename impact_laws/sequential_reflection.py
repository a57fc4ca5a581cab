"""Frictionless impacts one contact after the other, as reflections in the kinetic metric."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from . import outcome_kernels, reflection_kernels
from .impact_problem import ImpactProblem
from .law import checked_count, generator_of, quietly
from .lcp import LcpStatus, solve_lcp
from .orders import Order, OrderMisfit, checked_order, visits_of
from .outcome import ImpactOutcome, ImpactStatus, OutcomeSet
from .tolerances import APPROACH, ROUNDING

Array = NDArray[np.float64]

_MOST_CONTACTS = 6  # contacts whose sequences are all looked at
_MOST_SEQUENCES = 300_000  # six equal balls in reverse order have 292,864
# reflections of a literal sequence by contacts: as many as never make more than _MOST_SEQUENCES branches
_LONGEST_LITERAL = {3: 12, 4: 10, 5: 8, 6: 7}

_REMARK = "The law is frictionless: the friction of the contacts is ignored."


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
        A word, contact indices, names of bodies, or a function of the problem: see `Order`. With names a scene
        can say, for a whole run, which of two balls is hit first.
    max_reflections : at least 1
        More end as NOT_TERMINATED: contacts that leave no separating motion reflect for ever.

    Source: Seghete & Murphey, equations (11) and (16).
    """

    order: Order = "most_approaching"
    max_reflections: int = 10000

    name: ClassVar[str] = "sequential-reflection"
    honours_friction: ClassVar[bool] = False
    honours_restitution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", checked_order(self.order))
        checked_count("max_reflections", self.max_reflections, 1)

    @quietly
    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """The outcome; ``rng`` is used for order "random" only.

        ``info``: sequence (contacts in the order reflected), restitution (R) and mixing (α); with friction also a
        remark that it is ignored. For two contacts also bound, the most reflections that occur in any order,
        ceil(π/(2γ)) with ⟨u_1, u_2⟩ = -cos 2γ for unit normals, and bound_of_theorem_1, the paper's ceil(π/γ);
        both are infinite for opposite normals.

        The path has a stage for each reflection, then "restitution" where R < 1; with R = 0 it is the plastic
        impact alone.
        """
        normal_inertia, before = normal_part(problem)
        plastic = _plastic(problem, normal_inertia, before)
        sequence, ended = np.empty(0, dtype=np.int64), reflection_kernels.FEASIBLE
        if plastic.restitution > 0.0:
            sequence = np.empty(self.max_reflections, dtype=np.int64)
            try:
                kind, visits = visits_of(self.order, problem)
            except OrderMisfit as misfit:
                return misfit.outcome(problem)
            drawn = kind == reflection_kernels.RANDOM
            seed = int(generator_of(rng).integers(1, 2**31 - 1)) if drawn else 1
            made, ended = reflection_kernels.reflect(
                normal_inertia,
                before.copy(),
                problem.kinetic_scale_array,
                problem.approach_threshold,
                kind,
                visits,
                seed,
                sequence,
            )
            sequence = sequence[:made].copy()
        return _outcome(problem, plastic, sequence, ended)

    @staticmethod
    @quietly
    def outcome_of_sequence(
        problem: ImpactProblem, sequence: NDArray[np.int64], ended: int = reflection_kernels.FEASIBLE
    ) -> ImpactOutcome:
        """The outcome of reflecting contacts in this order, with how `reflection_kernels.reflect` ended."""
        return _outcome(problem, _plastic(problem, *normal_part(problem)), sequence, ended)

    @quietly
    def outcomes(self, problem: ImpactProblem, literal: bool = False, *, minimal: bool = True) -> OutcomeSet:
        """The outcomes of all minimal sequences of up to six contacts, or of all sequences.

        All contacts of the problem count, resting ones too. A sequence of reflections is kept when each acts on
        a contact that then approaches, none approaches after the last, and no proper subsequence, contiguous or
        not, is such a sequence itself. There is at least one wherever the contacts leave a separating motion. (A
        subsequence that ends feasible by way of a separating contact is no reason against a sequence here; in
        about one of a thousand problems of three contacts that keeps more.)
        ``minimal=False`` drops the last demand: then every choice of the next approaching contact counts, as long
        as one approaches, and the outcome of `resolve` is among them whatever the ``order``. Minimal sequences
        are fewer, and an order may leave them: "least_approaching" does for a box of 1 by 0.8 that falls on an
        edge with (0, -1) and spin 0.3, which it reflects three times where two do.
        ``literal`` drops the first demand, as definition 1 of the paper reads: separating contacts are reflected
        too, which pulls. Of more than two contacts that leaves endless sequences to try, so literal ones are
        those of at most 12 reflections at three contacts, and 10, 8, 7 at four, five, six. All others are of at
        most ``max_reflections``; ``order`` is not used.

        One entry for each sequence, also where several have one velocity, sorted by length, then
        lexicographically: ``labels`` are the sequences, ``solves`` their lengths. Restitution is mixed in as in
        `resolve`. ``resolved`` is False where an impulse pulls in total or the plastic impact has no solution.
        Without an approaching contact the one entry is the empty sequence; wedged bodies have no entry.

        Raises ValueError beyond six contacts, and where more than 300,000 sequences have to be followed at once.

        Source: Seghete & Murphey, definition 1, with all closed contacts in the place of the approaching ones.
        """
        if not isinstance(literal, bool):
            raise TypeError(f"literal must be True or False, got {literal!r}")
        if not isinstance(minimal, bool):
            raise TypeError(f"minimal must be True or False, got {minimal!r}")
        if literal and not minimal:
            raise ValueError(
                "minimal must be True with literal: without both demands there are endless sequences"
            )
        normal_inertia, before = normal_part(problem)
        plastic = _plastic(problem, normal_inertia, before)
        overall = plastic.restitution
        longest = self.max_reflections
        if literal:
            longest = min(longest, _LONGEST_LITERAL.get(problem.contact_count, longest))
        labels, impulses = feasible_sequences(problem, longest, separating=literal, minimal=minimal)
        lengths = np.array([len(label) for label in labels], dtype=np.int64)
        if overall < 1.0:
            for k in range(len(impulses)):
                elastic = impulses[k] if overall > 0.0 else plastic.impulse
                impulses[k], _ = _mix(normal_inertia, before, plastic.impulse, elastic, overall)
        inertia, velocity, _, _ = problem.kernel_arrays()
        full = np.zeros((len(impulses), velocity.size))
        full[:, :: problem.dim] = impulses
        responses = full @ inertia
        resolved = np.zeros(len(impulses), dtype=bool)
        pull = -ROUNDING * np.abs(impulses).max(initial=0.0)
        for k in np.flatnonzero((impulses >= pull).all(axis=1)).tolist():
            code, _, _ = outcome_kernels.judge(
                inertia,
                full[k],
                velocity,
                responses[k],
                velocity + responses[k],
                problem.kinetic_scale_array,
                problem.dim,
                problem.approach_threshold,
            )
            resolved[k] = code == outcome_kernels.FINE and plastic.status is ImpactStatus.RESOLVED
        return OutcomeSet(velocity + responses, full, lengths, resolved, labels)


def normal_part(problem: ImpactProblem) -> tuple[Array, Array]:
    """Normal inverse inertia (nc, nc) and normal velocities (nc,) before the impact, contiguous."""
    inertia, velocity, _, _ = problem.kernel_arrays()
    dim = problem.dim
    return np.ascontiguousarray(inertia[::dim, ::dim]), np.ascontiguousarray(velocity[::dim])


def feasible_sequences(
    problem: ImpactProblem, longest: int, separating: bool, minimal: bool
) -> tuple[tuple[tuple[int, ...], ...], Array]:
    """Sequences of at most ``longest`` reflections after which no contact approaches, and their normal impulses
    (k, nc), [N s].

    Only approaching contacts are reflected, with ``separating`` also the others. With ``minimal`` no sequence has
    another as a proper subsequence; without, all are kept that become feasible with their last reflection only.
    """
    count = problem.contact_count
    if count > _MOST_CONTACTS:
        raise ValueError(
            f"problem must have at most {_MOST_CONTACTS} contacts for all sequences, got {count}: use fewer "
            "contacts, or resolve with orders of your choice"
        )
    normal_inertia, before = normal_part(problem)
    letters, ends, ended, length = reflection_kernels.sequences(
        normal_inertia,
        before,
        problem.kinetic_scale_array,
        problem.approach_threshold,
        separating,
        minimal,
        longest,
        _MOST_SEQUENCES,
    )
    if ended == reflection_kernels.TOO_WIDE:
        raise ValueError(
            f"problem must have at most {_MOST_SEQUENCES} sequences to follow, got more after {length} "
            "reflections: use fewer contacts, look for wedged bodies, or resolve with orders of your choice"
        )
    impulses = np.zeros((len(ends) - 1, count))
    reflection_kernels.replay(normal_inertia, before, letters, ends, impulses)
    visited, bounds = letters.tolist(), ends.tolist()
    labels = (tuple(visited[start:end]) for start, end in pairwise(bounds))
    return tuple(labels), impulses


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


def _bounds(N: Array) -> tuple[float, float]:
    """Most reflections of two contacts, as they occur and by theorem 1: ceil(π/(2γ)) and ceil(π/γ)."""
    # one root after the other: the product of both entries may be zero
    cosine = float(N[0, 1]) / math.sqrt(float(N[0, 0])) / math.sqrt(float(N[1, 1]))
    turn = math.acos(min(max(-cosine, -1.0), 1.0))  # 2γ
    if turn == 0.0:
        return math.inf, math.inf
    # less the angle that does not count as approach, or rounding would add one for turns that divide π
    return math.ceil((math.pi - APPROACH) / turn), math.ceil(2.0 * (math.pi - APPROACH) / turn)


@dataclass(frozen=True, eq=False)
class _Plastic:
    """The plastic impact: its normal impulses (nc,), and what is wrong with it; zero where it is not needed.

    restitution : R, 1 where no energy is lost
    """

    impulse: Array
    restitution: float
    status: ImpactStatus = ImpactStatus.RESOLVED
    message: str = ""


def _plastic(problem: ImpactProblem, N: Array, before: Array) -> _Plastic:
    restitution = problem.restitution
    if restitution.min() == 1.0 or not problem.approaching().any():
        return _Plastic(np.zeros(before.size), 1.0)
    plastic = solve_lcp(N, before)
    overall = _overall_restitution(before, plastic.z, restitution)
    if plastic.solved:
        return _Plastic(plastic.z, overall)
    status = ImpactStatus.NO_SOLUTION if plastic.status is LcpStatus.RAY else ImpactStatus.INACCURATE
    message = f"the plastic impact has no accurate solution, scaled residual {plastic.residual:.3g}"
    return _Plastic(plastic.z, overall, status, message)


def _outcome(
    problem: ImpactProblem, plastic: _Plastic, sequence: NDArray[np.int64], ended: int
) -> ImpactOutcome:
    """The outcome of reflections in this order, mixed with the plastic impact."""
    dim, count, overall = problem.dim, problem.contact_count, plastic.restitution
    normal_inertia, before = normal_part(problem)
    status, message = plastic.status, plastic.message
    stages, labels = _stages(normal_inertia, before, sequence)
    if ended == reflection_kernels.TOO_MANY:
        status = ImpactStatus.NOT_TERMINATED
        message = f"a contact still approaches after {len(sequence)} reflections"
    elif ended == reflection_kernels.IMMOVABLE:
        status = ImpactStatus.NO_SOLUTION
        message = "a contact between immovable bodies approaches"
    mixing = 1.0
    if overall < 1.0:
        elastic_impulse = stages[-1] if len(stages) else plastic.impulse
        impulse, mixing = _mix(normal_inertia, before, plastic.impulse, elastic_impulse, overall)
        stages = np.vstack([stages, impulse])
        labels.append("restitution" if overall > 0.0 else "plastic impact")
    full = np.zeros((len(stages), dim * count))
    full[:, ::dim] = stages
    info: dict[str, Any] = {
        "sequence": tuple(sequence.tolist()),
        "restitution": overall,
        "mixing": mixing,
    }
    if count == 2 and normal_inertia.diagonal().all():
        info["bound"], info["bound_of_theorem_1"] = _bounds(normal_inertia)
    if problem.friction.any():
        info["remark"] = _REMARK
    return ImpactOutcome.from_stages(problem, full, labels, status, message, info)


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
    """Impulse p_p + α (p_e - p_p) with c α² + 2 b α = R² (c + 2 b), and α in [0, 1]; b < 0 only if p_e pulls."""
    difference = elastic - plastic
    c = float(difference @ N @ difference)
    b = float(difference @ (before + N @ plastic))
    if (elastic >= 0.0).all():
        b = max(b, 0.0)
    square = overall * overall
    root = np.sqrt(b * b + c * square * (c + 2.0 * b)) if c > 0.0 else 0.0
    if b < 0.0 < c:
        mixing = min((root - b) / c, 1.0)
        return plastic + mixing * difference, float(mixing)
    # this form of the root has no cancellation for small c
    mixing = min(square * (c + 2.0 * b) / (b + root), 1.0) if b + root > 0.0 else overall
    return plastic + mixing * difference, float(mixing)
