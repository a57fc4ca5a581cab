"""Compiled sequence of reflections in the kinetic metric, on normal components only."""

import numpy as np

from ..compiled import kernel

MOST_APPROACHING, LEAST_APPROACHING, VISITS, RANDOM = 0, 1, 2, 3
FEASIBLE, TOO_MANY, IMMOVABLE = 0, 1, 2


@kernel()
def next_contact(velocity, dim, scale, threshold, order, visits, cursor, approaching):
    """The approaching contact that comes next in an order, -1 where none approaches.

    velocity (dim nc,) holds a normal velocity every `dim` entries; cursor (2,) keeps the place in `visits` and
    the state of the random sequence (Park & Miller); approaching (nc,) is workspace.
    """
    count = 0
    chosen = -1
    extreme = 0.0
    for i in range(scale.size):
        measure = velocity[dim * i] / scale[i]
        if measure < threshold:
            approaching[count] = i
            count += 1
            if (
                chosen < 0
                or (order == MOST_APPROACHING and measure < extreme)
                or (order == LEAST_APPROACHING and measure > extreme)
            ):
                chosen = i
                extreme = measure
    if count == 0:
        return -1
    if order == VISITS:
        for _ in range(visits.size):
            chosen = visits[cursor[0]]
            cursor[0] = (cursor[0] + 1) % visits.size
            if velocity[dim * chosen] / scale[chosen] < threshold:
                break
    elif order == RANDOM:
        cursor[1] = cursor[1] * 48271 % 2147483647
        chosen = approaching[cursor[1] * count // 2147483647]
    return chosen


@kernel()
def reflect(N, velocity, scale, threshold, order, visits, seed, sequence):
    """Reflect across approaching contacts until none is left.

    N (nc, nc) normal inverse inertia, velocity (nc,) normal velocities, updated in place; sequence (max,)
    receives the contacts. Returns (reflections, status).
    """
    contacts = velocity.size
    cursor = np.array([0, seed % 2147483646 + 1])
    approaching = np.empty(contacts, np.int64)
    for made in range(sequence.size + 1):
        chosen = next_contact(velocity, 1, scale, threshold, order, visits, cursor, approaching)
        if chosen < 0:
            return made, FEASIBLE
        if made == sequence.size:
            return made, TOO_MANY
        if not N[chosen, chosen] > 0.0:
            return made, IMMOVABLE
        before = velocity[chosen]
        factor = -2.0 * before / N[chosen, chosen]
        for i in range(contacts):
            velocity[i] += factor * N[i, chosen]
        velocity[chosen] = -before  # exactly, so that rounding cannot make it approach again
        sequence[made] = chosen
    return sequence.size, TOO_MANY
