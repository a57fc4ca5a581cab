"""Time of one impact of several contacts that share the impulse by stored energy, in batches, and its error.

Random bodies that touch at one to four points, planar and spatial, friction up to 1 and restitution from 0 to 1,
and Newton's cradle of three balls. Single contacts are compared with `StrongeCoulomb`; cradles keep energy. A
million impacts of two planar contacts are judged by the contract of impact laws. Compile time is not counted."""

import argparse
import os
import platform
import time

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

from carom.impact_laws import ImpactProblem, LiuZhaoBrogliato, StrongeCoulomb


def random_impacts(rng, contacts, dim, count):
    """Arrays W, u, friction and restitution of `count` impacts whose contacts leave a motion that parts them."""
    freedoms = dim * contacts + 2
    J, parting = rng.normal(size=(count, dim * contacts, freedoms)), rng.normal(size=(count, freedoms))
    normals = J[:, ::dim]
    normals[np.einsum("nij,nj->ni", normals, parting) < 0.0] *= -1.0
    mobility = 1.0 / rng.uniform(0.5, 2.0, size=(count, freedoms))
    velocity = rng.normal(size=(count, freedoms)) - 1.5 * parting
    W = np.einsum("nij,nj,nkj->nik", J, mobility, J)
    u = np.einsum("nij,nj->ni", J, velocity)
    shape = count, contacts
    return W, u, rng.choice([0.1, 0.5, 1.0], size=shape), rng.choice([0.0, 0.4, 0.8, 1.0], size=shape)


def cradle(count):
    """Three equal balls, the first at 1 m/s."""
    W = np.array([[2.0, 0.0, -1.0, 0.0], [0.0, 2.0, 0.0, -1.0], [-1.0, 0.0, 2.0, 0.0], [0.0, -1.0, 0.0, 2.0]])
    u = np.array([-1.0, 0.0, 0.0, 0.0])
    return np.repeat(W[None], count, axis=0), np.repeat(u[None], count, axis=0), 0.0, 1.0


def error_of(name, law, arrays, batch):
    """A figure of how exact a batch is, in words."""
    W, u, mu, e = arrays
    if name == "Newton's cradle":
        p = batch.impulse[0]
        return f"energy {abs(p @ u[0] + 0.5 * p @ W[0] @ p):.0e}"
    if u.shape[1] > 3:
        return ""
    worst, law = 0.0, StrongeCoulomb()
    for k in range(200):
        expected = law.resolve(ImpactProblem(W[k], u[k], mu[k], e[k], u.shape[1]))
        if expected.resolved and expected.impulse.any():
            off = np.linalg.norm(batch.impulse[k] - expected.impulse)
            worst = max(worst, off / np.linalg.norm(expected.impulse))
    return f"Stronge {worst:.0e}"


def breaches(arrays, batch, dim):
    """Largest gain of energy and approach left of resolved impacts, of what they had, in words."""
    W, u, _, _ = (a[batch.resolved] for a in arrays)
    p, after = batch.impulse[batch.resolved], batch.velocity[batch.resolved]
    gain = np.einsum("ni,ni->n", p, 0.5 * (u + after))
    size = np.einsum("ni,ni->n", np.abs(p), np.abs(u) + np.einsum("nij,nj->ni", np.abs(W), np.abs(p)))
    gain = (gain / np.maximum(size, 1e-300)).max()
    approach = (-after[:, ::dim].min(axis=1) / np.abs(u[:, ::dim]).max(axis=1)).max()
    return f"energy gained {max(gain, 0.0):.0e}, approach left {max(approach, 0.0):.0e}"


def row(table, name, arrays, dim, exponent, judge):
    """Time a batch and add it to the table, with what `judge` says of it."""
    law, count = LiuZhaoBrogliato(exponent=exponent), len(arrays[1])
    law.resolve_many(*(a[:2] if isinstance(a, np.ndarray) else a for a in arrays), dim=dim)
    wall, cpu = time.perf_counter(), time.process_time()
    batch = law.resolve_many(*arrays, dim=dim)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    table.add_row(
        name, f"{exponent:g}", f"{count:,}", f"{1e6 * cpu / count:.1f}", f"{wall:.1f}", f"{batch.steps.mean():.1f}",
        f"{count - batch.resolved.sum()}", judge(law, batch),
    )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--batch", type=int, default=10_000, help="impacts of each kind (10000)")
    parser.add_argument(
        "--many", type=int, default=1_000_000, help="impacts of two planar contacts (1000000)"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    count = max(arguments.batch, 200)
    table = Table()
    for title in ("impact", "exponent", "impacts", "CPU µs", "seconds", "steps", "unresolved", "error"):
        table.add_column(title, justify="left" if title in ("impact", "error") else "right")
    kinds = [("Newton's cradle", 2, cradle(count))]
    kinds += [
        (f"{contacts} contact{'s' * (contacts > 1)}, {word}", dim, random_impacts(rng, contacts, dim, count))
        for dim, word in ((2, "planar"), (3, "spatial"))
        for contacts in (1, 2, 4)
    ]
    for name, dim, arrays in kinds:
        for exponent in (1.5, 1.0):
            row(
                table,
                name,
                arrays,
                dim,
                exponent,
                lambda law, batch, k=(name, arrays): error_of(k[0], law, k[1], batch),
            )
    arrays = random_impacts(rng, 2, 2, arguments.many)
    for exponent in (1.5, 1.0):
        row(table, "2 contacts, planar", arrays, 2, exponent, lambda _, batch: breaches(arrays, batch, 2))
    console = Console(width=140)
    console.print(table)
    console.print(
        f"{platform.machine()}, {os.cpu_count()} cores, {numba.get_num_threads()} threads, "
        f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}"
    )


if __name__ == "__main__":
    main()
