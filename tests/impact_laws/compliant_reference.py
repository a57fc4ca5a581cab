"""Impacts of stiff springs in real time, by scipy: what the distributing law must come to, derived apart from it.

Contact i of stiffness K_i is pressed in by δ_i, δ' = -v_n. It loads along F = K (δ - s)^η. Where its loading ends
at δ_r it unloads along F = K (δ_r - s)^η ((δ - p)/(δ_r - p))^η with p = δ_r - e² (δ_r - s), so that work returned
is e² of the work put in, and where it loads again before it has opened, s is such that the force goes on.
Friction is that of slip that never stops. An open contact begins anew from no compression as soon as it
approaches."""

import numpy as np
from scipy.integrate import solve_ivp

OPEN, LOADS, UNLOADS = range(3)


class CompliantImpact:
    """One impact; `velocity` and `impulse` after it."""

    def __init__(self, problem, stiffness, exponent):
        self.W, self.dim = np.array(problem.W), problem.dim
        self.n = problem.contact_count
        self.stiffness, self.exponent = np.broadcast_to(np.asarray(stiffness, float), self.n), exponent
        self.mu, self.returned = np.array(problem.friction), np.array(problem.restitution) ** 2
        self.phase = [OPEN] * self.n
        self.shift, self.end, self.peak = np.zeros(self.n), np.zeros(self.n), np.zeros(self.n)
        self.velocity, self.depth = np.array(problem.u), np.zeros(self.n)
        self.impulse = np.zeros_like(self.velocity)
        self.solve()

    def normal_force(self, i, depth):
        if self.phase[i] == OPEN:
            return 0.0
        if self.phase[i] == LOADS:
            return self.stiffness[i] * max(depth - self.shift[i], 0.0) ** self.exponent
        share = max((depth - self.end[i]) / (self.peak[i] - self.end[i]), 0.0)
        return self.stiffness[i] * ((self.peak[i] - self.shift[i]) * share) ** self.exponent

    def force(self, velocity, depth):
        force = np.zeros(self.dim * self.n)
        for i in range(self.n):
            normal = force[self.dim * i] = self.normal_force(i, depth[i])
            slip = velocity[self.dim * i + 1 : self.dim * (i + 1)]
            if normal > 0.0 and self.mu[i] > 0.0:
                force[self.dim * i + 1 : self.dim * (i + 1)] = (
                    -self.mu[i] * normal * slip / np.linalg.norm(slip)
                )
        return force

    def rates(self, _, state):
        velocity, depth = state[: self.W.shape[0]], state[2 * self.W.shape[0] :]
        force = self.force(velocity, depth)
        pressed = np.array([phase != OPEN for phase in self.phase])
        return np.concatenate([self.W @ force, force, np.where(pressed, -velocity[:: self.dim], 0.0)])

    def switches(self):
        size = self.W.shape[0]
        found = []
        for i in range(self.n):
            rising = self.phase[i] == LOADS

            def normal(_, state, i=i):
                return state[self.dim * i]

            normal.terminal, normal.direction = True, 1.0 if rising else -1.0
            found.append((i, "turns", normal))
            if self.phase[i] == UNLOADS:

                def opens(_, state, i=i):
                    return state[2 * size + i] - self.end[i]

                opens.terminal, opens.direction = True, -1.0
                found.append((i, "opens", opens))
        return found

    def switch(self, i, what):
        depth = self.depth[i]
        if what == "opens":
            self.phase[i] = OPEN
        elif self.phase[i] == LOADS:
            self.phase[i] = UNLOADS
            self.peak[i] = depth
            self.end[i] = depth - self.returned[i] * (depth - self.shift[i])
        elif self.phase[i] == OPEN:
            self.phase[i], self.shift[i], self.depth[i] = LOADS, 0.0, 0.0
        else:
            force = self.normal_force(i, depth)
            self.shift[i] = depth - (force / self.stiffness[i]) ** (1.0 / self.exponent)
            self.phase[i] = LOADS

    def solve(self):
        size = self.W.shape[0]
        for _ in range(500):
            for i in range(self.n):
                rate = self.W[self.dim * i] @ self.force(self.velocity, self.depth)
                slow = abs(self.velocity[self.dim * i]) < 1e-13
                if self.phase[i] == OPEN and (self.velocity[self.dim * i] < -1e-13 or (slow and rate < 0.0)):
                    self.switch(i, "turns")
            if all(phase == OPEN for phase in self.phase):
                return
            switches = self.switches()
            state = np.concatenate([self.velocity, self.impulse, self.depth])
            run = solve_ivp(
                self.rates, (0.0, 1e6), state, method="DOP853", rtol=1e-12, atol=1e-15,
                events=[event for _, _, event in switches],
            )  # fmt: skip
            end = run.y[:, -1]
            self.velocity, self.impulse, self.depth = end[:size], end[size : 2 * size], end[2 * size :]
            for (i, what, _), times in zip(switches, run.t_events, strict=True):
                if times.size:
                    self.switch(i, what)
        raise AssertionError("the reference does not end")
