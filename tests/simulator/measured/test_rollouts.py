"""Constants from ends of whole tosses: found again where tosses are simulated, refused where ends do not tell."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import carom
from carom.simulator.measured.rollouts import _lowest
from carom.simulator.measured.whole_tosses import run_tosses

from . import simulated_tosses
from .simulated_tosses import FRICTION, RESTITUTION


@cache
def tosses() -> list[carom.Measured]:
    return simulated_tosses.tosses(9, seed=3, duration=0.8)


@cache
def found() -> carom.Identification:
    return carom.identify(tosses(), simulated_tosses.box(), carom.StrongeCoulomb())


def off(**constants) -> carom.Identification:
    """What was found, with other constants."""
    return replace(found(), model=found().model.with_values(constants))


def rollouts(start: carom.Identification, free, **options) -> carom.Identification:
    return carom.identify_on_rollouts(start, tosses(), simulated_tosses.box(), free, **options)


def test_the_lowest_place_of_a_paraboloid_is_found_in_the_box_and_at_its_border():
    places = 2.0 * np.random.default_rng(0).random((40, 2)) - 1.0
    for low in ([0.3, -0.4], [0.3, -1.5]):
        apart = places - low
        loss = 3.0 + 2.0 * apart[:, 0] ** 2 + 3.0 * apart[:, 1] ** 2 + apart[:, 0] * apart[:, 1]
        # At the border, the first place is where the slope along it vanishes.
        expected = low if low[1] > -1.0 else [0.3 - 0.25 * 0.5, -1.0]
        best, rise, misfit = _lowest(places, loss)
        np.testing.assert_allclose(best, expected, atol=2e-3)
        assert misfit < 5e-3
        along = np.maximum(np.abs(best - [-1.0, -1.0]), np.abs(best - [1.0, 1.0]))
        assert rise[0] == pytest.approx(2.0 * along[0] ** 2, rel=0.02)


def test_friction_that_is_off_is_brought_back_by_the_ends_of_tosses():
    start = off(friction=1.1 * FRICTION)
    with ThreadPoolExecutor(2) as executor:
        better = rollouts(start, ["friction"], executor=executor)
    assert [stage.name for stage in better.stages] == ["flights", "body", "impacts", "roll-outs"]
    known = better.stages[-1].found["friction"]
    assert known.low < known.value < known.high
    assert known.value == pytest.approx(FRICTION, rel=0.02)
    assert better.model.friction == known.value
    before, after = (
        run_tosses(one, tosses(), simulated_tosses.box(), seed=None).settled for one in (start, better)
    )
    assert np.median(after[:, 0]) < 0.3 * np.median(before[:, 0])
    together = np.hypot(after[:, 0], better.impacts.lever * after[:, 1])
    assert better.stages[-1].residual.value == pytest.approx(np.median(together), rel=1e-12)
    assert f"median residual {np.median(together):.4f} m (" in better.summary()


@pytest.mark.long
def test_two_constants_that_are_off_are_brought_back():
    start = off(friction=1.1 * FRICTION, restitution=0.9 * RESTITUTION)
    better = rollouts(start, ["friction", "restitution"])
    assert better.model.friction == pytest.approx(FRICTION, rel=0.02)
    assert better.model.restitution == pytest.approx(RESTITUTION, rel=0.05)


def test_constants_that_ends_do_not_move_are_refused_by_name():
    # Of so small an exponent a fifth changes no restitution by more than a millionth.
    with pytest.raises(carom.UndeterminedError, match="do not determine speed_exponent within 20%"):
        rollouts(off(speed_exponent=1e-6), ["speed_exponent"])


@pytest.mark.parametrize(
    ("free", "options", "words"),
    [
        (
            ["mass"],
            {},
            "free: expected names among friction, restitution, .*sliding_friction for stronge-coulomb",
        ),
        ([], {}, "free: expected constants that are above zero"),
        (["speed_exponent"], {}, "free: expected constants that are above zero, got {'speed_exponent': 0.0}"),
        (["friction"], {"span": 1.0}, "span: expected a share between 0 and 1, got 1.0"),
        (["friction"], {"span": 0.0}, "span: expected a share between 0 and 1, got 0.0"),
    ],
)
def test_bad_requests_are_one_sentence(free, options, words):
    with pytest.raises(ValueError, match=f"^{words}"):
        rollouts(found(), free, **options)


def test_runs_that_do_not_get_to_the_last_frame_are_refused_with_the_reason():
    # This law knows one contact only, so every toss that lands on an edge or a face ends there.
    start = replace(found(), model=carom.ContactModel(carom.CompliantContact(), FRICTION, RESTITUTION))
    errors = run_tosses(start, tosses(), simulated_tosses.box(), seed=None)
    assert len(errors.refused) + len(errors.toss) == len(tosses())
    assert len(errors.refused) > 0.5 * len(tosses())
    assert all("the law knows one contact" in why for why in errors.refused.values())
    with pytest.raises(ValueError, match="expected at least 5 tosses that run to their last frame"):
        rollouts(start, ["friction"])


def test_friction_of_impacts_above_that_of_sliding_breaks_no_promise():
    # Outcomes were judged by the friction of materials: such runs ended as law_failed at their first impact.
    law = off(friction=2.0 * FRICTION).model.as_law(simulated_tosses.MASS)
    report = carom.check_law(law, problems=60)
    assert report.ok, report
    assert report.resolved > 0
    errors = run_tosses(
        off(friction=2.0 * FRICTION), tosses()[:2], simulated_tosses.box(), FRICTION, seed=None
    )
    assert not errors.refused
