"""Rows as they stand in a recording are given back to the last bit, whatever is expected of them."""

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import carom
from carom.simulator.record import recording
from carom.simulator.record.log import LOG_TABLES
from carom.simulator.record.row_forms import PlainRows, differences, restored, row_form

NUMBERS = st.floats(width=64) | st.sampled_from([0.0, -0.0, 5e-324, -1.7e308, 1.7e308])


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=50))
def test_every_number_is_restored_from_its_difference(pairs):
    values, expected = np.array(pairs).T.copy()
    found = restored(differences(values, expected), expected)
    assert found.tobytes() == values.tobytes()


def test_differences_of_near_numbers_are_small():
    values = np.random.default_rng(0).normal(size=1000)
    near = np.nextafter(values, np.where(np.arange(1000) % 2, np.inf, -np.inf))
    assert set(differences(near, values).tolist()) == {2, 4}
    assert (differences(values, values) == 0).all()
    assert (differences(-values, values) == 1).all()


LAWS = {
    "stronge": (carom.StrongeCoulomb(), 0.3, 0.7),
    "stronge in Python": (carom.StrongeCoulomb(order="random"), 0.3, 0.7),
    "sequential-lcp": (carom.SequentialLCP(), 0.3, 0.5),
    "maximum-dissipation": (carom.MaximumDissipation(), 0.3, 0.5),
    "anitescu-potra": (carom.AnitescuPotra(), 0.3, 0.5),
    "reflection": (carom.SequentialReflection(), 0.0, 1.0),
}


def gas(friction, restitution):
    """Spheres and a box in a box: impacts of one contact and, where corners meet walls, of several."""
    material = carom.Material(friction=friction, restitution=restitution)
    scene = carom.Scene(gravity=(0, 0, -2.0))
    for axis in range(3):
        for sign in (1, -1):
            normal = sign * np.eye(3)[axis]
            scene.add(carom.Body(carom.HalfSpace(normal, offset=-1.0), fixed=True, material=material))
    rng = np.random.default_rng(0)
    for number, cell in enumerate(np.argwhere(np.ones((2, 2, 2)))):
        shape = carom.Sphere(0.2) if number else carom.Box((0.3, 0.3, 0.3))
        velocity = rng.normal(size=3)
        scene.add(
            carom.Body(shape, mass=1.0 + number, position=cell - 0.5, velocity=velocity, material=material)
        )
    return scene


@pytest.fixture(scope="module", params=LAWS)
def run(request):
    law, friction, restitution = LAWS[request.param]
    found = carom.Simulator(gas(friction, restitution), law, event_limit=300).run(100.0)
    assert {len(event.contacts) for event in found.events} >= {1}
    return found


def bits(trajectory):
    return {
        name: getattr(trajectory.log, name).rows(0, n).tobytes()
        for name, n in trajectory.log.lengths().items()
    }


def test_all_rows_of_a_run_are_read_back_bit_for_bit(run, tmp_path):
    loaded = carom.Trajectory.load(run.save(tmp_path / "run.h5"))
    assert bits(loaded) == bits(run)
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["stage_log"].dtype == file["pieces"].dtype["scalar"] == np.dtype("i8")


def test_stages_can_be_read_from_anywhere(run, tmp_path):
    loaded = carom.Trajectory.load(run.save(tmp_path / "run.h5"))
    count = len(run.log.stage_log)
    for first, last in np.sort(np.random.default_rng(1).integers(0, count + 1, (60, 2)), axis=1).tolist():
        assert (
            loaded.log.stage_log.rows(first, last).tobytes() == run.log.stage_log.rows(first, last).tobytes()
        )
    for event, other in zip(loaded.events[::17], run.events[::17], strict=True):
        assert (event.outcome is None) == (other.outcome is None)
        if event.outcome is not None:
            assert np.array_equal(event.outcome.path.impulse, other.outcome.path.impulse)
            assert event.outcome.info == other.outcome.info


def test_recordings_of_version_8_are_read(run, tmp_path, monkeypatch):
    """They have all numbers as they are."""
    monkeypatch.setattr(recording, "VERSION", 8)
    monkeypatch.setattr(recording, "row_form", lambda name, dtype, *others: PlainRows(dtype))
    path = run.save(tmp_path / "old.h5")
    with h5py.File(path) as file:
        assert file.attrs["version"] == 8
        assert file["event_contacts"].dtype["tangent"].base == np.dtype("f8")
    monkeypatch.undo()
    loaded = carom.Trajectory.load(path)
    assert bits(loaded) == bits(run)
    assert loaded.event_hash == run.event_hash
    again = carom.Trajectory.load(loaded.save(tmp_path / "new.h5"))
    assert bits(again) == bits(run)


def test_recordings_of_version_9_are_read(run, tmp_path, monkeypatch):
    """They have the description of their scene as it is."""
    monkeypatch.setattr(recording, "VERSION", 9)
    monkeypatch.setattr(recording, "can_be_packed", lambda rows: False)
    path = run.save(tmp_path / "old.h5")
    with h5py.File(path) as file:
        assert file.attrs["version"] == 9
        assert file["scene/description"].chunks is None
    monkeypatch.undo()
    loaded = carom.Trajectory.load(path)
    assert bits(loaded) == bits(run)
    again = carom.Trajectory.load(loaded.save(tmp_path / "new.h5"))
    assert bits(again) == bits(run)
    assert again.scene.describe()[0] == run.scene.describe()[0]


def test_scenes_are_packed_but_for_what_would_be_refused(tmp_path):
    """A name of a million equal letters is packed to less than a file may hold so much for."""
    for names, packed in (([f"stone {k}" for k in range(40)], True), (["a" * 10**6], False)):
        scene = carom.Scene()
        for k, name in enumerate(names):
            scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(k, 0, 0), name=name))
        path = carom.Simulator(scene, carom.SequentialReflection()).run(0.1).save(tmp_path / "run.h5")
        with h5py.File(path) as file:
            data = file["scene/description"]
            assert (data.chunks is not None) == packed
            assert not packed or data.id.get_storage_size() < 0.2 * len(data)
        assert [body.name for body in carom.Trajectory.load(path).scene.bodies] == names


def test_every_column_in_a_file_says_what_it_is(run, tmp_path):
    with h5py.File(run.save(tmp_path / "run.h5")) as file:
        for name, dtype in LOG_TABLES.items():
            form = row_form(name, np.dtype(dtype), run.scene, run.law_name, vars(run.log))
            assert file[name].dtype == form.stored
            said = recording._meaning(name, form)
            assert list(said) == list(form.stored.names or [""])
            wholes = [column for column in said if said[column].startswith("difference")]
            of_length_8 = [
                column for column in form.stored.names or () if form.stored[column].base == np.dtype("i8")
            ]
            assert wholes == of_length_8
        assert "modulo 2^63" in file.attrs["difference"].decode()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("value", [np.nan, np.inf, 1.7e308, 5e-324, -1.0])
def test_rows_of_any_numbers_are_restored_without_a_warning(value):
    """Saved: the product of a damaged file's restitution and velocity overflowed, and numpy said so."""
    form = row_form("event_contacts", LOG_TABLES["event_contacts"], carom.Scene(), "stronge-coulomb", {})
    rows = np.zeros(3, dtype=LOG_TABLES["event_contacts"])
    for name in rows.dtype.names:
        if rows.dtype[name].base.kind == "f":
            rows[name] = value
    assert form.restored(form.packed(rows, 0), 0).tobytes() == rows.tobytes()
