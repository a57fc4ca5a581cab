"""Bodies that are looked at together: those of an event, or of an island, numbered from 0, with all that acts on
them.

`show_members` and `show_island` fill the tables ``local_...``; `place` puts bodies, contacts and joints where they
are at given states. Impacts, the force problem and the equations of motion all work on these, and write what they
find back to the tables of motions and contacts.
"""

import numpy as np

from ...compiled import call, kernel, matrix_at, part, rows_at
from ..engine.contacts_kernels import LIMIT as LIMIT_FEATURE
from ..engine.curves_kernels import CIRCLES, LIMIT_KIND, touch_curves, touch_point_on_face
from ..engine.tables_kernels import (
    FLOAT,
    GEOMETRY,
    NUMBER,
    WHOLE,
    bodies,
    contacts,
    found,
    groups,
    header,
    islands,
    local_acceleration,
    local_applied,
    local_bodies,
    local_contacts,
    local_curves,
    local_direction,
    local_ends,
    local_force,
    local_free,
    local_friction,
    local_geometry,
    local_groups,
    local_jacobian,
    local_kind,
    local_mass,
    local_mobility,
    local_mode,
    local_parent,
    local_placed,
    local_rate,
    local_slider,
    local_slow,
    local_state,
    local_turn,
    local_turned,
    members,
    motions,
    pairs,
    reserve,
    states_at,
)
from ..kernels import cross, matrix3x3, rotation_matrix_into, turned_back, vector3, vector4, vector13
from .blocks_kernels import elimination
from .force_kernels import Problem, stiffnesses
from .joint_parts_kernels import COUNT, FILL, KEEP, LIMIT, PLACE, keep_row_in_plane
from .turns_kernels import count_turns, place_turns, read_turn_forces, show_turns, write_turn_forces

_FIRST, _LAST = NUMBER["local_bodies"], NUMBER["joint_stiffness"]
_OF_CONTACTS, _OF_JOINTS = NUMBER["local_contacts"], NUMBER["local_rows"]
_LATER, _PLACE, _OFF = NUMBER["local_later"], NUMBER["local_place"], NUMBER["local_off"]
_floats, _wholes = rows_at(np.dtype(FLOAT)), rows_at(np.dtype(WHOLE))
_vectors, _sixes = rows_at(np.dtype(FLOAT), (3,)), rows_at(np.dtype(FLOAT), (6,))
_twos, _pairs = rows_at(np.dtype(FLOAT), (2,)), rows_at(np.dtype(WHOLE), (2,))
_square = matrix_at(np.dtype(WHOLE))
_blocks = rows_at(np.dtype(FLOAT), (6, 6))
_jacobians, _joint_jacobians = rows_at(np.dtype(FLOAT), (2, 3, 6)), rows_at(np.dtype(FLOAT), (2, 6))


@kernel()
def reserve_bodies(world, m):
    """Make room for so many bodies."""
    w = header(world)
    if m > w.local_bodies_room or m * m > w.local_later_room:
        for table in range(_FIRST, _OF_CONTACTS):
            if table in (_LATER, _PLACE):
                reserve(world, table, m * m)
            elif table != _OFF:
                reserve(world, table, m)


@kernel()
def reserve_contacts(world, nc):
    """Make room for so many contacts."""
    if nc > header(world).local_contacts_room:
        for table in range(_OF_CONTACTS, _OF_JOINTS):
            reserve(world, table, nc)


@kernel()
def reserve_joints(world, nj):
    """Make room for so many rows of joints."""
    if nj > header(world).local_rows_room:
        for table in range(_OF_JOINTS, _LAST + 1):
            reserve(world, table, nj)


@kernel(lends=True)
def problem(world):
    """The force problem of the island that is open."""
    w = header(world)
    m, nc, nj = w.m, w.nr, w.nj
    return Problem(
        _blocks(w.local_mass, m), _blocks(w.local_mobility, m), _sixes(w.local_free, m),
        _pairs(w.local_ends, nc), _jacobians(w.local_jacobian, nc), _vectors(w.local_rate, nc),
        _floats(w.local_friction, nc), _wholes(w.local_slider, nc), _twos(w.local_sliding, nc),
        _floats(w.local_stiffness, nc), _wholes(w.local_parent, nc), _pairs(w.joint_ends, nj),
        _joint_jacobians(w.joint_jacobian, nj),
        _floats(w.joint_rate, nj), _floats(w.joint_stiffness, nj), _wholes(w.local_order, m),
        _wholes(w.local_degree, m), _square(w.local_later, m, m), _square(w.local_place, m, m),
        _blocks(w.local_diagonal, m),
        _blocks(w.local_off, w.blocks),
    )  # fmt: skip


@kernel(allocates=True, lends=True)
def states_now(world):
    """The packed states (m, 13) of the island that is open."""
    w = header(world)
    return states_at(w.local_state, w.m)


@kernel()
def show_members(world):
    """Show the members of an event, with the contacts that were found, and not what resists turning at them."""
    w = header(world)
    w.m, w.nc = w.members_count, w.found_count
    reserve_bodies(world, w.m)
    reserve_contacts(world, w.nc)
    for k in range(w.m):
        local_bodies(world)[k] = members(world)[k]
    for c in range(w.nc):
        local_contacts(world)[c] = found(world)[c]
    w.nr = w.nc
    show(world)


@kernel()
def show_island(world, island):
    """Show an island with its contacts."""
    w, e = header(world), islands(world)[island]
    w.m, w.nc = e.bodies, e.contacts
    reserve_bodies(world, w.m)
    reserve_contacts(world, w.nc)
    body, row = e.body, e.contact
    for k in range(w.m):
        local_bodies(world)[k] = body
        body = motions(world)[body].fellow
    for c in range(w.nc):
        local_contacts(world)[c] = row
        row = contacts(world)[row].fellow
    w.nr = w.nc + count_turns(world)
    reserve_contacts(world, w.nr)
    show(world)


@kernel()
def show(world):
    """Fill all but the numbers of bodies and contacts, which stand there."""
    w = header(world)
    which, state, applied = local_bodies(world), local_state(world), local_applied(world)
    acceleration = local_acceleration(world)
    for k in range(w.m):
        o = motions(world)[which[k]]
        o.local = k
        for i in range(13):
            state[k, i] = o.state[i]
        for i in range(6):
            applied[k, i] = acceleration[k, i] = 0.0
    rows, kind, turned, mode = (
        local_contacts(world),
        local_kind(world),
        local_turned(world),
        local_mode(world),
    )
    curves, ends, geometry = local_curves(world), local_ends(world), local_geometry(world)
    slow, direction, friction = local_slow(world), local_direction(world), local_friction(world)
    slider = local_slider(world)
    table, all_bodies = contacts(world), bodies(world)
    for c in range(w.nc):
        o = table[rows[c]]
        kind[c], mode[c], slow[c], friction[c], slider[c] = o.kind, o.mode, o.slow, o.friction, 0
        turned[c] = 1 if o.side[0] != o.first else 0
        for side in range(2):
            one, other = o.side[side], o.second if side == 1 else o.first
            curves[c, side] = motions(world)[one].local if one >= 0 and all_bodies[one].movable else -1
            ends[c, side] = motions(world)[other].local if all_bodies[other].movable else -1
            direction[c, side] = o.direction[side]
        for i in range(GEOMETRY):
            geometry[c, i] = o.geometry[i]
        local_parent(world)[c] = -1
    if w.nr > w.nc:
        show_turns(world)
    w.nj = w.ng = 0
    if w.groups_count > 0:
        list_groups(world)
    if w.joints != 0:
        w.nj = call(w.joints, world, COUNT, 0)
        reserve_joints(world, w.nj)
        call(w.joints, world, FILL, 0)
    s = problem(world)
    w.blocks = elimination(w.m, s.ends, s.joint_ends, s.order, s.degree, s.later, s.place)
    reserve(world, _OFF, w.blocks)


@kernel()
def list_groups(world):
    """List the groups of the bodies shown, each once."""
    w = header(world)
    w.looks += 1
    for k in range(w.m):
        number = bodies(world)[local_bodies(world)[k]].joined
        if number >= 0 and groups(world)[number].look != w.looks:
            groups(world)[number].look = w.looks
            local_groups(world)[w.ng] = number
            w.ng += 1


@kernel()
def read_forces(world):
    """Fill the force of each contact, in its frame now, from the one that it had."""
    table, rows, placed, force = (
        contacts(world),
        local_contacts(world),
        local_placed(world),
        local_force(world),
    )
    for c in range(header(world).nc):
        before = table[rows[c]].force
        for e in range(3):
            force[c, e] = 0.0
            for i in range(3):
                force[c, e] += placed[c, 3 * e + i] * before[i]
    read_turn_forces(world)


@kernel()
def write_forces(world):
    """Note the forces of contacts and joints, of the state looked at last, in their tables."""
    table, rows, placed, force = (
        contacts(world),
        local_contacts(world),
        local_placed(world),
        local_force(world),
    )
    for c in range(header(world).nc):
        now = table[rows[c]].force
        for i in range(3):
            now[i] = 0.0
            for e in range(3):
                now[i] += placed[c, 3 * e + i] * force[c, e]
    write_turn_forces(world)
    if header(world).nj > 0:
        call(header(world).joints, world, KEEP, 0)


@kernel()
def place_bodies(world, state):
    """Place the bodies at packed states (m, 13), whose quaternions need not be units: rotations and masses."""
    w = header(world)
    turn, mass, mobility, which = (
        local_turn(world),
        local_mass(world),
        local_mobility(world),
        local_bodies(world),
    )
    for k in range(w.m):
        R, b, M, W = turn[k], bodies(world)[which[k]], mass[k], mobility[k]
        turn_of(state[k], R)
        for i in range(6):
            for j in range(6):
                M[i, j] = W[i, j] = 0.0
        for i in range(3):
            M[i, i], W[i, i] = b.mass, 1.0 / b.mass
        if w.planar:  # directions out of the plane are barred: any inertia will do there
            about = inertia_about(R, b.inertia, w.plane)
            for i in range(3, 6):
                M[i, i], W[i, i] = about, 1.0 / about
        else:
            turned_inertia(R, b.inertia, M)
            turned_inertia(R, b.inverse_inertia, W)


@kernel()
def turn_of(state, R):
    """Fill R with the rotation of a packed state whose quaternion need not be a unit."""
    q = vector4()
    length = np.sqrt(state[3] ** 2 + state[4] ** 2 + state[5] ** 2 + state[6] ** 2)
    for i in range(4):
        q[i] = state[3 + i] / length
    rotation_matrix_into(q, R)


@kernel()
def inertia_about(R, I, axis):
    """Moment of inertia about a world axis."""
    x, y, z = (
        R[0, 0] * axis[0] + R[1, 0] * axis[1] + R[2, 0] * axis[2],
        R[0, 1] * axis[0] + R[1, 1] * axis[1] + R[2, 1] * axis[2],
        R[0, 2] * axis[0] + R[1, 2] * axis[1] + R[2, 2] * axis[2],
    )
    return (
        x * (I[0, 0] * x + I[0, 1] * y + I[0, 2] * z)
        + y * (I[1, 0] * x + I[1, 1] * y + I[1, 2] * z)
        + z * (I[2, 0] * x + I[2, 1] * y + I[2, 2] * z)
    )


@kernel()
def turned_inertia(R, I, M):
    """Fill the lower right block of M (6, 6) with R I R^T."""
    for i in range(3):
        x = R[i, 0] * I[0, 0] + R[i, 1] * I[1, 0] + R[i, 2] * I[2, 0]
        y = R[i, 0] * I[0, 1] + R[i, 1] * I[1, 1] + R[i, 2] * I[2, 1]
        z = R[i, 0] * I[0, 2] + R[i, 1] * I[1, 2] + R[i, 2] * I[2, 2]
        for j in range(i + 1):
            M[3 + i, 3 + j] = M[3 + j, 3 + i] = x * R[j, 0] + y * R[j, 1] + z * R[j, 2]


@kernel()
def place(world, state):
    """Place bodies, contacts and joints at packed states (m, 13): masses, rows, Jacobians and rates."""
    w = header(world)
    w.asked_state = state.ctypes.data
    call(w.place, world, 0, 0)


@part()
def place_all(world, i, j):
    """Place what is shown at the states that are asked about."""
    w = header(world)
    state = states_at(w.asked_state, w.m)
    place_bodies(world, state)
    turn, placed, J, rate = local_turn(world), local_placed(world), local_jacobian(world), local_rate(world)
    kind, curves, turned, geometry = (
        local_kind(world),
        local_curves(world),
        local_turned(world),
        local_geometry(world),
    )
    still, upright = vector13(), matrix3x3()
    for k in range(13):
        still[k] = 0.0
    still[3] = 1.0
    rotation_matrix_into(still[3:7], upright)
    for c in range(w.nc):
        row = placed[c]
        if kind[c] >= LIMIT_KIND:
            call(w.joints, world, LIMIT, c)
            continue
        P, F = curves[c, 0], curves[c, 1]
        p = state[P] if P >= 0 else still
        f = state[F] if F >= 0 else still
        RP = turn[P] if P >= 0 else upright
        RF = turn[F] if F >= 0 else upright
        if kind[c] == 0:
            touch_point_on_face(geometry[c], RP, p, RF, f, row)
        else:
            touch_curves(kind[c], geometry[c], RP, p, RF, f, row)
        if turned[c]:
            turn_over(row)
        for e in range(3):
            rate[c, e] = row[18 + e]
            x, y, z = row[3 * e], row[3 * e + 1], row[3 * e + 2]
            for side in range(2):
                sign, at, jacobian = 1.0 - 2.0 * side, 9 + 3 * side, J[c, side, e]
                tx, ty, tz = cross(row[at], row[at + 1], row[at + 2], x, y, z)
                jacobian[0], jacobian[1], jacobian[2] = sign * x, sign * y, sign * z
                jacobian[3], jacobian[4], jacobian[5] = sign * tx, sign * ty, sign * tz
            if w.planar and not keep_row_in_plane(world, J[c, :, e]):
                row[15 + e] = row[18 + e] = rate[c, e] = 0.0  # rounding that would count as slip
    place_turns(world)
    if w.nj > 0:
        call(w.joints, world, PLACE, 0)
    stiffnesses(problem(world))
    return 0


@kernel()
def turn_over(out):
    """Make a row of P against F one of F against P."""
    for i in range(3):
        out[i], out[3 + i] = -out[i], -out[3 + i]
        out[9 + i], out[12 + i] = out[12 + i], out[9 + i]
    out[17], out[20] = -out[17], -out[20]
    for i in range(25, 28):
        out[i] = -out[i]


@kernel()
def free_accelerations(world, state):
    """Fill the accelerations without contacts and joints, world axes, of bodies placed at these states (m, 13)."""
    w = header(world)
    applied, free, turn, mobility = (
        local_applied(world),
        local_free(world),
        local_turn(world),
        local_mobility(world),
    )
    if w.forces != 0:
        w.asked_state = state.ctypes.data
        call(w.forces, world, 0, 0)
    for k in range(w.m):
        b, R, y, f, a = bodies(world)[local_bodies(world)[k]], turn[k], state[k], applied[k], free[k]
        I = b.inertia
        wx, wy, wz = y[10], y[11], y[12]
        lx = I[0, 0] * wx + I[0, 1] * wy + I[0, 2] * wz
        ly = I[1, 0] * wx + I[1, 1] * wy + I[1, 2] * wz
        lz = I[2, 0] * wx + I[2, 1] * wy + I[2, 2] * wz
        tx, ty, tz = cross(lx, ly, lz, wx, wy, wz)
        px = R[0, 0] * tx + R[0, 1] * ty + R[0, 2] * tz + f[3]
        py = R[1, 0] * tx + R[1, 1] * ty + R[1, 2] * tz + f[4]
        pz = R[2, 0] * tx + R[2, 1] * ty + R[2, 2] * tz + f[5]
        fx, fy, fz = f[0], f[1], f[2]
        if w.planar:
            n = w.plane
            about = px * n[0] + py * n[1] + pz * n[2]
            px, py, pz = about * n[0], about * n[1], about * n[2]
            out = fx * n[0] + fy * n[1] + fz * n[2]
            fx, fy, fz = fx - out * n[0], fy - out * n[1], fz - out * n[2]
        W = mobility[k]
        a[0], a[1], a[2] = w.gravity[0] + fx / b.mass, w.gravity[1] + fy / b.mass, w.gravity[2] + fz / b.mass
        for i in range(3, 6):
            a[i] = W[i, 3] * px + W[i, 4] * py + W[i, 5] * pz


@kernel()
def fill_derivative(world, state, D):
    """Fill D (m, 13) with the time derivative of packed states under the accelerations found last."""
    turn, acceleration = local_turn(world), local_acceleration(world)
    for k in range(header(world).m):
        y, a, R, d = state[k], acceleration[k], turn[k], D[k]
        w0, w1, w2 = y[10], y[11], y[12]
        p, q, r, s = y[3], y[4], y[5], y[6]
        for i in range(3):
            d[i], d[7 + i] = y[7 + i], a[i]
            d[10 + i] = R[0, i] * a[3] + R[1, i] * a[4] + R[2, i] * a[5]
        d[3] = 0.5 * (-q * w0 - r * w1 - s * w2)
        d[4] = 0.5 * (p * w0 + r * w2 - s * w1)
        d[5] = 0.5 * (p * w1 + s * w0 - q * w2)
        d[6] = 0.5 * (p * w2 + q * w1 - r * w0)


@kernel()
def read_state(world, body, out):
    """Fill out (13,) with the packed state of a member now; of what does not move with that of the world's axes."""
    if bodies(world)[body].movable:
        s = motions(world)[body].state
        for i in range(13):
            out[i] = s[i]
    else:
        for i in range(13):
            out[i] = 0.0
        out[3] = 1.0


@kernel()
def note_places(world):
    """Note where and how the contacts that are shown are now in their table."""
    w = header(world)
    rows, placed, state, ends = (
        local_contacts(world),
        local_placed(world),
        local_state(world),
        local_ends(world),
    )
    here, before = vector13(), vector3()
    for k in range(w.nc):
        c, out = contacts(world)[rows[k]], placed[k]
        if ends[k, 0] >= 0:
            for i in range(13):
                here[i] = state[ends[k, 0], i]
        else:
            read_state(world, c.first, here)
        for i in range(3):
            before[i] = c.point[i]
            c.normal[i], c.tangent[i], c.tangent2[i] = out[i], out[3 + i], out[6 + i]
            c.point[i] = here[i] + out[9 + i]
            c.velocity[i] = out[15 + i]
        c.gap = out[21]
        if c.kind == CIRCLES:
            note_circles(world, c, k)
        # arms end on P's surface
        shift = -0.5 * c.gap if c.side[0] == c.first else 0.5 * c.gap
        if bodies(world)[c.second].level < 0:
            shift = -c.gap
        if c.feature[0] != LIMIT_FEATURE:
            for i in range(3):
                c.point[i] += shift * c.normal[i]
            if w.planar and c.pair >= 0:
                take_along(world, rows[k], before)


@kernel()
def note_circles(world, c, k):
    """Note where contact k that is shown, of two circles, is on the first of them: the search for where it is later
    begins there."""
    out, at, body = local_placed(world)[k], 12 if local_turned(world)[k] else 9, local_curves(world)[k, 0]
    x, y, z = out[at], out[at + 1], out[at + 2]
    if body >= 0:
        x, y, z = turned_back(local_turn(world)[body], x, y, z)
    g, shown = c.geometry, local_geometry(world)[k]
    g[23], g[24], g[25] = x, y, z
    shown[23], shown[24], shown[25] = x, y, z


@kernel()
def take_along(world, row, before):
    """Let contacts for which this one stands move with it, which was at `before` (3,)."""
    c = contacts(world)[row]
    other = pairs(world)[c.pair].contact
    while other >= 0:
        o = contacts(world)[other]
        if o.behind == row:
            for i in range(3):
                o.point[i] += c.point[i] - before[i]
                o.normal[i] = c.normal[i]
        other = o.next
