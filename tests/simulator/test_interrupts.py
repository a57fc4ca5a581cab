"""Signals while compiled code runs: nothing is lost, and nothing is left half done."""

import gc
import signal
import threading

import numpy as np
import pytest

import carom
from carom.bodies import Body, HalfSpace, Material, Scene, Sphere
from carom.compiled import Kernel, _KernelCache
from carom.simulator.record import sample_kernels
from carom.simulator.world import World


def bouncing(count: int) -> Scene:
    scene = Scene()
    scene.add(Body(HalfSpace((0, 0, 1)), fixed=True, material=Material(0.0, 0.9)))
    for k in range(count):
        place = (0.2 * k, 0, 0.5 + 0.01 * k)
        scene.add(Body(Sphere(0.05), density=1000.0, position=place, material=Material(0.0, 0.9)))
    return scene


class Interrupted(carom.SequentialReflection):
    """A law during one of whose impacts Ctrl-C is pressed."""

    def __init__(self, at):
        super().__init__()
        self.at, self.asked = at, 0

    def resolve(self, problem, rng=None):
        self.asked += 1
        if self.asked == self.at:
            signal.raise_signal(signal.SIGINT)
        return super().resolve(problem, rng)


def test_ctrl_c_waits_for_the_compiled_call_and_the_run_can_go_on():
    simulator = carom.Simulator(bouncing(3), Interrupted(3))
    with pytest.raises(KeyboardInterrupt):
        simulator.run(2.0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    simulator.run(2.0)
    whole = carom.Simulator(bouncing(3), Interrupted(-1)).run(2.0)
    assert simulator.trajectory.event_times.tolist() == whole.event_times.tolist()
    assert np.array_equal(simulator.trajectory.sample(2.0).packed(), whole.sample(2.0).packed())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_table_that_was_cut_short_while_it_grew_grows_all_the_same(monkeypatch):
    """Saved: the handler of another signal raised in the callback, and rows were written beyond the table."""
    whole = carom.Simulator(bouncing(30), carom.SequentialReflection()).run(2.0)
    grow, calls = World._grow, []

    def cut_short(self, number, rows):
        calls.append(number)
        if len(calls) % 2:
            raise TimeoutError("a signal")
        grow(self, number, rows)

    monkeypatch.setattr(World, "_grow", cut_short)
    trajectory = carom.Simulator(bouncing(30), carom.SequentialReflection()).run(2.0)
    assert len(calls) > 2
    assert trajectory.event_times.tolist() == whole.event_times.tolist()


def test_a_second_thread_is_refused_in_words():
    simulator = carom.Simulator(bouncing(2), carom.SequentialReflection())
    entered, let_go, said = threading.Event(), threading.Event(), []

    def wait(event, _):
        entered.set()
        let_go.wait(20.0)

    simulator.on_event(wait)
    first = threading.Thread(target=simulator.run, args=(0.6,))
    first.start()
    assert entered.wait(20.0)
    state = simulator.state
    for call in (
        lambda: simulator.run(1.0), simulator.step_event, lambda: simulator.step(0.1), simulator.copy,
        lambda: setattr(simulator, "state", state),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="another thread is advancing it") as caught:
            call()
        said.append(str(caught.value))
    let_go.set()
    first.join()
    assert len(said) == 5
    assert simulator.run(1.0).status.value == "reached_end"
    whole = carom.Simulator(bouncing(2), carom.SequentialReflection()).run(1.0)
    assert simulator.trajectory.event_hash == whole.event_hash


def test_what_the_simulator_calls_may_not_advance_it():
    scene = bouncing(2)
    found = []

    def force(time, state):
        found.append(simulator)
        if len(found) == 3:
            simulator.run(5.0)
        return np.zeros((3, 6))

    scene.add_force(force)
    simulator = carom.Simulator(scene, carom.SequentialReflection())
    with pytest.raises(RuntimeError, match="may not advance the simulator that calls it"):
        simulator.run(1.0)


def test_ctrl_c_waits_until_a_kernel_has_been_read(monkeypatch):
    """Saved: it was lost in what lets LLVM's objects go, or they were let go twice, and the process died."""
    carom.Simulator(bouncing(1), carom.SequentialReflection()).run(0.1).sample(0.05)
    (arguments,) = sample_kernels.states_on_pieces.entry.signatures
    load, read = _KernelCache.load_overload, []

    def interrupted(self, *which):
        signal.raise_signal(signal.SIGINT)
        read.append(load(self, *which))
        return read[-1]

    monkeypatch.setattr(_KernelCache, "load_overload", interrupted)
    again = Kernel(sample_kernels.states_on_pieces.py_func, sample_kernels.states_on_pieces._options)
    with pytest.raises(KeyboardInterrupt):
        again.entry.compile(arguments)
    assert len(read) == 1
    assert again.entry.signatures == [arguments]  # nothing of it was cut short


def test_the_file_of_a_run_that_is_forgotten_is_closed_later(tmp_path):
    """Saved: garbage collection closed it, and lost Ctrl-C while it did."""
    law = carom.SequentialReflection()
    simulator = carom.Simulator(bouncing(1), law, record=tmp_path / "one.h5")
    simulator.run(0.5)
    file = simulator._run.recorder._file
    simulator.around = simulator
    del simulator
    gc.collect()
    assert file
    other = carom.Simulator(bouncing(1), law, record=tmp_path / "two.h5")
    assert not file
    assert carom.Trajectory.load(tmp_path / "one.h5").end_time == 0.5
    assert other.run(0.1).end_time == 0.1


@pytest.mark.parametrize("call", [20, 200, 500])
def test_a_run_goes_on_right_after_ctrl_c_in_a_force(call):
    """Saved: steps of lasting contact were judged as failed from then on, and places were wrong by 6e-6 m."""
    calls = []

    def pull(t, state):
        calls.append(t)
        if len(calls) == call:
            raise KeyboardInterrupt
        return np.tile((0.0, 0.1 * t, -1.0, 0.0, 0.0, 0.0), (2, 1))

    def simulator():
        material = carom.Material(friction=0.3, restitution=0.5)
        scene = carom.Scene()
        scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
        scene.add(
            carom.Body(
                carom.Box((0.1, 0.2, 0.3)), density=1000.0, position=(0, 0, 0.15), velocity=(0.5, 0.2, 0.0),
                angular_velocity=(0.0, 0.0, 2.0), material=material,
            )
        )  # fmt: skip
        scene.add_force(pull)
        return carom.Simulator(scene, carom.StrongeCoulomb())

    interrupted = simulator()
    with pytest.raises(KeyboardInterrupt):
        interrupted.run(0.3)
    run = interrupted.run(0.3)
    whole = simulator().run(0.3)
    assert run.status is whole.status
    assert len(run.events) == len(whole.events)
    np.testing.assert_allclose(run.sample(0.3).position, whole.sample(0.3).position, atol=1e-12)
