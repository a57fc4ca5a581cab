"""What every demo offers."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ..bodies import Scene
    from ..simulator import BranchedRun, Trajectory


@dataclass(frozen=True)
class Check:
    """Something measured at the end of a demo: it holds where ``value`` is at most ``bound``."""

    what: str
    value: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the value is within the bound; a value that is NaN is not."""
        return bool(self.value <= self.bound)


class Demo(Protocol):
    """A scene with the law and duration that show its point, and checks of how it must end.

    The checks belong to that law and a run of at least that duration; with others nothing is promised.
    """

    name: ClassVar[str]
    law: ClassVar[str]
    """Name of the law, as `carom.impact_laws.law_by_name` takes it."""
    duration: ClassVar[float]
    """Simulated time [s]."""

    def scene(self) -> "Scene":
        """The bodies at the start."""

    def check(self, trajectory: "Trajectory") -> list[Check]:
        """Compare a finished run with what must happen; at least one check."""


@dataclass(frozen=True)
class Table:
    """A header and rows of words, as many as the header has."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@runtime_checkable
class ComputedDemo(Protocol):
    """A demo that computes instead of simulating: no scene, no recording, but tables and checks."""

    name: ClassVar[str]

    def tables(self) -> list[Table]:
        """What was computed."""

    def check(self) -> list[Check]:
        """Compare what was computed with what must come out; at least one check."""


@runtime_checkable
class WritingDemo(ComputedDemo, Protocol):
    """A computed demo that also writes a file, such as a picture."""

    ending: ClassVar[str]
    """Of the file, such as ".png"."""

    def write(self, path: Path) -> None:
        """Write the file; DisplayError of the viewer where what draws it is not installed."""


@runtime_checkable
class RecordingDemo(WritingDemo, Protocol):
    """A demo that moves its bodies by its own means; the file it writes is the recording, or a branched run."""

    def run(self, seed: int = 0, progress: bool = False) -> "Trajectory | BranchedRun":
        """The motion from that seed, which tables, checks and the file are then about."""


@runtime_checkable
class SteppedDemo(WritingDemo, Protocol):
    """A demo of spheres moved by `TimeSteps`: of any size, and one that can be stopped and gone on with."""

    def begin(
        self, *, share: float | None, fill: float | None, duration: float | None, seed: int,
        checkpoint: Path | None, resume: bool, progress: bool,
    ) -> None:  # fmt: skip
        """Make the run that tables, checks and the file are then about.

        share : of the lengths of the source; None: the demo's
        fill : solid share of the volume at the start; None: as the source has it
        duration : simulated time [s] up to which it goes; None: the demo's
        checkpoint : file that keeps the run, now and then and at its end
        resume : whether to go on from there; ValueError where that is of another run
        """
