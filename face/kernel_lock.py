"""One compilation at a time of each kernel, among all processes that keep it in the same folder.

Two processes that need a kernel which is not on disk would both compile it, for a minute perhaps, and write one
file. So the first takes a lock of the operating system on a file beside the kept kernel; the others wait, then read
what it has written. The system gives the lock back when its holder ends, however that happens.
"""

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class KernelLock:
    """Held by one process at a time, and by none that has ended.

    path : of a file that is made beside the kept kernel and stays, empty, where it is
    """

    def __init__(self, path: Path):
        self._path = path
        self._file: int | None = None

    def acquire(self) -> None:
        """Wait for the lock; where the folder or its file system has none, go on without."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError:  # nothing can be written there, so nothing is kept there
            return
        try:
            _lock(file)
        except OSError:  # a file system without locks: kernels are then compiled more than once
            os.close(file)
            return
        self._file = file

    def release(self) -> None:
        """Give the lock back, if it is held."""
        if self._file is not None:
            file, self._file = self._file, None
            os.close(file)


def _lock(file: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(file, msvcrt.LK_LOCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX)
