"""Linear complementarity problems of random impacts a second on one core: carom's Lemke method beside Siconos'.

Problems are impacts of one rigid body with the ground or of two bodies with each other, in contact at several
points from which one motion separates them all: more contact rows than freedoms, contacts that coincide, velocities
that tie. Both solvers get the same M and q in one run. carom is timed inside a compiled loop. Siconos (Debian
package python3-siconos, run by the system's Python; without it its columns stay empty) is timed by calls from
Python, less the time of the same call on a problem of that size with q > 0, which needs no pivot. Both are timed on
the first problems that Siconos solves, since those that it fails take it far longer. An answer counts as failed
when the solver reports no solution or when the largest |min(z, w)| of the scaled problem, with unit diagonals and
max |q| = 1, is above 1e-8; unnoticed are those failures of Siconos that it reports as solved.
"""

import argparse
import inspect
import json
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from carom.impact_laws import lcp_kernels, routh_kernels
from carom.impact_laws.anitescu_potra import edge_directions

FAILED = 1e-8

# contacts, dimension, edges of a friction cone, friction (None: drawn), and whether random bounds hold the normal
# impulses, as in a step of the set-valued law
KINDS = {
    "planar, 2 contacts": (2, 2, 2, None, False),
    "planar, 2 contacts, friction 1e5": (2, 2, 2, 1e5, False),
    "planar, 2 contacts, bounded impulses": (2, 2, 2, None, True),
    "planar, 5 contacts": (5, 2, 2, None, False),
    "spatial, 4 contacts, 8 edges": (4, 3, 8, None, False),
}

SICONOS = """
import json, sys, time
import siconos.numerics as sn

def seconds(problems, size, options, rounds):
    z, w = np.zeros(size), np.zeros(size)
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for problem in problems:
            sn.lcp_lexicolemke(problem, z, w, options)
        best = min(best, time.perf_counter() - start)
    return best / len(problems)

folder, rounds, timed, count, failed = sys.argv[1], *map(int, sys.argv[2:5]), float(sys.argv[5])
kinds = []
for kind in range(count):
    M, q = np.load(f"{folder}/M{kind}.npy"), np.load(f"{folder}/q{kind}.npy")
    size = q.shape[1]
    options = sn.SolverOptions(sn.SICONOS_LCP_LEMKE)
    options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 50 * size + 100
    z, w, info = np.zeros(q.shape), np.zeros(size), np.zeros(len(q), dtype=int)
    for k in range(len(q)):
        info[k] = sn.lcp_lexicolemke(sn.LCP(M[k], q[k]), z[k], w, options)
    solved = (info == 0) & (scaled_residuals(M, q, z) <= failed)
    chosen = np.flatnonzero(solved)[:timed].tolist()
    problems = [sn.LCP(M[k], q[k]) for k in chosen]
    trivial = [sn.LCP(M[k], np.ones(size)) for k in chosen]
    overhead = seconds(trivial, size, options, rounds)
    spent = seconds(problems, size, options, rounds) - overhead
    wrong = int(np.count_nonzero(~solved))
    unnoticed = int(np.count_nonzero((info == 0) & ~solved))
    kinds.append({"seconds": spent, "overhead": overhead, "failed": wrong, "unnoticed": unnoticed, "timed": chosen})
json.dump(kinds, open(f"{folder}/kinds.json", "w"))
"""


def random_impact(rng: np.random.Generator, contacts: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """W (dim nc, dim nc) and the contact velocities u (dim nc,) of an impact with at least one approach."""
    while True:
        point = rng.normal(size=(contacts, 3))
        if rng.random() < 0.5:  # as the corners of boxes: levers that are equal or zero
            point = np.round(2.0 * point) / 2.0
        frame = np.linalg.qr(rng.normal(size=(contacts, 3, 3)))[0]
        if dim == 2:  # in the plane x, y: a random normal and its tangent
            point[:, 2] = 0.0
            angle = rng.uniform(0.0, 2.0 * np.pi, size=contacts)
            frame = np.zeros((contacts, 3, 3))
            frame[:, 0, :2] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
            frame[:, 1, :2] = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
        if rng.random() < 0.3:  # on one face
            frame[:] = frame[0]
        if rng.random() < 0.15:
            point[-1], frame[-1] = point[0], frame[0]
        mobile = [0, 1, 5] if dim == 2 else [0, 1, 2, 3, 4, 5]
        arms = [point] if rng.random() < 0.5 else [point, point - 1.5 * frame[0, 0]]
        parts = [
            np.concatenate([frame, np.cross(arm[:, None], frame)], axis=2)[:, :dim, mobile] for arm in arms
        ]
        J = np.concatenate([sign * part for sign, part in zip((1, -1), parts, strict=False)], axis=2)
        mass = np.repeat(10.0 ** rng.uniform(-1, 1, size=len(arms)), len(mobile))
        mass[np.tile(np.array(mobile) > 2, len(arms))] *= 0.4
        separating = rng.normal(size=mass.size)
        J[J[:, 0] @ separating < 0.0, 0] *= -1.0
        J = J.reshape(contacts * dim, mass.size)
        v = rng.normal(size=mass.size) - separating
        if rng.random() < 0.2:
            v = np.round(v)
        u = J @ v
        if u[::dim].min() < -1e-3:
            W = (J / mass) @ J.T
            return 0.5 * (W + W.T), u


def random_problems(count: int, kind: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """M (count, size, size) and q (count, size) of one entry of `KINDS`."""
    contacts, dim, edges, given, bounded = list(KINDS.values())[kind]
    rng = np.random.default_rng([seed, kind])
    directions = edge_directions(dim, edges)
    size = contacts * (len(directions) + 2 + bounded)
    M, q = np.empty((count, size, size)), np.empty((count, size))
    for k in range(count):
        W, u = random_impact(rng, contacts, dim)
        friction = rng.choice([0.1, 0.5, 1.0, 3.0], size=contacts)
        if given is not None:
            friction[:] = given
        if bounded:
            bounds = rng.random(contacts) * max(-u[::dim]) / W.diagonal()[::dim]
            routh_kernels.assemble_step(W, friction, directions, M[k], q[k])
            routh_kernels.fill_step(u, friction, directions, bounds, q[k])
        else:
            lcp_kernels.assemble_impact_lcp(W, u, friction, directions, M[k], q[k])
    return M, q


@numba.njit(error_model="numpy")
def solve_all(M, q, z, statuses, restarts, pivots):
    """Solve every problem once."""
    for k in range(len(q)):
        statuses[k], pivots[k], restarts[k], _ = lcp_kernels.solve_lcp_kernel(M[k], q[k], z[k])


def scaled_residuals(M: np.ndarray, q: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Largest |min(z, w)| of each problem (count,) with unit diagonals, unit couplings of rows without one, and
    max |q| = 1."""
    diagonal = np.abs(np.diagonal(M, axis1=1, axis2=2))
    bare = diagonal <= 1e-12 * np.abs(M).max(axis=(1, 2))[:, None]
    row = np.where(bare, 0.0, 1.0 / np.sqrt(np.where(bare, 1.0, diagonal)))
    column = row.copy()
    row[bare] = 1.0 / np.abs(M * column[:, None, :]).max(axis=2)[bare]
    column[bare] = 1.0 / np.abs(M * np.where(bare, 0.0, row)[:, :, None]).max(axis=1)[bare]
    w = q + np.einsum("kij,kj->ki", M, z)
    return np.abs(np.minimum(z / column, row * w)).max(axis=1) / np.abs(row * q).max(axis=1)


def fastest(problems: tuple[np.ndarray, ...], rounds: int) -> float:
    """Seconds a problem of the fastest round: the machine may be shared."""
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        solve_all(*problems)
        best = min(best, time.perf_counter() - start)
    return best / len(problems[1])


def peer(problems: list[tuple[np.ndarray, np.ndarray]], rounds: int, timed: int) -> list[dict]:
    """Siconos' seconds, overhead, failures and timed problems of each kind; empty where the system's Python has no
    Siconos."""
    with tempfile.TemporaryDirectory() as folder:
        for kind, (M, q) in enumerate(problems):
            np.save(f"{folder}/M{kind}.npy", M)
            np.save(f"{folder}/q{kind}.npy", q)
        script = "import numpy as np\n" + inspect.getsource(scaled_residuals) + SICONOS
        arguments = [folder, *(str(number) for number in (rounds, timed, len(problems), FAILED))]
        run = subprocess.run(
            ["/usr/bin/python3", "-c", script, *arguments], capture_output=True, text=True, check=False
        )
        if run.returncode:
            Console().print(f"Siconos did not run: {run.stderr.strip().splitlines()[-1]}")
            return []
        return json.loads((Path(folder) / "kinds.json").read_text())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=12_000, help="problems of each kind (12000)")
    parser.add_argument("--timed", type=int, default=500, help="how many of them are timed (500)")
    parser.add_argument("--rounds", type=int, default=50, help="rounds, the fastest counts (50)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    timed = min(options.timed, options.problems)
    problems = [random_problems(options.problems, kind, options.seed) for kind in range(len(KINDS))]
    theirs = peer(problems, options.rounds, timed)
    table = Table(title=f"{options.problems:,} problems of each kind, seed {options.seed}")
    titles = "size", "pivots", "carom µs", "a second", "restarts", "failed", "worst residual"
    for title in ("problem", *titles, "Siconos µs", "a second", "call µs", "failed", "unnoticed"):
        table.add_column(title, justify="left" if title == "problem" else "right")
    for kind, (title, (M, q)) in enumerate(zip(KINDS, problems, strict=True)):
        z, counts = np.empty(q.shape), np.empty((3, len(q)), dtype=np.int64)
        statuses, restarts, pivots = counts
        solve_all(M, q, z, *counts)
        residuals = scaled_residuals(M, q, z)
        failed = np.count_nonzero((statuses != lcp_kernels.SOLVED) | ~(residuals <= FAILED))
        chosen = theirs[kind]["timed"] if theirs else np.arange(timed)
        few = M[chosen], q[chosen], z[chosen], *counts[:, chosen]
        seconds = fastest(few, options.rounds)
        row = [title, str(q.shape[1]), f"{pivots.mean():.1f}", f"{1e6 * seconds:.2f}", f"{1 / seconds:,.0f}"]
        row += [str(restarts.sum()), str(failed), f"{residuals.max():.0e}"]
        if theirs:
            answer = theirs[kind]
            spent, failed = answer["seconds"], answer["failed"]
            row += [f"{1e6 * spent:.2f}", f"{1 / spent:,.0f}", f"{1e6 * answer['overhead']:.2f}"]
            row += [f"{failed} ({100 * failed / len(q):.2g} %)", str(answer["unnoticed"])]
        table.add_row(*row)
    console = Console(width=160)
    console.print(table)
    console.print(
        f"{platform.machine()}, one core, Python {platform.python_version()}, numpy {np.__version__}, "
        f"numba {numba.__version__}; times are the fastest of {options.rounds} rounds."
    )


if __name__ == "__main__":
    main()
