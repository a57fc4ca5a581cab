"""Recordings of all kinds that were tampered with, by structure and by bytes, and what a reader does with one."""

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import carom
from carom.simulator import BranchedRun
from carom.simulator.record.schema import write_text

from .harness import (
    HOSTILE_NUMBERS,
    HOSTILE_TEXTS,
    HOSTILE_WHOLES,
    LONGEST,
    assert_ours,
    assert_sentence,
    other_json,
    silence,
    within,
)

DTYPES = ("f8", ">f8", "f4", "f2", "g", "c16", "i8", "i4", ">i4", "u8", "u1", "?", "S5", "V8", "i1")
_MOST_NUMBERS = 1_000_000
HUGE = (2**20, 2**31, 2**40, 2**60)


def whole_recordings(folder: Path) -> list[Path]:
    """Recordings of short runs: boxes and balls, a mesh, joints, a tree of branches, time steps, an ensemble."""
    folder.mkdir(exist_ok=True)
    material = carom.Material(friction=0.4, restitution=0.3)
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    box, place = carom.Box((0.1, 0.2, 0.3)), (0.0, 0.0, 0.5)
    scene.add(carom.Body(box, density=1000.0, position=place, angular_velocity=(1, 2, 3), material=material))
    ball = carom.Body(
        carom.Sphere(0.05), density=500.0, position=(1, 0, 0.4), velocity=(-1, 0, 0), material=material
    )
    scene.add(ball)
    paths = []
    for number, law in enumerate((carom.AnitescuPotra(), carom.StrongeCoulomb(), carom.SequentialLCP())):
        run = carom.Simulator(scene, law, seed=number).run(0.45)
        assert len(run.events) > 1
        paths.append(run.save(folder / f"boxes-{number}.h5"))
    tetrahedron = carom.Mesh(
        ([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    )
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, material=material, name="floor"))
    scene.add(carom.Body(tetrahedron, density=1000.0, position=(0, 0, 0.1), material=material, name="mesh"))
    hull = carom.Body(
        carom.ConvexMesh(tetrahedron.vertices), density=900.0, position=(1, 0, 0.3), material=material
    )
    arm = scene.add(carom.Body(box, density=1000.0, position=(3, 0, 1), name="arm"))
    scene.add(hull)
    scene.add_joint(
        carom.RevoluteJoint(arm, anchor=(3, 0, 1.15), axis=(1, 0, 0), limits=(-1, 1), damping=0.1)
    )
    scene.add_force(carom.Drag(arm, linear=0.1))
    paths.append(carom.Simulator(scene, carom.MaximumDissipation()).run(0.3).save(folder / "mesh.h5"))
    plate = carom.Scene()
    plate.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
    plate.add(
        carom.Body(carom.Box((0.1, 0.1, 0.1)), density=1000.0, position=(0, 0, 0.1), velocity=(1, 0, 0))
    )
    tree = carom.Simulator(plate, carom.SetValuedRouth(step=0.1)).branches(2, 1, 0.12)
    paths.append(tree.save(folder / "tree.h5"))
    steps = balls()
    steps.run(0.04, frames_every=0.01)
    paths.append(steps.save(folder / "steps.h5"))
    ensemble = carom.ensemble(member, {"x": np.linspace(0.0, 1.0, 12)}, workers=0)
    paths.append(ensemble.save(folder / "ensemble.h5"))
    return paths


def balls() -> carom.TimeSteps:
    """Three balls that fall on a floor, and more that enter."""
    scene = carom.Scene()
    scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True, name="floor"))
    places = [(0, 0, 0.011), (0.001, 0, 0.05), (0.05, 0, 0.011)]
    scene.add_spheres(0.01, density=2500.0, position=places, name="grains")
    inlet = carom.Inflow(0.005, density=500.0, position=[(0, 0, 0.2)], velocity=(0, 0, -1.0), every=0.02)
    law = carom.MaximumDissipation(tolerance=1e-4, max_sweeps=500)
    return carom.TimeSteps(scene, law, step=1e-3, inflows=[inlet])


def member(given: Any, rng: np.random.Generator) -> dict[str, Any]:
    """One of an ensemble, some of which fail."""
    if rng.random() < 0.3:
        raise RuntimeError("no luck")
    return {"square": given["x"] ** 2, "pair": [given["x"], 1.0]}


def look_at(path: Path, thoroughly: bool = False) -> bool:
    """Open a recording and look at all of it; whether it could be read. Only FileFormatError may be raised,
    and nothing be printed beside it."""
    try:
        with within(LONGEST), silence():
            if path.name.startswith("tree"):
                for node in BranchedRun.load(path).nodes:
                    _look(node.trajectory, thoroughly)
            elif path.name.startswith("steps"):
                _look_at_steps(path, thoroughly)
            elif path.name.startswith("ensemble"):
                _look_at_ensemble(carom.Ensemble.load(path))
            else:
                _look(carom.Trajectory.load(path), thoroughly)
    except carom.FileFormatError as error:
        assert_sentence(error)
        return False
    return True


def _look(run: carom.Trajectory, thoroughly: bool) -> None:
    for event in run.events[:40]:
        _ = event.note, event.contacts.gap, event.problem, event.outcome, event.before, event.after
    times = np.linspace(run.start_time, run.end_time, 7)
    with np.errstate(all="ignore"):
        _ = run.sample(times), run.ledger(times), run.impacts, run.implicit_share, run.event_hash
        if thoroughly:
            _ = run.largest_overlap(samples=5, looks=200), run.energy(run.end_time)


def _look_at_steps(path: Path, thoroughly: bool) -> None:
    recording = carom.StepRecording.load(path)
    assert np.isfinite(recording.last.position).all()
    if not thoroughly:
        return
    steps = balls()
    try:
        steps.restore(path)
        with np.errstate(all="ignore"):
            steps.advance()
    except ValueError as error:  # of another run, or one that goes wrong at once
        assert_ours(error)


def _look_at_ensemble(rows: carom.Ensemble) -> None:
    assert len(rows.status) == len(rows)
    _ = repr(rows), rows.failures
    for name in rows.columns:
        assert len(rows[name]) == len(rows)


# -- edits ---------------------------------------------------------------------------------------------------


def tampered_bytes(content: bytes, rng: random.Random) -> tuple[bytes, int]:
    """A file with bytes that are others, more or fewer; and how many random ones came in."""
    data, count = bytearray(content), 0
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        place, way = rng.randrange(len(data) + 1), rng.randrange(5)
        block = rng.randbytes(rng.choice((1, 8, 64, 4096)))
        if way == 0:
            for value in block[:64]:
                data[rng.randrange(len(data))] = value
            count += len(block[:64])
        elif way == 1:
            data[place : place + len(block)] = block
            count += len(block)
        elif way == 2:
            data[place:place] = block
            count += len(block)
        elif way == 3:
            del data[place : place + rng.choice((1, 8, 512))]
        else:
            data[place : place + 64] = bytes([rng.choice((0, 255))]) * 64
        data = data or bytearray(1)
    return bytes(data), count


Whole = tuple[dict[str, bytes], Path]
"""Contents of files by name, and the folder for what is made of them."""


def tampered_with_structures(seeds: Sequence[int], whole: Whole) -> Iterator[tuple[int, bool]]:
    """One to three edits of what HDF5 holds, of a file for each seed; how many were possible, and whether the file
    could still be read. Many files at once take less long each."""
    draws = [random.Random(seed) for seed in seeds]
    paths = []
    for number, rng in enumerate(draws):
        path, content = _drawn(whole, rng)
        paths.append(path.with_stem(f"{path.stem}-{number}"))
        paths[-1].write_bytes(content)
    for path, rng, edits in zip(paths, draws, _tampered(paths, draws), strict=True):
        yield edits, look_at(path, thoroughly=rng.random() < 0.1)
        path.unlink()


def tampered_with_bytes(seed: int, whole: Whole) -> tuple[int, bool]:
    """Random bytes in, out of and between those of a file; how many came in, and whether it could still be read."""
    rng = random.Random(seed)
    path, content = _drawn(whole, rng)
    content, count = tampered_bytes(content, rng)
    path.write_bytes(content)
    return count, look_at(path, thoroughly=rng.random() < 0.1)


def _drawn(whole: Whole, rng: random.Random) -> tuple[Path, bytes]:
    contents, folder = whole
    name = rng.choice(sorted(contents))
    return folder / name, contents[name]


def _tampered(paths: list[Path], draws: list[random.Random]) -> list[int]:
    """Change the structure or the numbers of recordings in a few places, in a process of its own: where HDF5 cannot
    write what was made it keeps the file open, and aborts when that is collected. How many edits HDF5 could make of
    each; none where it aborted."""
    done: list[int] = []
    while len(done) < len(paths):
        reader, writer = os.pipe()
        maker = os.fork()
        if maker == 0:
            try:
                for path, rng in zip(paths[len(done) :], draws[len(done) :], strict=True):
                    os.write(writer, bytes([_edit(path, rng)]))
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            done += said.read()
        os.waitpid(maker, 0)
        if len(done) < len(paths):
            done.append(0)
    return done


def _edit(path: Path, rng: random.Random) -> int:
    done = 0
    with h5py.File(path, "r+", libver="latest", locking=False) as file:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            names: list[str] = []
            file.visit(names.append)
            if not names:
                break
            name = rng.choice(names)
            edit = rng.choice(_EDITS)
            try:
                edit(file, name, rng)
                done += 1
            except (
                ValueError,
                TypeError,
                OSError,
                RuntimeError,
                LookupError,
                OverflowError,
                AttributeError,
            ):
                pass  # HDF5 cannot do this
    return done


def _delete(file: h5py.File, name: str, rng: random.Random) -> None:
    del file[name]


def _numbers(file: h5py.File, name: str, rng: random.Random) -> None:
    data = _dataset(file, name, rng)
    if data.size == 0:
        raise ValueError("nothing to change")
    rows = data[()]
    flat = rows.reshape(-1)
    column: Any = flat
    if rows.dtype.names:
        column = flat[rng.choice(rows.dtype.names)]
    column = column.reshape(-1) if column.ndim != 1 else column
    values = HOSTILE_NUMBERS if column.dtype.kind == "f" else HOSTILE_WHOLES
    value = rng.choice(values)
    with np.errstate(all="ignore"):
        column[rng.randrange(column.size)] = np.array(value).astype(column.dtype)
    if rows.dtype.names:  # a column of vectors was copied by reshape
        flat = flat.copy()
        part = rng.choice(rows.dtype.names)
        whole = np.ascontiguousarray(flat[part])
        kind = HOSTILE_NUMBERS if whole.dtype.kind == "f" else HOSTILE_WHOLES
        with np.errstate(all="ignore"):
            whole.reshape(-1)[rng.randrange(whole.size)] = np.array(rng.choice(kind)).astype(whole.dtype)
        flat[part] = whole
        rows = flat.reshape(rows.shape)
    data[()] = rows


def _other_type(file: h5py.File, name: str, rng: random.Random) -> None:
    data, dtype = _dataset(file, name, rng), np.dtype(rng.choice(DTYPES))
    name = data.name
    shape = rng.choice((data.shape, (), (0,), (3,), (2, 2), (1, 1, 1), (*data.shape, 1), (len(data), 14)))
    attributes = dict(data.attrs)
    del file[name]
    made = file.create_dataset(name, shape=shape, dtype=dtype)
    made.attrs.update(attributes)


def _huge(file: h5py.File, name: str, rng: random.Random) -> None:
    data = _dataset(file, name, rng)
    name, dtype, attributes = data.name, data.dtype, dict(data.attrs)
    shape = (rng.choice(HUGE), *data.shape[1:])
    fill = None if dtype.names else np.array(rng.choice((0, 1, 255)), dtype=dtype)
    if rng.random() < 0.5 and data.maxshape[0] is None:
        data.resize(shape)
        return
    del file[name]
    made = file.create_dataset(
        name, shape=shape, dtype=dtype, chunks=(64, *shape[1:]), maxshape=(None, *shape[1:]), fillvalue=fill
    )
    made.attrs.update(attributes)


def _shorter(file: h5py.File, name: str, rng: random.Random) -> None:
    data = _dataset(file, name, rng)
    data.resize(rng.randrange(len(data) + 3), axis=0)


def _link(file: h5py.File, name: str, rng: random.Random) -> None:
    way = rng.randrange(6)
    kept = file[name]
    target = rng.choice(("/", name, "/events", "/nothing", "/scene", "..", "/scene/arrays"))
    if way == 5 and isinstance(kept, h5py.Group):
        kept["circle"] = file["/"]
        return
    del file[name]
    if way in (0, 1):
        file[name] = h5py.SoftLink(target)
    elif way in (2, 3):
        file[name] = h5py.ExternalLink(rng.choice(("other.h5", file.filename, os.devnull, "\x01")), target)
    elif way == 4:
        file.create_group(name)
    else:
        file[name] = file[target]


def _elsewhere(file: h5py.File, name: str, rng: random.Random) -> None:
    data = _dataset(file, name, rng)
    name, dtype, shape, attributes = data.name, data.dtype, data.shape, dict(data.attrs)
    way = rng.randrange(4)
    if way == 3:
        content = data[()]
    del file[name]
    if way == 0:
        layout = h5py.VirtualLayout(shape=shape, dtype=dtype)
        if shape and shape[0]:
            layout[...] = h5py.VirtualSource("other.h5", "numbers", shape=shape)
        made = file.create_virtual_dataset(name, layout, fillvalue=None)
    elif way == 1:
        made = file.create_dataset(
            name, shape=shape, dtype=dtype, external=[(os.devnull, 0, h5py.h5f.UNLIMITED)]
        )
    elif way == 2:
        outside = Path(file.filename).with_name("outside.bin")  # which later edits write to
        outside.write_bytes(bytes(64))
        made = file.create_dataset(name, shape=shape, dtype=dtype, external=[(str(outside), 0, 64)])
    else:
        made = file.create_dataset(name, data=content, chunks=True, compression=rng.choice(("gzip", "lzf")))
    made.attrs.update(attributes)


def _attribute(file: h5py.File, name: str, rng: random.Random) -> None:
    owner = file if rng.random() < 0.6 else file[name]
    names = list(owner.attrs)
    if not names:
        raise ValueError("nothing to change")
    key, way = rng.choice(names), rng.randrange(8)
    if way == 0:
        del owner.attrs[key]
    elif way == 1:
        owner.attrs[key] = rng.choice(HOSTILE_NUMBERS)
    elif way == 2:
        owner.attrs[key] = rng.choice(HOSTILE_WHOLES)
    elif way == 3:
        text = rng.choice(HOSTILE_TEXTS)
        if rng.random() < 0.3:
            owner.attrs[key] = text
        else:
            write_text(owner, key, text)
    elif way == 4:
        owner.attrs[key] = np.zeros(rng.choice(((0,), (3,), (2, 2))), dtype=rng.choice(DTYPES))
    elif way == 5:
        owner.attrs[key] = h5py.Empty(rng.choice(("f8", "S3")))
    elif way == 6:
        owner.attrs[key] = rng.choice((b"\xff\xfe", np.bytes_(b"x" * 50), np.complex128(1j), file.ref))
    else:
        value = owner.attrs[key]
        if not isinstance(value, bytes):
            raise ValueError("no text")
        write_text(owner, key, json.dumps(other_json(json.loads(value), rng)))


def _description(file: h5py.File, name: str, rng: random.Random) -> None:
    path = "description" if "description" in file else "scene/description"
    data = _dataset(file, path, rng)
    meta = json.loads(data[()].tobytes())
    for _ in range(rng.choice((1, 1, 2))):
        meta = other_json(meta, rng)
    text = json.dumps(meta)
    if rng.random() < 0.1:
        text = rng.choice(HOSTILE_TEXTS)
    del file[path]
    file[path] = np.frombuffer(text.encode("utf-8", "replace") or b" ", dtype="u1")


def _texts(file: h5py.File, name: str, rng: random.Random) -> None:
    data = _table(file, "texts", rng)
    content = bytearray(data[()].tobytes())
    if not content:
        raise ValueError("nothing to change")
    for _ in range(3):
        content[rng.randrange(len(content))] = rng.choice(b'{}[]":,0-9truenul\\ \xff')
    data[()] = np.frombuffer(bytes(content), dtype="u1")


def _swap(file: h5py.File, name: str, rng: random.Random) -> None:
    other = _dataset(file, name, rng).name
    if other == f"/{name}":
        raise ValueError("the same")
    file.move(name, "moved")
    file.move(other, name)
    file.move("moved", other)


def _progress(file: h5py.File, name: str, rng: random.Random) -> None:
    data = _table(file, "progress", rng)
    column = rng.randrange(data.shape[1])
    value = rng.choice((*HOSTILE_NUMBERS, *map(float, HOSTILE_WHOLES)))
    data[-1, column] = value


def _table(file: h5py.File, table: str, rng: random.Random) -> h5py.Dataset:
    """That table, of any node."""
    group = file if table in file else file["node"][rng.choice(list(file["node"]))]
    return _dataset(group, table, rng)


def _dataset(file: h5py.File, name: str, rng: random.Random) -> h5py.Dataset:
    """The data set of that name, or any."""
    found = file[name]
    if not isinstance(found, h5py.Dataset):
        names: list[str] = []
        file.visititems(lambda key, item: names.append(key) if isinstance(item, h5py.Dataset) else None)
        found = file[rng.choice(names)]
    if found.size > _MOST_NUMBERS:
        raise ValueError("an edit before has made it too large to be read")
    return found


_EDITS: tuple[Callable[[h5py.File, str, random.Random], None], ...] = (
    _delete, *[_numbers] * 6, _other_type, _other_type, _huge, _shorter, _link, _link, _elsewhere, _attribute,
    _attribute, *[_description] * 4, _texts, _swap, _progress, _progress,
)  # fmt: skip
