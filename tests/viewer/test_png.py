import os
import struct
import zlib

import numpy as np
import pytest

from carom.viewer import png


def decode(content):
    """Decode what encode_png writes: 8-bit RGB with filter 2 on every row."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(content):
        length = struct.unpack(">I", content[place : place + 4])[0]
        kind, body = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        assert struct.unpack(">I", content[place + 8 + length : place + 12 + length])[0] == zlib.crc32(
            kind + body
        )
        chunks[kind] = body
        place += 12 + length
    width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, colour) == (8, 2)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 3 * width)
    assert (rows[:, 0] == 2).all()
    return np.cumsum(rows[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, 3)


def test_pixels_survive():
    pixels = np.random.default_rng(0).integers(0, 256, (7, 11, 3), dtype=np.uint8)
    np.testing.assert_array_equal(decode(png.encode_png(pixels)), pixels)


@pytest.mark.parametrize(
    "pixels", [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 3)), np.zeros((2, 2, 4), np.uint8)]
)
def test_other_arrays_are_refused(pixels):
    with pytest.raises(ValueError, match="pixels must be"):
        png.encode_png(pixels)


def test_a_failed_write_leaves_the_old_picture_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(png.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        png.write_png(path, np.zeros((2, 2, 3), np.uint8))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_paths_are_checked(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.png"):
        png.check_picture_path(tmp_path / "picture.jpg")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        png.check_picture_path(tmp_path / "nowhere" / "picture.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        png.check_picture_path(tmp_path / "folder.png")
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(OSError, match="is a device or pipe"):
        png.check_picture_path(tmp_path / "pipe.png")
