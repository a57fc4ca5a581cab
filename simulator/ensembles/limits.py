"""How much time and memory a member may take."""

import sys
from dataclasses import dataclass

from ...bodies import checks


@dataclass(frozen=True)
class Limits:
    """timeout [s] of a member, memory [bytes] that it may take beyond what its worker has, None without limit."""

    timeout: float | None = None
    memory: int | None = None

    @property
    def are_any(self) -> bool:
        return self.timeout is not None or self.memory is not None

    @classmethod
    def checked(cls, timeout: float | None, memory: float | None) -> "Limits":
        """Limits as a user gives them; ValueError for those that make no sense here."""
        if timeout is not None:
            timeout = checks.number("member_timeout", timeout, above=0.0)
        if memory is not None:
            if not sys.platform.startswith("linux"):
                raise ValueError(
                    f"member_memory: expected Linux, which can hold processes to it, got {sys.platform}"
                )
            memory = int(checks.number("member_memory", memory, above=0.0))
        return cls(timeout, memory)


class MemoryLimit:
    """The limit on the address space of this process, which is lifted while kernels are compiled."""

    def __init__(self, memory: int):
        import resource

        self._memory = memory
        self._resource = resource
        self._hardest = resource.getrlimit(resource.RLIMIT_AS)[1]
        self._now = self._hardest

    def begin(self) -> None:
        """Allow so much more than what this process has now."""
        with open("/proc/self/statm", encoding="ascii") as file:
            pages = int(file.read().split()[0])
        limit = pages * self._resource.getpagesize() + self._memory
        self._now = limit if self._hardest < 0 else min(limit, self._hardest)
        self.hold()

    def lift(self) -> None:
        """Allow all that the system does."""
        self._resource.setrlimit(self._resource.RLIMIT_AS, (self._hardest, self._hardest))

    def hold(self) -> None:
        """Keep to the limit."""
        self._resource.setrlimit(self._resource.RLIMIT_AS, (self._now, self._hardest))
