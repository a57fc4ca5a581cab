"""What is written and drawn flat over the scene: time bar, hints, outcomes, panels, help."""

import math
from typing import Any

import numpy as np

from .actions import GROUPS, MOUSE, OTHER_KEYS
from .contact_view import ContactView
from .density import KEY_HEIGHT, KEY_WIDTH, draw_key
from .impact_walk import ImpactWalk
from .moments import time_decimals, time_text
from .plots import Box, grouped
from .replay import Replay
from .stage import length_text
from .theme import (
    ACCENT,
    MODE_COLOURS,
    PANEL,
    PANEL_FAINT,
    PANEL_INK,
    Colour,
    colour_of_kind,
    colour_of_run,
    to_bytes,
)

TRACK: Colour = (108, 113, 132, 255)
BAR_HEIGHT = 74
CONTACT_ROWS = 6
OUTCOME_ROWS = 9
HINT_GAP = "    "
JUMP_HINT, INSIDE_HINT, OUTCOME_HINT = "[ ] next impact", "↓ ↑ step inside it", "1–9 one outcome"
HINT_LEFT_OUT_FIRST = (
    *("shift-drop a file to compare", "← → frame", "V velocities", "E plots", "D side by side", "space play"),
    *("M density", "0 all", OUTCOME_HINT, JUMP_HINT, INSIDE_HINT),
)
"""What is not said in a narrow window; the help is last to go."""
LAST_IMPACTS = 3
LARGE_PLOTS = 1.25  # times as large are letters and lines of large plots


class HeadsUp:
    """Lays the flat things out for a picture of `size` pixels, with `unit` pixels for a unit, and draws them."""

    def __init__(self, replay: Replay, size: tuple[int, int], unit: float) -> None:
        self.replay = replay
        self.width, self.height = size
        self.unit = unit

    # -- where things are ------------------------------------------------------------------------------------

    @property
    def bar(self) -> Box:
        """The panel with the time bar."""
        unit = self.unit
        return Box(14 * unit, 12 * unit, self.width - 28 * unit, BAR_HEIGHT * unit)

    @property
    def track(self) -> tuple[float, float]:
        """The ends of the time bar."""
        left = 150 * self.unit
        return left, max(self.width - 190 * self.unit, left + 40 * self.unit)

    def hit(self, x: float, y: float) -> tuple[str, float] | None:
        """What lies at a point: "play", "track" and fraction, "time", "outcome" and number (-1: all),
        "plots" on their title, or None."""
        bar = self.bar
        if bar.holds(x, y):
            left, right = self.track
            if x < 64 * self.unit:
                return "play", 0.0
            if left - 10 * self.unit <= x <= right + 10 * self.unit:
                return "track", (x - left) / (right - left)
            return "panel", 0.0
        if self.replay.invites and self.invitation_box.holds(x, y):
            return "play", 0.0
        for number, row in self._outcome_rows():
            if row.holds(x, y):
                return "outcome", float(number)
        if self.replay.shown.plots and self.plot_box.holds(x, y):
            time = self.replay.main_run.plots.time_at(x, y)
            if time is None:  # its title
                return (
                    ("plots", 0.0)
                    if y > self.plot_box.bottom + self.plot_box.height - 28 * self.unit
                    else ("panel", 0.0)
                )
            return "time", time
        return None

    def fraction_at(self, x: float) -> float:
        """Which fraction of the motion a place of the time bar stands for."""
        left, right = self.track
        return (x - left) / (right - left)

    # -- drawing ---------------------------------------------------------------------------------------------

    def draw(self, overlay: Any, pointer: tuple[float, float] | None = None) -> None:
        """Draw onto an overlay; the pointer, where it hovers over the time bar, is told what is there."""
        self._draw_top(overlay)
        self._draw_outcomes(overlay)
        if self.replay.shows_density:
            draw_key(overlay, self.density_box, len(self.replay.runs), self.unit)
        self._draw_plots(overlay)
        self._draw_panels(overlay)
        self._draw_columns(overlay)
        self._draw_bar(overlay)
        if pointer is not None:
            self._draw_hover(overlay, pointer)
        if self.replay.look.help:
            self._draw_help(overlay)
        elif self.replay.invites:
            self._draw_invitation(overlay)
        if self.replay.message is not None:
            self._draw_message(overlay, self.replay.message.text)

    def _draw_top(self, overlay: Any) -> None:
        unit, replay = self.unit, self.replay
        y = self.height - 26 * unit
        overlay.text(self._event_text(), 26 * unit, y, size=12 * unit, paper=True)
        words = []
        if replay.main_run.unfinished:
            words.append("recording unfinished: reading on")
        if replay.look.quality != "auto":
            words.append(f"{replay.look.quality} quality")
        if replay.runs[0].stage.planes:
            words.append(f"tile {length_text(replay.runs[0].stage.tile)}")
        words.append("H help")
        overlay.text(
            "   ".join(words), self.width - 26 * unit, y, size=9.5 * unit, anchor="right", paper=True
        )

    def _event_text(self) -> str:
        replay = self.replay
        run, time = replay.main_run, replay.timeline.time
        impacts = run.impact_times
        reached = int(np.searchsorted(impacts, time, side="right"))
        total = len(impacts)
        plural = "s" if total != 1 else ""
        words = f"impact {reached}/{total}" if reached else f"{grouped(total)} impact{plural}"
        latest = run.latest_event(time)
        if latest is not None and run.event_times[latest] == time:
            kind = str(run.event_kinds[latest])
            if kind != "impact":
                words += f"   {kind.replace('_', '-')}"
        if replay.walk is not None:
            walk = replay.walk
            words = f"impact {reached - len(walk.impacts) + walk.current + 1}/{total}"
            count = len(walk.impacts[walk.current].contacts.point)
            words += f"   {count} contact{'s' if count != 1 else ''}"
            energy = getattr(walk.impacts[walk.current].outcome, "energy_change", None)
            if energy is not None:
                words += f"   ΔE = {quantity(float(energy), 'J')}"
        if run.law_name:
            words += f"   {run.law_name}"
        return f"{shortened(run.name, 24)}:  {words}" if len(replay.runs) > 1 else words

    def _draw_bar(self, overlay: Any) -> None:
        unit, timeline, bar = self.unit, self.replay.timeline, self.bar
        overlay.box(bar.left, bar.bottom, bar.width, bar.height, PANEL, 8 * unit)
        middle = bar.bottom + 40 * unit
        if timeline.playing:
            for x in (34.0, 44.0):
                overlay.box(x * unit, middle - 9 * unit, 5.5 * unit, 18 * unit, PANEL_INK, 1.5 * unit)
        else:
            overlay.play_sign(34 * unit, middle, 19 * unit, PANEL_INK)
        overlay.text(f"{timeline.speed:g}×", 70 * unit, middle, size=11.5 * unit, colour=PANEL_INK)
        left, right = self.track
        now = left + timeline.fraction * (right - left)
        overlay.box(left, middle - 2 * unit, right - left, 4 * unit, TRACK, 2 * unit)
        overlay.box(left, middle - 2 * unit, max(now - left, 0.1), 4 * unit, ACCENT, 2 * unit)
        self._draw_marks(overlay, left, right, middle)
        overlay.box(now - 1 * unit, middle - 15 * unit, 2 * unit, 34 * unit, PANEL_INK, 1 * unit)
        overlay.disc(now, middle, 6.5 * unit, PANEL_INK)
        text = time_text(timeline.time, time_decimals(timeline.duration))
        x = self.width - 30 * unit
        overlay.text(text, x, middle, size=11.5 * unit, anchor="right", colour=PANEL_INK)
        end = self._draw_legend(overlay, left, bar.bottom + 13 * unit)
        self._draw_hint(overlay, end)

    def _draw_marks(self, overlay: Any, left: float, right: float, middle: float) -> None:
        """Impacts above the bar, other events shorter below it."""
        timeline = self.replay.timeline
        key = ("marks", timeline, timeline.edition, left, right, middle, self.unit)
        overlay.sheet(key, lambda sheet: self._draw_all_marks(sheet, left, right, middle))

    def _draw_all_marks(self, overlay: Any, left: float, right: float, middle: float) -> None:
        unit = self.unit
        columns = max(int((right - left) / unit), 2)
        spacing = (right - left) / (columns - 1)
        for kind, places in self.replay.timeline.marks(columns).items():
            colour = colour_of_kind(kind)
            low, high = (5, 18) if kind == "impact" else (-13, -5)
            for place in places:
                x = left + place * spacing
                overlay.box(
                    x - 0.75 * unit, middle + low * unit, 1.5 * unit, (high - low) * unit, colour, 0.0
                )

    def _draw_legend(self, overlay: Any, x: float, y: float) -> float:
        """The kinds of events with their colours; returns where they end."""
        unit = self.unit
        for kind, count in self.replay.timeline.counts().items():
            words = f"{grouped(count)} {kind.replace('_', '-')}{'s' if count != 1 else ''}"
            overlay.disc(x + 3 * unit, y, 3.2 * unit, colour_of_kind(kind))
            overlay.text(words, x + 11 * unit, y, size=8.5 * unit, colour=PANEL_FAINT)
            x += overlay.width(words, 8.5 * unit) + 30 * unit
        return x

    def _draw_hint(self, overlay: Any, left: float) -> None:
        """The keys that matter now, always on screen: as many as there is room for right of `left`."""
        unit, bar = self.unit, self.bar
        y, right = bar.bottom + 13 * unit, self.width - 30 * unit
        words = self.hint()
        while len(words) > 1 and overlay.width(HINT_GAP.join(words), 9 * unit) > right - left:
            words.remove(next(word for word in HINT_LEFT_OUT_FIRST if word in words))
        overlay.text(HINT_GAP.join(words), right, y, size=9 * unit, anchor="right", colour=PANEL_INK)
        if self.replay.walk is not None:
            self._draw_walk(overlay)

    def hint(self) -> list[str]:
        """The keys that matter now."""
        outcomes = [OUTCOME_HINT, "0 all", "M density", "D side by side"]
        alone = ["← → frame", "E plots", "V velocities", "shift-drop a file to compare"]
        words = outcomes if len(self.replay.runs) > 1 else alone
        return ["space play", JUMP_HINT, INSIDE_HINT, *words, "H help"]

    def _draw_walk(self, overlay: Any) -> None:
        """How far the impact of this instant has gone along its path."""
        walk, unit = self.replay.walk, self.unit
        assert walk is not None
        beside = self.replay.shown.plots and not self.replay.shown.large_plots
        first = self.plot_box.left + self.plot_box.width + 8 * unit if beside else 18 * unit
        height, width = 46 * unit, min(420 * unit, self.width - 18 * unit - first)
        left, bottom = max((self.width - width) / 2, first), self.bar.bottom + self.bar.height + 8 * unit
        overlay.box(left, bottom, width, height, PANEL, 8 * unit)
        y = bottom + 30 * unit
        overlay.text("↓ ↑  inside the impact", left + 14 * unit, y, size=9.5 * unit, colour=ACCENT)
        overlay.text(
            walk_words(walk), left + width - 14 * unit, y, size=9.5 * unit, anchor="right", colour=PANEL_INK
        )
        track_left, track_right = left + 14 * unit, left + width - 14 * unit
        length, y = track_right - track_left, bottom + 13 * unit
        overlay.box(track_left, y - 1.5 * unit, length, 3 * unit, TRACK, 1.5 * unit)
        now = walk.position / walk.length * length
        overlay.box(track_left, y - 1.5 * unit, max(now, 0.1), 3 * unit, colour_of_kind("impact"), 1.5 * unit)
        if walk.length <= 60:
            for stage in range(int(walk.length) + 1):
                x = track_left + stage / walk.length * length
                overlay.disc(x, y, 2.4 * unit, PANEL_FAINT)
        overlay.disc(track_left + now, y, 5 * unit, PANEL_INK)

    def _draw_outcomes(self, overlay: Any) -> None:
        """The open runs, each with its key and colour."""
        replay, unit = self.replay, self.unit
        for number, row in self._outcome_rows():
            chosen = replay.chosen == number or (replay.chosen is None and number < 0)
            overlay.box(row.left, row.bottom, row.width, row.height - 2 * unit, PANEL, 5 * unit)
            if chosen:
                overlay.box(row.left, row.bottom, 3 * unit, row.height - 2 * unit, ACCENT, 0.0)
            y = row.bottom + (row.height - 2 * unit) / 2
            ink = PANEL_INK if chosen or replay.chosen is None else PANEL_FAINT
            key = "0" if number < 0 else str(number + 1)
            overlay.text(key, row.left + 12 * unit, y, size=9.5 * unit, colour=ACCENT)
            if number < 0:
                words = f"all {len(replay.runs)} outcomes"
                if len(replay.runs) > OUTCOME_ROWS:
                    words += ", Tab: next"
                words = fitted(overlay, words, row.width - 42 * unit, 9.5 * unit)
                overlay.text(words, row.left + 32 * unit, y, size=9.5 * unit, colour=ink)
            else:
                overlay.disc(row.left + 37 * unit, y, 5 * unit, to_bytes(colour_of_run(number)))
                words = fitted(overlay, replay.runs[number].name, row.width - 60 * unit, 9.5 * unit)
                overlay.text(words, row.left + 50 * unit, y, size=9.5 * unit, colour=ink)

    def _outcome_rows(self) -> list[tuple[int, Box]]:
        """Numbers of the runs that are listed, -1 for all, with their boxes."""
        count = len(self.replay.runs)
        if count < 2:
            return []
        first = 0
        if self.replay.chosen is not None and count > OUTCOME_ROWS:
            first = min(max(self.replay.chosen - OUTCOME_ROWS // 2, 0), count - OUTCOME_ROWS)
        numbers = [-1, *range(first, min(first + OUTCOME_ROWS, count))]
        unit = self.unit
        height = 24 * unit
        top = self.height - 48 * unit
        return [
            (number, Box(19 * unit, top - (row + 1) * height, 210 * unit, height))
            for row, number in enumerate(numbers)
        ]

    def _draw_columns(self, overlay: Any) -> None:
        """Names under runs that stand side by side."""
        replay, unit = self.replay, self.unit
        if not replay.side_by_side:
            return
        width = self.width / len(replay.runs)
        for number, run in enumerate(replay.runs):
            if number:
                overlay.box(number * width - unit, 0, 2 * unit, self.height, PANEL, 0.0)
            words = fitted(overlay, f"{number + 1}   {run.name}", width - 50 * unit, 10.5 * unit)
            x, y = (number + 0.5) * width, self.bar.bottom + self.bar.height + 72 * unit
            overlay.text(words, x, y, size=10.5 * unit, anchor="center", paper=True)
            colour = to_bytes(colour_of_run(number))
            left = x - overlay.width(words, 10.5 * unit) / 2
            overlay.disc(left - 18 * unit, y, 6 * unit, colour)
            overlay.box(number * width, self.height - 5 * unit, width, 5 * unit, colour, 0.0)

    def _draw_plots(self, overlay: Any) -> None:
        """On the left: charts of the main run, with a cursor at this instant."""
        replay = self.replay
        if not replay.shown.plots:
            return
        share = replay.walk.position / replay.walk.length if replay.walk is not None else 1.0
        run, box = replay.main_run, self.plot_box
        time = min(max(replay.timeline.time, run.start), run.end)
        unit = self.unit * (LARGE_PLOTS if replay.shown.large_plots else 1.0)
        run.plots.draw(overlay, (box.left, box.bottom, box.width, box.height), time, unit=unit, share=share)
        words = "E: none" if replay.shown.large_plots else "E: larger"
        right, top = box.left + box.width - 12 * unit, box.bottom + box.height - 14 * unit
        overlay.text(words, right, top, size=9 * unit, anchor="right", colour=ACCENT)

    @property
    def plot_box(self) -> Box:
        """Where charts are drawn: on the left, or large over all but the panels on the right."""
        unit = self.unit
        bottom = self.bar.bottom + self.bar.height + 8 * unit
        rows = self._outcome_rows()
        top = rows[-1][1].bottom - 6 * unit if rows else self.height - 48 * unit
        width = min(400 * unit, 0.4 * self.width)
        if self.replay.shown.large_plots:
            width = self.width - 36 * unit
            if self.replay.walk is not None:
                bottom += 54 * unit  # room for the steps of the impact
        return Box(18 * unit, bottom, width, max(top - bottom, 1.0))

    @property
    def density_box(self) -> Box:
        """Where the key of a density is drawn: on the right above the steps of an impact."""
        unit = self.unit
        width, bottom = KEY_WIDTH * unit, self.bar.bottom + self.bar.height + 62 * unit
        return Box(self.width - 18 * unit - width, bottom, width, KEY_HEIGHT * unit)

    def _draw_panels(self, overlay: Any) -> None:
        """On the right: the picked body, and the contacts of this instant."""
        top = self.height - 48 * self.unit
        if self.replay.picked is not None:
            top = self._draw_table(overlay, top, body_lines(self.replay))
        if self.replay.walk is not None and self.replay.shown.contacts:
            contacts = self.replay.walk.contacts()
            if contacts is not None:
                self._draw_table(overlay, top, contact_lines(self.replay, contacts))

    def _draw_table(self, overlay: Any, top: float, lines: list[tuple[str, str, Colour | None]]) -> float:
        """Rows of a word and a value, the first a title; returns where the next panel may begin."""
        unit, line = self.unit, 18 * self.unit
        width, height = 262 * unit, (len(lines) + 0.9) * line
        left = self.width - 18 * unit - width
        overlay.box(left, top - height, width, height, PANEL, 8 * unit)
        for number, (word, value, colour) in enumerate(lines):
            y = top - (number + 0.95) * line
            x = left + 14 * unit
            if colour is not None:
                overlay.disc(x + 4 * unit, y, 4 * unit, colour)
                x += 14 * unit
            ink = ACCENT if number == 0 else PANEL_FAINT
            room = left + width - 14 * unit - x - overlay.width(value, 9.5 * unit) - 8 * unit
            overlay.text(fitted(overlay, word, room, 9.5 * unit), x, y, size=9.5 * unit, colour=ink)
            overlay.text(
                value, left + width - 14 * unit, y, size=9.5 * unit, anchor="right", colour=PANEL_INK
            )
        return top - height - 8 * unit

    def _draw_hover(self, overlay: Any, pointer: tuple[float, float]) -> None:
        """The time under the pointer."""
        found = self.hit(*pointer)
        if found is None or found[0] != "track":
            return
        timeline, unit = self.replay.timeline, self.unit
        fraction = min(max(found[1], 0.0), 1.0)
        time = timeline.start + fraction * timeline.duration
        left, right = self.track
        x = left + fraction * (right - left)
        y = self.bar.bottom + self.bar.height + 12 * unit
        overlay.text(
            time_text(time, time_decimals(timeline.duration)),
            x,
            y,
            size=9.5 * unit,
            anchor="center",
            paper=True,
        )

    @property
    def invitation_box(self) -> Box:
        """Where it is said how to play, until anything is done."""
        width, height = 330 * self.unit, 44 * self.unit
        bottom = self.bar.bottom + self.bar.height + 26 * self.unit
        return Box((self.width - width) / 2, bottom, width, height)

    def _draw_invitation(self, overlay: Any) -> None:
        unit, box = self.unit, self.invitation_box
        overlay.box(box.left, box.bottom, box.width, box.height, PANEL, 10 * unit)
        y = box.bottom + box.height / 2
        overlay.play_sign(box.left + 18 * unit, y, 18 * unit, ACCENT)
        words = "space plays    ] to the first impact"
        overlay.text(words, box.left + 48 * unit, y, size=11.5 * unit, colour=PANEL_INK)

    def _draw_message(self, overlay: Any, words: str) -> None:
        unit = self.unit
        y = self.height - 64 * unit
        width = overlay.width(words, 11.5 * unit) + 40 * unit
        overlay.box((self.width - width) / 2, y - 17 * unit, width, 34 * unit, PANEL, 8 * unit)
        overlay.text(words, self.width / 2, y, size=11.5 * unit, anchor="center", colour=PANEL_INK)

    def _draw_help(self, overlay: Any) -> None:
        unit = self.unit
        columns = (("Time", "Outcomes", "Camera"), ("Shown", "Mouse", "Window"))
        rows = {name: [(a.sign, a.meaning) for a in group] for name, group in GROUPS.items()}
        rows |= {"Mouse": list(MOUSE), "Window": list(OTHER_KEYS)}
        lengths = [sum(len(rows[name]) + 1.7 for name in names) for names in columns]
        line = min(22 * unit, (self.height - 60 * unit) / (max(lengths) + 1.5))
        size = min(10.5 * unit, 0.48 * line)
        width = min(440 * unit, (self.width - 40 * unit) / 2)
        height = (max(lengths) + 1.2) * line
        left, top = self.width / 2 - width, (self.height + height) / 2
        overlay.box(left, top - height, 2 * width, height, (*PANEL[:3], 248), 10 * unit)
        for column, names in enumerate(columns):
            x, y = left + column * width + 24 * unit, top - 1.2 * line
            for name in names:
                overlay.text(name, x, y, size=1.1 * size, colour=ACCENT)
                for sign, meaning in rows[name]:
                    y -= line
                    overlay.text(sign, x, y, size=size, colour=PANEL_INK)
                    overlay.text(meaning, x + 92 * unit, y, size=size, colour=PANEL_FAINT)
                y -= 1.7 * line


def walk_words(walk: ImpactWalk) -> str:
    """Where inside the impact the replay stands: before it, in a stage, or at what ends one."""
    stage, part = math.ceil(walk.row - 1e-9), walk.row - math.floor(walk.row + 1e-9)
    if stage == 0:
        return shortened(walk.label, 30)
    words = f"stage {stage}/{walk.stage_count}"
    if part > 1e-9:
        return f"{words}, {100 * part:.0f} % of it"
    return f"{words}: {shortened(walk.label, 28)}"


def body_lines(replay: Replay) -> list[tuple[str, str, Colour | None]]:
    """What the panel of the picked body says."""
    assert replay.picked is not None
    run, index = replay.runs[replay.picked_run], replay.picked
    body = run.stage.bodies[index]
    time = replay.timeline.time
    now = replay.velocities(replay.picked_run)
    velocity, spin = now.velocity[index], now.angular_velocity[index]
    name = str(body.name or f"body {index}")
    lines: list[tuple[str, str, Colour | None]] = [
        (shortened(name, 22), type(body.shape).__name__, None),
        ("mass", "fixed" if body.fixed else quantity(float(body.mass), "kg"), None),
        ("speed", quantity(float(np.linalg.norm(velocity)), "m/s"), None),
        ("velocity", vector(velocity), None),
        ("spin", vector(spin, "rad/s"), None),
    ]
    for event in run.impacts_of_body(index, time, LAST_IMPACTS):
        view = ContactView.of_event(event)
        assert view is not None
        sign = np.where(view.bodies[:, :1] == index, 1.0, np.where(view.bodies[:, 1:] == index, -1.0, 0.0))
        total = float(np.linalg.norm((sign * view.impulse).sum(axis=0)))
        lines.append((f"impact {time_text(event.time, 4)}", quantity(total, "N s"), colour_of_kind("impact")))
    lines.append(("F", "stop following" if replay.follows else "follow it with the camera", None))
    return lines


def contact_lines(replay: Replay, contacts: ContactView) -> list[tuple[str, str, Colour | None]]:
    """What the panel of the contacts of this instant says: the strongest ones."""
    sizes = np.linalg.norm(contacts.impulse, axis=1)
    bodies = replay.main_run.stage.bodies
    lines: list[tuple[str, str, Colour | None]] = [("contacts", "impulse", None)]
    for number in np.argsort(-sizes, kind="stable")[:CONTACT_ROWS]:
        names = [str(bodies[body].name or body) for body in contacts.bodies[number]]
        mode = contacts.modes[number]
        words = " – ".join(names)
        lines.append((words, quantity(float(sizes[number]), "N s"), to_bytes(MODE_COLOURS[mode])))
    if len(contacts) > CONTACT_ROWS:
        lines.append((f"and {len(contacts) - CONTACT_ROWS} more", "", None))
    lines.append(("friction work", quantity(float(contacts.friction_work.sum()), "J"), None))
    for mode in ("separating", "sliding", "sticking"):
        count = contacts.modes.count(mode)
        if count:
            lines.append((mode, str(count), to_bytes(MODE_COLOURS[mode])))
    return lines


def quantity(value: float, unit: str) -> str:
    """Write a value with four digits and its unit; what is only rounding is written as 0."""
    if abs(value) < 1e-12:
        return f"0 {unit}"
    return f"{value:.4g} {unit}".replace("-", "−")


def vector(values: np.ndarray, unit: str = "m/s") -> str:
    """Write three components."""
    return f"({', '.join(f'{value:.3g}' for value in np.where(np.abs(values) < 1e-12, 0.0, values))}) {unit}"


def fitted(overlay: Any, words: str, room: float, size: float) -> str:
    """As many letters as have room [pixels] in a line of this size, with a sign where some are left out."""
    if overlay.width(words, size) <= room:
        return words
    few, many = 0, len(words)  # letters that fit, and that do not
    while many - few > 1:
        middle = (few + many) // 2
        if overlay.width(f"{words[:middle].rstrip()}…", size) <= room:
            few = middle
        else:
            many = middle
    return f"{words[:few].rstrip()}…"


def shortened(words: str, most: int) -> str:
    """At most so many letters, with a sign where some are left out."""
    return words if len(words) <= most else f"{words[: most - 1]}…"
