"""Joints, and forces between and on bodies, of the bodies that are shown: two parts that only scenes with them
compile.

`joints` answers for rows that joints hold or limit, `forces` for springs, dampers, drives, drag and functions of
the user; what they are asked is the first number that they are called with.
"""

import numpy as np

from ...compiled import call, kernel, part
from ..engine.contacts_kernels import LIMIT as LIMIT_FEATURE
from ..engine.contacts_kernels import add_contact, drop_contacts
from ..engine.curves_kernels import LIMIT_KIND
from ..engine.flight_kernels import state_at
from ..engine.tables_kernels import (
    APPLIED,
    CHANNELS,
    DAMPING,
    DRAG,
    DRIVES,
    OPEN,
    bodies,
    contacts,
    force_rows,
    groups,
    header,
    held_rows,
    joint_ends,
    joint_force,
    joint_jacobian,
    joint_rate,
    joint_speed,
    joint_value,
    limit_rows,
    local_applied,
    local_bodies,
    local_contacts,
    local_groups,
    local_jacobian,
    local_placed,
    local_rate,
    local_rows,
    local_turn,
    motions,
    pairs,
    states_at,
)
from ..kernels import cross, matrix2x13, matrix3x3, matrix4x3, rotation_matrix_into, turned, vector12
from ..tolerances import CONTACT_GAP, DRIVE_MARGIN, NO_MOTION
from .joint_kernels import ROTATION, joint_row

COUNT, FILL, PLACE, LIMIT, TOUCH, ROOM, KEEP = 0, 1, 2, 3, 4, 5, 6
"""What `joints` is asked: how many rows hold the bodies shown; which they are; to place them; to place a limit that
is contact c; which limits of group g are reached now; how far the limits that are not held are from being so; to
note the forces of rows."""
APPLY, SATURATE, MARGIN = 0, 1, 2
"""What `forces` is asked: to apply them; which drives act with their largest force; how far these are from
changing."""


@kernel()
def local_of(world, body):
    """Number of a body among those shown, -1 of one that does not move."""
    return motions(world)[body].local if body >= 0 else -1


@kernel()
def row_at(world, r, ends, out):
    """Value, rate and bias of row r (a record) for packed states `ends` (2, 13) of its base and body; fill out
    (12,) with the derivative of its rate by their velocities."""
    return joint_row(ends, 0 if r.base >= 0 else -1, 1 if r.body >= 0 else -1, r.kind, r.geometry, out)


@kernel()
def read_ends(world, r, ends):
    """Fill ends (2, 13) with the states of base and body that are asked about."""
    w = header(world)
    state = states_at(w.asked_state, w.m)
    for side in range(2):
        k = local_of(world, r.base if side == 0 else r.body)
        if k >= 0:
            for i in range(13):
                ends[side, i] = state[k, i]


@part()
def joints(world, what, which):
    """Answer for the joints of the bodies shown, see COUNT and what follows it."""
    w = header(world)
    if what == COUNT:
        count = 0
        for k in range(w.ng):
            count += groups(world)[local_groups(world)[k]].held[1]
        return count
    if what == FILL:
        fill_rows(world)
    elif what == KEEP:
        for c in range(w.nj):
            held_rows(world)[local_rows(world)[c]].force = joint_force(world)[c]
    elif what == PLACE:
        place_rows(world)
    elif what == LIMIT:
        place_limit(world, which)
    elif what == TOUCH:
        find_limits(world, which)
    elif what == ROOM:
        least_way(world)
    return 0


@kernel()
def fill_rows(world):
    """Say which rows hold the bodies shown, and what they join."""
    w = header(world)
    c = 0
    for k in range(w.ng):
        g = groups(world)[local_groups(world)[k]]
        for n in range(g.held[1]):
            r = held_rows(world)[g.held[0] + n]
            local_rows(world)[c] = g.held[0] + n
            joint_ends(world)[c, 0] = local_of(world, r.base)
            joint_ends(world)[c, 1] = local_of(world, r.body)
            joint_force(world)[c] = r.force
            c += 1


@kernel()
def place_rows(world):
    """Fill Jacobians, biases, rates and values of the rows that hold the bodies shown."""
    w = header(world)
    ends, out = matrix2x13(), vector12()
    for c in range(w.nj):
        r = held_rows(world)[local_rows(world)[c]]
        read_ends(world, r, ends)
        value, rate, bias = row_at(world, r, ends, out)
        joint_value(world)[c], joint_speed(world)[c] = r.length * value, r.length * rate
        joint_rate(world)[c] = r.length * bias
        J = joint_jacobian(world)[c]
        for i in range(12):
            J[i // 6, i % 6] = r.length * out[i]
        if w.planar and not keep_row_in_plane(world, J):
            joint_value(world)[c] = joint_speed(world)[c] = joint_rate(world)[c] = 0.0


@kernel()
def keep_in_plane(plane, j):
    """Leave of a row (6,) of a Jacobian only what moves a body in the plane."""
    out = j[0] * plane[0] + j[1] * plane[1] + j[2] * plane[2]
    about = j[3] * plane[0] + j[4] * plane[1] + j[5] * plane[2]
    for i in range(3):
        j[i] -= out * plane[i]
        j[3 + i] = about * plane[i]


@kernel()
def keep_row_in_plane(world, J):
    """Leave of a row (2, 6) of a joint or contact only what moves bodies in the plane; False where that is nothing
    but rounding."""
    w, before, after = header(world), 0.0, 0.0
    for side in range(2):
        for i in range(6):
            before += J[side, i] ** 2
        keep_in_plane(w.plane, J[side])
        for i in range(6):
            after += J[side, i] ** 2
    if after > NO_MOTION * before:
        return True
    for side in range(2):
        for i in range(6):
            J[side, i] = 0.0
    return False


@kernel()
def place_limit(world, c):
    """Place contact c of those shown, which is a limit."""
    w, o = header(world), contacts(world)[local_contacts(world)[c]]
    row, J = local_placed(world)[c], local_jacobian(world)[c]
    r = limit_rows(world)[o.index[0]]
    ends, out = matrix2x13(), vector12()
    read_ends(world, r, ends)
    value, rate, bias = row_at(world, r, ends, out)
    for i in range(row.size):
        row[i] = 0.0
    for side in range(2):
        for e in range(3):
            for i in range(6):
                J[side, e, i] = out[6 * (1 - side) + i] if e == 0 else 0.0
        if w.planar:
            keep_in_plane(w.plane, J[side, 0])
    frame_of_limit(world, r, ends, row)
    row[15], row[18], row[21] = rate, bias, value
    local_rate(world)[c, 0] = bias
    local_rate(world)[c, 1] = local_rate(world)[c, 2] = 0.0


@kernel()
def frame_of_limit(world, r, ends, row):
    """Fill the frame of a limit's contact, and the arms from its bodies to its place: what records show of it."""
    places, R = matrix4x3(), matrix3x3()  # place and axis on the base, place and axis on the body
    for side in range(2):
        g, at = r.geometry, 6 * side
        moves = (r.base if side == 0 else r.body) >= 0
        if moves:
            rotation_matrix_into(ends[side, 3:7], R)
        else:
            for i in range(3):
                for j in range(3):
                    R[i, j] = 1.0 if i == j else 0.0
        for n in range(2):
            x, y, z = turned(R, g[at + 3 * n], g[at + 3 * n + 1], g[at + 3 * n + 2])
            places[2 * side + n, 0], places[2 * side + n, 1], places[2 * side + n, 2] = x, y, z
            if n == 0 and moves:
                for i in range(3):
                    places[2 * side, i] += ends[side, i]
    nx, ny, nz = places[1, 0], places[1, 1], places[1, 2]
    if nx == 0.0 and ny == 0.0 and nz == 0.0:
        nx, ny, nz = places[2, 0] - places[0, 0], places[2, 1] - places[0, 1], places[2, 2] - places[0, 2]
        length = np.sqrt(nx * nx + ny * ny + nz * nz)
        nx, ny, nz = nx / length, ny / length, nz / length
    least = 0 if abs(nx) <= abs(ny) and abs(nx) <= abs(nz) else (1 if abs(ny) <= abs(nz) else 2)
    n = nx if least == 0 else (ny if least == 1 else nz)
    tx, ty, tz = -n * nx, -n * ny, -n * nz
    if least == 0:
        tx += 1.0
    elif least == 1:
        ty += 1.0
    else:
        tz += 1.0
    length = np.sqrt(tx * tx + ty * ty + tz * tz)
    tx, ty, tz = tx / length, ty / length, tz / length
    qx, qy, qz = cross(nx, ny, nz, tx, ty, tz)
    row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8] = (
        nx,
        ny,
        nz,
        tx,
        ty,
        tz,
        qx,
        qy,
        qz,
    )
    for i in range(3):
        row[9 + i] = places[2, i] - (ends[1, i] if r.body >= 0 else 0.0)
        row[12 + i] = places[2, i] - (ends[0, i] if r.base >= 0 else 0.0)


@kernel()
def limit_value(world, r, time):
    """Value and rate of a row at a time [s] within the pieces of its bodies."""
    ends, out = matrix2x13(), vector12()
    if r.base >= 0:
        state_at(world, r.base, time, ends[0])
    if r.body >= 0:
        state_at(world, r.body, time, ends[1])
    value, rate, _ = row_at(world, r, ends, out)
    return value, rate


@kernel()
def size_of_limit(world, r):
    """What tolerances of a limit scale with [m or rad]."""
    size = 1.0
    if r.kind != ROTATION:
        size = 0.0
        if r.base >= 0:
            size = max(size, bodies(world)[r.base].size)
        if r.body >= 0:
            size = max(size, bodies(world)[r.body].size)
    return size


@kernel()
def find_limits(world, group):
    """Let the pairs of limits of a group have a contact where they are reached now, and none elsewhere."""
    w, g = header(world), groups(world)[group]
    for n in range(g.limits[1]):
        number = g.limits[0] + n
        r = limit_rows(world)[number]
        value, _ = limit_value(world, r, w.time)
        reached = value <= CONTACT_GAP * size_of_limit(world, r)  # or passed, which must not be overlooked
        if pairs(world)[r.pair].contact >= 0:
            if not reached:
                drop_contacts(world, r.pair)
        elif reached:
            row = add_contact(
                world, r.shown[0], r.shown[1], r.pair, -1, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, value, LIMIT_FEATURE,
                LIMIT_FEATURE, number, -1, 0.0, 0.0,
            )  # fmt: skip
            c = contacts(world)[row]
            c.friction = c.impact_friction = c.fall[0] = c.resists[0] = c.resists[1] = 0.0
            c.restitution = c.felt = r.restitution
            c.kind, c.side[0], c.side[1] = (
                LIMIT_KIND,
                r.body,
                r.base,
            )


@kernel()
def least_way(world):
    """Note the smallest value of limits that no closed contact holds at the states asked about, of their size, with
    its rate and which it is."""
    w = header(world)
    w.way, w.way_rate, w.way_limit = np.inf, 0.0, -1
    ends, out = matrix2x13(), vector12()
    for k in range(w.ng):
        g = groups(world)[local_groups(world)[k]]
        for n in range(g.limits[1]):
            number = g.limits[0] + n
            r = limit_rows(world)[number]
            row = pairs(world)[r.pair].contact
            if row >= 0 and contacts(world)[row].mode != OPEN:
                continue
            read_ends(world, r, ends)
            value, rate, _ = row_at(world, r, ends, out)
            size = size_of_limit(world, r)
            if row >= 0:  # what has parted from its limit is about there: only beyond it does it count again
                value += CONTACT_GAP * size
            if value / size < w.way:
                w.way, w.way_rate, w.way_limit = value / size, rate / size, number


# -- forces ------------------------------------------------------------------------------------------------


@part()
def forces(world, what, which):
    """Answer for the forces on the bodies shown, see APPLY and what follows it; 1 where a function failed."""
    w = header(world)
    if what == APPLY:
        return apply_forces(world)
    w.drive_margin = np.inf
    ends, out = matrix2x13(), vector12()
    for k in range(w.ng):
        g = groups(world)[local_groups(world)[k]]
        for n in range(g.forces[1]):
            r = force_rows(world)[g.forces[0] + n]
            if r.largest == np.inf:
                continue
            read_ends(world, r, ends)
            value, rate, _ = row_at(world, r, ends, out)
            asked = intended(r, value, rate)
            if what == SATURATE:
                r.full = 0.0 if abs(asked) < r.largest else (1.0 if asked > 0.0 else -1.0)
            elif r.full == 0.0:
                w.drive_margin = min(w.drive_margin, 1.0 + DRIVE_MARGIN - abs(asked) / r.largest)
            else:
                w.drive_margin = min(w.drive_margin, r.full * asked / r.largest - 1.0 + DRIVE_MARGIN)
    return 0


@kernel()
def intended(r, value, rate):
    """Force along a row without regard to the largest."""
    return r.effort + r.stiffness * (r.target - value) + r.damping * (r.speed - rate)


@kernel()
def apply_forces(world):
    """Fill the forces on the bodies shown, world axes, at the states and time asked about."""
    w = header(world)
    state, turn, applied = states_at(w.asked_state, w.m), local_turn(world), local_applied(world)
    w.spring_power = 0.0
    for n in range(CHANNELS):
        w.power[n] = 0.0
    for k in range(w.m):
        for i in range(6):
            applied[k, i] = 0.0
    if w.functions != 0:
        if call(w.functions, world, 0, 0) != 0:
            w.failed = 1
            return 1
        for k in range(w.m):
            s, f = state[k], applied[k]
            x, y, z = turned(turn[k], s[10], s[11], s[12])
            w.power[APPLIED] += f[0] * s[7] + f[1] * s[8] + f[2] * s[9] + f[3] * x + f[4] * y + f[5] * z
    ends, out = matrix2x13(), vector12()
    for k in range(w.ng):
        g = groups(world)[local_groups(world)[k]]
        for n in range(g.forces[1]):
            r = force_rows(world)[g.forces[0] + n]
            read_ends(world, r, ends)
            value, rate, _ = row_at(world, r, ends, out)
            along = intended(r, value, rate) if r.full == 0.0 else r.full * r.largest
            if r.driven:
                w.power[DRIVES] += along * rate
            else:
                w.power[DAMPING] -= r.damping * rate * rate
                w.spring_power += r.stiffness * (r.target - value) * rate
            for side in range(2):
                b = local_of(world, r.base if side == 0 else r.body)
                if b >= 0:
                    for i in range(6):
                        applied[b, i] += along * out[6 * side + i]
    for k in range(w.m):
        drag = bodies(world)[local_bodies(world)[k]].drag
        if drag[0] == 0.0 and drag[1] == 0.0 and drag[2] == 0.0:
            continue
        s = state[k]
        resistance = drag[0] + drag[1] * np.sqrt(s[7] * s[7] + s[8] * s[8] + s[9] * s[9])
        x, y, z = turned(turn[k], s[10], s[11], s[12])
        for i in range(3):
            applied[k, i] -= resistance * s[7 + i]
            applied[k, 3 + i] -= drag[2] * (x if i == 0 else (y if i == 1 else z))
            w.power[DRAG] -= resistance * s[7 + i] * s[7 + i]
        w.power[DRAG] -= drag[2] * (x * x + y * y + z * z)
    return 0
