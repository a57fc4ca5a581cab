"""Files of ensembles that lead elsewhere, or hold what no sweep leaves: each is refused in one sentence."""

import json

import h5py
import numpy as np
import pytest

import carom
from carom.simulator.record.schema import write_text

HUGE = 2**40


def square(member, rng):
    if member["x"] == 2.0:
        raise RuntimeError("two")
    return {"square": member["x"] ** 2, "pair": [member["x"], 0.0]}


MEMBERS = {"x": [0.0, 1.0, 2.0, 3.0]}


@pytest.fixture
def path(tmp_path):
    return carom.ensemble(square, MEMBERS, workers=0).save(tmp_path / "rows.h5")


def replaced(name, **how):
    def edit(file):
        del file[name]
        file.create_dataset(name, **how)

    return edit


def identity(**changes):
    def edit(file):
        found = json.loads(bytes(file.attrs["identity"])) | changes
        write_text(file, "identity", json.dumps(found))

    return edit


def column(name, place, value):
    def edit(file):
        file[name][place] = value

    return edit


def linked(name):
    def edit(file):
        del file[name]
        file[name] = h5py.ExternalLink("other.h5", name)

    return edit


EDITS = {
    "link": (linked("text"), "text: .* got a link to elsewhere"),
    "linked column": (linked("columns/square"), "square: .* got a link to elsewhere"),
    "huge parameter": (replaced("parameters/x", shape=(HUGE,), dtype="f8", chunks=(64,)), "no more than"),
    "huge index": (replaced("index", shape=(HUGE,), dtype="i8", chunks=(64,)), "no more than"),
    "huge text": (replaced("text", shape=(HUGE,), dtype="u1", chunks=(64,)), "no more than"),
    "wide column": (replaced("columns/pair", shape=(4, HUGE), dtype="f8", chunks=(1, 64)), "no row longer than"),
    "wide and empty": (replaced("columns/pair", shape=(0, HUGE), dtype="f8", chunks=(1, 64),
                                maxshape=(None, HUGE)), "no row longer than"),
    "complex": (replaced("columns/pair", shape=(4, 2), dtype="c16"), "type float64, got complex128"),
    "short column": (replaced("columns/pair", shape=(1, 2), dtype="f8"), "pair: expected 4 rows"),
    "short seconds": (replaced("seconds", shape=(1,), dtype="f8"), "seconds: expected 4 rows"),
    "short parameter": (replaced("parameters/x", shape=(3,), dtype="f8"), "x: expected 4 rows"),
    "member": (column("index", 0, 4), "index: expected numbers of members that there are"),
    "negative member": (column("index", 0, -1), "index: expected numbers of members that there are"),
    "length": (column("length", 0, -9), "length: expected the lengths of texts"),
    "long length": (column("length", 0, 2**31 - 1), "length: expected the lengths of texts"),
    "rows": (column("whole_rows", -1, [10**6, 10]), "expected 1000000 rows"),
    "negative rows": (column("whole_rows", -1, [-1, 10]), "whole_rows: expected numbers of rows"),
    "status": (column("text", slice(0, 8), np.frombuffer(b"[1,2    ", dtype="u1")), "damaged"),
    "count": (identity(count=-1), "identity: expected a number of members up to"),
    "name": (identity(run=3), "identity: expected run as str, got 3"),
    "growing": (identity(growing="yes"), "identity: expected growing as bool"),
    "more": (identity(more=1), "damaged"),
    "deep": (lambda file: write_text(file, "identity", "[" * 60_000), "damaged"),
}  # fmt: skip


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", EDITS)
def test_what_no_sweep_leaves_is_refused_in_one_sentence(name, path):
    edit, words = EDITS[name]
    with h5py.File(path, "r+", libver="latest") as file:
        edit(file)
    with pytest.raises(carom.FileFormatError, match=words) as caught:
        carom.Ensemble.load(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: the ensemble is damaged (")
    assert "\n" not in text


def test_the_file_that_these_edits_spoil_is_whole(path):
    read = carom.Ensemble.load(path)
    assert [index for index, _, _ in read.failures] == [2]
    assert np.isnan(read["pair"][2]).all()


def test_members_that_never_ran_take_no_more_memory_than_a_stranger_may_ask_for(path):
    """Of ten million members of a small file, only what made them knows that they are meant."""
    with h5py.File(path, "r+", libver="latest") as file:
        identity(count=10_000_000)(file)
        replaced("columns/pair", shape=(4, 500), dtype="f8")(file)
    with pytest.raises(
        carom.FileFormatError, match="members that take at most 2147483648 bytes, got 10000000"
    ):
        carom.Ensemble.load(path)
    with pytest.raises(ValueError, match=r"members: expected 10000000, with which .* was begun, got 4"):
        carom.ensemble(square, MEMBERS, workers=0, store=path, resume=True)
