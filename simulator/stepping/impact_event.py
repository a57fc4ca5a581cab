"""The event of an impact within a time step, in which a body meets an island that makes steps."""

import json

import numpy as np
from numpy.typing import NDArray

from ...impact_laws import ImpactStatus
from ..engine.log_kernels import IMPACT, IN_IMPACT
from ..record.trajectory import Trajectory
from ..world import World
from .convex_steps import ConvexSteps, Strike


def note_impact(
    trajectory: Trajectory, world: World, steps: ConvexSteps, made: Strike, struck: NDArray[np.int64]
) -> None:
    """Record an impact that happens now as an event, with those of its contacts that were `struck` (k,)."""
    log, network, header = trajectory.log, made.network, world.header
    assert network is not None
    rows = np.zeros(len(struck), dtype=log.event_contacts.dtype)
    keys, places = made.keys[struck], made.places[struck]
    rows["first"], rows["second"] = steps.contacts.bodies_of(keys).T
    rows["feature"], rows["index"] = keys[:, 2:4], keys[:, 4:6]
    rows["index"][keys[:, 1] < 0, 1] = 0  # the one face of a half-space
    rows["point"], rows["gap"] = places[:, :3], places[:, 6] + steps.contacts.skins(keys)
    rows["normal"], rows["tangent"] = (network.jacobian[struck, 0, k, :3] for k in (0, 1))
    rows["velocity"] = network.contact_velocity()[struck]
    rows["after"] = network.contact_velocity(made.velocity)[struck]
    rows["impulse"] = made.impulse[struck]
    rows["friction"], rows["restitution"] = network.friction[struck], network.restitution[struck]
    words = {
        "status": ImpactStatus.RESOLVED.value,
        "message": "",
        "labels": ["impact within a time step"],
        "info": {"residual": float(made.row["residual"]), "sweeps": int(made.row["sweeps"])},
    }
    text = np.frombuffer(json.dumps(words).encode(), dtype="u1")
    event = np.zeros(1, dtype=log.events.dtype)
    event["time"], event["kind"], event["note"] = header["time"], IMPACT, IN_IMPACT
    event["pieces"], event["contacts"], event["energy_change"] = header["begun"], len(rows), made.gained
    event["stages"], event["width"], event["text"] = 1, 3 * len(rows), len(text)
    log.add("events", event)
    log.add("event_contacts", rows)
    log.add("stage_log", rows["impulse"].ravel())
    log.add("texts", text)
    header["happened"] += 1
