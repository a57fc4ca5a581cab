"""Contacts of convex shapes that touch: their features, laid over each other."""

import numpy as np

from ...compiled import kernel
from ..kernels import cross, ellipsoid_lowest, matrix2x3, vector18
from .frames_kernels import EDGE, FACE, POINT, RIM, frame_of_state, to_body, to_world
from .mesh_kernels import closest_on_segment, closest_on_segments
from .separation_kernels import pair_separation

SEVERAL, ROUND = 2, 3  # kinds of touching features beyond point and segment: polygon, disk
RIM_POINTS = 8


@kernel()
def touching_feature(shape, frame, nx, ny, nz, tolerance, corners, numbers):
    """What of a shape lies within `tolerance` of its lowest plane along n: (kind, count, face).

    Kind: POINT, EDGE, SEVERAL (a face's polygon) or ROUND (an end of a cylinder; its centre). Fills `corners`
    with the world points of hull + disk and `numbers` with their core points. `face` is -1 where it is none.
    """
    points = shape.points
    mx, my, mz = to_body(frame, nx, ny, nz)
    low = np.inf
    first = 0
    for j in range(points.shape[0]):
        value = points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz
        if value < low:
            low = value
            first = j
    sx = sy = 0.0
    if shape.disk > 0.0:
        across = np.sqrt(mx * mx + my * my)
        if 2.0 * shape.disk * across <= tolerance:
            corners[0, 0], corners[0, 1], corners[0, 2] = to_world(
                frame, points[first, 0], points[first, 1], points[first, 2]
            )
            for i in range(3):
                corners[0, i] += frame[9 + i]
            numbers[0] = first
            return ROUND, 1, first
        sx, sy = shape.disk * mx / across, shape.disk * my / across
    count = 0
    for j in range(points.shape[0]):
        if points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz <= low + tolerance:
            numbers[count] = j
            count += 1
    kind, face = (POINT if count == 1 else EDGE), -1
    if count > 2:
        kind = SEVERAL
        facing = 0.0
        for f in range(shape.normals.shape[0]):
            value = shape.normals[f, 0] * mx + shape.normals[f, 1] * my + shape.normals[f, 2] * mz
            if value < facing:
                facing = value
                face = f
        count = 0
        for c in range(shape.face_starts[face], shape.face_starts[face + 1]):
            numbers[count] = shape.face_corners[c]
            count += 1
    for c in range(count):
        j = numbers[c]
        corners[c, 0], corners[c, 1], corners[c, 2] = to_world(
            frame, points[j, 0] - sx, points[j, 1] - sy, points[j, 2]
        )
        for i in range(3):
            corners[c, i] += frame[9 + i]
    return kind, count, face


@kernel(forceinline=True)
def _side_of_edge(corners, p, q, nx, ny, nz, x, y, z):
    """Distance [m] of a point from the line of two corners, across n, positive on the left seen against n."""
    ex, ey, ez = corners[q, 0] - corners[p, 0], corners[q, 1] - corners[p, 1], corners[q, 2] - corners[p, 2]
    lx, ly, lz = cross(nx, ny, nz, ex, ey, ez)
    length = np.sqrt(lx * lx + ly * ly + lz * lz)
    return (lx * (x - corners[p, 0]) + ly * (y - corners[p, 1]) + lz * (z - corners[p, 2])) / length


@kernel()
def _covers(kind, corners, count, disk, ox, oy, oz, x, y, z, tolerance):
    """Whether a feature, seen along its outward normal o, covers a point."""
    if kind == ROUND:
        dx, dy, dz = x - corners[0, 0], y - corners[0, 1], z - corners[0, 2]
        cx, cy, cz = cross(ox, oy, oz, dx, dy, dz)
        return np.sqrt(cx * cx + cy * cy + cz * cz) <= disk + tolerance
    if kind == EDGE:
        if abs(_side_of_edge(corners, 0, 1, ox, oy, oz, x, y, z)) > tolerance:
            return False
        along = length = 0.0
        for i in range(3):
            d = corners[1, i] - corners[0, i]
            length += d * d
            along += d * ((x if i == 0 else (y if i == 1 else z)) - corners[0, i])
        length = np.sqrt(length)
        return -tolerance <= along / length <= length + tolerance
    inside = True
    for c in range(count):
        inside &= _side_of_edge(corners, c, (c + 1) % count, ox, oy, oz, x, y, z) >= -tolerance
    return inside


@kernel()
def _narrowed(kind, corners, numbers, count, ox, oy, oz, x, y, z, tolerance):
    """What of a feature with outward normal o, found by how low it is, a ball's centre is over: (kind, count,
    whether it is less). Its corners within a plane say little of that where it is much smaller than the ball."""
    narrow = False
    if kind == SEVERAL:
        least, at = -tolerance, -1
        for c in range(count):
            inside = _side_of_edge(corners, c, (c + 1) % count, ox, oy, oz, x, y, z)
            if inside < least:
                least, at = inside, c
        if at < 0:
            return kind, count, narrow
        following = (at + 1) % count
        first, last = numbers[at], numbers[following]
        ax, ay, az = corners[at, 0], corners[at, 1], corners[at, 2]
        bx, by, bz = corners[following, 0], corners[following, 1], corners[following, 2]
        numbers[0], numbers[1] = first, last
        corners[0, 0], corners[0, 1], corners[0, 2] = ax, ay, az
        corners[1, 0], corners[1, 1], corners[1, 2] = bx, by, bz
        kind, count, narrow = EDGE, 2, True
    if kind == EDGE:
        dx, dy, dz = (
            corners[1, 0] - corners[0, 0],
            corners[1, 1] - corners[0, 1],
            corners[1, 2] - corners[0, 2],
        )
        length = np.sqrt(dx * dx + dy * dy + dz * dz)
        along = (dx * (x - corners[0, 0]) + dy * (y - corners[0, 1]) + dz * (z - corners[0, 2])) / length
        if along > length + tolerance:
            numbers[0] = numbers[1]
            for i in range(3):
                corners[0, i] = corners[1, i]
        if along > length + tolerance or along < -tolerance:
            kind, count, narrow = POINT, 1, True
    return kind, count, narrow


@kernel()
def _edge_between(shape, i, j):
    """Number of the edge that joins two core points, -1 where there is none."""
    low, high = min(i, j), max(i, j)
    for e in range(shape.edge_ends.shape[0]):
        if shape.edge_ends[e, 0] == low and shape.edge_ends[e, 1] == high:
            return e
    return -1


@kernel()
def _note_feature(shape, frame, side, feature, number, row, features, indices, directions, radii):
    """Write which feature touches on one side of contact `row`."""
    features[row, side] = feature
    indices[row, side] = number
    x = y = z = 0.0
    radii[row, side] = shape.radius
    if feature == EDGE and number >= 0:
        x, y, z = to_world(frame, shape.edges[number, 0], shape.edges[number, 1], shape.edges[number, 2])
    if feature == RIM:
        x, y, z = to_world(frame, 0.0, 0.0, 1.0)
    if shape.disk > 0.0 and feature in (RIM, EDGE):
        radii[row, side] += shape.disk
    directions[row, side, 0], directions[row, side, 1], directions[row, side, 2] = x, y, z


@kernel(forceinline=True)
def _known(points, count, x, y, z, tolerance):
    """Whether one of the first `count` contact points is this one."""
    for c in range(count):
        if max(abs(points[c, 0] - x), abs(points[c, 1] - y), abs(points[c, 2] - z)) <= tolerance:
            return True
    return False


@kernel(allocates=True, forceinline=True)
def _contact_arrays(count):
    """Empty point, normal, gap, feature, feature index, along and radius of `count` contacts."""
    return (
        np.empty((count, 3)), np.empty((count, 3)), np.empty(count), np.empty((count, 2), np.int64),
        np.empty((count, 2), np.int64), np.zeros((count, 2, 3)), np.zeros((count, 2)),
    )  # fmt: skip


@kernel()
def rim_direction(k, mx, my, within):
    """Direction (x, y), across the axis, of point k of an end of a cylinder against what has its normal m (body
    axes): where the rim is lowest, if the end leans by more than the sine `within` and that is nearer to point k
    than to its neighbours, else where point k stands."""
    angle = 2.0 * np.pi * k / RIM_POINTS
    x, y = np.cos(angle), np.sin(angle)
    lean = np.sqrt(mx * mx + my * my)
    if lean > within:
        along, beside = -(x * mx + y * my), abs(x * my - y * mx)
        if beside <= along * np.tan(np.pi / RIM_POINTS):
            return -mx / lean, -my / lean
    return x, y


@kernel(allocates=True)
def half_space_contacts(shape, state, normal, offset, tolerance, within, leans):
    """All points of a shape within `tolerance` [m] of a half-space or in it: point (3), gap, number of the core's
    point (of an end that stands: times RIM_POINTS, and which), 1 where its rim touches and not one point, in rows.

    A cylinder that stands touches at RIM_POINTS points of its end, one that leans at one of its rim, one that
    lies at one of each rim. Where its rim is lower on one side than on the other by more than `within` [m], one of
    these points is where it is lowest; else, if it `leans`, where it will be.
    """
    frame = vector18()
    frame_of_state(state, frame)
    points, disk = shape.points, shape.disk
    nx, ny, nz = normal[0], normal[1], normal[2]
    mx, my, mz = to_body(frame, nx, ny, nz)
    height = nx * frame[9] + ny * frame[10] + nz * frame[11] - offset - shape.radius
    across = np.sqrt(mx * mx + my * my)
    rows = np.empty(((RIM_POINTS if disk > 0.0 else 1) * points.shape[0], 6))
    count, least = 0, 0.0 if disk == 0.0 else 0.5 * within / disk
    standing = disk > 0.0 and 2.0 * disk * across <= tolerance
    lx, ly = mx, my
    if leans and standing and across <= least:
        lx, ly, _ = cross(mx, my, mz, state[10], state[11], state[12])
        least = 0.0
    for j in range(points.shape[0]):
        above = height + points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz
        for k in range(RIM_POINTS if standing else 1):
            x, y = points[j, 0], points[j, 1]
            gap = above
            if standing:
                cx, cy = rim_direction(k, lx, ly, least)
                cx, cy = disk * cx, disk * cy
                x, y = x + cx, y + cy
                gap += mx * cx + my * cy
            elif disk > 0.0:
                x, y = x - disk * mx / across, y - disk * my / across
                gap -= disk * across
            bx, by, bz = ellipsoid_lowest(shape.semi_axes, mx, my, mz)
            gap += bx * mx + by * my + bz * mz
            if gap > tolerance:
                continue
            x, y, z = to_world(frame, x + bx, y + by, points[j, 2] + bz)
            down = shape.radius + gap
            rows[count, 0] = x + frame[9] - down * nx
            rows[count, 1] = y + frame[10] - down * ny
            rows[count, 2] = z + frame[11] - down * nz
            rows[count, 3], rows[count, 4] = gap, j * RIM_POINTS + k if standing else j
            rows[count, 5] = 1.0 if disk > 0.0 and not standing else 0.0
            count += 1
    return rows[:count]


@kernel(forceinline=True)
def _face_normal(shape, frame, kind, face, sx, sy, sz):
    """Outward normal of the face that touches, in world axes, or s where no face does."""
    if kind in (SEVERAL, ROUND):
        return to_world(frame, shape.normals[face, 0], shape.normals[face, 1], shape.normals[face, 2])
    return sx, sy, sz


@kernel(allocates=True)
def pair_contacts(shape_a, state_a, shape_b, state_b, size, tolerance, within):
    """Contacts of two shapes within `tolerance` [m], as arrays of `ContactPatch`; places closer than `within` [m],
    at most that, are one.

    The features that lie within `tolerance` of the planes of contact are laid over each other: contacts are the
    corners of A's that B's covers, those of B's that A's covers, then the crossings of their outlines, each in
    the order of the corners. A corner on a face has that face's normal and its own gap, and edges that cross have
    theirs where `within` is less than `tolerance`. Ends of cylinders have
    RIM_POINTS corners.
    """
    axis, gap = pair_separation(shape_a, state_a, shape_b, state_b, size)
    most = 4 * (shape_a.points.shape[0] + shape_b.points.shape[0]) + 4 * RIM_POINTS
    if gap > tolerance:
        most = 0
    point, normals, gaps, features, indices, directions, radii = _contact_arrays(most)
    count = 0
    if gap <= tolerance:
        frame_a, frame_b = vector18(), vector18()
        frame_of_state(state_a, frame_a)
        frame_of_state(state_b, frame_b)
        room = max(shape_a.points.shape[0], shape_b.points.shape[0])
        corners = np.empty((2, room, 3))
        numbers = np.zeros((2, room), np.int64)
        kinds, counts, faces = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
        outward = matrix2x3()
        nx, ny, nz = axis[0], axis[1], axis[2]
        kinds[0], counts[0], faces[0] = touching_feature(
            shape_a, frame_a, nx, ny, nz, tolerance, corners[0], numbers[0]
        )
        kinds[1], counts[1], faces[1] = touching_feature(
            shape_b, frame_b, -nx, -ny, -nz, tolerance, corners[1], numbers[1]
        )
        same = max(within, 1e-12 * size)
        lone = 0 if kinds[0] == POINT else (1 if kinds[1] == POINT else -1)
        if lone == 0 and kinds[1] != POINT and tolerance > same:  # on what it touches, not all that is near
            kinds[1], counts[1], faces[1] = touching_feature(
                shape_b, frame_b, -nx, -ny, -nz, same, corners[1], numbers[1]
            )
        elif lone == 1 and tolerance > same:
            kinds[0], counts[0], faces[0] = touching_feature(
                shape_a, frame_a, nx, ny, nz, same, corners[0], numbers[0]
            )
        if lone >= 0 and shape_a.radius + shape_b.radius > 0.0:
            other = 1 - lone
            L, n = corners[lone, 0], -1.0 if other == 0 else 1.0
            ox, oy, oz = _face_normal(
                shape_b if other else shape_a, frame_b if other else frame_a, kinds[other], faces[other],
                n * nx, n * ny, n * nz,
            )  # fmt: skip
            kinds[other], counts[other], narrow = _narrowed(
                kinds[other],
                corners[other],
                numbers[other],
                counts[other],
                ox,
                oy,
                oz,
                L[0],
                L[1],
                L[2],
                same,
            )
            faces[other] = -1 if narrow else faces[other]
        outward[0, 0], outward[0, 1], outward[0, 2] = _face_normal(
            shape_a, frame_a, kinds[0], faces[0], -nx, -ny, -nz
        )
        outward[1, 0], outward[1, 1], outward[1, 2] = _face_normal(
            shape_b, frame_b, kinds[1], faces[1], nx, ny, nz
        )
        # corners of each side on what the other side touches with
        for side in range(2):
            if lone >= 0 and side != lone:
                continue
            other = 1 - side
            shape, frame = shape_a, frame_a
            beneath, beneath_frame = shape_b, frame_b
            if side == 1:
                shape, frame = shape_b, frame_b
                beneath, beneath_frame = shape_a, frame_a
            rim = kinds[side] == ROUND
            if side == 1 and rim and kinds[0] == ROUND and count == RIM_POINTS:
                continue  # all of the other end lies on this one
            ox, oy, oz = outward[other, 0], outward[other, 1], outward[other, 2]
            for c in range(RIM_POINTS if rim else counts[side]):
                p = 0 if rim else c
                x, y, z = corners[side, p, 0], corners[side, p, 1], corners[side, p, 2]
                if rim:
                    mx, my, _ = to_body(frame, ox, oy, oz)
                    cx, cy = rim_direction(c, mx, my, 0.5 * same / shape.disk)
                    cx, cy, cz = to_world(frame, shape.disk * cx, shape.disk * cy, 0.0)
                    x, y, z = x + cx, y + cy, z + cz
                if lone < 0 and not _covers(
                    kinds[other], corners[other], counts[other], beneath.disk, ox, oy, oz, x, y, z, same
                ):
                    continue
                # height over the other feature: its plane, the line's own point, or the point
                base = 0
                bx, by, bz = corners[other, 0, 0], corners[other, 0, 1], corners[other, 0, 2]
                if kinds[other] == EDGE:
                    along = square = 0.0
                    for i in range(3):
                        d = corners[other, 1, i] - corners[other, 0, i]
                        square += d * d
                        along += d * ((x if i == 0 else (y if i == 1 else z)) - corners[other, 0, i])
                    t = min(1.0, max(0.0, along / square))
                    bx += t * (corners[other, 1, 0] - bx)
                    by += t * (corners[other, 1, 1] - by)
                    bz += t * (corners[other, 1, 2] - bz)
                own = ox * (x - bx) + oy * (y - by) + oz * (z - bz) - shape_a.radius - shape_b.radius
                if kinds[other] == POINT or lone >= 0:
                    own = gap
                if own > tolerance:
                    continue
                down = shape.radius + 0.5 * own
                px, py, pz = x - down * ox, y - down * oy, z - down * oz
                if _known(point, count, px, py, pz, same):
                    continue
                point[count, 0], point[count, 1], point[count, 2] = px, py, pz
                flip = 1.0 if side == 0 else -1.0
                normals[count, 0], normals[count, 1], normals[count, 2] = flip * ox, flip * oy, flip * oz
                gaps[count] = own
                feature = RIM if shape.disk > 0.0 and not rim else POINT
                number = numbers[side, 0] * RIM_POINTS + c if rim else numbers[side, p]
                _note_feature(
                    shape, frame, side, feature, number, count, features, indices, directions, radii
                )
                if kinds[other] == POINT:
                    feature, base = (RIM if beneath.disk > 0.0 else POINT), numbers[other, 0]
                elif kinds[other] == EDGE:
                    feature, base = EDGE, _edge_between(beneath, numbers[other, 0], numbers[other, 1])
                else:
                    feature, base = FACE, faces[other]
                _note_feature(
                    beneath, beneath_frame, other, feature, base, count, features, indices, directions, radii
                )
                count += 1
        if lone < 0:
            count = _crossings(
                shape_a, frame_a, shape_b, frame_b, nx, ny, nz, gap, same, tolerance > same, kinds, counts, corners,
                numbers, point, normals, gaps, features, indices, directions, radii, count,
            )  # fmt: skip
        if count == 0:
            _graze(
                shape_a, frame_a, shape_b, frame_b, axis, gap, same, kinds, counts, corners, numbers, point,
                normals, gaps, features, indices, directions, radii,
            )  # fmt: skip
            count = 1
    return (
        point[:count], normals[:count], gaps[:count], features[:count], indices[:count],
        directions[:count], radii[:count],
    )  # fmt: skip


@kernel(allocates=True)
def _graze(
    shape_a, frame_a, shape_b, frame_b, axis, gap, same, kinds, counts, corners, numbers, point, normals, gaps,
    features, indices, directions, radii,
):  # fmt: skip
    """Note as contact 0 the nearest places of the outlines of two features that only graze each other: edges that
    cross a hair beyond the end of one, and circles beside what they touch."""
    nearest = np.inf
    place, best = np.empty(3), np.empty((2, 2))
    for i in range(counts[0] if kinds[0] == SEVERAL else 1):
        i2 = (i + 1) % max(counts[0], 2)
        for j in range(counts[1] if kinds[1] == SEVERAL else 1):
            j2 = (j + 1) % max(counts[1], 2)
            P, Q = corners[0, i], corners[1, j]
            ux, uy, uz = corners[0, i2, 0] - P[0], corners[0, i2, 1] - P[1], corners[0, i2, 2] - P[2]
            vx, vy, vz = corners[1, j2, 0] - Q[0], corners[1, j2, 1] - Q[1], corners[1, j2, 2] - Q[2]
            s = t = 0.0
            if kinds[0] != ROUND and kinds[1] != ROUND:
                s, t, _ = closest_on_segments(
                    P[0], P[1], P[2], P[0] + ux, P[1] + uy, P[2] + uz,
                    Q[0], Q[1], Q[2], Q[0] + vx, Q[1] + vy, Q[2] + vz,
                )  # fmt: skip
            elif kinds[1] != ROUND:
                _, _, _, t = closest_on_segment(
                    P[0], P[1], P[2], Q[0], Q[1], Q[2], Q[0] + vx, Q[1] + vy, Q[2] + vz
                )
            elif kinds[0] != ROUND:
                _, _, _, s = closest_on_segment(
                    Q[0], Q[1], Q[2], P[0], P[1], P[2], P[0] + ux, P[1] + uy, P[2] + uz
                )
            px, py, pz = P[0] + s * ux, P[1] + s * uy, P[2] + s * uz
            qx, qy, qz = Q[0] + t * vx, Q[1] + t * vy, Q[2] + t * vz
            dx, dy, dz = qx - px, qy - py, qz - pz
            up = dx * axis[0] + dy * axis[1] + dz * axis[2]
            dx, dy, dz = dx - up * axis[0], dy - up * axis[1], dz - up * axis[2]
            way = np.sqrt(dx * dx + dy * dy + dz * dz)
            reach_a = shape_a.disk if kinds[0] == ROUND else 0.0  # of circles, from their centres
            reach_b = shape_b.disk if kinds[1] == ROUND else 0.0
            away = abs(way - reach_a - reach_b)
            if away >= nearest:
                continue
            nearest = away
            f = 0.5 * (reach_a - reach_b) / way if way > 0.0 else 0.0
            place[0], place[1], place[2] = (
                0.5 * (px + qx) + f * dx, 0.5 * (py + qy) + f * dy, 0.5 * (pz + qz) + f * dz
            )  # fmt: skip
            lengths = np.sqrt(ux * ux + uy * uy + uz * uz), np.sqrt(vx * vx + vy * vy + vz * vz)
            for side in range(2):
                along, length = (s, lengths[0]) if side == 0 else (t, lengths[1])
                shape, first, second = (shape_a, i, i2) if side == 0 else (shape_b, j, j2)
                at_first, at_second = along * length <= same, (1.0 - along) * length <= same
                if kinds[side] == ROUND or at_first or at_second:
                    best[side, 0] = RIM if shape.disk > 0.0 else POINT
                    best[side, 1] = numbers[side, second if at_second and kinds[side] != ROUND else first]
                else:
                    best[side, 0] = EDGE
                    best[side, 1] = _edge_between(shape, numbers[side, first], numbers[side, second])
    shift = 0.5 * (shape_b.radius - shape_a.radius)
    for k in range(3):
        point[0, k] = place[k] + shift * axis[k]
        normals[0, k] = axis[k]
    gaps[0] = gap
    _note_feature(
        shape_a, frame_a, 0, int(best[0, 0]), int(best[0, 1]), 0, features, indices, directions, radii
    )
    _note_feature(
        shape_b, frame_b, 1, int(best[1, 0]), int(best[1, 1]), 0, features, indices, directions, radii
    )


@kernel(forceinline=True)
def _height_of_end(frame, x, y, z, nx, ny, nz, px, py, pz):
    """How far [m] along n a point p is under the plane of a cylinder's end with centre (x, y, z)."""
    ax, ay, az = to_world(frame, 0.0, 0.0, 1.0)
    return (ax * (x - px) + ay * (y - py) + az * (z - pz)) / (ax * nx + ay * ny + az * nz)


@kernel()
def _crossings(
    shape_a, frame_a, shape_b, frame_b, nx, ny, nz, gap, same, own, kinds, counts, corners, numbers,
    point, normals, gaps, features, indices, directions, radii, count,
):  # fmt: skip
    """Add the contacts where the outlines of two touching features cross, with the `gap` of the shapes, or, where
    edges cross, each its `own`; returns the number of contacts."""
    sides_a = 1 if kinds[0] != SEVERAL else counts[0]
    sides_b = 1 if kinds[1] != SEVERAL else counts[1]
    shift = 0.5 * (shape_b.radius - shape_a.radius)
    for i in range(sides_a):
        i2 = (i + 1) % max(counts[0], 2)
        for j in range(sides_b):
            j2 = (j + 1) % max(counts[1], 2)
            found, apart, apart_b = 0, gap, gap
            ax = ay = az = bx = by = bz = 0.0  # up to two crossings
            if kinds[0] != ROUND and kinds[1] != ROUND:
                A, B = corners[0], corners[1]
                h0 = _side_of_edge(B, j, j2, nx, ny, nz, A[i, 0], A[i, 1], A[i, 2])
                h1 = _side_of_edge(B, j, j2, nx, ny, nz, A[i2, 0], A[i2, 1], A[i2, 2])
                k0 = _side_of_edge(A, i, i2, nx, ny, nz, B[j, 0], B[j, 1], B[j, 2])
                k1 = _side_of_edge(A, i, i2, nx, ny, nz, B[j2, 0], B[j2, 1], B[j2, 2])
                if min(abs(h0), abs(h1), abs(k0), abs(k1)) <= same or h0 * h1 > 0.0 or k0 * k1 > 0.0:
                    continue
                s, t = h0 / (h0 - h1), k0 / (k0 - k1)
                ax = 0.5 * (A[i, 0] + s * (A[i2, 0] - A[i, 0]) + B[j, 0] + t * (B[j2, 0] - B[j, 0]))
                ay = 0.5 * (A[i, 1] + s * (A[i2, 1] - A[i, 1]) + B[j, 1] + t * (B[j2, 1] - B[j, 1]))
                az = 0.5 * (A[i, 2] + s * (A[i2, 2] - A[i, 2]) + B[j, 2] + t * (B[j2, 2] - B[j, 2]))
                found = 1
                if own:
                    apart = -shape_a.radius - shape_b.radius
                    for k in range(3):
                        m = nx if k == 0 else (ny if k == 1 else nz)
                        apart += m * (A[i, k] + s * (A[i2, k] - A[i, k]) - B[j, k] - t * (B[j2, k] - B[j, k]))
            elif kinds[0] == ROUND and kinds[1] == ROUND:
                dx, dy, dz = (
                    corners[1, 0, 0] - corners[0, 0, 0],
                    corners[1, 0, 1] - corners[0, 0, 1],
                    corners[1, 0, 2] - corners[0, 0, 2],
                )
                off = dx * nx + dy * ny + dz * nz
                dx, dy, dz = dx - off * nx, dy - off * ny, dz - off * nz
                distance = np.sqrt(dx * dx + dy * dy + dz * dz)
                ra, rb = shape_a.disk, shape_b.disk
                if distance <= abs(ra - rb) + same or distance >= ra + rb - same:
                    continue
                along = 0.5 * (distance + (ra * ra - rb * rb) / distance)
                half = np.sqrt(ra * ra - along * along)
                ux, uy, uz = dx / distance, dy / distance, dz / distance
                wx, wy, wz = cross(nx, ny, nz, ux, uy, uz)
                x = corners[0, 0, 0] + along * ux + 0.5 * off * nx
                y = corners[0, 0, 1] + along * uy + 0.5 * off * ny
                z = corners[0, 0, 2] + along * uz + 0.5 * off * nz
                ax, ay, az = x + half * wx, y + half * wy, z + half * wz
                bx, by, bz = x - half * wx, y - half * wy, z - half * wz
                found = 2
                if own:
                    A, B = corners[0, 0], corners[1, 0]
                    above = _height_of_end(frame_a, A[0], A[1], A[2], nx, ny, nz, ax, ay, az)
                    under = _height_of_end(frame_b, B[0], B[1], B[2], nx, ny, nz, ax, ay, az)
                    apart, off = above - under, 0.5 * (above + under)
                    ax, ay, az = ax + off * nx, ay + off * ny, az + off * nz
                    above = _height_of_end(frame_a, A[0], A[1], A[2], nx, ny, nz, bx, by, bz)
                    under = _height_of_end(frame_b, B[0], B[1], B[2], nx, ny, nz, bx, by, bz)
                    apart_b, off = above - under, 0.5 * (above + under)
                    bx, by, bz = bx + off * nx, by + off * ny, bz + off * nz
            else:
                flat, ring = (1, 0) if kinds[0] == ROUND else (0, 1)
                p, q = (j, j2) if flat == 1 else (i, i2)
                disk = shape_a.disk if ring == 0 else shape_b.disk
                L = corners[flat]
                ex, ey, ez = L[q, 0] - L[p, 0], L[q, 1] - L[p, 1], L[q, 2] - L[p, 2]
                cx, cy, cz = (
                    L[p, 0] - corners[ring, 0, 0], L[p, 1] - corners[ring, 0, 1], L[p, 2] - corners[ring, 0, 2],
                )  # fmt: skip
                off = cx * nx + cy * ny + cz * nz
                tilt = ex * nx + ey * ny + ez * nz
                cx, cy, cz = cx - off * nx, cy - off * ny, cz - off * nz
                ex, ey, ez = ex - tilt * nx, ey - tilt * ny, ez - tilt * nz
                square = ex * ex + ey * ey + ez * ez
                middle = -(cx * ex + cy * ey + cz * ez) / square
                R = corners[ring]
                distance = abs(_side_of_edge(L, p, q, nx, ny, nz, R[0, 0], R[0, 1], R[0, 2]))
                if distance >= disk - same:
                    continue
                half = np.sqrt((disk * disk - distance * distance) / square)
                margin = same / np.sqrt(square)
                for t in (middle - half, middle + half):
                    if margin < t < 1.0 - margin:
                        px, py, pz = L[p, 0], L[p, 1], L[p, 2]
                        px, py, pz = px + t * (L[q, 0] - px), py + t * (L[q, 1] - py), pz + t * (L[q, 2] - pz)
                        down = 0.5 * (off + t * tilt)
                        x, y, z = px - down * nx, py - down * ny, pz - down * nz
                        above = gap
                        if own:
                            frame = frame_a if ring == 0 else frame_b
                            down = -_height_of_end(frame, R[0, 0], R[0, 1], R[0, 2], nx, ny, nz, px, py, pz)
                            above = (-down if ring == 0 else down) - shape_a.radius - shape_b.radius
                            x, y, z = px - 0.5 * down * nx, py - 0.5 * down * ny, pz - 0.5 * down * nz
                        if found == 0:
                            ax, ay, az, apart = x, y, z, above
                        else:
                            bx, by, bz, apart_b = x, y, z, above
                        found += 1
            for k in range(found):
                x, y, z = (ax, ay, az) if k == 0 else (bx, by, bz)
                x, y, z = x + shift * nx, y + shift * ny, z + shift * nz
                if _known(point, count, x, y, z, same):
                    continue
                point[count, 0], point[count, 1], point[count, 2] = x, y, z
                normals[count, 0], normals[count, 1], normals[count, 2] = nx, ny, nz
                gaps[count] = apart if k == 0 else apart_b
                for side in range(2):
                    shape, frame = (shape_a, frame_a) if side == 0 else (shape_b, frame_b)
                    if kinds[side] == ROUND:
                        feature, number = RIM, numbers[side, 0]
                    else:
                        p, q = (i, i2) if side == 0 else (j, j2)
                        feature = EDGE
                        number = _edge_between(shape, numbers[side, p], numbers[side, q])
                    _note_feature(
                        shape, frame, side, feature, number, count, features, indices, directions, radii
                    )
                count += 1
    return count
