"""Files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to write, or raise OSError before any work is done for it."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"path must name a file, but {str(path)!r} is a folder")
    if path.exists() and not path.is_file():
        raise OSError(f"path must name a file, but {str(path)!r} is a device or pipe")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {str(path)!r} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"the folder of {str(path)!r} cannot be written to")
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; the file takes its name when the block ends well."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
