"""Problems shared by the tests of this room."""

import numpy as np
import pytest

from carom.demos import impact_examples
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
    return impact_examples.rocking_block().problem


@pytest.fixture(scope="session")
def box_and_wall():
    return impact_examples.box_and_wall().problem


@pytest.fixture(scope="session")
def compass_gait():
    """Contact 0 is the resting trailing foot, contact 1 the leading one."""
    return impact_examples.compass_gait().problem
