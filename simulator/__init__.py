"""What happens in time: state, motion, collision detection, events, contact forces, the loop, trajectory."""

from ..bodies.meant import says_how_to_change, says_what_was_meant, says_which_name
from .branches import BranchedRun, BranchNode
from .collision.overlaps import Displacement
from .collision.queries import Distance, TimeOfImpact, contact_manifold, signed_distance, time_of_impact
from .contact_forces import ContactForces, JointForces
from .contact_problem import contact_problem
from .ensembles.ensemble import Ensemble, ensemble
from .ensembles.errors import EnsembleInterrupted, EnsembleStopped
from .ensembles.members import design, grid
from .ensembles.perturbation import Perturbation, perturbed
from .ensembles.scene_run import SceneRun
from .ensembles.statistics import Statistics, end_density, sobol_design
from .event import ContactPatch, Event, EventKind
from .integrator import Integrator
from .make_unique import UniqueDesign, make_unique
from .measured.comparison import Comparison, compare
from .measured.contact_model import ContactModel
from .measured.identification import Identification, UndeterminedError, identify
from .measured.impact_set import BodyParameters, ImpactSet
from .measured.impacts import MeasuredImpact
from .measured.measured import Measured
from .measured.rollouts import identify_on_rollouts
from .measured.shown import ShownMotion
from .record.body_run import BodyRun
from .record.impact_records import ImpactRecords
from .record.ledger import EnergyLedger
from .record.trajectory import RunStatus, Trajectory
from .replay import ReplayError
from .simulator import Simulator
from .state import BodyState, State
from .stepping.errors import StepTooLongError
from .stepping.flows import Inflow, Outflow
from .stepping.step_recording import StepRecording
from .stepping.steps import Steps
from .stepping.time_steps import TimeSteps
from .stepping.walls import WallMotion
from .variational import (
    LagrangianSystem,
    VariationalEvent,
    VariationalIntegrator,
    VariationalState,
    VariationalStepError,
    VariationalTrajectory,
)
from .verification import Verification, verify

says_what_was_meant(Simulator)
says_which_name(Simulator, {"simulate": "run", "run_until": "run", "set_state": "state"})
for _kind in (State, BodyState):
    says_how_to_change(
        _kind,
        "write into the arrays of a copy, state = simulator.state.copy(), and set simulator.state = state",
    )

__all__ = [
    "BodyParameters",
    "BodyRun",
    "BodyState",
    "BranchNode",
    "BranchedRun",
    "Comparison",
    "ContactForces",
    "ContactModel",
    "ContactPatch",
    "Displacement",
    "Distance",
    "EnergyLedger",
    "Ensemble",
    "EnsembleInterrupted",
    "EnsembleStopped",
    "Event",
    "EventKind",
    "Identification",
    "ImpactRecords",
    "ImpactSet",
    "Inflow",
    "Integrator",
    "JointForces",
    "LagrangianSystem",
    "Measured",
    "MeasuredImpact",
    "Outflow",
    "Perturbation",
    "ReplayError",
    "RunStatus",
    "SceneRun",
    "ShownMotion",
    "Simulator",
    "State",
    "Statistics",
    "StepRecording",
    "StepTooLongError",
    "Steps",
    "TimeOfImpact",
    "TimeSteps",
    "Trajectory",
    "UndeterminedError",
    "UniqueDesign",
    "VariationalEvent",
    "VariationalIntegrator",
    "VariationalState",
    "VariationalStepError",
    "VariationalTrajectory",
    "Verification",
    "WallMotion",
    "compare",
    "contact_manifold",
    "contact_problem",
    "design",
    "end_density",
    "ensemble",
    "grid",
    "identify",
    "identify_on_rollouts",
    "make_unique",
    "perturbed",
    "signed_distance",
    "sobol_design",
    "time_of_impact",
    "verify",
]
