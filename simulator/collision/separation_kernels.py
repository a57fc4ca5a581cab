"""Signed distance of convex shapes.

For every unit axis n the separation s(n) = min over A of n.x - max over B of n.x is a lower bound of the signed
distance, and its maximum over n is that distance. GJK finds an axis; near contact, where differences of points
have no digits left, the maximum is taken over the axes that features define (face normals, products of edges,
stationary points of the disks), which are exact at any gap.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import cross, vector18
from ..tolerances import CONTACT_GAP
from .frames_kernels import (
    core_gap,
    frame_of_state,
    lowest,
    lowest_point,
    normalised,
    room_on_face,
    to_body,
    to_world,
)

_FEW_EDGE_PAIRS = 400
_ROUNDING = 4e-16
_SHIFT = 1e-3
_TIED = 16
_EXPANSIONS = 128
_ACROSS = 0.5  # cosine: faces that an axis leaves so steeply are looked at first
_INSIDE = 1e-6  # of the size: places so far from its sides are on a face
_SHALLOW = 1e-12  # of the size: less overlap is rounding of the event search, for which any good axis will do


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


@kernel()
def face_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, size):
    """An axis across a face that n points out of, with the lowest point over it inside its sides, where there is
    one: (whether, axis, separation). No other axis separates the shapes more: that point is as far from the face,
    or, by far less than it is from the sides, within the shape."""
    for side in range(2):
        shape, frame = (shape_b, frame_b) if side == 1 else (shape_a, frame_a)
        sign = 1.0 if side == 1 else -1.0
        mx, my, mz = to_body(frame, sign * nx, sign * ny, sign * nz)
        face, most = -1, _ACROSS
        if shape.disk > 0.0:
            if abs(mz) < most:
                continue
            mx, my, mz = 0.0, 0.0, 1.0 if mz > 0.0 else -1.0
        else:
            for f in range(shape.normals.shape[0]):
                along = shape.normals[f, 0] * mx + shape.normals[f, 1] * my + shape.normals[f, 2] * mz
                if along > most:
                    face, most = f, along
            if face < 0:
                continue
            mx, my, mz = shape.normals[face, 0], shape.normals[face, 1], shape.normals[face, 2]
        ax, ay, az = to_world(frame, mx, my, mz)
        s, _, _ = core_gap(shape_a, frame_a, shape_b, frame_b, sign * ax, sign * ay, sign * az)
        if s < -1e-3 * _INSIDE * size:
            continue
        if side == 1:
            _, x, y, z = lowest_point(shape_a, frame_a, ax, ay, az)
        else:
            _, x, y, z = lowest_point(shape_b, frame_b, ax, ay, az)
        x, y, z = to_body(frame, x - frame[9], y - frame[10], z - frame[11])
        if shape.disk > 0.0:
            x, y = x - shape.points[0, 0], y - shape.points[0, 1]
            room = shape.disk - np.sqrt(x * x + y * y)
        else:
            room = room_on_face(shape, face, x, y, z)
        if room >= _INSIDE * size:
            return True, sign * ax, sign * ay, sign * az, s
    return False, nx, ny, nz, 0.0


@kernel(allocates=True)
def climbed_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, cone, size, near_a, near_b):
    """Climb from the axis n to the greatest separation: (axis, separation).

    Each round takes the best of the axes that features near n define, of the free stationary point and of
    those across one edge, until nothing better is found. Apart, the separation has no other maxima.
    """
    disks = shape_a.disk > 0.0 or shape_b.disk > 0.0
    if disks:
        found, x, y, z, s = face_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, size)
        if found:
            return x, y, z, s
    best, i, j = core_gap(shape_a, frame_a, shape_b, frame_b, nx, ny, nz)
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
    found, x, y, z, s = face_axis(shape_a, frame_a, shape_b, frame_b, nx, ny, nz, size)
    if found:
        return x, y, z, s - radius
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
