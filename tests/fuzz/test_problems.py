"""Impact problems that nobody means, and every law's answer: finite, with a status, never an error of another."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from carom import ImpactProblem
from carom.impact_laws import law_by_name, law_names

from .harness import HOSTILE_NUMBERS, LONGEST, assert_ours, few, go_on, silence, within

LAWS = {name: law_by_name(name) for name in law_names()}
HARSH = st.sampled_from(HOSTILE_NUMBERS) | st.floats(-1e3, 1e3)
SCALE = st.sampled_from((1.0, 1.0, 1.0, 1e-150, 1e-30, 1e-8, 1e8, 1e30, 1e150))


@st.composite
def arguments(draw):
    """What ImpactProblem is given: mostly well shaped, sometimes harshly scaled, rank-deficient, or nonsense."""
    count, dim = draw(st.integers(1, 3)), draw(st.sampled_from((2, 3)))
    size = count * dim
    rank = draw(st.integers(1, size + 1))
    numbers = st.floats(-2.0, 2.0)
    half = np.array(draw(st.lists(numbers, min_size=size * rank, max_size=size * rank))).reshape(size, rank)
    with np.errstate(all="ignore"):
        W = half @ half.T * draw(SCALE)
        u = np.array(draw(st.lists(numbers, min_size=size, max_size=size))) * draw(SCALE)
    friction = draw(st.sampled_from((0.0, 0.3, 1.0, 1e6, 1e300)) | HARSH)
    restitution = draw(st.sampled_from((0.0, 0.5, 1.0)) | HARSH)
    if draw(st.integers(0, 9)) == 0:
        W[draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))] = draw(HARSH)
    if draw(st.integers(0, 9)) == 0:
        u[draw(st.integers(0, size - 1))] = draw(HARSH)
    return {"W": W, "u": u, "friction": friction, "restitution": restitution, "dim": dim}


def problem(given, law):
    """A problem is refused in our words, or has an answer that can be used."""
    with within(LONGEST), silence():
        try:
            made = ImpactProblem(**given)
        except (ValueError, TypeError) as error:
            assert_ours(error)
            return
        outcome = LAWS[law].resolve(made, np.random.default_rng(0))
        assert outcome.impulse.shape == outcome.velocity.shape == made.u.shape
        assert np.isfinite(outcome.impulse).all(), (law, outcome)
        assert outcome.resolved or outcome.status.advice
        if outcome.resolved:
            assert not math.isnan(outcome.energy_change)


def drawn():
    return {"given": arguments(), "law": st.sampled_from(sorted(LAWS))}


def test_problems_are_refused_or_answered():
    few(problem, drawn(), 300)


@pytest.mark.long
def test_problems_are_refused_or_answered_for_long():
    assert go_on(problem, drawn()) > 0
