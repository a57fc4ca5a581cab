"""Surface materials and how two of them combine."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import checks


@dataclass(frozen=True)
class SpeedRestitution:
    """Restitution that falls with the speed of approach, and with the mass that meets it.

    e = restitution · (1 + (v / speed)² · (m / mass))^(-exponent / 2), of a contact that approaches with v [m/s] and
    has the effective mass m [kg], the inverse of its normal element of W. Far above `speed` it falls with v to the
    power -exponent; a quarter is that of spheres that yield (Johnson, Contact Mechanics, 1985, section 11.5; there
    the speed of yield falls with the root of the mass). It is never above `restitution`, so a law that gains no
    energy with that gains none.

    restitution : of slow impacts, from 0 to 1
    speed : [m/s] around which it begins to fall
    exponent : of the fall, at least 0
    mass : [kg] for which `speed` holds; None: mass does not matter

    ValueError, TypeError: a value outside these ranges

    >>> steel = SpeedRestitution(0.9, speed=0.5)
    >>> round(steel.at(0.5), 3), round(steel.at(50.0), 3)
    (0.825, 0.285)
    """

    restitution: float
    speed: float
    exponent: float = 0.25
    mass: float | None = None

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "restitution", _share("restitution", self.restitution))
        speed = checks.number("speed", self.speed, above=0.0)
        if not 0.0 < (square := speed * speed) < math.inf or math.isinf(1.0 / square):
            raise ValueError(
                f"speed: expected a number whose square can be told from zero and infinity, got {speed:g}"
            )
        set_field(self, "speed", speed)
        set_field(self, "exponent", checks.number("exponent", self.exponent, minimum=0.0))
        if self.mass is not None:
            mass = checks.number("mass", self.mass, above=0.0)
            if math.isinf(1.0 / mass):
                raise ValueError(f"mass: expected a number that can be told from zero, got {mass:g}")
            set_field(self, "mass", mass)

    @np.errstate(over="ignore")
    def at(self, speed: Any, mass: Any = 1.0) -> Any:
        """Restitution of an impact with this speed of approach [m/s] and effective mass [kg]; of arrays, that of
        each."""
        load = (np.maximum(speed, 0.0) / self.speed) ** 2
        if self.mass is not None:
            load = load * (mass / self.mass)
        value = self.restitution * (1.0 + load) ** (-0.5 * self.exponent)
        return value if np.ndim(value) else float(value)


@dataclass(frozen=True)
class Material:
    """Friction and restitution of a surface.

    friction : of Coulomb's law in lasting contact, and of the steps that end infinitely many bounces; at least 0
    restitution : of impacts: a number from 0 to 1, or how it falls with speed, a `SpeedRestitution`
    impact_friction : of Coulomb's law in impacts, at least 0; None: as `friction`
    rolling_friction : [m], at least 0: in lasting contact with the normal force N, rolling is resisted by a torque
        of at most this times N in the plane of contact, against the relative angular velocity there
    spinning_friction : [m], at least 0: the same about the normal

    ValueError, TypeError: a value outside these ranges
    """

    friction: float = 0.5
    restitution: float | SpeedRestitution = 0.0
    impact_friction: float | None = None
    rolling_friction: float = field(default=0.0, metadata={checks.SELDOM: True})
    spinning_friction: float = field(default=0.0, metadata={checks.SELDOM: True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "friction", checks.number("friction", self.friction, minimum=0.0))
        for name in ("rolling_friction", "spinning_friction"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name), minimum=0.0))
        if not isinstance(self.restitution, SpeedRestitution):
            object.__setattr__(self, "restitution", _share("restitution", self.restitution))
        if self.impact_friction is not None:
            value = checks.number("impact_friction", self.impact_friction, minimum=0.0)
            object.__setattr__(self, "impact_friction", value)

    @property
    def friction_of_impacts(self) -> float:
        """`impact_friction`, or `friction` where there is none of its own."""
        return self.friction if self.impact_friction is None else self.impact_friction

    @property
    def slow_restitution(self) -> float:
        """The number `restitution`, or that of slow impacts."""
        e = self.restitution
        return e.restitution if isinstance(e, SpeedRestitution) else e


def refuse_no_material(value: object) -> None:
    """TypeError for anything but a Material."""
    if not isinstance(value, Material):
        raise TypeError(f"material: expected a Material, got {type(value).__name__}")


def combine(first: Material, second: Material) -> Material:
    """The material of a pair: geometric means; equal values are kept exactly. Of rolling and spinning friction the
    larger: one soft surface is enough to resist.

    Restitution that falls with speed falls for the pair with the geometric mean of speeds and masses and the
    arithmetic mean of exponents, which is 0 for a number; so where speeds and masses are equal, restitution is the
    geometric mean at every speed. ValueError where only one of two depends on mass: the pair needs a material of
    its own.
    """
    same = first.impact_friction is None and second.impact_friction is None
    return Material(
        friction=_geometric_mean(first.friction, second.friction),
        restitution=_mean_restitution(first.restitution, second.restitution),
        impact_friction=None
        if same
        else _geometric_mean(first.friction_of_impacts, second.friction_of_impacts),
        rolling_friction=max(first.rolling_friction, second.rolling_friction),
        spinning_friction=max(first.spinning_friction, second.spinning_friction),
    )


def _mean_restitution(
    first: float | SpeedRestitution, second: float | SpeedRestitution
) -> float | SpeedRestitution:
    if isinstance(first, SpeedRestitution) and isinstance(second, SpeedRestitution):
        if (first.mass is None) != (second.mass is None):
            raise ValueError(
                "restitution: one of two materials falls with mass and the other does not: give the pair a "
                "material of its own (Scene.set_pair_material)"
            )
        mass = None
        if first.mass is not None and second.mass is not None:
            mass = _geometric_mean(first.mass, second.mass)
        return SpeedRestitution(
            min(1.0, _geometric_mean(first.restitution, second.restitution)),
            _geometric_mean(first.speed, second.speed),
            0.5 * (first.exponent + second.exponent),
            mass,
        )
    if isinstance(first, SpeedRestitution):
        return _with_number(first, second)  # type: ignore[arg-type]
    if isinstance(second, SpeedRestitution):
        return _with_number(second, first)
    return min(1.0, _geometric_mean(first, second))


def _with_number(falls: SpeedRestitution, number: float) -> SpeedRestitution:
    mean = min(1.0, _geometric_mean(falls.restitution, number))
    return replace(falls, restitution=mean, exponent=0.5 * falls.exponent)


def _share(name: str, value: object) -> float:
    share = checks.number(name, value, minimum=0.0)
    if share > 1.0:
        raise ValueError(f"{name}: expected a number between 0 and 1, got {share:g}")
    return share


def _geometric_mean(first: float, second: float) -> float:
    # Two roots, not the root of the product, which could underflow or overflow.
    return first if first == second else math.sqrt(first) * math.sqrt(second)
