"""What happens in time: state, motion, collision detection, events, contact forces, the loop, trajectory."""

from .event import ContactPatch, Event, EventKind
from .make_unique import UniqueDesign, contact_problem, make_unique
from .simulator import Simulator
from .sphere_gas import GasStatus, SphereGas
from .state import State
from .trajectory import RunStatus, Trajectory
from .variational import (
    LagrangianSystem,
    VariationalEvent,
    VariationalIntegrator,
    VariationalState,
    VariationalStepError,
    VariationalTrajectory,
)

__all__ = [
    "ContactPatch",
    "Event",
    "EventKind",
    "GasStatus",
    "LagrangianSystem",
    "RunStatus",
    "Simulator",
    "SphereGas",
    "State",
    "Trajectory",
    "UniqueDesign",
    "VariationalEvent",
    "VariationalIntegrator",
    "VariationalState",
    "VariationalStepError",
    "VariationalTrajectory",
    "contact_problem",
    "make_unique",
]
