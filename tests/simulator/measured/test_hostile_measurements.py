"""Files of measurements that are not what they say: each is refused in one sentence, before it is unpacked."""

import io
import os
import warnings
import zipfile

import numpy as np
import pytest

import carom
from carom.command_line import main
from carom.simulator.measured.public_data import read_public_data

FRAMES = {
    "time": np.arange(40) / 200.0,
    "position": np.zeros((40, 3)),
    "orientation": np.tile([1.0, 0.0, 0.0, 0.0], (40, 1)),
}
BOUNCES = {
    "velocity_before": np.zeros((3, 3)),
    "velocity_after": np.zeros((3, 3)),
    "lever": np.zeros((3, 2)),
    "clean": np.ones(3, bool),
    "gyration_squared": np.array(1e-3),
}
HEADER = b"t,x,y,z,qw,qx,qy,qz\n"


def motion(**changes):
    return lambda path: np.savez(path, **(FRAMES | changes))


def bounces(**changes):
    return lambda path: np.savez(path, **(BOUNCES | changes))


def content(found):
    return lambda path: path.write_bytes(found)


def changed(change):
    """An edit of the bytes of a whole file."""

    def write(path):
        np.savez(path, **FRAMES)
        path.write_bytes(change(path.read_bytes()))

    return write


def claimed(shape, length=0, compression=zipfile.ZIP_STORED):
    """A file whose arrays say that they have this shape, and have so many zeros."""

    def write(path):
        header = io.BytesIO()
        description = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(header, description)
        with zipfile.ZipFile(path, "w", compression) as file:
            for name in FRAMES:
                file.writestr(f"{name}.npy", header.getvalue() + bytes(length))

    return write


OBJECTS = np.array([print], dtype=object)
MOTIONS = {
    "text.npz": (content(b"words"), "expected an .npz file of arrays"),
    "empty.npz": (content(b""), "expected an .npz file of arrays"),
    "cut.npz": (changed(lambda whole: whole[:-30]), "expected an .npz file of arrays"),
    "flipped.npz": (changed(lambda whole: whole.replace(bytes(24), b"\x01" * 24, 1)), "position: .* CRC"),
    "array.npz": (lambda path: path.write_bytes(b"\x93NUMPY\x01\x00"), "expected an .npz file of arrays"),
    "objects.npz": (motion(time=OBJECTS), "time: is no array of numbers .*Object arrays"),
    "words.npz": (motion(time=np.array(["a"] * 40)), "time: expected numbers, got <U1"),
    "complex.npz": (motion(time=1j * np.arange(40)), "time: expected numbers, got complex128"),
    "missing.npz": (lambda path: np.savez(path, time=FRAMES["time"]), "position and orientation, got time"),
    "huge.npz": (claimed((10**12,)), "time: is no array of numbers"),
    "huger.npz": (claimed((2**62, 8)), "time: is no array of numbers"),
    "short.npz": (claimed((40,), 8), "time: is no array of numbers"),
    "bomb.npz": (claimed((10**6,), 8 * 10**6, zipfile.ZIP_DEFLATED), "unpacks to more than the size limit"),
    "large.npz": (claimed((10**5,), 8 * 10**5), "has .* bytes, more than the size limit of 100000"),
    "large.csv": (content(HEADER + b"0,0,0,0,1,0,0,0\n" * 10**4), "more than the size limit of 100000"),
    "latin.csv": (content(b"\xff\xfe"), "is not a .csv file of numbers"),
    "empty.csv": (content(b""), "expected columns t, x, y, z"),
    "header.csv": (content(HEADER), "expected rows of numbers below the header"),
    "nul.csv": (content(HEADER + b"\0\n"), "expected a number in every row|is not a .csv file"),
    "short.csv": (content(HEADER + b"1,2\n"), "expected a number in every row"),
}  # fmt: skip


def refused(call, path, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(carom.FileFormatError, match=words) as caught:
            call(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text


@pytest.mark.parametrize("name", MOTIONS)
def test_files_that_hold_no_motion(name, tmp_path):
    write, words = MOTIONS[name]
    write(tmp_path / name)
    refused(lambda path: carom.Measured.read(path, size_limit=100_000), tmp_path / name, words)


DATA = {
    "words": (content(b"words"), "expected an .npz file"),
    "others": (lambda path: np.savez(path, x=np.zeros(3)), "expected arrays toss_<id>, or .* got x"),
    "rank": (lambda path: np.savez(path, toss_1=np.zeros(40)), r"toss_1: expected shape \(frames, 13\)"),
    "narrow": (lambda path: np.savez(path, toss_1=np.zeros((40, 3))), r"toss_1: expected shape \(frames, 13\)"),
    "turned": (lambda path: np.savez(path, toss_1=np.zeros((40, 13))), "toss_1: orientation: expected unit"),
    "objects": (lambda path: np.savez(path, toss_1=OBJECTS), "toss_1: is no array of numbers"),
    "flags": (bounces(clean=np.full(3, 7.5)), "clean: expected 3 truth values, got float64"),
    "shape": (bounces(lever=np.zeros((2, 2))), r"lever: expected shape \(3, 2\), got \(2, 2\)"),
    "NaN": (bounces(velocity_after=np.full((3, 3), np.nan)), "velocity_after: expected finite numbers"),
    "fast": (bounces(velocity_before=np.full((3, 3), 1e200)), "velocity_before: expected numbers of at most"),
    "inertia": (bounces(gyration_squared=np.array(-1.0)), "gyration_squared: expected a number greater than 0"),
    "inertias": (bounces(gyration_squared=np.ones(2)), "gyration_squared: expected shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", DATA)
def test_files_that_hold_no_public_data(name, tmp_path, capsys):
    write, words = DATA[name]
    path = tmp_path / "data.npz"
    write(path)
    refused(read_public_data, path, words)
    assert main(["validate", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("carom: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("name", ["pipe.npz", "pipe.csv"])
def test_only_regular_files_are_opened(name, tmp_path):
    pipe = tmp_path / name
    os.mkfifo(pipe)
    for call in (carom.Measured.read, read_public_data):
        refused(call, pipe, "is not a regular file")  # would wait for ever for somebody who writes
        refused(call, tmp_path / "missing.npz", "no such file")
        refused(call, tmp_path, "is a folder")


def test_numbers_whose_squares_leave_the_range_are_refused_without_a_warning():
    for name, value in (
        ("time", np.linspace(0.0, 1e308, 40)),
        ("position", np.full((40, 3), 1e308)),
        ("orientation", np.full((40, 4), 1e200)),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=rf"{name}: expected numbers of at most 1e\+30, got 1e\+"):
                carom.Measured(**(FRAMES | {name: value}))


def test_a_limit_that_was_asked_for(tmp_path, capsys):
    path = tmp_path / "data.npz"
    bounces()(path)
    assert len(read_public_data(path, size_limit=path.stat().st_size).impacts) == 3
    assert main(["validate", str(path), "--size-limit", "1e-4"]) == 2
    assert "more than the size limit of 104: raise it" in capsys.readouterr().err
