"""One member: made, run, measured, and turned into a row whatever happens."""

import os
import time as clock
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..record.trajectory import Trajectory
from .members import Members, member_generator
from .outcome_columns import Values, columns_of
from .stopwatch import STOPWATCH

RAISED, OUT_OF_MEMORY = "raised", "out_of_memory"
_LONGEST_MESSAGE = 500


@dataclass(frozen=True)
class Task:
    """What is done with every member.

    run : (member, generator) -> trajectory, or numbers
    measure : what `run` returned -> columns, or None
    maker : makes a member of what is sent for it
    recordings : folder that every trajectory is written to, or None
    """

    run: Callable[..., Any]
    measure: Callable[[Any], Any] | None
    maker: Members
    seed: int
    recordings: str | None = None

    def result(self, index: int, given: Any) -> Any:
        """What `run` returns for a member; whatever it raises."""
        member = self.maker.made(given, index, self.seed)
        return self.run(member, member_generator(self.seed, index))

    def row(self, index: int, given: Any) -> "Row":
        """Run a member; what it raises is in the row. Time in which kernels are compiled does not count."""
        begun = STOPWATCH.start(index)
        try:
            result = self.result(index, given)
            if self.recordings is not None and isinstance(result, Trajectory):
                result.save(recording_path(self.recordings, index))
            status, message, values = columns_of(result, self.measure)
        except MemoryError as error:
            status, message, values = OUT_OF_MEMORY, _sentence(error), {}
        except (Exception, SystemExit) as error:
            status, message, values = RAISED, _sentence(error), {}
        return Row(index, status, message, values, STOPWATCH.stop(begun))


@dataclass(frozen=True)
class Row:
    """What is known of a member afterwards; seconds are those that it took."""

    index: int
    status: str
    message: str
    values: Values
    seconds: float


def recording_path(folder: "str | os.PathLike", index: int) -> Path:
    """Where the recording of a member lies."""
    return Path(folder) / f"member-{index:06d}.h5"


def now() -> float:
    """[s] on a clock that all processes of a machine share."""
    return clock.monotonic()


def _sentence(error: BaseException) -> str:
    """An exception in one line: its type, what it says and where it came from."""
    said = " ".join(str(error).split()) or "no message"
    frames = traceback.extract_tb(error.__traceback__)[1:]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {said}"[:_LONGEST_MESSAGE] + where
