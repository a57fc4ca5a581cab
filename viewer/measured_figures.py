"""Figures of measured motion, drawn with matplotlib, which is imported only when something is drawn.

Each function returns a figure, which `figures.save_figure` or its own ``savefig`` writes, and reads what
`carom validate` and `carom.compare` found, so that the viewer needs to know neither.
"""

from typing import Any

import numpy as np

from .figures import new_figure

_FLOOR = "black"
_LINES = ("-", "--", ":")


def impact_errors(found: Any) -> Any:
    """Share of impacts within each error, under every law and for the floor that no law can beat."""
    figure = new_figure(8.0, 5.5)
    axes = figure.subplots()
    share = (np.arange(len(found.floor)) + 1.0) / len(found.floor)
    axes.step(np.sort(found.floor), share, where="post", color=_FLOOR, linewidth=2.0, label="floor, any law")
    for number, law in enumerate(found.laws):
        axes.step(
            np.sort(law.error), share, where="post", color=f"C{number % 10}", linestyle=_LINES[number // 10 % 3],
            label=f"{law.label}, median {np.median(law.error):.3f}",
        )  # fmt: skip
    # A law without friction would push all others to the left.
    furthest = [float(np.quantile(law.error, 0.95)) for law in found.laws] or [float(found.floor.max())]
    axes.set(
        xlabel="error E of an impact [m/s]", ylabel="share of impacts",
        xlim=(0.0, 1.5 * float(np.median(furthest))), ylim=(0.0, 1.02),
        title=f"{found.name}, {len(found.floor)} impacts",
    )  # fmt: skip
    axes.grid(color="0.92")
    axes.legend(fontsize=8, loc="lower right")
    return figure


def run_errors(compared: Any) -> Any:
    """Distance and angle of a run from a measured motion over time."""
    figure = new_figure(8.0, 6.0)
    upper, lower = figure.subplots(2, sharex=True)
    upper.plot(compared.time, 1e3 * compared.distance, color="tab:blue")
    upper.set(ylabel="distance [mm]", ylim=(0.0, None))
    lower.plot(compared.time, np.degrees(compared.angle), color="tab:orange")
    lower.set(ylabel="angle [degrees]", xlabel="time [s]", ylim=(0.0, None))
    for axes in (upper, lower):
        axes.grid(color="0.92")
    return figure


def toss_errors(errors: Any) -> Any:
    """Median and quartiles, over all tosses, of distance and angle of runs from what was measured, over time: until
    nine in ten of them have ended."""
    time = np.linspace(0.0, float(np.quantile([one.time[-1] for one in errors.compared], 0.9)), 200)
    distance, angle = errors.over_time(time)
    figure = new_figure(8.0, 6.0)
    parts = figure.subplots(2, sharex=True)
    for axes, values, name, color in (
        (parts[0], 1e3 * distance, "distance [mm]", "tab:blue"),
        (parts[1], np.degrees(angle), "angle [degrees]", "tab:orange"),
    ):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
        axes.fill_between(time, low, high, color=color, alpha=0.25, linewidth=0.0, label="half of the tosses")
        axes.plot(time, middle, color=color, label="median")
        axes.set(ylabel=name, xlim=(0.0, time[-1]), ylim=(0.0, None))
        axes.grid(color="0.92")
        axes.legend(fontsize=8, loc="upper left")
    parts[0].set(title=f"{len(errors.compared)} whole tosses, from the middle of their first flight")
    parts[1].set(xlabel="time [s]")
    return figure
