"""Events a second of every demo that is one run of a scene, after compilation, on one core.

python benchmarks/demo_events.py
"""

import time

from rich.console import Console
from rich.table import Table

import carom
from carom.demos import demo_by_name, demo_names
from carom.impact_laws import law_by_name


def main() -> None:
    """Run each demo twice and time the second run."""
    table = Table("demo", "events", "steps", "simulated s", "s", "events/s")
    for name in demo_names():
        demo = demo_by_name(name)
        if not hasattr(demo, "scene"):
            continue
        for _ in range(2):
            start = time.process_time()
            trajectory = carom.Simulator(demo.scene(), law_by_name(demo.law)).run(demo.duration)
            spent = time.process_time() - start
        events = len(trajectory.events)
        steps = sum(len(motion) for motion in trajectory.motions)
        table.add_row(
            name,
            str(events),
            str(steps),
            f"{trajectory.end_time:.2f}",
            f"{spent:.3f}",
            f"{events / spent:.0f}",
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
