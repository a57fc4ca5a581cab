"""The command ``carom sweep``: many runs of a user's program or of a built-in scene, and what they say together."""

import argparse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .console import (
    DONE,
    ENDED_BADLY,
    INTERRUPTED,
    MEBIBYTE,
    BadInput,
    complain,
    load_scene,
    positive_number,
    positive_whole,
    say,
    say_table,
    seed_number,
)

if TYPE_CHECKING:
    from .simulator import Ensemble
    from .simulator.ensembles.program import Program

_MEMBERS = 100
_FAILURES_SHOWN = 10


def add_sweep(command: Callable[..., argparse.ArgumentParser], commands: Any) -> None:
    """Add the command to those that there are."""
    sweep = command(
        commands,
        "sweep",
        _sweep,
        "run a scene or a program many times, on all cores or a cluster",
        """\
Run many members and say what they have in common. SCENE is a scene file, a Python program of yours, or the
name of a demo with a scene. A scene file is simulated under --law for --duration. A program has a function
run(member, rng) that returns a trajectory or numbers, and may have scene(), whose scene --vary and --perturb
change and run is then given, and measure(trajectory), whose numbers are columns. A program with scene() and no
run is simulated under --law for --duration.

Members do not depend on workers or their number. One that fails is a row that says why.""",
        """\
examples:
  carom sweep program.py --members 1000 --store sweep.h5
  carom sweep program.py --members 1000 --store sweep.h5 --resume
  carom sweep slide.json --law stronge-coulomb --duration 3 --vary floor.friction=0.1:0.3
  carom sweep program.py --vary floor.friction=0.1:0.3 --perturb box.position=1e-3
  carom sweep program.py --scheduler tcp://10.0.0.1:8786
  carom sweep program.py --members 1000 --rerun 17 --out seventeen.h5""",
    )
    sweep.add_argument(
        "scene", metavar="SCENE", help="a scene file, a Python program, or a demo with a scene"
    )
    sweep.add_argument("--members", type=positive_whole, metavar="N", help=f"how many; default {_MEMBERS}")
    sweep.add_argument(
        "--vary", action="append", default=[], metavar="NAME=LOW:HIGH",
        help="draw a value evenly from a range: friction=0.1:0.3 of all surfaces, floor.friction=0.1:0.3 of one, "
        "or any NAME of a program without scene(), whose members are then dicts",
    )  # fmt: skip
    sweep.add_argument(
        "--perturb", action="append", default=[], metavar="NAME=S",
        help="add an error of this standard deviation: position=1e-3 of all bodies, box.velocity=0.1 of one",
    )  # fmt: skip
    sweep.add_argument(
        "--outcomes", type=positive_whole, default=1, metavar="K",
        help="members for each start, which differ by what impacts leave undecided; default 1",
    )  # fmt: skip
    sweep.add_argument(
        "--part-overlaps", action="store_true", help="move bodies apart that overlap after errors"
    )
    sweep.add_argument(
        "--law", metavar="NAME", help="impact law of a scene file, of a program without run, or of a demo"
    )
    sweep.add_argument("--duration", type=positive_number, metavar="S", help="simulated time [s] of these")
    sweep.add_argument("--seed", type=seed_number, default=0, metavar="N", help="of everything; default 0")
    where = sweep.add_mutually_exclusive_group()
    where.add_argument("--workers", type=positive_whole, metavar="N", help="processes; default one a core")
    where.add_argument("--scheduler", metavar="ADDRESS", help="of Dask, such as tcp://10.0.0.1:8786")
    sweep.add_argument("--store", metavar="FILE", help="HDF5 file that rows are written to as they come")
    sweep.add_argument("--resume", action="store_true", help="go on with the file of --store")
    sweep.add_argument("--recordings", metavar="FOLDER", help="where to record every member")
    sweep.add_argument("--member-timeout", type=positive_number, metavar="S", help="longest time of a member")
    sweep.add_argument("--member-memory", type=positive_number, metavar="MB", help="most memory of a member")
    sweep.add_argument("--rerun", type=int, metavar="K", help="run member K alone, and record it to --out")
    sweep.add_argument("--out", metavar="RUN", help="recording of --rerun; default member-K.h5")


def _sweep(options: argparse.Namespace) -> int:
    from .simulator import EnsembleInterrupted, EnsembleStopped, ensemble

    run, members, measure = _what(options)
    if options.rerun is not None:
        return _rerun(options, run, members)
    memory = None if options.member_memory is None else options.member_memory * MEBIBYTE
    try:
        found = ensemble(
            run, members, executor=options.scheduler, workers=options.workers, seed=options.seed,
            measure=measure, store=options.store, resume=options.resume, recordings=options.recordings,
            member_timeout=options.member_timeout, member_memory=memory,
        )  # fmt: skip
    except (TypeError, ValueError, OSError, ImportError) as error:
        raise BadInput(str(error)) from None
    except (EnsembleInterrupted, EnsembleStopped) as stop:
        if stop.ensemble is not None:
            _tell(stop.ensemble, options.store)
        return complain(str(stop), INTERRUPTED if isinstance(stop, EnsembleInterrupted) else ENDED_BADLY)
    _tell(found, options.store)
    return DONE if found.good.any() else ENDED_BADLY


def _rerun(options: argparse.Namespace, run: Any, members: Any) -> int:
    """One member alone, recorded."""
    from .simulator import Trajectory
    from .simulator.ensembles.members import members_of
    from .simulator.ensembles.one_member import Task

    known = members_of(members)
    index, out = options.rerun, options.out or f"member-{options.rerun}.h5"
    if not 0 <= index < len(known):
        raise BadInput(f"--rerun {index}: expected a member from 0 to {len(known) - 1}")
    result = Task(run, None, known, options.seed).result(index, known.given(index))
    if not isinstance(result, Trajectory):
        raise BadInput(f"--rerun {index}: run returns {type(result).__name__}, and no trajectory to record")
    try:
        say(f"Recording: {result.save(out)} ({result.status.value})")
    except OSError as error:
        raise BadInput(f"--out {out}: {error}") from None
    return DONE


# -- what is run -------------------------------------------------------------------------------------------------


def _what(options: argparse.Namespace) -> tuple[Any, Any, Any]:
    """What runs a member, the members, and what measures."""
    name = options.scene
    if Path(name).suffix == ".py":
        return _of_program(options, _program(name))
    if Path(name).suffix.lower() == ".json":
        run = _scene_run(options, None, None)
        return run, _perturbed(options, load_scene(name)), None
    from .demos import ComputedDemo, demo_by_name

    try:
        demo = demo_by_name(name)
    except ValueError:
        raise BadInput(
            f"{name}: expected a scene file such as slide.json, a program such as sweep.py, or the name of a demo"
        ) from None
    if isinstance(demo, ComputedDemo):
        raise BadInput(f"{name}: expected a demo with a scene, got one that computes")
    run = _scene_run(options, demo.law, demo.duration)
    return run, _perturbed(options, demo.scene()), None


def _program(path: str) -> "Program":
    from .simulator.ensembles.program import Program

    try:
        program = Program.read(path)
        _ = program.module
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None
    except Exception as error:  # whatever a program of the user's raises
        raise BadInput(f"{path}: cannot be loaded ({type(error).__name__}: {error})") from None
    return program


def _of_program(options: argparse.Namespace, program: "Program") -> tuple[Any, Any, Any]:
    from .simulator.ensembles.program import ProgramFunction

    functions = {
        name: ProgramFunction(program, name) if program.function(name) else None
        for name in ("run", "measure")
    }
    scene = program.function("scene")
    if functions["run"] is None and scene is None:
        raise BadInput(f"{options.scene}: expected a function run(member, rng), or scene()")
    if functions["run"] is not None and (options.law or options.duration):
        raise BadInput("--law, --duration: run of the program decides these")
    run = functions["run"] or _scene_run(options, None, None)
    members = _perturbed(options, scene()) if scene else _numbered(options)
    return run, members, functions["measure"]


def _scene_run(options: argparse.Namespace, law: str | None, duration: float | None) -> Any:
    from .impact_laws import law_by_name
    from .simulator import SceneRun

    law, duration = options.law or law, options.duration or duration
    if law is None or duration is None:
        raise BadInput(
            f"--law, --duration: expected both, since {options.scene} has a scene and no run(member, rng)"
        )
    try:
        return SceneRun(law_by_name(law), duration)
    except ValueError as error:
        raise BadInput(str(error)) from None


def _perturbed(options: argparse.Namespace, scene: Any) -> Any:
    """The scene with the errors that options ask for."""
    from .simulator import perturbed

    errors: dict[str, Any] = {}
    given = [(text, _range(text)) for text in options.vary] + [
        (text, _spread(text)) for text in options.perturb
    ]
    for text, (name, value) in given:
        body, dot, field = name.rpartition(".")
        if not dot:
            if field in errors:
                raise BadInput(f"{text}: {field} is given twice; name bodies, as in box.{field}")
            errors[field] = value
        elif isinstance(errors.setdefault(field, {}), dict):
            errors[field][body] = value
        else:
            raise BadInput(f"{text}: {field} is given for all bodies already")
    try:
        return perturbed(
            scene, members=options.members or _MEMBERS, outcomes=options.outcomes,
            part_overlaps=options.part_overlaps, **errors,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise BadInput(str(error)) from None


def _numbered(options: argparse.Namespace) -> Any:
    """Members of a program without a scene: indices, or dicts of values drawn from ranges."""
    from .simulator.ensembles.members import drawn

    if options.perturb or options.outcomes > 1 or options.part_overlaps:
        raise BadInput("--perturb, --outcomes, --part-overlaps: expected a program with scene()")
    count = options.members or _MEMBERS
    ranges = dict(_range(text) for text in options.vary)
    return drawn(count, options.seed, ranges) if ranges else count


def _range(text: str) -> tuple[str, tuple[float, float]]:
    name, equals, value = text.rpartition("=")
    low, colon, high = value.partition(":")
    try:
        if not (name and equals and colon):
            raise ValueError
        limits = float(low), float(high)
    except ValueError:
        raise BadInput(f"--vary {text}: expected NAME=LOW:HIGH, such as floor.friction=0.1:0.3") from None
    if not limits[0] <= limits[1]:
        raise BadInput(f"--vary {text}: expected a lower value before a higher one")
    return name, limits


def _spread(text: str) -> tuple[str, float]:
    name, equals, value = text.rpartition("=")
    try:
        if not (name and equals):
            raise ValueError
        return name, float(value)
    except ValueError:
        raise BadInput(f"--perturb {text}: expected NAME=S, such as box.position=1e-3") from None


# -- what came of it ---------------------------------------------------------------------------------------------


def _tell(found: "Ensemble", store: str | None) -> None:
    """How members ended, what numbers they left, and which failed why."""
    counts = Counter(found.status.tolist())
    say_table(
        ["members", str(len(found))],
        [[status, str(number)] for status, number in sorted(counts.items())],
    )
    rows = []
    for name, column in found.columns.items():
        if column.ndim == 1 and len(found.statistics(name).values) > 1:
            known = found.statistics(name)
            mean = known.mean()
            quantiles = [f"{known.quantile(q).value:.5g}" for q in (0.05, 0.5, 0.95)]
            off = f"{mean.value:.5g} ± {mean.high - mean.value:.2g}"
            rows.append([name, off, f"{known.spread().value:.3g}", *quantiles])
    if rows:
        say_table(["column", "mean, 95 % interval", "spread", "5 %", "median", "95 %"], rows)
    failures = [row for row in found.failures if row[1] != "not_run"]
    if failures:
        shown = [[str(index), status, message] for index, status, message in failures[:_FAILURES_SHOWN]]
        say_table(["member", "failed", "why"], shown)
    if len(failures) > _FAILURES_SHOWN:
        say(f"{len(failures) - _FAILURES_SHOWN} more failed.")
    say(f"Rows: {store}" if store else "Nothing is kept: --store FILE keeps all rows.")
