"""Compiled distance, contacts and time of impact of a cylinder and a triangle mesh.

The cylinder is body A, a `CollisionShape` seen from its middle, and so are its states; the mesh is body B, a
`FeatureMesh`. The tree of B chooses triangles; the cylinder and one triangle are a pair of convex shapes, which any
axis with no overlap along it keeps apart (`convex_impact_kernels.axis_step`). The longest step counts of the axes
known: the best of the pair, the normal of the triangle on the side that may be touched, and those along which the
cylinder touches other triangles. So nothing stops where it slides over seams or off ridges. What touches is decided
by features: points of a rim on faces, and corners and edges of the mesh on ends, wall and rims of the cylinder.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import evaluate_piece, first_root, matrix3x10, matrix4x3, vector18
from ..tolerances import (
    CONTACT_GAP,
    MOST_SEARCH_STEPS,
    SAME_NORMAL,
    SAME_PLACE,
    STAR_SLOPE,
    TOUCH_GAP,
)
from .collision_shape import CollisionShape
from .convex_contacts_kernels import RIM_POINTS
from .convex_impact_kernels import (
    axis_step,
    crossing_step,
    passed_over,
    point_velocity,
    turn_across,
    turning_bounds,
)
from .frames_kernels import EDGE, FACE, POINT, RIM, carry_to, core_gap, frame_of_state, normalised, to_world
from .mesh_kernels import (
    along_in_b,
    box_gap,
    boxes_meet,
    closest_on_triangle,
    cross,
    dot,
    edge_shielded,
    leans_over,
    relative_pose,
    turned_back_by,
)
from .separation_kernels import nearest_axis, separation

ROW = 18
_STACK = 256
_NEAR = 1e-3  # of the size: closer than this the axis of a pair has to be exact
_PARALLEL = 1e-6  # sine below which an edge has no place of its own along a line or tangent
_MOST = 64  # contacts that are looked at in the search; more do not fit on one cylinder between impacts


@kernel(allocates=True)
def triangle_shape(reach):
    """Room for one triangle as a convex shape of a body whose points are at most `reach` [m] from its origin."""
    ends, faces = np.zeros((3, 2), np.int64), np.zeros((3, 2), np.int64)
    starts, corners = np.zeros(3, np.int64), np.zeros(6, np.int64)
    for k in range(3):
        ends[k, 0], ends[k, 1] = max(0, k - 1), min(2, k + 1)
        faces[k, 1] = 1
        starts[k] = 3 * k
        corners[k], corners[5 - k] = k, k
    none = np.zeros(3)
    return CollisionShape(
        np.zeros((3, 3)),
        np.zeros((2, 3)),
        np.zeros((3, 3)),
        ends,
        faces,
        starts,
        corners,
        0.0,
        0.0,
        reach,
        none,
    )


@kernel()
def set_triangle(triangle, B, t):
    """Make `triangle_shape`'s room the triangle t of B."""
    for i in range(3):
        for j in range(3):
            triangle.points[i, j] = B.points[B.triangles[t, i], j]
    for k in range(3):
        triangle.normals[0, k] = B.normals[t, k]
        triangle.normals[1, k] = -B.normals[t, k]
        p, q = triangle.points[triangle.edge_ends[k, 0]], triangle.points[triangle.edge_ends[k, 1]]
        triangle.edges[k, 0], triangle.edges[k, 1], triangle.edges[k, 2] = normalised(
            q[0] - p[0], q[1] - p[1], q[2] - p[2]
        )


@kernel(allocates=True)
def cylinder_box(A):
    """Corners (2, 3) of a cylinder's box in its own axes."""
    box = np.empty((2, 3))
    for side in range(2):
        sign = 2.0 * side - 1.0
        box[side, 0] = box[side, 1] = sign * A.disk
        box[side, 2] = A.points[side, 2]
    return box


@kernel()
def towards(triangle, frame_a, frame_b):
    """Unit axis from the middle of a triangle to the cylinder's centre."""
    x = y = z = 0.0
    for i in range(3):
        x += triangle.points[i, 0] / 3.0
        y += triangle.points[i, 1] / 3.0
        z += triangle.points[i, 2] / 3.0
    x, y, z = to_world(frame_b, x, y, z)
    x, y, z = frame_a[9] - frame_b[9] - x, frame_a[10] - frame_b[10] - y, frame_a[11] - frame_b[11] - z
    if x == 0.0 and y == 0.0 and z == 0.0:
        z = 1.0
    return normalised(x, y, z)


@kernel(allocates=True)
def cylinder_distance(A, state_a, B, state_b, size):
    """Axis from B to A and signed gap [m] to the closest triangle: (nx, ny, nz, gap).

    Where triangles reach into the cylinder the gap is that of the deepest, as for convex pairs.
    """
    frame_a, frame_b = vector18(), vector18()
    frame_of_state(state_a, frame_a)
    frame_of_state(state_b, frame_b)
    pose = relative_pose(state_a, state_b)
    box = cylinder_box(A)
    triangle = triangle_shape(B.reach)
    S, near_a, near_b = matrix4x3(), np.empty((A.edges.shape[0], 10)), matrix3x10()
    stack, least = np.empty(_STACK, np.int64), np.empty(_STACK)
    first_leaf = B.leaf.shape[0] - 1
    ax, ay, az, best = 0.0, 0.0, 1.0, np.inf
    stack[0], least[0] = 0, 0.0
    count = 1
    while count > 0:
        count -= 1
        node = stack[count]
        if least[count] > max(best, 0.0) or least[count] == np.inf:
            continue
        if node >= first_leaf:
            t = B.element_triangle[B.leaf[node - first_leaf]]
            set_triangle(triangle, B, t)
            nx, ny, nz = towards(triangle, frame_a, frame_b)
            nx, ny, nz, gap, _ = nearest_axis(
                A, frame_a, triangle, frame_b, 0.0, 0.0, 0.0, nx, ny, nz, 0.03, 0.0, size, S
            )
            if gap > best:
                continue
            nx, ny, nz, gap = separation(A, frame_a, triangle, frame_b, size, nx, ny, nz, S, near_a, near_b)
            if gap < best:
                ax, ay, az, best = nx, ny, nz, gap
            continue
        for child in (2 * node + 1, 2 * node + 2):
            stack[count] = child
            least[count] = box_gap(box[0], box[1], B.low[child], B.high[child], pose)
            count += 1
        if least[count - 1] > least[count - 2]:  # the closer child is looked at first
            stack[count - 1], stack[count - 2] = stack[count - 2], stack[count - 1]
            least[count - 1], least[count - 2] = least[count - 2], least[count - 1]
    return ax, ay, az, best


# -- contacts ----------------------------------------------------------------------------------------------


@kernel()
def carried_back(pose, p):
    """A point of the mesh in the axes of the cylinder."""
    return turned_back_by(pose, p[0] - pose[9], p[1] - pose[10], p[2] - pose[11])


@kernel()
def note(
    rows, count, frame_a, size, feature, number, other, other_number, x, y, z, ox, oy, oz, gap, ex, ey, ez, disk
):  # fmt: skip
    """Add a contact unless one with this normal is at this place, and count it; more than fit are counted only.

    The place (x, y, z) in the middle of the gap, the way o out of the cylinder and the direction e of the mesh's
    edge are given in the cylinder's axes and written in the world's.
    """
    x, y, z = to_world(frame_a, x, y, z)
    x, y, z = x + frame_a[9], y + frame_a[10], z + frame_a[11]
    ox, oy, oz = to_world(frame_a, ox, oy, oz)
    for k in range(min(count, rows.shape[0])):
        row = rows[k]
        away = (row[4] - x) ** 2 + (row[5] - y) ** 2 + (row[6] - z) ** 2
        turned = (row[7] + ox) ** 2 + (row[8] + oy) ** 2 + (row[9] + oz) ** 2
        if away <= (SAME_PLACE * size) ** 2 and turned <= SAME_NORMAL**2:
            return count
    if count < rows.shape[0]:
        row = rows[count]
        row[0], row[1], row[2], row[3] = feature, number, other, other_number
        row[4], row[5], row[6] = x, y, z
        row[7], row[8], row[9] = -ox, -oy, -oz
        row[10] = gap
        row[11] = row[12] = row[13] = row[14] = row[15] = row[16] = row[17] = 0.0
        if feature in (RIM, EDGE):
            row[11], row[12], row[13] = to_world(frame_a, 0.0, 0.0, 1.0)
            row[17] = disk
        if other == EDGE:
            row[14], row[15], row[16] = to_world(frame_a, ex, ey, ez)
    return count + 1


@kernel()
def face_contacts(A, B, t, pose, frame_a, size, tolerance, rows, count):
    """Points of the rims on a triangle: those of an end that stands on it, else the lowest of each end."""
    disk = A.disk
    px, py, pz = carried_back(pose, B.points[B.triangles[t, 0]])
    qx, qy, qz = carried_back(pose, B.points[B.triangles[t, 1]])
    rx, ry, rz = carried_back(pose, B.points[B.triangles[t, 2]])
    nx, ny, nz = turned_back_by(pose, B.normals[t, 0], B.normals[t, 1], B.normals[t, 2])
    if B.sheet and dot(px, py, pz, nx, ny, nz) > 0.0:
        nx, ny, nz = -nx, -ny, -nz
    across = np.sqrt(nx * nx + ny * ny)
    standing = 2.0 * disk * across <= tolerance
    for end in range(2):
        z = A.points[end, 2]
        if standing and z * nz > 0.0:
            continue
        for k in range(RIM_POINTS if standing else 1):
            if standing:
                angle = 2.0 * np.pi * k / RIM_POINTS
                x, y = disk * np.cos(angle), disk * np.sin(angle)
            else:
                x, y = -disk * nx / across, -disk * ny / across
            gap = dot(x - px, y - py, z - pz, nx, ny, nz)
            if abs(gap) > tolerance:
                continue
            cx, cy, cz, region = closest_on_triangle(x, y, z, px, py, pz, qx, qy, qz, rx, ry, rz)
            square = (x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2
            if region > 0 and square - gap * gap > tolerance * tolerance:
                continue
            half = 0.5 * gap
            count = note(
                rows, count, frame_a, size, POINT if standing else RIM, -1 if standing else end, FACE, B.group[t],
                x - half * nx, y - half * ny, z - half * nz, -nx, -ny, -nz, gap, 0.0, 0.0, 0.0, disk,
            )  # fmt: skip
    return count


@kernel()
def rim_corner_direction(B, p, ux, uy, sign, pose, slack, beside, over, deepest):
    """A way out of the cylinder at its rim that keeps the surface around corner p outside; zero if there is none.

    (ux, uy) points to the place on the rim, `sign` to the end. Such ways are a cone between those of the wall and
    of the end; of the cone's edges, each across a tangent of the rim and an edge of the mesh, or of the wall or
    the end, it is the mean, or the one with the greatest gap where the corner is deeper than `deepest` [m] along
    the mean: bodies that meet along that one can part along the mean. The corner is `beside` [m] off the wall
    and `over` [m] off the end.
    """
    mx = my = mz = 0.0
    best, bestx, besty, bestz = -np.inf, 0.0, 0.0, 0.0
    first = B.star_start[p]
    for k in range(first - 2, B.star_start[p + 1]):
        x, y, z = (0.0, 0.0, sign) if k == first - 1 else (ux, uy, 0.0)
        if k >= first:
            q, c = B.points[B.star[k]], B.points[p]
            ex, ey, ez = turned_back_by(pose, q[0] - c[0], q[1] - c[1], q[2] - c[2])
            x, y, z = cross(ex, ey, ez, -uy, ux, 0.0)
            length = np.sqrt(x * x + y * y + z * z)
            if length <= _PARALLEL * np.sqrt(ex * ex + ey * ey + ez * ez):
                continue
            length = length if x * ux + y * uy + sign * z > 0.0 else -length
            x, y, z = x / length, y / length, z / length
            if x * ux + y * uy < 0.0 or sign * z < 0.0:
                continue
        bx, by, bz = along_in_b(pose, x, y, z)
        if not leans_over(B.points, B.star_start, B.star, p, bx, by, bz, 1.0, slack):
            mx, my, mz = mx + x, my + y, mz + z
            gap = (x * ux + y * uy) * beside + sign * z * over
            if gap > best:
                best, bestx, besty, bestz = gap, x, y, z
    if mx == 0.0 and my == 0.0 and mz == 0.0:
        return 0.0, 0.0, 0.0
    mx, my, mz = normalised(mx, my, mz)
    if (mx * ux + my * uy) * beside + sign * mz * over < -deepest:
        return bestx, besty, bestz
    return mx, my, mz


@kernel()
def corner_contacts(A, B, p, pose, frame_a, size, tolerance, rows, count):
    """A corner of the mesh on an end or the wall of the cylinder, unless the surface around it reaches inside."""
    disk = A.disk
    x, y, z = carried_back(pose, B.points[p])
    end = 1 if z > 0.0 else 0
    over = abs(z) - abs(A.points[end, 2])
    across = np.sqrt(x * x + y * y)
    ox = oy = oz = 0.0
    if abs(over) <= tolerance and abs(across - disk) <= tolerance:
        ux, uy, sign = x / across, y / across, 2.0 * end - 1.0
        ox, oy, oz = rim_corner_direction(
            B, p, ux, uy, sign, pose, tolerance, across - disk, over, 10.0 * TOUCH_GAP * size
        )
        gap, feature, number = (ox * ux + oy * uy) * (across - disk) + sign * oz * over, RIM, end
    elif abs(over) <= tolerance and across < disk:
        gap, feature, number = over, FACE, end
        oz = 2.0 * end - 1.0
    elif abs(across - disk) <= tolerance and over <= tolerance:
        gap, feature, number = across - disk, EDGE, 0
        ox, oy = x / across, y / across
    else:
        return count
    if ox == 0.0 and oy == 0.0 and oz == 0.0:
        return count
    bx, by, bz = along_in_b(pose, ox, oy, oz)
    if leans_over(B.points, B.star_start, B.star, p, bx, by, bz, 1.0, tolerance):
        return count
    half = 0.5 * gap
    return note(
        rows, count, frame_a, size, feature, number, POINT, p, x - half * ox, y - half * oy, z - half * oz,
        ox, oy, oz, gap, 0.0, 0.0, 0.0, disk,
    )  # fmt: skip


@kernel()
def rim_contact(A, B, e, x, y, z, ex, ey, ez, pose, frame_a, size, tolerance, rows, count):
    """Contact of a rim with edge e of the mesh, which passes (x, y, z) in the direction (ex, ey, ez), if any."""
    disk = A.disk
    across = np.sqrt(x * x + y * y)
    end = 1 if z > 0.0 else 0
    top = A.points[end, 2]
    if across == 0.0 or max(abs(across - disk), abs(z - top)) > 5.0 * tolerance:
        return count
    ux, uy = x / across, y / across
    ox, oy, oz = cross(ex, ey, ez, -uy, ux, 0.0)
    sine = np.sqrt(ox * ox + oy * oy + oz * oz)
    if sine < _PARALLEL:
        return count
    sign = 2.0 * end - 1.0
    outward = ox * ux + oy * uy + sign * oz
    sine = sine if outward > 0.0 else -sine
    ox, oy, oz = ox / sine, oy / sine, oz / sine
    gap = ox * (x - disk * ux) + oy * (y - disk * uy) + oz * (z - top)
    if ox * ux + oy * uy < -STAR_SLOPE or sign * oz < -STAR_SLOPE or abs(gap) > tolerance:
        return count
    bx, by, bz = along_in_b(pose, ox, oy, oz)
    if edge_shielded(B.spread_start, B.spread, e, bx, by, bz, 1.0):
        return count
    half = 0.5 * gap
    return note(
        rows, count, frame_a, size, RIM, end, EDGE, e,
        disk * ux + half * ox, disk * uy + half * oy, top + half * oz, ox, oy, oz, gap, ex, ey, ez, disk,
    )  # fmt: skip


@kernel()
def edge_contacts(A, B, e, pose, frame_a, size, tolerance, rows, count):
    """Contacts of an edge of the mesh with the wall and the rims of the cylinder, its ends not counted."""
    disk = A.disk
    px, py, pz = carried_back(pose, B.points[B.edges[e, 0]])
    qx, qy, qz = carried_back(pose, B.points[B.edges[e, 1]])
    ex, ey, ez = qx - px, qy - py, qz - pz
    length = np.sqrt(dot(ex, ey, ez, ex, ey, ez))
    ex, ey, ez = ex / length, ey / length, ez / length
    margin = tolerance
    square = ex * ex + ey * ey
    if square > _PARALLEL * _PARALLEL:
        s = -(px * ex + py * ey) / square
        x, y, z = px + s * ex, py + s * ey, pz + s * ez
        across = np.sqrt(x * x + y * y)
        if margin < s < length - margin and abs(z) <= abs(A.points[0, 2]) and abs(across - disk) <= tolerance:
            gap, half = across - disk, 0.5 * (across + disk) / across
            bx, by, bz = along_in_b(pose, x / across, y / across, 0.0)
            if not edge_shielded(B.spread_start, B.spread, e, bx, by, bz, 1.0):
                count = note(
                    rows, count, frame_a, size, EDGE, 0, EDGE, e, half * x, half * y, z,
                    x / across, y / across, 0.0, gap, ex, ey, ez, disk,
                )  # fmt: skip
        if across < disk:
            half = np.sqrt((disk * disk - across * across) / square)
            for way in (s - half, s + half):
                if margin < way < length - margin:
                    count = rim_contact(
                        A, B, e, px + way * ex, py + way * ey, pz + way * ez, ex, ey, ez, pose, frame_a, size,
                        tolerance, rows, count,
                    )  # fmt: skip
    if abs(ez) > _PARALLEL:
        for end in range(2):
            way = (A.points[end, 2] - pz) / ez
            if margin < way < length - margin:
                count = rim_contact(
                    A, B, e, px + way * ex, py + way * ey, A.points[end, 2], ex, ey, ez, pose, frame_a, size,
                    tolerance, rows, count,
                )  # fmt: skip
    return count


@kernel(allocates=True)
def cylinder_contacts(A, state_a, B, state_b, size, tolerance, rows):
    """Fill rows (n, ROW) with the contacts within `tolerance` [m]; returns how many there are.

    A row, in world axes: feature of the cylinder and its number, of the mesh and its number, point (3,) in the
    middle of the gap, normal (3,) from mesh to cylinder, gap, axis (3,) of the cylinder where a rim or the wall
    touches, direction (3,) of the mesh's edge, radius of rim or wall.
    """
    pose = relative_pose(state_a, state_b)
    frame_a = vector18()
    frame_of_state(state_a, frame_a)
    box = cylinder_box(A)
    stack = np.empty(_STACK, np.int64)
    first_leaf = B.leaf.shape[0] - 1
    found = 0
    stack[0] = 0
    count = 1
    while count > 0:
        count -= 1
        node = stack[count]
        if box_gap(box[0], box[1], B.low[node], B.high[node], pose) > 2.0 * tolerance:
            continue
        if node < first_leaf:
            stack[count], stack[count + 1] = 2 * node + 2, 2 * node + 1
            count += 2
            continue
        k = B.leaf[node - first_leaf]
        found = face_contacts(A, B, B.element_triangle[k], pose, frame_a, size, tolerance, rows, found)
        for i in range(3):
            if B.element_points[k, i] >= 0:
                found = corner_contacts(
                    A, B, B.element_points[k, i], pose, frame_a, size, tolerance, rows, found
                )
            if B.element_edges[k, i] >= 0:
                found = edge_contacts(
                    A, B, B.element_edges[k, i], pose, frame_a, size, tolerance, rows, found
                )
    return found


# -- time of impact ----------------------------------------------------------------------------------------


@kernel()
def approaches(rows, count, frame_a, frame_b, slow):
    """Whether a contact closes."""
    for k in range(count):
        row = rows[k]
        ax, ay, az = point_velocity(frame_a, row[4], row[5], row[6])
        bx, by, bz = point_velocity(frame_b, row[4], row[5], row[6])
        if dot(ax - bx, ay - by, az - bz, row[7], row[8], row[9]) < -slow:
            return True
    return False


@kernel()
def row_turn(row, frame_a, frame_b):
    """How the normal of a contact turns [rad/s]: across the mesh's edge and the wall or rim, else with the mesh."""
    ax, ay, az = row[11], row[12], row[13]
    if row[0] == RIM:
        ax, ay, az = cross(ax, ay, az, row[4] - frame_a[9], row[5] - frame_a[10], row[6] - frame_a[11])
    if row[2] == EDGE and row[17] > 0.0:
        return turn_across(frame_a, frame_b, row[7], row[8], row[9], ax, ay, az, row[14], row[15], row[16])
    if row[2] == FACE:
        return frame_b[15], frame_b[16], frame_b[17]
    return frame_a[15], frame_a[16], frame_a[17]


@kernel()
def axis_steps(
    A, frame_a, bounds_a, triangle, frame_b, bounds_b, nx, ny, nz, ox, oy, oz, far, fast, horizon, gap, size,
    deepest,
):  # fmt: skip
    """The longest of the steps along the axis n turning at o [rad/s, world], with A and with B, and the greatest of
    the rates."""
    step, rate = axis_step(
        A, frame_a, bounds_a, triangle, frame_b, bounds_b, nx, ny, nz, ox, oy, oz, far, fast, horizon, gap, size,
        deepest,
    )  # fmt: skip
    for side in range(2):
        frame = frame_a if side == 0 else frame_b
        later, other = axis_step(
            A, frame_a, bounds_a, triangle, frame_b, bounds_b, nx, ny, nz, frame[15], frame[16], frame[17],
            far, fast, horizon, gap, size, deepest,
        )  # fmt: skip
        step, rate = max(step, later), max(rate, other)
    return step, rate


@kernel()
def triangle_step(
    A, frame_a, bounds_a, triangle, frame_b, bounds_b, sheet, far, fast, horizon, size, deepest, slow, enough, S,
    near_a, near_b,
):  # fmt: skip
    """How long the cylinder and a triangle stay apart: (step, whether they touch and no axis shows them part).

    Steps longer than `enough` [s] may be shorter than they could be; `deepest` [m] may be passed over.
    """
    touch, allowed = TOUCH_GAP * size, -4.0 * deepest
    step, rate = 0.0, -np.inf
    n = triangle.normals[0]
    for sign in (1.0, -1.0):
        nx, ny, nz = to_world(frame_b, sign * n[0], sign * n[1], sign * n[2])
        gap, _, _ = core_gap(A, frame_a, triangle, frame_b, nx, ny, nz)
        if gap >= allowed and (sheet or sign > 0.0):
            later, other = axis_step(
                A, frame_a, bounds_a, triangle, frame_b, bounds_b, nx, ny, nz,
                frame_b[15], frame_b[16], frame_b[17], far, fast, horizon, gap, size, deepest,
            )  # fmt: skip
            step, rate = max(step, later), max(rate, other)
    if step >= enough:
        return step, False
    nx, ny, nz = towards(triangle, frame_a, frame_b)
    nx, ny, nz, gap, distance = nearest_axis(
        A, frame_a, triangle, frame_b, 0.0, 0.0, 0.0, nx, ny, nz, 0.03, 0.0, size, S
    )
    near = min(gap, distance) <= _NEAR * size
    if gap > touch:  # any axis bounds the way that is free
        later, _ = axis_step(
            A, frame_a, bounds_a, triangle, frame_b, bounds_b, nx, ny, nz, 0.0, 0.0, 0.0, far, fast, horizon, gap,
            size, deepest,
        )  # fmt: skip
        step = max(step, later)
    if not near or step >= enough:
        return step, False
    nx, ny, nz, gap = separation(A, frame_a, triangle, frame_b, size, nx, ny, nz, S, near_a, near_b)
    later, other = axis_steps(
        A, frame_a, bounds_a, triangle, frame_b, bounds_b, nx, ny, nz, 0.0, 0.0, 0.0, far, fast, horizon, gap, size,
        deepest,
    )  # fmt: skip
    step, rate = max(step, later), max(rate, other)
    # crossing lines swing for axes that turn with one of them
    if gap > touch and step < min(horizon, enough):
        later = crossing_step(
            A, frame_a, bounds_a, triangle, frame_b, bounds_b, nx, ny, nz, far, fast, horizon, gap, size, deepest
        )  # fmt: skip
        step = max(step, later)
    return step, gap <= touch and rate < -slow


@kernel()
def contact_axes_step(
    A, frame_a, bounds_a, triangle, frame_b, bounds_b, far, fast, horizon, size, deepest, rows, count, step
):  # fmt: skip
    """The longest of `step` and the steps along the axes of contacts with any triangles."""
    for k in range(count):
        nx, ny, nz = rows[k, 7], rows[k, 8], rows[k, 9]
        gap, _, _ = core_gap(A, frame_a, triangle, frame_b, nx, ny, nz)
        if gap < -4.0 * deepest:
            continue
        ox, oy, oz = row_turn(rows[k], frame_a, frame_b)
        later, _ = axis_steps(
            A, frame_a, bounds_a, triangle, frame_b, bounds_b, nx, ny, nz, ox, oy, oz, far, fast, horizon, gap,
            size, deepest,
        )  # fmt: skip
        step = max(step, later)
    return step


@kernel(allocates=True)
def cylinder_impact(A, middle, piece_a, bounds_a, start_a, B, piece_b, bounds_b, start_b, span, size, slow):
    """First time in [0, span] at which a cylinder and a mesh meet while approaching: (time, hit).

    `piece_a` is the motion of the cylinder's centre of mass, from which its middle is at `middle` (3,) [m];
    `bounds_a` are those of its middle. `start_a`, `start_b`: ages of the two pieces at time 0. hit: 1, 0 none, -2
    step limit.
    """
    frame_a, frame_b = vector18(), vector18()
    box = cylinder_box(A)
    triangle = triangle_shape(B.reach)
    S, near_a, near_b = matrix4x3(), np.empty((A.edges.shape[0], 10)), matrix3x10()
    stack, earliest = np.empty(_STACK, np.int64), np.empty(_STACK)
    rows = np.empty((_MOST, ROW))
    first_leaf = B.leaf.shape[0] - 1
    pull = 0.0
    for i in range(3):
        pull += (bounds_a[i] - bounds_b[i]) ** 2
    deviation = np.sqrt(pull) + bounds_a[3] + bounds_b[3]
    around = A.reach + B.reach
    urgent = (
        0  # element that limited the last step: it comes first, so that others need not be looked at closely
    )
    tau = 0.0
    for made in range(MOST_SEARCH_STEPS):
        deepest = passed_over(made, size)
        state_a, state_b = evaluate_piece(piece_a, start_a + tau), evaluate_piece(piece_b, start_b + tau)
        carry_to(state_a, middle)
        frame_of_state(state_a, frame_a)
        frame_of_state(state_b, frame_b)
        far, fast, best = turning_bounds(A, frame_a, bounds_a, triangle, frame_b, bounds_b, span - tau)
        apart = far - 2.0 * around
        pose = relative_pose(state_a, state_b)
        spin = np.sqrt(pose[15] ** 2 + pose[16] ** 2 + pose[17] ** 2)
        squares = max(bounds_a[4], bounds_b[4])
        curvature = deviation + squares * (far + around) + 2.0 * np.sqrt(squares) * fast
        horizon = best
        listed = -1
        count = 2
        stack[0], earliest[0] = 0, 0.0
        stack[1], earliest[1] = -1, 0.0
        if apart > 1.01 * around:
            closing = 0.0
            for i in range(3):
                closing += (frame_a[12 + i] - frame_b[12 + i]) ** 2
            best = min(span - tau, first_root(apart - around, -np.sqrt(closing), -0.5 * deviation))
            count = 0
        while count > 0:
            count -= 1
            node = stack[count]
            if earliest[count] >= best:
                continue
            if node < 0 or node >= first_leaf:
                element = B.leaf[node - first_leaf] if node >= 0 else urgent
                set_triangle(triangle, B, B.element_triangle[element])
                step, closes = triangle_step(
                    A, frame_a, bounds_a, triangle, frame_b, bounds_b, B.sheet, far, fast, horizon, size, deepest,
                    slow, best,
                    S, near_a, near_b,
                )  # fmt: skip
                if closes:
                    if listed < 0:
                        listed = cylinder_contacts(A, state_a, B, state_b, size, CONTACT_GAP * size, rows)
                        listed = min(listed, _MOST)
                        if listed == 0 or approaches(rows, listed, frame_a, frame_b, slow):
                            return tau, 1
                    step = contact_axes_step(
                        A, frame_a, bounds_a, triangle, frame_b, bounds_b, far, fast, horizon, size, deepest, rows,
                        listed, step,
                    )  # fmt: skip
                if step < best:
                    best, urgent = step, element
                continue
            for child in (2 * node + 1, 2 * node + 2):
                stack[count] = child
                earliest[count] = boxes_meet(
                    box[0], box[1], B.low[child], B.high[child], pose, spin, 0.0, curvature
                )
                count += 1
            if earliest[count - 1] > earliest[count - 2]:  # the more urgent child is looked at first
                stack[count - 1], stack[count - 2] = stack[count - 2], stack[count - 1]
                earliest[count - 1], earliest[count - 2] = earliest[count - 2], earliest[count - 1]
        if tau >= span:
            return np.inf, 0
        following = tau + best
        if following == tau:
            following = np.nextafter(tau, np.inf)
        tau = min(following, span)
    return tau, -2
