"""Puts together what a replay shows now."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from . import picture as parts
from .picture import Picture
from .replay import Replay
from .theme import COMPARED_RUNS, FADED, GHOST_TINT, SEE_THROUGH, TINTED, VELOCITY_COLOUR, colour_of_run

SHADOWED_RUNS = 12  # more overlaid runs throw no shadow
CHOSEN_IN_DENSITY = 0.6  # opacity of the run that is followed, over the density of all


def compose(replay: Replay) -> list[Picture]:
    """One picture, or one for each run side by side."""
    replay.follow()
    if replay.side_by_side:
        return [_picture(replay, [number]) for number in range(len(replay.runs))]
    return [_picture(replay, range(len(replay.runs)))]


def _picture(replay: Replay, numbers: Sequence[int]) -> Picture:
    """The runs of these numbers, overlaid."""
    result = Picture(replay.runs[0].stage, outcomes=len(numbers))
    together = _Together(replay, numbers)
    for number in numbers:
        _add_bodies(replay, result, number, numbers, together)
        if replay.shown.trails:
            _add_trails(replay, result, number)
        if replay.shown.ghosts and _counts(replay, number, numbers):
            _add_ghosts(replay, result, number, len(numbers))
        if replay.shown.velocities and _counts(replay, number, numbers):
            _add_velocities(replay, result, number, numbers)
    result.solids = parts.merged(result.solids)
    result.counted = parts.merged(result.counted)
    _add_contacts(replay, result, replay.main_number if len(numbers) > 1 else numbers[0])
    if replay.shown.forces:
        _add_forces(replay, result, numbers)
    _add_fan(replay, result, numbers)
    _add_planes_edge_on(replay, result)
    if replay.picked is not None and replay.picked_run in numbers:
        run = replay.runs[replay.picked_run]
        line = parts.picked_outline(run.stage, run.state(replay.timeline.time), replay.picked)
        result.solids += [line] if line is not None else []
    return result


def _counts(replay: Replay, number: int, numbers: Sequence[int]) -> bool:
    """Whether a run does not fade behind the chosen one."""
    return len(numbers) == 1 or replay.chosen in (None, number)


def _is_overlaid(replay: Replay, number: int, numbers: Sequence[int]) -> bool:
    """Whether a run is drawn in its own colour among others."""
    return len(numbers) > 1 and replay.chosen != number


class _Together:
    """Which bodies of overlaid runs look the same now: they are drawn once, so that no colours of several mix."""

    def __init__(self, replay: Replay, numbers: Sequence[int]) -> None:
        self.replay = replay
        chosen = replay.chosen
        self.numbers = sorted(numbers, key=lambda number: number != chosen)  # who is followed comes first
        self.leaders: np.ndarray | None = None
        if 1 < len(numbers) <= COMPARED_RUNS and not replay.shows_density:
            states = [replay.runs[number].state(replay.timeline.time) for number in self.numbers]
            self.leaders = parts.same_places([replay.runs[number] for number in self.numbers], states)

    def alone(self, number: int) -> np.ndarray | None:
        """Bodies (n,) of a run that no other run shares; None where none was compared."""
        if self.leaders is None:
            return None
        row = self.numbers.index(number)
        mine = self.leaders == self.leaders[row]
        return np.asarray((mine.sum(axis=0) == 1) | (self.replay.chosen == number))[: self._count(number)]

    def shared(self) -> list[tuple[list[int], int]]:
        """Runs in which a body looks the same, two or more, and the body."""
        if self.leaders is None:
            return []
        found = []
        for body in range(self.leaders.shape[1]):
            column = self.leaders[:, body]
            for leader in np.unique(column[column >= 0]):
                members = [self.numbers[row] for row in np.flatnonzero(column == leader)]
                if len(members) > 1 and self.replay.chosen not in members:
                    found.append((members, body))
        return found

    def _count(self, number: int) -> int:
        return len(self.replay.runs[number].stage.bodies)


def _add_bodies(
    replay: Replay, result: Picture, number: int, numbers: Sequence[int], together: _Together
) -> None:
    run, count = replay.runs[number], len(numbers)
    opacity, tint, tinted, shadow = 1.0, (0.0, 0.0, 0.0), 0.0, True
    if _is_overlaid(replay, number, numbers):
        opacity = _opacity_among(replay, count)
        tint, tinted = colour_of_run(number), TINTED
        shadow = replay.chosen is None and count <= SHADOWED_RUNS
    elif replay.side_by_side and replay.chosen != number:
        tint, tinted = colour_of_run(number), TINTED
    if replay.shows_density:
        bodies = parts.body_solids(run, run.state(replay.timeline.time), fixed=False, shadow=False)
        result.counted += bodies
        if replay.chosen == number:
            result.solids += [replace(solid, opacity=CHOSEN_IN_DENSITY) for solid in bodies]
        if number == numbers[0]:
            result.solids += parts.fixed_solids(run)
        return
    if replay.shown.see_through:
        opacity = min(opacity, SEE_THROUGH)
    result.solids += parts.body_solids(
        run, run.state(replay.timeline.time), opacity=opacity, tint=tint, tinted=tinted,
        fixed=number == numbers[0], shadow=shadow, chosen=together.alone(number),
    )  # fmt: skip
    if number == numbers[-1]:
        _add_shared(replay, result, together)


def _opacity_among(replay: Replay, count: int) -> float:
    """Of each of so many overlaid runs."""
    opacity = min(0.62, max(0.09, 1.7 / count))
    return opacity if replay.chosen is None else min(FADED, opacity)


def _add_shared(replay: Replay, result: Picture, together: _Together) -> None:
    """Bodies that look the same in several runs: in their own colours where that is so in all, else in the colour
    of the first run, with a line around in that of each other."""
    for members, body in together.shared():
        run = replay.runs[members[0]]
        state = run.state(replay.timeline.time)
        one = np.arange(len(run.stage.bodies)) == body
        in_all = len(members) == len(together.numbers)
        opacity = 1.0 if replay.chosen is None else FADED
        if replay.shown.see_through:
            opacity = min(opacity, SEE_THROUGH)
        result.solids += parts.body_solids(
            run, state, opacity=opacity, tint=colour_of_run(members[0]), tinted=0.0 if in_all else TINTED,
            fixed=False, shadow=replay.chosen is None, chosen=one,
        )  # fmt: skip
        if in_all or opacity < 1.0:
            continue
        for width, other in enumerate(members[1:], start=1):
            line = parts.outline(run.stage, state, body, colour_of_run(other), float(width))
            result.solids += [line] if line is not None else []


def _add_trails(replay: Replay, result: Picture, number: int) -> None:
    run = replay.runs[number]
    bodies = run.stage.moving
    if replay.picked is not None and replay.picked_run == number:
        bodies = [replay.picked]
    own = len(replay.runs) == 1 or replay.chosen == number
    colour = None if own else colour_of_run(number)
    result.ribbons += parts.trail_ribbons(run, replay.timeline.time, bodies, colour)


def _add_ghosts(replay: Replay, result: Picture, number: int, count: int) -> None:
    run = replay.runs[number]
    tint = colour_of_run(number) if len(replay.runs) > 1 else GHOST_TINT
    for age, time in enumerate(run.ghost_times(replay.timeline.time, parts.GHOSTS)):
        opacity = 0.36 * (1 - age / parts.GHOSTS) / math.sqrt(count)
        result.solids += parts.body_solids(
            run, run.state(time), opacity=opacity, tint=tint, tinted=0.7, fixed=False, shadow=False
        )


def _add_velocities(replay: Replay, result: Picture, number: int, numbers: Sequence[int]) -> None:
    run = replay.runs[number]
    fastest = max(one.fastest for one in replay.runs)
    overlaid = _is_overlaid(replay, number, numbers)
    colour = colour_of_run(number) if overlaid else VELOCITY_COLOUR
    velocity = replay.velocities(number).velocity
    state = run.state(replay.timeline.time)
    result.marks.append(parts.velocity_marks(run, state, velocity, fastest, colour))


def _add_contacts(replay: Replay, result: Picture, number: int) -> None:
    shown = replay.contacts(number)
    strongest = max(run.stage.strongest for run in replay.runs) if shown else 0.0
    for contacts in shown:
        if replay.shown.contacts:
            result.marks += parts.contact_marks(result.stage, contacts)
        if replay.shown.impulses:
            result.marks.append(parts.impulse_marks(result.stage, contacts, strongest))
        if replay.shown.cones:
            result.glass += parts.cone_glass(result.stage, contacts)


def _add_forces(replay: Replay, result: Picture, numbers: Sequence[int]) -> None:
    """Forces of contacts and joints, of all runs that do not fade."""
    for number in numbers:
        if _counts(replay, number, numbers):
            run = replay.runs[number]
            forces = run.forces(replay.timeline.time)
            if forces is not None:
                result.marks += parts.force_marks(result.stage, forces, run.weight)


def _add_fan(replay: Replay, result: Picture, numbers: Sequence[int]) -> None:
    found = replay.fan() if replay.shown.impulses and replay.main_number in numbers else None
    if found is not None:
        bodies, velocities = found
        run = replay.main_run
        points = np.asarray(run.state(replay.timeline.time).position)[bodies]
        result.marks += parts.fan_marks(result.stage, points, velocities, run.fastest)


def _add_planes_edge_on(replay: Replay, result: Picture) -> None:
    """Lines where planes are seen exactly from their side, and would be invisible."""
    camera = replay.camera
    if not camera.orthographic:
        return
    forward = -camera.axes()[2]
    for plane in result.stage.planes:
        if abs(plane.normal @ forward) < 1e-3:
            line = parts.plane_line(result.stage, plane.normal, plane.offset, forward, camera.target)
            result.ribbons.append(line)
