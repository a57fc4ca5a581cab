"""The code in docs/ensembles.md runs, in order."""

import re
from pathlib import Path

import carom

TEXT = (Path(__file__).parents[3] / "docs" / "ensembles.md").read_text(encoding="utf-8")


def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert len(blocks) == 8
    (tmp_path / "toss.py").write_text(blocks[0])  # as the page says; workers import it
    monkeypatch.syspath_prepend(str(tmp_path))
    import toss

    names = dict(vars(toss))
    for block in blocks[1:]:
        exec(compile(block, "ensembles.md", "exec"), names)
    assert names["tossed"].good.all()
    assert names["again"].end_time == names["tossed"]["end_time"][7]
    assert names["indices"].first_order["height"].value > 0.99
    assert (names["same"]["run_out"] == names["tossed"]["run_out"]).all()
    assert 0.0 <= names["mixed"].variance_shares("position", 1, 0).share_of_start.value <= 1.0
    assert (tmp_path / "run_out.png").stat().st_size > 10_000


def test_what_the_page_names_exists():
    for name in re.findall(r"carom\.([A-Za-z_]+)", TEXT):
        assert name in {"viewer"} or hasattr(carom, name), name
