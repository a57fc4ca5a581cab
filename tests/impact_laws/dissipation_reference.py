"""Slow, obvious solutions of one contact of maximum dissipation: the paper's quartic and a dense search."""

import numpy as np


def objective(A, b, x):
    """½ x·A x - x·b of impulses x (..., 3), in extended precision."""
    A, b, x = (np.asarray(array, dtype=np.longdouble) for array in (A, b, x))
    return 0.5 * ((x @ A) * x).sum(axis=-1) - (x * b).sum(axis=-1)


def boundary(A, b, mu, angles):
    """Impulses (n, 3) on the cone and the plane of zero normal velocity at those angles that meet both."""
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    f = A[0, 0] + mu * directions @ A[0, 1:]
    meets = f > 0.0
    lengths = mu * b[0] / f[meets]
    return np.column_stack([lengths / mu, lengths[:, None] * directions[meets]])


def stationary_angles(A, b, mu):
    """Angles of T·G = 0 as roots of a quartic in exp(iα), whose coefficients are read off five values."""

    def tangent_gradient(angle):
        c, s = np.cos(angle), np.sin(angle)
        a, f = A[0, 1:], A[0, 0] + mu * (A[0, 1] * c + A[0, 2] * s)
        tangent = np.array([-A[0, 0] * s - mu * a[1], A[0, 0] * c + mu * a[0]])
        return tangent @ (mu * b[0] * A[1:, 1:] @ [c, s] - f * b[1:] + b[0] * a)

    nodes = 2.0 * np.pi * np.arange(5) / 5.0
    transform = np.fft.fft([tangent_gradient(angle) for angle in nodes]) / 5.0
    coefficients = transform[[2, 1, 0, 4, 3]]
    return np.angle(np.roots(coefficients))


def sticking(A, b, mu):
    """The impulse (1, 3) that stops the contact, least norm, if the cone contains it, else (0, 3)."""
    x = np.linalg.lstsq(A, b, rcond=1e-13)[0]
    inside = np.hypot(x[1], x[2]) <= mu * x[0] * (1.0 + 1e-13)
    return x[None] if inside and np.allclose(A @ x, b, atol=1e-12 * np.abs(b).max()) else np.zeros((0, 3))


def vertex(A, b, mu):
    """The point (1, 3) of the boundary with the least impulse, so that there is always a candidate."""
    return boundary(A, b, mu, np.arctan2(A[0, 2], A[0, 1])[None])


def best_of(A, b, candidates):
    """The candidate of lowest objective."""
    candidates = np.vstack(candidates)
    return candidates[np.argmin(objective(A, b, candidates))]


def rays(A, b, mu):
    """b_n = 0: zero and the lowest point of both edges of the degenerate hyperbola."""
    found = [np.zeros((1, 3)), sticking(A, b, mu)]
    size = mu * np.hypot(A[0, 1], A[0, 2])
    if size >= A[0, 0]:
        middle, half = np.arctan2(A[0, 2], A[0, 1]), np.arccos(-A[0, 0] / size)
        for angle in (middle - half, middle + half):
            edge = np.array([1.0 / mu, np.cos(angle), np.sin(angle)])
            found.append(max(0.0, edge @ b / (edge @ A @ edge)) * edge[None])
    return best_of(A, b, found)


def solve_by_quartic(A, b, mu):
    """Figure 5 of the paper, with equation (9) replaced by a look at both rays."""
    if b[0] < 0.0:
        return np.zeros(3)
    if mu == 0.0:
        return np.array([b[0] / A[0, 0], 0.0, 0.0])
    if b[0] == 0.0:
        return rays(A, b, mu)
    return best_of(
        A, b, [sticking(A, b, mu), boundary(A, b, mu, stationary_angles(A, b, mu)), vertex(A, b, mu)]
    )


def solve_by_search(A, b, mu, count=2000, rounds=8):
    """A dense search over the angle, then over ever smaller angles about the best."""
    if b[0] < 0.0:
        return np.zeros(3)
    if mu == 0.0:
        return np.array([b[0] / A[0, 0], 0.0, 0.0])
    if b[0] == 0.0:
        return rays(A, b, mu)
    middle, width = np.arctan2(A[0, 2], A[0, 1]), np.pi
    size = mu * np.hypot(A[0, 1], A[0, 2])
    widest = np.arccos(-A[0, 0] / size) if size > A[0, 0] else np.inf
    centre = middle
    best = best_of(A, b, [sticking(A, b, mu), vertex(A, b, mu)])
    for turn in range(rounds):
        angles = centre + np.linspace(-width, width, count)
        if turn == 0 and widest < np.inf:  # far out the boundary lies in a narrow range of angles
            close = widest * (1.0 - np.logspace(-15, -2, count))
            angles = np.concatenate([angles, middle + close, middle - close])
        points = boundary(A, b, mu, angles)
        best = best_of(A, b, [points, best[None]])
        centre = np.arctan2(best[2], best[1])
        width *= 4.0 / count
    return best
