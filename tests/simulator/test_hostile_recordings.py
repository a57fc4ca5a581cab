"""Recordings that lead elsewhere, or hold what no run leaves: each found case is refused in one sentence."""

import json
import os
import zlib

import h5py
import numpy as np
import pytest

import carom
from carom.simulator import BranchedRun
from carom.simulator.record.row_forms import differences
from carom.simulator.record.schema import PACKED, write_text

from .file_edits import linked, replaced

HUGE = 2**40


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A recording of two bodies, one of them a mesh, on a floor."""
    material = carom.Material(friction=0.4, restitution=0.5)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    corners = [(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)]
    mesh = carom.Mesh((corners, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]))
    scene.add(carom.Body(mesh, density=1000.0, position=(0, 0, 0.1), material=material))
    scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(1, 0, 0.3), material=material))
    run = carom.Simulator(scene, carom.AnitescuPotra()).run(0.4)
    assert len(run.events) > 2
    return run.save(tmp_path_factory.mktemp("whole") / "run.h5").read_bytes()


@pytest.fixture
def path(whole, tmp_path):
    """A copy that a test may spoil; beside it another file with the same names in it."""
    copy = tmp_path / "run.h5"
    copy.write_bytes(whole)
    (tmp_path / "other.h5").write_bytes(whole)
    return copy


def read_whole(path):
    """All that there is to be looked at."""
    run = carom.Trajectory.load(path)
    for event in run.events:
        _ = event.note, event.contacts, event.problem, event.outcome
    times = np.linspace(run.start_time, run.end_time, 5)
    return run.sample(times), run.ledger(times), run.impacts, run.event_hash


def virtual(file):
    dtype, shape = file["events"].dtype, file["events"].shape
    layout = h5py.VirtualLayout(shape=shape, dtype=dtype)
    layout[...] = h5py.VirtualSource("other.h5", "events", shape=shape)
    del file["events"]
    file.create_virtual_dataset("events", layout)


def outside(file):
    dtype, shape = file["texts"].dtype, file["texts"].shape
    del file["texts"]
    file.create_dataset("texts", shape=shape, dtype=dtype, external=[(os.devnull, 0, h5py.h5f.UNLIMITED)])


def number(table, column, value, row=-1):
    """An edit of one number of a row."""

    def edit(file):
        rows = file[table][()]
        if column is None:
            rows[row] = value
        else:
            rows[column][row] = value
        file[table][()] = rows

    return edit


def progress(column, value):
    def edit(file):
        file["progress"][-1, column] = value

    return edit


def attribute(name, value, owner="/"):
    def edit(file):
        if isinstance(value, str):
            write_text(file[owner], name, value)
        else:
            file[owner].attrs[name] = value

    return edit


def described(change):
    """An edit of the scene's description."""

    def edit(file):
        meta = json.loads(file["scene/description"][()].tobytes())
        change(meta)
        del file["scene/description"]
        file["scene/description"] = np.frombuffer(json.dumps(meta).encode(), dtype="u1")

    return edit


def grown(name, rows):
    def edit(file):
        file[name].resize(rows, axis=0)

    return edit


def packed_chunk(name, change):
    """An edit of the bytes of the first chunk of a packed table, which is not unpacked for it."""

    def edit(file):
        mask, content = file[name].id.read_direct_chunk((0,))
        file[name].id.write_direct_chunk((0,), change(content), mask)

    return edit


PIECES, EVENTS, CONTACTS = "pieces", "events", "event_contacts"
VERTICES = "scene/arrays/mesh-0_vertices"
EDITS = {
    # what leads to other files
    "soft link": (linked("events", h5py.SoftLink("/pieces")), "events: expected it in the file itself, got a link"),
    "external link": (linked("events", h5py.ExternalLink("other.h5", "/events")), "got a link to elsewhere"),
    "external group": (linked("scene", h5py.ExternalLink("other.h5", "/scene")), "scene: .* got a link"),
    "link in the scene": (linked("scene/description", h5py.SoftLink("/texts")), "description: .* got a link"),
    "virtual": (virtual, "events: .* got a reference to another file"),
    "external storage": (outside, "texts: .* got a reference to another file"),
    # ranks, types, sizes
    "rank": (replaced("events", shape=(2, 2), dtype="f8"), r"events: expected rank 1, got shape \(2, 2\)"),
    "scalar": (replaced("message", data=np.uint8(3)), r"message: expected rank 1, got shape \(\)"),
    "complex": (replaced("piece_numbers", shape=(4,), dtype="c16", chunks=True), "type float64, got complex128"),
    "wide": (replaced("stage_log", shape=(4,), dtype="g", chunks=True), "type float64, got float128"),
    "wide texts": (replaced("texts", shape=(4,), dtype="u4", chunks=True), "type uint8, got uint32"),
    "group": (lambda file: (file.__delitem__("works"), file.create_group("works")), "works: expected a data set"),
    "compressed": (replaced("texts", shape=(9,), dtype="u1", compression="gzip"), "got compressed ones"),
    "huge fill": (
        replaced("scene/description", shape=(HUGE,), dtype="u1", chunks=(64,), fillvalue=b"["[0]),
        "no more than the file's",
    ),
    "huge packed scene": (
        replaced("scene/description", shape=(HUGE,), dtype="u1", chunks=(2**14,), fillvalue=b"["[0], **PACKED),
        "description cannot have .* rows in a file of",
    ),
    "scene without a chunk": (
        replaced("scene/description", shape=(9,), dtype="u1", chunks=(9,), fillvalue=b"["[0], **PACKED),
        "description lacks a part",
    ),
    "cut scene": (packed_chunk("scene/description", lambda chunk: chunk[:20]), "damaged"),
    "huge array": (replaced(VERTICES, shape=(HUGE, 3), chunks=(8, 3), dtype="f8"), "no more"),
    "huge table": (lambda file: (grown("pieces", HUGE)(file), progress(6, HUGE)(file)), "cannot have"),
    "huge progress": (replaced("progress", shape=(HUGE, 16), dtype="f8", chunks=(8, 16)), "damaged"),
    "narrow progress": (replaced("progress", shape=(1, 3), dtype="f8"), "progress: expected rows of 15 numbers"),
    "no progress": (replaced("progress", shape=(0, 15), dtype="f8"), "progress: expected rows of 15 numbers"),
    "long chunks": (
        replaced("stage_log", shape=(10**6,), maxshape=(None,), dtype="f8", chunks=(2**20,), **PACKED),
        "has chunks of .* rows, which are too long",
    ),
    "cut chunk": (packed_chunk("stage_log", lambda chunk: chunk[:20]), "damaged"),
    "long chunk": (packed_chunk("stage_log", lambda chunk: zlib.compress(bytes(10**6))), "longer than its rows"),
    "short chunk": (packed_chunk("stage_log", lambda chunk: zlib.compress(bytes(10))), "shorter than its rows"),
    # numbers that no run leaves
    "NaN time": (number(EVENTS, "time", np.nan), "events: expected time .* got nan"),
    "infinite time": (number(EVENTS, "time", np.inf), "events: expected time .* got inf"),
    "negative time": (number(EVENTS, "time", -1.0, 0), "events: expected them in order of time"),
    "times fall": (number(EVENTS, "time", 0.0), "events: expected them in order of time"),
    "time after the end": (number(EVENTS, "time", 1e9), "events: expected them in order of time"),
    "piece before the start": (number(PIECES, "start", -1.0, 0), "pieces: expected them in order of time"),
    "NaN piece": (number(PIECES, "start", np.nan), "pieces: expected start .* got nan"),
    "state": (number(PIECES, "state", 1e200), r"pieces: expected state .* got 1e\+200"),
    "quaternion": (number(PIECES, "state", 0.9), "quaternions of unit length, got "),
    "scalar of a quaternion": (number(PIECES, "scalar", 2**60), "quaternions of unit length, got "),
    "scalar that is no number": (number(PIECES, "scalar", -1), "pieces: expected state .* got "),
    "tangent": (number(CONTACTS, "tangent", 2**63 - 1), "event_contacts: expected tangent .* got "),
    "separation": (number(CONTACTS, "separation", -1), "event_contacts: expected after .* got "),
    "body": (number(PIECES, "body", 3), "pieces: expected body from 0 to 2, got 3"),
    "no piece of a body": (number(PIECES, "body", 0, slice(None)), "got none of body 1"),
    "terms": (number(PIECES, "terms", 99), "pieces: expected terms from 0 to"),
    "kind": (number(EVENTS, "kind", 8), "events: expected kind from 0 to 7, got 8"),
    "pieces of an event": (number(EVENTS, "pieces", 10**6), "numbers of pieces that rise"),
    "contacts": (number(EVENTS, "contacts", 2**31 - 1), "no more contacts than there are"),
    "width": (number(EVENTS, "width", 2**31 - 1), "stage_log"),
    "number": (number("stage_log", None, 2**63 - 1), "stage_log: expected from .* got "),
    "contact point": (number(CONTACTS, "point", np.inf), "event_contacts: expected point .* got inf"),
    "feature": (number(CONTACTS, "feature", 9), "event_contacts: expected feature from 0 to 5, got 9"),
    "contact body": (number(CONTACTS, "first", 77), "event_contacts: expected first from -1 to 3, got 77"),
    "restitution": (number(CONTACTS, "restitution", 2.0), "contacts: expected restitution from 0 to 1, got 2"),
    "text": (number("texts", None, 0xFF, slice(3, 9)), "damaged"),
    "NaN end": (progress(1, np.nan), "progress: expected an end after the start"),
    "infinite end": (progress(1, np.inf), "progress: expected an end after the start"),
    "negative end": (progress(1, -1.0), "progress: expected an end after the start"),
    "infinite rest": (progress(3, np.inf), "progress: expected an end after the start"),
    "NaN rows": (progress(7, np.nan), "progress: expected numbers of rows, got nan"),
    "infinite rows": (progress(8, np.inf), "progress: expected numbers of rows, got inf"),
    "half a row": (progress(6, 1.5), "progress: expected numbers of rows, got 1.5"),
    "negative rows": (progress(6, -3.0), "progress: expected numbers of rows"),
    "too few rows": (progress(6, 1.0), "damaged"),
    "status": (progress(4, 1e300), "damaged"),
    "infinite asked time": (progress(2, np.inf), "progress: expected an end after the start"),
    "another flush": (progress(0, 7.0), "progress: expected row 1 to have this number, got 7.0"),
    "start": (attribute("start_time", np.nan), "start_time: expected a finite number"),
    "seed": (attribute("seed", -1), "seed: expected a whole number"),
    "seeds": (attribute("seed", [1, 2]), "seed: expected one number"),
    "complex seed": (attribute("seed", 1j), "seed: expected one number, got complex128"),
    "law": (attribute("law", 3), "law: expected one text, got int64"),
    "remarks": (attribute("remarks", "[1, 2]"), "remarks: expected a list of texts"),
    "deep remarks": (attribute("remarks", "[" * 100_000), "damaged"),
    "kinds": (attribute("kinds", '["impact"]', "events"), "expected the kinds of events"),
    "integrator": (attribute("integrator", '{"accuracy": -1}'), "accuracy: expected"),
    "no law": (lambda file: file.attrs.__delitem__("law"), "law: not in the file"),
    # scenes that there cannot be
    "scene of another version": (described(lambda meta: meta.update(version=2)), "version: expected 1, got 2"),
    "drag": (described(lambda meta: meta.update(drag=[{"body": 7}])), "body: expected the name of a body, got 7"),
    "drag of NaN": (described(lambda meta: meta.update(drag=[{"linear": float("nan")}])), "linear: expected a fin"),
    "plane": (described(lambda meta: meta.update(plane=[1, 2])), "normal: expected shape"),
    "plane of no direction": (described(lambda meta: meta.update(plane=[0, 0, 0])), "normal"),
    "joint of nothing": (described(lambda meta: meta.update(joints=[{}])), "kind: expected one of revolute"),
    "negative shape": (described(lambda meta: meta["bodies"][1].update(shape=-1)), "shape"),
    "negative drag": (described(lambda meta: meta.update(drag=[{"linear": -1}])), "linear: expected a number"),
    "a mesh by its file": (
        described(lambda meta: meta["shapes"].update(m={"kind": "mesh", "file": "x.stl", "sha256": ""})),
        "file: expected the mesh itself in a recording",
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", EDITS)
def test_what_no_recorder_writes_is_refused_in_one_sentence(name, path):
    edit, words = EDITS[name]
    with h5py.File(path, "r+", libver="latest") as file:
        edit(file)
    with pytest.raises(carom.FileFormatError, match=words) as caught:
        read_whole(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.count("damaged") <= 1
    assert "\n" not in text


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("value", [1e100, -1.0, 0.5, 1.0])
@pytest.mark.parametrize("law", [carom.SequentialLCP(), carom.SequentialReflection()])
def test_impacts_of_contacts_that_there_are_not(law, value, tmp_path):
    """Numbers of contacts were taken as they came: cast with numpy's warning, or counted from the end."""
    material = carom.Material(friction=0.0, restitution=0.5)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(0, 0, 0.3), material=material))
    path = carom.Simulator(scene, law).run(0.25).save(tmp_path / "run.h5")
    read_whole(path)
    with h5py.File(path, "r+") as file:
        file["stage_log"][0] = differences(np.array([value]), np.zeros(1))[0]
    with pytest.raises(carom.FileFormatError, match=r"stage_log: expected the number of one of 1 contacts"):
        read_whole(path)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_least_whole_number_is_a_number_like_others(path):
    """Its absolute value is none of its type, which numpy warned of."""
    with h5py.File(path, "r+") as file:
        file.attrs["start_time"] = np.int8(-128)
    assert carom.Trajectory.load(path).start_time == -128.0


def test_the_recording_that_these_edits_spoil_is_whole(path):
    assert len(read_whole(path)) == 4


def test_arrays_that_are_the_same_data_many_times_are_not_read_again_and_again(path):
    with h5py.File(path, "r+", libver="latest") as file:
        arrays = file["scene/arrays"]
        data = arrays.create_dataset("long", data=np.zeros(4096))
        for k in range(100):
            arrays[f"again_{k}"] = data
    with pytest.raises(carom.FileFormatError, match="no more than the file's"):
        carom.Trajectory.load(path)


def test_texts_are_not_kept_in_the_heap_that_has_no_checksum(path):
    """One damaged byte of HDF5's global heap let it search for ever, which nothing can interrupt."""
    with h5py.File(path) as file:
        for owner in (file, *(file[name] for name in file if isinstance(file[name], h5py.Dataset))):
            for name in owner.attrs:
                assert owner.attrs.get_id(name).dtype.kind in "iufS", name
    assert b"GCOL" not in path.read_bytes()
    with h5py.File(path, "r+") as file:
        file.attrs["law"] = "anitescu-potra"
    with pytest.raises(carom.FileFormatError, match="law: expected one text"):
        carom.Trajectory.load(path)


def test_recordings_of_another_version_and_other_files_say_so(path):
    with h5py.File(path, "r+") as file:
        file.attrs["version"] = 5
        file.attrs["format"] = "carom recording"  # as version 5 wrote it
    with pytest.raises(carom.FileFormatError, match="expected format version 8 or 9 or 10, got 5"):
        carom.Trajectory.load(path)
    with h5py.File(path, "r+") as file:
        file.attrs["version"] = 8
    with pytest.raises(carom.FileFormatError, match="format: expected one text"):
        carom.Trajectory.load(path)
    for call in (carom.Trajectory.load, BranchedRun.load):
        with pytest.raises(TypeError, match="path: expected the path of a file, got int"):
            call(3)
        with pytest.raises(carom.FileFormatError, match=r"no HDF5 file|no such file"):
            call("nul\x00.h5")
