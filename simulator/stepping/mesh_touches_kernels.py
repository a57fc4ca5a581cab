"""The touches of spheres with walls that are triangle meshes, apart from all others: what a scene without them runs
is neither compiled with this nor slowed down by it."""

import numba
import numpy as np

from ...compiled import kernel
from .mesh_walls_kernels import PLACE
from .search_kernels import (
    PIECES,
    begin_with,
    beside_repeated,
    fill_wall_touch,
    is_apart,
    reach_of,
    wall_velocity,
)
from .walls_kernels import MESH, beside_mesh_wall


@kernel(forceinline=True)
def kept_place_impulse(kept_starts, kept, row, wall, normal):
    """The impulse that a sphere had from a wall a step before, of several places that nearest to a normal (3,)."""
    best, px, py, pz = 0.0, 0.0, 0.0, 0.0
    if row >= 0:
        for k in range(kept_starts[row], kept_starts[row + 1]):
            had = kept[k]
            if had.other == -1 - wall:
                along = had.px * normal[0] + had.py * normal[1] + had.pz * normal[2]
                square = had.px * had.px + had.py * had.py + had.pz * had.pz
                if along > 0.0 and along * along > best * square:
                    best = along * along / square
                    px, py, pz = had.px, had.py, had.pz
    return px, py, pz


@kernel()
def mesh_touches(
    row, at, fill, places, motions, surfaces, kept_rows, kept_starts, kept, friction, tables, lengths, step, skin,
    most, room, found, others, touches,
):  # fmt: skip
    """Find touches of a sphere with meshes, each seen at its nearest repetition, fill them from touches[at] on
    downwards if `fill`; (how many, the deepest overlap over the radius). room is (3, 3), found (n, PLACE)."""
    radius = places[row, 3]
    own = motions[row]
    deepest, number = 0.0, 0
    for k in range(tables.rows.size):
        wall = tables.rows[k]
        if wall.kind != MESH:
            continue
        far = radius + most
        x = beside_repeated(places[row, 0], wall.position[0], lengths[0])
        y = beside_repeated(places[row, 1], wall.position[1], lengths[1])
        z = beside_repeated(places[row, 2], wall.position[2], lengths[2])
        if is_apart(wall, x, y, z, far):
            continue
        # no farther than what any of its places may close
        ux, uy, uz = wall_velocity(wall, x, y, z)
        turning = step * far * np.sqrt(wall.spin[0] ** 2 + wall.spin[1] ** 2 + wall.spin[2] ** 2)
        far = reach_of(own.vx - ux, own.vy - uy, own.vz - uz, step, skin * radius + turning, most)
        for place in range(beside_mesh_wall(wall, tables, x, y, z, radius + far, room, found)):
            near = found[place]
            gap = near[3] - radius
            ux, uy, uz = wall_velocity(wall, x - radius * near[0], y - radius * near[1], z - radius * near[2])
            if gap > reach_of(own.vx - ux, own.vy - uy, own.vz - uz, step, skin * radius, most):
                continue
            if fill:
                deepest = max(deepest, -gap / radius)
                touch, others[at - number] = touches[at - number], -1 - k
                fill_wall_touch(touch, wall, own, radius, near, gap, ux, uy, uz, friction[surfaces[row]])
                px, py, pz = kept_place_impulse(kept_starts, kept, kept_rows[row], k, near)
                begin_with(touch, px, py, pz)
            number += 1
    return number, deepest


@kernel(allocates=True, parallel=True)
def find_mesh_touches(
    fill, places, motions, surfaces, kept_rows, kept_starts, kept, friction, tables, lengths, step, skin, most,
    starts, others, touches,
):  # fmt: skip
    """Without `fill`: the number of touches of each row with meshes, added to starts (n + 1,) from 1 on. With it,
    and starts summed up: the touches themselves, the last ones of each row; the deepest overlap relative to a
    radius."""
    count = places.shape[0]
    deepest = np.zeros(PIECES)
    for piece in numba.prange(PIECES):
        room, found = np.empty((3, 3)), np.empty((tables.most_places, PLACE))
        deep = 0.0
        for row in range(count * piece // PIECES, count * (piece + 1) // PIECES):
            number, overlap = mesh_touches(
                row, starts[row + 1] - 1, fill, places, motions, surfaces, kept_rows, kept_starts, kept, friction,
                tables, lengths, step, skin, most, room, found, others, touches,
            )  # fmt: skip
            deep = max(deep, overlap)
            if not fill:
                starts[row + 1] += number
        deepest[piece] = deep
    return deepest.max()
