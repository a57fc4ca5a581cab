"""Every tolerance of ``bodies``: its unit, its reason, and what changing it breaks."""

MERGE_DISTANCE = 1e-10
"""Relative to a mesh's size. Vertices closer than this are one vertex.

Above the rounding of double-precision files and transforms, below any detail a file means. Smaller: meshes
whose parts were transformed separately no longer close. Larger: fine detail far from the size collapses.
"""

COPLANAR_DISTANCE = 1e-9
"""Relative to a hull's size. Triangles whose corners lie this close to one plane are one face.

Smaller: a tessellated cube keeps sliver faces, and contact patches on a flat face lose corners. Larger: the
facets of a finely tessellated smooth body merge into flats that are not there.
"""

FLAT_THICKNESS = 1e-8
"""Relative to a hull's size. A hull thinner than this encloses no volume.

Ten times COPLANAR_DISTANCE, so that the two sides of an accepted plate never merge into one face. Smaller
than that: the faces of very thin plates become ambiguous. Larger: real thin sheets are refused.
"""

VOLUME_ROUNDING = 1e-12
"""Relative to the sum of a part's unsigned tetrahedra. A signed volume smaller than this has no sign.

Covers the rounding of such sums. Smaller: flat parts of a mesh, whose volume is zero, count as inside out by
chance. Larger: small parts far from the others are never seen to be inside out.
"""

ORIENTATION_NORM = 1e-3
"""Without unit. A quaternion's length may differ from one by this much; it is then normalised.

Covers three written decimals, such as (0.707, 0, 0, 0.707), whose length is 0.9998. Smaller: these are refused.
Larger: a mistyped quaternion is accepted as a rotation that was not meant.
"""

UNIT_ROUNDING = 1e-15
"""Without unit. A direction or quaternion whose squared length is this close to one is kept bit for bit.

Larger: unit vectors are less exact than they can be. Smaller: normalising is no longer idempotent, and
a scene read back from its description differs in the last bit.
"""

INERTIA_RELATIVE = 1e-9
"""Relative to the largest entry of an inertia. Allowed asymmetry, and violation of the triangle inequality.

Covers rounding and flat bodies, for which the inequality is an equality. Smaller: exact inertias of thin
bodies are refused after a rotation. Larger: inertias no mass distribution has are accepted.
"""

MASS_RELATIVE = 1e-6
"""Relative to a mass, or to the largest entry of an inertia. By which those that are kept beside a density may
differ from the uniform shape's.

Covers volumes that another version of numpy sums otherwise, also of hulls as flat as FLAT_THICKNESS. Smaller:
scenes with flat hulls are refused elsewhere. Larger: a file in which a density or a length was changed, and the
mass was not, is taken as it is.
"""

LARGEST_COORDINATE = 1e30
"""In the unit of a mesh file. A file with a coordinate beyond this is refused.

Moments of inertia grow with the fifth power of the size and their determinant with the fifteenth, which here still
are numbers. Larger: areas and volumes overflow, and a search for equal vertices fails. Smaller: sizes that a unit
makes large, such as a planet's in micrometres (1e13), would be refused one day.
"""

LARGEST_MESH_FILE = 1 << 28
"""Bytes that a mesh file may have, unless the caller allows more.

Five million triangles of a binary STL, which are read and merged in some tens of seconds. Larger: a file that is
mostly a hole, as anyone can send, keeps a program busy for minutes and takes gigabytes. Smaller: scans of real
objects are refused.
"""

LARGEST_SCENE_FILE = 1 << 26
"""Bytes that a scene file may have, unless the caller allows more.

A million vertices with their triangles, which take ten times as much memory when they are read. Larger: a file that
anyone can send takes gigabytes. Smaller: scans of real objects have to lie beside their scene.
"""

FASTEST_SPIN = 1e15
"""rad/s. A body that spins faster is refused: after one second nobody could tell from a double how it is turned.

Larger: rates of rotation overflow in their series. Smaller: nothing is gained, though runs with 1e9 rad/s already
take a step for every few turns of a body that is no sphere.
"""
