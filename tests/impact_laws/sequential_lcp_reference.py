"""Slow, obvious impacts at one contact after the other, in numpy."""

import numpy as np

from carom.impact_laws import ImpactStatus
from carom.impact_laws.anitescu_potra import edge_directions
from carom.impact_laws.tolerances import LCP_RESIDUAL, ROUNDING


def resolve_slowly(problem, order="most_approaching", cone_edges=8, max_impacts=1000):
    """Impulse (dim*nc,), the contacts in the order resolved, and the status; orders: "cyclic" too."""
    before, velocity = problem.u, problem.u.copy()
    directions = edge_directions(problem.dim, cone_edges)
    impulse, sequence, place = np.zeros(before.size), [], 0
    while (approaching := problem.approaching(velocity)).any():
        if len(sequence) == max_impacts:
            return impulse, tuple(sequence), ImpactStatus.NOT_TERMINATED
        if order == "cyclic":
            while not approaching[place % problem.contact_count]:
                place += 1
            contact = place % problem.contact_count
            place += 1
        else:
            contact = int(np.argmin(problem.approach_measure(velocity)))
        rows = slice(problem.dim * contact, problem.dim * contact + problem.dim)
        rounding = ROUNDING * (np.abs(before).max() + np.abs(velocity - before).max())
        single, status = single_impact(
            problem.W[rows, rows], velocity[rows], problem.friction[contact], directions, rounding
        )
        if status is not ImpactStatus.RESOLVED:
            return impulse, tuple(sequence), status
        impulse[rows] += single
        velocity += problem.W[:, rows] @ single
        velocity[problem.dim * contact] = 0.0
        sequence.append(contact)
    return impulse, tuple(sequence), ImpactStatus.RESOLVED


def single_impact(W, u, friction, directions, rounding):
    """Impulse (dim,) of one contact with u_n < 0, and RESOLVED where it solves the contact's problem.

    W (dim, dim), u (dim,), pyramid edges ``directions`` (edges, dim-1); ``rounding`` [m/s] is the error of u.

    The contact ends with v_n = 0, so λ = -(u_n + W_nt·β)/W_nn, and its slip is c + S β with c the slip after
    the frictionless impulse and S = W_tt - W_tn W_nt/W_nn. It sticks where S β = -c has a solution inside the
    pyramid, else it slides. Neither S nor the coupling need be regular.
    """
    impulse = np.zeros(u.size)
    if not W[0, 0] > 0.0:
        return impulse, ImpactStatus.NO_SOLUTION
    alone, coupling = -u[0] / W[0, 0], W[0, 1:] / W[0, 0]
    if friction == 0.0:
        impulse[0] = alone
        return impulse, ImpactStatus.RESOLVED
    slip = u[1:] + W[0, 1:] * alone
    mobility = W[1:, 1:] - np.outer(W[0, 1:], W[0, 1:]) / W[0, 0]
    values, axes = np.linalg.eigh(mobility)
    mobile = values > ROUNDING * W[1:, 1:].trace()
    tangential = -(axes[:, mobile] / values[mobile]) @ (axes[:, mobile].T @ slip)
    normal = alone - coupling @ tangential
    terms = np.abs(slip) + np.abs(W[1:, 1:]) @ np.abs(tangential)
    sticks = np.all(np.abs(slip + mobility @ tangential) <= rounding + ROUNDING * terms)
    middles = 0.5 * (directions + following(directions))
    if sticks and np.all(middles @ tangential <= (middles**2).sum(axis=1) * friction * normal):
        impulse[0], impulse[1:] = normal, tangential
        return impulse, ImpactStatus.RESOLVED
    return sliding_impulse(alone, coupling, slip, mobility, friction, directions, rounding)


def sliding_impulse(alone, coupling, slip, mobility, friction, directions, rounding):
    """Impulse (λ, μ λ d) with λ = alone/(1 + μ coupling·d) and d on the rim of the polygon of edges.

    Either d is a vertex, or a point of a side at right angles to the slip, which is an equation linear in the
    place on the side. Of all these the one is taken whose friction opposes the slip best, that is with
    max_k(-d_k·slip) = -d·slip.
    """
    sides = following(directions) - directions
    across, turning = sides @ slip, friction * alone * sides @ mobility
    constant = across * (1.0 + friction * directions @ coupling) + (turning * directions).sum(axis=1)
    slope = friction * across * (sides @ coupling) + (turning * sides).sum(axis=1)
    crossed = (constant * slope < 0.0) & (np.abs(constant) < np.abs(slope))
    place = -constant[crossed] / slope[crossed]
    along = np.vstack([directions, directions[crossed] + place[:, None] * sides[crossed]])
    share = 1.0 + friction * along @ coupling
    along, share = along[share > 0.0], share[share > 0.0]
    if not len(along):
        return np.zeros(1 + slip.size), ImpactStatus.NO_SOLUTION
    strength = friction * alone / share
    change = strength[:, None] * (along @ mobility)
    ends = slip + change
    gap = (-ends @ directions.T).max(axis=1) + (along * ends).sum(axis=1)
    error = gap / (np.abs(slip).max() + np.abs(change).max(axis=1) + rounding)
    chosen = int(np.argmax(error <= error.min() + ROUNDING))  # the first of several solutions
    accurate = error[chosen] <= LCP_RESIDUAL or gap[chosen] <= rounding
    impulse = np.concatenate([[alone / share[chosen]], strength[chosen] * along[chosen]])
    return impulse, ImpactStatus.RESOLVED if accurate else ImpactStatus.INACCURATE


def following(directions):
    """The next vertex of each; a planar contact has no sides, there each follows itself."""
    return np.roll(directions, -1, axis=0) if directions.shape[1] == 2 else directions
