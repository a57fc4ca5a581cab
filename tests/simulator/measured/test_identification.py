"""Constants of simulated tosses are found again, and what the data do not tell is refused."""

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import carom

from . import simulated_tosses
from .simulated_tosses import CENTER, FRICTION, GYRATION, MASS, RESTITUTION

TRUTH = {
    **{f"center_of_mass.{axis}": CENTER[k] for k, axis in enumerate("xyz")},
    **{f"inertia.{axis}": MASS * GYRATION[k, k] for k, axis in enumerate("xyz")},
    "friction": FRICTION,
    "restitution": RESTITUTION,
}


@functools.cache
def tosses():
    return simulated_tosses.tosses(18)


@functools.cache
def found():
    return carom.identify(tosses(), simulated_tosses.box(), carom.StrongeCoulomb())


def test_what_was_simulated_is_found_again():
    for name, true in TRUTH.items():
        known = found().values[name]
        width = known.high - known.low
        assert known.low - 0.5 * width <= true <= known.high + 0.5 * width, name
        assert width < (1e-3 if name.startswith("center") else 0.05 * true), name
    gravity = found().values["gravity.z"]
    assert gravity.low - 0.02 < -9.81 < gravity.high + 0.02


def test_the_law_that_was_simulated_reaches_the_floor_and_another_does_not():
    assert np.median(found().error) < 2.0 * np.median(found().floor) < 0.006
    other = carom.ContactModel(carom.AnitescuPotra(), friction=FRICTION, restitution=RESTITUTION)
    assert np.median(other.errors(found().states)) > 5.0 * np.median(found().error)


def test_an_executor_changes_nothing():
    with ThreadPoolExecutor(2) as executor:
        again = carom.identify(
            tosses(), simulated_tosses.box(), carom.StrongeCoulomb(), ["friction"], executor=executor
        )
    alone = carom.identify(tosses(), simulated_tosses.box(), carom.StrongeCoulomb(), ["friction"])
    assert again.values == alone.values


def test_stages_say_what_they_used():
    assert [stage.name for stage in found().stages] == ["flights", "body", "impacts"]
    text = found().summary()
    assert "no law" in text
    assert "friction 0.1" in text


def test_the_body_that_was_found_flies_and_rests():
    body = found().body(simulated_tosses.box())
    np.testing.assert_allclose(body.center_of_mass, CENTER, atol=1e-4)
    assert body.material.friction == pytest.approx(FRICTION, abs=1e-3)


def test_constants_without_effect_are_refused_by_name():
    # Every impact of these slides all the way, so that nothing holds on to be given back.
    rng = np.random.default_rng(5)
    motions = [
        simulated_tosses.measured(simulated_tosses.toss(rng, friction=0.0), rng, name=f"toss {k}")
        for k in range(14)
    ]
    with pytest.raises(carom.UndeterminedError, match="do not determine tangential_stiffness"):
        carom.identify(
            motions, simulated_tosses.box(), carom.CompliantContact(), ["friction", "tangential_stiffness"]
        )


def test_bad_requests_are_one_sentence():
    with pytest.raises(ValueError, match=r"free: expected names among .* for stronge-coulomb, got 'colour'"):
        carom.identify(tosses(), simulated_tosses.box(), carom.StrongeCoulomb(), ["colour"])
    with pytest.raises(ValueError, match="got 'tangential_stiffness'"):
        carom.identify(tosses(), simulated_tosses.box(), carom.StrongeCoulomb(), ["tangential_stiffness"])
    hull = carom.Body(carom.ConvexMesh(carom.Box((0.1,) * 3).core()[0]), mass=1.0)
    with pytest.raises(ValueError, match="corner_radius of a Box only, got a body of shape ConvexMesh"):
        carom.identify(tosses(), hull, carom.StrongeCoulomb(), ["corner_radius"])
    with pytest.raises(
        ValueError, match="flights of at least 8 frames, which tell of gravity, got none in 0"
    ):
        carom.identify([], simulated_tosses.box(), carom.StrongeCoulomb(), ["friction"])
    with pytest.raises(ValueError, match="clean single impacts in at least 5 motions, got"):
        carom.identify(tosses()[:3], simulated_tosses.box(), carom.StrongeCoulomb(), ["friction"])


def test_sliding_has_its_own_friction():
    time = np.arange(60) / simulated_tosses.RATE
    motions = []
    for k, friction in enumerate((0.21, 0.22, 0.23)):
        fall = np.maximum(0.0, 0.12 - 4.905 * time**2)
        slid = np.maximum(0.0, time - np.sqrt(0.12 / 4.905))
        place = np.column_stack([1.5 * time - 4.905 * friction * slid**2, 0 * time, fall])
        motions.append(carom.Measured(time, place, np.tile([1.0, 0, 0, 0], (60, 1)), name=str(k)))
    from carom.simulator.measured.sliding import sliding_friction

    known, used = sliding_friction(motions, (0, 0, 1), 0)
    assert known.value == pytest.approx(0.22, abs=1e-6)
    assert "in 3 motions" in used
    with pytest.raises(ValueError, match="do not determine sliding_friction"):
        sliding_friction([motion.of_body((0, 0, 0), np.eye(3)) for motion in tosses()[:0]], (0, 0, 1), 0)


@pytest.mark.long
def test_intervals_hold_what_was_simulated_in_95_of_100():
    held = dict.fromkeys(TRUTH, 0)
    trials = 200
    for trial in range(trials):
        known = carom.identify(
            simulated_tosses.tosses(30, seed=1000 + trial), simulated_tosses.box(), carom.StrongeCoulomb()
        ).values
        for name, true in TRUTH.items():
            held[name] += known[name].low <= true <= known[name].high
    assert all(0.90 * trials <= count <= 0.99 * trials for count in held.values()), held
