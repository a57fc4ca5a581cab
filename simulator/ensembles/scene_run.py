"""The plainest run of a member that is a scene."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...bodies import Scene
from ...impact_laws import ImpactLaw
from ..record.trajectory import Trajectory
from ..simulator import Simulator


@dataclass(frozen=True)
class SceneRun:
    """Simulates a scene under a law up to a time; a function for `carom.ensemble` whose members are scenes.

    law : draws from the generator of the member, where it draws
    until : [s]
    options : of `Simulator`, such as ``{"event_limit": 1000}``
    """

    law: ImpactLaw
    until: float
    options: Any = ()

    @property
    def label(self) -> str:
        """What tells it from others in the file of an ensemble."""
        return repr(self)

    def __call__(self, scene: Scene, rng: np.random.Generator) -> Trajectory:
        seed = int(rng.integers(2**63))
        return Simulator(scene, self.law, seed=seed, **dict(self.options)).run(self.until)
