"""Collocation at the Radau points, right end included: order 13 with seven points, stable for stiff motion.

Source: Hairer & Wanner, Solving Ordinary Differential Equations II, section IV.5: the points are the zeros of
P_s - P_{s-1} on [-1, 1], and the weights integrals of the Lagrange polynomials through them. All is computed in
rational or scalar arithmetic, so that it is the same to the bit on every machine.
"""

import math
from fractions import Fraction
from functools import reduce

import numpy as np

POINTS = 7

Polynomial = list[Fraction]  # by powers


def _times(p: Polynomial, q: Polynomial) -> Polynomial:
    product = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            product[i + j] += a * b
    return product


def _value(p: Polynomial, x: Fraction) -> Fraction:
    return sum((a * x**n for n, a in enumerate(p)), Fraction(0))


def _integral(p: Polynomial) -> Polynomial:
    return [Fraction(0), *(a / (n + 1) for n, a in enumerate(p))]


def _legendre(degree: int) -> Polynomial:
    """The Legendre polynomial on [0, 1]."""
    sizes = (math.comb(degree, n) * math.comb(degree + n, n) for n in range(degree + 1))
    return [Fraction((-1) ** (degree + n) * size) for n, size in enumerate(sizes)]


def _points() -> list[Fraction]:
    """The points in (0, 1], ascending, each to the nearest floating-point number."""
    high, low = _legendre(POINTS), [*_legendre(POINTS - 1), Fraction(0)]
    p = [a - b for a, b in zip(high, low, strict=True)]
    slope = [n * a for n, a in enumerate(p)][1:]
    found = []
    for k in range(POINTS - 1):
        x = Fraction(0.5 - 0.5 * math.cos(math.pi * (2 * k + 1.2) / (2 * POINTS - 1)))
        for _ in range(8):
            x = (x - _value(p, x) / _value(slope, x)).limit_denominator(10**40)
        found.append(Fraction(float(x)))
    return [*found, Fraction(1)]


_AT = _points()
_LINES = [  # the Lagrange polynomials
    reduce(_times, ([-other / (at - other), 1 / (at - other)] for other in _AT if other != at)) for at in _AT
]

NODES = np.array([float(x) for x in _AT])
POWERS = np.array([[float(a) for a in _integral(line)[1:]] for line in _LINES]).T
"""[n, j]: weight of the derivative at point j in the coefficient of x^(n + 1), x the share of a step."""

WEIGHTS = np.array([[float(_value(_integral(line), x)) for line in _LINES] for x in _AT])
"""[i, j]: weight of the derivative at point j in the state at point i."""

HIGHEST = np.array(
    [
        [float((2 * d + 1) * sum(_integral(_times(_legendre(d), line)))) for line in _LINES]
        for d in (POINTS - 1, POINTS - 2)
    ]
)
"""[k, j]: weight of the derivative at point j in its part along the Legendre polynomial of highest degree, and of
that below."""
