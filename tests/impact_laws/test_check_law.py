"""What `check_law` says of carom's laws, and of laws with a planted fault."""

import doctest
import importlib

import numpy as np
import pytest

import carom
from carom import ImpactOutcome, ImpactStatus
from carom.impact_laws import law_by_name, law_names


@pytest.mark.parametrize("name", law_names())
def test_our_laws_keep_the_contract(name):
    report = carom.check_law(law_by_name(name), problems=120, seed=1)
    assert report.ok, str(report)
    assert report.resolved >= 0.8 * report.problems


class Plastic:
    """Frictionless and right: the one law that the planted faults are put into."""

    name = "plastic"
    honours_friction = False
    honours_restitution = False

    def impulse(self, problem):
        normal = carom.impact_laws.solve_lcp(
            problem.W[:: problem.dim, :: problem.dim], problem.normal_velocity
        )
        impulse = np.zeros(problem.u.size)
        impulse[:: problem.dim] = normal.z
        return impulse

    def resolve(self, problem, rng=None):
        return ImpactOutcome.from_stages(problem, self.impulse(problem)[None], ("impact",))


class Unbalanced(Plastic):
    def resolve(self, problem, rng=None):
        outcome = super().resolve(problem, rng)
        outcome.velocity[0] *= 1.0 + 1e-6
        return outcome


class Gaining(Plastic):
    """Twice and a half what stops it: says that it is resolved whatever that does."""

    def resolve(self, problem, rng=None):
        impulse = 2.5 * self.impulse(problem)
        velocity = problem.u + problem.W @ impulse
        outcome = super().resolve(problem, rng)
        return ImpactOutcome(impulse, velocity, 0.0, outcome.path, ImpactStatus.RESOLVED)


class Half(Plastic):
    def resolve(self, problem, rng=None):
        impulse = 0.5 * self.impulse(problem)
        outcome = super().resolve(problem, rng)
        return ImpactOutcome(
            impulse, problem.u + problem.W @ impulse, 0.0, outcome.path, ImpactStatus.RESOLVED
        )


class Rubbing(Plastic):
    """Uses friction, though it says that it honours none."""

    def impulse(self, problem):
        impulse = super().impulse(problem)
        impulse[1 :: problem.dim] = (
            -0.1 * problem.friction * impulse[:: problem.dim] * np.sign(problem.u[1 :: problem.dim])
        )
        return impulse


class Sticky(Plastic):
    def impulse(self, problem):
        return super().impulse(problem) - 1e-3


class Moody(Plastic):
    def __init__(self):
        self.calls = 0

    def resolve(self, problem, rng=None):
        self.calls += 1
        impulse = self.impulse(problem)
        return ImpactOutcome.from_stages(problem, impulse[None] * (1.0 + 1e-9 * self.calls), ("impact",))


class Writing(Plastic):
    def resolve(self, problem, rng=None):
        outcome = super().resolve(problem, rng)
        problem.kernel_arrays()[1][0] += 1.0
        return outcome


class Nan(Plastic):
    def resolve(self, problem, rng=None):
        outcome = super().resolve(problem, rng)
        return ImpactOutcome(
            outcome.impulse * np.nan, outcome.velocity, 0.0, outcome.path, ImpactStatus.RESOLVED
        )


class Raising(Plastic):
    def resolve(self, problem, rng=None):
        raise ZeroDivisionError("no")


class Nameless(Plastic):
    name = None


class Wrong(Plastic):
    def resolve(self, problem, rng=None):
        return self.impulse(problem)


class Short(Plastic):
    def resolve(self, problem, rng=None):
        outcome = super().resolve(problem, rng)
        return ImpactOutcome(outcome.impulse[:1], outcome.velocity, 0.0, outcome.path, ImpactStatus.RESOLVED)


class Busy(Plastic):
    """Rubs against what separates by itself, where friction loses more energy than the push gains."""

    honours_friction = True

    def impulse(self, problem):
        impulse = super().impulse(problem)
        slip = problem.u[1 :: problem.dim]
        gain = problem.normal_velocity - problem.friction * np.abs(slip)
        contact = int(np.argmin(gain))
        if problem.normal_velocity.min() > 0.0 and gain[contact] < 0.0:
            push = -1e-3 * gain[contact] / problem.W.diagonal().max()
            impulse[problem.dim * contact] = push
            impulse[problem.dim * contact + 1] = -problem.friction[contact] * push * np.sign(slip[contact])
        return impulse


def test_the_law_without_a_fault_has_none():
    assert carom.check_law(Plastic()).ok


@pytest.mark.parametrize(
    ("law", "promise", "words"),
    [
        (Unbalanced, "momentum", "off u + W impulse"),
        (Gaining, "energy", "kinetic energy grows"),
        (Half, "approach", "a contact still approaches"),
        (Rubbing, "cones", "friction exceeds its cone"),
        (Sticky, "cones", "a contact pulls"),
        (Moody, "repeats", "gave another outcome"),
        (Writing, "problem", "were written to"),
        (Nan, "answer", "not finite"),
        (Raising, "answer", "resolve raised ZeroDivisionError: no"),
        (Nameless, "attributes", "name must be of type str"),
        (Wrong, "answer", "resolve returned ndarray"),
        (Short, "answer", "must have shape"),
        (Busy, "at rest", "separating contacts are given an impulse"),
    ],
)
def test_a_planted_fault_is_named(law, promise, words):
    report = carom.check_law(law())
    assert not report.ok
    assert words in report.broken[promise]
    assert promise in str(report)
    assert (report.cases[promise] is None) == (promise == "attributes")


def test_what_is_no_law_is_named():
    with pytest.raises(TypeError, match="the class StrongeCoulomb, not an instance"):
        carom.check_law(carom.StrongeCoulomb)
    with pytest.raises(TypeError, match="an object with a method resolve"):
        carom.check_law(3)
    with pytest.raises(ValueError, match="problems must be at least 1"):
        carom.check_law(Plastic(), problems=0)


def test_example_of_the_docstring():
    module = importlib.import_module("carom.impact_laws.check_law")
    assert doctest.testmod(module, extraglobs={"carom": carom}) == (0, 1)
