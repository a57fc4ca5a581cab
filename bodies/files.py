"""The door through which files of others come in: what they are and how large is checked before they are read."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from . import checks

_LONGEST_PATH = 300  # letters of it that an error shows


class FileFormatError(ValueError):
    """A file that cannot be used, with its ``path`` and the ``reason`` in one sentence."""

    def __init__(self, path: Any, reason: str) -> None:
        shown = str(path)
        if len(shown) > _LONGEST_PATH:
            shown = f"{shown[: _LONGEST_PATH // 2]}...{shown[-_LONGEST_PATH // 2 :]}"
        super().__init__(f"{shown}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple:
        return type(self), (self.path, self.reason)


def file_path(field: str, value: Any) -> Path:
    """A path, given as text or a path; TypeError that names the field for anything else."""
    if isinstance(value, PathLike):
        value = value.__fspath__()
    if not isinstance(value, str):
        raise TypeError(f"{field}: expected the path of a file, got {type(value).__name__}")
    return Path(value)


def file_beside(folder: Path, name: str) -> Path:
    """The path of a file that a file in this folder names, which is in the folder or below, also where links lead;
    ValueError for any other, for an address, and for what is no file's name."""
    try:
        inside = folder.resolve()
        path = (inside / name).resolve()
    except (OSError, ValueError, RuntimeError):
        raise ValueError(f"{name[:60]!r}: no file has such a name") from None
    if ":" in name or "\\" in name or "\x00" in name or not path.is_relative_to(inside):
        raise ValueError(f"{name[:60]!r}: only files in its own folder are read")
    return path


@contextmanager
def replaced_when_whole(target: Path) -> Iterator[Path]:
    """A path to write to; what is there when all is done takes the place of the target, else it is removed.

    OSError for a target that is there and no regular file: a device would be one no more.
    """
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "expected the name of a file, got a folder, device or pipe", str(target))
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)  # a link that somebody put there would be written through
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def read_bytes(path: Path, size_limit: int, what: str) -> bytes:
    """All of a regular file of at most so many bytes; FileFormatError for anything else, also a pipe, a device or
    a folder, from none of which anything is read."""
    limit = checks.whole("size_limit", size_limit, 2**63 - 1)
    try:
        # A pipe without a writer would keep us waiting from the moment it is opened.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise FileFormatError(path, "no such file") from None
    except (OSError, ValueError) as error:
        if os.path.isdir(path):  # which is no error where there can be no such name
            raise FileFormatError(path, f"is a folder, not {what}") from None
        raise FileFormatError(path, f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise FileFormatError(
            path, f"is a folder, not {what}" if stat.S_ISDIR(found.st_mode) else "is not a regular file"
        )
    with open(descriptor, "rb") as file:
        try:
            content = file.read(limit + 1) if found.st_size <= limit else None
        except OSError as error:
            raise FileFormatError(path, f"cannot be read ({error.strerror or error})") from None
        except MemoryError:
            raise FileFormatError(path, "does not fit in memory") from None
    if content is None or len(content) > limit:
        size = max(found.st_size, limit + 1)
        raise FileFormatError(
            path, f"has {size} bytes, more than the size limit of {limit}: raise it if the file is meant"
        )
    return content
