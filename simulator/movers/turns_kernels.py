"""What resists turning at contacts: rolling about axes in the plane of contact, and spinning about its normal.

Of a contact that presses with p_n, rolling is resisted by a torque m with |m| <= rho p_n, m = -rho p_n w / |w|
where the relative angular velocity w in the plane of contact is not zero; spinning likewise about the normal. That
is friction again, so it is treated as friction: a *turn* is a row of the contacts shown, behind them, without a
motion along its normal and with a copy of the normal force of its contact, its parent. Its velocity is lever w
[m/s], its force m / lever [N] and its coefficient rho / lever; the lever, the size of the bodies, makes them
comparable with those of contacts. Modes, steps, ends and work are then those of friction. (As parts of contacts of
six directions they would double the cost of all that have none.)

Two bodies that touch in several places do not roll about all axes: an edge on a face rolls about the edge, a face
on a face about none. What their normal forces hold is left to them, so that it is not shared in a way that nothing
decides: along a line what resists rolling acts about that line, and on faces not at all unless they begin to tip.
"""

import numpy as np

from ...compiled import kernel
from ..engine.pairs_kernels import size_of
from ..engine.tables_kernels import (
    NEAR,
    contacts,
    header,
    local_along,
    local_contacts,
    local_direction,
    local_ends,
    local_force,
    local_friction,
    local_jacobian,
    local_lever,
    local_mode,
    local_parent,
    local_placed,
    local_rate,
    local_slider,
    local_slow,
    local_way,
)
from ..kernels import cross, dot
from ..tolerances import ON_LINE, SAME_PLANE
from .joint_parts_kernels import keep_row_in_plane

ROLLING, SPINNING = 0, 1
POINT_TURN, FACE_TURN = -1, -2  # of `local_along`: bodies touch in one place, and in several not on one line


@kernel()
def count_turns(world):
    """How many rows resist turning at the contacts that are shown."""
    count = 0
    for c in range(header(world).nc):
        o = contacts(world)[local_contacts(world)[c]]
        for way in range(2):
            if o.resists[way] > 0.0:
                count += 1
    return count


@kernel()
def show_turns(world):
    """Fill the rows behind those of the contacts shown with what resists turning at them."""
    w, at = header(world), header(world).nc
    rows, parent, ends = local_contacts(world), local_parent(world), local_ends(world)
    mode, slow, direction = local_mode(world), local_slow(world), local_direction(world)
    for c in range(w.nc):
        o = contacts(world)[rows[c]]
        for way in range(2):
            if not o.resists[way] > 0.0:
                continue
            lever = size_of(world, o.first, o.second)
            rows[at], parent[at], local_way(world)[at], local_lever(world)[at] = rows[c], c, way, lever
            local_slider(world)[at] = 0
            mode[at], slow[at] = o.turn_mode[way], o.turn_slow[way]
            local_along(world)[at] = line_of(world, c) if way == ROLLING else POINT_TURN
            for side in range(2):
                ends[at, side], direction[at, side] = ends[c, side], o.turn_direction[way, side]
            at += 1
    show_hidden(world)


@kernel()
def line_of(world, c):
    """The contact that is farthest from contact c, between the same bodies and with the same normal, of which all
    such are on one line; or POINT_TURN where there is none, FACE_TURN where they are not on a line."""
    table, rows = contacts(world), local_contacts(world)
    o = table[rows[c]]
    farthest, way = POINT_TURN, ON_LINE * size_of(world, o.first, o.second)
    for k in range(header(world).nc):
        if k != c and goes_with(table[rows[k]], o):
            x, y, z = apart(table[rows[k]], o)
            if np.sqrt(dot(x, y, z, x, y, z)) > way:
                farthest, way = k, np.sqrt(dot(x, y, z, x, y, z))
    if farthest < 0:
        return POINT_TURN
    dx, dy, dz = apart(table[rows[farthest]], o)
    for k in range(header(world).nc):
        if k != c and goes_with(table[rows[k]], o):
            x, y, z = apart(table[rows[k]], o)
            x, y, z = cross(dx, dy, dz, x, y, z)
            if np.sqrt(dot(x, y, z, x, y, z)) > ON_LINE * way * way:
                return FACE_TURN
    return farthest


@kernel()
def goes_with(one, other):
    """Whether two contacts are between the same bodies and have the same normal, and are not only near."""
    a, b = one.normal, other.normal
    same = one.pair == other.pair and one.mode != NEAR and other.mode != NEAR
    return same and dot(a[0], a[1], a[2], b[0], b[1], b[2]) > SAME_PLANE


@kernel()
def apart(one, other):
    """From one contact to the other."""
    return (
        one.point[0] - other.point[0],
        one.point[1] - other.point[1],
        one.point[2] - other.point[2],
    )


@kernel()
def axis_of(world, c, e):
    """The axis of row e, 1 or 2, of what resists turning, in world axes; zero where that has but one."""
    placed, along = local_placed(world), local_along(world)[c]
    of = placed[local_parent(world)[c]]
    if local_way(world)[c] == SPINNING:
        use = 2.0 - e
        return use * of[0], use * of[1], use * of[2]
    if along < 0:
        return of[3 * e], of[3 * e + 1], of[3 * e + 2]
    if e == 2:
        return 0.0, 0.0, 0.0
    o = placed[along]
    x, y, z = o[9] - of[9], o[10] - of[10], o[11] - of[11]
    out = dot(x, y, z, of[0], of[1], of[2])
    x, y, z = x - out * of[0], y - out * of[1], z - out * of[2]
    length = max(np.sqrt(dot(x, y, z, x, y, z)), 1e-300)
    return x / length, y / length, z / length


@kernel()
def hide_turns(world):
    """Let nothing resist rolling of faces on faces; whether there are any."""
    w, hides = header(world), False
    for c in range(w.nc, w.nr):
        if local_along(world)[c] == FACE_TURN:
            local_friction(world)[c], hides = 0.0, True
    return hides


@kernel()
def show_hidden(world):
    """Let all that resists turning have its coefficient, also what `hide_turns` has hidden."""
    w = header(world)
    for c in range(w.nc, w.nr):
        o, way = contacts(world)[local_contacts(world)[c]], local_way(world)[c]
        local_friction(world)[c] = o.resists[way] / local_lever(world)[c]


@kernel()
def hidden_turn(world, u, slowest):
    """Whether faces of which nothing resists rolling begin to tip: whether corners of theirs part, by rates u
    (nr, 3) of more than `slowest`. (Not whether they roll: where velocities end within a step, what rolls turns
    with a body that spins, and as much is left over.)"""
    w, table, rows = header(world), contacts(world), local_contacts(world)
    for c in range(w.nc, w.nr):
        if local_friction(world)[c] == 0.0:
            for k in range(w.nc):
                if u[k, 0] > slowest and goes_with(table[rows[k]], table[rows[c]]):
                    return True
    return False


@kernel()
def place_turns(world):
    """Place what resists turning at the contacts that are placed."""
    w = header(world)
    placed, J, rate = local_placed(world), local_jacobian(world), local_rate(world)
    for c in range(w.nc, w.nr):
        row, of, lever = placed[c], placed[local_parent(world)[c]], local_lever(world)[c]
        for i in range(9):
            row[i] = of[i]
        for i in range(9, row.size):
            row[i] = 0.0
        rate[c, 0] = 0.0
        for side in range(2):
            for i in range(6):
                J[c, side, 0, i] = 0.0
        wx, wy, wz = of[25], of[26], of[27]
        for e in range(1, 3):
            x, y, z = axis_of(world, c, e)
            tx, ty, tz = cross(of[22], of[23], of[24], x, y, z)
            row[15 + e] = lever * dot(x, y, z, wx, wy, wz)
            rate[c, e] = row[18 + e] = lever * dot(tx, ty, tz, wx, wy, wz)
            for side in range(2):
                sign, jacobian = lever * (1.0 - 2.0 * side), J[c, side, e]
                jacobian[0] = jacobian[1] = jacobian[2] = 0.0
                jacobian[3], jacobian[4], jacobian[5] = sign * x, sign * y, sign * z
            if w.planar and not keep_row_in_plane(world, J[c, :, e]):
                row[15 + e] = row[18 + e] = rate[c, e] = 0.0


@kernel()
def keep_turns(world):
    """Note the modes of what resists turning in the table of contacts."""
    w = header(world)
    mode, slow, direction = local_mode(world), local_slow(world), local_direction(world)
    for c in range(w.nc, w.nr):
        o, way = contacts(world)[local_contacts(world)[c]], local_way(world)[c]
        o.turn_mode[way], o.turn_slow[way] = mode[c], slow[c]
        o.turn_line[way] = 1 if local_along(world)[c] >= 0 else 0
        o.turn_direction[way, 0], o.turn_direction[way, 1] = direction[c, 0], direction[c, 1]
        into_world(world, c, direction[c], o.turn_axis[way])


@kernel()
def read_turn_directions(world):
    """Fill the directions of what turned about other axes before: where bodies touch along a line, and touched in
    one point, on a face or along another line; and the other way round."""
    w, direction = header(world), local_direction(world)
    for c in range(w.nc, w.nr):
        o, way = contacts(world)[local_contacts(world)[c]], local_way(world)[c]
        before, line = o.turn_axis[way], local_along(world)[c] >= 0
        if not line and o.turn_line[way] == 0:
            continue
        from_world(world, c, before, direction[c])
        length = np.sqrt(direction[c, 0] ** 2 + direction[c, 1] ** 2)
        for e in range(2):
            direction[c, e] = direction[c, e] / length if length > 0.0 else 1.0 - e


@kernel()
def read_turn_forces(world):
    """Fill the forces of what resists turning, about its axes now, from those that it had."""
    w, force = header(world), local_force(world)
    for c in range(w.nc, w.nr):
        o, way = contacts(world)[local_contacts(world)[c]], local_way(world)[c]
        force[c, 0] = force[local_parent(world)[c], 0]
        from_world(world, c, o.turn_force[way], force[c, 1:])


@kernel()
def write_turn_forces(world):
    """Note the forces of what resists turning in the table of contacts."""
    w, force = header(world), local_force(world)
    for c in range(w.nc, w.nr):
        o, way = contacts(world)[local_contacts(world)[c]], local_way(world)[c]
        into_world(world, c, force[c, 1:], o.turn_force[way])


@kernel()
def into_world(world, c, parts, out):
    """Fill out (3,) with what has the parts (2,) along the axes of a row of what resists turning."""
    out[0] = out[1] = out[2] = 0.0
    for e in range(2):
        x, y, z = axis_of(world, c, e + 1)
        out[0], out[1], out[2] = out[0] + x * parts[e], out[1] + y * parts[e], out[2] + z * parts[e]


@kernel()
def from_world(world, c, vector, parts):
    """Fill parts (2,) with those of a vector (3,) along the axes of a row of what resists turning."""
    for e in range(2):
        x, y, z = axis_of(world, c, e + 1)
        parts[e] = dot(x, y, z, vector[0], vector[1], vector[2])
