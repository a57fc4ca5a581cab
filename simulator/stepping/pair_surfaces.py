"""Which surfaces meet in each pair of bodies, and which pairs of bodies meet at all."""

import numpy as np
from numpy.typing import NDArray

from ...bodies import Scene, SpeedRestitution
from ...bodies.material import combine
from .sorted_codes import found_in, pair_code

Array = NDArray[np.float64]
Whole = NDArray[np.int64]


class PairSurfaces:
    """Materials of the pairs of bodies of a scene.

    `material` is a number of them, from `of`.
    """

    def __init__(self, scene: Scene):
        known = list(dict.fromkeys(body.material for body in scene.bodies))
        self._kind = np.array([known.index(body.material) for body in scene.bodies], dtype=np.int64)
        self._materials = [combine(one, other) for one in known for other in known]
        own = scene.materials_of_pairs
        self._own = np.array([pair_code(*pair) for pair, _ in own], dtype=np.int64)
        self._first_own, self._kinds = len(self._materials), len(known)
        self._materials += [material for _, material in own]
        self._friction = np.array([material.friction for material in self._materials])
        self._of_impacts = np.array([material.friction_of_impacts for material in self._materials])
        self._slow = np.array([material.slow_restitution for material in self._materials])
        self._falling = [
            (number, material.restitution)
            for number, material in enumerate(self._materials)
            if isinstance(material.restitution, SpeedRestitution)
        ]

    @property
    def elastic(self) -> bool:
        """Whether any two bodies have restitution."""
        return bool(self._slow.any())

    def of(self, bodies: Whole) -> Whole:
        """For each pair (k, 2) of bodies the number of its material."""
        first, second = np.sort(bodies, axis=1).T
        at, own = found_in(self._own, pair_code(first, second))
        numbers: Whole = np.where(
            own, self._first_own + at, self._kind[first] * self._kinds + self._kind[second]
        )
        return numbers

    def friction(self, material: Whole) -> Array:
        """Of lasting contacts (k,)."""
        found: Array = self._friction[material]
        return found

    def impact_friction(self, material: Whole) -> Array:
        """Of impacts (k,)."""
        found: Array = self._of_impacts[material]
        return found

    def restitution(self, material: Whole, approach: Array, mobility: Array) -> Array:
        """Of impacts (k,) that approach so fast [m/s], where a unit impulse changes that by the mobility [1/kg]."""
        found: Array = self._slow[material]
        for number, falls in self._falling:
            which = (material == number) & (mobility > 0.0)
            found[which] = falls.at(approach[which], 1.0 / mobility[which])
        return found


class Meetings:
    """Which pairs of the bodies of a scene its groups and switches let meet."""

    def __init__(self, scene: Scene):
        self._group = np.array([body.collision_group for body in scene.bodies], dtype=np.int64)
        self._mask = np.array([body.collision_mask for body in scene.bodies], dtype=np.int64)
        self._apart = np.array([pair_code(*pair) for pair in scene.disabled_pairs], dtype=np.int64)

    def allowed(self, first: Whole, second: Whole) -> NDArray[np.bool_]:
        """Whether each of the first (k,) meets the second (k,)."""
        group, mask = self._group, self._mask
        meet = (group[first] & mask[second] != 0) & (group[second] & mask[first] != 0)
        if len(self._apart):
            meet &= ~np.isin(pair_code(np.minimum(first, second), np.maximum(first, second)), self._apart)
        return meet
