"""Impacts with Coulomb friction and energetic restitution to thirty digits, and the stored cases made so.

Slow and unlike the kernel: the slip angle φ and slip ρ obey φ' = h(φ), ρ' = ρ f(φ) in the slip-scaled impulse
dI_z = ρ dτ, with f and h the components of d - μ B s along and across s = (cos φ, sin φ). Away from invariant
directions a Taylor series in τ of order 48 is stepped in 50 digits; near the one that slip runs into, ρ is
|δ|^p times a power series of the distance δ to it, and everything is a sum of powers. Work is taken from the
energy balance, invariant directions from the roots of a quartic, and events from bisection over samples.

Run as a script, it writes stronge_cases.json beside this file.
"""

import argparse
import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mpmath import mp, mpc, mpf

mp.dps = 50
ORDER = 48
TERMS = 90
CASES = Path(__file__).with_name("stronge_cases.json")


class Unsolved(Exception):
    """The normal velocity never returns, or turns back during restitution; the message is the status."""


@dataclass
class Reference:
    """impulse (normal, tangent, tangent2), events in their order, compression work, whether it sticks."""

    impulse: list
    sequence: str
    compression_work: mpf
    sticks: bool
    status: str = "resolved"


class _Impact:
    """One impact on its way: impulse I, dissipation integral D = ∫ρ dI_z, and the phase it is in."""

    def __init__(self, W, u, mu, e):
        self.W = [[mpf(float(x)) for x in row] for row in np.asarray(W)]
        self.u = [mpf(float(x)) for x in u]
        self.mu, self.e = mpf(float(mu)), mpf(float(e))
        self.d = self.W[0][1], self.W[0][2]
        self.B = self.W[1][1], self.W[1][2], self.W[2][2]
        self.I = [mpf(0)] * 3
        self.D = mpf(0)
        self.compression_work = None
        self.sequence = ""
        self.sticks = False
        self.done = False

    # what the impulse implies

    def velocity(self, I):
        return [self.u[i] + mp.fdot(self.W[i], I) for i in range(3)]

    def work(self, I, D):
        """∫ -v_z dI_z, from the energy balance."""
        v = self.velocity(I)
        return -mp.fdot([a + b for a, b in zip(self.u, v, strict=True)], I) / 2 - self.mu * D

    @property
    def restoring(self):
        return self.compression_work is not None

    def end_compression(self):
        self.compression_work = self.work(self.I, self.D)
        self.sequence += "c"
        if self.e == 0:
            self.end_restitution()

    def end_restitution(self):
        self.sequence += "r"
        self.done = True

    # directions

    def along_across(self, c, s):
        b11, b12, b22 = self.B
        m1 = self.d[0] - self.mu * (b11 * c + b12 * s)
        m2 = self.d[1] - self.mu * (b12 * c + b22 * s)
        return c * m1 + s * m2, c * m2 - s * m1

    def invariant_angles(self):
        """Complex angles φ with h(φ) = 0, from a quartic in z = exp(iφ)."""
        b11, b12, b22 = self.B
        # h = -d1 s + d2 c + μ (b11 - b22) s c - μ b12 (c² - s²)
        d1, d2 = self.d
        k = self.mu * (b11 - b22) / 2
        q = self.mu * b12
        two, one = mpc(-q, -k) / 2, mpc(d2, d1) / 2
        polynomial = [two, one, mpf(0), one.conjugate(), two.conjugate()]  # of z⁴, z³, ... times z⁻²
        while polynomial and polynomial[0] == 0:  # then the last vanishes too
            polynomial = polynomial[1:-1]
        if len(polynomial) < 2:
            return []
        with warnings.catch_warnings():  # mpmath means to reverse the order one day
            warnings.simplefilter("ignore", DeprecationWarning)
            roots = mp.polyroots(polynomial, maxsteps=500, extraprec=400)
        return [-1j * mp.log(z) for z in roots if z != 0]

    # straight stretches

    def straight(self, tangential, slip=0, growth=0):
        """Along dI_t/dI_z = `tangential`, slip growing by `growth` per I_z; to the end, or where it stops."""
        limit = -slip / growth if growth < 0 else mp.inf
        rate = self.W[0][0] + self.d[0] * tangential[0] + self.d[1] * tangential[1]
        made = mpf(0)

        def move(t):
            self.I = [self.I[0] + t, self.I[1] + t * tangential[0], self.I[2] + t * tangential[1]]
            self.D += (slip + growth * (made + t / 2)) * t

        if not self.restoring:
            vz = self.velocity(self.I)[0]
            if rate <= 0 and limit == mp.inf:
                raise Unsolved("no_solution")
            t = -vz / rate if rate > 0 else mp.inf
            if t > limit:
                move(limit)
                return
            move(t)
            made += t
            self.end_compression()
            if self.done:
                return
        vz = self.velocity(self.I)[0]
        left = self.work(self.I, self.D) - (1 - self.e**2) * self.compression_work
        square = vz**2 + 2 * rate * left
        t = mp.inf
        if square >= 0 and vz + mp.sqrt(square) > 0:
            t = 2 * left / (vz + mp.sqrt(square))
        turns = -vz / rate if rate < 0 else mp.inf
        if limit - made < min(t, turns):
            move(limit - made)
            return
        if t == mp.inf or t > turns:
            raise Unsolved("renewed_compression")
        move(t)
        self.end_restitution()

    # curved stretches, given as functions of a parameter

    def along(self, path, samples):
        """Events over a path x -> (I, D) with increasing samples; ends at the last one unless it is done."""
        at = 0
        while True:
            found = None
            for k in range(at + 1, len(samples)):
                I, D = path(samples[k])
                vz = self.velocity(I)[0]
                if not self.restoring:
                    if vz >= 0:
                        found = k, lambda x: self.velocity(path(x)[0])[0] >= 0, "c"
                else:
                    target = (1 - self.e**2) * self.compression_work
                    if self.work(I, D) <= target:
                        found = k, lambda x: self.work(*path(x)) <= target, "r"  # noqa: B023
                    elif vz < 0:
                        raise Unsolved("renewed_compression")
                if found:
                    break
            if not found:
                self.I, self.D = path(samples[-1])
                return
            k, passed, event = found
            low, high = samples[k - 1], samples[k]
            for _ in range(mp.prec + 10):
                middle = (low + high) / 2
                low, high = (low, middle) if passed(middle) else (middle, high)
            self.I, self.D = path(high)
            if event == "c":
                self.end_compression()
            else:
                self.end_restitution()
            if self.done:
                return
            samples = [high, *samples[k:]]
            at = 0

    def slip_away(self):
        """From slip to its stop, or to the end of restitution."""
        x, y = self.u[1:]
        speed = rho = mp.sqrt(x * x + y * y)
        c, s = x / rho, y / rho
        tangential = lambda: (-self.mu * c, -self.mu * s)  # noqa: E731
        m1 = self.d[0] * rho - self.mu * (self.B[0] * x + self.B[1] * y)
        m2 = self.d[1] * rho - self.mu * (self.B[1] * x + self.B[2] * y)
        # on an invariant direction, exactly in the given numbers
        size = abs(self.d[0]) + abs(self.d[1]) + self.mu * (abs(self.B[0]) + abs(self.B[2]))
        if abs(x * m2 - y * m1) <= mpf(10) ** -46 * size * rho**2:
            self.straight(tangential(), rho, self.along_across(c, s)[0])
            self.sequence += "" if self.done else "s"
            return
        angles = self.invariant_angles()
        stable = []
        for k, angle in enumerate(angles):
            if abs(angle.imag) < mpf(10) ** -30:
                star = angle.real
                f = self.along_across(mp.cos(star), mp.sin(star))[0]
                others = [
                    abs(other - star + 2 * mp.pi * turn)
                    for j, other in enumerate(angles)
                    for turn in (-1, 0, 1)
                    if j != k
                ]
                radius = min([*others, 2 * mp.pi])
                b11, b12, b22 = self.B
                cs, ss = mp.cos(star), mp.sin(star)
                slope = -self.mu * (b11 * ss * ss - 2 * b12 * ss * cs + b22 * cs * cs) - f
                p = f / slope if slope < 0 else mpf(0)
                resonant = f > 0 and abs(2 * p - mp.nint(2 * p)) < mpf(10) ** -6 and p < -0.1
                if p != 0 and not resonant:
                    stable.append((star, min(radius / 4, 5 * radius / abs(p)), f < 0))
        for _ in range(3000):
            for star, reach, stops in stable:
                delta = mp.atan2(s, c) - star
                delta -= 2 * mp.pi * mp.nint(delta / (2 * mp.pi))
                if abs(delta) < reach:
                    self.run_into(star, delta, rho, stops)
                    self.sequence += "" if self.done else "s"
                    return
            if rho < mpf(10) ** -45 * speed and self.along_across(c, s)[0] < 0:
                self.sequence += "s"  # nearly without turning, as between balls
                return
            c, s, rho = self.taylor_step(c, s, rho)
            if self.done:
                return
        raise RuntimeError("the reference made 3000 steps")

    def taylor_step(self, c0, s0, rho):
        mu, (b11, b12, b22), (d1, d2) = self.mu, self.B, self.d
        c, s, r = [c0], [s0], [mpf(1)]
        m1, m2, f, h = [], [], [], []
        for k in range(ORDER):
            m1.append((d1 if k == 0 else 0) - mu * (b11 * c[k] + b12 * s[k]))
            m2.append((d2 if k == 0 else 0) - mu * (b12 * c[k] + b22 * s[k]))
            m1r, m2r = m1[::-1], m2[::-1]
            f.append(mp.fdot(c, m1r) + mp.fdot(s, m2r))
            h.append(mp.fdot(c, m2r) - mp.fdot(s, m1r))
            fr, hr = f[::-1], h[::-1]
            following = -mp.fdot(s, hr) / (k + 1), mp.fdot(c, hr) / (k + 1)
            r.append(mp.fdot(r, fr) / (k + 1))
            c.append(following[0])
            s.append(following[1])
        largest = max(abs(c[-1]), abs(s[-1]), abs(r[-1]), abs(c[-2]), abs(s[-2]), abs(r[-2]))
        step = (mpf(10) ** -47 / largest) ** (mpf(1) / ORDER) if largest > 0 else mpf(10)
        # no further than four times the impulse that would stop the normal velocity of a free contact
        step = min(step, -8 * self.u[0] / (self.W[0][0] * rho) + 0)
        products = [
            r,
            [-mu * mp.fdot(r[: k + 1], c[k::-1]) for k in range(ORDER)],
            [-mu * mp.fdot(r[: k + 1], s[k::-1]) for k in range(ORDER)],
            [mp.fdot(r[: k + 1], r[k::-1]) for k in range(ORDER)],
        ]
        sums = [[mpf(0), *(p[k] / (k + 1) for k in range(ORDER))][::-1] for p in products]
        start, start_d = self.I, self.D

        def path(x):
            return [a + rho * _horner(p, x) for a, p in zip(start, sums, strict=False)], (
                start_d + rho**2 * _horner(sums[3], x)
            )

        self.along(path, [step * k / 16 for k in range(17)])
        c, s = _horner(c[::-1], step), _horner(s[::-1], step)
        length = mp.sqrt(c * c + s * s)
        return c / length, s / length, rho * _horner(r[::-1], step)

    def run_into(self, star, delta, rho, stops):
        """The whole rest of slip that turns towards `star` from a distance delta, where it stops or grows."""
        mu, (b11, b12, b22) = self.mu, self.B
        cs, ss = mp.cos(star), mp.sin(star)
        d1, d2 = self.d
        # f = constant + ..., h as Fourier sums; Taylor series about star from repeated derivatives
        k, q = mu * (b11 - b22) / 2, mu * b12
        c2, s2 = mp.cos(2 * star), mp.sin(2 * star)

        def series(mean, a1, b1, a2, b2):
            """Coefficients in δ of mean + a1 cos φ + b1 sin φ + a2 cos 2φ + b2 sin 2φ."""
            out = []
            first = [a1 * cs + b1 * ss, b1 * cs - a1 * ss]
            second = [a2 * c2 + b2 * s2, b2 * c2 - a2 * s2]
            for n in range(TERMS):
                sign = (1, 1, -1, -1)[n % 4]
                value = sign * (first[n % 2] + second[n % 2] * mpf(2) ** n) / mp.factorial(n)
                out.append(value + (mean if n == 0 else 0))
            return out

        f = series(-mu * (b11 + b22) / 2, d1, d2, -k, -q)
        h = series(mpf(0), d2, -d1, -q, k)
        h = h[1:]  # h / δ, its root is at star
        ratio = _quotient(f[: TERMS - 1], h)  # dlnρ/dδ = ratio/δ
        p = ratio[0]
        log = [mpf(0), *(ratio[n] / n for n in range(1, TERMS - 1))]
        grown = _exponential(log)  # ρ = C |δ|^p grown(δ)
        inverse = _quotient([mpf(1)] + [mpf(0)] * (TERMS - 2), h)
        cosine = series(mpf(0), mpf(1), mpf(0), mpf(0), mpf(0))
        sine = series(mpf(0), mpf(0), mpf(1), mpf(0), mpf(0))
        base = _product(grown, inverse)
        square = _product(grown, base)
        rows = [
            base,
            [-mu * x for x in _product(base, cosine)],
            [-mu * x for x in _product(base, sine)],
        ]
        rows = [[x / (p + n) for n, x in enumerate(row)][::-1] for row in rows]
        square = [x / (2 * p + n) for n, x in enumerate(square)][::-1]
        C = rho / _horner(grown[::-1], delta)
        start, start_d = self.I, self.D
        first = [_horner(row, delta) for row in rows], _horner(square, delta)

        def path(x):
            """x = 1 - (δ/δ0)^p runs from 0 to 1 where slip stops, its negative from 0 up where slip grows."""
            power = 1 - x if stops else 1 + x
            here = delta * power ** (1 / p) if power > 0 else mpf(0)
            impulse = [
                a + C * (power * _horner(row, here) - b)
                for a, row, b in zip(start, rows, first[0], strict=True)
            ]
            return impulse, start_d + C**2 * (power**2 * _horner(square, here) - first[1])

        # where slip hardly changes, events lie at tiny x
        fine = [mpf(2) ** (-mpf(k) / 4) for k in range(20, 240)]
        if stops:
            even = [1 - (1 - mpf(k) / 16) ** p for k in range(1, 16)]
            self.along(path, sorted({mpf(k) / 32 for k in range(33)} | {*even, *fine}))
            return
        self.along(path, [mpf(0), *fine[::-1], *(mpf(2) ** (mpf(k) / 4) for k in range(-19, 500))])
        if not self.done:
            raise Unsolved("no_solution")

    def after_stop(self):
        b11, b12, b22 = self.B
        d1, d2 = self.d
        det = b11 * b22 - b12 * b12
        if det != 0:
            stick = (b12 * d2 - b22 * d1) / det, (b12 * d1 - b11 * d2) / det
        elif b11 + b22 == 0:
            stick = mpf(0), mpf(0)
        else:
            n1, n2 = (b11, b12) if b11 >= b22 else (b12, b22)
            scale = -(n1 * d1 + n2 * d2) / ((n1 * n1 + n2 * n2) * (b11 + b22))
            stick = scale * n1, scale * n2
        if stick[0] ** 2 + stick[1] ** 2 <= self.mu**2:
            self.sticks = True
            self.straight(stick)
            return
        best = None
        for angle in self.invariant_angles():
            if abs(angle.imag) < mpf(10) ** -20:
                c, s = mp.cos(angle.real), mp.sin(angle.real)
                f, _ = self.along_across(c, s)
                if f > 0 and (best is None or f > best[0]):
                    best = f, c, s
        f, c, s = best
        self.straight((-self.mu * c, -self.mu * s), mpf(0), f)


def _horner(coefficients, x):
    """Value of a polynomial, highest power first."""
    value = mpf(0)
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


def _product(a, b):
    n = min(len(a), len(b))
    return [mp.fdot(a[: k + 1], b[k::-1]) for k in range(n)]


def _quotient(a, b):
    out = []
    for k in range(min(len(a), len(b))):
        out.append((a[k] - (mp.fdot(out, b[k:0:-1]) if k else 0)) / b[0])
    return out


def _exponential(a):
    """Series of exp of a series without constant term."""
    out = [mpf(1)]
    for k in range(1, len(a)):
        out.append(mp.fsum(j * a[j] * out[k - j] for j in range(1, k + 1)) / k)
    return out


def reference_impact(W, u, friction, restitution):
    """The impact of exact float input; components are (normal, tangent, tangent2)."""
    impact = _Impact(W, u, friction, restitution)
    status = "resolved"
    try:
        if impact.u[0] < 0:
            if impact.mu == 0:
                impact.straight((mpf(0), mpf(0)))
            else:
                if impact.u[1] != 0 or impact.u[2] != 0:
                    impact.slip_away()
                if not impact.done:
                    impact.after_stop()
    except Unsolved as error:
        status = str(error)
    work = impact.compression_work or mpf(0)
    return Reference(impact.I, impact.sequence, work, impact.sticks, status)


# the stored cases


def _skew(r):
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


def random_two_body(rng, central=False):
    """(W, u) of two free bodies that touch at a point, in a randomly turned tangent frame."""
    frame, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    W = np.zeros((3, 3))
    for _ in range(2):
        mass = 10.0 ** rng.uniform(-1, 1)
        lengths = rng.uniform(0.2, 1.0, size=3)
        axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        inertia = mass * (lengths @ lengths - lengths**2) / 3
        arm = axes @ (lengths * rng.uniform(-1, 1, size=3))
        if central:
            arm = frame[:, 0] * rng.uniform(0.1, 1.0)
            inertia = np.full(3, mass * 0.4 * (arm @ arm))
        turn = axes @ np.diag(1 / inertia) @ axes.T
        W += np.eye(3) / mass + _skew(arm) @ turn @ _skew(arm).T
    W = frame.T @ W @ frame
    u = rng.normal(size=3)
    u[0] = -abs(u[0])
    return 0.5 * (W + W.T), u


def turned(W, u, angle):
    """The same impact in a tangent frame turned by `angle`."""
    c, s = np.cos(angle), np.sin(angle)
    Q = np.array([[1, 0, 0], [0, c, s], [0, -s, c]])
    W = Q @ W @ Q.T
    return 0.5 * (W + W.T), Q @ u


def make_cases(seed=2016):
    """(name, W, u, friction, restitution) of every stored case."""
    rng = np.random.default_rng(seed)
    cases = []

    def add(name, W, u, mu, e):
        cases.append((name, np.asarray(W, dtype=float), np.asarray(u, dtype=float), float(mu), float(e)))

    def mu_e():
        return rng.uniform(0, 1.5), rng.uniform(0, 1)

    for k in range(16):
        add(f"eccentric {k}", *random_two_body(rng), *mu_e())
    for k in range(4):
        add(f"central {k}", *random_two_body(rng, central=True), *mu_e())
    add("plastic", *random_two_body(rng), rng.uniform(0.1, 1.0), 0)
    add("elastic", *random_two_body(rng), rng.uniform(0.1, 1.0), 1)
    add("frictionless", *random_two_body(rng), 0, 0.6)
    add("friction 1.5", *random_two_body(rng), 1.5, 0.8)
    for k, share in enumerate((1e-2, 1e-3, 1e-4, 1e-6, 1e-8)):
        W, u = random_two_body(rng)
        u[0] = -share * np.linalg.norm(u[1:])
        add(f"grazing {share:g}", W, u, rng.uniform(0.05, 1.0), (0.0, 0.5, 1.0, 0.7, 0.3)[k])
    for k, share in enumerate((1e-2, 1e-4, 1e-8, 1e-12)):
        W, u = random_two_body(rng)
        u[1:] *= share
        add(f"little slip {share:g}", W, u, rng.uniform(0.05, 1.0), (1.0, 0.5, 0.9, 0.3)[k])
    for k in range(3):
        W, u = random_two_body(rng)
        stick = np.linalg.norm(np.linalg.solve(W[1:, 1:], W[1:, 0]))
        u[1:] = 0.0
        add(f"sticks from the start {k}", W, u, 1.1 * stick, 0.5 + 0.2 * k)
        add(f"slides from rest {k}", W, u, (0.9, 0.3, 0.01)[k] * stick, 0.5 + 0.2 * k)
    aligned = [[2.0, 0.5, 0.0], [0.5, 3.0, 0.0], [0.0, 0.0, 1.0]]
    add("invariant, stops in compression, sticks", aligned, [-1.0, 0.3, 0.0], 0.5, 0.7)
    add("invariant, stops in restitution, sticks", aligned, [-1.0, 0.8, 0.0], 0.5, 0.9)
    add("invariant, never stops", aligned, [-1.0, -3.0, 0.0], 0.25, 0.7)
    strong = [[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 1.0]]
    add("invariant, grows", strong, [-1.0, 1.0, 0.0], 0.25, 0.7)
    add("invariant, stops and slides on, compression", strong, [-1.0, -0.3, 0.0], 0.2, 0.7)
    add("invariant, stops and slides on, restitution", strong, [-1.0, -1.1, 0.0], 0.2, 0.9)
    for k in range(2):
        W, u = turned(np.array(strong), np.array([-1.0, -0.3, 0.0]), 0.5 + k)
        add(f"rounding decides whether slip stops {k}", W, u, 0.2, 0.7)
    for small in (1e-6, 1e-9, 1e-12):
        W = np.diag([2.0, 3.0, small])
        W[0, 1] = W[1, 0] = 0.5
        W[0, 2] = W[2, 0] = 0.3 * np.sqrt(small)
        add(f"nearly planar {small:g}", W, [-1.0, 0.7, 0.2], 0.4, 0.6)
        if small == 1e-6:
            add(f"nearly planar {small:g}, nearly stops", W, [-1.0, 0.3, 0.3 * small], 0.6, 0.6)
        add(f"nearly planar {small:g}, turned", *turned(W, np.array([-1.0, 0.7, 0.2]), 0.7), 0.4, 0.6)
    planar = [[2.0, 0.5, 0.0], [0.5, 3.0, 0.0], [0.0, 0.0, 0.0]]
    add("planar", planar, [-1.0, 0.3, 0.0], 0.5, 0.7)
    add("planar, with slip that cannot stop", planar, [-1.0, 0.3, 0.1], 0.5, 0.7)
    add("no tangential mobility", np.diag([2.0, 0.0, 0.0]), [-1.0, 0.3, 0.1], 0.5, 0.7)
    wanted = {"scr": 3, "csr": 3}
    while any(wanted.values()):
        W, u = random_two_body(rng)
        mu, e = mu_e()
        sequence = reference_impact(W, u, mu, e).sequence
        if wanted.get(sequence):
            add(f"slip stops, {sequence} {wanted[sequence]}", W, u, mu, e)
            wanted[sequence] -= 1
    return cases


def as_entry(name, W, u, mu, e):
    """The case and its solution as stored: numbers exact in hexadecimal, results to 25 digits."""
    result = reference_impact(W, u, mu, e)
    return {
        "name": name,
        "W": [[float(x).hex() for x in row] for row in W],
        "u": [float(x).hex() for x in u],
        "friction": mu.hex(),
        "restitution": e.hex(),
        "impulse": [mp.nstr(x, 25) for x in result.impulse],
        "sequence": result.sequence,
        "compression_work": mp.nstr(result.compression_work, 25),
        "sticks": result.sticks,
        "status": result.status,
    }


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    entries = [as_entry(*case) for case in make_cases()]
    CASES.write_text(json.dumps(entries, indent=1) + "\n")


if __name__ == "__main__":
    main()
