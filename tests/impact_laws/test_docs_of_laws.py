"""The code in docs/laws.md runs, in order, and prints what it should."""

import re
from pathlib import Path

from carom.impact_laws import law_by_name, law_names

TEXT = (Path(__file__).parents[2] / "docs" / "laws.md").read_text(encoding="utf-8")


def test_code_of_the_page_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == TEXT.count("```python") >= 2
    names = {}
    for block in blocks:
        exec(block, names)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("stronge-coulomb resolved")
    assert lines[1].startswith("maximum-dissipation resolved [0.  0.  0.5 ")
    assert names["law"].order == (("cue", "red"), ("cue", "blue"), ("cushion",))


def test_the_table_lists_every_law():
    """By class and by the name that the command line takes."""
    table = TEXT.split("## Which law?")[0]
    named = dict(re.findall(r"^\| `(\w+)` \|.*\| `([\w-]+)` \|$", table, re.MULTILINE))
    assert named == {type(law_by_name(name)).__name__: name for name in law_names()}
