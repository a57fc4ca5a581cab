"""The small algebraic problem that an impact law answers: W, u, friction and restitution in contact space."""

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import sparray, spmatrix

from .tolerances import APPROACH, NEGATIVE_EIGENVALUE, SYMMETRY_ACCEPTED, SYMMETRY_REPAIRED

if TYPE_CHECKING:
    from .outcome import ImpactOutcome

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, init=False)
class ImpactProblem:
    """An impact at ``nc`` contacts, in contact space.

    Components are ordered contact after contact, within a contact (normal, tangent[, tangent2]); a positive
    normal velocity separates. A law finds impulses p with post-impact contact velocity u + W p.

    Parameters
    ----------
    W : (dim*nc, dim*nc), symmetric positive semi-definite, [1/kg]
        Inverse inertia at the contacts, J M⁻¹ Jᵀ. Rank deficiency is normal. Unsymmetric by more than 1e-6
        (relative to its largest entry) is refused, below that W is symmetrised; an eigenvalue below -1e-6
        times the largest is refused. A sparse matrix of scipy is taken too; `MaximumDissipation` uses that W has
        few blocks, however it is given.
    u : (dim*nc,), [m/s]
        Contact velocities before the impact.
    friction : scalar or (nc,), >= 0; or intervals (nc, 2)
        Coulomb coefficient of each contact. What is known only within limits is given as a row (least, largest) for
        each contact, or as one row (1, 2) for all: set-valued laws draw from it, others refuse it.
    restitution : scalar or (nc,), within [0, 1]; or intervals (nc, 2)
        Coefficient of restitution of each contact; which definition it follows is the law's choice.
    dim : 2 (planar) or 3
        Components a contact.
    contact_names : nc tuples of names, optional
        What meets at each contact, such as the names of the two bodies; for orders by name (`Order`).

    Raises
    ------
    ValueError, TypeError
        Names the field, what was expected and what came. At least one contact is required.

    The arrays are copied and read-only.
    """

    W: Array
    u: Array
    friction: Array
    restitution: Array
    dim: int
    asymmetry: float = field(repr=False)
    """Largest |W - Wᵀ| over largest |W| of the W that was given, dimensionless (0 when exactly symmetric)."""
    jacobian: Array | None = field(repr=False)
    """J, (dim*nc, ndof), when built by `from_generalized`, else None."""
    velocity_before: Array | None = field(repr=False)
    """Generalized velocity v⁻, (ndof,), when built by `from_generalized`, else None."""
    contact_names: tuple[tuple[str, ...], ...] | None = field(repr=False)
    """Names of what meets at each contact; None where none were given."""

    def __init__(
        self,
        W: ArrayLike | sparray | spmatrix,
        u: ArrayLike,
        friction: ArrayLike = 0.0,
        restitution: ArrayLike = 0.0,
        dim: int = 3,
        *,
        contact_names: Sequence[Sequence[str]] | None = None,
    ) -> None:
        self._build(W, u, friction, restitution, dim, SYMMETRY_ACCEPTED)
        self._name(contact_names)

    def _build(
        self,
        W: ArrayLike | sparray | spmatrix,
        u: ArrayLike,
        friction: ArrayLike,
        restitution: ArrayLike,
        dim: int,
        accepted: float,
        jacobian: Array | None = None,
        velocity_before: Array | None = None,
        response: Array | None = None,
    ) -> None:
        if isinstance(dim, bool) or not isinstance(dim, int | np.integer):
            raise TypeError(f"dim must be the integer 2 or 3, got {dim!r}")
        if not isinstance(dim, int | np.integer) or dim not in (2, 3):
            raise ValueError(f"dim must be 2 or 3, got {dim}")
        velocity = _real_array("u", u)
        if velocity.ndim != 1 or velocity.size == 0 or velocity.size % dim:
            raise ValueError(
                f"u must have shape (dim*nc,) with dim = {dim} and at least one contact, "
                f"got shape {velocity.shape}"
            )
        size = velocity.size
        inertia = _real_array("W", W.toarray() if isinstance(W, sparray | spmatrix) else W)
        if inertia.shape != (size, size):
            raise ValueError(f"W must have shape {(size, size)} to match u, got shape {inertia.shape}")
        inertia, asymmetry = _symmetric(inertia, accepted)
        _refuse_indefinite("W", inertia)
        mu, e = _both_coefficients(friction, restitution, size // dim, _coefficients)
        with np.errstate(over="ignore"):
            self._put(inertia, velocity, mu, e, int(dim), asymmetry, jacobian, velocity_before, response)
        if not math.isfinite(self.approach_threshold):
            raise ValueError(
                "u must be finite when divided by the root of W's normal entry, got up to "
                f"{np.abs(velocity).max():.3g} m/s beside {self.kinetic_scale_array.min():.3g} kg^-1/2"
            )

    def _put(
        self,
        inertia: Array,
        velocity: Array,
        mu: Array,
        e: Array,
        dim: int,
        asymmetry: float,
        jacobian: Array | None,
        velocity_before: Array | None,
        response: Array | None,
        least_approach: float = 0.0,
    ) -> None:
        """Keep arrays that are right."""
        scale = np.sqrt(np.maximum(inertia.diagonal()[::dim], 0.0))
        if not scale.all():  # an immovable contact has no kinetic length of its own
            scale = np.where(scale > 0.0, scale, scale.max() or 1.0)
        measure = velocity[::dim] / scale
        put = object.__setattr__
        put(self, "_arrays", (inertia, velocity, mu, e))
        for name, array in (("W", inertia), ("u", velocity), ("friction", mu), ("restitution", e)):
            put(self, name, _read_only(array))
        put(self, "dim", dim)
        put(self, "asymmetry", asymmetry)
        put(self, "jacobian", jacobian)
        put(self, "velocity_before", velocity_before)
        put(self, "_response", response)
        put(self, "contact_names", None)
        put(self, "_kinetic_scale", _read_only(scale))
        put(self, "_scale", scale)
        threshold = max(APPROACH * float(np.abs(measure).max()), least_approach / float(scale.max() or 1.0))
        put(self, "_threshold", -threshold)

    def _name(self, contact_names: Sequence[Sequence[str]] | None) -> None:
        """Keep names that a user gave."""
        if contact_names is None:
            return
        names = tuple(() if isinstance(entry, str) else tuple(entry) for entry in contact_names)
        count = self.contact_count
        if len(names) != count or not all(
            entry and all(isinstance(n, str) for n in entry) for entry in names
        ):
            raise ValueError(
                f"contact_names must hold a tuple of names for each of {count} contacts, got {contact_names!r}"
            )
        object.__setattr__(self, "contact_names", names)

    @classmethod
    def from_generalized(
        cls,
        M: ArrayLike | None,
        J: ArrayLike,
        v: ArrayLike,
        *,
        friction: ArrayLike = 0.0,
        restitution: ArrayLike = 0.0,
        dim: int = 3,
        inverse_mass: ArrayLike | None = None,
        contact_names: Sequence[Sequence[str]] | None = None,
    ) -> Self:
        """The problem of a system with generalized velocity ``v``; `generalized_velocity` maps an outcome
        back.

        Parameters
        ----------
        M : (ndof, ndof), symmetric positive definite
            Mass matrix, in the units that go with v. Give None together with ``inverse_mass``.
        J : (dim*nc, ndof)
            Contact Jacobian, dim rows a contact: contact velocity is J v.
        v : (ndof,)
            Generalized velocity before the impact.
        inverse_mass : (ndof, ndof), symmetric positive semi-definite, optional
            Instead of M: its inverse, or that inverse projected onto the motions which joints allow.
        friction, restitution, dim, contact_names
            As for the class.
        """
        if (M is None) == (inverse_mass is None):
            raise ValueError("exactly one of M and inverse_mass must be given")
        velocity = _real_array("v", v)
        jacobian = _real_array("J", J)
        if velocity.ndim != 1:
            raise ValueError(f"v must have shape (ndof,), got shape {velocity.shape}")
        if jacobian.ndim != 2 or jacobian.shape[1] != velocity.size:
            raise ValueError(
                f"J must have shape (dim*nc, {velocity.size}) to match v, got shape {jacobian.shape}"
            )
        name, given = ("M", M) if inverse_mass is None else ("inverse_mass", inverse_mass)
        matrix = _real_array(name, given)
        if matrix.shape != (velocity.size, velocity.size):
            raise ValueError(
                f"{name} must have shape {(velocity.size, velocity.size)} to match v, "
                f"got shape {matrix.shape}"
            )
        matrix, _ = _symmetric(matrix, SYMMETRY_ACCEPTED, name)
        if inverse_mass is None:
            try:
                factor = np.linalg.cholesky(matrix)
            except np.linalg.LinAlgError:
                least = np.linalg.eigvalsh(matrix)[0]
                raise ValueError(
                    f"M must be positive definite, got a smallest eigenvalue of {least:.3g}"
                ) from None
            half = np.linalg.solve(factor, jacobian.T)
            response = np.linalg.solve(factor.T, half)
            W = half.T @ half  # symmetric and semi-definite by construction
        else:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused in words
                response = matrix @ jacobian.T
                W = jacobian @ response
        with np.errstate(over="ignore", invalid="ignore"):
            before = jacobian @ velocity
        problem = cls.__new__(cls)
        problem._build(
            W,
            before,
            friction,
            restitution,
            dim,
            SYMMETRY_ACCEPTED,
            _read_only(jacobian),
            _read_only(velocity),
            response,
        )
        problem._name(contact_names)
        object.__setattr__(problem, "_mass", (inverse_mass is not None, matrix))
        return problem

    @classmethod
    def _of_engine(
        cls,
        jacobian: Array,
        velocity: Array,
        friction: Array,
        restitution: Array,
        dim: int,
        inverse_mass: Array,
        least_approach: float,
        contact_names: tuple[tuple[str, ...], ...],
    ) -> Self:
        """As `from_generalized`, of new arrays that are known to be right. Approach slower than `least_approach`
        [m/s] is none: the velocities round to no less."""
        response = inverse_mass @ jacobian.T
        W = jacobian @ response
        W, asymmetry = _symmetric(W, SYMMETRY_ACCEPTED)
        problem = cls.__new__(cls)
        problem._put(
            W, jacobian @ velocity, friction, restitution, dim, asymmetry, _read_only(jacobian),
            _read_only(velocity), response, least_approach,
        )  # fmt: skip
        object.__setattr__(problem, "contact_names", contact_names)
        object.__setattr__(problem, "_mass", (True, inverse_mass))
        return problem

    @classmethod
    def symmetrised(
        cls,
        W: ArrayLike,
        u: ArrayLike,
        friction: ArrayLike = 0.0,
        restitution: ArrayLike = 0.0,
        dim: int = 3,
    ) -> Self:
        """As the class, for a printed or measured W that may be unsymmetric by up to 1e-2, relative.

        W is replaced by (W + Wᵀ)/2; `asymmetry` records how unsymmetric it came.
        """
        problem = cls.__new__(cls)
        problem._build(W, u, friction, restitution, dim, SYMMETRY_REPAIRED)
        return problem

    def renumbered(self, order: ArrayLike) -> Self:
        """The same problem with its contacts in another order; W and u alone, without M and J.

        order : (nc,) integers, a permutation of 0 to nc - 1: contact k of the new problem is contact order[k]

        ValueError for anything else.

        Example
        -------
        >>> problem = ImpactProblem(np.diag([1.0, 1.0, 2.0, 2.0]), [-1.0, 0.0, -3.0, 0.0], dim=2)
        >>> problem.renumbered([1, 0]).u
        array([-3.,  0., -1.,  0.])
        """
        contacts = np.asarray(order)
        if contacts.dtype.kind not in "iu" or sorted(contacts.tolist()) != list(range(self.contact_count)):
            raise ValueError(f"order must hold each of 0 to {self.contact_count - 1} once, got {order!r}")
        W, u, friction, restitution = self._arrays  # type: ignore[attr-defined]
        rows = self.rows_of(contacts)
        problem = type(self).__new__(type(self))
        problem._put(
            W[np.ix_(rows, rows)], u[rows], friction[contacts], restitution[contacts], self.dim, self.asymmetry,
            None, None, None,
        )  # fmt: skip
        object.__setattr__(problem, "_threshold", self.approach_threshold)
        if self.contact_names is not None:
            names = tuple(self.contact_names[k] for k in contacts.tolist())
            object.__setattr__(problem, "contact_names", names)
        return problem

    def with_coefficients(self, friction: ArrayLike, restitution: ArrayLike) -> Self:
        """The same problem with another friction and restitution: numbers, (nc,), or intervals (nc, 2).

        TypeError or ValueError, naming the field, for coefficients that the class would refuse.

        Example
        -------
        >>> problem = ImpactProblem(np.diag([1.0, 1.0]), [-1.0, 0.5], 0.3, 0.9, dim=2)
        >>> plastic = problem.with_coefficients(problem.friction, 0.0)
        >>> plastic.friction.tolist(), plastic.restitution.tolist(), problem.restitution.tolist()
        ([0.3], [0.0], [0.9])
        """
        mu, e = _both_coefficients(friction, restitution, self.contact_count, _coefficients)
        problem = copy(self)
        put = object.__setattr__
        put(problem, "_arrays", (*self.motion_arrays(), mu, e))
        put(problem, "friction", _read_only(mu))
        put(problem, "restitution", _read_only(e))
        return problem

    def rows_of(self, contacts: ArrayLike) -> NDArray[np.intp]:
        """Indices (dim*k,) in u of all components of contacts (k,), in their order."""
        return rows_of(np.asarray(contacts, dtype=np.intp), self.dim)

    @property
    def kinetic_energy(self) -> float | None:
        """Kinetic energy ½ vᵀMv of the whole system before the impact [J].

        None where it is not known: for problems from W and u, and where the inverse mass leaves out motions that
        v has, such as those of a driven body.
        """
        if self.velocity_before is None:
            return None
        inverted, matrix = self._mass  # type: ignore[attr-defined]
        velocity = self.velocity_before
        if not inverted:
            return 0.5 * float(velocity @ matrix @ velocity)
        momentum = np.linalg.lstsq(matrix, velocity, rcond=1e-13)[0]
        if np.abs(matrix @ momentum - velocity).max() > 1e-9 * max(float(np.abs(velocity).max()), 1e-300):
            return None
        return 0.5 * float(velocity @ momentum)

    @property
    def contact_count(self) -> int:
        """Number of contacts nc."""
        return self.u.size // self.dim

    @property
    def normal_index(self) -> NDArray[np.intp]:
        """Indices of the normal components, (nc,)."""
        return np.arange(0, self.u.size, self.dim)

    @property
    def normal_velocity(self) -> Array:
        """Normal velocities before the impact, (nc,), [m/s]; negative approaches."""
        return self.u[:: self.dim]

    @property
    def kinetic_scale(self) -> Array:
        """√W_nn of every contact, (nc,), [kg^-1/2]: length of its normal in the kinetic metric.

        An immovable contact (W_nn = 0) takes the largest scale of the others, or 1.
        """
        return self._kinetic_scale  # type: ignore[attr-defined]

    @property
    def kinetic_scale_array(self) -> Array:
        """`kinetic_scale` as kernels take it, see `kernel_arrays`."""
        return self._scale  # type: ignore[attr-defined]

    @property
    def approach_threshold(self) -> float:
        """Value of `approach_measure` below which a contact approaches, [m/s kg^1/2], never positive."""
        return self._threshold  # type: ignore[attr-defined]

    def approach_measure(self, velocity: ArrayLike | None = None) -> Array:
        """u_n/√W_nn of every contact, (nc,), [m/s kg^1/2]; ``velocity`` (dim*nc,) defaults to u."""
        if velocity is None:
            return self.normal_velocity / self.kinetic_scale
        return np.asarray(velocity, dtype=float)[:: self.dim] / self.kinetic_scale

    def approaching(self, velocity: ArrayLike | None = None) -> NDArray[np.bool_]:
        """Whether each contact approaches, (nc,): measure below -1e-11 of the largest before the impact, or, of an
        event of the simulator, below what the velocities there round to."""
        return self.approach_measure(velocity) < self.approach_threshold

    def generalized_velocity(self, outcome: "ImpactOutcome | ArrayLike") -> Array:
        """Generalized velocity v⁺ = v⁻ + M⁻¹ Jᵀ p, (ndof,), of an outcome or an impulse p (dim*nc,).

        Only for problems built by `from_generalized`.
        """
        if self.velocity_before is None:
            raise ValueError("generalized_velocity needs a problem built by ImpactProblem.from_generalized")
        impulse = np.asarray(getattr(outcome, "impulse", outcome), dtype=float)
        if impulse.shape != self.u.shape:
            raise ValueError(
                f"outcome must hold an impulse of shape {self.u.shape}, got shape {impulse.shape}"
            )
        return self.velocity_before + self._response @ impulse  # type: ignore[attr-defined]

    def kernel_arrays(self) -> tuple[Array, Array, Array, Array]:
        """W, u, friction and restitution as kernels take them: the same memory without the read-only mark.

        Numba compiles once more for read-only arrays; callers must not write to these. Raises ValueError where
        friction or restitution is given as intervals.
        """
        arrays = self._arrays  # type: ignore[attr-defined]
        for name, array in (("friction", arrays[2]), ("restitution", arrays[3])):
            if array.ndim == 2:
                raise ValueError(
                    f"{name} must be one number a contact for all but set-valued laws (SetValuedRouth), got the "
                    f"intervals {array.tolist()}"
                )
        return arrays

    def motion_arrays(self) -> tuple[Array, Array]:
        """W and u as `kernel_arrays` gives them, whatever friction and restitution are."""
        return self._arrays[:2]  # type: ignore[attr-defined]

    def coefficient_intervals(self) -> tuple[Array, Array]:
        """Least and largest friction and restitution of each contact, (nc, 2) both; equal where one number is
        known."""
        _, _, *both = self._arrays  # type: ignore[attr-defined]
        friction, restitution = (a if a.ndim == 2 else np.column_stack([a, a]) for a in both)
        return friction, restitution


def _real_array(name: str, value: Any) -> Array:
    """A contiguous copy as float64, or an error that names the field."""
    try:
        raw = np.asarray(value)
    except ValueError:
        raise TypeError(f"{name} must be an array of real numbers, got a ragged sequence") from None
    if raw.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be an array of real numbers, got dtype {raw.dtype}")
    array = np.array(raw, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        where = np.unravel_index(int(np.argmin(np.isfinite(array))), array.shape)
        raise ValueError(f"{name} must be finite, got {array[where]} at {tuple(int(i) for i in where)}")
    return array


def _per_contact(name: str, value: ArrayLike, count: int) -> Array:
    array = _real_array(name, value)
    if array.ndim == 0:
        return np.full(count, float(array))
    if array.shape != (count,):
        raise ValueError(f"{name} must be a number or have shape ({count},), got shape {array.shape}")
    return array


def rows_of(contacts: NDArray[np.intp], dim: int) -> NDArray[np.intp]:
    """Indices (dim*k,) of all components of contacts (k,), in their order."""
    return (dim * contacts[:, None] + np.arange(dim)).ravel()


def _single_contacts(
    W: ArrayLike, u: ArrayLike, friction: ArrayLike, restitution: ArrayLike
) -> tuple[Array, Array, Array, Array]:
    """Many single contacts as arrays (n, 3, 3), (n, 3), (n,) and (n,); TypeError or ValueError that names the
    field."""
    inertia, velocity = _real_array("W", W), _real_array("u", u)
    if velocity.ndim != 2 or velocity.shape[1] != 3:
        raise ValueError(f"u must have shape (n, 3), got shape {velocity.shape}")
    count = len(velocity)
    if inertia.shape != (count, 3, 3):
        raise ValueError(f"W must have shape {(count, 3, 3)} to match u, got shape {inertia.shape}")
    return inertia, velocity, *_both_coefficients(friction, restitution, count, _per_contact)


def _both_coefficients(
    friction: ArrayLike,
    restitution: ArrayLike,
    count: int,
    read: Callable[[str, ArrayLike, int], Array],
) -> tuple[Array, Array]:
    """Friction and restitution of contacts as `_coefficients` or `_per_contact` reads them; TypeError or
    ValueError."""
    mu = read("friction", friction, count)
    if mu.min(initial=0.0) < 0.0:
        raise ValueError(f"friction must be at least 0 at every contact, got {mu.min():g}")
    e = read("restitution", restitution, count)
    if e.min(initial=0.0) < 0.0 or e.max(initial=0.0) > 1.0:
        worst = e.min() if e.min() < 0.0 else e.max()
        raise ValueError(f"restitution must lie within [0, 1] at every contact, got {worst:g}")
    return mu, e


def _coefficients(name: str, value: ArrayLike, count: int) -> Array:
    """(nc,) numbers, or (nc, 2) intervals that are more than a number somewhere."""
    array = _real_array(name, value)
    if array.ndim < 2:
        return _per_contact(name, array, count)
    if array.shape not in ((count, 2), (1, 2)):
        raise ValueError(
            f"{name} must be a number, have shape ({count},), or hold intervals (least, largest) of shape "
            f"({count}, 2) or (1, 2), got shape {array.shape}"
        )
    if (array[:, 0] > array[:, 1]).any():
        worst = array[int(np.argmax(array[:, 0] > array[:, 1]))]
        raise ValueError(f"{name} must hold intervals (least, largest), got {worst.tolist()}")
    array = np.repeat(array, count, axis=0) if len(array) < count else array
    return array if (array[:, 0] < array[:, 1]).any() else array[:, 0].copy()


def _symmetric(matrix: Array, accepted: float, name: str = "W") -> tuple[Array, float]:
    """The symmetric part, and how unsymmetric the matrix was, relative to its largest entry."""
    with np.errstate(over="ignore"):  # what is beyond the range of numbers is not symmetric either
        difference = float(np.abs(matrix - matrix.T).max(initial=0.0))
    if difference == 0.0:
        return matrix, 0.0
    asymmetry = difference / float(np.abs(matrix).max())
    if asymmetry > accepted:
        hint = (
            ""
            if accepted == SYMMETRY_REPAIRED or name != "W"
            else ("; ImpactProblem.symmetrised accepts up to 0.01")
        )
        raise ValueError(
            f"{name} must be symmetric within {accepted:g} of its largest entry, got {asymmetry:.3g}{hint}"
        )
    return 0.5 * matrix + 0.5 * matrix.T, asymmetry


def _refuse_indefinite(name: str, matrix: Array) -> None:
    """Refuse an eigenvalue below -1e-6 of the largest; a Cholesky factor of a shifted copy settles most
    quickly."""
    largest = float(matrix.diagonal().max())
    if largest > 0.0:
        shifted = matrix.copy()
        with np.errstate(over="ignore"):
            shifted.flat[:: matrix.shape[0] + 1] += NEGATIVE_EIGENVALUE * largest
        try:
            np.linalg.cholesky(shifted)
        except np.linalg.LinAlgError:
            pass
        else:
            return
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] < -NEGATIVE_EIGENVALUE * max(eigenvalues[-1], 0.0):
        raise ValueError(
            f"{name} must be positive semi-definite (smallest eigenvalue at least -1e-6 of the largest), "
            f"got eigenvalues from {eigenvalues[0]:.3g} to {eigenvalues[-1]:.3g}"
        )


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
