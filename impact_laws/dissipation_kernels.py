"""Compiled single contact of maximum dissipation, and one with Coulomb-like friction.

Scaled so that A_nn = 1 and the largest entry of b is 1. The plane of zero normal velocity is x_n = k - g·y for
tangential impulse y, and cuts the friction cone in the conic |y| <= c - e p, where p is the component of y
along g, e = μ|g| its eccentricity and c = μ k. The conic is convex and so is ½ y·H y - h·y, so a point on the
boundary with a multiplier λ >= 0 is the global minimum: (H + λ Q) y = h - λ q, Q = diag(1 - e², 1),
q = (e c, 0). Written as y = Y/D, with D = det(H + λ Q), Y and N = D (c - e p) are quadratic polynomials in λ,
and λ is the one root of N = |Y| (of N = -|Y| where D < 0, behind the pole that a hyperbola has). Newton's
method on N/|Y|, which is nearly linear, needs few iterations; close to the pole λ is counted from there, so
that no digits are lost.
"""

import numpy as np

from ..compiled import kernel
from .tolerances import (
    COULOMB_SAME_SLIP,
    COULOMB_SCAN,
    DISSIPATION_DEGENERATE,
    DISSIPATION_ITERATIONS,
    DISSIPATION_PARABOLA,
    DISSIPATION_POLISH,
    DISSIPATION_REFINED,
    DISSIPATION_RIDGE,
    DISSIPATION_ROOT,
    DISSIPATION_SINGULAR,
)

SEPARATING, FRICTIONLESS, STICKING, ELLIPSE, PARABOLA, HYPERBOLA, REST, RAY = 0, 1, 2, 3, 4, 5, 6, 7
"""Branches: the last two are those of b_n = 0, without impulse and along an edge of the cone."""

TINY = 1e-140  # impulses whose squares underflow


@kernel()
def dissipation_frame(A, mu):
    """What one contact's solutions share: (A_nn, μ, cosine, sine, |g|, h11, h12, h22, pole, ridge).

    The frame is (along g, across), in which H = [[h11, h12], [h12, h22]]; `pole` is the λ > 0 where H + λ Q
    is singular if the conic is a hyperbola, else infinite; `ridge` is what was added to a singular H, else 0.
    """
    ann = A[0, 0]
    inverse = 1.0 / ann
    g1 = A[0, 1] * inverse
    g2 = A[0, 2] * inverse
    t11, t12, t22 = A[1, 1] * inverse, A[1, 2] * inverse, A[2, 2] * inverse
    g = np.sqrt(g1 * g1 + g2 * g2)
    cosine, sine = 1.0, 0.0
    if g > 0.0:
        inverse = 1.0 / g
        cosine = g1 * inverse
        sine = g2 * inverse
    size = t11 + t22
    h11 = cosine * cosine * t11 + 2.0 * cosine * sine * t12 + sine * sine * t22 - g * g
    h12 = cosine * sine * (t22 - t11) + (cosine * cosine - sine * sine) * t12
    h22 = sine * sine * t11 - 2.0 * cosine * sine * t12 + cosine * cosine * t22
    ridge = 0.0
    if not (
        h11 * h22 - h12 * h12 > DISSIPATION_SINGULAR * size * (h11 + h22)
        and h11 + h22 > DISSIPATION_SINGULAR * size
    ):
        v1, v2, stiff = stiff_direction(h11, h12, h22, DISSIPATION_SINGULAR * size)
        ridge = DISSIPATION_RIDGE * (size if size > 0.0 else 1.0)
        h11 = stiff * v1 * v1 + ridge * (1.0 + g * g)
        h12 = stiff * v1 * v2
        h22 = stiff * v2 * v2 + ridge
    pole = np.inf
    e = mu * g
    if e > 1.0:
        kappa = (1.0 - e) * (1.0 + e)
        linear = h11 + kappa * h22
        det = h11 * h22 - h12 * h12
        root = np.sqrt(max(0.0, linear * linear - 4.0 * kappa * det))
        pole = (linear + root) / (-2.0 * kappa) if linear >= 0.0 else 2.0 * det / (root - linear)
    return ann, mu, cosine, sine, g, h11, h12, h22, pole, ridge


@kernel()
def stiff_direction(h11, h12, h22, least):
    """Unit eigenvector of the larger eigenvalue and that eigenvalue, zero when it is not above `least`."""
    half = 0.5 * (h11 - h22)
    radius = np.sqrt(half * half + h12 * h12)
    stiff = 0.5 * (h11 + h22) + radius
    v1, v2 = (half + radius, h12) if half >= 0.0 else (h12, radius - half)
    length = np.sqrt(v1 * v1 + v2 * v2)
    if stiff <= least or length == 0.0:
        return 1.0, 0.0, 0.0
    return v1 / length, v2 / length, stiff


@kernel()
def secular_root(a0, a1, a2, b0, b1, n0, n1, n2, low, high, s, scale, rising, tolerance):
    """The root in (low, high) of N(s) = |Y(s)|, Y = (a, b), by safe Newton on N/|Y|."""
    for _ in range(DISSIPATION_ITERATIONS):
        a = a0 + s * (a1 + s * a2)
        b = b0 + s * b1
        n = n0 + s * (n1 + s * n2)
        square = a * a + b * b
        value = n - np.sqrt(square)
        if (value < 0.0) == rising:
            low = s
        else:
            high = s
        slope = (n1 + 2.0 * n2 * s) * square - n * (a * (a1 + 2.0 * a2 * s) + b * b1)
        following = s - value * square / slope
        if not low < following < high:
            if high == np.inf:
                following = 4.0 * s + scale
            elif low > 0.0 and high > 4.0 * low:
                following = np.sqrt(low) * np.sqrt(high)
            elif high < 0.0 and low < 4.0 * high:
                following = -np.sqrt(-low) * np.sqrt(-high)
            elif low == 0.0 and s == high:
                following = 0.01 * high
            elif high == 0.0 and s == low:
                following = 0.01 * low
            else:
                following = 0.5 * (low + high)
        if abs(following - s) <= tolerance * abs(following):
            return following
        s = following
    return s


@kernel()
def polished(p, q, h11, h12, h22, h1, h2, c, e, kappa, polish):
    """Newton steps of the conditions of the minimum, split along and across the conic: (found, p, q).

    The multiplier is the one that fits best, so the pole of the secular equation leaves no trace.
    """
    for _ in range(6):
        w1 = kappa * p + e * c
        w2 = q
        square = w1 * w1 + w2 * w2
        if not square > 0.0:
            return False, p, q
        reach = c - e * p
        gap = 0.5 * ((p - reach) * (p + reach) + q * q)
        f1 = h11 * p + h12 * q - h1
        f2 = h12 * p + h22 * q - h2
        inverse = 1.0 / square
        lam = -(w1 * f1 + w2 * f2) * inverse
        m11, m22 = h11 + lam * kappa, h22 + lam
        back = -gap * inverse
        n1, n2 = back * w1, back * w2
        # tangent (-w2, w1)
        bend = w2 * (m11 * w2 - h12 * w1) - w1 * (h12 * w2 - m22 * w1)
        if not (bend > 0.0 and lam > -DISSIPATION_ROOT * (h11 + h22)):
            return False, p, q
        pull1 = f1 + m11 * n1 + h12 * n2
        pull2 = f2 + h12 * n1 + m22 * n2
        along = (w2 * pull1 - w1 * pull2) / bend
        d1 = n1 - along * w2
        d2 = n2 + along * w1
        p += d1
        q += d2
        step = abs(d1) + abs(d2)
        size = abs(p) + abs(q)
        if step <= polish * size:
            return c - e * p >= 0.0, p, q
        if not step <= 0.3 * size:
            return False, p, q
    return False, p, q


@kernel()
def on_conic(h11, h12, h22, h1, h2, c, e, kappa, pole, tolerance):
    """The point (p, q) of the conic's boundary with a multiplier λ > 0."""
    det = h11 * h22 - h12 * h12
    a0 = h22 * h1 - h12 * h2
    a1 = h1 - e * c * h22
    a2 = -e * c
    b0 = h11 * h2 - h12 * h1
    b1 = kappa * h2 + e * c * h12
    n0 = c * det - e * a0
    n1 = c * (h11 + h22) - e * h1
    scale = h11 + h22
    if pole < np.inf:
        s = 0.5 * pole
        a, b = a0 + s * (a1 + s * a2), b0 + s * b1
        near = n0 + s * (n1 + s * c) < np.sqrt(a * a + b * b)
        if near:  # the root lies beyond half the way to the pole: count from the pole
            s11, s22 = h11 + kappa * pole, h22 + pole
            s1 = h1 - pole * e * c
            # adjugate of the singular matrix, v v^T, made exactly of rank one; v points into the hyperbola
            v1, v2 = -np.sqrt(s22), h12 / np.sqrt(s22)
            weight = v1 * s1 + v2 * h2
            least = 1e-16 * (abs(v1 * h1) + abs(v1) * pole * e * c + abs(v2 * h2))
            if abs(weight) <= least:
                weight = least
            a0 = weight * v1
            b0 = weight * v2
            a1 = s1 - e * c * s22
            n0 = -e * a0
            n1 = c * (s11 + s22) - e * s1
            d1 = s11 + kappa * s22
            if weight >= 0.0:
                s = secular_root(
                    a0, a1, a2, b0, b1, n0, n1, c, -pole, 0.0, -0.5 * pole, scale, True, tolerance
                )
            else:
                s = secular_root(
                    a0, a1, a2, b0, b1, -n0, -n1, -c, 0.0, np.inf, 0.5 * pole, pole, False, tolerance
                )
            d = 1.0 / (s * (d1 + kappa * s))
            return (a0 + s * (a1 + s * a2)) * d, (b0 + s * b1) * d
        s = secular_root(a0, a1, a2, b0, b1, n0, n1, c, 0.0, 0.5 * pole, 0.0, scale, True, tolerance)
    else:
        s = secular_root(a0, a1, a2, b0, b1, n0, n1, c, 0.0, np.inf, 0.0, scale, True, tolerance)
    d = 1.0 / ((h11 + kappa * s) * (h22 + s) - h12 * h12)
    return (a0 + s * (a1 + s * a2)) * d, (b0 + s * b1) * d


@kernel()
def put_on_conic(p, q, h11, h12, h22, h1, h2, c, e, kappa):
    """The point of the conic that belongs to an inaccurate one, or (0, 0) if rounding has left nothing of it."""
    if e >= 1.0:
        p = (c * c - q * q) / (e * c + np.sqrt(c * c - kappa * q * q))
    else:
        length = np.sqrt(p * p + q * q)
        p, q = c * p / (length + e * p), c * q / (length + e * p)
    if not 0.5 * (h11 * p * p + 2.0 * h12 * p * q + h22 * q * q) <= h1 * p + h2 * q:
        return 0.0, 0.0
    return p, q


@kernel(forceinline=True)
def fill_impulse(x, p, q, cosine, sine, unit, mu):
    """Fill x from the tangential impulse (p, q) in its frame, on the cone and never outside."""
    x[1] = unit * (cosine * p - sine * q)
    x[2] = unit * (sine * p + cosine * q)
    length = np.sqrt(x[1] * x[1] + x[2] * x[2]) if unit > TINY else np.hypot(x[1], x[2])
    x[0] = length / mu
    if mu * x[0] < length:
        x[0] *= 1.0 + 2.3e-16


@kernel()
def free_minimum(v1, v2, stiff, h1, h2, k, g, mu):
    """The least-norm point among those where ½ y·H y - h·y is least, H = stiff v v^T: (found, p, q).

    Not found if none of them is inside the conic, or if (h1, h2) is not in the range of H.
    """
    c = mu * k
    e = mu * g
    small = 100.0 * 2.3e-16 * (1.0 + g * k)
    if stiff == 0.0:
        if abs(h1) + abs(h2) > small:
            return False, 0.0, 0.0
        p = g * k / (1.0 + g * g)
        return True, (p if p * (1.0 + e) <= c else c / (1.0 + e)), 0.0
    if abs(v1 * h2 - v2 * h1) > small:
        return False, 0.0, 0.0
    base = (v1 * h1 + v2 * h2) / stiff
    p, q = base * v1, base * v2
    m1, m2 = -v2, v1
    reach, fall = c - e * p, -e * m1  # of c - e p along the line (p, q) + t m
    t = m1 * g * (k - g * p) / (1.0 + g * g * m1 * m1)
    if np.sqrt(base * base + t * t) <= reach + t * fall:
        return True, p + t * m1, q + t * m2
    # the ends of what the conic cuts from the line
    square = 1.0 - fall * fall
    half = -reach * fall
    rest = base * base - reach * reach
    disc = half * half - square * rest
    if disc < 0.0:
        return False, 0.0, 0.0
    outer = -half - np.sqrt(disc) if half > 0.0 else -half + np.sqrt(disc)
    best = np.inf
    if outer != 0.0 and reach + fall * (rest / outer) >= 0.0:
        best = rest / outer
    if square != 0.0 and reach + fall * (outer / square) >= 0.0 and abs(outer / square - t) < abs(best - t):
        best = outer / square
    if best == np.inf:
        return False, 0.0, 0.0
    return True, p + best * m1, q + best * m2


@kernel()
def bounded_target(frame, h1, h2):
    """(h1, h2) without what would let the objective of a singular contact fall forever along the conic.

    Such a part lies outside the range of A, so no velocity J v of a mechanical system has it.
    """
    _, mu, _, _, g, h11, h12, h22, _, ridge = frame
    v1, v2, stiff = stiff_direction(h11 - ridge * (1.0 + g * g), h12, h22 - ridge, ridge)
    along = (v1 * h1 + v2 * h2) if stiff > 0.0 else 0.0
    d1, d2 = h1 - along * v1, h2 - along * v2
    if np.sqrt(d1 * d1 + d2 * d2) + mu * g * d1 <= 0.0:
        return along * v1, along * v2
    return h1, h2


@kernel(forceinline=True)
def stop_in_frame(frame, h1, h2, k, unit, x):
    """Fill x with the impulse that stops the contact, if the cone contains it; returns whether it does."""
    _, mu, cosine, sine, g, h11, h12, h22, _, ridge = frame
    if ridge == 0.0:
        inverse = 1.0 / (h11 * h22 - h12 * h12)
        p = (h22 * h1 - h12 * h2) * inverse
        q = (h11 * h2 - h12 * h1) * inverse
        if not np.sqrt(p * p + q * q) <= mu * (k - g * p):
            return False
    else:
        v1, v2, stiff = stiff_direction(h11 - ridge * (1.0 + g * g), h12, h22 - ridge, ridge)
        found, p, q = free_minimum(v1, v2, stiff, h1, h2, k, g, mu)
        if not found:
            return False
    x[0] = unit * (k - g * p)
    x[1] = unit * (cosine * p - sine * q)
    x[2] = unit * (sine * p + cosine * q)
    length = np.sqrt(x[1] * x[1] + x[2] * x[2]) if unit > TINY else np.hypot(x[1], x[2])
    if mu * x[0] < length:
        x[0] = length / mu
        if mu * x[0] < length:
            x[0] *= 1.0 + 2.3e-16
    return True


@kernel()
def dissipate_from(frame, b, x, guess_x, guess_y, polish):
    """As `dissipate_in_frame`, from a guess of the tangential impulse, such as that of the last sweep.

    A guess (0, 0) is none. A sliding solution near the guess is found without the multiplier's equation; the
    conic is convex, so whatever the guess leads to is the global minimum. Newton's method, which converges
    quadratically, ends after a step below `polish`, relative.
    """
    ann, mu, cosine, sine, g, h11, h12, h22, pole, ridge = frame
    x[0] = x[1] = x[2] = 0.0
    largest = max(abs(b[0]), abs(b[1]), abs(b[2]))
    if b[0] < -DISSIPATION_DEGENERATE * largest:
        return SEPARATING
    if largest < 1e-307:
        return REST
    unit = largest / ann
    inverse = 1.0 / largest
    k = b[0] * inverse
    degenerate = k <= DISSIPATION_DEGENERATE
    if degenerate:
        k = 0.0
    if mu == 0.0:
        x[0] = k * unit
        return REST if degenerate else FRICTIONLESS
    e = mu * g
    if degenerate and e < 1.0 - DISSIPATION_PARABOLA:
        return REST
    t1, t2 = b[1] * inverse, b[2] * inverse
    h1 = cosine * t1 + sine * t2 - g * k
    h2 = cosine * t2 - sine * t1
    if ridge > 0.0:
        h1, h2 = bounded_target(frame, h1, h2)
    if stop_in_frame(frame, h1, h2, k, unit, x):
        return REST if x[0] == 0.0 else STICKING
    h1 += ridge * k * g
    c = mu * k
    kappa = (1.0 - e) * (1.0 + e)
    if degenerate:
        u1 = -min(1.0, 1.0 / e)
        u2 = np.sqrt(max(0.0, 1.0 - u1 * u1))
        best = p = q = 0.0
        for side in range(2):
            if side == 1:
                u2 = -u2
            pull = u1 * h1 + u2 * h2
            stiffness = h11 * u1 * u1 + 2.0 * h12 * u1 * u2 + h22 * u2 * u2
            if pull > 0.0 and pull * pull > best * stiffness:
                best = pull * pull / stiffness
                p, q = u1 * (pull / stiffness), u2 * (pull / stiffness)
        if best == 0.0:
            return REST
        fill_impulse(x, p, q, cosine, sine, unit, mu)
        return RAY
    found = False
    p = q = 0.0
    if guess_x != 0.0 or guess_y != 0.0:
        p = (cosine * guess_x + sine * guess_y) / unit
        q = (cosine * guess_y - sine * guess_x) / unit
        found, p, q = polished(p, q, h11, h12, h22, h1, h2, c, e, kappa, polish)
    if not found:
        p, q = on_conic(h11, h12, h22, h1, h2, c, e, kappa, pole, DISSIPATION_ROOT)
        found, p, q = polished(p, q, h11, h12, h22, h1, h2, c, e, kappa, polish)
    if not found:
        p, q = on_conic(h11, h12, h22, h1, h2, c, e, kappa, pole, 4e-16)
        p, q = put_on_conic(p, q, h11, h12, h22, h1, h2, c, e, kappa)
        if p == 0.0 and q == 0.0:
            x[0] = k * unit
            return FRICTIONLESS
    fill_impulse(x, p, q, cosine, sine, unit, mu)
    if abs(e - 1.0) <= DISSIPATION_PARABOLA:
        return PARABOLA
    return ELLIPSE if e < 1.0 else HYPERBOLA


@kernel()
def dissipate_in_frame(frame, b, x):
    """As `dissipate`, for a contact whose `dissipation_frame` is kept: many b, one A."""
    return dissipate_from(frame, b, x, 0.0, 0.0, DISSIPATION_POLISH)


@kernel()
def dissipate(A, b, mu, x):
    """The impulse of maximum dissipation at one contact: fills x (3,), returns the branch.

    A (3, 3) symmetric positive semi-definite with A_nn > 0, b (3,) minus the contact velocity before, both
    (normal, tangent, tangent2). Branches are those of figure 5 of Preclik, Eibl & Rüde.
    """
    frame = dissipation_frame(A, mu)
    branch = dissipate_from(frame, b, x, 0.0, 0.0, DISSIPATION_POLISH)
    if STICKING <= branch <= HYPERBOLA and frame[9] == 0.0:
        stiffness = frame[5] + frame[7]
        if frame[5] * frame[7] - frame[6] * frame[6] < DISSIPATION_REFINED * stiffness * stiffness:
            refine(A, b, frame, branch, x)
    return branch


@kernel()
def two_product(a, b):
    """a b as a rounded product and its exact error (Dekker)."""
    product = a * b
    t = 134217729.0 * a
    a1 = t - (t - a)
    a2 = a - a1
    t = 134217729.0 * b
    b1 = t - (t - b)
    b2 = b - b1
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


@kernel()
def two_sum(a, b):
    """a + b as a rounded sum and its exact error (Knuth)."""
    total = a + b
    t = total - a
    return total, (a - (total - t)) + (b - t)


@kernel()
def velocity_after(A, b, x, i):
    """Component i of A x - b as if computed in twice the precision."""
    total, rest = two_product(A[i, 0], x[0])
    for j in range(1, 3):
        product, error = two_product(A[i, j], x[j])
        total, carry = two_sum(total, product)
        rest += error + carry
    total, carry = two_sum(total, -b[i])
    return total + (rest + carry)


@kernel()
def refine(A, b, frame, branch, x):
    """Newton steps from velocities of twice the precision, for mobilities so uneven that rounding shows."""
    ann, mu, cosine, sine, g, h11, h12, h22, _, _ = frame
    e = mu * g
    kappa = (1.0 - e) * (1.0 + e)
    c = mu * (b[0] / ann)
    for _ in range(2):
        gap = velocity_after(A, b, x, 0) / ann
        v1 = velocity_after(A, b, x, 1) / ann
        v2 = velocity_after(A, b, x, 2) / ann
        f1 = cosine * v1 + sine * v2 - g * gap
        f2 = cosine * v2 - sine * v1
        size = abs(x[1]) + abs(x[2])
        if branch == STICKING:
            inverse = 1.0 / (h11 * h22 - h12 * h12)
            d1 = (h12 * f2 - h22 * f1) * inverse
            d2 = (h12 * f1 - h11 * f2) * inverse
        else:
            p = cosine * x[1] + sine * x[2]
            q = cosine * x[2] - sine * x[1]
            w1 = kappa * p + e * c
            w2 = q
            inverse = 1.0 / (w1 * w1 + w2 * w2)
            lam = -(w1 * f1 + w2 * f2) * inverse
            m11, m22 = h11 + lam * kappa, h22 + lam
            back = -np.sqrt(p * p + q * q) * mu * gap * inverse
            d1, d2 = back * w1, back * w2
            bend = w2 * (m11 * w2 - h12 * w1) - w1 * (h12 * w2 - m22 * w1)
            pull1 = f1 + m11 * d1 + h12 * d2
            pull2 = f2 + h12 * d1 + m22 * d2
            along = (w2 * pull1 - w1 * pull2) / bend
            d1 -= along * w2
            d2 += along * w1
            if not (bend > 0.0 and lam >= 0.0):
                return
        if not abs(d1) + abs(d2) <= 1e-3 * size:
            return
        t1 = x[1] + (cosine * d1 - sine * d2)
        t2 = x[2] + (sine * d1 + cosine * d2)
        length = np.sqrt(t1 * t1 + t2 * t2)
        normal = x[0] - (gap + g * d1)
        if branch != STICKING or mu * normal < length:
            normal = length / mu
            if mu * normal < length:
                normal *= 1.0 + 2.3e-16
        x[0], x[1], x[2] = normal, t1, t2


@kernel(forceinline=True)
def slip_turn(h11, h12, h22, h1, h2, c, e, u1, u2):
    """(F, F', -G): slip after the impact across the impulse's direction (u1, u2), its derivative by the angle,
    and slip against that direction, all times f = 1 + e u1 > 0."""
    f = 1.0 + e * u1
    g1 = c * (h11 * u1 + h12 * u2) - f * h1
    g2 = c * (h12 * u1 + h22 * u2) - f * h2
    d1 = c * (h12 * u1 - h11 * u2) + e * u2 * h1
    d2 = c * (h22 * u1 - h12 * u2) + e * u2 * h2
    along = u1 * g1 + u2 * g2
    return u1 * g2 - u2 * g1, u1 * d2 - u2 * d1 - along, -along


@kernel(forceinline=True)
def slide_near(h11, h12, h22, h1, h2, c, e, u1, u2, polish):
    """A sliding direction with slip opposed, by Newton's method from a unit direction: (found, u1, u2)."""
    for _ in range(16):
        value, slope, opposed = slip_turn(h11, h12, h22, h1, h2, c, e, u1, u2)
        turn = -value / slope
        if not slope > 0.0:  # on a crest between two solutions: walk down
            turn = -0.3 if value > 0.0 else 0.3
        turn = max(-0.5, min(0.5, turn))
        u1, u2 = u1 - turn * u2, u2 + turn * u1
        length = 1.0 / np.sqrt(u1 * u1 + u2 * u2)
        u1 *= length
        u2 *= length
        if not 1.0 + e * u1 > 0.0:
            break
        if slope > 0.0 and abs(turn) <= polish:
            return opposed >= 0.0, u1, u2
    return False, u1, u2


@kernel()
def slide_on(h11, h12, h22, h1, h2, k, g, mu, u1, u2, polish):
    """The sliding solution that continues slip along (u1, u2), whatever else is possible: (found, u1, u2, y).

    y is the length of the tangential impulse. With k < 0 it is a jam, beyond the critical friction only.
    """
    sign = 1.0 if k > 0.0 else -1.0
    c, e = sign * mu * k, sign * mu * g
    start1, start2 = u1, u2
    for _ in range(8):
        # F of `slip_turn` for f = sign (1 + μ g u1), which k < 0 makes negative elsewhere
        f = sign + e * u1
        if not f > 0.0:
            break
        g1 = c * (h11 * u1 + h12 * u2) - f * h1
        g2 = c * (h12 * u1 + h22 * u2) - f * h2
        d1 = c * (h12 * u1 - h11 * u2) + e * u2 * h1
        d2 = c * (h22 * u1 - h12 * u2) + e * u2 * h2
        along = u1 * g1 + u2 * g2
        turn = -(u1 * g2 - u2 * g1) / (u1 * d2 - u2 * d1 - along)
        if not abs(turn) <= 0.5:
            break
        u1, u2 = u1 - turn * u2, u2 + turn * u1
        length = 1.0 / np.sqrt(u1 * u1 + u2 * u2)
        u1 *= length
        u2 *= length
        if not u1 * start1 + u2 * start2 > COULOMB_SAME_SLIP:
            break
        if abs(turn) <= polish:
            f = sign + e * u1
            return along <= 0.0 and f > 0.0, u1, u2, c / f
    return False, u1, u2, 0.0


@kernel(forceinline=True)
def coulomb_in_frame(frame, b, x, guess_x, guess_y, closed, sliding, polish):
    """As `coulomb_slide`, for a contact whose `dissipation_frame` is kept; `polish` as in `dissipate_from`.

    A contact that slid goes on sliding if it can, so that of several solutions it stays with its own; beyond the
    critical friction one that was closed stays closed if it can.
    """
    ann, mu, cosine, sine, g, h11, h12, h22, _, _ = frame
    x[0] = x[1] = x[2] = 0.0
    largest = max(abs(b[0]), abs(b[1]), abs(b[2]))
    e = mu * g
    closed &= e >= 1.0
    if largest < 1e-307 or not (closed or b[0] > DISSIPATION_DEGENERATE * largest):
        return True
    unit = largest / ann
    inverse = 1.0 / largest
    k = b[0] * inverse
    if mu == 0.0:
        x[0] = k * unit
        return True
    t1, t2 = b[1] * inverse, b[2] * inverse
    h1 = cosine * t1 + sine * t2 - g * k
    h2 = cosine * t2 - sine * t1
    u1, u2 = h1, h2
    if guess_x != 0.0 or guess_y != 0.0:
        u1 = cosine * guess_x + sine * guess_y
        u2 = cosine * guess_y - sine * guess_x
    length = np.sqrt(u1 * u1 + u2 * u2)
    if length > 0.0:
        u1 /= length
        u2 /= length
    if sliding and abs(k) > DISSIPATION_DEGENERATE:
        found, v1, v2, size = slide_on(h11, h12, h22, h1, h2, k, g, mu, u1, u2, polish)
        if found:
            fill_impulse(x, size * v1, size * v2, cosine, sine, unit, mu)
            return True
    if stop_in_frame(frame, h1, h2, k, unit, x):
        return True
    if k <= DISSIPATION_DEGENERATE:
        x[0] = x[1] = x[2] = 0.0
        return True
    c = mu * k
    found = False
    if length > 0.0 and 1.0 + e * u1 > 0.0:
        found, u1, u2 = slide_near(h11, h12, h22, h1, h2, c, e, u1, u2, polish)
    if not found:
        found, u1, u2 = slide_anywhere(h11, h12, h22, h1, h2, c, e, u1, u2)
    if not found:
        return False
    length = c / (1.0 + e * u1)
    fill_impulse(x, length * u1, length * u2, cosine, sine, unit, mu)
    return True


@kernel()
def slide_anywhere(h11, h12, h22, h1, h2, c, e, near1, near2):
    """The sliding direction with slip opposed nearest to (near1, near2), by a scan and bisection."""
    widest = np.pi if e <= 1.0 else np.arccos(-1.0 / e)
    best = -2.0
    best1 = best2 = 0.0
    before = -widest
    value_before = 0.0
    for i in range(COULOMB_SCAN + 1):
        angle = widest * (2.0 * i / COULOMB_SCAN - 1.0)
        value, _, _ = slip_turn(h11, h12, h22, h1, h2, c, e, np.cos(angle), np.sin(angle))
        if i > 0 and (value_before < 0.0) != (value < 0.0):
            low, high = before, angle
            for _ in range(60):
                middle = 0.5 * (low + high)
                if middle in (low, high):
                    break
                inside, _, _ = slip_turn(h11, h12, h22, h1, h2, c, e, np.cos(middle), np.sin(middle))
                if (inside < 0.0) == (value_before < 0.0):
                    low = middle
                else:
                    high = middle
            u1, u2 = np.cos(high), np.sin(high)
            _, _, opposed = slip_turn(h11, h12, h22, h1, h2, c, e, u1, u2)
            if opposed >= 0.0 and 1.0 + e * u1 > 0.0 and u1 * near1 + u2 * near2 > best:
                best = u1 * near1 + u2 * near2
                best1, best2 = u1, u2
        before = angle
        value_before = value
    return best > -2.0, best1, best2


@kernel()
def coulomb_slide(A, b, mu, x, guess_x, guess_y):
    """One impulse with Coulomb-like friction: fills x (3,), returns whether one was found.

    The contact separates, stops, or slides against its impulse; of several sliding solutions the one that
    Newton's method reaches from the guessed tangential impulse (0, 0 for none), else the nearest to it.
    Arguments are those of `dissipate`.
    """
    return coulomb_in_frame(
        dissipation_frame(A, mu), b, x, guess_x, guess_y, False, False, DISSIPATION_POLISH
    )
