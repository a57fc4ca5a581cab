"""The contacts that convex bodies may close within a step.

Bodies are grown by SKIN, because hulls that overlap are slower to search for contacts than hulls that are barely
apart: without it the trial in `convex_steps.py` takes 13 s instead of 10 s, and has 3 mm of overlap.
"""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
from numba.typed import List
from numpy.typing import NDArray
from scipy.spatial import KDTree

from ...bodies.rotation import rotation_matrices
from ..collision.collision_shape import CollisionShape
from ..state import Model
from . import convex_touches_kernels
from .pair_surfaces import Meetings

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

SKIN = 0.005
"""Of its size, by which every body that moves is grown."""
FLAT = 0.01
"""Of the larger size, but of no more than twice the smaller one: features that are level within it touch together,
such as corners of a face that comes down. Else small bodies on large ones would touch with their far side."""
FLATTEST = 0.03
"""Of the same: up to so much where the bodies may close by it within the step. 0.05 and 0.1 leave less overlap of
boxes, but hulls of many faces overlap more, and do not come to rest."""
CLEAR = 0.002
"""Of the same, apart from each other at which contacts of bodies are looked for: where they touch costs more."""
LARGE = 4.0
"""Median sizes, from which on a body is looked at with every other, and not by cells."""


class ConvexContacts:
    """Finds the contacts of the convex bodies of a model.

    moving, fixed : which bodies of the model these are, and which convex ones stand still
    size : (moving + fixed,) [m]
    deepest : (4,) of the contacts that were found last, as `contacts_within_reach` fills it

    Contacts have keys (k, 6) and places (k, 7), as `contacts_within_reach` writes them.
    """

    def __init__(self, model: Model):
        self.moving = np.flatnonzero(model.movable)
        planes = [body for body, plane in enumerate(model.planes) if plane is not None]
        self._planes = np.array([*planes, -1], dtype=np.int64)
        self.fixed = np.setdiff1d(np.flatnonzero(~model.movable), planes)
        self._convex = np.concatenate([self.moving, self.fixed])
        self._standing = model.initial_states()[self.fixed]
        self.size = model.size[self._convex]
        self._skin = np.where(model.movable[self._convex], SKIN * self.size, 0.0)
        shapes = [model.shapes[body] for body in self._convex]
        self._shapes = _typed(
            shape._replace(radius=shape.radius + skin)
            for shape, skin in zip(shapes, self._skin.tolist(), strict=True)
            if shape is not None
        )
        numbered = [plane for plane in model.planes if plane is not None]
        self._normals = np.array([normal for normal, _ in numbered]).reshape(-1, 3)
        self._offsets = np.array([offset for _, offset in numbered], dtype=np.float64)
        self._names = [str(body.name) for body in model.scene.bodies]
        self._boxes = self._boxes_of_fixed(model)
        self._meetings = Meetings(model.scene)
        self._on_planes = np.array(
            [self._meetings.allowed(self.moving, np.full_like(self.moving, plane)) for plane in planes]
        ).reshape(len(planes), len(self.moving))
        self._tables = np.empty((1024, 6), np.int64), np.empty((1024, 7))
        self.deepest = np.zeros(4)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_shapes": list(self._shapes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"_shapes": _typed(state["_shapes"])})

    def copy(self) -> "ConvexContacts":
        """The same, which may look for others."""
        copied = copy.copy(self)
        copied._tables = self._tables[0].copy(), self._tables[1].copy()
        copied.deepest = self.deepest.copy()
        return copied

    def name(self, number: float) -> str:
        """Of a convex body by its number, or of the half-space -1 - number."""
        which = int(number)
        return self._names[self._convex[which] if which >= 0 else self._planes[-1 - which]]

    def bodies_of(self, keys: Whole) -> Whole:
        """The bodies (k, 2) of contacts, as the model counts them."""
        second = np.where(
            keys[:, 1] < 0, self._planes[keys[:, 5] * (keys[:, 1] < 0)], self._convex[keys[:, 1]]
        )
        return np.column_stack([self._convex[keys[:, 0]], second])

    def moving_of(self, keys: Whole) -> Whole:
        """The bodies (k, 2) of contacts, by number among those that move; -1 for one that does not."""
        second = keys[:, 1]
        moves = (second >= 0) & (second < len(self.moving))
        return np.column_stack([keys[:, 0], np.where(moves, second, -1)])

    def skins(self, keys: Whole) -> Array:
        """By how much [m] the shapes of the two bodies of each contact are grown."""
        other = np.where(keys[:, 1] >= 0, self._skin[np.maximum(keys[:, 1], 0)], 0.0)
        total: Array = self._skin[keys[:, 0]] + other
        return total

    def near(self, states: Array, active: NDArray[np.bool_], reach: Array) -> tuple[Whole, Array]:
        """Pairs (m, 2) of bodies that meet if their bounding spheres, each grown by its `reach` (moving,) [m], do,
        in order, and how far these spheres are apart without it (m,) [m]; of fixed bodies boxes."""
        place, count = states[:, :3], len(states)
        size = self.size[:count]
        grown = size + reach
        large = active & (grown > LARGE * np.median(grown[active])) if active.any() else active
        some, found = np.flatnonzero(active & ~large), [np.zeros((0, 2), np.int64)]
        if len(some):
            widest = 2.0 * float(grown[some].max())
            found.append(some[KDTree(place[some]).query_pairs(widest, output_type="ndarray")])
        for body in np.flatnonzero(large).tolist():
            others = np.flatnonzero(active & (~large | (np.arange(count) > body)))
            others = others[others != body]
            found.append(np.column_stack([np.full(len(others), body), others]))
        pairs = np.sort(np.concatenate(found), axis=1)
        first, second = pairs.T
        apart = np.linalg.norm(place[first] - place[second], axis=1) - size[first] - size[second]
        meet = apart <= reach[first] + reach[second]
        pairs, apart = pairs[meet], apart[meet]
        rotation, low, high = self._boxes
        for k in range(len(self.fixed)):
            own = (place - self._standing[k, :3]) @ rotation[k]
            off = np.maximum(np.maximum(low[k] - own, own - high[k]), 0.0)
            room = np.linalg.norm(off, axis=1) - size
            near = np.flatnonzero(room <= reach)
            pairs = np.concatenate([pairs, np.column_stack([near, np.full(len(near), count + k)])])
            apart = np.concatenate([apart, room[near]])
        allowed = self._meetings.allowed(*self._convex[pairs].T)
        pairs, apart = pairs[allowed], apart[allowed]
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        return pairs[order], apart[order]

    def within(
        self,
        states: Array,
        active: NDArray[np.bool_],
        span: float,
        *velocities: Array,
        only: NDArray[np.bool_] | None = None,
    ) -> tuple[Whole, Array, float]:
        """Keys and places of all contacts of bodies in packed states (moving, 13), those that are `active`
        (moving,), that may close within a span [s] at any of these velocities (moving, 6), and the smallest gap [m]
        of two bodies without their skins. With `only` (moving,), contacts of these bodies with any."""
        count = len(states)
        if not count:
            return np.zeros((0, 6), np.int64), np.zeros((0, 7)), np.inf
        turning = FLAT * self.size
        spin = np.max([np.linalg.norm(each[:, 3:], axis=1) for each in velocities], axis=0)
        speed = np.max([np.linalg.norm(each[:, :3], axis=1) for each in velocities], axis=0)
        turning[:count] += span * self.size[:count] * spin
        reach = np.where(active, span * speed + turning[:count], -np.inf)
        pairs, apart = self.near(states, active, reach)
        first, second = pairs.T
        pair_reach = np.zeros(len(pairs))
        for velocity in velocities:
            moves = np.zeros((len(self.size), 3))
            moves[:count] = velocity[:, :3]
            way = span * np.linalg.norm(moves[first] - moves[second], axis=1)
            pair_reach = np.maximum(pair_reach, way)
        pair_reach += turning[first] + np.where(second < count, turning[second], 0.0)
        chosen = apart <= pair_reach
        if only is not None:
            chosen &= only[first] | (second < count) & only[np.minimum(second, count - 1)]
            reach = np.where(only, reach, -np.inf)
        everything = np.concatenate([states, self._standing])
        plane_reach = np.where(self._on_planes, reach, -np.inf)
        while True:
            found, gap = convex_touches_kernels.contacts_within_reach(
                self._shapes, self.size, self._skin, everything, pairs[chosen], pair_reach[chosen], self._normals,
                self._offsets, plane_reach, FLAT, FLATTEST, CLEAR, *self._tables, self.deepest,
            )  # fmt: skip
            keys, places = self._tables
            if found <= len(keys):
                return keys[:found].copy(), places[:found].copy(), gap
            self._tables = np.empty((2 * found, 6), np.int64), np.empty((2 * found, 7))

    def _boxes_of_fixed(self, model: Model) -> tuple[Array, Array, Array]:
        """Of each fixed convex body: its rotation (f, 3, 3), and the lowest and highest coordinates (f, 3) of its
        surface in its own axes."""
        low, high = np.zeros((len(self.fixed), 3)), np.zeros((len(self.fixed), 3))
        for k, body in enumerate(self.fixed.tolist()):
            shape = model.shapes[body]
            assert shape is not None
            around = shape.radius + np.array([shape.disk, shape.disk, 0.0]) + np.abs(shape.semi_axes)
            low[k], high[k] = shape.points.min(axis=0) - around, shape.points.max(axis=0) + around
        return rotation_matrices(self._standing[:, 3:7]), low, high


def _typed(shapes: Iterable[CollisionShape]) -> Any:
    """A list of shapes for kernels, or one that is empty."""
    found = list(shapes)
    return List(found) if found else found
