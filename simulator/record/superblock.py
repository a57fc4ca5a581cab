"""The first bytes of an HDF5 file, looked at before HDF5 does.

Where they do not fit the file, HDF5 takes it for one that is being written and tries again for minutes.
"""

import time
from pathlib import Path

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_LENGTH = 48  # of a superblock of version 2 or 3 with addresses of 8 bytes
_END_OF_FILE = slice(28, 36)
_ATTEMPTS, _PAUSE = 5, 0.02  # [s], for a writer that is just about to change it
_WORD = 0xFFFFFFFF


def fault(path: Path) -> str | None:
    """What is wrong with the beginning of an HDF5 file in words, or None; also for what is no HDF5 file."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE)
        with path.open("rb") as stream:
            head = stream.read(_LENGTH)
        if head[:8] != _SIGNATURE or head[8:9] in (b"\x00", b"\x01"):
            return None
        if len(head) < _LENGTH:
            return "the recording is cut short: its end is missing"
        if checksum(head[:-4]) == int.from_bytes(head[-4:], "little"):
            short = path.stat().st_size < int.from_bytes(head[_END_OF_FILE], "little")
            return "the recording is cut short: its end is missing" if short else None
    return "the recording is damaged (its first bytes do not fit together)"


def checksum(data: bytes) -> int:
    """Jenkins' hash "lookup3" of some bytes, 32 bits, as HDF5 computes it."""
    a = b = c = (0xDEADBEEF + len(data)) & _WORD
    padded = data + bytes(-len(data) % 12)
    blocks = [padded[k : k + 12] for k in range(0, len(padded), 12)]
    for number, block in enumerate(blocks, start=1):
        x, y, z = (int.from_bytes(block[k : k + 4], "little") for k in (0, 4, 8))
        a, b, c = (a + x) & _WORD, (b + y) & _WORD, (c + z) & _WORD
        if number < len(blocks):
            for turn in (4, 6, 8, 16, 19, 4):  # a, b and c take turns
                a = (a - c) & _WORD ^ _turned(c, turn)
                a, b, c = b, (c + b) & _WORD, a
    if blocks:
        for turn in (14, 11, 25, 16, 4, 14, 24):
            c = ((c ^ b) - _turned(b, turn)) & _WORD
            a, b, c = b, c, a
        a, b, c = c, a, b
    return c


def _turned(word: int, bits: int) -> int:
    """A word of 32 bits turned to the left."""
    return (word << bits | word >> (32 - bits)) & _WORD
