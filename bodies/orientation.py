"""Orientations as people have them: unit quaternions, scipy's rotations, angles about axes."""

from typing import Any

import numpy as np

from . import checks
from .rotation import is_unit
from .tolerances import ORIENTATION_NORM

_HOW = (
    "expected a unit quaternion (w, x, y, z), a scipy Rotation, or one that axis_angle or euler_angles make"
)


def axis_angle(axis: Any, angle: float, *, degrees: bool = False) -> np.ndarray:
    """The unit quaternion (4,), (w, x, y, z), of a turn by an angle about an axis, by the right hand.

    axis : (3,), of any length but 0, in the world frame where it is a body's orientation
    angle : [rad], or [degrees] with ``degrees=True``

    Raises TypeError or ValueError that names the argument.

    >>> import carom
    >>> carom.axis_angle((0, 0, 1), 180, degrees=True).round(6).tolist()
    [0.0, 0.0, 0.0, 1.0]
    >>> crate = carom.Body(carom.Box((1, 1, 1)), mass=2.0, orientation=carom.axis_angle((1, 0, 0), 0.3))
    """
    direction = checks.direction("axis", axis)
    turn = checks.number("angle", angle)
    half = 0.5 * (np.radians(turn) if checks.flag("degrees", degrees) else turn)
    return np.concatenate([[np.cos(half)], np.sin(half) * direction])


def euler_angles(angles: Any, axes: str = "xyz", *, degrees: bool = False) -> np.ndarray:
    """The unit quaternion (4,), (w, x, y, z), of turns by three angles about axes, one after the other.

    angles : (3,) [rad], or [degrees] with ``degrees=True``
    axes : their order, three of "xyz" about axes of the world, three of "XYZ" about axes that turn with the body,
        as in scipy's ``Rotation.from_euler``: roll, pitch and yaw are "xyz"

    Raises TypeError or ValueError that names the argument.

    >>> import carom
    >>> turned = carom.euler_angles((90, 0, 90), degrees=True)
    >>> turned.round(6).tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    from scipy.spatial.transform import Rotation

    given = checks.array("angles", angles, (3,))
    flag = checks.flag("degrees", degrees)
    if not (
        isinstance(axes, str) and len(axes) == 3 and (set(axes) <= set("xyz") or set(axes) <= set("XYZ"))
    ):
        raise ValueError(f"axes: expected three letters of 'xyz' or of 'XYZ', got {checks.shown(axes)}")
    if axes[0] == axes[1] or axes[1] == axes[2]:
        raise ValueError(f"axes: expected another axis after each, got {axes!r}")
    return np.roll(Rotation.from_euler(axes, given, degrees=flag).as_quat(), 1)


def _shape_of(value: Any) -> tuple[int, ...]:
    """The shape of what may be an array, () of rows of unequal length."""
    try:
        return np.shape(value)
    except ValueError:
        return ()


def unit_quaternion(field: str, value: Any) -> np.ndarray:
    """A read-only unit quaternion (4,) of one that is nearly unit, or of a rotation of scipy; one that is unit
    already is kept bit for bit. TypeError or ValueError that names the field."""
    if hasattr(value, "as_quat"):
        value = np.roll(np.asarray(value.as_quat(), dtype=float), 1, axis=-1)
        if value.ndim != 1:
            raise ValueError(f"{field}: expected one rotation, got {len(value)}")
    try:
        quaternion = checks.array(field, value, (4,))
    except (TypeError, ValueError) as error:
        shape = _shape_of(value)
        if shape in ((3,), (3, 3)):
            raise type(error)(f"{field}: {_HOW}, got numbers of shape {shape}") from None
        raise
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(quaternion))
    if not abs(length - 1.0) <= ORIENTATION_NORM:
        raise ValueError(f"{field}: expected a unit quaternion (w, x, y, z), got one of length {length:.9g}")
    if not is_unit(quaternion):
        quaternion = quaternion / length
        quaternion.setflags(write=False)
    return quaternion
