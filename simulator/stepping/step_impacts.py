"""The impacts of a step that a law resolves before all lasting contacts are solved together.

Which contacts are struck? Those that close within the step faster than what gravity gives in two steps, where
surfaces have restitution or the law is not `MaximumDissipation`. Each is resolved with the island of all contacts
that touch or close with it, at the velocities of mid-step, when half of gravity's impulse has been given: then a
ball that falls and bounces without loss keeps its energy for ever (E' = v²/2 + g z - g h v/2, which steps of
length h conserve), where it would lose 2 g h / v of it at each bounce with the velocities before or after the
impulse. What an impact drives on is looked for again and resolved in turn, so that a row of balls with gaps hands
its speed on within one step. Whatever closes after that is slow, and is left to the lasting contacts.

Rejected: restitution in the equations of the lasting contacts (as Newton's e times the speed of approach in place
of the gap over the step). It has one form for one law, what is struck and what only rests is solved to one
tolerance, and balls in a row, of which the second is hit and the third not yet, share their speed.
"""

import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...impact_laws import ContactNetwork, ImpactLaw, MaximumDissipation
from ..laws import resolved
from .errors import LawFailedError
from .near_pairs import islands

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

STRUCK = 2.0
"""Of the speed that gravity gives in a step: what approaches faster is struck, and what is slower rests."""
LEAST_STRUCK = 1e-9
"""Of the fastest body, the same without gravity."""
TOUCH = 1e-6
"""Of the size of a body, within which it touches another at the end of the step."""
MOST_ROUNDS = 40
"""In which what an impact drives on is looked for; what closes after them does so without restitution."""
DENSE = 40
"""Contacts of an island up to which `MaximumDissipation` forms their matrix."""
MOST_DENSE = 200
"""Contacts of an island up to which other laws resolve it."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What a step asks a law, and what it answers, in the order of contacts (k).

    network : the contacts that may close, at the velocities before
    closing : (k,) [m], the gaps at the end of the step, as things move without the impact
    size : (k,) [m]
    names : of the bodies of each contact
    """

    network: ContactNetwork
    closing: Array
    size: Array
    names: tuple[tuple[str, ...], ...]


class StepImpacts:
    """The impacts of steps under a law.

    law : of any kind
    slow : [m/s], what approaches no faster is left to the lasting contacts
    """

    def __init__(self, law: ImpactLaw, step: float, gravity: float, seed: int):
        self.law, self._slow = law, STRUCK * gravity * step
        self._generator = np.random.default_rng(seed)
        self._inelastic = isinstance(law, MaximumDissipation)
        self._dense = law
        if isinstance(law, MaximumDissipation):  # few contacts get as many sweeps as they need
            self._dense = replace(law, max_sweeps=max(law.max_sweeps, MaximumDissipation.max_sweeps))

    def copy(self) -> "StepImpacts":
        """The same, whose law may draw otherwise."""
        copied = copy.copy(self)
        copied._generator = copy.deepcopy(self._generator)
        return copied

    def acts(self, elastic: bool) -> bool:
        """Whether it has anything to do in a scene, where surfaces are `elastic` or not."""
        return elastic or not self._inelastic

    def resolve(self, asked: Asked, fastest: float, row: NDArray) -> Array | None:
        """Impulses (k, 3) of all islands in which something is struck, None where nothing is; adds to the row of
        the log. `fastest` is the speed [m/s] of the fastest body. LawFailedError where the law gives no answer."""
        network = asked.network
        approach = -network.contact_velocity()[:, 0]
        joined = asked.closing <= TOUCH * asked.size
        struck = joined & (approach > max(self._slow, LEAST_STRUCK * fastest))
        if self._inelastic:
            struck &= network.restitution > 0.0
        if not struck.any():
            return None
        impulse = np.zeros((network.contact_count, 3))
        bodies = network.bodies
        labels = islands(bodies[joined], len(network.velocity))[bodies[:, 0]]
        for island in np.unique(labels[struck]).tolist():
            which = np.flatnonzero(joined & (labels == island))
            impulse[which] = self._answer(asked, which, row)
            row["impacts"] += 1
        return impulse

    def _answer(self, asked: Asked, which: Whole, row: NDArray) -> Array:
        """Impulses (k, 3) of one island of contacts."""
        part = _part(asked.network, which)
        if self._inelastic and len(which) > DENSE:
            assert isinstance(self.law, MaximumDissipation)
            many = self.law.resolve_network(part)
            row["residual"] = max(float(row["residual"]), many.residual)
            row["restitution_share"] = min(float(row["restitution_share"]), many.restitution_share)
            return many.impulse
        if len(which) > MOST_DENSE:
            raise LawFailedError(
                f"{len(which)} contacts hold together where {self.law.name} is to resolve an impact, more than the "
                f"{MOST_DENSE} that time steps give it; MaximumDissipation() takes any number"
            )
        problem = part.dense([asked.names[k] for k in which.tolist()])
        outcome = resolved(self._dense, problem, self._generator)
        if not outcome.resolved:
            raise LawFailedError(f"{outcome.status.value}: {outcome.message or outcome.status.advice}")
        share = outcome.info.get("restitution_share", 1.0)
        row["restitution_share"] = min(float(row["restitution_share"]), float(share))
        found: Array = np.asarray(outcome.impulse, dtype=np.float64).reshape(-1, 3)
        return found


def _part(network: ContactNetwork, which: Whole) -> ContactNetwork:
    """Some contacts of a network, and the bodies that have them."""
    pairs = network.bodies[which]
    bodies = np.unique(pairs[pairs >= 0])
    numbered = np.where(pairs >= 0, np.searchsorted(bodies, pairs), -1)
    return ContactNetwork(
        numbered, network.jacobian[which], network.inverse_mass[bodies], network.velocity[bodies],
        network.friction[which], 0.0, network.restitution[which],
    )  # fmt: skip
