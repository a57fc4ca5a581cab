"""What tests of runs with implicit steps share."""

import numpy as np


def gains_nothing(trajectory, times, within):
    """Assert that bodies have never more energy than at the start, gain none between times (T,) [s] but `within` of
    what was there to lose, since implicit steps are off by that inside, and that the ledger explains it."""
    energy = trajectory.energy(times)
    scale = energy[0] - energy.min()
    assert energy.max() <= energy[0] + 1e-12 * scale
    assert np.diff(energy).max() <= within * scale
    assert np.abs(trajectory.ledger(times).residual).max() <= 1e-9 * scale
