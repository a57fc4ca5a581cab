"""Replays that are played in pages of the site: each one file, made before the site is built."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import carom
from carom.demos.landing import Landing


def landing() -> Any:
    """A block that lands flat, with all its outcomes."""
    return Landing().tree


def bouncing_ball() -> Any:
    """A ball that bounces to rest."""
    rubber = carom.Material(friction=0.3, restitution=0.8)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=rubber, name="floor"))
    ball = {"position": (0, 0, 1), "velocity": (0.3, 0, 0), "color": "red", "name": "ball"}
    scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, material=rubber, **ball))
    return carom.Simulator(scene, carom.StrongeCoulomb()).run(4.0)


def tumbling_box() -> Any:
    """A box that strikes the floor with a corner, slides and tumbles."""
    surface = carom.Material(friction=0.3, restitution=0.5)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=surface, name="floor"))
    turned = carom.axis_angle((0, 1, 0), 35, degrees=True)
    box = {"position": (0, 0, 0.5), "orientation": turned, "velocity": (1.5, 0.4, 0), "name": "box"}
    scene.add(carom.Body(carom.Box((0.2, 0.1, 0.1)), density=1000.0, material=surface, **box))
    return carom.Simulator(scene, carom.StrongeCoulomb()).run(1.5)


REPLAYS: dict[str, Callable[[], Any]] = {
    "landing": landing,
    "bouncing_ball": bouncing_ball,
    "tumbling_box": tumbling_box,
}


def write_replays(folder: Path) -> None:
    """Write every replay as a page."""
    folder.mkdir(exist_ok=True)
    for name, run in REPLAYS.items():
        carom.render(run(), folder / f"{name}.html")
