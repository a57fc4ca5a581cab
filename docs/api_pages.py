"""Pages of the site about every public name, from docstrings; written before the site is built.

The docstrings are plain text with a few marks: a parameter is a line ``name : meaning``, code is in backquotes,
examples are doctests. They are turned into Markdown here; a test runs their examples.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import carom

_PARAMETER = re.compile(r"^([A-Za-z_][\w.]*(?:, [A-Za-z_][\w.]*)*|\.\w+(?:, \.\w+)*) : (.*)$", re.DOTALL)
_SPECIAL = re.compile(r"([\\*_<>\[\]#|$~{}])")
_THEMES = {
    "bodies": "Scenes and bodies",
    "impact_laws": "Impact laws",
    "simulator": "Simulation and runs",
    "viewer": "Pictures",
}


def public_names() -> dict[str, list[str]]:
    """Names that the package has, by room."""
    rooms: dict[str, list[str]] = {room: [] for room in _THEMES}
    for name, room in carom._ROOM_OF_NAME.items():
        rooms[room].append(name)
    return {room: sorted(names, key=str.lower) for room, names in rooms.items()}


def write_pages(folder: Path) -> None:
    """Write a page for every public name, and one that lists them."""
    folder.mkdir(exist_ok=True)
    lines = ["# Reference", "", "Every public name, from its docstring."]
    written = {"index.md"}
    for room, names in public_names().items():
        lines += ["", f"## {_THEMES[room]}", ""]
        lines += [f"- [`{name}`]({name}.md): {_first_sentence(getattr(carom, name))}" for name in names]
    every = [name for names in public_names().values() for name in names]
    lines += ["", "```{toctree}", ":hidden:", "", *every, "```", ""]
    _write(folder / "index.md", "\n".join(lines))
    for name in every:
        written.add(f"{name}.md")
        _write(folder / f"{name}.md", page_of(name, getattr(carom, name)))
    for path in folder.glob("*.md"):
        if path.name not in written:
            path.unlink()


def page_of(name: str, value: Any) -> str:
    """The page of one public name, in Markdown."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return f"# {name}\n\n`carom.{name} = {value!r}`\n"
    parts = [f"# {name}", _code(f"carom.{name}{_signature(value)}"), markdown(inspect.getdoc(value) or "")]
    if inspect.isclass(value):
        for title, member, text in _members(value):
            parts += [f"## {title}", *([_code(member)] if member else []), markdown(text)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _members(kind: type) -> Iterator[tuple[str, str, str]]:
    """Public methods and properties of a class with a docstring: name, how it is called, docstring."""
    for name in dir(kind):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(kind, name)
        if not (defined := _owner(kind, name)) or not defined.__module__.startswith("carom"):
            continue
        text = inspect.getdoc(getattr(kind, name)) or ""
        if isinstance(member, property) or type(member).__name__ == "cached_property":
            text = inspect.getdoc(member) or ""
            if text:
                yield name, "", text
        elif text and (isinstance(member, classmethod | staticmethod) or inspect.isfunction(member)):
            call = "self" if inspect.isfunction(member) else ""
            yield f"{name}()", f"{name}{_signature(getattr(kind, name), skip=call)}", text


def _owner(kind: type, name: str) -> type | None:
    return next((base for base in kind.__mro__ if name in vars(base)), None)


def _signature(value: Callable[..., Any], skip: str = "") -> str:
    """How it is called, without annotations, which repeat what the docstring says."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ""
    try:
        signature = inspect.signature(value)
    except ValueError:  # of what is not written in Python
        return ""
    kept = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name not in (skip, "_") or not parameter.name
    ]
    text = str(signature.replace(parameters=kept, return_annotation=inspect.Signature.empty))
    return re.sub(r"<factory>|<class '([\w.]+)'>|<function (\w+) at 0x[0-9a-f]+>", r"\1\2", text) or "()"


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _first_sentence(value: Any) -> str:
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return f"`{value!r}`"
    text = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return _inline(text)


def markdown(docstring: str) -> str:
    """A docstring as Markdown."""
    parts: list[str] = []
    for block in re.split(r"\n\s*\n", docstring):
        lines = block.split("\n")
        if len(lines) > 1 and set(lines[1].strip()) == {"-"}:  # a heading with a line below
            parts.append(f"**{_inline(lines[0].strip())}**")
            lines = lines[2:]
        if lines and any(lines):
            parts.append(_block(lines))
    return "\n\n".join(parts)


def _block(lines: list[str]) -> str:
    if lines[0].lstrip().startswith(">>>"):
        return _code(
            "\n".join(line.strip() if line.startswith(" ") and ">>>" in line else line for line in lines)
        )
    if all(line.startswith("    ") for line in lines) and not lines[0].lstrip().startswith("- "):
        indent = min(len(line) - len(line.lstrip()) for line in lines)
        return "```text\n" + "\n".join(line[indent:] for line in lines) + "\n```"
    entries: list[str] = []
    for line in lines:  # a line that is indented goes on with the one before
        begins = _PARAMETER.match(line) or line.startswith("- ")
        if entries and (line.startswith(" ") or not (begins or _is_list(entries[0]))):
            entries[-1] += " " + line.strip()
        else:
            entries.append(line.strip())
    return "\n".join(_entry(entry) for entry in entries)


def _is_list(entry: str) -> bool:
    return bool(_PARAMETER.match(entry)) or entry.startswith("- ")


def _entry(entry: str) -> str:
    parameter = _PARAMETER.match(entry)
    if parameter:
        names = ", ".join(f"`{name.strip()}`" for name in parameter[1].split(","))
        return f"- {names}: {_inline(parameter[2])}"
    return f"- {_inline(entry[2:])}" if entry.startswith("- ") else _inline(entry)


def _inline(text: str) -> str:
    """Words with code in backquotes; of public names a link to their page."""
    out = []
    for k, part in enumerate(re.split(r"``(.+?)``|`(.+?)`", text)):
        if part is None:
            continue
        if k % 3 == 0:
            out.append(_SPECIAL.sub(r"\\\1", part))
        elif k % 3 == 2 and part in carom._ROOM_OF_NAME:
            out.append(f"[`{part}`]({part}.md)")
        else:
            out.append(f"`{part}`")
    return "".join(out)


def _write(path: Path, text: str) -> None:
    """Write a file unless it has that text already, so that only pages that changed are built again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
