"""Where two curves, or a curve and a face, touch as their bodies move: frame, arms, velocity, its rate, gap.

A curve is a point, a straight line, a circle or an ellipsoid, and the surface is a radius away from it. The normal
points from F to P. A face carries it; between curves it lies along the line through their closest points, or, where
sharp curves cross each other, across both. On a face, P may be an ellipsoid too. The kind of a contact is 4 *
(curve of P - 1) + curve of F; its geometry holds, in body axes of the side each belongs to (normal and tangent: of
F),

    0 place of P (a circle or ellipsoid: its center), 3 radius of P, 4 normal, 7 tangent, 10 place of F,
    13 radius of F, 14 direction of P (of a line, or axis of a circle; semi-axes of an ellipsoid),
    17 its circle's radius, 18 direction of F,
    21 its circle's radius, 22 where sharp curves cross: 1 or -1, sign of their normal against the product of
    their directions, else 0,
    23 of circles that touch each other, where on P's they did when it was noted last: they may come near elsewhere.

Of a point on a face or a point, only the first 14 are read.
"""

import numpy as np

from ...compiled import kernel
from ..kernels import cross, dot, ellipsoid_height, ellipsoid_lowest, turned, turned_back

FACE_CURVE, POINT_CURVE, LINE, CIRCLE, ELLIPSOID_CURVE = 0, 1, 2, 3, 4
LIMIT_KIND = 16
CIRCLES = 4 * (CIRCLE - 1) + CIRCLE  # the kind of two circles
ALTERNATIONS, NEWTON_STEPS = 3, 20


@kernel()
def touch_point_on_face(g, RP, p, RF, f, row):
    """Fill a row for a point P (with its ball) on a face F, see `touch_curves`."""
    bx, by, bz = p[0] - f[0], p[1] - f[1], p[2] - f[2]
    vx, vy, vz = p[7] - f[7], p[8] - f[8], p[9] - f[9]
    ox, oy, oz = turned(RF, f[10], f[11], f[12])
    wx, wy, wz = turned(RP, p[10], p[11], p[12])
    wx, wy, wz = wx - ox, wy - oy, wz - oz
    # from here on w and r are those seen from F
    sx, sy, sz = cross(ox, oy, oz, bx, by, bz)
    rx, ry, rz = vx - sx, vy - sy, vz - sz
    ax, ay, az = turned(RP, g[0], g[1], g[2])
    fx, fy, fz = turned(RF, g[10], g[11], g[12])
    nx, ny, nz = turned(RF, g[4], g[5], g[6])
    tx, ty, tz = turned(RF, g[7], g[8], g[9])
    hx, hy, hz = cross(wx, wy, wz, ax, ay, az)
    distance = dot(nx, ny, nz, bx + ax - fx, by + ay - fy, bz + az - fz)
    qx, qy, qz = cross(nx, ny, nz, tx, ty, tz)
    fill_row(
        row, nx, ny, nz, tx, ty, tz, qx, qy, qz, ax, ay, az, bx, by, bz, g[3], 0.0, 0.0, 0.0, hx, hy, hz,
        rx, ry, rz, vx, vy, vz, wx, wy, wz, ox, oy, oz, ox, oy, oz, distance - g[3] - g[13],
    )  # fmt: skip


@kernel()
def fill_row(
    row, nx, ny, nz, tx, ty, tz, qx, qy, qz, ax, ay, az, bx, by, bz, radius, mx, my, mz, hx, hy, hz,
    rx, ry, rz, vx, vy, vz, wx, wy, wz, ox, oy, oz, ex, ey, ez, gap,
):  # fmt: skip
    """Fill a row: frame n, t, q, which turns at e; a: from P's centre to its curve, moving at h; m: rate of n.

    b, v: place and velocity of P's centre against F's; w, r: angular velocity of P, and v, as F sees them.
    """
    row[0], row[1], row[2] = nx, ny, nz
    row[3], row[4], row[5] = tx, ty, tz
    row[6], row[7], row[8] = qx, qy, qz
    ax, ay, az = ax - radius * nx, ay - radius * ny, az - radius * nz
    hx, hy, hz = hx - radius * mx, hy - radius * my, hz - radius * mz
    row[9], row[10], row[11] = ax, ay, az
    row[12], row[13], row[14] = bx + ax, by + ay, bz + az
    fx, fy, fz = cross(wx, wy, wz, ax, ay, az)
    fx, fy, fz = rx + fx, ry + fy, rz + fz
    sx, sy, sz = cross(ox, oy, oz, ax, ay, az)
    hx, hy, hz = cross(wx, wy, wz, hx + sx, hy + sy, hz + sz)
    dx, dy, dz = cross(ox, oy, oz, vx, vy, vz)
    row[22], row[23], row[24] = ex, ey, ez
    ex, ey, ez = cross(fx, fy, fz, ex, ey, ez)
    hx, hy, hz = hx - dx + ex, hy - dy + ey, hz - dz + ez
    row[15] = dot(nx, ny, nz, fx, fy, fz)
    row[16] = dot(tx, ty, tz, fx, fy, fz)
    row[17] = dot(qx, qy, qz, fx, fy, fz)
    row[18] = dot(nx, ny, nz, hx, hy, hz)
    row[19] = dot(tx, ty, tz, hx, hy, hz)
    row[20] = dot(qx, qy, qz, hx, hy, hz)
    row[21] = gap
    row[25], row[26], row[27] = wx, wy, wz


@kernel()
def touch_curves(kind, g, RP, p, RF, f, row):
    """Fill a row (ROW,) of a contact of any kind, from rotations and packed states (13,) of P and F.

    From 0: frame (9: normal, tangent, tangent2, world axes); from 9 and 12: arms (3 each) from the centres of P
    and F to the place of contact; 15: velocity (3) of P against F, in the frame; 18: its rate (3) without
    accelerations; 21: gap; 22 and 25: how the frame turns, and how P does against F (3 each). The frame moves
    along both surfaces with the place of contact; the tangent is what F carries, projected onto the plane of
    contact.
    """
    bx, by, bz = p[0] - f[0], p[1] - f[1], p[2] - f[2]
    vx, vy, vz = p[7] - f[7], p[8] - f[8], p[9] - f[9]
    ox, oy, oz = turned(RF, f[10], f[11], f[12])
    wx, wy, wz = turned(RP, p[10], p[11], p[12])
    wx, wy, wz = wx - ox, wy - oy, wz - oz
    sx, sy, sz = cross(ox, oy, oz, bx, by, bz)
    rx, ry, rz = vx - sx, vy - sy, vz - sz
    ax, ay, az = turned(RP, g[0], g[1], g[2])
    fx, fy, fz = turned(RF, g[10], g[11], g[12])
    nx, ny, nz = turned(RF, g[4], g[5], g[6])
    tx, ty, tz = turned(RF, g[7], g[8], g[9])
    dx, dy, dz = turned(RP, g[14], g[15], g[16])
    ex, ey, ez = turned(RF, g[18], g[19], g[20])
    size, size_f, crossing = g[17], g[21], g[22]
    mx = my = mz = 0.0
    if kind % 4 == FACE_CURVE:
        way = sx = sy = sz = 0.0
        if kind // 4 + 1 == ELLIPSOID_CURVE:
            lx, ly, lz, sx, sy, sz = ellipsoid_foot(RP, g[14:17], nx, ny, nz, wx, wy, wz)
            ax, ay, az, way = ax + lx, ay + ly, az + lz, 1.0
        elif kind > 0:
            ux, uy, uz, sx, sy, sz, lean = lowest_of_circle(dx, dy, dz, nx, ny, nz)
            ax, ay, az = ax + size * ux, ay + size * uy, az + size * uz
            hx, hy, hz = cross(wx, wy, wz, sx, sy, sz)
            way = -size * dot(hx, hy, hz, nx, ny, nz) / lean  # the tangent s stays level
        hx, hy, hz = cross(wx, wy, wz, ax, ay, az)
        hx, hy, hz = hx + way * sx, hy + way * sy, hz + way * sz
        distance = dot(nx, ny, nz, bx + ax - fx, by + ay - fy, bz + az - fz)
        qx, qy, qz = cross(nx, ny, nz, tx, ty, tz)
        ex, ey, ez = ox, oy, oz
    else:
        hx, hy, hz = fx - bx, fy - by, fz - bz
        if kind == CIRCLES:
            hx, hy, hz = turned(RP, g[23], g[24], g[25])
        ax, ay, az, hx, hy, hz, nx, ny, nz, mx, my, mz, distance = closest_points(
            kind, crossing, hx, hy, hz, ax, ay, az, dx, dy, dz, size, fx, fy, fz, ex, ey, ez, size_f,
            bx, by, bz, rx, ry, rz, wx, wy, wz,
        )  # fmt: skip
        along = dot(tx, ty, tz, nx, ny, nz)
        tx, ty, tz = tx - along * nx, ty - along * ny, tz - along * nz
        length = np.sqrt(dot(tx, ty, tz, tx, ty, tz))
        tx, ty, tz = tx / length, ty / length, tz / length
        qx, qy, qz = cross(nx, ny, nz, tx, ty, tz)
        along = -along * dot(mx, my, mz, qx, qy, qz) / length
        ex, ey, ez = cross(nx, ny, nz, mx, my, mz)
        ex, ey, ez = ox + ex + along * nx, oy + ey + along * ny, oz + ez + along * nz
    fill_row(
        row, nx, ny, nz, tx, ty, tz, qx, qy, qz, ax, ay, az, bx, by, bz, g[3], mx, my, mz, hx, hy, hz,
        rx, ry, rz, vx, vy, vz, wx, wy, wz, ox, oy, oz, ex, ey, ez, distance - g[3] - g[13],
    )  # fmt: skip


@kernel(forceinline=True)
def lowest_of_circle(dx, dy, dz, nx, ny, nz):
    """Of a circle with axis d the direction from its centre to its lowest point along n, its tangent there, level
    and a unit, and the sine of its lean. (As the nearest point to one far below, both lose all digits at 1e-8.)"""
    sx, sy, sz = cross(dx, dy, dz, nx, ny, nz)
    lean = max(np.sqrt(dot(sx, sy, sz, sx, sy, sz)), 1e-300)
    sx, sy, sz = sx / lean, sy / lean, sz / lean
    out = dot(sx, sy, sz, nx, ny, nz)
    sx, sy, sz = sx - out * nx, sy - out * ny, sz - out * nz
    ux, uy, uz = cross(sx, sy, sz, dx, dy, dz)
    return -ux, -uy, -uz, -sx, -sy, -sz, lean


@kernel()
def nearest_on_curve(curve, px, py, pz, dx, dy, dz, size, x, y, z):
    """Nearest to (x, y, z) on a curve: its place, the curve's unit tangent and curvature vector there.

    The curve is a point p, a line through p along d or a circle of radius `size` around p with axis d.
    """
    if curve == POINT_CURVE:
        return px, py, pz, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    bx, by, bz = x - px, y - py, z - pz
    along = dot(bx, by, bz, dx, dy, dz)
    if curve == LINE:
        return px + along * dx, py + along * dy, pz + along * dz, dx, dy, dz, 0.0, 0.0, 0.0
    bx, by, bz = bx - along * dx, by - along * dy, bz - along * dz
    length = np.sqrt(dot(bx, by, bz, bx, by, bz))
    bx, by, bz = bx / length, by / length, bz / length
    tx, ty, tz = cross(dx, dy, dz, bx, by, bz)
    k = -1.0 / size
    return px + size * bx, py + size * by, pz + size * bz, tx, ty, tz, k * bx, k * by, k * bz


@kernel()
def closest_points(
    kind, crossing, qx, qy, qz, px, py, pz, dx, dy, dz, size_p, fx, fy, fz, ex, ey, ez, size_f,
    bx, by, bz, vx, vy, vz, wx, wy, wz,
):  # fmt: skip
    """Contact of two curves: place on P and its rate, normal and its rate, distance along the normal.

    P has place p and direction d, F place f and direction e, each from the center of its body; that of P is b
    from that of F; q: where to begin. Rates, v of b and the angular velocity w of P are those seen from F.
    Projections from curve to curve come near the closest points, Newton's method makes them exact, and its matrix
    gives their velocities along the curves.
    """
    curve_p, curve_f = kind // 4 + 1, kind % 4
    rx, ry, rz = fx, fy, fz
    tx = ty = tz = kx = ky = kz = sx = sy = sz = lx = ly = lz = 0.0
    gx = gy = gz = m11 = m12 = m22 = det = 0.0
    near = False
    for iteration in range(ALTERNATIONS + NEWTON_STEPS):
        qx, qy, qz, tx, ty, tz, kx, ky, kz = nearest_on_curve(
            curve_p, px, py, pz, dx, dy, dz, size_p, qx, qy, qz
        )
        if iteration < ALTERNATIONS:
            rx, ry, rz = bx + qx, by + qy, bz + qz
        rx, ry, rz, sx, sy, sz, lx, ly, lz = nearest_on_curve(
            curve_f, fx, fy, fz, ex, ey, ez, size_f, rx, ry, rz
        )
        if iteration < ALTERNATIONS:
            qx, qy, qz = rx - bx, ry - by, rz - bz
            continue
        gx, gy, gz = bx + qx - rx, by + qy - ry, bz + qz - rz
        m11 = 1.0 + dot(kx, ky, kz, gx, gy, gz)
        m12 = -dot(tx, ty, tz, sx, sy, sz)
        m22 = dot(lx, ly, lz, gx, gy, gz) - 1.0
        det = m11 * m22 + m12 * m12
        if near:
            break
        i, j = dot(tx, ty, tz, gx, gy, gz), dot(sx, sy, sz, gx, gy, gz)
        i, j = (m12 * j - m22 * i) / det, -(m11 * j + m12 * i) / det
        near = abs(i) + abs(j) <= 1e-8 * (size_p + size_f) or size_p + size_f == 0.0
        qx, qy, qz = qx + i * tx, qy + i * ty, qz + i * tz
        rx, ry, rz = rx + j * sx, ry + j * sy, rz + j * sz
    # rates of P's place and tangent: first as the body carries them, then by the way i along the curve
    ax, ay, az = cross(wx, wy, wz, qx, qy, qz)
    ux, uy, uz = cross(wx, wy, wz, tx, ty, tz)
    vx, vy, vz = vx + ax, vy + ay, vz + az
    i = dot(ux, uy, uz, gx, gy, gz) + dot(tx, ty, tz, vx, vy, vz)
    j = dot(sx, sy, sz, vx, vy, vz)
    i, j = (m12 * j - m22 * i) / det, -(m11 * j + m12 * i) / det
    ax, ay, az = ax + i * tx, ay + i * ty, az + i * tz
    if crossing == 0.0:
        nx, ny, nz = gx, gy, gz
        vx, vy, vz = vx + i * tx - j * sx, vy + i * ty - j * sy, vz + i * tz - j * sz
    else:
        nx, ny, nz = cross(crossing * tx, crossing * ty, crossing * tz, sx, sy, sz)
        ux, uy, uz = cross(ux + i * kx, uy + i * ky, uz + i * kz, sx, sy, sz)
        vx, vy, vz = cross(tx, ty, tz, j * lx, j * ly, j * lz)
        vx, vy, vz = crossing * (ux + vx), crossing * (uy + vy), crossing * (uz + vz)
    length = np.sqrt(dot(nx, ny, nz, nx, ny, nz))
    nx, ny, nz = nx / length, ny / length, nz / length
    i = dot(nx, ny, nz, vx, vy, vz)
    vx, vy, vz = (vx - i * nx) / length, (vy - i * ny) / length, (vz - i * nz) / length
    return qx, qy, qz, ax, ay, az, nx, ny, nz, vx, vy, vz, dot(nx, ny, nz, gx, gy, gz)


@kernel()
def ellipsoid_foot(R, semi_axes, nx, ny, nz, wx, wy, wz):
    """Lowest point p = -A² m / |A m| of an ellipsoid along the normal, m in body axes, from its center, and the
    velocity at which it moves over the ellipsoid where that turns at w against the normal; both in world axes."""
    mx, my, mz = turned_back(R, nx, ny, nz)
    wx, wy, wz = turned_back(R, wx, wy, wz)
    rx, ry, rz = cross(mx, my, mz, wx, wy, wz)
    ax, ay, az = semi_axes[0] ** 2, semi_axes[1] ** 2, semi_axes[2] ** 2
    height = ellipsoid_height(semi_axes, mx, my, mz)
    px, py, pz = ellipsoid_lowest(semi_axes, mx, my, mz)
    growth = -(px * rx + py * ry + pz * rz) / height  # rate of the height, by the height
    vx, vy, vz = turned(
        R,
        -ax * rx / height - growth * px,
        -ay * ry / height - growth * py,
        -az * rz / height - growth * pz,
    )
    px, py, pz = turned(R, px, py, pz)
    return px, py, pz, vx, vy, vz
