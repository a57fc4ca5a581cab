"""Files of time steps that lead elsewhere, or hold what no run leaves: each is refused in one sentence."""

import json
import os

import h5py
import numpy as np
import pytest

import carom
from carom.simulator.stepping.search_kernels import KEPT
from carom.simulator.stepping.step_recording import FORMAT

from ..file_edits import linked, replaced

HUGE = 2**40


def made():
    """Two balls that fall on a floor."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="floor"))
    scene.add_spheres(0.01, density=2500.0, position=[(0, 0, 0.011), (0.001, 0, 0.05)], name="grains")
    return carom.TimeSteps(scene, carom.MaximumDissipation(tolerance=1e-4, max_sweeps=500), step=1e-3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    steps = made()
    steps.run(0.03, frames_every=0.01)
    return steps.save(tmp_path_factory.mktemp("whole") / "steps.h5").read_bytes()


@pytest.fixture
def path(whole, tmp_path):
    """A copy that a test may spoil; beside it another file with the same names in it."""
    (tmp_path / "other.h5").write_bytes(whole)
    copy = tmp_path / "steps.h5"
    copy.write_bytes(whole)
    return copy


def virtual(file):
    shape = file["ids"].shape
    layout = h5py.VirtualLayout(shape=shape, dtype="i8")
    layout[...] = h5py.VirtualSource("other.h5", "ids", shape=shape)
    del file["ids"]
    file.create_virtual_dataset("ids", layout)


def number(name, place, value, column=None):
    def edit(file):
        rows = file[name][()]
        (rows if column is None else rows[column])[place] = value
        file[name][()] = rows

    return edit


def described(change):
    def edit(file):
        meta = json.loads(file["description"][()].tobytes())
        change(meta)
        replaced("description", data=np.frombuffer(json.dumps(meta).encode(), dtype="u1"))(file)

    return edit


EDITS = {
    "external link": (linked("log", h5py.ExternalLink("other.h5", "/log")), "log: .* got a link to elsewhere"),
    "external group": (linked("frames", h5py.ExternalLink("other.h5", "/frames")), "frames: .* got a link"),
    "soft link": (linked("frames/000000/radius", h5py.SoftLink("/ids")), "radius: .* got a link"),
    "virtual": (virtual, "ids: .* got a reference to another file"),
    "external storage": (
        replaced("ids", shape=(2,), dtype="i8", external=[(os.devnull, 0, h5py.h5f.UNLIMITED)]),
        "ids: .* got a reference to another file",
    ),
    "huge fill": (
        replaced("wall_impulses", shape=(HUGE, 3), dtype="f8", chunks=(64, 3)), "no more than the file's"
    ),
    "huge frame": (
        replaced("frames/000000/number", shape=(HUGE,), dtype="i8", chunks=(64,)), "no more than the file's"
    ),
    "rank": (replaced("wall_impulses", shape=(), dtype="f8"), r"wall_impulses: expected rank 2, got shape \(\)"),
    "shape": (replaced("places", shape=(2, 5), dtype="f8"), r"places: expected shape \(n, 4\), got \(2, 5\)"),
    "count": (replaced("ids", shape=(3,), dtype="i8"), r"ids: expected shape \(2\), got \(3,\)"),
    "complex": (replaced("places", shape=(2, 4), dtype="c16"), "type float64, got complex128"),
    "compressed": (replaced("ids", data=np.arange(2), compression="gzip"), "got compressed ones"),
    "no columns": (replaced("motions", shape=(2,), dtype="f8"), "motions: expected numbers of type"),
    "missing": (lambda file: file.__delitem__("rows"), "rows: not in the file"),
    "frame without a time": (lambda file: file["frames/000000"].attrs.__delitem__("time"), "time: not in the file"),
    "NaN place": (number("places", (0, 1), np.nan), "places: expected from .* got nan"),
    "far place": (number("places", (0, 1), 1e200), r"places: expected from .* got 1e\+200"),
    "radius": (number("places", (1, 3), -0.1), "places: expected radii greater than 0, got -0.1"),
    "mass": (number("motions", 0, -1.0, "inverse_mass"), "motions: expected inverse_mass from 0"),
    "speed": (number("motions", 0, np.inf, "vx"), "motions: expected vx from .* got inf"),
    "negative surface": (number("surfaces", 0, -1), "surfaces: expected numbers from 0 on"),
    "id": (number("ids", 0, 5), "ids: expected numbers from 0 to below 2"),
    "touch": (replaced("kept", shape=(9,), dtype=KEPT), "kept_starts: expected rising numbers"),
    "row": (number("rows", 0, 10**6), "rows: expected rows of the last step"),
    "log": (number("log", 0, -5, "sweeps"), "log: expected sweeps from 0"),
    "deep": (
        replaced("description", data=np.frombuffer(b"[" * 100_000, dtype="u1")), "maximum recursion depth|damaged"
    ),
    "list": (replaced("description", data=np.frombuffer(b"[1]", dtype="u1")), "damaged"),
    "setup": (described(lambda meta: meta.update(setup=[1])), "setup: expected texts by name"),
    "no step": (described(lambda meta: meta["setup"].pop("step")), "step"),
    "step": (described(lambda meta: meta["setup"].update(step="NaN")), "step: expected a number greater than 0"),
    "names": (described(lambda meta: meta.update(names=[[3, "a", True]])), "names: expected names of spheres"),
    "counts": (described(lambda meta: meta["counts"].update(steps_made=-1)), "counts: expected whole numbers"),
    "generator": (described(lambda meta: meta.update(rng={"state": 1})), "damaged"),
}  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", EDITS)
def test_what_no_run_leaves_is_refused_in_one_sentence(name, path):
    edit, words = EDITS[name]
    with h5py.File(path, "r+", libver="latest") as file:
        edit(file)
    for read in (carom.StepRecording.load, made().restore):
        with pytest.raises(carom.FileFormatError, match=words) as caught:
            read(path)
        text = str(caught.value)
        assert text.startswith(f"{path}: the run of time steps is damaged (")
        assert "\n" not in text


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (number("surfaces", 1, 2**30), "surfaces: expected numbers below 1, got 1073741824"),
        (replaced("wall_impulses", shape=(0, 3), dtype="f8"), r"wall_impulses: expected shape \(1, 3\)"),
    ],
)  # fmt: skip
def test_a_run_does_not_go_on_from_what_kernels_would_read_or_write_out_of_bounds(edit, words, path):
    with h5py.File(path, "r+", libver="latest") as file:
        edit(file)
    carom.StepRecording.load(path)
    with pytest.raises(carom.FileFormatError, match=words):
        made().restore(path)


def test_the_file_that_these_edits_spoil_is_whole(path):
    steps = made()
    steps.restore(path)
    assert len(carom.StepRecording.load(path).frames) == 3
    assert b"GCOL" not in path.read_bytes()  # the heap of HDF5 that has no checksum


def test_only_runs_of_time_steps_are_read(path, tmp_path):
    with pytest.raises(
        carom.FileFormatError, match="it is a carom run of time steps, but no carom recording"
    ):
        carom.Trajectory.load(path)
    pipe = tmp_path / "pipe.h5"
    os.mkfifo(pipe)
    with pytest.raises(carom.FileFormatError, match="it is not a file"):
        carom.StepRecording.load(pipe)  # would wait for ever for somebody who writes
    with h5py.File(path, "r+") as file:
        file.attrs["version"] = 1
    with pytest.raises(carom.FileFormatError, match="expected format version 2, got 1"):
        carom.StepRecording.load(path)
    (tmp_path / "text.h5").write_text("words")
    with pytest.raises(carom.FileFormatError, match=f"it is not a {FORMAT}"):
        carom.StepRecording.load(tmp_path / "text.h5")
