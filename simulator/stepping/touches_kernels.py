"""Columns of the tables of a step, and the update of one touch that a step solves, compiled.

A sphere touches at a lever along the normal, so the 3 x 3 block of W of one touch is diagonal: normal impulses turn
nothing, and tangential ones are all alike. Then both friction rules of Preclik, Eibl & Rüde have the same solution,
which needs no conic: the normal impulse that ends the approach, and the tangential impulse nearest to that which
stops slip, within the disk of the cone.
"""

import numpy as np

from ...compiled import kernel

_MOTION_COLUMNS = ("vx", "vy", "vz", "wx", "wy", "wz", "inverse_mass", "inverse_inertia")
MOTION = np.dtype([(name, np.float64) for name in _MOTION_COLUMNS])
"""Of a sphere: velocity [m/s], angular velocity [rad/s], 1/mass and 1/inertia; one line of a cache."""

_TOUCH_COLUMNS = (
    *("nx", "ny", "nz", "arm", "other_arm", "gap", "per_normal", "per_tangent", "friction"),
    *("px", "py", "pz", "ux", "uy", "uz"),
)
TOUCH = np.dtype([(name, np.float64) for name in _TOUCH_COLUMNS])
"""Of a touch, which stands in the rows of its sphere: unit normal towards that sphere, levers from both centres to
the point [m], gap [m], 1/W_nn and 1/W_tt [kg], friction, impulse on the sphere [N s], and velocity of a wall there
[m/s]. Beside it stands the row of the other sphere, or -1 - k for wall k: a sweep reads that of every touch."""


@kernel(forceinline=True)
def impulse_wanted(touch, ux, uy, uz, rate):
    """The impulse of a touch given all others: its two solutions in one, for a relative velocity (ux, uy, uz) that
    its present impulse has part in. `rate` is 1 over the step [1/s]: what is open may close by its gap."""
    nx, ny, nz = touch.nx, touch.ny, touch.nz
    un = ux * nx + uy * ny + uz * nz
    pn = touch.px * nx + touch.py * ny + touch.pz * nz
    normal = pn - (un + max(touch.gap, 0.0) * rate) * touch.per_normal
    if normal <= 0.0:
        return 0.0, 0.0, 0.0
    per = touch.per_tangent
    tx = touch.px - pn * nx - (ux - un * nx) * per
    ty = touch.py - pn * ny - (uy - un * ny) * per
    tz = touch.pz - pn * nz - (uz - un * nz) * per
    bound = touch.friction * normal
    square = tx * tx + ty * ty + tz * tz
    if square > bound * bound:
        share = bound / np.sqrt(square)
        tx *= share
        ty *= share
        tz *= share
    return normal * nx + tx, normal * ny + ty, normal * nz + tz


@kernel()
def relax_row(row, backward, starts, others, touches, motions, rate, sweep, moved, least):
    """Let every touch in the rows of a sphere take its solution given all others, one after the other; largest
    squares of a change and of an impulse. In sweep 0 nothing is changed, and the changes are what is left.

    moved : (n,) the sweep in which a sphere was last moved by a change whose square is above `least`. Touches of
        which neither side was, since the last sweep came by, are left out.
    """
    own = motions[row]
    apply = sweep > 0
    recent = moved[row] >= sweep - 1
    vx, vy, vz, wx, wy, wz = own.vx, own.vy, own.vz, own.wx, own.wy, own.wz
    mass, inertia = own.inverse_mass, own.inverse_inertia
    worst = largest = 0.0
    first, last = starts[row], starts[row + 1]
    for step in range(last - first):
        k = last - 1 - step if backward else first + step
        j = others[k]
        if not recent and (j < 0 or moved[j] < sweep - 1):
            continue
        touch = touches[k]
        nx, ny, nz, arm = touch.nx, touch.ny, touch.nz, touch.arm
        # velocity of the sphere relative to the other at the point: v - (levers times spins) x n
        sx, sy, sz = arm * wx, arm * wy, arm * wz
        if j >= 0:
            other = motions[j]
            lever = touch.other_arm
            sx += lever * other.wx
            sy += lever * other.wy
            sz += lever * other.wz
            ux, uy, uz = vx - other.vx, vy - other.vy, vz - other.vz
        else:
            ux, uy, uz = vx - touch.ux, vy - touch.uy, vz - touch.uz
        ux -= sy * nz - sz * ny
        uy -= sz * nx - sx * nz
        uz -= sx * ny - sy * nx
        px, py, pz = impulse_wanted(touch, ux, uy, uz, rate)
        dx, dy, dz = px - touch.px, py - touch.py, pz - touch.pz
        square = dx * dx + dy * dy + dz * dz
        worst = max(worst, square)
        largest = max(largest, px * px + py * py + pz * pz)
        if not apply or square == 0.0:
            continue
        if square > least:
            recent = True
            moved[row] = sweep
            if j >= 0:
                moved[j] = sweep
        touch.px, touch.py, touch.pz = px, py, pz
        tx, ty, tz = ny * dz - nz * dy, nz * dx - nx * dz, nx * dy - ny * dx
        vx += mass * dx
        vy += mass * dy
        vz += mass * dz
        turn = inertia * arm
        wx -= turn * tx
        wy -= turn * ty
        wz -= turn * tz
        if j >= 0:
            weight = other.inverse_mass
            other.vx -= weight * dx
            other.vy -= weight * dy
            other.vz -= weight * dz
            turn = other.inverse_inertia * lever
            other.wx -= turn * tx
            other.wy -= turn * ty
            other.wz -= turn * tz
    if apply:
        own.vx, own.vy, own.vz, own.wx, own.wy, own.wz = vx, vy, vz, wx, wy, wz
    return worst, largest


@kernel()
def begin_row(row, starts, others, touches, motions):
    """Give a sphere and those that it touches the impulses that the touches begin with."""
    own = motions[row]
    for k in range(starts[row], starts[row + 1]):
        touch = touches[k]
        px, py, pz = touch.px, touch.py, touch.pz
        if px == 0.0 and py == 0.0 and pz == 0.0:
            continue
        tx = touch.ny * pz - touch.nz * py
        ty = touch.nz * px - touch.nx * pz
        tz = touch.nx * py - touch.ny * px
        turn = own.inverse_inertia * touch.arm
        own.vx += own.inverse_mass * px
        own.vy += own.inverse_mass * py
        own.vz += own.inverse_mass * pz
        own.wx -= turn * tx
        own.wy -= turn * ty
        own.wz -= turn * tz
        if others[k] >= 0:
            other = motions[others[k]]
            turn = other.inverse_inertia * touch.other_arm
            other.vx -= other.inverse_mass * px
            other.vy -= other.inverse_mass * py
            other.vz -= other.inverse_mass * pz
            other.wx -= turn * tx
            other.wy -= turn * ty
            other.wz -= turn * tz


@kernel()
def part_row(row, backward, starts, others, touches, motions, moved, share):
    """Move a sphere and those that it overlaps apart by a `share` of each overlap, the lighter one more; `moved`
    (n, 3) [m] is by how much. Velocities stay, so no kinetic energy comes of it, and the centre of mass stays."""
    first, last = starts[row], starts[row + 1]
    for step in range(last - first):
        k = last - 1 - step if backward else first + step
        j, touch = others[k], touches[k]
        gap = touch.gap + touch.nx * moved[row, 0] + touch.ny * moved[row, 1] + touch.nz * moved[row, 2]
        if j >= 0:
            gap -= touch.nx * moved[j, 0] + touch.ny * moved[j, 1] + touch.nz * moved[j, 2]
        if gap >= 0.0:
            continue
        way = -share * gap * touch.per_normal
        own = way * motions[row].inverse_mass
        moved[row, 0] += own * touch.nx
        moved[row, 1] += own * touch.ny
        moved[row, 2] += own * touch.nz
        if j >= 0:
            back = way * motions[j].inverse_mass
            moved[j, 0] -= back * touch.nx
            moved[j, 1] -= back * touch.ny
            moved[j, 2] -= back * touch.nz
