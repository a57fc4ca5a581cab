"""Heaps of boxes, capsules and spheres that fall together: every run ends well, whatever the law."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import carom

_SPEC = importlib.util.spec_from_file_location(
    "scenes_of_broad_phase", Path(__file__).with_name("test_broad_phase.py")
)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
random_scene = _MODULE.random_scene

LAWS = {
    "inelastic": carom.AnitescuPotra(),
    "dissipation": carom.MaximumDissipation(),
    "stronge": carom.StrongeCoulomb(),
}


def check_heap(law, kinds, seed, restitution, until):
    scene = random_scene(
        seed, 8, (0, 0, -9.81), True, kinds=kinds, size_ratio=2.0, friction=0.5, restitution=restitution
    )
    simulator = carom.Simulator(scene, LAWS[law], event_limit=3_000)
    trajectory = simulator.run(until)
    assert trajectory.status.value in ("reached_end", "at_rest"), trajectory.message
    energy = np.array(
        [
            simulator.model.energy(trajectory.sample(time))
            for time in np.linspace(0.0, trajectory.end_time, 400)
        ]
    )
    scale = energy[0] - energy.min()
    implicit = trajectory.implicit_share > 0.0  # whose energy is off within a step, not at its ends
    assert np.diff(energy).max() <= (1e-9 if implicit else 1e-12) * scale
    for event in trajectory.events:
        assert simulator.model.energy(event.after) <= simulator.model.energy(event.before) + 1e-12 * scale
    size = min(body.shape.bounding_radius for body in scene.bodies if not body.fixed)
    assert trajectory.largest_overlap(200) <= (1e-9 * size if implicit else 1e-12)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", range(3))
def test_a_heap_of_mixed_shapes_comes_together(law, seed):
    check_heap(law, 3, seed, 0.0, 1.5)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("seed", [1, 3])
def test_a_heap_of_boxes_comes_together(law, seed):
    """Among these: boxes side by side on the floor, whose edges coincide, and spheres that roll on each other."""
    check_heap(law, 2, seed, 0.0, 1.3)


UNSETTLED = {
    ("dissipation", 0): "a capsule jams between two bodies, and the law finds no impulse that frees it",
}


def heaps():
    """Every law and seed; those known to end badly are expected to, so that mending them is noticed."""
    for law in LAWS:
        for seed in range(12):
            reason = UNSETTLED.get((law, seed))
            marks = [pytest.mark.xfail(reason=reason, raises=AssertionError)] if reason else []
            yield pytest.param(law, seed, marks=marks)


@pytest.mark.long
@pytest.mark.parametrize(("law", "seed"), list(heaps()))
def test_heaps_settle(law, seed):
    check_heap(law, 3, seed, 0.0, 4.0)
    if law == "stronge":
        check_heap(law, 3, seed, 0.3, 4.0)
