"""Every law on measured impacts; on the public data where they are at hand."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import carom
from carom import validate_command
from carom.command_line import main
from carom.simulator.measured import whole_tosses
from carom.simulator.measured.edge_impacts import HEADER, NEAR, edge_impacts, sets_on_edges
from carom.simulator.measured.public_data import CubeTosses, EllipseBounces, read_public_data
from carom.simulator.measured.validation import LAWS, validate_cube, validate_ellipse
from carom.simulator.measured.whole_tosses import TossErrors, run_tosses, surface_height

from . import simulated_tosses

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
ELLIPSE, CUBE = DATA / "ellipse_bounces.npz", DATA / "cube_tosses.npz"
needs_data = pytest.mark.skipif(
    not ELLIPSE.exists(), reason="public data of measured impacts are not at hand"
)


def bounces(count=60, seed=0, noise=0.0):
    """Arrays of bounces of an ellipse that obey a compliant contact."""
    rng = np.random.default_rng(seed)
    before = np.column_stack(
        [rng.uniform(0.2, 1, count), rng.uniform(-3, -2, count), rng.normal(size=count) * 6]
    )
    lever = np.column_stack([rng.uniform(-0.01, 0.01, count), rng.uniform(-0.035, -0.025, count)])
    made = carom.ImpactSet.planar(before, before, lever, np.sqrt(3.7e-4))
    states = made.states(carom.BodyParameters(np.zeros(3), 3.7e-4 * np.eye(3)))
    model = carom.ContactModel(
        carom.CompliantContact(), friction=0.19, restitution=0.55, tangential_stiffness=6.0
    )
    change = np.einsum("nij,nj->ni", states.response, model.impulses(states)[0])
    change[:, 5] /= np.sqrt(3.7e-4)
    after = before + change[:, [0, 1, 5]] + noise * rng.normal(size=(count, 3)) * [1, 1, 50]
    return {
        "velocity_before": before, "velocity_after": after, "lever": lever,
        "clean": np.ones(count, dtype=bool), "gyration_squared": np.array(3.7e-4),
    }  # fmt: skip


def test_constants_of_simulated_bounces_are_found_and_other_laws_are_further(tmp_path):
    np.savez(tmp_path / "bounces.npz", **bounces(noise=0.01))
    data = read_public_data(tmp_path / "bounces.npz")
    assert isinstance(data, EllipseBounces)
    found = validate_ellipse(data, labels=["stronge-coulomb", "compliant-contact"])
    stronge, compliant = found.laws
    for name, true in (("friction", 0.19), ("restitution", 0.55), ("tangential_stiffness", 6.0)):
        known = compliant.constants[name]
        width = known.high - known.low
        assert known.low - 0.5 * width < true < known.high + 0.5 * width
    assert np.median(found.floor) < np.median(compliant.error) < 0.03 < np.median(stronge.error)
    assert found.rows()[0][0] == "floor, any law"
    assert [row[0] for row in found.rows()[1:]] == ["stronge-coulomb", "compliant-contact"]


def test_every_law_has_at_most_four_constants():
    assert all(len(free) <= 4 for _, _, free in LAWS)
    assert len({label for label, _, _ in LAWS}) == len(LAWS)


def test_the_command_writes_table_and_figure(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "bounces.npz"
    np.savez(path, **bounces(noise=0.01))
    out = tmp_path / "figures"
    laws = ["--laws", "stronge-coulomb", "--out", str(out)]
    assert main(["validate", str(path), "--fitted-on", str(path), *laws]) == 0
    assert "60 impacts" in capsys.readouterr().out
    assert (out / "validation_ellipse.png").stat().st_size > 10_000
    table = (out / "validation_ellipse.md").read_text(encoding="utf-8").splitlines()
    assert table[0].startswith("| law |")
    assert len(table) == 4


def test_bad_input_of_the_command_is_one_line(tmp_path, capsys):
    np.savez(tmp_path / "odd.npz", numbers=np.zeros(3))
    (tmp_path / "text.npz").write_text("no arrays")
    np.savez(tmp_path / "bounces.npz", **bounces(12))
    for arguments, message in (
        (["odd.npz"], "expected arrays toss_<id>, or velocity_before"),
        (["text.npz"], "expected an .npz file of arrays"),
        (["missing.npz"], "no such file"),
        (["bounces.npz", "--laws", "guess"], "--laws: expected rows among"),
        (["bounces.npz", "--tosses", "--laws", "stronge-coulomb"], "--tosses: expected tosses of a cube"),
    ):
        assert main(["validate", str(tmp_path / arguments[0]), *arguments[1:]]) == 2
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1


def test_errors_of_tosses_over_time_keep_those_of_the_last_frame():
    short = carom.Comparison(np.array([0.0, 0.1]), np.array([0.0, 0.002]), np.array([0.0, 0.1]))
    long = carom.Comparison(np.array([0.0, 0.2, 0.3]), np.array([0.0, 0.004, 0.01]), np.zeros(3))
    errors = TossErrors([short, long], ["a", "b"], np.arange(2), {}, np.zeros((0, 2)))
    distance, angle = errors.over_time(np.array([0.0, 0.1, 0.3]))
    np.testing.assert_allclose(distance, [[0.0, 0.002, 0.002], [0.0, 0.002, 0.01]], atol=1e-15)
    np.testing.assert_allclose(angle, [[0.0, 0.1, 0.1], np.zeros(3)], atol=1e-15)
    # Up to 0.2 s, where half of them have ended.
    assert errors.rows_over_time() == [
        ["0.1", "2.0 (2.0 to 2.0)", "2.9 (1.4 to 4.3)"],
        ["0.2", "3.0 (2.5 to 3.5)", "2.9 (1.4 to 4.3)"],
    ]
    # Without runs of a noisy start there are no rows of its effect.
    assert [row[0] for row in errors.rows()] == ["distance [mm]", "angle [degrees]"]


def test_tables_of_no_toss_say_why_there_is_none():
    errors = TossErrors([], [], np.arange(0), {"a": "the start overlaps"}, np.zeros((0, 2)))
    for table in (errors.rows, errors.rows_over_time):
        with pytest.raises(ValueError, match="run to its last frame, got none: the start overlaps"):
            table()


def test_the_command_says_of_every_toss_why_it_was_not_run(tmp_path, capsys, monkeypatch):
    def refused(found, motions, body, executor):
        return TossErrors(
            [], [], np.arange(0), {one.name: "it overlaps" for one in motions}, np.zeros((0, 2))
        )

    monkeypatch.setattr(whole_tosses, "run_tosses", refused)
    motions = [SimpleNamespace(name=f"toss {k}") for k in range(14)]
    data = CubeTosses(motions, simulated_tosses.box())
    found = SimpleNamespace(body=SimpleNamespace(model=carom.ContactModel(carom.StrongeCoulomb())))
    assert validate_command._run_tosses(found, data, 1) is None
    said = capsys.readouterr().out
    assert "0 whole tosses under stronge-coulomb" in said
    assert said.count("was not run: it overlaps") == 14


def test_a_simulated_toss_run_again_ends_where_it_did():
    motions = simulated_tosses.tosses(14, seed=3, duration=1.2)
    body = simulated_tosses.box()
    found = carom.identify(motions, body, carom.StrongeCoulomb())
    assert surface_height(motions, body) == pytest.approx(0.0, abs=1e-4)
    errors = run_tosses(found, motions, body)
    assert not errors.refused
    assert np.median(errors.settled[:, 0]) < 3e-3
    assert np.median(errors.settled[:, 1]) < np.radians(3.0)
    assert errors.rows()[0][0] == "distance [mm]"
    assert errors.rows()[2][0] == "distance [mm], noise of the start alone"
    # Noise moves an end, and by no more than the whole of what was left.
    assert 0.0 < np.median(errors.start_noise[:, 0]) < 3e-3
    with ThreadPoolExecutor(2) as executor:
        again = run_tosses(found, motions, body, executor=executor)
    np.testing.assert_array_equal(again.settled, errors.settled)
    np.testing.assert_array_equal(again.start_noise, errors.start_noise)
    np.testing.assert_array_equal(errors.number, np.arange(14))


def test_a_cube_that_lands_on_an_edge_is_in_the_set_and_a_kink_in_the_air_is_no_edge():
    motions = simulated_tosses.tosses(14, seed=3)
    body = simulated_tosses.box()
    found = carom.identify(motions, body, carom.StrongeCoulomb())
    landed = []
    rng = np.random.default_rng(1)
    for k in range(3):
        scene = carom.Scene()
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=carom.Material(0.16, 0.27)))
        scene.add(
            carom.Body(
                simulated_tosses.true_shape(), mass=simulated_tosses.MASS, material=carom.Material(0.16, 0.27),
                inertia=simulated_tosses.MASS * simulated_tosses.GYRATION, position=(0, 0, 0.13 + 0.02 * k),
                orientation=(np.cos(np.pi / 8), np.sin(np.pi / 8), 0, 0), velocity=(0.1 * k, 0.0, -0.3),
            )
        )  # fmt: skip
        run = carom.Simulator(scene, carom.StrongeCoulomb()).run(0.3)
        landed.append(simulated_tosses.measured(run, rng, name=f"edge {k}"))
    edges = edge_impacts(found, landed, body)
    assert len(edges) >= 2
    assert max(edge.floor for edge in edges) < 0.02
    assert all((edge.u[::3] < 0).all() for edge in edges)
    rows = sets_on_edges(found, edges)
    assert [row.label for row in rows] == ["middle", "10 to 90 %", "2.5 to 97.5 %"]
    for row in rows:
        assert ((row.share >= 0.0) & (row.share < 0.9)).all()
        assert len(row.row()) == len(HEADER)
    assert np.median(rows[2].nearest) <= NEAR
    # The same landing lifted by a hand's height is no landing on the plane of the others.
    high = carom.Measured(
        landed[0].time, landed[0].position + np.array([0, 0, 0.05]), landed[0].orientation, name="lifted"
    )
    assert len(edge_impacts(found, [*landed, high], body)) == len(edges)
    with pytest.raises(
        ValueError, match="expected impacts of edges that impulses at both ends explain, got none"
    ):
        sets_on_edges(found, [])


@needs_data
def test_bounces_of_the_ellipse_are_as_published():
    data = read_public_data(ELLIPSE)
    found = validate_ellipse(data, labels=["stronge-coulomb"])
    assert len(found.floor) == 856
    assert np.median(found.floor) == pytest.approx(0.055, abs=1e-3)  # README of the data
    assert np.median(found.laws[0].error) < 0.235


@needs_data
@pytest.mark.long
def test_the_cube_is_as_published():
    found = validate_cube(read_public_data(CUBE), labels=["stronge-coulomb", "compliant-contact, slow"])
    values = found.body.values
    assert values["center_of_mass.z"].low < 5.8e-3 < values["center_of_mass.z"].high
    assert 1.1 < values["inertia.z"].value / 0.81e-3 < 1.25
    assert np.median(found.laws[1].error) < np.median(found.laws[0].error) < 0.036
    assert np.median(found.laws[1].left_out) < 0.029
