"""A law with its constants, as it predicts measured impacts: friction and restitution that may depend on them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...bodies import SpeedRestitution
from ...impact_laws import CompliantContact, ImpactLaw, ImpactOutcome, ImpactProblem, StrongeCoulomb
from .impact_set import ContactStates

Array = NDArray[np.float64]

SLOWEST = 0.1
"""[m/s] of approach, around which a power of speed levels off, and below which slip counts as at it. Smaller:
bodies that come to rest bounce on and on, since a power of speed grows without end. Larger: measured impacts count
as slower ones."""
ONSET = 2.0
"""Exponent with which constants of slow impacts give way to those of fast ones beyond the speed of transition."""

RANGES = {
    "friction": (0.0, 2.0),
    "restitution": (0.0, 1.0),
    "speed_exponent": (0.0, 2.0),
    "mass_exponent": (-2.0, 2.0),
    "slip_loss": (-1.0, 3.0),
    "tangential_stiffness": (0.05, 200.0),
    "transition_speed": (0.005, 5.0),
}
"""What each constant of impacts may be: those that end at a limit, or whose interval fills it, are not
determined."""


@dataclass(frozen=True)
class ContactModel:
    """A law and its constants.

    An impact has the normal and tangential contact velocities u_n and u_t before it [m/s], and m = 1/W_nn, its
    effective mass as a share of the body's.

    - Constants with a speed exponent k: restitution · f(|u_n|)/f(1 m/s) · m^(-mass_exponent) · (1 - slip_loss
      |u_t|/|u_n|), kept within [0, 1], where f is `SpeedRestitution(1, SLOWEST, k)`, so a power of speed above
      `SLOWEST`. So `restitution` is that of a central impact at 1 m/s. Where bodies yield at the contact k is 1/4
      (K. L. Johnson, Contact Mechanics, 11.5).
    - Constants with a `transition_speed` v: `friction` and the restitution above are those of impacts far above
      v; `slow_friction` and `slow_restitution` those of impacts far below it; between them
      fast + (slow - fast) · s, with s = 1/(1 + (u_n/v)²), which is `SpeedRestitution(1, v, ONSET)`. A slow
      constant that is None is the fast one. Without a `transition_speed` (0) slow ones do not count.

    Two speeds of one surface are no theory of a contact: they say that it loses little while it stays
    elastic (below the speed of yield, Johnson, 11.5), and that friction of slow impacts is that of lasting
    contact. `tangential_stiffness` is that of `CompliantContact`.

    Example
    -------
    >>> model = carom.ContactModel(
    ...     carom.StrongeCoulomb(), friction=0.16, restitution=0.25, transition_speed=0.15,
    ...     slow_friction=0.22, slow_restitution=1.0,
    ... )
    >>> [round(float(value[0]), 2) for value in model.coefficients_at(*np.array([[0.15], [0.3], [1.0]]))]
    [0.19, 0.62]
    """

    law: ImpactLaw
    friction: float = 0.2
    restitution: float = 0.3
    speed_exponent: float = 0.0
    mass_exponent: float = 0.0
    slip_loss: float = 0.0
    tangential_stiffness: float = 3.0
    transition_speed: float = 0.0
    slow_friction: float | None = None
    slow_restitution: float | None = None

    def with_values(self, values: dict[str, Any]) -> "ContactModel":
        """The same law with other constants."""
        return replace(self, **values)

    def constants(self) -> list[str]:
        """Names of the constants that this law honours."""
        names = ["friction"] if self.law.honours_friction else []
        if self.law.honours_restitution:
            names += ["restitution", "speed_exponent", "mass_exponent", "slip_loss"]
        names += ["transition_speed"] if names else []
        return [*names, "tangential_stiffness"] if isinstance(self.law, CompliantContact) else names

    def coefficients_of(self, states: ContactStates) -> tuple[Array, Array]:
        """Friction and restitution (n,) of impacts."""
        slip = np.linalg.norm(states.before[:, 1:], axis=1)
        return self.coefficients_at(-states.before[:, 0], slip, states.W[:, 0, 0])

    def coefficients_at(self, approach: Array, slip: Array, mobility: Array) -> tuple[Array, Array]:
        """Friction and restitution (n,) at contacts that approach [m/s] and slip [m/s], mobility W_nn times
        the body's mass."""
        restitution = self.restitution * mobility**self.mass_exponent
        restitution = restitution * (1.0 - self.slip_loss * slip / np.maximum(approach, SLOWEST))
        if self.speed_exponent > 0.0:
            falls = SpeedRestitution(1.0, SLOWEST, self.speed_exponent)
            restitution = restitution * falls.at(approach) / falls.at(1.0)
        restitution = np.clip(restitution, 0.0, 1.0)
        friction = np.full(len(restitution), float(self.friction))
        if self.transition_speed > 0.0:
            slow = SpeedRestitution(1.0, self.transition_speed, ONSET).at(approach)
            if self.slow_friction is not None:
                friction += (self.slow_friction - friction) * slow
            if self.slow_restitution is not None:
                restitution += (self.slow_restitution - restitution) * slow
        return friction, restitution

    def as_law(self, mass: float) -> "ModelledLaw":
        """The law with these constants in place of those of materials, for runs of a body of this mass
        [kg]."""
        return ModelledLaw(self, mass)

    def impulses(self, states: ContactStates) -> tuple[Array, NDArray[np.bool_]]:
        """Impulses (n, 3) of impacts per unit of mass, and which are resolved (n,)."""
        friction, e = self.coefficients_of(states)
        if isinstance(self.law, CompliantContact):
            law = CompliantContact(self.tangential_stiffness)
            return law.resolve_many(states.W, states.before, friction, e)
        if isinstance(self.law, StrongeCoulomb):
            batch = self.law.resolve_many(states.W, states.before, friction, e)
            return batch.impulse, batch.resolved
        outcomes = [
            self.law.resolve(ImpactProblem(W, u, each, coefficient))
            for W, u, each, coefficient in zip(states.W, states.before, friction, e, strict=True)
        ]
        return np.array([o.impulse for o in outcomes]), np.array([o.resolved for o in outcomes])

    def errors(self, states: ContactStates) -> Array:
        """E (n,) [m/s] of every impact; of one that is not resolved, that of no impulse."""
        impulse, resolved = self.impulses(states)
        return states.error(np.where(resolved[:, None], impulse, 0.0))

    def described(self) -> dict[str, Any]:
        """Law and constants by name."""
        names = [*self.constants(), "slow_friction", "slow_restitution"]
        return {"law": self.law.name, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class ModelledLaw:
    """A law whose friction and restitution are those of a model, whatever a problem says: so friction of
    impacts is apart from that of sliding, which a run takes from materials, and restitution depends on each
    impact."""

    model: ContactModel
    mass: float

    @property
    def name(self) -> str:
        """That of the law below."""
        return self.model.law.name

    @property
    def honours_friction(self) -> bool:
        """As the law below."""
        return self.model.law.honours_friction

    @property
    def honours_restitution(self) -> bool:
        """As the law below."""
        return self.model.law.honours_restitution

    def with_own_coefficients(self, problem: ImpactProblem) -> ImpactProblem:
        """The problem with the model's friction and restitution: what the law below is asked, and judged by."""
        velocity = problem.u.reshape(-1, problem.dim)
        slip = np.linalg.norm(velocity[:, 1:], axis=1)
        mobility = self.mass * problem.W.diagonal()[:: problem.dim]
        friction, e = self.model.coefficients_at(-velocity[:, 0], slip, mobility)
        return problem.with_coefficients(friction, e)

    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """What the law answers to the problem with the model's constants."""
        return self.model.law.resolve(self.with_own_coefficients(problem), rng)
