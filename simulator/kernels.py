"""Compiled kernels of the engine: rotation series, motion pieces, distances, times of impact.

A *piece* of motion is an array (13, TERMS) of Taylor coefficients in the time since its start: position
[m, world], unit quaternion (w, x, y, z) body to world, velocity [m/s, world], angular velocity [rad/s, body].
"""

import numpy as np

from ..compiled import kernel
from .tolerances import APPROACH_SPEED, PENETRATION, SERIES_ACCURACY, TOUCH_GAP

TERMS = 25


@kernel()
def rotation_matrix(q):
    """Rotation body to world of a unit quaternion (w, x, y, z)."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    R = np.empty((3, 3))
    R[0, 0] = 1 - 2 * (y * y + z * z)
    R[0, 1] = 2 * (x * y - w * z)
    R[0, 2] = 2 * (x * z + w * y)
    R[1, 0] = 2 * (x * y + w * z)
    R[1, 1] = 1 - 2 * (x * x + z * z)
    R[1, 2] = 2 * (y * z - w * x)
    R[2, 0] = 2 * (x * z - w * y)
    R[2, 1] = 2 * (y * z + w * x)
    R[2, 2] = 1 - 2 * (x * x + y * y)
    return R


@kernel()
def free_piece(state, acceleration, inertia, inverse_inertia):
    """Taylor series of free flight from `state` (13,): returns coefficients and how long they hold [s].

    Euler's equations w' = J^-1 (J w x w) and q' = q (0, w) / 2 are products of series, so every further
    coefficient is a Cauchy product of the earlier ones.
    """
    C = np.zeros((13, TERMS))
    for i in range(13):
        C[i, 0] = state[i]
    for i in range(3):
        C[i, 1] = state[7 + i]
        C[i, 2] = 0.5 * acceleration[i]
        C[7 + i, 1] = acceleration[i]
    spinning = state[10] != 0.0 or state[11] != 0.0 or state[12] != 0.0
    if not spinning:
        return C, np.inf
    L = np.zeros((3, TERMS))
    for k in range(TERMS):
        for i in range(3):
            L[i, k] = inertia[i, 0] * C[10, k] + inertia[i, 1] * C[11, k] + inertia[i, 2] * C[12, k]
        if k == TERMS - 1:
            break
        t0 = t1 = t2 = 0.0
        p0 = p1 = p2 = p3 = 0.0
        for i in range(k + 1):
            j = k - i
            w0, w1, w2 = C[10, j], C[11, j], C[12, j]
            t0 += L[1, i] * w2 - L[2, i] * w1
            t1 += L[2, i] * w0 - L[0, i] * w2
            t2 += L[0, i] * w1 - L[1, i] * w0
            a, b, c, d = C[3, i], C[4, i], C[5, i], C[6, i]
            p0 += -b * w0 - c * w1 - d * w2
            p1 += a * w0 + c * w2 - d * w1
            p2 += a * w1 + d * w0 - b * w2
            p3 += a * w2 + b * w1 - c * w0
        for i in range(3):
            C[10 + i, k + 1] = (
                inverse_inertia[i, 0] * t0 + inverse_inertia[i, 1] * t1 + inverse_inertia[i, 2] * t2
            ) / (k + 1)
        half = 0.5 / (k + 1)
        C[3, k + 1] = half * p0
        C[4, k + 1] = half * p1
        C[5, k + 1] = half * p2
        C[6, k + 1] = half * p3
    speed = np.sqrt(state[10] ** 2 + state[11] ** 2 + state[12] ** 2)
    span = np.inf
    for k in (TERMS - 2, TERMS - 1):
        size_q = np.sqrt(C[3, k] ** 2 + C[4, k] ** 2 + C[5, k] ** 2 + C[6, k] ** 2)
        size_w = np.sqrt(C[10, k] ** 2 + C[11, k] ** 2 + C[12, k] ** 2) / speed
        size = max(size_q, size_w)
        if size > 0.0:
            span = min(span, (SERIES_ACCURACY / size) ** (1.0 / k))
    return C, span


@kernel()
def evaluate_piece(C, tau):
    """State (13,) of a piece `tau` seconds after its start; the quaternion has unit length."""
    state = np.empty(13)
    for i in range(13):
        value = C[i, TERMS - 1]
        for k in range(TERMS - 2, -1, -1):
            value = value * tau + C[i, k]
        state[i] = value
    norm = np.sqrt(state[3] ** 2 + state[4] ** 2 + state[5] ** 2 + state[6] ** 2)
    for i in range(3, 7):
        state[i] /= norm
    return state


@kernel()
def motion_bounds(C, span, inertia, inverse_inertia, free):
    """Bounds over a piece: nominal acceleration (3,), deviation from it [m/s^2], |w|^2 + |w'| [1/s^2]."""
    bounds = np.zeros(5)
    if free:
        L2 = 0.0
        twice_energy = 0.0
        for i in range(3):
            bounds[i] = C[7 + i, 1]
            Li = inertia[i, 0] * C[10, 0] + inertia[i, 1] * C[11, 0] + inertia[i, 2] * C[12, 0]
            L2 += Li * Li
            twice_energy += Li * C[10 + i, 0]
        if L2 == 0.0:
            return bounds
        largest_inverse = 0.0
        for i in range(3):
            for j in range(3):
                largest_inverse += inverse_inertia[i, j] ** 2
        largest_inverse = np.sqrt(largest_inverse)
        w2 = twice_energy * largest_inverse
        off = 0.0
        for i in range(3):
            for j in range(3):
                d = inertia[i, j] - (inertia[0, 0] if i == j else 0.0)
                off += d * d
        # J w x w = (J - J00) w x w, so the bound vanishes for spherical inertia
        bounds[4] = w2 * (1.0 + np.sqrt(off) * largest_inverse)
        return bounds
    deviation = turning = turn_rate = 0.0
    for i in range(3):
        w = dw = dv = 0.0
        power = 1.0  # span**k
        before = 0.0  # span**(k - 1)
        for k in range(TERMS):
            w += abs(C[10 + i, k]) * power
            dw += k * abs(C[10 + i, k]) * before
            if k > 1:
                dv += k * abs(C[7 + i, k]) * before
            before = power
            power *= span
        deviation += dv * dv
        turning += w * w
        turn_rate += dw * dw
        bounds[i] = C[7 + i, 1]
    bounds[3] = np.sqrt(deviation)
    bounds[4] = turning + np.sqrt(turn_rate)
    return bounds


@kernel()
def place_points(state, points):
    """World positions (k, 3) [m] and velocities (k, 3) [m/s] of body points."""
    R = rotation_matrix(state[3:7])
    w = np.empty(3)
    for i in range(3):
        w[i] = R[i, 0] * state[10] + R[i, 1] * state[11] + R[i, 2] * state[12]
    count = points.shape[0]
    X = np.empty((count, 3))
    V = np.empty((count, 3))
    for j in range(count):
        r0 = R[0, 0] * points[j, 0] + R[0, 1] * points[j, 1] + R[0, 2] * points[j, 2]
        r1 = R[1, 0] * points[j, 0] + R[1, 1] * points[j, 1] + R[1, 2] * points[j, 2]
        r2 = R[2, 0] * points[j, 0] + R[2, 1] * points[j, 1] + R[2, 2] * points[j, 2]
        X[j, 0] = state[0] + r0
        X[j, 1] = state[1] + r1
        X[j, 2] = state[2] + r2
        V[j, 0] = state[7] + w[1] * r2 - w[2] * r1
        V[j, 1] = state[8] + w[2] * r0 - w[0] * r2
        V[j, 2] = state[9] + w[0] * r1 - w[1] * r0
    return X, V


@kernel()
def first_root(f, rate, half_curvature):
    """Smallest tau >= 0 where f + rate tau + half_curvature tau^2 (half_curvature <= 0, f >= 0) is zero."""
    if half_curvature == 0.0:
        return -f / rate if rate < 0.0 else np.inf
    root = np.sqrt(max(0.0, rate * rate - 4.0 * half_curvature * f))
    if rate > 0.0:
        return (rate + root) / (-2.0 * half_curvature)
    return 2.0 * f / (root - rate) if root - rate > 0.0 else 0.0


@kernel()
def half_space_impact(C, span, bounds, points, radius, ignored, normal, offset, size, reach):
    """First time in [0, span] at which a point of a rounded core meets the half-space n.x = offset.

    Advances by the root of a quadratic that lies under every point's gap, so nothing is passed over; near an
    impact the quadratic is exact to second order and the steps converge like Newton's. `ignored` marks points
    held in lasting contact. Returns (time, point); point -1: none, point -2: the step limit was reached.
    """
    tau = 0.0
    acceleration = normal[0] * bounds[0] + normal[1] * bounds[1] + normal[2] * bounds[2]
    half_curvature = min(0.0, 0.5 * (acceleration - bounds[3] - bounds[4] * reach))
    touch = TOUCH_GAP * size
    deepest = PENETRATION * size
    for _ in range(100000):
        X, V = place_points(evaluate_piece(C, tau), points)
        step = np.inf
        for j in range(points.shape[0]):
            if ignored[j]:
                continue
            gap = X[j, 0] * normal[0] + X[j, 1] * normal[1] + X[j, 2] * normal[2] - offset - radius
            rate = V[j, 0] * normal[0] + V[j, 1] * normal[1] + V[j, 2] * normal[2]
            if gap <= touch and rate < -APPROACH_SPEED:
                return tau, j
            if gap <= touch and (
                rate * rate <= -0.4 * half_curvature * deepest or -APPROACH_SPEED <= rate < 0.0
            ):
                # it hardly leaves, or only rounding brings it closer: look again before it could be deeper
                # than allowed
                gap = max(gap + deepest, 0.1 * deepest)
            step = min(step, first_root(max(gap, 0.0), rate, half_curvature))
        if tau >= span:
            return np.inf, -1
        following = tau + step
        if following == tau:
            following = np.nextafter(tau, np.inf)
        tau = min(following, span)
    return tau, -2


@kernel()
def minimum_norm_difference(XA, XB):
    """Vector from B to A between the closest points of two hulls (Wolfe's algorithm), zero if they meet."""
    S = np.empty((4, 3))
    lam = np.zeros(4)
    S[0] = XA[0] - XB[0]
    lam[0] = 1.0
    count = 1
    x = S[0].copy()
    scale = 0.0
    for j in range(XA.shape[0]):
        scale = max(scale, np.sum((XA[j] - XB[0]) ** 2))
    for _ in range(200):
        best_a = 0
        best = np.inf
        for j in range(XA.shape[0]):
            value = XA[j, 0] * x[0] + XA[j, 1] * x[1] + XA[j, 2] * x[2]
            if value < best:
                best = value
                best_a = j
        best_b = 0
        worst = -np.inf
        for j in range(XB.shape[0]):
            value = XB[j, 0] * x[0] + XB[j, 1] * x[1] + XB[j, 2] * x[2]
            if value > worst:
                worst = value
                best_b = j
        norm2 = np.sum(x * x)
        if norm2 <= 1e-30 * scale or norm2 - (best - worst) <= 1e-15 * max(norm2, 1e-16 * scale):
            break
        p = XA[best_a] - XB[best_b]
        known = False
        for i in range(count):
            if np.sum((S[i] - p) ** 2) == 0.0:
                known = True
        if known or count == 4:
            break
        S[count] = p
        lam[count] = 0.0
        count += 1
        while True:
            # affine minimiser of the corral
            m = count
            A = np.ones((m + 1, m + 1))
            for i in range(m):
                for j in range(m):
                    A[i, j] = np.sum(S[i] * S[j]) / scale
            A[m, m] = 0.0
            b = np.zeros(m + 1)
            b[m] = 1.0
            if abs(np.linalg.det(A)) < 1e-300:
                count -= 1
                break
            mu = np.linalg.solve(A, b)[:m]
            if np.min(mu) > 1e-14:
                lam[:m] = mu
                break
            theta = 1.0
            for i in range(m):
                if mu[i] <= 1e-14 and lam[i] - mu[i] > 0.0:
                    theta = min(theta, lam[i] / (lam[i] - mu[i]))
            kept = 0
            for i in range(m):
                value = theta * mu[i] + (1.0 - theta) * lam[i]
                if value > 1e-14:
                    S[kept] = S[i]
                    lam[kept] = value
                    kept += 1
            if kept == count or kept == 0:
                break
            count = kept
        x = np.zeros(3)
        total = np.sum(lam[:count])
        for i in range(count):
            x += lam[i] / total * S[i]
    return x


@kernel()
def separation_along(n, XA, XB):
    """Signed gap of two point hulls along the unit axis n (from B to A)."""
    low = np.inf
    for j in range(XA.shape[0]):
        low = min(low, XA[j, 0] * n[0] + XA[j, 1] * n[1] + XA[j, 2] * n[2])
    high = -np.inf
    for j in range(XB.shape[0]):
        high = max(high, XB[j, 0] * n[0] + XB[j, 1] * n[1] + XB[j, 2] * n[2])
    return low - high


@kernel()
def separating_axis(XA, normals_a, edges_a, XB, normals_b, edges_b, guess, cosine):
    """Axis of greatest separation of two polytopes (separating axis theorem): (axis, signed gap).

    Face normals and edge directions are in world axes. Only axes within `cosine` of `guess` are tried
    (-1: all), which is enough near contact when the guess comes from the closest points.
    """
    best = -np.inf
    axis = np.zeros(3)
    for i in range(normals_a.shape[0]):
        n = -normals_a[i]
        if np.sum(n * guess) >= cosine:
            s = separation_along(n, XA, XB)
            if s > best:
                best = s
                axis = n
    for i in range(normals_b.shape[0]):
        n = normals_b[i].copy()
        if np.sum(n * guess) >= cosine:
            s = separation_along(n, XA, XB)
            if s > best:
                best = s
                axis = n
    sine = np.sqrt(1.0 - cosine * cosine) if cosine > 0.0 else 1.0
    for i in range(edges_a.shape[0]):
        if abs(np.sum(edges_a[i] * guess)) > sine:
            continue
        for j in range(edges_b.shape[0]):
            if abs(np.sum(edges_b[j] * guess)) > sine:
                continue
            n = np.cross(edges_a[i], edges_b[j])
            norm = np.sqrt(np.sum(n * n))
            if norm < 1e-8:
                continue
            n /= norm
            if np.sum(n * (XA[0] - XB[0])) < 0.0 and cosine <= -1.0:
                n = -n
            if np.sum(n * guess) < 0.0 and cosine > -1.0:
                n = -n
            if np.sum(n * guess) >= cosine:
                s = separation_along(n, XA, XB)
                if s > best + 1e-14 * abs(best):
                    best = s
                    axis = n
                if cosine <= -1.0:
                    s = separation_along(-n, XA, XB)
                    if s > best + 1e-14 * abs(best):
                        best = s
                        axis = -n
    return axis, best


@kernel()
def rotate_all(state, directions):
    """Body directions (k, 3) in world axes."""
    return directions @ rotation_matrix(state[3:7]).T


@kernel()
def core_separation(
    state_a, XA, normals_a, edges_a, radius_a, state_b, XB, normals_b, edges_b, radius_b, size
):
    """Unit axis from B to A and signed gap [m] of two rounded convex cores."""
    radius = radius_a + radius_b
    small = normals_a.shape[0] + normals_b.shape[0] + edges_a.shape[0] * edges_b.shape[0] <= 120
    x = minimum_norm_difference(XA, XB)
    distance = np.sqrt(np.sum(x * x))
    solid = normals_a.shape[0] > 0 and normals_b.shape[0] > 0
    if distance > 0.0:
        guess = x / distance
        if radius > 0.0 and distance > 1e-3 * radius:
            return guess, distance - radius
        if distance > 1e-2 * size or not solid:
            return guess, separation_along(guess, XA, XB) - radius
        cosine = -1.0 if small or distance < 1e-13 * size else 0.5
    else:
        guess = np.zeros(3)
        guess[2] = 1.0
        cosine = -1.0
    axis, gap = separating_axis(
        XA,
        rotate_all(state_a, normals_a),
        rotate_all(state_a, edges_a),
        XB,
        rotate_all(state_b, normals_b),
        rotate_all(state_b, edges_b),
        guess,
        cosine,
    )
    if gap == -np.inf:
        return guess, distance - radius
    return axis, gap - radius


@kernel()
def pair_impact(
    CA, bounds_a, points_a, normals_a, edges_a, radius_a, reach_a,
    CB, bounds_b, points_b, normals_b, edges_b, radius_b, reach_b,
    start_a, start_b, span, size,
):  # fmt: skip
    """First time in [0, span] at which two rounded convex cores meet while approaching: (time, hit).

    A fixed world axis that separates them now separates them until the quadratic bounds of the support
    points cross, so the search may advance that far (conservative advancement to second order).
    `start_a`, `start_b` are the ages of the two pieces at the start. hit: 1, 0 none, -2 step limit.
    """
    touch = TOUCH_GAP * size
    deepest = PENETRATION * size
    tau = 0.0
    radius = radius_a + radius_b
    for _ in range(100000):
        state_a = evaluate_piece(CA, start_a + tau)
        state_b = evaluate_piece(CB, start_b + tau)
        XA, VA = place_points(state_a, points_a)
        XB, VB = place_points(state_b, points_b)
        n, gap = core_separation(
            state_a, XA, normals_a, edges_a, radius_a, state_b, XB, normals_b, edges_b, radius_b, size
        )
        low = np.inf
        rate_a = 0.0
        for j in range(XA.shape[0]):
            value = XA[j, 0] * n[0] + XA[j, 1] * n[1] + XA[j, 2] * n[2]
            speed = VA[j, 0] * n[0] + VA[j, 1] * n[1] + VA[j, 2] * n[2]
            if value < low - touch or (value <= low + touch and speed < rate_a):
                low = min(low, value)
                rate_a = speed
        high = -np.inf
        rate_b = 0.0
        for j in range(XB.shape[0]):
            value = XB[j, 0] * n[0] + XB[j, 1] * n[1] + XB[j, 2] * n[2]
            speed = VB[j, 0] * n[0] + VB[j, 1] * n[1] + VB[j, 2] * n[2]
            if value > high + touch or (value >= high - touch and speed > rate_b):
                high = max(high, value)
                rate_b = speed
        rate = rate_a - rate_b
        if gap <= touch and rate < -APPROACH_SPEED:
            return tau, 1
        acceleration = 0.0
        for i in range(3):
            acceleration += n[i] * (bounds_a[i] - bounds_b[i])
        half_curvature = min(
            0.0,
            0.5 * (acceleration - bounds_a[3] - bounds_b[3] - bounds_a[4] * reach_a - bounds_b[4] * reach_b),
        )
        slack = 0.0
        if gap <= touch and (rate * rate <= -0.4 * half_curvature * deepest or -APPROACH_SPEED <= rate < 0.0):
            # they hardly leave, or only rounding brings them closer: look again before they could be deeper
            # than allowed
            slack = max(deepest, 0.1 * deepest - gap)
        # first root of the lowest of all pair quadratics: concave, so shrinking from an active pair is exact
        step = first_root(max(gap + slack, 0.0), rate, half_curvature)
        for _ in range(100):
            if step == np.inf:
                horizon = span - tau
            else:
                horizon = step
            low = np.inf
            ja = 0
            for j in range(XA.shape[0]):
                value = n[0] * (XA[j, 0] + horizon * VA[j, 0]) + n[1] * (XA[j, 1] + horizon * VA[j, 1])
                value += n[2] * (XA[j, 2] + horizon * VA[j, 2])
                if value < low:
                    low = value
                    ja = j
            high = -np.inf
            jb = 0
            for j in range(XB.shape[0]):
                value = n[0] * (XB[j, 0] + horizon * VB[j, 0]) + n[1] * (XB[j, 1] + horizon * VB[j, 1])
                value += n[2] * (XB[j, 2] + horizon * VB[j, 2])
                if value > high:
                    high = value
                    jb = j
            f = np.sum(n * (XA[ja] - XB[jb])) - radius + slack
            r = np.sum(n * (VA[ja] - VB[jb]))
            shorter = first_root(max(f, 0.0), r, half_curvature)
            if shorter >= step * (1.0 - 1e-12):
                break
            step = shorter
        if tau >= span:
            return np.inf, 0
        following = tau + step
        if following == tau:
            following = np.nextafter(tau, np.inf)
        tau = min(following, span)
    return tau, -2


@kernel()
def state_of_all(piece_coefficients, piece_start, time):
    """States (n, 13) of all bodies at `time` from their current pieces."""
    count = piece_coefficients.shape[0]
    states = np.empty((count, 13))
    for b in range(count):
        state = evaluate_piece(piece_coefficients[b], time - piece_start[b])
        for i in range(13):
            states[b, i] = state[i]
    return states
