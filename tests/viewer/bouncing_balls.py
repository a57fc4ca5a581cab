"""A trajectory in closed form, with exact states on both sides of every impact: balls that bounce for ever."""

from types import SimpleNamespace

import numpy as np

from carom.bodies import Body, HalfSpace, Scene, Sphere
from carom.impact_laws import ImpactOutcome, ImpactProblem
from carom.simulator import ContactPatch

GRAVITY = 9.81
RADIUS = 0.1


def patch(bodies, point):
    normal, tangent, tangent2 = np.eye(3)[[2, 0, 1]]
    one = np.ones((1, 1))
    return ContactPatch(
        bodies=np.array([bodies]),
        point=np.array([point], dtype=float),
        normal=one * normal,
        tangent=one * tangent,
        tangent2=one * tangent2,
        gap=np.zeros(1),
        feature=np.zeros((1, 2), dtype=np.int64),
        feature_index=np.full((1, 2), -1),
        along=np.zeros((1, 2, 3)),
        radius=np.array([[RADIUS, 0.0]]),
    )


class BouncingBalls:
    """`count` balls that drop from different heights, bounce without loss, and turn back their spin each time.

    An impact's path has two stages: the compression's impulse, then as much again.
    """

    law_name = "closed-form"

    def __init__(self, count=3, end_time=2.0, spin=5.0):
        self.scene = Scene(gravity=(0, 0, -GRAVITY))
        self.scene.add(Body(HalfSpace(normal=(0, 0, 1)), fixed=True, name="floor"))
        self.start_time, self.end_time = 0.0, end_time
        numbers = np.arange(count)
        self.height = 0.4 + 0.5 * numbers / count  # of the lowest point, at first
        self.fall = np.sqrt(2 * self.height / GRAVITY)
        self.drift = 0.3 + 0.05 * numbers
        self.spin = spin * (1 + numbers / count)
        for number in numbers:
            place = (0.0, 0.3 * number, RADIUS + self.height[number])
            self.scene.add(
                Body(Sphere(RADIUS), mass=1.0, position=place, name=f"ball {number}", velocity=(0.3, 0, 0))
            )
        self.events = sorted(
            (event for number in numbers for event in self._impacts(int(number))), key=lambda one: one.time
        )

    def sample(self, t, side="right"):
        times = np.atleast_1d(np.asarray(t, dtype=float))
        shape = (len(times), len(self.scene.bodies))
        position, velocity, turning = np.zeros((3, *shape, 3))
        orientation = np.zeros((*shape, 4))
        orientation[..., 0] = 1.0
        for number in range(shape[1] - 1):
            body = number + 1
            fall, spin = self.fall[number], self.spin[number]
            phase = (times + fall) / (2 * fall)  # whole at an impact
            flight = np.floor(phase + 1e-12) if side == "right" else np.ceil(phase - 1e-12) - 1
            since = times + fall - 2 * fall * flight
            up = GRAVITY * fall
            position[:, body, 0] = self.drift[number] * times
            position[:, body, 1] = 0.3 * number
            position[:, body, 2] = RADIUS + up * since - GRAVITY * since**2 / 2
            velocity[:, body, 0] = self.drift[number]
            velocity[:, body, 2] = up - GRAVITY * since
            sign = np.where(flight % 2 == 0, 1.0, -1.0)
            turning[:, body, 1] = sign * spin
            angle = spin * np.where(flight % 2 == 0, since, 2 * fall - since)
            orientation[:, body, 0], orientation[:, body, 2] = np.cos(angle / 2), np.sin(angle / 2)
        fields = {
            "position": position, "orientation": orientation, "velocity": velocity, "angular_velocity": turning,
        }  # fmt: skip
        if np.ndim(t) == 0:
            fields = {name: values[0] for name, values in fields.items()}
        return SimpleNamespace(**fields)

    def _impacts(self, number):
        fall = self.fall[number]
        time, speed = fall, GRAVITY * fall
        while time < self.end_time:
            problem = ImpactProblem(
                np.eye(3), np.array([-speed, 0.0, 0.0]), friction=0.5, restitution=1.0, dim=3
            )
            stages = np.array([[speed, 0.0, 0.0], [2 * speed, 0.0, 0.0]])
            outcome = ImpactOutcome.from_stages(problem, stages, ["compression ends", "restitution ends"])
            place = (self.drift[number] * time, 0.3 * number, 0.0)
            yield SimpleNamespace(
                time=time, kind="impact", note="", contacts=patch((number + 1, 0), place), problem=problem,
                outcome=outcome,
            )  # fmt: skip
            time += 2 * fall
