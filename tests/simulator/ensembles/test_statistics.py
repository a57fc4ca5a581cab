"""Estimates against exact values, intervals against how often they hold, sensitivities against closed forms."""

import numpy as np
import pytest

import carom
from carom.simulator.ensembles.statistics import Statistics, variance_shares

GRAVITY = 9.81


def test_estimates_of_known_numbers():
    known = Statistics([1.0, 2.0, 3.0, 4.0, np.nan])
    assert known.missing == 1
    mean = known.mean()
    assert mean.value == 2.5
    # Student's 97.5 % quantile with three degrees of freedom
    assert mean.high - mean.value == pytest.approx(3.182446305284263 * np.sqrt(5.0 / 12.0), rel=1e-12)
    assert known.spread().value == pytest.approx(np.sqrt(5.0 / 3.0))
    assert known.quantile(0.5).value == 2.5
    histogram = known.histogram(bins=[0.0, 2.5, 5.0])
    assert histogram.count.tolist() == [2, 2]
    assert histogram.density.tolist() == [0.2, 0.2]


def covers(estimate, truth):
    return estimate.low <= truth <= estimate.high


@pytest.mark.parametrize("kind", ["normal", "exponential"])
def test_intervals_hold_as_often_as_they_say(kind):
    rng = np.random.default_rng(3)
    counts = np.zeros(3)
    truths = {"normal": (0.0, 1.0, 1.2815515655446004), "exponential": (1.0, 1.0, np.log(10.0))}[kind]
    for _ in range(400):
        known = Statistics(rng.normal(size=300) if kind == "normal" else rng.exponential(size=300))
        found = known.mean(), known.spread(), known.quantile(0.9)
        counts += [covers(one, truth) for one, truth in zip(found, truths, strict=True)]
    assert (counts / 400 > 0.90).all()
    assert (counts / 400 < 0.985).all()


def test_first_passage_counts_those_that_never_pass():
    passage = Statistics([2.0, 1.0, np.nan, 2.0]).first_passage()
    assert passage.time.tolist() == [1.0, 2.0]
    assert passage.share.tolist() == [0.25, 0.75]
    # Clopper and Pearson: the least share with which 1 of 4 has a probability of 2.5 % or more
    assert 1.0 - (1.0 - passage.low[0]) ** 4 == pytest.approx(0.025)
    assert passage.high[1] < 1.0


def test_convergence_ends_at_the_whole_sample():
    values = 1e9 + np.random.default_rng(0).normal(size=500)
    known = Statistics(values)
    settled = known.convergence(points=10)
    assert settled.members[-1] == 500
    assert settled.mean[-1] == pytest.approx(known.mean().value, abs=1e-6)
    assert settled.spread[-1] == pytest.approx(values.std(ddof=1), rel=1e-9)
    half = values[: settled.members[4]]
    assert settled.spread[4] == pytest.approx(half.std(ddof=1), rel=1e-9)


def test_end_density_is_one_in_all():
    places = np.random.default_rng(1).normal(size=(200, 3))
    places[3] = np.nan
    found = carom.end_density(places, bins=12)
    area = np.outer(np.diff(found.x), np.diff(found.y))
    assert (found.density * area).sum() == pytest.approx(1.0)
    with pytest.raises(ValueError, match="position: expected places"):
        carom.end_density(places[:, :2])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Statistics([1.0]).mean(), "values: expected at least 2"),
        (lambda: Statistics(np.ones((2, 2))), "values: expected one number a member"),
        (lambda: Statistics([1.0, 2.0]).quantile(1.5), "q: expected a share"),
        (lambda: Statistics([1.0, 2.0]).mean(confidence=1.0), "confidence: expected a share below 1"),
        (lambda: variance_shares(np.ones(3), np.arange(3.0)), "outcomes: expected at least two starts"),
        (lambda: carom.sobol_design(10, a=(0, 1)), "n: expected a power of two"),
        (lambda: carom.sobol_design(8), "ranges: expected at least one"),
        (lambda: carom.sobol_design(8, a=(1, 0)), "a: expected a range"),
    ],
)
def test_what_has_no_answer_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


# -- sensitivity of a bouncing ball ------------------------------------------------------------------------------


def bounce(member, rng):
    """Time [s] at which a ball that is let go at a height comes to rest, by the engine."""
    material = carom.Material(friction=0.0, restitution=member["restitution"])
    scene = carom.Scene(gravity=(0, 0, -GRAVITY))
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(
        carom.Body(
            carom.Sphere(0.1), density=1000.0, position=(0, 0, 0.1 + member["height"]), material=material
        )
    )
    run = carom.Simulator(scene, carom.SequentialReflection()).run(60.0)
    assert run.status is carom.RunStatus.AT_REST
    return run.rest_time


RANGES = {"height": (0.5, 1.5), "restitution": (0.2, 0.8)}


def indices_of_rest_time():
    """Sobol's indices of sqrt(2 h / g) (1 + e) / (1 - e), a product of functions of one parameter each: with means
    m and mean squares s of both factors, V = s s' - m² m'², V_h = (s - m²) m'²."""
    points, weights = np.polynomial.legendre.leggauss(60)

    def moments(function, low, high):
        x = low + (high - low) * 0.5 * (points + 1.0)
        return (0.5 * weights @ function(x), 0.5 * weights @ function(x) ** 2)

    m, s = moments(lambda h: np.sqrt(2.0 * h / GRAVITY), *RANGES["height"])
    n, t = moments(lambda e: (1.0 + e) / (1.0 - e), *RANGES["restitution"])
    variance = s * t - m**2 * n**2
    first = {"height": (s - m**2) * n**2 / variance, "restitution": (t - n**2) * m**2 / variance}
    return first, {"height": 1.0 - first["restitution"], "restitution": 1.0 - first["height"]}


def test_sensitivities_of_a_bouncing_ball():
    found = carom.ensemble(bounce, carom.sobol_design(256, seed=2, **RANGES), workers=0)
    assert found.good.all()
    exact = np.sqrt(2.0 * found["height"] / GRAVITY) * (1 + found["restitution"]) / (1 - found["restitution"])
    assert np.abs(found["value"] / exact - 1.0).max() < 1e-9
    first, total = indices_of_rest_time()
    sensitivity = found.sensitivity("value")
    for name in RANGES:
        assert covers(sensitivity.first_order[name], first[name]), (name, sensitivity, first)
        assert covers(sensitivity.total_order[name], total[name]), (name, sensitivity, total)
        width = sensitivity.first_order[name].high - sensitivity.first_order[name].low
        assert 0.0 < width < 0.4
    assert first["restitution"] > 0.8


def test_sensitivity_needs_its_design():
    others = carom.ensemble(lambda member, rng: member["a"], {"a": np.arange(4.0)}, workers=0)
    with pytest.raises(ValueError, match="divisible by 3"):
        others.sensitivity("value")


# -- chance in the start and in undecided impacts ----------------------------------------------------------------


def test_shares_of_start_and_outcomes_are_told_apart():
    rng = np.random.default_rng(5)
    starts = np.repeat(np.arange(300.0), 6)
    values = rng.normal(size=300)[starts.astype(int)] * 2.0 + rng.normal(size=1800)
    found = variance_shares(values, starts)
    assert covers(found.share_of_start, 0.8)
    assert found.start == pytest.approx(4.0, rel=0.25)
    assert found.outcomes == pytest.approx(1.0, rel=0.1)


def falling_disks():
    """One disk between two others, struck from above: which is struck first is not decided."""
    material = carom.Material(friction=0.3)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    scene.add(
        carom.Body(
            carom.Box((0.3, 0.3, 0.4)), density=500.0, position=(0, 0, 0.25), velocity=(0, 0, -2.0),
            material=material, name="block",
        )
    )  # fmt: skip
    return scene


def test_an_ensemble_mixes_chance_of_start_and_of_impacts():
    run = carom.SceneRun(carom.SequentialLCP(order="random"), 0.2)
    no_error = carom.perturbed(falling_disks(), members=2, outcomes=8, friction=(0.3, 0.3))
    found = carom.ensemble(run, no_error, workers=0, seed=1)
    assert found.good.all()
    assert len(np.unique(found["orientation"][:8, 1], axis=0)) > 1  # equal starts, different outcomes
    shares = found.variance_shares("orientation", 1, 1)
    assert shares.outcomes > 0.0
    decided = carom.ensemble(
        carom.SceneRun(carom.AnitescuPotra(), 0.2),
        carom.perturbed(falling_disks(), members=3, outcomes=2, velocity=0.1), workers=0, seed=1,
    )  # fmt: skip
    assert decided.variance_shares("position", 1, 0).outcomes == 0.0
    assert decided.variance_shares("position", 1, 0).share_of_start.value == 1.0
    with pytest.raises(ValueError, match=r"members: expected carom.perturbed"):
        carom.ensemble(bounce, carom.grid(height=[1.0], restitution=[0.5]), workers=0).variance_shares(
            "value"
        )


# -- perturbed scenes --------------------------------------------------------------------------------------------


def two_balls(planar=False):
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="floor"))
    for k in range(2):
        scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(0.2 * k, 0, 0.1), name=f"ball-{k}"))
    if planar:
        scene.planar()
    return scene


def test_errors_have_the_spread_that_was_asked_for():
    members = carom.perturbed(
        two_balls(), members=2000, position={"ball-0": (0.0, 1e-3, 0.0)}, velocity=0.5, mass=0.1,
        friction=(0.1, 0.3), orientation=(-0.2, 0.2),
    )  # fmt: skip
    drawn = members.parameters(seed=3)
    assert drawn["ball-0.position"][:, [0, 2]].max() == 0.0
    assert drawn["ball-0.position"][:, 1].std() == pytest.approx(1e-3, rel=0.05)
    assert drawn["velocity"].shape == (2000, 2, 3)
    assert drawn["velocity"].std(axis=0) == pytest.approx(np.full((2, 3), 0.5), rel=0.06)
    assert drawn["mass"].mean() == pytest.approx(1.0, abs=0.01)
    assert 0.1 <= drawn["friction"].min() < drawn["friction"].max() <= 0.3
    scene = members.made(None, 17, 3)
    before = two_balls()
    ball, known = scene.bodies[1], before.bodies[1]
    assert np.array_equal(ball.position - known.position, drawn["ball-0.position"][17])
    assert np.array_equal(scene.bodies[2].velocity, drawn["velocity"][17, 1])
    assert ball.mass == known.mass * drawn["mass"][17]
    assert np.allclose(ball.inertia, known.inertia * drawn["mass"][17], rtol=1e-15)
    assert [body.material.friction for body in scene.bodies] == [drawn["friction"][17]] * 3
    assert before.bodies[1].position[1] == 0.0


def test_errors_cut_off_where_values_make_no_sense():
    drawn = carom.perturbed(two_balls(), members=500, restitution=0.5, friction=1.0).parameters(seed=0)
    assert 0.0 <= drawn["restitution"].min() < drawn["restitution"].max() <= 1.0
    assert drawn["friction"].min() >= 0.0


def test_planar_scenes_stay_in_their_plane():
    members = carom.perturbed(two_balls(planar=True), members=3, position=1e-2, angular_velocity=1.0)
    for index in range(3):
        scene = members.made(None, index, 0)
        assert scene.plane is not None
        for body in scene.bodies[1:]:
            assert body.position[1] == pytest.approx(0.0, abs=1e-18)
            assert body.angular_velocity[[0, 2]].tolist() == [0.0, 0.0]


def test_overlaps_are_parted_only_when_asked():
    run = carom.SceneRun(carom.SequentialReflection(), 0.1)
    plain = carom.ensemble(run, carom.perturbed(two_balls(), members=6, position=1e-3), workers=0)
    assert "raised" in plain.status
    assert any("overlap" in message for _, _, message in plain.failures)
    parted = carom.ensemble(
        run, carom.perturbed(two_balls(), members=6, position=1e-3, part_overlaps=True), workers=0
    )
    assert parted.good.all()


def jointed():
    scene = two_balls()
    scene.add_joint(carom.RevoluteJoint("ball-0", anchor=(0, 0, 0.3), axis=(0, 1, 0)))
    return scene


@pytest.mark.parametrize(
    ("scene", "errors", "error", "words"),
    [
        (two_balls, {"size": 1.0}, ValueError, "size: expected one of position"),
        (two_balls, {"position": -1.0}, ValueError, "position"),
        (two_balls, {"position": {"ball-9": 1.0}}, ValueError, "no body is named"),
        (two_balls, {"velocity": {"floor": 1.0}}, ValueError, "expected a body that can move"),
        (two_balls, {"restitution": (0.5, 1.5)}, ValueError, "expected a range within 0 and 1"),
        (two_balls, {"mass": (0.0, 1.0)}, ValueError, "mass: expected a range"),
        (two_balls, {"friction": 0.0}, ValueError, "above 0"),
        (two_balls, {"members": 0}, ValueError, "members: expected at least 1"),
        (jointed, {"position": 1e-3}, ValueError, "that no joint holds, got 'ball-0'"),
        (lambda: 3, {}, TypeError, "scene: expected a Scene"),
    ],
)
def test_errors_that_cannot_be_made_are_refused(scene, errors, error, words):
    with pytest.raises(error, match=words):
        carom.perturbed(scene(), **errors)


def test_to_pandas_names_components():
    pytest.importorskip("pandas", reason="pandas is not installed")
    found = carom.ensemble(lambda member, rng: {"a": np.arange(2.0)}, 3, workers=0)
    frame = found.to_pandas()
    assert list(frame.columns) == ["status", "message", "computing_time", "a[0]", "a[1]"]
    assert frame["a[1]"].tolist() == [1.0] * 3


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("factor", [2.0**1020, 2.0**-1020])
def test_values_whose_squares_are_no_numbers_have_a_mean_and_a_spread(factor):
    values = np.array([1.0, -2.0, 3.0, 0.5, -3.5])
    one, other = Statistics(values), Statistics(values * factor)
    for name in ("mean", "spread"):
        small, large = getattr(one, name)(), getattr(other, name)()
        assert large.value == small.value * factor
        assert (large.low, large.high) == (small.low * factor, small.high * factor)
    assert other.quantile(0.3).value == one.quantile(0.3).value * factor


@pytest.mark.parametrize("wrong", ["words", [1j], [[1.0], [1.0, 2.0]], [None]])
def test_values_that_are_no_numbers_are_refused(wrong):
    with pytest.raises((TypeError, ValueError), match="values: expected numbers, got"):
        carom.Statistics(wrong)
    with pytest.raises((TypeError, ValueError), match="position: expected numbers, got"):
        carom.end_density(wrong)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_ends_at_one_place_far_away_are_counted():
    """Saved: cells there have no area, and numpy said so."""
    assert carom.end_density(np.full((2, 3), 1e200), bins=4).density.shape == (4, 4)
