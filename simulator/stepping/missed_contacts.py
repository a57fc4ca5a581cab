"""Contacts at the end of a step that nothing at its start announced.

A step is looked at with the features and directions that contacts have where it begins. A body that turns by a
tenth of a radian meets another one with a corner that was not near, or in another direction. So where bodies turn
far, contacts are looked for once more where they would be after the step, and what overlaps there and did not
before joins the others, with the direction it has there and the gap from which it would come to that overlap.

150 stones of `carom demo pile` that meet at up to 5 m/s overlap by 0.05 to 0.4 mm so, without it by 1.5 to 5.8 mm
(six seeds); one step in fifteen is solved again.
"""

import numpy as np
from numpy.typing import NDArray

from .convex_contacts import ConvexContacts
from .near_pairs import pair_codes
from .sorted_codes import found_in

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

TURNS = 0.02
"""[rad] by which a body turns within a step before it is looked at where it will be."""
DEEP = 0.01
"""Of the smaller of two sizes, by which they may overlap there."""
MOST_LOOKS = 2
"""How often a step is looked at where it ends, at most."""


def turn_far(velocity: Array, span: float) -> NDArray[np.bool_]:
    """Which bodies of these velocities (moving, 6) do within a span [s]."""
    found: NDArray[np.bool_] = span * np.linalg.norm(velocity[:, 3:], axis=1) > TURNS
    return found


def missed_contacts(
    contacts: ConvexContacts,
    active: NDArray[np.bool_],
    turning: NDArray[np.bool_],
    starts: Array,
    ends: Array,
    velocity: Array,
    span: float,
    keys: Whole,
    places: Array,
) -> tuple[Whole, Array] | None:
    """Keys and places, as `ConvexContacts` has them, of the known contacts and of those that are missed; None where
    there is none.

    Bodies go within a span [s] from packed states `starts` to `ends` (moving, 13) at velocities (moving, 6), world
    axes; those that are `turning` are looked at. The gap of what is missed is the one at the start from which these
    velocities lead to the overlap.
    """
    there, found, _ = contacts.within(ends, active, 0.0, np.zeros_like(velocity), only=turning)
    if not len(there):
        return None
    size = contacts.size
    smaller = np.minimum(size[there[:, 0]], np.where(there[:, 1] >= 0, size[there[:, 1]], np.inf))
    missed = found[:, 6] < _depth_before(keys, places, there) - DEEP * smaller
    if not missed.any():
        return None
    there, found = there[missed], found[missed]
    first, second = contacts.moving_of(there).T
    way = ends[:, :3] - starts[:, :3]
    found[:, :3] -= np.where(second[:, None] >= 0, 0.5 * (way[first] + way[second]), way[first])
    found[:, 6] -= span * opening_speed(contacts, there, found, starts, velocity)
    kept = ~(keys[:, None] == there).all(axis=2).any(axis=1)
    return np.concatenate([keys[kept], there]), np.concatenate([places[kept], found])


def _depth_before(keys: Whole, places: Array, there: Whole) -> Array:
    """The least gap [m], none above 0, that the pair of each contact `there` had in known contacts."""
    codes, which = np.unique(pair_codes(keys), return_inverse=True)
    least = np.zeros(len(codes))
    np.minimum.at(least, which, places[:, 6])
    at, same = found_in(codes, pair_codes(there))
    before = np.zeros(len(there))
    before[same] = least[at[same]]
    return before


def opening_speed(
    contacts: ConvexContacts, keys: Whole, places: Array, states: Array, velocity: Array
) -> Array:
    """How fast the gaps of contacts grow [m/s] where bodies in packed states (moving, 13) have these velocities
    (moving, 6)."""
    first, second = contacts.moving_of(keys).T
    speed = _speed_along(places, first, states, velocity)
    return speed - np.where(second >= 0, _speed_along(places, second, states, velocity), 0.0)


def _speed_along(places: Array, bodies: Whole, states: Array, velocity: Array) -> Array:
    """Of the points of these bodies in the places of contacts, along their normals [m/s]."""
    arm = places[:, :3] - states[bodies, :3]
    moving = velocity[bodies, :3] + np.cross(velocity[bodies, 3:], arm)
    along: Array = np.einsum("ci,ci->c", moving, places[:, 3:6])
    return along
