"""Problems shared by the tests of this room."""

import numpy as np
import pytest

from carom.impact_laws import ImpactProblem


def _row_of_balls(masses, velocities, restitution=1.0):
    """Touching balls on a line; contact i lies between ball i and ball i + 1."""
    count = len(masses)
    J = np.zeros((2 * (count - 1), count))
    for contact in range(count - 1):
        J[2 * contact, contact : contact + 2] = -1.0, 1.0
    return ImpactProblem.from_generalized(
        np.diag(np.asarray(masses, dtype=float)), J, velocities, restitution=restitution, dim=2
    )


def _random_problem(rng, kind, dim):
    """One impact whose contacts leave a separating motion, so that every law can resolve it."""
    contacts = int(rng.integers(1, 6))
    freedoms = {"rank_deficient": int(rng.integers(1, 4))}.get(kind, dim * contacts + 2)
    J = rng.normal(size=(dim * contacts, freedoms))
    separating = rng.normal(size=freedoms)
    normals = J[::dim]
    normals[normals @ separating < 0.0] *= -1.0
    mass = np.ones(freedoms)
    if kind == "badly_scaled":
        mass = 10.0 ** rng.uniform(-4, 4, size=freedoms)
    if kind == "duplicated":
        J = np.vstack([J, J[:dim], J[:dim]])
        contacts += 2
    v = rng.normal(size=freedoms) - separating
    if rng.random() < 0.2:
        v = np.round(v)
    return ImpactProblem.from_generalized(
        np.diag(mass),
        J,
        v,
        friction=rng.choice([0.0, 0.3, 1.0, 3.0], size=contacts),
        restitution=rng.choice([0.0, 0.5, 0.9, 1.0], size=contacts) if rng.random() < 0.7 else 1.0,
        dim=dim,
    )


@pytest.fixture(scope="session")
def row_of_balls():
    return _row_of_balls


@pytest.fixture(scope="session")
def random_problem():
    return _random_problem


@pytest.fixture(scope="session")
def rocking_block():
    """Width 1, height 2, mass 1, flat on the floor, falling: four rows on three freedoms."""
    J = [[0, 1, -0.5], [1, 0, 1], [0, 1, 0.5], [1, 0, 1]]
    v = [0, -np.sqrt(2 * 9.81 * 0.01), 0]
    return ImpactProblem.from_generalized(np.diag([1, 1, 5 / 12]), J, v, friction=1.0, dim=2)


@pytest.fixture(scope="session")
def box_and_wall():
    """Unit square of mass 1 at 80 degrees, one corner on the floor, one on the wall to its right, moving
    right."""
    turn = np.radians(80.0)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    corners = np.array([[x, y] for x in (-0.5, 0.5) for y in (-0.5, 0.5)]) @ rotation.T
    floor = corners[np.argmin(corners[:, 1])]
    wall = corners[np.argmax(corners[:, 0])]
    J = []
    for (x, y), normal, tangent in ((floor, (0, 1), (1, 0)), (wall, (-1, 0), (0, 1))):
        for direction in (normal, tangent):
            J.append([*direction, x * direction[1] - y * direction[0]])
    return ImpactProblem.from_generalized(np.diag([1, 1, 1 / 6]), J, [1.0, 0, 0], friction=1.0, dim=2)


@pytest.fixture(scope="session")
def compass_gait():
    """Two legs at 78 degrees from the vertical; contact 0 is the resting trailing foot, contact 1 the leading
    one."""
    legs = np.radians([78.0, -78.0])
    M, J = np.zeros((4, 4)), []
    for leg, angle in enumerate(legs):
        foot = np.eye(2, 4)
        foot[:, 2 + leg] = np.cos(angle), np.sin(angle)
        middle = np.eye(2, 4)
        middle[:, 2 + leg] = 0.5 * np.cos(angle), 0.5 * np.sin(angle)
        M += middle.T @ middle
        J += [foot[1], foot[0]]
    v = [-0.25 * np.cos(legs[0]), -0.25 * np.sin(legs[0]), 0.25, 0.25]
    return ImpactProblem.from_generalized(M, J, v, friction=5.0, dim=2)
