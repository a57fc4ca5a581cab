"""What happens in time: state, motion, collision detection, events, contact forces, the loop, trajectory."""

from .event import ContactPatch, Event, EventKind
from .simulator import Simulator
from .state import State
from .trajectory import RunStatus, Trajectory

__all__ = ["ContactPatch", "Event", "EventKind", "RunStatus", "Simulator", "State", "Trajectory"]
