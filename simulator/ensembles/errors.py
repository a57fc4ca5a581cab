"""What can go wrong with an ensemble as a whole; what goes wrong with one member is a row."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .ensemble import Ensemble


class EnsembleStopped(RuntimeError):
    """Members can no longer be run; the message says why in one sentence.

    ensemble : the rows that are there; members that have none yet have the status ``not_run``
    """

    ensemble: "Ensemble | None" = None


class EnsembleInterrupted(KeyboardInterrupt):
    """Ctrl-C while members ran.

    ensemble : the rows that are there; members that have none yet have the status ``not_run``
    """

    ensemble: "Ensemble | None" = None


class MemberError(RuntimeError):
    """A worker ended while it ran a member, whose index this knows, or None where it ran none."""

    what = "lost its worker"

    def __init__(self, index: int | None, message: str):
        super().__init__(message)
        self.index = index

    def __reduce__(self) -> Any:
        return type(self), (self.index, str(self))


class WorkerLost(MemberError):
    """The process ended by itself or by another's hand."""


class MemberTimedOut(MemberError):
    """The process was ended because the member took too long."""


class WorkerUnfit(RuntimeError):
    """A worker cannot run these members at all: other versions, or code that it cannot load."""
