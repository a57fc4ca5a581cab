"""The order in which contacts are taken, compiled, from what they are and not from how they are numbered.

Sweeps and Newton steps that go through contacts in turn end at one of several solutions, and at which one depends
on the turns. So contacts come in the order of their normal velocities, the fastest approach first. Those equal in
that are told apart by whole numbers mixed from the bits of all that they have, and then of all that their
neighbours have, round after round, as graphs are labelled (Weisfeiler & Leman 1968). What is still equal then looks
the same from everywhere, and any order of it gives the same answer but for an exchange of equal contacts.
"""

import numpy as np

from ..compiled import kernel

_ROUNDS = 16  # of neighbours: equal contacts in a row that is longer than twice that are not all told apart
_ODD, _EVEN_BITS = 0x2545F4914F6CDD1D, 0x369DEA0F31A53F85  # multipliers that spread bits (L'Ecuyer's tables)


@kernel(forceinline=True)
def mixed(number, more):
    """A whole number that depends on all bits of both."""
    number = (number ^ more) * _ODD
    number ^= number >> 29
    number = number * _EVEN_BITS
    return number ^ (number >> 32)


@kernel()
def comes_before(a, b, q, dim, marks):
    """Whether contact a comes before b: it approaches faster, or as fast with a smaller mark."""
    first, second = q[dim * a], q[dim * b]
    return first < second or (first == second and marks[a] < marks[b])


@kernel()
def sort_contacts(q, dim, marks, order):
    """Sort the contacts in order (nc,), equal ones as they are; returns how many differ from the one before."""
    for k in range(1, order.size):
        contact, place = order[k], k
        while place > 0 and comes_before(contact, order[place - 1], q, dim, marks):
            order[place] = order[place - 1]
            place -= 1
        order[place] = contact
    different = 1
    for k in range(1, order.size):
        different += comes_before(order[k - 1], order[k], q, dim, marks)
    return different


@kernel(allocates=True)
def own_marks(W, q, friction, dim, marks):
    """Fill marks (nc,) with what contacts have by themselves: velocity, friction and their own block of W."""
    matrix, velocity, coefficient = W.view(np.int64), q.view(np.int64), friction.view(np.int64)
    for c in range(friction.size):
        mark = mixed(0, coefficient[c] if friction[c] != 0.0 else 0)  # zeros of both signs are one number
        for r in range(dim * c, dim * (c + 1)):
            mark = mixed(mark, velocity[r] if q[r] != 0.0 else 0)
            for s in range(dim * c, dim * (c + 1)):
                mark = mixed(mark, matrix[r, s] if W[r, s] != 0.0 else 0)
        marks[c] = mark


@kernel(allocates=True)
def marks_of_neighbours(W, dim, marks):
    """Mix the marks (nc,) of all contacts that a contact moves, and how it moves them, into its own."""
    matrix = W.view(np.int64)
    before = marks.copy()
    for c in range(marks.size):
        total = 0
        for d in range(marks.size):
            mark, moves = before[d], False
            for r in range(dim * c, dim * (c + 1)):
                for s in range(dim * d, dim * (d + 1)):
                    moves = moves or W[r, s] != 0.0
                    mark = mixed(mark, matrix[r, s] if W[r, s] != 0.0 else 0)
            if moves and d != c:
                total += mark  # a sum of whole numbers, which no order changes
        marks[c] = mixed(before[c], total)


@kernel(allocates=True)
def order_by_state(W, q, friction, dim, order):
    """Fill order (nc,) with the contacts in the order in which they are taken; False where it is that of their
    numbers."""
    count = order.size
    if count == 1:
        order[0] = 0
        return False
    marks = np.zeros(count, np.int64)
    for c in range(count):
        order[c] = c
    different = sort_contacts(q, dim, marks, order)
    if different < count:
        own_marks(W, q, friction, dim, marks)
        different = sort_contacts(q, dim, marks, order)
    for _ in range(_ROUNDS):
        if different == count:
            break
        marks_of_neighbours(W, dim, marks)
        before, different = different, sort_contacts(q, dim, marks, order)
        if different == before:
            break
    for c in range(count):
        if order[c] != c:
            return True
    return False


@kernel(allocates=True)
def ordered_matrix(W, dim, order):
    """W with its contacts in an order (nc,)."""
    ordered = np.empty(W.shape)
    for c in range(order.size):
        for r in range(dim):
            for d in range(order.size):
                for s in range(dim):
                    ordered[dim * c + r, dim * d + s] = W[dim * order[c] + r, dim * order[d] + s]
    return ordered


@kernel(allocates=True)
def ordered_rows(rows, width, order):
    """Rows (width*nc,) with its contacts in an order (nc,)."""
    ordered = np.empty(rows.size)
    for c in range(order.size):
        for r in range(width):
            ordered[width * c + r] = rows[width * order[c] + r]
    return ordered


@kernel()
def put_back(ordered, width, order, rows):
    """Fill rows (width*nc,) from those of `ordered_rows`."""
    for c in range(order.size):
        for r in range(width):
            rows[width * order[c] + r] = ordered[width * c + r]
