"""What measured tosses say about a body and a law, in stages that each use what only they can tell."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bodies import Body, Box
from ...impact_laws import ImpactLaw
from ...progress import ProgressBar
from ..ensembles.statistics import Estimate
from .contact_model import RANGES, ContactModel
from .flight_constants import flight_constants
from .impact_set import BodyParameters, ContactStates, ImpactSet
from .measured import Measured
from .robust_fit import CONFIDENCE, Earlier, RobustFit, median_estimate, robust_fit
from .sliding import sliding_friction

Array = NDArray[np.float64]

BODY = ("center_of_mass", "inertia", "corner_radius")
SLIDING = "sliding_friction"
DEFAULT = ("center_of_mass", "inertia", "friction", "restitution")
FEWEST = 5
"""Motions with impacts below which no interval can be told."""
FILLED = 0.5
"""Share of its range that an interval of a constant may fill; more, and the data do not determine it."""
_LOGARITHMIC = ("tangential_stiffness", "transition_speed")
_UNLIMITED = ("tangential_stiffness", "transition_speed", "speed_exponent", "mass_exponent", "slip_loss")
_SOFT = 0.01
"""[m/s] softness of the first fit; then the median residual of that one."""
_SOFTEST = 1e-4
_FIRST_TRANSITION = 0.2
"""[m/s] from which the speed of transition is looked for."""


class UndeterminedError(ValueError):
    """The data do not determine a constant that was asked for: the message names it."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One stage: its name, what it used, the constants that it found, each with its interval, and the median of
    what it left, in m/s, or in m where ends of tosses are compared."""

    name: str
    used: str
    found: dict[str, Estimate]
    residual: Estimate | None = None
    unit: str = "m/s"


@dataclass(frozen=True, eq=False)
class Identification:
    """What was found, in the order in which it was.

    parameters : of the body; model : law and constants; impacts : those used; error, floor : (n,) [m/s] of
    them under the law, and of the best impulses; gravity (3,) [m/s²] that flights fall with; sliding :
    friction of sliding, or None.
    """

    stages: list[Stage]
    parameters: BodyParameters
    model: ContactModel
    impacts: ImpactSet
    states: ContactStates
    gravity: Array
    sliding: Estimate | None = None
    free: tuple[str, ...] = field(default=())

    @property
    def values(self) -> dict[str, Estimate]:
        """All constants by name; vectors by their components, such as center_of_mass.x."""
        return {name: value for stage in self.stages for name, value in stage.found.items()}

    @property
    def error(self) -> Array:
        """E (n,) [m/s] of each impact under the law."""
        return self.model.errors(self.states)

    @property
    def floor(self) -> Array:
        """E (n,) [m/s] of the best impulse of each impact."""
        return self.states.floor()

    def body(self, body: Body) -> Body:
        """`body` with the mass properties that were found, edges and corners of a box as round as they were, and
        the law's friction and restitution as its material."""
        shape = body.shape
        if isinstance(shape, Box) and self.parameters.corner_radius > 0.0:
            shape = Box(shape.lengths, radius=self.parameters.corner_radius)
        material = replace(
            body.material,
            friction=self.model.friction,
            restitution=min(max(self.model.restitution, 0.0), 1.0),
        )
        return Body(
            shape, mass=body.mass, inertia=body.mass * self.parameters.gyration,
            center_of_mass=self.parameters.center_of_mass, position=body.position,
            orientation=body.orientation, velocity=body.velocity, angular_velocity=body.angular_velocity,
            material=material, name=body.name,
        )  # fmt: skip

    def on(
        self,
        measured: Sequence[Measured],
        body: Body,
        normal: Any = (0.0, 0.0, 1.0),
        lever: float | None = None,
        executor: Executor | None = None,
    ) -> "Identification":
        """The same body, law and constants with the impacts of other motions, for which nothing is fitted."""
        motions = [
            m.of_body(self.parameters.center_of_mass, self.parameters.gyration, self.gravity)
            for m in measured
        ]
        impacts = _impacts(split(motions, "impacts", executor), body, normal, lever, self.parameters)
        return replace(self, impacts=impacts, states=impacts.states(self.parameters))

    def summary(self) -> str:
        """The stages in words, a line for each constant."""
        lines = []
        for stage in self.stages:
            lines.append(f"{stage.name}: {stage.used}")
            for name, known in stage.found.items():
                lines.append(f"  {name} {known.value:.5g} ({known.low:.5g} to {known.high:.5g})")
            if stage.residual is not None:
                known = stage.residual
                lines.append(
                    f"  median residual {known.value:.4f} {stage.unit} ({known.low:.4f} to {known.high:.4f})"
                )
        return "\n".join(lines)


def identify(
    measured: Sequence[Measured],
    body: Body,
    law: ImpactLaw,
    free: Sequence[str] = DEFAULT,
    *,
    normal: Any = (0.0, 0.0, 1.0),
    lever: float | None = None,
    start: dict[str, Any] | None = None,
    seed: int = 0,
    executor: Executor | None = None,
) -> Identification:
    """The constants of a body and a law that measured tosses onto a plane determine.

    Stages, each of which says what it used and found:

    1. flights: gravity as the data have it (which shows a wrong unit of length or time) and the centre of
       mass, which the tracked point circles;
    2. body: centre of mass, moments of inertia and rounding of corners, from what no impulse at the corner
       explains of single impacts, without a law;
    3. impacts: friction, restitution and the law's other constants, from single impacts;
    4. sliding: friction while the body slides on a face, from its deceleration.

    `identify_on_rollouts` then asks whole tosses about all constants of contact together.

    Parameters
    ----------
    measured : motions of one body, each tracked at the origin of the coordinates in which its shape was given
    body : its shape, mass, and inertia as far as they are known; what is not `free` stays
    law : whose constants are looked for
    free : any of center_of_mass, inertia (three moments along the body's axes), corner_radius (of a Box), the
        constants of `ContactModel` that the law honours, and sliding_friction
    normal : (3,) of the plane, upwards
    lever : [m] what one radian counts in residuals; the body's bounding radius over √3 if it is left out
    start : first values of constants of the law; those that are not free keep them. `slow_friction`, where
        `transition_speed` and `sliding_friction` are free and it is not given, is the friction of sliding
    executor : of concurrent.futures, such as a ProcessPoolExecutor, to split motions into flights and
        impacts, which takes most of the time; the result is the same

    Intervals hold 95 % and are of a bootstrap over motions. Raises `UndeterminedError` for a constant that
    the data do not move, by name, and ValueError for names that are none and for too few impacts.
    """
    model = ContactModel(law, **(start or {}))
    if "transition_speed" in free and model.transition_speed <= 0.0:
        model = replace(model, transition_speed=_FIRST_TRANSITION)
    free = _checked_free(free, model, body)
    motions = list(measured)
    stages: list[Stage] = []
    parameters = BodyParameters.of_body(body)
    with ProgressBar(0.0, 4.0, "identify") as bar:
        gravity, in_flight, found = flight_constants(motions, parameters, "center_of_mass" in free, seed)
        stages.append(Stage("flights", f"{in_flight} flights of {len(motions)} motions", found))
        if "center_of_mass" in free:
            center = np.array([found[f"center_of_mass.{axis}"].value for axis in "xyz"])
            parameters = replace(parameters, center_of_mass=center)
        bar.show(1.0)
        wanted = [name for name in BODY if name in free]
        for _ in range(2 if wanted else 1):  # the fits of flights use what the body stage finds
            motions = [m.of_body(parameters.center_of_mass, parameters.gyration, gravity) for m in motions]
            motions = split(motions, "impacts", executor)
            impacts = _impacts(motions, body, normal, lever, parameters)
            if wanted:
                stage, fit, parameters_of = _body_stage(impacts, parameters, wanted, body, seed)
                parameters = parameters_of(fit.value)
        if wanted:
            stages.append(stage)
        bar.show(2.0)
        impacts = impacts.taken(impacts.approaching(parameters))
        states = impacts.states(parameters)
        sliding = None
        if SLIDING in free:
            sliding, slid = sliding_friction(motions, normal, seed)
            if "transition_speed" in free and model.slow_friction is None:
                model = replace(model, slow_friction=sliding.value)
        names = [name for name in free if name in RANGES]
        if names:
            known = (fit, lambda x: impacts.states(parameters_of(x))) if wanted else None
            model, found, error = fit_constants(states, impacts.toss, model, names, seed, body=known)
            used = f"{len(impacts)} single impacts of {len(np.unique(impacts.toss))} motions, {law.name}"
            stages.append(Stage("impacts", used, found, median_estimate(error, impacts.toss, seed)))
        bar.show(3.0)
        if sliding is not None:
            stages.append(Stage("sliding", slid, {SLIDING: sliding}))
    return Identification(stages, parameters, model, impacts, states, gravity, sliding, free)


def split(motions: Sequence[Measured], parts: str, executor: Executor | None) -> list[Measured]:
    """The motions, which now know their "flights" or their "impacts"."""
    return list((executor.map if executor else map)(partial(_knows, parts), motions))


def _knows(parts: str, motion: Measured) -> Measured:
    getattr(motion, parts)  # found once, and kept
    return motion


def _checked_free(free: Sequence[str], model: ContactModel, body: Body) -> tuple[str, ...]:
    known = [*BODY, *model.constants(), SLIDING]
    for name in free:
        if name not in known:
            raise ValueError(
                f"free: expected names among {', '.join(known)} for {model.law.name}, got {name!r}"
            )
    if "corner_radius" in free and not isinstance(body.shape, Box):
        raise ValueError(
            f"free: expected corner_radius of a Box only, got a body of shape {type(body.shape).__name__}"
        )
    return tuple(free)


def _impacts(
    motions: Sequence[Measured], body: Body, normal: Any, lever: float | None, parameters: BodyParameters
) -> ImpactSet:
    impacts = ImpactSet.of_motions(motions, body, normal, lever)
    impacts = impacts.taken(impacts.approaching(parameters))
    have = len(np.unique(impacts.toss))
    if have < FEWEST:
        raise ValueError(f"measured: expected clean single impacts in at least {FEWEST} motions, got {have}")
    return impacts


def _soft_fit(
    residual: Callable[[Array], Array],
    start: Array,
    scale: Array,
    bounds: Array,
    groups: NDArray[np.int64],
    seed: int,
    earlier: Earlier | None = None,
) -> RobustFit:
    """A fit whose softness is the size of its own residuals."""
    first = robust_fit(residual, start, scale, bounds, _SOFT, groups, seed)
    softness = max(float(np.median(np.linalg.norm(first.residual, axis=1))), _SOFTEST)
    return robust_fit(residual, first.value, scale, bounds, softness, groups, seed, earlier)


def _estimates(
    names: Sequence[str], fit: RobustFit, bounds: Array, back: Callable[[str, float], float]
) -> dict[str, Estimate]:
    """Constants with intervals, or UndeterminedError that names those which the data do not move."""
    interval = fit.interval()
    loose = fit.flat() | (interval[:, 1] - interval[:, 0] > FILLED * (bounds[:, 1] - bounds[:, 0]))
    ends_at_limit = (interval[:, 0] <= bounds[:, 0]) | (interval[:, 1] >= bounds[:, 1])
    loose |= ends_at_limit & np.isin(names, _UNLIMITED)  # their limits are no physics
    if loose.any():
        which = [name for name, is_loose in zip(names, loose, strict=True) if is_loose]
        k = int(np.argmax(loose))
        low, high = (back(names[k], float(end)) for end in interval[k])
        raise UndeterminedError(
            f"free: the data do not determine {', '.join(which)}: the interval of {names[k]} is {low:.3g} to "
            f"{high:.3g}; give {'it' if len(which) == 1 else 'all but one'} a value and leave it out of free"
        )
    return {
        name: Estimate(
            back(name, float(value)), back(name, float(ends[0])), back(name, float(ends[1])), CONFIDENCE
        )
        for name, value, ends in zip(names, fit.value, interval, strict=True)
    }


def _body_stage(
    impacts: ImpactSet, parameters: BodyParameters, wanted: Sequence[str], body: Body, seed: int
) -> tuple[Stage, RobustFit, Callable[[Array], BodyParameters]]:
    """Centre of mass, moments and rounding from the law-free residual."""
    size = body.shape.bounding_radius
    names: list[str] = []
    start: list[float] = []
    scale: list[float] = []
    bounds: list[tuple[float, float]] = []
    moments = np.diag(parameters.gyration)
    for field_name in wanted:
        if field_name == "corner_radius":
            names.append(field_name)
            start.append(max(parameters.corner_radius, 0.01 * size))
            scale.append(0.01 * size)
            bounds.append((0.0, 0.5 * min(body.shape.lengths) if isinstance(body.shape, Box) else size))
            continue
        inertial = field_name == "inertia"
        for k, axis in enumerate("xyz"):
            names.append(f"{field_name}.{axis}")
            start.append(float(moments[k] if inertial else parameters.center_of_mass[k]))
            scale.append(0.01 * size**2 if inertial else 0.01 * size)
            bounds.append((0.02 * size**2, 1.5 * size**2) if inertial else (-size, size))

    def parameters_of(x: Array) -> BodyParameters:
        by_name = dict(zip(names, x.tolist(), strict=True))
        center = [
            by_name.get(f"center_of_mass.{a}", parameters.center_of_mass[k]) for k, a in enumerate("xyz")
        ]
        gyration = np.array(parameters.gyration)
        if "inertia" in wanted:
            gyration = np.diag([by_name[f"inertia.{a}"] for a in "xyz"])
        return BodyParameters(
            np.array(center), gyration, by_name.get("corner_radius", parameters.corner_radius)
        )

    def residual(x: Array) -> Array:
        states = impacts.states(parameters_of(x))
        return states.residual(states.best_impulse())

    limits = np.array(bounds)
    fit = _soft_fit(residual, np.array(start), np.array(scale), limits, impacts.toss, seed)
    mass = body.mass

    def back(name: str, value: float) -> float:
        return value * mass if name.startswith("inertia") else value

    found = _estimates(names, fit, limits, back)
    floor = median_estimate(np.linalg.norm(fit.residual, axis=1), impacts.toss, seed)
    used = f"{len(impacts)} single impacts of {len(np.unique(impacts.toss))} motions, no law"
    return Stage("body", used, found, floor), fit, parameters_of


def fit_constants(
    states: ContactStates,
    groups: NDArray[np.int64],
    model: ContactModel,
    names: Sequence[str],
    seed: int = 0,
    refuse: bool = True,
    body: tuple[RobustFit, Callable[[Array], ContactStates]] | None = None,
) -> tuple[ContactModel, dict[str, Estimate], Array]:
    """The model with the constants `names` fitted to impacts, these with intervals over groups (n,), and the
    errors (n,) [m/s]. Constants that the data do not move raise UndeterminedError, unless they are not to be
    refused. ``body``: the fit of a body on whose constants the impacts depend, and how; intervals then tell
    of both."""

    def there(name: str, value: float) -> float:
        return float(np.log(value)) if name in _LOGARITHMIC else float(value)

    def back(name: str, value: float) -> float:
        return float(np.exp(value)) if name in _LOGARITHMIC else float(value)

    limits = np.array([[there(name, end) for end in RANGES[name]] for name in names])

    def model_of(x: Array) -> ContactModel:
        return model.with_values(
            {name: back(name, value) for name, value in zip(names, x.tolist(), strict=True)}
        )

    def left(x: Array, those: ContactStates) -> Array:
        impulse, resolved = model_of(x).impulses(those)
        return those.residual(np.where(resolved[:, None], impulse, 0.0))

    earlier = None
    if body is not None:
        fitted, states_of = body
        earlier = Earlier(fitted, lambda x, y: left(x, states_of(y)))
    start = np.array([there(name, getattr(model, name)) for name in names])
    scale = np.array([1.0 if name in _LOGARITHMIC else 0.1 for name in names])
    fit = _soft_fit(lambda x: left(x, states), start, scale, limits, groups, seed, earlier)
    found = _estimates(names, fit, limits, back) if refuse else {}
    return model_of(fit.value), found, np.linalg.norm(fit.residual, axis=1)
