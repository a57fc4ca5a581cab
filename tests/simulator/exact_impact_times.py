"""Times of first contact to 40 digits, by a method that shares nothing with the engine.

- Free flight: closed form where the inertia is that of a symmetric top about z (spheres and cubes too), else the
  Taylor series of Euler's equations, in integers of 190 binary places.
- Search: times advance by gap / speed bound, the gap being the least distance of all pairs of features, brute
  force in numpy; cylinders by golden section on the exact distance from a solid cylinder.
- Root: features that are close then are parametrised, and "their points coincide and their tangents span no
  more than a plane" is solved for the parameters and the time by Newton's method in 40 digits.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from operator import mul

import mpmath
import numpy as np

from carom import Box, Capsule, Cylinder, HalfSpace, Sphere

mp = mpmath.MPContext()
mp.dps = 50  # ten guard digits
PLACES = 190
ONE = 1 << PLACES
TERMS = 64
CLOSE = 1e-7  # m: gap at which the search hands over to Newton's method
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Undecided(Exception):
    """The slow search did not end: a gap far smaller than those looked for, or too many steps."""


# -- motion ------------------------------------------------------------------------------------------------


def _fixed(value):
    """A float or fraction as an integer of PLACES binary places."""
    value = Fraction(value)
    return (value.numerator << PLACES) // value.denominator


def _inverse(matrix):
    """Exact inverse of a matrix (3, 3) of floats, as fractions."""
    m = [[Fraction(float(value)) for value in row] for row in matrix]
    minors = [
        [
            m[(i + 1) % 3][(j + 1) % 3] * m[(i + 2) % 3][(j + 2) % 3]
            - m[(i + 1) % 3][(j + 2) % 3] * m[(i + 2) % 3][(j + 1) % 3]
            for j in range(3)
        ]
        for i in range(3)
    ]
    determinant = sum(m[0][j] * minors[0][j] for j in range(3))
    return [[minors[j][i] / determinant for j in range(3)] for i in range(3)]


def matrix_of(w, x, y, z):
    """Rotation of a quaternion of any length but zero; entries of any kind of number."""
    square = w * w + x * x + y * y + z * z
    return np.array(
        [
            [1 - 2 * (y * y + z * z) / square, 2 * (x * y - w * z) / square, 2 * (x * z + w * y) / square],
            [2 * (x * y + w * z) / square, 1 - 2 * (x * x + z * z) / square, 2 * (y * z - w * x) / square],
            [2 * (x * z - w * y) / square, 2 * (y * z + w * x) / square, 1 - 2 * (x * x + y * y) / square],
        ]
    )


def _product(p, q):
    """Product of two quaternions."""
    a, b, c, d = p
    w, x, y, z = q
    return (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y + c * w + d * x - b * z,
        a * z + d * w + b * y - c * x,
    )


class FreeFlight:
    """Exact motion of a body from a packed state (13,): `pose(t)` is (position, rotation matrix).

    A float t gives floats, an mpf numbers of 50 digits. `spin` bounds |w| [rad/s].
    """

    def __init__(self, state, inertia, acceleration, series=False):
        self.state, self.acceleration = np.array(state), np.array(acceleration)
        self.exact = [mp.mpf(float(value)) for value in state]
        self.pull = [mp.mpf(float(value)) for value in acceleration]
        self.inertia = np.array(inertia)
        w = self.state[10:13]
        self.turns = bool(w.any())
        if not self.turns:
            self.spin = 0.0
            self.still = matrix_of(*self.state[3:7])
            self.still_exact = matrix_of(*self.exact[3:7])
            return
        principal = np.linalg.eigvalsh(self.inertia)
        self.spin = math.sqrt(w @ self.inertia @ w / principal[0])
        J = self.inertia
        off = J - np.diag(np.diag(J))
        self.is_top = not series and not off.any() and J[0, 0] == J[1, 1]
        if self.is_top:
            self._prepare_top()
        else:
            scaled = self.inertia * 2.0 ** -math.floor(math.log2(principal[2]))  # exact
            self._inertia = [[_fixed(value) for value in row] for row in scaled]
            self._inverse = [[_fixed(value) for value in row] for row in _inverse(scaled)]
            self._begin(2.0 ** math.floor(math.log2(0.8 / self.spin)))

    def position(self, t):
        if isinstance(t, float):
            return self.state[:3] + t * self.state[7:10] + 0.5 * t * t * self.acceleration
        return np.array([self.exact[i] + t * (self.exact[7 + i] + t * self.pull[i] / 2) for i in range(3)])

    def pose(self, t):
        if not self.turns:
            return self.position(t), self.still if isinstance(t, float) else self.still_exact
        if self.is_top:
            return self.position(t), matrix_of(*self._top(t))
        return self.position(t), matrix_of(*self._series(t))

    # a symmetric top: R = exp(L t / I1) R0 exp((1 - I3 / I1) w3 t e3)

    def _prepare_top(self):
        across, along = mp.mpf(float(self.inertia[0, 0])), mp.mpf(float(self.inertia[2, 2]))
        w = self.exact[10:13]
        momentum = matrix_of(*self.exact[3:7]) @ np.array([w[0], w[1], along / across * w[2]])
        rate = mp.sqrt(sum(momentum * momentum))
        self._precession = rate, momentum / rate
        self._own = (1 - along / across) * w[2]
        self._precession_float = float(rate), (momentum / rate).astype(float)

    def _top(self, t):
        if isinstance(t, float):
            rate, axis = self._precession_float
            cos, sin, own, start = math.cos, math.sin, float(self._own), self.state[3:7]
        else:
            rate, axis = self._precession
            cos, sin, own, start = mp.cos, mp.sin, self._own, self.exact[3:7]
        half = rate * t / 2
        s = sin(half)
        first = (cos(half), *(s * axis))
        last = (cos(own * t / 2), 0 * t, 0 * t, sin(own * t / 2))
        return _product(_product(first, start), last)

    # any other body: series in time / h, in integers

    def _begin(self, h):
        """Steps of h [s], a power of two, so that their starts are exact."""
        self._h, self._steps, self._floats = h, [], []
        self._next = [_fixed(c) for c in self.state[3:7]], [_fixed(c) for c in self.state[10:13] * h]

    def _add_step(self):
        q0, w0 = self._next
        q, w = [[value] for value in q0], [[value] for value in w0]
        L = [[], [], []]
        J, inverse = self._inertia, self._inverse
        for k in range(TERMS - 1):
            for i in range(3):
                L[i].append(sum(J[i][j] * w[j][k] for j in range(3)) >> PLACES)
            back = [w[i][::-1] for i in range(3)]
            turn = [
                (sum(map(mul, L[1], back[2])) - sum(map(mul, L[2], back[1]))) >> PLACES,
                (sum(map(mul, L[2], back[0])) - sum(map(mul, L[0], back[2]))) >> PLACES,
                (sum(map(mul, L[0], back[1])) - sum(map(mul, L[1], back[0]))) >> PLACES,
            ]
            a, b, c, d = q
            x, y, z = back
            rates = (
                -sum(map(mul, b, x)) - sum(map(mul, c, y)) - sum(map(mul, d, z)),
                sum(map(mul, a, x)) + sum(map(mul, c, z)) - sum(map(mul, d, y)),
                sum(map(mul, a, y)) + sum(map(mul, d, x)) - sum(map(mul, b, z)),
                sum(map(mul, a, z)) + sum(map(mul, b, y)) - sum(map(mul, c, x)),
            )
            for i in range(4):
                q[i].append((rates[i] >> (PLACES + 1)) // (k + 1))
            for i in range(3):
                w[i].append((sum(inverse[i][j] * turn[j] for j in range(3)) >> PLACES) // (k + 1))
        last = max(abs(series[-1]) for series in q + w)
        if last > ONE >> 140:  # too slow for 40 digits
            self._begin(0.5 * self._h)
            return
        self._steps.append(q)
        self._floats.append(np.array([[float(Fraction(c, ONE)) for c in series] for series in q]))
        self._next = [sum(series) for series in q], [sum(series) for series in w]

    def _series(self, t):
        while len(self._steps) <= (which := max(0, math.floor(float(t) / self._h))):
            self._add_step()
        if isinstance(t, float):
            s = t / self._h - which
            return self._floats[which] @ s ** np.arange(TERMS)
        s = int(mp.floor((t / mp.mpf(self._h) - which) * ONE))
        found = []
        for series in self._steps[which]:
            value = 0
            for coefficient in reversed(series):
                value = ((value * s) >> PLACES) + coefficient
            found.append(mp.mpf(value) / ONE)
        return found


# -- surfaces ----------------------------------------------------------------------------------------------


@dataclass
class Surface:
    """What a body touches with, in body axes: a polyhedron's features grown by a radius, or a cylinder."""

    points: np.ndarray
    edges: np.ndarray
    triangles: np.ndarray
    radius: float
    reach: float
    cylinder: tuple[float, float] | None = None
    """Radius and half length."""
    plane: tuple[np.ndarray, float] | None = None
    """Of a half-space, in the world."""


def surface_of(shape):
    """Features of a shape; those of boxes, capsules and spheres from their definitions."""
    none2, none3 = np.zeros((0, 2), dtype=int), np.zeros((0, 3), dtype=int)
    if isinstance(shape, HalfSpace):
        return Surface(np.zeros((0, 3)), none2, none3, 0.0, 0.0, plane=(shape.normal, shape.offset))
    if isinstance(shape, Sphere):
        return Surface(np.zeros((1, 3)), np.array([[0, 0]]), none3, shape.radius, 0.0)
    if isinstance(shape, Capsule):
        points = np.array([[0, 0, -0.5], [0, 0, 0.5]]) * shape.length
        return Surface(points, np.array([[0, 1]]), none3, shape.radius, 0.5 * shape.length)
    if isinstance(shape, Cylinder):
        half = 0.5 * shape.length
        points = np.array([[0, 0, -half], [0, 0, half]])
        reach = math.hypot(half, shape.radius)
        return Surface(points, none2, none3, 0.0, reach, cylinder=(shape.radius, half))
    if isinstance(shape, Box):
        signs = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
        points = signs * np.array(shape.lengths)
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        triangles = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    else:
        points, triangles = shape.surface()
        points, triangles = np.array(points), np.array(triangles)
    edges = np.unique(np.sort(triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    return Surface(points, edges, triangles, 0.0, float(np.linalg.norm(points, axis=1).max()))


# a feature is ("point", p), ("edge", p, q), ("face", p, e1, e2), a triangle, ("plane", p, e1, e2),
# ("rim", radius, z), or ("side", radius, half length)


def _feature_point(feature, parameters, number):
    """Point, tangents of a feature at its parameters, in body axes; `number` makes a float a number."""
    what = feature[0]
    if what == "point":
        return np.array([number(x) for x in feature[1]]), []
    if what == "edge":
        p, q = ([number(x) for x in end] for end in feature[1:])
        along = np.array([b - a for a, b in zip(p, q, strict=True)])
        return np.array(p) + parameters[0] * along, [along]
    if what in ("face", "plane"):
        p, e1, e2 = (np.array([number(x) for x in vector]) for vector in feature[1:])
        return p + parameters[0] * e1 + parameters[1] * e2, [e1, e2]
    radius = number(feature[1])
    z = number(feature[2]) if what == "rim" else parameters[1]
    c, s = mp.cos(parameters[0]), mp.sin(parameters[0])
    tangents = [np.array([-s, c, 0 * s])]
    if what == "side":
        tangents.append(np.array([0 * s, 0 * s, 1 + 0 * s]))
    return np.array([radius * c, radius * s, z]), tangents


_PARAMETERS = {"point": 0, "edge": 1, "face": 2, "plane": 2, "rim": 1, "side": 2}


def _inside(feature, parameters, slack=1e-13):
    """Whether parameters stay within a feature."""
    if feature[0] == "edge":
        return -slack <= parameters[0] <= 1 + slack
    if feature[0] == "face":
        return min(parameters) >= -slack and parameters[0] + parameters[1] <= 1 + slack
    if feature[0] == "side":
        return abs(parameters[1]) <= feature[2] + slack
    return True


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def contact_root(flights, features, parameters, radii, time):
    """Time at which two features touch, and their parameters, in 40 digits; None where there is none near."""
    counts = [_PARAMETERS[feature[0]] for feature in features]

    def residual(x):
        t = x[0]
        places, tangents = [], []
        at = 1
        for flight, feature, count in zip(flights, features, counts, strict=True):
            position, rotation = flight.pose(t)
            point, own = _feature_point(feature, x[at : at + count], mp.mpf)
            at += count
            places.append(position + rotation @ point)
            tangents.append([rotation @ tangent for tangent in own])
        away = places[0] - places[1]
        if any(radii):
            reach = mp.mpf(radii[0]) + mp.mpf(radii[1])
            return [_dot(away, away) - reach * reach] + [_dot(away, t) for own in tangents for t in own]
        rows = list(away)
        if counts[1] == 2 or counts[0] == 2:
            surface = 1 if counts[1] == 2 else 0
            normal = _cross(*tangents[surface])
            rows += [_dot(normal, tangent) for tangent in tangents[1 - surface]]
        return rows

    x = [mp.mpf(float(time))] + [mp.mpf(float(value)) for value in parameters]
    size = len(x)
    h = mp.mpf(10) ** -20
    for _ in range(12):
        f = residual(x)
        if len(f) != size:
            return None
        jacobian = mp.matrix(size, size)
        for j in range(size):
            moved = list(x)
            moved[j] += h
            for i, value in enumerate(residual(moved)):
                jacobian[i, j] = (value - f[i]) / h
        try:
            step = mp.lu_solve(jacobian, mp.matrix(f))
        except ZeroDivisionError:
            return None
        x = [x[i] - step[i] for i in range(size)]
        largest = max(abs(value) for value in step)
        if largest > 10:
            return None
        if largest < mp.mpf(10) ** -24:  # the next step would be 1e-40
            f = residual(x)
            step = mp.lu_solve(jacobian, mp.matrix(f))
            x = [x[i] - step[i] for i in range(size)]
            return x[0], x[1 : 1 + counts[0]], x[1 + counts[0] :]
    return None


# -- brute-force gaps in floats ----------------------------------------------------------------------------


def _segments_closest(p, q, a, b):
    """Where along segments p-q (m, 3) and a-b (n, 3) all pairs are closest: s, t, squares (m, n)."""
    u, v = q - p, b - a
    uu, vv = np.einsum("ij,ij->i", u, u)[:, None], np.einsum("ij,ij->i", v, v)[None]
    uv = u @ v.T
    w = p[:, None] - a[None]
    uw, vw = np.einsum("ik,ijk->ij", u, w), np.einsum("jk,ijk->ij", v, w)
    with np.errstate(all="ignore"):
        across = uu * vv - uv * uv
        s = np.where(across > 1e-14 * uu * vv, np.clip((uv * vw - vv * uw) / across, 0.0, 1.0), 0.0)
        for _ in range(2):  # alternating projections end here: exact for two segments after clamping
            t = np.where(vv > 0.0, np.clip((vw + s * uv) / np.where(vv > 0, vv, 1.0), 0.0, 1.0), 0.0)
            s = np.where(uu > 0.0, np.clip((t * uv - uw) / np.where(uu > 0, uu, 1.0), 0.0, 1.0), 0.0)
    t = np.where(vv > 0.0, np.clip((vw + s * uv) / np.where(vv > 0, vv, 1.0), 0.0, 1.0), 0.0)
    away = w + s[..., None] * u[:, None] - t[..., None] * v[None]
    return s, t, np.einsum("ijk,ijk->ij", away, away)


def _points_over_triangles(points, corners):
    """Squared heights (m, n) of points over triangles they lie above or below, inf elsewhere; and (u, v)."""
    origin, e1, e2 = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    a, b, c = (np.einsum("ij,ij->i", x, y) for x, y in ((e1, e1), (e1, e2), (e2, e2)))
    w1, w2 = (
        points @ e1.T - np.einsum("ij,ij->i", origin, e1),
        points @ e2.T - np.einsum("ij,ij->i", origin, e2),
    )
    D = a * c - b * b
    u, v = (c * w1 - b * w2) / D, (a * w2 - b * w1) / D
    normal = np.cross(e1, e2)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    height = points @ normal.T - np.einsum("ij,ij->i", origin, normal)
    over = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0)
    return np.where(over, height * height, np.inf), u, v


def _polyhedra_gap(first, second, places, reach):
    """Least distance of two surfaces at placed points, and features within `reach` of touching."""
    radius = first.radius + second.radius
    A, B = places
    s, t, square = _segments_closest(
        A[first.edges[:, 0]], A[first.edges[:, 1]], B[second.edges[:, 0]], B[second.edges[:, 1]]
    )
    best = square.min()
    above = []
    if len(second.triangles):
        above.append(_points_over_triangles(A, B[second.triangles]))
        best = min(best, above[0][0].min())
    if len(first.triangles):
        above.append(_points_over_triangles(B, A[first.triangles]))
        best = min(best, above[-1][0].min())
    gap = math.sqrt(best) - radius
    found = []
    if gap <= reach:
        limit = (radius + 3.0 * reach) ** 2
        seen = set()
        for i, j in zip(*np.nonzero(square <= limit), strict=True):
            sides, parameters = [], []
            for mesh, edge, along in ((first, first.edges[i], s[i, j]), (second, second.edges[j], t[i, j])):
                if edge[0] == edge[1] or along < 1e-9 or along > 1 - 1e-9:
                    sides.append(("point", mesh.points[edge[1] if along > 0.5 else edge[0]]))
                else:
                    sides.append(("edge", mesh.points[edge[0]], mesh.points[edge[1]]))
                    parameters.append(along)
            key = tuple(tuple(np.concatenate(side[1:])) for side in sides)
            if key not in seen:
                seen.add(key)
                found.append((tuple(sides), parameters))
        at = 0
        for own, other, first_has_point in ((first, second, True), (second, first, False)):
            if not len(other.triangles):
                continue
            height, u, v = above[at]
            at += 1
            for i, j in zip(*np.nonzero(height <= limit), strict=True):
                p, q, r = other.points[other.triangles[j]]
                point, face = ("point", own.points[i]), ("face", p, q - p, r - p)
                sides = (point, face) if first_has_point else (face, point)
                found.append((sides, [u[i, j], v[i, j]]))
    return gap, found


def _from_cylinder(points, radius, half):
    """Vectors (n, 3) from the nearest points of a solid cylinder about z to points (n, 3)."""
    across = np.hypot(points[:, 0], points[:, 1])
    keep = np.where(across > radius, (across - radius) / np.where(across > 0, across, 1.0), 0.0)
    away = np.empty_like(points)
    away[:, :2] = points[:, :2] * keep[:, None]
    away[:, 2] = points[:, 2] - np.clip(points[:, 2], -half, half)
    return away


def _golden(distance, low, high, steps=60):
    """Ever shorter intervals that hold the arguments of the least values of convex functions, all at once."""
    low, high = np.array(low), np.array(high)
    c, d = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    fc, fd = distance(c), distance(d)
    for _ in range(steps):
        left = fc < fd
        high, low = np.where(left, d, high), np.where(left, low, c)
        new = np.where(left, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        fnew = distance(new)
        c, d, fc, fd = (
            np.where(left, new, d),
            np.where(left, c, new),
            np.where(left, fnew, fd),
            np.where(left, fc, fnew),
        )
    return low, high


def _cylinder_feature(point, radius, half):
    """Feature of a cylinder at a point of its surface (in body axes), with parameters."""
    angle = math.atan2(point[1], point[0])
    at_side = math.hypot(point[0], point[1]) > radius * (1 - 1e-7)
    at_end = abs(point[2]) > half * (1 - 1e-7)
    end = math.copysign(half, point[2])
    if at_side and at_end:
        return ("rim", radius, end), [angle]
    if at_side:
        return ("side", radius, half), [angle, point[2]]
    return ("plane", np.array([0.0, 0.0, end]), np.array([1.0, 0, 0]), np.array([0, 1.0, 0])), [
        point[0],
        point[1],
    ]


def _cylinder_gap(cylinder, other, points, reach):
    """Distance of a cylinder from a polyhedral surface whose points are given in the cylinder's axes."""
    radius, half = cylinder.cylinder
    p, q = points[other.edges[:, 0]], points[other.edges[:, 1]]

    def distance(s):
        return np.linalg.norm(_from_cylinder(p + s[:, None] * (q - p), radius, half), axis=1)

    zero, one = np.zeros(len(p)), np.ones(len(p))
    low, high = _golden(distance, zero, one, 15)
    slack = float(((high - low) * np.linalg.norm(q - p, axis=1)).max())
    rough = float(distance(0.5 * (low + high)).min()) - slack
    if rough > 20.0 * slack + other.radius + reach:  # a lower bound will do
        faces, found = _over_faces(cylinder, other, points, reach)
        return min(rough, faces) - other.radius, found
    s = 0.5 * np.add(*_golden(distance, low, high, 45))
    ends = np.stack([distance(zero), distance(one), distance(s)])
    s = np.choose(np.argmin(ends, axis=0), [zero, one, s])
    away = ends.min(axis=0)
    best = away.min()
    candidates = []
    for k in np.flatnonzero(away <= other.radius + 3.0 * reach):
        place = p[k] + s[k] * (q[k] - p[k])
        nearest = place - _from_cylinder(place[None], radius, half)[0]
        own, parameters = _cylinder_feature(nearest, radius, half)
        edge = other.edges[k]
        if edge[0] == edge[1] or s[k] < 1e-7 or s[k] > 1 - 1e-7:
            their, more = ("point", other.points[edge[1] if s[k] > 0.5 else edge[0]]), []
        else:
            their, more = ("edge", other.points[edge[0]], other.points[edge[1]]), [s[k]]
        candidates.append(((own, their), parameters + more))
    faces, more = _over_faces(cylinder, other, points, reach)
    best = min(best, faces)
    candidates += more
    gap = best - other.radius
    return gap, candidates if gap <= reach else []


def _over_faces(cylinder, other, points, reach):
    """Least height of a cylinder's lowest points over triangles that they are above, and which those are."""
    if not len(other.triangles):
        return np.inf, []
    radius, half = cylinder.cylinder
    corners = points[other.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    across = np.hypot(normal[:, 0], normal[:, 1])
    lowest = np.empty_like(normal)
    lowest[:, :2] = -radius * normal[:, :2] / np.where(across > 0, across, 1.0)[:, None]
    lowest[:, 2] = -half * np.sign(normal[:, 2])
    square, u, v = (np.diagonal(found) for found in _points_over_triangles(lowest, corners))
    height = np.einsum("ij,ij->i", lowest - corners[:, 0], normal)
    height = np.where(np.isfinite(square) & (height > -1e-9), height, np.inf)
    found = []
    for k in np.flatnonzero(np.abs(height) <= 3.0 * reach):
        a, b, c = other.points[other.triangles[k]]
        rim = ("rim", radius, math.copysign(half, lowest[k, 2]))
        angle = math.atan2(lowest[k, 1], lowest[k, 0])
        found.append(((rim, ("face", a, b - a, c - a)), [angle, u[k], v[k]]))
    return height.min(), found


def _rim_to_cylinder(cylinder, other, turn, place, reach):
    """Distance of a cylinder's rims from another (axes turn, centre place in the other's frame)."""
    radius, half = cylinder.cylinder
    best, found = np.inf, []
    angles = np.linspace(0.0, 2.0 * math.pi, 49)[:-1]
    for end in (-half, half):

        def points(angle, end=end):
            local = np.stack(
                [radius * np.cos(angle), radius * np.sin(angle), np.full_like(angle, end)], axis=1
            )
            return local @ turn.T + place

        def distance(angle, points=points):
            return np.linalg.norm(_from_cylinder(points(angle), *other.cylinder), axis=1)

        coarse = distance(angles)
        lows = np.flatnonzero((coarse <= np.roll(coarse, 1)) & (coarse <= np.roll(coarse, -1)))
        step = angles[1]
        angle = 0.5 * np.add(*_golden(distance, angles[lows] - step, angles[lows] + step))
        value = distance(angle)
        best = min(best, value.min())
        for k in np.flatnonzero(value <= 3.0 * reach):
            at = points(angle[k : k + 1])
            nearest = (at - _from_cylinder(at, *other.cylinder))[0]
            their, parameters = _cylinder_feature(nearest, *other.cylinder)
            found.append(((("rim", radius, end), their), [angle[k], *parameters]))
    return best, found


def _cylinders_gap(first, second, poses, reach):
    (xa, Ra), (xb, Rb) = poses
    best, found = np.inf, []
    s, t, square = _segments_closest(*((points @ R.T + x)[k][None] for points, R, x, k in (
        (first.points, Ra, xa, 0), (first.points, Ra, xa, 1), (second.points, Rb, xb, 0), (second.points, Rb, xb, 1)
    )))  # fmt: skip
    s, t = s[0, 0], t[0, 0]
    if 0.0 < s < 1.0 and 0.0 < t < 1.0:
        best = math.sqrt(square[0, 0]) - first.cylinder[0] - second.cylinder[0]
        if best <= reach:
            za, zb = (2 * s - 1) * first.cylinder[1], (2 * t - 1) * second.cylinder[1]
            away = (xb + Rb[:, 2] * zb) - (xa + Ra[:, 2] * za)
            a, b = Ra.T @ away, Rb.T @ -away
            sides = ("side", *first.cylinder), ("side", *second.cylinder)
            found.append((sides, [math.atan2(a[1], a[0]), za, math.atan2(b[1], b[0]), zb]))
    gap, more = _rim_to_cylinder(first, second, Rb.T @ Ra, Rb.T @ (xa - xb), reach)
    best = min(best, gap)
    found += more
    gap, more = _rim_to_cylinder(second, first, Ra.T @ Rb, Ra.T @ (xb - xa), reach)
    best = min(best, gap)
    counts = _PARAMETERS
    for (b, a), parameters in more:
        n = counts[b[0]]
        found.append(((a, b), parameters[n:] + parameters[:n]))
    return best, found if best <= reach else []


def _plane_gap(surface, plane, pose, reach):
    """Height of a surface over a half-space, and its lowest features."""
    normal, offset = plane
    position, rotation = pose
    across = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    face = ("plane", normal * offset, across, np.cross(normal, across))
    heights = (surface.points @ rotation.T + position) @ normal - offset - surface.radius
    points = surface.points
    rims = None
    if surface.cylinder:
        radius = surface.cylinder[0]
        local = rotation.T @ normal
        flat = math.hypot(local[0], local[1])
        heights = heights - radius * flat
        rims = math.atan2(-local[1], -local[0])
    found = []
    if heights.min() <= reach:
        for k in np.flatnonzero(heights <= 3.0 * reach):
            if rims is None:
                own, parameters, local = ("point", points[k]), [], points[k]
            else:
                own, parameters = ("rim", surface.cylinder[0], points[k, 2]), [rims]
                local = np.array([radius * math.cos(rims), radius * math.sin(rims), points[k, 2]])
            place = position + rotation @ local - normal * offset
            sides = [place @ side / (side @ side) for side in face[2:]]
            found.append(((own, face), [*parameters, *sides]))
    return heights.min(), found


def gap_between(surfaces, poses, reach=0.0):
    """Least distance of two bodies that are apart, and pairs of features within about `reach` of touching."""
    first, second = surfaces
    if second.plane is not None:
        return _plane_gap(first, second.plane, poses[0], reach)
    (xa, Ra), (xb, Rb) = poses
    if first.cylinder and second.cylinder:
        return _cylinders_gap(first, second, poses, reach)
    if first.cylinder:
        return _cylinder_gap(first, second, (second.points @ Rb.T + (xb - xa)) @ Ra, reach)
    if second.cylinder:
        gap, found = _cylinder_gap(second, first, (first.points @ Ra.T + (xa - xb)) @ Rb, reach)
        swapped = []
        for (b, a), parameters in found:
            n = _PARAMETERS[b[0]]
            swapped.append(((a, b), parameters[n:] + parameters[:n]))
        return gap, swapped
    return _polyhedra_gap(first, second, (first.points @ Ra.T + xa, second.points @ Rb.T + xb), reach)


# -- first contact -----------------------------------------------------------------------------------------


@dataclass
class Contact:
    """First contact: its time [s] to 40 digits (None: none in the span), features, speed of approach [m/s]."""

    time: object
    features: tuple = ()
    rate: float = 0.0
    steps: int = 0


def first_contact(surfaces, flights, span, start=0.0, steps=3000):
    """The first contact of two bodies after `start`, at which they are apart."""
    t = start
    pull = float(np.linalg.norm(flights[0].acceleration - flights[1].acceleration))
    turning = sum(flight.spin * surface.reach for flight, surface in zip(flights, surfaces, strict=True))
    around = sum(surface.reach + surface.radius for surface in surfaces)
    for count in range(steps):
        if t >= span:
            return Contact(None, steps=count)
        poses = [flight.pose(float(t)) for flight in flights]
        closing = np.linalg.norm(
            flights[0].state[7:10] + t * flights[0].acceleration
            - flights[1].state[7:10] - t * flights[1].acceleration
        )  # fmt: skip
        if surfaces[1].plane is None:
            clear = np.linalg.norm(poses[0][0] - poses[1][0]) - around
        else:
            clear = poses[0][0] @ surfaces[1].plane[0] - surfaces[1].plane[1] - around
        if clear > 0.1 * around:  # only the centres' motion counts
            t += _advance(clear, closing, pull)
            continue
        gap, candidates = gap_between(surfaces, poses, CLOSE)
        if gap <= CLOSE:
            found = _first_root(surfaces, flights, candidates, t, gap)
            if found is not None:
                if found.time > span:
                    return Contact(None, steps=count)
                found.steps = count
                return found
            gap = max(gap, 1e-2 * CLOSE)
        t += _advance(gap, closing + turning, pull)
    raise Undecided(f"{steps} steps to {t}")


def _advance(gap, speed, pull):
    """A time in which a gap cannot close: speed t + pull t^2 / 2 <= gap."""
    if pull == 0.0:
        return gap / speed if speed > 0.0 else math.inf
    return 2.0 * gap / (speed + math.sqrt(speed * speed + 2.0 * pull * gap))


def _first_root(surfaces, flights, candidates, t, gap):
    """The earliest valid root of the candidates' equations; None where there is none from t on."""
    best = None
    for features, parameters in candidates:
        root = contact_root(flights, features, parameters, [surface.radius for surface in surfaces], t)
        if root is None or root[0] < t - 1e-12:
            continue
        valid = all(_inside(feature, values) for feature, values in zip(features, root[1:], strict=True))
        if valid and (best is None or root[0] < best[0]):
            best = (root[0], features)
    if best is None:
        return None
    when = float(best[0])
    middle, end = (
        gap_between(surfaces, [flight.pose(time) for flight in flights])[0]
        for time in (0.5 * (t + when), when)
    )
    if middle < -1e-14 or abs(end) > 1e-12:
        return None
    return Contact(best[0], best[1], max(gap, 0.0) / (when - t) if when > t else 0.0)
