"""Time and error of one impact with Coulomb friction and energetic restitution, beside other ways to solve it.

One seeded random set of two-body impacts serves every row, in one run; compile time is not counted. Errors
are |I - I_exact|/|I_exact|, exact by the fifty-digit solution of tests/impact_laws/stronge_reference.py on the
first cases. The stepping schemes of Jia & Wang (Euler steps in I_z: equal ones, or by their equation 36) are
compiled too, and clip the step at every event.
"""

import argparse
import importlib.util
import math
import os
import platform
import time
from functools import partial
from pathlib import Path

import numba
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.integrate import solve_ivp

from carom.impact_laws import ImpactProblem, StrongeCoulomb, stronge_kernels

_path = Path(__file__).resolve().parents[1] / "tests" / "impact_laws" / "stronge_reference.py"
_spec = importlib.util.spec_from_file_location("stronge_reference", _path)
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)


def random_set(count, seed):
    rng = np.random.default_rng(seed)
    W, u = (np.array(x) for x in zip(*(reference.random_two_body(rng) for _ in range(count)), strict=True))
    return W, u, rng.uniform(0.02, 1.5, size=count), rng.uniform(0, 1, size=count)


@numba.njit(error_model="numpy")
def kernel_loop(W, u, mu, e, repeats, impulses):
    T, stages, codes = np.empty((5, stronge_kernels.ORDER + 2)), np.empty((3, 3)), np.empty(3, np.int64)
    steps = 0
    for _ in range(repeats):
        for i in range(len(u)):
            _, events, made, _, _ = stronge_kernels.stronge_impact(W[i], u[i], mu[i], e[i], T, stages, codes)
            steps += made
            for k in range(3):
                impulses[i, k] = stages[events - 1, k]
    return steps


@numba.njit(error_model="numpy")
def paper_stepping(W, u, mu, e, fixed, h1, h2, closed, impulse):
    """Euler in I_z: steps of `fixed`, or where that is 0 of equation 36 with its share 0.5; returns steps.

    With `closed`, the closed form takes over once slip is within a step of zero; without, it is stepped on.
    """
    wn, d1, d2 = W[0, 0], W[0, 1], W[0, 2]
    b11, b12, b22 = W[1, 1], W[1, 2], W[2, 2]
    vz, x, y = u[0], u[1], u[2]
    q1, q2 = stronge_kernels.sticking_direction(b11, b12, b22, d1, d2)
    sticks = q1 * q1 + q2 * q2 <= mu * mu
    if not sticks:
        s1, s2 = stronge_kernels.centrifugal_direction(b11, b12, b22, d1, d2, mu)
        q1, q2 = -mu * s1, -mu * s2
    jx = jy = jz = work = compression = target = 0.0
    restoring = stopped = False
    steps = 0
    while steps < 100000000:
        steps += 1
        slip = math.sqrt(x * x + y * y)
        if stopped or slip == 0.0:
            stopped = True
            f1, f2, g1, g2 = q1, q2, 0.0, 0.0
            h = 1e300 if closed else fixed
        else:
            c, s = x / slip, y / slip
            f1, f2 = -mu * c, -mu * s
            g1, g2 = b11 * f1 + b12 * f2 + d1, b12 * f1 + b22 * f2 + d2
            speed = math.sqrt(g1 * g1 + g2 * g2)
            h = fixed
            if fixed == 0.0:
                # curvature from γ'' = -μ B (γ' across γ) / |γ|
                turn = (c * g2 - s * g1) / slip
                t1, t2 = -s * turn, c * turn
                k1, k2 = -mu * (b11 * t1 + b12 * t2), -mu * (b12 * t1 + b22 * t2)
                bend = abs(g1 * k2 - g2 * k1) / (speed * speed)  # |κ||γ'|
                h = 0.5 * h1 / speed + 0.5 * h2 / max(bend, 1e-3)
            along = c * g1 + s * g2
            if along < 0.0 and slip <= -along * h:  # stops within this step
                h = -slip / along
                stopped = True
        rate = wn + d1 * f1 + d2 * f2
        ends = False
        if not restoring:
            if vz + rate * h >= 0.0:
                h = -vz / rate
                ends = True
        else:
            left = target - work
            square = vz * vz + 2.0 * rate * left
            if square >= 0.0:
                root = 2.0 * left / (vz + math.sqrt(square))
                if root <= h:
                    h = root
                    ends = True
        work_made = (vz + 0.5 * rate * h) * h
        jx += h * f1
        jy += h * f2
        jz += h
        vz += rate * h
        x += h * g1
        y += h * g2
        if stopped:
            x = y = 0.0
        if not restoring:
            compression -= work_made
            if ends:
                restoring = True
                vz = 0.0
                target = e * e * compression
                work = 0.0
                ends = target <= 0.0
        else:
            work += work_made
        if restoring and ends:
            break
    impulse[0], impulse[1], impulse[2] = jz, jx, jy
    return steps


@numba.njit(error_model="numpy")
def paper_loop(W, u, mu, e, fixed, h1, h2, closed, repeats, impulses):
    steps = 0
    for _ in range(repeats):
        for i in range(len(u)):
            steps += paper_stepping(W[i], u[i], mu[i], e[i], fixed, h1, h2, closed, impulses[i])
    return steps


def scipy_impact(W, u, mu, e, rtol):
    """DOP853 over I_z with event functions for the stop of slip, the end of compression and of restitution."""
    wn, d, B = W[0, 0], W[0, 1:], W[1:, 1:]
    stick = -np.linalg.solve(B, d)
    if stick @ stick > mu * mu:
        c, s = stronge_kernels.centrifugal_direction(B[0, 0], B[0, 1], B[1, 1], d[0], d[1], mu)
        stick = -mu * np.array([c, s])
    y = np.array([u[1], u[2], u[0], 0.0, 0.0, 0.0])  # slip, normal velocity, I_x, I_y, work
    floor = 1e-11 * np.linalg.norm(u)
    at, slipping, target = 0.0, bool(mu and np.hypot(u[1], u[2])), None

    def rates(_, y):
        tangential = -mu * y[:2] / np.hypot(y[0], y[1]) if slipping else stick
        gamma = B @ tangential + d if slipping else np.zeros(2)
        return np.array([*gamma, wn + d @ tangential, *tangential, -y[2]])

    def stops(_, y):
        return np.hypot(y[0], y[1]) - floor

    def compressed(_, y):
        return y[2]

    def restored(_, y):
        return y[5] - target

    while True:
        watched = ([stops] if slipping else []) + [compressed if target is None else restored]
        for event in watched:
            event.terminal = True
            event.direction = 1 if event is compressed else -1
        end = at + 1000.0 * abs(u[0]) / wn
        first = None if slipping else -u[0] / wn
        solved = solve_ivp(
            rates, (at, end), y, "DOP853", events=watched, rtol=rtol, atol=rtol * 1e-3 * np.linalg.norm(u),
            first_step=first,
        )  # fmt: skip
        at, y = solved.t[-1], solved.y[:, -1]
        fired = next(event for event, t in zip(watched, solved.t_events, strict=True) if len(t))
        if fired is stops:
            slipping = False
            y[:2] = 0.0
        elif fired is compressed:
            y[2] = 0.0
            target = (1 - e * e) * y[5]
            if e == 0.0:
                break
        else:
            break
    return np.array([at, y[3], y[4]])


def timed(function, rounds):
    """Seconds of the fastest of some rounds: the machine is shared."""
    best = math.inf
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def slowest_case(loop, impacts, settings, impulses):
    """Seconds of a compiled loop over the one case that takes longest."""
    cases = [slice(i, i + 1) for i in range(len(impulses))]
    return max(timed(partial(loop, *(x[i] for x in impacts), *settings, impulses[i]), 3) for i in cases)


def per_case(function, count, rounds):
    """Fastest seconds of every case over the rounds."""
    best = np.full(count, np.inf)
    for _ in range(rounds):
        for i in range(count):
            start = time.perf_counter()
            function(i)
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def paper_table():
    """Iterations and error of the paper's table 1, as printed and here, where the exact answer is known."""
    order = np.ix_([2, 0, 1], [2, 0, 1])
    icosahedron = [
        [11.5984, -0.910367, 2.442355],
        [-0.910367, 9.90134, 1.957465],
        [2.442355, 1.957465, 2.59042],
    ]
    pin = [
        [1.55465, 0.002386755, -0.360808],
        [0.002386755, 5.15191, -0.00313296],
        [-0.360808, -0.00313296, 1.105],
    ]
    instances = {
        "icosahedron, tetrahedron": (icosahedron, [-0.07717411, -0.26197634, 0.38632873], 0.8, 0.95),
        "pin, ball": (pin, [-1.506903, -0.20691338, 0.11765509], 0.7, 0.7),
    }
    # fixed step, closed form, and the printed iterations and error
    printed = {
        "icosahedron, tetrahedron": [
            ("NI", 0.00095, False, "107", "8.8e-04"),
            ("FS", 0.001, True, "69", "1.1e-03"),
            ("VS", 0.0, True, "29", "1.1e-03"),
        ],
        "pin, ball": [
            ("NI", 0.001, False, "2586", "1.4e-03"),
            ("FS", 0.002, True, "83", "6.0e-05"),
            ("VS", 0.0, True, "29", "5.7e-05"),
        ],
    }
    table = Table(title="Table 1 of Jia & Wang: error is |I - I_exact| [N s]")
    titles = "impact", "scheme", "iterations, paper", "iterations", "error, paper", "error", "µs"
    for title in titles:
        table.add_column(title, justify="left" if title in ("impact", "scheme") else "right")
    for name, (W, u, mu, e) in instances.items():
        W, u = np.array(W)[order], np.array(u)
        exact = np.array([float(x) for x in reference.reference_impact(W, u, mu, e).impulse])
        found = np.empty((1, 3))
        case = W[None], u[None], np.array([mu]), np.array([e])
        for scheme, fixed, closed, iterations, error in printed[name]:
            setting = fixed, 0.01, 0.01, closed
            steps = paper_loop(*case, *setting, 1, found)
            seconds = timed(partial(paper_loop, *case, *setting, 100, found), 5) / 100
            here = f"{np.linalg.norm(found - exact):.1e}"
            table.add_row(name, scheme, iterations, str(steps), error, here, f"{1e6 * seconds:.2f}")
        steps = kernel_loop(*case, 1, found)
        seconds = timed(partial(kernel_loop, *case, 100, found), 5) / 100
        here = f"{np.linalg.norm(found - exact):.1e}"
        table.add_row(name, "carom", "", str(steps), "", here, f"{1e6 * seconds:.2f}", end_section=True)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=200, help="impacts with a known exact answer (200)")
    parser.add_argument("--scipy-cases", type=int, default=30, help="impacts solved by scipy (30)")
    parser.add_argument("--batch", type=int, default=1_000_000, help="impacts in resolve_many (1000000)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    count = arguments.cases
    W, u, mu, e = random_set(count, arguments.seed)
    console = Console(width=130)
    exact = np.array(
        [
            [float(x) for x in reference.reference_impact(*case).impulse]
            for case in zip(W, u, mu, e, strict=True)
        ]
    )
    table = Table(title=f"{count} random two-body impacts, seed {arguments.seed}")
    for title in ("method", "mean µs", "worst µs", "impacts/s", "steps", "max error", "median error"):
        table.add_column(title, justify="left" if title == "method" else "right")

    def row(method, mean, worst, steps, impulses):
        errors = ("", "")
        if impulses is not None:
            relative = np.linalg.norm(impulses - exact[: len(impulses)], axis=1)
            relative /= np.linalg.norm(exact[: len(impulses)], axis=1)
            errors = f"{relative.max():.1e}", f"{np.median(relative):.1e}"
        table.add_row(
            method,
            f"{1e6 * mean:.2f}" if mean < 1e-3 else f"{1e6 * mean:.0f}",
            "" if worst is None else f"{1e6 * worst:.1f}" if worst < 1e-3 else f"{1e6 * worst:.0f}",
            f"{1 / mean:,.0f}",
            "" if steps is None else f"{steps:.1f}",
            *errors,
        )

    impulses = np.empty((count, 3))
    kernel_loop(W, u, mu, e, 1, impulses)
    steps = kernel_loop(W, u, mu, e, 1, impulses) / count
    mean = timed(lambda: kernel_loop(W, u, mu, e, 20, impulses), 5) / 20 / count
    slowest = slowest_case(kernel_loop, (W, u, mu, e), (200,), impulses) / 200
    row("kernel, compiled loop", mean, slowest, steps, impulses)

    T, codes = np.empty((5, stronge_kernels.ORDER + 2)), np.empty(3, np.int64)
    stages = np.empty((count, 3, 3))
    found = np.empty((count, 3))

    def call(i):
        _, events, _, _, _ = stronge_kernels.stronge_impact(W[i], u[i], mu[i], e[i], T, stages[i], codes)
        found[i] = stages[i, events - 1]

    call(0)
    seconds = per_case(call, count, 20)
    row("kernel, one call from Python", seconds.mean(), seconds.max(), steps, found)

    law = StrongeCoulomb()
    problems = [ImpactProblem(*case) for case in zip(W, u, mu, e, strict=True)]
    found = np.array([law.resolve(problem).impulse for problem in problems])
    seconds = per_case(lambda i: law.resolve(problems[i]), count, 20)
    row("law.resolve(problem)", seconds.mean(), seconds.max(), steps, found)
    seconds = per_case(lambda i: ImpactProblem(W[i], u[i], mu[i], e[i]), count, 10)
    row("making the ImpactProblem of it", seconds.mean(), seconds.max(), None, None)

    repeats = max(1, arguments.batch // count)
    big = [np.concatenate([x] * repeats) for x in (W, u, mu, e)]
    law.resolve_many(*big)
    threads = numba.get_num_threads()
    for number in sorted({1, threads}):
        numba.set_num_threads(number)
        mean = timed(lambda: law.resolve_many(*big), 3) / (repeats * count)
        row(f"law.resolve_many of {repeats * count:,}, {number} thread(s)", mean, None, steps,
            law.resolve_many(W, u, mu, e).impulse)  # fmt: skip
    numba.set_num_threads(threads)

    few = min(arguments.scipy_cases, count)
    for rtol in (1e-8, 1e-11):
        found = np.empty((few, 3))

        def call_scipy(i, rtol=rtol, found=found):
            found[i] = scipy_impact(W[i], u[i], mu[i], e[i], rtol)

        seconds = per_case(call_scipy, few, 1)
        row(f"scipy DOP853, rtol {rtol:g}, {few} cases", seconds.mean(), seconds.max(), None, found)

    schemes = [
        (f"Euler, steps of {h:g}, {word}", h, 0.0, closed)
        for h in (1e-2, 1e-3)
        for closed, word in ((False, "to the end"), (True, "closed form"))
    ]
    schemes += [(f"Euler, equation 36, h1 = h2 = {h:g}", 0.0, h, True) for h in (1e-2, 1e-3, 1e-4)]
    for name, fixed, h, closed in schemes:
        found = np.empty((count, 3))
        setting = fixed, h, h, closed
        steps = paper_loop(W, u, mu, e, *setting, 1, found) / count
        repeats = max(1, int(2e6 / (steps * count)))
        mean = timed(partial(paper_loop, W, u, mu, e, *setting, repeats, found), 3) / repeats / count
        slowest = slowest_case(paper_loop, (W, u, mu, e), (*setting, 5), found) / 5
        row(name, mean, slowest, steps, found)
    console.print(table)
    console.print(paper_table())
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}; times are the fastest of several rounds."
    )


if __name__ == "__main__":
    main()
