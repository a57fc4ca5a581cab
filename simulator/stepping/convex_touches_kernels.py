"""Compiled search for all contacts that convex bodies may close within a step."""

import numpy as np

from ...compiled import kernel
from .. import kernels
from ..collision.convex_contacts_kernels import half_space_contacts, pair_contacts
from ..collision.frames_kernels import FACE, POINT, frame_of_state, to_world, vector18
from ..collision.separation_kernels import pair_separation

HALF_SPACE = -1  # in place of the second body


@kernel()
def note_contact(row, keys, places, a, b, feature_a, feature_b, index_a, index_b, point, normal, gap):
    """Write one contact, where there is room for it."""
    if row < keys.shape[0]:
        keys[row, 0], keys[row, 1] = a, b
        keys[row, 2], keys[row, 3] = feature_a, feature_b
        keys[row, 4], keys[row, 5] = index_a, index_b
        for i in range(3):
            places[row, i] = point[i]
            places[row, 3 + i] = normal[i]
        places[row, 6] = gap


@kernel()
def note_depth(deepest, least, gap, size, a, b):
    """The smaller of two gaps [m]; deepest (4,) is that of a and b where it is more of their size."""
    if gap < deepest[0] * size:
        deepest[0], deepest[1], deepest[2], deepest[3] = gap / size, gap, a, b
    return min(least, gap)


@kernel()
def covers(shape, frame, face, nx, ny, nz, x, y, z):
    """Whether a point is over a face with this normal (world)."""
    first, last = shape.face_starts[face], shape.face_starts[face + 1]
    j = shape.face_corners[last - 1]
    px, py, pz = to_world(frame, shape.points[j, 0], shape.points[j, 1], shape.points[j, 2])
    for c in range(first, last):
        j = shape.face_corners[c]
        qx, qy, qz = to_world(frame, shape.points[j, 0], shape.points[j, 1], shape.points[j, 2])
        ex, ey, ez = qx - px, qy - py, qz - pz
        dx, dy, dz = x - frame[9] - px, y - frame[10] - py, z - frame[11] - pz
        if (ey * dz - ez * dy) * nx + (ez * dx - ex * dz) * ny + (ex * dy - ey * dx) * nz < 0.0:
            return False
        px, py, pz = qx, qy, qz
    return True


@kernel()
def note_corners_over(
    count, keys, places, a, b, side, face, shape, state, other, other_state, highest, feature, index, frames, point,
    normal,
):  # fmt: skip
    """Write contacts of all corners of a shape, which is on this side of the pair, that are over a face of the
    other one, no higher than `highest` [m], and in none of the contacts with these features and numbers; how many
    contacts there are then. frames is two of 18, point and normal (3,) are room."""
    own, under = frames[0], frames[1]
    frame_of_state(state, own)
    frame_of_state(other_state, under)
    n = other.normals[face]
    nx, ny, nz = to_world(under, n[0], n[1], n[2])
    j = other.face_corners[other.face_starts[face]]
    bx, by, bz = to_world(under, other.points[j, 0], other.points[j, 1], other.points[j, 2])
    level = (bx + under[9]) * nx + (by + under[10]) * ny + (bz + under[11]) * nz + shape.radius + other.radius
    for j in range(shape.points.shape[0]):
        x, y, z = to_world(own, shape.points[j, 0], shape.points[j, 1], shape.points[j, 2])
        x, y, z = x + own[9], y + own[10], z + own[11]
        height = x * nx + y * ny + z * nz - level
        if height > highest or not covers(other, under, face, nx, ny, nz, x, y, z):
            continue
        known = False
        for c in range(feature.shape[0]):
            known = known or (feature[c, side] == POINT and index[c, side] == j)
        if known:
            continue
        down, flip = shape.radius + 0.5 * height, 1.0 if side == 0 else -1.0
        point[0], point[1], point[2] = x - down * nx, y - down * ny, z - down * nz
        normal[0], normal[1], normal[2] = flip * nx, flip * ny, flip * nz
        first, second = (j, face) if side == 0 else (face, j)
        note_contact(
            count, keys, places, a, b, POINT if side == 0 else FACE, FACE if side == 0 else POINT, first, second,
            point, normal, height,
        )  # fmt: skip
        count += 1
    return count


@kernel(allocates=True)
def contacts_within_reach(
    shapes, size, skin, states, pairs, pair_reach, normals, offsets, plane_reach, flat, flattest, clear, keys,
    places, deepest,
):  # fmt: skip
    """Fill keys (k, 6) and places (k, 7) with contacts; returns how many there are, written or not, and the
    smallest gap [m] of a pair without the skins (n,) [m] by which the shapes are grown. Fill deepest (4,) with the
    pair that overlaps most: by how much of the smaller one, that gap, and which: of a half-space -1 - its number.

    A key: both bodies, then their features, then the numbers of these; of a half-space HALF_SPACE, FACE and its own
    number. A place: point, normal towards the first body, gap of the grown shapes. `pairs` (m, 2) may meet if their
    gap is at most `pair_reach` (m,) [m], one of the first bodies and one of the half-spaces (p, 3), (p,) if it is
    at most `plane_reach` (p, moving). Bodies are first moved along the axis between them to `clear` of the larger
    one's size apart, but of no more than twice the smaller one's, so that contacts are those with which they meet.
    Features take part that are level within `flat` of that size, and up to `flattest` of it where the bodies may
    close as much. Where one body touches with a face, all corners of the other that are over it and as level do: a
    hull of many faces would tip from one to the next.
    """
    count = 0
    least = np.inf
    deepest[:] = 0.0
    moved = np.empty(13)
    point, direction = np.empty(3), np.empty(3)
    frames = (vector18(), vector18())
    for k in range(pairs.shape[0]):
        a, b = pairs[k, 0], pairs[k, 1]
        larger, smaller = max(size[a], size[b]), min(size[a], size[b])
        fine = min(larger, 2.0 * smaller)
        axis, gap = pair_separation(shapes[a], states[a], shapes[b], states[b], larger)
        least = note_depth(deepest, least, gap + skin[a] + skin[b], smaller, a, b)
        if gap > pair_reach[k]:
            continue
        way = gap - clear * fine
        moved[:] = states[a]
        for i in range(3):
            moved[i] -= way * axis[i]
        level = min(max(flat * fine, pair_reach[k]), flattest * fine)
        points, normal, gaps, feature, index, _, _ = pair_contacts(
            shapes[a], moved, shapes[b], states[b], larger, level, level
        )
        if gaps.size == 1:  # of features that are level but not over each other it is none of both
            near = 1.5 * clear * fine
            points, normal, gaps, feature, index, _, _ = pair_contacts(
                shapes[a], moved, shapes[b], states[b], larger, near, near
            )
        for c in range(gaps.size):
            along = axis[0] * normal[c, 0] + axis[1] * normal[c, 1] + axis[2] * normal[c, 2]
            for i in range(3):
                point[i] = points[c, i] + 0.5 * way * axis[i]
            note_contact(
                count, keys, places, a, b, feature[c, 0], feature[c, 1], index[c, 0], index[c, 1], point, normal[c],
                gaps[c] + way * along,
            )  # fmt: skip
            count += 1
        for side in range(2):
            face = -1
            for c in range(gaps.size):
                if feature[c, 1 - side] == FACE:
                    face = index[c, 1 - side]
            if face < 0:
                continue
            s, o = (a, b) if side == 0 else (b, a)
            if shapes[s].disk == 0.0 and shapes[o].disk == 0.0:
                count = note_corners_over(
                    count, keys, places, a, b, side, face, shapes[s], states[s], shapes[o], states[o], gap + level,
                    feature, index, frames, point, direction,
                )  # fmt: skip
    for plane in range(offsets.size):
        for a in range(plane_reach.shape[1]):
            reach = plane_reach[plane, a]
            if reach == -np.inf:
                continue
            rows = half_space_contacts(
                shapes[a], states[a], normals[plane], offsets[plane], reach, reach, False
            )
            for c in range(rows.shape[0]):
                note_contact(
                    count, keys, places, a, HALF_SPACE, POINT, FACE, int(rows[c, 4]), plane, rows[c, :3],
                    normals[plane], rows[c, 3],
                )  # fmt: skip
                count += 1
                least = note_depth(deepest, least, rows[c, 3] + skin[a], size[a], a, -1 - plane)
    return count, least


@kernel(allocates=True)
def fly_on(states, inertia, inverse_inertia, span):
    """Move packed states (n, 13) on for `span` [s] of flight without forces."""
    nothing = np.zeros(3)
    for body in range(states.shape[0]):
        piece, _ = kernels.free_piece(states[body], nothing, inertia[body], inverse_inertia[body])
        states[body] = kernels.evaluate_piece(piece, span)
