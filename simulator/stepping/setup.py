"""What a run of time steps was begun with, in words and hashes: whether a file belongs to it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ...bodies import Scene
from ...impact_laws import MaximumDissipation
from ..record.law_description import law_description
from .sphere_table import SphereTable
from .walls import Walls


def setup_of(
    scene: Scene,
    law: MaximumDissipation,
    walls: Walls,
    table: SphereTable,
    flows: Sequence[Any],
    named: Mapping[str, Any],
) -> dict[str, str]:
    """Texts by the name of what they stand for; equal where two runs are."""
    return {
        "gravity": json.dumps(scene.gravity.tolist()),
        "law": law_description(law),
        "fixed bodies": _hash(*walls.names, walls.tables.rows.tobytes(), walls.tables.faces.tobytes()),
        "spheres": _hash(table.places.tobytes(), table.motions.tobytes(), table.surfaces.tobytes()),
        "inflows and outflows": _hash(*(text for flow in flows for text in _words(flow))),
        **{name: json.dumps(value) for name, value in named.items()},
    }  # fmt: skip


def _words(flow: Any) -> list[Any]:
    values = [getattr(flow, field.name) for field in fields(flow)]
    return [value.tobytes() if isinstance(value, np.ndarray) else repr(value) for value in values]


def _hash(*parts: Any) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part if isinstance(part, bytes) else str(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()
