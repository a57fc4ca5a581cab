"""The house: packages, links, public names, and the direction of imports."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import carom

ROOT = Path(__file__).resolve().parents[1]
LINKS = ROOT / ".links" / "carom"
ROOMS = ("bodies", "impact_laws", "simulator", "viewer", "demos")
ALLOWED_IMPORTS = {
    "bodies": set(),
    "impact_laws": set(),
    "simulator": {"bodies", "impact_laws"},
    "viewer": set(),
    "demos": set(ROOMS),
}
# scene.resolve_overlaps() is a convenience that asks the collision code when it is called; the window reads
# recordings that are named by file or dropped on it
CALLS_UPWARDS = {"bodies/scene.py": {"simulator"}, "viewer/show.py": {"simulator"}}


def setuptools_table() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def linked_paths() -> list[Path]:
    return [path for path in LINKS.iterdir() if path.name != "__pycache__"]


def test_package_list_equals_the_folders_that_hold_python_files():
    table = setuptools_table()
    folders = {
        str(path.parent.relative_to(ROOT))
        for path in ROOT.glob("*/**/*.py")
        if path.relative_to(ROOT).parts[0] in {"face", *ROOMS}
    }
    unknown = {path.parent.name for path in ROOT.glob("[!.]*/__init__.py")} - {
        "face",
        *ROOMS,
        "tests",
        "benchmarks",
    }
    assert not unknown, f"folders that are packages but not installed: {sorted(unknown)}"
    mapped = {
        "face" if package == "carom" else package.removeprefix("carom.").replace(".", "/")
        for package in table["packages"]
    }
    empty = {room for room in ROOMS if not any((ROOT / room).glob("*.py"))}
    assert mapped - empty == folders
    for package, folder in table["package-dir"].items():
        assert (ROOT / folder).is_dir(), f"{package} is mapped to {folder}, which does not exist"


def test_every_data_file_of_a_room_is_installed():
    data = setuptools_table()["package-data"]
    for room in ROOMS:
        found = {path.name for path in (ROOT / room).iterdir() if path.is_file() and path.suffix != ".py"}
        listed = data.get(f"carom.{room}", [])
        assert found == {name for name in found if any(fnmatch(name, pattern) for pattern in listed)}


def test_every_link_resolves_inside_the_project():
    links = linked_paths()
    assert links
    for link in links:
        assert link.is_symlink(), f"{link} is not a link"
        assert not link.readlink().is_absolute(), f"{link} is absolute and breaks in another checkout"
        assert link.resolve(strict=True).is_relative_to(ROOT)
        assert link.resolve().name == link.name


def test_every_room_and_every_file_of_the_face_is_linked():
    expected = {path.name for path in (ROOT / "face").iterdir() if path.suffix in {".py", ".typed", ".pyi"}}
    assert {link.name for link in linked_paths()} == expected | set(ROOMS)


@pytest.mark.parametrize("name", carom.__all__)
def test_public_name_is_importable(name):
    assert getattr(carom, name) is not None


def test_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="carom has no public name 'Teapot'"):
        _ = carom.Teapot


def rooms_imported(path: Path) -> set[str]:
    """Rooms of the project that a file imports, at its top or inside functions."""
    place = ("carom", *path.relative_to(ROOT).with_suffix("").parts)
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(), filename=str(path))):
        if isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(place[: -node.level]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            modules.update(f"{module}.{alias.name}" for alias in node.names)
    found = {module.split(".")[1] for module in modules if module.startswith("carom.")}
    public = {name for name in found if name in carom.__all__ and name != "__version__"}
    assert not public, f"{path} imports {sorted(public)} through the face: import the room"
    return found & set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room):
    for path in sorted((ROOT / room).rglob("*.py")):
        outside = rooms_imported(path) - {room} - ALLOWED_IMPORTS[room]
        outside -= CALLS_UPWARDS.get(str(path.relative_to(ROOT)), set())
        assert not outside, f"{path.relative_to(ROOT)} imports {sorted(outside)}"


def test_scan_of_imports_sees_every_form(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    path = tmp_path / "bodies" / "odd.py"
    path.parent.mkdir()
    path.write_text(
        "import carom.viewer.window\nfrom ..simulator import state\ndef f():\n    from .. import demos\n"
        "from .shapes import Box\nfrom carom import impact_laws\n"
    )
    assert rooms_imported(path) == {"viewer", "simulator", "demos", "bodies", "impact_laws"}


@pytest.mark.parametrize(
    ("imports", "unwanted"),
    [
        ("carom", ("numpy", "numba", "scipy", "pyglet", "trimesh")),
        ("carom.bodies", ("numba", "scipy", "pyglet", "trimesh")),
        ("carom, carom.simulator, carom.viewer", ("pyglet", "trimesh")),
    ],
)
def test_imports_stay_light(imports, unwanted):
    script = f"import sys, {imports}; print(*[name for name in {unwanted} if name in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=LINKS.parent, capture_output=True, text=True, timeout=120
    )
    assert (result.returncode, result.stdout.split()) == (0, []), result.stderr


def test_versions_agree():
    """The version stands in one place, from which the package's own is taken."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert table["project"]["dynamic"] == ["version"]
    assert table["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "carom.__version__"}
    assert f"## {carom.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_command_of_the_project_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, function = project["scripts"]["carom"].split(":")
    assert callable(getattr(importlib.import_module(module), function))


def test_constraints_are_names_and_versions_and_cover_every_dependency():
    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    pinned = {}
    for line in lines:
        match = re.fullmatch(r"([A-Za-z0-9_.-]+)==([A-Za-z0-9.]+)", line)
        assert match, f"constraints.txt: expected name==version, got {line!r}"
        pinned[match[1].lower().replace("_", "-")] = match[2]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["test"], "ruff", "mypy"]
    names = {re.match(r"[A-Za-z0-9_-]+", line)[0].lower() for line in needed}
    assert names <= set(pinned)


def test_readme_example_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert blocks
    names: dict = {}
    exec(compile(blocks[0], "README.md", "exec"), names)
    assert names["first"].time == pytest.approx((2.0 * 0.9 / 9.81) ** 0.5, abs=1e-11)
    assert 0.1 < names["height"] < 1.0
