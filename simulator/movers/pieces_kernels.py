"""Pieces of motion of an island: polynomials of its bodies' states, the work done over them, their begin."""

import numpy as np

from ...compiled import call, kernel
from ..engine.flight_kernels import begin, slot_of
from ..engine.queue_kernels import enter_island_end
from ..engine.tables_kernels import (
    CHANNELS,
    CLOSING,
    DEGREE,
    FRICTION,
    bodies,
    coefficients,
    header,
    islands,
    local_acceleration,
    local_bodies,
    local_force,
    local_placed,
    local_rate,
    local_turn,
    motions,
)
from ..kernels import TERMS, matrix, zeros
from ..tolerances import MICRO_GAIN
from .force_kernels import contact_rates
from .system_kernels import place_bodies, problem


@kernel()
def turn_powers(c, span):
    """Fill the quaternion's powers of a body's polynomials c (13, DEGREE) from its first and those of the spin,
    which is quadratic."""
    for p in range(DEGREE - 1):
        half = 0.5 * span / (p + 1)
        s0 = s1 = s2 = s3 = 0.0
        for q in range(3):
            if q > p:
                continue
            x, u, v = c[10, q], c[11, q], c[12, q]
            n, b, d, e = c[3, p - q], c[4, p - q], c[5, p - q], c[6, p - q]
            s0 += -b * x - d * u - e * v
            s1 += n * x + d * v - e * u
            s2 += n * u + e * x - b * v
            s3 += n * v + b * u - d * x
        c[3, p + 1], c[4, p + 1], c[5, p + 1], c[6, p + 1] = half * s0, half * s1, half * s2, half * s3


@kernel()
def steady_piece(world, y, span, C):
    """Fill C (m, 13, DEGREE) with motion from states y (m, 13) under the local accelerations, which stay, by powers
    of the share of `span` [s]; the island is placed at y."""
    turn, a = local_turn(world), local_acceleration(world)
    for k in range(header(world).m):
        R, b, c = turn[k], a[k], C[k]
        for i in range(13):
            c[i, 0] = y[k, i]
            for p in range(1, DEGREE):
                c[i, p] = 0.0
        for i in range(3):
            c[i, 1], c[i, 2] = span * y[k, 7 + i], 0.5 * span * span * b[i]
            c[7 + i, 1] = span * b[i]
            c[10 + i, 1] = span * (R[0, i] * b[3] + R[1, i] * b[4] + R[2, i] * b[5])
        turn_powers(c, span)


@kernel()
def cubic_piece(world, y, end, span, C):
    """Fill C (m, 13, DEGREE) with motion from states y to `end` (each (m, 13)) by powers of the share of `span`:
    the cubic that has places and velocities of both ends; the island is placed at y, and its local accelerations
    become the mean ones."""
    turn, a = local_turn(world), local_acceleration(world)
    for k in range(header(world).m):
        R, b, y0, y1, c = turn[k], a[k], y[k], end[k], C[k]
        for i in range(13):
            for p in range(DEGREE):
                c[i, p] = 0.0
            c[i, 0] = y0[i]
        for i in range(3):
            b[i] = (y1[7 + i] - y0[7 + i]) / span
            b[3 + i] = 0.0
            for j in range(3):
                b[3 + i] += R[i, j] * (y1[10 + j] - y0[10 + j]) / span
            off = y1[i] - y0[i] - 0.5 * span * (y0[7 + i] + y1[7 + i])
            c[i, 1], c[i, 2], c[i, 3] = span * y0[7 + i], 0.5 * span * span * b[i] + 3.0 * off, -2.0 * off
            c[7 + i, 1], c[7 + i, 2] = span * b[i] + 6.0 * off / span, -6.0 * off / span
            c[10 + i, 1] = y1[10 + i] - y0[10 + i]
        turn_powers(c, span)
        for _ in range(2):  # so that it arrives at the attitude wanted too
            e = c[3, DEGREE - 1]
            x, u, v = c[4, DEGREE - 1], c[5, DEGREE - 1], c[6, DEGREE - 1]
            for p in range(DEGREE - 2, -1, -1):
                e, x, u, v = e + c[3, p], x + c[4, p], u + c[5, p], v + c[6, p]
            # twice the vector of conj(reached) wanted: in the axes of the body at the end
            dx = 2.0 * (e * y1[4] - x * y1[3] - u * y1[6] + v * y1[5])
            dy = 2.0 * (e * y1[5] + x * y1[6] - u * y1[3] - v * y1[4])
            dz = 2.0 * (e * y1[6] - x * y1[5] + u * y1[4] - v * y1[3])
            for i in range(3):
                more = 6.0 * (dx if i == 0 else (dy if i == 1 else dz)) / span
                c[10 + i, 1] += more
                c[10 + i, 2] -= more
            turn_powers(c, span)


@kernel()
def on_step(C, x, out):
    """Fill out (m, 13) with the states at a share x of a step."""
    for k in range(C.shape[0]):
        for i in range(13):
            value = C[k, i, DEGREE - 1]
            for p in range(DEGREE - 2, -1, -1):
                value = value * x + C[k, i, p]
            out[k, i] = value


@kernel(allocates=True)
def friction_work(world, span):
    """Work of friction over `span` [s] under the local forces and accelerations, which stay, from where the island
    is placed: the terms of first and second power of the share of the span."""
    w, s = header(world), problem(world)
    placed, force, first, second = local_placed(world), local_force(world), 0.0, 0.0
    u = matrix(w.nr, 3)
    contact_rates(s, local_acceleration(world), u)
    for c in range(w.nr):
        for e in range(1, 3):
            speed, rate = placed[c, 15 + e], u[c, e] - local_rate(world)[c, e] + placed[c, 18 + e]
            first += span * force[c, e] * speed
            second += 0.5 * span * span * force[c, e] * rate
    return first, second


@kernel()
def rest_of_work(world, C, springs, work):
    """Fill what closes contacts with the rest of the change of energy of polynomials C: what neither `springs`
    (DEGREE,) nor the other channels of `work` (CHANNELS, DEGREE) have done."""
    w, change = header(world), work[CLOSING]
    for p in range(DEGREE):
        change[p] = 0.0
    for k in range(w.m):
        b, x = bodies(world)[local_bodies(world)[k]], C[k]
        for p in range(1, DEGREE):
            for i in range(3):
                change[p] -= b.mass * w.gravity[i] * x[i, p]
                for q in range(p + 1):
                    change[p] += 0.5 * b.mass * x[7 + i, q] * x[7 + i, p - q]
                    for j in range(3):
                        change[p] += 0.5 * b.inertia[i, j] * x[10 + i, q] * x[10 + j, p - q]
    for p in range(DEGREE):
        change[p] -= springs[p]
        for n in range(CLOSING):
            change[p] -= work[n, p]


@kernel(allocates=True)
def piece_work(world, span, C, work):
    """Fill work (CHANNELS, DEGREE), by powers of the share of `span` [s], with what is done over a step of
    polynomials C under local forces and accelerations that stay; the island is placed at its start."""
    w, springs = header(world), zeros(DEGREE)
    for n in range(CHANNELS):
        for p in range(DEGREE):
            work[n, p] = 0.0
        work[n, 1] = span * w.power[n]
    work[FRICTION, 1], work[FRICTION, 2] = friction_work(world, span)
    springs[1] = span * w.spring_power
    rest_of_work(world, C, springs, work)


@kernel(allocates=True)
def implicit_work(world, span, C, rubbed, work):
    """As `piece_work` over an implicit step, whose halves friction has done the work `rubbed` (2,) [J] in: what
    drives, springs, drag and functions do by their powers at its start, middle and end, by Simpson's rule. The
    island is placed at the start."""
    w = header(world)
    springs, power, at = zeros(DEGREE), matrix(3, CHANNELS), matrix(w.m, 13)
    for n in range(CHANNELS):
        for p in range(DEGREE):
            work[n, p] = 0.0
    if w.forces != 0:
        for look in (1, 2, 0):  # the start last, where the island stays placed
            on_step(C, 0.5 * look, at)
            place_bodies(world, at)
            w.asked_time = w.time + 0.5 * look * span
            w.asked_state = at.ctypes.data
            call(w.forces, world, 0, 0)
            for n in range(CLOSING):
                power[look, n] = w.power[n]
            power[look, CLOSING] = w.spring_power
        for n in range(CHANNELS):
            done = springs if n == CLOSING else work[n]
            first, middle, last = power[0, n], power[1, n], power[2, n]
            done[1] = span * first
            done[2] = 0.5 * span * (4.0 * middle - 3.0 * first - last)
            done[3] = 2.0 / 3.0 * span * (first - 2.0 * middle + last)
    # halves done in the first and in the second half of the time, or evenly where that would have it give energy
    both, early = rubbed[0] + rubbed[1], 4.0 * rubbed[0] - (rubbed[0] + rubbed[1])
    if early > 0.0 or 2.0 * both - early > 0.0:
        early = both
    work[FRICTION, 1], work[FRICTION, 2] = early, both - early
    rest_of_work(world, C, springs, work)


@kernel()
def gains(world, work):
    """Whether bodies gain energy to speak of over a micro-step with this work (CHANNELS, DEGREE)."""
    gained = 0.0
    for p in range(DEGREE):
        gained += work[CLOSING, p]
    return gained > MICRO_GAIN * scale_of_energy(world)


@kernel()
def bump(world, work):
    """By how much energy is higher within a piece with this work (CHANNELS, DEGREE) than at the higher of its ends
    [J]: looked at at eighths."""
    highest, at = 0.0, 0.0
    for look in range(1, 9):
        x = look / 8.0
        at = 0.0
        for n in range(CHANNELS):
            done = 0.0
            for p in range(DEGREE - 1, -1, -1):
                done = done * x + work[n, p]
            at += done
        highest = max(highest, at)
    return highest - max(at, 0.0)


@kernel()
def scale_of_energy(world):
    """Mass of the bodies shown times the square of the scene's speed [J]."""
    w, scale = header(world), 0.0
    for k in range(w.m):
        scale += bodies(world)[local_bodies(world)[k]].mass * w.speed * w.speed
    return scale


@kernel()
def kinetic_energy(world, y):
    """Kinetic energy [J] of the bodies shown, at packed states (m, 13)."""
    total = 0.0
    for k in range(header(world).m):
        b, s = bodies(world)[local_bodies(world)[k]], y[k]
        for i in range(3):
            total += 0.5 * b.mass * s[7 + i] * s[7 + i]
            for j in range(3):
                total += 0.5 * s[10 + i] * b.inertia[i, j] * s[10 + j]
    return total


@kernel()
def energy(world, y):
    """Kinetic energy and that in gravity [J] of the bodies shown, at packed states (m, 13)."""
    w, total = header(world), kinetic_energy(world, y)
    for k in range(w.m):
        for i in range(3):
            total -= bodies(world)[local_bodies(world)[k]].mass * w.gravity[i] * y[k, i]
    return total


@kernel()
def begin_pieces(world, island, C, work, span, share, kind):
    """Let the bodies of the island that is shown move on polynomials C (m, 13, DEGREE) in the share of `span` [s],
    of which the first `share` counts, with this kind and work (CHANNELS, DEGREE)."""
    w = header(world)
    e = islands(world)[island]
    e.start, e.end, e.noted = w.time, w.time + share * span, w.time
    e.version += 1
    scale = 1.0
    for p in range(DEGREE):
        for n in range(CHANNELS):
            e.work[n, p] = work[n, p] * scale
        scale /= span
    for k in range(w.m):
        body = local_bodies(world)[k]
        slot = slot_of(world, body)
        m, c = motions(world)[body], coefficients(world)[slot]
        m.step, m.short, m.implicit, m.implicit_step = e.step, e.short, e.implicit, e.implicit_step
        for i in range(13):
            for p in range(TERMS):
                c[i, p] = 0.0
        scale = 1.0
        for p in range(DEGREE):
            for i in range(13):
                c[i, p] = C[k, i, p] * scale
            scale /= span
        for i in range(13):
            m.state[i] = C[k, i, 0]
        m.terms = DEGREE
        bound_piece(m, c, share * span)
        m.start = w.time
        begin(world, body, kind, e.end)
    enter_island_end(world, e.end, island)


@kernel()
def bound_piece(m, C, span):
    """Note nominal acceleration, deviation from it and turning of a piece of polynomials (13, TERMS) over its
    span."""
    deviation = turning = turn_rate = 0.0
    for i in range(3):
        spin = spin_rate = change = 0.0
        power, before = 1.0, 0.0  # span**p and span**(p - 1)
        for p in range(DEGREE):
            spin += abs(C[10 + i, p]) * power
            spin_rate += p * abs(C[10 + i, p]) * before
            if p > 1:
                change += p * abs(C[7 + i, p]) * before
            before = power
            power *= span
        deviation += change * change
        turning += spin * spin
        turn_rate += spin_rate * spin_rate
        m.acceleration[i] = C[7 + i, 1]
    m.deviation = np.sqrt(deviation)
    m.turning = turning + np.sqrt(turn_rate)
