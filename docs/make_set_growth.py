"""Draws docs/set_growth.png: how the set of outcomes fills with samples, by both ways of drawing rates."""

from pathlib import Path

import numpy as np

from carom.demos.impact_examples import EXAMPLES
from carom.impact_laws import ImpactProblem, SetValuedRouth
from carom.viewer.figures import new_figure, save_figure

COUNTS = 2 ** np.arange(4, 15)
SHARES = (1.0, 0.1, 0.01)


def widths(problem: ImpactProblem, law: SetValuedRouth, count: int) -> np.ndarray:
    """Widths (k, 300) of the first outcomes, `COUNTS` as far as there are `count`, in random directions."""
    rng = np.random.default_rng(0)
    scale = np.sqrt(np.maximum(np.diag(problem.W), 1e-300))
    directions = rng.normal(size=(300, problem.u.size)) / scale
    shadows = law.sample(problem, count, seed=1).velocity @ directions.T
    return np.array([np.ptp(shadows[:few], axis=0) for few in COUNTS if few <= count])


def main() -> None:
    """One panel a system; the mean width is compared with the largest seen."""
    figure = new_figure(13.0, 7.5)
    panels = figure.subplots(2, 3).ravel()
    for panel, make in zip(panels, EXAMPLES.values(), strict=False):
        example = make()
        count = 4096 if example.problem.contact_count > 2 else int(COUNTS[-1])
        curves = {}
        for rates in ("independent", "persistent"):
            for share in SHARES:
                law = SetValuedRouth(step=share * example.step, rates=rates)
                curves[rates, share] = widths(example.problem, law, count)
        widest = np.max([curve[-1] for curve in curves.values()], axis=0)
        moved = widest > 1e-9 * widest.max()
        for (rates, share), curve in curves.items():
            fill = (curve[:, moved] / widest[moved]).mean(axis=1)
            panel.plot(
                COUNTS[: len(fill)], fill, "-" if rates == "persistent" else "--",
                color=f"C{SHARES.index(share)}", label=f"{rates}, step times {share:g}",
            )  # fmt: skip
        panel.set(
            title=example.title, xscale="log", xlabel="samples", ylabel="share of the width", ylim=(0, 1.05)
        )
        panel.grid(alpha=0.3)
    panels[-1].axis("off")
    panels[-1].legend(*panels[0].get_legend_handles_labels(), loc="center", fontsize=11)
    save_figure(figure, Path(__file__).parent / "set_growth.png")


if __name__ == "__main__":
    main()
