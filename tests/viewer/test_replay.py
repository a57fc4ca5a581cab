from types import SimpleNamespace

import numpy as np
import pytest

from carom.bodies import FileFormatError
from carom.viewer.actions import GROUPS, press
from carom.viewer.composition import compose
from carom.viewer.replay import Replay
from carom.viewer.run import Run, read_run
from carom.viewer.show import make_runs
from carom.viewer.theme import DARK, LIGHT, colour_of_run


@pytest.fixture
def one(fakes):
    return Replay([Run(fakes.bouncing_ball(), "ball")])


@pytest.fixture
def three(fakes):
    """Runs of one start whose ball goes different ways after the first impact, at the same time."""
    return Replay([Run(fakes.bouncing_ball(restitution=e), f"e = {e}") for e in (0.8, 0.6, 0.4)])


def test_jumping_to_an_impact_opens_its_walk_at_the_end(one):
    press(one, "bracketright")
    assert one.timeline.time == one.runs[0].impact_times[0]
    assert one.walk is not None
    assert one.walk.at_end
    assert not one.timeline.playing


def test_stepping_inside_goes_from_before_to_after_while_time_stands(one):
    press(one, "bracketright")
    time = one.timeline.time
    press(one, "down")
    speeds = []
    while not one.walk.at_end:
        speeds.append(one.velocities(0).velocity[1, 2])
        press(one, "down")
    assert one.timeline.time == time
    assert len(speeds) >= 12
    assert (np.diff(speeds) > 0).all()
    press(one, "up")
    assert not one.walk.at_end


def test_stepping_inside_from_flight_goes_to_the_next_impact_and_begins_before_it(one):
    press(one, "down")
    assert one.timeline.time == one.runs[0].impact_times[0]
    assert one.walk.position == 0
    one.timeline.seek(one.timeline.end)
    one.arrive()
    one.walks = {}
    one.timeline.seek(one.timeline.end - 1e-3)
    press(one, "up")
    assert one.walk is not None
    assert one.walk.at_end


def test_any_other_time_has_no_walk(one):
    press(one, "bracketright")
    press(one, "right")
    assert one.walk is None
    assert one.contacts(0) == []


def test_contacts_linger_while_playing(one):
    one.timeline.seek(one.runs[0].impact_times[0] + 0.01)
    assert one.contacts(0) == []
    one.timeline.playing = True
    assert len(one.contacts(0)) == 1


def test_playing_through_impacts_waits_while_impulses_grow(one):
    press(one, "n")
    one.timeline.seek(one.runs[0].impact_times[0] - 1e-4)
    press(one, "space")
    one.tick(0.02)
    assert one.timeline.time == one.runs[0].impact_times[0]
    assert one.walk.position == 0
    for _ in range(100):
        one.tick(0.02)
        if one.walk is None:
            break
    assert one.timeline.time > one.runs[0].impact_times[0]
    assert one.timeline.playing


def test_a_last_impact_at_the_end_is_played_too(one):
    press(one, "n")
    one.timeline.seek(one.timeline.end - 1e-4)
    press(one, "space")
    for _ in range(200):
        one.tick(0.02)
    assert one.timeline.time == one.timeline.end
    assert not one.timeline.playing


def test_without_it_playing_passes_impacts(one):
    one.timeline.seek(one.runs[0].impact_times[0] - 1e-4)
    press(one, "space")
    one.tick(0.02)
    assert one.timeline.time > one.runs[0].impact_times[0]


def test_outcomes_are_overlaid_and_one_is_chosen(three):
    assert three.chosen is None
    three.seek(three.runs[0].impact_times[0] + 0.1)
    (picture,) = compose(three)
    assert all(solid.opacity < 1 for solid in picture.solids if solid.mesh.is_sphere)
    press(three, "2")
    assert three.chosen == 1
    (picture,) = compose(three)
    balls = {solid.opacity: len(solid.instances) for solid in picture.solids if solid.mesh.is_sphere}
    assert balls.pop(1.0) == 1
    assert list(balls.values()) == [2]
    assert max(balls) < 0.2
    press(three, "0")
    assert three.chosen is None


def balls(picture):
    return [solid for solid in picture.solids if solid.mesh.is_sphere and not solid.outline]


def test_what_looks_the_same_in_all_outcomes_is_drawn_once_in_its_own_colour(three):
    """Over each other, three translucent colours would be brown."""
    (picture,) = compose(three)
    (ball,) = balls(picture)
    assert (ball.opacity, len(ball.instances), ball.shadow) == (1.0, 1, True)
    own = three.runs[0].stage.parts[0].colour[0, :3]
    np.testing.assert_allclose(ball.instances[0, 12:15], own, atol=1e-6)
    press(three, "2")  # who is followed hides those behind it
    (picture,) = compose(three)
    (ball,) = balls(picture)
    assert (ball.opacity, len(ball.instances)) == (1.0, 1)
    press(three, "0")
    press(three, "x")
    (picture,) = compose(three)
    assert [solid.opacity for solid in balls(picture)] == [0.32]


def test_what_looks_the_same_in_some_outcomes_has_the_colours_of_these_alone(fakes):
    runs = [Run(fakes.bouncing_ball(restitution=e), f"{k}") for k, e in enumerate((0.8, 0.4, 0.8))]
    replay = Replay(runs)
    replay.seek(runs[0].impact_times[0] + 0.1)
    (picture,) = compose(replay)
    found = {solid.opacity: solid.instances[:, 12:15] for solid in balls(picture)}
    own = runs[0].stage.parts[0].colour[0, :3]

    def mixed(number):
        return 0.25 * own + 0.75 * np.array(colour_of_run(number))

    np.testing.assert_allclose(found.pop(1.0), [mixed(0)], atol=1e-6)
    ((opacity, alone),) = found.items()
    assert opacity < 0.7
    np.testing.assert_allclose(alone, [mixed(1)], atol=1e-6)
    (line,) = (solid for solid in picture.solids if solid.outline)
    np.testing.assert_allclose(line.instances[0, 12:15], colour_of_run(2), atol=1e-6)


def test_runs_of_other_bodies_never_count_as_the_same(fakes):
    replay = Replay([Run(fakes.bouncing_ball(), "ball"), Run(fakes.mixed_scene(), "mixed")])
    (picture,) = compose(replay)
    assert sum(len(solid.instances) for solid in balls(picture)) == 2


def test_shadows_are_as_strong_as_bodies_are_opaque(one):
    (picture,) = compose(one)
    assert picture.shadow_strength == 1.0
    press(one, "x")
    (picture,) = compose(one)
    assert picture.shadow_strength == 0.32


def test_side_by_side_runs_keep_their_colours(three):
    press(three, "d")
    own = three.runs[0].stage.parts[0].colour[0, :3]
    for number, picture in enumerate(compose(three)):
        (ball,) = balls(picture)
        expected = 0.25 * own + 0.75 * np.array(colour_of_run(number))
        np.testing.assert_allclose(ball.instances[0, 12:15], expected, atol=1e-6)
    press(three, "2")
    (ball,) = balls(compose(three)[1])
    np.testing.assert_allclose(ball.instances[0, 12:15], own, atol=1e-6)


def test_the_camera_keeps_what_still_moves_in_the_picture(fakes):
    """A ball that falls from far up is as large in the end as it can be; nothing leaves the picture on the way."""
    run = fakes.bouncing_ball(restitution=0.5, sideways=0.1)
    replay = Replay([Run(run, "ball")])
    replay.frame()
    assert replay.frames_by_time

    def seen(time):
        replay.seek(time)
        compose(replay)
        later = np.linspace(time, run.end_time, 40)
        places = np.array([run.sample(one).position[1] for one in later])
        return replay.camera.distance, replay.camera.project(places, replay.aspect)

    distances = []
    for share in np.linspace(0.0, 1.0, 15):
        distance, spots = seen(share * run.end_time)
        distances.append(distance)
        assert np.abs(spots).max() < 1.0
    assert (np.diff(distances) < 1e-9).all()
    assert distances[-1] < 0.65 * distances[0]
    replay.orbit(0.2, 0.1)
    assert replay.frames_by_time
    press(replay, "a")
    assert not replay.frames_by_time
    assert seen(run.end_time)[0] > 0.8 * distances[0]
    press(replay, "a")
    assert seen(run.end_time)[0] < 0.7 * distances[0]
    replay.zoom(0.9, (0.0, 0.0))
    near = replay.camera.distance
    assert seen(0.0)[0] == near  # whoever moves the camera has it


def test_what_stays_as_large_is_framed_once(fakes):
    replay = Replay([Run(fakes.mixed_scene(), "mixed")])
    replay.frame()
    assert not replay.frames_by_time


def test_plots_grow_and_go(one):
    states = []
    for _ in range(4):
        press(one, "e")
        states.append((one.shown.plots, one.shown.large_plots))
    assert states == [(True, False), (True, True), (False, False), (True, False)]


def test_forces_and_torques_are_drawn_where_a_run_has_them(one, fakes):
    """Arrows are as their forces, a torque lies along its axis with a ring about it."""
    press(one, "l")
    (picture,) = compose(one)
    assert picture.marks == []  # this run knows no forces
    trajectory = fakes.bouncing_ball()
    trajectory.scene.joints = []
    weight, asked = 9.81, []

    def contact_forces(time, side):
        asked.append((time, side))
        return SimpleNamespace(
            bodies=np.array([[1, 0], [1, 0]]),
            force=np.array([[0.0, 0.0, weight], [0.25 * weight, 0.0, 0.0]]),
            point=np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]),
            torque=np.array([[0.0, -0.3, 0.0], [0.0, 0.0, 1e-14]]),
            unique=np.array([True, True]),
        )

    trajectory.contact_forces = contact_forces
    replay = Replay([Run(trajectory, "ball")])
    press(replay, "l")
    (picture,) = compose(replay)
    stage = replay.runs[0].stage
    arrows, torques, rings = picture.marks
    along = arrows.instances[:, [2, 6, 10]]
    np.testing.assert_allclose(along[0], [0, 0, stage.arrow_length], atol=1e-6)
    np.testing.assert_allclose(along[1], [0.25 * stage.arrow_length, 0, 0], atol=1e-6)
    assert len(torques.instances) == len(rings.instances) == 1
    axis = torques.instances[0, [2, 6, 10]]
    np.testing.assert_allclose(axis / np.linalg.norm(axis), [0, -1, 0], atol=1e-6)
    ring = rings.instances[0, :12].reshape(3, 4)[:, :3]
    np.testing.assert_allclose(ring[:, 2] / np.linalg.norm(ring[:, 2]), [0, -1, 0], atol=1e-6)
    compose(replay)
    assert asked == [(0.0, "right")]  # once for an instant
    press(replay, "l")
    (picture,) = compose(replay)
    assert picture.marks == []


def test_following_without_a_picked_body_is_said(one):
    press(one, "f")
    assert not one.follows
    assert "click one" in one.message.text


def test_tab_goes_round_all_outcomes(three):
    seen = []
    for _ in range(4):
        press(three, "tab")
        seen.append(three.chosen)
    assert seen == [0, 1, 2, None]
    press(three, "tab", shift=True)
    assert three.chosen == 2


def test_an_outcome_that_is_not_there_is_said(three):
    press(three, "7")
    assert three.chosen is None
    assert three.message.text == "There is no outcome 7: 3 are open."
    three.tick(100.0)
    assert three.message is None


def test_the_time_bar_shows_the_chosen_outcome_or_all(three):
    every = three.timeline.counts()["impact"]
    press(three, "1")
    assert three.timeline.counts()["impact"] == len(three.runs[0].events) < every


def test_runs_go_through_a_shared_impact_together(three):
    press(three, "bracketright")
    assert set(three.walks) == {0, 1, 2}
    press(three, "down")
    for _ in range(6):
        press(three, "down")
    assert len({walk.position / walk.length for walk in three.walks.values()}) == 1
    assert 0 < three.walks[2].position < three.walks[2].length


def test_side_by_side_makes_a_picture_for_each(three, one):
    press(three, "d")
    pictures = compose(three)
    assert len(pictures) == 3
    assert all(solid.opacity == 1 for picture in pictures for solid in picture.solids)
    press(one, "d")
    assert not one.side_by_side
    assert "drop another recording" in one.message.text


def test_runs_of_one_picture_share_its_coordinates(three):
    stages = [run.stage for run in three.runs]
    for stage in stages:
        np.testing.assert_array_equal(stage.centre, stages[0].centre)
        assert stage.scale == stages[0].scale
    assert (stages[0].upper >= stages[2].upper).all()


def test_next_velocities_of_overlaid_runs_are_a_fan(three, one):
    press(three, "bracketright")
    bodies, velocities = three.fan()
    assert bodies.tolist() == [1]
    assert velocities.shape == (3, 1, 3)
    press(one, "bracketright")
    assert one.fan() is None


def test_given_outcomes_are_a_fan_at_their_impact(fakes):
    outcomes = SimpleNamespace(impulse=np.array([[1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [2.0, 0.0, 0.0]]))
    replay = Replay([Run(fakes.bouncing_ball(), "ball", outcomes={2: outcomes})])
    press(replay, "bracketright")
    assert replay.fan() is None
    press(replay, "bracketright")
    _, velocities = replay.fan()
    assert velocities.shape == (3, 1, 3)
    np.testing.assert_allclose(velocities[2, 0], [0, 0, 2.0], atol=1e-12)
    assert len(compose(replay)[0].marks[-1].instances) == 3


def test_every_key_of_the_help_does_something(three):
    for group in GROUPS.values():
        for action in group:
            for key in action.keys:
                three.changed = False
                assert press(three, key)
                assert three.changed
    assert not press(three, "unknown")


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("c", "contacts"),
        ("i", "impulses"),
        ("k", "cones"),
        ("v", "velocities"),
        ("t", "trails"),
        ("g", "ghosts"),
    ],
)
def test_what_is_shown_is_drawn(one, key, name):
    press(one, "bracketright")
    press(one, "bracketright")
    one.shown.contacts = one.shown.impulses = False

    def drawn():
        (picture,) = compose(one)
        parts = (*picture.solids, *picture.marks, *picture.glass)
        return sum(len(solid.instances) for solid in parts) + sum(len(piece) for piece in picture.ribbons)

    setattr(one.shown, name, False)
    without = drawn()
    press(one, key)
    # the fake ball stands still in its own data, so that its velocity comes from the impact alone
    assert drawn() > without


def test_a_click_picks_the_ball_and_the_camera_follows_it(one):
    one.timeline.seek(0.2)
    place = one.runs[0].state(0.2).position[1]
    one.pick_at(tuple(one.camera.project(place[None], one.aspect)[0]))
    assert one.picked == 1
    press(one, "f")
    one.timeline.seek(0.5)
    compose(one)
    np.testing.assert_allclose(one.camera.target, one.runs[0].state(0.5).position[1])
    one.orbit(0.3, 0.1)
    assert one.follows
    one.pan(0.1, 0.0)
    assert not one.follows
    one.pick_at((0.99, 0.99))
    assert one.picked is None


def test_side_by_side_a_click_counts_in_its_own_picture(three):
    press(three, "d")
    place = three.runs[2].state(0.0).position[1]
    x, y = three.camera.project(place[None], three.view_aspect())[0]
    three.pick_at(((x + 1 + 4) / 3 - 1, y))
    assert (three.picked, three.picked_run) == (1, 2)


def test_the_camera_goes_to_the_impact(one):
    press(one, "z")
    assert "no impact at this instant" in one.message.text
    press(one, "bracketright")
    far = one.camera.distance
    press(one, "z")
    assert one.camera.distance < far
    np.testing.assert_allclose(one.camera.target[:2], one.contacts(0)[0].point[0, :2], atol=1e-9)


def test_looking_along_axes_ends_where_it_began(one):
    before = one.camera.axes()
    for axis in ((0, 1, 0), (-1, 0, 0), (0, 0, -1)):
        press(one, "p")
        assert one.camera.orthographic
        np.testing.assert_allclose(-one.camera.axes()[2], axis, atol=1e-12)
    press(one, "p")
    assert not one.camera.orthographic
    np.testing.assert_allclose(one.camera.axes(), before)


def test_a_floor_seen_edge_on_is_a_line(one):
    assert compose(one)[0].ribbons == []
    press(one, "p")
    assert len(compose(one)[0].ribbons) == 1


def test_themes_and_qualities_go_round(one):
    press(one, "b")
    assert one.look.theme is DARK
    press(one, "b")
    assert one.look.theme is LIGHT
    names = []
    for _ in range(3):
        press(one, "q")
        names.append(one.look.quality)
    assert names == ["full", "draft", "auto"]


def test_dropped_recordings_replace_or_join(one, fakes):
    loaded = []

    def load(path):
        loaded.append(path.name)
        return fakes.bouncing_ball(restitution=0.5)

    one.look.theme = DARK
    one.open_recordings(["/somewhere/a.h5"], load)
    assert [run.name for run in one.runs] == ["a.h5"]
    assert one.look.theme is DARK
    one.open_recordings(["/somewhere/b.h5"], load, add=True)
    assert [run.name for run in one.runs] == ["a.h5", "b.h5"]
    assert one.message.text == "Opened b.h5."


def test_a_recording_that_cannot_be_read_is_said_and_changes_nothing(one):
    def load(path):
        raise FileFormatError(path, "it is not a carom recording (no HDF5 file)")

    before = one.runs
    one.open_recordings(["/somewhere/bad.h5"], load)
    assert one.runs is before
    assert "bad.h5" in one.message.text
    assert "\n" not in one.message.text


def test_a_growing_recording_is_read_again_and_played_on(fakes, tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(b"1")

    class Growing:
        """Stands for the class Trajectory: every load finds three bounces more."""

        def __init__(self, bounces):
            self.__dict__.update(vars(fakes.bouncing_ball(bounces=bounces)))
            self.sample = fakes.bouncing_ball(bounces=bounces).sample
            self.bounces = bounces
            self.status = SimpleNamespace(value="unfinished")

        @classmethod
        def load(cls, path):
            return cls(2 + 3 * len(path.read_bytes()))

    replay = Replay([read_run(path, Growing.load)])
    path.write_bytes(b"12")
    replay.timeline.seek(replay.timeline.end)
    end = replay.timeline.end
    replay.tick(2.0)
    assert replay.timeline.end > end
    assert replay.timeline.time > end
    grown = replay.runs[0]
    replay.tick(2.0)
    assert replay.runs[0] is grown
    path.write_bytes(b"123")
    replay.tick(2.0)
    assert len(replay.runs[0].events) > len(grown.events)


def test_a_recording_that_takes_long_to_read_is_read_again_more_rarely(fakes, tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    path.write_bytes(b"1")
    clock = iter(range(1000))  # every look at it shows a second more
    monkeypatch.setattr("carom.viewer.replay.perf_counter", lambda: float(next(clock)))

    class Slow:
        load = staticmethod(lambda path: fakes.bouncing_ball(bounces=2))

    replay = Replay([read_run(path, Slow.load)])
    looks = []
    monkeypatch.setattr(type(replay.runs[0]), "is_outdated", property(lambda run: looks.append(run) or False))
    for _ in range(40):
        replay.tick(0.5)
    assert len(looks) == 2, "once after a second, then once in ten"


def test_runs_are_named_and_checked(fakes):
    ball = fakes.bouncing_ball()
    assert [run.name for run in make_runs([ball, ball])] == ["run 1", "run 2"]
    assert [run.name for run in make_runs([ball, ball], ["a", "b"])] == ["a", "b"]
    with pytest.raises(ValueError, match="labels: expected 2"):
        make_runs([ball, ball], ["a"])
    with pytest.raises(ValueError, match="trajectory: expected at least one"):
        make_runs([])
    with pytest.raises(TypeError, match="trajectory: expected a Trajectory"):
        make_runs(3)
    with pytest.raises(TypeError, match="outcomes: expected an OutcomeSet"):
        make_runs(ball, outcomes=3)


def test_a_file_that_is_no_recording_is_refused(tmp_path):
    path = tmp_path / "bad.h5"
    path.write_bytes(b"no recording")
    with pytest.raises(FileFormatError, match="not a carom recording"):
        make_runs(str(path))


def test_many_overlaid_runs_share_meshes(fakes):
    pool = {}
    runs = [Run(fakes.mixed_scene(), str(number), pool=pool) for number in range(3)]
    meshes = {id(part.mesh) for run in runs for part in run.stage.parts}
    assert len(meshes) == len(runs[0].stage.parts)
