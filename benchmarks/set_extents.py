"""How much of the outer bounds samples of `SetValuedRouth` fill, at the example's step and at parts of it.

For rocking block, box and wall and compass gait: the width of every contact velocity over the samples, beside that
of `outcome_bounds`, which holds for every step. With ``--rates independent`` drawn as in the paper.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from carom.demos.impact_examples import EXAMPLES
from carom.impact_laws import SetValuedRouth, outcome_bounds

SYSTEMS = ("rocking_block", "box_and_wall", "compass_gait")
SHARES = (1.0, 0.1, 0.01)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rates", choices=("persistent", "independent"), default="persistent")
    options = parser.parse_args()
    table = Table(title=f"width of {options.samples} samples over that of the outer bounds, in percent")
    for column in ("system", "step [N s]", "v_n, v_t of each contact", "unresolved", "time a sample"):
        table.add_column(column)
    for name in SYSTEMS:
        example = EXAMPLES[name]()
        bounds = outcome_bounds(example.problem)
        outer = bounds.upper - bounds.lower
        for share in SHARES:
            law = SetValuedRouth(step=share * example.step, rates=options.rates)
            law.sample(example.problem, 16, seed=options.seed)
            start = time.perf_counter()
            outcomes = law.sample(example.problem, options.samples, seed=options.seed)
            spent = (time.perf_counter() - start) / options.samples
            width = np.ptp(outcomes.velocity[outcomes.resolved], axis=0)
            moves = outer > 1e-9 * np.abs(example.problem.u).max()
            filled = [f"{100 * w / o:.1f}" if m else "0" for w, o, m in zip(width, outer, moves, strict=True)]
            table.add_row(
                name, f"{share * example.step:.3g}", ", ".join(filled),
                str(int((~outcomes.resolved).sum())), f"{1e6 * spent:.0f} µs",
            )  # fmt: skip
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
