"""Parts of the loop that are Python, called back from it: pairs of triangle meshes, and forces that a user gives.

A part gets the address of a world and finds what else it needs in `World.at`. What it raises is kept in
``world.failure``, which the loop ends with, and is raised again by who called the loop.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import Part
from .collision.held_features import held_features, kept, slides_past
from .collision.mesh_room_kernels import mesh_room
from .collision.pairs import (
    contact_patch,
    gap_of_cylinder_and_mesh,
    overlap,
    pair_gap,
    pair_impact,
    pair_size,
)
from .engine.contacts_kernels import add_contacts, lasting_of
from .engine.kinds_kernels import slow_speed
from .engine.pairs_kernels import pair_row
from .engine.shapes_kernels import copy_piece
from .event import ContactPatch
from .kernels import TERMS, rotation_matrix
from .state import Array, Model, State
from .tolerances import LEAST_REACH
from .world import World

if TYPE_CHECKING:
    from ..bodies.forces import ForceFunction

PART = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_FAILED = -1
_MOST_LASTING = 32  # contacts of a pair, for which there is room at first
Python = Callable[[World, int, int], int]


class ForceFunctionError(Exception):
    """A force function of the user gave no finite forces; the text says which, for what body and when."""


@cache
def _callback(function: Python) -> Any:
    """A function of Python as the loop calls it; kept for ever, since worlds know its address."""

    def guarded(address: int, i: int, j: int) -> int:
        world = World.at(address)
        try:
            return function(world, i, j)
        except BaseException as error:  # raised again when the loop has returned
            world.failure = error
            world.header["failed"] = 1
            return _FAILED

    return PART(guarded)


def address_of(function: Python) -> int:
    """Where the loop finds a function of Python."""
    address = ctypes.cast(_callback(function), ctypes.c_void_p).value
    assert address is not None
    return address


@cache
def compiled_when_called(field: str, place: int | None, part: Part) -> int:
    """Address that stands for a part until it is first called: it is compiled then, and called from then on."""

    def compile_and_call(world: World, i: int, j: int) -> int:
        if place is None:
            world.header[field] = part.address
        else:
            world.header[field][place] = part.address
        return int(PART(part.address)(world.address, i, j))

    return address_of(compile_and_call)


# -- pairs with triangle meshes ----------------------------------------------------------------------------


class Touched:
    """Contacts of a pair with a mesh where they were found, and the features that each holds together."""

    def __init__(self, model: Model, patch: ContactPatch, states: Array):
        self._model, self._patch, self._states = model, patch, states
        self._held: dict[bytes, NDArray[np.int64] | None] = {}
        self._starts: dict[tuple[int, bytes], tuple[Array, Array] | None] = {}

    def held(self, feature: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Pairs of features that lasting contacts (k, 2) hold, see `held_features`."""
        key = feature.tobytes() + index.tobytes()
        if key not in self._held:
            chosen = kept(self._model, self._patch, self._are(feature, index))
            self._held[key] = held_features(self._model, self._patch.chosen(chosen), self._states)
        return self._held[key]

    def start(self, row: int, rows: NDArray[np.int64], contacts: NDArray[Any], side: int) -> Array | None:
        """Where the contact of a row of the table of contacts was found, in the axes of one of its sides; None
        where it slides past nothing that is held with it. `rows`: of those that last."""
        key = row, rows.tobytes()
        if key not in self._starts:
            contact, lasting = contacts[row], contacts[rows]
            which = int(np.flatnonzero(self._are(contact["feature"][None], contact["index"][None]))[0])
            last = self._are(lasting["feature"], lasting["index"])
            self._starts[key] = None
            if slides_past(self._model, self._patch, last, which, self._states):
                first, second = (
                    (self._patch.point[which] - self._states[body, :3])
                    @ rotation_matrix(self._states[body, 3:7])
                    for body in self._patch.bodies[which].tolist()
                )
                self._starts[key] = first, second
        starts = self._starts[key]
        return None if starts is None else starts[side]

    def _are(self, feature: NDArray[np.int64], index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which contacts of the patch are among these (k, 2)."""
        own = np.concatenate([self._patch.feature, self._patch.feature_index], axis=1)
        sought = np.concatenate([feature, index], axis=1)
        found: NDArray[np.bool_] = (own[:, None] == sought[None]).all(axis=2).any(axis=1)
        return found


def search_meshes(world: World, i: int, j: int) -> int:
    """When two bodies, one of them a mesh, meet next."""
    model, pair, motions = world.model, (min(i, j), max(i, j)), world.motions
    first, second = motions[pair[0]], motions[pair[1]]
    begins = max(float(world.header["span"]), float(first["start"]), float(second["start"]))
    pieces, bounds = np.empty((2, 13, TERMS)), np.empty((2, 5))
    for side, body in enumerate(pair):
        copy_piece(world.address, body, pieces[side], bounds[side])
    held = None
    rows = _lasting(world, *pair)
    if len(rows):
        contacts = world.contacts[rows]
        held = world.touched[pair].held(contacts["feature"], contacts["index"])
        if held is None:
            return 0
    span = min(float(first["end"]), float(second["end"])) - begins
    ages = begins - float(first["start"]), begins - float(second["start"])
    when, hit = pair_impact(
        model,
        pair,
        (pieces[0], pieces[1]),
        (bounds[0], bounds[1]),
        ages,
        span,
        held,
        slow_speed(world.address),
    )
    if hit == -2:
        return -1
    if when == np.inf:
        return 0
    world.header["span"] = begins + when
    return 1


def touch_meshes(world: World, i: int, j: int) -> int:
    """Where two bodies touch, one of them a mesh."""
    pair = min(i, j), max(i, j)
    states = world.states_at(float(world.header["time"]), pair)
    patch = contact_patch(world.model, [pair], states)
    if len(patch):
        row = int(pair_row(world.address, *pair))
        add_contacts(
            world.address, *pair, row, patch.point, patch.normal, patch.gap, patch.feature, patch.feature_index,
            patch.along, patch.radius,
        )  # fmt: skip
        world.touched[pair] = Touched(world.model, patch, states)
    return len(patch)


def gap_of_meshes(world: World, i: int, j: int) -> int:
    """Let ``header.span`` be the gap [m] of two bodies now, one of them a mesh."""
    pair = min(i, j), max(i, j)
    states = world.states_at(float(world.header["time"]), pair)
    depth = overlap(world.model, pair, states)
    world.header["span"] = -depth if depth > 0.0 else pair_gap(world.model, pair, states)[1]
    return 0


def apart_of_cylinder_and_mesh(world: World, c: int, side: int) -> int:
    """Let ``header.apart`` be the true distance [m] of the cylinder and the mesh whose contact is asked about,
    negative where they overlap."""
    contact, states = world.contacts[int(world.header["asked_contact"])], np.empty((2, 13))
    pair = int(contact["first"]), int(contact["second"])
    asked = world.asked_states(int(world.header["m"]))
    for one, body in zip(states, pair, strict=True):
        motion = world.motions[body]
        one[:] = asked[int(motion["local"])] if world.model.movable[body] else motion["state"]
    world.header["apart"] = gap_of_cylinder_and_mesh(world.model, pair, states)
    return 0


def room_on_mesh(world: World, c: int, side: int) -> int:
    """Let ``header.room`` be what contact c of the island that is open has left on the mesh of one of its sides, or
    until what it slides past is to be looked at anew."""
    header, contacts = world.header, world.contacts
    row = int(header["asked_contact"])
    contact = contacts[row]
    pair = int(contact["first"]), int(contact["second"])
    size = pair_size(world.model, pair)
    place = np.array(header["asked_place"])
    rounded = bool(contact["radius"].sum() > 0.0)
    room = mesh_room(
        world.model.surface(pair[side]),
        int(contact["feature"][side]),
        int(contact["index"][side]),
        *place,
        *header["asked_normal"],
        rounded,
        size,
    )
    start = None if rounded else world.touched[pair].start(row, _lasting(world, *pair), contacts, side)
    contact["reach"] = 0.0 if start is None else max(float(contact["reach"]), LEAST_REACH * size)
    if start is not None:
        room = min(room, float(contact["reach"]) - float(np.linalg.norm(place - start)))
    header["room"] = room
    return 0


def _lasting(world: World, first: int, second: int) -> NDArray[np.int64]:
    """Which rows of the table of contacts hold a pair together."""
    rows = np.empty(_MOST_LASTING, dtype=np.int64)
    count = int(lasting_of(world.address, first, second, rows))
    while count > len(rows):
        rows = np.empty(count, dtype=np.int64)
        count = int(lasting_of(world.address, first, second, rows))
    return rows[:count]


# -- forces of the user --------------------------------------------------------------------------------------


def apply_functions(world: World, i: int, j: int) -> int:
    """Let the forces that the scene's functions give act on the bodies that are shown."""
    model, count = world.model, int(world.header["m"])
    bodies = world.table("local_bodies", count)
    packed = model.initial_states()
    packed[bodies] = world.asked_states(count)
    now = State.unpacked(float(world.header["asked_time"]), packed, model.scene)
    applied = world.table("local_applied", count)
    applied[:] = 0.0
    for function in model.scene.force_functions:
        applied += given_forces(model, function, now)[bodies]
    return 0


def given_forces(model: Model, function: "ForceFunction", state: State) -> Array:
    """What a function of the user says; ForceFunctionError where that is not one finite force for every body."""
    name = getattr(function, "__name__", repr(function))
    try:
        given = np.asarray(function(state.time, state))
        if given.dtype.kind == "c":
            raise TypeError("expected real numbers, got complex ones")
        forces = given.astype(float, copy=False)
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, NameError) as error:
        raise ForceFunctionError(
            f"the force function {name} failed at t = {state.time:g} s: {type(error).__name__}: {error}"
        ) from error
    if forces.shape != (model.count, 6):
        raise ForceFunctionError(
            f"the force function {name}: expected shape ({model.count}, 6), got {forces.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(forces).all(axis=1))
    if len(bad):
        body = model.scene.bodies[bad[0]].name
        raise ForceFunctionError(
            f"the force function {name} gave {forces[bad[0]].tolist()} for body {body!r} at t = {state.time:g} s"
        )
    return forces
