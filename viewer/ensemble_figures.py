"""Figures of ensembles, drawn with matplotlib, which is imported only when something is drawn.

Each function returns a figure, which `figures.save_figure` or its own ``savefig`` writes, and reads statistics as
`Ensemble.statistics` gives them, so that the viewer needs to know no ensemble.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .figures import new_figure

_LINE, _BAND, _BARS = "tab:blue", 0.2, "tab:green"


def histogram(statistics: Any, name: str = "value", bins: Any = "auto") -> Any:
    """How values are distributed, with their mean and the interval in which nine of ten lie."""
    figure = new_figure(8.0, 5.0)
    axes = figure.subplots()
    found = statistics.histogram(bins)
    axes.stairs(found.density, found.edges, fill=True, color=_LINE, alpha=0.6)
    mean = statistics.mean()
    low, high = (statistics.quantile(q).value for q in (0.05, 0.95))
    axes.axvline(mean.value, color="black", linewidth=1.5, label=f"mean {mean.value:.4g}")
    axes.axvspan(low, high, color="0.5", alpha=0.15, zorder=0, label="from 5 % to 95 %")
    axes.set(xlabel=name, ylabel="density", title=f"{len(statistics.values)} members")
    axes.legend()
    return figure


def convergence(statistics: Any, name: str = "value") -> Any:
    """Mean, with its interval, and spread over the number of members."""
    figure = new_figure(8.0, 6.0)
    upper, lower = figure.subplots(2, sharex=True)
    found = statistics.convergence()
    upper.plot(found.members, found.mean, color=_LINE)
    upper.fill_between(found.members, found.low, found.high, color=_LINE, alpha=_BAND, linewidth=0.0)
    shown = slice(len(found.members) // 4, None)  # the interval of a few members would hide all others
    low, high = found.low[shown].min(), found.high[shown].max()
    margin = 0.1 * (high - low) or 1.0
    upper.set(ylabel=f"mean of {name}", ylim=(low - margin, high + margin))
    lower.plot(found.members, found.spread, color="tab:orange")
    lower.set(xlabel="members", ylabel=f"spread of {name}", xscale="log")
    for axes in (upper, lower):
        axes.grid(color="0.92")
    return figure


def first_passage(statistics: Any, name: str = "time [s]") -> Any:
    """Share of members that have passed over time, with its interval."""
    figure = new_figure(8.0, 5.0)
    axes = figure.subplots()
    found = statistics.first_passage()
    axes.step(found.time, found.share, where="post", color=_LINE)
    axes.fill_between(found.time, found.low, found.high, step="post", color=_LINE, alpha=_BAND, linewidth=0.0)
    axes.set(xlabel=name, ylabel="share that has passed", ylim=(0.0, 1.02))
    axes.grid(color="0.92")
    return figure


def end_poses(position: np.ndarray, names: Sequence[str], axes: tuple[int, int] = (0, 1)) -> Any:
    """Where bodies end, from places (n, bodies, 3) [m] along two axes: a cloud for each."""
    figure = new_figure(8.0, 7.0)
    plot = figure.subplots()
    for k, name in enumerate(names):
        places = position[:, k, list(axes)]
        plot.plot(*places.T, ".", alpha=max(0.08, min(1.0, 60.0 / len(places))), label=name)
    words = ("x [m]", "y [m]", "z [m]")
    plot.set(xlabel=words[axes[0]], ylabel=words[axes[1]], title=f"where bodies end, {len(position)} members")
    plot.set_aspect("equal", adjustable="datalim")
    for handle in plot.legend().legend_handles:
        handle.set_alpha(1.0)
    return figure


def end_density(density: Any, axes: tuple[int, int] = (0, 1)) -> Any:
    """The density of where a body ends, as `carom.end_density` gives it."""
    figure = new_figure(8.0, 7.0)
    plot = figure.subplots()
    shown = np.ma.masked_equal(density.density.T, 0.0)
    mesh = plot.pcolormesh(density.x, density.y, shown, cmap="viridis", rasterized=True)
    figure.colorbar(mesh, ax=plot, label="share a square metre")
    words = ("x [m]", "y [m]", "z [m]")
    plot.set(xlabel=words[axes[0]], ylabel=words[axes[1]], title="where a body ends")
    plot.set_aspect("equal")
    return figure


def sensitivity(indices: Any, name: str = "value") -> Any:
    """Sobol's indices of first and total order of every parameter, with their intervals."""
    figure = new_figure(8.0, 5.0)
    axes = figure.subplots()
    names = list(indices.first_order)
    for shift, order, words, colour in (
        (-0.2, indices.first_order, "alone", _LINE),
        (0.2, indices.total_order, "with others", _BARS),
    ):
        value = np.array([order[each].value for each in names])
        ends = np.array([(order[each].low, order[each].high) for each in names])
        reach = np.maximum(np.abs(ends - value[:, None]).T, 0.0)
        axes.bar(
            np.arange(len(names)) + shift,
            value,
            0.38,
            yerr=reach,
            capsize=4,
            color=colour,
            alpha=0.75,
            label=words,
        )
    axes.set(ylabel=f"share of the variance of {name}", ylim=(0.0, None))
    axes.set_xticks(range(len(names)), names)
    axes.legend(title="what a parameter decides")
    return figure
