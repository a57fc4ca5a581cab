"""A trajectory as the viewer reads it, with motions written down in closed form."""

from types import SimpleNamespace

import numpy as np


class Sphere:
    def __init__(self, radius):
        self.radius = radius

    def surface(self):
        raise AssertionError("the viewer tessellates spheres itself")


class HalfSpace:
    def __init__(self, normal=(0, 0, 1), offset=0.0):
        self.normal = np.array(normal, dtype=float)
        self.offset = offset


class Box:
    def __init__(self, lengths):
        self.lengths = np.array(lengths, dtype=float)

    def surface(self):
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        faces = [triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))]
        return signs * self.lengths / 2, np.array(faces)


class Cylinder:
    def __init__(self, radius, length):
        self.radius, self.length = radius, length

    def surface(self):
        count = 32
        angles = 2 * np.pi * np.arange(count) / count
        ring = self.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        half = np.full((count, 1), self.length / 2)
        middle = [[0, 0, -self.length / 2], [0, 0, self.length / 2]]
        vertices = np.concatenate([np.hstack([ring, -half]), np.hstack([ring, half]), middle])
        faces = []
        for i in range(count):
            j = (i + 1) % count
            faces += [
                (i, j, count + j),
                (i, count + j, count + i),
                (2 * count, j, i),
                (2 * count + 1, count + i, count + j),
            ]
        return vertices, np.array(faces)


def body(shape, fixed=False, name=""):
    mass = np.inf if fixed else 1.0
    surface = getattr(shape, "surface", None)
    return SimpleNamespace(
        shape=shape, fixed=fixed, name=name, mass=mass, inertia=0.004 * np.eye(3), surface=surface,
        shape_offset=np.zeros(3),
    )  # fmt: skip


class FakeTrajectory:
    """Bodies with `motions[i](time) -> position (3,)`, all spinning about a common axis."""

    def __init__(self, bodies, motions, end_time, events=(), spin=(0.0, 3.0, 1.0)):
        self.scene = SimpleNamespace(bodies=bodies, gravity=np.array([0, 0, -9.81]))
        self.motions = motions
        self.start_time, self.end_time = 0.0, end_time
        self.events = list(events)
        self.spin = np.array(spin)

    def sample(self, time, side="right"):
        if np.ndim(time):
            states = [self.sample(float(one)) for one in time]
            names = ("position", "orientation", "velocity", "angular_velocity")
            return SimpleNamespace(
                **{name: np.array([getattr(state, name) for state in states]) for name in names}
            )
        position = np.array([motion(time) for motion in self.motions], dtype=float)
        orientation = np.zeros((len(position), 4))
        orientation[:, 0] = 1
        rate = np.linalg.norm(self.spin)
        for index, one in enumerate(self.scene.bodies):
            if not one.fixed:
                angle = rate * time / self.end_time + index
                orientation[index] = [np.cos(angle / 2), *(np.sin(angle / 2) * self.spin / rate)]
        zeros = np.zeros_like(position)
        return SimpleNamespace(
            position=position, orientation=orientation, velocity=zeros, angular_velocity=zeros
        )


def impact(time, points, impulses, normal=(0, 0, 1)):
    points = np.array(points, dtype=float)
    normal = np.tile(np.array(normal, dtype=float), (len(points), 1))
    tangent = np.roll(normal, 1, axis=1)
    bodies = np.tile([1, 0], (len(points), 1))
    contacts = SimpleNamespace(
        bodies=bodies, point=points, normal=normal, tangent=tangent, tangent2=np.cross(normal, tangent)
    )
    impulse = np.zeros((len(points), 3))
    impulse[:, 0] = impulses
    path = SimpleNamespace(
        impulse=np.array([0 * impulse.ravel(), impulse.ravel()]),
        velocity=np.array([-impulse.ravel(), impulse.ravel()]),
        labels=("before impact", "reflected"),
    )
    outcome = SimpleNamespace(impulse=impulse.ravel(), path=path)
    problem = SimpleNamespace(friction=np.full(len(points), 0.5))
    return SimpleNamespace(time=time, kind="impact", contacts=contacts, outcome=outcome, problem=problem)


def bouncing_ball(scale=1.0, restitution=0.8, bounces=6, sideways=0.35):
    """A ball of radius 0.1 dropped from 1 with a sideways velocity, lengths times `scale`."""
    radius, height, gravity = 0.1 * scale, 0.9 * scale, 9.81
    times, speeds = [np.sqrt(2 * height / gravity)], [np.sqrt(2 * gravity * height)]
    for _ in range(bounces):
        speeds.append(speeds[-1] * restitution)
        times.append(times[-1] + 2 * speeds[-1] / gravity)
    drift = sideways * np.sqrt(scale)

    def motion(time):
        if time < times[0]:
            z = height - gravity * time**2 / 2
        else:
            index = max(i for i, begin in enumerate(times) if begin <= time)
            since = time - times[index]
            z = (speeds[index + 1] * since - gravity * since**2 / 2) if index + 1 < len(speeds) else 0.0
        return np.array([drift * time, 0.0, radius + z])

    events = [
        impact(time, [motion(time) - [0, 0, radius]], [speed * (1 + restitution)])
        for time, speed in zip(times, speeds, strict=True)
    ]
    floor, ball = body(HalfSpace(), True, "floor"), body(Sphere(radius), name="ball")
    return FakeTrajectory([floor, ball], [lambda time: np.zeros(3), motion], times[-1], events)


def mixed_scene():
    """Ball, box and cylinder beside each other with a fixed block, over a floor."""
    ball = bouncing_ball(bounces=3)

    def still(*place):
        return lambda time: np.array(place)

    bodies = [
        *ball.scene.bodies,
        body(Box((0.3, 0.2, 0.4)), name="box"),
        body(Cylinder(0.12, 0.4), name="cylinder"),
        body(Box((0.5, 0.5, 0.2)), True, "block"),
    ]
    motions = [*ball.motions, still(0.3, 0.6, 0.35), still(0.7, -0.3, 0.35), still(1.1, 0.5, 0.1)]
    return FakeTrajectory(bodies, motions, ball.end_time, ball.events)
