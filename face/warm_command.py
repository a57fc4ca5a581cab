"""The command ``carom warm``: compile what runs need, ahead of them."""

import argparse
from collections.abc import Callable
from typing import Any

from .compile_notice import WARM, WATCH
from .console import DONE, say


def add_warm(command: Callable[..., argparse.ArgumentParser], commands: Any) -> None:
    """Add the command to those of the command line."""
    parser = command(
        commands,
        "warm",
        warm,
        "compile everything ahead, once for this machine",
        """\
Compile what runs need, so that none of them has to wait for it: the engine, every law, every pair of shapes, every
joint. That takes some minutes, once for this machine and this version; what is compiled is kept on disk. A second
time it only looks. Ctrl-C ends it, and what was compiled until then stays. A wheel may come with kernels compiled
for kinds of processors; with --native they are compiled for this very processor.""",
        "example:\n  carom warm\n  carom warm --native",
    )
    parser.add_argument(
        "--native", action="store_true", help="compile for this processor what came compiled for its kind"
    )


def warm(options: argparse.Namespace) -> int:
    """Compile everything that `warm_ups` call; what is compiled is shown as it always is."""
    from .shipped_kernels import ignore_shipped_kernels
    from .warm_up import warm_ups

    if options.native:
        ignore_shipped_kernels()
    WATCH.likely = WARM
    for _, run in warm_ups():
        run()
    made = {kernel for kernel, _ in WATCH.compiled} | WATCH.ahead
    known = len(WATCH.asked - made)
    say(
        f"{len(made)} kernels compiled in {WATCH.spent:.0f} s, {known} were there already."
        if made
        else f"Nothing to compile: {known} kernels were there already."
    )
    return DONE
