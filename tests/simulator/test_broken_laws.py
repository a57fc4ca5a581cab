"""Laws of a user's that break the contract: refused, or the run ends in words that name the law and the promise."""

import re
from dataclasses import replace

import numpy as np
import pytest

import carom
from carom import Body, HalfSpace, ImpactOutcome, ImpactStatus, Material, Scene, Sphere
from carom.impact_laws import ImpactPath
from carom.simulator import RunStatus


class Plain:
    """Frictionless and plastic, of one contact: the right law that the faults are put into."""

    name = "plain"
    honours_friction = False
    honours_restitution = False

    def resolve(self, problem, rng):
        impulse = np.zeros(problem.u.size)
        impulse[0] = max(-problem.u[0] / problem.W[0, 0], 0.0)
        return self.outcome(problem, impulse)

    def outcome(self, problem, impulse):
        return ImpactOutcome.from_stages(problem, impulse[None], ("impact",))


def spoiled(**how):
    """A law whose outcome is right but for some fields, each a value or a function of the outcome."""

    class Spoiled(Plain):
        name = "spoiled"

        def resolve(self, problem, rng):
            outcome = super().resolve(problem, rng)
            changed = {key: value(outcome) if callable(value) else value for key, value in how.items()}
            return replace(outcome, **changed)

    return Spoiled()


def answering(answer, **attributes):
    """A law that answers a problem by a function of it and of the right outcome."""
    known = {"name": "answering", "resolve": lambda self, p, rng: answer(p, Plain.resolve(self, p, rng))}
    return type("Answering", (Plain,), known | attributes)()


def taken(problem, share, friction=0.0):
    """The impulse that takes so many times the approach, said to be resolved whatever it does."""
    impulse = np.zeros(problem.u.size)
    impulse[0] = -share * problem.u[0] / problem.W[0, 0]
    impulse[1] = friction * impulse[0]
    velocity = problem.u + problem.W @ impulse
    path = ImpactPath(np.array([0 * impulse, impulse]), np.array([problem.u, velocity]), ("before", "impact"))
    return ImpactOutcome(impulse, velocity, 0.0, path, ImpactStatus.RESOLVED)


def raising(problem, outcome):
    raise ZeroDivisionError("no such number")


def halved(problem):
    """A problem of bodies twice as heavy, by which no outcome may be judged."""
    return carom.ImpactProblem(0.5 * problem.W, problem.u, problem.friction, problem.restitution, problem.dim)


def writing(problem, outcome):
    problem.kernel_arrays()[1][0] += 1.0
    return outcome


BROKEN = {
    "NaN impulse": (spoiled(impulse=lambda o: o.impulse * np.nan), "answer", "impulse is not finite"),
    "infinite velocity": (spoiled(velocity=lambda o: o.velocity + np.inf), "answer", "velocity is not finite"),
    "unresolved NaN": (
        spoiled(impulse=lambda o: o.impulse * np.nan, status=ImpactStatus.NO_SOLUTION),
        "answer",
        "impulse is not finite",
    ),
    "wrong shape": (
        spoiled(impulse=lambda o: o.impulse[:1]), "answer", r"impulse must have shape \(3,\), got \(1,\)",
    ),
    "texts": (
        spoiled(impulse=lambda o: np.array(["a", "b", "c"])), "answer", "impulse must hold real numbers, got <U1",
    ),
    "no path": (spoiled(path=None), "answer", "path must be an ImpactPath, got NoneType"),
    "short path": (
        spoiled(path=lambda o: replace(o.path, labels=("one",))),
        "answer",
        r"path.impulse must have shape \(1, 3\), got \(2, 3\)",
    ),
    "status": (spoiled(status="resolved"), "answer", "status must be an ImpactStatus, got 'resolved'"),
    "nothing": (answering(lambda p, o: None), "answer", "resolve returned NoneType, not an ImpactOutcome"),
    "array": (answering(lambda p, o: o.impulse), "answer", "resolve returned ndarray, not an ImpactOutcome"),
    "raises": (
        answering(raising),
        "answer",
        r"resolve raised ZeroDivisionError: no such number \(test_broken_laws.py, line \d+\)",
    ),
    "no rng": (
        answering(None, resolve=lambda self, p: None), "answer", "resolve raised TypeError: .* 2 positional",
    ),
    "still approaching": (answering(lambda p, o: taken(p, 0.5)), "approach", "a contact still approaches at"),
    "energy": (answering(lambda p, o: taken(p, 2.5)), "energy", "kinetic energy grows by"),
    "momentum": (
        spoiled(velocity=lambda o: o.velocity + 1e-6), "momentum", r"velocity is off u \+ W impulse by 1e-06 m/s",
    ),
    "pulls": (answering(lambda p, o: taken(p, -1.0)), "cones", "a contact pulls with"),
    "rubs": (
        answering(lambda p, o: taken(p, 1.0, 0.2)), "cones", "friction exceeds its cone by",
    ),
    "rubs too much": (
        answering(lambda p, o: taken(p, 1.0, 0.6), honours_friction=True), "cones", "friction exceeds its cone by",
    ),
    "own coefficients raise": (
        answering(lambda p, o: o, with_own_coefficients=lambda self, p: raising(p, None)),
        "answer",
        r"with_own_coefficients raised ZeroDivisionError: no such number \(test_broken_laws.py, line \d+\)",
    ),
    "own coefficients of nothing": (
        answering(lambda p, o: o, with_own_coefficients=lambda self, p: None),
        "answer",
        "with_own_coefficients returned no ImpactProblem with as many contacts",
    ),
    "own energy": (
        answering(lambda p, o: taken(p, 2.5), with_own_coefficients=lambda self, p: halved(p)),
        "energy",
        "kinetic energy grows by",
    ),
    "writes": (answering(writing), "problem", "the arrays of its problem were written to"),
    "writes to views": (
        answering(lambda p, o: p.u.fill(0.0)), "answer", "resolve raised ValueError: .*read-only",
    ),
}  # fmt: skip


def thrown():
    """A ball that slides along a floor as it meets it."""
    scene = Scene()
    material = Material(friction=0.5)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(Body(Sphere(0.1), mass=2.0, position=(0, 0, 0.5), velocity=(1, 0, 0), material=material))
    return scene


def test_the_law_without_a_fault_runs_to_its_end():
    run = carom.Simulator(thrown(), Plain()).run(1.0)
    assert run.status is RunStatus.REACHED_END
    assert run.events[0].outcome.impulse[0] == pytest.approx(2.0 * (2 * 9.81 * 0.4) ** 0.5)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_promise_ends_the_run_in_words(name, tmp_path):
    law, promise, words = BROKEN[name]
    simulator = carom.Simulator(thrown(), law, record=tmp_path / "run.h5")
    run = simulator.run(1.0)
    assert run.status is RunStatus.LAW_FAILED
    expected = rf'^{law.name} breaks the promise "{promise}" of impact laws: {words}.* at t = 0\.28.* s\. '
    assert re.match(expected, run.message, re.DOTALL), run.message
    for found in (run, carom.Trajectory.load(tmp_path / "run.h5")):
        assert found.events[-1].outcome.status is ImpactStatus.CONTRACT_BROKEN
        assert not found.events[-1].outcome.impulse.any()
        assert np.isfinite(found.sample(found.end_time).packed()).all()
        assert found.message == run.message


def test_a_law_that_stops_half_way_leaves_a_record_that_ends_where_the_run_does(tmp_path):
    """The ledger counted an impulse that the recorded velocities did not have."""

    class Halting(Plain):
        def resolve(self, problem, rng):
            whole = super().resolve(problem, rng).impulse
            return replace(self.outcome(problem, 0.5 * whole), status=ImpactStatus.INACCURATE)

    simulator = carom.Simulator(thrown(), Halting(), record=tmp_path / "run.h5")
    run = simulator.run(1.0)
    assert run.status is RunStatus.LAW_FAILED
    assert run.message.startswith("inaccurate")
    lost = 2.0 * 9.81 * 2.0 * 0.4 * (1.0 - 0.5**2) / 2.0
    for found in (run, carom.Trajectory.load(tmp_path / "run.h5")):
        event = found.events[-1]
        assert event.before.velocity[1, 2] == pytest.approx(-np.sqrt(2 * 9.81 * 0.4))
        assert event.after.velocity[1, 2] == pytest.approx(0.5 * event.before.velocity[1, 2])
        assert np.array_equal(found.sample(found.end_time).packed(), simulator.state.packed())
        ledger = found.ledger(np.linspace(0.0, found.end_time, 11))
        assert np.abs(ledger.residual).max() < 1e-12 * ledger.energy[0]
        assert ledger.impacts[-1] == pytest.approx(-lost)


class Nameless(Plain):
    name = None


class Silent:
    name = "silent"

    def resolve(self, problem, rng):
        raise AssertionError("never asked")


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (Plain, r"law: expected an instance such as Plain\(\), got the class Plain"),
        (Nameless(), 'Nameless breaks the promise "attributes" of impact laws: name must be of type str, got None'),
        (Silent(), "Silent breaks .*: honours_friction must be of type bool, got None"),
        (carom.check_law, "law: expected an impact law such as"),
        (None, "law: expected an impact law such as"),
    ],
)  # fmt: skip
def test_what_is_no_law_is_refused(law, words):
    with pytest.raises(TypeError, match=words):
        carom.Simulator(thrown(), law)


def test_a_law_in_a_branch_is_looked_at_too():
    law = BROKEN["energy"][0]
    tree = carom.Simulator(thrown(), law).branches(2, seed=0, until=1.0)
    assert tree.trajectories[0].message.startswith('answering breaks the promise "energy"')


def test_a_state_that_is_not_finite_is_no_good_end():
    """Nothing collides; the ball leaves the range of numbers by itself."""
    scene = Scene(gravity=(0, 0, 1e300))
    scene.add(Body(Sphere(0.1), mass=1.0))
    run = carom.Simulator(scene, Plain()).run(1e9)
    assert run.status is RunStatus.NOT_FINITE
    assert "has no finite state at t = 1000000000.0 s" in run.message
