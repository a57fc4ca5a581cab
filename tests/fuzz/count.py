"""Tamper with recordings until there were so many random bytes, or structural edits, and say what became of them.

    python -m tests.fuzz.count --bytes 10_000_000 --edits 100_000 --seed 1

Stops at the first file that is neither read nor refused in one sentence, and names the seed that makes it.
Where the process dies, the last line that it has printed is at most a thousand files before.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from .recordings import Whole, tampered_with_bytes, tampered_with_structures, whole_recordings

_AT_ONCE, _SAID_EVERY = 20, 1000


def _bytes(seeds: Sequence[int], whole: Whole) -> Iterator[tuple[int, bool]]:
    return (tampered_with_bytes(seed, whole) for seed in seeds)


_TRIES = {"bytes": _bytes, "edits": tampered_with_structures}


def tried(
    what: str, whole: Whole, least: int, seed: int, say: Callable[[str], None] | None = None
) -> Counter[str]:
    """What became of files, of which the first is drawn from this seed, until so many bytes or edits came in: how
    many those were, and how many files were read and refused."""
    found: Counter[str] = Counter({what: 0, "files": 0, "read": 0, "refused": 0})
    while found[what] < least:
        try:
            for count, read in _TRIES[what](range(seed, seed + _AT_ONCE), whole):
                found.update({what: count, "files": 1, "read" if read else "refused": 1})
                seed += 1
        except BaseException as error:
            error.add_note(f"{what} of seed {seed}")
            raise
        if say and found["files"] % _SAID_EVERY == 0:
            say(f"up to seed {seed}: {dict(found)}")
    return found


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bytes", type=int, default=10_000_000)
    parser.add_argument("--edits", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    def say(text: str) -> None:
        print(text, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        paths = whole_recordings(place / "whole")
        whole = {path.name: path.read_bytes() for path in paths}, place
        for what in _TRIES:
            begin = time.monotonic()
            found = tried(what, whole, getattr(options, what), options.seed, say)
            say(f"{what}: {dict(found)} in {time.monotonic() - begin:.0f} s, nothing raw")


if __name__ == "__main__":
    main()
