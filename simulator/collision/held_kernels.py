"""When two convex bodies that touch now, or that lasting contact holds together, touch at another place too.

A plane that goes with a face of one body, or stays across two crossing edges, keeps the bodies apart for as long as
the points of both stay on their sides of it. Points that the held contacts keep on it, which are those in the point
or line that the contacts span where all of these lie in the plane, need no watching; contacts that span a plane
leave nothing to watch. Of all planes that the held features offer, the one that keeps the bodies apart longest
leads the search, which advances by roots of quadratics under the heights of the points that are watched, as
`convex_impact_kernels.pair_impact` does.
Contacts that are only near are kept from overlapping by implicit steps: their points are left out too, in the plane
of the face or the edges that they touch, but span nothing. Where no plane is between the bodies any more, features
that have come near offer others.
(Following all pairs of features, as for triangle meshes, costs fifty times as much; following one axis without
regard to what is held stands still at the held points.)
"""

import numpy as np

from ...compiled import kernel
from ..kernels import (
    cross,
    evaluate_piece,
    first_root,
    matrix3x3,
    vector3,
    vector13,
    vector18,
    wholes4,
)
from ..tolerances import CONTACT_GAP, DEEPEST, MOST_SEARCH_STEPS, SAME_NORMAL, TOUCH_GAP
from .convex_contacts_kernels import pair_contacts
from .convex_impact_kernels import (
    axis_across,
    passed_over,
    point_velocity,
    touching_gap,
    turn_across,
    turning_bounds,
)
from .frames_kernels import EDGE, FACE, POINT, frame_of_piece, to_body, to_world, used_terms
from .separation_kernels import pair_separation

_ON_HULL = 1e-7  # of the size: points this near what held contacts span are kept by them
_SPREAD = 1e-6  # of the size: held contacts farther from a point, or line, span a line, or plane
_PLANES = 32
_OFFERS = 1e-4  # of the size: features this near offer planes too
_APART = 1e-6  # of the size: from here on one axis leads as well


@kernel()
def spanned(points, size, basis):
    """Rank (0 to 2, -1 of none) of what points (k, 3) span; fills basis (3, 3): a point of it and its unit
    directions."""
    count = points.shape[0]
    if count == 0:
        return -1
    far, which = 0.0, -1
    for i in range(3):
        basis[0, i] = points[0, i]
    for k in range(1, count):
        square = 0.0
        for i in range(3):
            square += (points[k, i] - basis[0, i]) ** 2
        if square > far:
            far, which = square, k
    if which < 0 or far <= (_SPREAD * size) ** 2:
        return 0
    far = np.sqrt(far)
    for i in range(3):
        basis[1, i] = (points[which, i] - basis[0, i]) / far
    widest, across = 0.0, -1
    for k in range(1, count):
        along = square = 0.0
        for i in range(3):
            d = points[k, i] - basis[0, i]
            along += d * basis[1, i]
            square += d * d
        if square - along * along > widest:
            widest, across = square - along * along, k
    if across < 0 or widest <= (_SPREAD * size) ** 2:
        return 1
    return 2


@kernel()
def mark_within(shape, frame, lift, nx, ny, nz, rank, basis, size, within):
    """Mark in `within` (points,) those of a shape, moved by `lift` [m] along n, that lie in what is spanned."""
    for j in range(shape.points.shape[0]):
        p = shape.points[j]
        x, y, z = to_world(frame, p[0], p[1], p[2])
        x += frame[9] + lift * nx - basis[0, 0]
        y += frame[10] + lift * ny - basis[0, 1]
        z += frame[11] + lift * nz - basis[0, 2]
        if rank > 0:
            along = x * basis[1, 0] + y * basis[1, 1] + z * basis[1, 2]
            x, y, z = x - along * basis[1, 0], y - along * basis[1, 1], z - along * basis[1, 2]
        within[j] = x * x + y * y + z * z <= (_ON_HULL * size) ** 2


@kernel()
def lowest_line(shape, mx, my, mz, rx, ry, rz, ahead, kept, watched):
    """Height and its rate now of the point that will be lowest; of all points, or only of `watched` ones."""
    best, height, rate = np.inf, np.inf, 0.0
    for j in range(shape.points.shape[0]):
        if watched and kept[j]:
            continue
        p = shape.points[j]
        now = mx * p[0] + my * p[1] + mz * p[2]
        grows = rx * p[0] + ry * p[1] + rz * p[2]
        then = now + ahead * grows
        if then < best:
            best, height, rate = then, now, grows
    return height, rate


@kernel()
def plane_step(
    A, frame_a, bounds_a, B, frame_b, bounds_b, n, o, turning, swing, kept_a, kept_b, owner, far, fast, horizon,
    size, slow, deepest
):  # fmt: skip
    """How long a plane across n, which turns at o [rad/s] now, at no more than `turning` [rad/s] later, with n'' no
    more than `swing` [1/s^2], has all watched points on their sides [s]; 0 where one of them touches it and comes
    closer, or it is not between them; how far they are from it now [m]; how long until they could be too deep.
    `owner`: whose face it goes with, 0 for A, 1 for B, 2: nobody's; that body is on its side anyway."""
    touch = TOUCH_GAP * size
    close = touching_gap(deepest, size)
    ax, ay, az = to_body(frame_a, n[0], n[1], n[2])
    bx, by, bz = to_body(frame_b, -n[0], -n[1], -n[2])
    wx, wy, wz = to_body(frame_a, frame_a[15] - o[0], frame_a[16] - o[1], frame_a[17] - o[2])
    rax, ray, raz = cross(ax, ay, az, wx, wy, wz)
    wx, wy, wz = to_body(frame_b, frame_b[15] - o[0], frame_b[16] - o[1], frame_b[17] - o[2])
    rbx, rby, rbz = cross(bx, by, bz, wx, wy, wz)
    tx, ty, tz = cross(o[0], o[1], o[2], n[0], n[1], n[2])
    dx, dy, dz = frame_a[9] - frame_b[9], frame_a[10] - frame_b[10], frame_a[11] - frame_b[11]
    drift = n[0] * (frame_a[12] - frame_b[12]) + n[1] * (frame_a[13] - frame_b[13])
    drift += n[2] * (frame_a[14] - frame_b[14]) + tx * dx + ty * dy + tz * dz
    apart = n[0] * dx + n[1] * dy + n[2] * dz - A.radius - B.radius
    pull = 0.0
    for i in range(3):
        pull += (bounds_a[i] - bounds_b[i]) ** 2
    bend = np.sqrt(pull) + bounds_a[3] + bounds_b[3] + bounds_a[4] * A.reach + bounds_b[4] * B.reach
    half = -0.5 * (bend + swing * far + 2.0 * turning * fast)
    step, clear = horizon, np.inf
    for side in range(2):  # watched points of A over all of B, then those of B under all of A
        if side == owner:
            continue
        for _ in range(50):
            fa, ra = lowest_line(A, ax, ay, az, rax, ray, raz, step, kept_a, side == 0)
            fb, rb = lowest_line(B, bx, by, bz, rbx, rby, rbz, step, kept_b, side == 1)
            if fa == np.inf or fb == np.inf:
                break
            gap, rate = apart + fa + fb, drift + ra + rb
            clear = min(clear, gap)
            if gap <= touch and (rate < -slow or gap < -DEEPEST * size):  # or it is not between them
                return 0.0, clear, first_root(deepest, rate, half)
            if gap <= close and (rate * rate <= -0.4 * half * deepest or (rate < 0.0 and gap <= touch)):
                gap = max(gap + deepest, 0.1 * deepest)
            shorter = first_root(max(gap, 0.0), rate, half)
            if shorter >= step * (1.0 - 1e-12):
                break
            step = shorter
    return step, clear, step


@kernel()
def face_plane(shape, frame, f, sign, n, o):
    """Fill n (3,) with the outward normal of a face times a sign, and o with how it turns."""
    n[0], n[1], n[2] = to_world(
        frame, sign * shape.normals[f, 0], sign * shape.normals[f, 1], sign * shape.normals[f, 2]
    )
    o[0], o[1], o[2] = frame[15], frame[16], frame[17]


@kernel()
def swing_across(ax, ay, az, bx, by, bz, turn_a, turn_b, horizon):
    """How an axis n stays across an edge a of A and an edge b of B, unit vectors that turn with bodies of which
    turn = |w|^2 + |w'| [1/s^2]: (the most it turns [rad/s], the largest n'' [1/s^2], for how long at most [s]).

    With m = a x b, of length s, m' <= w_a + w_b, m'' <= turn_a + turn_b + 2 w_a w_b; n' <= m' / s, n'' <= (m'' +
    2 m' n') / s + n'^2. Over that time s stays above nine tenths of what it is now.
    """
    x, y, z = cross(ax, ay, az, bx, by, bz)
    s = 0.9 * np.sqrt(x * x + y * y + z * z)
    wa, wb = np.sqrt(turn_a), np.sqrt(turn_b)
    turning = (wa + wb) / s
    swing = (turn_a + turn_b + 2.0 * wa * wb + 2.0 * (wa + wb) * turning) / s + turning * turning
    if turning > 0.0:
        horizon = min(horizon, 0.1 / turning)
    return turning, swing, horizon


@kernel()
def faces_that_lie(shape, feature, number, frame, nx, ny, nz, faces):
    """Fill faces (4,) with those at a feature whose outward normal is n; how many."""
    count = 0
    if feature == FACE and number >= 0:
        faces[0] = number
        return 1
    if feature == EDGE and number >= 0:
        for side in range(2):
            f = shape.edge_faces[number, side]
            if f >= 0:
                x, y, z = to_world(frame, shape.normals[f, 0], shape.normals[f, 1], shape.normals[f, 2])
                if (x - nx) ** 2 + (y - ny) ** 2 + (z - nz) ** 2 <= SAME_NORMAL**2:
                    faces[count] = f
                    count += 1
    return count


@kernel(allocates=True)
def comes_closer(A, state_a, frame_a, B, state_b, frame_b, feature, index, size, slow):
    """Whether two bodies touch and approach at a place that is not held."""
    place, normal, _, features, indices, _, _ = pair_contacts(
        A, state_a, B, state_b, size, CONTACT_GAP * size, CONTACT_GAP * size
    )
    for c in range(place.shape[0]):
        held = False
        for k in range(feature.shape[0]):
            held = held or (
                features[c, 0] == feature[k, 0]
                and features[c, 1] == feature[k, 1]
                and indices[c, 0] == index[k, 0]
                and indices[c, 1] == index[k, 1]
            )
        if held:
            continue
        x, n = place[c], normal[c]
        ax, ay, az = point_velocity(frame_a, x[0], x[1], x[2])
        bx, by, bz = point_velocity(frame_b, x[0], x[1], x[2])
        if n[0] * (ax - bx) + n[1] * (ay - by) + n[2] * (az - bz) < -slow:
            return True
    return False


@kernel()
def add_planes(A, frame_a, B, frame_b, feature, index, normal, near, crossing, planes, count):
    """Put the planes that contacts offer (feature, index (k, 2), normal (k, 3)) behind the first `count` of planes
    (n, 4), each once: side (2: across two edges), face or edge of A, edge of B, and whether both edges stay in it,
    as those do that are `near` (k,) or have one lone `crossing`; how many there are now."""
    faces = wholes4()
    for k in range(feature.shape[0]):
        for side in range(2):
            shape, frame, sign = (A, frame_a, -1.0) if side == 0 else (B, frame_b, 1.0)
            found = faces_that_lie(
                shape, feature[k, side], index[k, side], frame, sign * normal[k, 0], sign * normal[k, 1],
                sign * normal[k, 2], faces,
            )  # fmt: skip
            for f in range(found):
                count = add_plane(planes, count, side, faces[f], -1, 0)
        if feature[k, 0] == EDGE and feature[k, 1] == EDGE and index[k, 0] >= 0 and index[k, 1] >= 0:
            stays = 1 if crossing or near[k] else 0
            count = add_plane(planes, count, 2, index[k, 0], index[k, 1], stays)
    return count


@kernel()
def add_plane(planes, count, side, one, other, stays):
    """Put a plane behind the first `count` of planes (n, 4), unless it is there or there is no room; how many there
    are now."""
    for p in range(count):
        if planes[p, 0] == side and planes[p, 1] == one and planes[p, 2] == other:
            return count
    if count == planes.shape[0]:
        return count
    planes[count, 0], planes[count, 1], planes[count, 2], planes[count, 3] = side, one, other, stays
    return count + 1


@kernel()
def lies_on_face(shape, f, feature, number):
    """Whether a feature of a hull lies in the plane of its face f."""
    if feature == FACE:
        return number == f
    if feature == EDGE and number >= 0:
        return shape.edge_faces[number, 0] == f or shape.edge_faces[number, 1] == f
    if feature == POINT:
        for k in range(shape.face_starts[f], shape.face_starts[f + 1]):
            if shape.face_corners[k] == number:
                return True
    return False


@kernel()
def lies_on_edge(shape, e, feature, number):
    """Whether a feature of a hull lies on its edge e."""
    if feature == EDGE:
        return number == e
    return feature == POINT and (shape.edge_ends[e, 0] == number or shape.edge_ends[e, 1] == number)


@kernel()
def lies_in_plane(A, B, plane, feature, index):
    """Whether a contact (feature, index (2,)) lies in a plane of `add_planes` while it is held."""
    if plane[0] == 0:
        return lies_on_face(A, plane[1], feature[0], index[0])
    if plane[0] == 1:
        return lies_on_face(B, plane[1], feature[1], index[1])
    return lies_on_edge(A, plane[1], feature[0], index[0]) or lies_on_edge(B, plane[2], feature[1], index[1])


@kernel()
def keep_points(A, B, plane, feature, index, near, within_a, within_b, kept_a, kept_b):
    """Mark in kept (points,) of both sides what contacts keep on its side of a plane: points that are held or near
    on its face, edges that stay in it, and, where all that is held lies in it, what is `within` their span."""
    all_in = True
    for k in range(feature.shape[0]):
        if not near[k] and not lies_in_plane(A, B, plane, feature[k], index[k]):
            all_in = False
        for side in range(2):
            other = 1 - side
            on_it = plane[0] == side and feature[k, side] == FACE and index[k, side] == plane[1]
            if on_it and feature[k, other] == POINT and index[k, other] >= 0:
                (kept_b if side == 0 else kept_a)[index[k, other]] = True
    if plane[3]:
        for end in range(2):
            kept_a[A.edge_ends[plane[1], end]] = True
            kept_b[B.edge_ends[plane[2], end]] = True
    if all_in:
        for j in range(kept_a.size):
            kept_a[j] = kept_a[j] or within_a[j]
        for j in range(kept_b.size):
            kept_b[j] = kept_b[j] or within_b[j]


@kernel(allocates=True)
def held_impact(
    A, CA, bounds_a, start_a, B, CB, bounds_b, start_b, span, feature, index, point, normal, near, holds, size,
    slow,
):  # fmt: skip
    """First time in [0, span] at which two hulls that touch now, do so elsewhere too: (time, hit).

    `feature`, `index` (k, 2), `point`, `normal` (k, 3): of the contacts now, world axes. `holds`: whether these are
    kept closed, or, those that are `near` (k,), from overlapping; else it is also looked whether they close again,
    and the time tells from when on the hulls are clearly apart. `start_a`, `start_b`: ages of the pieces. hit: 1,
    0 none, 2 apart, -2 step limit.
    """
    basis = matrix3x3()
    rank = spanned(point[~near], size, basis)
    if rank == 2 and holds:
        return np.inf, 0
    state, frame_a, frame_b = vector13(), vector18(), vector18()
    moving_a, turning_a = used_terms(CA)
    moving_b, turning_b = used_terms(CB)
    frame_of_piece(CA, moving_a, turning_a, start_a, state, frame_a)
    frame_of_piece(CB, moving_b, turning_b, start_b, state, frame_b)
    within_a = np.zeros(A.points.shape[0], np.bool_)
    within_b = np.zeros(B.points.shape[0], np.bool_)
    nx, ny, nz = normal[0, 0], normal[0, 1], normal[0, 2]
    if holds and rank >= 0:
        mark_within(A, frame_a, -A.radius, nx, ny, nz, rank, basis, size, within_a)
        mark_within(B, frame_b, B.radius, nx, ny, nz, rank, basis, size, within_b)
    planes = np.empty((_PLANES, 4), np.int64)
    kept_a = np.zeros((_PLANES, within_a.size), np.bool_)
    kept_b = np.zeros((_PLANES, within_b.size), np.bool_)
    count = add_planes(A, frame_a, B, frame_b, feature, index, normal, near, holds and rank == 0, planes, 0)
    known = 0
    n, o = vector3(), vector3()
    tau = 0.0
    for made in range(MOST_SEARCH_STEPS):
        deepest = passed_over(made, size)
        if tau > 0.0:
            frame_of_piece(CA, moving_a, turning_a, start_a + tau, state, frame_a)
            frame_of_piece(CB, moving_b, turning_b, start_b + tau, state, frame_b)
        left = span - tau
        far, fast, horizon = turning_bounds(A, frame_a, bounds_a, B, frame_b, bounds_b, left)
        if holds:
            for p in range(known, count):
                keep_points(
                    A, B, planes[p], feature, index, near, within_a, within_b, kept_a[p], kept_b[p]
                )  # fmt: skip
        known = count
        step, clear, deeper = 0.0, -np.inf, 0.0
        for p in range(count):
            longest = horizon
            if planes[p, 0] == 0:
                face_plane(A, frame_a, planes[p, 1], -1.0, n, o)
                turning, swing = np.sqrt(bounds_a[4]), bounds_a[4]
            elif planes[p, 0] == 1:
                face_plane(B, frame_b, planes[p, 1], 1.0, n, o)
                turning, swing = np.sqrt(bounds_b[4]), bounds_b[4]
            else:
                a, b = A.edges[planes[p, 1]], B.edges[planes[p, 2]]
                ax, ay, az = to_world(frame_a, a[0], a[1], a[2])
                bx, by, bz = to_world(frame_b, b[0], b[1], b[2])
                n[0], n[1], n[2] = axis_across(ax, ay, az, bx, by, bz, nx, ny, nz)
                if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
                    continue
                o[0], o[1], o[2] = turn_across(frame_a, frame_b, n[0], n[1], n[2], ax, ay, az, bx, by, bz)
                turning, swing, longest = swing_across(
                    ax, ay, az, bx, by, bz, bounds_a[4], bounds_b[4], horizon
                )
            allowed, gap, sinks = plane_step(
                A, frame_a, bounds_a, B, frame_b, bounds_b, n, o, turning, swing, kept_a[p], kept_b[p],
                planes[p, 0], far, fast, longest, size, slow, deepest,
            )  # fmt: skip
            step, clear, deeper = max(step, allowed), max(clear, gap), max(deeper, sinks)
            if step >= horizon:
                break
        if step <= 0.0:
            state_a, state_b = evaluate_piece(CA, start_a + tau), evaluate_piece(CB, start_b + tau)
            if comes_closer(A, state_a, frame_a, B, state_b, frame_b, feature, index, size, slow):
                return tau, 1
            if not holds:
                return tau, 2
            # no plane of these keeps them apart, nor do they meet: others may, of what is near now
            _, others, _, features, indices, _, _ = pair_contacts(
                A, state_a, B, state_b, size, _OFFERS * size, CONTACT_GAP * size
            )
            count = add_planes(
                A, frame_a, B, frame_b, features, indices, others, np.zeros(others.shape[0], np.bool_), False,
                planes, count,
            )  # fmt: skip
            if count > known:
                continue
            if rank < 0 and pair_separation(A, state_a, B, state_b, size)[1] > CONTACT_GAP * size:
                return tau, 2
            # or look again before they could be too deep
            step = max(deeper, deepest / max(fast, slow))
        if tau >= span or (holds and count == 0):
            return np.inf, 0
        if not holds and (clear > _APART * size or count == 0):
            return tau, 2
        following = tau + step
        if following == tau:
            following = np.nextafter(tau, np.inf)
        tau = min(following, span)
    return tau, -2
