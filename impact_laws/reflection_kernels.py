"""Compiled sequence of reflections in the kinetic metric, on normal components only."""

import numpy as np

from ..compiled import kernel

MOST_APPROACHING, LEAST_APPROACHING, VISITS, RANDOM = 0, 1, 2, 3
FEASIBLE, TOO_MANY, IMMOVABLE = 0, 1, 2
COMPLETE, TOO_LONG, TOO_WIDE = 0, 1, 2


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


@kernel(allocates=True)
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


@kernel()
def _approaches(velocity, scale, threshold):
    least = velocity[0] / scale[0]
    for i in range(1, velocity.size):
        least = min(least, velocity[i] / scale[i])
    return least < threshold


@kernel(allocates=True)
def _remember(sequence, child, whole, nodes):
    """Enter a sequence into the tree of found ones, last letter first; returns the tree and its size.

    child (nodes, contacts) is the node that comes before one in a sequence, or -1, with node 0 after the last
    letter; whole (nodes,) tells where a sequence is complete.
    """
    if nodes + sequence.size > whole.size:
        size = 2 * (nodes + sequence.size)
        wider = np.full((size, child.shape[1]), -1, np.int32)
        wider[:nodes] = child[:nodes]
        child = wider
        longer = np.zeros(size, np.bool_)
        longer[:nodes] = whole[:nodes]
        whole = longer
    node = 0
    for at in range(sequence.size - 1, -1, -1):
        letter = sequence[at]
        if child[node, letter] < 0:
            child[node, letter] = nodes
            nodes += 1
        node = child[node, letter]
    whole[node] = True
    return child, whole, nodes


@kernel()
def _holds_a_found_one(before, last, child, whole, stack):
    """Whether a sequence, followed by the letter `last`, has a subsequence in the tree that ends with `last`.

    before (length + 1, contacts): where each letter last occurs before a place of the sequence, or -1. Taking the
    latest place for every letter loses no subsequence. stack (n, 2) is workspace.
    """
    top = 0
    if child[0, last] >= 0:
        stack[0, 0], stack[0, 1] = child[0, last], before.shape[0] - 1
        top = 1
    while top > 0:
        top -= 1
        node, place = stack[top, 0], stack[top, 1]
        if whole[node]:
            return True
        for letter in range(before.shape[1]):
            if child[node, letter] >= 0 and before[place, letter] >= 0:
                stack[top, 0], stack[top, 1] = child[node, letter], before[place, letter]
                top += 1
    return False


@kernel(allocates=True)
def sequences(N, before, scale, threshold, separating, minimal, longest, most):
    """All sequences of reflections after which no contact approaches, shortest first, then lexicographically.

    N, before, scale, threshold as for `reflect`. Only approaching contacts are reflected, with `separating` also
    the others. With `minimal` only sequences of which no proper subsequence is another, else all that end with
    the first velocity that is feasible.

    The tree of sequences grows level by level. With `minimal` a branch ends where it has a subsequence found on an
    earlier level, because all that grows from it has that too.

    Returns (letters, ends, status, reflections): sequence k is letters[ends[k] : ends[k + 1]]; TOO_LONG where
    branches are left after `longest` reflections, TOO_WIDE where a level has more than `most`.
    """
    contacts = before.size
    letters = np.empty(64, np.int8)
    ends = np.zeros(64, np.int64)
    found = 0
    if not _approaches(before, scale, threshold):
        return letters[:0], ends[:2], COMPLETE, 0
    child, whole, nodes, remembered = np.full((64, contacts), -1, np.int32), np.zeros(64, np.bool_), 1, 0
    branches = np.empty((1, 0), np.int8)
    velocities = before.copy().reshape(1, contacts)
    for length in range(1, longest + 1):
        wide = 0
        for k in range(branches.shape[0]):
            for i in range(contacts):
                if separating or velocities[k, i] / scale[i] < threshold:
                    wide += 1
        if wide > most:
            return letters, ends[: found + 1], TOO_WIDE, length
        grown = np.empty((wide, length), np.int8)
        reflected = np.empty((wide, contacts))
        kept = 0
        if minimal:
            for k in range(remembered, found):
                child, whole, nodes = _remember(letters[ends[k] : ends[k + 1]], child, whole, nodes)
            remembered = found
        places = np.full((length, contacts), -1, np.int64)
        stack = np.empty((length * contacts + 1, 2), np.int64)
        for k in range(branches.shape[0]):
            for at in range(length - 1):
                for i in range(contacts):
                    places[at + 1, i] = at if branches[k, at] == i else places[at, i]
            for i in range(contacts):
                if not (separating or velocities[k, i] / scale[i] < threshold) or not N[i, i] > 0.0:
                    continue
                if length > 1 and branches[k, length - 2] == i:  # twice in a row is none
                    continue
                if minimal and _holds_a_found_one(places, i, child, whole, stack):
                    continue
                for j in range(length - 1):
                    grown[kept, j] = branches[k, j]
                grown[kept, length - 1] = i
                factor = -2.0 * velocities[k, i] / N[i, i]
                for j in range(contacts):
                    reflected[kept, j] = velocities[k, j] + factor * N[j, i]
                reflected[kept, i] = -velocities[k, i]
                if _approaches(reflected[kept], scale, threshold):
                    kept += 1
                    continue
                start = ends[found]
                if start + length > letters.size:
                    longer = np.empty(2 * (start + length), np.int8)
                    longer[:start] = letters[:start]
                    letters = longer
                if found + 2 > ends.size:
                    further = np.zeros(2 * ends.size, np.int64)
                    further[: found + 1] = ends[: found + 1]
                    ends = further
                letters[start : start + length] = grown[kept]
                found += 1
                ends[found] = start + length
        if kept == 0:
            return letters, ends[: found + 1], COMPLETE, length
        branches = grown[:kept]
        velocities = reflected[:kept]
    return letters, ends[: found + 1], TOO_LONG, longest


@kernel(allocates=True)
def replay(N, before, letters, ends, impulses):
    """Fill impulses (k, nc), zero when given, with the normal impulses of k sequences as `sequences` keeps them."""
    velocity = np.empty(before.size)
    for k in range(impulses.shape[0]):
        velocity[:] = before
        for at in range(ends[k], ends[k + 1]):
            contact = letters[at]
            approach = velocity[contact]
            step = -2.0 * approach / N[contact, contact]
            impulses[k, contact] += step
            for j in range(before.size):
                velocity[j] += step * N[contact, j]
            velocity[contact] = -approach
