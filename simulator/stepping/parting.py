"""Grown shapes that overlap are parted in their places, not by speeds, which would be kept.

What is asked for is a share of each overlap, and that no contact closes by more than the gap that it has left
after the step: a frictionless problem of small ways instead of velocities. It need not be solved well, since the
next step parts what is left.
"""

import copy

import numpy as np
from numpy.typing import NDArray

from ...impact_laws import ContactNetwork, MaximumDissipation

Array = NDArray[np.float64]

SHARE = 0.3
"""Of an overlap, that a step parts."""
LEFT = 1e-6
"""Of the skins of two bodies, by which they may overlap for ever, so that rounding moves nothing."""
SOLVER = MaximumDissipation(tolerance=0.05, max_sweeps=30)


def parting_ways(
    network: ContactNetwork, gaps: Array, left: Array, velocity: Array, span: float
) -> Array | None:
    """By how much each body is to be moved [m] and turned [rad], (moving, 6) in world axes; None where nothing
    overlaps by more than may be left.

    gaps, left : (nc,) [m], of the grown shapes at the contacts of the network, and by what they may overlap
    velocity : (moving, 6) at which bodies go on for a `span` [s]
    """
    if not (gaps < -left).any():
        return None
    room = np.where(gaps < 0.0, gaps, gaps + span * network.contact_velocity(velocity)[:, 0])
    ways = copy.copy(network)
    ways.velocity, ways.friction = np.zeros_like(network.velocity), np.zeros_like(network.friction)
    ways.slack = np.where(room < 0.0, SHARE * room, room) / span
    moved: Array = span * SOLVER.resolve_network(ways).velocity
    return moved


def move(states: Array, ways: Array) -> None:
    """Move and turn bodies in packed states (n, 13) by these ways (n, 6); velocities stay, those of turning in the
    bodies' own axes."""
    states[:, :3] += ways[:, :3]
    turn, half = states[:, 3:7].copy(), 0.5 * ways[:, 3:]
    states[:, 3] -= np.einsum("bi,bi->b", half, turn[:, 1:])
    states[:, 4:7] += turn[:, :1] * half + np.cross(half, turn[:, 1:])
    states[:, 3:7] /= np.linalg.norm(states[:, 3:7], axis=1, keepdims=True)
