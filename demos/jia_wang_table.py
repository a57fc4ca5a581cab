"""Every number that Jia & Wang print about their examples, beside carom's."""

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..bodies import ConvexMesh
from ..impact_laws import (
    ImpactOutcome,
    ImpactProblem,
    invariant_directions,
    paper_sequence,
    slip_curve,
    solution_condition,
    sticking_friction,
)
from .bowling import inverse_inertia
from .demo import Check, Table
from .hodograph import Hodograph
from .icosahedron import EXACT_SEQUENCES
from .jia_wang import (
    ICOSAHEDRON_W,
    PIN_W,
    PRINTED_IMPULSE,
    PRINTED_PIN_IMPULSE,
    PaperImpact,
    icosahedron_impact,
    icosahedron_impacts,
    pin_impact,
    xyz,
)

EDGE = 0.1  # m, of the icosahedron's pentagons and hexagons
TETRAHEDRON = (
    (0.0, 0.0, 0.0),
    (0.0, 0.0, -0.75),
    (0.5, 0.0, -0.5),
    (0.0, 0.5, -0.5),
)  # m, with c at the origin
MASSES = 3.0, 1.0  # kg, icosahedron and tetrahedron
CENTRES = (0.0, 0.0, 0.232744), (0.125, 0.125, -0.4375)  # m
PIN_MASSES = 1.63293, 6.35029  # kg, pin and ball
PIN_CENTRES = (0.068436, -0.00000242, 0.073735), (-0.000061, -0.000890, -0.108458)  # m
PIN_MOMENTS = 0.0021186, 0.012092, 0.014029  # kg m²
BALL_MOMENTS = 0.0295723, 0.029669, 0.030068  # kg m²
PIN_TILT = math.atan(3.15435)  # rad, about the y axis
VELOCITIES = (-0.1, 0.5, 0.95), (0.1, 0.1, 1.0)  # m/s, V1⁻ and V2⁻ of (14)
PAPER_TOLERANCE = 0.08  # sine of the angle between slip and its rate at which the paper's event l happens

_HEADER = ("quantity", "paper", "carom", "remark")

_INTRODUCTION = """\
# Jia & Wang beside carom

Every number that the paper "Analysis and Computation of Two Body Impact in Three Dimensions" prints about its
examples, beside carom's. This page is written by `carom demo jia-wang-table --out docs/jia_wang.md`, and a test
compares the two. The pictures are those of `carom demo hodograph`:

![Slip planes and impulse curve](hodograph.png)

W is taken as printed, (13), and made symmetric. The contact velocities before the impact cannot be derived from
the text, because the rotations of the bodies are not printed: they were recovered from the printed results. What
depends on them agrees with the paper by construction within its own error, about 1e-3, and closer agreement means
nothing. Vectors are in the paper's (x, y, z), units are SI.
"""

_MISPRINTS = """\
## Where the paper is inconsistent with itself or misprinted

- The event l (straight sliding) is an artefact of a tolerance. Slip that does not start on an invariant direction
  reaches it at no finite impulse, since its equation is Lipschitz away from zero. Exactly, only the sequences cr,
  scr and csr occur. The paper's eight strings all follow when l means that the sine of the angle between slip and
  its rate is below 0.08, and s that slip is below a twentieth of its speed before the impact. The "true" solution
  of 4(a) ends its stepping after 68212 steps of 1e-6, which is where that sine reaches 0.08: so its csr was
  computed as clsr.
- Figure 7 shows slip that vanishes and resumes. Exactly it passes zero at 0.0044 m/s.
- (18) is assumed throughout, and a footnote says that no instance violated it; figure 4(d) does, and is solvable.
- W in (13) is unsymmetric in its last digit and differs from B in (23) by up to 1e-4.
- The printed principal moments of the tetrahedron have the right sum but are not those of the printed shape, and
  (13) is not the W of the printed shapes. Likewise the W of pin and ball is not that of the printed masses.
- Section 4: the centrifugal direction is told by the sign of the dot product of slip and its rate, not of the
  cross product, which vanishes. In the text on figure 4(b), slip reaches the direction at g_l, not g_r.
- Section 5.2: γ = λ ŝ is γ' = λ ŝ, and |B⁻¹ d| > d is |B⁻¹ d| > μ.
- Section 6: event 0 corresponds to γ⁻ on the hodograph, not to the origin.
- (29), (38), (44): the matrix (x̂, γ̂) is (x̂, ŷ). (37) has a wrong denominator.
- (42): "0, otherwise" must be infinite: slip on a centrifugal ray never stops.
- Section 6.3, case 1: E_s is E_l + Φ₂(I_zs) - Φ₂(I_zl). Algorithm 1, line 21: γ is γ⁻.
- Theorem 8 (iii): the first component is p_x/(λ₂ - λ₁), as symmetry with (49) requires.
- Table 1 and its text: 74 times is 75.5 times, and "five to eight times" is 6.1 to 8.9 times.
"""


class JiaWangTable:
    """Numbers of the paper beside carom's, in four tables."""

    name: ClassVar[str] = "jia-wang-table"
    ending: ClassVar[str] = ".md"

    def __init__(self) -> None:
        self.impacts = [(impact, impact.outcome()) for impact in icosahedron_impacts()]
        pin = pin_impact()
        self.pin = pin, pin.outcome()

    def tables(self) -> list[Table]:
        """Configuration and base case, sequences, pin and ball, and table 1 of the paper."""
        return [table for _, table in self._titled()]

    def check(self) -> list[Check]:
        """What must agree: sequences, and impulses within the paper's own error."""
        base, pin = xyz(self.impacts[0][1].impulse), xyz(self.pin[1].impulse)
        named = sum(
            paper_sequence(impact.problem, outcome) != impact.printed_sequence
            for impact, outcome in self.impacts
        )
        exact = sum(
            outcome.info["sequence"] != sequence
            for (_, outcome), sequence in zip(self.impacts, EXACT_SEQUENCES, strict=True)
        )
        straight = _straight_from(*self.impacts[0])
        return [
            Check("impulse (15), distance [N s]", float(np.linalg.norm(base - PRINTED_IMPULSE)), 1e-3),
            Check(
                "impulse of pin and ball, distance [N s]",
                float(np.linalg.norm(pin - PRINTED_PIN_IMPULSE)),
                1e-6,
            ),
            Check("sequences named otherwise than printed", float(named), 0.0),
            Check("exact sequences other than expected", float(exact), 0.0),
            Check("end of the paper's stepping, distance [N s]", abs(straight - 0.068212), 2e-6),
        ]

    def text(self) -> str:
        """The page docs/jia_wang.md, Markdown."""
        parts = [_INTRODUCTION]
        for title, table in self._titled():
            lines = [f"## {title}\n", _line(table.header), _line(["---"] * len(table.header))]
            parts.append("\n".join([*lines, *(_line(row) for row in table.rows)]) + "\n")
        return "\n".join([*parts, _MISPRINTS])

    def write(self, path: Path) -> None:
        """Write the page."""
        path.write_text(self.text(), encoding="utf-8")

    def _titled(self) -> list[tuple[str, Table]]:
        return [
            ("Icosahedron and tetrahedron: configuration", Table(_HEADER, tuple(self._configuration()))),
            ("Icosahedron and tetrahedron: results", Table(_HEADER, tuple(self._results()))),
            ("Sequences and invariant directions", Table(_HEADER, tuple(self._sequences()))),
            ("Pin and ball", Table(_HEADER, tuple(self._pin_and_ball()))),
            ("Table 1 and its text", Table(_HEADER, tuple(self._table_1()))),
        ]

    def _configuration(self) -> list[tuple[str, str, str, str]]:
        problem = self.impacts[0][0].problem
        icosahedron, tetrahedron = ConvexMesh(truncated_icosahedron()), ConvexMesh(np.array(TETRAHEDRON))
        pentagon = next(list(face) for face in icosahedron.polygons if len(face) == 5)
        height = float(np.linalg.norm(icosahedron.vertices[pentagon].mean(axis=0)))
        moment = MASSES[0] * float(icosahedron.unit_mass_inertia()[0, 0])
        inertia = MASSES[1] * tetrahedron.unit_mass_inertia()
        moments = np.linalg.eigvalsh(inertia)
        from_shapes = inverse_inertia(
            [
                (mass, about, -np.array(centre))
                for mass, about, centre in zip(MASSES, (np.eye(3) * moment, inertia), CENTRES, strict=True)
            ],
            np.eye(3),
        )
        distance = float(np.abs(from_shapes - ICOSAHEDRON_W).max())
        W = problem.W[np.ix_([1, 2, 0], [1, 2, 0])]
        return [
            ("height of o1, fig. 3", "0.232744", f"{height:.6f}", "centre of the polyhedron to its pentagon"),
            ("o2, fig. 3", "0.125, 0.125, -0.4375", _vector(tetrahedron.center_of_mass, 6), ""),
            ("Q1, fig. 3", "0.0671673", f"{moment:.7f}", ""),
            (
                "Q2, fig. 3",
                "0.017239, 0.022813, 0.027135",
                _vector(moments, 6),
                "principal moments of the printed tetrahedron: the sum agrees, the moments do not",
            ),
            ("W_xx, W_yy, W_zz, (13)", "11.5984, 9.90134, 2.59042", _vector(np.diag(W), 5), "taken as input"),
            (
                "W_xy, W_xz, W_yz, (13)",
                "-0.910367, 2.44236 and 2.44235, 1.95747 and 1.95746",
                _vector(np.array([W[0, 1], W[0, 2], W[1, 2]]), 6),
                "printed unsymmetric; symmetrised",
            ),
            (
                "W of the printed shapes",
                "(13)",
                f"differs by {distance:.2f}",
                "largest difference of an entry",
            ),
            ("B_xx, B_xy, B_yy, (23)", "11.5985, -0.910369, 9.90134", "as (13)", "differs from (13)"),
            ("d, (23)", "2.44236, 1.95747", _vector(W[:2, 2], 6), ""),
            ("norm of B⁻¹ d", "0.3157", f"{sticking_friction(problem):.6f}", ""),
        ]

    def _results(self) -> list[tuple[str, str, str, str]]:
        impulse = xyz(self.impacts[0][1].impulse)
        frictionless = icosahedron_impact("", 0.0, (-0.1, 0.5, 0.95), "").outcome()
        lever = np.array(CENTRES[0])
        spin = np.array([0.138764, -0.100369, 0.0755903]) - 0.1
        lever_2 = np.array(CENTRES[1])
        spin_2 = np.array([-0.281687, 0.402075, 0.589565]) - np.array([0.1, -0.1, 0.1])
        momentum = float(np.linalg.norm(np.array([0.017239, 0.022813, 0.027135]) * spin_2))
        first = np.array(VELOCITIES[0]) + impulse / MASSES[0]
        second = np.array(VELOCITIES[1]) - impulse / MASSES[1]
        return [
            (
                "I_r, (15)",
                "-0.00326657, -0.0592263, 0.1007",
                _vector(impulse, 8),
                f"distance {np.linalg.norm(impulse - PRINTED_IMPULSE):.1e}; both on one line of sticking",
            ),
            ("V1⁺", "-0.101089, 0.480258, 0.983567", _vector(first, 6), ""),
            ("V2⁺", "0.103267, 0.159226, 0.8993", _vector(second, 6), ""),
            (
                "change of ω1, length",
                f"{np.linalg.norm(spin):.6f}",
                f"{np.linalg.norm(np.cross(lever, impulse)) / 0.0671673:.6f}",
                "components need R1, which is not printed",
            ),
            (
                "Q2 times the change of ω2, length",
                f"{momentum:.7f}",
                f"{np.linalg.norm(np.cross(lever_2, impulse)):.7f}",
                "components need R2, which is not printed; with the printed Q2",
            ),
            ("I_r without friction, section 2.4", "0, 0, 0.058", _vector(xyz(frictionless.impulse), 7), ""),
        ]

    def _sequences(self) -> list[tuple[str, str, str, str]]:
        rows = []
        for impact, outcome in self.impacts:
            exact = str(outcome.info["sequence"])
            named = paper_sequence(impact.problem, outcome)
            rows.append(
                (
                    f"sequence, figure {impact.figure}, mu = {impact.friction:g}",
                    impact.printed_sequence,
                    exact,
                    f"with the paper's tolerances {named}; I = {_vector(xyz(outcome.impulse), 7)}",
                )
            )
        printed = {"4(b)": "2 centripetal", "4(c)": "1 centripetal, 1 centrifugal", "4(d)": "4 centripetal"}
        for impact, _ in self.impacts:
            if impact.figure in printed:
                found = _directions(impact.problem)
                rows.append((f"invariant directions, figure {impact.figure}", printed[impact.figure], *found))
        pictures = Hodograph()
        for title, impacts, paper in (
            ("figure 6", pictures.sticking, "2 centripetal"),
            ("figure 8", pictures.sliding, "1 centripetal, 1 centrifugal"),
        ):
            rows.append((f"invariant directions, {title}", paper, *_directions(impacts[0][0].problem)))
        for row, remark in zip(
            pictures.tables()[0].rows,
            (
                "directions are not printed; here the invariant ones and an even share of each sector",
                "γ2, which starts centripetal, and γ3; exactly, only slip that starts centripetal",
            ),
            strict=True,
        ):
            rows.append((f"curves that reach zero slip, {row[0]}", f"{row[3]} of {row[1]}", row[2], remark))
        worst = self.impacts[3][0].problem
        rows.append(
            (
                "(18), figure 4(d)",
                "positive in every instance",
                f"{solution_condition(worst).value:.3f}",
                "the only variant that violates it; solvable all the same",
            )
        )
        return rows

    def _pin_and_ball(self) -> list[tuple[str, str, str, str]]:
        impact, outcome = self.pin
        W = impact.problem.W[np.ix_([1, 2, 0], [1, 2, 0])]
        distance = min(
            float(np.abs(_pin_inverse_inertia(moments, sense) - PIN_W).max())
            for moments in itertools.permutations(PIN_MOMENTS)
            for sense in (1.0, -1.0)
        )
        return [
            ("W_xx, W_yy, W_zz", "1.55465, 5.15191, 1.105", _vector(np.diag(W), 5), "taken as input"),
            (
                "W_xy, W_xz, W_yz",
                "0.00238675 and 0.00238676, -0.360808, -0.00313296",
                _vector(np.array([W[0, 1], W[0, 2], W[1, 2]]), 8),
                "printed unsymmetric; symmetrised",
            ),
            (
                "W of the printed masses and moments",
                "as above",
                f"differs by {distance:.3f}",
                "closest over orders of Q1 and senses of the tilt; the ball's axes taken as the world's",
            ),
            (
                "I_r, section 6.4",
                "0.7330654, -0.0216048, 2.585018",
                _vector(xyz(outcome.impulse), 7),
                f"v⁻ was fitted to it; sequence {outcome.info['sequence']}, sticks",
            ),
        ]

    def _table_1(self) -> list[tuple[str, str, str, str]]:
        base, outcome = self.impacts[0]
        pin, pin_outcome = self.pin
        end, pin_end = float(outcome.impulse[0]), float(pin_outcome.impulse[0])
        curve = slip_curve(pin.problem, pin_outcome)
        distance = float(np.linalg.norm(xyz(outcome.impulse) - PRINTED_IMPULSE))
        return [
            (
                "icosahedron: Truth, 68212 steps of 1e-6",
                "stepping ends at 0.068212",
                f"{_straight_from(base, outcome):.6f}",
                "where the sine of the angle between slip and its rate falls to 0.08",
            ),
            (
                "icosahedron: NI, 107 steps of 0.00095",
                "0.10165",
                f"{end:.7f}",
                "I_z at the end of the impact",
            ),
            (
                "icosahedron: FS, 69 steps of 0.001",
                "0.069",
                f"{_straight_from(base, outcome):.6f}",
                "as for Truth, one step late",
            ),
            (
                "pin and ball: Truth, 165073 steps of 1e-6",
                "stepping ends at 0.165073",
                f"{_straight_from(pin, pin_outcome):.6f}",
                f"the sine is {_sine(pin.problem, curve.at(0.165073)[0]):.3f} at 0.165073; v⁻ was fitted",
            ),
            (
                "pin and ball: NI, 2586 steps of 0.001",
                "2.586",
                f"{pin_end:.6f}",
                "I_z at the end of the impact",
            ),
            ("pin and ball: FS, 83 steps of 0.002", "0.166", f"{_straight_from(pin, pin_outcome):.6f}", ""),
            (
                "iterations of VS, icosahedron and pin",
                "29, 29",
                f"{outcome.info['steps']}, {pin_outcome.info['steps']}",
                "Taylor steps of order 20",
            ),
            (
                "error of NI, FS, VS, icosahedron",
                "0.000877, 0.00108669, 0.00111229",
                f"{distance:.6f} is the error of Truth",
                "the errors are distances to Truth, which is itself off by half as much",
            ),
            (
                "error of NI, FS, VS, pin",
                "0.00143, 6.0469E-5, 5.70441E-5",
                "",
                "not comparable: v⁻ was fitted to Truth",
            ),
            (
                "icosahedron: VS faster than NI",
                "74 times",
                f"{0.0312002 / 0.0004134:.1f} times",
                "from table 1",
            ),
            ("icosahedron: VS faster than FS", "50%", f"{0.000624 / 0.0004134 - 1.0:.0%}", "from table 1"),
            (
                "pin: VS more accurate than NI",
                "25 times",
                f"{0.00143 / 5.70441e-5:.1f} times",
                "from table 1",
            ),
            ("pin: VS faster than NI", "662 times", f"{0.2652 / 0.0004006:.1f} times", "from table 1"),
            (
                "pin: VS faster than FS",
                "more than one time",
                f"{0.000936 / 0.0004006:.2f} times as fast",
                "from table 1",
            ),
            (
                "VS faster than NDSolve",
                "five to eight times",
                f"{0.00252722 / 0.0004134:.1f} to {0.00368162 / 0.0004134:.1f} times",
                "from its times 0.00252722, 0.00368162, 0.00316682 s",
            ),
        ]


def truncated_icosahedron() -> np.ndarray:
    """The 60 corners of a truncated icosahedron with edges EDGE about the origin, (60, 3) [m]."""
    golden = 0.5 * (1.0 + math.sqrt(5.0))
    corners = set()
    for corner in (
        (0.0, 1.0, 3.0 * golden),
        (1.0, 2.0 + golden, 2.0 * golden),
        (golden, 2.0, 2.0 * golden + 1.0),
    ):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            x, y, z = (sign * value + 0.0 for sign, value in zip(signs, corner, strict=True))
            corners |= {(x, y, z), (y, z, x), (z, x, y)}
    return 0.5 * EDGE * np.array(sorted(corners))


def _pin_inverse_inertia(moments: tuple[float, ...], sense: float) -> np.ndarray:
    c, s = math.cos(PIN_TILT), sense * math.sin(PIN_TILT)
    turn = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    inertias = turn @ np.diag(moments) @ turn.T, np.diag(BALL_MOMENTS)
    levers = (-np.array(centre) for centre in PIN_CENTRES)
    return inverse_inertia(list(zip(PIN_MASSES, inertias, levers, strict=True)), np.eye(3))


def _sine(problem: ImpactProblem, slip: np.ndarray) -> float:
    """Sine of the angle between slip and dγ/dI_z."""
    direction = slip / np.hypot(*slip)
    rate = problem.W[1:, 0] - float(problem.friction[0]) * problem.W[1:, 1:] @ direction
    return abs(float(direction[0] * rate[1] - direction[1] * rate[0])) / float(np.hypot(*rate))


def _straight_from(impact: PaperImpact, outcome: ImpactOutcome) -> float:
    """Normal impulse [N s] at which that sine falls to PAPER_TOLERANCE before slip stops."""
    curve = slip_curve(impact.problem, outcome)
    moments = np.linspace(0.0, 0.999 * min(curve.stop, curve.end), 400)
    sines = [_sine(impact.problem, slip) for slip in curve.at(moments)[0]]
    k = int(np.argmax(np.array(sines) < PAPER_TOLERANCE))
    low, high = float(moments[k - 1]), float(moments[k])
    for _ in range(50):
        middle = 0.5 * (low + high)
        if _sine(impact.problem, curve.at(middle)[0]) < PAPER_TOLERANCE:
            high = middle
        else:
            low = middle
    return high


def _directions(problem: ImpactProblem) -> tuple[str, str]:
    """How many invariant directions of each kind, and their angles and rates."""
    found = invariant_directions(problem)
    outward = sum(each.centrifugal for each in found)
    kinds = [f"{len(found) - outward} centripetal"] + ([f"{outward} centrifugal"] if outward else [])
    details = (f"{math.degrees(each.angle):.2f}° ({each.rate:.4f})" for each in found)
    return ", ".join(kinds), "angle (rate): " + ", ".join(details)


def _vector(values: np.ndarray, digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in np.asarray(values) + 0.0)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
