"""Forces on bodies besides gravity and joints."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

from . import checks

ForceFunction = Callable[[float, Any], Any]
"""(t [s], State) -> (n, 6): force [N] and torque about the centre of mass [N m] on every body, world frame."""


@dataclass(frozen=True, eq=False)
class Drag:
    """Resistance of a medium at rest to a body, or to every body where `body` is None.

    The force is -(linear + quadratic |v|) v [N s/m, N s²/m²], the torque -rotational w [N m s].
    """

    body: Any = None
    _: KW_ONLY
    linear: float = 0.0
    quadratic: float = 0.0
    rotational: float = 0.0

    def __post_init__(self) -> None:
        for name in ("linear", "quadratic", "rotational"):
            object.__setattr__(self, name, checks.number(name, getattr(self, name), minimum=0.0))


def function_name(function: Callable[..., Any]) -> str:
    """What a user's function is called."""
    return str(getattr(function, "__name__", type(function).__name__))
