"""Convex shapes as the collision kernels see them: frames, lowest points along a direction, gaps along an axis.

A shape is hull(points) + disk + ball, sums of sets: `points` in body axes, a disk across the body's z axis and a
ball, either of which may have radius zero (`CollisionShape`). Its lowest point along a direction needs nothing
else, so one code serves spheres, capsules, cylinders and polytopes. Over half-spaces an ellipsoid may be added.

A *frame* is an array (18,): rotation body to world by rows, position [m], velocity [m/s], angular velocity
[rad/s], all in world axes. An *axis* is a unit vector from the second shape to the first, as three numbers.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import TERMS, cross, ellipsoid_height, ellipsoid_lowest, evaluate_piece_into, vector18

POINT, EDGE, FACE, RIM = 0, 1, 2, 3  # as in event.Feature


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
def carry_to(state, place):
    """Let a packed state (13,) be that of another point of the body, at `place` (3,) [m] from the one it was of."""
    frame = vector18()
    frame_of_state(state, frame)
    x, y, z = to_world(frame, place[0], place[1], place[2])
    vx, vy, vz = cross(frame[15], frame[16], frame[17], x, y, z)
    state[0], state[1], state[2] = state[0] + x, state[1] + y, state[2] + z
    state[7], state[8], state[9] = state[7] + vx, state[8] + vy, state[9] + vz


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
    evaluate_piece_into(C, moving, turning, tau, state)
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


@kernel()
def room_on_face(shape, f, x, y, z):
    """Distance [m] of a point of a face's plane (body axes) from the nearest side, negative beyond it."""
    n = shape.normals[f]
    first, last = shape.face_starts[f], shape.face_starts[f + 1]
    room = np.inf
    for k in range(first, last):
        a = shape.points[shape.face_corners[k]]
        b = shape.points[shape.face_corners[k + 1 if k + 1 < last else first]]
        ex, ey, ez = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        lx, ly, lz = cross(n[0], n[1], n[2], ex, ey, ez)  # into the face
        length = np.sqrt(lx * lx + ly * ly + lz * lz)
        room = min(room, (lx * (x - a[0]) + ly * (y - a[1]) + lz * (z - a[2])) / length)
    return room
