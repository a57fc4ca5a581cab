"""The code in docs/measured.md runs, in order, and finds what the page says."""

import re
from pathlib import Path

import numpy as np

import carom

DOCS = Path(__file__).parents[3] / "docs"
TEXT = (DOCS / "measured.md").read_text(encoding="utf-8")


def test_the_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert len(blocks) == 4
    names = {}
    for block in blocks:
        exec(compile(block, "measured.md", "exec"), names)
    assert np.median(names["floor"]) <= np.median(names["stronge"]) < 0.01 < np.median(names["other"])
    known = names["found"].values["restitution"]
    assert abs(known.value - 0.4) < 2e-3
    assert "no law" in capsys.readouterr().out
    assert names["compared"].settled_distance < 2e-4


def test_what_the_pages_name_exists():
    for page in ("measured.md", "validation.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        for name in re.findall(r"carom\.([A-Za-z_]+)", text):
            assert name in {"viewer"} or hasattr(carom, name), name
        for link in re.findall(r"\]\(([\w.]+)\)", text):
            assert (DOCS / link).exists(), link
