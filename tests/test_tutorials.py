"""The code of every tutorial runs, in order, in an empty folder, and finds what its page says."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import carom

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index")


def ball(names):
    first = names["first"]
    assert first.time == pytest.approx(math.sqrt(2 * 0.9 / 9.81), rel=1e-12)
    assert names["after"] / names["before"] == pytest.approx(-0.8, rel=1e-12)
    assert names["heights"] == pytest.approx(
        [1.0 - 0.5 * 9.81 * t * t for t in (0.0, 0.1, 0.2, 0.3)], rel=1e-12
    )
    fall = math.sqrt(2 * 0.9 / 9.81)  # the first bounce takes 2 · 0.8 of it, each next one 0.8 of the last
    assert names["trajectory"].status.value == "at_rest"
    assert names["trajectory"].rest_time == pytest.approx(fall * (1 + 2 * 0.8 / 0.2), rel=1e-6)


def boxes(names):
    assert names["trajectory"].largest_overlap() < 1e-9
    assert names["first"].time == names["other"].events[0].time


def mesh(names):
    assert names["bracket"].volume == pytest.approx(6e-6, rel=1e-6)
    assert names["scene"]["bracket"].mass == pytest.approx(0.0468, rel=1e-6)
    x, y, z = names["bracket"].center_of_mass
    # of two blocks, 40 x 10 and 10 x 20 by 10: y of the file is z here, and z is -y
    assert (x, z) == pytest.approx(((20 * 4000 + 5 * 2000) / 6e6, (5 * 4000 + 20 * 2000) / 6e6), rel=1e-6)
    assert y == pytest.approx(-0.005, rel=1e-6)
    assert names["trajectory"].events


def mechanism(names):
    assert names["rate"] == pytest.approx(3.0, abs=0.3)
    assert names["ledger"].drives > 0.0
    assert abs(names["ledger"].residual) < 1e-8
    assert names["trajectory"].remarks == []
    angle, rate = names["stirring"].joint_state(names["shaft"])
    assert rate == pytest.approx(3.0, abs=0.1)
    assert angle == pytest.approx(1.2, abs=0.05)
    assert names["stirred"].largest_overlap(samples=50, looks=20_000) < 1e-9
    assert len(names["stirred"].joint_forces(0.3).force) == 1
    boxes = [body.name for body in names["tray"].bodies if str(body.name).startswith("box")]
    assert len(boxes) == 10


def impact(names):
    event = names["event"]
    assert event.problem.u[0] < 0.0 <= event.outcome.velocity[0]
    lost = [
        law.resolve(event.problem).energy_change for law in (carom.StrongeCoulomb(), carom.AnitescuPotra())
    ]
    assert max(lost) < 0.0
    assert len(names["path"].labels) == len(names["path"].velocity)


def outcomes(names):
    assert len(names["event"].contacts) == 2
    assert names["velocity"][:, [0, 2]].max(axis=0).min() > 0.1
    assert len(names["run"].ends) > 3
    assert min(names["tilts"]) < 0.01 < max(names["tilts"])
    assert len(carom.BranchedRun.load("landing.h5")) == 20


def sweep(names):
    friction = np.linspace(0.2, 0.6, 9)
    assert names["found"]["way"] == pytest.approx(2.0**2 / (2 * friction * 9.81), rel=1e-6)


def frames(names):
    assert names["states"].position.shape == (201, 4, 3)
    assert names["heights"]["height"].iloc[0] == pytest.approx(0.9, rel=1e-12)
    assert np.diff(names["energy"]).max() < 1e-9
    assert names["lost"].impacts < 0.0
    assert len(names["impacts"]) == len(names["trajectory"].impacts)


def law(names):
    assert names["report"].ok, str(names["report"])
    assert names["trajectory"].status.value == "at_rest"


def event(names):
    times = [one.time for one in names["trajectory"].events[:2]]
    assert times == pytest.approx([8 / 9.81, 16 / 9.81], rel=1e-10)
    assert names["simulator"].time == times[1]
    since = 2.5 - 16 / 9.81
    assert names["again"].state["ball"].velocity == pytest.approx((-since, 0, 5 - 9.81 * since), abs=1e-9)


CHECKS = {
    "bouncing_ball": ball,
    "boxes_in_a_box": boxes,
    "own_mesh": mesh,
    "mechanism_with_motor": mechanism,
    "inside_one_impact": impact,
    "every_outcome": outcomes,
    "sweep": sweep,
    "numpy_and_pandas": frames,
    "own_law": law,
    "own_event_and_force": event,
}


def test_every_tutorial_is_checked_and_listed():
    assert sorted(CHECKS) == PAGES
    listed = (FOLDER / "index.md").read_text(encoding="utf-8")
    assert all(re.search(rf"^{page}$", listed, re.MULTILINE) for page in PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_a_tutorial_runs_as_it_stands(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(compile(block, f"{page}.md", "exec"), names)
    CHECKS[page](names)
