"""The contract of impact laws as a function: random problems, and which promise a law breaks on them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .contract import fault_of_answer, fault_of_attributes, faults_of_impulse, raised
from .impact_problem import ImpactProblem
from .law import checked_count
from .outcome import ImpactOutcome, ImpactStatus

_KINDS = (
    "one contact",
    "several contacts",
    "dependent contacts",
    "grazing contacts",
    "heavy and light bodies",
)


@dataclass(frozen=True)
class LawReport:
    """What `check_law` found.

    law : name of the law, or of its class where it has none
    problems : how many were tried
    resolved : how many the law resolved; to leave some unresolved, with a status, breaks no promise
    broken : promise -> the first case that breaks it, in words
    cases : promise -> the problem of that case, None where the promise is about the law itself
    """

    law: str
    problems: int
    resolved: int
    broken: dict[str, str]
    cases: dict[str, ImpactProblem | None]

    @property
    def ok(self) -> bool:
        """Whether no promise was broken."""
        return not self.broken

    def __str__(self) -> str:
        found = "; ".join(f"{promise}: {case}" for promise, case in self.broken.items())
        kept = "keeps the contract" if self.ok else f"breaks the contract ({found})"
        return f"{self.law} {kept}; {self.resolved} of {self.problems} random problems resolved"


def check_law(law: Any, problems: int = 200, seed: int = 0) -> LawReport:
    """Whether a law keeps the contract of `ImpactLaw`, tried on random problems, planar and spatial.

    Their contacts, one to six, leave a motion that separates all of them; some graze, some depend on each other,
    some bodies are 1e4 times as heavy as others. The promises:

    - "attributes": a text as `name`, booleans as `honours_friction` and `honours_restitution`
    - "answer": `resolve(problem, rng)` raises nothing and returns an `ImpactOutcome` of the problem's size, with
      finite impulses, velocities and path, and a status that is an `ImpactStatus`
    - "momentum": the velocity after is u + W impulse
    - "cones": normal impulses are at least 0 and tangential ones at most friction times these; without friction, or
      where the law says that it honours none, there are none
    - "approach": no contact approaches after the impact
    - "energy": kinetic energy does not grow
    - "at rest": where all contacts separate, nothing happens
    - "repeats": the same problem and generator give the same outcome, bit for bit
    - "problem": the problem's arrays are as they were

    All but the first two, "repeats" and "problem" are promised of resolved outcomes only.

    law : the law, an instance
    problems : how many are tried, at least 1
    seed : of the problems and of the generators given to the law

    Example
    -------
    >>> print(carom.check_law(carom.SequentialReflection(), problems=50))
    sequential-reflection keeps the contract; 50 of 50 random problems resolved
    """
    checked_count("problems", problems, 1)
    checked_count("seed", seed, 0)
    broken: dict[str, str] = {}
    cases: dict[str, ImpactProblem | None] = {}
    if isinstance(law, type) or not callable(getattr(law, "resolve", None)):
        given = f"the class {law.__name__}, not an instance" if isinstance(law, type) else repr(law)
        raise TypeError(f"law: expected an object with a method resolve(problem, rng), got {given}")
    name = getattr(law, "name", None)
    if case := fault_of_attributes(law):
        broken["attributes"], cases["attributes"] = case, None
    rng = np.random.default_rng(seed)
    resolved = 0
    for number in range(problems):
        kind = _KINDS[number % len(_KINDS)]
        problem = _random_problem(rng, kind, 2 + number // len(_KINDS) % 2)
        before = [array.copy() for array in (problem.W, problem.u, problem.friction, problem.restitution)]
        outcome = None
        for promise, case in _faults(law, problem, seed + number):
            if isinstance(case, ImpactOutcome):
                outcome = case
            elif promise not in broken:
                broken[promise], cases[promise] = f"{case} (problem {number}: {kind})", problem
        after = (problem.W, problem.u, problem.friction, problem.restitution)
        if "problem" not in broken and not all(map(np.array_equal, before, after)):
            broken["problem"], cases["problem"] = f"its arrays were written to (problem {number})", problem
        resolved += outcome is not None and outcome.status is ImpactStatus.RESOLVED
    label = name if isinstance(name, str) else type(law).__name__
    return LawReport(label, problems, resolved, broken, cases)


def _faults(law: Any, problem: ImpactProblem, seed: int) -> Iterator[tuple[str, Any]]:
    """The promises that a law breaks at a problem, each with its case in words; and its outcome, if it is one."""
    try:
        first = law.resolve(problem, np.random.default_rng(seed))
        again = law.resolve(problem, np.random.default_rng(seed))
    except Exception as error:  # whatever a law of somebody else's raises is what is to be told
        yield "answer", raised(error)
        return
    if case := fault_of_answer(problem, first) or fault_of_answer(problem, again):
        yield "answer", case
        return
    impulse, velocity = np.asarray(first.impulse), np.asarray(first.velocity)
    if impulse.tobytes() != np.asarray(again.impulse).tobytes() or first.status is not again.status:
        yield "repeats", "the same problem and generator gave another outcome"
    yield "answer", first
    if first.status is ImpactStatus.RESOLVED:
        yield from faults_of_impulse(law, problem, impulse, velocity)


def _random_problem(rng: np.random.Generator, kind: str, dim: int) -> ImpactProblem:
    """A problem whose contacts leave a motion that separates all of them, so that there is an answer."""
    contacts = 1 if kind == "one contact" else int(rng.integers(2, 7))
    freedoms = int(rng.integers(2, 5)) if kind == "dependent contacts" else dim * contacts + 2
    jacobian, separating = rng.normal(size=(dim * contacts, freedoms)), rng.normal(size=freedoms)
    normals = jacobian[::dim]
    normals[normals @ separating < 0.0] *= -1.0
    mass = 10.0 ** rng.uniform(-2.0, 2.0, size=freedoms) if "heavy" in kind else np.ones(freedoms)
    velocity = rng.normal(size=freedoms) + rng.choice([-2.0, 0.5]) * separating
    if kind == "grazing contacts":  # one of them only slides
        row = normals[0]
        velocity -= (row @ velocity) / (row @ row) * row
    return ImpactProblem.from_generalized(
        np.diag(mass),
        jacobian,
        velocity,
        friction=rng.choice([0.0, 0.2, 0.5, 1.0], size=contacts),
        restitution=rng.choice([0.0, 0.3, 0.8, 1.0], size=contacts),
        dim=dim,
    )
