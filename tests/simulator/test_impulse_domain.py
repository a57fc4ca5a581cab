"""Runs over s = t + accumulated normal impulse, against closed forms."""

import numpy as np
import pytest

import carom
from carom import Body, Box, HalfSpace, Material, Scene, Sphere

GRAVITY, MASS, RESTITUTION, HEIGHT = 9.81, 2.0, 0.8, 0.9
FALL = (2.0 * HEIGHT / GRAVITY) ** 0.5
SPEED = GRAVITY * FALL


def ball(restitution=RESTITUTION, until=5.5):
    """A ball that falls by HEIGHT onto a floor."""
    material = Material(friction=0.0, restitution=restitution)
    scene = Scene(gravity=(0, 0, -GRAVITY))
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(Body(Sphere(0.1), mass=MASS, position=(0, 0, 0.1 + HEIGHT), material=material, name="ball"))
    return carom.Simulator(scene, carom.SequentialReflection()).run(until)


@pytest.fixture(scope="module")
def run():
    return ball()


@pytest.fixture(scope="module")
def domain(run):
    return run.over_impulse()


def bounce(k):
    """Time of the k-th impact from 0, and the normal impulse before it."""
    time = FALL + 2.0 * FALL * sum(RESTITUTION**i for i in range(1, k + 1))
    return time, sum(MASS * SPEED * RESTITUTION**i * (1.0 + RESTITUTION) for i in range(k))


@pytest.mark.parametrize("k", range(6))
def test_a_bouncing_ball_goes_straight_through_each_impact(domain, k):
    time, before = bounce(k)
    into = SPEED * RESTITUTION**k
    width = MASS * into * (1.0 + RESTITUTION)
    assert domain.event_s[k] == pytest.approx([time + before, time + before + width], rel=1e-12)
    assert domain.s(domain.time(time + before), "left") == pytest.approx(time + before, rel=1e-12)
    share = np.linspace(1e-9, 1.0 - 1e-9, 9)
    within = domain.sample(time + before + share * width)
    assert within.time == pytest.approx(np.full(9, time), rel=1e-13)
    assert within.position[:, 1, 2] == pytest.approx(np.full(9, 0.1), abs=1e-12)
    assert within.velocity[:, 1, 2] == pytest.approx(-into + share * width / MASS, rel=1e-9)
    # half way up to the top of the next arc
    late = 0.5 * into * RESTITUTION / GRAVITY
    state = domain.sample(time + before + width + late)
    assert state.time == pytest.approx(time + late, rel=1e-12)
    assert state.velocity[1, 2] == pytest.approx(0.5 * into * RESTITUTION, rel=1e-9)


def test_infinitely_many_bounces_and_rest_are_in_s(run, domain):
    """All the impulse there is is what gravity asks for: the ball starts and ends at rest."""
    rest = FALL * (1.0 + 2.0 * RESTITUTION / (1.0 - RESTITUTION))
    assert run.rest_time == pytest.approx(rest, rel=1e-9)
    assert domain.left_out == ()
    assert domain.s(run.rest_time) == pytest.approx(rest * (1.0 + MASS * GRAVITY), rel=1e-9)
    assert domain.end == pytest.approx(5.5 * (1.0 + MASS * GRAVITY), rel=1e-12)
    times = np.linspace(run.rest_time, 5.5, 5)[1:]
    assert domain.time(domain.s(times)) == pytest.approx(times, rel=1e-12)
    assert domain.sample(domain.end).time == pytest.approx(5.5, rel=1e-14)


def test_velocity_is_continuous_and_time_rises(domain):
    s = np.linspace(domain.start, domain.end, 20_001)
    states = domain.sample(s)
    assert (np.diff(states.time) >= 0.0).all()
    step = s[1] - s[0]
    # over s velocity changes by 1/m, or by g where time goes on
    assert np.abs(np.diff(states.velocity[:, 1, 2])).max() < 1.001 * max(1.0 / MASS, GRAVITY) * step + 1e-9
    assert np.abs(np.diff(states.position[:, 1, 2])).max() < 1.001 * SPEED * step
    assert (domain.s(states.time, "left") <= s + 1e-9).all()
    assert (domain.s(states.time, "right") >= s - 1e-9).all()


def test_several_contacts_at_once_share_one_stretch():
    """A ball hits two others that touch two walls: five contacts, of which the sum counts."""
    scene = Scene(gravity=(0, 0, 0))
    material = Material(friction=0.0)
    scene.add(Body(HalfSpace((1, 0, 0)), fixed=True, material=material))
    for k, speed in enumerate((0.0, 0.0, -3.0)):
        place = (0.1 + 0.2 * k + (0.3 if speed else 0.0), 0, 0)
        scene.add(Body(Sphere(0.1), mass=1.0, position=place, velocity=(speed, 0, 0), material=material))
    run = carom.Simulator(scene, carom.AnitescuPotra()).run(1.0, stop_at_rest=False)
    assert len(run.events[0].contacts) == 3
    domain = run.over_impulse()
    (before, after) = domain.event_s[0]
    assert (before, after) == pytest.approx((0.1, 0.1 + 9.0), rel=1e-12)  # 3 N s each
    half = domain.sample(0.5 * (before + after))
    assert half.velocity[:, 0] == pytest.approx([0, 0, 0, -1.5], abs=1e-12)
    assert half.time == pytest.approx(0.1, rel=1e-13)


def test_impacts_of_one_instant_come_one_after_the_other():
    """Two balls far from each other land at once, and each event has its own stretch."""
    scene = Scene(gravity=(0, 0, -GRAVITY))
    material = Material(friction=0.0, restitution=1.0)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    for k, mass in enumerate((1.0, 3.0)):
        scene.add(Body(Sphere(0.1), mass=mass, position=(5 * k, 0, 0.1 + HEIGHT), material=material))
    run = carom.Simulator(scene, carom.SequentialReflection()).run(2.0 * FALL)
    domain = run.over_impulse()
    order = [int(event.contacts.bodies[0].max()) for event in run.events]
    assert sorted(order) == [1, 2]
    widths = np.diff(domain.event_s, axis=1).ravel()
    masses = np.array([1.0, 3.0])[np.array(order) - 1]
    assert widths == pytest.approx(2.0 * masses * SPEED, rel=1e-12)
    assert domain.event_s[1, 0] == pytest.approx(domain.event_s[0, 1], rel=1e-14)
    middle = domain.sample(domain.event_s[0, 1])  # the first is through, the second about to begin
    assert middle.velocity[order[0], 2] == pytest.approx(SPEED, rel=1e-9)
    assert middle.velocity[order[1], 2] == pytest.approx(-SPEED, rel=1e-9)


def sliding(scene):
    """A block that slides on the floor of a scene from the start."""
    material = Material(friction=0.3)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    return scene.add(
        Body(
            Box((0.2, 0.2, 0.1)), mass=MASS, position=(0, 0, 0.05), velocity=(1, 0, 0), material=material,
            name="low",
        )
    )  # fmt: skip


def test_a_block_that_slides_from_the_start_presses_with_its_weight():
    scene = Scene(gravity=(0, 0, -GRAVITY))
    sliding(scene)
    run = carom.Simulator(scene, carom.MaximumDissipation()).run(1.0)
    domain = run.over_impulse()
    assert domain.left_out == ()
    times = np.linspace(0.0, 1.0, 21)
    assert domain.s(times) == pytest.approx(times * (1.0 + MASS * GRAVITY), rel=1e-9)
    assert domain.time(domain.s(times)) == pytest.approx(times, abs=1e-12)
    stop = 1.0 / (0.3 * GRAVITY)
    late = domain.sample(np.array([0.5, 1.5]) * stop * (1.0 + MASS * GRAVITY))
    assert late.velocity[:, 1, 0] == pytest.approx([0.5, 0.0], abs=1e-9)


@pytest.mark.parametrize("why", ["stacked", "jointed", "dragged", "function", "state set", "leaning"])
def test_forces_that_do_not_follow_are_marked(why):
    scene = Scene(gravity=(0, 0, -GRAVITY))
    low = sliding(scene)
    names = {"low"}
    if why == "stacked":
        place = (0, 0, 0.15)
        scene.add(Body(Box((0.2, 0.2, 0.1)), mass=1.0, position=place, velocity=(1, 0, 0), name="high"))
        names.add("high")
    elif why == "jointed":
        scene.add_joint(carom.PrismaticJoint(body=low, axis=(1, 0, 0)))
    elif why == "dragged":
        scene.add_force(carom.Drag(linear=0.1))
    elif why == "function":
        scene.add_force(lambda t, state: np.zeros((2, 6)))
    elif why == "leaning":
        scene.add(Body(HalfSpace((-1, 0, 0), offset=-0.15), fixed=True, name="wall"))
    simulator = carom.Simulator(scene, carom.MaximumDissipation())
    if why == "state set":
        simulator.state = simulator.state
    run = simulator.run(0.2)
    domain = run.over_impulse()
    assert set(domain.left_out) == names
    impulse = run.impacts["normal_impulse"].sum()
    assert domain.s(run.end_time) == pytest.approx(run.end_time + impulse, rel=1e-12)
    assert domain.sample(domain.s(0.1)).time == pytest.approx(0.1, rel=1e-12)


def test_a_body_that_nothing_touches_is_not_marked():
    """Its drag is no contact, and a file tells the same."""
    scene = Scene(gravity=(0, 0, -GRAVITY))
    scene.add(Body(Sphere(0.1), mass=1.0))
    scene.add_force(carom.Drag(linear=0.1))
    domain = carom.Simulator(scene, carom.SequentialReflection()).run(1.0).over_impulse()
    assert (domain.left_out, domain.end) == ((), 1.0)


def test_a_file_tells_the_same(run, domain, tmp_path):
    loaded = carom.Trajectory.load(run.save(tmp_path / "run.h5")).over_impulse()
    s = np.linspace(domain.start, domain.end, 300)
    assert np.array_equal(loaded.sample(s).packed(), domain.sample(s).packed())
    assert np.array_equal(loaded.event_s, domain.event_s)


def test_what_is_no_s_is_refused(domain):
    for bad, words in (
        (-0.1, r"s: expected values within \[0, 113.41\] s \+ N s, got -0.1"),
        ([0.0, 1e9], "got 1e[+]09"),
        (np.zeros((2, 2)), r"s: expected shape \(n\), got \(2, 2\)"),
        (np.nan, "s: expected finite numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            domain.sample(bad)
    with pytest.raises(ValueError, match="t: expected times within"):
        domain.s(6.0)
