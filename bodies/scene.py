"""The scene: bodies, gravity, the materials of pairs, and which pairs can collide."""

import copy
import html
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import checks
from .body import Body
from .description import WORDS, Arrays, checked_head, describe, read_into
from .files import file_path, replaced_when_whole
from .forces import Drag, ForceFunction, function_name
from .joints import Joint, PlacedJoint, is_as_placed, placed
from .material import Material, combine, refuse_no_material
from .meant import did_you_mean
from .mesh_files import MeshFolder
from .records import quoted
from .scene_files import read_scene_file, refused, scene_text
from .spheres import Spheres
from .tolerances import LARGEST_MESH_FILE, LARGEST_SCENE_FILE

if TYPE_CHECKING:
    from ..simulator import Displacement


_SHOWN_BODIES = 30  # in a notebook


class Scene:
    """Bodies, indexed in the order added, under uniform ``gravity`` (3,) [m/s²] in the world frame.

    ``scene["ball"]`` is the body of that name, ``"ball" in scene`` whether there is one, ``len(scene)`` how many
    there are; ``for body in scene`` goes through them.

    >>> import carom
    >>> scene = carom.Scene()
    >>> ball = scene.add(carom.Body(carom.Sphere(0.1), mass=1.0, name="ball"))
    >>> scene
    Scene(1 body, gravity (0.0, 0.0, -9.81))
    >>> scene["ball"] is ball, "cube" in scene
    (True, False)
    """

    def __init__(self, gravity: Any = (0.0, 0.0, -9.81)) -> None:
        if isinstance(gravity, int | float) and not isinstance(gravity, bool):
            down = checks.number("gravity", gravity)
            raise TypeError(
                f"gravity: expected a vector (3,), got {checks.shown(gravity)}: did you mean "
                f"(0, 0, {-abs(down):g})?"
            )
        self.gravity: np.ndarray = checks.array("gravity", gravity, (3,))
        self._bodies: list[Body] = []
        self._added: list[Body] = []
        self._before_moves: list[tuple[Body, int]] = []
        self._index_of_name: dict[str, int] = {}
        self._numbered: dict[str, int] = {}
        self._pair_materials: dict[tuple[int, int], Material] = {}
        self._disabled_pairs: set[tuple[int, int]] = set()
        self._joints: list[PlacedJoint] = []
        self._drag: dict[int, np.ndarray] = {}
        self._force_functions: list[ForceFunction] = []
        self._plane: np.ndarray | None = None
        self._spheres: list[Spheres] = []

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All bodies, in the order added; every one has a name."""
        return tuple(self._bodies)

    @property
    def spheres(self) -> tuple[Spheres, ...]:
        """What ``add_spheres`` has added, in that order; every one has a name."""
        return tuple(self._spheres)

    @property
    def joints(self) -> tuple[PlacedJoint, ...]:
        """All joints, in the order added; every one has a name."""
        return tuple(self._joints)

    @property
    def plane(self) -> np.ndarray | None:
        """Unit normal (3,) of the plane that motion is restricted to, or None."""
        return self._plane

    @property
    def drags(self) -> tuple[Drag, ...]:
        """Drag of every body by name, and first that of all, as ``add_force`` was given it: several add up."""
        return tuple(
            Drag(None if k < 0 else self._bodies[k].name, linear=a, quadratic=b, rotational=c)
            for k, (a, b, c) in sorted(self._drag.items())
        )

    @property
    def drag(self) -> np.ndarray:
        """(n, 3): linear [N s/m], quadratic [N s²/m²] and rotational [N m s] drag of every body."""
        everywhere = self._drag.get(-1, np.zeros(3))
        return np.array([everywhere + self._drag.get(k, np.zeros(3)) for k in range(len(self))]).reshape(
            -1, 3
        )

    @property
    def force_functions(self) -> tuple[ForceFunction, ...]:
        """Functions given to ``add_force``, in that order."""
        return tuple(self._force_functions)

    @property
    def has_pair_materials(self) -> bool:
        """Whether some pair of bodies has a material of its own."""
        return bool(self._pair_materials)

    @property
    def materials_of_pairs(self) -> tuple[tuple[tuple[int, int], Material], ...]:
        """Pairs (i, j), i < j, of bodies given to ``set_pair_material``, in rising order, each with its
        material."""
        return tuple(sorted(self._pair_materials.items()))

    @property
    def disabled_pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs (i, j), i < j, of bodies given to ``disable_collision``, in rising order."""
        return tuple(sorted(self._disabled_pairs))

    def __len__(self) -> int:
        return len(self._bodies)

    def __iter__(self) -> Iterator[Body]:
        return iter(self._bodies)

    def __contains__(self, body: object) -> bool:
        """Whether a body, or one of this name, is in the scene."""
        if isinstance(body, str):
            return body in self._index_of_name
        return any(known is body for known in (*self._bodies, *self._added))

    def __getitem__(self, body: Body | str | int) -> Body:
        """The body of this name or index, as it is in the scene; ValueError for one that is not there."""
        return self._bodies[self.index(body)]

    def __repr__(self) -> str:
        parts = [_counted(len(self._bodies), "body", "bodies")]
        parts += [_counted(len(self._joints), "joint", "joints")] if self._joints else []
        parts += [f"gravity {tuple(self.gravity.tolist())}", "planar" if self._plane is not None else ""]
        return f"Scene({', '.join(filter(None, parts))})"

    def _repr_html_(self) -> str:
        """What a notebook shows: a table of the bodies, of the first ones where there are many."""
        rows = [
            f"<tr><td>{html.escape(str(body.name))}</td><td>{type(body.shape).__name__}</td>"
            f"<td>{'fixed' if body.fixed else f'{body.mass:g} kg'}</td>"
            f"<td>{', '.join(f'{x:g}' for x in body.position.tolist())}</td></tr>"
            for body in self._bodies[:_SHOWN_BODIES]
        ]
        left = len(self._bodies) - len(rows)
        more = f"<p>and {left} more</p>" if left else ""
        head = "<tr><th>body</th><th>shape</th><th>mass</th><th>position [m]</th></tr>"
        return f"<p>{html.escape(repr(self))}</p><table>{head}{''.join(rows)}</table>{more}"

    def add(self, body: Body) -> Body:
        """Add a body and return it; one without a name is returned as a copy named like ``sphere-0``."""
        if not isinstance(body, Body):
            hint = ": did you mean add_joint?" if isinstance(body, Joint) else ""
            raise TypeError(f"body: expected a Body, got {type(body).__name__}{hint}")
        added = body
        if body.name is None:
            stem = WORDS.get(type(body.shape), "body")
            start = self._numbered.get(stem, 0)
            number = next(k for k in count(start) if f"{stem}-{k}" not in self._index_of_name)
            self._numbered[stem] = number + 1
            name = f"{stem}-{number}"
            added = copy.copy(body)
            object.__setattr__(added, "name", name)
        if added.name in self._index_of_name:
            raise ValueError(f"name: expected one that is not in the scene yet, got {added.name!r} again")
        self._index_of_name[str(added.name)] = len(self._bodies)
        self._bodies.append(added)
        self._added.append(body)
        return added

    def add_copies(
        self,
        body: Body,
        *,
        position: Any,
        orientation: Any = None,
        velocity: Any = None,
        angular_velocity: Any = None,
    ) -> tuple[Body, ...]:
        """Add a body many times, from arrays, and return these bodies in their order.

        They have its shape, mass, surface and all else, which is looked at once.

        position : (n, 3) [m] of their centres of mass, in the world
        orientation : (n, 4) unit quaternions (w, x, y, z) of each, or (4,) of all; None leaves that of the body
        velocity, angular_velocity : (n, 3) or (3,) [m/s], [rad/s]; None likewise

        One with a name has copies called like ``stone-0``. TypeError or ValueError names the field, and nothing is
        added.

        >>> import carom
        >>> scene = carom.Scene()
        >>> brick = carom.Body(carom.Box((0.2, 0.1, 0.1)), density=1800.0, name="brick")
        >>> wall = scene.add_copies(brick, position=[(0.21 * k, 0, 0.05) for k in range(3)])
        >>> [body.name for body in wall], wall[2].position.tolist()
        (['brick-0', 'brick-1', 'brick-2'], [0.42, 0.0, 0.05])
        """
        if not isinstance(body, Body):
            raise TypeError(f"body: expected a Body, got {type(body).__name__}")
        fields = {"position": checks.array("position", position, (None, 3))}
        number = len(fields["position"])
        for name, given, row in (
            ("orientation", orientation, (4,)),
            ("velocity", velocity, (3,)),
            ("angular_velocity", angular_velocity, (3,)),
        ):
            if given is not None:
                fields[name] = checks.each(name, given, number, row)
        names = [None if body.name is None else f"{body.name}-{k}" for k in range(number)]
        taken = next((name for name in names if name in self._index_of_name), None)
        if taken is not None:
            raise ValueError(f"name: expected one that is not in the scene yet, got {taken!r} again")
        made = [body.varied({name: rows[k] for name, rows in fields.items()}) for k in range(number)]
        for copied, given in zip(made, names, strict=True):
            object.__setattr__(copied, "name", given)
        return tuple(self.add(copied) for copied in made)

    def add_spheres(
        self,
        radius: Any,
        *,
        density: Any,
        position: Any,
        velocity: Any = (0.0, 0.0, 0.0),
        angular_velocity: Any = (0.0, 0.0, 0.0),
        material: Material | None = None,
        name: str | None = None,
    ) -> Spheres:
        """Add many uniform balls at once, as arrays, and return them; fields and errors are those of `Spheres`.

        They are no bodies, have no index among these, and only `TimeSteps` moves them: whatever goes from event to
        event refuses a scene that has some. Without a name they are called like ``spheres-0``.

        >>> import carom
        >>> scene = carom.Scene()
        >>> grains = scene.add_spheres(0.01, density=2500.0, position=[(0, 0, 0.01), (0, 0, 0.04)])
        >>> len(scene), [(each.name, len(each)) for each in scene.spheres]
        (0, [('spheres-0', 2)])
        """
        taken = {each.name for each in self._spheres} | set(self._index_of_name)
        if name is None:
            name = next(f"spheres-{k}" for k in count() if f"spheres-{k}" not in taken)
        elif isinstance(name, str) and name in taken:
            raise ValueError(f"name: expected one that is not in the scene yet, got {name!r} again")
        added = Spheres(
            radius, density=density, position=position, velocity=velocity, angular_velocity=angular_velocity,
            material=Material() if material is None else material, name=name,
        )  # fmt: skip
        self._spheres.append(added)
        return added

    def refuse_spheres(self, what: str) -> None:
        """ValueError where spheres were added in bulk, which ``what`` does not do."""
        if self._spheres:
            names = ", ".join(f"{each.name!r} ({len(each)})" for each in self._spheres)
            raise ValueError(f"scene: {what} takes bodies only, got spheres in bulk, {names}: use TimeSteps")

    def index(self, body: Body | str | int, field: str = "body") -> int:
        """Index of a body, given itself (as added or as returned by ``add``), its name, or its index.

        field : what a refusal calls it
        """
        if isinstance(body, str):
            if body not in self._index_of_name:
                known = f"; known are: {', '.join(self._index_of_name) or 'none'}"
                hint = did_you_mean(body, self._index_of_name, known)
                raise ValueError(f"{field}: no body is named {body!r}{hint}")
            return self._index_of_name[body]
        if isinstance(body, int | np.integer) and not isinstance(body, bool):
            if not 0 <= body < len(self._bodies):
                raise ValueError(f"{field}: expected an index below {len(self._bodies)}, got {body}")
            return int(body)
        if not isinstance(body, Body):
            raise TypeError(f"{field}: expected a Body, a name or an index, got {type(body).__name__}")
        for k, known_body in enumerate(self._bodies):
            if known_body is body:
                return k
        for known_body, k in self._before_moves:
            if known_body is body:
                return k
        found = [k for k, original in enumerate(self._added) if original is body]
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(f"{field}: it was added several times; use what add() returned")
        raise ValueError(f"{field}: {body!r} is not in the scene")

    def add_joint(self, joint: Joint) -> PlacedJoint:
        """Join two bodies where they are now; one without a name is named like ``revolute-0``.

        Bodies that a joint connects do not collide unless the joint says ``collide=True``. Raises ValueError where
        both cannot move, or a name is taken.
        """
        if not isinstance(joint, Joint):
            raise TypeError(f"joint: expected a joint such as RevoluteJoint(...), got {type(joint).__name__}")
        body = self.index(joint.body)
        base = -1 if joint.base is None else self.index(joint.base, "base")
        if body == base:
            raise ValueError("base: expected another body than the one it holds, got the same one")
        if self._bodies[body].fixed and (base < 0 or self._bodies[base].fixed):
            raise ValueError(
                f"body: expected one that can move, but {self._bodies[body].name!r} and its base are fixed"
            )
        taken = {known.name for known in self._joints}
        name = joint.name
        if name is None:
            name = next(f"{joint.word}-{k}" for k in count() if f"{joint.word}-{k}" not in taken)
        elif name in taken:
            raise ValueError(f"name: expected one that no joint has yet, got {name!r} again")
        added = placed(joint, name, body, base, self.bodies)
        self._joints.append(added)
        if base >= 0 and not joint.collide:
            self.disable_collision(body, base)
        return added

    def joint_index(self, joint: PlacedJoint | str) -> int:
        """Index of a joint, given as ``add_joint`` returned it or by its name."""
        for k, known in enumerate(self._joints):
            if known is joint or known.name == joint:
                return k
        known_names = ", ".join(known.name for known in self._joints) or "none"
        raise ValueError(f"joint: {joint!r} is not in the scene; known are: {known_names}")

    def add_force(self, force: "Drag | ForceFunction") -> None:
        """Let ``Drag`` act, or a function (t [s], State) -> (n, 6) of forces [N] and torques [N m] on every body.

        Torques are about the centres of mass; both are in the world frame. Functions are not part of a recording.
        """
        if isinstance(force, Drag):
            index = -1 if force.body is None else self.index(force.body)
            numbers = np.array([force.linear, force.quadratic, force.rotational])
            self._drag[index] = self._drag.get(index, np.zeros(3)) + numbers
        elif callable(force) and not isinstance(force, type):
            self._force_functions.append(force)
        else:
            came = f"the class {force.__name__}" if isinstance(force, type) else type(force).__name__
            raise TypeError(f"force: expected Drag(...) or a function of time and state, got {came}")

    def planar(self, normal: Any = (0.0, 1.0, 0.0)) -> None:
        """Restrict all motion to planes across ``normal``: bodies move along them and turn only around it."""
        self._plane = checks.direction("normal", normal)

    def set_pair_material(
        self, first: Body | str | int, second: Body | str | int, material: Material
    ) -> None:
        """Let contacts between two bodies have this material instead of the mean of theirs."""
        refuse_no_material(material)
        self._pair_materials[self._pair(first, second)] = material

    def pair_material(self, i: Body | str | int, j: Body | str | int) -> Material:
        """Material of contacts between two bodies."""
        first, second = sorted((self.index(i), self.index(j)))
        override = self._pair_materials.get((first, second))
        return override or combine(self._bodies[first].material, self._bodies[second].material)

    def disable_collision(self, first: Body | str | int, second: Body | str | int) -> None:
        """Let two bodies pass through each other, unnoticed also where one of them is a sensor."""
        self._disabled_pairs.add(self._pair(first, second))

    def collides(self, i: Body | str | int, j: Body | str | int) -> bool:
        """Whether the collision groups, masks and disabled pairs let two bodies meet.

        A sensor meets others like any body, and pushes none. No body meets itself.
        """
        first, second = sorted((self.index(i), self.index(j)))
        if first == second or (first, second) in self._disabled_pairs:
            return False
        a, b = self._bodies[first], self._bodies[second]
        return bool(a.collision_group & b.collision_mask and b.collision_group & a.collision_mask)

    def resolve_overlaps(self, clearance: float = 0.0) -> "list[Displacement]":
        """Move bodies apart until no two that can collide overlap or are closer than ``clearance`` [m].

        Bodies are translated, never turned, each along with its velocities: by the smallest moves that part all,
        where a move counts by the body's mass, so light bodies move more and fixed ones stay. What is clear
        already is moved only where others need its place. Sensors, and pairs that cannot collide, may overlap.

        Returns the ``Displacement`` of every body that moved, in the order of the bodies. Moved bodies are
        replaced in ``bodies`` by copies with the same name and index; the scene still knows the ones it had before.
        Raises ValueError, and moves none, where bodies cannot be parted, with the overlap that is left, as of one
        squeezed between fixed ones.

        >>> import carom
        >>> scene = carom.Scene()
        >>> floor = scene.add(carom.Body(carom.HalfSpace((0, 0, 1)), fixed=True))
        >>> ball = scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(0, 0, 0.05)))
        >>> [moved] = scene.resolve_overlaps()
        >>> moved.name, round(float(moved.displacement[2]), 6)
        ('sphere-0', 0.05)
        """
        self.refuse_spheres("resolve_overlaps()")
        # imported here because rooms import one way, and only this needs to know how shapes collide
        from ..simulator.collision.overlaps import parting_displacements

        moved = parting_displacements(self, clearance)
        for each in moved:
            index = self._index_of_name[each.name]
            before = self._bodies[index]
            after = copy.copy(before)
            position = checks.array("position", before.position + each.displacement, (3,))
            object.__setattr__(after, "position", position)
            self._before_moves.append((before, index))
            self._bodies[index] = after
        return moved

    def varied(self, changes: dict[int, dict[str, Any]]) -> "Scene":
        """A scene of its own in which bodies, by index, have other values of these fields.

        Fields are ``position``, ``orientation``, ``velocity``, ``angular_velocity``, ``mass``, which the inertia
        follows in proportion, ``restitution`` and the frictions of a `Material`. Bodies keep their names and
        indices; all else is as in this scene. Raises ValueError or TypeError as a `Body` does.
        """
        made = copy.copy(self)
        for name in ("_bodies", "_added", "_before_moves", "_joints", "_force_functions", "_spheres"):
            setattr(made, name, list(getattr(self, name)))
        for name in ("_index_of_name", "_numbered", "_pair_materials", "_drag"):
            setattr(made, name, dict(getattr(self, name)))
        made._disabled_pairs = set(self._disabled_pairs)
        for index, fields in changes.items():
            before = self._bodies[index]
            made._before_moves.append((before, index))
            made._bodies[index] = before.varied(fields)
        return made

    def _pair(self, first: Body | str | int, second: Body | str | int) -> tuple[int, int]:
        i, j = sorted((self.index(first), self.index(second)))
        if i == j:
            raise ValueError("second: expected another body than the first, got the same one")
        return i, j

    def save(self, path: "str | os.PathLike") -> Path:
        """Write the scene as a file of JSON that can be read, edited and kept with a program; its path.

        `load` gives the scene back, equal bit for bit. Meshes are written with their vertices, also those that
        came from files, so that the file is whole. Raises ValueError for a scene with force functions, which are
        Python code that no file holds, OSError where the file cannot be written.

        >>> import carom, pathlib, tempfile
        >>> scene = carom.Scene()
        >>> ball = scene.add(carom.Body(carom.Sphere(0.1), density=1000.0, position=(0, 0, 1), name="ball"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = scene.save(pathlib.Path(folder) / "ball.json")
        ...     again = carom.Scene.load(path)
        >>> again.bodies[0].mass == ball.mass
        True
        """
        target = file_path("path", path)
        if self._force_functions:
            names = ", ".join(quoted(function_name(function)) for function in self._force_functions)
            raise ValueError(f"scene: expected no force functions, since no file holds code, got {names}")
        if target.is_dir():
            raise IsADirectoryError(f"scene {target}: expected a file name, got a folder")
        meta, arrays = self.describe()
        for joint, entry in zip(self._joints, meta.get("joints", []), strict=True):
            if is_as_placed(joint, self.bodies):
                entry.pop("rows")
                entry.pop("coordinate", None)
        text = scene_text(meta, arrays)
        try:
            with replaced_when_whole(target) as partial:
                partial.write_text(text, encoding="utf-8", newline="\n")
        except (OSError, ValueError) as error:  # a NUL in its name
            words = getattr(error, "strerror", None) or error
            raise OSError(f"scene {target}: cannot be written ({words})") from error
        return target

    @classmethod
    def load(cls, path: "str | os.PathLike", *, size_limit: int | None = None) -> "Scene":
        """The scene of a file that `save` wrote or a person did; docs/scene_files.md says what it may hold.

        Nothing in the file is executed. Meshes that it names are read from its own folder or below, and must have
        the SHA-256 that it says.

        size_limit : bytes that the file and each mesh file may have; by default 2^26 and 2^28

        Raises FileFormatError, with the path and what is wrong in one sentence, for anything else, as for another
        version, a field that is missing, unknown or there twice, or a number that is not finite.
        """
        source = file_path("path", path)
        meta = read_scene_file(source, LARGEST_SCENE_FILE if size_limit is None else size_limit)
        folder = MeshFolder(source.parent, LARGEST_MESH_FILE if size_limit is None else size_limit)
        try:
            return cls.from_description(meta, {}, folder)
        except (TypeError, ValueError) as error:
            raise refused(source, error) from None

    def describe(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """All of the scene but force functions as JSON-able data and arrays (the meshes'); ``from_description`` is
        the inverse.

        JSON numbers as Python writes them read back to the same bits. ValueError for spheres in bulk.
        """
        self.refuse_spheres("a file")
        return describe(self)

    @classmethod
    def from_description(cls, meta: Any, arrays: Arrays, folder: MeshFolder | None = None) -> "Scene":
        """The scene that ``describe`` wrote, equal bit for bit; ValueError or TypeError for anything else.

        folder : where meshes may lie that are named by their files; without it they are refused
        """
        checked = checked_head(meta)
        with np.errstate(all="ignore"):  # whoever makes something of a number says that it is too large
            scene = cls(checked["gravity"]) if "gravity" in checked else cls()
            read_into(scene, checked, arrays, folder)
        return scene

    def _keep_rows(self, added: PlacedJoint, kept: PlacedJoint) -> None:
        """Let a joint have the rows that it was placed with, where its bodies have moved since."""
        self._joints[self.joint_index(added)] = kept


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
