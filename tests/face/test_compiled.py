"""How kernels are compiled: arrays on the stack, and references that are not counted."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import carom


def kernels_at(path):
    """The module of a file of kernels, where kept kernels look for it when they are read again."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


probe_kernels = kernels_at(Path(__file__).with_name("probe_kernels.py"))


def test_arrays_on_the_stack_are_arrays():
    assert probe_kernels.norm_by_way_of_the_stack(np.array([2.0, 3.0, 6.0])) == 7.0
    assert [probe_kernels.whole_numbers(i) for i in range(3)] == [1, 3, 5]


def test_an_array_that_nobody_would_give_back_is_refused():
    with pytest.raises(
        TypeError, match=r"'added_on_stacks' has allocates=False.*'_filled', which has allocates=True"
    ):
        probe_kernels.added_on_stacks(3)


def test_an_array_that_would_be_given_back_twice_is_refused():
    with pytest.raises(TypeError, match=r"'twice_given_back' has allocates=True.*'same_array'"):
        probe_kernels.twice_given_back(np.ones(2))


LOOPS = """
from carom.compiled import kernel


@kernel()
def take_away(x, y, factor):
    for i in range(x.size):
        x[i] -= factor * y[i]


@kernel()
def one_by_one(x, y, factor):
    take_away(x, y, factor)


@kernel(vectorised=True)
def several_at_once(x, y, factor):
    take_away(x, y, factor)
"""


def test_loops_that_take_several_numbers_at_once_give_the_same_bits(tmp_path):
    path = tmp_path / "loops_kernels.py"
    path.write_text(LOOPS)
    loops = kernels_at(path)
    x, y = np.random.default_rng(0).normal(size=(2, 101))
    one, several = x.copy(), x.copy()
    loops.one_by_one(one, y, 1.0 / 3.0)
    loops.several_at_once(several, y, 1.0 / 3.0)
    assert one.tobytes() == several.tobytes() != x.tobytes()
    wide = [
        "x double>" in "".join(made.entry.inspect_llvm().values())
        for made in (loops.one_by_one, loops.several_at_once)
    ]
    assert wide == [False, True]


def test_a_run_leaves_no_memory_behind():
    _nrt_python.memsys_enable_stats()
    material = carom.Material(0.5, 0.4)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    for k in range(2):
        scene.add(
            carom.Body(
                carom.Box((0.2, 0.1, 0.1)), density=500.0, position=(0.05 * k, 0, 0.2 + 0.3 * k),
                angular_velocity=(1.0, 2.0 - k, 0.5), material=material,
            )
        )  # fmt: skip

    def held():
        before = rtsys.get_allocation_stats()
        carom.Simulator(scene, carom.StrongeCoulomb()).run(1.0)
        after = rtsys.get_allocation_stats()
        assert after.alloc > before.alloc
        return (after.alloc - after.free) - (before.alloc - before.free)

    held()
    assert held() == 0


def test_code_for_threads_is_not_mixed_up_with_that_of_runs():
    """Both contain the impact of one contact, of which that of runs takes fewer arguments."""
    material = carom.Material(0.3, 0.5)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material))
    scene.add(carom.Body(carom.Sphere(0.1), density=500.0, position=(0, 0, 0.3), material=material))
    carom.Simulator(scene, carom.StrongeCoulomb()).run(1.0)
    random = np.random.default_rng(0)
    factor = random.normal(size=(50, 3, 3))
    W, u = factor @ factor.transpose(0, 2, 1) + 0.1 * np.eye(3), random.normal(size=(50, 3))
    batch = carom.StrongeCoulomb().resolve_many(W, u, 0.5, 0.5)
    for k in range(50):
        alone = carom.StrongeCoulomb().resolve(carom.ImpactProblem(W[k], u[k], 0.5, 0.5))
        assert np.array_equal(batch.impulse[k], alone.impulse)


PROBE = """
import sys
import numpy as np
sys.path.append(sys.argv[1])
import probe_kernels
assert probe_kernels.norm_by_way_of_the_stack(np.array([2.0, 3.0, 6.0])) == 7.0
"""


def test_kernels_are_kept_apart_by_processor(tmp_path):
    """What was compiled for one processor is never run on another, nor compiled again on its own."""
    links = Path(__file__).parents[2] / ".links"
    counts = []
    for processor in ({}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}) * 2:
        subprocess.run(
            [sys.executable, "-c", PROBE, str(Path(__file__).parent)],
            env=os.environ | {"PYTHONPATH": str(links), "NUMBA_CACHE_DIR": str(tmp_path)} | processor,
            check=True,
        )
        counts.append(len(list(tmp_path.rglob("*.nbc"))))
    assert counts == [1, 2, 2, 2]


def test_an_interrupt_while_numba_makes_what_a_kernel_returns_is_one():
    """Found by a timer: numba's C code told of a SystemError that the interrupt had caused."""
    scene = carom.Scene()
    for k in range(2):
        scene.add(carom.Body(carom.Sphere(0.1), density=500.0, position=(k, 0, 0)))
    carom.Simulator(scene, carom.StrongeCoulomb())
    interrupted = []

    def interrupt(frame, event, _):
        if event == "call" and frame.f_code.co_name == "_numba_unpickle" and not interrupted:
            interrupted.append(frame.f_code.co_filename)
            raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            carom.Simulator(scene, carom.StrongeCoulomb())
    finally:
        sys.settrace(before)
    assert len(interrupted) == 1
