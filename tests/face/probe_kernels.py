"""Kernels on which the tests of `carom.compiled` are made."""

import numpy as np

from carom.compiled import kernel, on_stack

_three, _wholes = on_stack(3), on_stack(2, 2, whole=True)


@kernel()
def norm_by_way_of_the_stack(x):
    """Length of x (3,)."""
    squares = _three()
    for i in range(3):
        squares[i] = x[i] * x[i]
    return np.sqrt(squares[0] + squares[1] + squares[2])


@kernel()
def added_on_stacks(n):
    """Sum of 0 to n - 1, each kept in a call of its own."""
    total = 0.0
    for i in range(n):
        total += norm_by_way_of_the_stack(_filled(i))
    return total


@kernel(allocates=True)
def _filled(i):
    values = np.zeros(3)
    values[0] = i
    return values


@kernel()
def whole_numbers(i):
    """2 i + 1, by way of an array of whole numbers."""
    numbers = _wholes()
    numbers[0, 0], numbers[1, 1] = i, 1
    return 2 * numbers[0, 0] + numbers[1, 1]


@kernel()
def same_array(x):
    """x itself."""
    return x


@kernel(allocates=True)
def twice_given_back(x):
    """Would give x back twice."""
    y = same_array(x)
    return y[0]
