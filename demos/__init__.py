"""Built-in scenes: one file each, which names its source and checks its own ending."""

from importlib import import_module

from .demo import Check, ComputedDemo, Demo, RecordingDemo, Table, WritingDemo
from .drop import DroppedMesh, drop_scene, load_dropped_mesh, shipped_mesh

# Name on the command line -> module and class. A new demo is one line here.
_DEMOS = {
    "billiard-break": ("billiard_break", "BilliardBreak"),
    "block-outcomes": ("impact_outcomes", "BlockOutcomes"),
    "bouncing-ball": ("bouncing_ball", "BouncingBall"),
    "bowling": ("bowling", "Bowling"),
    "box-and-wall-outcomes": ("impact_outcomes", "BoxAndWallOutcomes"),
    "compass-gait": ("compass_gait", "CompassGait"),
    "compass-gait-outcomes": ("impact_outcomes", "CompassGaitOutcomes"),
    "compliant-block": ("compliant_block", "CompliantBlock"),
    "break-odds": ("break_odds", "BreakOdds"),
    "cradle-on-strings": ("cradle_on_strings", "CradleOnStrings"),
    "cradles": ("cradles", "Cradles"),
    "disk-stack-outcomes": ("impact_outcomes", "DiskStackOutcomes"),
    "domino-run": ("domino_run", "DominoRun"),
    "double-pendulum": ("double_pendulum", "DoublePendulum"),
    "free-dominoes": ("free_dominoes", "FreeDominoes"),
    "hanging-ring": ("hanging_ring", "HangingRing"),
    "hodograph": ("hodograph", "Hodograph"),
    "icosahedron": ("icosahedron", "Icosahedron"),
    "jia-wang-table": ("jia_wang_table", "JiaWangTable"),
    "newtons-cradle": ("newtons_cradle", "NewtonsCradle"),
    "over-the-edge": ("over_the_edge", "OverTheEdge"),
    "painleve-map": ("painleve_map", "PainleveMap"),
    "painleve-rod": ("painleve_rod", "PainleveRod"),
    "pendulum-and-wall": ("pendulum_and_wall", "PendulumAndWall"),
    "pile": ("pile", "Pile"),
    "pin-and-ball": ("pin_and_ball", "PinAndBall"),
    "rack-break": ("rack_break", "RackBreak"),
    "ramone-outcomes": ("impact_outcomes", "RamoneOutcomes"),
    "rattleback": ("spun_ellipsoid", "Rattleback"),
    "rocking-block": ("rocking_block", "RockingBlock"),
    "rockfall": ("rockfall", "Rockfall"),
    "rolling-ball": ("rolling_ball", "RollingBall"),
    "rolling-coin": ("rolling_coin", "RollingCoin"),
    "six-mass-body": ("six_mass_body", "SixMassBody"),
    "sliding-block": ("sliding_block", "SlidingBlock"),
    "spinning-egg": ("spun_ellipsoid", "SpinningEgg"),
    "stack-and-tower": ("stack_and_tower", "StackAndTower"),
    "trex": ("trex", "Trex"),
    "variational-joints": ("variational_joints", "VariationalJoints"),
    "zeno-block": ("zeno_block", "ZenoBlock"),
}

__all__ = [
    "Check",
    "ComputedDemo",
    "Demo",
    "DroppedMesh",
    "RecordingDemo",
    "Table",
    "WritingDemo",
    "demo_by_name",
    "demo_names",
    "drop_scene",
    "load_dropped_mesh",
    "shipped_mesh",
]


def demo_names() -> tuple[str, ...]:
    """Names of all demos, sorted."""
    return tuple(sorted(_DEMOS))


def demo_by_name(name: str) -> Demo | ComputedDemo:
    """The demo of that name; ValueError listing the names when there is none."""
    if name not in _DEMOS:
        raise ValueError(f"demo must be one of {', '.join(demo_names())}, got {name!r}")
    module, demo = _DEMOS[name]
    return getattr(import_module(f".{module}", __package__), demo)()
