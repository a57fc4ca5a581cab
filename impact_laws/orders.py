"""Which approaching contact is next, of laws that resolve one at a time."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import reflection_kernels
from .impact_problem import ImpactProblem
from .outcome import ImpactOutcome, ImpactStatus

Order = str | Sequence[int] | Sequence[str | tuple[str, ...]] | Callable[[ImpactProblem], Any]
"""A rule of the next contact:

- "most_approaching" (least u_n/√W_nn, ties to the lowest index), "least_approaching", "cyclic" (contacts in
  turn) or "random" (drawn from ``rng``);
- contact indices, visited in turn and over again, for problems of as many contacts: all must be named;
- names, such as ``[("cue", "red"), "floor"]``: first the contacts between these two bodies, then those of that one,
  by `ImpactProblem.contact_names`, which every problem of a scene has; every contact must have its place, and
  entries without a contact count for nothing, so that one order serves a whole run;
- a function of the problem that returns one of the words, or contact indices.

Where an order does not fit a problem, its outcome has the status ORDER_MISFIT. A sole contact needs no order.
"""

ORDERS = {
    "most_approaching": reflection_kernels.MOST_APPROACHING,
    "least_approaching": reflection_kernels.LEAST_APPROACHING,
    "cyclic": reflection_kernels.VISITS,
    "random": reflection_kernels.RANDOM,
}


class OrderMisfit(ValueError):
    """An order that does not say of every contact of a problem, and of no other, when it is its turn."""

    def outcome(self, problem: ImpactProblem) -> ImpactOutcome:
        """What a law answers then: no impulse, and why."""
        return ImpactOutcome.from_stages(
            problem, np.empty((0, problem.u.size)), (), ImpactStatus.ORDER_MISFIT, str(self)
        )


def checked_order(order: Order) -> Order:
    """An order as laws keep it, or an error that names the field."""
    if callable(order):
        return order
    if isinstance(order, str):
        if order not in ORDERS:
            raise ValueError(
                f"order must be one of {', '.join(ORDERS)}, a sequence of contact indices or of names of bodies, "
                f"or a function of the problem, got {order!r}"
            )
        return order
    try:
        visits = tuple(order)
    except TypeError:
        raise TypeError(
            f"order must be a word, a sequence of contact indices or of names, or a function, got {order!r}"
        ) from None
    if all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in visits):
        return tuple(int(i) for i in visits)  # type: ignore[arg-type]
    return tuple(_names_of(entry, order) for entry in visits)


def _names_of(entry: Any, order: Any) -> tuple[str, ...]:
    names = (entry,) if isinstance(entry, str) else tuple(entry) if isinstance(entry, tuple | list) else ()
    if not 1 <= len(names) <= 2 or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"order must hold contact indices only, or only names and pairs of names of bodies, got {order!r}"
        )
    return names


def visits_of(order: Order, problem: ImpactProblem) -> tuple[int, NDArray[np.int64]]:
    """The kernels' code of an order of a problem's contacts, and the visits it makes; `OrderMisfit` where it does
    not fit."""
    count = problem.contact_count
    if callable(order):
        answer = checked_order(order(problem))
        if callable(answer) or not all(isinstance(visit, str | int) for visit in answer):
            raise TypeError(
                f"order: expected of a function one of {', '.join(ORDERS)} or contact indices, got {answer!r}"
            )
        order = answer
    if isinstance(order, str):
        return ORDERS[order], np.arange(count)
    if count == 1:
        return reflection_kernels.VISITS, np.zeros(1, dtype=np.int64)
    visits: list[Any] = list(order)
    if visits and isinstance(visits[0], tuple):
        visits = _visits_by_name(visits, problem)
    elif set(visits) != set(range(count)):
        raise OrderMisfit(
            f"order must name every contact from 0 to {count - 1} and no other, got {visits}: names of bodies or a "
            "function of the problem make an order of any number of contacts"
        )
    return reflection_kernels.VISITS, np.array(visits, dtype=np.int64)


def _visits_by_name(entries: Sequence[tuple[str, ...]], problem: ImpactProblem) -> list[int]:
    known = problem.contact_names
    if known is None:
        raise OrderMisfit(
            "order holds names, but this problem knows none: give it contact_names, or use contact indices"
        )
    visits: list[int] = []
    for entry in entries:
        visits += [contact for contact, names in enumerate(known) if set(entry) <= set(names)]
    for contact, names in enumerate(known):
        if contact not in visits:
            raise OrderMisfit(
                f"order has no entry for contact {contact}, between {' and '.join(map(repr, names))}"
            )
    return visits
