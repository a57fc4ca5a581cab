"""The code in docs/bodies.md runs, in order, and the ball that it shows rolls; so do the examples of bodies."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

from carom.bodies import body, orientation, scene, shapes

TEXT = (Path(__file__).parents[2] / "docs" / "bodies.md").read_text(encoding="utf-8")


def test_code_of_the_page_runs():
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL):
        exec(compile(block, "bodies.md", "exec"), names)
    assert names["die"].core()[0].max() == pytest.approx(0.006)
    scene, state = names["scene"], names["state"]
    np.testing.assert_allclose(scene.bodies[1].shape_velocity, [0.3, 0.0, 0.0], atol=1e-15)
    middle = state.shape_position(scene)[1]
    assert middle[2] == pytest.approx(0.1, abs=1e-9)
    assert np.linalg.norm(state.position[1] - middle) == pytest.approx(0.02, abs=1e-12)
    assert abs(names["run"].ledger(1.0).residual) < 1e-9


@pytest.mark.parametrize(
    "module", [body, orientation, scene, shapes], ids=["body", "orientation", "scene", "shapes"]
)
def test_examples_print_what_they_say(module):
    failed, run = doctest.testmod(module)
    assert run > 0
    assert failed == 0
