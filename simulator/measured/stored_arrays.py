"""Arrays of an .npz file that others have made: what it is and how large is looked at before it is unpacked."""

import io
import lzma
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from ...bodies.files import FileFormatError, read_bytes

LARGEST_FILE = 1 << 28
"""Bytes that a file of measurements may have, also unpacked, where nothing else is said."""
_BROKEN = (
    ValueError, LookupError, OSError, EOFError, RuntimeError, ArithmeticError, MemoryError, SyntaxError, TypeError,
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, tokenize.TokenError,
)  # fmt: skip
"""What zipfile and numpy may raise where a file is not what it says."""


class StoredArrays:
    """Arrays of numbers by name, each of which is unpacked when it is asked for.

    path : of the file
    size_limit : bytes that the file may have, and all arrays together that are asked for

    Raises FileFormatError for anything else, also when an array is asked for that is none of numbers.

    >>> import tempfile, numpy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     numpy.savez(f"{folder}/two.npz", one=[1.0, 2.0])
    ...     stored = StoredArrays(Path(f"{folder}/two.npz"))
    >>> stored.names, stored["one"].tolist()
    (('one',), [1.0, 2.0])
    """

    def __init__(self, path: Path, size_limit: int = LARGEST_FILE):
        content = read_bytes(path, size_limit, "an .npz file")
        self._path, self._left, self._limit = path, size_limit, size_limit
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except _BROKEN as error:
            raise FileFormatError(path, f"expected an .npz file of arrays ({_words(error)})") from None
        self.names = tuple(name.removesuffix(".npy") for name in self._zip.namelist())

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> np.ndarray:
        stored = next(each for each in self._zip.infolist() if each.filename.removesuffix(".npy") == name)
        self._left -= stored.file_size
        if self._left < 0:
            raise FileFormatError(
                self._path,
                f"unpacks to more than the size limit of {self._limit} bytes: raise it if the file is meant",
            )
        try:
            array = np.lib.format.read_array(io.BytesIO(self._zip.read(stored)), allow_pickle=False)
        except _BROKEN as error:
            raise FileFormatError(
                self._path, f"{name[:60]}: is no array of numbers ({_words(error)})"
            ) from None
        if array.dtype.kind not in "fiub":
            raise FileFormatError(self._path, f"{name[:60]}: expected numbers, got {array.dtype}"[:300])
        return array


def _words(error: BaseException) -> str:
    """What an error says, in one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__
