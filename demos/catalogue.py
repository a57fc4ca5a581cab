"""Which demos there are: nothing is imported to say so."""

from typing import NamedTuple


class Entry(NamedTuple):
    """Where a demo is, and what it shows: one line, with the source where there is one."""

    module: str
    kind: str
    summary: str


THEMES: dict[str, dict[str, Entry]] = {
    "Bounces and rest": {
        "bouncing-ball": Entry("bouncing_ball", "BouncingBall", "a ball rests after infinitely many bounces"),
        "zeno-block": Entry(
            "zeno_block", "ZenoBlock", "infinitely many impacts (Halm & Posa, figures 7 and 8)"
        ),
        "rocking-block": Entry(
            "rocking_block", "RockingBlock", "impacts keep 0.7 of a block's rate (Halm & Posa, 4.3)"
        ),
        "sliding-block": Entry(
            "sliding_block", "SlidingBlock", "a block slides until friction has stopped it"
        ),
        "over-the-edge": Entry(
            "over_the_edge", "OverTheEdge", "a box slides over the edge of a table and tips"
        ),
        "rolling-ball": Entry(
            "rolling_ball", "RollingBall", "a ball slips, then rolls with 5/7 of its speed"
        ),
        "rolling-coin": Entry(
            "rolling_coin", "RollingCoin", "coins roll on their rims at the rate of steady precession"
        ),
    },
    "Several impacts at once": {
        "newtons-cradle": Entry(
            "newtons_cradle", "NewtonsCradle", "of four balls only the last leaves (Seghete & Murphey)"
        ),
        "cradles": Entry("cradles", "Cradles", "four lines of balls pass an impact on (Seghete & Murphey)"),
        "cradle-on-strings": Entry(
            "cradle_on_strings", "CradleOnStrings", "the last ball swings out as high as the first swung in"
        ),
        "billiard-break": Entry(
            "billiard_break", "BilliardBreak", "one cue ball, two balls, two outcomes (Seghete & Murphey)"
        ),
        "rack-break": Entry("rack_break", "RackBreak", "fifteen balls struck at 31 contacts at once"),
        "bowling": Entry("bowling", "Bowling", "a spinning ball strikes a pin (after Jia & Wang)"),
        "pin-and-ball": Entry(
            "pin_and_ball", "PinAndBall", "a ball strikes a bowling pin once (Jia & Wang, figure 11)"
        ),
        "icosahedron": Entry(
            "icosahedron", "Icosahedron", "eight impacts on a tetrahedron (Jia & Wang, 4, 7, 10)"
        ),
    },
    "Every outcome of an undecided impact": {
        "landing": Entry("landing", "Landing", "one landing, twenty outcomes over each other"),
        "block-outcomes": Entry(
            "impact_outcomes", "BlockOutcomes", "every outcome of a flat landing (Halm & Posa, 5.4.1)"
        ),
        "compass-gait-outcomes": Entry(
            "impact_outcomes", "CompassGaitOutcomes", "every outcome of a wide step (Halm & Posa, 5.4.2)"
        ),
        "box-and-wall-outcomes": Entry(
            "impact_outcomes", "BoxAndWallOutcomes", "every outcome of a box at a wall (Halm & Posa, 5.4.3)"
        ),
        "ramone-outcomes": Entry(
            "impact_outcomes", "RamoneOutcomes", "every outcome of a robot's step (Halm & Posa, 5.4.4)"
        ),
        "disk-stack-outcomes": Entry(
            "impact_outcomes", "DiskStackOutcomes", "outcomes of a stack of disks (Halm & Posa, 5.4.5)"
        ),
        "compliant-block": Entry(
            "compliant_block", "CompliantBlock", "springs spread over the set (Halm & Posa, figure 12)"
        ),
        "six-mass-body": Entry(
            "six_mass_body", "SixMassBody", "a contact with three solutions (Preclik et al., 4.1)"
        ),
        "trex": Entry("trex", "Trex", "a robot's unique landing (Seghete & Murphey, figure 8)"),
    },
    "Mechanisms": {
        "double-pendulum": Entry(
            "double_pendulum", "DoublePendulum", "energy without drift (Seghete & Murphey, section VI)"
        ),
        "pendulum-and-wall": Entry(
            "pendulum_and_wall", "PendulumAndWall", "a double pendulum swings into a wall again and again"
        ),
        "hanging-ring": Entry(
            "hanging_ring", "HangingRing", "a ring of triangles is caught on a peg through its hole"
        ),
        "compass-gait": Entry(
            "compass_gait", "CompassGait", "two legs walk down a slope of 3 degrees (Goswami et al.)"
        ),
        "variational-joints": Entry(
            "variational_joints", "VariationalJoints", "linkages by two integrators (Seghete & Murphey, VI)"
        ),
    },
    "Spin": {
        "rattleback": Entry(
            "spun_ellipsoid", "Rattleback", "spun the wrong way it turns back (Kane & Levinson)"
        ),
        "spinning-egg": Entry(
            "spun_ellipsoid", "SpinningEgg", "it stands up, with jumps (Moffatt & Shimomura)"
        ),
    },
    "Friction without a collision": {
        "painleve-rod": Entry(
            "painleve_rod", "PainleveRod", "an impulse without a collision (Preclik et al., 4.2)"
        ),
        "painleve-map": Entry(
            "painleve_map", "PainleveMap", "a rod slides on, or an impact without collision stops it"
        ),
    },
    "Heaps and rows": {
        "domino-run": Entry("domino_run", "DominoRun", "dominoes fall in order and come to a steady speed"),
        "free-dominoes": Entry(
            "free_dominoes", "FreeDominoes", "free dominoes fall, slip, stick and rest on each other"
        ),
        "stack-and-tower": Entry(
            "stack_and_tower", "StackAndTower", "ten boxes and a tower of planks stand for 100 s"
        ),
        "pile": Entry("pile", "Pile", "300 stones settle by time steps, maximum dissipation"),
        "channel": Entry("channel", "Channel", "spheres pushed around an obstacle (Preclik, Eibl & Rüde)"),
    },
    "Many runs": {
        "break-odds": Entry("break_odds", "BreakOdds", "a thousand breaks: chance grows from ball to ball"),
        "rockfall": Entry("rockfall", "Rockfall", "a thousand blocks on a slope: a hazard map"),
    },
    "Papers in numbers and pictures": {
        "jia-wang-table": Entry(
            "jia_wang_table", "JiaWangTable", "every number that Jia & Wang print, beside carom's"
        ),
        "hodograph": Entry("hodograph", "Hodograph", "pictures of slip and impulse (Jia & Wang, 4 to 10)"),
    },
}
"""By theme, those by name. A new demo is one line here."""

DEMOS = {name: entry for entries in THEMES.values() for name, entry in entries.items()}
