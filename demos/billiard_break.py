"""A cue ball meets two balls at once: how far the order of the two impacts decides the outcome."""

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..bodies import Body, Material, Scene, Sphere
from ..impact_laws import ImpactOutcome, ImpactProblem, SequentialReflection
from ..impact_laws.indeterminacy import indeterminacy, uniqueness
from ..simulator import contact_problem, make_unique
from ..viewer.figures import new_figure, save_figure
from .demo import Check, Table

RADIUS, MASS = 0.028575, 0.17  # m, kg of the balls a and b; masses go with the volume
SPEED = 1.0  # m/s of the cue ball c, along the bisector of the angle

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
KINK_ANGLE = math.acos(
    -GOLDEN
)  # rad, where a third reflection becomes necessary; the indeterminacy is GOLDEN

_TABLE_ANGLES = (60.0, 75.0, 90.0, 110.0, math.degrees(KINK_ANGLE), 150.0, 180.0)  # °
_DRAWN_ANGLE = math.radians(75.0)
_DRAWN_SPEED = 1.8 * RADIUS  # m of arrow for the speed of the cue ball
_CUE_SIZES = (0.5, 1.0, 2.0, 1.0 / math.sin(math.radians(15.0)) - 1.0)  # the last: least angle 30°
_BISECTIONS = 60
_DIGITS = 9  # of the speed before, by which outcomes are told apart
_ORDERS = ("a first", "b first")


def closed_form(angle: Any) -> Any:
    """Indeterminacy of equal balls over the angle [rad]: two reflections up to the kink, three beyond."""
    cosine = np.cos(angle)
    stages = np.where(angle <= KINK_ANGLE, np.abs(cosine), 1.0 - cosine**2)
    return math.sqrt(2.0) * np.cos(0.5 * angle) * np.sqrt(2.0 - cosine) * stages


@dataclass(frozen=True)
class Break:
    """The cue ball c touches a and b, seen from it at that angle [rad]; its radius is in radii of a and b."""

    angle: float
    cue_size: float = 1.0

    @property
    def cue_mass(self) -> float:
        """[kg]"""
        return MASS * self.cue_size**3

    @property
    def directions(self) -> np.ndarray:
        """Unit vectors (2, 2) from c to a and to b; c moves along x."""
        half = 0.5 * self.angle
        return np.array([[math.cos(half), math.sin(half)], [math.cos(half), -math.sin(half)]])

    def places(self) -> np.ndarray:
        """Centres (3, 2) of a, b and c [m]."""
        return np.vstack([(1.0 + self.cue_size) * RADIUS * self.directions, np.zeros(2)])

    def problem(self) -> ImpactProblem:
        """The contacts of c with a and with b, planar; generalized velocity is that of a, b and c.

        Where a and b touch each other their contact is left out, as in the paper.
        """
        jacobian = np.zeros((4, 6))
        for contact, direction in enumerate(self.directions):
            frame = np.array([direction, [-direction[1], direction[0]]])
            rows = slice(2 * contact, 2 * contact + 2)
            jacobian[rows, rows] = frame
            jacobian[rows, 4:] = -frame
        mass = np.diag(np.repeat([MASS, MASS, self.cue_mass], 2))
        velocity = np.array([0.0, 0.0, 0.0, 0.0, SPEED, 0.0])
        return ImpactProblem.from_generalized(mass, jacobian, velocity, restitution=1.0, dim=2)

    def scene(self) -> Scene:
        """The same as bodies of the engine, in the order a, b, c."""
        material = Material(friction=0.0, restitution=1.0)
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        sizes = (1.0, 1.0, self.cue_size)
        for name, size, (x, y) in zip("abc", sizes, self.places(), strict=True):
            ball = Body(
                Sphere(size * RADIUS),
                mass=MASS * size**3,
                position=(x, y, 0.0),
                velocity=(SPEED if name == "c" else 0.0, 0.0, 0.0),
                material=material,
                name=name,
            )
            scene.add(ball)
        return scene

    @cached_property
    def outcomes(self) -> tuple[ImpactOutcome, ImpactOutcome]:
        """With the impact on a first, and with that on b first."""
        problem = self.problem()
        first, second = (SequentialReflection(order=order).resolve(problem) for order in ((0, 1), (1, 0)))
        return first, second

    @property
    def stages(self) -> int:
        """Reflections until nothing approaches, in the longer of the two orders."""
        return max(len(outcome.info["sequence"]) for outcome in self.outcomes)

    @property
    def energy(self) -> float:
        """Kinetic energy before [J]."""
        return 0.5 * self.cue_mass * SPEED**2

    @property
    def indeterminacy(self) -> float:
        """ξ: distance of the two momenta after in the kinetic metric, over the length of that before."""
        return indeterminacy(self.problem())

    def velocities(self, order: int) -> np.ndarray:
        """Of a, b and c afterwards, (3, 2) [m/s]."""
        return self.problem().generalized_velocity(self.outcomes[order]).reshape(3, 2)

    def touching_outcomes(self) -> tuple[int, float]:
        """Different outcomes of all minimal sequences, and ξ, where the contact of a and b counts too."""
        problem = contact_problem(self.scene())
        velocities = SequentialReflection().outcomes(problem).velocity
        count = len(np.unique(np.round(velocities / SPEED, _DIGITS), axis=0))
        return count, indeterminacy(problem)


def mirror_angles(cue_size: float) -> list[float]:
    """Angles [rad] beyond 90° where ⟨u, v⟩ = -cos(π/n) for unit normals, n = 3, 4, ...

    The two reflections then generate a finite group with one longest element, which both orders end in; n = 2
    is 90° and n = 3 the paper's theorem 3.
    """
    least = MASS / (MASS + MASS * cue_size**3)  # minus the inner product at 180°
    count = math.ceil(math.pi / math.acos(least))
    return [math.acos(-math.cos(math.pi / n) / least) for n in range(3, count)]


def bisected_kink() -> float:
    """The angle [rad] where the law begins to need three reflections."""
    low, high = 0.5 * math.pi, math.pi - 0.1
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if Break(middle).stages > 2:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


class BilliardBreak:
    """Figures 4 and 5: the order decides everything between 60° and 90°, and nothing at 90° and 180°."""

    name: ClassVar[str] = "billiard-break"
    ending: ClassVar[str] = ".png"

    angles = np.radians(np.linspace(60.0, 180.0, 41))

    @cached_property
    def designs(self) -> list[tuple[float, Any]]:
        """Sizes of the cue ball, and what `make_unique` makes of the angle for each."""
        found = []
        for size in _CUE_SIZES:
            least = 2.0 * math.asin(1.0 / (1.0 + size))

            def build(parameters: np.ndarray, size: float = size) -> Scene:
                return Break(float(parameters[0]), size).scene()

            found.append((size, make_unique(build, [least + 0.1], [(least + 0.05, math.pi - 0.05)])))
        return found

    def tables(self) -> list[Table]:
        """Indeterminacy at some angles, the designs without it, and the break of balls that touch."""
        rows = []
        for degrees in _TABLE_ANGLES:
            hit = Break(math.radians(degrees))
            rows.append(
                (
                    f"{degrees:.4f}",
                    f"{0.5 * math.cos(hit.angle):+.6f}",
                    str(hit.stages),
                    f"{hit.indeterminacy:.12f}",
                    f"{float(closed_form(hit.angle)):.12f}",
                )
            )
        designs = [
            (
                f"{size:.4f}",
                f"{design.before:.6f}",
                f"{design.after:.1e}",
                f"{math.degrees(design.parameters[0]):.9f}",
            )
            for size, design in self.designs
        ]
        count, distance = Break(math.pi / 3.0).touching_outcomes()
        return [
            Table(
                ("angle [°]", "inner product", "reflections", "indeterminacy, law", "closed form"),
                tuple(rows),
            ),
            Table(
                ("cue ball over ball", "inner product, start", "made unique", "angle found [°]"),
                tuple(designs),
            ),
            Table(
                ("a, b and c touch, 60°", "different outcomes", "indeterminacy"),
                (("all minimal sequences", str(count), f"{distance:.6f}"),),
            ),
        ]

    def check(self) -> list[Check]:
        """Closed form, kink, minima, the engine's contacts, and the designs that `make_unique` finds."""
        breaks = [Break(float(angle)) for angle in self.angles]
        law = np.array([hit.indeterminacy for hit in breaks])
        change = max(abs(outcome.energy_change) / hit.energy for hit in breaks for outcome in hit.outcomes)
        engine = 0.0
        for hit in (Break(1.3), Break(2.5), Break(1.3, 2.0)):
            ours, theirs = hit.problem(), contact_problem(hit.scene())
            inertia = np.abs(theirs.W[::3, ::3] - ours.W[::2, ::2]).max() / np.abs(ours.W).max()
            engine = max(engine, float(inertia), float(np.abs(theirs.u[::3] - ours.u[::2]).max()) / SPEED)
        others = 0.0
        for hit in (*breaks[:-1], *(Break(float(angle), 0.5) for angle in self.angles[10:-1])):
            found = SequentialReflection().outcomes(hit.problem())
            others = max(others, float(abs(len(found) - 2)))
            for outcome in hit.outcomes:
                others = max(others, float(np.abs(found.impulse - outcome.impulse).max(axis=1).min()))
        light = _CUE_SIZES[0]
        mirrors = [Break(angle, light) for angle in mirror_angles(light)]
        shared = max(hit.indeterminacy for hit in mirrors)
        proven = sum(uniqueness(hit.problem()).unique for hit in (*mirrors, Break(0.5 * math.pi)))
        designed = max(abs(float(design.parameters[0]) - 0.5 * math.pi) for _, design in self.designs)
        return [
            Check(
                "indeterminacy off the closed form",
                float(np.abs(law - closed_form(self.angles)).max()),
                1e-14,
            ),
            Check("at 60°, off 0.75", abs(Break(math.pi / 3.0).indeterminacy - 0.75), 1e-14),
            Check("at 90°", Break(0.5 * math.pi).indeterminacy, 1e-14),
            Check("at 180°", Break(math.pi).indeterminacy, 1e-14),
            Check("angle of the kink, error [rad]", abs(bisected_kink() - KINK_ANGLE), 1e-9),
            Check("at the kink, off 0.618", abs(Break(KINK_ANGLE).indeterminacy - GOLDEN), 1e-14),
            Check("light cue ball, where ⟨u, v⟩ = -cos(π/n)", shared, 1e-13),
            Check("these and 90°, not proven unique", float(len(mirrors) + 1 - proven), 0.0),
            Check("outcomes of other minimal sequences", others, 1e-14),
            Check("energy, relative change", change, 1e-14),
            Check("contacts of the engine, relative error", engine, 1e-12),
            Check("angle made unique, off 90° [rad]", designed, 1e-8),
            Check("inner product made unique", max(design.after for _, design in self.designs), 1e-9),
        ]

    def write(self, path: Path) -> None:
        """The break with both outcomes, indeterminacy over the angle, speeds, and other cue balls."""
        figure = new_figure(15.0, 12.0)
        figure.suptitle("Seghete & Murphey, figures 4 and 5: a billiard break", fontsize=15)
        panels = figure.subplots(2, 2)
        _draw_break(panels[0, 0])
        self._draw_indeterminacy(panels[0, 1])
        self._draw_speeds(panels[1, 0])
        _draw_sizes(panels[1, 1])
        save_figure(figure, path)

    def _draw_indeterminacy(self, axes: Any) -> None:
        angles = np.linspace(math.pi / 3.0, math.pi, 800)
        axes.axvspan(60.0, math.degrees(KINK_ANGLE), color="tab:blue", alpha=0.06)
        axes.axvspan(math.degrees(KINK_ANGLE), 180.0, color="tab:orange", alpha=0.08)
        axes.plot(np.degrees(angles), closed_form(angles), color="black", linewidth=1.8, label="closed form")
        axes.plot(
            np.degrees(self.angles), [Break(float(angle)).indeterminacy for angle in self.angles], "o",
            color="tab:red", fillstyle="none", markersize=7, markeredgewidth=1.5, label="law",
        )  # fmt: skip
        for degrees, value, words, at in (
            (60.0, 0.75, "0.75 at 60°", (66.0, 0.755)),
            (math.degrees(KINK_ANGLE), GOLDEN, f"0.618 at {math.degrees(KINK_ANGLE):.2f}°", (131.0, 0.655)),
            (90.0, 0.0, "0 at 90°: orthogonal", (94.0, 0.04)),
            (180.0, 0.0, "0 at 180°: grazing", (155.0, 0.145)),
        ):
            axes.plot(degrees, value, "o", color="black", markersize=6, zorder=5)
            axes.text(*at, words, fontsize=11)
        axes.text(103.0, 0.22, "two reflections", fontsize=11, color="tab:blue", ha="left")
        axes.text(177.0, 0.22, "three\nreflections", fontsize=11, color="tab:orange", ha="right")
        axes.set(xlim=(58, 182), ylim=(-0.02, 0.82), xlabel="angle θ [°]", ylabel="indeterminacy ξ")
        axes.set_title("distance of the two outcomes, equal balls", fontsize=13)
        axes.set_xticks(range(60, 181, 15))
        axes.legend(loc="upper center", fontsize=11)
        axes.grid(color="0.92")

    def _draw_speeds(self, axes: Any) -> None:
        breaks = [Break(float(angle)) for angle in self.angles]
        speeds = np.array([np.linalg.norm(hit.velocities(0), axis=1) for hit in breaks])
        for name, column, colour in zip("abc", speeds.T, ("tab:blue", "tab:red", "0.25"), strict=True):
            axes.plot(np.degrees(self.angles), column, "o-", color=colour, markersize=4, label=f"ball {name}")
        axes.set(
            xlim=(58, 182), ylim=(0, 1.05), xlabel="angle θ [°]", ylabel="speed after / speed of c before"
        )
        axes.set_title("speeds with a struck first; with b first the balls a and b swap", fontsize=13)
        axes.set_xticks(range(60, 181, 15))
        axes.legend(loc="upper left", fontsize=11)
        axes.grid(color="0.92")


def _draw_break(axes: Any) -> None:
    from matplotlib.patches import Circle

    hit = Break(_DRAWN_ANGLE)
    places = hit.places()
    for name, place, away in zip("abc", places, ((0.0, -0.55), (0.0, 0.55), (-0.55, 0.0)), strict=True):
        axes.add_patch(Circle(place, RADIUS, facecolor="0.93", edgecolor="0.3", linewidth=1.5, zorder=1))
        axes.text(*(place + RADIUS * np.array(away)), name, fontsize=14, ha="center", va="center", zorder=2)
    for direction in hit.directions:
        axes.plot(*np.vstack([np.zeros(2), 2.0 * RADIUS * direction]).T, ":", color="0.4", linewidth=1.2)
    turn = np.linspace(-0.5 * hit.angle, 0.5 * hit.angle, 60)
    axes.plot(0.7 * RADIUS * np.cos(turn), 0.7 * RADIUS * np.sin(turn), color="0.4", linewidth=1.0)
    axes.text(0.78 * RADIUS, 0.12 * RADIUS, "θ", fontsize=14)
    start = np.array([-RADIUS - 1.1 * _DRAWN_SPEED, 0.0])
    _arrow(axes, start, start + np.array([_DRAWN_SPEED, 0.0]), "tab:green", "-", "before")
    for order, (colour, style) in enumerate((("tab:blue", "-"), ("tab:red", "--"))):
        for ball, (place, velocity) in enumerate(zip(places, hit.velocities(order), strict=True)):
            words = f"after, {_ORDERS[order]}" if ball == 0 else None
            _arrow(axes, place, place + _DRAWN_SPEED * velocity / SPEED, colour, style, words)
    axes.set(xlabel="x [m]", ylabel="y [m]")
    axes.set_aspect("equal")
    axes.margins(0.06)
    axes.set_title(f"θ = {math.degrees(hit.angle):g}°: two outcomes of one impact", fontsize=13)
    axes.legend(loc="upper left", fontsize=11)


def _arrow(axes: Any, start: np.ndarray, end: np.ndarray, colour: str, style: str, words: str | None) -> None:
    axes.plot(*np.vstack([start, end]).T, style, color=colour, linewidth=2.2, zorder=4, label=words)
    back = start + 0.85 * (end - start)
    head = {"arrowstyle": "-|>", "color": colour, "mutation_scale": 17, "linewidth": 0.0}
    axes.annotate("", xy=end, xytext=back, arrowprops=head, zorder=5)


def _draw_sizes(axes: Any) -> None:
    for size in _CUE_SIZES:
        least = 2.0 * math.asin(1.0 / (1.0 + size))
        angles = np.linspace(least, math.pi, 181)
        axes.plot(
            np.degrees(angles), [Break(float(angle), size).indeterminacy for angle in angles],
            linewidth=1.6, label=f"{size:.3g}",
        )  # fmt: skip
    axes.axvline(90.0, color="0.6", linewidth=0.9, zorder=0)
    axes.set(xlim=(28, 182), ylim=(-0.02, None), xlabel="angle θ [°]", ylabel="indeterminacy ξ")
    axes.set_title("other cue balls: none at 90°, and none where ⟨u, v⟩ = −cos(π/n)", fontsize=13)
    axes.set_xticks(range(30, 181, 15))
    axes.legend(title="radius of c / radius of a, b", loc="upper right", fontsize=11)
    axes.grid(color="0.92")
