"""Make pictures of gallery.md and window.md, without a display: `python docs/make_gallery.py [NAME...]`."""

import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from PIL import Image

import carom
from carom.demos import demo_by_name, load_dropped_mesh, shipped_mesh
from carom.impact_laws import invariant_directions, law_by_name, slip_curve
from carom.viewer.actions import press
from carom.viewer.figures import Ray, hodograph
from carom.viewer.pictures import draw_replay, render_strip
from carom.viewer.replay import Replay
from carom.viewer.show import make_runs

FOLDER = Path(__file__).parent
SIZE = (1120, 630)
UNIT = 0.95
STEP = 4  # of the shades of red, green and blue, which keeps the files small


@dataclass(frozen=True)
class WhereUndecided:
    """One law for impacts at three contacts or more, `AnitescuPotra` for those that have one outcome."""

    undecided: Any
    otherwise: Any = field(default_factory=carom.AnitescuPotra)
    name = "where-undecided"
    honours_friction = True
    honours_restitution = False

    def resolve(self, problem: Any, rng: Any = None) -> Any:
        """The answer of the one or the other law."""
        law = self.undecided if problem.contact_count > 2 else self.otherwise
        return law.resolve(problem, rng)


def falling_block() -> carom.Scene:
    """A block that falls flat onto the floor."""
    material = carom.Material(friction=0.8)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    block = carom.Body(
        carom.Box((0.3, 0.3, 0.6)),
        density=500.0,
        position=(0, 0, 0.32),
        velocity=(0, 0, -3.0),
        material=material,
        name="block",
    )
    scene.add(block)
    return scene


def stack(rows: int = 3) -> carom.Scene:
    """Disks in a plane, row on row; the one on top arrives from above."""
    material = carom.Material(friction=0.3)
    radius = 0.1
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    for row in range(rows):
        for place in range(rows - row):
            disk = carom.Body(
                carom.Cylinder(radius, 0.5 * radius),
                density=1000.0,
                position=((2 * place - (rows - row - 1)) * radius, 0, (1 + row * np.sqrt(3)) * radius),
                orientation=(np.sqrt(0.5), np.sqrt(0.5), 0, 0),
                velocity=(0, 0, -3.0 if row == rows - 1 else 0.0),
                material=material,
                name=f"disk-{row + 1}-{place + 1}",
            )
            scene.add(disk)
    scene.planar()
    return scene


def rocking_block() -> None:
    """Three orders in which four corners may be struck."""
    law = WhereUndecided(carom.SequentialLCP(order="random"))
    tree = carom.Simulator(falling_block(), law).branches(12, seed=0, until=0.4, tolerance=1e-9)
    chosen = [tree.leaves.index(leaf) for leaf in sorted(set(tree.leaves))]
    print(f"{len(chosen)} different outcomes of {len(tree)}")
    tilts = {member: tree.trajectories[member].sample(0.16).orientation[1] for member in chosen}
    shown = chosen[:1]
    while len(shown) < 3:  # the one least like those that are shown
        shown.append(min(chosen, key=lambda one: max(abs(tilts[one] @ tilts[other]) for other in shown)))
    runs = [tree.trajectories[member] for member in shown]
    replay = Replay(make_runs(runs, ["one order of corners", "another", "a third"]))
    replay.seek(0.16)
    save("rocking_block", replay)


@cache
def fifty_outcomes() -> carom.BranchedRun:
    """Of one impact at twelve contacts."""
    return carom.Simulator(stack(), carom.SetValuedRouth()).branches(50, seed=1, until=0.5, tolerance=1e-9)


def overlaid_outcomes() -> Replay:
    """All of them where they have led."""
    runs = fifty_outcomes().trajectories
    replay = Replay(make_runs(list(runs), [f"outcome {number + 1}" for number in range(len(runs))]))
    replay.seek(0.5)
    return replay


def disk_stack() -> None:
    """Fifty outcomes, and where they lead."""
    tree, replay = fifty_outcomes(), overlaid_outcomes()
    replay.shown.trails = True
    save("disk_stack", replay)
    print(f"{len(set(tree.leaves))} different outcomes of {len(tree)}")


def outcome_density() -> None:
    """Where the disks of the fifty outcomes are, counted."""
    replay = overlaid_outcomes()
    replay.toggle_density()
    save("outcome_density", replay)


def billiard_break() -> None:
    """The rack at the instant of the break."""
    demo = demo_by_name("rack-break")
    run = carom.Simulator(demo.scene(), law_by_name(demo.law)).run(0.6)
    replay = Replay(make_runs(run))
    replay.timeline.next_impact()
    replay.arrive()
    replay.look_at_impact()
    replay.orbit(0.0, 0.5)
    replay.zoom(0.95, (0.0, 0.0))
    save("billiard_break", replay)


def icosahedron() -> None:
    """An icosahedron on the corner of a tetrahedron, beside the hodograph of its slip."""
    corner = trimesh.creation.icosahedron().vertices * 0.1
    base = np.array([(0.0, 0.0, 0.0), (0.35, 0.0, -0.4), (-0.2, 0.3, -0.4), (-0.2, -0.3, -0.4)])
    material = carom.Material(friction=0.25, restitution=0.5)
    scene = carom.Scene()
    middle = base.mean(axis=0)
    scene.add(
        carom.Body(
            carom.ConvexMesh(base - middle),
            position=middle,
            fixed=True,
            material=material,
            name="tetrahedron",
        )
    )
    scene.add(
        carom.Body(
            carom.ConvexMesh(corner),
            density=1000.0,
            position=(0.02, -0.015, 0.2),
            orientation=(0.8, 0.36, 0.48, 0.0),
            velocity=(-0.6, 0.5, -2.0),
            angular_velocity=(5.0, -3.0, 25.0),
            material=material,
            name="icosahedron",
        )
    )
    run = carom.Simulator(scene, carom.StrongeCoulomb()).run(0.25)
    impact = run.events[0]
    replay = Replay(make_runs(run))
    replay.timeline.next_impact()
    replay.arrive()
    replay.look_at_impact()
    replay.zoom(2.0, (0.0, 0.0))
    view = draw_replay(replay, (SIZE[0] * 3 // 5, SIZE[1]), unit=UNIT)
    curve = slip_curve(impact.problem, impact.outcome)
    slip = curve.at(np.linspace(0.0, curve.end, 400))[0]
    rays = [Ray(each.direction, each.centrifugal) for each in invariant_directions(impact.problem)]
    figure = hodograph(slip, rays)
    figure.set_size_inches(SIZE[0] * 2 / 500, SIZE[1] / 100)
    figure.set_dpi(100)
    page = FOLDER / "gallery_icosahedron.png"
    figure.savefig(page, dpi=100)
    beside = np.asarray(Image.open(page).convert("RGB").resize((SIZE[0] - view.shape[1], SIZE[1])))
    save_picture("icosahedron", np.concatenate([view, beside], axis=1))


def newtons_cradle() -> None:
    """Half-way through the impact, beside its energy and impulses."""
    demo = demo_by_name("newtons-cradle")
    run = carom.Simulator(demo.scene(), law_by_name(demo.law)).run(demo.duration)
    replay = Replay(make_runs(run))
    replay.timeline.next_impact()
    replay.arrive()
    replay.step_inside(-2)
    replay.shown.velocities = True
    replay.look_at_impact()
    save("newtons_cradle", replay)
    clip = FOLDER / "gallery_newtons_cradle.gif"
    carom.render(run, clip, size=(480, 200), fps=20)
    print(f"{clip.name}: {clip.stat().st_size / 1000:.0f} kB")


def mesh_pile() -> None:
    """Eight chipped blocks that have fallen onto each other."""
    mesh = load_dropped_mesh(shipped_mesh())
    scene = carom.Scene()
    material = carom.Material(friction=0.5)
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    random = np.random.default_rng(1)
    for number in range(8):
        turn = random.standard_normal(4)
        block = carom.Body(
            mesh.shape,
            density=1000.0,
            position=(0.05 * (number % 2), 0.06 * (number // 2 % 2), 0.12 + 0.21 * number),
            orientation=turn / np.linalg.norm(turn),
            material=material,
            name=f"block-{number + 1}",
        )
        scene.add(block)
    run = carom.Simulator(scene, carom.AnitescuPotra()).run(0.7)
    replay = Replay(make_runs(run))
    replay.seek(run.end_time)
    places = run.sample(run.end_time).position[1:]
    replay.camera.frame_all(places.min(axis=0) - 0.1, places.max(axis=0) + 0.1, replay.view_aspect(), 1.2)
    replay.pan(0.0, -0.05)
    save("mesh_pile", replay)


def spinning_egg() -> None:
    """Six moments of an egg that stands up."""
    demo = demo_by_name("spinning-egg")
    run = carom.Simulator(demo.scene(), law_by_name(demo.law)).run(demo.duration)
    page = render_strip(run, FOLDER / "gallery_spinning_egg.png", size=(SIZE[0] // 3, SIZE[1] // 2))
    save_picture("spinning_egg", np.asarray(Image.open(page).convert("RGB")))


def pile() -> None:
    """Three hundred stones at rest in the corner of two walls."""
    run = demo_by_name("pile").run(progress=True)
    replay = Replay(make_runs(run))
    replay.seek(run.end_time)
    places = run.sample(run.end_time).position[[not body.fixed for body in run.scene.bodies]]
    low, high = np.percentile(places, [3, 97], axis=0)
    replay.camera.frame_all(low - 0.06, high + 0.06, replay.view_aspect(), 1.2)
    save("pile", replay)


def break_odds() -> None:
    """A thousand breaks, and rows whose errors double from ball to ball."""
    save_figure_of("break_odds", demo_by_name("break-odds"))


def rockfall() -> None:
    """A thousand blocks; this takes half an hour on two cores."""
    save_figure_of("rockfall", demo_by_name("rockfall"))


def window_impact() -> None:
    """Half-way through the break, for the page of the window."""
    demo = demo_by_name("rack-break")
    replay = Replay(make_runs(carom.Simulator(demo.scene(), law_by_name(demo.law)).run(0.6)))
    replay.timeline.next_impact()
    replay.arrive()
    replay.step_inside(-14)
    replay.shown.velocities = True
    replay.look_at_impact()
    replay.orbit(0.0, 0.5)
    save("impact", replay, "viewer")


def window_plots() -> None:
    """A box and a ball, inside one of their impacts, with plots over the accumulated impulse."""
    material = carom.Material(friction=0.4, restitution=0.5)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    box = {"position": (0, 0, 0.5), "orientation": (0.9, 0.3, 0.3, 0.1), "angular_velocity": (1, 2, 0)}
    scene.add(carom.Body(carom.Box((0.1, 0.2, 0.3)), density=1000.0, material=material, name="box", **box))
    ball = {"position": (0.6, 0, 0.7), "velocity": (-1, 0, 0), "name": "ball"}
    scene.add(carom.Body(carom.Sphere(0.08), density=800.0, material=material, **ball))
    replay = Replay(make_runs(carom.Simulator(scene, carom.StrongeCoulomb()).run(2.0)))
    press(replay, "e")
    press(replay, "e", shift=True)
    for key in ("bracketright",) * 3 + ("up",) * 3:
        press(replay, key)
    replay.pan(-0.15, 0.0)
    save("plots", replay, "viewer")


def window_outcomes() -> None:
    """A tumbling block under three laws, for the page of the window."""
    material = carom.Material(friction=0.5, restitution=0.3)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    scene.add(
        carom.Body(
            carom.Box((0.4, 0.2, 0.2)),
            density=1000.0,
            position=(0, 0, 0.4),
            orientation=(np.cos(0.2), 0, np.sin(0.2), 0),
            velocity=(1.5, 0, -1.0),
            angular_velocity=(0, 2.0, 0),
            material=material,
            name="block",
        )
    )
    laws = (carom.AnitescuPotra(), carom.SequentialReflection(), carom.StrongeCoulomb())
    runs = [carom.Simulator(scene, law).run(0.8) for law in laws]
    replay = Replay(make_runs(runs, [type(law).__name__ for law in laws]))
    replay.seek(0.45)
    save("outcomes", replay, "viewer")


def save_figure_of(name: str, demo: Any) -> None:
    """Write the figure of a demo, as wide as the other pictures."""
    path = FOLDER / f"gallery_{name}.png"
    demo.write(path)
    image = Image.open(path).convert("RGB")
    height = round(image.height * SIZE[0] / image.width)
    save_picture(name, np.asarray(image.resize((SIZE[0], height), Image.Resampling.LANCZOS)))


def save(name: str, replay: Replay, page: str = "gallery") -> None:
    """Write what a window shows of a replay, with few shades."""
    save_picture(name, draw_replay(replay, SIZE, unit=UNIT), page)


def save_picture(name: str, pixels: np.ndarray, page: str = "gallery") -> None:
    """Write pixels (height, width, 3), with few shades."""
    image = Image.fromarray(pixels // STEP * STEP)
    path = FOLDER / f"{page}_{name}.png"
    image.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


PICTURES = {
    one.__name__: one
    for one in (
        rocking_block,
        disk_stack,
        outcome_density,
        billiard_break,
        icosahedron,
        newtons_cradle,
        spinning_egg,
        mesh_pile,
        pile,
        break_odds,
        rockfall,
        window_impact,
        window_plots,
        window_outcomes,
    )
}

if __name__ == "__main__":
    for wanted in sys.argv[1:] or PICTURES:
        PICTURES[wanted]()
