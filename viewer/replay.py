"""The state of a replay and everything that can be done to it, without a window or OpenGL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from .camera import perpendiculars
from .contact_view import ContactView
from .impact_walk import BodyVelocities, ImpactWalk
from .meshes import Mesh
from .picking import pick_body
from .run import Run, read_run
from .stage import share_frame
from .theme import LIGHT, Theme
from .timeline import Timeline

LINGER_SECONDS = 0.35  # of wall clock that contacts stay visible after their event while playing
IMPACT_SECONDS = 1.6  # of wall clock that an impact takes where impacts are played
MESSAGE_SECONDS = 6.0
RELOAD_SECONDS = 1.0  # between looks at a recording that is still being written
RELOAD_PAUSE = 10  # times as long as reading it took, where that is longer: the window stays usable
FRAME_MARGIN = 1.25
SETTLED_SHARE = 0.75  # of the extent of the whole motion, below which the last of it is framed by time
BAR_SHARE = 0.1  # of the picture's height that the time bar covers
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
    plots: bool = False
    large_plots: bool = False
    density: bool = False
    forces: bool = False


@dataclass
class Look:
    """How things look, apart from what is shown."""

    theme: Theme = LIGHT
    quality: str = "auto"
    help: bool = False


@dataclass
class Message:
    """One sentence for the person at the window, for some seconds of wall clock."""

    text: str
    left: float = MESSAGE_SECONDS


class Replay:
    """One or several runs on one clock, seen by one camera.

    chosen : number of the run that is followed while the others fade, or None where all count the same
    picked, picked_run : body that was clicked, and in which run
    walks : by number of a run, the steps inside its impacts of this instant; all runs go along together
    linger : for how long [s] contacts stay visible after their event while nothing plays
    changed : whether anything was done since the last picture; who draws resets it
    frames_by_time : whether the camera keeps what still moves from this instant on in the picture
    invites : whether it says how to play, as until anything is done
    """

    def __init__(self, runs: Sequence[Run], aspect: float = 16 / 9) -> None:
        self.aspect = aspect
        self.shown = Shown()
        self.look = Look()
        self.message: Message | None = None
        self.side_by_side = False
        self.plays_impacts = False
        self.invites = False
        self.linger = 0.0
        self._pool: dict[Any, Mesh] = {}
        self._until_reload = RELOAD_SECONDS
        self._open(list(runs))

    def _open(self, runs: list[Run]) -> None:
        if not runs:
            raise ValueError("runs: expected at least one trajectory, got none")
        self.runs = runs
        share_frame([run.stage for run in runs])
        self.side_by_side = self.side_by_side and len(runs) > 1
        self.chosen: int | None = 0 if len(runs) == 1 else None
        self.picked: int | None = None
        self.picked_run = 0
        self.follows = False
        self.walks: dict[int, ImpactWalk] = {}
        self.timeline = Timeline(min(run.start for run in runs), max(run.end for run in runs))
        self._read_events()
        self.camera = runs[0].stage.camera(self.view_aspect())
        self.frames_by_time = False
        self.changed = True

    # -- what it shows ---------------------------------------------------------------------------------------

    @property
    def main_number(self) -> int:
        """Number of the run that panels speak of: the chosen one, else one with an impact now, else the first."""
        return self.chosen if self.chosen is not None else next(iter(self.walks), 0)

    @property
    def main_run(self) -> Run:
        """That run."""
        return self.runs[self.main_number]

    @property
    def walk(self) -> ImpactWalk | None:
        """The steps inside the impacts of this instant of the main run, None between its impacts."""
        return self.walks.get(self.main_number)

    @property
    def shows_density(self) -> bool:
        """Whether overlaid runs are drawn as a density instead of each by itself."""
        return self.shown.density and len(self.runs) > 1 and not self.side_by_side

    def velocities(self, number: int) -> BodyVelocities:
        """Velocities of all bodies of a run, also inside an impact."""
        if number in self.walks:
            return self.walks[number].velocities()
        state = self.runs[number].state(self.timeline.time)
        return BodyVelocities(np.asarray(state.velocity), np.asarray(state.angular_velocity))

    def contacts(self, number: int) -> list[ContactView]:
        """Contacts of a run to draw now: those of this instant, while playing also of the last event."""
        if number in self.walks:
            view = self.walks[number].contacts()
            return [] if view is None else [view]
        run = self.runs[number]
        linger = LINGER_SECONDS * self.timeline.speed if self.timeline.playing else self.linger
        latest = run.latest_event(self.timeline.time)
        if latest is None:
            return []
        time = float(run.event_times[latest])
        if time < self.timeline.time - linger:
            return []
        views = [ContactView.of_event(event) for event in run.events_at(time)]
        return [view for view in views if view is not None]

    def fan(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Bodies (m,) and velocities (n, m, 3) [m/s] that the impact of this instant may give them, or None.

        They come from the outcomes that were given for this impact, else from the overlaid runs that have an
        impact at this instant.
        """
        walk = self.walk
        if walk is None:
            return None
        given = self._given_outcomes(walk)
        if given is not None:
            return walk.fan(given.impulse)
        together = [self.runs[number] for number in self.walks]
        if self.side_by_side or len(together) < 2 or len({len(run.stage.bodies) for run in together}) > 1:
            return None
        touched = np.unique(np.concatenate([np.ravel(event.contacts.bodies) for event in walk.impacts]))
        bodies = np.array([body for body in touched if not self.main_run.stage.bodies[body].fixed], dtype=int)
        states = [run.state(self.timeline.time) for run in together]
        return bodies, np.array([np.asarray(state.velocity)[bodies] for state in states])

    @property
    def settles_small(self) -> bool:
        """Whether what moves at the end would be small in a picture of the whole motion."""
        stage = self.runs[0].stage
        lower, upper = self._bounds_from(self.timeline.end)
        return float(np.linalg.norm(upper - lower)) < SETTLED_SHARE * float(
            np.linalg.norm(stage.upper - stage.lower)
        )

    def _bounds_from(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """The box (lower, upper) [m] in which all runs stay from a time [s] on."""
        boxes = [run.stage.bounds_from(time) for run in self.runs]
        return np.min([lower for lower, _ in boxes], axis=0), np.max([upper for _, upper in boxes], axis=0)

    def view_aspect(self) -> float:
        """Width over height of what each camera sees."""
        return self.aspect / len(self.runs) if self.side_by_side else self.aspect

    # -- time ------------------------------------------------------------------------------------------------

    def tick(self, seconds: float) -> None:
        """Let the wall clock run."""
        if self.message is not None:
            self.message.left -= seconds
            if self.message.left <= 0:
                self.message = None
                self.changed = True
        self._look_for_growth(seconds)
        if self.shown.plots and self.main_run.plots.compute_next():
            self.changed = True
        if self.timeline.playing:
            self.changed = True
            self._play(seconds)

    def toggle_play(self) -> None:
        """Play or pause."""
        self.invites = False
        self.timeline.toggle()
        if self.timeline.playing and not self.plays_impacts:
            self.walks = {}
        self.changed = True

    def seek(self, time: float) -> None:
        """Pause at a time [s]."""
        self.timeline.playing = False
        self.timeline.seek(time)
        self.arrive()

    def seek_fraction(self, fraction: float) -> None:
        """Pause at a fraction of the motion."""
        self.seek(self.timeline.start + fraction * self.timeline.duration)

    def arrive(self) -> None:
        """Stand after the impacts of this instant, if there are any, ready to step inside them."""
        self.changed, self.invites = True, False
        before, self.walks = self.walks, {}
        for number, run in enumerate(self.runs):
            impacts = run.impacts_at(self.timeline.time)
            if impacts:
                known = before.get(number)
                same = known is not None and known.impacts[0] is impacts[0]
                self.walks[number] = known if known and same else ImpactWalk(run.trajectory, impacts)

    def step_inside(self, steps: int) -> None:
        """Step along the impulse path of the impact of this instant, pausing at the next one if there is none."""
        self.timeline.playing = False
        if self.walk is None:
            self.arrive()
        walk = self.walk
        if walk is not None:
            walk.step(steps)
            self._go_inside(walk.position / walk.length)
            return
        if steps > 0:
            self.timeline.next_impact()
        else:
            self.timeline.previous_impact()
        self.arrive()
        if steps > 0:
            self._go_inside(0.0)

    def _play(self, seconds: float) -> None:
        walk = self.walk
        if self.plays_impacts and walk is not None and not walk.at_end:
            self._go_inside(walk.position / walk.length + seconds / IMPACT_SECONDS)
            return
        before = self.timeline.time
        self.timeline.advance(seconds)
        self.walks = {}
        impact = self.timeline.impact_within(before, self.timeline.time) if self.plays_impacts else None
        if impact is not None:
            self.timeline.playing = True
            self.timeline.seek(impact)
            self.arrive()
            self._go_inside(0.0)

    def _go_inside(self, share: float) -> None:
        """Let all runs stand at a share of the way through their impacts of this instant."""
        for walk in self.walks.values():
            walk.position = min(max(share, 0.0), 1.0) * walk.length
        self.changed = True

    # -- choosing --------------------------------------------------------------------------------------------

    def choose(self, number: int | None) -> None:
        """Follow the run of a number from 0 while the others fade, or None for all alike."""
        if number is not None and number >= len(self.runs):
            are = "is" if len(self.runs) == 1 else "are"
            self.say(f"There is no outcome {number + 1}: {len(self.runs)} {are} open.")
            return
        self.chosen = 0 if len(self.runs) == 1 else number
        self._read_events()
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
        origin, direction = self.camera.ray_at(self.view_aspect(), spot)
        self.picked, self.follows = None, False
        for number in [column] if self.side_by_side else self._front_first():
            run = self.runs[number]
            body = pick_body(run.stage, run.state(self.timeline.time), origin, direction)
            if body is not None:
                self.picked, self.picked_run = body, number
                break
        self.changed = True

    def toggle_follow(self) -> None:
        """Follow the picked body with the camera, or stop."""
        if self.picked is None:
            self.say("No body is picked: click one to follow it.")
        else:
            self.follows, self.frames_by_time = not self.follows, False

    def next_plots(self) -> None:
        """Plots beside the view, then over most of it, then none."""
        shown = self.shown
        shown.plots, shown.large_plots = not shown.large_plots, shown.plots and not shown.large_plots

    def toggle_density(self) -> None:
        """Draw how many of the overlaid runs are at each place, or each run by itself."""
        if len(self.runs) < 2:
            self.say("One run is open: a density needs several outcomes.")
            return
        self.shown.density = not self.shows_density
        self.side_by_side = self.side_by_side and not self.shown.density

    def toggle_side_by_side(self) -> None:
        """Draw the runs beside each other, or over each other."""
        if len(self.runs) < 2:
            self.say("One run is open: hold shift and drop another recording on the window to compare.")
            return
        self.side_by_side = not self.side_by_side
        self.frame()

    # -- camera ----------------------------------------------------------------------------------------------

    def frame_all(self) -> None:
        """Move the camera so that the whole motion is in the picture."""
        self.follows = self.frames_by_time = False
        stage = self.runs[0].stage
        self._frame(stage.lower, stage.upper)
        self.changed = True

    def frame(self) -> None:
        """Let the camera see the whole motion or, where the bodies would become small in that, what still moves."""
        self.frame_all()
        self.frames_by_time = self.settles_small

    def switch_frame(self) -> None:
        """See what still moves from this instant on, or the whole motion where that is seen already."""
        by_time = not self.frames_by_time
        self.frame_all()
        self.frames_by_time = by_time
        self.say("In the picture: " + ("what moves from here on." if by_time else "the whole motion."))

    def _frame(self, lower: np.ndarray, upper: np.ndarray) -> None:
        self.camera.frame_all(lower, upper, self.view_aspect(), FRAME_MARGIN)
        self.camera.pan(0.0, -BAR_SHARE / 2)

    def look_at_impact(self) -> None:
        """Move the camera to the contacts of this instant, or to the picked body."""
        points = [view.point for view in self.contacts(self.main_number)]
        run = self.runs[self.picked_run]
        if points:
            around = np.concatenate(points)
        elif self.picked is not None:
            around = np.asarray(run.state(self.timeline.time).position)[self.picked][None]
        else:
            self.say("There is no impact at this instant: ] goes to the next one.")
            return
        self.follows = self.frames_by_time = False
        reach = 0.7 * self.main_run.stage.arrow_length * self.main_run.stage.scale
        self.camera.frame_all(around.min(axis=0) - reach, around.max(axis=0) + reach, self.view_aspect())

    def look_along_next_axis(self) -> None:
        """Look along y, then x, then from above, in parallel projection; then freely again."""
        up = self.runs[0].stage.up
        east, north = perpendiculars(up)
        views = (north, -east, -up)
        forward = -self.camera.axes()[2]
        along = [self.camera.orthographic and forward @ axis > 1 - 1e-9 for axis in views]
        now = along.index(True) if True in along else -1
        if now + 1 < len(views):
            self.camera.orthographic = True
            self.camera.look_along(views[now + 1])
            self.frame_all()
        else:
            self.camera = self.runs[0].stage.camera(self.view_aspect())

    def follow(self) -> None:
        """Let the camera look at the body it follows, or at what still moves."""
        if self.frames_by_time:
            self._frame(*self._bounds_from(self.timeline.time))
        if self.follows and self.picked is not None:
            run = self.runs[self.picked_run]
            self.camera.target = np.array(run.state(self.timeline.time).position[self.picked], dtype=float)

    def orbit(self, azimuth: float, elevation: float) -> None:
        """Turn the camera by two angles."""
        self.camera.orbit(azimuth, elevation)
        self.changed = True

    def pan(self, right: float, above: float) -> None:
        """Move the camera by shares of the picture's height; it follows nothing any more."""
        self.follows = self.frames_by_time = False
        self.camera.pan(right, above)
        self.changed = True

    def zoom(self, factor: float, spot: tuple[float, float]) -> None:
        """Come nearer or go away, keeping what is at a spot in [-1, 1] there; at a followed body about it."""
        _, spot = self._column_of(spot)
        self.frames_by_time = False
        self.camera.zoom(factor, (0.0, 0.0) if self.follows else spot, self.view_aspect())
        self.changed = True

    # -- files -----------------------------------------------------------------------------------------------

    def open_recordings(self, paths: Sequence[str], load: Callable[[Path], Any], add: bool = False) -> None:
        """Replace the runs by recordings, or add them; what cannot be read is said and nothing changes."""
        opened = []
        for path in map(Path, paths):
            try:
                opened.append(read_run(path, load, pool=self._pool))
            except (ValueError, OSError) as error:  # a file that is no recording is a ValueError
                self.say(" ".join(str(error).split()))
                return
        self._open([*self.runs, *opened] if add else opened)
        self.frame()
        self.say(f"Opened {', '.join(run.name for run in opened)}.")

    def say(self, text: str) -> None:
        """Show a sentence for some seconds."""
        self.message = Message(text)
        self.changed = True

    def _look_for_growth(self, seconds: float) -> None:
        """Now and then read recordings again that have changed, as while their runs go on."""
        self._until_reload -= seconds
        if self._until_reload > 0:
            return
        begin = perf_counter()
        for number, run in enumerate(self.runs):
            if run.is_outdated and run.path is not None:
                self._reload(number, run.path)
        self._until_reload = max(RELOAD_SECONDS, RELOAD_PAUSE * (perf_counter() - begin))

    def _reload(self, number: int, path: Path) -> None:
        run = self.runs[number]
        try:
            grown = read_run(path, type(run.trajectory).load, run.name, self._pool, run.outcomes)
        except (ValueError, OSError):
            return  # caught in the middle of a write: what was read before stays, and the next look tries again
        was_at_end = self.timeline.time >= self.timeline.end
        grown.plots.over = run.plots.over
        grown.stage.view_from = run.stage.view_from
        self.runs[number] = grown
        share_frame([one.stage for one in self.runs])
        self._read_events()
        if was_at_end and self.timeline.time < self.timeline.end:
            self.timeline.playing = True
        if not self.timeline.playing:
            self.arrive()
        self.changed = True

    # -- inside ----------------------------------------------------------------------------------------------

    def _read_events(self) -> None:
        """Put the events of the chosen run, or of all, on the time bar."""
        shown = self.runs if self.chosen is None else [self.runs[self.chosen]]
        times, kinds = shown[0].event_times, shown[0].event_kinds
        if len(shown) > 1:
            times = np.concatenate([run.event_times for run in shown])
            kinds = np.concatenate([run.event_kinds for run in shown])
        self.timeline.extend(max(run.end for run in self.runs), times, kinds)

    def _given_outcomes(self, walk: ImpactWalk) -> Any:
        """The outcomes given for the current impact: a set of its size, or found under the impact's number."""
        outcomes = self.main_run.outcomes
        event = walk.impacts[walk.current]
        if isinstance(outcomes, dict):
            earlier = int(np.searchsorted(self.main_run.impact_times, event.time))
            return outcomes.get(earlier + walk.current + 1)
        if outcomes is None or outcomes.impulse.shape[1] != len(event.outcome.impulse):
            return None
        return outcomes

    def _front_first(self) -> list[int]:
        """Numbers of all runs, the chosen one first."""
        return sorted(range(len(self.runs)), key=lambda number: number != self.chosen)

    def _column_of(self, spot: tuple[float, float]) -> tuple[int, tuple[float, float]]:
        """Which of the pictures side by side a spot in [-1, 1] of the whole is in, and where in it."""
        if not self.side_by_side:
            return 0, spot
        across = (spot[0] + 1) / 2 * len(self.runs)
        column = min(max(int(across), 0), len(self.runs) - 1)
        return column, (2 * (across - column) - 1, spot[1])
