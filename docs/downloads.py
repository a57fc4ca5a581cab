"""Tutorials as scripts and notebooks, made of their pages before the site is built."""

import json
import re
from pathlib import Path
from typing import Any

_CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def cells(text: str) -> list[tuple[str, str]]:
    """The page in its order: pairs of "markdown" or "code" and the text."""
    found = []
    for k, part in enumerate(_CODE.split(text)):
        part = part.strip("\n")
        if part.strip():
            found.append(("code" if k % 2 else "markdown", part))
    return found


def notebook(text: str) -> dict[str, Any]:
    """The page as a notebook, of which nothing has been run."""
    rows = []
    for number, (kind, part) in enumerate(cells(text)):
        row = {
            "cell_type": kind,
            "id": f"cell-{number}",
            "metadata": {},
            "source": part.splitlines(keepends=True),
        }
        rows.append(row | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": rows, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def script(text: str) -> str:
    """The page as a script: words are comments."""
    return (
        "\n\n".join(
            part if kind == "code" else "\n".join(f"# {line}".rstrip() for line in part.splitlines())
            for kind, part in cells(text)
        )
        + "\n"
    )


def write_downloads(tutorials: Path, folder: Path) -> None:
    """Write both of every tutorial."""
    folder.mkdir(exist_ok=True)
    for path in sorted(tutorials.glob("*.md")):
        if path.stem != "index":
            text = path.read_text(encoding="utf-8")
            (folder / f"{path.stem}.ipynb").write_text(
                json.dumps(notebook(text), indent=1) + "\n", encoding="utf-8"
            )
            (folder / f"{path.stem}.py").write_text(script(text), encoding="utf-8")
