"""Compiled collision kernels of convex shapes: signed distance, time of impact, contacts.

A shape is hull(points) + disk + ball, sums of sets: `points` in body axes, a disk about the body's z axis and a
ball, either of which may have radius zero (`CollisionShape`). Its lowest point along a direction needs nothing
else, so one code serves spheres, capsules, cylinders and polytopes. Over half-spaces an ellipsoid may be added.

A *frame* is an array (18,): rotation body to world by rows, position [m], velocity [m/s], angular velocity
[rad/s], all in world axes. An *axis* is a unit vector from the second shape to the first, as three numbers.

For every unit axis n the separation s(n) = min over A of n.x - max over B of n.x is a lower bound of the signed
distance, and its maximum over n is that distance. GJK finds an axis; near contact, where differences of points
have no digits left, the maximum is taken over the axes that features define (face normals, products of edges,
stationary points of the disks), which are exact at any gap.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import (
    TERMS,
    cross,
    ellipsoid_height,
    ellipsoid_lowest,
    evaluate_piece,
    first_root,
    matrix2x3,
    matrix4x3,
    vector13,
    vector18,
)
from ..tolerances import CONTACT_GAP, DEEPEST, MOST_SEARCH_STEPS, PENETRATION, TOUCH_GAP

POINT, EDGE, FACE, RIM = 0, 1, 2, 3  # as in event.Feature
SEVERAL, ROUND = 2, 3  # kinds of touching features beyond point and segment: polygon, disk
RIM_POINTS = 8
_FEW_EDGE_PAIRS = 400
_ROUNDING = 4e-16
_SHIFT = 1e-3
_NEAR = 1e-3
_CREEPS = 30_000  # steps of a search; from then on it may pass over more
_PARALLEL = 1e-6  # sine below which lines have no axis across them
_TIED = 16
_EXPANSIONS = 128
_SHALLOW = 1e-12  # of the size: less overlap is rounding of the event search, for which any good axis will do
_SPINLESS = (
    1.21  # a disk's points that do not spin about its axis have at most (1 + sqrt(2)) / 2 times the bound
)


@kernel()
def frame_of_state(state, frame):
    """Fill a frame from a packed state (13,)."""
    w, x, y, z = state[3], state[4], state[5], state[6]
    frame[0] = 1 - 2 * (y * y + z * z)
    frame[1] = 2 * (x * y - w * z)
    frame[2] = 2 * (x * z + w * y)
    frame[3] = 2 * (x * y + w * z)
    frame[4] = 1 - 2 * (x * x + z * z)
    frame[5] = 2 * (y * z - w * x)
    frame[6] = 2 * (x * z - w * y)
    frame[7] = 2 * (y * z + w * x)
    frame[8] = 1 - 2 * (x * x + y * y)
    for i in range(3):
        frame[9 + i] = state[i]
        frame[12 + i] = state[7 + i]
        frame[15 + i] = frame[3 * i] * state[10] + frame[3 * i + 1] * state[11] + frame[3 * i + 2] * state[12]


@kernel()
def used_terms(C):
    """Numbers of Taylor terms of translation and of rotation that are not all zero."""
    moving = turning = 1
    for k in range(1, TERMS):
        for i in range(13):
            if C[i, k] != 0.0:
                if 3 <= i < 7 or i >= 10:
                    turning = k + 1
                else:
                    moving = k + 1
    return moving, turning


@kernel()
def frame_of_piece(C, moving, turning, tau, state, frame):
    """Fill a frame from a piece `tau` seconds after its start; `state` (13,) is overwritten too."""
    for i in range(13):
        terms = turning if 3 <= i < 7 or i >= 10 else moving
        value = C[i, terms - 1]
        for k in range(terms - 2, -1, -1):
            value = value * tau + C[i, k]
        state[i] = value
    norm = np.sqrt(state[3] ** 2 + state[4] ** 2 + state[5] ** 2 + state[6] ** 2)
    for i in range(3, 7):
        state[i] /= norm
    frame_of_state(state, frame)


@kernel(forceinline=True)
def to_body(frame, x, y, z):
    """A world direction in body axes."""
    return (
        frame[0] * x + frame[3] * y + frame[6] * z,
        frame[1] * x + frame[4] * y + frame[7] * z,
        frame[2] * x + frame[5] * y + frame[8] * z,
    )


@kernel(forceinline=True)
def to_world(frame, x, y, z):
    """A body direction in world axes."""
    return (
        frame[0] * x + frame[1] * y + frame[2] * z,
        frame[3] * x + frame[4] * y + frame[5] * z,
        frame[6] * x + frame[7] * y + frame[8] * z,
    )


@kernel(forceinline=True)
def normalised(x, y, z):
    """Unit vector along (x, y, z), which is not zero."""
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@kernel()
def lowest(shape, mx, my, mz):
    """Core point that lies lowest along a body direction of any length, and that height with disk and ellipsoid."""
    points = shape.points
    best = 0
    low = points[0, 0] * mx + points[0, 1] * my + points[0, 2] * mz
    for j in range(1, points.shape[0]):
        value = points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz
        if value < low:
            low = value
            best = j
    if shape.disk > 0.0:
        low -= shape.disk * np.sqrt(mx * mx + my * my)
    return best, low - ellipsoid_height(shape.semi_axes, mx, my, mz)


@kernel()
def lowest_point(shape, frame, nx, ny, nz):
    """Core point number and world point of hull + disk + ellipsoid that lies lowest along a world direction."""
    mx, my, mz = to_body(frame, nx, ny, nz)
    j, _ = lowest(shape, mx, my, mz)
    x, y, z = shape.points[j, 0], shape.points[j, 1], shape.points[j, 2]
    across = np.sqrt(mx * mx + my * my)
    if shape.disk > 0.0 and across > 0.0:
        x -= shape.disk * mx / across
        y -= shape.disk * my / across
    bx, by, bz = ellipsoid_lowest(shape.semi_axes, mx, my, mz)
    x, y, z = to_world(frame, x + bx, y + by, z + bz)
    return j, x + frame[9], y + frame[10], z + frame[11]


@kernel()
def core_gap(shape_a, frame_a, shape_b, frame_b, nx, ny, nz):
    """Separation s(n) [m] of the shapes without their balls, and the lowest core point of each."""
    ax, ay, az = to_body(frame_a, nx, ny, nz)
    bx, by, bz = to_body(frame_b, -nx, -ny, -nz)
    i, low_a = lowest(shape_a, ax, ay, az)
    j, low_b = lowest(shape_b, bx, by, bz)
    between = (
        nx * (frame_a[9] - frame_b[9]) + ny * (frame_a[10] - frame_b[10]) + nz * (frame_a[11] - frame_b[11])
    )
    return between + low_a + low_b, i, j


# -- GJK ---------------------------------------------------------------------------------------------------


@kernel()
def _nearest_on_segment(S, i, j):
    """Point of the segment S[i] S[j] nearest to the origin: (x, y, z, which ends are needed as bits)."""
    ax, ay, az = S[i, 0], S[i, 1], S[i, 2]
    dx, dy, dz = S[j, 0] - ax, S[j, 1] - ay, S[j, 2] - az
    down = -(ax * dx + ay * dy + az * dz)
    square = dx * dx + dy * dy + dz * dz
    if down <= 0.0:
        return ax, ay, az, 1
    if down >= square:
        return S[j, 0], S[j, 1], S[j, 2], 2
    t = down / square
    return ax + t * dx, ay + t * dy, az + t * dz, 3


@kernel()
def _nearest_on_triangle(S, i, j, k):
    """Point of a triangle nearest to the origin: (x, y, z, which corners are needed as bits)."""
    ux, uy, uz = S[j, 0] - S[i, 0], S[j, 1] - S[i, 1], S[j, 2] - S[i, 2]
    vx, vy, vz = S[k, 0] - S[i, 0], S[k, 1] - S[i, 1], S[k, 2] - S[i, 2]
    nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
    square = nx * nx + ny * ny + nz * nz
    if square > 0.0:
        inside = True
        for corner in range(3):
            p = i if corner == 0 else (j if corner == 1 else k)
            q = j if corner == 0 else (k if corner == 1 else i)
            ex, ey, ez = S[q, 0] - S[p, 0], S[q, 1] - S[p, 1], S[q, 2] - S[p, 2]
            cx, cy, cz = cross(nx, ny, nz, ex, ey, ez)
            if -(cx * S[p, 0] + cy * S[p, 1] + cz * S[p, 2]) < 0.0:
                inside = False
        if inside:
            t = (nx * S[i, 0] + ny * S[i, 1] + nz * S[i, 2]) / square
            return t * nx, t * ny, t * nz, 7
    best = np.inf
    x = y = z = 0.0
    used = 1
    for side in range(3):
        p = i if side == 0 else (j if side == 1 else k)
        q = j if side == 0 else (k if side == 1 else i)
        px, py, pz, bits = _nearest_on_segment(S, p, q)
        distance = px * px + py * py + pz * pz
        if distance < best:
            best = distance
            x, y, z = px, py, pz
            first = 1 << side
            second = 1 << ((side + 1) % 3)
            used = (first if bits & 1 else 0) | (second if bits & 2 else 0)
    return x, y, z, used


@kernel()
def _reduce_simplex(S, count):
    """Point of a simplex of up to 4 points nearest to the origin; keeps in S only the points it needs.

    Returns (x, y, z, count); count 4 means that the origin lies inside.
    """
    if count == 1:
        return S[0, 0], S[0, 1], S[0, 2], 1
    if count == 2:
        x, y, z, used = _nearest_on_segment(S, 0, 1)
    elif count == 3:
        x, y, z, used = _nearest_on_triangle(S, 0, 1, 2)
    else:
        best = np.inf
        x = y = z = 0.0
        used = 0
        outside = False
        for apex in range(4):
            i = 1 if apex == 0 else 0
            j = 2 if apex <= 1 else 1
            k = 3 if apex <= 2 else 2
            ux, uy, uz = S[j, 0] - S[i, 0], S[j, 1] - S[i, 1], S[j, 2] - S[i, 2]
            vx, vy, vz = S[k, 0] - S[i, 0], S[k, 1] - S[i, 1], S[k, 2] - S[i, 2]
            nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
            here = -(nx * S[i, 0] + ny * S[i, 1] + nz * S[i, 2])
            there = nx * (S[apex, 0] - S[i, 0]) + ny * (S[apex, 1] - S[i, 1]) + nz * (S[apex, 2] - S[i, 2])
            if here * there > 0.0:
                continue
            outside = True
            px, py, pz, bits = _nearest_on_triangle(S, i, j, k)
            distance = px * px + py * py + pz * pz
            if distance < best:
                best = distance
                x, y, z = px, py, pz
                used = 0
                if bits & 1:
                    used |= 1 << i
                if bits & 2:
                    used |= 1 << j
                if bits & 4:
                    used |= 1 << k
        if not outside:
            return 0.0, 0.0, 0.0, 4
    kept = 0
    for p in range(count):
        if used & (1 << p):
            S[kept, 0], S[kept, 1], S[kept, 2] = S[p, 0], S[p, 1], S[p, 2]
            kept += 1
    return x, y, z, kept


@kernel()
def nearest_axis(shape_a, frame_a, shape_b, frame_b, sx, sy, sz, nx, ny, nz, accuracy, radius, size, S):
    """GJK on the cores, A shifted by (sx, sy, sz): best axis, its separation and the distance reached [m].

    Starts along the axis (nx, ny, nz). Distance 0: they meet, or are too close for differences of points. Ends
    when separation and distance, which enclose the true distance, agree to `accuracy` [of the distance less
    `radius`]. `S` (4, 3) is scratch.
    """
    x, y, z = nx, ny, nz
    count = 0
    distance = np.inf
    best = -np.inf
    for _ in range(200):
        _, ax, ay, az = lowest_point(shape_a, frame_a, x, y, z)
        _, bx, by, bz = lowest_point(shape_b, frame_b, -x, -y, -z)
        wx, wy, wz = ax - bx + sx, ay - by + sy, az - bz + sz
        length = np.sqrt(x * x + y * y + z * z)
        separation = (x * wx + y * wy + z * wz) / length
        if separation > best:
            best = separation
            nx, ny, nz = x / length, y / length, z / length
        if (count > 0 and distance - best <= accuracy * (distance - radius)) or count == 4:
            break
        known = False
        for p in range(count):
            if S[p, 0] == wx and S[p, 1] == wy and S[p, 2] == wz:
                known = True
        if known:
            break
        S[count, 0], S[count, 1], S[count, 2] = wx, wy, wz
        x, y, z, count = _reduce_simplex(S, count + 1)
        closer = np.sqrt(x * x + y * y + z * z)
        if closer <= 1e-13 * size:
            return nx, ny, nz, best, 0.0
        if closer >= distance:
            break
        distance = closer
    return nx, ny, nz, best, distance


# -- axes that features define -----------------------------------------------------------------------------


@kernel()
def _edges_near(shape, frame, nx, ny, nz, cosine, above, found):
    """Edges whose normals come near -n: rows of `found` (direction, normals of both faces, lower end), how many.

    `cosine` -1 takes all. Where `above` [m] is not negative, those that begin or end within it of the lowest
    plane instead. Edges without faces (segments) have zero normals.
    """
    count = 0
    sine = np.sqrt(1.0 - cosine * cosine) if cosine > 0.0 else 1.0
    mx, my, mz = to_body(frame, nx, ny, nz)
    limit = np.inf
    if cosine > 0.0 or above >= 0.0:
        _, low = lowest(shape, mx, my, mz)
        low += shape.disk * np.sqrt(mx * mx + my * my)
        limit = low + (above if above >= 0.0 else 2.0 * shape.reach * sine)
    edges, ends, points = shape.edges, shape.edge_ends, shape.points
    for e in range(edges.shape[0]):
        if abs(edges[e, 0] * mx + edges[e, 1] * my + edges[e, 2] * mz) > sine:
            continue
        i, j = ends[e, 0], ends[e, 1]
        start = points[i, 0] * mx + points[i, 1] * my + points[i, 2] * mz
        end = points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz
        if min(start, end) > limit:
            continue
        row = found[count]
        row[9] = i if start <= end else j
        row[0], row[1], row[2] = to_world(frame, edges[e, 0], edges[e, 1], edges[e, 2])
        for side in range(2):
            f = shape.edge_faces[e, side]
            p = 3 + 3 * side
            row[p] = row[p + 1] = row[p + 2] = 0.0
            if f >= 0:
                normal = shape.normals[f]
                row[p], row[p + 1], row[p + 2] = to_world(frame, normal[0], normal[1], normal[2])
        count += 1
    return count


@kernel(forceinline=True)
def _along(row, p, x, y, z):
    return row[p] * x + row[p + 1] * y + row[p + 2] * z


@kernel()
def feature_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, cosine, near_a, near_b):
    """Axis of greatest separation among face normals and products of edges: (axis, separation).

    Only axes within `cosine` of (nx, ny, nz) are tried (-1: all, and then this is the exact answer for polytopes,
    overlapping or not). A pair of edges makes a face of the difference of two polytopes only where their arcs on
    the sphere of normals cross, so the others are passed over. Separation -inf: there is no such axis. `near_a`,
    `near_b` (edges, 10) are scratch.
    """
    best = -np.inf
    bx, by, bz = nx, ny, nz
    for side in range(2):
        shape = shape_a if side == 0 else shape_b
        frame = frame_a if side == 0 else frame_b
        sign = -1.0 if side == 0 else 1.0
        mx, my, mz = to_body(frame, sign * nx, sign * ny, sign * nz)
        normals = shape.normals
        for f in range(normals.shape[0]):
            if normals[f, 0] * mx + normals[f, 1] * my + normals[f, 2] * mz < cosine:
                continue
            x, y, z = to_world(frame, sign * normals[f, 0], sign * normals[f, 1], sign * normals[f, 2])
            s, _, _ = core_gap(shape_a, frame_a, shape_b, frame_b, x, y, z)
            if s > best:
                best = s
                bx, by, bz = x, y, z
    count_a = _edges_near(shape_a, frame_a, nx, ny, nz, cosine, -1.0, near_a)
    count_b = _edges_near(shape_b, frame_b, -nx, -ny, -nz, cosine, -1.0, near_b)
    for i in range(count_a):
        a = near_a[i]
        bounded_a = a[3] != 0.0 or a[4] != 0.0 or a[5] != 0.0
        for j in range(count_b):
            b = near_b[j]
            bounded_b = b[3] != 0.0 or b[4] != 0.0 or b[5] != 0.0
            if bounded_b and _along(b, 3, a[0], a[1], a[2]) * _along(b, 6, a[0], a[1], a[2]) >= 0.0:
                continue
            if bounded_a and _along(a, 3, b[0], b[1], b[2]) * _along(a, 6, b[0], b[1], b[2]) >= 0.0:
                continue
            # the difference of nearly parallel edges is exact, so their product is across both to rounding
            same = 1.0 if _along(a, 0, b[0], b[1], b[2]) > 0.0 else -1.0
            x, y, z = cross(a[0], a[1], a[2], b[0] - same * a[0], b[1] - same * a[1], b[2] - same * a[2])
            length = np.sqrt(x * x + y * y + z * z)
            if length < 1e-12:
                continue
            x, y, z = x / length, y / length, z / length
            outward_a = _along(a, 3, x, y, z) + _along(a, 6, x, y, z)
            outward_b = _along(b, 3, x, y, z) + _along(b, 6, x, y, z)
            if outward_a * outward_b > 0.0:
                continue
            for sign in (1.0, -1.0):
                if sign * outward_a > 0.0 or sign * outward_b < 0.0:
                    continue
                if sign * (x * nx + y * ny + z * nz) < cosine:
                    continue
                s, _, _ = core_gap(shape_a, frame_a, shape_b, frame_b, sign * x, sign * y, sign * z)
                if s > best + _ROUNDING * abs(s):
                    best = s
                    bx, by, bz = sign * x, sign * y, sign * z
    return bx, by, bz, best


# -- disks -------------------------------------------------------------------------------------------------


@kernel()
def _smooth_gap(disk_a, frame_a, disk_b, frame_b, dx, dy, dz, nx, ny, nz):
    """n.d less the two disks along the axis n."""
    s = nx * dx + ny * dy + nz * dz
    for side in range(2):
        disk = disk_a if side == 0 else disk_b
        frame = frame_a if side == 0 else frame_b
        mx, my, _ = to_body(frame, nx, ny, nz)
        s -= disk * np.sqrt(mx * mx + my * my)
    return s


@kernel()
def stationary_axis(shape_a, frame_a, shape_b, frame_b, i, j, ex, ey, ez, nx, ny, nz):
    """Axis near n at which two core points i, j with their disks are separated most: Newton's method.

    Where (ex, ey, ez) is a unit vector only axes across it are tried. With d the difference of the points,
    F(n) = n.d - sum of disk |n x axis|; its gradient along the sphere and the second derivatives
    -F - sum of disk / |n x axis| (w w^T), w = axis x n normalised, are closed forms.
    """
    px, py, pz = to_world(frame_a, shape_a.points[i, 0], shape_a.points[i, 1], shape_a.points[i, 2])
    qx, qy, qz = to_world(frame_b, shape_b.points[j, 0], shape_b.points[j, 1], shape_b.points[j, 2])
    dx = px - qx + (frame_a[9] - frame_b[9])
    dy = py - qy + (frame_a[10] - frame_b[10])
    dz = pz - qz + (frame_a[11] - frame_b[11])
    bound = ex != 0.0 or ey != 0.0 or ez != 0.0
    if bound:
        off = nx * ex + ny * ey + nz * ez
        nx, ny, nz = normalised(nx - off * ex, ny - off * ey, nz - off * ez)
    disk_a, disk_b = shape_a.disk, shape_b.disk
    value = _smooth_gap(disk_a, frame_a, disk_b, frame_b, dx, dy, dz, nx, ny, nz)
    ox, oy, oz = nx, ny, nz
    slack = 1e-14 * (abs(dx) + abs(dy) + abs(dz) + disk_a + disk_b)
    before = np.inf
    for _ in range(20):
        if bound:
            ux, uy, uz = cross(ex, ey, ez, nx, ny, nz)
        elif abs(nx) < 0.6:
            ux, uy, uz = normalised(1.0 - nx * nx, -nx * ny, -nx * nz)
        else:
            ux, uy, uz = normalised(-ny * nx, 1.0 - ny * ny, -ny * nz)
        vx, vy, vz = cross(nx, ny, nz, ux, uy, uz)
        gu = dx * ux + dy * uy + dz * uz
        gv = dx * vx + dy * vy + dz * vz
        huu = hvv = max(value, 0.0)
        huv = 0.0
        for side in range(2):
            disk = disk_a if side == 0 else disk_b
            if disk == 0.0:
                continue
            frame = frame_a if side == 0 else frame_b
            mx, my, _ = to_body(frame, nx, ny, nz)
            across = np.sqrt(mx * mx + my * my)
            if across < 1e-14:
                return nx, ny, nz
            kux, kuy, _ = to_body(frame, ux, uy, uz)
            kvx, kvy, _ = to_body(frame, vx, vy, vz)
            gu -= disk * (mx * kux + my * kuy) / across
            gv -= disk * (mx * kvx + my * kvy) / across
            wu = (mx * kuy - my * kux) / across
            wv = (mx * kvy - my * kvx) / across
            huu += disk / across * wu * wu
            huv += disk / across * wu * wv
            hvv += disk / across * wv * wv
        if bound:
            gv = 0.0
            huv = 0.0
        small = 1e-14 * (huu + hvv)
        huu += small
        hvv += small
        determinant = huu * hvv - huv * huv
        if determinant <= 0.0:
            return nx, ny, nz
        step_u = (hvv * gu - huv * gv) / determinant
        step_v = (huu * gv - huv * gu) / determinant
        if bound:
            step_v = 0.0
        turn = np.sqrt(step_u * step_u + step_v * step_v)
        if turn < 1e-16 or (turn < 1e-7 and turn > 0.5 * before):
            break
        before = turn
        fraction = min(1.0, 0.5 / turn)
        moved = False
        for _ in range(30):
            a, b = fraction * step_u, fraction * step_v
            x, y, z = normalised(nx + a * ux + b * vx, ny + a * uy + b * vy, nz + a * uz + b * vz)
            better = _smooth_gap(disk_a, frame_a, disk_b, frame_b, dx, dy, dz, x, y, z)
            # where the value is flat to rounding the gradient still tells where its maximum is
            if better > value or (turn < 1e-6 and better > value - slack):
                moved = True
                break
            fraction *= 0.5
        if not moved:
            break
        nx, ny, nz = x, y, z
        value = better
        if nx * ox + ny * oy + nz * oz < 0.8:  # other features have taken over long before
            break
    return nx, ny, nz


@kernel()
def _way_off_axis(shape_a, frame_a, shape_b, frame_b, i, j, ex, ey, ez, nx, ny, nz, sine):
    """Where n is the axis of a disk, at which the separation has a ridge: unit way on which it rises, else zero.

    Where (ex, ey, ez) is a unit vector only ways across it count. `sine` is how far from an axis its ridge reaches.
    """
    px, py, pz = to_world(frame_a, shape_a.points[i, 0], shape_a.points[i, 1], shape_a.points[i, 2])
    qx, qy, qz = to_world(frame_b, shape_b.points[j, 0], shape_b.points[j, 1], shape_b.points[j, 2])
    gx = px - qx + (frame_a[9] - frame_b[9])
    gy = py - qy + (frame_a[10] - frame_b[10])
    gz = pz - qz + (frame_a[11] - frame_b[11])
    ridge = 0.0
    for side in range(2):
        disk = shape_a.disk if side == 0 else shape_b.disk
        frame = frame_a if side == 0 else frame_b
        mx, my, _ = to_body(frame, nx, ny, nz)
        across = np.sqrt(mx * mx + my * my)
        if disk > 0.0 and across < sine:
            ridge += disk
        elif disk > 0.0:
            ux, uy, uz = to_world(frame, disk * mx / across, disk * my / across, 0.0)
            gx, gy, gz = gx - ux, gy - uy, gz - uz
    down = gx * nx + gy * ny + gz * nz
    gx, gy, gz = gx - down * nx, gy - down * ny, gz - down * nz
    off = gx * ex + gy * ey + gz * ez
    gx, gy, gz = gx - off * ex, gy - off * ey, gz - off * ez
    rise = np.sqrt(gx * gx + gy * gy + gz * gz)
    if ridge == 0.0 or rise <= ridge:
        return 0.0, 0.0, 0.0
    return gx / rise, gy / rise, gz / rise


@kernel()
def _tied_points(shape, frame, nx, ny, nz, tolerance, found):
    """Core points within `tolerance` [m] of the lowest along a world direction, _TIED at most; how many."""
    mx, my, mz = to_body(frame, nx, ny, nz)
    points = shape.points
    low = np.inf
    for j in range(points.shape[0]):
        low = min(low, points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz)
    count = 0
    for j in range(points.shape[0]):
        if count < _TIED and points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz <= low + tolerance:
            found[count] = j
            count += 1
    return count


@kernel(allocates=True)
def climbed_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, cone, size, near_a, near_b):
    """Climb from the axis n to the greatest separation: (axis, separation).

    Each round takes the best of the axes that features near n define, of the free stationary point and of
    those across one edge, until nothing better is found. Apart, the separation has no other maxima.
    """
    best, i, j = core_gap(shape_a, frame_a, shape_b, frame_b, nx, ny, nz)
    disks = shape_a.disk > 0.0 or shape_b.disk > 0.0
    tied = np.empty((2, _TIED), np.int64)
    for turn in range(20):
        before = best
        ties_a = ties_b = 0
        if not disks:
            ties_a = _tied_points(shape_a, frame_a, nx, ny, nz, 1e-6 * size, tied[0])
            ties_b = _tied_points(shape_b, frame_b, -nx, -ny, -nz, 1e-6 * size, tied[1])
        best -= 4.0 * _ROUNDING * size  # an axis known exactly is preferred to an equal one
        ox, oy, oz = nx, ny, nz
        cosine = np.sqrt(1.0 - cone * cone)
        x, y, z, s = feature_axis(shape_a, frame_a, shape_b, frame_b, ox, oy, oz, cosine, near_a, near_b)
        if s > best:
            best = s
            nx, ny, nz = x, y, z
        # where hulls nearly touch, axes far from each other separate them almost equally
        around, above = (cosine, -1.0) if disks else (-1.0, 1e-6 * size)
        count_a = _edges_near(shape_a, frame_a, ox, oy, oz, around, above, near_a)
        count_b = _edges_near(shape_b, frame_b, -ox, -oy, -oz, around, above, near_b)
        for e in range(-1, count_a + count_b):
            ex = ey = ez = 0.0
            if e >= count_a:
                ex, ey, ez = near_b[e - count_a, 0], near_b[e - count_a, 1], near_b[e - count_a, 2]
            elif e >= 0:
                ex, ey, ez = near_a[e, 0], near_a[e, 1], near_a[e, 2]
            sx, sy, sz = ox, oy, oz
            if e >= 0:
                off = ox * ex + oy * ey + oz * ez
                if abs(off) > 0.99:
                    continue
                sx, sy, sz = normalised(ox - off * ex, oy - off * ey, oz - off * ez)
            _, i, j = core_gap(shape_a, frame_a, shape_b, frame_b, sx, sy, sz)
            # several points of a hull may be lowest, and any two of them the nearest
            for k in range(1 if disks or 0 <= e < count_a else ties_a):
                for l in range(1 if disks or e >= count_a else ties_b):
                    first, second = i, j
                    if not disks:
                        first = int(near_a[e, 9]) if 0 <= e < count_a else tied[0, k]
                        second = int(near_b[e - count_a, 9]) if e >= count_a else tied[1, l]
                    x, y, z = stationary_axis(
                        shape_a, frame_a, shape_b, frame_b, first, second, ex, ey, ez, sx, sy, sz
                    )
                    s, _, _ = core_gap(shape_a, frame_a, shape_b, frame_b, x, y, z)
                    if s > best + _ROUNDING * size:
                        best = s
                        nx, ny, nz = x, y, z
        if disks:
            _, i, j = core_gap(shape_a, frame_a, shape_b, frame_b, nx, ny, nz)
            tx, ty, tz = _way_off_axis(
                shape_a, frame_a, shape_b, frame_b, i, j, 0.0, 0.0, 0.0, nx, ny, nz, 1e-14
            )
            if tx != 0.0 or ty != 0.0 or tz != 0.0:
                ox, oy, oz = nx, ny, nz
                for scale in range(
                    1, 9
                ):  # Newton's method only sees maxima about as far from a ridge as it is
                    off = 10.0**-scale
                    sx, sy, sz = normalised(ox + off * tx, oy + off * ty, oz + off * tz)
                    x, y, z = stationary_axis(
                        shape_a, frame_a, shape_b, frame_b, i, j, 0.0, 0.0, 0.0, sx, sy, sz
                    )
                    s, _, _ = core_gap(shape_a, frame_a, shape_b, frame_b, x, y, z)
                    if s > best + _ROUNDING * size:
                        best = s
                        nx, ny, nz = x, y, z
        if turn > 0 and best - before <= 1e-15 * size:
            break
        moved = np.sqrt((nx - ox) ** 2 + (ny - oy) ** 2 + (nz - oz) ** 2)
        cone = min(0.5, max(4.0 * moved, 1e-4))
    best, i, j = core_gap(shape_a, frame_a, shape_b, frame_b, nx, ny, nz)
    return nx, ny, nz, best


@kernel(allocates=True)
def _touching_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, best, size, near_a, near_b):
    """Best axis of shapes with disks that nearly touch along n, wherever it is: (axis, separation).

    Tried are all axes that features define and the stationary axes of all pairs of features that reach the planes
    of contact. An axis that separates them more than n does is the best of one of these pairs, since of each pair
    the separation has one maximum above zero; it may be far from n, with nothing better on the way.
    """
    above = 1e-6 * size
    ox, oy, oz = nx, ny, nz
    tied = np.empty((2, _TIED), np.int64)
    ties_a = _tied_points(shape_a, frame_a, nx, ny, nz, above, tied[0])
    ties_b = _tied_points(shape_b, frame_b, -nx, -ny, -nz, above, tied[1])
    x, y, z, s = feature_axis(shape_a, frame_a, shape_b, frame_b, ox, oy, oz, -1.0, near_a, near_b)
    if s > best + _ROUNDING * size:
        best = s
        nx, ny, nz = x, y, z
    count_a = _edges_near(shape_a, frame_a, ox, oy, oz, -1.0, above, near_a)
    count_b = _edges_near(shape_b, frame_b, -ox, -oy, -oz, -1.0, above, near_b)
    for e in range(-1, count_a + count_b):
        ex = ey = ez = 0.0
        sx, sy, sz = ox, oy, oz
        if e >= 0:
            row = near_a[e] if e < count_a else near_b[e - count_a]
            ex, ey, ez = row[0], row[1], row[2]
            off = ox * ex + oy * ey + oz * ez
            sx, sy, sz = ox - off * ex, oy - off * ey, oz - off * ez
            if abs(off) > 0.99:  # its own faces tell where it points
                sign = -1.0 if e < count_a else 1.0
                sx, sy, sz = sign * (row[3] + row[6]), sign * (row[4] + row[7]), sign * (row[5] + row[8])
                if sx == 0.0 and sy == 0.0 and sz == 0.0:
                    continue
            sx, sy, sz = normalised(sx, sy, sz)
        for k in range(1 if 0 <= e < count_a else ties_a):
            for l in range(1 if e >= count_a else ties_b):
                i = int(near_a[e, 9]) if 0 <= e < count_a else tied[0, k]
                j = int(near_b[e - count_a, 9]) if e >= count_a else tied[1, l]
                tx, ty, tz = _way_off_axis(
                    shape_a, frame_a, shape_b, frame_b, i, j, ex, ey, ez, sx, sy, sz, 1e-7
                )
                for start in range(3):  # on the axis of a disk, a ridge, the search also starts beside it
                    off = 0.0 if start == 0 else (0.1 if start == 1 else 1e-3)
                    x, y, z = normalised(sx + off * tx, sy + off * ty, sz + off * tz)
                    for _ in range(5):
                        px, py, pz = x, y, z
                        x, y, z = stationary_axis(
                            shape_a, frame_a, shape_b, frame_b, i, j, ex, ey, ez, px, py, pz
                        )
                        if x * px + y * py + z * pz >= 0.8:
                            break
                    s, _, _ = core_gap(shape_a, frame_a, shape_b, frame_b, x, y, z)
                    if s > best + _ROUNDING * size:
                        best = s
                        nx, ny, nz = x, y, z
                    if tx == 0.0 and ty == 0.0 and tz == 0.0:
                        break
    return nx, ny, nz, best


# -- the way out of an overlap -----------------------------------------------------------------------------


@kernel()
def _difference_point(shape_a, frame_a, shape_b, frame_b, nx, ny, nz):
    """Point of hull + disk of A less that of B that lies lowest along n."""
    _, ax, ay, az = lowest_point(shape_a, frame_a, nx, ny, nz)
    _, bx, by, bz = lowest_point(shape_b, frame_b, -nx, -ny, -nz)
    return ax - bx, ay - by, az - bz


@kernel()
def _put_face(points, i, j, k, most, corners, planes, face_of, f):
    """Make face f the triangle of points i, j, k, with its plane: inward normal, n.x on it.

    The latter is -inf where rounding leaves no normal, or one that puts the plane above `most`.
    """
    P, Q, R = points[i], points[j], points[k]
    x, y, z = cross(Q[0] - P[0], Q[1] - P[1], Q[2] - P[2], R[0] - P[0], R[1] - P[1], R[2] - P[2])
    length = np.sqrt(x * x + y * y + z * z)
    corners[f, 0], corners[f, 1], corners[f, 2] = i, j, k
    face_of[i, j] = face_of[j, k] = face_of[k, i] = f
    planes[f, 0] = planes[f, 1] = planes[f, 2] = 0.0
    planes[f, 3] = -np.inf
    if length > 0.0:
        planes[f, 0], planes[f, 1], planes[f, 2] = -x / length, -y / length, -z / length
        inner = -(x * P[0] + y * P[1] + z * P[2]) / length
        if inner <= most:
            planes[f, 3] = inner


@kernel()
def _first_tetrahedron(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, points):
    """Fill four rows of `points` with points of the difference of two shapes that span a tetrahedron."""
    ux, uy, uz = cross(nx, ny, nz, 1.0, 0.0, 0.0) if abs(nx) < 0.6 else cross(nx, ny, nz, 0.0, 1.0, 0.0)
    ux, uy, uz = normalised(ux, uy, uz)
    for row in range(4):
        x, y, z = nx, ny, nz  # along n, against it, away from the line, away from the plane
        if row == 1:
            x, y, z = -nx, -ny, -nz
        elif row == 2:
            dx, dy, dz = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
            x, y, z = cross(dx, dy, dz, ux, uy, uz)
        elif row == 3:
            P, Q, R = points[0], points[1], points[2]
            x, y, z = cross(Q[0] - P[0], Q[1] - P[1], Q[2] - P[2], R[0] - P[0], R[1] - P[1], R[2] - P[2])
        x, y, z = normalised(x, y, z)
        farthest = -1.0
        for sign in (1.0, -1.0) if row > 1 else (1.0, 1.0):
            px, py, pz = _difference_point(shape_a, frame_a, shape_b, frame_b, sign * x, sign * y, sign * z)
            off = 0.0
            if row > 1:
                P = points[0]
                off = abs(x * (px - P[0]) + y * (py - P[1]) + z * (pz - P[2]))
            if off > farthest:
                farthest = off
                points[row, 0], points[row, 1], points[row, 2] = px, py, pz


@kernel(allocates=True)
def _expanded_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, accuracy):
    """Axis of greatest separation of overlapping shapes, one of them a cylinder: (axis, separation).

    A polytope inside the difference of the shapes grows at its face nearest to the origin until that face is at
    the surface to `accuracy` [m]: no other axis can then be better. Rounding may end this earlier.
    """
    points = np.empty((_EXPANSIONS + 4, 3))
    corners = np.empty((4 * _EXPANSIONS, 3), np.int64)
    planes = np.empty((4 * _EXPANSIONS, 4))
    # left of the edge from one point to another
    face_of = np.full((_EXPANSIONS + 4, _EXPANSIONS + 4), -1, np.int16)
    outline, seen = np.empty((4 * _EXPANSIONS, 2), np.int64), np.empty(4 * _EXPANSIONS, np.int64)
    is_seen = np.zeros(4 * _EXPANSIONS, np.bool_)
    _first_tetrahedron(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, points)
    _put_face(points, 0, 1, 2, np.inf, corners, planes, face_of, 0)
    x, y, z, inner = planes[0]
    mirrored = x * points[3, 0] + y * points[3, 1] + z * points[3, 2] < inner
    for f in range(4):  # all points but f
        i, j, k = (f + 1) % 4, (f + 2) % 4, (f + 3) % 4
        if (f % 2 == 0) != mirrored:
            i, j = j, i
        _put_face(points, i, j, k, np.inf, corners, planes, face_of, f)
    count, best = 4, -np.inf
    for new in range(4, _EXPANSIONS + 4):
        f = 0
        for k in range(1, count):
            if planes[k, 3] > planes[f, 3]:
                f = k
        x, y, z, inner = planes[f]
        px, py, pz = _difference_point(shape_a, frame_a, shape_b, frame_b, x, y, z)
        outer = x * px + y * py + z * pz
        if outer > best:
            best = outer
            nx, ny, nz = x, y, z
        if inner - best <= accuracy:
            break
        points[new, 0], points[new, 1], points[new, 2] = px, py, pz
        # the faces around f that the new point sees go, those from it to their outline come
        seen[0], is_seen[f] = f, True
        gone, done, sides = 1, 0, 0
        while done < gone:
            k = seen[done]
            done += 1
            for side in range(3):
                i, j = corners[k, side], corners[k, (side + 1) % 3]
                other = face_of[j, i]
                if other < 0 or sides == outline.shape[0]:  # rounding has folded the polytope
                    return nx, ny, nz, best
                if is_seen[other]:
                    continue
                height = planes[other, 0] * px + planes[other, 1] * py + planes[other, 2] * pz
                if height < planes[other, 3] or planes[other, 3] == -np.inf:
                    seen[gone], is_seen[other] = other, True
                    gone += 1
                else:
                    outline[sides, 0], outline[sides, 1] = i, j
                    sides += 1
        for k in range(gone):
            is_seen[seen[k]] = False
            planes[seen[k], 3] = -np.inf
        if count + sides > corners.shape[0]:
            break
        # once the origin is inside no face comes nearer to it, but for the rounding of narrow faces
        most = inner + 100.0 * accuracy if inner < 0.0 else np.inf
        for k in range(sides):
            f = seen[k]
            if k >= gone:
                f = count
                count += 1
            _put_face(points, outline[k, 0], outline[k, 1], new, most, corners, planes, face_of, f)
    return nx, ny, nz, best


# -- signed distance ---------------------------------------------------------------------------------------


@kernel()
def _polytope_axis(shape_a, frame_a, shape_b, frame_b, size, nx, ny, nz, gap, distance, S, near_a, near_b):
    """Best axis of two hulls and its separation [m], from what GJK found; exact where features define it."""
    # the angle between the axis found and the best one is bounded by the two bounds of the distance
    error = max(distance - gap, 1e-15 * size)
    if error <= 1e-3 * distance:
        if error <= 4e-15 * size and distance > 1e-3 * size:
            return nx, ny, nz, gap
        cosine = np.cos(2.0 * np.sqrt(error / distance) + 1e-3)
        x, y, z, s = feature_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, cosine, near_a, near_b)
        if s >= gap - _ROUNDING * size:
            return x, y, z, s
        return nx, ny, nz, gap
    if shape_a.edges.shape[0] * shape_b.edges.shape[0] > _FEW_EDGE_PAIRS:
        # moved a little apart along a fair axis they have the same best axis where that is sharp
        for _ in range(2):
            x, y, z, _, apart = nearest_axis(
                shape_a, frame_a, shape_b, frame_b,
                _SHIFT * size * nx, _SHIFT * size * ny, _SHIFT * size * nz, nx, ny, nz, 1e-15, 0.0, size, S,
            )  # fmt: skip
            if apart > 0.0:
                nx, ny, nz = x, y, z
        x, y, z, s = feature_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, 0.999, near_a, near_b)
        if s >= -1e-12 * size:
            return x, y, z, s
    x, y, z, s = feature_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, -1.0, near_a, near_b)
    if s == -np.inf:  # segments in a line, or a point in one: across it nothing separates them
        shape, frame = (shape_a, frame_a) if shape_a.edges.shape[0] else (shape_b, frame_b)
        if shape.edges.shape[0] == 0:
            return nx, ny, nz, 0.0
        ex, ey, ez = to_world(frame, shape.edges[0, 0], shape.edges[0, 1], shape.edges[0, 2])
        if abs(ez) < 0.9:
            x, y, z = normalised(-ey, ex, 0.0)
        else:
            x, y, z = normalised(0.0, -ez, ey)
        s, _, _ = core_gap(shape_a, frame_a, shape_b, frame_b, x, y, z)
    return x, y, z, s


@kernel()
def separation(shape_a, frame_a, shape_b, frame_b, size, nx, ny, nz, S, near_a, near_b):
    """Axis of greatest separation and signed distance [m] of two shapes: (nx, ny, nz, gap).

    The search starts along the axis given. `S` (4, 3), `near_a` and `near_b` (edges, 10) are scratch. Exact to
    rounding for polytopes grown by balls, also where they overlap; for cylinders to 1e-12 of the size, and to
    2e-11 where they overlap by less than 1e-9.
    """
    radius = shape_a.radius + shape_b.radius
    disks = shape_a.disk > 0.0 or shape_b.disk > 0.0
    accuracy = 1e-8 if disks else 1e-15
    nx, ny, nz, gap, distance = nearest_axis(
        shape_a, frame_a, shape_b, frame_b, 0.0, 0.0, 0.0, nx, ny, nz, accuracy, 0.0, size, S
    )
    if not disks:
        x, y, z, gap = _polytope_axis(
            shape_a, frame_a, shape_b, frame_b, size, nx, ny, nz, gap, distance, S, near_a, near_b
        )
        if gap < distance - 1e-14 * size:  # corners next to corners or edges that GJK could not tell apart
            x, y, z, gap = climbed_axis(
                shape_a, frame_a, shape_b, frame_b, x, y, z, 0.3, size, near_a, near_b
            )
        return x, y, z, gap - radius
    shift = 10.0 * _SHIFT * size
    for _ in range(3):
        if distance > shift:
            break
        x, y, z, s, far = nearest_axis(
            shape_a, frame_a, shape_b, frame_b, shift * nx, shift * ny, shift * nz, nx, ny, nz, 1e-8, 0.0, size, S
        )  # fmt: skip
        if far > 0.0:
            nx, ny, nz = x, y, z
    nx, ny, nz, gap = climbed_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, 0.3, size, near_a, near_b)
    if gap >= -1e-6 * size and gap - radius <= CONTACT_GAP * size:
        for _ in range(5):
            x, y, z, s = _touching_axis(
                shape_a, frame_a, shape_b, frame_b, nx, ny, nz, gap, size, near_a, near_b
            )
            if s <= gap:
                break
            nx, ny, nz, gap = climbed_axis(
                shape_a, frame_a, shape_b, frame_b, x, y, z, 0.05, size, near_a, near_b
            )
    if gap < -_SHALLOW * size:  # below zero there are maxima far apart
        x, y, z, s = _expanded_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, 1e-13 * size)
        x, y, z, s = climbed_axis(shape_a, frame_a, shape_b, frame_b, x, y, z, 0.05, size, near_a, near_b)
        if s > gap:
            nx, ny, nz, gap = x, y, z, s
    return nx, ny, nz, gap - radius


@kernel(allocates=True)
def pair_separation(shape_a, state_a, shape_b, state_b, size):
    """Unit axis (3,) from B to A and signed gap [m] of two shapes at packed states (13,)."""
    frame_a, frame_b = vector18(), vector18()
    frame_of_state(state_a, frame_a)
    frame_of_state(state_b, frame_b)
    axis = np.empty(3)
    x, y, z = state_a[0] - state_b[0], state_a[1] - state_b[1], state_a[2] - state_b[2]
    if x == 0.0 and y == 0.0 and z == 0.0:
        z = 1.0
    x, y, z = normalised(x, y, z)
    axis[0], axis[1], axis[2], gap = separation(
        shape_a, frame_a, shape_b, frame_b, size, x, y, z,
        np.empty((4, 3)), np.empty((shape_a.edges.shape[0], 10)), np.empty((shape_b.edges.shape[0], 10)),
    )  # fmt: skip
    return axis, gap


@kernel()
def half_space_gap(shape, state, normal, offset):
    """Signed gap [m] of a shape at a packed state (13,) over the half-space n.x <= offset."""
    frame = vector18()
    frame_of_state(state, frame)
    mx, my, mz = to_body(frame, normal[0], normal[1], normal[2])
    _, low = lowest(shape, mx, my, mz)
    return normal[0] * frame[9] + normal[1] * frame[10] + normal[2] * frame[11] + low - offset - shape.radius


# -- times of impact ---------------------------------------------------------------------------------------


@kernel()
def passed_over(steps, size):
    """Deepest overlap [m] that a search may pass over, after so many steps: more where it creeps along what touches
    all the time and hardly leaves, up to DEEPEST of the size."""
    if steps < _CREEPS:
        return PENETRATION * size
    return min(PENETRATION * (steps / _CREEPS) ** 6, DEEPEST) * size


@kernel()
def touching_gap(deepest, size):
    """Gap [m] up to which bodies touch in a search that may pass over overlaps of `deepest` [m]."""
    touch = TOUCH_GAP * size
    return max(touch, 0.1 * deepest) if deepest > PENETRATION * size else touch


@kernel(forceinline=True)
def _rim_rate(disk, mx, my, rx, ry, touch):
    """Rate -disk (m'.u) of the lowest point u of a rim, whose height is -disk (m.u); the slowest of all points
    where all are within `touch` of the lowest.

    (mx, my) is the direction across the axis, (rx, ry) its rate of change. (Points beside the lowest, within
    rounding as low, come closer while it leaves: their rates would take a rim that rolls off for one that hits.)
    """
    across = np.sqrt(mx * mx + my * my)
    if 2.0 * disk * across <= touch:
        return -disk * np.sqrt(rx * rx + ry * ry)
    return -disk * (rx * mx + ry * my) / across


@kernel()
def _lowest_rate(shape, mx, my, mz, rx, ry, rz, touch):
    """Slowest height rate of the points within `touch` of the lowest, the direction m changing at the rate r."""
    points = shape.points
    _, low = lowest(shape, mx, my, mz)
    rim = 0.0
    if shape.disk > 0.0:
        low += shape.disk * np.sqrt(mx * mx + my * my)
        rim = _rim_rate(shape.disk, mx, my, rx, ry, touch)
    slowest = np.inf
    for j in range(points.shape[0]):
        if points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz <= low + touch:
            slowest = min(slowest, points[j, 0] * rx + points[j, 1] * ry + points[j, 2] * rz)
    return slowest + rim


@kernel()
def _support_line(shape, mx, my, mz, rx, ry, rz, horizon):
    """Height and its rate now of the material point that would be lowest at the horizon [s] without curvature."""
    hx, hy, hz = mx + horizon * rx, my + horizon * ry, mz + horizon * rz
    j, _ = lowest(shape, hx, hy, hz)
    x, y, z = shape.points[j, 0], shape.points[j, 1], shape.points[j, 2]
    if shape.disk > 0.0:
        across = np.sqrt(hx * hx + hy * hy)
        if across > 0.0:
            x -= shape.disk * hx / across
            y -= shape.disk * hy / across
    return mx * x + my * y + mz * z, rx * x + ry * y + rz * z


@kernel()
def _support_rate(shape, frame, mx, my, mz, ox, oy, oz):
    """Rate [1/s] in body axes at which points that move with a body see a direction m (body axes) turn.

    In the world m turns at o [rad/s].
    """
    wx, wy, wz = to_body(frame, frame[15] - ox, frame[16] - oy, frame[17] - oz)
    if shape.disk > 0.0:  # as a set it is the same, and its rim then moves as slowly as it can
        wz = 0.0
    return cross(mx, my, mz, wx, wy, wz)


@kernel()
def half_space_impact(shape, C, begin, span, bounds, ignored, normal, offset, size, slow):
    """First time in [begin, span] at which a shape meets the half-space n.x <= offset: (time, core point).

    Advances by the root of a quadratic that lies under the gap of every point, so nothing is passed over; near an
    impact it is exact to second order and the steps converge like Newton's. `ignored` (k,) marks core points that
    are held in lasting contact, with their rims; approach at less than `slow` [m/s] is rounding. Core point -1:
    none, -2: the step limit was reached.
    """
    state, frame = vector13(), vector18()
    moving, turning = used_terms(C)
    points, disk = shape.points, shape.disk
    tau = begin
    nx, ny, nz = normal[0], normal[1], normal[2]
    acceleration = nx * bounds[0] + ny * bounds[1] + nz * bounds[2]
    ways = bounds[4] * shape.reach * (_SPINLESS if shape.disk > 0.0 else 1.0)
    a, b, c = shape.semi_axes[0], shape.semi_axes[1], shape.semi_axes[2]
    largest, smallest = max(a, b, c), min(a, b, c)
    if largest > 0.0:  # its height |A m| grows by at most (|A m'|^2 + |A m| |A m''|) / |A m|
        ways += bounds[4] * largest * (largest / smallest + 1.0)
    half_curvature = min(0.0, 0.5 * (acceleration - bounds[3] - ways))
    touch = TOUCH_GAP * size
    for made in range(MOST_SEARCH_STEPS):
        deepest = passed_over(made, size)
        close = touching_gap(deepest, size)
        frame_of_piece(C, moving, turning, tau, state, frame)
        mx, my, mz = to_body(frame, nx, ny, nz)
        rx, ry, rz = _support_rate(shape, frame, mx, my, mz, 0.0, 0.0, 0.0)
        height = nx * frame[9] + ny * frame[10] + nz * frame[11] - offset - shape.radius
        climb = nx * frame[12] + ny * frame[13] + nz * frame[14]
        rim = rim_rate = 0.0
        if disk > 0.0:
            rim = -disk * np.sqrt(mx * mx + my * my)
            rim_rate = _rim_rate(disk, mx, my, rx, ry, touch)
        if largest > 0.0:
            bx, by, bz = ellipsoid_lowest(shape.semi_axes, mx, my, mz)
            rim, rim_rate = bx * mx + by * my + bz * mz, bx * rx + by * ry + bz * rz
        step = np.inf
        for j in range(points.shape[0]):
            if ignored[j]:
                continue
            above = height + points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz
            rising = climb + points[j, 0] * rx + points[j, 1] * ry + points[j, 2] * rz
            gap = above + rim
            rate = rising + rim_rate
            if gap <= touch and rate < -slow:
                return tau, j
            slack = 0.0
            if gap <= close and (rate * rate <= -0.4 * half_curvature * deepest or -slow <= rate < 0.0):
                # it hardly leaves, or only rounding brings it closer: look again before it could be deeper
                # than allowed
                slack = max(deepest, 0.1 * deepest - gap)
            elif gap < 0.0:  # the lowest point leaves; of a rim others may come down
                slack = 0.1 * deepest - gap
            root = first_root(max(gap + slack, 0.0), rate, half_curvature)
            if disk > 0.0 and root < step:
                root = min(root, span - tau)
                for _ in range(100):
                    hx, hy = mx + root * rx, my + root * ry
                    across = np.sqrt(hx * hx + hy * hy)
                    if across == 0.0:
                        break
                    f = above + slack - disk * (mx * hx + my * hy) / across
                    r = rising - disk * (rx * hx + ry * hy) / across
                    shorter = first_root(max(f, 0.0), r, half_curvature)
                    if shorter >= root * (1.0 - 1e-12):
                        break
                    root = shorter
            step = min(step, root)
        if tau >= span:
            return np.inf, -1
        following = tau + step
        if following == tau:
            following = np.nextafter(tau, np.inf)
        tau = min(following, span)
    return tau, -2


@kernel()
def _spheres_impact(frame_a, frame_b, radius, touch, slow):
    """When two spheres in equal free fall meet [s], in closed form; -1 where they approach while they touch."""
    px, py, pz = frame_a[9] - frame_b[9], frame_a[10] - frame_b[10], frame_a[11] - frame_b[11]
    vx, vy, vz = frame_a[12] - frame_b[12], frame_a[13] - frame_b[13], frame_a[14] - frame_b[14]
    closing = -(px * vx + py * vy + pz * vz)
    if closing <= 0.0:
        return np.inf
    distance = np.sqrt(px * px + py * py + pz * pz)
    gap = distance - radius
    if gap <= touch:
        return -1.0
    cx, cy, cz = cross(px, py, pz, vx, vy, vz)
    square = vx * vx + vy * vy + vz * vz
    # no difference of large squares: the cross product is small where they hardly miss
    discriminant = square * radius * radius - (cx * cx + cy * cy + cz * cz)
    if discriminant <= (slow * radius) ** 2:
        return np.inf
    return gap * (distance + radius) / (closing + np.sqrt(discriminant))


@kernel()
def turning_bounds(shape_a, frame_a, bounds_a, shape_b, frame_b, bounds_b, horizon):
    """Bounds for axes that turn: (far [m], fast [m/s], horizon [s]).

    Over the horizon, at most the one given, any point of A and any of B have a difference of at most `far` that
    changes at most at `fast`.
    """
    apart = closing = pull = 0.0
    for i in range(3):
        apart += (frame_a[9 + i] - frame_b[9 + i]) ** 2
        closing += (frame_a[12 + i] - frame_b[12 + i]) ** 2
        pull += (bounds_a[i] - bounds_b[i]) ** 2
    apart, closing = np.sqrt(apart), np.sqrt(closing)
    deviation = np.sqrt(pull) + bounds_a[3] + bounds_b[3]
    around = shape_a.reach + shape_b.reach + shape_a.radius + shape_b.radius
    if closing > 0.0 or deviation > 0.0:
        horizon = min(horizon, first_root(around, -closing, -0.5 * deviation))
    fast = closing + np.sqrt(bounds_a[4]) * shape_a.reach + np.sqrt(bounds_b[4]) * shape_b.reach
    return apart + 2.0 * around, fast + (deviation * horizon if deviation > 0.0 else 0.0), horizon


@kernel()
def axis_step(
    shape_a, frame_a, bounds_a, shape_b, frame_b, bounds_b, nx, ny, nz, ox, oy, oz, far, fast, horizon, gap, size,
    deepest
):  # fmt: skip
    """How long an axis n separates two shapes that turns at the constant rate o [rad/s, world]: (step, rate).

    `gap` is the separation [m] along n now, `rate` the slowest rate of it [m/s]. A step from no gap is at most as
    long as they stay less deep than allowed. `far`, `fast`: see `turning_bounds`; they count only where o is not
    zero. With n = n(t) and d the difference of two points, |(n.d)''| <= o^2 |d| + 2 o |d'| + |d''|. An axis that
    turns with a body has that body's face at rest below it: one fixed in the world cannot tell corners of a
    turning face that come closer from the place of contact, which does not.
    """
    touch = TOUCH_GAP * size
    close = touching_gap(deepest, size)
    ax, ay, az = to_body(frame_a, nx, ny, nz)
    bx, by, bz = to_body(frame_b, -nx, -ny, -nz)
    rax, ray, raz = _support_rate(shape_a, frame_a, ax, ay, az, ox, oy, oz)
    rbx, rby, rbz = _support_rate(shape_b, frame_b, bx, by, bz, ox, oy, oz)
    tx, ty, tz = cross(ox, oy, oz, nx, ny, nz)
    dx, dy, dz = frame_a[9] - frame_b[9], frame_a[10] - frame_b[10], frame_a[11] - frame_b[11]
    drift = (
        nx * (frame_a[12] - frame_b[12]) + ny * (frame_a[13] - frame_b[13]) + nz * (frame_a[14] - frame_b[14])
    ) + (tx * dx + ty * dy + tz * dz)
    rate = (
        drift
        + _lowest_rate(shape_a, ax, ay, az, rax, ray, raz, touch)
        + _lowest_rate(shape_b, bx, by, bz, rbx, rby, rbz, touch)
    )
    ways_a = bounds_a[4] * shape_a.reach * (_SPINLESS if shape_a.disk > 0.0 else 1.0)
    ways_b = bounds_b[4] * shape_b.reach * (_SPINLESS if shape_b.disk > 0.0 else 1.0)
    half_curvature = -0.5 * (bounds_a[3] + bounds_b[3] + ways_a + ways_b)
    for i in range(3):
        pull = bounds_a[i] - bounds_b[i]
        half_curvature += 0.5 * pull * (nx if i == 0 else (ny if i == 1 else nz))
    turning = np.sqrt(ox * ox + oy * oy + oz * oz)
    if turning > 0.0:  # the nominal acceleration does not stay along the axis
        pull = np.sqrt(
            (bounds_a[0] - bounds_b[0]) ** 2
            + (bounds_a[1] - bounds_b[1]) ** 2
            + (bounds_a[2] - bounds_b[2]) ** 2
        )
        half_curvature = -0.5 * (
            pull + bounds_a[3] + bounds_b[3] + ways_a + ways_b + turning * (turning * far + 2.0 * fast)
        )
    half_curvature = min(0.0, half_curvature)
    slack = 0.0
    if gap <= close and (rate * rate <= -0.4 * half_curvature * deepest or (rate < 0.0 and gap <= touch)):
        # they hardly leave, or this axis does not show it: look again before they could be deeper than allowed
        slack = max(deepest, 0.1 * deepest - gap)
    elif gap < 0.0:
        slack = 0.1 * deepest - gap
    # first root of the lowest of all pair quadratics: concave, so shrinking from an active pair is exact
    step = first_root(max(gap + slack, 0.0), rate, half_curvature)
    apart = nx * dx + ny * dy + nz * dz - shape_a.radius - shape_b.radius + slack
    for _ in range(100):
        ahead = horizon if step == np.inf else step
        fa, ra = _support_line(shape_a, ax, ay, az, rax, ray, raz, ahead)
        fb, rb = _support_line(shape_b, bx, by, bz, rbx, rby, rbz, ahead)
        shorter = first_root(max(apart + fa + fb, 0.0), drift + ra + rb, half_curvature)
        if shorter >= step * (1.0 - 1e-12):
            break
        step = shorter
    return min(step, horizon), rate


@kernel(allocates=True)
def crossing_turn(shape_a, state_a, frame_a, shape_b, state_b, frame_b, size):
    """Slowest rate [m/s] at which contacts of two shapes open, and how an axis turns there: (ox, oy, oz, rate).

    The axis stays across both of the lines that cross at the slowest contact, edges or tangents of rims; the
    rate of turning is zero where none cross. Rate inf: there are no contacts.
    """
    point, normals, _, features, _, directions, _ = pair_contacts(
        shape_a, state_a, shape_b, state_b, size, CONTACT_GAP * size
    )
    slowest = np.inf
    ox = oy = oz = 0.0
    for c in range(point.shape[0]):
        n, x = normals[c], point[c]
        vax, vay, vaz = point_velocity(frame_a, x[0], x[1], x[2])
        vbx, vby, vbz = point_velocity(frame_b, x[0], x[1], x[2])
        rate = n[0] * (vax - vbx) + n[1] * (vay - vby) + n[2] * (vaz - vbz)
        if rate >= slowest:
            continue
        slowest = rate
        ax, ay, az = _outline(features[c, 0], directions[c, 0], frame_a, x)
        bx, by, bz = _outline(features[c, 1], directions[c, 1], frame_b, x)
        ox, oy, oz = turn_across(frame_a, frame_b, n[0], n[1], n[2], ax, ay, az, bx, by, bz)
    return ox, oy, oz, slowest


@kernel()
def _outline(feature, along, frame, x):
    """Direction of the edge, or tangent of the rim, with which a body touches at x; zero of other features."""
    if feature == RIM:
        return cross(along[0], along[1], along[2], x[0] - frame[9], x[1] - frame[10], x[2] - frame[11])
    if feature == EDGE:
        return along[0], along[1], along[2]
    return 0.0, 0.0, 0.0


@kernel()
def turn_across(frame_a, frame_b, nx, ny, nz, ax, ay, az, bx, by, bz):
    """Angular velocity [rad/s] at which an axis n stays across a line a of A and a line b of B; else zero."""
    cx, cy, cz = cross(bx, by, bz, nx, ny, nz)
    dx, dy, dz = cross(ax, ay, az, nx, ny, nz)
    sine = ax * cx + ay * cy + az * cz
    if abs(sine) <= _PARALLEL * np.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz)):
        return 0.0, 0.0, 0.0
    px, py, pz = cross(frame_a[15], frame_a[16], frame_a[17], nx, ny, nz)
    qx, qy, qz = cross(frame_b[15], frame_b[16], frame_b[17], nx, ny, nz)
    p = (px * ax + py * ay + pz * az) / sine
    q = (qx * bx + qy * by + qz * bz) / sine
    return cross(nx, ny, nz, p * cx - q * dx, p * cy - q * dy, p * cz - q * dz)


@kernel()
def axis_across(ax, ay, az, bx, by, bz, nx, ny, nz):
    """The unit axis across two lines, on the side of n; zero where they are all but parallel."""
    x, y, z = cross(ax, ay, az, bx, by, bz)
    length = np.sqrt(x * x + y * y + z * z)
    if length <= _PARALLEL * np.sqrt((ax * ax + ay * ay + az * az) * (bx * bx + by * by + bz * bz)):
        return 0.0, 0.0, 0.0
    length = length if x * nx + y * ny + z * nz > 0.0 else -length
    return x / length, y / length, z / length


@kernel()
def line_along(shape, frame, which, i, nx, ny, nz):
    """Direction of a line with which a shape, whose lowest point along n is i, may cross another: the edge there
    whose other end is lowest; of a cylinder its side (`which` 0) or the tangent of its rim (1). Zero: none."""
    points = shape.points
    if shape.disk > 0.0 and which == 1:
        mx, my, mz = to_body(frame, nx, ny, nz)
        return to_world(frame, -my, mx, 0.0)
    mx, my, mz = to_body(frame, nx, ny, nz)
    best, e = np.inf, -1
    for k in range(shape.edge_ends.shape[0]):
        if shape.edge_ends[k, 0] == i or shape.edge_ends[k, 1] == i:
            j = shape.edge_ends[k, 0] + shape.edge_ends[k, 1] - i
            height = mx * points[j, 0] + my * points[j, 1] + mz * points[j, 2]
            if height < best:
                best, e = height, k
    if e < 0:
        return 0.0, 0.0, 0.0
    return to_world(frame, shape.edges[e, 0], shape.edges[e, 1], shape.edges[e, 2])


@kernel()
def crossing_step(
    shape_a, frame_a, bounds_a, shape_b, frame_b, bounds_b, nx, ny, nz, far, fast, horizon, gap, size, deepest
):  # fmt: skip
    """How long an axis that stays across two lines, near n, keeps shapes apart that are `gap` [m] from each other.

    Axes that turn with one body see an edge of the other swing: where crossing edges leave each other they would
    need a step for every hundred-thousandth of the way.
    """
    radius, step = shape_a.radius + shape_b.radius, 0.0
    _, i, j = core_gap(shape_a, frame_a, shape_b, frame_b, nx, ny, nz)
    for which_a in range(2 if shape_a.disk > 0.0 else 1):
        ax, ay, az = line_along(shape_a, frame_a, which_a, i, nx, ny, nz)
        for which_b in range(2 if shape_b.disk > 0.0 else 1):
            bx, by, bz = line_along(shape_b, frame_b, which_b, j, -nx, -ny, -nz)
            x, y, z = axis_across(ax, ay, az, bx, by, bz, nx, ny, nz)
            if x == 0.0 and y == 0.0 and z == 0.0:
                continue
            there, _, _ = core_gap(shape_a, frame_a, shape_b, frame_b, x, y, z)
            if there - radius < 0.5 * gap:
                continue
            ox, oy, oz = turn_across(frame_a, frame_b, x, y, z, ax, ay, az, bx, by, bz)
            later, _ = axis_step(
                shape_a, frame_a, bounds_a, shape_b, frame_b, bounds_b, x, y, z, ox, oy, oz, far, fast, horizon,
                there - radius, size, deepest,
            )  # fmt: skip
            step = max(step, later)
    return step


@kernel(forceinline=True)
def point_velocity(frame, x, y, z):
    """Velocity [m/s] of the point of a body that is at (x, y, z), world axes."""
    cx, cy, cz = cross(frame[15], frame[16], frame[17], x - frame[9], y - frame[10], z - frame[11])
    return frame[12] + cx, frame[13] + cy, frame[14] + cz


@kernel(allocates=True)
def pair_impact(
    shape_a, CA, bounds_a, shape_b, CB, bounds_b, start_a, start_b, span, size, slow
):  # fmt: skip
    """First time in [0, span] at which two shapes meet while approaching: (time, hit).

    An axis that separates them now, at rest or turning, separates them until the quadratic bounds of their lowest
    points cross, so the search may advance that far (conservative advancement to second order): near contact as
    far as the best of the axes at rest, turning with A or with B. Where all of these close they hit if places of
    contact approach. `start_a`, `start_b` are the ages of the two pieces at the start; approach at less
    than `slow` [m/s] is rounding. hit: 1, 0 none, -2 step limit.
    """
    state, frame_a, frame_b = vector13(), vector18(), vector18()
    S = matrix4x3()
    near_a, near_b = np.empty((shape_a.edges.shape[0], 10)), np.empty((shape_b.edges.shape[0], 10))
    moving_a, turning_a = used_terms(CA)
    moving_b, turning_b = used_terms(CB)
    touch = TOUCH_GAP * size
    radius = shape_a.radius + shape_b.radius
    frame_of_piece(CA, moving_a, turning_a, start_a, state, frame_a)
    frame_of_piece(CB, moving_b, turning_b, start_b, state, frame_b)
    nx, ny, nz = frame_a[9] - frame_b[9], frame_a[10] - frame_b[10], frame_a[11] - frame_b[11]
    if nx == 0.0 and ny == 0.0 and nz == 0.0:
        nz = 1.0
    nx, ny, nz = normalised(nx, ny, nz)
    if (
        shape_a.points.shape[0] == 1 and shape_b.points.shape[0] == 1
        and shape_a.reach == 0.0 and shape_b.reach == 0.0
        and moving_a <= 3 and moving_b <= 3 and bounds_a[3] == 0.0 and bounds_b[3] == 0.0
        and bounds_a[0] == bounds_b[0] and bounds_a[1] == bounds_b[1] and bounds_a[2] == bounds_b[2]
    ):  # fmt: skip
        meeting = _spheres_impact(frame_a, frame_b, radius, touch, slow)
        if meeting >= 0.0:
            return (meeting, 1) if meeting <= span else (np.inf, 0)
    disks = shape_a.disk > 0.0 or shape_b.disk > 0.0
    near = False
    tau = 0.0
    for made in range(MOST_SEARCH_STEPS):
        deepest = passed_over(made, size)
        if tau > 0.0:
            frame_of_piece(CA, moving_a, turning_a, start_a + tau, state, frame_a)
            frame_of_piece(CB, moving_b, turning_b, start_b + tau, state, frame_b)
        # any axis bounds the way that is free; only near contact must it be a good one, and for a hit the best
        if near and disks:
            nx, ny, nz, gap = climbed_axis(
                shape_a, frame_a, shape_b, frame_b, nx, ny, nz, 0.05, size, near_a, near_b
            )
            gap -= radius
            near = touch < gap <= _NEAR * size
        else:
            nx, ny, nz, gap, distance = nearest_axis(
                shape_a, frame_a, shape_b, frame_b, 0.0, 0.0, 0.0, nx, ny, nz, 0.03, radius, size, S
            )
            gap -= radius
            near = distance - radius <= _NEAR * size
        if (near and not disks) or gap <= touch:
            nx, ny, nz, gap = separation(
                shape_a, frame_a, shape_b, frame_b, size, nx, ny, nz, S, near_a, near_b
            )
            near = near or touch < gap <= _NEAR * size
        left = span - tau
        step, rate = axis_step(
            shape_a, frame_a, bounds_a, shape_b, frame_b, bounds_b, nx, ny, nz, 0.0, 0.0, 0.0, 0.0, 0.0, left,
            gap, size, deepest,
        )  # fmt: skip
        if near or gap <= touch:
            far, fast, horizon = turning_bounds(shape_a, frame_a, bounds_a, shape_b, frame_b, bounds_b, left)
            for frame in (frame_a, frame_b):
                later, other = axis_step(
                    shape_a, frame_a, bounds_a, shape_b, frame_b, bounds_b, nx, ny, nz, frame[15], frame[16],
                    frame[17], far, fast, horizon, gap, size, deepest,
                )  # fmt: skip
                step, rate = max(step, later), max(rate, other)
            if gap > touch and step < horizon:
                step = max(
                    step,
                    crossing_step(
                        shape_a, frame_a, bounds_a, shape_b, frame_b, bounds_b, nx, ny, nz, far, fast, horizon,
                        gap, size, deepest,
                    ),
                )  # fmt: skip
        if gap <= touch and rate < -slow:
            ox, oy, oz, rate = crossing_turn(
                shape_a, evaluate_piece(CA, start_a + tau), frame_a,
                shape_b, evaluate_piece(CB, start_b + tau), frame_b, size,
            )  # fmt: skip
            if rate < -slow:
                return tau, 1
            later, _ = axis_step(
                shape_a, frame_a, bounds_a, shape_b, frame_b, bounds_b, nx, ny, nz, ox, oy, oz, far, fast,
                horizon, gap, size, deepest,
            )  # fmt: skip
            step = max(step, later)
        if tau >= span:
            return np.inf, 0
        following = tau + step
        if following == tau:
            following = np.nextafter(tau, np.inf)
        tau = min(following, span)
    return tau, -2


# -- contacts ----------------------------------------------------------------------------------------------


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


@kernel(allocates=True)
def half_space_contacts(shape, state, normal, offset, tolerance):
    """All points of a shape within `tolerance` [m] of a half-space or in it: point (3), gap, number of the core's
    point, 1 where its rim touches and not one point, in rows.

    A cylinder that stands touches at RIM_POINTS points of its end, one that leans at one of its rim, one that
    lies at one of each rim.
    """
    frame = vector18()
    frame_of_state(state, frame)
    points, disk = shape.points, shape.disk
    nx, ny, nz = normal[0], normal[1], normal[2]
    mx, my, mz = to_body(frame, nx, ny, nz)
    height = nx * frame[9] + ny * frame[10] + nz * frame[11] - offset - shape.radius
    across = np.sqrt(mx * mx + my * my)
    rows = np.empty(((RIM_POINTS if disk > 0.0 else 1) * points.shape[0], 6))
    count = 0
    standing = disk > 0.0 and 2.0 * disk * across <= tolerance
    for j in range(points.shape[0]):
        above = height + points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz
        for k in range(RIM_POINTS if standing else 1):
            x, y = points[j, 0], points[j, 1]
            gap = above
            if standing:
                angle = 2.0 * np.pi * k / RIM_POINTS
                cx, cy = disk * np.cos(angle), disk * np.sin(angle)
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
            rows[count, 3], rows[count, 4] = gap, j
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
def pair_contacts(shape_a, state_a, shape_b, state_b, size, tolerance):
    """Contacts of two shapes within `tolerance` [m], as arrays of `ContactPatch`.

    The features that lie within `tolerance` of the planes of contact are laid over each other: contacts are the
    corners of A's that B's covers, those of B's that A's covers, then the crossings of their outlines, each in
    the order of the corners. A corner on a face has that face's normal and its own gap. Ends of cylinders have
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
        outward[0, 0], outward[0, 1], outward[0, 2] = _face_normal(
            shape_a, frame_a, kinds[0], faces[0], -nx, -ny, -nz
        )
        outward[1, 0], outward[1, 1], outward[1, 2] = _face_normal(
            shape_b, frame_b, kinds[1], faces[1], nx, ny, nz
        )
        same = max(tolerance, 1e-12 * size)
        lone = 0 if kinds[0] == POINT else (1 if kinds[1] == POINT else -1)
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
                    angle = 2.0 * np.pi * c / RIM_POINTS
                    cx, cy, cz = to_world(frame, shape.disk * np.cos(angle), shape.disk * np.sin(angle), 0.0)
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
                number = -1 if rim else numbers[side, p]
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
                shape_a, frame_a, shape_b, frame_b, nx, ny, nz, gap, same, kinds, counts, corners, numbers,
                point, normals, gaps, features, indices, directions, radii, count,
            )  # fmt: skip
        if count == 0:  # features that only graze each other: the middle of the closest corners
            nearest = np.inf
            first = second = 0
            for i in range(counts[0]):
                for j in range(counts[1]):
                    distance = 0.0
                    for k in range(3):
                        distance += (corners[0, i, k] - corners[1, j, k]) ** 2
                    if distance < nearest:
                        nearest = distance
                        first, second = i, j
            shift = 0.5 * (shape_b.radius - shape_a.radius)
            for k in range(3):
                point[0, k] = 0.5 * (corners[0, first, k] + corners[1, second, k]) + shift * axis[k]
                normals[0, k] = axis[k]
            gaps[0] = gap
            _note_feature(
                shape_a, frame_a, 0, RIM if shape_a.disk > 0.0 else POINT, numbers[0, first], 0,
                features, indices, directions, radii,
            )  # fmt: skip
            _note_feature(
                shape_b, frame_b, 1, RIM if shape_b.disk > 0.0 else POINT, numbers[1, second], 0,
                features, indices, directions, radii,
            )  # fmt: skip
            count = 1
    return (
        point[:count], normals[:count], gaps[:count], features[:count], indices[:count],
        directions[:count], radii[:count],
    )  # fmt: skip


@kernel()
def _crossings(
    shape_a, frame_a, shape_b, frame_b, nx, ny, nz, gap, same, kinds, counts, corners, numbers,
    point, normals, gaps, features, indices, directions, radii, count,
):  # fmt: skip
    """Add the contacts where the outlines of two touching features cross; returns the number of contacts."""
    sides_a = 1 if kinds[0] != SEVERAL else counts[0]
    sides_b = 1 if kinds[1] != SEVERAL else counts[1]
    shift = 0.5 * (shape_b.radius - shape_a.radius)
    for i in range(sides_a):
        i2 = (i + 1) % max(counts[0], 2)
        for j in range(sides_b):
            j2 = (j + 1) % max(counts[1], 2)
            found = 0
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
                        x = L[p, 0] + t * (L[q, 0] - L[p, 0]) - 0.5 * (off + t * tilt) * nx
                        y = L[p, 1] + t * (L[q, 1] - L[p, 1]) - 0.5 * (off + t * tilt) * ny
                        z = L[p, 2] + t * (L[q, 2] - L[p, 2]) - 0.5 * (off + t * tilt) * nz
                        if found == 0:
                            ax, ay, az = x, y, z
                        else:
                            bx, by, bz = x, y, z
                        found += 1
            for k in range(found):
                x, y, z = (ax, ay, az) if k == 0 else (bx, by, bz)
                x, y, z = x + shift * nx, y + shift * ny, z + shift * nz
                if _known(point, count, x, y, z, same):
                    continue
                point[count, 0], point[count, 1], point[count, 2] = x, y, z
                normals[count, 0], normals[count, 1], normals[count, 2] = nx, ny, nz
                gaps[count] = gap
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
