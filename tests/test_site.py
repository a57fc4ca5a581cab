"""The site of the documentation is built without a warning, and has what it says."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import carom

ROOT = Path(__file__).parents[1]
pytest.importorskip("sphinx", reason="the site needs the extra docs: pip install -e '.[docs]'")


def module_of_docs(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built anew."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html",
         "-d", str(folder / "trees"), str(ROOT / "docs"), str(folder / "html")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_public_name_has_a_page_with_its_docstring(site):
    listed = (site / "api" / "index.html").read_text(encoding="utf-8")
    for name in carom._ROOM_OF_NAME:
        text = (site / "api" / f"{name}.html").read_text(encoding="utf-8")
        assert f"carom.{name}" in re.sub(r"<[^>]+>", "", text), name
        assert f'href="{name}.html"' in listed
    scene = re.sub(r"<[^>]+>", "", (site / "api" / "Scene.html").read_text(encoding="utf-8"))
    assert "Let two bodies pass through each other" in scene  # of a method
    assert "Unit normal (3,) of the plane that motion is restricted to" in scene  # of a property


def test_replays_are_in_the_page_and_need_no_server(site):
    page = (site / "index.html").read_text(encoding="utf-8")
    (player,) = re.findall(r'<iframe class="replay" src="([^"]+)"', page)
    text = (site / player).read_text(encoding="utf-8")
    assert "<canvas" in text
    assert not re.search(r'(src|href)="https?:', text)


def test_tutorials_can_be_had_as_scripts_and_notebooks(site):
    page = (site / "tutorials" / "bouncing_ball.html").read_text(encoding="utf-8")
    links = re.findall(r'href="\.\./(_downloads/[^"]+/bouncing_ball\.(?:py|ipynb))"', page)
    assert sorted(Path(link).suffix for link in links) == [".ipynb", ".py"]
    for link in links:
        text = (site / link).read_text(encoding="utf-8")
        if link.endswith(".py"):
            compile(text, link, "exec")
        else:
            kinds = [cell["cell_type"] for cell in json.loads(text)["cells"]]
            assert kinds.count("code") == 5


def test_the_gallery_has_the_code_of_every_picture(site):
    text = re.sub(r"<[^>]+>", "", (site / "gallery.html").read_text(encoding="utf-8"))
    for name in ("rocking_block", "disk_stack", "newtons_cradle", "rockfall"):
        assert f"def {name}() -&gt; None:" in text


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("Plain *stars* and `Scene`, ``a_b``.", "Plain \\*stars\\* and [`Scene`](Scene.md), `a_b`."),
        (
            "scene : what exists,\n    at the start\nlaw : how",
            "- `scene`: what exists, at the start\n- `law`: how",
        ),
        ("start, end : the span", "- `start`, `end`: the span"),
        ("Raises\n------\nTypeError : never", "**Raises**\n\n- `TypeError`: never"),
        (">>> 1 + 1\n2", "```python\n>>> 1 + 1\n2\n```"),
        ("Let:\n\n    a = b * c\n      + d", "Let:\n\n```text\na = b * c\n  + d\n```"),
        ("- one\n  more\n- two", "- one more\n- two"),
        ("<script>x</script>", "\\<script\\>x\\</script\\>"),
    ],
)
def test_docstrings_become_markdown(docstring, expected):
    assert module_of_docs("api_pages").markdown(docstring) == expected


def test_pages_become_scripts_and_notebooks():
    downloads = module_of_docs("downloads")
    text = "# Title\n\nWords.\n\n```python\nx = 1\n```\n\nMore.\n"
    assert downloads.script(text) == "# # Title\n#\n# Words.\n\nx = 1\n\n# More.\n"
    cells = downloads.notebook(text)["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("markdown", "# Title\n\nWords."), ("code", "x = 1"), ("markdown", "More.")
    ]  # fmt: skip
