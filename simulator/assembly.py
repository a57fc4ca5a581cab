"""Which parts a world calls: each is compiled once, and only where a scene needs it.

Parts that a scene is sure to need are compiled before its run begins, all others when they are first called.
"""

import gc
import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from ..compiled import Part
from ..impact_laws import ImpactLaw
from . import python_parts
from .engine import kinds_kernels, law_kernels
from .engine.pairs_kernels import (
    BALLS,
    HULLS,
    MESHES,
    ON_PLANE,
    ROUND_MESH,
    ROUNDS,
    kind_of_classes,
)
from .engine.tables_kernels import HEADER
from .laws import compiled_law, set_parameters
from .movers import hold_kernels, joint_parts_kernels, pivot_kernels, system_kernels
from .state import Model
from .world import World

_FEW_BODIES = 100  # of which all pairs are looked at
_SEARCH = {
    ON_PLANE: kinds_kernels.search_on_plane,
    BALLS: kinds_kernels.search_balls,
    HULLS: kinds_kernels.search_hulls,
    ROUNDS: kinds_kernels.search_rounds,
}
_TOUCH = {
    ON_PLANE: kinds_kernels.touch_on_plane,
    BALLS: kinds_kernels.touch_balls,
    HULLS: kinds_kernels.touch_hulls,
    ROUNDS: kinds_kernels.touch_hulls,
}
_GAP = {
    ON_PLANE: kinds_kernels.gap_on_plane,
    BALLS: kinds_kernels.gap_of_hulls,
    HULLS: kinds_kernels.gap_of_hulls,
    ROUNDS: kinds_kernels.gap_of_hulls,
}


def equip(world: World, law: ImpactLaw) -> None:
    """Let a world have the parts that it calls."""
    header, model = world.header, world.model
    needed = _kinds(world)
    parts: list[tuple[str, int | None, Part, bool]] = [
        ("place", None, system_kernels.place_all, True),
        ("hold", None, hold_kernels.hold, bool(model.gravity.any()) or not model.articulation.is_empty),
        ("go_on", None, hold_kernels.go_on, not model.articulation.is_empty),
        ("go_on_implicitly", None, hold_kernels.go_on_implicitly, False),
    ]
    for kind in _SEARCH:
        parts.append(("search", kind, _SEARCH[kind], kind in needed))
        parts.append(("touch", kind, _TOUCH[kind], False))
        parts.append(("gap", kind, _GAP[kind], False))
    for kind in (MESHES, ROUND_MESH):
        for field, function in (
            ("search", python_parts.search_meshes),
            ("touch", python_parts.touch_meshes),
            ("gap", python_parts.gap_of_meshes),
        ):
            header[field][kind] = python_parts.address_of(function)
    header["room_part"] = python_parts.address_of(python_parts.room_on_mesh)
    header["apart_part"] = python_parts.address_of(python_parts.apart_of_cylinder_and_mesh)
    parts.append(("cylinder_room", None, kinds_kernels.room_of_cylinder, False))
    parts.append(("pivots", None, pivot_kernels.pivot_forces, False))
    if not model.articulation.is_empty:
        parts.append(("joints", None, joint_parts_kernels.joints, True))
        parts.append(("forces", None, joint_parts_kernels.forces, True))
    if model.scene.force_functions:
        header["functions"] = python_parts.address_of(python_parts.apply_functions)
        header["never_rests"] = 1
    compiled = compiled_law(law)
    if compiled is not None:
        set_parameters(world, law)
        parts.append(("law", None, compiled, True))
        parts.append(("law_with_loss", None, law_kernels.law_reflection_with_loss, False))
    with _no_collection():
        for field, place, part, sure in parts:
            address = part.address if sure else python_parts.compiled_when_called(field, place, part)
            if place is None:
                header[field] = address
            else:
                header[field][place] = address


def _kinds(world: World) -> set[int]:
    """The kinds of pairs of bodies that can meet."""
    model, classes = world.model, world.bodies["shape_class"]
    return {kind_of_classes.py_func(classes[i], classes[j]) for i, j in _pairs(model, classes.tolist())}


def _pairs(model: Model, classes: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs of bodies that can meet: all of a few, else bodies of every sort, which stand for all."""
    scene, movable = model.scene, model.movable.tolist()
    chosen = range(model.count)
    if model.count > _FEW_BODIES:
        sorts: dict[tuple[int, ...], list[int]] = {}
        for k, body in enumerate(scene.bodies):
            sorts.setdefault((classes[k], movable[k], body.collision_group, body.collision_mask), []).append(
                k
            )
        chosen = sorted(k for members in sorts.values() for k in members[:2])  # type: ignore[assignment]
    for i, j in itertools.combinations(chosen, 2):
        if (movable[i] or movable[j]) and scene.collides(i, j):
            yield i, j


def equip_as(world: World, earlier: World) -> None:
    """Let a world of the same scene and law have the parts that an earlier one has, without looking which."""
    names = HEADER.names or ()
    for field in names[names.index("law_order") : names.index("gap") + 1]:
        world.header[field] = earlier.header[field]
    world.header["never_rests"] = earlier.header["never_rests"]


@contextmanager
def _no_collection() -> Iterator[None]:
    """Compiling makes very many objects that live on: to look for garbage among them takes a fifth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
