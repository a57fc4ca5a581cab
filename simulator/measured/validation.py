"""Every law on measured impacts: constants fitted, errors with intervals, beside the floor that none can
beat."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...impact_laws import (
    AnitescuPotra,
    CompliantContact,
    ImpactLaw,
    LiuZhaoBrogliato,
    MaximumDissipation,
    SequentialLCP,
    SequentialReflection,
    StrongeCoulomb,
)
from ..ensembles.statistics import Estimate
from .contact_model import ContactModel
from .edge_impacts import SetOnEdges, edge_impacts, sets_on_edges
from .identification import Identification, fit_constants, identify
from .impact_set import ContactStates
from .public_data import CubeTosses, EllipseBounces
from .robust_fit import median_estimate

Array = NDArray[np.float64]

LEVER = 0.05
"""[m] of one radian in errors of the cube."""
MOST_ONE_BY_ONE = 100
"""Impacts, evenly among all, to which constants are fitted of laws that resolve one impact at a time. More: a
minute and more for each of them."""
CUBE_FREE = (
    "center_of_mass", "inertia", "corner_radius", "friction", "restitution", "transition_speed", "sliding_friction",
)  # fmt: skip
"""What is looked for of the cube, body and law."""
SLOW = "transition_speed"
ELASTIC = 1.0
"""Restitution of impacts far below the speed of transition. Less would be a constant more."""


@dataclass(frozen=True, eq=False)
class LawOnImpacts:
    """A law with constants that were fitted, and its errors (n,) [m/s] on impacts; `left_out` (n,) are errors
    of constants that were fitted to the other half of the motions, or to other data, None where that was not
    done."""

    label: str
    constants: dict[str, Estimate]
    error: Array
    left_out: Array | None


@dataclass(frozen=True, eq=False)
class Validation:
    """Single impacts under every law: floor (n,) [m/s], which motion each impact is of (n,), levels [m/s]
    whose shares are told, and of the cube what was identified, and sets of outcomes of its edges."""

    name: str
    floor: Array
    toss: NDArray[np.int64]
    laws: list[LawOnImpacts]
    levels: tuple[float, ...]
    body: Identification | None = None
    edges: Sequence[SetOnEdges] = ()

    def rows(self) -> list[list[str]]:
        """A row for the floor and for each law: name, constants, median of E with its interval, that of
        constants fitted elsewhere, and shares within the levels."""
        rows = [
            [
                "floor, any law",
                "",
                _shown(median_estimate(self.floor, self.toss)),
                "",
                *self._shares(self.floor),
            ]
        ]
        for law in self.laws:
            constants = ", ".join(
                f"{name} {known.value:.3g} ({known.low:.3g} to {known.high:.3g})"
                for name, known in law.constants.items()
            )
            median = _shown(median_estimate(law.error, self.toss))
            apart = "" if law.left_out is None else _shown(median_estimate(law.left_out, self.toss))
            rows.append([law.label, constants, median, apart, *self._shares(law.error)])
        return rows

    def header(self) -> list[str]:
        """Titles of the columns of `rows`."""
        levels = [f"≤ {level:g}" for level in self.levels]
        return ["law", "constants (95 %)", "median E [m/s]", "fitted elsewhere", *levels]

    def _shares(self, error: Array) -> list[str]:
        return [f"{100 * np.mean(error <= level):.0f} %" for level in self.levels]


def _shown(known: Estimate) -> str:
    return f"{known.value:.4f} ({known.low:.4f} to {known.high:.4f})"


_TWO = ("friction", "restitution")
LAWS: tuple[tuple[str, ImpactLaw, tuple[str, ...]], ...] = (
    ("sequential-reflection", SequentialReflection(), ("restitution",)),
    ("anitescu-potra", AnitescuPotra(), _TWO),
    ("sequential-lcp", SequentialLCP(), _TWO),
    ("maximum-dissipation", MaximumDissipation(), _TWO),
    ("liu-zhao-brogliato", LiuZhaoBrogliato(), _TWO),
    ("stronge-coulomb", StrongeCoulomb(), _TWO),
    ("stronge-coulomb, speed", StrongeCoulomb(), (*_TWO, "speed_exponent")),
    ("stronge-coulomb, speed, mass", StrongeCoulomb(), (*_TWO, "speed_exponent", "mass_exponent")),
    ("stronge-coulomb, slow", StrongeCoulomb(), (*_TWO, SLOW)),
    ("stronge-coulomb, slip", StrongeCoulomb(), (*_TWO, "slip_loss")),
    ("compliant-contact", CompliantContact(), (*_TWO, "tangential_stiffness")),
    ("compliant-contact, speed", CompliantContact(), (*_TWO, "tangential_stiffness", "speed_exponent")),
    ("compliant-contact, slow", CompliantContact(), (*_TWO, "tangential_stiffness", SLOW)),
    ("compliant-contact, slip", CompliantContact(), (*_TWO, "tangential_stiffness", "slip_loss")),
)
"""Laws as they are tried: a label, the law, and its free constants, at most four. Rows with a speed of transition
are of tosses only, whose slow impacts and sliding tell of it; friction of sliding comes from there."""


def validate_cube(
    data: CubeTosses,
    fitted_on: CubeTosses | None = None,
    labels: Sequence[str] = (),
    executor: Executor | None = None,
) -> Validation:
    """Laws on the single corners of measured tosses; constants of body and laws are fitted to `fitted_on`, by
    default to the data themselves. ``labels`` chooses laws, all by default; ``executor`` is that of `identify`."""
    source = data if fitted_on is None else fitted_on
    body = identify_cube(source, executor)
    here = body
    if fitted_on is not None:
        here = body.on(data.motions, data.body, lever=LEVER, executor=executor)
    edges = edge_impacts(here, data.motions, data.body)
    found = _validation(
        "cube, single corners", body.states, body.impacts.toss, here.states, here.impacts.toss,
        (0.02, 0.05, 0.1), labels, fitted_on is not None, body,
    )  # fmt: skip
    # Coefficients of sets are those of single corners of the data to which constants are fitted.
    return replace(found, edges=sets_on_edges(body, edges) if edges else ())


def identify_cube(data: CubeTosses, executor: Executor | None = None) -> Identification:
    """Body and law of tosses of a cube, out of the box: Stronge's law, with slow impacts apart from fast ones."""
    return identify(
        data.motions, data.body, StrongeCoulomb(), CUBE_FREE, lever=LEVER, start={"slow_restitution": ELASTIC},
        executor=executor,
    )  # fmt: skip


def validate_ellipse(
    data: EllipseBounces, fitted_on: EllipseBounces | None = None, labels: Sequence[str] = ()
) -> Validation:
    """Laws on measured bounces of the ellipse; constants are fitted to `fitted_on`, by default to the
    data."""
    source = data if fitted_on is None else fitted_on
    states = [one.impacts.states(one.parameters) for one in (source, data)]
    return _validation(
        "ellipse, single bounces", states[0], source.impacts.toss, states[1], data.impacts.toss, (0.1, 0.2, 0.3),
        labels, fitted_on is not None, None,
    )  # fmt: skip


def _validation(
    name: str,
    source: ContactStates,
    source_toss: NDArray[np.int64],
    states: ContactStates,
    toss: NDArray[np.int64],
    levels: tuple[float, ...],
    labels: Sequence[str],
    elsewhere: bool,
    body: Identification | None,
) -> Validation:
    tried = []
    for label, law, free in LAWS:
        if labels and label not in labels:
            continue
        start = ContactModel(law, friction=0.2, restitution=0.4)
        if SLOW in free:
            if body is None:
                continue
            start = replace(
                start, transition_speed=body.model.transition_speed, slow_friction=body.model.slow_friction,
                slow_restitution=ELASTIC,
            )  # fmt: skip
        fast = isinstance(law, StrongeCoulomb | CompliantContact)
        some = slice(None) if fast else slice(None, None, -(-len(source) // MOST_ONE_BY_ONE))
        model, found, _ = fit_constants(source.taken(some), source_toss[some], start, free)
        error = model.errors(states)
        left_out = error if elsewhere else _left_out(states, toss, start, free) if fast else None
        tried.append(LawOnImpacts(label, found, error, left_out))
    return Validation(name, states.floor(), toss, tried, levels, body)


def _left_out(
    states: ContactStates, toss: NDArray[np.int64], start: ContactModel, free: Sequence[str]
) -> Array:
    """Errors (n,) of the impacts of every other motion with constants from the rest."""
    names = np.unique(toss)
    error = np.empty(len(states))
    for part in (0, 1):
        out = np.isin(toss, names[part::2])
        model, _, _ = fit_constants(states.taken(~out), toss[~out], start, free, refuse=False)
        error[out] = model.errors(states.taken(out))
    return error
