"""One run with several outcomes: a tree whose members equal plain runs bit for bit."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import h5py
import numpy as np
import pytest

import carom
from carom.demos.rocking_block import RockingBlock

from .equal_runs import assert_equal_runs

LAST = 0.9


@dataclass(frozen=True)
class Coin:
    """Every impact has one of two restitutions, drawn fairly."""

    name: ClassVar[str] = "coin"
    honours_friction: ClassVar[bool] = False
    honours_restitution: ClassVar[bool] = True
    values: tuple[float, float] = (0.3, 0.9)

    def resolve(self, problem, rng=None):
        value = self.values[rng.integers(2)]
        drawn = carom.ImpactProblem(problem.W, problem.u, friction=problem.friction, restitution=value, dim=3)
        return carom.SequentialReflection().resolve(drawn)


@dataclass(frozen=True)
class Jam:
    """A plastic impact, or one that throws a little apart, drawn fairly."""

    name: ClassVar[str] = "jam"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = False

    def resolve(self, problem, rng=None):
        found = carom.MaximumDissipation().resolve(problem)
        scale = (1.0, 1.01)[rng.integers(2)]
        return type(found).from_stages(problem, scale * found.impulse[None], ("jams",))


def two_balls():
    scene = carom.Scene()
    material = carom.Material(friction=0.0, restitution=0.5)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for place, height in ((-1, 1.0), (1, 0.6)):
        scene.add(carom.Body(carom.Sphere(0.1), density=1.0, position=(place, 0, height), material=material))
    return scene


def heap(restitution=0.0):
    scene = carom.Scene()
    material = carom.Material(friction=0.3, restitution=restitution)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for x, z in ((-0.1, 0.1), (0.1, 0.1), (0.0, 0.1 + 0.1 * math.sqrt(3))):
        body = carom.Body(
            carom.Sphere(0.1),
            density=1000.0,
            position=(x, 0, z + 0.05),
            velocity=(0.3, 0, 0),
            material=material,
        )
        scene.add(body)
    return scene


def plain(simulator, n, seed, member, until):
    """The run of one member alone."""
    alone = simulator.copy()
    alone._run.generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(n)[member])
    return alone.run(until)


def check_tree(run, start):
    """Children take over where their parent ends, and share its members among them."""
    for index, node in enumerate(run.nodes):
        children = [child for child in run.nodes if child.parent == index]
        assert node.ends == (not children)
        if children:
            assert sorted(m for child in children for m in child.members) == list(node.members)
            assert len(children) > 1
            assert all(child.start_time == node.end_time for child in children)
    assert run.nodes[0].parent is None
    assert run.nodes[0].start_time == start


@pytest.fixture(scope="module")
def simulator():
    return carom.Simulator(two_balls(), Coin())


@pytest.fixture(scope="module")
def run(simulator):
    return simulator.branches(8, 1, LAST)


@pytest.mark.parametrize(
    ("scene", "law", "n", "until"),
    [
        (two_balls, Coin(), 8, LAST),
        (heap, carom.SetValuedRouth(), 5, 0.4),
        (lambda: heap(0.7), carom.SequentialReflection(order="random"), 5, 0.3),
        (RockingBlock().scene, carom.SetValuedRouth(), 4, 1.5),
    ],
    ids=["coin", "heap", "order", "rocking block"],
)
def test_every_member_equals_a_plain_run_with_its_generator(scene, law, n, until):
    simulator = carom.Simulator(scene(), law, seed=9)
    run = simulator.branches(n, 4, until)
    check_tree(run, 0.0)
    assert len(run) == len(run.trajectories) == n
    assert len(run.nodes) > 2
    for member, trajectory in enumerate(run.trajectories):
        assert_equal_runs(trajectory, plain(simulator, n, 4, member, until))
    assert simulator.time == 0.0
    assert not simulator.trajectory.events


def test_members_with_equal_outcomes_stay_together(run):
    sizes = [len(node.members) for node in run.nodes]
    assert sizes[0] == 8
    assert any(1 < size < 8 for size in sizes)
    together = next(n for n in run.nodes if n.parent is not None and len(n.members) > 1)
    first = together.events[0]  # the impact that parts them comes first
    assert first.time == together.start_time
    for member in together.members:
        events = run.trajectories[member].events
        same = [event for event in events if event.time == first.time and event.outcome is not None]
        assert any(np.array_equal(event.outcome.impulse, first.outcome.impulse) for event in same)


def test_what_members_have_in_common_is_in_memory_once(run):
    one, other = run.trajectories[0], run.trajectories[-1]
    shared = sum(1 for node in run.path(run.leaves[0]) if node in run.path(run.leaves[-1]))
    assert shared >= 1
    assert np.shares_memory(one.log.pieces.parts()[0], other.log.pieces.parts()[0])


def assert_equal_trees(one, other):
    assert [(n.parent, n.members, n.first_event, n.start_time) for n in one.nodes] == [
        (n.parent, n.members, n.first_event, n.start_time) for n in other.nodes
    ]
    for mine, theirs in zip(one.nodes, other.nodes, strict=True):
        assert_equal_runs(mine.trajectory, theirs.trajectory)


@pytest.mark.parametrize(
    ("scene", "law", "n", "until", "options"),
    [
        (lambda: heap(0.7), carom.SequentialReflection(order="random"), 6, 0.3, {}),
        (heap, carom.SetValuedRouth(), 5, 0.4, {"tolerance": 1e-9}),
        (RockingBlock().scene, carom.SetValuedRouth(), 3, 1.5, {"tolerance": 1e-9}),
    ],
    ids=["order", "heap", "rocking block"],
)
@pytest.mark.parametrize("begun", [0.0, 0.05])
def test_branches_grown_in_other_processes_make_the_same_tree(scene, law, n, until, options, begun, tmp_path):
    simulator = carom.Simulator(scene(), law, seed=9)
    simulator.run(begun)
    here = simulator.branches(n, 4, until, **options)
    there = simulator.branches(n, 4, until, workers=2, **options)
    assert len(here.nodes) > 1
    assert_equal_trees(here, there)
    assert_equal_trees(here, carom.BranchedRun.load(there.save(tmp_path / "tree.h5")))
    one, other = there.trajectories[0], there.trajectories[-1]
    assert np.shares_memory(one.log.pieces.parts()[0], other.log.pieces.parts()[0])


def test_branches_grown_on_an_executor_make_the_same_tree(simulator, run):
    with ThreadPoolExecutor(3) as executor:
        assert_equal_trees(run, simulator.branches(8, 1, LAST, executor=executor))


def test_a_simulator_that_travels_goes_on_identically():
    simulator = carom.Simulator(heap(0.5), carom.StrongeCoulomb(), seed=3)
    simulator.run(0.15)
    arrived = pickle.loads(pickle.dumps(simulator))
    assert_equal_runs(arrived.run(1.0), simulator.run(1.0))


def test_what_cannot_grow_elsewhere_is_refused(simulator):
    with pytest.raises(TypeError, match=r"executor: expected one as in concurrent.futures"):
        simulator.branches(2, 1, LAST, executor=3)
    with pytest.raises(ValueError, match="workers"):
        simulator.branches(2, 1, LAST, workers=-1)
    observed = simulator.copy()
    observed.on_event(print)
    with pytest.raises(ValueError, match="expected a simulator without callbacks"):
        observed.branches(2, 1, LAST, workers=2)
    marked = carom.Simulator(heap(0.7), carom.SequentialReflection(order="random"))
    marked.add_event(lambda t, state: state.velocity[1, 2], name="highest")
    with pytest.raises(TypeError, match="expected a law and event functions that can be pickled"):
        marked.branches(2, 1, 0.1, workers=2)


def test_a_law_without_chance_leaves_one_node():
    simulator = carom.Simulator(two_balls(), carom.SequentialReflection())
    run = simulator.branches(20, 0, LAST)
    assert len(run.nodes) == 1
    assert len({id(trajectory) for trajectory in run.trajectories}) == 1
    assert_equal_runs(run.trajectories[7], simulator.run(LAST))


def test_impacts_that_are_decided_but_for_rounding_part_nobody_within_a_tolerance():
    """A ball alone draws its way to one outcome; three balls on each other are undecided."""
    balls = carom.Simulator(two_balls(), carom.SetValuedRouth(restitution="poisson"))
    run = balls.branches(6, 0, 0.5, tolerance=1e-9)
    assert len(run.nodes) == 1
    assert len(run.trajectories[0].events) >= 2
    assert len(balls.branches(6, 0, 0.5).nodes) > 1
    apart = plain(balls, 6, 0, 3, 0.5).sample(0.5).position - run.trajectories[3].sample(0.5).position
    assert np.abs(apart).max() <= 1e-9
    heaped = carom.Simulator(heap(), carom.SetValuedRouth()).branches(6, 0, 0.3, tolerance=1e-9)
    assert len(heaped.nodes) > 6


def test_branches_begin_where_the_simulator_is_and_leave_it_alone(simulator):
    on_the_way, untouched = simulator.copy(), simulator.copy()
    for each in (on_the_way, untouched):
        each.run(0.35)
    assert on_the_way.trajectory.events
    run = on_the_way.branches(4, 2, LAST)
    for member, trajectory in enumerate(run.trajectories):
        assert_equal_runs(trajectory, plain(on_the_way, 4, 2, member, LAST))
    assert_equal_runs(on_the_way.run(LAST), untouched.run(LAST))


def test_equal_seeds_give_equal_trees_and_others_do_not(simulator, run):
    again, other = simulator.branches(8, 1, LAST), simulator.branches(8, 2, LAST)
    assert [(n.parent, n.members, n.start_time) for n in again.nodes] == [
        (n.parent, n.members, n.start_time) for n in run.nodes
    ]
    for one, two in zip(run.trajectories, again.trajectories, strict=True):
        assert_equal_runs(one, two)
    assert [n.members for n in other.nodes] != [n.members for n in run.nodes]


def test_event_limits_count_the_common_past(simulator):
    limited = carom.Simulator(two_balls(), Coin(), event_limit=3)
    run = limited.branches(3, 1, LAST)
    for member, trajectory in enumerate(run.trajectories):
        assert trajectory.status is carom.RunStatus.EVENT_LIMIT
        assert_equal_runs(trajectory, plain(limited, 3, 1, member, LAST))


def test_members_part_where_no_contact_forces_exist():
    """A callback lays a rod down so that it jams; members, parted already, come to differ while it settles."""
    angle, material = math.radians(63.4), carom.Material(friction=1.6)
    corners = np.concatenate([0.5 * np.eye(3)[:1], 1e-3 * np.eye(3)[1:]])
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(
        carom.Body(
            carom.ConvexMesh(np.concatenate([corners, -corners])),
            mass=1.0,
            inertia=np.diag([1e-6, 1.0 / 12.0, 1.0 / 12.0]),
            position=(0, 0, 2.0),
            material=material,
        )
    )
    scene.add(carom.Body(carom.Sphere(0.1), density=1.0, position=(5, 0, 0.2), material=material))

    def lay_down(event, simulator):
        if event.note == "now":
            state = simulator.state.copy()
            state.position[1] = (0.5 * math.cos(angle), 0.0, 0.5 * math.sin(angle))
            state.orientation[1] = (math.cos(-0.5 * angle), 0.0, math.sin(-0.5 * angle), 0.0)
            state.velocity[1] = (-1.0, 0.0, 0.0)
            simulator.state = state

    simulator = carom.Simulator(scene, Jam())
    simulator.add_event(lambda t, state: t - 0.2, name="now")
    simulator.on_event(lay_down)
    run = simulator.branches(8, 3, 0.25)
    check_tree(run, 0.0)
    jams = [e for t in run.trajectories for e in t.events if "without collision" in e.note]
    assert len(jams) == 8
    assert len({event.outcome.impulse.tobytes() for event in jams}) == 2
    assert max(len(run.path(leaf)) for leaf in run.leaves) >= 3
    for member, trajectory in enumerate(run.trajectories):
        assert_equal_runs(trajectory, plain(simulator, 8, 3, member, 0.25))


# -- files ---------------------------------------------------------------------------------------------------


def test_a_tree_is_one_file_and_comes_back(run, tmp_path):
    path = run.save(tmp_path / "tree.h5")
    assert [p.name for p in tmp_path.iterdir()] == ["tree.h5"]
    read = carom.BranchedRun.load(path)
    assert read.seed == run.seed
    assert [(n.parent, n.members, n.start_time, n.end_time, n.ends) for n in read.nodes] == [
        (n.parent, n.members, n.start_time, n.end_time, n.ends) for n in run.nodes
    ]
    for mine, theirs in zip(read.trajectories, run.trajectories, strict=True):
        assert_equal_runs(mine, theirs)
        assert mine.largest_overlap(20) <= 1e-9
    again = read.save(tmp_path / "again.h5")
    with h5py.File(path) as one, h5py.File(again) as two:
        names: list[str] = []
        one.visit(names.append)
        for name in names:
            if isinstance(one[name], h5py.Dataset):
                assert one[name][()].tobytes() == two[name][()].tobytes(), name


def damaged(change):
    def apply(path):
        with h5py.File(path, "r+") as file:
            change(file)

    return apply


def orphan(file):
    file["node/000002"].attrs["parent"] = 7


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda path: path.unlink(), "no such file"),
        (lambda path: path.write_bytes(b"nothing of the kind"), "HDF5"),
        (lambda path: path.write_bytes(path.read_bytes()[:3000]), "cut short"),
        (lambda path: carom.Simulator(two_balls(), Coin()).run(0.1).save(path), "carom recording"),
        (damaged(lambda file: file.attrs.__setitem__("version", 99)), "version"),
        (damaged(lambda file: file.__delitem__("node/000001")), "damaged"),
        (damaged(orphan), "no tree"),
        (damaged(lambda file: file["node/000001/events"].resize(0, axis=0)), "damaged"),
        (damaged(lambda file: file.__delitem__("scene/description")), "damaged"),
    ],
)
def test_other_files_are_refused_in_words(run, tmp_path, change, words):
    path = run.save(tmp_path / "tree.h5")
    change(path)
    with pytest.raises(carom.FileFormatError, match=words) as refused:
        carom.BranchedRun.load(path)
    assert "tree.h5" in str(refused.value)


def test_a_tree_is_no_recording(run, tmp_path):
    with pytest.raises(carom.FileFormatError, match="carom branched run"):
        carom.Trajectory.load(run.save(tmp_path / "tree.h5"))


def test_places_that_cannot_be_written_are_named(run, tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        run.save(tmp_path / "nowhere" / "tree.h5")
    with pytest.raises(IsADirectoryError, match="folder"):
        run.save(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ((0, 0, 1.0), ValueError, "n"),
        ((2.5, 0, 1.0), TypeError, "n"),
        ((3, -1, 1.0), ValueError, "seed"),
        ((3, 0, math.inf), ValueError, "until"),
        ((3, 0, -1.0), ValueError, "until"),
    ],
)
def test_bad_arguments_are_named(simulator, arguments, error, word):
    with pytest.raises(error, match=f"^{word}"):
        simulator.branches(*arguments)


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0, np.nan, "tight"])
def test_bad_tolerances_are_named(simulator, tolerance):
    with pytest.raises(ValueError, match=r"^tolerance"):
        simulator.branches(2, 0, 1.0, tolerance=tolerance)


@pytest.mark.parametrize("begun", [0.0, 0.5])
def test_a_member_goes_on_identically_from_any_event_of_its_file(begun, tmp_path):
    """Also where the common past had draws of its own."""
    simulator = carom.Simulator(two_balls(), Coin(), seed=4)
    if begun:
        simulator.run(begun)
    common = len(simulator.trajectory.events)
    run = carom.BranchedRun.load(simulator.branches(6, 2, 1.2).save(tmp_path / "tree.h5"))
    assert run.first_event == common
    assert len(set(run.leaves)) > 2
    for member in (0, 3, -1):
        whole = run.trajectories[member]
        for event in (max(common - 1, 0), common, len(whole.events) // 2, -1):
            again = run.resume(member, event, law=Coin())
            assert_equal_runs(again.run(1.2), whole)
    with pytest.raises(ValueError, match="member: expected an index of one of 6"):
        run.resume(6, 0, law=Coin())
    if common > 1:
        with pytest.raises(ValueError, match=f"event: expected at least {common - 1}, since members part"):
            run.resume(0, 0, law=Coin())
