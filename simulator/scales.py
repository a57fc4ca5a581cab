"""Length, speed and time of a scene, with which every threshold of the engine is multiplied."""

import math
from dataclasses import dataclass

import numpy as np

from .state import Array, Model


@dataclass(frozen=True)
class Scales:
    """What is usual in a scene, so that thresholds can be pure numbers.

    length : [m], size of the smallest body that moves
    speed : [m/s], of the fastest body point at the start, or of a fall through the size of the largest body that
        moves, whichever is more; where nothing moves and nothing pulls, the length in a second
    duration : [s], length / speed

    Only products, quotients and square roots of given numbers enter, so scenes scaled by powers of four have scales
    that are equal to the bit.
    """

    length: float
    speed: float
    duration: float

    @classmethod
    @np.errstate(over="ignore")
    def of(cls, model: Model, states: Array) -> "Scales":
        """The scales of a scene whose bodies are in these packed states (n, 13)."""
        moving = model.movable
        sizes = model.size[moving] if moving.any() else model.size
        length = float(sizes.min(initial=math.inf))
        if not math.isfinite(length):
            length = 1.0
        falls = math.sqrt(float(np.linalg.norm(model.gravity)) * float(sizes.max(initial=0.0)))
        own = np.linalg.norm(states[moving, 7:10], axis=1)
        own += model.size[moving] * np.linalg.norm(states[moving, 10:13], axis=1)
        speed = max(falls, float(own.max(initial=0.0)))
        if speed == 0.0:
            speed = length
        return cls(length, speed, length / speed)
