"""The state of a replay and everything that can be done to it, without a window or OpenGL."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import picture as pictures
from .camera import perpendiculars
from .contact_view import ContactView
from .impact_walk import BodyVelocities, ImpactWalk
from .meshes import Mesh
from .picking import pick_body
from .picture import Picture
from .run import Run
from .stage import share_frame
from .theme import LIGHT, Theme, colour_of_run
from .timeline import Timeline

LINGER_SECONDS = 0.35  # of wall clock that contacts stay visible after their event while playing
IMPACT_SECONDS = 1.6  # of wall clock that an impact takes where impacts are played
MESSAGE_SECONDS = 6.0
RELOAD_SECONDS = 1.0  # between looks at a recording that is still being written
SHADOWED_RUNS = 12  # more overlaid runs throw no shadow
FAN_RUNS = 2  # overlaid runs from which on their next velocities are shown as a fan
QUALITIES = ("auto", "full", "draft")


@dataclass
class Shown:
    """What is drawn beside the bodies."""

    contacts: bool = True
    impulses: bool = True
    cones: bool = False
    velocities: bool = False
    trails: bool = False
    ghosts: bool = False
    see_through: bool = False


@dataclass
class Message:
    """One sentence for the person at the window, for some seconds of wall clock."""

    text: str
    left: float = MESSAGE_SECONDS


@dataclass
class Look:
    """How things look, apart from what is shown."""

    theme: Theme = LIGHT
    quality: str = "auto"
    help: bool = False


class Replay:
    """One or several runs on one clock, seen by one camera.

    chosen : number of the run that is followed while the others fade, or None where all count the same
    picked, picked_run : body that was clicked, and in which run
    walk : steps inside the impacts of this instant, or None between impacts
    changed : whether anything was done since the last picture; who draws resets it
    """

    def __init__(self, runs: Sequence[Run], aspect: float = 16 / 9) -> None:
        self.aspect = aspect
        self.shown = Shown()
        self.look = Look()
        self.message: Message | None = None
        self.side_by_side = False
        self.plays_impacts = False
        self.follows = False
        self.changed = True
        self.pool: dict[Any, Mesh] = {}
        self._until_reload = RELOAD_SECONDS
        self._growth: dict[Path, tuple[int, int]] = {}
        self._open(list(runs))

    def _open(self, runs: list[Run]) -> None:
        if not runs:
            raise ValueError("runs: expected at least one trajectory, got none")
        self.runs = runs
        share_frame([run.stage for run in runs])
        self.chosen: int | None = 0 if len(runs) == 1 else None
        self.picked: int | None = None
        self.picked_run = 0
        self.follows = False
        self.walk: ImpactWalk | None = None
        self.timeline = Timeline(min(run.start for run in runs), max(run.end for run in runs))
        self._read_events()
        self.timeline.speed = Timeline(self.timeline.start, self.timeline.end).speed
        self.camera = self.runs[0].stage.camera(self._view_aspect())
        self.changed = True

    # -- what it shows ---------------------------------------------------------------------------------------

    @property
    def main_run(self) -> Run:
        """The run that panels speak of: the chosen one, else one with an impact at this instant, else the first."""
        return self.runs[self.main_number]

    @property
    def main_number(self) -> int:
        """Its number."""
        if self.chosen is not None:
            return self.chosen
        time = self.timeline.time
        return next((number for number, run in enumerate(self.runs) if run.impacts_at(time)), 0)

    def state_velocities(self) -> BodyVelocities:
        """Velocities of all bodies of the main run, also inside an impact."""
        if self.walk is not None:
            return self.walk.velocities()
        state = self.main_run.state(self.timeline.time)
        return BodyVelocities(np.asarray(state.velocity), np.asarray(state.angular_velocity))

    def pictures(self) -> list[Picture]:
        """What to draw now: one picture, or one for each run side by side."""
        self._follow()
        if self.side_by_side:
            return [self._picture([number]) for number in range(len(self.runs))]
        return [self._picture(range(len(self.runs)))]

    def contacts(self) -> list[tuple[int, ContactView]]:
        """Contacts to draw now, with the number of their run: of this instant, while playing of the last ones."""
        if self.walk is not None:
            view = self.walk.contacts()
            return [] if view is None else [(self.main_number, view)]
        linger = LINGER_SECONDS * self.timeline.speed if self.timeline.playing else 0.0
        numbers = range(len(self.runs)) if self.chosen is None else [self.chosen]
        found = []
        for number in numbers:
            run = self.runs[number]
            latest = run.latest_event(self.timeline.time)
            if latest is not None and run.event_times[latest] >= self.timeline.time - linger:
                for event in run.events_at(float(run.event_times[latest])):
                    view = ContactView.of_event(event)
                    if view is not None:
                        found.append((number, view))
        return found

    def fan(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Bodies (m,) and velocities (n, m, 3) [m/s] that the impact of this instant may give them, or None.

        They come from the outcomes that were given for this impact, else from the overlaid runs that have an
        impact at this instant.
        """
        if self.walk is None:
            return None
        given = self._given_outcomes()
        if given is not None:
            return self.walk.fan(given.impulse)
        time = self.timeline.time
        together = [run for run in self.runs if run.impacts_at(time)]
        if len(together) < FAN_RUNS or len({len(run.stage.bodies) for run in together}) > 1:
            return None
        pairs = np.concatenate([np.asarray(event.contacts.bodies).ravel() for event in self.walk.impacts])
        bodies = [body for body in np.unique(pairs) if not self.main_run.stage.bodies[body].fixed]
        return np.array(bodies), np.array([np.asarray(run.state(time).velocity)[bodies] for run in together])

    # -- time ------------------------------------------------------------------------------------------------

    def tick(self, seconds: float) -> None:
        """Let the wall clock run."""
        if self.message is not None:
            self.message.left -= seconds
            if self.message.left <= 0:
                self.message = None
                self.changed = True
        self._look_for_growth(seconds)
        if not self.timeline.playing:
            return
        self.changed = True
        if self.plays_impacts and self.walk is not None and not self.walk.at_end:
            self.walk.move(self.walk.length * seconds / IMPACT_SECONDS)
            return
        before = self.timeline.time
        self.timeline.advance(seconds)
        self.walk = None
        impact = self.timeline.impact_within(before, self.timeline.time) if self.plays_impacts else None
        if impact is not None:
            self.timeline.seek(impact)
            self.arrive()
            if self.walk is not None:
                self.walk.position = 0.0

    def toggle_play(self) -> None:
        """Play or pause."""
        self.timeline.toggle()
        if self.timeline.playing and self.walk is not None and not self.plays_impacts:
            self.walk = None

    def seek_fraction(self, fraction: float) -> None:
        """Pause at a fraction of the motion."""
        self.timeline.playing = False
        self.timeline.seek_fraction(fraction)
        self.arrive()

    def arrive(self) -> None:
        """Stand after the impacts of this instant, if there are any, ready to step inside them."""
        self.changed = True
        impacts = self.main_run.impacts_at(self.timeline.time)
        if impacts and self.walk is not None and self.walk.impacts[0] is impacts[0]:
            return
        self.walk = ImpactWalk(self.main_run.trajectory, impacts) if impacts else None

    def step_inside(self, steps: int) -> None:
        """Step along the impulse path of the impact of this instant, pausing at the next one if there is none."""
        self.timeline.playing = False
        if self.walk is None:
            self.arrive()
        if self.walk is None:
            if steps > 0:
                self.timeline.next_impact()
            else:
                self.timeline.previous_impact()
            self.arrive()
            if self.walk is not None and steps > 0:
                self.walk.position = 0.0
            return
        self.walk.step(steps)

    # -- choosing --------------------------------------------------------------------------------------------

    def choose(self, number: int | None) -> None:
        """Follow the run of a number from 0 while the others fade, or None for all alike."""
        if number is not None and number >= len(self.runs):
            self.say(f"There is no outcome {number + 1}: {len(self.runs)} are open.")
            return
        self.chosen = 0 if len(self.runs) == 1 else number
        self.arrive()

    def choose_next(self, step: int = 1) -> None:
        """Follow the next run, after the last one all of them."""
        places = len(self.runs) + 1
        now = -1 if self.chosen is None else self.chosen
        following = (now + 1 + step) % places - 1
        self.choose(None if following < 0 else following)

    def pick_at(self, spot: tuple[float, float]) -> None:
        """Pick the body at a spot of the picture in [-1, 1], or none."""
        column, spot = self._column_of(spot)
        origin, direction = self.camera.ray_at(self._view_aspect(), spot)
        numbers = [column] if self.side_by_side else self._front_first()
        self.picked, self.follows = None, False
        for number in numbers:
            run = self.runs[number]
            body = pick_body(run.stage, run.state(self.timeline.time), origin, direction)
            if body is not None:
                self.picked, self.picked_run = body, number
                break
        self.changed = True

    def toggle_follow(self) -> None:
        """Follow the picked body with the camera, or stop; without one show the whole motion."""
        if self.picked is None:
            self.frame_all()
        else:
            self.follows = not self.follows

    # -- camera ----------------------------------------------------------------------------------------------

    def frame_all(self) -> None:
        """Move the camera so that the whole motion is in the picture."""
        self.follows = False
        stage = self.runs[0].stage
        self.camera.frame_all(stage.lower, stage.upper, self._view_aspect())

    def look_at_impact(self) -> None:
        """Move the camera to the contacts of this instant, or to the picked body."""
        points = [view.point for _, view in self.contacts()]
        run = self.runs[self.picked_run]
        if points:
            around = np.concatenate(points)
        elif self.picked is not None:
            around = np.asarray(run.state(self.timeline.time).position)[self.picked][None]
        else:
            self.say("There is no impact at this instant: ] goes to the next one.")
            return
        self.follows = False
        reach = 1.2 * self.main_run.stage.arrow_length * self.main_run.stage.scale
        self.camera.frame_all(around.min(axis=0) - reach, around.max(axis=0) + reach, self._view_aspect())

    def look_along_next_axis(self) -> None:
        """Look along y, then x, then from above, in parallel projection; then freely again."""
        up = self.runs[0].stage.up
        east, north = perpendiculars(up)
        views = (north, -east, -up)
        forward = -self.camera.axes()[2]
        along = [self.camera.orthographic and forward @ axis > 1 - 1e-9 for axis in views]
        now = along.index(True) if True in along else -1
        if now + 1 < len(views):
            self._look_along(views[now + 1])
        else:
            self.camera = self.runs[0].stage.camera(self._view_aspect())

    def orbit(self, azimuth: float, elevation: float) -> None:
        """Turn the camera by two angles."""
        self.camera.orbit(azimuth, elevation)
        self.changed = True

    def pan(self, right: float, above: float) -> None:
        """Move the camera by shares of the picture's height; it follows no body any more."""
        self.follows = False
        self.camera.pan(right, above)
        self.changed = True

    def zoom(self, factor: float, spot: tuple[float, float]) -> None:
        """Come nearer or go away, keeping what is at a spot in [-1, 1] there; at a followed body about it."""
        _, spot = self._column_of(spot)
        self.camera.zoom(factor, (0.0, 0.0) if self.follows else spot, self._view_aspect())
        self.changed = True

    # -- files -----------------------------------------------------------------------------------------------

    def open_recordings(self, paths: Sequence[str], load: Callable[[Path], Any], add: bool = False) -> None:
        """Replace the runs by recordings, or add them; what cannot be read is said and nothing changes."""
        from ..bodies import FileFormatError

        opened = []
        for path in map(Path, paths):
            try:
                opened.append(Run(load(path), path.name, path, self.pool))
            except FileFormatError as error:
                self.say(" ".join(str(error).split()))
                return
        theme, shown = self.look, self.shown
        self._open([*self.runs, *opened] if add else opened)
        self.look, self.shown = theme, shown
        self.say(f"Opened {', '.join(run.name for run in opened)}.")

    def say(self, text: str) -> None:
        """Show a sentence for some seconds."""
        self.message = Message(text)
        self.changed = True

    def _look_for_growth(self, seconds: float) -> None:
        """Read recordings again whose runs are still going on."""
        growing = [number for number, run in enumerate(self.runs) if run.unfinished]
        self._until_reload -= seconds
        if not growing or self._until_reload > 0:
            return
        self._until_reload = RELOAD_SECONDS
        for number in growing:
            self._reload(number)

    def _reload(self, number: int) -> None:
        from ..bodies import FileFormatError

        run = self.runs[number]
        assert run.path is not None
        try:
            status = run.path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if self._growth.get(run.path) == stamp:
                return
            self._growth[run.path] = stamp
            trajectory = type(run.trajectory).load(run.path)
        except (FileFormatError, OSError):
            return  # caught in the middle of a write: what was read before stays, and the next look tries again
        was_at_end = self.timeline.time >= self.timeline.end
        self.runs[number] = Run(trajectory, run.name, run.path, self.pool, run.outcomes)
        share_frame([one.stage for one in self.runs])
        self._read_events()
        if was_at_end and not self.timeline.playing and self.timeline.time < self.timeline.end:
            self.timeline.playing = True
        self.arrive()

    # -- inside ----------------------------------------------------------------------------------------------

    def _read_events(self) -> None:
        runs = self.runs
        self.timeline.extend(
            max(run.end for run in runs),
            np.concatenate([run.event_times for run in runs]),
            np.concatenate([run.event_kinds for run in runs]),
        )

    def _given_outcomes(self) -> Any:
        """The outcomes given for the current impact: a set of its size, or found under the impact's number."""
        outcomes = self.main_run.outcomes
        if outcomes is None or self.walk is None:
            return None
        event = self.walk.impacts[self.walk.current]
        if isinstance(outcomes, dict):
            times = self.main_run.event_times[self.main_run.event_kinds == "impact"]
            return outcomes.get(int(np.searchsorted(times, event.time)) + self.walk.current + 1)
        return outcomes if outcomes.impulse.shape[1] == len(event.outcome.impulse) else None

    def _front_first(self) -> list[int]:
        numbers = list(range(len(self.runs)))
        if self.chosen is not None:
            numbers.remove(self.chosen)
            numbers.insert(0, self.chosen)
        return numbers

    def _column_of(self, spot: tuple[float, float]) -> tuple[int, tuple[float, float]]:
        """Which of the pictures side by side a spot in [-1, 1] of the whole is in, and where in it."""
        if not self.side_by_side:
            return 0, spot
        across = (spot[0] + 1) / 2 * len(self.runs)
        column = min(max(int(across), 0), len(self.runs) - 1)
        return column, (2 * (across - column) - 1, spot[1])

    def _view_aspect(self) -> float:
        return self.aspect / len(self.runs) if self.side_by_side else self.aspect

    def _look_along(self, axis: np.ndarray) -> None:
        self.camera.orthographic = True
        self.camera.look_along(axis)
        self.frame_all()

    def _follow(self) -> None:
        if self.follows and self.picked is not None:
            run = self.runs[self.picked_run]
            self.camera.target = np.array(run.state(self.timeline.time).position[self.picked], dtype=float)

    def _picture(self, numbers: Sequence[int]) -> Picture:
        main = numbers[0] if len(numbers) == 1 else self.main_number
        stage = self.runs[main].stage
        result = Picture(stage)
        for number in numbers:
            self._add_bodies(result, number, alone=len(numbers) == 1, first=number == numbers[0])
        self._add_trails_and_ghosts(result, numbers)
        self._add_contacts(result, numbers)
        if self.shown.velocities:
            self._add_velocities(result, numbers)
        self._add_edge_on_planes(result)
        if self.picked is not None and self.picked_run in numbers:
            run = self.runs[self.picked_run]
            line = pictures.outline(run.stage, run.state(self.timeline.time), self.picked)
            result.solids += [line] if line is not None else []
        return result

    def _add_bodies(self, result: Picture, number: int, alone: bool, first: bool) -> None:
        run, count = self.runs[number], len(self.runs)
        opacity, tint, tinted, shadow = 1.0, (0.0, 0.0, 0.0), 0.0, True
        if not alone and count > 1:
            chosen = self.chosen == number
            overlaid = min(0.62, max(0.09, 1.7 / count))
            opacity = 1.0 if chosen else overlaid if self.chosen is None else min(0.16, overlaid)
            tint, tinted = colour_of_run(number), 0.0 if chosen else 0.75
            shadow = chosen or (self.chosen is None and count <= SHADOWED_RUNS)
        if self.shown.see_through:
            opacity = min(opacity, 0.32)
        result.solids += pictures.body_solids(
            run, run.state(self.timeline.time), opacity=opacity, tint=tint, tinted=tinted,
            fixed=first, shadow=shadow,
        )  # fmt: skip

    def _add_trails_and_ghosts(self, result: Picture, numbers: Sequence[int]) -> None:
        time = self.timeline.time
        for number in numbers:
            run = self.runs[number]
            if self.shown.trails:
                own = len(self.runs) == 1 or self.chosen == number
                bodies = self._trailed_bodies(number)
                colour = None if own else colour_of_run(number)
                result.ribbons += pictures.trail_ribbons(run, time, bodies, colour)
            if self.shown.ghosts and (self.chosen in (None, number) or len(numbers) == 1):
                for age, earlier in enumerate(run.ghost_times(time, pictures.GHOSTS)):
                    opacity = 0.30 * (1 - age / pictures.GHOSTS) / math.sqrt(len(numbers))
                    tint = colour_of_run(number) if len(self.runs) > 1 else (0.45, 0.66, 0.92)
                    result.solids += pictures.body_solids(
                        run,
                        run.state(earlier),
                        opacity=opacity,
                        tint=tint,
                        tinted=0.7,
                        fixed=False,
                        shadow=False,
                    )

    def _trailed_bodies(self, number: int) -> list[int]:
        if self.picked is not None and self.picked_run == number:
            return [self.picked]
        return self.runs[number].stage.moving

    def _add_contacts(self, result: Picture, numbers: Sequence[int]) -> None:
        strongest = max(run.stage.strongest for run in self.runs)
        for number, contacts in self.contacts():
            if number not in numbers:
                continue
            if self.shown.contacts:
                result.marks += pictures.contact_marks(result.stage, contacts)
            if self.shown.impulses:
                result.marks.append(pictures.impulse_marks(result.stage, contacts, strongest))
            if self.shown.cones:
                result.glass += pictures.cone_glass(result.stage, contacts)
        found = self.fan() if self.main_number in numbers else None
        if found is not None and self.shown.impulses:
            bodies, velocities = found
            points = np.asarray(self.main_run.state(self.timeline.time).position)[bodies]
            result.marks += pictures.fan_marks(result.stage, points, velocities, self.main_run.fastest)

    def _add_velocities(self, result: Picture, numbers: Sequence[int]) -> None:
        fastest = max(run.fastest for run in self.runs)
        for number in numbers:
            run = self.runs[number]
            if len(numbers) > 1 and self.chosen not in (None, number):
                continue
            state = run.state(self.timeline.time)
            inside = self.walk is not None and number == self.main_number
            velocity = self.state_velocities().velocity if inside else np.asarray(state.velocity)
            result.marks.append(pictures.velocity_marks(run, state, velocity, fastest))

    def _add_edge_on_planes(self, result: Picture) -> None:
        if not self.camera.orthographic:
            return
        forward = -self.camera.axes()[2]
        for plane in result.stage.planes:
            if abs(plane.normal @ forward) < 1e-3:
                line = pictures.plane_line(
                    result.stage, plane.normal, plane.offset, forward, self.camera.target
                )
                result.ribbons.append(line)
