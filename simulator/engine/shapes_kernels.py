"""Shapes of bodies as the collision kernels read them, and pieces of motion as these do."""

import numpy as np

from ...compiled import kernel, matrix_at, rows_at
from ..collision.collision_shape import CollisionShape
from ..kernels import TERMS, vector
from .flight_kernels import slot_of
from .tables_kernels import (
    BALLISTIC,
    FLOAT,
    SERIES,
    STILL,
    WHOLE,
    bodies,
    coefficients,
    header,
    motions,
    shapes,
)

_floats, _wholes = rows_at(np.dtype(FLOAT)), rows_at(np.dtype(WHOLE))
_vectors, _pairs = rows_at(np.dtype(FLOAT), (3,)), rows_at(np.dtype(WHOLE), (2,))
_matrix = matrix_at(np.dtype(FLOAT))
_WORD = 8


@kernel(allocates=True, lends=True)
def float_numbers(address, first, count):
    """Part of a pool of floats."""
    return _floats(address + _WORD * first, count)


@kernel(allocates=True, lends=True)
def float_matrix(address, rows, columns):
    """A matrix at the start of a pool of floats."""
    return _matrix(address, rows, columns)


@kernel(lends=True)
def shape_of(world, body):
    """The collision shape of a body."""
    w = header(world)
    s = shapes(world)[bodies(world)[body].shape]
    return CollisionShape(
        _vectors(w.points + 3 * _WORD * s.points[0], s.points[1]),
        _vectors(w.normals + 3 * _WORD * s.normals[0], s.normals[1]),
        _vectors(w.edges + 3 * _WORD * s.edges[0], s.edges[1]),
        _pairs(w.edge_ends + 2 * _WORD * s.edges[0], s.edges[1]),
        _pairs(w.edge_faces + 2 * _WORD * s.edges[0], s.edges[1]),
        _wholes(w.face_starts + _WORD * s.faces[0], s.faces[1]),
        _wholes(w.face_corners + _WORD * s.corners[0], s.corners[1]),
        s.disk,
        s.radius,
        s.reach,
        s.semi_axes,
    )


@kernel(allocates=True, lends=True)
def piece_of(world, body):
    """Coefficients (rows, TERMS) of a body's piece, as the searches read them; of a ball or body at rest too."""
    m = motions(world)[body]
    if m.kind >= SERIES:
        return coefficients(world)[m.slot]
    slot = slot_of(world, body)
    m = motions(world)[body]
    C = coefficients(world)[slot]
    for i in range(13):
        for k in range(TERMS):
            C[i, k] = 0.0
        C[i, 0] = m.state[i]
    if m.kind == BALLISTIC:  # how a ball is turned does not matter to what it meets
        for i in range(3):
            C[i, 1], C[i, 2] = m.state[7 + i], 0.5 * m.acceleration[i]
            C[7 + i, 1] = m.acceleration[i]
            C[10 + i, 0] = 0.0
    return C


@kernel(allocates=True)
def bounds_of(world, body):
    """Bounds (5,) of a body's piece, as `motion_bounds` gives them."""
    bounds = vector(5)
    fill_bounds(world, body, bounds)
    return bounds


@kernel()
def fill_bounds(world, body, bounds):
    """Fill bounds (5,) with those of a body's piece."""
    m = motions(world)[body]
    for i in range(3):
        bounds[i] = m.acceleration[i] if m.kind != STILL else 0.0
    bounds[3], bounds[4] = m.deviation, m.turning


@kernel()
def copy_piece(world, body, C, bounds):
    """Fill C (13, TERMS) and bounds (5,) with those of a body's piece."""
    piece = piece_of(world, body)
    for i in range(13):
        for k in range(TERMS):
            C[i, k] = piece[i, k]
    fill_bounds(world, body, bounds)
