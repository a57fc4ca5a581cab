"""Compiled single impact with Coulomb friction and Stronge's energetic restitution.

With B the tangential block of W, d its coupling to the normal, slip γ and normal impulse I_z, slip obeys
dγ/dI_z = -μ B γ/|γ| + d, which is singular where slip vanishes. In the slip-scaled impulse, dI_z = |γ| dτ, it
becomes γ' = -μ B γ + d |γ|: homogeneous of degree one and analytic while γ ≠ 0. Its Taylor series needs
one recurrence that is not linear, ρ² = γ·γ for ρ = |γ|; impulse and normal velocity follow term by term, work
from one product. Steps of order ORDER from a unit slip keep their relative accuracy however small slip
becomes; an approach to a stop is summed in one power series of the angle from its invariant direction. Where B is
a multiple of the identity and d is zero, as of every sphere on another or on something fixed, slip never turns,
and the whole impact is in closed form.
"""

import numba
import numpy as np
from scipy.special import binom

from ..compiled import kernel
from .reflection_kernels import IMMOVABLE, TOO_MANY, next_contact
from .tolerances import (
    STRONGE_ISOTROPIC,
    STRONGE_JAMMED,
    STRONGE_NO_SLIP,
    STRONGE_SINGULAR,
    STRONGE_STEPS,
    STRONGE_STRAIGHT,
    STRONGE_TAIL,
    STRONGE_TAYLOR,
)

ORDER = 20
ROOT = np.zeros(ORDER + 2)  # coefficients of (1 + w²)^½
ROOT[::2] = binom(0.5, np.arange(ORDER // 2 + 1))
COMPRESSION_ENDS, SLIP_STOPS, RESTITUTION_ENDS = 1, 2, 3
RESOLVED, NEVER_RETURNS, RENEWED_COMPRESSION, STEP_LIMIT, JAMS, RECORD_FULL = (
    0,
    11,
    12,
    13,
    14,
    15,
)  # apart from those of reflections


@kernel()
def horner(a, last, x):
    """Value at x of the polynomial with coefficients a[0..last]."""
    value = a[last]
    for k in range(last - 1, -1, -1):
        value = value * x + a[k]
    return value


@kernel()
def falling_root(a, low, high):
    """Zero of a polynomial that is negative at `low` and not at `high` (or the reverse), by safe Newton."""
    negative_first = horner(a, ORDER, high) >= 0.0
    x = high
    for _ in range(100):
        value = a[ORDER]
        slope = 0.0
        for k in range(ORDER - 1, -1, -1):
            slope = slope * x + value
            value = value * x + a[k]
        if value == 0.0:
            return x
        if (value > 0.0) == negative_first:
            high = x
        else:
            low = x
        following = x - value / slope if slope != 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - x) <= 4e-16 * abs(x) or following in (low, high):
            return following
        x = following
    return x


@kernel()
def sticking_direction(b11, b12, b22, d1, d2):
    """dI_t/dI_z that keeps slip at zero, -B^+ d."""
    det = b11 * b22 - b12 * b12
    trace = b11 + b22
    if det > STRONGE_SINGULAR * trace * trace:
        return (b12 * d2 - b22 * d1) / det, (b12 * d1 - b11 * d2) / det
    if trace <= 0.0:
        return 0.0, 0.0
    # B = trace n n^T: the column with the larger diagonal is along n
    n1, n2 = (b11, b12) if b11 >= b22 else (b12, b22)
    along = (n1 * d1 + n2 * d2) / ((n1 * n1 + n2 * n2) * trace)
    return -along * n1, -along * n2


@kernel()
def centrifugal_direction(b11, b12, b22, d1, d2, mu):
    """The unit direction in which slip starts from zero where it cannot stick: -μ B s + d = λ s, λ > 0.

    λ is the root of |(μ B + λ)^-1 d| = 1, which decreases, by Newton's method on the reciprocal.
    """
    mean = 0.5 * (b11 + b22)
    half = 0.5 * (b11 - b22)
    radius = np.sqrt(half * half + b12 * b12)
    c, s = 1.0, 0.0  # eigenvector of the larger eigenvalue
    if radius > 0.0:
        c = np.sqrt(0.5 * max(0.0, 1.0 + half / radius))
        s = np.sqrt(0.5 * max(0.0, 1.0 - half / radius))
        if b12 < 0.0:
            s = -s
    p1, p2 = c * d1 + s * d2, c * d2 - s * d1
    m1, m2 = mu * (mean + radius), mu * max(0.0, mean - radius)
    low = max(0.0, abs(p1) - m1, abs(p2) - m2)
    for _ in range(60):
        s1 = p1 / (m1 + low) if p1 != 0.0 else 0.0
        s2 = p2 / (m2 + low) if p2 != 0.0 else 0.0
        square = s1 * s1 + s2 * s2
        length = np.sqrt(square)
        if length <= 1.0 + 2e-16:
            break
        weighted = (s1 * s1 / (m1 + low) if s1 != 0.0 else 0.0) + (s2 * s2 / (m2 + low) if s2 != 0.0 else 0.0)
        following = low + (length - 1.0) * square / weighted
        if following <= low:
            break
        low = following
    s1 = p1 / (m1 + low) if p1 != 0.0 else 0.0
    s2 = p2 / (m2 + low) if p2 != 0.0 else 0.0
    length = np.sqrt(s1 * s1 + s2 * s2)
    return (c * s1 - s * s2) / length, (s * s1 + c * s2) / length


@kernel(forceinline=True)
def length_coefficient(X, Y, P, k):
    """Coefficient k > 0 of the length P of series X and Y, of which the lower ones are there, times P[0]."""
    total = 0.0
    for i in range(1, (k + 1) // 2):
        total += X[i] * X[k - i] + Y[i] * Y[k - i] - P[i] * P[k - i]
    if k % 2 == 0:
        i = k // 2
        total += 0.5 * (X[i] * X[i] + Y[i] * Y[i] - P[i] * P[i])
    return X[0] * X[k] + Y[0] * Y[k] + total


@kernel()
def slip_series(x, y, b11, b12, b22, d1, d2, mu, wn, T):
    """Fill rows of T with the series of slip (x, y), its length, and dv_z/dτ, from a unit slip (x, y)."""
    X, Y, P, G = T[0], T[1], T[2], T[3]
    X[0], Y[0], P[0] = x, y, 1.0
    for k in range(1, ORDER + 1):
        X[k] = (d1 * P[k - 1] - mu * (b11 * X[k - 1] + b12 * Y[k - 1])) / k
        Y[k] = (d2 * P[k - 1] - mu * (b12 * X[k - 1] + b22 * Y[k - 1])) / k
        P[k] = length_coefficient(X, Y, P, k)
    for k in range(ORDER + 1):
        G[k] = wn * P[k] - mu * (d1 * X[k] + d2 * Y[k])


@kernel()
def attracting_ray(x, y, b11, b12, b22, d1, d2, mu):
    """The invariant direction (c, s) that slip (x, y) has nearly reached: (found, c, s, f, h1).

    Along it slip changes by f an impulse; the angle from it decays at the rate h1 < 0 in τ.
    """
    rho = np.sqrt(x * x + y * y)
    c, s = x / rho, y / rho
    f = h1 = 0.0
    for _ in range(8):
        m1 = d1 - mu * (b11 * c + b12 * s)
        m2 = d2 - mu * (b12 * c + b22 * s)
        f = c * m1 + s * m2
        across = c * m2 - s * m1
        h1 = -mu * (b11 * s * s - 2.0 * b12 * s * c + b22 * c * c) - f
        if h1 >= 0.0 or abs(across) > 0.1 * abs(h1):
            return False, c, s, f, h1
        turn = across / h1
        if abs(turn) <= 1e-16:
            break
        c, s = c + turn * s, s - turn * c
        length = np.sqrt(c * c + s * s)
        c /= length
        s /= length
    return True, c, s, f, h1


@kernel()
def whole_stop(x, y, c, s, f, h1, b11, b12, b22, d1, d2, wn, mu, scale, T):
    """All that is left of slip (x, y) that stops along (c, s): (I_x, I_y, I_z, ∫ρ² dτ, error, whether the normal
    velocity only falls or only rises), to a share of the normal impulse `scale`.

    With components a along and b across, w = b/a and r = ρ/a = (1 + w²)^½, γ' = -μ B γ + d ρ reads a' = a A(w),
    w' = V(w), with A(0) = f < 0, V(0) = 0, V'(0) = h1 < 0. Then ∫ (ρ - a) dτ = a E(w) and ∫ρ² dτ = a² Q(w) with
    A E + V E' = 1 - r and 2 A Q + V Q' = -r², whose power series exist, since no f + k h1 vanishes, and reach to
    the next invariant direction. The linear part of γ' then gives ∫γ dτ. The last terms give the error.
    """
    A, V, E, Q = T[0], T[1], T[2], T[3]
    a = c * x + s * y
    w = (c * y - s * x) / a
    mtt = h1 + f
    mut = -mu * ((b22 - b11) * s * c + b12 * (c * c - s * s))
    du = c * d1 + s * d2
    dt = c * d2 - s * d1
    g0, g1 = wn - mu * du, -mu * dt  # normal mobility along slip, over a: wn r + (g0 - wn) + g1 w
    first, last = g0 + wn * (np.sqrt(1.0 + w * w) - 1.0) + g1 * w, g0
    least = min(first, last)
    if (wn * w + g1 * np.sqrt(1.0 + w * w)) * g1 < 0.0:  # its slope changes sign between
        least = g0 - wn + np.sqrt(max(0.0, wn * wn - g1 * g1))
    one_way = least >= 0.0 or max(first, last) <= 0.0
    blunt = 1.0 + abs(dt / mtt) + (abs(du) + abs(mut * dt / mtt)) / abs(f)
    A[1], V[1] = mut, 0.5 * dt - mut
    E[0] = E[1] = 0.0
    Q[0] = -0.5 / f
    Q[1] = -2.0 * mut * Q[0] / (2.0 * f + h1)
    excess, squares, power = 0.0, Q[0] + Q[1] * w, w
    error, before = np.inf, np.inf
    for k in range(2, ORDER + 1):
        power *= w
        A[k] = du * ROOT[k]  # V[k] with the power k + 1
        V[k] = dt * ROOT[k + 1] - du * ROOT[k]
        left, squared = ROOT[k], (1.0 if k == 2 else 0.0)
        for j in range(k):
            left += (A[k - j] + j * V[k - j]) * E[j]
            squared += (2.0 * A[k - j] + j * V[k - j]) * Q[j]
        E[k] = -left / (f + k * h1)
        Q[k] = -squared / (2.0 * f + k * h1)
        excess += E[k] * power
        squares += Q[k] * power
        this = a * abs(power) * (blunt * abs(E[k]) + mu * a * abs(Q[k]))
        error, before = this + before, this
        if error <= STRONGE_TAIL * scale:
            break
    excess *= a
    across_sum = -(a * w + dt * excess) / mtt
    along_sum = -(a + mut * across_sum + du * excess) / f
    return (
        -mu * (along_sum * c - across_sum * s),
        -mu * (along_sum * s + across_sum * c),
        along_sum + excess,
        a * a * squares,
        error,
        one_way,
    )


@kernel()
def keep_stage(stages, codes, event, code, jx, jy, jz, mu, to_impulse):
    """Write the cumulative impulse at an event, with rounding outside the cone cut back."""
    length = np.sqrt(jx * jx + jy * jy)
    if length > mu * jz:
        jx *= mu * jz / length
        jy *= mu * jz / length
    codes[event] = code
    stages[event, 0] = jz * to_impulse
    stages[event, 1] = jx * to_impulse
    stages[event, 2] = jy * to_impulse


@kernel()
def stronge_impact(W, u, mu, e, T, stages, codes):
    """One impact. Fills cumulative impulses `stages` (3, 3) and `codes` (3,) of the events in their order.

    W (3, 3) and u (3,) are (normal, tangent, tangent2); T (5, ORDER + 2) is workspace. Returns (status,
    number of events, steps, compression work, whether the contact sticks at the end).
    """
    work_scale = 0.0
    for i in range(3):
        codes[i] = 0
        for j in range(3):
            stages[i, j] = 0.0
    speed = max(abs(u[0]), abs(u[1]), abs(u[2]))
    if not u[0] < 0.0:
        return RESOLVED, 0, 0, 0.0, False
    size = (W[0, 0] + W[1, 1] + W[2, 2]) / 3.0
    wn = W[0, 0] / size
    b11, b12, b22 = W[1, 1] / size, W[1, 2] / size, W[2, 2] / size
    d1, d2 = W[0, 1] / size, W[0, 2] / size
    to_impulse = speed / size
    work_scale = speed * to_impulse
    vz, x, y = u[0] / speed, u[1] / speed, u[2] / speed
    least = -vz / (wn + mu * np.sqrt(d1 * d1 + d2 * d2))  # smallest possible normal impulse
    jx = jy = jz = 0.0
    compression = returned = target = 0.0
    restoring = False
    events = 0
    steps = 0
    X, Y, P, G, Q = T[0], T[1], T[2], T[3], T[4]
    slipping = mu > 0.0 and max(abs(x), abs(y)) > STRONGE_NO_SLIP
    if not slipping:
        x = y = 0.0
    straight = False
    qx = qy = 0.0
    reach = np.inf  # normal impulse until straight slip stops
    never_turns = max(abs(b11 - b22), 2.0 * abs(b12)) <= STRONGE_ISOTROPIC * (b11 + b22) and max(
        abs(d1), abs(d2)
    ) <= STRONGE_ISOTROPIC * (wn + b11 + b22)
    # Over I_z two slips never part, in the norm of B^-1: its square falls by 2 μ |P δ|²/|γ|, P across slip, since
    # friction is the gradient of μ |γ|. So what counts of errors is their size, not their share of slip.
    softest = 0.5 * (b11 + b22 - np.sqrt((b11 - b22) ** 2 + 4.0 * b12 * b12))
    firmness = mu * softest
    while slipping:  # left by a stop of slip; an end of restitution returns
        rho = np.sqrt(x * x + y * y)
        if never_turns:
            straight = True
            qx, qy = -mu * x / rho, -mu * y / rho
            reach = 2.0 * rho / (mu * (b11 + b22)) if b11 + b22 > 0.0 else np.inf
            break
        found, c, s, f, h1 = attracting_ray(x, y, b11, b12, b22, d1, d2, mu)
        if found and f < 0.0:
            tx, ty, tz, squares, error, one_way = whole_stop(
                x, y, c, s, f, h1, b11, b12, b22, d1, d2, wn, mu, least, T
            )
            after = vz + wn * tz + d1 * tx + d2 * ty
            work = -0.5 * (x * tx + y * ty + (vz + after) * tz) - mu * squares
            fits = after < 0.0
            if restoring:
                fits = after >= 0.0 and returned - work < target
            if fits and one_way and error <= STRONGE_TAIL * least:
                jx += tx
                jy += ty
                jz += tz
                vz = after
                if restoring:
                    returned -= work
                else:
                    compression += work
                break
        # rounding turns slip this far from a ray that attracts weakly
        noise = 2e-15 * mu * (b11 + b22) / abs(h1) if h1 < 0.0 else 0.0
        across = abs(c * y - s * x)
        along = across <= max(STRONGE_STRAIGHT, noise) * rho
        if found and (along or across <= STRONGE_TAIL * firmness * least):
            straight = True
            if along:  # of a ray that attracts weakly rounding may have found another one
                c, s = x / rho, y / rho
                f = c * (d1 - mu * (b11 * c + b12 * s)) + s * (d2 - mu * (b12 * c + b22 * s))
            qx, qy = -mu * c, -mu * s
            reach = rho / -f if f < 0.0 else np.inf
            break
        if steps == STRONGE_STEPS:
            return STEP_LIMIT, events, steps, compression * work_scale, False
        steps += 1
        slip_series(x / rho, y / rho, b11, b12, b22, d1, d2, mu, wn, T)
        last = max(abs(X[ORDER]), abs(Y[ORDER]), abs(P[ORDER]))
        before = max(abs(X[ORDER - 1]), abs(Y[ORDER - 1]), abs(P[ORDER - 1]))
        h, error = 1e300, STRONGE_TAYLOR * min(max(1.0, firmness * least / rho), 1e12)
        if last > 0.0:
            h = (error / last) ** (1.0 / ORDER)
        if before > last * h:  # else this bounds the step no more than the last one
            h = min(h, (error / before) ** (1.0 / (ORDER - 1)))
        turning = abs(X[0] * Y[1] - Y[0] * X[1])
        growth = X[0] * X[1] + Y[0] * Y[1]
        if growth < 0.0 and rho < -STRONGE_TAIL * least * growth:
            break  # what is left of slip can move no digit, whatever way it still turns
        if G[0] > 0.0:
            # no step needs to be much longer than to where the phase would end at this rate
            rest = -vz / G[0]
            if restoring:
                left = target - returned
                rest = 2.0 * left / (vz + np.sqrt(vz * vz + 2.0 * G[0] * left))
            h = min(h, 4.0 * rest / rho)
        elif growth >= 0.0 and turning <= 1e-14 * (wn + abs(G[0])):
            unsolved = RENEWED_COMPRESSION if restoring else NEVER_RETURNS
            return unsolved, events, steps, compression * work_scale, False
        if h > 1e12:
            h = 1e12
        # Q: normal velocity over the step
        Q[0] = vz
        for k in range(ORDER):
            Q[k + 1] = rho * G[k] / (k + 1)
        end = h
        ends_phase = False
        renewed = False
        if not restoring:
            if horner(Q, ORDER, h) >= 0.0:
                end = falling_root(Q, 0.0, h)
                ends_phase = True
            elif G[0] > 0.0 and horner(G, ORDER, h) < 0.0:
                top = falling_root(G, 0.0, h)
                if horner(Q, ORDER, top) >= 0.0:
                    end = falling_root(Q, 0.0, top)
                    ends_phase = True
        else:
            reach = h
            if horner(Q, ORDER, h) < 0.0:
                reach = falling_root(Q, 0.0, h)
                renewed = True
            elif G[0] < 0.0 and horner(G, ORDER, h) > 0.0:
                bottom = falling_root(G, 0.0, h)
                if horner(Q, ORDER, bottom) < 0.0:
                    reach = falling_root(Q, 0.0, bottom)
                    renewed = True
            end = reach
        # work against the normal impulse: R' = v_z ρ, into the row of G that is no longer needed
        G[0] = returned - target if restoring else compression
        sign = rho if restoring else -rho
        for k in range(ORDER):
            total = 0.0
            for i in range(k + 1):
                total += Q[i] * P[k - i]
            G[k + 1] = sign * total / (k + 1)
        if restoring and horner(G, ORDER, end) >= 0.0:
            end = falling_root(G, 0.0, end)
            ends_phase = True
            renewed = False
        sx = X[ORDER] / (ORDER + 1)
        sy = Y[ORDER] / (ORDER + 1)
        sz = P[ORDER] / (ORDER + 1)
        for k in range(ORDER - 1, -1, -1):
            sx = sx * end + X[k] / (k + 1)
            sy = sy * end + Y[k] / (k + 1)
            sz = sz * end + P[k] / (k + 1)
        jx -= mu * rho * end * sx
        jy -= mu * rho * end * sy
        jz += rho * end * sz
        x = rho * horner(X, ORDER, end)
        y = rho * horner(Y, ORDER, end)
        vz = horner(Q, ORDER, end)
        if restoring:
            returned = target + horner(G, ORDER, end)
        else:
            compression = horner(G, ORDER, end)
        if renewed:
            return RENEWED_COMPRESSION, events, steps, compression * work_scale, False
        if ends_phase and not restoring:
            vz = 0.0
            restoring = True
            target = e * e * compression
            keep_stage(stages, codes, events, COMPRESSION_ENDS, jx, jy, jz, mu, to_impulse)
            events += 1
            ends_phase = target <= 0.0
        if ends_phase and restoring:
            if not compression >= 0.0:  # rounding of a direction without normal mobility
                return NEVER_RETURNS, events, steps, compression * work_scale, False
            keep_stage(stages, codes, events, RESTITUTION_ENDS, jx, jy, jz, mu, to_impulse)
            return RESOLVED, events + 1, steps, compression * work_scale, False
    # From here impulse is straight: while slip keeps the ray that it has reached, then without slip (no
    # friction, or sticking), or with slip that leaves zero along one direction.
    sticks = False
    for leg in range(2):
        if leg == 0 and not straight:
            continue
        if leg == 1:
            reach = np.inf
            qx = qy = 0.0
            if slipping:
                keep_stage(stages, codes, events, SLIP_STOPS, jx, jy, jz, mu, to_impulse)
                events += 1
            if mu > 0.0:
                qx, qy = sticking_direction(b11, b12, b22, d1, d2)
                sticks = qx * qx + qy * qy <= mu * mu
                if not sticks:
                    qx, qy = centrifugal_direction(b11, b12, b22, d1, d2, mu)
                    qx, qy = -mu * qx, -mu * qy
        rate = wn + d1 * qx + d2 * qy
        jammed = not rate > 10.0 * STRONGE_SINGULAR * (wn + abs(d1 * qx) + abs(d2 * qy))
        if not restoring:
            more = reach
            if not jammed:
                more = min(reach, -vz / rate)
            elif reach == np.inf:
                if vz < STRONGE_JAMMED * u[0] / speed:
                    return (
                        (JAMS if sticks else NEVER_RETURNS),
                        events,
                        steps,
                        compression * work_scale,
                        sticks,
                    )
                more = 0.0
            compression -= (vz + 0.5 * rate * more) * more
            jx += qx * more
            jy += qy * more
            jz += more
            vz += rate * more
            reach -= more
            if reach == 0.0:
                continue  # slip has stopped before compression ended
            vz = 0.0
            restoring = True
            target = e * e * compression
            keep_stage(stages, codes, events, COMPRESSION_ENDS, jx, jy, jz, mu, to_impulse)
            events += 1
        left = target - returned
        if left > 0.0:
            square = vz * vz + 2.0 * rate * left
            more = np.inf
            if jammed and sticks and vz <= -STRONGE_JAMMED * u[0] / speed:
                return JAMS, events, steps, compression * work_scale, sticks
            if square >= 0.0 and not (rate <= 0.0 and vz <= 0.0):
                more = 2.0 * left / (vz + np.sqrt(square))
            if more > reach:
                more = reach
                if vz + rate * more < 0.0:
                    return RENEWED_COMPRESSION, events, steps, compression * work_scale, sticks
                returned += (vz + 0.5 * rate * more) * more
                jx += qx * more
                jy += qy * more
                jz += more
                vz += rate * more
                continue  # slip has stopped before restitution ended
            if more == np.inf:
                return RENEWED_COMPRESSION, events, steps, compression * work_scale, sticks
            jx += qx * more
            jy += qy * more
            jz += more
        break
    if not compression >= 0.0:
        return NEVER_RETURNS, events, steps, compression * work_scale, sticks
    keep_stage(stages, codes, events, RESTITUTION_ENDS, jx, jy, jz, mu, to_impulse)
    return RESOLVED, events + 1, steps, compression * work_scale, sticks


@kernel(allocates=True)
def resolve_contacts(
    W, u, friction, restitution, scale, threshold, order, visits, seed, dim, impacts, record
):
    """Impacts at single contacts, one after the other, until none approaches.

    W, u over all contacts with `dim` components each; `u` is updated in place. Row k of `record` receives
    (contact, event code, cumulative I_z, I_x, I_y of that impact, compression work, sticks). Returns (status,
    rows, steps); RECORD_FULL where `record` has no room for the next impact.
    """
    cursor, count = np.array([0, seed % 2147483646 + 1]), np.zeros(3, np.int64)
    status = go_on_with_contacts(
        W, u, friction, restitution, scale, threshold, order, visits, cursor, dim, impacts, record, count
    )
    return status, count[1], count[2]


@kernel(allocates=True)
def go_on_with_contacts(
    W, u, friction, restitution, scale, threshold, order, visits, cursor, dim, impacts, record, count
):
    """As `resolve_contacts`, after what was made already: cursor (2,) is the place in the order (`next_contact`),
    count (3,) the impacts made, rows of `record` and steps; both change, as `u` does. Returns the status."""
    T = np.empty((5, ORDER + 2))
    stages = np.empty((3, 3))
    codes = np.empty(3, np.int64)
    block = np.zeros((3, 3))
    velocity = np.zeros(3)
    approaching = np.empty(friction.size, np.int64)
    while True:
        rows = count[1]
        if rows + 3 > record.shape[0] and count[0] < impacts:  # before the cursor moves
            return RECORD_FULL
        chosen = next_contact(u, dim, scale, threshold, order, visits, cursor, approaching)
        if chosen < 0:
            return RESOLVED
        if count[0] == impacts:
            return TOO_MANY
        c = dim * chosen
        if not W[c, c] > 0.0:
            return IMMOVABLE
        for i in range(dim):
            velocity[i] = u[c + i]
            for j in range(dim):
                block[i, j] = W[c + i, c + j]
        if dim == 2:
            block[2, 2] = block[1, 1]  # never moved: slip and coupling have no second component
        status, events, steps, work, sticks = stronge_impact(
            block, velocity, friction[chosen], restitution[chosen], T, stages, codes
        )
        for k in range(events):
            record[rows + k, 0] = chosen
            record[rows + k, 1] = codes[k]
            for i in range(3):
                record[rows + k, 2 + i] = stages[k, i]
            record[rows + k, 5] = work
            record[rows + k, 6] = sticks
        count[0] += 1
        count[1] += events
        count[2] += steps
        if status != RESOLVED:
            return status
        for i in range(u.size):
            for j in range(dim):
                u[i] += W[i, c + j] * stages[events - 1, j]
        if restitution[chosen] == 0.0:
            u[c] = 0.0  # exactly, so that rounding cannot make it approach again


@kernel(allocates=True, parallel=True)
def resolve_batch(W, u, friction, restitution, impulses, codes, status):
    """Independent single contacts: W (n, 3, 3), u (n, 3). Fills impulses (n, 3), the event codes as decimal
    digits in their order (n,), and status (n,)."""
    count = friction.size
    chunks = (count + 255) // 256
    for chunk in numba.prange(chunks):
        T = np.empty((5, ORDER + 2))
        stages = np.empty((3, 3))
        order = np.empty(3, np.int64)
        for i in range(256 * chunk, min(256 * (chunk + 1), count)):
            state, events, _, _, _ = stronge_impact(W[i], u[i], friction[i], restitution[i], T, stages, order)
            status[i] = state
            codes[i] = 0
            for k in range(events):
                codes[i] = 10 * codes[i] + order[k]
            for k in range(3):
                impulses[i, k] = stages[events - 1, k] if events > 0 else 0.0
