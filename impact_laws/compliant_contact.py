"""Impacts at one contact that gives way along its normal and across it, with Coulomb friction."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import compliant_kernels
from .impact_problem import ImpactProblem, _single_contacts
from .law import quietly
from .outcome import ImpactOutcome, ImpactStatus

Array = NDArray[np.float64]

_STATUS = {
    compliant_kernels.RESOLVED: (ImpactStatus.RESOLVED, ""),
    compliant_kernels.STEP_LIMIT: (
        ImpactStatus.NOT_TERMINATED,
        "the contact did not part within the step limit",
    ),
    compliant_kernels.IMMOVABLE: (ImpactStatus.NO_SOLUTION, "a contact between immovable bodies approaches"),
}


@dataclass(frozen=True)
class CompliantContact:
    """One contact between two springs: slip may turn back during the impact, as it does on a rubber ball.

    The normal spring takes up the work of compression and returns e² of it along a steeper line. The
    tangential spring has `tangential_stiffness` times its stiffness and ends in a slider that gives way where
    its force would leave the cone of friction. What it has stored it gives back, so a contact that grips can
    leave with its slip reversed; with more and more tangential stiffness the outcome becomes that of
    `StrongeCoulomb`. No energy is gained: both springs return what they took or less.

    Only one contact: a problem with more is refused with the status NO_SOLUTION.

    Parameters
    ----------
    tangential_stiffness : greater than 0
        Ratio of tangential to normal stiffness in compression. Of Hertz's contact and Mindlin's it is
        2 (1 - ν)/(2 - ν), 0.8 for most metals; more where something besides the contact gives way along the
        normal.

    Source: W. J. Stronge, Impact Mechanics, chapter 5 (bilinear normal compliance, tangential compliance in a
    slider); R. D. Mindlin, J. Appl. Mech. 16 (1949), for the ratio.

    Example
    -------
    A ball that grips the floor leaves with its slip reversed, which no rigid friction does to it:

    >>> W, u = np.diag([1.0, 3.5, 3.5]), (-1.0, 1.0, 0.0)
    >>> problem = carom.ImpactProblem(W, u, friction=2.0, restitution=1.0)
    >>> bool(carom.CompliantContact(0.3).resolve(problem).velocity[1] < -0.5)
    True
    """

    tangential_stiffness: float = 1.0

    name: ClassVar[str] = "compliant-contact"
    honours_friction: ClassVar[bool] = True
    honours_restitution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        value = self.tangential_stiffness
        if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
            raise TypeError(f"tangential_stiffness must be a number greater than 0, got {value!r}")
        if not 0.0 < value < np.inf:
            raise ValueError(f"tangential_stiffness must be a finite number greater than 0, got {value}")

    @quietly
    def resolve(self, problem: ImpactProblem, rng: np.random.Generator | None = None) -> ImpactOutcome:
        """The outcome; nothing is drawn from ``rng``."""
        if problem.contact_count > 1:
            message = f"the law knows one contact, not {problem.contact_count}"
            stages = np.zeros((1, problem.u.size))
            return ImpactOutcome.from_stages(problem, stages, ("refused",), ImpactStatus.NO_SOLUTION, message)
        inertia, velocity, friction, restitution = problem.kernel_arrays()
        dim = problem.dim
        W, u, impulse = np.eye(3), np.zeros(3), np.empty(3)
        W[:dim, :dim], u[:dim] = inertia, velocity
        ended = compliant_kernels.compliant_impact(
            W, u, friction[0], restitution[0], float(self.tangential_stiffness), impulse
        )
        status, message = _STATUS[ended]
        return ImpactOutcome.from_stages(
            problem, impulse[None, :dim].copy(), ("contact parts",), status, message
        )

    def resolve_many(
        self, W: ArrayLike, u: ArrayLike, friction: ArrayLike, restitution: ArrayLike
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Impulses (n, 3) [N s] of many single contacts at once, on all cores, and whether each is resolved
        (n,).

        W (n, 3, 3) [1/kg], u (n, 3) [m/s], friction and restitution numbers or (n,); components are (normal,
        tangent, tangent2). Raises TypeError or ValueError that names the field.
        """
        inertia, velocity, mu, e = _single_contacts(W, u, friction, restitution)
        count = len(velocity)
        impulse, status = np.empty((count, 3)), np.empty(count, dtype=np.int64)
        stiffness = float(self.tangential_stiffness)
        compliant_kernels.compliant_batch(inertia, velocity, mu, e, stiffness, impulse, status)
        return impulse, status == compliant_kernels.RESOLVED
