"""Whole tosses under a law: each from the state of its first flight, compared with the measured motion."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...bodies import Body, HalfSpace, Scene
from ...progress import ProgressBar
from ..simulator import Simulator
from .comparison import Comparison, compare
from .identification import Identification
from .measured import Measured
from .robust_fit import median_estimate

Array = NDArray[np.float64]

RESTING = 5
"""Frames at the end of a toss in which a body that rests does not move."""
STILL = 0.02
"""[m/s] below which a body counts as at rest there."""


@dataclass(frozen=True, eq=False)
class TossErrors:
    """Runs of tosses beside what was measured: `compared` of those that were run, and why the others were
    not."""

    compared: list[Comparison]
    toss: list[str]
    refused: dict[str, str]

    def rows(self) -> list[list[str]]:
        """Medians over all tosses at the last frame, with intervals and quartiles: distance [mm], angle
        [degrees]."""
        rows = []
        for k, (what, factor) in enumerate((("distance [mm]", 1e3), ("angle [degrees]", 180.0 / np.pi))):
            values = factor * self.settled[:, k]
            known = median_estimate(values, np.arange(len(values)))
            low, high = np.quantile(values, [0.25, 0.75])
            rows.append(
                [what, f"{known.value:.1f} ({known.low:.1f} to {known.high:.1f})", f"{low:.1f} to {high:.1f}"]
            )
        return rows

    @property
    def settled(self) -> Array:
        """(n, 2): distance [m] and angle [rad] at the last measured frame."""
        return np.array([(one.settled_distance, one.settled_angle) for one in self.compared])


def surface_height(motions: Sequence[Measured], body: Body) -> float:
    """Height [m] of the plane on which a box rests: the mean of its lower corners at the end, median of
    all."""
    heights = []
    corners = body.shape.core()[0] + body.shape.center_of_mass
    for motion in motions:
        last = motion.position[-RESTING:]
        if np.linalg.norm(last[-1] - last[0]) < STILL * motion.interval * (RESTING - 1):
            above = np.sort((corners @ motion.rotation[-1].T)[:, 2])
            heights.append(float(last[-1, 2] + above[: len(above) // 2].mean()))
    if not heights:
        raise ValueError("motions: expected some that end at rest on the plane, got none")
    return float(np.median(heights))


def run_tosses(
    found: Identification, motions: Sequence[Measured], body: Body, sliding: float | None = None
) -> TossErrors:
    """Every toss, run with the body, gravity and law that were identified, from the state in the middle of
    its first flight. ``sliding`` is the friction of lasting contact; by default that which was identified, or
    that of impacts."""
    height = surface_height(motions, body)
    known = found.body(body)
    identified = found.model.friction if found.sliding is None else found.sliding.value
    surface = replace(known.material, friction=identified if sliding is None else sliding)
    law = found.model.as_law(body.mass)
    compared, names, refused = [], [], {}
    with ProgressBar(0.0, float(len(motions)), "tosses") as bar:
        for number, motion in enumerate(motions):
            bar.show(float(number))
            seen = motion.of_body(found.parameters.center_of_mass, found.parameters.gyration, found.gravity)
            flight = seen.flights[0]
            scene = Scene(gravity=(0.0, 0.0, -float(np.linalg.norm(found.gravity))))
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
            scene.add(moving.varied({"friction": surface.friction}))
            later = replace(seen, time=seen.time - flight.time)
            try:
                run = Simulator(scene, law).run(float(later.time[-1]))
                compared.append(compare(run, later))
            except ValueError as error:  # a start that overlaps the plane, for one
                refused[motion.name] = str(error)
                continue
            names.append(motion.name)
    return TossErrors(compared, names, refused)
