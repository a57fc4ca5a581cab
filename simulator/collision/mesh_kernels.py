"""Compiled distances, contacts and times of impact of surfaces made of points, edges and triangles.

Everything happens in the axes of the second body B, in which B stands still and a point x of the first body A
moves with velocity v(x) = v + w x. For a point and a triangle (or two edges) two lower bounds of the gap over
the next time tau are used, and the later of their roots:

- distance: a convex set at rest is left behind its tangent plane, so distance + m.v tau - K tau^2 / 2 stays below
  the distance, m being the unit vector from it and K a bound on relative accelerations;
- height over the plane of the triangle, or the signed distance of the lines through two edges: it may rest at zero
  while a corner slides over the seams of a flat face, where the distance to the next triangle shrinks to nothing.

Both are exact to first order, so the steps converge like Newton's method, and nothing is passed over. Candidates
weighed: sampling (misses), cubic coplanarity polynomials (straight motion only), triangle pairs with one separating
axis each (stops at the seams of flat faces).
"""

import numpy as np

from ...compiled import kernel
from ..kernels import cross, dot, evaluate_piece, first_root, matrix3x3, rotation_matrix, vector6
from ..tolerances import PENETRATION, SAME_NORMAL, SIDEWAYS, STAR_SLOPE, TOUCH_GAP

POINT_A, POINT_B, EDGES = 0, 1, 2  # a point of A on a triangle of B, a point of B on one of A, edge on edge
BESIDE = 10  # added to the first two: a triangle beside one that holds a round point, and shared corners
ENDS = 8
_STACK = 256
TOUCHES, ASK = -1.0, -2.0
BAND = 1e-9  # of the size: closer than this the sign of a height is that of the sides on which surfaces lie
KNOWN_PLACE = 1e-7  # of the size: a contact that the law has resolved is where it was up to this
_PARALLEL = 1e-6  # sine below which lines through edges have no signed distance


@kernel(allocates=True)
def relative_pose(a, b):
    """Pose and motion of A in the axes of B from two states (13,): (18,).

    0:9 rotation, 9:12 position, 12:15 velocity of the point of A that passes B's origin, 15:18 angular velocity.
    """
    RA, RB = rotation_matrix(a[3:7]), rotation_matrix(b[3:7])
    pose = np.zeros(18)
    for i in range(3):
        for j in range(3):
            for k in range(3):
                pose[3 * i + j] += RB[k, i] * RA[k, j]
            pose[9 + i] += RB[j, i] * (a[j] - b[j])
            pose[12 + i] += RB[j, i] * (a[7 + j] - b[7 + j])
    for i in range(3):
        pose[15 + i] = -b[10 + i]
        for j in range(3):
            pose[15 + i] += pose[3 * i + j] * a[10 + j]
    # v of A's centre less the turning of both A (carried back to B's origin) and B's axes
    wx, wy, wz = pose[15] + b[10], pose[16] + b[11], pose[17] + b[12]
    cx, cy, cz = cross(wx, wy, wz, pose[9], pose[10], pose[11])
    pose[12] -= cx
    pose[13] -= cy
    pose[14] -= cz
    return pose


@kernel(forceinline=True)
def carried(pose, p):
    """A point of A in the axes of B."""
    return (
        pose[0] * p[0] + pose[1] * p[1] + pose[2] * p[2] + pose[9],
        pose[3] * p[0] + pose[4] * p[1] + pose[5] * p[2] + pose[10],
        pose[6] * p[0] + pose[7] * p[1] + pose[8] * p[2] + pose[11],
    )


@kernel(forceinline=True)
def velocity_along(pose, x, y, z, mx, my, mz):
    """m.v of the point of A that is at (x, y, z) in B's axes."""
    wx, wy, wz = pose[15], pose[16], pose[17]
    return (
        mx * (pose[12] + wy * z - wz * y)
        + my * (pose[13] + wz * x - wx * z)
        + mz * (pose[14] + wx * y - wy * x)
    )


@kernel()
def box_gap(low_a, high_a, low_b, high_b, pose):
    """Lower bound of the distance of a box of A and one of B; infinite for an empty one."""
    if low_a[0] > high_a[0] or low_b[0] > high_b[0]:
        return np.inf
    square = 0.0
    for i in range(3):
        middle = pose[9 + i] - 0.5 * (low_b[i] + high_b[i])
        half = 0.5 * (high_b[i] - low_b[i])
        for j in range(3):
            middle += pose[3 * i + j] * 0.5 * (low_a[j] + high_a[j])
            half += abs(pose[3 * i + j]) * 0.5 * (high_a[j] - low_a[j])
        apart = abs(middle) - half
        if apart > 0.0:
            square += apart * apart
    other = 0.0
    for j in range(3):
        middle = -0.5 * (low_a[j] + high_a[j])
        half = 0.5 * (high_a[j] - low_a[j])
        for i in range(3):
            middle += pose[3 * i + j] * (0.5 * (low_b[i] + high_b[i]) - pose[9 + i])
            half += abs(pose[3 * i + j]) * 0.5 * (high_b[i] - low_b[i])
        apart = abs(middle) - half
        if apart > 0.0:
            other += apart * apart
    return np.sqrt(max(square, other))


@kernel()
def boxes_meet(low_a, high_a, low_b, high_b, pose, spin, radius, curvature):
    """Lower bound of the time until a box of A and one of B are within `radius`; infinite for an empty one.

    Every axis along which they are apart has to close first. `spin` is |w|, `curvature` bounds accelerations.
    """
    if low_a[0] > high_a[0] or low_b[0] > high_b[0]:
        return np.inf
    reach_a = reach_b = 0.0
    for i in range(3):
        reach_a += 0.25 * (high_a[i] - low_a[i]) ** 2
        reach_b += 0.25 * (high_b[i] - low_b[i]) ** 2
    slack_a, slack_b = spin * np.sqrt(reach_a), spin * np.sqrt(reach_b)
    px = py = pz = 0.0  # middle of A's box in B's axes
    qx, qy, qz = 0.5 * (low_b[0] + high_b[0]), 0.5 * (low_b[1] + high_b[1]), 0.5 * (low_b[2] + high_b[2])
    for j in range(3):
        middle = 0.5 * (low_a[j] + high_a[j])
        px += pose[j] * middle
        py += pose[3 + j] * middle
        pz += pose[6 + j] * middle
    px, py, pz = px + pose[9], py + pose[10], pz + pose[11]
    dx, dy, dz = px - qx, py - qy, pz - qz
    when = 0.0
    for i in range(3):
        ex, ey, ez = 1.0 * (i == 0), 1.0 * (i == 1), 1.0 * (i == 2)
        away = dot(dx, dy, dz, ex, ey, ez)
        half = 0.5 * (high_b[i] - low_b[i])
        for j in range(3):
            half += abs(pose[3 * i + j]) * 0.5 * (high_a[j] - low_a[j])
        if abs(away) > half + radius:
            rate = velocity_along(pose, px, py, pz, ex, ey, ez) * (1.0 if away > 0.0 else -1.0) - slack_a
            when = max(when, first_root(abs(away) - half - radius, rate, -0.5 * curvature))
        ex, ey, ez = pose[i], pose[3 + i], pose[6 + i]
        away = dot(dx, dy, dz, ex, ey, ez)
        half = 0.5 * (high_a[i] - low_a[i])
        for j in range(3):
            half += abs(pose[3 * j + i]) * 0.5 * (high_b[j] - low_b[j])
        if abs(away) > half + radius:
            rate = velocity_along(pose, qx, qy, qz, ex, ey, ez) * (1.0 if away > 0.0 else -1.0) - slack_b
            when = max(when, first_root(abs(away) - half - radius, rate, -0.5 * curvature))
    return when


@kernel()
def split(low_a, high_a, low_b, high_b, leaf_a, leaf_b):
    """Whether of two nodes of the trees the first is to be replaced by its children: the wider that is no leaf."""
    wide_a = high_a[0] - low_a[0] + high_a[1] - low_a[1] + high_a[2] - low_a[2]
    wide_b = high_b[0] - low_b[0] + high_b[1] - low_b[1] + high_b[2] - low_b[2]
    return leaf_b or (not leaf_a and wide_a >= wide_b)


@kernel()
def closest_on_segment(px, py, pz, ax, ay, az, bx, by, bz):
    """Point of a segment closest to p, and where along it (0 to 1)."""
    dx, dy, dz = bx - ax, by - ay, bz - az
    square = dot(dx, dy, dz, dx, dy, dz)
    s = dot(px - ax, py - ay, pz - az, dx, dy, dz) / square if square > 0.0 else 0.0
    s = min(1.0, max(0.0, s))
    return ax + s * dx, ay + s * dy, az + s * dz, s


@kernel()
def closest_on_triangle(px, py, pz, ax, ay, az, bx, by, bz, cx, cy, cz):
    """Point of a triangle closest to p, and its region: 0 inside, 1 to 3 an edge, 4 to 6 a corner (a, b, c).

    Edge k runs from corner k to the next; a triangle may be just a segment or a point.
    """
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - ax, cy - ay, cz - az
    wx, wy, wz = px - ax, py - ay, pz - az
    nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
    square = dot(nx, ny, nz, nx, ny, nz)
    if square > 0.0:
        gx, gy, gz = cross(ux, uy, uz, wx, wy, wz)
        gamma = dot(gx, gy, gz, nx, ny, nz) / square
        gx, gy, gz = cross(wx, wy, wz, vx, vy, vz)
        beta = dot(gx, gy, gz, nx, ny, nz) / square
        if gamma >= 0.0 and beta >= 0.0 and beta + gamma <= 1.0:
            return ax + beta * ux + gamma * vx, ay + beta * uy + gamma * vy, az + beta * uz + gamma * vz, 0
    best = np.inf
    rx = ry = rz = 0.0
    region = 0
    for k in range(3):
        if k == 0:
            qx, qy, qz, s = closest_on_segment(px, py, pz, ax, ay, az, bx, by, bz)
        elif k == 1:
            qx, qy, qz, s = closest_on_segment(px, py, pz, bx, by, bz, cx, cy, cz)
        else:
            qx, qy, qz, s = closest_on_segment(px, py, pz, cx, cy, cz, ax, ay, az)
        away = (px - qx) ** 2 + (py - qy) ** 2 + (pz - qz) ** 2
        if away < best:
            best, rx, ry, rz = away, qx, qy, qz
            region = k + 1
            if s == 0.0:
                region = 4 + k
            elif s == 1.0:
                region = 4 + (k + 1) % 3
    return rx, ry, rz, region


@kernel()
def closest_on_segments(ax, ay, az, bx, by, bz, cx, cy, cz, ex, ey, ez):
    """Where along two segments a-b and c-e (0 to 1 each) they are closest, and whether inside both.

    Inside, the closest points are those of the lines; else those of an end of one and the other segment.
    """
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = ex - cx, ey - cy, ez - cz
    wx, wy, wz = ax - cx, ay - cy, az - cz
    a, b, c = dot(ux, uy, uz, ux, uy, uz), dot(ux, uy, uz, vx, vy, vz), dot(vx, vy, vz, vx, vy, vz)
    d, e = dot(ux, uy, uz, wx, wy, wz), dot(vx, vy, vz, wx, wy, wz)
    nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
    D = dot(nx, ny, nz, nx, ny, nz)
    if 1e-14 * a * c < D:
        s, t = (b * e - c * d) / D, (a * e - b * d) / D
        if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
            return s, t, True
    best = np.inf
    s_best = t_best = 0.0
    for k in range(4):
        if k < 2:
            s = float(k)
            t = min(1.0, max(0.0, (e + s * b) / c))
        else:
            t = float(k - 2)
            s = min(1.0, max(0.0, (t * b - d) / a))
        away = (wx + s * ux - t * vx) ** 2 + (wy + s * uy - t * vy) ** 2 + (wz + s * uz - t * vz) ** 2
        if away < best:
            best, s_best, t_best = away, s, t
    return s_best, t_best, False


@kernel()
def way_beyond_ends(wx, wy, wz, ux, uy, uz, vx, vy, vz):
    """How far beyond the end of one of two edges u and v (w apart at their starts) their lines cross [m]."""
    a, b, c = dot(ux, uy, uz, ux, uy, uz), dot(ux, uy, uz, vx, vy, vz), dot(vx, vy, vz, vx, vy, vz)
    d, e = dot(ux, uy, uz, wx, wy, wz), dot(vx, vy, vz, wx, wy, wz)
    nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
    D = dot(nx, ny, nz, nx, ny, nz)
    s, t = (b * e - c * d) / D, (a * e - b * d) / D
    return max(max(0.0, -s, s - 1.0) * np.sqrt(a), max(0.0, -t, t - 1.0) * np.sqrt(c))


@kernel()
def across(mx, my, mz, ex, ey, ez):
    """The unit vector nearest to m that is across e."""
    along = dot(mx, my, mz, ex, ey, ez) / dot(ex, ey, ez, ex, ey, ez)
    mx, my, mz = mx - along * ex, my - along * ey, mz - along * ez
    length = np.sqrt(dot(mx, my, mz, mx, my, mz))
    return mx / length, my / length, mz / length


@kernel()
def leans_over(points, star_start, star, p, nx, ny, nz, sign, slack):
    """Whether a neighbour of point p lies beyond its plane with normal n on the side -sign."""
    for k in range(star_start[p], star_start[p + 1]):
        q = star[k]
        dx, dy, dz = (
            points[q, 0] - points[p, 0],
            points[q, 1] - points[p, 1],
            points[q, 2] - points[p, 2],
        )
        rise = sign * dot(dx, dy, dz, nx, ny, nz)
        if rise < -slack - STAR_SLOPE * np.sqrt(dot(dx, dy, dz, dx, dy, dz)):
            return True
    return False


@kernel()
def edge_shielded(spread_start, spread, e, nx, ny, nz, sign):
    """Whether a triangle at edge e lies beyond the plane with normal n on the side -sign."""
    for k in range(spread_start[e], spread_start[e + 1]):
        if sign * dot(spread[k, 0], spread[k, 1], spread[k, 2], nx, ny, nz) < -STAR_SLOPE:
            return True
    return False


@kernel()
def element_corners(mesh_points, triangles, element_points, element_triangle, k, pose, is_a, corners):
    """Fill corners (3, 3) with an element's triangle in B's axes; an edge or point repeats its last corner."""
    t = element_triangle[k]
    last = element_points[k, 0]
    for i in range(3):
        p = triangles[t, i] if t >= 0 else element_points[k, i]
        if p < 0:
            p = last
        last = p
        if is_a:
            corners[i, 0], corners[i, 1], corners[i, 2] = carried(pose, mesh_points[p])
        else:
            for j in range(3):
                corners[i, j] = mesh_points[p, j]


@kernel(forceinline=True)
def look_again(gap, rate, half_curvature, touch, deepest, slow):
    """First root of the gap's lower bound. Where they touch and hardly leave, or only rounding brings them
    closer: when they could be deeper than allowed."""
    if gap <= touch and (rate * rate <= -0.4 * half_curvature * deepest or -slow <= rate < 0.0):
        gap = max(gap + deepest, 0.1 * deepest)
    return first_root(max(gap, 0.0), rate, half_curvature)


@kernel()
def is_known(known, pose, x, y, z, nx, ny, nz, radius, size, slow, travelled):
    """Whether a contact of which the law has just taken care is at (x, y, z) and does not approach.

    n: normal of what touches there, from B to A; a contact with this normal speaks for it alone, others where there
    is none, as where several features are one contact. `radius`: between a place of contact and (x, y, z).
    `travelled` is how far anything may have moved since then: soon the contact is no longer where it was.
    """
    if travelled > KNOWN_PLACE * size:
        return False
    near = 2.0 * KNOWN_PLACE * size + radius
    found = False
    for k in range(known.shape[0]):
        away = (known[k, 0] - x) ** 2 + (known[k, 1] - y) ** 2 + (known[k, 2] - z) ** 2
        if away > near * near:
            continue
        mx, my, mz = known[k, 3], known[k, 4], known[k, 5]
        keeps = velocity_along(pose, x, y, z, mx, my, mz) >= -slow
        if (mx - nx) ** 2 + (my - ny) ** 2 + (mz - nz) ** 2 <= SAME_NORMAL * SAME_NORMAL:
            return keeps
        found = found or keeps
    return found


@kernel()
def is_held(held, kind, first, second):
    """Whether a pair of features is kept closed by lasting contact."""
    found = False
    for k in range(held.shape[0]):
        found = found or (held[k, 0] == kind and held[k, 1] == first and held[k, 2] == second)
    return found


@kernel()
def shared_corners(held, kind, p, t):
    """Which corners (bits 1, 2, 4) of triangle t belong to a triangle on which lasting contact holds point p."""
    corners = 0
    for k in range(held.shape[0]):
        if held[k, 0] == kind + BESIDE and held[k, 1] == p and held[k, 2] == t:
            corners |= held[k, 3]
    return corners


@kernel()
def ends_left_out(held, element_points, kb, ta):
    """Ends (bits, and ENDS) of an edge or point of B that a point of A does not look at.

    They look at the triangles of A themselves; of an element of A without triangles, only what is not held.
    """
    bits = ENDS
    last = element_points[kb, 0]
    for i in range(3):
        last = element_points[kb, i] if element_points[kb, i] >= 0 else last
        left_out = ta >= 0
        for k in range(held.shape[0]):
            left_out = left_out or (held[k, 0] == POINT_B and held[k, 1] == last)
        if left_out:
            bits |= 1 << i
    return bits


@kernel()
def point_step(
    pose,
    sign,
    px,
    py,
    pz,
    corners,
    nx,
    ny,
    nz,
    flat,
    side,
    shared,
    radius,
    curvature,
    size,
    slow,
    known,
    travelled,
):
    """How long a point and a triangle stay apart, TOUCHES where they touch and approach, or ASK for `side`.

    `sign` 1: the point is A's, -1: it is B's. n: the triangle's normal (`flat`: it has one). `side` is asked for
    where the point is so close to the plane that its height does not tell it: 1 or -1, or 0 where the surface
    around the point leans over the plane on both sides. `shared`: the triangle's corners (bits) that belong to
    another on which lasting contact holds the (round) point; it meets those only where that contact ends. With
    ENDS added: ends of an edge without triangles that are not looked at here.
    """
    touch, deepest = TOUCH_GAP * size, PENETRATION * size
    half = -0.5 * curvature
    qx, qy, qz, region = closest_on_triangle(
        px, py, pz, corners[0, 0], corners[0, 1], corners[0, 2], corners[1, 0], corners[1, 1], corners[1, 2],
        corners[2, 0], corners[2, 1], corners[2, 2],
    )  # fmt: skip
    if shared >= ENDS:
        if region >= 4 and (shared >> (region - 4)) & 1:
            return np.inf
    elif shared != 0 and region > 0:
        of_region = 1 << (region - 4)
        if region <= 3:
            of_region = (1 << (region - 1)) | (1 << (region % 3))
        if shared & of_region == of_region:
            return np.inf
    dx, dy, dz = px - qx, py - qy, pz - qz
    square = dot(dx, dy, dz, dx, dy, dz)
    distance = np.sqrt(square)
    step = rate = 0.0
    if distance > touch:
        mx, my, mz = dx / distance, dy / distance, dz / distance
        if 1 <= region <= 3:  # rounding must not tilt the direction along the edge
            k, m = region - 1, region % 3
            mx, my, mz = across(
                mx,
                my,
                mz,
                corners[m, 0] - corners[k, 0],
                corners[m, 1] - corners[k, 1],
                corners[m, 2] - corners[k, 2],
            )
        elif flat and region == 0:
            toward = 1.0 if dot(mx, my, mz, nx, ny, nz) > 0.0 else -1.0
            mx, my, mz = toward * nx, toward * ny, toward * nz
        rate = sign * velocity_along(pose, px, py, pz, mx, my, mz)
        gap = distance - radius
        if radius > 0.0 and gap <= touch and rate < -slow:
            if is_known(
                known, pose, px, py, pz, sign * mx, sign * my, sign * mz, radius, size, slow, travelled
            ):  # fmt: skip
                return first_root(deepest, 0.0, half)
            return TOUCHES
        step = look_again(gap, rate, half, touch, deepest, slow)
    if radius > 0.0 or not flat:
        return step
    height = dot(px - corners[0, 0], py - corners[0, 1], pz - corners[0, 2], nx, ny, nz)
    if abs(height) > BAND * size:
        side = 1 if height > 0.0 else -1
    elif side == ASK:
        return ASK
    if side == 0:
        return max(step, first_root(deepest, min(rate, 0.0), half))
    height *= side
    rate = sign * side * velocity_along(pose, px, py, pz, nx, ny, nz)
    sideways = 0.0 if region == 0 else square - height * height
    if height <= touch and rate < -slow and sideways <= (SIDEWAYS * size) ** 2:
        out = sign * side
        if is_known(known, pose, px, py, pz, out * nx, out * ny, out * nz, 0.0, size, slow, travelled):
            return max(step, first_root(deepest, 0.0, half))
        return TOUCHES
    return max(step, look_again(height, rate, half, touch, deepest, slow))


@kernel()
def edge_step(
    pose, ax, ay, az, bx, by, bz, cx, cy, cz, ex, ey, ez, side, radius, curvature, size, slow, turning,
    turning_rate, horizon, known, travelled,
):  # fmt: skip
    """How long an edge a-b of A and an edge c-e of B stay apart, TOUCHES where they touch and approach, or ASK.

    Along a fixed direction the ends of the edges bound all of them; the signed distance of the lines through
    them, n.(a - c) with n across both, has a second derivative bounded by how fast n turns. `side`, asked
    for where the lines are so close that the distance does not tell it: 1 or -1, contact along (b - a) x (e - c)
    or against it, 0 where other faces shield both. `turning`,
    `turning_rate`: bounds on |wA| + |wB| and on the second derivative of the cross product of unit directions.
    """
    touch, deepest = TOUCH_GAP * size, PENETRATION * size
    half = -0.5 * curvature
    s, t, inside = closest_on_segments(ax, ay, az, bx, by, bz, cx, cy, cz, ex, ey, ez)
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = ex - cx, ey - cy, ez - cz
    px, py, pz = ax + s * ux, ay + s * uy, az + s * uz
    dx, dy, dz = px - cx - t * vx, py - cy - t * vy, pz - cz - t * vz
    square = dot(dx, dy, dz, dx, dy, dz)
    distance = np.sqrt(square)
    step = closing = 0.0
    if distance > touch:
        mx, my, mz = dx / distance, dy / distance, dz / distance
        # rounding must not tilt the direction along an edge
        if inside:
            nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
            toward = np.copysign(1.0 / np.sqrt(dot(nx, ny, nz, nx, ny, nz)), dot(nx, ny, nz, mx, my, mz))
            mx, my, mz = toward * nx, toward * ny, toward * nz
        elif 0.0 < t < 1.0:
            mx, my, mz = across(mx, my, mz, vx, vy, vz)
        elif 0.0 < s < 1.0:
            mx, my, mz = across(mx, my, mz, ux, uy, uz)
        top = max(dot(cx, cy, cz, mx, my, mz), dot(ex, ey, ez, mx, my, mz)) + radius
        near = dot(ax, ay, az, mx, my, mz) - top
        far = dot(bx, by, bz, mx, my, mz) - top
        near_rate = velocity_along(pose, ax, ay, az, mx, my, mz)
        far_rate = velocity_along(pose, bx, by, bz, mx, my, mz)
        if min(near, far) >= -deepest:  # else the direction is rounding
            step = min(
                look_again(near, near_rate, half, touch, deepest, slow),
                look_again(far, far_rate, half, touch, deepest, slow),
            )
        closing = min(0.0, near_rate, far_rate)
    nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
    length = np.sqrt(dot(nx, ny, nz, nx, ny, nz))
    sine = length / np.sqrt(dot(ux, uy, uz, ux, uy, uz) * dot(vx, vy, vz, vx, vy, vz))
    if sine < _PARALLEL:
        return max(step, first_root(deepest, closing, half))
    nx, ny, nz = nx / length, ny / length, nz / length
    gap = dot(dx, dy, dz, nx, ny, nz)  # between near points: n is only as exact as the edges are across
    if radius > 0.0 or abs(gap) > BAND * size:
        side = 1 if gap > 0.0 else -1
    elif side == ASK:
        return ASK
    if radius > 0.0 and not inside:
        # the ends are looked at as points; between them round edges meet only after their lines cross there
        beyond = way_beyond_ends(ax - cx, ay - cy, az - cz, ux, uy, uz, vx, vy, vz) + BAND * size
        speed = 0.0
        for i in range(3):
            ox, oy, oz = 1.0 * (i == 0), 1.0 * (i == 1), 1.0 * (i == 2)
            speed += velocity_along(pose, px, py, pz, ox, oy, oz) ** 2
        drift = (np.sqrt(speed) + curvature * horizon + 4.0 * turning * (radius + size + beyond)) / sine**2
        return max(step, min(horizon, beyond / drift)) if drift > 0.0 else max(step, horizon)
    sideways = 0.0 if inside else square - gap * gap
    gap = side * gap - radius
    rate = velocity_along(pose, px, py, pz, nx, ny, nz)
    if side != 0:
        rate *= side
    if side != 0 and gap <= touch and rate < -slow and sideways <= (SIDEWAYS * size) ** 2:
        if is_known(known, pose, px, py, pz, side * nx, side * ny, side * nz, radius, size, slow, travelled):
            return max(step, first_root(deepest, 0.0, half))
        return TOUCHES
    if gap < -BAND * size:  # round edges whose axes are closer than their radii, beside each other
        return max(step, first_root(deepest, closing, half))
    longest = min(horizon, 0.5 * sine / turning) if turning > 0.0 else horizon
    speed = (
        np.sqrt(
            velocity_along(pose, px, py, pz, 1.0, 0.0, 0.0) ** 2
            + velocity_along(pose, px, py, pz, 0.0, 1.0, 0.0) ** 2
            + velocity_along(pose, px, py, pz, 0.0, 0.0, 1.0) ** 2
        )
        + curvature * longest
    )
    bend = (
        curvature
        + 4.0 * turning / sine * speed
        + (2.0 * turning_rate / sine + 12.0 * (turning / sine) ** 2) * (distance + speed * longest)
    )
    if side == 0:  # whatever shields them may turn away
        return max(step, min(longest, first_root(deepest, -abs(rate), -0.5 * bend)))
    return max(step, min(longest, look_again(gap, rate, -0.5 * bend, touch, deepest, slow)))


@kernel()
def point_side(mesh, p, sheet, nx, ny, nz, slack):
    """On which side of a plane the surface around point p lies, n given in the point's own axes: 1, -1 or 0."""
    if not leans_over(mesh.points, mesh.star_start, mesh.star, p, nx, ny, nz, 1.0, slack):
        return 1
    if sheet and not leans_over(mesh.points, mesh.star_start, mesh.star, p, nx, ny, nz, -1.0, slack):
        return -1
    return 0


@kernel()
def edge_side(A, i, B, j, pose, nx, ny, nz):
    """On which side of edge j of B edge i of A can touch, along n (in B's axes) or against it: 1, -1 or 0."""
    ax = pose[0] * nx + pose[3] * ny + pose[6] * nz
    ay = pose[1] * nx + pose[4] * ny + pose[7] * nz
    az = pose[2] * nx + pose[5] * ny + pose[8] * nz
    for side in (1, -1):
        if not edge_shielded(A.spread_start, A.spread, i, ax, ay, az, side) and not edge_shielded(
            B.spread_start, B.spread, j, nx, ny, nz, -side
        ):
            return side
    return 0


@kernel()
def turned_back_by(pose, x, y, z):
    """A direction of B's axes in A's."""
    return (
        pose[0] * x + pose[3] * y + pose[6] * z,
        pose[1] * x + pose[4] * y + pose[7] * z,
        pose[2] * x + pose[5] * y + pose[8] * z,
    )


@kernel()
def along_in_b(pose, x, y, z):
    """A direction of A's axes in B's."""
    return (
        pose[0] * x + pose[1] * y + pose[2] * z,
        pose[3] * x + pose[4] * y + pose[5] * z,
        pose[6] * x + pose[7] * y + pose[8] * z,
    )


@kernel()
def elements_step(
    A, B, ka, kb, pose, radius, size, slow, curvature_a, curvature_b, turning, turning_rate, horizon, known, held,
    travelled, corners_a, corners_b,
):  # fmt: skip
    """How long two elements stay apart, at most `horizon`; TOUCHES where a pair of their features is an event."""
    element_corners(A.points, A.triangles, A.element_points, A.element_triangle, ka, pose, True, corners_a)
    element_corners(B.points, B.triangles, B.element_points, B.element_triangle, kb, pose, False, corners_b)
    ta, tb = A.element_triangle[ka], B.element_triangle[kb]
    best = horizon
    slack = BAND * size
    if tb >= 0:
        nx, ny, nz = B.normals[tb, 0], B.normals[tb, 1], B.normals[tb, 2]
    else:
        nx = ny = nz = 0.0
    for i in range(3):
        p = A.element_points[ka, i]
        if p < 0 or is_held(held, POINT_A, p, B.group[tb] if tb >= 0 else -1):
            continue
        shared = (
            shared_corners(held, POINT_A, p, tb) if tb >= 0 else ends_left_out(held, B.element_points, kb, ta)
        )
        px, py, pz = carried(pose, A.points[p])
        step = point_step(
            pose, 1.0, px, py, pz, corners_b, nx, ny, nz, tb >= 0, ASK, shared, radius, curvature_a, size, slow,
            known,
            travelled,
        )  # fmt: skip
        if step == ASK:
            mx, my, mz = turned_back_by(pose, nx, ny, nz)
            side = point_side(A, p, B.sheet, mx, my, mz, slack)
            step = point_step(
                pose, 1.0, px, py, pz, corners_b, nx, ny, nz, True, side, shared, radius, curvature_a, size, slow,
                known,
                travelled,
            )  # fmt: skip
        if step == TOUCHES:
            return TOUCHES
        best = min(best, step)
    if ta >= 0:
        nx, ny, nz = along_in_b(pose, A.normals[ta, 0], A.normals[ta, 1], A.normals[ta, 2])
    for i in range(3):
        p = B.element_points[kb, i]
        if p < 0 or is_held(held, POINT_B, p, A.group[ta] if ta >= 0 else -1):
            continue
        shared = shared_corners(held, POINT_B, p, ta) if ta >= 0 else ENDS + 7  # points of A look at B
        px, py, pz = B.points[p, 0], B.points[p, 1], B.points[p, 2]
        step = point_step(
            pose, -1.0, px, py, pz, corners_a, nx, ny, nz, ta >= 0, ASK, shared, radius, curvature_b, size, slow,
            known,
            travelled,
        )  # fmt: skip
        if step == ASK:
            side = point_side(B, p, A.sheet, nx, ny, nz, slack)
            step = point_step(
                pose, -1.0, px, py, pz, corners_a, nx, ny, nz, True, side, shared, radius, curvature_b, size, slow,
                known,
                travelled,
            )  # fmt: skip
        if step == TOUCHES:
            return TOUCHES
        best = min(best, step)
    for i in range(3):
        a = A.element_edges[ka, i]
        if a < 0:
            continue
        ax, ay, az = carried(pose, A.points[A.edges[a, 0]])
        bx, by, bz = carried(pose, A.points[A.edges[a, 1]])
        for j in range(3):
            b = B.element_edges[kb, j]
            if b < 0 or is_held(held, EDGES, a, b):
                continue
            c, e = B.edges[b, 0], B.edges[b, 1]
            cx, cy, cz = B.points[c, 0], B.points[c, 1], B.points[c, 2]
            ex, ey, ez = B.points[e, 0], B.points[e, 1], B.points[e, 2]
            step = edge_step(
                pose, ax, ay, az, bx, by, bz, cx, cy, cz, ex, ey, ez, ASK, radius, curvature_a, size, slow,
                turning, turning_rate, best, known, travelled,
            )  # fmt: skip
            if step == ASK:
                nx, ny, nz = cross(bx - ax, by - ay, bz - az, ex - cx, ey - cy, ez - cz)
                length = np.sqrt(dot(nx, ny, nz, nx, ny, nz))
                side = edge_side(A, a, B, b, pose, nx / length, ny / length, nz / length)
                step = edge_step(
                    pose, ax, ay, az, bx, by, bz, cx, cy, cz, ex, ey, ez, side, radius, curvature_a, size, slow,
                    turning, turning_rate, best, known, travelled,
                )  # fmt: skip
            if step == TOUCHES:
                return TOUCHES
            best = min(best, step)
    return best


@kernel(allocates=True)
def mesh_impact(A, piece_a, bounds_a, start_a, B, piece_b, bounds_b, start_b, span, size, slow, known, held):
    """First time in [0, span] at which two surfaces touch while approaching: (time, hit).

    `start_a`, `start_b`: ages of the two pieces at time 0. `known` (k, 6): places and normals (axes of B) of
    contacts at time 0 of which the law has taken care. `held` (h, 4): kind and numbers of the features (of a
    triangle, its group) that lasting contact keeps together, or for BESIDE: point, triangle, shared corners.
    Approach at less than `slow` [m/s] is rounding.
    hit: 1, 0 none, -2 step limit.
    """
    radius = A.radius + B.radius
    reach_a, reach_b = A.reach, B.reach
    pull = deviation = 0.0
    for i in range(3):
        pull += (bounds_a[i] - bounds_b[i]) ** 2
    deviation = np.sqrt(pull) + bounds_a[3] + bounds_b[3]
    spin_a, spin_b = np.sqrt(bounds_a[4]), np.sqrt(bounds_b[4])
    turning = spin_a + spin_b
    turning_rate = bounds_a[4] + bounds_b[4] + 2.0 * spin_a * spin_b
    stack, earliest = np.empty((_STACK, 2), np.int64), np.empty(_STACK)
    corners_a, corners_b = matrix3x3(), matrix3x3()
    first_leaf_a, first_leaf_b = A.leaf.shape[0] - 1, B.leaf.shape[0] - 1
    tau = 0.0
    for _ in range(100000):
        state_a, state_b = evaluate_piece(piece_a, start_a + tau), evaluate_piece(piece_b, start_b + tau)
        pose = relative_pose(state_a, state_b)
        apart = np.sqrt(pose[9] ** 2 + pose[10] ** 2 + pose[11] ** 2)
        closing = 0.0
        for i in range(3):
            closing += (state_a[7 + i] - state_b[7 + i]) ** 2
        closing = np.sqrt(closing)
        around = reach_a + reach_b + radius
        best = span - tau
        if apart > 1.01 * around:
            best = min(best, first_root(apart - around, -closing, -0.5 * deviation))
        else:
            # over the horizon the centres come no nearer and go no farther than `around`
            if closing > 0.0 or deviation > 0.0:
                best = min(best, first_root(around, -closing, -0.5 * deviation))
            fastest = closing + deviation * best
            speed_a = fastest + spin_a * reach_a + spin_b * (apart + around + reach_a)
            speed_b = fastest + spin_b * reach_b + spin_a * (apart + around + reach_b)
            curvature_a = (
                deviation
                + bounds_a[4] * reach_a
                + bounds_b[4] * (apart + around + reach_a)
                + 2.0 * spin_b * speed_a
            )
            curvature_b = (
                deviation
                + bounds_b[4] * reach_b
                + bounds_a[4] * (apart + around + reach_b)
                + 2.0 * spin_a * speed_b
            )
            curvature = max(curvature_a, curvature_b)
            travelled = max(speed_a, speed_b) * tau
            spin = np.sqrt(pose[15] ** 2 + pose[16] ** 2 + pose[17] ** 2)
            stack[0, 0] = stack[0, 1] = 0
            earliest[0] = 0.0
            count = 1
            while count > 0:
                count -= 1
                na, nb = stack[count, 0], stack[count, 1]
                if earliest[count] >= best:
                    continue
                leaf_a, leaf_b = na >= first_leaf_a, nb >= first_leaf_b
                if leaf_a and leaf_b:
                    step = elements_step(
                        A, B, A.leaf[na - first_leaf_a], B.leaf[nb - first_leaf_b], pose, radius, size, slow,
                        curvature_a, curvature_b, turning, turning_rate, best, known, held, travelled, corners_a,
                        corners_b,
                    )  # fmt: skip
                    if step == TOUCHES:
                        return tau, 1
                    best = min(best, step)
                    continue
                first = split(A.low[na], A.high[na], B.low[nb], B.high[nb], leaf_a, leaf_b)
                for child in (1, 2):
                    stack[count, 0] = 2 * na + child if first else na
                    stack[count, 1] = nb if first else 2 * nb + child
                    ca, cb = stack[count, 0], stack[count, 1]
                    earliest[count] = boxes_meet(
                        A.low[ca], A.high[ca], B.low[cb], B.high[cb], pose, spin, radius, curvature
                    )
                    count += 1
                if earliest[count - 1] > earliest[count - 2]:  # the more urgent child is looked at first
                    ca, cb, when = stack[count - 1, 0], stack[count - 1, 1], earliest[count - 1]
                    stack[count - 1, 0], stack[count - 1, 1] = stack[count - 2, 0], stack[count - 2, 1]
                    stack[count - 2, 0], stack[count - 2, 1] = ca, cb
                    earliest[count - 1], earliest[count - 2] = earliest[count - 2], when
        if tau >= span:
            return np.inf, 0
        following = tau + best
        if following == tau:
            following = np.nextafter(tau, np.inf)
        tau = min(following, span)
    return tau, -2


@kernel()
def segment_crosses(p, q, corners, nx, ny, nz):
    """Whether the segment p-q (3,) passes through a triangle."""
    above = dot(p[0] - corners[0, 0], p[1] - corners[0, 1], p[2] - corners[0, 2], nx, ny, nz)
    below = dot(q[0] - corners[0, 0], q[1] - corners[0, 1], q[2] - corners[0, 2], nx, ny, nz)
    if above * below >= 0.0:
        return False
    s = above / (above - below)
    x, y, z = p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1]), p[2] + s * (q[2] - p[2])
    for k in range(3):
        m = (k + 1) % 3
        gx, gy, gz = cross(
            corners[m, 0] - corners[k, 0], corners[m, 1] - corners[k, 1], corners[m, 2] - corners[k, 2],
            x - corners[k, 0], y - corners[k, 1], z - corners[k, 2],
        )  # fmt: skip
        if dot(gx, gy, gz, nx, ny, nz) < 0.0:
            return False
    return True


@kernel()
def elements_distance(A, B, ka, kb, pose, corners_a, corners_b, found):
    """Distance of two elements, 0 where they cross; fills found (6,): where on A and B, in B's axes."""
    element_corners(A.points, A.triangles, A.element_points, A.element_triangle, ka, pose, True, corners_a)
    element_corners(B.points, B.triangles, B.element_points, B.element_triangle, kb, pose, False, corners_b)
    ta, tb = A.element_triangle[ka], B.element_triangle[kb]
    best = np.inf
    for i in range(3):
        for which in range(2):
            own, other = (corners_a, corners_b) if which == 0 else (corners_b, corners_a)
            x, y, z, _ = closest_on_triangle(
                own[i, 0], own[i, 1], own[i, 2], other[0, 0], other[0, 1], other[0, 2],
                other[1, 0], other[1, 1], other[1, 2], other[2, 0], other[2, 1], other[2, 2],
            )  # fmt: skip
            square = (own[i, 0] - x) ** 2 + (own[i, 1] - y) ** 2 + (own[i, 2] - z) ** 2
            if square < best:
                best = square
                at, to = (0, 3) if which == 0 else (3, 0)
                found[at], found[at + 1], found[at + 2] = own[i, 0], own[i, 1], own[i, 2]
                found[to], found[to + 1], found[to + 2] = x, y, z
    for i in range(3):
        p, q = corners_a[i], corners_a[(i + 1) % 3]
        if p[0] == q[0] and p[1] == q[1] and p[2] == q[2]:
            continue
        for j in range(3):
            c, e = corners_b[j], corners_b[(j + 1) % 3]
            if c[0] == e[0] and c[1] == e[1] and c[2] == e[2]:
                continue
            s, t, _ = closest_on_segments(
                p[0], p[1], p[2], q[0], q[1], q[2], c[0], c[1], c[2], e[0], e[1], e[2]
            )
            square = 0.0
            for k in range(3):
                square += (p[k] + s * (q[k] - p[k]) - c[k] - t * (e[k] - c[k])) ** 2
            if square < best:
                best = square
                for k in range(3):
                    found[k] = p[k] + s * (q[k] - p[k])
                    found[3 + k] = c[k] + t * (e[k] - c[k])
    if tb >= 0:
        for i in range(3):
            if segment_crosses(
                corners_a[i],
                corners_a[(i + 1) % 3],
                corners_b,
                B.normals[tb, 0],
                B.normals[tb, 1],
                B.normals[tb, 2],
            ):
                return 0.0
    if ta >= 0:
        nx, ny, nz = along_in_b(pose, A.normals[ta, 0], A.normals[ta, 1], A.normals[ta, 2])
        for i in range(3):
            if segment_crosses(corners_b[i], corners_b[(i + 1) % 3], corners_a, nx, ny, nz):
                return 0.0
    return np.sqrt(best)


@kernel(allocates=True)
def mesh_distance(A, B, pose, limit, found):
    """Distance of the features of two surfaces, without their radii, 0 where they cross.

    Fills found (8,): where on A and on B (axes of B) they are closest, and the two elements. Pairs farther
    apart than `limit` are not looked at; infinite where all are.
    """
    stack = np.empty((_STACK, 2), np.int64)
    corners_a, corners_b, here = matrix3x3(), matrix3x3(), vector6()
    first_leaf_a, first_leaf_b = A.leaf.shape[0] - 1, B.leaf.shape[0] - 1
    best, closest = limit, np.inf
    stack[0, 0] = stack[0, 1] = 0
    count = 1
    while count > 0:
        count -= 1
        na, nb = stack[count, 0], stack[count, 1]
        gap = box_gap(A.low[na], A.high[na], B.low[nb], B.high[nb], pose)
        if gap > best or gap == np.inf or gap >= closest:
            continue
        leaf_a, leaf_b = na >= first_leaf_a, nb >= first_leaf_b
        if leaf_a and leaf_b:
            ka, kb = A.leaf[na - first_leaf_a], B.leaf[nb - first_leaf_b]
            distance = elements_distance(A, B, ka, kb, pose, corners_a, corners_b, here)
            if distance < closest and distance <= best:
                best = closest = distance
                for k in range(6):
                    found[k] = here[k]
                found[6], found[7] = ka, kb
                if distance == 0.0:
                    return 0.0
            continue
        if split(A.low[na], A.high[na], B.low[nb], B.high[nb], leaf_a, leaf_b):
            one_a, one_b, two_a, two_b = 2 * na + 1, nb, 2 * na + 2, nb
        else:
            one_a, one_b, two_a, two_b = na, 2 * nb + 1, na, 2 * nb + 2
        one = box_gap(A.low[one_a], A.high[one_a], B.low[one_b], B.high[one_b], pose)
        two = box_gap(A.low[two_a], A.high[two_a], B.low[two_b], B.high[two_b], pose)
        if one < two:  # the closer child is looked at first
            one_a, one_b, two_a, two_b = two_a, two_b, one_a, one_b
        stack[count, 0], stack[count, 1] = one_a, one_b
        stack[count + 1, 0], stack[count + 1, 1] = two_a, two_b
        count += 2
    return closest


@kernel()
def write_row(rows, count, kind, first, second, region, x, y, z, nx, ny, nz, gap, element):
    """Write one contact if there is room, and count it."""
    if count < rows.shape[0]:
        rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3] = kind, first, second, region
        rows[count, 4], rows[count, 5], rows[count, 6] = x, y, z
        rows[count, 7], rows[count, 8], rows[count, 9] = nx, ny, nz
        rows[count, 10], rows[count, 11] = gap, element
    return count + 1


@kernel()
def point_contacts(
    own, other, own_element, element, corners, nx, ny, nz, pose, is_a, radius, tolerance, rows, count
):
    """Contacts of the points of one element with a triangle (or edge, or point); n: its normal, B's axes."""
    kind = POINT_A if is_a else POINT_B
    t = other.element_triangle[element]
    sign = 1.0 if is_a else -1.0  # contact normals point from B to A
    for i in range(3):
        p = own.element_points[own_element, i]
        if p < 0:
            continue
        px, py, pz = own.points[p, 0], own.points[p, 1], own.points[p, 2]
        if is_a:
            px, py, pz = carried(pose, own.points[p])
        qx, qy, qz, region = closest_on_triangle(
            px, py, pz, corners[0, 0], corners[0, 1], corners[0, 2], corners[1, 0], corners[1, 1], corners[1, 2],
            corners[2, 0], corners[2, 1], corners[2, 2],
        )  # fmt: skip
        dx, dy, dz = px - qx, py - qy, pz - qz
        square = dot(dx, dy, dz, dx, dy, dz)
        distance = np.sqrt(square)
        if distance > radius + tolerance:
            continue
        group = other.group[t] if t >= 0 else -1
        if radius > 0.0 and distance > 0.0:
            mx, my, mz = dx / distance, dy / distance, dz / distance
            gap = distance - radius
            if region > 0 and t >= 0:
                height = dot(dx, dy, dz, nx, ny, nz)
                sideways = (dx - height * nx) ** 2 + (dy - height * ny) ** 2 + (dz - height * nz) ** 2
                if sideways <= (1e-3 * tolerance) ** 2:
                    region = 0  # over a seam of a flat face
        elif t >= 0:
            height = dot(px - corners[0, 0], py - corners[0, 1], pz - corners[0, 2], nx, ny, nz)
            if region > 0 and square - height * height > tolerance * tolerance:
                continue
            ox, oy, oz = nx, ny, nz
            if is_a:
                ox, oy, oz = turned_back_by(pose, nx, ny, nz)
            side = point_side(own, p, other.sheet, ox, oy, oz, tolerance)
            if side == 0:
                continue
            mx, my, mz = side * nx, side * ny, side * nz
            gap = side * height
            region = 0
        else:
            continue
        away = own.radius + 0.5 * gap
        count = write_row(
            rows, count, kind, p, group, region, px - away * mx, py - away * my, pz - away * mz, sign * mx,
            sign * my, sign * mz, gap, element,
        )  # fmt: skip
    return count


@kernel()
def edge_contacts(A, B, ka, kb, pose, radius, tolerance, rows, count):
    """Contacts of the edges of two elements where they cross, or run past each other within their radii."""
    for i in range(3):
        a = A.element_edges[ka, i]
        if a < 0:
            continue
        ax, ay, az = carried(pose, A.points[A.edges[a, 0]])
        bx, by, bz = carried(pose, A.points[A.edges[a, 1]])
        ux, uy, uz = bx - ax, by - ay, bz - az
        for j in range(3):
            b = B.element_edges[kb, j]
            if b < 0:
                continue
            c, e = B.edges[b, 0], B.edges[b, 1]
            cx, cy, cz = B.points[c, 0], B.points[c, 1], B.points[c, 2]
            vx, vy, vz = B.points[e, 0] - cx, B.points[e, 1] - cy, B.points[e, 2] - cz
            s, t, inside = closest_on_segments(ax, ay, az, bx, by, bz, cx, cy, cz, cx + vx, cy + vy, cz + vz)
            px, py, pz = ax + s * ux, ay + s * uy, az + s * uz
            dx, dy, dz = px - cx - t * vx, py - cy - t * vy, pz - cz - t * vz
            square = dot(dx, dy, dz, dx, dy, dz)
            if square > (radius + tolerance) ** 2:
                continue
            nx, ny, nz = cross(ux, uy, uz, vx, vy, vz)
            length = np.sqrt(dot(nx, ny, nz, nx, ny, nz))
            if length < _PARALLEL * np.sqrt(dot(ux, uy, uz, ux, uy, uz) * dot(vx, vy, vz, vx, vy, vz)):
                continue
            nx, ny, nz = nx / length, ny / length, nz / length
            gap = dot(dx, dy, dz, nx, ny, nz)
            if not inside and square - gap * gap > tolerance * tolerance:
                continue
            if radius > 0.0:
                side = 1 if gap > 0.0 else -1
            else:
                side = edge_side(A, a, B, b, pose, nx, ny, nz)
            if side == 0:
                continue
            gap = side * gap - radius
            away = A.radius + 0.5 * gap
            nx, ny, nz = side * nx, side * ny, side * nz
            count = write_row(
                rows,
                count,
                EDGES,
                a,
                b,
                0,
                px - away * nx,
                py - away * ny,
                pz - away * nz,
                nx,
                ny,
                nz,
                gap,
                -1,
            )
    return count


@kernel(allocates=True)
def mesh_contacts(A, B, pose, tolerance, rows):
    """Fill rows (n, 12) with features whose gap is at most `tolerance`; returns how many there are.

    A row: kind, number of the point or edge of A, of the triangle's group or edge of B (for POINT_B: point of
    B, group of A), region of the triangle, point (3,) and normal (3,) in B's axes, gap, element of
    the triangle.
    """
    stack = np.empty((_STACK, 2), np.int64)
    corners_a, corners_b = matrix3x3(), matrix3x3()
    first_leaf_a, first_leaf_b = A.leaf.shape[0] - 1, B.leaf.shape[0] - 1
    radius = A.radius + B.radius
    found = 0
    stack[0, 0] = stack[0, 1] = 0
    count = 1
    while count > 0:
        count -= 1
        na, nb = stack[count, 0], stack[count, 1]
        if box_gap(A.low[na], A.high[na], B.low[nb], B.high[nb], pose) > radius + 2.0 * tolerance:
            continue
        leaf_a, leaf_b = na >= first_leaf_a, nb >= first_leaf_b
        if leaf_a and leaf_b:
            ka, kb = A.leaf[na - first_leaf_a], B.leaf[nb - first_leaf_b]
            element_corners(
                A.points, A.triangles, A.element_points, A.element_triangle, ka, pose, True, corners_a
            )
            element_corners(
                B.points, B.triangles, B.element_points, B.element_triangle, kb, pose, False, corners_b
            )
            ta, tb = A.element_triangle[ka], B.element_triangle[kb]
            nx = ny = nz = 0.0
            if tb >= 0:
                nx, ny, nz = B.normals[tb, 0], B.normals[tb, 1], B.normals[tb, 2]
            found = point_contacts(
                A, B, ka, kb, corners_b, nx, ny, nz, pose, True, radius, tolerance, rows, found
            )
            if ta >= 0:
                nx, ny, nz = along_in_b(pose, A.normals[ta, 0], A.normals[ta, 1], A.normals[ta, 2])
            found = point_contacts(
                B, A, kb, ka, corners_a, nx, ny, nz, pose, False, radius, tolerance, rows, found
            )
            found = edge_contacts(A, B, ka, kb, pose, radius, tolerance, rows, found)
            continue
        if split(A.low[na], A.high[na], B.low[nb], B.high[nb], leaf_a, leaf_b):
            stack[count, 0], stack[count, 1] = 2 * na + 1, nb
            stack[count + 1, 0], stack[count + 1, 1] = 2 * na + 2, nb
        else:
            stack[count, 0], stack[count, 1] = na, 2 * nb + 1
            stack[count + 1, 0], stack[count + 1, 1] = na, 2 * nb + 2
        count += 2
    return found
