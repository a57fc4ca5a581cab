"""Spheres by the hundred thousand, moved by time steps of one impact problem each.

The scheme is that of Preclik, Eibl & Rüde, section 3.1: velocities are changed by gravity's impulse and by the
impulses of all touches at once, places by the velocities at the end of the step. A touch may close by its gap and
no more, so a step that is solved ends without overlap: balls are round, and the gap between convex bodies is never
less than what their velocities let one expect. What the tolerance of a solve leaves is taken out of the places
alone (`part`), so that no kinetic energy comes of it; the paper lets overlap drive velocities apart instead.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numpy.typing import NDArray

from ...bodies import Scene, checks
from ...bodies.files import file_path
from ...impact_laws import MaximumDissipation
from ...progress import ProgressBar
from . import motion_kernels, solve_kernels
from .checkpoints import Checkpoints
from .errors import StepTooLongError
from .flows import Inflow, Outflow
from .inlets import Inlets
from .scene_checks import refuse_law, refuse_sphere_scene
from .scene_spheres import names_of, surfaces_of, table_of
from .setup import setup_of
from .step_log import STEP, StepLog
from .step_recording import SphereStates, read, refuse_unfit, write
from .step_state import StepState
from .steps import LONGEST_STEP, MOST_STEPS
from .touch_table import REACH, TouchTable
from .walls import WallMotion, Walls, whole_steps

if TYPE_CHECKING:
    import os
    from pathlib import Path

Array = NDArray[np.float64]

PARTING = 0.5
"""Of each overlap, which a step takes out of the places."""
CLOSED = 1e-3
"""Of the radius: gap up to which a touch without an impulse is counted as closed."""
START = 1e-6
"""Of the smaller radius: overlap that is allowed at the start."""
ALONE = 4000
"""Spheres, below which a step is made by one thread: others would cost more than they gain."""
_SAFE = 0.1
"""Of a radius: way in a step that an error advises."""


@contextmanager
def threads_for(count: int) -> Iterator[None]:
    """One thread for few spheres, else as many as numba is set to; the result is the same."""
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(before if count >= ALONE else 1)
        yield
    finally:
        numba.set_num_threads(before)


class TimeSteps:
    """Spheres of a scene among its fixed bodies, moved step by step.

    scene : with spheres, added one by one or by `add_spheres`, and fixed half-spaces, boxes, balls, cylinders,
        capsules, convex meshes and triangle meshes, of which closed ones are solids and open ones are touched from
        both sides
    law : its tolerance and max_sweeps hold for every step; its two friction rules are one for spheres
    step : [s]
    seed : of what enters
    motions : how fixed bodies move, by their names
    inflows, outflows : where spheres enter and leave
    periodic : of each axis None, or (low, high) [m] between which everything repeats, fixed bodies too: of each its
        nearest repetition is met, so one wider than half of that should be symmetric
    largest_overlap : of the smaller radius, at which a run stops with StepTooLongError

    Impacts are inelastic: restitution is refused. ValueError or TypeError names what cannot be used, such as
    spheres that overlap at the start.

    >>> import carom
    >>> scene = carom.Scene()
    >>> floor = scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="floor"))
    >>> grains = scene.add_spheres(0.01, density=2500.0, position=[(0, 0, 0.02), (0.001, 0, 0.05)])
    >>> steps = carom.TimeSteps(scene, carom.MaximumDissipation(tolerance=1e-4, max_sweeps=500), step=1e-3)
    >>> steps.run(0.5)
    >>> round(float(steps.states.position[:, 2].min()), 4)
    0.01
    """

    def __init__(
        self,
        scene: Scene,
        law: MaximumDissipation,
        *,
        step: float,
        seed: int = 0,
        motions: Mapping[str, WallMotion] | None = None,
        inflows: Sequence[Inflow] = (),
        outflows: Sequence[Outflow] = (),
        periodic: Sequence[tuple[float, float] | None] = (None, None, None),
        largest_overlap: float = 0.2,
    ):
        refuse_law(law)
        refuse_sphere_scene(scene)
        self.scene, self.law = scene, law
        self.step = checks.number("step", step, above=0.0, maximum=LONGEST_STEP)
        self.largest_overlap = checks.number("largest_overlap", largest_overlap, above=0.0)
        self.log = StepLog()
        self.frames: list[SphereStates] = []
        materials, friction = surfaces_of(scene, inflows)
        fixed = [body for body in scene.bodies if body.fixed]
        surfaces = [materials.index(body.material) for body in fixed]
        table, starts = table_of(scene, materials)
        largest = max([table.places[:, 3].max(initial=0.0), *(inflow.radius for inflow in inflows)])
        self._walls = Walls(fixed, surfaces, motions or {}, self.step, REACH * largest)
        self._inlets = Inlets(inflows, outflows, materials, self.step, starts)
        self._touches = TouchTable(self._walls, friction, periodic)
        self._state = StepState.begun(table, len(fixed), checks.whole("seed", seed, 2**63 - 1))
        self._setup = setup_of(
            scene, law, self._walls, table, (*inflows, *outflows),
            {
                "step": self.step, "seed": seed, "periodic": self._touches.periods(),
                "motions": {name: vars(motion) for name, motion in (motions or {}).items()},
            },
        )  # fmt: skip
        self._refuse_start()

    # -- what a user calls -------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._state.steps_made * self.step

    @property
    def states(self) -> SphereStates:
        """All spheres now."""
        return SphereStates.of_table(self._state.table, self.time)

    def __len__(self) -> int:
        """How many spheres there are now."""
        return len(self._state.table)

    def wall_impulses(self) -> dict[str, Array]:
        """Impulse (3,) [N s] on every fixed body in the last step, by name."""
        return dict(zip(self._walls.names, self._state.wall_impulses.copy(), strict=True))

    def name(self, number: int) -> str:
        """What a sphere is called: the name of its body, or of the many it came with and its place in these."""
        return self._inlets.name(number)

    def advance(self) -> NDArray:
        """Make one step; its row of the log, see `STEP`.

        What enters comes first, then impacts at the places of now, then the motion, then what leaves is taken out.
        Raises StepTooLongError, and makes no step, where spheres overlap by more than `largest_overlap`;
        ValueError where a sphere cannot enter.
        """
        state = self._state
        self._walls.place(state.steps_made, self.step)
        self._inlets.enter(state, self._walls)
        row = np.zeros((), STEP)
        row["spheres"] = len(state.table)
        if len(state.table):
            with threads_for(len(state.table)):
                self._impact(row)
                motion_kernels.move(
                    state.table.places,
                    state.table.motions,
                    self.step,
                    self._touches.origin,
                    self._touches.lengths,
                )
        state.steps_made += 1
        self._inlets.leave(state)
        row["time"], row["entered"], row["left"] = self.time, state.entered, state.left
        self.log.add(row)
        return row

    def run(
        self,
        until: float,
        *,
        progress: bool = False,
        checkpoint: "str | os.PathLike | None" = None,
        every: float = 60.0,
        frames_every: float | None = None,
    ) -> None:
        """Make steps until a time [s], the last of which ends at it or up to a step later.

        checkpoint : file that the run is saved in every so many seconds of computing, and at the end or where it
            is stopped, also by an error; a process that is killed meanwhile leaves the file of before
        frames_every : [s] of simulated time after which the spheres are noted in `frames`, a whole number of steps
        """
        steps = checks.number("until", until) / self.step
        if not abs(steps) <= MOST_STEPS:
            raise ValueError(
                f"until: expected a time of at most 2^53 steps of {self.step:g} s, got {until:g} s"
            )
        last = math.ceil(steps - 1e-9)
        first = self._state.steps_made
        kept = Checkpoints(self, checkpoint, every)
        between = 0 if frames_every is None else whole_steps("frames_every", frames_every, self.step)
        with kept, ProgressBar(first, last if progress else first, "time steps") as bar:
            while self._state.steps_made < last:
                row = self.advance()
                if between and self._state.steps_made % between == 0:
                    self.frames.append(self.states)
                kept.look()
                if progress:
                    bar.show(
                        self._state.steps_made,
                        f"t = {self.time:.5g} s, {row['spheres']} spheres, {row['sweeps']} sweeps",
                    )

    def save(self, path: "str | os.PathLike") -> "Path":
        """Write all of the run, from which `restore` goes on bit for bit; the file appears whole or not at all."""
        target = file_path("path", path)
        write(target, self._state, self.log.rows, self.frames, self._setup, self._inlets.names)
        return target

    def restore(self, path: "str | os.PathLike") -> None:
        """Go on from a file that `save` wrote in a run of the same scene, law, step, flows and seed.

        FileFormatError for another file; ValueError, which names what differs, for that of another run.
        """
        source = file_path("path", path)
        stored = read(source)
        for what, text in self._setup.items():
            if stored.setup.get(what) != text:
                raise ValueError(f"path: {source} is of a run with other {what}")
        refuse_unfit(source, stored.state, len(self._walls.names), self._touches.surfaces)
        self._state, self.log, self.frames = stored.state, StepLog(stored.log), stored.frames
        self._inlets.names = stored.names

    # -- inside ------------------------------------------------------------------------------------------------

    def _impact(self, row: Any) -> None:
        """One impact of all touches; fills the row of the log."""
        state, touches, pull = self._state, self._touches, self.step * self.scene.gravity
        motion_kernels.pull(state.table.motions, *pull)
        row["overlap"] = touches.find(state, self.step)
        if row["overlap"] > self.largest_overlap:
            motion_kernels.pull(state.table.motions, *-pull)
            self._refuse_step()
        table, found = state.table, (touches.starts, touches.others, touches.rows)
        row["energy_before"] = motion_kernels.kinetic_energy(table.motions)
        solve_kernels.begin(touches.slabs, *found, table.motions)
        row["sweeps"], row["residual"] = solve_kernels.relax(
            touches.slabs, *found, table.motions, 1.0 / self.step, self.law.tolerance, self.law.max_sweeps
        )
        row["energy_after"] = motion_kernels.kinetic_energy(table.motions)
        counts = np.zeros(3, np.int64)
        motion_kernels.judge(
            *found, table.places, CLOSED, len(self._walls.names), counts, state.wall_impulses
        )
        row["near"] = touches.starts[-1]
        row["sticking"], row["sliding"], row["separating"] = counts
        if row["overlap"] > 0.0:
            solve_kernels.part(touches.slabs, *found, table.motions, table.places, PARTING)
        touches.keep(state)

    def _refuse_start(self) -> None:
        """ValueError where anything overlaps."""
        if not len(self._state.table):
            return
        with threads_for(len(self._state.table)):
            overlap = self._touches.find(self._state, self.step)
        if overlap > START:
            first, second, overlap, _ = self._worst()
            raise ValueError(
                f"position: {first} and {second} overlap by {overlap:.6g} m at the start; move them apart"
            )

    def _refuse_step(self) -> None:
        first, second, overlap, radius = self._worst()
        speed = float(np.sqrt((self._state.table.velocity[:, :3] ** 2).sum(axis=1).max()))
        safe = min(0.5 * self.step, _SAFE * radius / max(speed, 1e-300))
        raise StepTooLongError(
            f"step: {self.step:g} s has let {first} and {second} overlap by {overlap:.3g} m, "
            f"{100 * overlap / radius:.0f} % of a radius, at {self.time:.6g} s, where the fastest sphere moves "
            f"{speed * self.step / radius:.2g} radii in a step; take at most {safe:.1g} s, or a smaller tolerance "
            "of the law"
        )

    def _worst(self) -> tuple[str, str, float, float]:
        """Names of what overlaps deepest, the overlap and the smaller radius [m]."""
        table, rows = self._state.table, self._touches.rows
        owner = np.repeat(np.arange(len(table)), np.diff(self._touches.starts))
        other = self._touches.others
        radius = table.places[owner, 3]
        radius = np.minimum(radius, np.where(other >= 0, table.places[np.maximum(other, 0), 3], radius))
        worst = int((-rows["gap"] / radius).argmax())
        second = int(other[worst])
        names = names_of(self._walls.names, second, self.name, table.ids)
        return (
            f"sphere {self.name(int(table.ids[owner[worst]]))!r}", names, -float(rows["gap"][worst]),
            float(radius[worst]),
        )  # fmt: skip
