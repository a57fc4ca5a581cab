"""PNG files with the standard library."""

import os
import struct
import zlib
from pathlib import Path

import numpy as np

from .files import check_writable, whole_file


def check_picture_path(path: str | os.PathLike[str]) -> Path:
    """Return the path of a picture to write, or raise before any work is done for it."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise ValueError(f"path must end in .png, got {str(path)!r}")
    return check_writable(path)


def encode_png(pixels: np.ndarray) -> bytes:
    """Encode (height, width, 3) uint8 RGB pixels, first row on top."""
    pixels = np.asarray(pixels)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise ValueError(f"pixels must be (height, width, 3) uint8, got {pixels.shape} {pixels.dtype}")
    height, width, _ = pixels.shape
    rows = pixels.reshape(height, 3 * width)
    filtered = np.empty((height, 1 + 3 * width), dtype=np.uint8)
    filtered[:, 0] = 2  # the "up" filter: every row is stored as its difference to the row above
    filtered[0, 1:] = rows[0]
    filtered[1:, 1:] = rows[1:] - rows[:-1]
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(filtered.tobytes(), 6)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def write_png(path: str | os.PathLike[str], pixels: np.ndarray) -> None:
    """Write (height, width, 3) uint8 RGB pixels; the file appears whole or not at all."""
    path = check_picture_path(path)
    content = encode_png(pixels)
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content)


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
