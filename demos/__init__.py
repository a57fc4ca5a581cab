"""Built-in scenes: one file each, which names its source and checks its own ending."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .catalogue import DEMOS, THEMES
from .demo import Check, ComputedDemo, Demo, RecordingDemo, SteppedDemo, Table, WritingDemo

if TYPE_CHECKING:
    from .drop import DroppedMesh, drop_scene, load_dropped_mesh, shipped_mesh

_OF_DROP = ("DroppedMesh", "drop_scene", "load_dropped_mesh", "shipped_mesh")

__all__ = [
    "THEMES",
    "Check",
    "ComputedDemo",
    "Demo",
    "DroppedMesh",
    "RecordingDemo",
    "SteppedDemo",
    "Table",
    "WritingDemo",
    "demo_by_name",
    "demo_names",
    "demo_summary",
    "drop_scene",
    "load_dropped_mesh",
    "shipped_mesh",
]


def __getattr__(name: str) -> Any:
    """What drops meshes is loaded when it is used: a list of the demos needs none of it."""
    if name in _OF_DROP:
        return getattr(import_module(".drop", __package__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def demo_names() -> tuple[str, ...]:
    """Names of all demos, sorted."""
    return tuple(sorted(DEMOS))


def demo_summary(name: str) -> str:
    """What a demo shows, in one line."""
    return _entry(name).summary


def demo_by_name(name: str) -> Demo | ComputedDemo:
    """The demo of that name; ValueError listing the names when there is none."""
    entry = _entry(name)
    return getattr(import_module(f".{entry.module}", __package__), entry.kind)()


def _entry(name: str) -> Any:
    if name not in DEMOS:
        from ..bodies.meant import did_you_mean

        raise ValueError(
            f"demo must be one of {', '.join(demo_names())}, got {name!r}{did_you_mean(name, DEMOS)}"
        )
    return DEMOS[name]
