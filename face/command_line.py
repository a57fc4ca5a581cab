"""The command ``carom``: drop meshes, run demos, replay, draw, summarise and verify recordings, compile ahead.

What a command needs is imported when it runs, so that help and bad arguments are answered at once.
"""

import argparse
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from . import __version__
from .compile_notice import WATCH, running_time
from .console import (
    BAD_INPUT,
    DONE,
    ENDED_BADLY,
    INTERRUPTED,
    BadEnd,
    BadInput,
    complain,
    finite_number,
    load_scene,
    pixels,
    positive_number,
    positive_whole,
    say,
    say_table,
    seed_number,
    size_limit,
)
from .sweep_command import add_sweep
from .validate_command import add_validate
from .warm_command import add_warm

if TYPE_CHECKING:
    from .bodies import Scene
    from .demos import Check, ComputedDemo, SteppedDemo
    from .impact_laws import ImpactLaw
    from .simulator import BranchedRun, Steps, Trajectory

_COMMAND_SLIP = re.compile(r"argument COMMAND: invalid choice: '(.*?)' ")  # as argparse begins to say it
_DROP_RESTITUTION = 0.4  # of dropped meshes, under laws that honour restitution
_DROP_LAW = "anitescu-potra"
_DROP_DURATION = 10.0  # s
_COMPILING_SAID = 1.0  # s from which on the summary of a run says how long kernels were compiled
_SUMMARY_LOOKS = 300_000  # at pairs for the largest penetration of a summary: some seconds


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 for what ended badly, 2 for bad input, 130 after Ctrl-C."""
    parser = _parser()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help()
        return DONE
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:  # argparse has printed help, version or what is wrong
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    try:
        return options.command(options)
    except BadInput as error:
        return complain(str(error), BAD_INPUT)
    except BadEnd as error:
        return complain(str(error), ENDED_BADLY)
    except KeyboardInterrupt as error:
        return complain(str(error) or "interrupted", INTERRUPTED)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    finally:
        if "carom.simulator.left_behind" in sys.modules:  # else no run has left a file open
            from .simulator.left_behind import Held

            Held.settle()


# -- arguments -----------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    commands: Mapping[str, argparse.ArgumentParser] = {}

    def error(self, message: str) -> NoReturn:
        slip = _COMMAND_SLIP.match(message)
        if slip is not None:
            from .bodies.meant import did_you_mean

            expected = f", expected one of {', '.join(map(repr, self.commands))}"
            message = f"no command {slip[1]!r}{did_you_mean(slip[1], self.commands, expected, 0.5)}"
        complain(f"{message} (see `{self.prog} --help`)", BAD_INPUT)
        raise SystemExit(BAD_INPUT)


class _Version(argparse.Action):
    """Says what results depend on, without loading it."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any):
        super().__init__(option_strings, dest, nargs=0, help=rest.get("help"))

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from importlib.metadata import version

        others = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy"))
        say(f"carom {__version__} (Python {'.'.join(map(str, sys.version_info[:3]))}, {others})")
        raise SystemExit(DONE)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="carom",
        description="Simulate rigid bodies that hit each other several times at once, event by event.",
        epilog="""\
examples:
  carom drop                       drop a mesh that comes with the package
  carom drop part.stl --seed 3     drop a mesh of yours: STL, OBJ, PLY, OFF, GLB or GLTF
  carom demo                       list the built-in scenes
  carom demo rocking-block         run one of them
  carom run slide.json --law stronge-coulomb --duration 3
                                   run a scene of yours
  carom view drop.h5               replay a recording
  carom render drop.h5 --out a.mp4 make a video of it, or .png, .gif, .glb, .html
  carom sweep program.py           run a program of yours a hundred times, on all cores

exit status: 0 done, 1 a run that ended badly, 2 bad input, 130 interrupted.
Every command has --help.""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version", action=_Version, help="say the versions of carom, Python, numba and numpy"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    parser.commands = commands.choices

    drop = _command(
        commands,
        "drop",
        _drop,
        "drop meshes onto a floor",
        """\
Drop meshes onto a floor, turned and spinning at random from a seed, until they rest or the time is up.
A mesh keeps its true triangles and has the mass of the solid they enclose or, with --mass-from hull, of
its convex hull, as an open one has anyway; one that is convex falls as its hull, which is the same. The command
says what it used.
Density is 1000 kg/m³, friction 0.5. The run is recorded, then replayed in a window or, without a display,
drawn as six moments in one picture.""",
        """\
examples:
  carom drop
  carom drop part.stl other.obj --height 1 --seed 7 --out fall.h5
  carom drop part_in_mm.stl --scale 0.001 --no-view
  carom drop scan_with_holes.ply --mass-from hull""",
    )
    drop.add_argument("files", nargs="*", metavar="FILE", help="mesh files; without any, a shipped mesh")
    _add_run_arguments(drop, f"default {_DROP_LAW}", f"default {_DROP_DURATION:g}", "default drop.h5")
    drop.add_argument(
        "--height",
        type=positive_number,
        metavar="M",
        help="lowest point above the floor [m]; default the mesh's diameter",
    )
    drop.add_argument(
        "--scale",
        type=positive_number,
        metavar="S",
        help="metres for one unit of the files; default: 0.2 m across",
    )

    drop.add_argument(
        "--mass-from",
        choices=("surface", "hull"),
        help="mass of the solid that the triangles enclose, or of the convex hull; by default of the solid, and of "
        "the hull where the mesh is open",
    )
    drop.add_argument(
        "--size-limit",
        type=positive_number,
        metavar="MIB",
        help="mebibytes that a mesh file may have; default 256",
    )

    demo = _command(
        commands,
        "demo",
        _demo,
        "run a built-in scene, or list them",
        """\
Run a built-in scene and check its ending; without a name, list the scenes. The check belongs to the scene's
own law and duration, so it is left out when these are given. Some demos compute single impacts instead, or
move by steps of their own: they print tables, take no law or duration, and may write a file, which --out names.""",
        "examples:\n  carom demo\n  carom demo newtons-cradle --out cradle.h5\n"
        "  carom demo hodograph --out hodograph.png\n"
        "  carom demo bouncing-ball --law anitescu-potra --no-view\n"
        "  carom demo channel --share 0.4 --duration 0.1\n"
        "  carom demo channel --share 0.4 --duration 0.2 --resume",
    )
    demo.add_argument("name", nargs="?", metavar="NAME", help="the scene; without it, the scenes are listed")
    _add_run_arguments(demo, "default the scene's", "default the scene's", "default NAME.h5")
    demo.add_argument(
        "--share",
        type=positive_number,
        metavar="X",
        help="channel: lengths over the paper's; 1 is 250,000 spheres",
    )
    demo.add_argument(
        "--fill", type=positive_number, metavar="X", help="channel: solid share of the volume at the start"
    )
    demo.add_argument(
        "--resume",
        action="store_true",
        help="channel: go on with the run that was stopped, or to a later --duration",
    )

    run = _command(
        commands,
        "run",
        _run,
        "run a scene file",
        """\
Run a scene that is a file, as scene.save("slide.json") writes it or a person does: docs/scene_files.md says what it
may hold. Nothing in it is executed. The run is recorded, then replayed in a window or, without a display, drawn as
six moments in one picture.""",
        """\
examples:
  carom run slide.json --law stronge-coulomb --duration 3
  carom run slide.json --law set-valued-routh --duration 3 --seed 7 --out seven.h5 --no-view
  carom run heap.json --law maximum-dissipation --steps 0.002 --duration 3""",
    )
    run.add_argument("scene", metavar="SCENE", help="a scene file, such as slide.json")
    _add_run_arguments(run, "needed", "needed", "default that of SCENE, ending in .h5", required=True)
    run.add_argument(
        "--event-limit",
        type=positive_whole,
        metavar="N",
        help="events after which it stops; default a million",
    )
    run.add_argument(
        "--part-overlaps", action="store_true", help="move bodies apart that overlap at the start"
    )
    run.add_argument(
        "--steps",
        type=positive_number,
        metavar="S",
        help="move convex bodies by time steps of this length [s] instead of event by event: for heaps of "
        "hundreds, under any law, which resolves what is struck",
    )
    run.add_argument(
        "--steps-above",
        type=positive_whole,
        metavar="N",
        help="only where more than N bodies hold together: all else goes from event to event, under any law",
    )
    run.add_argument(
        "--size-limit",
        type=positive_number,
        metavar="MIB",
        help="mebibytes that the file and each mesh file may have; default 64 and 256",
    )

    view = _command(
        commands,
        "view",
        _view,
        "replay recordings in a window",
        "Replay a recording in a window; several are overlaid as outcomes of each other, and so are the ends of a\n"
        "branched run, as BranchedRun.save writes it. The keys are on screen,\n"
        "all of them with H. A recording whose run is still going on is followed while it grows.",
        "examples:\n  carom view drop.h5\n  carom view routh-1.h5 routh-2.h5 routh-3.h5",
    )
    view.add_argument("runs", nargs="+", metavar="RUN", help="recordings, such as drop.h5")
    _add_view_from(view)

    render = _command(
        commands,
        "render",
        _render,
        "write pictures, a video, a glTF scene or a web page, without a display",
        """\
Show a recording in a file. The ending of FILE decides what is written:

  .png     one picture, of the end or of --time; six moments with --strip
  FOLDER/  a picture for every frame: frame_00000.png, ...; or a name with a number in it: f_%04d.png
  .mp4     a video, with the program ffmpeg or pip install "carom[video]"
  .gif     an animated picture, with ffmpeg or pip install "carom[video]"
  .glb     a glTF scene with animation, for Blender and other programs
  .html    the replay as one page that needs no server and no network

Several recordings are drawn over each other, each in its colour, and so are the ends of a branched run; only a
.glb takes but one.

Frame k shows exactly the simulated time --from + k * --speed / --fps.""",
        "examples:\n  carom render drop.h5 --out end.png\n  carom render drop.h5 --time 0.25 --out fall.png\n"
        "  carom render drop.h5 --strip --out strip.png\n"
        "  carom render drop.h5 --out above.png --view-from 0 0 1\n"
        "  carom render drop.h5 --speed 0.1 --from 0.2 --to 0.4 --out slow.mp4\n"
        "  carom render drop.h5 --fps 20 --size 480x270 --out drop.gif\n"
        "  carom render drop.h5 --fps 30 --out frames/\n"
        "  carom render one_law.h5 other_law.h5 --out both.html",
    )
    render.add_argument(
        "runs", nargs="+", metavar="RUN", help="recordings, such as drop.h5; several are overlaid"
    )
    render.add_argument("--out", required=True, metavar="FILE", help="the file to write")
    which = render.add_mutually_exclusive_group()
    which.add_argument(
        "--time", type=finite_number, metavar="S", help="the moment of one picture [s]; default the end"
    )
    which.add_argument("--strip", action="store_true", help="six moments in one picture")
    render.add_argument(
        "--from", dest="start", type=finite_number, metavar="S", help="first moment [s]; default the start"
    )
    render.add_argument(
        "--to", dest="end", type=finite_number, metavar="S", help="last moment [s]; default the end"
    )
    render.add_argument(
        "--speed",
        type=positive_number,
        metavar="X",
        help="simulated seconds for one second of watching; default 1, slower for runs under a second and "
        "faster for those over a minute",
    )
    render.add_argument(
        "--fps",
        type=positive_whole,
        metavar="N",
        help="frames for one second of watching; default 60, of a GIF 25",
    )
    render.add_argument(
        "--density",
        action="store_true",
        default=None,
        help="of several recordings show how many are at each place, instead of each in its colour",
    )
    render.add_argument("--size", type=pixels, metavar="WxH", help="pixels; default 1280x720")
    _add_view_from(render)

    info = _command(
        commands,
        "info",
        _info,
        "summarise a recording",
        "Say what a recording holds: bodies, law, seed, events, energy, and how the run ended; of a branched run,\n"
        "how its members part, and how each of its ends came.",
        "example:\n  carom info drop.h5",
    )
    info.add_argument("run", metavar="RUN", help="a recording, such as drop.h5")

    verify = _command(
        commands,
        "verify",
        _verify,
        "make a recorded run again, and say whether it is the same",
        """\
Make a recorded run again from its scene, law, seed and integrator, and compare every event with the recording, bit
for bit; then how it ends. Says how many events are equal, or the first that differs and in what. Of a branched run
every member is made again. A run that depends on functions of yours is refused: a recording does not hold them.

exit status: 0 all equal, 1 something differs, 2 bad input.""",
        "example:\n  carom verify drop.h5",
    )
    verify.add_argument("run", metavar="RUN", help="a recording, such as drop.h5")
    add_sweep(_command, commands)
    add_validate(_command, commands)
    add_warm(_command, commands)
    return parser


def _command(
    commands: Any, name: str, run: Callable, short: str, description: str, epilog: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=short,
        description=description,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=run)
    return parser


def _add_run_arguments(
    parser: argparse.ArgumentParser, law: str, duration: str, out: str, required: bool = False
) -> None:
    parser.add_argument(
        "--law", required=required, metavar="NAME", help=f"impact law, such as sequential-reflection; {law}"
    )
    parser.add_argument(
        "--duration",
        required=required,
        type=positive_number,
        metavar="S",
        help=f"simulated time [s]; {duration}",
    )
    parser.add_argument(
        "--seed", type=seed_number, default=0, metavar="N", help="of everything random; default 0"
    )
    parser.add_argument("--out", metavar="RUN", help=f"recording to write; {out}")
    parser.add_argument("--no-view", action="store_true", help="open no window; write a picture instead")


# -- commands ------------------------------------------------------------------------------------------------


def _drop(options: argparse.Namespace) -> int:
    out = _writable(options.out or "drop.h5", ".h5")
    law = _law(options.law or _DROP_LAW)
    WATCH.likely = "drop"
    from .bodies import FileFormatError
    from .demos import drop_scene, load_dropped_mesh, shipped_mesh

    try:
        meshes = [
            load_dropped_mesh(file, options.scale, options.mass_from, **size_limit(options))
            for file in options.files or [shipped_mesh()]
        ]
    except FileFormatError as error:
        raise BadInput(str(error)) from None
    for mesh in meshes:
        scaling = "rescaled to" if options.scale is None else "with the given scale"
        say(
            f"{mesh.path.name}: {mesh.remark}. {scaling.capitalize()} {mesh.diameter:.4g} m across. {mesh.used}"
        )
    try:
        scene = drop_scene(
            meshes,
            height=options.height,
            restitution=_DROP_RESTITUTION if law.honours_restitution else 0.0,
            seed=options.seed,
        )
    except ValueError as error:  # a scale so extreme that a mass cannot be told from zero or infinity
        raise BadInput(f"the meshes cannot be dropped at this scale: {error}") from None
    trajectory = _simulate(scene, law, options.seed, out, options.duration or _DROP_DURATION)
    _show(trajectory, out, options.no_view)
    return _exit_status(trajectory)


def _run(options: argparse.Namespace) -> int:
    scene = load_scene(options.scene, **size_limit(options))
    out = _writable(options.out or f"{Path(options.scene).stem}.h5", ".h5")
    if out.resolve() == Path(options.scene).resolve():
        raise BadInput(f"--out {out}: expected another file than the scene's")
    law = _law(options.law)
    if options.part_overlaps:
        try:
            moved = scene.resolve_overlaps()
        except (TypeError, ValueError) as error:
            raise BadInput(f"--part-overlaps: {error}") from None
        for each in moved:
            say(f"{each.name} was moved by {each.displacement.tolist()} m.")
    steps = options.steps
    if options.steps_above is not None:
        steps = _steps_above(options.steps_above, steps)
    elif steps is not None:
        law = _law_of_steps(law)
    given = {"event_limit": options.event_limit, "steps": steps}
    chosen = {name: value for name, value in given.items() if value is not None}
    trajectory = _simulate(scene, law, options.seed, out, options.duration, **chosen)
    _show(trajectory, out, options.no_view)
    return _exit_status(trajectory)


def _demo(options: argparse.Namespace) -> int:
    from .demos import THEMES, ComputedDemo, demo_by_name, demo_names, demo_summary

    if options.name is None:
        width = max(len(name) for name in demo_names()) + 1
        for theme, entries in THEMES.items():
            say(f"{theme}:")
            for name, entry in entries.items():
                say(f" {name:{width}}{entry.summary}")
        say("Run one with `carom demo NAME`.")
        return DONE
    try:
        demo = demo_by_name(options.name)
    except ValueError as error:
        raise BadInput(str(error)) from None
    _refuse_options_of_steps(demo, options)
    WATCH.likely = demo.name
    if isinstance(demo, ComputedDemo):
        return _compute(demo, options)
    out = _writable(options.out or f"{demo.name}.h5", ".h5")
    law = _law(options.law or demo.law)
    say(f"{demo.name}: {demo_summary(demo.name)}.")
    trajectory = _simulate(demo.scene(), law, options.seed, out, options.duration or demo.duration)
    status = _exit_status(trajectory)
    if options.law in (None, demo.law) and options.duration in (None, demo.duration):
        checks = demo.check(trajectory)
        _say_checks(checks)
        if not all(check.holds for check in checks):
            status = ENDED_BADLY
    _show(trajectory, out, options.no_view)
    return status


def _refuse_options_of_steps(demo: object, options: argparse.Namespace) -> None:
    """Bad input where a demo that is not moved by `TimeSteps` is given what belongs to one that is."""
    from .demos import SteppedDemo

    for option in ("share", "fill", "resume"):
        if getattr(options, option) and not isinstance(demo, SteppedDemo):
            raise BadInput(
                f"--{option}: demo {options.name} does not take it, only those moved by time steps"
            )


def _step_on(demo: "SteppedDemo", options: argparse.Namespace, out: Path) -> None:
    """Make the run of a demo of time steps, kept in a file beside its picture."""
    kept = out.with_suffix(".h5")
    try:
        demo.begin(
            share=options.share, fill=options.fill, duration=options.duration, seed=options.seed, checkpoint=kept,
            resume=options.resume, progress=True,
        )  # fmt: skip
    except ValueError as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"{kept}: cannot be written ({error.strerror or error})") from None
    say(f"The run is kept in {kept}; --resume goes on with it.")


def _compute(demo: "ComputedDemo", options: argparse.Namespace) -> int:
    """A demo that the engine does not run: its tables, its checks, and the file it writes, if any."""
    from .demos import RecordingDemo, SteppedDemo, WritingDemo, demo_summary
    from .viewer import DisplayError

    for option in ("law",) if isinstance(demo, SteppedDemo) else ("law", "duration"):
        if getattr(options, option) is not None:
            raise BadInput(f"--{option}: demo {demo.name} is no run of the engine and does not take it")
    out = None
    if isinstance(demo, WritingDemo):
        out = _writable(options.out or f"{demo.name}{demo.ending}", demo.ending)
        if out.suffix.lower() != demo.ending:
            raise BadInput(f"--out {options.out}: expected an ending {demo.ending}, got {out.suffix}")
    elif options.out is not None:
        raise BadInput(f"--out: demo {demo.name} writes no file")
    say(f"{demo.name}: {demo_summary(demo.name)}.")
    trajectory = demo.run(options.seed, progress=True) if isinstance(demo, RecordingDemo) else None
    if isinstance(demo, SteppedDemo) and out is not None:
        _step_on(demo, options, out)
    for table in demo.tables():
        say_table(list(table.header), [list(row) for row in table.rows], fold_first=True)
    checks = demo.check()
    _say_checks(checks)
    if isinstance(demo, WritingDemo) and out is not None:
        try:
            demo.write(out)
        except DisplayError as error:
            return complain(str(error), ENDED_BADLY)
        except OSError as error:
            raise BadInput(f"--out {out}: cannot be written ({error.strerror or error})") from None
        say(f"Written: {out}")
        if trajectory is not None:
            _show(trajectory, out, options.no_view)
    return DONE if all(check.holds for check in checks) else ENDED_BADLY


def _add_view_from(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--view-from",
        nargs=3,
        type=finite_number,
        metavar=("X", "Y", "Z"),
        help="the direction from the middle in which the camera stands, such as 1 0 0.3, or 0 0 1 for from above",
    )


def _view(options: argparse.Namespace) -> int:
    from .viewer import DisplayError, view

    try:
        view(
            options.runs,
            view_from=options.view_from,
            title=f"carom: {', '.join(Path(run).name for run in options.runs)}",
        )
    except (ValueError, DisplayError) as error:
        raise BadInput(str(error)) from None
    return DONE


def _render(options: argparse.Namespace) -> int:
    from .simulator import Trajectory
    from .viewer import DisplayError, VideoError, render, render_strip

    trajectories = [_load_any(run) for run in options.runs]
    names = ("time", "size", "fps", "start", "end", "speed", "density", "view_from")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    try:
        if options.strip:
            if (
                given.keys() - {"view_from"}
                or len(trajectories) > 1
                or not isinstance(trajectories[0], Trajectory)
            ):
                raise BadInput(
                    "--strip draws six moments of one recording and takes no other option than --view-from"
                )
            out = render_strip(trajectories[0], options.out, **given)
        else:
            labels = [Path(run).stem for run in options.runs]
            out = render(
                trajectories if len(trajectories) > 1 else trajectories[0],
                options.out,
                labels=labels,
                progress=True,
                **given,
            )
    except (ValueError, DisplayError, VideoError) as error:
        raise BadInput(f"--out {options.out}: {error}") from None
    except OSError as error:
        raise BadInput(f"--out {options.out}: cannot be written ({error.strerror or error})") from None
    say(f"Written: {out}")
    return DONE


def _info(options: argparse.Namespace) -> int:
    from .simulator import BranchedRun

    run = _load_any(options.run)
    trajectory = run.nodes[0].trajectory if isinstance(run, BranchedRun) else run
    bodies = trajectory.scene.bodies
    say_table(
        ["body", "shape", "mass [kg]", "friction", "restitution"],
        [
            [
                str(body.name),
                type(body.shape).__name__,
                "fixed" if body.fixed else f"{body.mass:.6g}",
                f"{body.material.friction:g}",
                f"{body.material.slow_restitution:g}",
            ]
            for body in bodies
        ],
    )
    if isinstance(run, BranchedRun):
        return _info_of_tree(options.run, run)
    kinds = Counter(trajectory.event_kinds.tolist())
    span = f"{trajectory.start_time:g} to {trajectory.end_time:.6f} s"
    if trajectory.known_until > trajectory.end_time:
        span += f", at rest up to {trajectory.known_until:g} s, as asked"
    say_table(
        ["run", options.run],
        [
            ["law", trajectory.law_name],
            ["seed", str(trajectory.seed)],
            ["simulated time", span],
            ["events", ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"],
            ["hash of events", trajectory.event_hash],
            *_summary(trajectory),
        ],
    )
    _say_remarks(trajectory)
    return DONE


def _info_of_tree(path: str, run: "BranchedRun") -> int:
    """What a branched run holds: how its members part, and how each of its ends came."""
    first = run.nodes[0].trajectory
    say_table(
        ["branched run", path],
        [
            ["law", first.law_name],
            ["members", f"{len(run)}, seed {run.seed}"],
            ["branches", f"{len(run.nodes)}, with {len(run.ends)} ends"],
            ["first parting", f"{run.nodes[0].end_time:.6f} s" if len(run.nodes) > 1 else "none"],
        ],
    )
    say_table(
        ["members", "ended at", "impacts", "energy [J]", "how", "hash of events"],
        [
            [
                str(len(end.members)),
                f"{end.end_time:.6f} s",
                str(int((end.trajectory.event_kinds == "impact").sum())),
                f"{float(end.trajectory.energy(end.end_time)):.6g}",
                end.trajectory.status.value,
                end.trajectory.event_hash[:12],
            ]
            for end in sorted(run.ends, key=lambda end: -len(end.members))
        ],
    )
    _say_remarks(first)
    return DONE


def _verify(options: argparse.Namespace) -> int:
    from .simulator import verify

    try:
        found = verify(options.run, progress=True)
    except (ValueError, TypeError) as error:
        text = str(error)
        raise BadInput(text if text.startswith(options.run) else f"{options.run}: {text}") from None
    if found.difference is not None:
        say(f"{options.run}: {found.events} events are equal; {found.difference}")
        return ENDED_BADLY
    say(
        f"{options.run}: made again, {found.events} events and the end are equal bit for bit; "
        f"hash of events {found.event_hash}"
    )
    return DONE


# -- what the commands share ---------------------------------------------------------------------------------


def _law(name: str) -> "ImpactLaw":
    from .impact_laws import law_by_name

    try:
        return law_by_name(name)
    except ValueError as error:
        raise BadInput(str(error)) from None


def _law_of_steps(law: "ImpactLaw") -> "ImpactLaw":
    """The law as time steps are solved with."""
    from .impact_laws import MaximumDissipation
    from .simulator.stepping.steps import loose_law

    return loose_law() if isinstance(law, MaximumDissipation) else law


def _steps_above(above: int, length: float | None) -> "Steps":
    """Time steps of a length [s] for islands of more bodies than so many; bad input without one."""
    from .simulator import Steps

    if length is None:
        raise BadInput("--steps-above: expected --steps too, the length of a step")
    return Steps(length, above)


def _writable(text: str, default_ending: str = "") -> Path:
    """The path, which can be written now; nothing is left there by asking."""
    path = Path(text)
    if not path.suffix:
        path = path.with_name(path.name + default_ending) if path.name else path
    problem = None
    try:
        if Path(text).is_dir():
            problem = "is a folder; a file's name is expected"
        elif not path.parent.exists():
            problem = "lies in a folder that does not exist"
        elif not path.parent.is_dir():
            problem = "lies in something that is not a folder"
        elif path.is_dir():
            problem = "is a folder; a file's name is expected"
        elif path.exists():
            with path.open("r+b"):
                pass
        else:
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.name}."):
                pass
    except (OSError, ValueError) as error:
        problem = f"cannot be written ({getattr(error, 'strerror', None) or error})"
    if problem:
        raise BadInput(f"--out {text}: {problem}")
    return path


def _load_any(run: str) -> "Trajectory | BranchedRun":
    """A recording, or a branched run."""
    from .bodies import FileFormatError
    from .simulator.recordings import load_run

    try:
        return load_run(Path(run))
    except FileFormatError as error:
        raise BadInput(str(error)) from None


def _simulate(
    scene: "Scene", law: "ImpactLaw", seed: int, out: Path, duration: float, **chosen: Any
) -> "Trajectory":
    """Run and record, then say how it went."""
    from .simulator import Simulator, StepTooLongError

    known = out.exists()
    start, compiled = running_time(), WATCH.spent
    try:
        simulator = Simulator(scene, law, seed=seed, record=out, **chosen)
    except (TypeError, ValueError, OSError) as error:
        if not known:
            out.unlink(missing_ok=True)
        raise BadInput(str(error)) from None
    cut_off = "cut off at t = {:g} s; {} holds the run up to there"
    try:
        trajectory = simulator.run(duration, progress=True)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted, {cut_off.format(simulator.time, out)}") from None
    except StepTooLongError as error:
        raise BadEnd(f"{error}; {cut_off.format(simulator.time, out)}") from None
    except OSError as error:  # of a disk that is full
        raise BadEnd(str(error)) from None
    except BaseException:
        complain(cut_off.format(simulator.time, out), ENDED_BADLY)
        raise
    rows = [*_summary(trajectory), ["wall time", f"{running_time() - start:.2f} s"]]
    if WATCH.spent - compiled > _COMPILING_SAID:
        rows.append(["compiling, once", f"{WATCH.spent - compiled:.1f} s, not counted above; kept on disk"])
    say_table(["run", f"{law.name}, seed {seed}"], rows)
    _say_remarks(trajectory)
    say(f"Recording: {out}")
    return trajectory


def _say_remarks(trajectory: "Trajectory") -> None:
    for remark in trajectory.remarks:
        say(remark)


def _summary(trajectory: "Trajectory") -> list[list[str]]:
    """Rows of a table: impacts, energy, overlap, rest, and how the run ended."""
    impacts = int((trajectory.event_kinds == "impact").sum())
    before = float(trajectory.energy(trajectory.start_time))
    after = float(trajectory.energy(trajectory.end_time))
    rest = trajectory.rest_time
    return [
        ["impacts", str(impacts)],
        ["energy before, after", f"{before:.6g} J, {after:.6g} J"],
        ["largest penetration", f"{trajectory.largest_overlap(looks=_SUMMARY_LOOKS):.2g} m"],
        ["time to rest", "still moving" if rest is None else f"{rest:.6f} s"],
        ["ended", f"{trajectory.status.value}: {trajectory.message or trajectory.status.advice}"],
    ]


def _exit_status(trajectory: "Trajectory") -> int:
    from .simulator import RunStatus

    good = trajectory.status in (RunStatus.REACHED_END, RunStatus.AT_REST, RunStatus.STOPPED)
    return DONE if good else ENDED_BADLY


def _show(trajectory: "Trajectory | BranchedRun", out: Path, no_view: bool) -> None:
    """Replay in a window where there is one, else draw six moments beside the recording; of a tree all ends."""
    from .simulator import Trajectory
    from .viewer import DisplayError, has_display, render, render_strip, view

    if has_display() and not no_view:
        try:
            view(trajectory, title=f"carom: {out.name}")
            return
        except DisplayError as error:
            say(str(error))
    picture = out.with_suffix(".png")
    single = isinstance(trajectory, Trajectory)
    try:
        if single:
            render_strip(trajectory, picture)
        else:
            render(trajectory, picture)
    except DisplayError as error:
        say(f"No picture: {error}")
    except OSError as error:
        say(f"No picture: {picture} cannot be written ({error.strerror or error}).")
    else:
        say(f"{'Six moments' if single else 'All ends'}: {picture}")


def _say_checks(checks: "list[Check]") -> None:
    say_table(
        ["check", "value", "at most", "holds"],
        [[c.what, f"{c.value:.2g}", f"{c.bound:.2g}", "yes" if c.holds else "NO"] for c in checks],
    )
