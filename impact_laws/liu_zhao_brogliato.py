"""Impacts of several contacts at once that share the impulse by stiffness and potential energy."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import distributing_kernels as kernels
from . import distributing_series_kernels as columns
from .impact_problem import ImpactProblem, _per_contact, _real_array
from .law import checked_count, generator_of, quietly
from .outcome import LONGEST_PATH, ImpactOutcome, ImpactStatus, OutcomeSet
from .ratio_search import RatioSearch
from .stiffness_ratios import RatioMisfit, StiffnessRatios, checked_ratios, stiffnesses_of
from .tolerances import APPROACH, ENERGY_GAIN, OUTCOME_RESIDUAL, SYMMETRY_ACCEPTED

Array = NDArray[np.float64]

_COMPLIANCES = {"bi-stiffness": kernels.BI_STIFFNESS, "mono-stiffness": kernels.MONO_STIFFNESS}
_EVENTS = {
    kernels.COMPRESSION_ENDS: ("c", "compression ends at contact {}"),
    kernels.COMPRESSES_AGAIN: ("a", "contact {} compresses again"),
    kernels.RESTITUTION_ENDS: ("r", "restitution ends at contact {}"),
    kernels.PRESSES_AGAIN: ("p", "contact {} presses again"),
    kernels.SLIP_STOPS: ("s", "slip stops at contact {}"),
    kernels.SLIP_STARTS: ("l", "slip starts at contact {}"),
}
_APPROACHES, _GAINS = 101, 102  # of batches, apart from how kernels end
_STATUS = {
    kernels.RESOLVED: (ImpactStatus.RESOLVED, ""),
    kernels.STEP_LIMIT: (
        ImpactStatus.NOT_TERMINATED,
        "energy is still stored after all steps: masses or stiffnesses may differ by many orders",
    ),
    kernels.NEVER_RETURNS: (
        ImpactStatus.NO_SOLUTION,
        "a contact is compressed without end, since friction pulls it in faster than it is pushed out",
    ),
    kernels.WEDGED: (ImpactStatus.RESOLVED, ""),
    kernels.IMMOVABLE: (ImpactStatus.NO_SOLUTION, "a contact between immovable bodies approaches"),
    _APPROACHES: (ImpactStatus.INACCURATE, "a contact still approaches after the impact"),
    _GAINS: (ImpactStatus.ENERGY_GAINED, "kinetic energy would grow"),
}


@dataclass(frozen=True)
class DistributedBatch:
    """Outcomes of many impacts with the same number of contacts.

    impulse, velocity : (n, dim*nc), [N s] and [m/s]
    resolved : (n,) booleans
    steps : (n,) integers, steps of the integration
    status : (n,) ImpactStatus
    """

    impulse: Array
    velocity: Array
    resolved: NDArray[np.bool_]
    steps: NDArray[np.int64]
    _ended: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.impulse)

    @cached_property
    def status(self) -> NDArray[np.object_]:
        """How each resolution ended."""
        return np.array([_STATUS[int(code)][0] for code in self._ended], dtype=object)


@dataclass(frozen=True)
class LiuZhaoBrogliato:
    """Several contacts at once that share the impulse by stiffness and potential energy, with friction.

    Every contact is a stiff spring of force K δ^η. Its normal impulse grows as fast, beside that of another, as

        dp_i/dp_j = (K_i/K_j)^(1/(η + 1)) (E_i/E_j)^(η/(η + 1)),

    with E the potential energy that it has stored, dE = -v_n dp. Only ratios of stiffnesses count. A contact whose
    own compression has ended returns e² of it, W_expansion = e² W_compression, while others may still compress; it
    may compress again. The impact ends when all energy is returned and nothing approaches. Friction is Coulomb's
    along the whole impact: slip turns, stops, sticks as long as the cones allow, and starts again. One contact
    alone is `StrongeCoulomb`'s, whatever the exponent.

    Parameters
    ----------
    stiffness_ratios : None (all equal), numbers by contact, names of bodies with numbers, or a function
        See `StiffnessRatios`. With extreme ones contacts act in sequence.
    exponent : η, at least 1
        3/2 for smooth bodies (Hertz), 1 for linear springs.
    compliance : "bi-stiffness" or "mono-stiffness"
        How energy is lost where e < 1. "bi-stiffness": a contact expands along a stiffer spring from the same force
        (stiffness K/e^(2η)). "mono-stiffness": the share 1 - e² of what it has stored is lost at once when
        compression ends, and its force falls. With e = 0 both lose all at once, and start anew where pressed again.
    max_steps : at least 1
        More steps of the integration end as NOT_TERMINATED.

    Source: C. Liu, Z. Zhao & B. Brogliato, Frictionless multiple impacts in multibody systems, parts I and II
    (Proc. R. Soc. A 464 and 465, 2008 and 2009). How it is integrated is in distributing_series_kernels.

    Example
    -------
    >>> law = carom.LiuZhaoBrogliato(stiffness_ratios={("cue", "red"): 2.0}, exponent=1.0)
    >>> law.stiffness_ratios
    ((('cue', 'red'), 2.0),)
    """

    stiffness_ratios: StiffnessRatios = None
    exponent: float = 1.5
    compliance: str = "bi-stiffness"
    max_steps: int = 20_000

    name: ClassVar[str] = "liu-zhao-brogliato"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "stiffness_ratios", checked_ratios(self.stiffness_ratios))
        if isinstance(self.exponent, bool) or not isinstance(self.exponent, int | float | np.floating):
            raise TypeError(f"exponent must be a number of at least 1, got {self.exponent!r}")
        if not 1.0 <= self.exponent < np.inf:
            raise ValueError(f"exponent must be at least 1 and finite, got {self.exponent}")
        if not isinstance(self.compliance, str) or self.compliance not in _COMPLIANCES:
            raise ValueError(f"compliance must be one of {', '.join(_COMPLIANCES)}, got {self.compliance!r}")
        checked_count("max_steps", self.max_steps, 1)

    @property
    def _law(self) -> tuple[float, int]:
        return float(self.exponent), _COMPLIANCES[self.compliance]

    @quietly
    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """The outcome; ``rng`` is not used. The path has a stage for each event.

        ``info``: sequence, a tuple of (contact, letter), where c is the end of compression, r of restitution, a and
        p that a contact compresses or presses again, s that slip stops and l that it starts; compression_work,
        what each contact has absorbed [J]; stiffnesses, the largest 1; wedged, whether contacts hold each other
        pressed at rest, so that they keep what they have stored; steps.
        """
        generator_of(rng)
        try:
            stiffness = stiffnesses_of(self.stiffness_ratios, problem)
        except RatioMisfit as misfit:
            return misfit.outcome(problem)
        system = _Scaled.of(problem.W[None], problem.u[None], problem.dim)
        contacts = _contact_table(stiffness[None], problem.friction, problem.restitution)
        size = problem.u.size
        record, impulse = np.empty((LONGEST_PATH, 2 + size)), np.empty(size)
        ended, rows, steps = kernels.distribute(
            system.W[0], system.u[0], contacts[0], _thresholds(problem, system), self._law, problem.dim,
            self.max_steps, record, impulse,
        )  # fmt: skip
        unit = float(system.impulse[0])
        stages, events = record[:rows, 2:] * unit, record[:rows, :2].astype(np.int64).tolist()
        labels = [_EVENTS[code][1].format(contact) for contact, code in events]
        wedged = ended == kernels.WEDGED
        if wedged or (impulse.any() and not (rows and np.array_equal(record[rows - 1, 2:], impulse))):
            stages = np.vstack([stages, impulse * unit])
            labels.append("contacts are wedged" if wedged else "impact ends")
        energy = unit / float(system.velocity[0])
        info = {
            "sequence": tuple((contact, _EVENTS[code][0]) for contact, code in events),
            "compression_work": tuple((contacts[0, :, columns.ABSORBED] * energy).tolist()),
            "stiffnesses": tuple(stiffness.tolist()),
            "wedged": wedged,
            "steps": steps,
        }
        return ImpactOutcome.from_stages(problem, stages, labels, *_STATUS[ended], info)

    @quietly
    def resolve_many(
        self,
        W: ArrayLike,
        u: ArrayLike,
        friction: ArrayLike = 0.0,
        restitution: ArrayLike = 0.0,
        stiffness_ratios: ArrayLike | None = None,
        dim: int = 3,
    ) -> DistributedBatch:
        """Many independent impacts of as many contacts each, on all cores.

        W (n, dim*nc, dim*nc) symmetric positive semi-definite [1/kg], u (n, dim*nc) [m/s]; friction, restitution
        and stiffness_ratios are numbers, or (nc,), or (n, nc); ratios default to the law's, which must be numbers
        or None then. Equal input gives equal output, bit for bit, on any number of threads. Raises TypeError or
        ValueError that names the field."""
        inertia, velocity = _real_array("W", W), _real_array("u", u)
        if dim not in (2, 3):
            raise ValueError(f"dim must be 2 or 3, got {dim!r}")
        if velocity.ndim != 2 or velocity.shape[1] == 0 or velocity.shape[1] % dim:
            raise ValueError(f"u must have shape (n, {dim}*nc), got shape {velocity.shape}")
        count, size = velocity.shape
        if inertia.shape != (count, size, size):
            raise ValueError(f"W must have shape {(count, size, size)} to match u, got shape {inertia.shape}")
        if (
            count
            and np.abs(inertia - inertia.transpose(0, 2, 1)).max() > SYMMETRY_ACCEPTED * np.abs(inertia).max()
        ):
            raise ValueError("W must be symmetric")
        shape = count, size // dim
        if stiffness_ratios is None:
            stiffness_ratios = 1.0 if self.stiffness_ratios is None else self.stiffness_ratios  # type: ignore
        stiffness = _spread("stiffness_ratios", stiffness_ratios, shape)
        if count and not stiffness.min() > 0.0:
            raise ValueError(f"stiffness_ratios must be above 0, got {stiffness.min():g}")
        mu, e = _spread("friction", friction, shape), _spread("restitution", restitution, shape)
        if count and (mu.min() < 0.0 or e.min() < 0.0 or e.max() > 1.0):
            raise ValueError("friction must be at least 0 and restitution within [0, 1] at every contact")
        system = _Scaled.of(inertia, velocity, dim)
        scale = _kinetic_scale(inertia, dim)
        measure = np.abs(velocity[:, ::dim] / scale).max(axis=1, initial=0.0)
        threshold = -APPROACH * measure[:, None] * scale * system.velocity[:, None]
        return self._batch(system, _contact_table(stiffness, mu, e), threshold, dim, count, inertia, velocity)

    def _batch(
        self, system: "_Scaled", contacts: Array, threshold: Array, dim: int, count: int, W: Array, u: Array
    ) -> DistributedBatch:
        impulses, endings = np.empty((count, u.shape[-1])), np.empty((count, 2), dtype=np.int64)
        kernels.distribute_batch(
            system.W,
            system.u,
            contacts,
            np.ascontiguousarray(threshold),
            self._law,
            dim,
            self.max_steps,
            impulses,
            endings,
        )
        impulses *= system.impulse[:, None]
        after = u + (np.einsum("nij,nj->ni", W, impulses) if W.ndim == 3 else impulses @ W)
        ended = endings[:, 0]
        resolved = np.isin(ended, (kernels.RESOLVED, kernels.WEDGED))
        ended[resolved & _approaches(W, u, after, dim)] = _APPROACHES
        ended[resolved & _gains_energy(u, impulses, after)] = _GAINS
        resolved = np.isin(ended, (kernels.RESOLVED, kernels.WEDGED))
        return DistributedBatch(impulses, after, resolved, endings[:, 1], ended)

    def _with_ratios(self, problem: ImpactProblem, stiffness: Array) -> OutcomeSet:
        """The outcomes of a problem with each row of stiffnesses (n, nc), which are the labels."""
        system = _Scaled.of(problem.W[None], problem.u[None], problem.dim)
        contacts = _contact_table(stiffness, problem.friction, problem.restitution)
        batch = self._batch(
            system,
            contacts,
            _thresholds(problem, system)[None],
            problem.dim,
            len(stiffness),
            problem.W,
            problem.u,
        )
        labels = tuple(tuple(row) for row in stiffness.tolist())
        return OutcomeSet(
            batch.velocity, batch.impulse, np.ones(len(batch), np.int64), batch.resolved, labels
        )

    def sample(self, problem: ImpactProblem, count: int, seed: int = 0, decades: float = 6.0) -> OutcomeSet:
        """`count` outcomes for random stiffness ratios, on all cores; those of the law do not count.

        decades : at least 0
            Every stiffness is 10 to a power drawn evenly between 0 and this, so that ratios reach both its
            extremes.

        Labels are the stiffnesses, the largest of each 1.
        """
        checked_count("count", count, 1)
        checked_count("seed", seed, 0)
        powers = np.random.default_rng(seed).uniform(0.0, _span(decades), (count, problem.contact_count))
        return self._with_ratios(problem, 10.0 ** (powers - powers.max(axis=1, keepdims=True)))

    @quietly
    def outcomes(
        self,
        problem: ImpactProblem,
        decades: float = 6.0,
        resolution: float = 0.02,
        most: int = 4000,
        seed: int = 0,
    ) -> OutcomeSet:
        """The outcomes over all stiffness ratios, those of the law apart: a set of one dimension less than
        contacts.

        Of two and three contacts a grid over the logarithms of the ratios is refined where neighbours' velocities
        differ by more than `resolution` of the largest contact velocity before the impact, until `most` outcomes
        are found; where friction or another contact switches, outcomes jump, and are refined down to neighbours
        that differ by a ratio of 1.001. Of more contacts `most` random ratios are taken (`sample`).

        decades : stiffnesses differ by factors of up to 10 to this power
        resolution : above 0
        most : at least 1
        seed : of the random ratios

        Labels are the stiffnesses, the largest of each 1.
        """
        checked_count("most", most, 1)
        if not 0.0 < resolution < np.inf:
            raise ValueError(f"resolution must be above 0 and finite, got {resolution}")
        count = problem.contact_count
        if count > 3:
            return self.sample(problem, most, seed, decades)
        speed = resolution * (float(np.abs(problem.u).max()) or 1.0)
        search = RatioSearch(count, _span(decades), speed, most)
        found = []
        while (ratios := search.next()) is not None:
            found.append(self._with_ratios(problem, ratios))
            search.learn(found[-1].velocity)
        return OutcomeSet.joined(found)


@dataclass(frozen=True)
class _Scaled:
    """Problems (n, ...) in units in which mobilities and the fastest approach are about 1, by powers of two.

    impulse : (n,), what an impulse is multiplied with to be one in N s
    velocity : (n,), what a velocity in m/s is multiplied with
    """

    W: Array
    u: Array
    impulse: Array
    velocity: Array

    @classmethod
    def of(cls, W: Array, u: Array, dim: int) -> "_Scaled":
        mobility = np.exp2(-np.frexp(np.einsum("nii->ni", W).max(axis=1, initial=0.0))[1])
        approach = np.maximum(-u[:, ::dim], 0.0).max(axis=1, initial=0.0)
        speed = np.exp2(-np.frexp(np.where(approach > 0.0, approach, 1.0))[1])
        return cls(W * mobility[:, None, None], u * speed[:, None], mobility / speed, speed)


def _thresholds(problem: ImpactProblem, system: _Scaled) -> Array:
    """Normal velocities below which contacts approach, (nc,), scaled."""
    return problem.approach_threshold * problem.kinetic_scale * float(system.velocity[0])


def _contact_table(stiffness: Array, friction: Array, restitution: Array) -> Array:
    """The kernels' table of contacts (n, nc, COLUMNS) of stiffnesses (n, nc)."""
    contacts = np.zeros((*stiffness.shape, columns.COLUMNS))
    contacts[..., columns.STIFFNESS] = stiffness / stiffness.max(axis=-1, keepdims=True)
    contacts[..., columns.FRICTION] = friction
    contacts[..., columns.RETURNED] = restitution * restitution
    return contacts


def _spread(name: str, value: Any, shape: tuple[int, int]) -> Array:
    """A number, or one for each contact, or for each contact of each impact, as (n, nc)."""
    array = _real_array(name, value)
    if array.shape == shape:
        return array
    return np.broadcast_to(_per_contact(name, array, shape[1]), shape)


def _span(decades: float) -> float:
    if not 0.0 <= decades <= 12.0:
        raise ValueError(f"decades must lie within [0, 12], got {decades}")
    return float(decades)


def _kinetic_scale(W: Array, dim: int) -> Array:
    """√W_nn of the contacts of one W or of many, (..., nc), 1 where a contact is immovable."""
    scale = np.sqrt(np.maximum(np.diagonal(W, axis1=-2, axis2=-1)[..., ::dim], 0.0))
    return np.where(scale > 0.0, scale, 1.0)


def _approaches(W: Array, u: Array, after: Array, dim: int) -> NDArray[np.bool_]:
    """Whether a contact approaches after each impact, as `ImpactOutcome.from_stages` judges it."""
    scale = _kinetic_scale(W, dim)
    largest = np.abs(u[..., ::dim] / scale).max(axis=-1)
    return (after[:, ::dim] / scale).min(axis=1, initial=0.0) < -OUTCOME_RESIDUAL * largest


def _gains_energy(u: Array, impulse: Array, after: Array) -> NDArray[np.bool_]:
    """Whether each impact gains energy, as `ImpactOutcome.from_stages` judges it."""
    work, half = (impulse * u).sum(axis=1), 0.5 * (impulse * (after - u)).sum(axis=1)
    return work + half > ENERGY_GAIN * (np.abs(work) + half)
