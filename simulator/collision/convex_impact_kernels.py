"""Times of impact of convex shapes: advances by bounds of second order, along planes and along axes."""

import numpy as np

from ...compiled import kernel
from ..kernels import cross, ellipsoid_lowest, evaluate_piece, first_root, matrix4x3, vector13, vector18
from ..tolerances import CONTACT_GAP, DEEPEST, MOST_SEARCH_STEPS, PENETRATION, TOUCH_GAP
from .convex_contacts_kernels import pair_contacts
from .frames_kernels import (
    EDGE,
    RIM,
    core_gap,
    frame_of_piece,
    lowest,
    normalised,
    to_body,
    to_world,
    used_terms,
)
from .separation_kernels import climbed_axis, nearest_axis, separation

_NEAR = 1e-3
_CREEPS = 30_000  # steps of a search; from then on it may pass over more
_PARALLEL = 1e-6  # sine below which lines have no axis across them
_SPINLESS = (
    1.21  # points of a disk that does not spin about its axis: at most (1 + sqrt(2)) / 2 times the bound
)


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
def _lowest_rate(shape, mx, my, mz, rx, ry, rz, sx, sy, touch):
    """Slowest height rate of the points within `touch` of the lowest, the direction m changing at the rates r and s
    (`_support_rate`)."""
    points = shape.points
    _, low = lowest(shape, mx, my, mz)
    rim = 0.0
    if shape.disk > 0.0:
        low += shape.disk * np.sqrt(mx * mx + my * my)
        rim = _rim_rate(shape.disk, mx, my, sx, sy, touch)
    slowest = np.inf
    for j in range(points.shape[0]):
        if points[j, 0] * mx + points[j, 1] * my + points[j, 2] * mz <= low + touch:
            slowest = min(slowest, points[j, 0] * rx + points[j, 1] * ry + points[j, 2] * rz)
    return slowest + rim


@kernel()
def _support_line(shape, mx, my, mz, rx, ry, rz, sx, sy, horizon):
    """Height and its rate now of the material point that would be lowest at the horizon [s] without curvature."""
    hx, hy, hz = mx + horizon * rx, my + horizon * ry, mz + horizon * rz
    j, _ = lowest(shape, hx, hy, hz)
    x, y, z = shape.points[j, 0], shape.points[j, 1], shape.points[j, 2]
    height, rate = mx * x + my * y + mz * z, rx * x + ry * y + rz * z
    if shape.disk > 0.0:
        hx, hy = mx + horizon * sx, my + horizon * sy
        across = np.sqrt(hx * hx + hy * hy)
        if across > 0.0:
            x, y = shape.disk * hx / across, shape.disk * hy / across
            height, rate = height - (mx * x + my * y), rate - (sx * x + sy * y)
    return height, rate


@kernel()
def _support_rate(frame, mx, my, mz, ox, oy, oz):
    """Rates [1/s] in body axes at which a direction m (body axes), which turns at o [rad/s, world], turns: (rx, ry,
    rz) as points see it that move with the body, and (sx, sy) as a disk does that does not spin about its axis. As
    a set it is the same, and its rim then moves as slowly as it can.
    """
    wx, wy, wz = to_body(frame, frame[15] - ox, frame[16] - oy, frame[17] - oz)
    rx, ry, rz = cross(mx, my, mz, wx, wy, wz)
    return rx, ry, rz, -mz * wy, mz * wx


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
        rx, ry, rz, sx, sy = _support_rate(frame, mx, my, mz, 0.0, 0.0, 0.0)
        height = nx * frame[9] + ny * frame[10] + nz * frame[11] - offset - shape.radius
        climb = nx * frame[12] + ny * frame[13] + nz * frame[14]
        rim = rim_rate = 0.0
        if disk > 0.0:
            rim = -disk * np.sqrt(mx * mx + my * my)
            rim_rate = _rim_rate(disk, mx, my, sx, sy, touch)
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
            # other points of this rim may come down before its lowest, and before the other rim
            if disk > 0.0:
                root = min(root, step, span - tau)
                for _ in range(100):
                    hx, hy = mx + root * sx, my + root * sy
                    across = np.sqrt(hx * hx + hy * hy)
                    if across == 0.0:
                        break
                    f = above + slack - disk * (mx * hx + my * hy) / across
                    r = rising - disk * (sx * hx + sy * hy) / across
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
    rax, ray, raz, sax, say = _support_rate(frame_a, ax, ay, az, ox, oy, oz)
    rbx, rby, rbz, sbx, sby = _support_rate(frame_b, bx, by, bz, ox, oy, oz)
    tx, ty, tz = cross(ox, oy, oz, nx, ny, nz)
    dx, dy, dz = frame_a[9] - frame_b[9], frame_a[10] - frame_b[10], frame_a[11] - frame_b[11]
    drift = (
        nx * (frame_a[12] - frame_b[12]) + ny * (frame_a[13] - frame_b[13]) + nz * (frame_a[14] - frame_b[14])
    ) + (tx * dx + ty * dy + tz * dz)
    rate = (
        drift
        + _lowest_rate(shape_a, ax, ay, az, rax, ray, raz, sax, say, touch)
        + _lowest_rate(shape_b, bx, by, bz, rbx, rby, rbz, sbx, sby, touch)
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
        fa, ra = _support_line(shape_a, ax, ay, az, rax, ray, raz, sax, say, ahead)
        fb, rb = _support_line(shape_b, bx, by, bz, rbx, rby, rbz, sbx, sby, ahead)
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
        shape_a, state_a, shape_b, state_b, size, CONTACT_GAP * size, CONTACT_GAP * size
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
        ax, ay, az = _outline(shape_a, features[c, 0], directions[c, 0], frame_a, x)
        bx, by, bz = _outline(shape_b, features[c, 1], directions[c, 1], frame_b, x)
        ox, oy, oz = turn_across(frame_a, frame_b, n[0], n[1], n[2], ax, ay, az, bx, by, bz)
    return ox, oy, oz, slowest


@kernel()
def _outline(shape, feature, along, frame, x):
    """Direction of the edge, or tangent of the rim, with which a body touches at x; zero of other features."""
    if feature == RIM:
        mx, my, mz = to_world(frame, shape.points[0, 0], shape.points[0, 1], shape.points[0, 2])
        mx, my, mz = x[0] - frame[9] - mx, x[1] - frame[10] - my, x[2] - frame[11] - mz
        return cross(along[0], along[1], along[2], mx, my, mz)
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
