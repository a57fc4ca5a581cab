"""Impacts with friction one contact after the other, each the complementarity problem of that contact alone."""

from dataclasses import dataclass, replace
from itertools import permutations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .impact_problem import ImpactProblem
from .law import checked_count, generator_of, quietly
from .orders import Order, OrderMisfit, checked_order, visits_of
from .outcome import ImpactOutcome, ImpactStatus, OutcomeSet
from .reflection_kernels import RANDOM, TOO_MANY
from .sequential_lcp_kernels import NO_SOLUTION, RECORD_FULL, RESOLVED, resolve_in_turn
from .tolerances import DISTINCT

Array = NDArray[np.float64]

_MOST_PERMUTED = 5  # contacts: 120 orders
_FIRST_ROOM = 256  # single impacts there is room for at first


@dataclass(frozen=True)
class SequentialLCP:
    """One contact at a time, each with friction and restitution as if alone, until none approaches.

    A contact that approaches is resolved by the problem of `AnitescuPotra` for that contact only,

        0 <= λ ⟂ v_n⁺ - b >= 0,   0 <= β ⟂ D v⁺ + 1 σ >= 0,   0 <= σ ⟂ μ λ - 1ᵀ β >= 0,

    with b = e times its approach (Newton's restitution), or the largest share of that with which this impact gains
    no energy (`newton_restitution`). It leaves v_n⁺ = b there and changes the velocity of the others. The outcome
    depends on the order; `outcomes` gives those of all cyclic orders.

    Parameters
    ----------
    order : which approaching contact is next
        A word, contact indices, names of bodies, or a function of the problem: see `Order`.
    cone_edges : at least 3
        Edges of the friction pyramid of a spatial contact, see `AnitescuPotra`.
    max_impacts : at least 1
        More single impacts end as NOT_TERMINATED.

    Source: the baseline called sequential in Halm & Posa, section 2.2.2.
    """

    order: Order = "most_approaching"
    cone_edges: int = 8
    max_impacts: int = 100_000

    name: ClassVar[str] = "sequential-lcp"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", checked_order(self.order))
        checked_count("cone_edges", self.cone_edges, 3)
        checked_count("max_impacts", self.max_impacts, 1)

    @quietly
    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """The outcome; ``rng`` is used for order "random" only.

        The path has a stage for each single impact; ``info``: sequence, the contacts in the order resolved.
        """
        inertia, before, friction, restitution = problem.kernel_arrays()
        dim, limit = problem.dim, self.max_impacts
        try:
            kind, visits = visits_of(self.order, problem)
        except OrderMisfit as misfit:
            return misfit.outcome(problem)
        seed = int(generator_of(rng).integers(1, 2**31 - 1)) if kind == RANDOM else 1
        cursor = np.array([0, seed % 2147483646 + 1])
        velocity, impulse = before.copy(), np.zeros(before.size)
        record, made, ended = np.empty((min(_FIRST_ROOM, limit), 1 + dim)), 0, RECORD_FULL
        while ended == RECORD_FULL:
            if made:
                more = min(3 * made, limit - made)
                record = np.concatenate([record, np.empty((more, 1 + dim))])
            ended, made = resolve_in_turn(
                inertia, before, friction, restitution, problem.kinetic_scale_array, problem.approach_threshold,
                kind, visits, cursor, dim, self.cone_edges, limit, velocity, impulse, record, made,
            )  # fmt: skip
        return self.outcome_of_record(problem, record[:made], impulse, ended)

    @staticmethod
    def outcome_of_record(problem: ImpactProblem, record: Array, impulse: Array, ended: int) -> ImpactOutcome:
        """The outcome that a record (k, 1 + dim) of `resolve_in_turn` tells of, with its impulse and its end."""
        contacts = record[:, 0].astype(np.int64)
        status, message = ImpactStatus.RESOLVED, ""
        if ended == TOO_MANY:
            status = ImpactStatus.NOT_TERMINATED
            message = f"a contact still approaches after {len(record)} single impacts"
        elif ended != RESOLVED:
            status = ImpactStatus.NO_SOLUTION if ended == NO_SOLUTION else ImpactStatus.INACCURATE
            accurate = "" if ended == NO_SOLUTION else "accurate "
            message = f"contact {contacts[-1]} alone has no {accurate}solution"
            contacts, record = contacts[:-1], record[:-1]
        dim = problem.dim
        stages = np.zeros((len(record), problem.u.size))
        columns = dim * contacts[:, None] + np.arange(dim)
        stages[np.arange(len(record))[:, None], columns] = record[:, 1:]
        stages = stages.cumsum(axis=0)
        stages[-1:] = impulse  # which differs by rounding
        sequence = contacts.tolist()
        names = [f"impact at contact {contact}" for contact in range(problem.contact_count)]
        return ImpactOutcome.from_stages(
            problem,
            stages,
            [names[contact] for contact in sequence],
            status,
            message,
            {"sequence": tuple(sequence)},
        )

    @quietly
    def outcomes(self, problem: ImpactProblem) -> OutcomeSet:
        """The outcomes of all permutations of up to five contacts, each repeated as a cyclic order.

        Only distinct post-impact velocities, sorted by velocity; ``labels`` are the permutations (the first
        of several that give the same velocity), ``solves`` the single impacts. ``order`` is not used.
        """
        if problem.contact_count > _MOST_PERMUTED:
            raise ValueError(
                f"outcomes tries all orders of at most {_MOST_PERMUTED} contacts, this problem has "
                f"{problem.contact_count}: use fewer contacts, or resolve with orders of your choice"
            )
        found: list[tuple[tuple[int, ...], ImpactOutcome]] = []
        for order in permutations(range(problem.contact_count)):
            outcome = replace(self, order=order).resolve(problem)
            largest = float(np.abs([problem.u, outcome.velocity]).max())
            if all(
                np.abs(outcome.velocity - known.velocity).max() > DISTINCT * largest
                or outcome.resolved is not known.resolved
                for _, known in found
            ):
                found.append((order, outcome))
        # rounded, so that a zero of either sign sorts alike
        found.sort(key=lambda entry: (np.round(entry[1].velocity, 9) + 0.0).tolist())
        return OutcomeSet(
            velocity=np.array([outcome.velocity for _, outcome in found]),
            impulse=np.array([outcome.impulse for _, outcome in found]),
            solves=np.array([len(outcome.info["sequence"]) for _, outcome in found]),
            resolved=np.array([outcome.resolved for _, outcome in found]),
            labels=tuple(order for order, _ in found),
        )
