"""The shipped mesh: a block with eight corners chipped off unequally, of our own making.

``python -m carom.demos.chipped_block FILE`` writes it again, bit for bit.
"""

import sys
from pathlib import Path

import numpy as np

from ..bodies import ConvexMesh

LENGTHS = (60.0, 80.0, 100.0)  # mm
# Shares of half the edges cut off at each corner, ordered as the signs of (x, y, z), z fastest.
CHIPS = (0.72, 0.35, 0.48, 0.20, 0.30, 0.62, 0.24, 0.85)


def vertices() -> np.ndarray:
    """Corners (24, 3) of the block [mm]: each chip replaces a corner by three points on its edges."""
    half = 0.5 * np.array(LENGTHS)
    signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    points = []
    for sign, chip in zip(signs, CHIPS, strict=True):
        for axis in range(3):
            point = sign * half
            point[axis] *= 1.0 - chip
            points.append(point)
    return np.array(points)


def write_stl(path: str | Path) -> Path:
    """Write the block as a binary STL file and return its path."""
    points, triangles = ConvexMesh(vertices()).surface()
    corners = points[triangles].astype("<f4")
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    facets = np.zeros(len(corners), dtype=record)
    facets["normal"], facets["corners"] = normals, corners
    header = b"carom: chipped block, unit mm".ljust(80) + len(facets).to_bytes(4, "little")
    path = Path(path)
    path.write_bytes(header + facets.tobytes())
    return path


if __name__ == "__main__":
    write_stl(sys.argv[1])
