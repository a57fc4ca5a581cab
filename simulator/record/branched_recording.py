"""Branched runs in one HDF5 file: the scene, and a group of the same tables as a recording for each node."""

import os
from pathlib import Path

import h5py
import numpy as np

from ...bodies.files import file_path
from ..branches import BranchedRun, BranchNode
from ..state import Model
from .log import LOG_TABLES
from .recorded import in_memory
from .recording import VERSION, Recorder, opened, read_scene, read_trajectory, write_scene, write_whole
from .schema import dataset_in, group_in, number_of, whole_of, write_text
from .stored_table import DAMAGE, StoredFile, damaged

_KIND = "carom branched run"


def save(run: BranchedRun, path: "str | os.PathLike") -> Path:
    """Write a tree; the file appears under its name only when it is complete."""
    target = file_path("path", path)
    write_whole(target, f"branched run {target}", lambda file: _write(run, file))
    return target


def _write(run: BranchedRun, file: h5py.File) -> None:
    write_text(file, "format", _KIND)
    file.attrs["version"] = VERSION
    file.attrs["branch_seed"], file.attrs["nodes"] = run.seed, len(run.nodes)
    file.attrs["first_event"], file.attrs["tolerance"] = run.first_event, run.tolerance
    write_scene(file, run.nodes[0].trajectory.scene)
    for index, node in enumerate(run.nodes):
        group = file.create_group(f"node/{_name(index)}")
        group.attrs["parent"] = -1 if node.parent is None else node.parent
        group.create_dataset("members", data=np.array(node.members, dtype=np.int64))
        group.attrs["first_event"], group.attrs["parted_at"] = node.first_event, node.start_time
        before = dict.fromkeys(LOG_TABLES, 0)
        if node.parent is not None:
            before = run.nodes[node.parent].trajectory.log.lengths()
        Recorder.within(node.trajectory, group, before)


def load(path: "str | os.PathLike") -> BranchedRun:
    """Read a tree; FileFormatError with one sentence for a missing, foreign or damaged file."""
    source = file_path("path", path)
    with opened(source, _KIND) as file:
        try:
            return _read(file, StoredFile(source))
        except DAMAGE as error:
            raise damaged(source, error, "branched run") from error


def _read(file: h5py.File, stored: StoredFile) -> BranchedRun:
    scene = read_scene(file, stored)
    model = Model.of_scene(scene)
    nodes: list[BranchNode] = []
    count = whole_of(file, "nodes", 1, stored.size)
    tree = group_in(file, "node")
    for index in range(count):
        group = group_in(tree, _name(index))
        parent = whole_of(group, "parent", -1)
        members = tuple(dataset_in(group, "members", (np.dtype("i8"),), size=stored.size)[()].tolist())
        if index == 0:
            expected = parent == -1 and members == tuple(range(len(members))) and len(members) > 0
        else:
            expected = 0 <= parent < index and set(members) <= set(nodes[parent].members)
        if not expected or not members:
            raise ValueError(f"node {index} with parent {parent} belongs to no tree")
        before = nodes[parent].trajectory.log if parent >= 0 else None
        trajectory = read_trajectory(group, stored, scene, model, before)
        if parent < 0:
            trajectory.log = in_memory(trajectory.log)
        first_event = whole_of(group, "first_event", 0, len(trajectory.events))
        parted_at = number_of(group, "parted_at")
        nodes.append(BranchNode(None if parent < 0 else parent, members, trajectory, first_event, parted_at))
    first_event = whole_of(file, "first_event", 0, len(nodes[0].trajectory.events))
    tolerance = number_of(file, "tolerance")
    return BranchedRun(nodes, whole_of(file, "branch_seed"), first_event, tolerance)


def _name(index: int) -> str:
    return f"{index:06d}"
