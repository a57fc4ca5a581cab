"""Whole tosses under a law: each from the state of its first flight, compared with the measured motion."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...bodies import Body, HalfSpace, Scene
from ...impact_laws import ImpactLaw
from ...progress import ProgressBar
from ..simulator import Simulator
from .comparison import Comparison, compare
from .identification import Identification
from .measured import Measured

Array = NDArray[np.float64]

RESTING = 5
"""Frames at the end of a toss in which a body that rests does not move."""
STILL = 0.02
"""[m/s] below which a body counts as at rest there."""


@dataclass(frozen=True, eq=False)
class TossErrors:
    """Runs of tosses beside what was measured: `compared` of those that were run, and why the others were not."""

    compared: list[Comparison]
    toss: list[str]
    refused: dict[str, str]

    @property
    def settled(self) -> Array:
        """(n, 2): distance [m] and angle [rad] at the last measured frame."""
        return np.array([(one.settled_distance, one.settled_angle) for one in self.compared])


def surface_height(motions: Sequence[Measured], body: Body) -> float:
    """Height [m] of the plane z = const on which a body rests: that of its lowest corner at the end, a median."""
    heights = []
    for motion in motions:
        last = motion.position[-RESTING:]
        if np.linalg.norm(last[-1] - last[0]) < STILL * motion.interval * (RESTING - 1):
            corners = (body.shape.core()[0] + body.shape.center_of_mass) @ motion.rotation[-1].T
            heights.append(float(last[-1, 2] + corners[:, 2].min()))
    if not heights:
        raise ValueError("motions: expected some that end at rest on the plane, got none")
    return float(np.median(heights))


def run_tosses(
    found: Identification,
    motions: Sequence[Measured],
    body: Body,
    law: ImpactLaw,
    friction: float | None = None,
) -> TossErrors:
    """Every toss, run with the body, gravity, friction and restitution that were identified, from the state in the
    middle of its first flight. ``friction`` replaces that of impacts."""
    height = surface_height(motions, body)
    known = found.body(body)
    surface = known.material if friction is None else replace(known.material, friction=friction)
    compared, names, refused = [], [], {}
    with ProgressBar(0.0, float(len(motions)), "tosses") as bar:
        for number, motion in enumerate(motions):
            bar.show(float(number))
            seen = motion.of_body(found.parameters.center_of_mass, found.parameters.gyration, found.gravity)
            flight = seen.flights[0]
            scene = Scene(gravity=tuple(found.gravity))
            scene.add(Body(HalfSpace(np.array([0.0, 0.0, 1.0]), height), fixed=True, material=surface))
            turned = Rotation.from_matrix(flight.rotation).as_quat()[[3, 0, 1, 2]]
            moving = known.varied(
                {
                    "position": flight.position,
                    "orientation": turned,
                    "velocity": flight.velocity,
                    "angular_velocity": flight.angular_velocity,
                }
            )
            scene.add(moving.varied({"friction": surface.friction, "restitution": surface.restitution}))
            later = replace(seen, time=seen.time - flight.time)
            try:
                run = Simulator(scene, law).run(float(later.time[-1]))
                compared.append(compare(run, later))
            except ValueError as error:  # a start that overlaps the plane, for one
                refused[motion.name] = str(error)
                continue
            names.append(motion.name)
    return TossErrors(compared, names, refused)
