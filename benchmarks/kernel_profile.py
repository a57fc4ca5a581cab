"""Where the processor time of a run goes, kernel by kernel: Linux `perf`, told the names of compiled kernels.

python benchmarks/kernel_profile.py newtons-cradle
python benchmarks/kernel_profile.py --random 7149 --until 0.4
python benchmarks/kernel_profile.py --heap 8
python benchmarks/kernel_profile.py --toss 0 --times 200

Kernels that the compiler has merged into their callers count as these. Compiling is done in a run before.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from numba.core.codegen import JITCodeLibrary
from random_scenes import LAWS, random_scene
from rich.console import Console
from rich.table import Table
from speed import boxed, heaped, tossed

import carom
from carom.demos import demo_by_name
from carom.impact_laws import law_by_name


class LoadedKernels:
    """Names and addresses of the machine code that this process loads from now on."""

    def __init__(self) -> None:
        self._libraries: list[tuple[Any, bytes]] = []
        load = JITCodeLibrary._set_compiled_object

        def keep_and_load(library: Any, code: bytes) -> None:
            self._libraries.append((library, code))
            load(library, code)

        JITCodeLibrary._set_compiled_object = keep_and_load  # where a kernel comes from the disk

    def write_map(self) -> None:
        """Write them where `perf` looks for the names of code that no file holds: /tmp/perf-<process>.map."""
        lines = []
        for library, code in self._libraries:
            symbols = _symbols(code)
            engine = library.codegen._engine._ee
            for name, (offset, _) in symbols.items():
                address = engine.get_function_address(name)
                if address:
                    lines += [
                        f"{address - offset + start:x} {size:x} {readable(symbol)}"
                        for symbol, (start, size) in symbols.items()
                    ]
                    break
        Path(f"/tmp/perf-{os.getpid()}.map").write_text("\n".join(lines) + "\n")


def _symbols(code: bytes) -> dict[str, tuple[int, int]]:
    """Offset and size of each function of an object file."""
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(code)
        file.flush()
        told = subprocess.run(["nm", "--print-size", file.name], capture_output=True, text=True, check=True)
    rows = [line.split() for line in told.stdout.splitlines()]
    return {row[3]: (int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4 and row[2] in "tTwW"}


def readable(symbol: str) -> str:
    """The name of a kernel with the last module before it, from a mangled symbol."""
    found, rest = [], symbol.partition("_ZN")[2]
    while match := re.match(r"\d+", rest):
        size = int(match[0])
        found.append(rest[match.end() :][:size])
        rest = rest[match.end() + size :]
    return ".".join(found[-2:]) if found else symbol.split("$")[0][:60]


def run_made(options: argparse.Namespace) -> None:
    """Run the scene, in the process that is looked at."""
    kernels = LoadedKernels()
    if options.heap is not None:
        scene, law, until = heaped(options.heap, 0.0), carom.MaximumDissipation(), 1.5
    elif options.spheres is not None:
        scene, law, until = boxed(options.spheres, 0.0), carom.MaximumDissipation(), 1.0
    elif options.toss is not None:
        scene, law, until = tossed(options.toss), carom.StrongeCoulomb(), 10.0
    elif options.random is not None:
        scene, name, _ = random_scene(options.random)
        law, until = LAWS[name](), 1.0
    else:
        demo = demo_by_name(options.demo)
        if not hasattr(demo, "scene"):
            sys.exit(f"DEMO: {options.demo} is not one run of a scene")
        scene, law, until = demo.scene(), law_by_name(demo.law), demo.duration
    for _ in range(options.times):
        carom.Simulator(scene, law).run(until if options.until is None else options.until)
    kernels.write_map()


def main() -> None:
    """Run twice, the second time under `perf`, and print what it found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("demo", nargs="?", help="name of a demo that is one run of a scene")
    parser.add_argument("--random", type=int, help="or the number of a scene of random_scenes.py")
    parser.add_argument("--heap", type=int, metavar="N", help="or a heap of so many boxes of speed.py")
    parser.add_argument("--spheres", type=int, metavar="N", help="or so many spheres in its narrow box")
    parser.add_argument("--toss", type=int, metavar="SEED", help="or one of its cube tosses")
    parser.add_argument("--until", type=float, help="[s] of simulated time; else all of it")
    parser.add_argument(
        "--times", type=int, default=1, help="runs, beside which starting counts for less (1)"
    )
    parser.add_argument("--rows", type=int, default=20, help="how many (20)")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    given = (options.demo, options.random, options.heap, options.spheres, options.toss)
    if sum(choice is not None for choice in given) != 1:
        parser.error("one of DEMO, --random, --heap, --spheres and --toss is needed")
    if options.inside:
        run_made(options)
        return
    for needed in ("perf", "nm"):
        if shutil.which(needed) is None:
            parser.error(f"{needed} is not installed (Linux: linux-perf and binutils)")
    command = [sys.executable, *sys.argv, "--inside"]
    if subprocess.run(command).returncode:
        sys.exit(1)
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        subprocess.run(["perf", "record", "-q", "-F", "500", "-o", data, *command], check=True)
        report = ["perf", "report", "--stdio", "-i", data, "--sort", "symbol", "-F", "overhead,symbol"]
        told = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    table = Table("share", "where")
    shares: Counter[str] = Counter()
    for line in told.splitlines():
        if line.strip() and not line.startswith("#"):
            share, _, where = line.split(maxsplit=2)
            shares[where.strip(" -")] += float(share.rstrip("%"))
    for where, share in shares.most_common(options.rows):
        table.add_row(f"{share:.1f} %", where)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
