"""What the engine promises, measured on random scenes: nothing here is about speed.

throws   boxes, cylinders and hulls under every law with restitution: what ends of bounces take away, changes of
         velocity that recorded impulses do not explain, and whether the ends of bounces lie in the friction cones
slides   stopping times of balls on inclines, of corners that slide and of prisms that slide and turn on three
         points, beside DOP853 on equations of their own, and the steps that were taken
scaling  tosses and heaps at 2^-10 and 2^10 of the length, of the time and of the mass, under every law: whether
         events, times and states are the same to the bit
halving  a heap of boxes with implicit steps half as long, from states along its run: how far bodies are from where
         they were, at the next impact
"""

import argparse
import json
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from random_scenes import LAWS
from rich.console import Console
from scipy.integrate import solve_ivp
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation
from speed import heaped

import carom
from carom import Body, Box, ConvexMesh, Cylinder, HalfSpace, Material, Scene, Simulator, Sphere
from carom.simulator import EventKind

Array = np.ndarray
WITH_RESTITUTION = {
    "stronge": carom.StrongeCoulomb,
    "reflection": carom.SequentialReflection,
    "routh, poisson": lambda: carom.SetValuedRouth(restitution="poisson"),
}
GOOD = ("reached_end", "at_rest")


def rotation(quaternion: Any) -> Array:
    """The matrix of a quaternion (w, x, y, z)."""
    w, x, y, z = quaternion
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def random_shape(random: np.random.Generator, size: float) -> Any:
    """A box, a cylinder or a hull."""
    kind = random.integers(3)
    if kind == 0:
        return Box(size * random.uniform(0.5, 1.5, 3))
    if kind == 1:
        return Cylinder(0.5 * size * random.uniform(0.5, 1.5), size * random.uniform(0.5, 1.5))
    return ConvexMesh(0.5 * size * random.normal(size=(random.integers(6, 14), 3)))


# -- throws ------------------------------------------------------------------------------------------------


def thrown(number: int) -> Scene:
    """One body thrown onto a floor."""
    random = np.random.default_rng([1, number])
    material = Material(random.uniform(0.05, 0.8), random.uniform(0.0, 0.95))
    shape = random_shape(random, 10.0 ** random.uniform(-1.5, -0.5))
    quaternion = random.normal(size=4)
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(
        Body(
            shape, density=1000.0, position=(0, 0, 0.2 + shape.bounding_radius),
            orientation=quaternion / np.linalg.norm(quaternion), velocity=random.normal(size=3),
            angular_velocity=5.0 * random.normal(size=3), material=material,
        )
    )  # fmt: skip
    return scene


def of_throw(number: int, law: Any) -> dict[str, Any]:
    """What is seen of a throw: see the head of this file."""
    scene = thrown(number)
    trajectory = Simulator(scene, law, seed=number, event_limit=100_000).run(3.0)
    body, friction = scene.bodies[1], scene.bodies[1].material.friction
    start = trajectory.sample(0.0)
    there_was = trajectory.model.kinetic_energy(start) + 9.81 * body.mass * body.position[2]
    closing = np.abs(trajectory.log.jumps.column("energy")).sum() / there_was
    unexplained, outside, endings = 0.0, 0.0, 0
    events = list(trajectory.events)
    at = np.array([event.time for event in events])
    for instant in np.unique(at):
        here = [events[k] for k in np.flatnonzero(at == instant)]
        before, after = (trajectory.sample(instant, side=side) for side in ("left", "right"))
        turn = rotation(before.orientation[1])
        inertia = turn @ body.inertia @ turn.T
        inverse = np.zeros((6, 6))
        inverse[:3, :3], inverse[3:, 3:] = np.eye(3) / body.mass, np.linalg.inv(inertia)
        root = np.linalg.cholesky(np.linalg.inv(inverse)).T  # |root v|^2 is twice the kinetic energy
        change = np.concatenate(
            [after.velocity[1] - before.velocity[1], after.angular_velocity[1] - before.angular_velocity[1]]
        )
        speed = np.linalg.norm(root @ np.concatenate([before.velocity[1], before.angular_velocity[1]]))
        columns = []
        for event in here:
            patch = event.contacts
            frames = np.stack([patch.normal, patch.tangent, patch.tangent2], axis=1)
            signs = np.where(patch.bodies[:, 0] == 1, 1.0, -1.0)
            if event.outcome is not None:
                impulses = event.outcome.impulse.reshape(len(patch), -1)
                for k, impulse in enumerate(impulses):
                    force = signs[k] * impulse @ frames[k]
                    arm = patch.point[k] - before.position[1]
                    change -= inverse @ np.concatenate([force, np.cross(arm, force)])
            for k in range(len(patch)):
                arm = patch.point[k] - before.position[1]
                for angle in np.linspace(0.0, 2.0 * math.pi, 64, endpoint=False):
                    edge = frames[k, 0] + friction / math.cos(math.pi / 64) * (
                        math.cos(angle) * frames[k, 1] + math.sin(angle) * frames[k, 2]
                    )
                    columns.append(
                        root @ inverse @ np.concatenate([signs[k] * edge, np.cross(arm, signs[k] * edge)])
                    )
        rest = root @ change
        left = np.linalg.norm(rest)
        if left <= 1e-13 * speed:
            continue
        if columns:
            matrix = np.array(columns).T
            lengths = np.linalg.norm(matrix, axis=0)
            _, left = nnls(matrix / lengths, rest)
            if np.linalg.norm(rest) > 1e-9 * math.sqrt(there_was):
                endings += 1
                outside = max(outside, left / np.linalg.norm(rest))
        unexplained = max(unexplained, left / math.sqrt(2.0 * there_was))
    return {
        "number": number, "status": trajectory.status.value, "message": trajectory.message, "closing": closing,
        "unexplained": unexplained, "outside_cones": outside, "endings": endings, "events": len(events),
    }  # fmt: skip


def throws(count: int) -> Iterator[dict[str, Any]]:
    """Throws under every law with restitution."""
    for name, law in WITH_RESTITUTION.items():
        rows = [of_throw(number, law()) for number in range(count or 200)]
        for row in rows:
            if row["status"] not in GOOD or row["closing"] > 1e-6 or row["unexplained"] > 1e-9:
                yield {"law": name, **row}
        yield {
            "law": name, "throws": len(rows), "end well": sum(row["status"] in GOOD for row in rows),
            **{what: max(row[what] for row in rows) for what in ("closing", "unexplained", "outside_cones")},
            "endings": sum(row["endings"] for row in rows), "events": sum(row["events"] for row in rows),
        }  # fmt: skip


# -- slides ------------------------------------------------------------------------------------------------

NEARLY_STOPPED = 1e-8  # [m/s], from where the reference takes the rest of a slide for linear


def rates_of_slide(body: Body, corners: Array, friction: float, gravity: Array, state: Array) -> Array:
    """Rates of position, quaternion, velocity and spin of a body whose `corners` (body frame) slide on z = 0.

    As many unknown normal forces as corners keep the accelerations of these along z at zero.
    """
    q, v, w = state[3:7], state[7:10], state[10:]
    turn = rotation(q)
    inverse = turn @ np.linalg.inv(body.inertia) @ turn.T
    inertia = turn @ body.inertia @ turn.T
    arms = corners @ turn.T
    free = np.concatenate([gravity, -inverse @ np.cross(w, inertia @ w)])
    along = []
    for arm in arms:
        slip = v + np.cross(w, arm)
        slip[2] = 0.0
        along.append(np.array([0.0, 0.0, 1.0]) - friction * slip / np.linalg.norm(slip))
    n = len(arms)
    matrix, rest = np.empty((n, n)), np.empty(n)
    for i, arm in enumerate(arms):
        rest[i] = (free[:3] + np.cross(free[3:], arm) + np.cross(w, np.cross(w, arm)))[2]
        for j in range(n):
            spun = inverse @ np.cross(arms[j], along[j])
            matrix[i, j] = (along[j] / body.mass + np.cross(spun, arm))[2]
    forces = np.linalg.solve(matrix, -rest)
    acceleration = free.copy()
    for force, arm, direction in zip(forces, arms, along, strict=True):
        acceleration[:3] += force * direction / body.mass
        acceleration[3:] += inverse @ np.cross(arm, force * direction)
    spin = 0.5 * np.array(
        [
            -q[1:] @ w,
            *(q[0] * w + np.cross(w, q[1:])),
        ]
    )
    return np.concatenate([v, spin, acceleration])


def slip_speeds(corners: Array, state: Array) -> Array:
    """Speeds along z = 0 of corners."""
    arms = corners @ rotation(state[3:7]).T
    return np.linalg.norm((state[7:10] + np.cross(state[10:], arms))[:, :2], axis=1)


def stopping_time(body: Body, corners: Array, friction: float, gravity: Array, longest: float) -> float:
    """When all the corners stand, by DOP853 until they nearly do, or NaN."""
    start = np.concatenate([body.position, body.orientation, body.velocity, body.angular_velocity])

    def rates(t: float, state: Array) -> Array:
        return rates_of_slide(body, corners, friction, gravity, state)

    def stopped(t: float, state: Array) -> float:
        return float(slip_speeds(corners, state).max()) - NEARLY_STOPPED

    stopped.terminal = True  # type: ignore[attr-defined]
    stopped.direction = -1.0  # type: ignore[attr-defined]
    found = solve_ivp(rates, (0.0, longest), start, "DOP853", events=stopped, rtol=1e-13, atol=1e-15)
    if not len(found.t_events[0]):
        return math.nan
    when, state = found.t_events[0][0], found.y_events[0][0]
    step = 1e-3 * NEARLY_STOPPED / 9.81
    ahead = state + step * rates(when, state)
    pace = (slip_speeds(corners, state).max() - slip_speeds(corners, ahead).max()) / step
    return float(when + NEARLY_STOPPED / pace)


def sliding(number: int) -> tuple[str, Scene, float, Array | None]:
    """What slides, its scene, how long at most, and the corners that slide."""
    random = np.random.default_rng([2, number])
    friction, slope = (
        random.uniform(0.15, 0.75),
        float(random.choice([0.0, math.radians(random.uniform(5, 8))])),
    )
    heading = random.uniform(0.0, 2.0 * math.pi)
    gravity = 9.81 * np.array(
        [math.sin(slope) * math.cos(heading), math.sin(slope) * math.sin(heading), -math.cos(slope)]
    )
    material = Material(friction, 0.0)
    scene = Scene(gravity=gravity)
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    velocity = np.array([*random.normal(size=2), 0.0])
    kind = ("ball", "prism", "corner")[number % 3]
    corners: Array | None = None
    if kind == "ball":
        scene.add(Body(Sphere(0.1), density=1000.0, position=(0, 0, 0.1), velocity=velocity,
                       angular_velocity=10.0 * random.normal(size=3), material=material))  # fmt: skip
    elif kind == "prism":
        angles = np.array([0.0, 2.0, 4.1]) + 0.3 * random.normal(size=3)
        base = 0.1 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        height = 0.02
        points = np.concatenate([np.column_stack([base, np.full(3, z)]) for z in (0.0, height)])
        shape = ConvexMesh(points)
        low = shape.vertices[:, 2].min()
        corners = np.asarray(shape.vertices)[shape.vertices[:, 2] < low + 1e-9]
        scene.add(Body(shape, density=1000.0, position=(0, 0, -low), velocity=velocity,
                       angular_velocity=(0, 0, 10.0 * random.normal()), material=material))  # fmt: skip
    else:
        lengths = random.uniform(0.1, 0.3, 3)
        shape = Box(lengths)
        tilt = Rotation.from_rotvec(random.uniform(-0.9, 0.9, 3))
        turn = tilt.as_matrix()
        every = 0.5 * lengths * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        lowest = int(np.argmin((every @ turn.T)[:, 2]))
        corners = every[[lowest]]
        arm = turn @ every[lowest]
        spin = random.normal(size=3)
        velocity = 0.3 * velocity
        velocity[2] = -np.cross(spin, arm)[2]
        x, y, z, w = tilt.as_quat()
        scene.add(Body(shape, density=1000.0, position=(0, 0, -arm[2]), orientation=(w, x, y, z), velocity=velocity,
                       angular_velocity=spin, material=material))  # fmt: skip
    return kind, scene, 3.0, corners


def ball_stops(body: Body, friction: float, gravity: Array) -> float:
    """When a ball begins to roll: u' = b - (7/2) mu g_n u/|u| for its slip u, b the pull along the plane."""
    u = (np.asarray(body.velocity) + np.cross(body.angular_velocity, (0.0, 0.0, -0.1)))[:2]
    strength = 3.5 * friction * -gravity[2]

    def rates(t: float, u: Array) -> Array:
        return gravity[:2] - strength * u / np.linalg.norm(u)

    def stopped(t: float, u: Array) -> float:
        return float(np.linalg.norm(u)) - NEARLY_STOPPED

    stopped.terminal = True  # type: ignore[attr-defined]
    found = solve_ivp(rates, (0.0, 60.0), u, "DOP853", events=stopped, rtol=1e-13, atol=1e-15)
    when, u = found.t_events[0][0], found.y_events[0][0]
    return float(when + NEARLY_STOPPED / -(rates(when, u) @ u / np.linalg.norm(u)))


def slides(count: int) -> Iterator[dict[str, Any]]:
    """Slides whose stop comes before another corner is hit, until there are so many."""
    worst, steps, seen, number = 0.0, [], 0, 0
    while seen < (count or 20):
        kind, scene, longest, corners = sliding(number)
        number += 1
        body, gravity = scene.bodies[1], np.asarray(scene.gravity)
        friction = body.material.friction
        trajectory = Simulator(scene, carom.MaximumDissipation()).run(longest)
        first = next((event for event in trajectory.events), None)
        if first is None or first.kind != EventKind.STICK:
            continue
        if corners is None:
            expected = ball_stops(body, friction, gravity)
        else:
            expected = stopping_time(body, corners, friction, gravity, longest)
        starts = trajectory.log.pieces.column("start")[trajectory.log.pieces.column("body") == 1]
        taken = int((starts < first.time).sum())
        error = abs(first.time - expected)
        worst, seen = max(worst, error), seen + 1
        steps.append(taken)
        yield {"slide": number - 1, "kind": kind, "stops_at": first.time, "error": error, "steps": taken}
    yield {
        "slides": seen,
        "worst error [s]": worst,
        "median steps": float(np.median(steps)),
        "most steps": max(steps),
    }


# -- scaling -----------------------------------------------------------------------------------------------


def scaled(number: int, length: float, pace: float, heaviness: float, restitution: float) -> Scene:
    """A toss, or from 20 on a heap, in other units of length, of 1/time and of mass."""
    random = np.random.default_rng([3, number])
    material = Material(random.uniform(0.1, 0.8), restitution and random.uniform(0.1, 0.8))
    scene = Scene(gravity=(0, 0, -9.81 * length * pace**2))
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=material))
    bodies, top = (1 if number < 20 else 4), 0.1
    for _ in range(bodies):
        plain = np.random.default_rng([4, number, len(scene.bodies)])
        kind, sides, points = plain.integers(3), plain.uniform(0.08, 0.2, 3), plain.normal(size=(8, 3))
        if kind == 0:
            shape: Any = Box(length * sides)
            reach = 0.5 * float(np.linalg.norm(sides))
        elif kind == 1:
            shape = Cylinder(length * 0.5 * sides[0], length * sides[1])
            reach = math.hypot(0.5 * sides[0], 0.5 * sides[1])
        else:
            shape = ConvexMesh(length * 0.07 * points)
            reach = 0.07 * float(np.linalg.norm(points, axis=1).max())
        quaternion = random.normal(size=4)
        scene.add(
            Body(
                shape, density=heaviness * 1000.0 / length**3,
                position=length * np.array([*random.uniform(-0.02, 0.02, 2), top + reach]),
                orientation=quaternion / np.linalg.norm(quaternion), velocity=length * pace * random.normal(size=3),
                angular_velocity=pace * 4.0 * random.normal(size=3), material=material,
            )
        )  # fmt: skip
        top += 2.0 * reach + 0.01
    return scene


UNITS = {
    "length": lambda k: (2.0**k, 1.0, 1.0),
    "time": lambda k: (1.0, 2.0**k, 1.0),
    "mass": lambda k: (1.0, 1.0, 2.0**k),
}


def of_scale(
    number: int, law: Any, units: tuple[float, float, float], limit: int
) -> tuple[Any, Array, Array]:
    """How a run ended, the times of its events and all states after them, in the units of the first."""
    length, pace, heaviness = units
    scene = scaled(number, length, pace, heaviness, 1.0 if law.honours_restitution else 0.0)
    trajectory = Simulator(scene, law, seed=number, event_limit=limit).run(0.7 / pace)
    times = np.asarray(trajectory.event_times)
    state = trajectory.sample(times) if len(times) else trajectory.sample(np.zeros(1))
    states = np.concatenate(
        [
            state.position / length,
            state.orientation,
            state.velocity / (length * pace),
            state.angular_velocity / pace,
        ],
        axis=-1,
    )
    return trajectory.status.value, pace * times, states


def scaling(count: int) -> Iterator[dict[str, Any]]:
    """Runs in other units beside the first."""
    for name, law in LAWS.items():
        same = runs = 0
        for number in range(count or 23):
            own = of_scale(number, law(), (1.0, 1.0, 1.0), 3000)
            for what, of in UNITS.items():
                for k in (-10, 10):
                    other = of_scale(number, law(), of(k), 3000)
                    runs += 1
                    shared = min(len(own[1]), len(other[1]))
                    equal = (own[1][:shared] == other[1][:shared]) & (
                        own[2][:shared] == other[2][:shared]
                    ).reshape(shared, -1).all(axis=1)
                    if own[0] == other[0] and len(own[1]) == len(other[1]) and equal.all():
                        same += 1
                    else:
                        yield {
                            "law": name, "scene": number, "unit": what, "power": k, "ended": [own[0], other[0]],
                            "events": [len(own[1]), len(other[1])],
                            "first that differs": int(np.argmin(equal)) if not equal.all() else shared,
                        }  # fmt: skip
        yield {"law": name, "runs": runs, "the same to the bit": same}


# -- halving -----------------------------------------------------------------------------------------------


def halving(count: int) -> Iterator[dict[str, Any]]:
    """Eight boxes: copies that go on with implicit steps half as long, until the next impact of either."""
    for law, restitution in ((carom.MaximumDissipation(), 0.0), (carom.StrongeCoulomb(), 0.1)):
        simulator = Simulator(heaped(8, restitution), law)
        worst, compared, longest = 0.0, 0, 0.0
        for until in np.linspace(0.1, 0.7, count or 60):
            simulator.run(float(until))
            if simulator.time < until:
                break
            one, other = simulator.copy(), simulator.copy()
            other._run.world.header["longest_implicit_step"] *= 0.5
            ends = []
            for each in (one, other):
                known = len(each.trajectory.events)
                each.run(float(until) + 0.02)
                impacts = (
                    event.time for event in each.trajectory.events[known:] if event.kind == EventKind.IMPACT
                )
                ends.append(next(impacts, each.trajectory.end_time))
            at = min(ends)
            states = [each.trajectory.sample(at, side="left") for each in (one, other)]
            apart = float(np.linalg.norm(states[0].position - states[1].position, axis=1).max())
            worst, compared, longest = max(worst, apart), compared + 1, max(longest, at - until)
        yield {"law": law.name, "intervals": compared, "longest [s]": longest, "moved by [m]": worst}


SECTIONS = {"throws": throws, "slides": slides, "scaling": scaling, "halving": halving}


def main() -> None:
    """Measure, and print a line of JSON a finding; the last of each part sums it up."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)} (all)")
    parser.add_argument("--count", type=int, default=0, help="scenes of a section (200, 20, 23 and 60)")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"sections: expected some of {', '.join(SECTIONS)}, got {', '.join(sorted(unknown))}")
    console = Console(width=150)
    for name in options.sections or SECTIONS:
        begin = time.process_time()
        for row in SECTIONS[name](options.count):
            console.print(json.dumps(row), soft_wrap=True, markup=False)
        console.print(f"{name}: {time.process_time() - begin:.0f} s of processor time")


if __name__ == "__main__":
    main()
