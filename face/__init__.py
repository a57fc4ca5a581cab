"""carom: event-driven simulation of rigid bodies that hit each other several times at once.

Every public name is importable from here. Names are loaded on first use, so that ``import carom``
costs nothing and pyglet is touched only when a window or a picture is made.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ROOM_OF_NAME = {
    **dict.fromkeys(
        (
            "ALL_GROUPS",
            "Body",
            "Box",
            "Capsule",
            "ConvexMesh",
            "Cylinder",
            "Decomposition",
            "DistanceJoint",
            "Drag",
            "Drive",
            "Ellipsoid",
            "FileFormatError",
            "FixedJoint",
            "HalfSpace",
            "Joint",
            "MassProperties",
            "Material",
            "Mesh",
            "PlanarJoint",
            "PrismaticJoint",
            "RevoluteJoint",
            "Scene",
            "SpeedRestitution",
            "Sphere",
            "Spheres",
            "SphericalJoint",
            "Spring",
            "UniversalJoint",
            "axis_angle",
            "euler_angles",
        ),
        "bodies",
    ),
    **dict.fromkeys(
        (
            "AnitescuPotra",
            "CompliantContact",
            "ImpactLaw",
            "ImpactOutcome",
            "ImpactPath",
            "ImpactProblem",
            "ImpactStatus",
            "LiuZhaoBrogliato",
            "MaximumDissipation",
            "OutcomeSet",
            "SequentialLCP",
            "SequentialReflection",
            "SetValuedRouth",
            "StrongeCoulomb",
            "LawReport",
            "check_law",
            "coulomb_solutions",
            "dense_sampling_count",
            "indeterminacy",
            "outcome_bounds",
            "post_impact_set",
            "uniqueness",
        ),
        "impact_laws",
    ),
    **dict.fromkeys(
        (
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
        ),
        "simulator",
    ),
    **dict.fromkeys(("DisplayError", "VideoError", "player_html", "render", "view"), "viewer"),
}
_OTHER_NAMES = {
    "HingeJoint": "RevoluteJoint",
    "SliderJoint": "PrismaticJoint",
    "BallJoint": "SphericalJoint",
    "RopeJoint": "DistanceJoint",
    "WeldJoint": "FixedJoint",
    "Plane": "HalfSpace",
    "World": "Scene",
}
"""Of other programs, and what they are here."""
_ROOMS = ("bodies", "demos", "impact_laws", "simulator", "viewer")

__all__ = sorted(_ROOM_OF_NAME) + ["__version__"]  # noqa: RUF005


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF_NAME:
        value = getattr(import_module(f".{_ROOM_OF_NAME[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    did_you_mean = import_module(".bodies.meant", __name__).did_you_mean
    hint = did_you_mean(_OTHER_NAMES.get(name, name), __dir__())
    raise AttributeError(f"carom has no public name {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
