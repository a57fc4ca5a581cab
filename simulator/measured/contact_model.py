"""A law with its constants, as it predicts measured impacts: friction, and restitution that may depend on
them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...impact_laws import CompliantContact, ImpactLaw, ImpactOutcome, ImpactProblem, StrongeCoulomb
from .impact_set import ContactStates

Array = NDArray[np.float64]

SLOWEST = 0.1
"""[m/s] of approach, below which restitution is what it is there. Smaller: bodies that come to rest bounce on and
on, since a power of speed grows without end. Larger: measured impacts count as slower ones."""

RANGES = {
    "friction": (0.0, 2.0),
    "restitution": (0.0, 1.0),
    "speed_exponent": (-1.0, 2.0),
    "mass_exponent": (-2.0, 2.0),
    "slip_loss": (-1.0, 3.0),
    "tangential_stiffness": (0.05, 200.0),
}
"""What each constant of impacts may be: those that end at a limit, or whose interval fills it, are not
determined."""


@dataclass(frozen=True)
class ContactModel:
    """A law and its constants.

    The restitution of an impact is restitution · |u_n|^(-speed_exponent) · m^(-mass_exponent) ·
    (1 - slip_loss |u_t|/|u_n|), kept within [0, 1]: u_n and u_t the normal and tangential contact velocity
    before it [m/s], m = 1/W_nn the effective mass, as a share of the body's. So `restitution` is that of a
    central impact at 1 m/s. Where bodies yield at the contact the exponent of speed is 1/4 (K. L. Johnson,
    Contact Mechanics, 11.5). `tangential_stiffness` is that of `CompliantContact`.
    """

    law: ImpactLaw
    friction: float = 0.2
    restitution: float = 0.3
    speed_exponent: float = 0.0
    mass_exponent: float = 0.0
    slip_loss: float = 0.0
    tangential_stiffness: float = 3.0

    def with_values(self, values: dict[str, Any]) -> "ContactModel":
        """The same law with other constants."""
        return replace(self, **values)

    def constants(self) -> list[str]:
        """Names of the constants that this law honours."""
        names = ["friction"] if self.law.honours_friction else []
        if self.law.honours_restitution:
            names += ["restitution", "speed_exponent", "mass_exponent", "slip_loss"]
        return [*names, "tangential_stiffness"] if isinstance(self.law, CompliantContact) else names

    def restitution_of(self, states: ContactStates) -> Array:
        """Coefficients (n,) of impacts."""
        slip = np.linalg.norm(states.before[:, 1:], axis=1)
        return self.restitution_at(-states.before[:, 0], slip, states.W[:, 0, 0])

    def restitution_at(self, approach: Array, slip: Array, mobility: Array) -> Array:
        """Coefficients (n,) at contacts that approach [m/s] and slip [m/s], mobility W_nn times the body's
        mass."""
        speed = np.maximum(approach, SLOWEST)
        value = self.restitution * speed**-self.speed_exponent * mobility**self.mass_exponent
        return np.clip(value * (1.0 - self.slip_loss * slip / speed), 0.0, 1.0)

    def as_law(self, mass: float) -> "ModelledLaw":
        """The law with these constants in place of those of materials, for runs of a body of this mass
        [kg]."""
        return ModelledLaw(self, mass)

    def impulses(self, states: ContactStates) -> tuple[Array, NDArray[np.bool_]]:
        """Impulses (n, 3) of impacts per unit of mass, and which are resolved (n,)."""
        e = self.restitution_of(states)
        if isinstance(self.law, CompliantContact):
            law = CompliantContact(self.tangential_stiffness)
            return law.resolve_many(states.W, states.before, self.friction, e)
        if isinstance(self.law, StrongeCoulomb):
            batch = self.law.resolve_many(states.W, states.before, self.friction, e)
            return batch.impulse, batch.resolved
        outcomes = [
            self.law.resolve(ImpactProblem(W, u, self.friction, coefficient))
            for W, u, coefficient in zip(states.W, states.before, e, strict=True)
        ]
        return np.array([o.impulse for o in outcomes]), np.array([o.resolved for o in outcomes])

    def errors(self, states: ContactStates) -> Array:
        """E (n,) [m/s] of every impact; of one that is not resolved, that of no impulse."""
        impulse, resolved = self.impulses(states)
        return states.error(np.where(resolved[:, None], impulse, 0.0))

    def described(self) -> dict[str, Any]:
        """Law and constants by name."""
        return {"law": self.law.name, **{name: getattr(self, name) for name in self.constants()}}


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

    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """What the law answers to the problem with the model's constants."""
        velocity = problem.u.reshape(-1, problem.dim)
        slip = np.linalg.norm(velocity[:, 1:], axis=1)
        mobility = self.mass * problem.W.diagonal()[:: problem.dim]
        e = self.model.restitution_at(-velocity[:, 0], slip, mobility)
        given = ImpactProblem(
            problem.W, problem.u, self.model.friction, e, problem.dim, contact_names=problem.contact_names
        )
        return self.model.law.resolve(given, rng)
