"""Motion of a Lagrangian system in its own coordinates by a variational integrator, with impacts inside steps.

Smooth motion follows the midpoint discrete Lagrangian L_d(q0, q1, h) = h L((q0 + q1)/2, (q1 - q0)/h). In its
position-momentum form a step of length h solves

    p0 = -D1 L_d(q0, q1, h) - G(q0)ᵀ λ,   φ(q1) = 0,   then   p1 = D2 L_d(q0, q1, h) + G(q1)ᵀ μ,

G being the derivative of the constraints φ and μ such that the motion p1 stands for is tangent to them. At an
impact the step is split where the gap of the discrete path is zero. There the momentum jumps by
p⁺ = p⁻ + Jᵀ impulse + Gᵀ μ with the impulse of an impact law, and the rest of the step starts from p⁺.

Source: Seghete & Murphey, section VI, equations (28) to (30), for any law instead of reflections alone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..bodies import checks
from ..impact_laws import ImpactLaw, ImpactOutcome, ImpactProblem, solve_lcp
from .record.trajectory import RunStatus
from .tolerances import (
    VARIATIONAL_CONSISTENT,
    VARIATIONAL_PULL,
    VARIATIONAL_REST_RATE,
    VARIATIONAL_SAME_FRACTION,
    VARIATIONAL_SAME_TIME,
    VARIATIONAL_TOGETHER_GAP,
    VARIATIONAL_TOUCH_GAP,
)

Array = NDArray[np.float64]
Field = Callable[[Array], Any]

_CHORD_ITERATIONS = 15
_NEWTON_ITERATIONS = 40
_CURVATURE_STEP = 1e-5
_HALVINGS = 50
_TURNS_WITHOUT_PROGRESS = 1000
_EPSILON = float(np.finfo(float).eps)


class ContactForceError(Exception):
    """Resting contacts or constraints have no forces; the text says where and when."""


class VariationalStepError(ArithmeticError):
    """The equations of a step have no solution near the motion so far; the text names time and step size."""


@dataclass(frozen=True, eq=False)
class LagrangianSystem:
    """A mechanical system in n generalized coordinates q: L(q, v) = ½ vᵀ M(q) v - V(q).

    Units are those of the coordinates: [J] for energies, and e.g. [m], [kg m/s] or [rad], [kg m²/s]. Every
    function takes q (n,) and must return new or constant arrays of fixed shape.

    Parameters
    ----------
    inertia : (n, n) or a function q -> (n, n), symmetric positive definite
        Mass matrix M.
    potential : q -> float, [J]
    potential_gradient : q -> (n,)
        Derivative of the potential by q.
    inertia_derivative : q -> (n, n, n), required where inertia is a function
        Entry [k] is the derivative of M by q_k.
    constraints, constraint_jacobian : q -> (m,) and (m, n), optional, together
        Holonomic constraints φ(q) = 0, independent, and their derivative.
    gaps, gap_jacobian : q -> (nc,) and (nc, n), optional, together
        Unilateral gaps, negative where bodies overlap, and their derivative: the normal rows of the contacts.
    gap_tangents : q -> (nc, dim - 1, n), optional
        Tangential rows of the contacts, one (dim = 2) or two (dim = 3). Without them no contact has friction.
    friction, restitution : number or (nc,)
        As for `ImpactProblem`.
    gap_names : nc words for messages and events, optional
    """

    inertia: ArrayLike | Field
    potential: Callable[[Array], float]
    potential_gradient: Field
    inertia_derivative: Field | None = None
    constraints: Field | None = None
    constraint_jacobian: Field | None = None
    gaps: Field | None = None
    gap_jacobian: Field | None = None
    gap_tangents: Field | None = None
    friction: ArrayLike = 0.0
    restitution: ArrayLike = 1.0
    gap_names: Sequence[str] = ()

    def inertia_at(self, position: Array) -> Array:
        """Mass matrix (n, n) at q."""
        return np.asarray(self.inertia(position) if callable(self.inertia) else self.inertia, dtype=float)

    def energy(self, position: ArrayLike, momentum: ArrayLike) -> float:
        """Energy ½ pᵀ M⁻¹ p + V [J] at q (n,) with momentum p (n,)."""
        q, p = np.asarray(position, dtype=float), np.asarray(momentum, dtype=float)
        return float(0.5 * p @ np.linalg.solve(self.inertia_at(q), p) + self.potential(q))

    def check_derivatives(self, position: ArrayLike, tolerance: float = 1e-6) -> None:
        """Compare every derivative with central differences at q (n,), for use while a system is written.

        Raises ValueError naming the field that differs by more than `tolerance`, relative to its largest
        entry or 1.
        """
        q = _vector("position", position)
        pairs: list[tuple[str, Field | None, Field | None]] = [
            ("potential_gradient", self.potential, self.potential_gradient),
            ("constraint_jacobian", self.constraints, self.constraint_jacobian),
            ("gap_jacobian", self.gaps, self.gap_jacobian),
        ]
        if callable(self.inertia):
            pairs.append(("inertia_derivative", self.inertia, self.inertia_derivative))
        for name, function, derivative in pairs:
            if function is None or derivative is None:
                continue
            differences = _differences(function, q)
            if name != "inertia_derivative":
                differences = np.moveaxis(differences, 0, -1)
            given = np.asarray(derivative(q), dtype=float)
            if given.shape != differences.shape:
                raise ValueError(f"{name}: expected shape {differences.shape}, got {given.shape}")
            error = float(np.abs(given - differences).max(initial=0.0))
            if not error <= tolerance * max(1.0, float(np.abs(differences).max(initial=0.0))):
                raise ValueError(
                    f"{name}: expected what central differences give within {tolerance:g}, "
                    f"got a difference of {error:.3g} at position {q}"
                )


@dataclass(frozen=True, eq=False)
class VariationalState:
    """The system at one time [s]: position q, discrete momentum p and the velocity M⁻¹ p, each (n,)."""

    time: float
    position: Array
    momentum: Array
    velocity: Array


@dataclass(frozen=True, eq=False)
class VariationalEvent:
    """An impact at `time` [s].

    contacts : (k,) indices of the gaps that took part, in their order; names : their words
    position : (n,); momentum_before, momentum_after : (n,), equal where the law failed
    problem, outcome : what the law was asked and what it answered
    plastic : whether restitution was taken as zero because impacts follow too fast
    note : what there is to say about it, in words
    """

    time: float
    contacts: NDArray[np.intp]
    names: tuple[str, ...]
    position: Array
    momentum_before: Array
    momentum_after: Array
    problem: ImpactProblem
    outcome: ImpactOutcome
    plastic: bool
    note: str


class VariationalTrajectory:
    """A finished (or growing) run of a `VariationalIntegrator`.

    One row a step. An impact adds two rows of one time, before and after it.

    system : the system that moved
    events : the impacts, in order of time
    status, message : how the run ended, and in words
    """

    def __init__(self, system: LagrangianSystem):
        self.system = system
        self.events: list[VariationalEvent] = []
        self.status = RunStatus.UNFINISHED
        self.message = ""
        self._states: list[VariationalState] = []

    def __len__(self) -> int:
        return len(self._states)

    @property
    def times(self) -> Array:
        """(T,) [s]"""
        return np.array([state.time for state in self._states])

    @property
    def positions(self) -> Array:
        """(T, n)"""
        return np.array([state.position for state in self._states])

    @property
    def momenta(self) -> Array:
        """(T, n), discrete momenta"""
        return np.array([state.momentum for state in self._states])

    @property
    def velocities(self) -> Array:
        """(T, n), M⁻¹ p"""
        return np.array([state.velocity for state in self._states])

    @property
    def energy(self) -> Array:
        """½ pᵀ M⁻¹ p + V of every row, (T,) [J]"""
        potential = self.system.potential
        return np.array([0.5 * s.momentum @ s.velocity + potential(s.position) for s in self._states])

    @property
    def constraint_violation(self) -> Array:
        """Largest |φ| of every row, (T,); zeros without constraints."""
        constraints = self.system.constraints
        if constraints is None:
            return np.zeros(len(self))
        return np.array([np.abs(constraints(state.position)).max() for state in self._states])


class VariationalIntegrator:
    """Steps of a `LagrangianSystem` by the midpoint variational integrator, impacts by an impact law.

    Second order, symplectic and time-symmetric; momenta that belong to a symmetry acting linearly on q are
    kept to rounding. The energy of smooth motion oscillates within O(step_size²) and does not drift; an
    impact changes it by what the law says. Motion under a constant force with a constant inertia is exact, so
    impact times then are too.

    Which gaps take part: an impact happens where a gap closes, and includes every contact that touches then.
    A contact that touches and neither approaches nor separates rests. For every step a complementarity
    problem decides which resting contacts press; these are constraints of that step, without friction.

    Chatter: an impact of a contact that follows its last one sooner than `smallest_interval` is taken as
    plastic (restitution 0 for that problem), so that bounces that would accumulate end in resting contact.

    Parameters
    ----------
    system : what moves
    position : (n,), satisfying the constraints and without overlap
    momentum, velocity : (n,), exactly one, compatible with the constraints; momentum is M velocity
    step_size : [s]
    law : resolves impacts; required where the system has gaps
    smallest_interval : [steps] see above; 0 never takes an impact as plastic
    gap_scale : [unit of the gaps] size of the bodies, which tolerances scale with
    seed : feeds the law's random generator
    event_limit : impacts after which a run stops with a status

    Raises ValueError or TypeError naming the field that does not fit. A step that cannot be solved raises
    `VariationalStepError`; `state` and `trajectory` then end at the last good step.

    Limits: a gap that closes and opens twice within one step can be missed. Resting contacts let go at the
    start of a step only, and never have friction: where the law would honour it the run ends with
    CONTACT_FAILED. A step far beyond the shortest period may find a solution that continues no real motion.

    Source: Seghete & Murphey, section VI.
    """

    def __init__(
        self,
        system: LagrangianSystem,
        position: ArrayLike,
        *,
        step_size: float,
        momentum: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        law: ImpactLaw | None = None,
        smallest_interval: float = 1.0,
        gap_scale: float = 1.0,
        seed: int = 0,
        event_limit: int = 1_000_000,
    ):
        if not isinstance(system, LagrangianSystem):
            raise TypeError(f"system: expected a LagrangianSystem, got {type(system).__name__}")
        self.step_size = checks.number("step_size", step_size, above=0.0)
        self.smallest_interval = checks.number("smallest_interval", smallest_interval, minimum=0.0)
        self.event_limit = event_limit
        start = _vector("position", position)
        gap_scale = checks.number("gap_scale", gap_scale, above=0.0)
        self._touch_gap = VARIATIONAL_TOUCH_GAP * gap_scale
        self._together_gap = VARIATIONAL_TOGETHER_GAP * gap_scale
        self._equations = _Equations(system, start)
        if self._equations.gap_count and not callable(getattr(law, "resolve", None)):
            raise TypeError(
                f"law: a system with gaps needs an impact law such as SequentialReflection(), got {law!r}"
            )
        self.system = system
        self.law = law
        self.time = 0.0
        self.trajectory = VariationalTrajectory(system)
        self._node = self._start(start, momentum, velocity, VARIATIONAL_CONSISTENT * gap_scale)
        self._rng = np.random.default_rng(seed)
        self._last_impact = np.full(self._equations.gap_count, -math.inf)
        self._due: int | None = None
        self._stalled = 0
        self._place(0.0, self._node)

    # -- what a user calls ---------------------------------------------------------------------------------

    @property
    def state(self) -> VariationalState:
        """The system now."""
        return self.trajectory._states[-1]

    def step(self) -> VariationalState:
        """Advance by one step, through every impact inside, and return the state."""
        self._advance_to(self.time + self.step_size)
        return self.state

    def run(self, until: float) -> VariationalTrajectory:
        """Go to the absolute time `until` [s] in whole steps, the last one shorter where they do not fit.

        The returned trajectory carries the status: REACHED_END, or why it stopped before.
        """
        until = checks.number("until", until, minimum=self.time)
        if self._can_go_on():
            self.trajectory.status = RunStatus.UNFINISHED
        start = self.time
        whole = math.ceil((until - start) / self.step_size - VARIATIONAL_SAME_FRACTION)
        for k in range(1, whole + 1):
            self._advance_to(until if k == whole else start + k * self.step_size)
        if self._can_go_on():
            self.trajectory.status = RunStatus.REACHED_END
        return self.trajectory

    # -- the loop ------------------------------------------------------------------------------------------

    def _advance_to(self, target: float) -> None:
        while target - self.time > VARIATIONAL_SAME_TIME * self.step_size and self._can_go_on():
            before = self.time
            try:
                self._advance(target)
            except ContactForceError as error:
                self._fail(RunStatus.CONTACT_FAILED, str(error))
            self._stalled = 0 if self.time > before else self._stalled + 1
            if self._stalled > _TURNS_WITHOUT_PROGRESS:
                self._fail(RunStatus.NO_PROGRESS, f"no motion after t = {self.time:.17g} s")

    def _advance(self, target: float) -> None:
        """One turn: the impact that is due, or the motion to the next impact, or to `target`."""
        node, duration = self._node, target - self.time
        if not self._equations.gap_count:
            self._place(target, self._equations.step(node, duration, self.time)[0])
            return
        gap = self._equations.gaps(node.position)
        jacobian = self._equations.gap_jacobian(node.position)
        rate = jacobian @ node.velocity
        touching = gap <= self._touch_gap
        if self._due is not None:
            touching[self._due] = True
            self._due = None
        if touching.any():
            slow = (
                VARIATIONAL_REST_RATE
                * self._equations.speed(node, duration)
                * self._equations.normal_size(node)
            )
            approaching = touching & (rate < -slow)
            if approaching.any():
                self._impact(node, approaching, gap)
                return
            resting = np.flatnonzero(touching & (rate <= slow))
        else:
            resting = np.zeros(0, dtype=np.intp)
        end, held = self._lasting_motion(node, duration, resting)
        watched = np.ones(gap.size, dtype=bool)
        watched[resting] = False
        impact = self._first_impact(node, end, duration, held, watched & touching, watched & ~touching)
        if impact is None:
            self._place(target, end)
        else:
            span, self._due = impact
            self._place(self.time + span, self._equations.step(node, span, self.time, held)[0])

    def _can_go_on(self) -> bool:
        return self.trajectory.status in (RunStatus.UNFINISHED, RunStatus.REACHED_END)

    def _fail(self, status: RunStatus, message: str) -> None:
        self.trajectory.status, self.trajectory.message = status, message

    def _place(self, time: float, node: "_Node") -> None:
        """Be at this node at this time, and record it."""
        self.time, self._node = time, node
        self.trajectory._states.append(
            VariationalState(time, *(_frozen(a) for a in (node.position, node.momentum, node.velocity)))
        )

    def _start(
        self, position: Array, momentum: ArrayLike | None, velocity: ArrayLike | None, allowed: float
    ) -> "_Node":
        """The first node, refused where it breaks constraints or overlaps."""
        if (momentum is None) == (velocity is None):
            raise ValueError("exactly one of momentum and velocity must be given")
        equations = self._equations
        violation = np.abs(equations.constraints(position))
        if violation.size and violation.max() > allowed:
            worst = int(violation.argmax())
            raise ValueError(
                f"position: expected constraints of at most {allowed:g}, "
                f"got {violation[worst]:.3g} for constraint {worst}"
            )
        gap = equations.gaps(position)
        if gap.size and gap.min() < -allowed:
            worst = int(gap.argmin())
            raise ValueError(
                f"position: expected no overlap, got a gap of {gap[worst]:.3g} at {equations.gap_names[worst]}"
            )
        inertia = equations.inertia(position)
        if momentum is None:
            name, given = "velocity", _vector("velocity", velocity, position.size)
            moving, p = given, inertia @ given
        else:
            name, given = "momentum", _vector("momentum", momentum, position.size)
            moving, p = _solved(inertia, given), given
        rows = equations.constraint_jacobian(position)
        allowed_rate = VARIATIONAL_CONSISTENT * np.abs(rows) @ np.abs(moving)
        broken = np.abs(rows @ moving) > allowed_rate
        if broken.any():
            worst = int(broken.argmax())
            raise ValueError(
                f"{name}: expected a motion that keeps the constraints, "
                f"got a rate of {(rows @ moving)[worst]:.3g} for constraint {worst}"
            )
        return equations.node(position, p)[0]

    # -- impacts -------------------------------------------------------------------------------------------

    def _first_impact(
        self,
        node: "_Node",
        end: "_Node",
        duration: float,
        held: NDArray[np.intp],
        leaving: NDArray[np.bool_],
        apart: NDArray[np.bool_],
    ) -> tuple[float, int] | None:
        """When [s from the node] and where a gap first closes on the discrete path, or None.

        Contacts that are `leaving` touch now and separate; those `apart` do not touch.
        """
        equations = self._equations
        closed = equations.gaps(end.position) < 0.0
        approaches = equations.gap_jacobian(node.position) @ node.velocity < 0.0
        separates = equations.gap_jacobian(end.position) @ end.velocity > 0.0
        dips = apart & ~closed & approaches & separates
        if not (closed & (apart | leaving)).any() and not dips.any():
            return None
        from scipy.optimize import brentq  # takes longer to import than the rest of the room

        def gap(span: float, contact: int) -> float:
            return float(equations.gaps(self._after(node, span, held).position)[contact])

        def rate(span: float, contact: int) -> float:
            at = self._after(node, span, held)
            return float(equations.gap_jacobian(at.position)[contact] @ at.velocity)

        first: tuple[float, int] | None = None
        for contact in np.flatnonzero((closed & (apart | leaving)) | dips).tolist():
            early, late = 0.0, duration
            if dips[contact]:
                late = brentq(rate, 0.0, duration, (contact,), xtol=VARIATIONAL_SAME_TIME * duration)
                if gap(late, contact) >= 0.0:
                    continue
            elif leaving[contact]:
                early = 0.5 * late
                for _ in range(_HALVINGS):
                    if gap(early, contact) > 0.0:
                        break
                    early, late = 0.5 * early, early
                else:
                    raise ContactForceError(
                        f"{equations.gap_names[contact]} closes as it opens at t = {self.time:.17g} s"
                    )
            span = float(brentq(gap, early, late, (contact,), xtol=_EPSILON * duration, rtol=4.0 * _EPSILON))
            if first is None or span < first[0]:
                first = span, contact
        return first

    def _after(self, node: "_Node", span: float, held: NDArray[np.intp]) -> "_Node":
        return node if span == 0.0 else self._equations.step(node, span, self.time, held)[0]

    def _impact(self, node: "_Node", approaching: NDArray[np.bool_], gap: Array) -> None:
        """All contacts that touch, through the law, into a new momentum."""
        equations, law = self._equations, self.law
        assert law is not None
        contacts = np.flatnonzero(approaching | (gap <= self._together_gap))
        jacobian = equations.contact_jacobian(node.position)[contacts].reshape(-1, node.position.size)
        restitution = equations.restitution[contacts]
        since = self.time - self._last_impact[approaching].max()
        plastic = bool(
            since < self.smallest_interval * self.step_size and law.honours_restitution and restitution.any()
        )
        names = tuple(equations.gap_names[k] for k in contacts)
        problem = ImpactProblem.from_generalized(
            None,
            jacobian,
            node.velocity,
            friction=equations.friction[contacts],
            restitution=0.0 if plastic else restitution,
            dim=equations.dim,
            inverse_mass=equations.inverse_mass(node.position),
            contact_names=[(name,) for name in names],
        )
        outcome = law.resolve(problem, self._rng)
        note = (
            f"taken as plastic: it follows the last impact there by {since:.3g} s, "
            f"within {self.smallest_interval:g} steps of {self.step_size:g} s"
            if plastic
            else ""
        )
        after = node
        if outcome.resolved:
            after = equations.node(node.position, node.momentum + jacobian.T @ outcome.impulse)[0]
        self.trajectory.events.append(
            VariationalEvent(
                self.time,
                contacts,
                names,
                _frozen(node.position),
                _frozen(node.momentum),
                _frozen(after.momentum),
                problem,
                outcome,
                plastic,
                note,
            )
        )
        if not outcome.resolved:
            self._fail(
                RunStatus.LAW_FAILED, f"{outcome.status.value}: {outcome.message or outcome.status.advice}"
            )
            return
        struck = approaching.copy()
        struck[contacts] |= outcome.impulse[:: equations.dim] > 0.0
        self._last_impact[struck] = self.time
        self._place(self.time, after)
        if len(self.trajectory.events) >= self.event_limit:
            self._fail(RunStatus.EVENT_LIMIT, f"{self.event_limit} impacts by t = {self.time:g} s")

    # -- lasting contact -----------------------------------------------------------------------------------

    def _lasting_motion(
        self, node: "_Node", duration: float, resting: NDArray[np.intp]
    ) -> tuple["_Node", NDArray[np.intp]]:
        """The end of the step with those resting contacts held that press, and which these are.

        The gaps that a step without contact forces would reach, with what impulses at its start would add to
        them, are a complementarity problem. Its answer is checked on the step itself.
        """
        equations = self._equations
        held = resting[:0]
        end = equations.step(node, duration, self.time)[0]
        if not resting.size:
            return end, held
        reached = equations.gaps(end.position)[resting]
        if reached.min() >= 0.0:
            return end, held
        rows = equations.gap_jacobian(node.position)[resting]
        answer = solve_lcp(rows @ equations.inverse_mass(node.position) @ rows.T, reached / duration)
        if not answer.solved:
            raise ContactForceError(f"resting contacts have no forces at t = {self.time:g} s")
        held = resting[answer.z > 0.0]
        pull = -VARIATIONAL_PULL * equations.speed(node, duration) / equations.normal_size(node)
        for _ in range(resting.size + 2):
            self._refuse_friction(held)
            end, impulse = equations.step(node, duration, self.time, held)
            pulls = impulse < pull[held]
            sinks = equations.gaps(end.position)[resting] < -self._touch_gap
            sinks &= ~np.isin(resting, held)
            if not (pulls.any() or sinks.any()):
                return end, held
            held = np.sort(np.concatenate([held[~pulls], resting[sinks]]))
        raise ContactForceError(f"which resting contacts press stays undecided at t = {self.time:g} s")

    def _refuse_friction(self, held: NDArray[np.intp]) -> None:
        assert self.law is not None
        rough = held[self._equations.friction[held] > 0.0]
        if rough.size and self.law.honours_friction:
            raise ContactForceError(
                f"{self._equations.gap_names[rough[0]]} rests from t = {self.time:g} s with friction "
                f"{self._equations.friction[rough[0]]:g}, which lasting contact here does not have"
            )


@dataclass(frozen=True, eq=False)
class _Node:
    """Position, discrete momentum and velocity between two steps, each (n,)."""

    position: Array
    momentum: Array
    velocity: Array


class _Equations:
    """The functions of a system, checked once, and the equations of one step."""

    def __init__(self, system: LagrangianSystem, position: Array):
        n = position.size
        inertia = system.inertia
        checks.array("inertia", inertia(position) if callable(inertia) else inertia, (n, n))
        if callable(inertia) and system.inertia_derivative is None:
            raise ValueError("inertia_derivative: required where inertia is a function, got None")
        self.inertia = system.inertia_at
        self._inertia_derivative = system.inertia_derivative if callable(inertia) else None
        if self._inertia_derivative is not None:
            checks.array("inertia_derivative", self._inertia_derivative(position), (n, n, n))
        _refuse_indefinite(system.inertia_at(position))
        checks.array("potential", system.potential(position), ())
        checks.array("potential_gradient", system.potential_gradient(position), (n,))
        self._gradient = system.potential_gradient
        self.constraint_count = _count(
            "constraints", system.constraints, "constraint_jacobian", system.constraint_jacobian, position
        )
        self.constraints = system.constraints or (lambda q: np.zeros(0))
        self.constraint_jacobian = system.constraint_jacobian or (lambda q: np.zeros((0, n)))
        if self.constraint_count:
            _refuse_dependent(self.constraint_jacobian(position))
        self.gap_count = _count("gaps", system.gaps, "gap_jacobian", system.gap_jacobian, position)
        self.gaps = system.gaps or (lambda q: np.zeros(0))
        self.gap_jacobian = system.gap_jacobian or (lambda q: np.zeros((0, n)))
        self._tangents = system.gap_tangents
        self.dim = 2
        if self._tangents is not None:
            shape = np.shape(self._tangents(position))
            self.dim = 3 if len(shape) == 3 and shape[1] == 2 else 2
            checks.array("gap_tangents", self._tangents(position), (self.gap_count, self.dim - 1, n))
        self.friction = _coefficients("friction", system.friction, self.gap_count, math.inf)
        self.restitution = _coefficients("restitution", system.restitution, self.gap_count, 1.0)
        if self._tangents is None and self.friction.any():
            raise ValueError("friction: expected 0 without gap_tangents, got a positive coefficient")
        self.gap_names = _gap_names(system.gap_names, self.gap_count)

    def contact_jacobian(self, position: Array) -> Array:
        """Rows (normal, tangents) of every contact, (nc, dim, n); tangents are zero where there are none."""
        rows = np.zeros((self.gap_count, self.dim, position.size))
        rows[:, 0] = self.gap_jacobian(position)
        if self._tangents is not None:
            rows[:, 1:] = self._tangents(position)
        return rows

    def inverse_mass(self, position: Array) -> Array:
        """M⁻¹ projected onto the motions that the constraints allow, (n, n)."""
        inverse = np.linalg.inv(self.inertia(position))
        if self.constraint_count:
            rows = self.constraint_jacobian(position)
            response = inverse @ rows.T
            inverse = inverse - response @ np.linalg.solve(rows @ response, response.T)
        return 0.5 * (inverse + inverse.T)

    def normal_size(self, node: _Node) -> Array:
        """√W_nn of every contact without constraints, (nc,), the length of its normal in the kinetic metric."""
        rows = self.gap_jacobian(node.position)
        return np.sqrt(np.einsum("ij,ij->i", rows, np.linalg.solve(self.inertia(node.position), rows.T).T))

    def speed(self, node: _Node, duration: float) -> float:
        """√(2 · kinetic energy) now, with what the potential adds to it within `duration` [s]."""
        gradient = self._gradient(node.position)
        added = float(gradient @ np.linalg.solve(self.inertia(node.position), gradient))
        return math.sqrt(max(float(node.momentum @ node.velocity), 0.0)) + duration * math.sqrt(added)

    def node(self, position: Array, momentum: Array, held: Any = ()) -> tuple[_Node, Array]:
        """The node of a momentum made tangent to constraints and held contacts, and the multipliers for it."""
        inertia = self.inertia(position)
        rows = self._rows(position, held)
        n, m = position.size, len(rows)
        if not m:
            return _Node(position, momentum, _solved(inertia, momentum)), np.zeros(0)
        target = np.zeros(n + m)
        target[:n] = momentum
        try:
            solution = _solved(self._saddle(inertia, rows, rows), target)
        except np.linalg.LinAlgError:
            raise ContactForceError(
                "constraints and resting contacts are not independent of each other"
            ) from None
        return _Node(position, momentum + solution[n:] @ rows, solution[:n]), solution[n:]

    def step(self, start: _Node, duration: float, time: float, held: Any = ()) -> tuple[_Node, Array]:
        """The node after `duration` [s] and the impulses of the held contacts in between.

        Chord iterations on a Jacobian without the second derivatives of L come first. They converge where
        step_size times the highest frequency is below about 1; where they do not, Newton's method with all of
        the Jacobian follows. `time` [s] is for messages.
        """
        rows = self._rows(start.position, held)
        with np.errstate(over="ignore", invalid="ignore"):  # iterations that diverge are told by their size
            found = self._iterate(start, duration, rows, held, False) or self._iterate(
                start, duration, rows, held, True
            )
        if found is None:
            raise VariationalStepError(
                f"the step of {duration:g} s from t = {time:g} s did not converge: take a smaller step_size, "
                f"or look for a singular inertia or constraint near position {start.position}"
            )
        position, momentum, multipliers = found
        end, corrections = self.node(position, momentum, held)
        return end, (multipliers + corrections)[self.constraint_count :]

    def _iterate(
        self, start: _Node, h: float, rows: Array, held: Any, newton: bool
    ) -> tuple[Array, Array, Array] | None:
        """Position, momentum (not yet tangent) and multipliers at the end of a step, or None.

        Unknown are the midpoint velocity v and the multipliers λ, not q1: dividing q1 - q0 by a very short h
        would lose digits. Momentum is summed up from impulses, so that it keeps what these keep.
        """
        q0, p0, v = start.position, start.momentum, start.velocity
        n, m = q0.size, len(rows)
        multipliers = np.zeros(m)
        residual = np.empty(n + m)
        last = math.inf
        for iteration in range(_NEWTON_ITERATIONS if newton else _CHORD_ITERATIONS):
            middle = q0 + (0.5 * h) * v
            inertia = self.inertia(middle)
            force, turning = self._force(middle, v)
            np.subtract(inertia @ v - (0.5 * h) * force, p0, out=residual[:n])
            if m:
                residual[:n] -= multipliers @ rows
                q1 = q0 + h * v
                residual[n:] = self._held_constraints(q1, held) / h
            if newton or iteration == 0:
                matrix = inertia if turning is None else inertia + (0.5 * h) * (turning.T - turning)
                if newton:
                    matrix = matrix - (0.25 * h * h) * self._force_derivative(middle, v).T
                if m:
                    matrix = self._saddle(matrix, rows, self._rows(q0 + h * v, held))
                try:
                    inverse = np.linalg.inv(matrix)
                except np.linalg.LinAlgError:
                    return None
                response = float(np.abs(inverse[:n, :n]).max())
            change = inverse @ residual
            v = v - change[:n]
            if m:
                multipliers = multipliers - change[n:]
            size = float(np.abs(change[:n]).max())
            if not size < math.inf:
                return None
            noise = float(np.abs(v).max()) + response * h * float(np.abs(force).max())
            if m:
                noise += float(np.abs(q0).max()) / h
            noise *= _EPSILON
            # The force belongs to v before this change: only a change of rounding keeps the momentum free of bias.
            if size <= 0.5 * noise or (size > 0.5 * last and size <= 1000.0 * noise):
                return q0 + h * v, p0 + h * force + multipliers @ rows, multipliers
            last = size
        return None

    def _force(self, position: Array, velocity: Array) -> tuple[Array, Array | None]:
        """∂L/∂q (n,), and the derivatives of M times the velocity, row k by q_k, where M is not constant."""
        force = -self._gradient(position)
        if self._inertia_derivative is None:
            return force, None
        turning = self._inertia_derivative(position) @ velocity
        return force + 0.5 * (turning @ velocity), turning

    def _force_derivative(self, position: Array, velocity: Array) -> Array:
        """∂²L/∂q², (n, n), row k by q_k."""
        return _differences(lambda at: self._force(at, velocity)[0], position)

    def _rows(self, position: Array, held: Any) -> Array:
        if len(held):
            return np.vstack([self.constraint_jacobian(position), self.gap_jacobian(position)[held]])
        return self.constraint_jacobian(position)

    def _held_constraints(self, position: Array, held: Any) -> Array:
        if len(held):
            return np.concatenate([self.constraints(position), self.gaps(position)[held]])
        return self.constraints(position)

    @staticmethod
    def _saddle(matrix: Array, forces: Array, rates: Array) -> Array:
        n, m = len(matrix), len(forces)
        saddle = np.zeros((n + m, n + m))
        saddle[:n, :n] = matrix
        saddle[:n, n:] = -forces.T
        saddle[n:, :n] = rates
        return saddle


def _solved(matrix: Array, target: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix, target), dtype=np.float64)


def _differences(function: Field, position: Array) -> Array:
    """Central differences of a function of q, one row a coordinate."""
    rows = []
    for k in range(position.size):
        step = _CURVATURE_STEP * max(1.0, abs(position[k]))
        shift = np.zeros(position.size)
        shift[k] = step
        change = np.subtract(function(position + shift), function(position - shift))
        rows.append(change / (2.0 * step))
    return np.array(rows)


def _frozen(array: Array) -> Array:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _vector(name: str, value: Any, size: int | None = None) -> Array:
    array = checks.array(name, value, (size,)).copy()
    if not array.size:
        raise ValueError(f"{name}: expected shape (n,) with n at least 1, got {array.shape}")
    return array


def _refuse_indefinite(inertia: Array) -> None:
    least = np.linalg.eigvalsh(inertia)[0]
    if not np.allclose(inertia, inertia.T, rtol=1e-12, atol=0.0) or least <= 0.0:
        raise ValueError(
            f"inertia: expected a symmetric positive definite matrix, got a smallest eigenvalue of {least:.3g}"
            f" and an asymmetry of {np.abs(inertia - inertia.T).max():.3g}"
        )


def _count(name: str, values: Field | None, rows_name: str, rows: Field | None, position: Array) -> int:
    """How many constraints or gaps there are, refused where values and rows do not fit."""
    if (values is None) != (rows is None):
        raise ValueError(f"{name} and {rows_name} must be given together")
    if values is None or rows is None:
        return 0
    shape = np.shape(values(position))
    if len(shape) != 1:
        raise ValueError(f"{name}: expected shape (count,), got {shape}")
    checks.array(name, values(position), shape)
    checks.array(rows_name, rows(position), (shape[0], position.size))
    return shape[0]


def _refuse_dependent(rows: Array) -> None:
    rank = int(np.linalg.matrix_rank(rows))
    if rank < len(rows):
        raise ValueError(f"constraint_jacobian: expected {len(rows)} independent rows, got rank {rank}")


def _coefficients(name: str, value: ArrayLike, count: int, largest: float) -> Array:
    if np.ndim(value) == 0:
        array = np.full(count, checks.number(name, value))
    else:
        array = checks.array(name, value, (count,)).copy()
    if not ((array >= 0.0) & (array <= largest)).all():
        raise ValueError(f"{name}: expected values within [0, {largest:g}], got {array}")
    return array


def _gap_names(words: Sequence[str], count: int) -> tuple[str, ...]:
    if not words:
        return tuple(f"contact {k}" for k in range(count))
    if len(words) != count:
        raise ValueError(f"gap_names: expected {count} words, got {len(words)}")
    return tuple(words)
