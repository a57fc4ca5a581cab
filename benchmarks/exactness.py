"""The scenes on which other simulators were compared (docs/peers.md), run by carom: errors and times of one run.

python benchmarks/exactness.py
"""

import math
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import carom
from carom.bodies.rotation import rotation_matrices
from carom.demos.painleve_map import rod_scene

GRAVITY = 9.81


def cradle(law: carom.ImpactLaw) -> str:
    """Three equal balls that touch, the first of which comes with 1 m/s, without friction."""
    scene = carom.Scene(gravity=(0, 0, 0))
    material = carom.Material(0.0, 1.0)
    for k in range(3):
        velocity = (1.0 if k == 0 else 0.0, 0, 0)
        place = (0.2 * k - (0.1 if k == 0 else 0.0), 0, 0)
        scene.add(
            carom.Body(carom.Sphere(0.1), mass=1.0, position=place, velocity=velocity, material=material)
        )
    end = carom.Simulator(scene, law).run(0.5).sample(0.5)
    return "  ".join(f"{v:.4f}" for v in end.velocity[:, 0])


def ball() -> tuple[float, float, float]:
    """Largest error of the first five impacts, error of the time of rest [s], deepest overlap [m]; e = 0.8, 1 m."""
    scene = carom.Scene()
    material = carom.Material(0.3, 0.8)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, position=(0, 0, 1.1), material=material))
    trajectory = carom.Simulator(scene, carom.StrongeCoulomb()).run(6.0)
    first = math.sqrt(2 / GRAVITY)
    exact = first + 2 * first * np.cumsum([0.0, 0.8, 0.64, 0.512, 0.4096])
    times = np.array([event.time for event in trajectory.events[:5]])
    rest = (trajectory.rest_time or math.inf) - first * 9.0
    return float(np.abs(times - exact).max()), rest, trajectory.largest_overlap()


def flat_block() -> list[str]:
    """A block 0.2 m wide and 0.5 m high lands flat with 1 m/s, friction 1, no restitution: turning rates by law."""
    scene = carom.Scene(gravity=(0, 0, 0))
    scene.planar()
    material = carom.Material(1.0, 0.0)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    box = carom.Box((0.2, 0.2, 0.5))
    scene.add(carom.Body(box, mass=1.0, position=(0, 0, 0.35), velocity=(0, 0, -1.0), material=material))
    impact = carom.Simulator(scene, carom.AnitescuPotra()).run(0.11).events[0]
    assert impact.problem is not None
    # both corners of an edge are one contact of the plane: the first of each is kept
    left = int(np.argmin(impact.contacts.point[:, 0]))
    right = int(np.argmax(impact.contacts.point[:, 0]))
    rows = np.array([2 * left, 2 * left + 1, 2 * right, 2 * right + 1])
    problem = carom.ImpactProblem(
        impact.problem.W[np.ix_(rows, rows)], impact.problem.u[rows], friction=1.0, restitution=0.0, dim=2
    )

    def turning(velocity: np.ndarray) -> float:
        return float((velocity[2] - velocity[0]) / 0.2)

    outcomes = carom.SetValuedRouth(step=1.0).sample(problem, 400, seed=0)
    rates = np.array([turning(v) for v in outcomes.velocity[outcomes.resolved]])
    return [
        f"{turning(carom.AnitescuPotra().resolve(problem).velocity):.4f}",
        f"{turning(carom.SequentialLCP(order=(0, 1)).resolve(problem).velocity):.4f}",
        f"{turning(carom.SequentialLCP(order=(1, 0)).resolve(problem).velocity):.4f}",
        f"{rates.min():.4f} to {rates.max():.4f}",
    ]


def rod(angle: float, friction: float) -> tuple[bool, float, float, float]:
    """A rod of 1 m, its tip sliding at 1 m/s, at an angle [deg] to the floor.

    Whether it starts with an impact without collision, tip velocity [m/s] and turning rate [rad/s] after 5 ms, and
    when the tip first stops [s].
    """
    trajectory = carom.Simulator(rod_scene(math.radians(angle), friction), carom.MaximumDissipation()).run(
        0.03
    )
    state = trajectory.sample(0.005)
    tip = rotation_matrices(state.orientation[-1]) @ [-0.5, 0.0, 0.0]
    velocity = state.velocity[-1] + np.cross(state.angular_velocity[-1], tip)
    jams = any("without collision" in event.note for event in trajectory.events)
    stops = [event.time for event in trajectory.events if event.kind == "stick" or event.note]
    return (
        jams,
        float(velocity[0]),
        float(np.abs(state.angular_velocity[-1, 1])),
        min(stops, default=math.nan),
    )


def main() -> None:
    """Run every scene and print what came out."""
    table = Table("scene", "what", "carom", "s")
    for law in (carom.SequentialReflection(), carom.StrongeCoulomb(), carom.AnitescuPotra()):
        start = time.perf_counter()
        speeds = cradle(law)
        table.add_row("cradle of three, e = 1", law.name, speeds, f"{time.perf_counter() - start:.3f}")
    start = time.perf_counter()
    worst, rest, depth = ball()
    spent = f"{time.perf_counter() - start:.3f}"
    table.add_row("ball, e = 0.8", "first five impacts, largest error", f"{worst:.1e} s", spent)
    table.add_row("", "time of rest, error", f"{rest:.1e} s", "")
    table.add_row("", "deepest overlap", f"{depth:.1e} m", "")
    for name, rate in zip(
        ("simultaneous", "left first", "right first", "set-valued"), flat_block(), strict=True
    ):
        table.add_row("block lands flat", f"turning rate, {name}", f"{rate} rad/s", "")
    for angle in (35.0, 55.0):
        start = time.perf_counter()
        jams, speed, rate, stop = rod(angle, 1.9)
        spent = f"{time.perf_counter() - start:.3f}"
        table.add_row(f"rod at {angle:g} degrees", "impact without collision", "yes" if jams else "no", spent)
        table.add_row("", "after 5 ms: tip, turning rate", f"{speed:.4f} m/s, {rate:.4f} rad/s", "")
        table.add_row("", "tip stops", f"{1e3 * stop:.3f} ms", "")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
