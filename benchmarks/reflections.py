"""Time of one elastic impact by reflections: the compiled kernel beside the same law in plain numpy, in one run.

The kernel runs inside a compiled loop, as a compiled simulation would call it; compile time is not counted. The
baseline "plain numpy" is the same law as a Python loop over numpy arrays, and must reflect the same contacts.
"""

import argparse
import math
import os
import platform
import time
from collections.abc import Callable

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from carom.impact_laws import ImpactProblem, SequentialReflection, reflection_kernels

TARGET = {"two contacts, unequal balls": 1.0, "rack break": 10.0}  # microseconds


def two_contacts() -> ImpactProblem:
    """Balls of mass 1, 2, 3 in a row, the first moving."""
    J = np.zeros((4, 3))
    J[0], J[2] = [-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]
    return ImpactProblem.from_generalized(
        np.diag([1.0, 2.0, 3.0]), J, [1.0, 0.0, 0.0], restitution=1.0, dim=2
    )


def rack_break(rows: int) -> ImpactProblem:
    """A triangle of touching balls (five rows are 15) whose tip the cue ball hits straight."""
    centres = np.array(
        [(-2.0, 0.0)] + [(math.sqrt(3.0) * row, 2.0 * k - row) for row in range(rows) for k in range(row + 1)]
    )
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)
    pairs = np.argwhere(np.triu(np.abs(apart - 2.0) < 1e-9))
    J = np.zeros((2 * len(pairs), centres.size))
    for contact, (i, j) in enumerate(pairs.tolist()):
        normal = 0.5 * (centres[j] - centres[i])
        for row, direction in enumerate((normal, np.array([-normal[1], normal[0]]))):
            J[2 * contact + row, 2 * i : 2 * i + 2] = -direction
            J[2 * contact + row, 2 * j : 2 * j + 2] = direction
    velocity = np.zeros(centres.size)
    velocity[0] = 1.0
    return ImpactProblem.from_generalized(0.17 * np.eye(centres.size), J, velocity, restitution=1.0, dim=2)


@numba.njit(error_model="numpy")
def kernel_loop(N, before, scale, threshold, order, visits, repeats, velocity, sequence):
    made = 0
    for _ in range(repeats):
        velocity[:] = before
        made, _ = reflection_kernels.reflect(N, velocity, scale, threshold, order, visits, 1, sequence)
    return made


def plain_numpy(N, before, scale, threshold, order, visits):
    """The law as it is described: (normal velocities after, sequence)."""
    velocity, sequence, turn = before.copy(), [], 0
    while True:
        measure = velocity / scale
        approaching = measure < threshold
        if not approaching.any():
            return velocity, sequence
        if order == reflection_kernels.MOST_APPROACHING:
            contact = int(np.argmin(measure))
        elif order == reflection_kernels.LEAST_APPROACHING:
            contact = int(np.argmax(np.where(approaching, measure, -np.inf)))
        else:
            while not approaching[visits[turn % len(visits)]]:
                turn += 1
            contact = int(visits[turn % len(visits)])
            turn += 1
        approach = velocity[contact]
        velocity += -2.0 * approach / N[contact, contact] * N[contact]
        velocity[contact] = -approach
        sequence.append(contact)


def per_call(function: Callable[[int], object], repeats: int, rounds: int = 7) -> float:
    """Microseconds a call in the fastest of some rounds of a function that takes the number of calls."""
    best = math.inf
    for _ in range(rounds):
        start = time.perf_counter()
        function(repeats)
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / repeats


def called(function: Callable, *arguments: object) -> Callable[[int], None]:
    def calls(repeats: int) -> None:
        for _ in range(repeats):
            function(*arguments)

    return calls


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10000, help="impacts in one compiled loop (10000)")
    parser.add_argument("--rows", type=int, default=5, help="rows of balls in the rack (5)")
    options = parser.parse_args()
    table = Table(title="One elastic impact, frictionless")
    for title in ("problem", "contacts", "order", "reflections", "kernel", "target", "plain numpy", "ratio",
                  "difference", "law.resolve"):  # fmt: skip
        table.add_column(title, justify="left" if title in ("problem", "order") else "right")
    for name, problem in zip(TARGET, (two_contacts(), rack_break(options.rows)), strict=True):
        N = np.ascontiguousarray(problem.W[:: problem.dim, :: problem.dim])
        before = np.ascontiguousarray(problem.normal_velocity)
        visits, velocity = np.arange(before.size), np.empty(before.size)
        sequence = np.empty(10000, dtype=np.int64)
        for word, order in (
            ("most_approaching", reflection_kernels.MOST_APPROACHING),
            ("least_approaching", reflection_kernels.LEAST_APPROACHING),
            ("cyclic", reflection_kernels.VISITS),
        ):
            given = N, before, problem.kinetic_scale_array, problem.approach_threshold, order, visits
            made = kernel_loop(*given, 1, velocity, sequence)
            after, plain = plain_numpy(*given)
            if plain != sequence[:made].tolist():
                raise RuntimeError(f"{name}, {word}: plain numpy reflects other contacts than the kernel")

            def loop(repeats, given=given, velocity=velocity, sequence=sequence):
                kernel_loop(*given, repeats, velocity, sequence)

            kernel = per_call(loop, options.repeats)
            baseline = per_call(called(plain_numpy, *given), max(1, options.repeats // 100))
            law = SequentialReflection(order=word)
            law.resolve(problem)
            whole = per_call(called(law.resolve, problem), max(1, options.repeats // 100))
            table.add_row(
                name,
                str(before.size),
                word,
                str(made),
                f"{kernel:.3f} µs",
                f"{TARGET[name]:g} µs",
                f"{baseline:.1f} µs",
                f"{baseline / kernel:.0f}",
                f"{np.abs(after - velocity).max():.0e} m/s",
                f"{whole:.1f} µs",
            )
    console = Console(width=150)
    console.print(table)
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"numpy {np.__version__}, numba {numba.__version__}; times are the fastest of several rounds."
    )


if __name__ == "__main__":
    main()
