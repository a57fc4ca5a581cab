"""What several demos measure on a finished run."""

import numpy as np

from ..simulator import Trajectory
from .demo import Check

LEDGER = 1e-8  # J
JOINTS = 1e-10  # m, rad, and a second


def even_times(trajectory: Trajectory, count: int = 401) -> np.ndarray:
    """Times (count,) [s] from the start of a run to its end."""
    return np.linspace(trajectory.start_time, trajectory.end_time, count)


def ledger_check(trajectory: Trajectory) -> Check:
    """That energy and work balance at all times."""
    residual = trajectory.ledger(even_times(trajectory)).residual
    return Check("energy ledger, left open [J]", float(np.abs(residual).max()), LEDGER)


def joints_check(trajectory: Trajectory) -> Check:
    """That places and velocities stay as the joints want them."""
    model = trajectory.model
    worst = 0.0
    for t in even_times(trajectory):
        rate, value = model.articulation.violations(trajectory.sample(t).packed())
        worst = max(worst, float(np.abs(rate).max()), float(np.abs(value).max()))
    return Check("off the joints [m, rad, m/s, rad/s]", worst, JOINTS)


def impact_times(trajectory: Trajectory) -> np.ndarray:
    """When impacts happened [s]."""
    return np.array([event.time for event in trajectory.events if event.kind == "impact"])
