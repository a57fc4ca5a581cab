"""Impacts at one contact with Coulomb friction and energetic restitution, several contacts one by one."""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import stronge_kernels
from .impact_problem import ImpactProblem, _single_contacts
from .law import checked_count, generator_of, quietly
from .orders import Order, OrderMisfit, checked_order, visits_of
from .outcome import ImpactOutcome, ImpactStatus
from .reflection_kernels import RANDOM

Array = NDArray[np.float64]

_FIRST = np.zeros(1, dtype=np.int64)

_LETTERS = {
    stronge_kernels.COMPRESSION_ENDS: "c",
    stronge_kernels.SLIP_STOPS: "s",
    stronge_kernels.RESTITUTION_ENDS: "r",
}
_LABELS = {
    stronge_kernels.COMPRESSION_ENDS: "compression ends",
    stronge_kernels.SLIP_STOPS: "slip stops",
    stronge_kernels.RESTITUTION_ENDS: "restitution ends",
}
_STATUS = {
    stronge_kernels.RESOLVED: (ImpactStatus.RESOLVED, ""),
    stronge_kernels.NEVER_RETURNS: (
        ImpactStatus.NO_SOLUTION,
        "the normal velocity never returns, since W_nn - mu |d| > 0 fails along the path of slip",
    ),
    stronge_kernels.RENEWED_COMPRESSION: (
        ImpactStatus.RENEWED_COMPRESSION,
        "the normal velocity turns back into approach before the restitution energy is returned",
    ),
    stronge_kernels.JAMS: (
        ImpactStatus.NO_SOLUTION,
        "the contact jams: it sticks without normal mobility, so no compression work can be returned",
    ),
    stronge_kernels.STEP_LIMIT: (ImpactStatus.NOT_TERMINATED, "slip was not resolved within the step limit"),
    stronge_kernels.TOO_MANY: (ImpactStatus.NOT_TERMINATED, "a contact still approaches after all impacts"),
    stronge_kernels.IMMOVABLE: (ImpactStatus.NO_SOLUTION, "a contact between immovable bodies approaches"),
}


@cache
def _words(codes: tuple[float, ...]) -> tuple[str, tuple[str, ...]]:
    """Letters and labels of the events of one impact."""
    return "".join(_LETTERS[int(code)] for code in codes), tuple(_LABELS[int(code)] for code in codes)


@dataclass(frozen=True)
class StrongeBatch:
    """Outcomes of many single contacts.

    impulse, velocity : (n, 3), (normal, tangent, tangent2), [N s] and [m/s]
    resolved : (n,) booleans
    sequence : (n,) strings such as "csr"
    status : (n,) ImpactStatus
    """

    impulse: Array
    velocity: Array
    resolved: NDArray[np.bool_]
    _codes: NDArray[np.int64]
    _status: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.impulse)

    @cached_property
    def sequence(self) -> NDArray[np.str_]:
        """Events of each impact in their order."""
        distinct, index = np.unique(self._codes, return_inverse=True)
        words = ["".join(_LETTERS[int(digit)] for digit in str(code) if digit != "0") for code in distinct]
        return np.array(words, dtype="<U3")[index]

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """How each resolution ended."""
        return np.array([_STATUS[int(code)][0] for code in self._status], dtype=object)


@dataclass(frozen=True)
class StrongeCoulomb:
    """Coulomb friction along the whole impact, and restitution that returns e² of the compression work.

    One contact is solved along its normal impulse: it compresses until the normal velocity vanishes, then
    restores until e² of the work of compression is returned; slip turns under friction, may stop, and may
    start again in the one direction that leaves zero. Several contacts are resolved one at a time, each as if
    alone, until none approaches.

    Parameters
    ----------
    order : which approaching contact is next
        A word, contact indices, names of bodies, or a function of the problem: see `Order`.
    max_impacts : at least 1
        More single impacts end as NOT_TERMINATED.

    Where condition (18), W_nn - mu |d| > 0, fails along the path, the normal velocity may never return
    (NO_SOLUTION) or turn back during restitution (RENEWED_COMPRESSION); it is not tested in advance, because
    it is sufficient only.

    Source: Jia & Wang; Stronge. The integration is described in stronge_kernels.
    """

    order: Order = "most_approaching"
    max_impacts: int = 100_000

    name: ClassVar[str] = "stronge-coulomb"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", checked_order(self.order))
        checked_count("max_impacts", self.max_impacts, 1)

    @quietly
    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """The outcome; ``rng`` is used for order "random" only.

        The path has a stage for each event: compression ends, slip stops, restitution ends. ``info``:
        sequence (a string such as "csr"; of several contacts, a tuple of (contact, string)), compression_work
        [J], a float or a tuple of them, sticks (whether the last impact ended sticking), and steps.
        """
        inertia, before, friction, restitution = problem.kernel_arrays()
        count, dim = problem.contact_count, problem.dim
        seed, kind, visits, impacts = 1, 0, _FIRST, 1
        if count > 1:
            try:
                kind, visits = visits_of(self.order, problem)
            except OrderMisfit as misfit:
                return misfit.outcome(problem)
            seed = int(generator_of(rng).integers(1, 2**31 - 1)) if kind == RANDOM else 1
            impacts = self.max_impacts
        record = np.empty((3 * impacts, 7))
        ended, rows, steps = stronge_kernels.resolve_contacts(
            inertia, before.copy(), friction, restitution, problem.kinetic_scale_array,
            problem.approach_threshold, kind, visits, seed, dim, impacts, record,
        )  # fmt: skip
        return self.outcome_of_record(problem, record[:rows], ended, steps)

    @classmethod
    def outcome_of_record(
        cls, problem: ImpactProblem, record: Array, ended: int, steps: int
    ) -> ImpactOutcome:
        """The outcome that a record (k, 7) of `stronge_kernels.resolve_contacts` tells of, with how it ended."""
        status, message = _STATUS[ended]
        if problem.contact_count > 1:
            return cls._outcome_of_several(problem, record, steps, status, message)
        codes = tuple(record[:, 1].tolist())
        sequence, labels = _words(codes)
        info = {
            "sequence": sequence,
            "compression_work": float(record[-1, 5]) if len(record) else 0.0,
            "sticks": bool(len(record) and record[-1, 6]),
            "steps": steps,
        }
        stages = record[:, 2 : 2 + problem.dim]
        return ImpactOutcome.from_stages(problem, stages, labels, status, message, info)

    def impulse(self, problem: ImpactProblem) -> tuple[Array, ImpactStatus]:
        """Only the impulse (3,) of one spatial contact and how it ended, in half the time of `resolve`."""
        if problem.u.size != 3 or problem.dim != 3:
            raise ValueError(
                f"problem must have one spatial contact, got {problem.contact_count} with dim {problem.dim}"
            )
        inertia, velocity, friction, restitution = problem.kernel_arrays()
        stages, codes = np.empty((3, 3)), np.empty(3, dtype=np.int64)
        ended, events, _, _, _ = stronge_kernels.stronge_impact(
            inertia,
            velocity,
            friction[0],
            restitution[0],
            np.empty((5, stronge_kernels.ORDER + 2)),
            stages,
            codes,
        )
        return stages[max(events - 1, 0)].copy(), _STATUS[ended][0]

    @staticmethod
    def _outcome_of_several(
        problem: ImpactProblem, record: Array, steps: int, status: ImpactStatus, message: str
    ) -> ImpactOutcome:
        dim = problem.dim
        stages = np.zeros((len(record), problem.u.size))
        labels: list[str] = []
        sequence: list[tuple[int, str]] = []
        works: list[float] = []
        base = total = np.zeros(problem.u.size)
        starts = True
        for k, (where, event, *impulse, work, _) in enumerate(record.tolist()):
            contact, code = int(where), int(event)
            if starts:
                base = total
                sequence.append((contact, ""))
                works.append(work)
            starts = code == stronge_kernels.RESTITUTION_ENDS
            total = base.copy()
            total[dim * contact : dim * (contact + 1)] += impulse[:dim]
            stages[k] = total
            sequence[-1] = (contact, sequence[-1][1] + _LETTERS[code])
            labels.append(f"{_LABELS[code]} at contact {contact}")
        info = {
            "sequence": tuple(sequence),
            "compression_work": tuple(works),
            "sticks": bool(len(record) and record[-1, 6]),
            "steps": steps,
        }
        return ImpactOutcome.from_stages(problem, stages, labels, status, message, info)

    @quietly
    def resolve_many(
        self, W: ArrayLike, u: ArrayLike, friction: ArrayLike, restitution: ArrayLike
    ) -> StrongeBatch:
        """Many independent single contacts at once, on all cores.

        W (n, 3, 3) symmetric positive semi-definite [1/kg] with W_nn > 0, u (n, 3) [m/s], friction and
        restitution numbers or (n,); components are (normal, tangent, tangent2). Equal input gives equal
        output, bit for bit, on any number of threads. Raises TypeError or ValueError that names the field.
        """
        inertia, velocity, mu, e = _single_contacts(W, u, friction, restitution)
        _refuse_indefinite_batch(inertia)
        count = len(velocity)
        impulse = np.empty((count, 3))
        codes, status = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
        stronge_kernels.resolve_batch(inertia, velocity, mu, e, impulse, codes, status)
        after = velocity + np.einsum("nij,nj->ni", inertia, impulse)
        return StrongeBatch(impulse, after, status == stronge_kernels.RESOLVED, codes, status)


def _refuse_indefinite_batch(W: Array) -> None:
    """Refuse the first matrix that is unsymmetric, indefinite, or without normal mobility."""
    size = np.abs(W).max(axis=(1, 2), initial=0.0)
    unsymmetric = np.abs(W - W.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0) > 1e-9 * size
    if unsymmetric.any():
        raise ValueError(f"W must be symmetric, W[{int(np.argmax(unsymmetric))}] is not")
    smallest = np.linalg.eigvalsh(W)[:, 0] if len(W) else np.zeros(0)
    indefinite = smallest < -1e-6 * size
    if indefinite.any():
        where = int(np.argmax(indefinite))
        raise ValueError(
            f"W must be positive semi-definite, W[{where}] has the eigenvalue {smallest[where]:.3g}"
        )
    fixed = ~(W[:, 0, 0] > 0.0)
    if fixed.any():
        raise ValueError(
            f"W_nn must be positive, W[{int(np.argmax(fixed))}] has {W[np.argmax(fixed), 0, 0]:g}"
        )
