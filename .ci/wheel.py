"""Make a wheel that has its kernels compiled: ``python .ci/wheel.py [--kinds x86-64-v3,x86-64] [--out dist]``.

The package is installed aside, `carom warm` runs there once for each kind of processor, and what numba has kept is
put into the wheel, which then belongs to this system and version of Python. Kernels are found by the versions of
numba, llvmlite and numpy that are installed here; with others they are compiled as from any wheel. With ``--here``
this checkout finds them too, until a kernel is edited: tests then run what is shipped, and need not compile it.
"""

import argparse
import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = (".nbi", ".nbc")
SHIPPED = "shipped_kernels"


def main() -> None:
    """Read the command line and make the wheel."""
    usual = "x86-64-v3" if platform.machine().lower() in ("x86_64", "amd64") else "generic"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kinds", default=usual, help=f"kinds of processors, with commas between; {usual}")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the wheel")
    parser.add_argument("--here", action="store_true", help="let this checkout use the kernels, too")
    parser.add_argument("--starts", default="", help="code to run instead of what `carom warm` compiles")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as aside:
        print(made_wheel(Path(aside), options.kinds.split(","), options.out, options.starts, options.here))


def made_wheel(aside: Path, kinds: list[str], out: Path, starts: str, here: bool) -> Path:
    """The wheel, made in a folder aside; its kernels also `here`."""
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", aside, ROOT], check=True)
    (plain,) = aside.glob("*.whl")
    package = aside / "site" / "carom"
    subprocess.run([*pip, "install", "-q", "--no-deps", "--target", package.parent, plain], check=True)
    for kind in kinds:
        _compile(package, kind, starts)
    if here:
        shutil.rmtree(ROOT / "face" / SHIPPED, ignore_errors=True)
        shutil.copytree(package / SHIPPED, ROOT / "face" / SHIPPED)
    out.mkdir(parents=True, exist_ok=True)
    name = f"{plain.name.removesuffix('-py3-none-any.whl')}-{_tag()}.whl"
    return _packed(plain, package.parent, out / name)


def _tag() -> str:
    version = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    return f"{version}-{version}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _compile(package: Path, kind: str, starts: str) -> None:
    """Compile for a kind, and put what is kept beside the sources into the kind's folder."""
    work = ["-c", starts] if starts else ["-m", "carom", "warm"]
    settings = {"PYTHONPATH": str(package.parent), "NUMBA_CPU_NAME": kind, "NUMBA_CPU_FEATURES": ""}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    subprocess.run([sys.executable, *work], check=True, env=environment | settings, cwd=package.parent)
    for file in sorted(package.rglob("__pycache__/*")):
        if file.suffix in KEPT:
            place = package / SHIPPED / kind / file.relative_to(package).parent.parent / file.name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, place)


def _packed(plain: Path, site: Path, result: Path) -> Path:
    """The files of a plain wheel and the kernels, with the list of all of them and the tags put right."""
    lines = []
    unfinished = result.with_suffix(".part")
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as new:

        def add(name: str, content: bytes) -> None:
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}")
            new.writestr(name, content)

        record = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        for name in old.namelist():
            content = old.read(name)
            if name.endswith(".dist-info/WHEEL"):
                content = content.replace(b"Root-Is-Purelib: true", b"Root-Is-Purelib: false")
                content = content.replace(b"Tag: py3-none-any", f"Tag: {_tag()}".encode())
            if name != record:
                add(name, content)
        for file in sorted((site / "carom" / SHIPPED).rglob("*")):
            if file.is_file():
                add(file.relative_to(site).as_posix(), file.read_bytes())
        new.writestr(record, "\n".join([*lines, f"{record},,", ""]))
    os.replace(unfinished, result)
    return result


if __name__ == "__main__":
    main()
