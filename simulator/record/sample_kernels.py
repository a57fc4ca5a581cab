"""Where bodies are on recorded pieces of motion."""

from ...compiled import kernel
from ..engine.flight_kernels import state_on_piece
from ..engine.tables_kernels import SERIES
from ..kernels import TERMS, free_piece_into, matrix


@kernel()
def fill_piece(kind, state, acceleration, terms, numbers, first, inertia, inverse_inertia, C):
    """Fill coefficients C (13, TERMS) of a piece from its row, and its numbers from the `first` on."""
    for i in range(13):
        for k in range(TERMS):
            C[i, k] = 0.0
    if terms > 0:
        for i in range(13):
            for k in range(terms):
                C[i, k] = numbers[first + i * terms + k]
    elif kind == SERIES:
        free_piece_into(state, acceleration, inertia, inverse_inertia, C)


@kernel(allocates=True)
def states_on_pieces(number, body, rows, first, numbers, tau, inertia, inverse_inertia, out):
    """Fill out (k, 13) with packed states `tau` (k,) seconds after the start of pieces.

    number (k,): which of the pieces each is of; body, rows, first: of each piece, its body, its row and where its
    numbers begin.
    """
    C = matrix(13, TERMS)
    filled = -1
    for k in range(number.size):
        n = number[k]
        row = rows[n]
        if n != filled:
            b = body[n]
            fill_piece(
                row.kind,
                row.state,
                row.acceleration,
                row.terms,
                numbers,
                first[n],
                inertia[b],
                inverse_inertia[b],
                C,
            )
            filled = n
        terms = row.terms if row.terms > 0 else TERMS
        state_on_piece(row.kind, row.state, row.acceleration, C, terms, tau[k], out[k])
