"""How the site is built: ``make docs``. Pages of the reference, replays and downloads are made first."""

import re
import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE), str(_HERE.parent / ".links")]

from api_pages import write_pages  # noqa: E402
from downloads import write_downloads  # noqa: E402
from replays import write_replays  # noqa: E402

import carom  # noqa: E402

project = "carom"
author = "carom contributors"
copyright = author
version = release = carom.__version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["players_root/**", "notebooks/**"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
html_theme = "pydata_sphinx_theme"
html_title = "carom"
html_extra_path = ["players_root"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"gallery": []}
templates_path: list[str] = []
html_static_path = ["static"]
html_css_files = ["site.css"]
highlight_language = "python"


def setup(app: Any) -> None:
    """Make what is not written by hand; before pages are looked for."""
    write_pages(_HERE / "api")
    write_downloads(_HERE / "tutorials", _HERE / "notebooks")
    players = _HERE / "players_root" / "players"
    players.parent.mkdir(exist_ok=True)
    write_replays(players)
    app.connect("source-read", _with_downloads)
    app.connect("source-read", _with_code)


def _with_downloads(app: Any, page: str, source: list[str]) -> None:
    """At the end of every tutorial: the page as a script and a notebook."""
    room, _, name = page.rpartition("/")
    if room == "tutorials" and name != "index":
        source[0] += (
            f"\n\nThis page as {{download}}`a script <../notebooks/{name}.py>` and as "
            f"{{download}}`a notebook <../notebooks/{name}.ipynb>`.\n"
        )


def _with_code(app: Any, page: str, source: list[str]) -> None:
    """Under every caption of the gallery: the function that makes its picture, which has its name."""
    if page != "gallery":
        return
    parts, picture = [], None
    for part in source[0].split("\n\n"):
        shown = re.match(r"!\[.*\]\(gallery_(\w+)\.\w+\)$", part)
        parts.append(part)
        if shown:
            picture = shown[1]
        elif picture and part.startswith("*"):
            parts.append(f"```{{literalinclude}} make_gallery.py\n:pyobject: {picture}\n```")
            picture = None
    source[0] = "\n\n".join(parts)
