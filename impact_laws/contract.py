"""The contract of impact laws in words: which promise an answer breaks, for whoever asks a law of somebody
else's."""

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .impact_problem import ImpactProblem
from .outcome import ImpactOutcome, ImpactPath, ImpactStatus
from .tolerances import CHECKED_APPROACH, CHECKED_CONE, CHECKED_ENERGY

Array = NDArray[np.float64]
Fault = tuple[str, str]
"""A promise, and how it is broken."""


def fault_of_attributes(law: Any) -> str | None:
    """What a law says wrongly of itself, or not at all."""
    for field, expected in (("name", str), ("honours_friction", bool), ("honours_restitution", bool)):
        value = getattr(law, field, None)
        if not isinstance(value, expected):
            return f"{field} must be of type {expected.__name__}, got {value!r}"
    return None


def raised(error: Exception, method: str = "resolve") -> str:
    """What a law raised in a method, and where."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{method} raised {type(error).__name__}: {error} ({Path(frame.filename).name}, line {frame.lineno})"
    )


def fault_of_answer(problem: ImpactProblem, answer: Any) -> str | None:
    """Why what a law returned is no answer to a problem."""
    if not isinstance(answer, ImpactOutcome):
        return f"resolve returned {type(answer).__name__}, not an ImpactOutcome"
    if not isinstance(answer.status, ImpactStatus):
        return f"status must be an ImpactStatus, got {answer.status!r}"
    path, size = answer.path, problem.u.size
    if not isinstance(path, ImpactPath):
        return f"path must be an ImpactPath, got {type(path).__name__}"
    for name, values, shape in (
        ("impulse", answer.impulse, (size,)),
        ("velocity", answer.velocity, (size,)),
        ("path.impulse", path.impulse, (len(path.labels), size)),
    ):
        found = np.asarray(values)
        if found.dtype.kind not in "fiu":
            return f"{name} must hold real numbers, got {found.dtype}"
        if found.shape != shape:
            return f"{name} must have shape {shape}, got {found.shape}"
        if not np.isfinite(found).all():
            return f"{name} is not finite"
    return None


def faults_of_impulse(law: Any, problem: ImpactProblem, impulse: Array, velocity: Array) -> Iterator[Fault]:
    """The promises that a resolved outcome breaks; cones are those of the law's own friction if it has one."""
    friction = problem.friction
    with_own = getattr(law, "with_own_coefficients", None)
    if with_own is not None:
        try:
            own = with_own(problem)
        except Exception as error:  # as for resolve: whatever it raises is what is to be told
            yield "answer", raised(error, "with_own_coefficients")
            return
        if not isinstance(own, ImpactProblem) or len(own.friction) != len(friction):
            yield "answer", "with_own_coefficients returned no ImpactProblem with as many contacts"
            return
        friction = own.friction
    W, u, dim = problem.W, problem.u, problem.dim
    balanced = u + W @ impulse
    terms = np.abs(u) + np.abs(W) @ np.abs(impulse)
    off = float(np.abs(velocity - balanced).max())
    if off > 1e-13 * len(u) * float(terms.max()):
        yield "momentum", f"velocity is off u + W impulse by {off:.3g} m/s"
    contacts = impulse.reshape(-1, dim)
    size = float(np.abs(impulse).max(initial=0.0))
    if not getattr(law, "honours_friction", True):
        friction = np.zeros(len(contacts))
    pull = float(contacts[:, 0].min())
    if pull < 0.0:
        yield "cones", f"a contact pulls with {-pull:.3g} N s"
    excess = float((np.linalg.norm(contacts[:, 1:], axis=1) - friction * contacts[:, 0]).max())
    if excess > CHECKED_CONE * size:
        yield "cones", f"friction exceeds its cone by {excess:.3g} N s"
    scale = float(np.abs(problem.approach_measure()).max())
    approach = -float(problem.approach_measure(balanced).min())
    if approach > max(CHECKED_APPROACH * scale, -problem.approach_threshold):
        yield "approach", f"a contact still approaches at {approach:.3g} m/s kg^1/2, of {scale:.3g} before"
    gain = float(impulse @ u + 0.5 * impulse @ W @ impulse)
    work = float(np.abs(impulse) @ np.abs(u) + 0.5 * np.abs(impulse) @ np.abs(W) @ np.abs(impulse))
    if gain > CHECKED_ENERGY * work:
        yield "energy", f"kinetic energy grows by {gain:.3g} J"
    if problem.approach_measure().min() > -problem.approach_threshold and impulse.any():
        yield "at rest", "separating contacts are given an impulse"
