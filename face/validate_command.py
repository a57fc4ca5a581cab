"""The command ``carom validate``: every law on public data of measured impacts, in tables and a figure."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .console import DONE, BadInput, positive_number, positive_whole, say, say_table, size_limit
from .cores import cores

if TYPE_CHECKING:
    from .simulator.measured.public_data import CubeTosses, EllipseBounces
    from .simulator.measured.validation import Validation
    from .simulator.measured.whole_tosses import TossErrors


def add_validate(command: Callable[..., argparse.ArgumentParser], commands: Any) -> None:
    """Add the command to those that there are."""
    validate = command(
        commands,
        "validate",
        _validate,
        "say how far every law is from measured impacts",
        """\
Fit the constants of every law to single impacts that were measured, and say how far it is from them, beside
the floor that no law can beat. DATA is an .npz file of tosses of a cube (arrays toss_<id>) or of bounces of
an ellipse (arrays velocity_before, velocity_after, lever, ...): docs/validation.md says where to get them and
what is fitted.

With --fitted-on, constants are fitted to other data of the same kind and nothing to DATA.""",
        """\
examples:
  carom validate cube_tosses.npz
  carom validate cube_tosses.npz --laws "stronge-coulomb" "compliant-contact, speed"
  carom validate kept_aside.npz --fitted-on cube_tosses.npz --out figures/""",
    )
    validate.add_argument("data", metavar="DATA", help="an .npz file of measured impacts")
    validate.add_argument("--fitted-on", metavar="DATA", help="other data, to which constants are fitted")
    validate.add_argument(
        "--laws", nargs="+", default=[], metavar="LAW", help="rows of the table; default all"
    )
    validate.add_argument(
        "--tosses",
        action="store_true",
        help="of the cube, also run every toss to its end: a minute for a hundred",
    )
    validate.add_argument(
        "--workers", type=positive_whole, metavar="N", help="processes that split tosses; default one a core"
    )
    validate.add_argument("--out", metavar="FOLDER", help="where to write tables and figures")
    validate.add_argument(
        "--size-limit",
        type=positive_number,
        metavar="MIB",
        help="mebibytes that a file of data may have, also unpacked; default 256",
    )


def _validate(options: argparse.Namespace) -> int:
    data, found = _found(options)
    say(f"{found.name}: {len(found.floor)} impacts of {len(set(found.toss.tolist()))} motions")
    if found.body is not None:
        say(found.body.summary())
    rows = found.rows()
    for label, constants, *_ in rows:
        if constants:
            say(f"{label}: {constants}")
    short = [line[:1] + line[2:] for line in (found.header(), *rows)]
    say_table(short[0], short[1:], fold_first=True)
    if found.edges:
        from .simulator.measured.edge_impacts import HEADER

        say(f"{len(found.edges[0].nearest)} impacts of edges, and sets of outcomes of set-valued-routh")
        say_table(HEADER, [one.row() for one in found.edges])
    errors = _run_tosses(found, data, options.workers) if options.tosses else None
    if options.out:
        _write(found, errors, Path(options.out))
    return DONE


def _found(options: argparse.Namespace) -> "tuple[CubeTosses | EllipseBounces, Validation]":
    from .simulator.ensembles.process_pool import ProcessPool
    from .simulator.measured.public_data import CubeTosses, EllipseBounces, read_public_data
    from .simulator.measured.validation import LAWS, validate_cube, validate_ellipse

    known = [label for label, _, _ in LAWS]
    for label in options.laws:
        if label not in known:
            raise BadInput(f"--laws: expected rows among {'; '.join(known)}, got {label!r}")
    try:
        limit = size_limit(options)
        data = read_public_data(options.data, **limit)
        source = read_public_data(options.fitted_on, **limit) if options.fitted_on else None
        if isinstance(data, CubeTosses) and isinstance(source, CubeTosses | None):
            with ProcessPool(options.workers or cores()) as executor:
                return data, validate_cube(data, source, options.laws, executor)
        if isinstance(data, EllipseBounces) and isinstance(source, EllipseBounces | None):
            return data, validate_ellipse(data, source, options.laws)
    except (OSError, ValueError) as error:
        raise BadInput(str(error)) from None
    raise BadInput(f"--fitted-on {options.fitted_on}: expected data of the same kind as {options.data}")


def _run_tosses(
    found: "Validation", data: "CubeTosses | EllipseBounces", workers: int | None
) -> "TossErrors | None":
    """Whole tosses under the law that was identified, and how far they end from where the cube did; None where no
    run reached the last frame."""
    from .simulator.ensembles.process_pool import ProcessPool
    from .simulator.measured.public_data import CubeTosses
    from .simulator.measured.whole_tosses import HEADER, HEADER_OVER_TIME, run_tosses

    if not isinstance(data, CubeTosses) or found.body is None:
        raise BadInput("--tosses: expected tosses of a cube, bounces of an ellipse have no end")
    begin = time.perf_counter()
    with ProcessPool(workers or cores()) as executor:
        errors = run_tosses(found.body, data.motions, data.body, executor=executor)
    law = found.body.model.law.name
    say(
        f"{len(errors.toss)} whole tosses under {law}, from their first flight to the last frame, each twice: "
        f"{time.perf_counter() - begin:.0f} s"
    )
    if errors.compared:
        say_table(HEADER, errors.rows())
        say_table(HEADER_OVER_TIME, errors.rows_over_time())
    for name, why in errors.refused.items():
        say(f"{name} was not run: {why}")
    return errors if errors.compared else None


def _write(found: "Validation", errors: "TossErrors | None", folder: Path) -> None:
    """The tables as markdown and the figures, under the name of the data."""
    from .simulator.measured import edge_impacts
    from .simulator.measured.whole_tosses import HEADER, HEADER_OVER_TIME
    from .viewer import figures, measured_figures

    stem = f"validation_{found.name.split(',')[0]}"
    tables = [(found.header(), found.rows())]
    if found.edges:
        tables.append((edge_impacts.HEADER, [one.row() for one in found.edges]))
    written = [(stem, tables, measured_figures.impact_errors(found))]
    if errors is not None:
        tables = [(HEADER, errors.rows()), (HEADER_OVER_TIME, errors.rows_over_time())]
        written.append((f"{stem}_tosses", tables, measured_figures.toss_errors(errors)))
    for name, tables, drawn in written:
        table, figure = folder / f"{name}.md", folder / f"{name}.png"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            table.write_text("\n".join(map(_markdown, tables)), encoding="utf-8")
            figures.save_figure(drawn, str(figure))
        except OSError as error:
            raise BadInput(f"--out {folder}: {error}") from None
        say(f"Table: {table}")
        say(f"Figure: {figure}")


def _markdown(table: tuple[list[str], list[list[str]]]) -> str:
    """A header and rows as a table."""
    header, rows = table
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
