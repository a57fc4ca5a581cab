"""Compiled impacts at one contact after the other, each the complementarity problem of that contact alone.

A single impact has three components (normal, tangent, tangent2); at a planar contact all that belongs to the last
is zero: mobility, slip, and the friction pyramid, which has no sides there.
"""

import numpy as np

from ..compiled import kernel
from .reflection_kernels import TOO_MANY, next_contact
from .tolerances import LCP_RESIDUAL, PRESSES, RESTITUTION_GAIN, RESTITUTION_SHARE, ROUNDING

RESOLVED, NO_SOLUTION, INACCURATE, RECORD_FULL = 0, 21, 22, 23  # apart from those of reflections


@kernel(allocates=True)
def pyramid(dim, edges):
    """Unit tangential directions of the friction pyramid, (edges, 2), as `edge_directions`; ± of a planar one."""
    directions = np.zeros((2 if dim == 2 else edges, 2))
    if dim == 2:
        directions[0, 0], directions[1, 0] = 1.0, -1.0
        return directions
    for k in range(edges):
        angle = 2.0 * np.pi * k / edges
        x, y = np.cos(angle), np.sin(angle)
        directions[k, 0] = x if abs(x) >= 1e-15 else 0.0  # the axes exactly
        directions[k, 1] = y if abs(y) >= 1e-15 else 0.0
    return directions


@kernel()
def principal_axis(b11, b12, b22):
    """The eigenvalues of a symmetric matrix, the larger one first, and its unit eigenvector."""
    mean, half = 0.5 * (b11 + b22), 0.5 * (b11 - b22)
    radius = np.sqrt(half * half + b12 * b12)
    c, s = 1.0, 0.0
    if radius > 0.0:  # the larger component from a root, the other from it, so that neither cancels
        if half >= 0.0:
            c = np.sqrt(0.5 * (1.0 + half / radius))
            s = 0.5 * b12 / (radius * c)
        else:
            s = np.sqrt(0.5 * (1.0 - half / radius))
            c = 0.5 * b12 / (radius * s)
    return mean + radius, mean - radius, c, s


@kernel()
def in_pyramid(directions, x, y, bound):
    """Whether a tangential impulse lies in the polygon of these vertices times the bound."""
    if directions.shape[0] == 2:
        return abs(x) <= bound
    for k in range(directions.shape[0]):
        after = k + 1 if k + 1 < directions.shape[0] else 0
        mx = 0.5 * (directions[k, 0] + directions[after, 0])
        my = 0.5 * (directions[k, 1] + directions[after, 1])
        if not mx * x + my * y <= (mx * mx + my * my) * bound:
            return False
    return True


@kernel()
def single_impact(W, u, friction, directions, rounding, places, impulse):
    """Fill the impulse (3,) of one contact with u_n < 0, whose W (3, 3) and u (3,) these are; its status.

    directions: see `pyramid`; rounding [m/s] is the error of u; places (2 edges, 5) is workspace.

    The contact ends with v_n = 0, so λ = -(u_n + W_nt·β)/W_nn, and its slip is c + S β with c the slip after
    the frictionless impulse and S = W_tt - W_tn W_nt/W_nn. It sticks where S β = -c has a solution inside the
    pyramid, else it slides. Neither S nor the coupling need be regular.
    """
    impulse[0] = impulse[1] = impulse[2] = 0.0
    if not W[0, 0] > 0.0:
        return NO_SOLUTION
    alone = -u[0] / W[0, 0]
    if friction == 0.0:
        impulse[0] = alone
        return RESOLVED
    d1, d2 = W[0, 1] / W[0, 0], W[0, 2] / W[0, 0]
    c1, c2 = u[1] + W[0, 1] * alone, u[2] + W[0, 2] * alone
    s11, s12, s22 = W[1, 1] - W[0, 1] * d1, W[1, 2] - W[0, 1] * d2, W[2, 2] - W[0, 2] * d2
    larger, smaller, c, s = principal_axis(s11, s12, s22)
    immobile = ROUNDING * (W[1, 1] + W[2, 2])
    along = -(c * c1 + s * c2) / larger if larger > immobile else 0.0
    across = -(c * c2 - s * c1) / smaller if smaller > immobile else 0.0
    x, y = c * along - s * across, s * along + c * across
    normal = alone - d1 * x - d2 * y
    sticks = (
        abs(c1 + s11 * x + s12 * y)
        <= rounding + ROUNDING * (abs(c1) + abs(W[1, 1] * x) + abs(W[1, 2] * y))
        and abs(c2 + s12 * x + s22 * y)
        <= rounding + ROUNDING * (abs(c2) + abs(W[1, 2] * x) + abs(W[2, 2] * y))
    )  # fmt: skip
    if sticks and in_pyramid(directions, x, y, friction * normal):
        impulse[0], impulse[1], impulse[2] = normal, x, y
        return RESOLVED
    return sliding_impulse(
        alone, d1, d2, c1, c2, s11, s12, s22, friction, directions, rounding, places, impulse
    )


@kernel()
def single_rebound(W, u, friction, restitution, directions, rounding, places, impulse):
    """As `single_impact`, with a normal velocity left of e times the approach, or of the largest share of that with
    which no energy is gained; status and normal velocity."""
    if restitution == 0.0:
        return single_impact(W, u, friction, directions, rounding, places, impulse), 0.0
    low, high = 0.0, 1.0
    status, fine = rebound_with(W, u, friction, restitution, directions, rounding, places, impulse)
    if fine:
        return status, -restitution * u[0]
    while high - low > RESTITUTION_SHARE:
        share = 0.5 * (low + high)
        _, fine = rebound_with(W, u, friction, share * restitution, directions, rounding, places, impulse)
        if fine:
            low = share
        else:
            high = share
    status, _ = rebound_with(W, u, friction, low * restitution, directions, rounding, places, impulse)
    return status, -low * restitution * u[0]


@kernel()
def rebound_with(W, u, friction, restitution, directions, rounding, places, impulse):
    """Fill the impulse (3,) of one contact that leaves it with e times its approach; its status, and whether it
    gains no energy and its responses do not all but cancel each other, as where the contact all but jams."""
    approach = u[0]
    u[0] = (1.0 + restitution) * approach
    status = single_impact(W, u, friction, directions, rounding, places, impulse)
    u[0] = approach
    given = stored = strongest = fastest = 0.0
    for i in range(3):
        given += impulse[i] * u[i]
        fastest = max(fastest, abs(u[i]))
        for j in range(3):
            stored += 0.5 * impulse[i] * W[i, j] * impulse[j]
            strongest = max(strongest, abs(W[i, j] * impulse[j]))
    fine = status == RESOLVED and PRESSES * strongest <= fastest
    return status, fine and given + stored <= RESTITUTION_GAIN * abs(given)


@kernel()
def sliding_impulse(alone, d1, d2, c1, c2, s11, s12, s22, friction, directions, rounding, places, impulse):
    """Fill the impulse (λ, μ λ d) with λ = alone/(1 + μ coupling·d) and d on the rim of the polygon of edges.

    Either d is a vertex, or a point of a side at right angles to the slip, which is an equation linear in the
    place on the side. Of all these the one is taken whose friction opposes the slip best, that is with
    max_k(-d_k·slip) = -d·slip; the first of several.
    """
    edges = directions.shape[0]
    found = 0
    for k in range(edges):
        x, y = directions[k, 0], directions[k, 1]
        found += try_place(
            x, y, alone, d1, d2, c1, c2, s11, s12, s22, friction, directions, rounding, places[found]
        )
    for k in range(edges if edges > 2 else 0):
        after = k + 1 if k + 1 < edges else 0
        x, y = directions[k, 0], directions[k, 1]
        side1, side2 = directions[after, 0] - x, directions[after, 1] - y
        across = side1 * c1 + side2 * c2
        turning1 = friction * alone * (side1 * s11 + side2 * s12)
        turning2 = friction * alone * (side1 * s12 + side2 * s22)
        constant = across * (1.0 + friction * (x * d1 + y * d2)) + turning1 * x + turning2 * y
        slope = friction * across * (side1 * d1 + side2 * d2) + turning1 * side1 + turning2 * side2
        if constant * slope < 0.0 and abs(constant) < abs(slope):
            share = -constant / slope
            x += share * side1
            y += share * side2
            found += try_place(
                x, y, alone, d1, d2, c1, c2, s11, s12, s22, friction, directions, rounding, places[found]
            )
    if found == 0:
        return NO_SOLUTION
    least = np.inf
    for k in range(found):
        least = min(least, places[k, 4])
    chosen = 0
    while chosen + 1 < found and not places[chosen, 4] <= least + ROUNDING:
        chosen += 1
    for e in range(3):
        impulse[e] = places[chosen, e]
    accurate = places[chosen, 4] <= LCP_RESIDUAL or places[chosen, 3] <= rounding
    return RESOLVED if accurate else INACCURATE


@kernel()
def try_place(x, y, alone, d1, d2, c1, c2, s11, s12, s22, friction, directions, rounding, place):
    """Fill place (5,) with the impulse of friction along (x, y) and how far it is from opposing slip: [m/s], and
    as a share of slip. Whether there is one."""
    share = 1.0 + friction * (x * d1 + y * d2)
    if not share > 0.0:
        return 0
    strength = friction * alone / share
    change1, change2 = strength * (x * s11 + y * s12), strength * (x * s12 + y * s22)
    end1, end2 = c1 + change1, c2 + change2
    opposing = -np.inf
    for k in range(directions.shape[0]):
        opposing = max(opposing, -directions[k, 0] * end1 - directions[k, 1] * end2)
    gap = opposing + x * end1 + y * end2
    place[0], place[1], place[2], place[3] = alone / share, strength * x, strength * y, gap
    place[4] = gap / (max(abs(c1), abs(c2)) + max(abs(change1), abs(change2)) + rounding)
    return 1


@kernel()
def cut_to_cones(impulse, friction, dim):
    """Shorten tangential impulses that rounding of very many sums has left outside the friction cones."""
    for k in range(friction.size):
        first = dim * k
        square = 0.0
        for e in range(1, dim):
            square += impulse[first + e] * impulse[first + e]
        length, bound = np.sqrt(square), friction[k] * impulse[first]
        if length > bound:
            for e in range(1, dim):
                impulse[first + e] *= bound / length


@kernel(allocates=True)
def has_drifted(W, u, impulse, scale, threshold, dim, velocity):
    """Whether u + W p still approaches where its velocity, the sum of many changes, does not; then take it.

    Approach that rounding of this sum explains does not count: no further impact would end it.
    """
    fresh = np.empty(u.size)
    drifted = False
    for i in range(u.size):
        total, terms = u[i], abs(u[i])
        for j in range(u.size):
            term = W[i, j] * impulse[j]
            total += term
            terms += abs(term)
        fresh[i] = total
        if i % dim == 0 and total / scale[i // dim] < threshold and total < -ROUNDING * terms:
            drifted = True
    if drifted:
        for i in range(u.size):
            velocity[i] = fresh[i]
    return drifted


@kernel(allocates=True)
def resolve_in_turn(
    W, u, friction, restitution, scale, threshold, order, visits, cursor, dim, edges, impacts, velocity, impulse,
    record, made,
):  # fmt: skip
    """Single impacts, one contact after the other, until none approaches.

    W, u over all contacts with `dim` components each. Goes on after `made` single impacts, with the velocity and
    impulse (dim nc,) and the cursor (2,) that these left, and changes all three. Row k of `record` (rows, 1 + dim)
    receives the contact of single impact k and its impulse. Returns (status, rows); RECORD_FULL where there is no
    room for another. Where one has no solution, or no accurate one, its row is the last, without impulse.
    """
    directions = pyramid(dim, edges)
    places = np.empty((2 * directions.shape[0], 5))
    block, slip, single = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    approaching = np.empty(friction.size, np.int64)
    fastest = 0.0
    for i in range(u.size):
        fastest = max(fastest, abs(u[i]))
    while True:
        if made == record.shape[0] and made < impacts:  # before the cursor moves
            return RECORD_FULL, made
        chosen = next_contact(velocity, dim, scale, threshold, order, visits, cursor, approaching)
        if chosen < 0:
            cut_to_cones(impulse, friction, dim)
            if has_drifted(W, u, impulse, scale, threshold, dim, velocity):
                continue
            return RESOLVED, made
        if made == impacts:
            return TOO_MANY, made
        first = dim * chosen
        changed = 0.0
        for i in range(u.size):
            changed = max(changed, abs(velocity[i] - u[i]))
        for i in range(dim):
            slip[i] = velocity[first + i]
            for j in range(dim):
                block[i, j] = W[first + i, first + j]
        rounding = ROUNDING * (fastest + changed)
        status, normal = single_rebound(
            block, slip, friction[chosen], restitution[chosen], directions, rounding, places, single
        )
        record[made, 0] = chosen
        for e in range(dim):
            record[made, 1 + e] = single[e] if status == RESOLVED else 0.0
        made += 1
        if status != RESOLVED:
            return status, made
        for e in range(dim):
            impulse[first + e] += single[e]
            for i in range(u.size):  # W is symmetric, and its rows lie in one piece
                velocity[i] += W[first + e, i] * single[e]
        velocity[first] = normal  # exactly, so that rounding cannot make it approach again
