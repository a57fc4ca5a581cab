"""The contacts of an event as they are drawn: impulses in the world, modes, friction work."""

from dataclasses import dataclass
from typing import Any

import numpy as np

STILL = 1e-6  # of the fastest contact: a contact velocity below this share counts as none
SEPARATING, SLIDING, STICKING = "separating", "sliding", "sticking"


@dataclass(frozen=True)
class ContactView:
    """The contacts of one event.

    bodies : (nc, 2), the normal points from the second to the first
    point, normal : (nc, 3) [m], world
    impulse : (nc, 3) [N s], on the first body, world
    friction : (nc,), coefficients
    modes : of each contact, what it does
    friction_work : (nc,) [J], done by friction so far, never above rounding
    """

    bodies: np.ndarray
    point: np.ndarray
    normal: np.ndarray
    impulse: np.ndarray
    friction: np.ndarray
    modes: tuple[str, ...]
    friction_work: np.ndarray

    def __len__(self) -> int:
        return len(self.point)

    @classmethod
    def of_event(cls, event: Any, row: float | None = None) -> "ContactView | None":
        """The contacts of an event at a row of its impulse path, by default its end; None without contacts.

        Between two rows impulse and velocity are those on the way from one to the other.
        """
        contacts = event.contacts
        if contacts is None or len(contacts.point) == 0:
            return None
        count = len(contacts.point)
        if event.outcome is None:
            nothing = np.zeros((count, 3))
            mode = {"slip": SLIDING, "stick": STICKING, "lift_off": SEPARATING}.get(str(event.kind), STICKING)
            modes, friction, work = (mode,) * count, np.zeros(count), np.zeros(count)
            return cls(
                np.asarray(contacts.bodies), contacts.point, contacts.normal, nothing, friction, modes, work
            )
        impulse, velocity, work = _on_path(event.outcome.path, row, count)
        return cls(
            np.asarray(contacts.bodies),
            np.asarray(contacts.point, dtype=float),
            np.asarray(contacts.normal, dtype=float),
            to_world(contacts, impulse),
            np.asarray(event.problem.friction, dtype=float),
            contact_modes(velocity, float(np.abs(event.outcome.path.velocity).max())),
            work,
        )


def to_world(contacts: Any, values: np.ndarray) -> np.ndarray:
    """Turn (..., nc, dim) components along normal and tangents into (..., nc, 3) vectors in the world."""
    result = values[..., 0:1] * np.asarray(contacts.normal, dtype=float)
    for column, axis in zip(range(1, values.shape[-1]), (contacts.tangent, contacts.tangent2), strict=False):
        result = result + values[..., column : column + 1] * np.asarray(axis, dtype=float)
    return result


def contact_modes(velocity: np.ndarray, fastest: float) -> tuple[str, ...]:
    """Modes of contacts with velocities (nc, dim) [m/s], small against the `fastest` [m/s] or not."""
    least = STILL * max(fastest, 1e-300)
    along = np.linalg.norm(velocity[:, 1:], axis=1)
    return tuple(
        SEPARATING if normal > least else SLIDING if slip > least else STICKING
        for normal, slip in zip(velocity[:, 0], along, strict=True)
    )


def _on_path(path: Any, row: float | None, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Impulse and velocity (nc, dim), and friction work (nc,), at a row of a path or between two."""
    impulse = np.asarray(path.impulse, dtype=float).reshape(len(path.impulse), count, -1)
    velocity = np.asarray(path.velocity, dtype=float).reshape(impulse.shape)
    last = len(impulse) - 1
    row = float(last) if row is None else min(max(row, 0.0), float(last))
    low = min(int(row), max(last - 1, 0))
    high, part = min(low + 1, last), row - low
    impulse_now = (1 - part) * impulse[low] + part * impulse[high]
    velocity_now = (1 - part) * velocity[low] + part * velocity[high]
    impulses = np.concatenate([impulse[: low + 1], impulse_now[None]])
    velocities = np.concatenate([velocity[: low + 1], velocity_now[None]])
    mean = (velocities[1:] + velocities[:-1]) / 2
    work = np.einsum("kcd,kcd->c", mean[..., 1:], np.diff(impulses, axis=0)[..., 1:])
    return impulse_now, velocity_now, work
