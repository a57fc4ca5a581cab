"""Events and motion of a recording are read when they are looked at, and are those of the run."""

import doctest
import gc
import pickle
import time
import weakref

import h5py
import numpy as np
import pytest

import carom
from carom import (
    AnitescuPotra,
    Body,
    Box,
    FileFormatError,
    HalfSpace,
    Material,
    Scene,
    SequentialReflection,
    Simulator,
    Sphere,
    Trajectory,
)
from carom.simulator import EventKind
from carom.simulator.record import impact_records, recording
from carom.simulator.record import trajectory as trajectory_module
from carom.simulator.record.events import EventLog
from carom.simulator.record.log import LOG_TABLES
from carom.simulator.record.superblock import checksum

from .benchmark_modules import benchmark, needs_benchmarks


def bouncing(restitution=0.8, friction=0.0, record=None):
    """Three balls on a floor, one of which pushes the next."""
    material = Material(friction=friction, restitution=restitution)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    for k in range(3):
        scene.add(Body(Sphere(0.1), density=1000.0, position=(0.5 * k, 0, 0.15 + 0.1 * k),
                       velocity=(2.0 - k, 0, 0), material=material))  # fmt: skip
    law = AnitescuPotra() if friction else SequentialReflection()
    return Simulator(scene, law, record=record)


@pytest.fixture(scope="module")
def run():
    found = bouncing().run(1.5)
    assert len(found.events) > 20
    return found


@pytest.fixture
def loaded(run, tmp_path):
    return Trajectory.load(run.save(tmp_path / "run.h5"))


@pytest.mark.parametrize("source", ["run", "loaded"])
def test_times_and_kinds_are_those_of_the_events(source, request):
    trajectory = request.getfixturevalue(source)
    assert trajectory.event_times.tolist() == [event.time for event in trajectory.events]
    assert [EventKind(kind) for kind in trajectory.event_kinds] == [event.kind for event in trajectory.events]
    impacts = trajectory.event_kinds == EventKind.IMPACT
    assert impacts.sum() == sum(event.kind is EventKind.IMPACT for event in trajectory.events)
    assert impacts.any()


@pytest.mark.parametrize("source", ["run", "loaded"])
def test_events_are_a_sequence(source, request):
    events = request.getfixturevalue(source).events
    everything = list(events)
    assert len(everything) == len(events)
    assert events[-1] is everything[-1]
    assert events[3:9:2] == tuple(everything[3:9:2])
    assert list(reversed(events)) == everything[::-1]
    assert everything[4] in events
    for index in (len(events), -len(events) - 1):
        with pytest.raises(IndexError):
            events[index]
    assert events[0].before.velocity[1, 2] < 0.0 < events[0].after.velocity[1, 2]


def test_events_asked_for_do_not_grow_with_the_run():
    simulator = bouncing()
    simulator.step_event()
    early = simulator.trajectory.events
    simulator.step_event()
    assert (len(early), len(list(early)), len(simulator.trajectory.events)) == (1, 1, 2)


def test_opening_reads_no_event_and_looking_reads_one(run, tmp_path, monkeypatch):
    read = []
    original = EventLog.event
    monkeypatch.setattr(EventLog, "event", lambda self, k: read.append(k) or original(self, k))
    loaded = Trajectory.load(run.save(tmp_path / "run.h5"))
    loaded.sample(0.3), loaded.event_times, loaded.event_kinds
    assert read == []
    event = loaded.events[7]
    assert loaded.events[7] is event
    assert read == [7, 7]


def test_many_times_at_once_are_single_times_bit_for_bit(run, loaded):
    times = np.random.default_rng(5).uniform(run.start_time, run.end_time, 3000)
    times = np.concatenate([times, run.event_times, run.event_times])
    for side in ("left", "right"):
        many = loaded.sample(times, side=side)
        for k in range(0, len(times), 37):
            one = run.sample(times[k], side=side)
            for name in ("position", "orientation", "velocity", "angular_velocity"):
                assert np.array_equal(getattr(many, name)[k], getattr(one, name)), name
    assert run.sample(np.zeros(0)).position.shape == (0, 4, 3)


def test_pieces_of_contact_are_read_back(tmp_path):
    run = bouncing(restitution=0.0, friction=0.3).run(0.8)
    moved = run.motions[1]
    assert any(moved.polynomial(k) is not None for k in range(len(moved)))
    loaded = Trajectory.load(run.save(tmp_path / "sliding.h5"))
    times = np.linspace(0.0, run.end_time, 97)
    assert np.array_equal(loaded.sample(times).position, run.sample(times).position)
    assert np.array_equal(loaded.sample(times).angular_velocity, run.sample(times).angular_velocity)


def test_writing_in_parts_writes_the_same(run, tmp_path, monkeypatch):
    whole = run.save(tmp_path / "whole.h5")
    monkeypatch.setattr(recording, "_ROWS_PER_WRITE", 3)
    parts = run.save(tmp_path / "parts.h5")
    with h5py.File(whole) as one, h5py.File(parts) as other:
        for name in LOG_TABLES:
            assert one[name][()].tobytes() == other[name][()].tobytes(), name


def test_a_recording_may_be_deleted_or_recorded_anew_while_it_is_read(run, tmp_path):
    path = run.save(tmp_path / "run.h5")
    first = Trajectory.load(path)
    again = bouncing(restitution=0.5, record=path).run(0.2)
    second = Trajectory.load(path)
    path.unlink()
    assert len(second.events) == len(again.events) < len(first.events)
    assert [event.time for event in first.events] == run.event_times.tolist()
    assert np.array_equal(first.sample(1.0).position, run.sample(1.0).position)
    assert np.array_equal(second.events[0].outcome.impulse, again.events[0].outcome.impulse)


def test_the_file_is_let_go_with_the_trajectory(run, tmp_path):
    loaded = Trajectory.load(run.save(tmp_path / "run.h5"))
    stored = weakref.ref(loaded.log.pieces._file)
    event = loaded.events[0]
    del loaded
    assert event.after.velocity[1, 2] > 0.0  # an event holds what it is read from
    del event
    gc.collect()
    assert stored() is None


def test_what_is_read_takes_no_more(loaded, run):
    with pytest.raises(ValueError, match="no more events"):
        loaded.add_note(9.0, 4, "later", 0)
    with pytest.raises(ValueError, match="no more events or pieces"):
        loaded.add_flights(np.array([1]), 9.0, np.zeros((1, 13)))


def change(path, table, column, where, value):
    """Put another value into a column of a table, or into a table of plain numbers."""
    with h5py.File(path, "r+") as file:
        rows = file[table][()]
        (rows[column] if column else rows)[where] = value
        file[table][:] = rows


@pytest.mark.parametrize(
    ("table", "column", "where", "value"),
    [
        ("events", "contacts", 0, 10_000),
        ("events", "text", 0, -1),
        ("events", "kind", 1, 99),
        ("pieces", "body", 2, 77),
        ("pieces", "terms", 2, 99),
    ],
)
def test_tables_that_do_not_fit_together_are_refused_when_opened(run, tmp_path, table, column, where, value):
    path = run.save(tmp_path / "run.h5")
    change(path, table, column, where, value)
    with pytest.raises(FileFormatError, match=r"run\.h5: the recording is damaged"):
        Trajectory.load(path)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("event_contacts", "point", np.nan),
        ("event_contacts", "friction", -1.0),
        ("event_contacts", "first", 77),
        ("events", "status", 33),
    ],
)
def test_damage_in_an_event_is_told_when_it_is_read(run, tmp_path, table, column, value):
    path = run.save(tmp_path / "run.h5")
    change(path, table, column, 0, value)
    loaded = Trajectory.load(path)
    with pytest.raises(FileFormatError, match=r"run\.h5: the recording is damaged"):
        loaded.events[0].outcome  # noqa: B018
    assert loaded.events[-1].time == run.events[-1].time


def assert_impacts_are_those_of_the_events(trajectory):
    records = trajectory.impacts
    row = 0
    for number, event in enumerate(trajectory.events):
        if event.outcome is None:
            continue
        rows = slice(row, row + len(event.contacts))
        assert (records.event[rows] == number).all()
        assert (records.time[rows] == event.time).all()
        assert np.array_equal(records.bodies[rows], event.contacts.bodies)
        assert np.abs(records.velocity_before[rows].ravel() - event.problem.u).max() < 1e-13
        assert np.array_equal(records.impulse[rows].ravel(), event.outcome.impulse)
        after = records.velocity_after[rows].ravel()
        assert np.abs(after - event.outcome.velocity).max() < 1e-13
        assert records.energy_change[rows].sum() == pytest.approx(
            event.outcome.energy_change, rel=1e-9, abs=1e-12
        )
        row = rows.stop
    assert row == len(records)


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_impacts_as_arrays_are_those_of_the_events(friction, tmp_path):
    simulator = bouncing(restitution=0.0 if friction else 0.8, friction=friction)
    simulator.step_event()
    early = simulator.trajectory.impacts
    assert simulator.trajectory.impacts is early
    run = simulator.run(0.9)
    assert len(run.impacts) > len(early) > 0
    assert_impacts_are_those_of_the_events(run)
    loaded = Trajectory.load(run.save(tmp_path / "run.h5"))
    assert_impacts_are_those_of_the_events(loaded)
    numbers, impulse = loaded.impacts.per_event(loaded.impacts.impulse[:, 0])
    assert numbers.tolist() == [k for k, event in enumerate(run.events) if event.outcome is not None]
    assert impulse[0] == pytest.approx(run.events[int(numbers[0])].outcome.impulse[0::3].sum(), rel=1e-15)


def test_several_contacts_at_once_and_events_without_impulse_are_kept_apart(tmp_path):
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True))
    scene.add(Body(Box((0.4, 0.3, 0.1)), density=500.0, position=(0, 0, 0.2), material=Material(0.3, 0.0)))
    scene.add(Body(Sphere(0.1), density=500.0, position=(1, 0, 0.3), material=Material(0.3, 0.0)))
    scene.add(Body(Sphere(0.2), fixed=True, sensor=True, position=(1, 0, 0.5)))
    run = Simulator(scene, AnitescuPotra()).run(1.0)
    assert {len(event.contacts) for event in run.events} >= {1, 4}
    loaded = Trajectory.load(run.save(tmp_path / "run.h5"))
    assert_impacts_are_those_of_the_events(loaded)


def test_impacts_go_into_pandas_as_they_are(tmp_path):
    pandas = pytest.importorskip("pandas")
    run = bouncing().run(1.5)
    columns = ["event", "time", "first", "second"] + [
        f"{component}_{vector}"
        for vector in ("velocity_before", "velocity_after", "impulse")
        for component in ("normal", "tangent", "tangent2")
    ]
    for found in (run, Trajectory.load(run.save(tmp_path / "run.h5"))):
        frame = pandas.DataFrame(found.impacts)
        assert frame.columns.tolist() == columns
        assert frame.dtypes.tolist() == ["int64", "float64", "int64", "int64"] + ["float64"] * 9
        assert frame["time"].tolist() == found.event_times[found.impacts.event].tolist()
        assert frame[columns[10:]].to_numpy().tolist() == found.impacts.impulse.tolist()
        total = frame.groupby("event")["normal_impulse"].sum()
        numbers, sums = found.impacts.per_event(found.impacts.impulse[:, 0])
        assert (total.index.tolist(), total.tolist()) == (numbers.tolist(), sums.tolist())
    assert pandas.DataFrame(bouncing().trajectory.impacts).columns.tolist() == columns
    late = run.impacts[run.impacts["time"] > 1.0]
    assert late.impulse.shape == (len(late), 3)
    assert type(run.impacts["time"]) is np.ndarray


def test_examples_in_docstrings():
    for module in (impact_records, trajectory_module):
        assert doctest.testmod(module, extraglobs={"carom": carom}).failed == 0


@pytest.mark.parametrize("source", ["run", "loaded"])
def test_a_trajectory_can_be_sent_to_another_process(source, request):
    trajectory = request.getfixturevalue(source)
    sent = pickle.loads(pickle.dumps(trajectory))
    times = np.linspace(0.0, trajectory.end_time, 100)
    assert np.array_equal(sent.sample(times).packed(), trajectory.sample(times).packed())
    assert sent.event_hash == trajectory.event_hash
    assert (sent.status, sent.message, sent.known_until) == (
        trajectory.status, trajectory.message, trajectory.known_until,
    )  # fmt: skip
    assert np.array_equal(sent.impacts, trajectory.impacts)
    for one, other in zip(sent.events, trajectory.events, strict=True):
        assert (one.time, one.kind) == (other.time, other.kind)
        assert one.outcome is None or np.array_equal(one.outcome.impulse, other.outcome.impulse)


def test_what_was_sent_needs_no_file(tmp_path):
    path = bouncing().run(1.5).save(tmp_path / "run.h5")
    sent = pickle.dumps(Trajectory.load(path))
    path.unlink()
    again = pickle.loads(sent)
    assert again.sample(1.0).position[1, 2] > 0.0
    assert again.save(tmp_path / "again.h5").exists()


def test_a_run_without_impacts_has_none(tmp_path):
    scene = Scene(gravity=(0, 0, 0))
    scene.add(Body(Sphere(0.1), density=1.0))
    run = Simulator(scene, SequentialReflection()).run(1.0, stop_at_rest=False)
    loaded = Trajectory.load(run.save(tmp_path / "run.h5"))
    for trajectory in (run, loaded):
        assert len(trajectory.impacts) == len(trajectory.events) == len(trajectory.event_kinds) == 0
        assert trajectory.impacts.impulse.shape == (0, 3)


@pytest.mark.parametrize("part", ["events", "/"])
def test_damage_in_what_hdf5_itself_keeps_is_told(run, tmp_path, part):
    path = run.save(tmp_path / "run.h5")
    data = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        place = h5py.h5o.get_info(file[part].id).addr
    data[place : place + 8] = b"damaged!"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"run\.h5: ") as caught:
        Trajectory.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", [9, 39, 45])
def test_damage_at_the_very_beginning_is_told_at_once(run, tmp_path, place):
    path = run.save(tmp_path / "run.h5")
    data = bytearray(path.read_bytes())
    data[place] ^= 0x55
    path.write_bytes(data)
    begin = time.monotonic()
    with pytest.raises(FileFormatError, match=r"run\.h5: the recording is damaged \(its first bytes"):
        Trajectory.load(path)
    assert time.monotonic() - begin < 5.0


def test_checksum_is_that_of_its_publication():
    assert checksum(b"") == 0xDEADBEEF
    assert checksum(b"Four score and seven years ago") == 0x17770551


@needs_benchmarks
@pytest.mark.parametrize("number", [12274, 12400])
def test_reflections_with_loss_are_those_of_the_law_in_python(number):
    """Stacks that rattle: impacts of several contacts, compiled, against the class on the problems recorded."""
    scene, law, _ = benchmark("random_scenes").random_scene(number)
    assert law == "reflection"
    run = Simulator(scene, SequentialReflection(), seed=number).run(0.031)
    reflected = several = same = 0
    for event in run.events:
        if event.problem is None or event.problem.contact_count < 2 or event.problem.restitution.min() == 1.0:
            continue
        measure = np.sort(event.problem.normal_velocity)
        if np.diff(measure).min() <= 1e-12 * np.abs(measure).max():
            continue  # which of two is first is rounding's choice
        expected = SequentialReflection().resolve(event.problem)
        assert event.outcome.status is expected.status
        size = np.abs(expected.impulse).max()
        np.testing.assert_allclose(event.outcome.impulse, expected.impulse, atol=1e-9 * size)
        several, reflected = several + 1, max(reflected, len(expected.info["sequence"]))
        same += (
            event.outcome.info["sequence"] == expected.info["sequence"]
        )  # but for approach at the threshold
    assert several > 5
    assert same > 0.8 * several
    assert reflected > 2
