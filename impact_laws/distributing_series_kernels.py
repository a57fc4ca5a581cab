"""Compiled Taylor series of an impact in which compliant contacts share the impulse by their potential energies.

A contact of stiffness K that has stored the potential energy E is compressed by x, E = K x^(η + 1)/(η + 1), and
presses with K x^η. Shares dp_i/dp_j = (K_i/K_j)^(1/(η + 1)) (E_i/E_j)^(η/(η + 1)) are those of these forces, so
dp = F dt with one t for all contacts: its unit cancels, as do compressions, and at t = 0, where the quotient is
0/0, nothing is singular. In t, x' = -v_n, v' = W F, and friction acts against slip. All that is left of
singularities is x^η where a contact begins and ends, and slip that turns as it stops; the tails of the series
shorten the steps there."""

import numpy as np

from ..compiled import kernel
from .stronge_kernels import ORDER, falling_root, horner, length_coefficient
from .tolerances import DISTRIBUTING_TAYLOR

# columns of `contacts` (n, COLUMNS): STIFFNESS, FRICTION; RETURNED e²; RATE of -x'/v_n; BASE and ABSORBED, energy
# when compression began and all that was compressed; LENGTH of a typical compression; REACH, its largest
# response; the LEAST compression that counts; DIRECTION and the next one, in which it slips; whether slip RISES
# at once
STIFFNESS, FRICTION, RETURNED, RATE = 0, 1, 2, 3
BASE, ABSORBED, LENGTH, REACH, LEAST = 4, 5, 6, 7, 8
DIRECTION, RISES, COLUMNS = 9, 11, 12
# columns of `modes` (n, 3) and what they hold; PRESSED, whether there is a force, of the beginning of a step
PHASE, GRIP, PRESSED = 0, 1, 2
OPEN, COMPRESSES, EXPANDS = 0, 1, 2
UNKNOWN, SLIDES, STICKS, LEAVES, RESTS = 0, 1, 2, 3, 4
# sheets of `series` (4, dim n, ORDER + 1): velocity, force, unit slip (its length in the row of the normal), and
# compression in the row of the normal
VELOCITY, FORCE, SLIP, DEPTH = 0, 1, 2, 3
PARTS = 4  # of a step, in which roots are looked for


@kernel()
def presses(contacts, modes, series, dim, i):
    """Whether a contact has a force that counts."""
    return modes[i, PHASE] != OPEN and series[DEPTH, dim * i, 0] > contacts[i, LEAST]


@kernel()
def normal_force(series, row, stiffness, exponent, k):
    """Coefficient k of K x^η, by the recurrence of a power."""
    x, force = series[DEPTH, row], series[FORCE, row]
    if exponent == 1.0:
        force[k] = stiffness * x[k]
    elif k == 0:
        force[0] = stiffness * (x[0] * np.sqrt(x[0]) if exponent == 1.5 else x[0] ** exponent)
    else:
        total, weight = 0.0, -float(k)
        for j in range(1, k + 1):
            weight += exponent + 1.0
            total += weight * x[j] * force[k - j]
        force[k] = total / (k * x[0])


@kernel()
def slip_direction(series, row, k):
    """Coefficient k of the unit vector along spatial slip, and of its length."""
    x, y, length = series[VELOCITY, row + 1], series[VELOCITY, row + 2], series[SLIP, row]
    c, s = series[SLIP, row + 1], series[SLIP, row + 2]
    if k == 0:
        length[0] = np.sqrt(x[0] * x[0] + y[0] * y[0])
        c[0], s[0] = x[0] / length[0], y[0] / length[0]
        return
    length[k] = length_coefficient(x, y, length, k) / length[0]
    along = across = 0.0
    for j in range(1, k + 1):
        along += length[j] * c[k - j]
        across += length[j] * s[k - j]
    c[k] = (x[k] - along) / length[0]
    s[k] = (y[k] - across) / length[0]


@kernel()
def friction_force(contacts, modes, series, dim, i, k):
    """Coefficient k of the friction of a contact as far as slip gives it: -μ F times its direction, and none
    where it sticks."""
    row, mu, grip = dim * i, contacts[i, FRICTION], modes[i, GRIP]
    force, slip = series[FORCE], series[SLIP]
    if dim == 3 and grip == SLIDES and mu > 0.0:
        slip_direction(series, row, k)
        first = second = 0.0
        for j in range(k + 1):
            first += force[row, j] * slip[row + 1, k - j]
            second += force[row, j] * slip[row + 2, k - j]
        force[row + 1, k], force[row + 2, k] = -mu * first, -mu * second
        return
    for e in range(1, dim):
        if mu == 0.0 or grip not in (SLIDES, LEAVES):
            force[row + e, k] = 0.0
        else:
            force[row + e, k] = -mu * contacts[i, DIRECTION + e - 1] * force[row, k]
    if dim == 3 and grip == LEAVES and mu > 0.0:
        leaving_friction(contacts, series, i, k)


@kernel()
def leaving_friction(contacts, series, i, k):
    """Coefficient k of spatial friction along the direction s_0 in which slip starts from zero.

    With slip ρ s, ρ = ρ_1 t + ..., the equation of slip is regular: across s_0 the coefficients of s are the
    solution of linear equations (`grip_force`), along it they follow from |s| = 1, and those of ρ from the
    velocity."""
    row = 3 * i
    force, slip, velocity = series[FORCE], series[SLIP], series[VELOCITY]
    c, s = contacts[i, DIRECTION], contacts[i, DIRECTION + 1]
    if k == 0:
        slip[row, 0], slip[row + 1, 0], slip[row + 2, 0] = 0.0, c, s
        return
    square = along = across = length = 0.0
    for j in range(1, k):
        square += slip[row + 1, j] * slip[row + 1, k - j] + slip[row + 2, j] * slip[row + 2, k - j]
        length += slip[row, j] * (c * slip[row + 1, k - j] + s * slip[row + 2, k - j])
        across += force[row, j] * (c * slip[row + 2, k - j] - s * slip[row + 1, k - j])
        along += force[row, j] * (c * slip[row + 1, k - j] + s * slip[row + 2, k - j])
    slip[row, k] = c * velocity[row + 1, k] + s * velocity[row + 2, k] - length
    along = -contacts[i, FRICTION] * (along + force[row, k] - 0.5 * square * force[row, 0])
    across *= -contacts[i, FRICTION]
    slip[row + 1, k] = across  # what the direction before gives, until `grip_force` has found the rest
    force[row + 1, k], force[row + 2, k] = c * along, s * along


@kernel()
def response(W, modes, series, dim, row, k):
    """Coefficient k of a row of W F."""
    force, total = series[FORCE], 0.0
    for i in range(modes.shape[0]):
        if modes[i, PRESSED]:
            for p in range(dim * i, dim * i + dim):
                total += W[row, p] * force[p, k]
    return total


@kernel()
def loose_forces(contacts, modes, series, exponent, dim, k):
    """Coefficient k of all forces but the friction that keeps contacts from slip, or their slip from turning,
    which is left out; whether there is any."""
    holds = False
    for i in range(contacts.shape[0]):
        if modes[i, PRESSED]:
            normal_force(series, dim * i, contacts[i, STIFFNESS], exponent, k)
            friction_force(contacts, modes, series, dim, i, k)
            holds = holds or modes[i, GRIP] == STICKS or (dim == 3 and modes[i, GRIP] == LEAVES)
        else:
            for e in range(dim):
                series[FORCE, dim * i + e, k] = 0.0
    return holds


@kernel()
def step_length(contacts, modes, series, dim, unit):
    """How far the series reach, in their unit: the last two terms are small there."""
    last = before = 0.0
    for row in range(series.shape[1]):
        last = max(last, abs(series[VELOCITY, row, ORDER]))
        before = max(before, abs(series[VELOCITY, row, ORDER - 1]))
    for i in range(contacts.shape[0]):
        last = max(last, abs(series[DEPTH, dim * i, ORDER]) / contacts[i, LENGTH])
        before = max(before, abs(series[DEPTH, dim * i, ORDER - 1]) / contacts[i, LENGTH])
        if (
            modes[i, GRIP] == LEAVES
        ):  # where contacts depend on each other velocities do not show its friction
            for e in range(1, dim):
                last = max(last, abs(series[FORCE, dim * i + e, ORDER]) * unit * contacts[i, REACH])
                before = max(before, abs(series[FORCE, dim * i + e, ORDER - 1]) * unit * contacts[i, REACH])
    if not (last < np.inf and before < np.inf):
        return 0.0
    reach = 1e3
    if last > 0.0:
        reach = min(reach, (DISTRIBUTING_TAYLOR / last) ** (1.0 / ORDER))
    if before > 0.0:
        reach = min(reach, (DISTRIBUTING_TAYLOR / before) ** (1.0 / (ORDER - 1)))
    return reach


@kernel()
def slope_of(a, x):
    """Slope at x of the polynomial with coefficients a."""
    slope = ORDER * a[ORDER]
    for k in range(ORDER - 1, 0, -1):
        slope = slope * x + k * a[k]
    return slope


@kernel()
def first_fall(a, reach):
    """First x in (0, reach] at which the polynomial a, not negative at 0, is negative; infinite where there is
    none."""
    bound = 0.0
    for k in range(ORDER, 0, -1):
        bound = (bound + abs(a[k])) * reach
    if bound < a[0]:
        return np.inf
    low, slope_low = 0.0, a[1]
    for part in range(1, PARTS + 1):
        high = reach * part / PARTS
        slope = slope_of(a, high)
        if horner(a, ORDER, high) < 0.0:
            return falling_root(a, low, high)
        if slope_low < 0.0 < slope:  # it may dip below in between
            left, right = low, high
            for _ in range(60):
                middle = 0.5 * (left + right)
                if slope_of(a, middle) < 0.0:
                    left = middle
                else:
                    right = middle
            if horner(a, ORDER, left) < 0.0:
                return falling_root(a, low, left)
        low, slope_low = high, slope
    return np.inf
