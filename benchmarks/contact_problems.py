"""Frictional contact problems with many contacts: carom beside Siconos, on the same problems in one run.

Siconos (Debian package python3-siconos) is run by the system's Python; without it its columns stay empty. Both
are judged by carom's measure: the largest distance of a contact's impulse from its one-contact solution given
all others, relative to the largest impulse.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from carom.impact_laws import ImpactProblem, MaximumDissipation, relaxation_kernels
from carom.impact_laws.relaxation import Relaxation, relax_in_parts

SHARED = Path(__file__).parents[2] / "shared" / "data" / "contact_problems.npz"
COULOMB = relaxation_kernels.COULOMB

SICONOS = """
import json, sys, time
import numpy as np
import siconos.numerics as sn
data = np.load(sys.argv[1])
answers = {}
for name in sorted({key.rsplit("/", 1)[0] for key in data.keys()}):
    W, q, mu, dim = (data[name + "/" + part] for part in ("W", "q", "mu", "dim"))
    if int(dim) != 3:
        continue
    problem = sn.FrictionContactProblem(3, len(mu), W, q, mu)
    for solver, code in (("nsgs", sn.SICONOS_FRICTION_3D_NSGS), ("newton", sn.SICONOS_FRICTION_3D_NSN_AC)):
        options = sn.SolverOptions(code)
        options.dparam[sn.SICONOS_DPARAM_TOL] = 1e-8
        options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = 100000 if solver == "nsgs" else 200
        run = sn.fc3d_nsgs if solver == "nsgs" else sn.fc3d_nonsmooth_Newton_AlartCurnier
        repeats = 1 if len(mu) > 60 else 30
        spent = []
        for _ in range(repeats):
            r, u = np.zeros(len(q)), np.zeros(len(q))
            start = time.perf_counter()
            info = run(problem, r, u, options)
            spent.append(time.perf_counter() - start)
        middle = float(np.median(spent))
        answers[name + "/" + solver] = {"seconds": middle, "info": int(info), "impulse": r.tolist()}
json.dump(answers, open(sys.argv[2], "w"))
"""


def random_problem(count: int, coupling: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dense contacts with W = I + coupling of the given strength, friction 0.5."""
    rng = np.random.default_rng([count, seed])
    G = rng.normal(size=(3 * count, 3 * count))
    W = np.eye(3 * count) + coupling * G @ G.T / (3 * count)
    q = rng.normal(size=3 * count)
    q[::3] -= 1.0
    return W, q, np.full(count, 0.5)


def solved(law: MaximumDissipation, problem: ImpactProblem) -> tuple[float, float, int, bool]:
    """Seconds, residual, sweeps and whether it is solved: only the solver, without problem and outcome."""
    inertia, velocity, friction, _ = problem.kernel_arrays()
    spent = []
    for _ in range(1 if problem.contact_count > 60 else 30):
        begin = time.perf_counter()
        solver = relax_in_parts(
            inertia, velocity, friction, COULOMB, problem.dim, np.zeros(velocity.size), law.tolerance,
            law.max_sweeps, None,
        )  # fmt: skip
        spent.append(time.perf_counter() - begin)
    return float(np.median(spent)), solver.residual, solver.sweeps, solver.residual <= law.tolerance


def residual_of(problem: ImpactProblem, impulse: np.ndarray) -> float:
    """Carom's measure of any solver's impulses."""
    inertia, velocity, friction, _ = problem.kernel_arrays()
    solver = Relaxation(inertia, velocity, friction, COULOMB, problem.dim, impulse)
    return float(solver.measure(impulse))


def peer(problems: dict[str, ImpactProblem]) -> dict:
    """Siconos' answers, or nothing where the system's Python has no Siconos."""
    with tempfile.TemporaryDirectory() as folder:
        given, got = Path(folder) / "given.npz", Path(folder) / "got.json"
        arrays = {}
        for name, problem in problems.items():
            inertia, velocity, friction, _ = problem.kernel_arrays()
            arrays |= {f"{name}/W": inertia, f"{name}/q": velocity, f"{name}/mu": friction}
            arrays[f"{name}/dim"] = np.array(problem.dim)
        np.savez(given, **arrays)
        run = subprocess.run(
            ["/usr/bin/python3", "-c", SICONOS, str(given), str(got)],
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            Console().print(f"Siconos did not run: {run.stderr.strip().splitlines()[-1]}")
            return {}
        return json.loads(got.read_text())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tolerance", type=float, default=1e-8, help="residual asked of carom (1e-8)")
    options = parser.parse_args()
    problems = {}
    for count, seeds in ((1, 3), (5, 3), (50, 2), (500, 1)):
        for coupling in (0.3, 1.0, 3.0):
            for seed in range(seeds):
                W, q, mu = random_problem(count, coupling, seed)
                problems[f"random {count:3d}, {coupling} no {seed}"] = ImpactProblem(W, q, friction=mu)
    if SHARED.exists():
        data = np.load(SHARED)
        for name in sorted({key.rsplit("/", 1)[0] for key in data}):
            parts = [data[f"{name}/{part}"] for part in ("W", "q", "mu", "dim")]
            problems[name] = ImpactProblem.symmetrised(
                parts[0], parts[1], friction=parts[2], dim=int(parts[3])
            )
    law = MaximumDissipation("coulomb", tolerance=options.tolerance)
    solved(law, next(iter(problems.values())))  # compile
    theirs = peer(problems)
    table = Table(
        "problem", "contacts", "carom", "residual", "sweeps", "nsgs", "residual", "newton", "residual"
    )
    for name, problem in problems.items():
        seconds, residual, sweeps, good = solved(law, problem)
        row = [name, str(problem.contact_count), f"{1e6 * seconds:.1f} us", f"{residual:.0e}", str(sweeps)]
        row[3] += "" if good else " not solved"
        for solver in ("nsgs", "newton"):
            answer = theirs.get(f"{name}/{solver}")
            if answer is None:
                row += ["", ""]
                continue
            far = residual_of(problem, np.array(answer["impulse"]))
            row += [f"{1e6 * answer['seconds']:.1f} us", f"{far:.0e}" + (" failed" if answer["info"] else "")]
        table.add_row(*row)
    Console(width=150).print(table)


if __name__ == "__main__":
    main()
