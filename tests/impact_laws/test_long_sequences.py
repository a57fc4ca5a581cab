"""Impacts that sequential laws resolve in very many single ones: tall stacks, whose paths are thinned."""

import numpy as np
import pytest

from carom import ImpactProblem, SequentialLCP, StrongeCoulomb
from carom.impact_laws.outcome import LONGEST_PATH, ImpactOutcome


def tower(height):
    """Boxes of mass 1 on each other, two contacts between neighbours in the plane, all falling with 1 m/s."""
    width, thickness = 1.0, 0.5
    inertia = (width**2 + thickness**2) / 12
    rows = np.zeros((4 * height, 3 * height))
    for level in range(height):
        for side in range(2):
            x = width * (side - 0.5)
            for body, sign, y in ((level, 1.0, -thickness / 2), (level - 1, -1.0, thickness / 2)):
                if body < 0:
                    continue
                c, k = 2 * (2 * level + side), 3 * body
                rows[c, k : k + 3] = sign * np.array([0.0, 1.0, x])
                rows[c + 1, k : k + 3] = sign * np.array([1.0, 0.0, -y])
    mass = np.tile([1.0, 1.0, inertia], height)
    velocity = np.tile([0.3, -1.0, 0.1], height)
    return ImpactProblem.from_generalized(np.diag(mass), rows, velocity, friction=0.5, restitution=0.0, dim=2)


@pytest.mark.parametrize("law", [StrongeCoulomb(), SequentialLCP()], ids=lambda law: law.name)
def test_a_tower_comes_to_an_end(law):
    problem = tower(8)
    outcome = law.resolve(problem)
    assert outcome.resolved, outcome.message
    assert len(outcome.info["sequence"]) > 1000
    assert len(outcome.path) <= LONGEST_PATH + 1
    assert np.array_equal(outcome.path.impulse[-1], outcome.impulse)
    assert (np.diff(outcome.path.impulse[:, 0::2].sum(axis=1)) >= -1e-12).all()


def test_long_paths_keep_their_ends():
    problem = tower(2)
    count = 3 * LONGEST_PATH
    stages = np.outer(np.linspace(0, 1, count), np.tile([1e-3, 0.0], 4))
    labels = [f"stage {k}" for k in range(count)]
    outcome = ImpactOutcome.from_stages(problem, stages, labels)
    assert len(outcome.path) == LONGEST_PATH + 1
    assert outcome.path.labels[0] == "before impact"
    assert outcome.path.labels[1] == "stage 0"
    assert outcome.path.labels[-1] == f"stage {count - 1}"
    assert np.array_equal(outcome.impulse, stages[-1])
