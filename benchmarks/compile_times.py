"""How long kernels take to compile, and which of them some starts need: writes face/compile_times.json.

Every kernel is compiled once, by ``carom warm`` with an empty folder for what is kept and no process that helps;
then each start runs in a process of its own, which finds all kernels there, and says which it asked for and with
which arguments. Run it on a quiet machine after kernels have been renamed, added or cut:
``python benchmarks/compile_times.py``.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from carom.compile_ahead import SETTING
from carom.compile_notice import WARM

_TABLE = Path(__file__).resolve().parents[1] / "face" / "compile_times.json"
_DEMOS = (
    "landing",
    "bouncing-ball",
    "newtons-cradle",
    "rocking-block",
    "pendulum-and-wall",
    "domino-run",
    "rolling-coin",
)
_STARTS = {
    "drop": ["drop", "--no-view"],
    **{name: ["demo", name, "--no-view"] for name in _DEMOS},
    "boxes in a box": ["page", str(_TABLE.parents[1] / "docs" / "tutorials" / "boxes_in_a_box.md")],
    WARM: ["warm"],
}
"""By name, which is that of the demo where it is one: words of a command, or the code of a page."""
_START = """
import json, sys
from pathlib import Path
from carom.command_line import main
from carom.compile_notice import WATCH, Stage, when_compiling
from carom.compiled import Kernel, Part, kinds_in_words
asked = []
def hear(moment):
    if moment.stage is Stage.LOOKED_FOR and moment.kernel not in asked:
        asked.append(moment.kernel)
when_compiling(hear)
words = sys.argv[2:]
if words[0] == "page":
    page = Path(words[1])
    sys.path.insert(0, str(page.parents[1]))
    from downloads import script
    exec(script(page.read_text()), {"__name__": "__main__"})
else:
    assert main(words) == 0
arguments = {}
for title, module in list(sys.modules.items()):
    for made in list(vars(module).values()) if title.endswith("kernels") else ():
        name = f"{title.removeprefix('carom.')}.{getattr(made, '__name__', getattr(made, 'name', ''))}"
        if name in asked and isinstance(made, Part):
            arguments[name] = None
        elif name in asked and isinstance(made, Kernel):
            known = [kinds_in_words(kinds) for kinds in made.entry.signatures]
            if len(known) == 1 and known[0] is not None:
                arguments[name] = known[0]
with open(sys.argv[1], "w") as file:
    json.dump({"asked": asked, "compiled": WATCH.compiled, "arguments": arguments}, file)
"""


def start(arguments: list[str], folder: Path) -> dict:
    """What a start asked for and compiled, with kernels kept in a folder."""
    told = folder / "told.json"
    subprocess.run(
        [sys.executable, "-c", _START, str(told), *arguments],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "kept"), SETTING: "1"},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return json.loads(told.read_text())


def main() -> None:
    """Write the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds: dict[str, float] = {}
        compiled = start(_STARTS[WARM], folder)["compiled"]
        arguments: dict[str, list[str] | None] = {}
        starts = {}
        for title, words in _STARTS.items():
            told = start(words, folder)
            starts[title] = told["asked"]
            compiled += told["compiled"]
            arguments |= told["arguments"]
            if title != WARM:
                print(f"{title}: {len(told['asked'])} kernels, {len(told['compiled'])} of them not by warm")
        for kernel, spent in compiled:
            seconds[kernel] = round(max(spent, seconds.get(kernel, 0.0)), 2)
    table = {
        "seconds": dict(sorted(seconds.items())),
        "starts": starts,
        "arguments": dict(sorted(arguments.items())),
    }
    _TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(f"{len(seconds)} kernels, {sum(seconds.values()):.0f} s")


if __name__ == "__main__":
    main()
