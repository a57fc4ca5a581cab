"""Branched runs in one HDF5 file: the scene, and a group of the same tables as a recording for each node."""

import os
from pathlib import Path

import h5py
import numpy as np

from ...bodies import FileFormatError
from ..branches import BranchedRun, BranchNode
from ..state import Model
from .log import LOG_TABLES
from .recorded import in_memory
from .recording import DAMAGE, VERSION, Recorder, opened, read_scene, read_trajectory, write_scene
from .stored_table import StoredFile

_KIND = "carom branched run"


def save(run: BranchedRun, path: "str | os.PathLike") -> Path:
    """Write a tree; the file appears under its name only when it is complete."""
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    if target.is_dir():
        raise IsADirectoryError(f"branched run {target}: expected a file name, got a folder")
    try:
        try:
            file = h5py.File(partial, "w", libver="latest", locking=False)
        except OSError as error:
            raise OSError(f"branched run {target}: cannot be written ({error.strerror or error})") from error
        with file:
            _write(run, file)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _write(run: BranchedRun, file: h5py.File) -> None:
    file.attrs["format"], file.attrs["version"] = _KIND, VERSION
    file.attrs["branch_seed"], file.attrs["nodes"] = run.seed, len(run.nodes)
    file.attrs["first_event"] = run.first_event
    write_scene(file, run.nodes[0].trajectory.scene)
    for index, node in enumerate(run.nodes):
        group = file.create_group(_name(index))
        group.attrs["parent"] = -1 if node.parent is None else node.parent
        group.create_dataset("members", data=np.array(node.members, dtype=np.int64))
        group.attrs["first_event"], group.attrs["parted_at"] = node.first_event, node.start_time
        before = dict.fromkeys(LOG_TABLES, 0)
        if node.parent is not None:
            before = run.nodes[node.parent].trajectory.log.lengths()
        Recorder.within(node.trajectory, group, before)


def load(path: "str | os.PathLike") -> BranchedRun:
    """Read a tree; FileFormatError with one sentence for a missing, foreign or damaged file."""
    source = Path(path)
    with opened(source, _KIND) as file:
        try:
            return _read(file, StoredFile(source))
        except DAMAGE as error:
            raise FileFormatError(source, f"the branched run is damaged ({error})") from error


def _read(file: h5py.File, stored: StoredFile) -> BranchedRun:
    scene = read_scene(file["scene"])
    model = Model.of_scene(scene)
    nodes: list[BranchNode] = []
    for index in range(int(file.attrs["nodes"])):
        group = file[_name(index)]
        parent = int(group.attrs["parent"])
        members = tuple(group["members"][()].tolist())
        if index == 0:
            expected = parent == -1 and members == tuple(range(len(members))) and len(members) > 0
        else:
            expected = 0 <= parent < index and set(members) <= set(nodes[parent].members)
        if not expected:
            raise ValueError(f"node {index} with parent {parent} and members {members} belongs to no tree")
        before = nodes[parent].trajectory.log if parent >= 0 else None
        trajectory = read_trajectory(group, stored, scene, model, before)
        if parent < 0:
            trajectory.log = in_memory(trajectory.log)
        first_event, parted_at = int(group.attrs["first_event"]), float(group.attrs["parted_at"])
        if not 0 <= first_event <= len(trajectory.events):
            raise ValueError(f"node {index}: expected a first event of those it has, got {first_event}")
        nodes.append(BranchNode(None if parent < 0 else parent, members, trajectory, first_event, parted_at))
    return BranchedRun(nodes, int(file.attrs["branch_seed"]), int(file.attrs["first_event"]))


def _name(index: int) -> str:
    return f"node/{index:06d}"
