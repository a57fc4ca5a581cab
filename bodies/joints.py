"""Joints between bodies, and springs, dampers and drives in them.

A joint holds a *body* on its *base*, another body or the world. Anchors and axes are given in the world
frame, where the bodies are when the joint is added to the scene. It is then kept as rows: each a coordinate
of the body, as seen from the base, that the joint holds at its value.
"""

import math
from dataclasses import KW_ONLY, dataclass
from enum import IntEnum
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from . import checks
from .body import Body
from .rotation import conjugate, quaternion_product, rotation_matrices


class RowKind(IntEnum):
    """Which coordinate a row measures; p are places fixed to body and base, n is an axis of the base, m of
    the body."""

    SLIDE = 0
    """(p_body - p_base) . n [m]"""
    ANGLE = 1
    """n . m"""
    DISTANCE = 2
    """|p_body - p_base| [m]"""
    ROTATION = 3
    """angle [rad] of the body around n, within one turn of zero"""


@dataclass(frozen=True)
class Spring:
    """Pulls a joint's coordinate to `rest` [m or rad] with `stiffness` [N/m or N m/rad]."""

    stiffness: float
    rest: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "stiffness", checks.number("stiffness", self.stiffness, minimum=0.0))
        object.__setattr__(self, "rest", checks.number("rest", self.rest))


@dataclass(frozen=True)
class Drive:
    """A motor in a joint: effort + stiffness (target - coordinate) + damping (rate - its rate), at most `limit`.

    With stiffness and damping it is a PD drive, with damping alone it holds a speed, with effort alone it is
    a constant force. Units are those of the joint's coordinate: [N, N/m, N s/m, m] or [N m, N m/rad, N m
    s/rad, rad].
    """

    _: KW_ONLY
    stiffness: float = 0.0
    damping: float = 0.0
    target: float = 0.0
    rate: float = 0.0
    effort: float = 0.0
    limit: float = math.inf

    def __post_init__(self) -> None:
        for name in ("stiffness", "damping"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name), minimum=0.0))
        for name in ("target", "rate", "effort"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name)))
        if not (isinstance(self.limit, float) and self.limit == math.inf):
            object.__setattr__(self, "limit", checks.number("limit", self.limit, above=0.0))


@dataclass(frozen=True, eq=False)
class JointRow:
    """One coordinate, minus `offset`: places and axes (3,) of base and body in their own axes (of the base:
    maybe the world), and the quaternion of the body seen from the base where a ROTATION is zero."""

    kind: RowKind
    base_place: np.ndarray
    base_axis: np.ndarray
    body_place: np.ndarray
    body_axis: np.ndarray
    offset: float
    reference: np.ndarray

    def numbers(self) -> np.ndarray:
        """All of it but the kind, (18,), as the engine reads it: its sign is 1."""
        return np.concatenate(
            [
                *(self.base_place, self.base_axis, self.body_place, self.body_axis),
                *([self.offset, 1.0], self.reference),
            ]
        )


@dataclass(frozen=True, eq=False)
class Joint:
    """What all joints have: a body and its base, by themselves, name or index; the world where the base is None.

    collide : whether the two can hit each other; they pass through each other by default
    """

    body: Any
    base: Any = None
    _: KW_ONLY
    name: str | None = None
    collide: bool = False

    word: ClassVar[str] = "joint"

    def rows(self, frame: "Frame") -> list[JointRow]:
        """Coordinates that the joint holds at zero."""
        raise NotImplementedError

    def coordinate(self, frame: "Frame") -> JointRow | None:
        """The one coordinate along which it moves, zero where the bodies are when it is added; None for others."""
        return None

    def _check(self) -> None:
        """Check the fields of a kind of joint; ValueError or TypeError naming the field."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "collide", checks.flag("collide", self.collide))
        if self.name is not None and (not isinstance(self.name, str) or not self.name.strip()):
            raise TypeError(f"name: expected a text that is not empty, got {self.name!r}")
        self._check()


@dataclass(frozen=True, eq=False)
class DrivenJoint(Joint):
    """A joint with one coordinate, which can have limits, a spring, a damper and a drive.

    limits : (lowest, highest) value of the coordinate; where it comes to one there is an impact
    restitution : of impacts at the limits
    damping : [N s/m or N m s/rad], against the rate of the coordinate
    """

    _: KW_ONLY
    limits: tuple[float, float] | None = None
    restitution: float = 0.0
    spring: Spring | None = None
    damping: float = 0.0
    drive: Drive | None = None

    def _check(self) -> None:
        if self.limits is not None:
            object.__setattr__(self, "limits", _limits(self.limits))
        restitution = checks.number("restitution", self.restitution, minimum=0.0)
        if restitution > 1.0:
            raise ValueError(f"restitution: expected a number from 0 to 1, got {restitution:g}")
        object.__setattr__(self, "restitution", restitution)
        object.__setattr__(self, "damping", checks.number("damping", self.damping, minimum=0.0))
        for name, kind in (("spring", Spring), ("drive", Drive)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise TypeError(f"{name}: expected a {kind.__name__}, got {type(value).__name__}")


@dataclass(frozen=True, eq=False)
class RevoluteJoint(DrivenJoint):
    """A hinge: the body turns around `axis` through `anchor` [m]. Its coordinate is the angle [rad], by the
    right hand around the axis; it counts from -2 pi to 2 pi."""

    _: KW_ONLY
    anchor: Any
    axis: Any

    word: ClassVar[str] = "revolute"

    def _check(self) -> None:
        super()._check()
        object.__setattr__(self, "anchor", checks.array("anchor", self.anchor, (3,)))
        object.__setattr__(self, "axis", checks.direction("axis", self.axis))
        if self.limits is not None and max(map(abs, self.limits)) >= 2 * math.pi:
            raise ValueError(f"limits: expected angles within one turn of zero, got {self.limits}")

    def rows(self, frame: "Frame") -> list[JointRow]:
        """Three of the anchor, two of the axis."""
        return frame.pinned(self.anchor) + [frame.angle(n, self.axis) for n in _across(self.axis)]

    def coordinate(self, frame: "Frame") -> JointRow:
        """The angle."""
        return frame.row(RowKind.ROTATION, base_axis=self.axis)


@dataclass(frozen=True, eq=False)
class PrismaticJoint(DrivenJoint):
    """A slide: the body moves along `axis` and does not turn. Its coordinate is how far [m]."""

    _: KW_ONLY
    axis: Any

    word: ClassVar[str] = "prismatic"

    def _check(self) -> None:
        super()._check()
        object.__setattr__(self, "axis", checks.direction("axis", self.axis))

    def rows(self, frame: "Frame") -> list[JointRow]:
        """Two across the axis, three of the orientation."""
        place = frame.place
        return [frame.slide(place, n) for n in _across(self.axis)] + frame.upright(self.axis)

    def coordinate(self, frame: "Frame") -> JointRow:
        """The way along the axis."""
        return frame.slide(frame.place, self.axis)


@dataclass(frozen=True, eq=False)
class DistanceJoint(DrivenJoint):
    """A light rod between two anchors [m] as long as they are apart; or, with `limits`, a rope that may be shorter.

    With limits (shortest, longest) [m] the distance is free between them: (0, l) is a rope of length l. Its
    coordinate is the distance [m]. Spring, damping and drive act along it, so that `limits=(0, inf)` is a
    spring alone.
    """

    _: KW_ONLY
    anchor: Any
    base_anchor: Any

    word: ClassVar[str] = "distance"

    def _check(self) -> None:
        super()._check()
        for name in ("anchor", "base_anchor"):
            object.__setattr__(self, name, checks.array(name, getattr(self, name), (3,)))
        with np.errstate(over="ignore"):
            length = float(np.linalg.norm(self.anchor - self.base_anchor))
        if not math.isfinite(length):
            raise ValueError(
                f"base_anchor: expected a place whose distance from anchor is a number, got "
                f"{self.base_anchor.tolist()} and {self.anchor.tolist()}"
            )
        if not length > 0.0:
            raise ValueError("base_anchor: expected another place than anchor, got the same one")
        if self.limits is not None and self.limits[0] < 0.0:
            raise ValueError(f"limits: expected distances of at least 0, got {self.limits}")

    def rows(self, frame: "Frame") -> list[JointRow]:
        """The distance, where it is no rope."""
        if self.limits is not None:
            return []
        length = float(np.linalg.norm(self.anchor - self.base_anchor))
        return [frame.row(RowKind.DISTANCE, self.base_anchor, self.anchor, offset=length)]

    def coordinate(self, frame: "Frame") -> JointRow:
        """The distance."""
        return frame.row(RowKind.DISTANCE, self.base_anchor, self.anchor)


@dataclass(frozen=True, eq=False)
class SphericalJoint(Joint):
    """A ball and socket at `anchor` [m]."""

    _: KW_ONLY
    anchor: Any

    word: ClassVar[str] = "spherical"

    def _check(self) -> None:
        object.__setattr__(self, "anchor", checks.array("anchor", self.anchor, (3,)))

    def rows(self, frame: "Frame") -> list[JointRow]:
        """Three of the anchor."""
        return frame.pinned(self.anchor)


@dataclass(frozen=True, eq=False)
class FixedJoint(Joint):
    """Two bodies that move as one."""

    word: ClassVar[str] = "fixed"

    def rows(self, frame: "Frame") -> list[JointRow]:
        """Three of the place, three of the orientation."""
        return frame.pinned(frame.place) + frame.upright(np.array([0.0, 0.0, 1.0]))


@dataclass(frozen=True, eq=False)
class UniversalJoint(Joint):
    """A cross at `anchor` [m]: one arm along `axis` of the body, one along `base_axis` of the base, which are
    at right angles and stay so."""

    _: KW_ONLY
    anchor: Any
    axis: Any
    base_axis: Any

    word: ClassVar[str] = "universal"

    def _check(self) -> None:
        object.__setattr__(self, "anchor", checks.array("anchor", self.anchor, (3,)))
        for name in ("axis", "base_axis"):
            object.__setattr__(self, name, checks.direction(name, getattr(self, name)))
        if abs(float(self.base_axis @ self.axis)) > 1e-9:
            raise ValueError("base_axis: expected a direction at right angles to axis")

    def rows(self, frame: "Frame") -> list[JointRow]:
        """Three of the anchor, one of the axes."""
        return [*frame.pinned(self.anchor), frame.angle(self.base_axis, self.axis)]


@dataclass(frozen=True, eq=False)
class PlanarJoint(Joint):
    """The body slides in a plane of its base, turning only around the plane's `normal`."""

    _: KW_ONLY
    normal: Any

    word: ClassVar[str] = "planar"

    def _check(self) -> None:
        object.__setattr__(self, "normal", checks.direction("normal", self.normal))

    def rows(self, frame: "Frame") -> list[JointRow]:
        """One along the normal, two of its direction."""
        return [
            frame.slide(frame.place, self.normal),
            *(frame.angle(n, self.normal) for n in _across(self.normal)),
        ]


@dataclass(frozen=True, eq=False)
class Frame:
    """Where the bodies of a joint are when it is added: makes rows from places and axes in the world."""

    place: np.ndarray
    axes: np.ndarray
    """(3, 3), body to world."""
    base_place: np.ndarray
    base_axes: np.ndarray
    reference: np.ndarray
    """Quaternion of the body seen from the base."""

    @classmethod
    def of(cls, body: Body, base: Body | None) -> "Frame":
        """The poses of a body and its base, or the world."""
        place = np.zeros(3) if base is None else base.position
        turn = np.array([1.0, 0.0, 0.0, 0.0]) if base is None else base.orientation
        seen = quaternion_product(conjugate(turn), body.orientation)
        return cls(body.position, rotation_matrices(body.orientation), place, rotation_matrices(turn), seen)

    def row(
        self,
        kind: RowKind,
        base_place: Any = None,
        place: Any = None,
        base_axis: Any = (0.0, 0.0, 0.0),
        axis: Any = (0.0, 0.0, 0.0),
        offset: float = 0.0,
    ) -> JointRow:
        """A row of places and axes in the world frame."""
        return JointRow(
            kind,
            _seen(base_place, self.base_place, self.base_axes),
            np.asarray(base_axis) @ self.base_axes,
            _seen(place, self.place, self.axes),
            np.asarray(axis) @ self.axes,
            offset,
            self.reference,
        )

    def slide(self, place: np.ndarray, base_axis: np.ndarray) -> JointRow:
        """How far a place of the body has moved along an axis of the base."""
        return self.row(RowKind.SLIDE, place, place, base_axis=base_axis)

    def angle(self, base_axis: np.ndarray, axis: np.ndarray) -> JointRow:
        """Product of two axes, which is zero now."""
        return self.row(RowKind.ANGLE, base_axis=base_axis, axis=axis)

    def pinned(self, place: np.ndarray) -> list[JointRow]:
        """Three rows that keep a place of both bodies together."""
        return [self.slide(place, axis) for axis in np.eye(3)]

    def upright(self, axis: np.ndarray) -> list[JointRow]:
        """Three rows that keep both bodies' orientations together."""
        x, y = _across(axis)
        return [self.angle(x, axis), self.angle(y, axis), self.angle(x, y)]


@dataclass(frozen=True, eq=False)
class PlacedJoint:
    """A joint of a scene: the indices of its body and base (-1: the world), and its rows in their axes."""

    joint: Joint
    name: str
    body: int
    base: int
    rows: tuple[JointRow, ...]
    coordinate: JointRow | None


def placed(joint: Joint, name: str, body: int, base: int, bodies: tuple[Body, ...]) -> PlacedJoint:
    """The rows of a joint between bodies of a scene as they are now."""
    frame = Frame.of(bodies[body], None if base < 0 else bodies[base])
    return PlacedJoint(joint, name, body, base, tuple(joint.rows(frame)), joint.coordinate(frame))


def is_as_placed(joint: PlacedJoint, bodies: tuple[Body, ...]) -> bool:
    """Whether a joint's rows are, bit for bit, those that it would get where the bodies of its scene are now."""
    fresh = placed(joint.joint, joint.name, joint.body, joint.base, bodies)
    pairs = zip(_all_rows(fresh), _all_rows(joint), strict=True)
    return all(
        now.kind == then.kind and now.numbers().tobytes() == then.numbers().tobytes() for now, then in pairs
    )


def _all_rows(joint: PlacedJoint) -> list[JointRow]:
    return [row for row in (*joint.rows, joint.coordinate) if row is not None]


def _seen(place: Any, origin: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return np.zeros(3) if place is None else (np.asarray(place) - origin) @ axes


def _across(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors that make a right-handed frame with an axis."""
    x = np.eye(3)[np.argmin(np.abs(axis))]
    x = x - (x @ axis) * axis
    x /= np.linalg.norm(x)
    return x, np.cross(axis, x)


def _limits(value: Any) -> tuple[float, float]:
    try:
        low, high = value
        if not all(isinstance(v, Real) and not isinstance(v, bool) for v in (low, high)):
            raise TypeError
        low, high = float(low), float(high)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"limits: expected two numbers (lowest, highest), got {value!r}") from None
    if math.isnan(low) or math.isnan(high) or not low < high:
        raise ValueError(f"limits: expected the lowest below the highest, got {value!r}")
    return low, high
