"""What is given to be shown, as runs: every end of a tree stands by itself, measured motions on a run's scene."""

import os
from collections.abc import Sequence
from typing import Any


def spread(trajectory: Any, labels: Sequence[str] | None = None) -> tuple[list[Any], list[str] | None]:
    """What was given as a list, in which every end of a `BranchedRun` stands by itself and a `Measured` is a
    `ShownMotion` on the scene of the first run beside it, and their labels.

    A tree that ends in several ways has for each end the label "k in n", how many of its members end so, after
    the tree's own label if there are labels. These are None where nobody gave any and there is no tree.
    ValueError where nothing is given, or another number of labels; TypeError for measured motions beside no run.
    """
    given = (
        list(trajectory) if isinstance(trajectory, Sequence) and not _is_path(trajectory) else [trajectory]
    )
    if not given:
        raise ValueError("trajectory: expected at least one, got an empty list")
    if labels is not None and len(labels) != len(given):
        raise ValueError(f"labels: expected {len(given)}, one for each trajectory, got {len(labels)}")
    if any(map(_is_measured, given)):
        given = _on_scene(given)
    if labels is None and not any(map(_is_tree, given)):
        return given, None
    runs: list[Any] = []
    names: list[str] = []
    for number, one in enumerate(given):
        label = "" if labels is None else str(labels[number])
        if not _is_tree(one):
            runs.append(one)
            names.append(label or str(getattr(one, "law_name", "")) or "run")
            continue
        for end in one.ends:
            share = f"{len(end.members)} in {len(one)}"
            runs.append(end.trajectory)
            names.append(f"{label}: {share}" if label else share)
    return runs, names


def _is_path(given: Any) -> bool:
    return isinstance(given, str | os.PathLike)


def _is_tree(given: Any) -> bool:
    return hasattr(given, "nodes") and hasattr(given, "ends")


def _is_measured(given: Any) -> bool:
    return hasattr(type(given), "shown_in")


def _on_scene(given: list[Any]) -> list[Any]:
    """Measured motions moving the body that can move in the scene of the first run."""
    scene = next((one.scene for one in given if hasattr(one, "scene")), None)
    if scene is None:
        raise TypeError(
            "trajectory: expected a run beside a Measured, whose scene it is shown in, got none: give one, or "
            "carom.ShownMotion(measured, scene)"
        )
    return [one.shown_in(scene) if _is_measured(one) else one for one in given]
