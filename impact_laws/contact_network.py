"""Many contacts between many bodies, without ever forming the matrix W that couples them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .impact_problem import ImpactProblem, _per_contact, _real_array

Array = NDArray[np.float64]


class ContactNetwork:
    """Contacts between pairs of free bodies, as large problems are given.

    Parameters
    ----------
    bodies : (nc, 2) integers
        The two bodies of each contact, -1 for anything immovable; the normal points from the second to the
        first.
    jacobian : (nc, 2, 3, 6)
        Rows (normal, tangent, tangent2) over (velocity, angular velocity) of each side, world frame; the
        second side with its minus sign. Rows of immovable sides are ignored.
    inverse_mass : (nb, 6, 6), symmetric positive semi-definite [1/kg, 1/(kg m²)]
    velocity : (nb, 6) [m/s, rad/s]
    friction : number or (nc,)
    slack : number or (nc,) [m/s]
        How fast a contact may go on approaching: it presses where its normal velocity would fall below -slack, and
        then has that. An open contact with room for a whole time step has its gap over the step here. A negative
        slack drives bodies apart, and may then raise their energy.
    restitution : number or (nc,), within [0, 1]
        Coefficient of restitution of each contact, for problems without slack.

    Raises TypeError or ValueError that names the field.
    """

    def __init__(
        self,
        bodies: ArrayLike,
        jacobian: ArrayLike,
        inverse_mass: ArrayLike,
        velocity: ArrayLike,
        friction: ArrayLike = 0.0,
        slack: ArrayLike = 0.0,
        restitution: ArrayLike = 0.0,
    ) -> None:
        pairs = np.asarray(bodies)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(f"bodies must be integers of shape (nc, 2), got {pairs.dtype} {pairs.shape}")
        self.bodies = np.array(pairs, dtype=np.int64, order="C")
        self.velocity = _real_array("velocity", velocity)
        if self.velocity.ndim != 2 or self.velocity.shape[1] != 6:
            raise ValueError(f"velocity must have shape (nb, 6), got shape {self.velocity.shape}")
        count, body_count = len(self.bodies), len(self.velocity)
        if count == 0:
            raise ValueError("bodies must hold at least one contact")
        if self.bodies.min() < -1 or self.bodies.max() >= body_count:
            raise ValueError(f"bodies must lie from -1 to {body_count - 1}, got {pairs.min()}..{pairs.max()}")
        same = (self.bodies[:, 0] == self.bodies[:, 1]) & (self.bodies[:, 0] >= 0)
        if same.any():
            raise ValueError(f"bodies of contact {int(np.argmax(same))} must differ, got one body twice")
        self.jacobian = _real_array("jacobian", jacobian)
        if self.jacobian.shape != (count, 2, 3, 6):
            raise ValueError(f"jacobian must have shape {(count, 2, 3, 6)}, got {self.jacobian.shape}")
        self.inverse_mass = _real_array("inverse_mass", inverse_mass)
        if self.inverse_mass.shape != (body_count, 6, 6):
            raise ValueError(
                f"inverse_mass must have shape {(body_count, 6, 6)}, got {self.inverse_mass.shape}"
            )
        if np.linalg.eigvalsh(self.inverse_mass).min(initial=0.0) < -1e-6 * np.abs(self.inverse_mass).max():
            raise ValueError("inverse_mass must be positive semi-definite for every body")
        self.friction = _per_contact("friction", friction, count)
        if self.friction.min() < 0.0:
            raise ValueError(f"friction must be at least 0 at every contact, got {self.friction.min():g}")
        self.slack = _per_contact("slack", slack, count)
        self.restitution = _per_contact("restitution", restitution, count)
        if self.restitution.min() < 0.0 or self.restitution.max() > 1.0:
            worst = self.restitution[np.argmax(np.abs(self.restitution - 0.5))]
            raise ValueError(f"restitution must lie within [0, 1] at every contact, got {worst:g}")
        if self.slack.any() and self.restitution.any():
            raise ValueError("slack must be 0 at every contact of a problem with restitution")

    @classmethod
    def of_points(
        cls,
        bodies: ArrayLike,
        point: ArrayLike,
        normal: ArrayLike,
        position: ArrayLike,
        mass: ArrayLike,
        inertia: ArrayLike,
        velocity: ArrayLike,
        friction: ArrayLike = 0.0,
        slack: ArrayLike = 0.0,
        restitution: ArrayLike = 0.0,
    ) -> "ContactNetwork":
        """From contact points and unit normals (nc, 3), body positions (nb, 3), masses (nb,) and inertias.

        inertia : (nb,) of balls, or (nb, 3, 3) about each centre, world axes [kg m²]
        """
        pairs = np.asarray(bodies)
        where, n = _real_array("point", point), _real_array("normal", normal)
        centre, masses = _real_array("position", position), _real_array("mass", mass)
        if where.ndim != 2 or where.shape[1] != 3 or n.shape != where.shape:
            raise ValueError(f"point and normal must have shape (nc, 3), got {where.shape} and {n.shape}")
        inertias = _real_array("inertia", inertia)
        if inertias.ndim == 1:
            inertias = inertias[:, None, None] * np.eye(3)
        inverse = np.zeros((len(masses), 6, 6))
        inverse[:, [0, 1, 2], [0, 1, 2]] = 1.0 / masses[:, None]
        inverse[:, 3:, 3:] = np.linalg.inv(inertias)
        jacobian = jacobian_of_points(pairs, where, n, centre)
        return cls(pairs, jacobian, inverse, velocity, friction, slack, restitution)

    @property
    def contact_count(self) -> int:
        """Number of contacts nc."""
        return len(self.bodies)

    def contact_velocity(self, velocity: ArrayLike | None = None) -> Array:
        """Contact velocities (nc, 3) at body velocities (nb, 6), by default those before the impact."""
        moving = self.velocity if velocity is None else np.asarray(velocity, dtype=float)
        u = np.zeros((self.contact_count, 3))
        for side in range(2):
            there = self.bodies[:, side] >= 0
            u[there] += np.einsum("crj,cj->cr", self.jacobian[there, side], moving[self.bodies[there, side]])
        return u

    def velocity_after(self, impulse: ArrayLike) -> Array:
        """Body velocities (nb, 6) after contact impulses (nc, 3)."""
        push = np.zeros_like(self.velocity)
        for side in range(2):
            there = self.bodies[:, side] >= 0
            moment = np.einsum("crj,cr->cj", self.jacobian[there, side], np.asarray(impulse, float)[there])
            np.add.at(push, self.bodies[there, side], moment)
        return self.velocity + np.einsum("bij,bj->bi", self.inverse_mass, push)

    def dense(self, contact_names: Sequence[Sequence[str]] | None = None) -> ImpactProblem:
        """The same problem with its matrix, for small ones and for other laws, with names if there are; ValueError
        for one with slack."""
        if self.slack.any():
            raise ValueError("slack must be 0 at every contact of a dense problem, which has none")
        rows = np.zeros((3 * self.contact_count, 6 * len(self.velocity)))
        inverse = np.zeros((rows.shape[1], rows.shape[1]))
        for c, pair in enumerate(self.bodies.tolist()):
            for side, body in enumerate(pair):
                if body >= 0:
                    rows[3 * c : 3 * c + 3, 6 * body : 6 * body + 6] += self.jacobian[c, side]
        for body, block in enumerate(self.inverse_mass):
            inverse[6 * body : 6 * body + 6, 6 * body : 6 * body + 6] = block
        return ImpactProblem.from_generalized(
            None, rows, self.velocity.ravel(), friction=self.friction, restitution=self.restitution,
            inverse_mass=inverse, contact_names=contact_names,
        )  # fmt: skip


def jacobian_of_points(bodies: NDArray[np.int64], point: Array, normal: Array, position: Array) -> Array:
    """Rows (nc, 2, 3, 6) as a `ContactNetwork` has them, of contacts at points with unit normals (nc, 3) between
    bodies (nc, 2) whose centres of mass are at positions (nb, 3)."""
    least = np.eye(3)[np.argmin(np.abs(normal), axis=1)]
    tangent = np.cross(normal, least)
    tangent /= np.linalg.norm(tangent, axis=1)[:, None]
    frame = np.stack([normal, tangent, np.cross(normal, tangent)], axis=1)
    jacobian = np.zeros((len(normal), 2, 3, 6))
    for side, sign in ((0, 1.0), (1, -1.0)):
        arm = point - position[np.maximum(bodies[:, side], 0)]
        jacobian[:, side, :, :3] = sign * frame
        jacobian[:, side, :, 3:] = sign * np.cross(arm[:, None], frame)
    return jacobian


@dataclass(frozen=True, eq=False)
class NetworkOutcome:
    """What a law answers to a `ContactNetwork`.

    impulse : (nc, 3) [N s]
    velocity : (nb, 6), body velocities after the impact
    energy_change : [J], never above rounding when resolved
    residual : largest distance of a contact's impulse from its one-contact solution given all others,
        relative to the largest impulse
    sweeps : relaxation sweeps made
    resolved : whether the residual is within the tolerance asked for
    restitution_share : of all coefficients of restitution, that counted
    """

    impulse: Array
    velocity: Array
    energy_change: float
    residual: float
    sweeps: int
    resolved: bool
    restitution_share: float = 1.0
