"""Files of measured motions and of public data, whole and tampered with, and what a reader does with one."""

import io
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import carom
from carom.simulator.measured.public_data import CUBE_RATE, CubeTosses, read_public_data

from .harness import HOSTILE_NUMBERS, HOSTILE_TEXTS, LONGEST, assert_ours, assert_sentence, silence, within
from .recordings import DTYPES, tampered_bytes

_TIMES = np.arange(60) / CUBE_RATE
_PLACES = np.column_stack([0.5 * _TIMES, 0.0 * _TIMES, 1.0 - 4.905 * _TIMES**2])
_TURNS = np.tile([1.0, 0.0, 0.0, 0.0], (60, 1))
_MOTION = {"time": _TIMES, "position": _PLACES, "orientation": _TURNS}
_TOSSES = {"toss_1": np.column_stack([_PLACES, _TURNS, np.zeros((60, 6))])}
_BOUNCES = {
    "velocity_before": np.tile([0.1, -1.0, 2.0], (5, 1)), "velocity_after": np.tile([0.1, 0.5, 1.0], (5, 1)),
    "lever": np.tile([0.0, -0.03], (5, 1)), "clean": np.ones(5, bool), "gyration_squared": np.array(4e-4),
}  # fmt: skip
_ARRAYS = {"motion.npz": _MOTION, "packed.npz": _MOTION, "tosses.npz": _TOSSES, "bounces.npz": _BOUNCES}
_LIMIT = 1 << 22


def whole_measurements() -> dict[str, bytes]:
    """Contents of files, by name."""
    table = np.column_stack([_TIMES, _PLACES, _TURNS])
    lines = ["t,x,y,z,qw,qx,qy,qz", *(",".join(map(repr, row)) for row in table.tolist())]
    return {
        "motion.csv": "\n".join(lines).encode(),
        **{name: _npz(name, arrays) for name, arrays in _ARRAYS.items()},
    }


def _npz(name: str, arrays: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if name.startswith("packed") else np.savez)(file, **arrays)
    return file.getvalue()


def look_at(path: Path) -> bool:
    """Read a file and look at what it tells; whether it could be read. Only errors of ours, and no warnings."""
    with within(LONGEST), silence():
        try:
            if path.name.startswith(("motion", "packed")):
                motions = [carom.Measured.read(path, size_limit=_LIMIT)]
            else:
                data = read_public_data(path, size_limit=_LIMIT)
                motions = data.motions if isinstance(data, CubeTosses) else []
        except carom.FileFormatError as error:
            assert_sentence(error)
            return False
        except (TypeError, ValueError) as error:
            assert_ours(error)
            return False
        for motion in motions[:3]:
            try:
                _ = motion.flights, motion.impacts
            except ValueError as error:
                assert_ours(error)
                return False
    return True


def tampered(name: str, content: bytes, rng: random.Random) -> bytes:
    """A file with bytes, arrays or words that are others."""
    if rng.random() < 0.3:
        return tampered_bytes(content, rng)[0]
    if name.endswith(".csv"):
        return _other_words(content, rng)
    arrays = dict(_ARRAYS[name])
    for _ in range(rng.choice((1, 1, 2))):
        key = rng.choice(list(arrays))
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays[key] = _other_array(arrays[key], rng)
        if rng.random() < 0.1:
            arrays[rng.choice((*arrays, "other", "toss_"))] = arrays.pop(key)
    return _npz(name, arrays)


def _other_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    way = rng.randrange(5) if array.dtype.kind in "fiub" else 1  # an edit before may have made it of words
    if way == 0:
        return array.astype(rng.choice((*DTYPES, "U3")))
    if way == 1:
        shapes = ((), (0,), (1,), (3, 3), (*array.shape, 1), array.shape[::-1])
        return np.resize(array, rng.choice(shapes))
    if way == 2:
        return array * rng.choice(HOSTILE_NUMBERS)
    array = array.astype(float)
    flat = array.reshape(-1)
    for _ in range(rng.choice((1, 1, 20))):
        if flat.size:
            flat[rng.randrange(flat.size)] = rng.choice(HOSTILE_NUMBERS)
    return array


def _other_words(content: bytes, rng: random.Random) -> bytes:
    lines = [line.split(",") for line in content.decode().split("\n")]
    words: list[Any] = [*map(repr, HOSTILE_NUMBERS), *HOSTILE_TEXTS, '"', "t", "1,2"]
    for _ in range(rng.choice((1, 1, 2, 10))):
        line = rng.choice(lines)
        way = rng.random()
        if way < 0.8 and line:
            line[rng.randrange(len(line))] = rng.choice(words)
        elif way < 0.9:
            lines.remove(line)
        else:
            lines.insert(rng.randrange(len(lines)), line * rng.choice((1, 2)))
        lines = lines or [[]]
    return "\n".join(",".join(line) for line in lines).encode("utf-8", "replace")
