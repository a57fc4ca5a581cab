"""A run of time steps that is saved now and then."""

import time as clock
from typing import TYPE_CHECKING, Any, Self

from ...bodies import checks
from ...bodies.files import file_path

if TYPE_CHECKING:
    from .time_steps import TimeSteps


class Checkpoints:
    """Save a run in a file every so many seconds of computing, and when the context ends; None: never."""

    def __init__(self, steps: "TimeSteps", path: Any, every: float):
        self._steps = steps
        self._path = None if path is None else file_path("checkpoint", path)
        self._every = checks.number("every", every, above=0.0)
        self._saved = clock.monotonic()

    def look(self) -> None:
        """Save if it is time to."""
        if self._path is not None and clock.monotonic() - self._saved >= self._every:
            self._steps.save(self._path)
            self._saved = clock.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            self._steps.save(self._path)
