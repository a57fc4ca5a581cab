"""Compiled friction of contacts without slip, whose normal forces are known: which stick, and where the others
start.

Friction T of these contacts makes ½ T B T + d T least over |T_i| <= μ F_i, with B their mobilities and d the rate
of slip that all other forces give: convex, so the rates of slip are unique, whatever contacts depend on each
other. Of friction that does the same, what least Σ |T_i|²/(μ F_i) has is taken, the limit of friction that
creeps."""

import numpy as np

from ..compiled import kernel
from .distributing_series_kernels import (
    DEPTH,
    DIRECTION,
    FORCE,
    FRICTION,
    GRIP,
    LEAVES,
    OPEN,
    PHASE,
    PRESSED,
    RATE,
    RISES,
    SLIDES,
    SLIP,
    STICKS,
    VELOCITY,
    loose_forces,
    response,
)
from .stronge_kernels import ORDER, centrifugal_direction
from .tolerances import (
    DISTRIBUTING_AT_BOUND,
    DISTRIBUTING_DEPENDENT,
    DISTRIBUTING_EVEN,
    DISTRIBUTING_FROM_REST,
    DISTRIBUTING_JUST,
    DISTRIBUTING_LOCKED,
    DISTRIBUTING_REFINED,
    DISTRIBUTING_SETTLED,
    DISTRIBUTING_SWEEPS,
    STRONGE_SINGULAR,
)


@kernel()
def bound_of(contacts, series, dim, i):
    """Largest friction of a contact now, μ F."""
    return contacts[i, FRICTION] * series[FORCE, dim * i, 0]


@kernel()
def slots(modes, dim, i, k):
    """How many components of friction of a contact are unknown at order k: all where it sticks, that across the
    direction in which its slip starts, of which order 0 is known."""
    if modes[i, GRIP] == STICKS:
        return dim - 1
    return 1 if modes[i, GRIP] == LEAVES and dim == 3 and k > 0 else 0


@kernel()
def component(contacts, modes, i, slot, e):
    """Component e of the unit vector of a slot."""
    if modes[i, GRIP] == STICKS:
        return 1.0 if e == slot else 0.0
    return contacts[i, DIRECTION] if e == 2 else -contacts[i, DIRECTION + 1]


@kernel()
def mobility(W, contacts, modes, dim, i, slot, j, other):
    """Response of a slot of one contact to friction in a slot of another."""
    total = 0.0
    for e in range(1, dim):
        for g in range(1, dim):
            factor = component(contacts, modes, i, slot, e) * component(contacts, modes, j, other, g)
            total += factor * W[dim * i + e, dim * j + g]
    return total


@kernel()
def widths(W, contacts, modes, series, hold, dim, k):
    """Scale of friction in each slot, into column 1 of hold[2]: of contacts that depend on each other those that
    are pressed more hold more, whatever the masses."""
    most = 0.0
    for i in range(modes.shape[0]):
        if slots(modes, dim, i, k) > 0:
            most = max(most, bound_of(contacts, series, dim, i))
    for i in range(modes.shape[0]):
        for slot in range(1, 1 + slots(modes, dim, i, k)):
            share = max(bound_of(contacts, series, dim, i) / most, DISTRIBUTING_EVEN) if most > 0.0 else 1.0
            own = mobility(W, contacts, modes, dim, i, slot, i, slot)
            hold[2, dim * i + slot, 1] = np.sqrt(share / own) if own > 0.0 else 0.0


@kernel()
def invert(hold, modes, dim, k):
    """Replace hold[1] by its inverse over all slots, by Gauss and Jordan."""
    matrix, n = hold[1], modes.shape[0]
    for i in range(n):
        for e in range(1, 1 + slots(modes, dim, i, k)):
            p = dim * i + e
            pivot = 1.0 / matrix[p, p] if matrix[p, p] != 0.0 else 0.0
            matrix[p, p] = 1.0
            for j in range(n):
                for g in range(1, 1 + slots(modes, dim, j, k)):
                    matrix[p, dim * j + g] *= pivot
            for j in range(n):
                for g in range(1, 1 + slots(modes, dim, j, k)):
                    q = dim * j + g
                    if q == p:
                        continue
                    factor = matrix[q, p]
                    matrix[q, p] = 0.0
                    for m in range(n):
                        for h in range(1, 1 + slots(modes, dim, m, k)):
                            matrix[q, dim * m + h] -= factor * matrix[p, dim * m + h]


@kernel()
def grip_inverse(W, contacts, modes, series, hold, dim, k):
    """Fill hold[0] with the scaled mobilities B of all slots, and what column 2 of hold[2] has for slip that
    starts, and hold[1] with (B B + ε²)⁻¹."""
    widths(W, contacts, modes, series, hold, dim, k)
    n = modes.shape[0]
    for i in range(n):
        for e in range(1, 1 + slots(modes, dim, i, k)):
            p = dim * i + e
            for j in range(n):
                for g in range(1, 1 + slots(modes, dim, j, k)):
                    q = dim * j + g
                    hold[0, p, q] = (
                        hold[2, p, 1] * hold[2, q, 1] * mobility(W, contacts, modes, dim, i, e, j, g)
                    )
            hold[0, p, p] += hold[2, p, 1] ** 2 * hold[2, p, 2] if modes[i, GRIP] == LEAVES else 0.0
    for i in range(n):
        for e in range(1, 1 + slots(modes, dim, i, k)):
            for j in range(n):
                for g in range(1, 1 + slots(modes, dim, j, k)):
                    p, q = dim * i + e, dim * j + g
                    total = DISTRIBUTING_DEPENDENT**2 if p == q else 0.0
                    for m in range(n):
                        for h in range(1, 1 + slots(modes, dim, m, k)):
                            total += hold[0, p, dim * m + h] * hold[0, dim * m + h, q]
                    hold[1, p, q] = total
    invert(hold, modes, dim, k)


@kernel()
def times(matrix, sign, modes, hold, dim, k, taken, given):
    """Add `sign` times a matrix over all slots times column `taken` of hold[2] to column `given`."""
    n = modes.shape[0]
    for i in range(n):
        for e in range(1, 1 + slots(modes, dim, i, k)):
            p = dim * i + e
            total = hold[2, p, given]
            for j in range(n):
                for g in range(1, 1 + slots(modes, dim, j, k)):
                    total += sign * matrix[p, dim * j + g] * hold[2, dim * j + g, taken]
            hold[2, p, given] = total


@kernel()
def grip_solve(modes, hold, dim, k):
    """Friction in all slots that takes away the rates in column 0 of hold[2], into its column 3.

    It is -B (B B + ε²)⁻¹ times them, refined: as good as that of B⁻¹ where B has one, and none in motions that no
    friction moves, be they noise.
    """
    for p in range(hold.shape[1]):
        hold[2, p, 3] = 0.0
    for _ in range(DISTRIBUTING_REFINED):
        for p in range(hold.shape[1]):
            hold[2, p, 4] = hold[2, p, 1] * hold[2, p, 0]
            hold[2, p, 5] = 0.0
        times(hold[0], 1.0, modes, hold, dim, k, 3, 4)
        times(hold[1], 1.0, modes, hold, dim, k, 4, 5)
        times(hold[0], -1.0, modes, hold, dim, k, 5, 3)
    for p in range(hold.shape[1]):
        hold[2, p, 3] *= hold[2, p, 1]


@kernel()
def grip_operator(modes, hold, dim):
    """Fill hold[3] with what `grip_solve` does to rates of slip at order 0, and at all where no slip starts;
    whether it is as good. Where contacts depend on each other only the rates that they can have are solved for
    well."""
    n, worst = modes.shape[0], 0.0
    for j in range(n):
        for g in range(1, 1 + slots(modes, dim, j, 0)):
            for p in range(hold.shape[1]):
                hold[2, p, 0] = 0.0
            hold[2, dim * j + g, 0] = 1.0
            grip_solve(modes, hold, dim, 0)
            for p in range(hold.shape[1]):
                hold[3, p, dim * j + g] = hold[2, p, 3]
                hold[2, p, 4] = hold[2, p, 1] * hold[2, p, 0]
                hold[2, p, 3] = hold[2, p, 3] / hold[2, p, 1] if hold[2, p, 1] > 0.0 else 0.0
            times(hold[0], 1.0, modes, hold, dim, 0, 3, 4)
            for i in range(n):
                for e in range(1, 1 + slots(modes, dim, i, 0)):
                    worst = max(worst, abs(hold[2, dim * i + e, 4]))
    return worst <= DISTRIBUTING_LOCKED


@kernel()
def grip_apply(modes, hold, dim, k):
    """As `grip_solve`, by the operator in hold[3]."""
    n = modes.shape[0]
    for i in range(n):
        for e in range(1, 1 + slots(modes, dim, i, k)):
            total = 0.0
            for j in range(n):
                for g in range(1, 1 + slots(modes, dim, j, k)):
                    total += hold[3, dim * i + e, dim * j + g] * hold[2, dim * j + g, 0]
            hold[2, dim * i + e, 3] = total


@kernel()
def leaving_terms(contacts, series, hold, i, k, unit, own):
    """Of slip that starts at a contact, what its equation across the direction adds: to the mobility, into column
    2 of hold[2], and on its right side, which is returned; `own` is the mobility there."""
    row = 3 * i
    slip, c, s = series[SLIP], contacts[i, DIRECTION], contacts[i, DIRECTION + 1]
    total = 0.0
    for j in range(2, k + 1):
        total += slip[row, j] * (c * slip[row + 2, k + 1 - j] - s * slip[row + 1, k + 1 - j])
    # slip that starts where friction has just reached its bound grows with the square of time
    stiffness = contacts[i, RISES] * (k + 1) * slip[row, 1] / (unit * bound_of(contacts, series, 3, i))
    if stiffness < (k + 1) * DISTRIBUTING_FROM_REST * own:
        stiffness = 0.0
    hold[2, row + 1, 2] = stiffness
    return stiffness * slip[row + 1, k] + (k + 1) * total / unit


@kernel()
def grip_force(W, contacts, modes, series, hold, dim, k, unit, ready):
    """Coefficient k of the friction that keeps contacts from slip, and slip that starts in its direction; `ready`
    where the operator in hold[3] is."""
    n = modes.shape[0]
    leaves = False
    for i in range(n):
        for e in range(1, 1 + slots(modes, dim, i, k)):
            rate = 0.0
            for g in range(1, dim):
                rate += component(contacts, modes, i, e, g) * response(W, modes, series, dim, dim * i + g, k)
            if modes[i, GRIP] == LEAVES:
                leaves = True
                rate -= leaving_terms(
                    contacts, series, hold, i, k, unit, mobility(W, contacts, modes, dim, i, e, i, e)
                )
            hold[2, dim * i + e, 0] = rate
    if ready and not leaves:
        grip_apply(modes, hold, dim, k)
    else:
        if leaves or k == 0:
            grip_inverse(W, contacts, modes, series, hold, dim, k)
        grip_solve(modes, hold, dim, k)
    for i in range(n):
        for e in range(1, 1 + slots(modes, dim, i, k)):
            total = hold[2, dim * i + e, 3]
            for g in range(1, dim):
                series[FORCE, dim * i + g, k] += component(contacts, modes, i, e, g) * total
            if modes[i, GRIP] == LEAVES:
                turn_slip(contacts, series, i, k, total)


@kernel()
def turn_slip(contacts, series, i, k, across):
    """Coefficient k of the direction of slip that starts, from its friction across its first direction."""
    row = 3 * i
    slip, c, s = series[SLIP], contacts[i, DIRECTION], contacts[i, DIRECTION + 1]
    square = 0.0
    for j in range(1, k):
        square += slip[row + 1, j] * slip[row + 1, k - j] + slip[row + 2, j] * slip[row + 2, k - j]
    turn = (slip[row + 1, k] - across) / bound_of(contacts, series, 3, i)
    slip[row + 1, k] = -0.5 * square * c - turn * s
    slip[row + 2, k] = -0.5 * square * s + turn * c


@kernel()
def force_order(W, contacts, modes, series, hold, law, dim, k):
    """Coefficient k of all forces, from what is known of velocities and compressions up to it; `law` is the
    exponent, the unit of time, and whether the operator of `grip_operator` serves."""
    exponent, unit, ready = law
    if loose_forces(contacts, modes, series, exponent, dim, k):
        grip_force(W, contacts, modes, series, hold, dim, k, unit, ready)


@kernel()
def expand(W, contacts, modes, series, hold, law, dim):
    """Fill the series, in times of the unit in `law`, from velocities and compressions in their first
    coefficients."""
    velocity, depth = series[VELOCITY], series[DEPTH]
    unit = law[1]
    force_order(W, contacts, modes, series, hold, law, dim, 0)
    for k in range(1, ORDER + 1):
        share = unit / k
        for i in range(contacts.shape[0]):
            row = dim * i
            depth[row, k] = 0.0
            if modes[i, PHASE] != OPEN:
                depth[row, k] = -contacts[i, RATE] * share * velocity[row, k - 1]
        for row in range(velocity.shape[0]):
            velocity[row, k] = share * response(W, modes, series, dim, row, k - 1)
        force_order(W, contacts, modes, series, hold, law, dim, k)


@kernel()
def best_friction(W, series, hold, dim, i, bound):
    """Friction of one contact, the others as they are: (T_1, T_2), from its rate of slip without it."""
    p = dim * i + 1
    d1, b11 = hold[2, p, 0], W[p, p]
    if dim == 2:
        if bound * b11 <= abs(d1):
            return -bound * np.sign(d1), 0.0
        return -d1 / b11, 0.0
    d2, b12, b22 = hold[2, p + 1, 0], W[p, p + 1], W[p + 1, p + 1]
    det = b11 * b22 - b12 * b12
    if det > STRONGE_SINGULAR * (b11 + b22) ** 2:
        t1, t2 = (b12 * d2 - b22 * d1) / det, (b12 * d1 - b11 * d2) / det
        if t1 * t1 + t2 * t2 <= bound * bound:
            return t1, t2
    if d1 == 0.0 and d2 == 0.0:
        return 0.0, 0.0
    c, s = centrifugal_direction(b11, b12, b22, d1, d2, bound)
    return -bound * c, -bound * s


@kernel()
def sweep(W, contacts, modes, series, hold, dim):
    """Let every contact without slip take its best friction in turn; the largest change over the bound."""
    worst = 0.0
    for i in range(modes.shape[0]):
        if not modes[i, PRESSED] or modes[i, GRIP] == SLIDES:
            continue
        bound = bound_of(contacts, series, dim, i)
        if not bound > 0.0:
            continue
        for e in range(1, dim):
            own = 0.0
            for g in range(1, dim):
                own += W[dim * i + e, dim * i + g] * series[FORCE, dim * i + g, 0]
            hold[2, dim * i + e, 0] = response(W, modes, series, dim, dim * i + e, 0) - own
        t1, t2 = best_friction(W, series, hold, dim, i, bound)
        worst = max(worst, abs(t1 - series[FORCE, dim * i + 1, 0]) / bound)
        series[FORCE, dim * i + 1, 0] = t1
        if dim == 3:
            worst = max(worst, abs(t2 - series[FORCE, dim * i + 2, 0]) / bound)
            series[FORCE, dim * i + 2, 0] = t2
    return worst


@kernel()
def friction_share(contacts, series, dim, i):
    """|T| over μ F of a contact now, and over the bound of a contact that has none."""
    bound = bound_of(contacts, series, dim, i)
    x = series[FORCE, dim * i + 1, 0]
    y = series[FORCE, dim * i + 2, 0] if dim == 3 else 0.0
    length = np.sqrt(x * x + y * y)
    return length / bound if bound > 0.0 else (np.inf if length > 0.0 else 0.0)


@kernel()
def all_grip(W, contacts, modes, series, hold, dim):
    """Let all contacts without slip stick, if their friction suffices; whether it does. Their normal forces, and
    the friction of those that slide, are known."""
    for i in range(modes.shape[0]):
        if modes[i, PRESSED] and modes[i, GRIP] != SLIDES and contacts[i, FRICTION] > 0.0:
            modes[i, GRIP] = STICKS
            for e in range(1, dim):
                series[FORCE, dim * i + e, 0] = 0.0
    grip_force(W, contacts, modes, series, hold, dim, 0, 1.0, False)
    largest = 0.0
    for i in range(modes.shape[0]):
        if modes[i, GRIP] == STICKS:
            largest = max(largest, friction_share(contacts, series, dim, i))
    return largest


@kernel()
def stick_force(W, contacts, modes, series, hold, dim):
    """Friction of all contacts without slip now: against their direction where they leave, what holds them
    elsewhere."""
    for i in range(modes.shape[0]):
        if not modes[i, PRESSED] or modes[i, GRIP] == SLIDES:
            continue
        bound = bound_of(contacts, series, dim, i) if modes[i, GRIP] == LEAVES else 0.0
        for e in range(1, dim):
            series[FORCE, dim * i + e, 0] = -bound * contacts[i, DIRECTION + e - 1]
    grip_force(W, contacts, modes, series, hold, dim, 0, 1.0, False)


@kernel()
def leave(contacts, modes, series, dim, i, rises):
    """Let a contact that friction cannot hold start to slip against it; `rises` is 0 where it just could."""
    modes[i, GRIP], contacts[i, RISES] = LEAVES, rises
    length = friction_share(contacts, series, dim, i) * bound_of(contacts, series, dim, i)
    for e in range(1, dim):
        contacts[i, DIRECTION + e - 1] = -series[FORCE, dim * i + e, 0] / length


@kernel()
def turn_directions(W, contacts, modes, series, hold, dim):
    """A Newton step for the directions of contacts that leave, so that slip grows along them; how far they turn."""
    n = modes.shape[0]
    for i in range(n):
        for e in range(1, 1 + slots(modes, dim, i, 1)):
            along = rate = 0.0
            for g in range(1, dim):
                growth = response(W, modes, series, dim, dim * i + g, 0)
                rate += component(contacts, modes, i, e, g) * growth
                along += contacts[i, DIRECTION + g - 1] * growth
            hold[2, dim * i + e, 0] = rate
            hold[2, dim * i + e, 2] = max(along, 0.0) / bound_of(contacts, series, dim, i)
    grip_inverse(W, contacts, modes, series, hold, dim, 1)
    grip_solve(modes, hold, dim, 1)
    worst = 0.0
    for i in range(n):
        if dim == 2 or modes[i, GRIP] != LEAVES:
            continue
        turn = -hold[2, dim * i + 1, 3] / bound_of(contacts, series, dim, i)
        worst = max(worst, abs(turn))
        turn = min(max(turn, -1.0), 1.0)
        c, s = contacts[i, DIRECTION], contacts[i, DIRECTION + 1]
        length = np.sqrt(1.0 + turn * turn)
        contacts[i, DIRECTION], contacts[i, DIRECTION + 1] = (c - turn * s) / length, (s + turn * c) / length
    return worst


@kernel()
def exchange(W, contacts, modes, series, dim):
    """Let the contact that is held by too much friction leave, or else one stick that would slip backwards;
    whether one was found."""
    worst, who = DISTRIBUTING_AT_BOUND, -1
    for i in range(modes.shape[0]):
        if modes[i, GRIP] == STICKS and modes[i, PRESSED]:
            share = friction_share(contacts, series, dim, i)
            if share > worst:
                worst, who = share, i
    if who >= 0:
        leave(contacts, modes, series, dim, who, 1.0)
        return True
    for i in range(modes.shape[0]):
        if modes[i, GRIP] != LEAVES or not modes[i, PRESSED]:
            continue
        along = pull = 0.0
        for e in range(1, dim):
            row = dim * i + e
            along += contacts[i, DIRECTION + e - 1] * response(W, modes, series, dim, row, 0)
            for j in range(series.shape[1]):
                pull = max(pull, abs(W[row, j] * series[FORCE, j, 0]))
        if along < -DISTRIBUTING_LOCKED * pull:  # beyond the rounding of forces that balance
            modes[i, GRIP] = STICKS
            return True
    return False


@kernel()
def settle_grips(W, contacts, modes, series, hold, dim):
    """Decide of every contact without slip whether it sticks, and in which direction it starts to slip otherwise.

    Sweeps find nearly who does what; exchanges one by one and Newton's method for the directions make it exact.
    """
    share = all_grip(W, contacts, modes, series, hold, dim)
    if share <= DISTRIBUTING_AT_BOUND:
        return
    if share <= 1.0 + DISTRIBUTING_JUST:  # the bound is reached now: slip starts against friction as it is
        for i in range(modes.shape[0]):
            if modes[i, GRIP] == STICKS and friction_share(contacts, series, dim, i) > DISTRIBUTING_AT_BOUND:
                leave(contacts, modes, series, dim, i, 0.0)
        return
    for _ in range(DISTRIBUTING_SWEEPS):
        if sweep(W, contacts, modes, series, hold, dim) <= DISTRIBUTING_SETTLED:
            break
    for i in range(modes.shape[0]):
        if modes[i, GRIP] == STICKS and friction_share(contacts, series, dim, i) > DISTRIBUTING_AT_BOUND:
            leave(contacts, modes, series, dim, i, 1.0)
    for _ in range(8 + 4 * modes.shape[0]):
        stick_force(W, contacts, modes, series, hold, dim)
        turned = turn_directions(W, contacts, modes, series, hold, dim) if dim == 3 else 0.0
        if turned <= DISTRIBUTING_SETTLED and not exchange(W, contacts, modes, series, dim):
            break


@kernel()
def slip_of(series, dim, i):
    """Speed of slip of a contact now."""
    x = series[VELOCITY, dim * i + 1, 0]
    y = series[VELOCITY, dim * i + 2, 0] if dim == 3 else 0.0
    return np.sqrt(x * x + y * y)
