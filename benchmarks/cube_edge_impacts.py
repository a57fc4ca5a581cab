"""Measured impacts of a cube on one of its edges, beside the sets of outcomes of `SetValuedRouth`.

    python benchmarks/cube_edge_impacts.py PATH/cube_tosses.npz

The tosses (ContactNets: Pfrommer, Halm, Posa 2020; 148 frames a second) are cut into flights. Ballistic motion is
fitted to each with the centre of mass off the centre of the cube; where at most five frames lie between two
flights, one impact lies there. The centre of mass and the ratio of inertia to mass are found first, from impacts of
single corners and without a law: they make the change of velocity one that an impulse at that corner can give.
Friction and restitution are the median of those impacts, or the interval between their 10 and 90 percent quantiles.
Where at the impact an edge is parallel to the table within 8 mm (4 degrees) and no other corner is near, both its
ends are contacts. Printed for each way of drawing:

covered     share of edge impacts with a sample within E = 0.05 m/s, E² = |Δv|² + (0.05 m)² |Δω|²
admissible  share of outcomes within E = 0.05 m/s of a sample, among all that a law could give: impulses drawn
evenly
            in the largest friction cones, kept where nothing approaches after it and no energy is gained. A set
            that covers measurements by being large covers many of these too
"""

import argparse
import time
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import least_squares
from scipy.spatial import KDTree
from scipy.spatial.transform import Rotation

import carom

Array = np.ndarray
RATE, GRAVITY, MASS, HALF = 148.0, np.array([0.0, 0.0, -9.81]), 0.37, 0.0524
CORNERS = HALF * np.array(list(product((-1.0, 1.0), repeat=3)))
NEAR, LEVER = 0.05, 0.05  # m/s, m
TABLE, CLEAR = -1.8e-3, 1.3e-3  # m: height of the corners of cubes at rest, and above it of corners in flight
FEWEST, LONGEST, BETWEEN = 4, 9, 5  # frames of a flight that are used, and most between two
MISFIT, PARALLEL, APART = 2e-3, 8e-3, 12e-3  # m: of a flight; corners at the table together, and apart


@dataclass(frozen=True)
class Window:
    """One impact: rotation (3, 3) at it, velocities before and after of the centre [m/s] and of turning [rad/s],
    world axes, and heights of the corners [m]."""

    rotation: Array
    before: Array
    after: Array
    spin_before: Array
    spin_after: Array
    heights: Array


def fitted(frames: Array, centre: Array, moment: float) -> tuple[Array, Array, Rotation, float]:
    """Velocity of the centre of mass and spin of a flight, both at a time [frames from its first], the rotation
    then, and the largest misfit [m]."""
    turns = Rotation.from_quat(frames[:, [4, 5, 6, 3]])
    times = np.arange(len(frames)) / RATE
    middle = turns[len(frames) // 2]
    logs = (turns * middle.inv()).as_rotvec()
    design = np.column_stack([np.ones_like(times), times])
    line = np.linalg.lstsq(design, logs, rcond=None)[0]
    mass_centre = frames[:, :3] + turns.apply(centre)
    free = mass_centre - 0.5 * times[:, None] ** 2 * GRAVITY
    path = np.linalg.lstsq(design, free, rcond=None)[0]
    misfit = max(np.abs(free - design @ path).max(), HALF * np.abs(logs - design @ line).max())
    at = moment / RATE
    rotation = Rotation.from_rotvec(line[0] + line[1] * at) * middle
    return path[1] + GRAVITY * at, line[1], rotation, float(misfit)


def flights(toss: Array) -> list[tuple[int, int]]:
    """Runs of frames (first, last) in which no corner is near the table."""
    turns = Rotation.from_quat(toss[:, [4, 5, 6, 3]])
    lowest = np.array([(r.apply(CORNERS)[:, 2]).min() for r in turns]) + toss[:, 2]
    free = np.concatenate([[False], lowest > TABLE + CLEAR, [False]])
    starts, ends = np.flatnonzero(~free[:-1] & free[1:]), np.flatnonzero(free[:-1] & ~free[1:])
    return list(zip(starts.tolist(), (ends - 1).tolist(), strict=True))


def windows(tosses: list[Array], centre: Array) -> list[Window]:
    """All impacts between two flights of enough frames that are as ballistic as they should be."""
    found = []
    for toss in tosses:
        runs = [run for run in flights(toss) if run[1] - run[0] + 1 >= FEWEST]
        for (first, last), (again, end) in pairwise(runs):
            if again - last - 1 > BETWEEN:
                continue
            begin = max(first, last - LONGEST + 1)
            earlier, later = toss[begin : last + 1], toss[again : min(end, again + LONGEST - 1) + 1]
            moment = 0.5 * (last + again)  # when the corner touches, by the fit, leaves more unexplained
            before, spin_before, rotation, bad = fitted(earlier, centre, moment - begin)
            after, spin_after, _, worse = fitted(later, centre, moment - again)
            if max(bad, worse) > MISFIT:
                continue
            arms = rotation.apply(CORNERS)[:, 2]
            found.append(
                Window(rotation.as_matrix(), before, after, spin_before, spin_after, arms - arms.min())
            )
    return found


def corner_residuals(found: list[Window], centre: Array, gyration: float) -> Array:
    """What no impulse at the lowest corner explains of the change of spin [m/s], for impacts of single corners."""
    rows = []
    for window in found:
        lowest, second = np.sort(window.heights)[:2]
        if second - lowest > APART:
            arm = window.rotation @ (CORNERS[int(np.argmin(window.heights))] - centre)
            change = np.cross(arm, window.after - window.before) / gyration
            rows.append(LEVER * (window.spin_after - window.spin_before - change))
    return np.array(rows)


def calibrated(tosses: list[Array]) -> tuple[Array, float, int, float]:
    """Centre of mass in the cube [m], inertia over mass [m²], and from how many impacts, with which median
    residual."""

    def misfit(x: Array) -> Array:
        rows = corner_residuals(windows_at_centre(x[:3]), x[:3], x[3] * HALF**2)
        return rows.ravel()

    plain = windows(tosses, np.zeros(3))

    def windows_at_centre(centre: Array) -> list[Window]:
        """The same impacts with the velocity of another centre."""
        return [
            Window(
                w.rotation,
                w.before + np.cross(w.spin_before, w.rotation @ centre),
                w.after + np.cross(w.spin_after, w.rotation @ centre),
                w.spin_before, w.spin_after, w.heights,
            )
            for w in plain
        ]  # fmt: skip

    found = least_squares(misfit, [0.0, 0.0, 0.0, 0.67], loss="soft_l1", f_scale=0.02)
    rows = misfit(found.x).reshape(-1, 3)
    return found.x[:3], found.x[3] * HALF**2, len(rows), float(np.median(np.linalg.norm(rows, axis=1)))


def corner_coefficients(found: list[Window], centre: Array) -> tuple[Array, Array]:
    """Ratios of tangential to normal impulse, and of normal velocities, of single corners that hit at 0.3 m/s or
    more: the 10, 50 and 90 percent quantiles of both."""
    ratios = []
    for window in found:
        lowest, second = np.sort(window.heights)[:2]
        arm = window.rotation @ (CORNERS[int(np.argmin(window.heights))] - centre)
        before = window.before[2] + np.cross(window.spin_before, arm)[2]
        after = window.after[2] + np.cross(window.spin_after, arm)[2]
        change = window.after - window.before
        if second - lowest > APART and before < -0.3 and change[2] > 0.0:
            ratios.append((np.hypot(change[0], change[1]) / change[2], -after / before))
    friction, restitution = np.quantile(np.array(ratios), [0.1, 0.5, 0.9], axis=0).T
    return friction, np.clip(restitution, 0.0, 1.0)


def edge_problem(window: Window, centre: Array, gyration: float, friction: Any, restitution: Any) -> Any:
    """The impact at both ends of the lowest edge."""
    ends = np.argsort(window.heights)[:2]
    rows = []
    for end in ends:
        x, y, z = window.rotation @ (CORNERS[end] - centre)
        rows += [[0, 0, 1, y, -x, 0], [1, 0, 0, 0, z, -y], [0, 1, 0, -z, 0, x]]
    inertia = np.diag([MASS] * 3 + [MASS * gyration] * 3)
    velocity = np.concatenate([window.before, window.spin_before])
    return carom.ImpactProblem.from_generalized(
        inertia, rows, velocity, friction=friction, restitution=restitution
    )


def outcome_of(problem: Any, impulses: Array) -> Array:
    """Changes (v, 0.05 m times spin) of the outcomes of impulses (n, 6)."""
    before = problem.velocity_before
    response = np.array([problem.generalized_velocity(one) - before for one in np.eye(6)])
    after = before + impulses @ response
    return after * np.array([1.0] * 3 + [LEVER] * 3)


def unexplained(problem: Any, window: Window) -> float:
    """Distance [m/s] of a measured outcome from the nearest that any impulses at the contacts give, without a
    law."""
    measured = np.concatenate([window.after, LEVER * window.spin_after])
    reached = outcome_of(problem, np.eye(6)) - outcome_of(problem, np.zeros((1, 6)))
    change = measured - outcome_of(problem, np.zeros((1, 6)))[0]
    impulse = np.linalg.lstsq(reached.T, change, rcond=1e-9)[0]
    return float(np.linalg.norm(change - impulse @ reached))


def admissible(problem: Any, friction: float, count: int, seed: int) -> Array:
    """Impulses that leave nothing approaching and gain no energy, drawn evenly in the friction cones."""
    random = np.random.default_rng(seed)
    most = 4.0 * np.abs(problem.normal_velocity).max() / problem.kinetic_scale.min() ** 2
    kept: list[Array] = []
    while sum(map(len, kept)) < count:
        normal = most * random.uniform(size=(200_000, 2))
        angle, size = (
            random.uniform(0.0, 2.0 * np.pi, normal.shape),
            np.sqrt(random.uniform(size=normal.shape)),
        )
        part = friction * normal * size
        draws = np.stack([normal, part * np.cos(angle), part * np.sin(angle)], axis=-1).reshape(-1, 6)
        after = problem.u + draws @ problem.W
        gain = (draws * (problem.u + after)).sum(axis=1)
        kept.append(draws[(after[:, ::3].min(axis=1) >= 0.0) & (gain <= 0.0)])
    return np.concatenate(kept)[:count]


def ways(friction: Array, restitution: Array, step: float) -> dict[str, tuple[Any, Any, Any]]:
    """Laws with friction and restitution, old and new; coefficients by their quantiles."""
    law = carom.SetValuedRouth
    number = friction[1], restitution[1]
    interval = [(friction[0], friction[2])], [(restitution[0], restitution[2])]
    old, new = law(restitution="poisson", rates="independent"), law(step=step, restitution="energetic")
    return {
        "all compression first, bounds anew in every step": (old, *number),
        "all compression first, lasting rates": (law(restitution="poisson"), *number),
        "each contact when it has stopped": (new, *number),
        "all compression first, bounds anew, intervals": (old, *interval),
        "each contact when it has stopped, intervals": (new, *interval),
    }


def main() -> None:
    """Calibrate, find edge impacts, sample, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tosses", help="cube_tosses.npz")
    parser.add_argument("--samples", type=int, default=4096, help="outcomes drawn of each impact")
    parser.add_argument("--admissible", type=int, default=4000, help="admissible outcomes of each impact")
    options = parser.parse_args()
    console = Console(width=140)
    with np.load(options.tosses) as stored:
        tosses = [stored[name] for name in stored.files]
    centre, gyration, corners, residual = calibrated(tosses)
    console.print(
        f"centre of mass ({1e3 * centre[0]:.1f}, {1e3 * centre[1]:.1f}, {1e3 * centre[2]:.1f}) mm off, "
        f"{1e3 * np.linalg.norm(centre):.1f} mm; inertia over mass {gyration:.3e} m², from {corners} impacts of "
        f"single corners, median residual {residual:.3f} m/s"
    )
    slip, rebound = corner_coefficients(windows(tosses, centre), centre)
    console.print(
        f"single corners: friction {slip[0]:.2f}, {slip[1]:.2f}, {slip[2]:.2f}, restitution {rebound[0]:.2f}, "
        f"{rebound[1]:.2f}, {rebound[2]:.2f} (10, 50 and 90 percent)"
    )
    edges: list[Window] = []
    floors: list[float] = []
    for window in windows(tosses, centre):
        lowest, second, third = np.sort(window.heights)[:3]
        if second - lowest < PARALLEL and third - second > APART:
            problem = edge_problem(window, centre, gyration, 0.2, 0.2)
            if problem.normal_velocity.max() < 0.0:
                edges.append(window)
                floors.append(unexplained(problem, window))
    clean = [window for window, floor in zip(edges, floors, strict=True) if floor < 0.5 * NEAR]
    console.print(
        f"{len(edges)} impacts of an edge, both ends approaching, {len(clean)} of them clean: some "
        f"impulses at its ends explain them within {0.5 * NEAR} m/s"
    )
    edges = clean
    table = Table("way", "covered", "nearest sample, median [m/s]", "admissible", "µs a sample")
    for name, (law, friction, restitution) in ways(slip, rebound, 0.01).items():
        distances, shares, spent = [], [], 0.0
        law.sample(edge_problem(edges[0], centre, gyration, friction, restitution), 2)
        for number, window in enumerate(edges):
            problem = edge_problem(window, centre, gyration, friction, restitution)
            begin = time.process_time()
            outcomes = law.sample(problem, options.samples, seed=number)
            spent += time.process_time() - begin
            tree = KDTree(outcome_of(problem, outcomes.impulse[outcomes.resolved]))
            measured = np.concatenate([window.after, LEVER * window.spin_after])
            distances.append(float(tree.query(measured)[0]))
            possible = outcome_of(problem, admissible(problem, 0.25, options.admissible, number))
            shares.append(float(np.mean(tree.query(possible, distance_upper_bound=NEAR)[0] < NEAR)))
        covered = np.array(distances) < NEAR
        table.add_row(
            name, f"{covered.sum()} of {len(covered)}, {100 * covered.mean():.0f} %", f"{np.median(distances):.3f}",
            f"{100 * np.mean(shares):.2f} %", f"{1e6 * spent / len(edges) / options.samples:.0f}",
        )  # fmt: skip
    console.print(table)


if __name__ == "__main__":
    main()
