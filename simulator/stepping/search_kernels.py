"""Which spheres touch within a step: sorted into cells, and the touches of each with those after it, compiled."""

import numba
import numpy as np

from ...compiled import kernel
from .walls_kernels import MESH, PLANE, beside_wall

PIECES = 64
"""Into which rows are cut for threads, whatever their number."""

KEPT = np.dtype([("px", np.float64), ("py", np.float64), ("pz", np.float64), ("other", np.int64)])
"""Of a touch that pressed in the step before: its impulse, and its other side, with rows of that step."""


@kernel()
def extent(places, motions, low, high):
    """Fill the box around all centres (3,), (3,); the largest radius [m] and speed [m/s]."""
    radius = square = 0.0
    for i in range(3):
        low[i], high[i] = np.inf, -np.inf
    for row in range(places.shape[0]):
        for i in range(3):
            low[i] = min(low[i], places[row, i])
            high[i] = max(high[i], places[row, i])
        radius = max(radius, places[row, 3])
        m = motions[row]
        square = max(square, m.vx * m.vx + m.vy * m.vy + m.vz * m.vz)
    return radius, np.sqrt(square)


@kernel(forceinline=True)
def layer_of(place, low, inverse_edge, cells, axis):
    """In which cell along an axis a place is; those beyond the ends are in the last ones."""
    return max(0, min(cells[axis] - 1, int((place[axis] - low[axis]) * inverse_edge[axis])))


@kernel()
def sort_into_cells(places, low, inverse_edge, cells, axes, cell_of, starts, order):
    """Fill the number of each sphere's cell (n,), the first row of each cell (c + 1,) and the order of rows (n,).

    Cells are numbered along axes[2] first, so those of one layer across axes[0] stand together.
    """
    a, b, c = axes[0], axes[1], axes[2]
    starts[:] = 0
    for row in range(places.shape[0]):
        place = places[row]
        cell = layer_of(place, low, inverse_edge, cells, a) * cells[b]
        cell = (cell + layer_of(place, low, inverse_edge, cells, b)) * cells[c]
        cell += layer_of(place, low, inverse_edge, cells, c)
        cell_of[row] = cell
        starts[cell + 1] += 1
    for cell in range(starts.size - 1):
        starts[cell + 1] += starts[cell]
    for row in range(places.shape[0] - 1, -1, -1):  # from behind, so that equals keep their order
        cell = cell_of[row]
        starts[cell + 1] -= 1
        order[starts[cell + 1]] = row
    for cell in range(starts.size - 1):  # each has become the start of the cell before it
        starts[cell] = starts[cell + 1]
    starts[starts.size - 1] = places.shape[0]


@kernel(allocates=True, parallel=True)
def take_rows(
    order, places, motions, surfaces, ids, kept_rows, to_places, to_motions, to_surfaces, to_ids, to_rows
):
    """Copy rows of all tables in the given order."""
    count = order.size
    for piece in numba.prange(PIECES):
        for row in range(count * piece // PIECES, count * (piece + 1) // PIECES):
            source = order[row]
            for i in range(4):
                to_places[row, i] = places[source, i]
            to_motions[row] = motions[source]
            to_surfaces[row] = surfaces[source]
            to_ids[row] = ids[source]
            to_rows[row] = kept_rows[source]


@kernel(forceinline=True)
def note_run(runs, count, first, last):
    """Note rows first..last - 1, if there are any; how many are noted."""
    if first < last:
        runs[count, 0], runs[count, 1] = first, last
        return count + 1
    return count


@kernel()
def runs_after(row, place, low, inverse_edge, cells, axes, wraps, starts, runs):
    """Fill runs of rows in the same or a neighbouring cell, each pair of spheres for one of them only."""
    a, b, c = axes[0], axes[1], axes[2]
    x = layer_of(place, low, inverse_edge, cells, a)
    y = layer_of(place, low, inverse_edge, cells, b)
    z = layer_of(place, low, inverse_edge, cells, c)
    last = cells[c] - 1
    base = (x * cells[b] + y) * cells[c]
    count = note_run(runs, 0, row + 1, starts[base + min(z + 1, last) + 1])
    if wraps[c] and z == last:
        count = note_run(runs, count, starts[base], starts[base + 1])
    for column in range(4):  # (0, 1), (1, -1), (1, 0), (1, 1)
        nx = x + (1 if column > 0 else 0)
        ny = y + (1 if column == 0 else column - 2)
        if nx == cells[a]:
            if not wraps[a]:
                continue
            nx = 0
        if ny < 0 or ny == cells[b]:
            if not wraps[b]:
                continue
            ny = cells[b] - 1 if ny < 0 else 0
        base = (nx * cells[b] + ny) * cells[c]
        count = note_run(runs, count, starts[base + max(z - 1, 0)], starts[base + min(z + 1, last) + 1])
        if wraps[c] and z == 0:
            count = note_run(runs, count, starts[base + last], starts[base + last + 1])
        elif wraps[c] and z == last:
            count = note_run(runs, count, starts[base], starts[base + 1])
    return count


@kernel(forceinline=True)
def across(difference, length):
    """The shortest way between two places along an axis that repeats after `length`, 0 for one that does not."""
    if length > 0.0:
        if difference > 0.5 * length:
            return difference - length
        if difference < -0.5 * length:
            return difference + length
    return difference


@kernel(forceinline=True)
def reach_of(dvx, dvy, dvz, step, skin, most):
    """The gap [m] up to which two that move so [m/s] are looked at; `skin` is for what impacts add."""
    return min(step * np.sqrt(dvx * dvx + dvy * dvy + dvz * dvz) + skin, most)


@kernel(forceinline=True)
def kept_impulse(kept_starts, kept, row, other):
    """The impulse that a sphere had with another side a step before; whether there is one."""
    if row >= 0:
        for k in range(kept_starts[row], kept_starts[row + 1]):
            if kept[k].other == other:
                return True, kept[k].px, kept[k].py, kept[k].pz
    return False, 0.0, 0.0, 0.0


@kernel(forceinline=True)
def begin_with(touch, px, py, pz):
    """Let a touch begin with what is in its cone of an impulse."""
    normal = px * touch.nx + py * touch.ny + pz * touch.nz
    touch.px = touch.py = touch.pz = 0.0
    if normal > 0.0:
        tx, ty, tz = px - normal * touch.nx, py - normal * touch.ny, pz - normal * touch.nz
        bound, square = touch.friction * normal, tx * tx + ty * ty + tz * tz
        share = bound / np.sqrt(square) if square > bound * bound else 1.0
        touch.px = normal * touch.nx + share * tx
        touch.py = normal * touch.ny + share * ty
        touch.pz = normal * touch.nz + share * tz


@kernel()
def pair_touches(
    row, at, fill, runs, run_count, places, motions, surfaces, kept_rows, kept_starts, kept, friction, lengths,
    step, skin, most, others, touches,
):  # fmt: skip
    """Find touches of a sphere with spheres in runs of rows, fill them from touches[at] on if `fill`; (where they
    end, the deepest overlap relative to the smaller radius)."""
    x, y, z, radius = places[row, 0], places[row, 1], places[row, 2], places[row, 3]
    own = motions[row]
    deepest = 0.0
    for run in range(run_count):
        for j in range(runs[run, 0], runs[run, 1]):
            dx = across(x - places[j, 0], lengths[0])
            dy = across(y - places[j, 1], lengths[1])
            dz = across(z - places[j, 2], lengths[2])
            square = dx * dx + dy * dy + dz * dz
            both = radius + places[j, 3]
            if square > (both + most) ** 2:
                continue
            other = motions[j]
            reach = reach_of(
                own.vx - other.vx, own.vy - other.vy, own.vz - other.vz, step, 0.5 * skin * both, most
            )
            if square > (both + reach) ** 2:
                continue
            if fill:
                distance = np.sqrt(square)
                gap = distance - both
                deepest = max(deepest, -gap / min(radius, places[j, 3]))
                touch = touches[at]
                if distance > 0.0:
                    touch.nx, touch.ny, touch.nz = dx / distance, dy / distance, dz / distance
                else:
                    touch.nx, touch.ny, touch.nz = 0.0, 0.0, 1.0
                touch.gap, others[at] = gap, j
                touch.arm, touch.other_arm = radius + 0.5 * gap, places[j, 3] + 0.5 * gap
                mass = own.inverse_mass + other.inverse_mass
                turning = own.inverse_inertia * touch.arm**2 + other.inverse_inertia * touch.other_arm**2
                touch.per_normal, touch.per_tangent = 1.0 / mass, 1.0 / (mass + turning)
                touch.friction = friction[surfaces[row], surfaces[j]]
                touch.ux = touch.uy = touch.uz = 0.0
                found, px, py, pz = kept_impulse(kept_starts, kept, kept_rows[row], kept_rows[j])
                if not found and kept_rows[row] >= 0:
                    found, px, py, pz = kept_impulse(kept_starts, kept, kept_rows[j], kept_rows[row])
                    px, py, pz = -px, -py, -pz
                begin_with(touch, px, py, pz)
            at += 1
    return at, deepest


@kernel(forceinline=True)
def beside_repeated(place, centre, length):
    """A place along an axis that repeats after `length`, 0 for never, where it is nearest to a centre."""
    if length > 0.0:
        return place - length * np.round((place - centre) / length)
    return place


@kernel(forceinline=True)
def is_apart(wall, x, y, z, far):
    """Whether a point is farther than that from the box around a wall."""
    return (
        x < wall.low[0] - far or y < wall.low[1] - far or z < wall.low[2] - far
        or x > wall.high[0] + far or y > wall.high[1] + far or z > wall.high[2] + far
    )  # fmt: skip


@kernel(forceinline=True)
def fill_wall_touch(touch, wall, own, radius, near, gap, ux, uy, uz, friction):
    """Fill the touch of a sphere with a wall whose velocity is (ux, uy, uz) there, without its impulse."""
    touch.nx, touch.ny, touch.nz = near[0], near[1], near[2]
    touch.gap, touch.arm, touch.other_arm = gap, radius, 0.0
    touch.per_normal = 1.0 / own.inverse_mass
    touch.per_tangent = 1.0 / (own.inverse_mass + own.inverse_inertia * radius * radius)
    touch.friction = friction[wall.surface]
    touch.ux, touch.uy, touch.uz = ux, uy, uz


@kernel(forceinline=True)
def wall_velocity(wall, x, y, z):
    """Velocity [m/s] of a wall at a place of the world: v + spin x way."""
    lx, ly, lz = x - wall.position[0], y - wall.position[1], z - wall.position[2]
    wx, wy, wz = wall.spin[0], wall.spin[1], wall.spin[2]
    return (
        wall.velocity[0] + wy * lz - wz * ly,
        wall.velocity[1] + wz * lx - wx * lz,
        wall.velocity[2] + wx * ly - wy * lx,
    )


@kernel()
def wall_touches(
    row, at, fill, places, motions, surfaces, kept_rows, kept_starts, kept, friction, walls, faces, lengths, step,
    skin, most, room, others, touches,
):  # fmt: skip
    """As `pair_touches`, with convex walls, of which each is seen at its nearest repetition; room is (3, 3)."""
    radius = places[row, 3]
    own = motions[row]
    deepest = 0.0
    near = room[2]
    for k in range(walls.size):
        wall = walls[k]
        x = beside_repeated(places[row, 0], wall.position[0], lengths[0])
        y = beside_repeated(places[row, 1], wall.position[1], lengths[1])
        z = beside_repeated(places[row, 2], wall.position[2], lengths[2])
        if wall.kind == MESH or (wall.kind != PLANE and is_apart(wall, x, y, z, radius + most)):
            continue
        gap = beside_wall(wall, faces, x, y, z, room[0], room[1], near) - radius
        if gap > most:
            continue
        ux, uy, uz = wall_velocity(wall, x - radius * near[0], y - radius * near[1], z - radius * near[2])
        if gap > reach_of(own.vx - ux, own.vy - uy, own.vz - uz, step, skin * radius, most):
            continue
        if fill:
            deepest = max(deepest, -gap / radius)
            touch, others[at] = touches[at], -1 - k
            fill_wall_touch(touch, wall, own, radius, near, gap, ux, uy, uz, friction[surfaces[row]])
            _, px, py, pz = kept_impulse(kept_starts, kept, kept_rows[row], -1 - k)
            begin_with(touch, px, py, pz)
        at += 1
    return at, deepest


@kernel(allocates=True, parallel=True)
def find_touches(
    fill, places, motions, surfaces, kept_rows, kept_starts, kept, friction, walls, faces, low, inverse_edge, cells,
    axes, wraps, lengths, cell_starts, step, skin, most, starts, others, touches,
):  # fmt: skip
    """Without `fill`: the number of touches of each row, into starts (n + 1,) from 1 on. With it, and starts summed
    up: the touches themselves; the deepest overlap relative to a radius."""
    count = places.shape[0]
    deepest = np.zeros(PIECES)
    for piece in numba.prange(PIECES):
        runs, room = np.empty((12, 2), np.int64), np.empty((3, 3))
        deep = 0.0
        for row in range(count * piece // PIECES, count * (piece + 1) // PIECES):
            at = starts[row] if fill else 0
            run_count = runs_after(row, places[row], low, inverse_edge, cells, axes, wraps, cell_starts, runs)
            at, overlap = pair_touches(
                row, at, fill, runs, run_count, places, motions, surfaces, kept_rows, kept_starts, kept, friction,
                lengths, step, skin, most, others, touches,
            )  # fmt: skip
            deep = max(deep, overlap)
            at, overlap = wall_touches(
                row, at, fill, places, motions, surfaces, kept_rows, kept_starts, kept, friction, walls, faces,
                lengths, step, skin, most, room, others, touches,
            )  # fmt: skip
            deep = max(deep, overlap)
            if not fill:
                starts[row + 1] = at
        deepest[piece] = deep
    return deepest.max()


@kernel()
def sum_up(starts):
    """Turn numbers of touches, from 1 on, into where the touches of each row begin."""
    starts[0] = 0
    for row in range(starts.size - 1):
        starts[row + 1] += starts[row]
