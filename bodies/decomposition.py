"""Convex parts that together are nearly a mesh, and how far their surface is from the true one."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from . import checks
from .hull import integrals
from .shapes import ConvexMesh, Mesh

SURFACE_SAMPLES = 4000
"""Random points on a surface where its distance from another is measured, besides its corners."""


@dataclass(frozen=True)
class Decomposition:
    """Convex ``parts`` that together are nearly a mesh, and how far their surface moved from the true one.

    Each part's ``center_of_mass`` is in the mesh's coordinates, in which its corners are
    ``part.vertices + part.center_of_mass``. ``volume_ratio`` [1] is the sum of the parts' volumes over the
    volume that the mesh encloses; what several parts, or several sheets of the mesh, hold counts each time.

    ``largest_protrusion`` [m] is how far the parts' surface lies outside the true one,
    ``largest_uncovered`` [m] how far the true surface lies outside all parts. Both are the largest at the
    corners and at SURFACE_SAMPLES random points of the surface, so the true values may be somewhat larger.
    ``remark`` says all this in one sentence.
    """

    parts: tuple[ConvexMesh, ...]
    volume_ratio: float
    largest_protrusion: float
    largest_uncovered: float
    remark: str


def decompose(mesh: Mesh, threshold: float, seed: int) -> Decomposition:
    """See ``Mesh.decomposed``."""
    threshold = checks.number("threshold", threshold, minimum=0.01)
    if threshold > 1.0:
        raise ValueError(f"threshold: expected a number from 0.01 to 1, got {threshold:g}")
    seed = checks.whole("seed", seed, 2**32 - 1)
    if not mesh.closed:
        raise ValueError(
            "mesh: expected one that is closed and wound outward to decompose, got one that is not"
        )
    pieces = _convex_pieces(mesh.vertices, mesh.triangles, threshold, seed)
    parts, flat = [], 0
    for corners in pieces:
        try:
            parts.append(ConvexMesh(corners + mesh.center_of_mass))
        except ValueError:  # too thin to enclose a volume; largest_uncovered shows what that leaves open
            flat += 1
    if not parts:
        raise ValueError("mesh: its decomposition has no part with a volume")
    return _measured(mesh, tuple(parts), flat, seed)


def _convex_pieces(
    vertices: np.ndarray, triangles: np.ndarray, threshold: float, seed: int
) -> list[np.ndarray]:
    try:
        coacd: Any = import_module("coacd")
    except ImportError:
        raise ImportError(
            'Convex decomposition needs the package coacd: pip install "carom[decomposition]".'
        ) from None
    coacd.set_log_level("off")
    # A mesh some edges of which border four faces is remeshed by CoACD, as the measured distances will show.
    pieces = coacd.run_coacd(coacd.Mesh(vertices, triangles), threshold=threshold, seed=seed)
    return [np.asarray(corners, dtype=np.float64) for corners, _ in pieces]


def _measured(mesh: Mesh, parts: tuple[ConvexMesh, ...], flat: int, seed: int) -> Decomposition:
    # Here, since compiled kernels take a second to load.
    from .distance_kernels import distances, windings

    random = np.random.default_rng(seed)
    place = mesh.center_of_mass
    true_corners = mesh.vertices[mesh.triangles]
    surfaces = [part.surface() for part in parts]
    corners = np.concatenate(
        [
            vertices[triangles] + (part.center_of_mass - place)
            for part, (vertices, triangles) in zip(parts, surfaces, strict=True)
        ]
    )

    on_parts = _surface_points(corners, random)
    outside = on_parts[windings(on_parts, true_corners) < 0.5]
    protrusion = float(distances(outside, true_corners).max(initial=0.0))

    uncovered = _surface_points(true_corners, random)
    for part in parts:
        polygons, normals = part.faces()
        supports = np.einsum("ij,ij->i", normals, part.vertices[[polygon[0] for polygon in polygons]])
        from_part = uncovered - (part.center_of_mass - place)
        uncovered = uncovered[(from_part @ normals.T - supports).max(axis=1) > 0.0]
    missing = float(distances(uncovered, corners).max(initial=0.0))

    ratio = sum(part.volume for part in parts) / integrals(mesh.vertices, mesh.triangles)[0]
    left_out = f", {flat} more without volume left out," if flat else ""
    remark = (
        f"{len(parts)} convex parts{left_out} with {ratio:.4g} times the mesh's volume: sampled on the surfaces, "
        f"theirs lies up to {protrusion:.3g} m outside the true one, which lies up to {missing:.3g} m outside them."
    )
    return Decomposition(parts, ratio, protrusion, missing, remark)


def _surface_points(corners: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Corners of triangles (F, 3 corners, 3), and SURFACE_SAMPLES points uniform on them."""
    first, along, across = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    areas = np.linalg.norm(np.cross(along, across), axis=1)
    chosen = random.choice(len(corners), SURFACE_SAMPLES, p=areas / areas.sum())
    shares = random.uniform(size=(SURFACE_SAMPLES, 2))
    beyond = shares.sum(axis=1) > 1.0
    shares[beyond] = 1.0 - shares[beyond]
    inner = first[chosen] + shares[:, :1] * along[chosen] + shares[:, 1:] * across[chosen]
    return np.concatenate([np.unique(corners.reshape(-1, 3), axis=0), inner])
