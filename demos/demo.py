"""What every demo offers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from ..bodies import Scene
    from ..simulator import Trajectory


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
    summary: ClassVar[str]
    """One line, with the source where there is one."""
    law: ClassVar[str]
    """Name of the law, as `carom.impact_laws.law_by_name` takes it."""
    duration: ClassVar[float]
    """Simulated time [s]."""

    def scene(self) -> "Scene":
        """The bodies at the start."""

    def check(self, trajectory: "Trajectory") -> list[Check]:
        """Compare a finished run with what must happen; at least one check."""
