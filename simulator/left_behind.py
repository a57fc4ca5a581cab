"""What owners leave behind, without code that garbage collection would run.

Ctrl-C that comes while Python collects garbage is raised in the first Python code that this runs, or in what closes
a file there, and is lost. So what is to be done when an owner is gone is only noted then, in C, and done later.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar
from weakref import ref

Value = TypeVar("Value")
_LEAST_KEPT = 256


class Held(ref[Any]):
    """What is to be done when its owner is gone: soon, when somebody else holds something or `settle` is called."""

    __slots__ = ("_done",)
    _done: Callable[[], None]
    _all: ClassVar["dict[int, Held]"] = {}
    _gone: ClassVar["deque[Held]"] = deque()

    def __new__(cls, owner: Any, done: Callable[[], None]) -> "Held":
        cls.settle()
        held = super().__new__(cls, owner, cls._gone.append)
        held._done = done
        cls._all[id(held)] = held
        return held

    def __init__(self, owner: Any, done: Callable[[], None]):
        super().__init__(owner, self._gone.append)  # type: ignore[call-arg]

    @classmethod
    def settle(cls) -> None:
        """Do now what owners that are gone have left to do."""
        while cls._gone:
            gone = cls._gone.popleft()
            if cls._all.pop(id(gone), None) is not None:
                gone._done()

    def finish(self) -> None:
        """Do it now, and not again."""
        if self._all.pop(id(self), None) is not None:
            self._done()


class WeakValues(Generic[Value]):
    """Values by whole numbers, as long as somebody else has them."""

    def __init__(self) -> None:
        self._known: dict[int, ref[Any]] = {}
        self._most = _LEAST_KEPT

    def get(self, number: int) -> Value | None:
        """The value of a number, None where it is gone or there was none."""
        known = self._known.get(number)
        return None if known is None else known()

    def put(self, number: int, value: Value) -> Value:
        """Have this value under this number."""
        if len(self._known) >= self._most:
            self._known = {key: one for key, one in list(self._known.items()) if one() is not None}
            self._most = max(2 * len(self._known), _LEAST_KEPT)
        self._known[number] = ref(value)
        return value
