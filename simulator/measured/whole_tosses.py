"""Whole tosses under a law: each from the state of its first flight, compared with the measured motion."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from ...bodies import Body, HalfSpace, Scene
from ...impact_laws import ImpactLaw
from ...progress import ProgressBar
from ..ensembles.outcome_columns import GOOD_RUNS
from ..record.trajectory import Trajectory
from ..simulator import Simulator
from .comparison import Comparison, apart, compare
from .flights import Flight
from .identification import Identification
from .measured import Measured
from .robust_fit import median_estimate

Array = NDArray[np.float64]

RESTING = 5
"""Frames at the end of a toss in which a body that rests does not move."""
HEADER = ["at the last frame", "median (95 %)", "quartiles"]
HEADER_OVER_TIME = ["after [s]", "distance [mm], median (quartiles)", "angle [degrees], median (quartiles)"]
STILL = 0.02
"""[m/s] below which a body counts as at rest there."""


@dataclass(frozen=True, eq=False)
class TossErrors:
    """Runs of tosses beside what was measured: `compared` of those that were run, their names and numbers among
    all (n,), and why the others were not. `start_noise` (n, 2): distance [m] and angle [rad] at the last frame
    between that run and one whose start differs by a draw of its noise, for those of which both were run. Tables
    of errors raise ValueError where no toss was run."""

    compared: list[Comparison]
    toss: list[str]
    number: NDArray[np.int64]
    refused: dict[str, str]
    start_noise: Array

    def rows(self) -> list[list[str]]:
        """Medians over all tosses at the last frame, with intervals and quartiles: distance [mm] and angle
        [degrees] from what was measured, and those that noise of the start alone makes, where it was run."""
        self._expect_one()
        rows = []
        groups = [("", self.settled)]
        if len(self.start_noise):
            groups.append((", noise of the start alone", self.start_noise))
        for what, settled in groups:
            for k, (name, factor) in enumerate((("distance [mm]", 1e3), ("angle [degrees]", 180.0 / np.pi))):
                values = factor * settled[:, k]
                known = median_estimate(values, np.arange(len(values)))
                low, high = np.quantile(values, [0.25, 0.75])
                shown = f"{known.value:.1f} ({known.low:.1f} to {known.high:.1f})"
                rows.append([name + what, shown, f"{low:.1f} to {high:.1f}"])
        return rows

    def over_time(self, time: Array) -> tuple[Array, Array]:
        """Distances [m] and angles [rad] (n, k) at times (k,) [s] after the start of each run, between frames on
        straight lines; a toss that ended keeps those of its last frame."""
        every = [
            [np.interp(time, one.time, values) for values in (one.distance, one.angle)]
            for one in self.compared
        ]
        both = np.array(every, dtype=float).reshape(-1, 2, len(time))
        return both[:, 0], both[:, 1]

    def rows_over_time(self, interval: float = 0.1) -> list[list[str]]:
        """A row for every interval [s] up to the end of half of the tosses: time, and medians with quartiles of
        distance [mm] and angle [degrees], of all tosses."""
        self._expect_one()
        last = float(np.median([one.time[-1] for one in self.compared]))
        time = interval * np.arange(1.0, int(last / interval + 1e-9) + 1.0)
        distance, angle = self.over_time(time)
        rows = []
        for k, after in enumerate(time):
            shown = []
            for values in (1e3 * distance[:, k], np.degrees(angle[:, k])):
                low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
                shown.append(f"{middle:.1f} ({low:.1f} to {high:.1f})")
            rows.append([f"{after:.1f}", *shown])
        return rows

    @property
    def settled(self) -> Array:
        """(n, 2): distance [m] and angle [rad] at the last measured frame."""
        ends = [(one.settled_distance, one.settled_angle) for one in self.compared]
        return np.array(ends, dtype=float).reshape(-1, 2)

    def _expect_one(self) -> None:
        """A median needs at least one toss."""
        if not self.compared:
            why = next(iter(self.refused.values()), "there is none")
            raise ValueError(f"expected at least one toss that was run to its last frame, got none: {why}")


@dataclass(frozen=True, eq=False)
class _Setting:
    """What all tosses are run with: the body, the law, the plane with the surface of both."""

    body: Body
    law: ImpactLaw
    plane: Body
    gravity: float

    def run(self, flight: Flight, noise: Array, seconds: float) -> Trajectory:
        """A run from a flight's state with noise (4, 3) on place, turning, velocity and spin."""
        scene = Scene(gravity=(0.0, 0.0, -self.gravity))
        scene.add(self.plane)
        turned = Rotation.from_rotvec(noise[1]) * Rotation.from_matrix(flight.rotation)
        start = {
            "position": flight.position + noise[0],
            "orientation": turned.as_quat()[[3, 0, 1, 2]],
            "velocity": flight.velocity + noise[2],
            "angular_velocity": flight.angular_velocity + noise[3],
        }
        scene.add(self.body.varied({**start, "friction": self.plane.material.friction}))
        return Simulator(scene, self.law).run(seconds)


@dataclass(frozen=True, eq=False)
class _RunToss:
    """Runs one motion, in whichever process: its comparison and how far noise moves its end, or why not."""

    setting: _Setting
    seed: int | None

    def __call__(self, task: tuple[int, Measured]) -> tuple[str, Comparison | None, Array | None, str]:
        number, seen = task
        flight = seen.flights[0]
        later = replace(seen, time=seen.time - flight.time)
        seconds = float(later.time[-1])
        try:
            run = self.setting.run(flight, np.zeros((4, 3)), seconds)
        except ValueError as error:  # a start that overlaps the plane, for one
            return seen.name, None, None, str(error)
        if run.status not in GOOD_RUNS:
            return seen.name, None, None, run.message
        compared = compare(run, later)
        if self.seed is None:
            return seen.name, compared, None, ""
        noise = _noise(flight, seen.interval) * np.random.default_rng([self.seed, number]).normal(size=(4, 3))
        try:
            other = self.setting.run(flight, noise, seconds)
        except ValueError:  # noise that brings the start into the plane says nothing about the end
            return seen.name, compared, None, ""
        if other.status not in GOOD_RUNS:
            return seen.name, compared, None, ""
        ends = [one.sample(min(seconds, one.end_time)) for one in (run, other)]
        poses = [pose for end in ends for pose in (end.position[1:], end.orientation[1:])]
        return seen.name, compared, np.ravel(apart(*poses)), ""


def of_identified(found: Identification, motion: Measured) -> Measured:
    """A motion of the body that was found, under the gravity that was; the same object, with the flights that it
    knows, if it is one already."""
    parameters = found.parameters
    known = (
        (motion.center_of_mass, parameters.center_of_mass),
        (motion.gyration_matrix, parameters.gyration),
        (motion.gravity, found.gravity),
    )
    if all(np.array_equal(one, other) for one, other in known):
        return motion
    return motion.of_body(parameters.center_of_mass, parameters.gyration, found.gravity)


def _noise(flight: Flight, interval: float) -> Array:
    """Standard deviations (4, 1) of a flight's place [m], turning [rad], velocity [m/s] and spin [rad/s] in its
    middle: those of a line through as many frames that are off by its misfit."""
    count = flight.count
    place, turning = flight.misfit
    slope = np.sqrt(12.0 / (count * (count**2 - 1.0))) / interval
    return np.array(
        [[place / np.sqrt(count)], [turning / np.sqrt(count)], [place * slope], [turning * slope]]
    )


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
    found: Identification,
    motions: Sequence[Measured],
    body: Body,
    sliding: float | None = None,
    *,
    seed: int | None = 0,
    executor: Executor | None = None,
) -> TossErrors:
    """Every toss, run with the body, gravity and law that were identified, from the state in the middle of
    its first flight.

    ``sliding`` is the friction of lasting contact; by default that which was identified, or that of impacts.
    ``seed`` is that of the noise whose effect on ends `TossErrors.start_noise` tells by a second run of each
    toss; None leaves these out. ``executor`` runs tosses in several processes; the result is the same. Tosses
    whose start overlaps the plane, and those whose run does not get to the last frame, are `refused`, with the
    reason.

    Slow impacts have the friction of the model's slow impacts, but the restitution of its fast ones. Single
    corners bounce more when slow; edges and faces, which settle in many slow impacts, do not.
    """
    with ProgressBar(0.0, float(len(motions)), "tosses") as bar:
        return toss_errors(found, motions, body, sliding, seed, executor, bar.show)


def toss_errors(
    found: Identification,
    motions: Sequence[Measured],
    body: Body,
    sliding: float | None,
    seed: int | None,
    executor: Executor | None,
    show: Callable[[float], None],
) -> TossErrors:
    """What `run_tosses` gives, which shows a bar; here `show` is told how many have been run."""
    known = found.body(body)
    identified = found.model.friction if found.sliding is None else found.sliding.value
    surface = replace(known.material, friction=identified if sliding is None else sliding)
    height = surface_height(motions, body)
    plane = Body(HalfSpace(np.array([0.0, 0.0, 1.0]), height), fixed=True, material=surface)
    law = replace(found.model, slow_restitution=None).as_law(body.mass)
    setting = _Setting(known, law, plane, float(np.linalg.norm(found.gravity)))
    one = _RunToss(setting, seed)
    motions = [of_identified(found, motion) for motion in motions]
    compared, numbers, noise, refused = [], [], [], {}
    names: list[str] = []
    ended = (executor.map if executor else map)(one, enumerate(motions))
    for number, (name, comparison, moved, why) in enumerate(ended):
        show(number + 1.0)
        if comparison is None:
            refused[name] = why
            continue
        compared.append(comparison)
        names.append(name)
        numbers.append(number)
        if moved is not None:
            noise.append(moved)
    return TossErrors(
        compared, names, np.array(numbers, dtype=np.int64), refused, np.array(noise).reshape(-1, 2)
    )
