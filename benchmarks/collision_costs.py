"""What collision detection costs for every pair of shapes: distance, time of impact, contacts.

Timed are the calls of `simulator.collision` as the engine makes them, Python around the kernels included; the first
row of the second table is what an empty such call costs. Of each pair, some placements at random: the distance at a
gap of a tenth of the size; the time of impact from there at about one size a second, spinning, over one second; the
contacts where that flight ends. The median counts; compiling and building shapes are not timed. Convex pairs are
compared with coal's distance of the same two shapes where coal is installed (of cylinders it has its own, of boxes
and hulls a `Convex`). A mesh of 100,000 triangles follows.
"""

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import trimesh
from rich.console import Console
from rich.table import Table

from carom import Body, Box, Capsule, ConvexMesh, Cylinder, HalfSpace, Mesh, Scene, Sphere
from carom.simulator import kernels
from carom.simulator.collision import pairs as collision
from carom.simulator.collision.feature_mesh import feature_mesh
from carom.simulator.collision.queries import closest_points, exact_separation
from carom.simulator.state import Model

try:
    import coal
except ImportError:
    coal = None


def hull(subdivisions: int) -> ConvexMesh:
    """A sphere of 42 or 642 corners, each moved a little so that no faces are coplanar."""
    points = trimesh.creation.icosphere(subdivisions=subdivisions, radius=0.5).vertices
    points = points + 1e-3 * np.random.default_rng(0).standard_normal(points.shape)
    return ConvexMesh(0.5 * points / np.linalg.norm(points, axis=1)[:, None])


def ring(major: int, minor: int) -> Mesh:
    """A torus of 2 * major * minor triangles."""
    made = trimesh.creation.torus(0.38, 0.12, major_sections=major, minor_sections=minor)
    return Mesh((made.vertices, made.faces))


SHAPES = {
    "sphere": Sphere(0.5),
    "capsule": Capsule(0.2, 0.6),
    "cylinder": Cylinder(0.3, 0.8),
    "box": Box((0.5, 0.6, 0.6)),
    "hull 42": hull(1),
    "hull 642": hull(3),
    "mesh 600": ring(25, 12),
    "half-space": HalfSpace((0, 0, 1)),
}


def median_time(call: Callable[[], object], least: float) -> float:
    """Median [s] over at least five calls and `least` seconds."""
    call()
    spent: list[float] = []
    while len(spent) < 5 or sum(spent) < least:
        begin = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent)


class Placement:
    """Two bodies at a gap of 0.1 m that fly at each other, as pieces of motion."""

    def __init__(self, first: object, second: object, random: np.random.Generator):
        scene = Scene(gravity=(0, 0, -1.0))
        turns = random.standard_normal((2, 4))
        turns /= np.linalg.norm(turns, axis=1)[:, None]
        away = random.standard_normal(3)
        away[2] = abs(away[2]) + 0.5
        away *= 2.0 / np.linalg.norm(away)
        scene.add(
            Body(
                first, mass=1.0, inertia=np.diag([0.1, 0.15, 0.2]), position=away, orientation=turns[0],
                velocity=-0.5 * away, angular_velocity=random.standard_normal(3),
            )
        )  # fmt: skip
        if isinstance(second, HalfSpace):
            scene.add(Body(second, fixed=True))
        else:
            scene.add(
                Body(
                    second, mass=1.0, inertia=np.diag([0.1, 0.15, 0.2]), orientation=turns[1],
                    angular_velocity=random.standard_normal(3),
                )
            )  # fmt: skip
        self.model = Model.of_scene(scene)
        self.pair = (0, 1)
        self.half_space = isinstance(second, HalfSpace)
        self.states = self.model.initial_states()
        normal, gap, _ = closest_points(self.model, self.pair, self.states)
        self.states[0, :3] += (0.1 - gap) * normal
        self.ignored = np.zeros(len(self.model.shapes[0].points), dtype=bool)
        self.pieces, self.bounds = [], []
        for body in (0, 1):
            inertia = self.model.inertia[body], self.model.inverse_inertia[body]
            pull = self.model.gravity if self.model.movable[body] else np.zeros(3)
            piece, _ = kernels.free_piece(self.states[body], pull, *inertia)
            self.pieces.append(piece)
            self.bounds.append(kernels.motion_bounds(piece, *inertia))
        met = min(self.impact()[0], 1.0)
        self.met = np.array([kernels.evaluate_piece(piece, met) for piece in self.pieces])

    def distance(self) -> object:
        """Exact distance, without the short cut that the engine takes for distant pairs."""
        model = self.model
        if self.half_space or (model.is_mesh[0] or model.is_mesh[1]):
            return collision.pair_gap(model, self.pair, self.states)
        return exact_separation(model, self.pair, self.states)

    def impact(self) -> tuple[float, int]:
        """Time of impact within one second."""
        if self.half_space:
            return collision.half_space_impact(
                self.model, self.pair, self.pieces[0], self.bounds[0], 1.0, self.ignored
            )
        return collision.pair_impact(
            self.model, self.pair, tuple(self.pieces), tuple(self.bounds), (0.0, 0.0), 1.0
        )

    def contacts(self) -> object:
        """Contacts at the impact."""
        return collision.contact_patch(self.model, [self.pair], self.met)


def coal_shape(shape: object) -> object:
    """The same shape for coal."""
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, Capsule):
        return coal.Capsule(shape.radius, shape.length)
    if isinstance(shape, Cylinder):
        return coal.Cylinder(shape.radius, shape.length)
    corners, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    vertices, faces = shape.surface()
    for vertex in vertices:
        corners.append(vertex)
    for face in faces:
        triangles.append(coal.Triangle(*(int(i) for i in face)))
    return coal.Convex(corners, triangles)


def coal_distance(first: object, second: object, placement: Placement) -> Callable[[], object]:
    """A call of coal's distance for the same placement."""
    request = coal.DistanceRequest()
    shapes = [coal_shape(shape) for shape in (first, second)]
    places = [coal.Transform3s(kernels.rotation_matrix(state[3:7]), state[:3]) for state in placement.states]
    return lambda: coal.distance(shapes[0], places[0], shapes[1], places[1], request, coal.DistanceResult())


def cost_of_pairs(placements: int, least: float) -> Table:
    """Medians over placements of every pair."""
    table = Table(title="median of a call [us]")
    for title in ("pair", "distance", "time of impact", "contacts", "distance / coal's"):
        table.add_column(title, justify="left" if title == "pair" else "right")
    names = list(SHAPES)
    for k, first in enumerate(names):
        for second in names[k:]:
            if first == "half-space":
                continue
            random = np.random.default_rng(1)
            spent: list[list[float]] = [[], [], [], []]
            for _ in range(placements):
                placement = Placement(SHAPES[first], SHAPES[second], random)
                for row, call in enumerate((placement.distance, placement.impact, placement.contacts)):
                    spent[row].append(median_time(call, least))
                if coal and "half-space" not in (first, second) and "mesh 600" not in (first, second):
                    call = coal_distance(SHAPES[first], SHAPES[second], placement)
                    spent[3].append(median_time(call, least))
            own = [1e6 * statistics.median(row) for row in spent[:3]]
            ratio = f"{own[0] / (1e6 * statistics.median(spent[3])):.1f}" if spent[3] else ""
            table.add_row(f"{first}, {second}", *(f"{value:.0f}" for value in own), ratio)
    return table


def cost_of_large_mesh(least: float) -> Table:
    """A mesh of 100,000 triangles, and a box at it."""
    table = Table(title="a torus of 100,000 triangles", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    empty = median_time(lambda: None, least)
    table.add_row("an empty call", f"{1e6 * empty:.2f} us")
    made = trimesh.creation.torus(0.38, 0.12, major_sections=500, minor_sections=100)
    begin = time.perf_counter()
    mesh = Mesh((made.vertices, made.faces))
    table.add_row("Mesh(...)", f"{time.perf_counter() - begin:.2f} s")
    begin = time.perf_counter()
    feature_mesh(mesh)
    table.add_row("its features and tree, feature_mesh", f"{time.perf_counter() - begin:.2f} s")
    tracemalloc.start()
    features = feature_mesh(mesh)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    kept = sum(value.nbytes for value in features if isinstance(value, np.ndarray))
    table.add_row("memory of these, at most while building", f"{kept / 1e6:.0f} MB, {peak / 1e6:.0f} MB")
    placement = Placement(mesh, SHAPES["box"], np.random.default_rng(1))
    for title, call in (
        ("distance from a box", placement.distance),
        ("time of impact with it", placement.impact),
        ("contacts with it", placement.contacts),
    ):
        table.add_row(title, f"{1e6 * median_time(call, least):.0f} us")
    return table


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--placements", type=int, default=5, help="placements of each pair (5)")
    parser.add_argument("--least", type=float, default=0.02, help="least time of a median [s] (0.02)")
    options = parser.parse_args()
    console = Console(width=110)
    console.print(cost_of_pairs(options.placements, options.least))
    console.print(cost_of_large_mesh(options.least))


if __name__ == "__main__":
    main()
