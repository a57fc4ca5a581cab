"""Impact laws as a run uses them: compiled where they are ours, else in Python; and their outcomes from records."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..bodies import Scene
from ..bodies.meant import nearest
from ..compiled import Part
from ..impact_laws import (
    ImpactLaw,
    ImpactOutcome,
    ImpactProblem,
    ImpactStatus,
    MaximumDissipation,
    SequentialLCP,
    SequentialReflection,
    StrongeCoulomb,
)
from ..impact_laws.contract import Fault, fault_of_answer, fault_of_attributes, faults_of_impulse, raised
from ..impact_laws.law import is_of_carom, law_by_name, law_names
from ..impact_laws.maximum_dissipation import RULES
from ..impact_laws.orders import ORDERS, Order
from ..impact_laws.outcome_kernels import APPROACHES
from ..impact_laws.reflection_kernels import FEASIBLE, IMMOVABLE, TOO_MANY
from ..impact_laws.sequential_lcp_kernels import INACCURATE, NO_SOLUTION, RESOLVED
from .articulation import allowed_inverse
from .engine import law_kernels
from .engine.strike_kernels import VERDICT
from .engine.tables_kernels import STAGE
from .event import contact_names
from .state import Array
from .tolerances import LEAST_APPROACH
from .world import World

UNRESOLVED = 50
"""Code of an event that a law in Python did not resolve."""
_COMPILED_ORDERS = ("most_approaching", "least_approaching", "cyclic")


def compiled_law(law: ImpactLaw) -> Part | None:
    """The part that resolves events as this law does, None where only Python knows it."""
    if type(law) is StrongeCoulomb and _is_word(law.order):
        return law_kernels.law_stronge
    if type(law) is SequentialReflection and _is_word(law.order):
        return law_kernels.law_reflection
    if type(law) is SequentialLCP and _is_word(law.order):
        return law_kernels.law_sequential_lcp
    return law_kernels.law_dissipation if type(law) is MaximumDissipation else None


def _is_word(order: Order) -> bool:
    """Whether the compiled laws know this order."""
    return isinstance(order, str) and order in _COMPILED_ORDERS


def refuse_no_law(law: ImpactLaw) -> None:
    """TypeError for what is no impact law, or does not say of itself what one has to."""
    if isinstance(law, type):
        raise TypeError(f"law: expected an instance such as {law.__name__}(), got the class {law.__name__}")
    if not callable(getattr(law, "resolve", None)):
        meant = _law_called(law)
        raise TypeError(f"law: expected an impact law such as SequentialReflection(), got {law!r}{meant}")
    if case := fault_of_attributes(law):
        raise TypeError(f'law: {type(law).__name__} breaks the promise "attributes" of impact laws: {case}')


def _law_called(name: Any) -> str:
    """A question after the law of that name, as commands and files have it, empty where there is none."""
    words = name.replace("_", "-").replace(" ", "-").lower() if isinstance(name, str) else ""
    near = nearest(words, law_names())
    return f": did you mean {type(law_by_name(near)).__name__}()?" if near else ""


def resolved(law: ImpactLaw, problem: ImpactProblem, rng: np.random.Generator) -> ImpactOutcome:
    """What a law answers; where one of somebody else's breaks its contract, an outcome without impulse that says
    how."""
    if is_of_carom(type(law)):
        return law.resolve(problem, rng)
    arrays = problem.kernel_arrays()
    before = [array.copy() for array in arrays]
    outcome = None
    try:
        outcome = law.resolve(problem, rng)
    except Exception as error:  # whatever a law of somebody else's raises is what is to be told
        fault: Fault | None = ("answer", raised(error))
    else:
        fault = _fault(law, problem, outcome)
    for array, known in zip(arrays, before, strict=True):
        if not np.array_equal(array, known):
            fault = ("problem", "the arrays of its problem were written to")
            array[...] = known
    if fault is None:
        assert outcome is not None
        return outcome
    words = f'{law.name} breaks the promise "{fault[0]}" of impact laws: {fault[1]} (see carom.check_law)'
    nothing = np.zeros((0, problem.u.size))
    return ImpactOutcome.from_stages(problem, nothing, (), ImpactStatus.CONTRACT_BROKEN, words)


def _fault(law: ImpactLaw, problem: ImpactProblem, outcome: Any) -> Fault | None:
    """The first promise that an answer breaks."""
    if case := fault_of_answer(problem, outcome):
        return "answer", case
    if not outcome.resolved:
        return None
    return next(
        faults_of_impulse(law, problem, np.asarray(outcome.impulse), np.asarray(outcome.velocity)), None
    )


def set_parameters(world: World, law: ImpactLaw) -> None:
    """Let a world know the parameters of a law that is compiled."""
    header = world.header
    if isinstance(law, StrongeCoulomb | SequentialLCP):
        header["law_order"], header["law_limit"] = ORDERS[str(law.order)], law.max_impacts
        if isinstance(law, SequentialLCP):
            header["law_edges"] = law.cone_edges
    elif isinstance(law, SequentialReflection):
        header["law_order"], header["law_limit"] = ORDERS[str(law.order)], law.max_reflections
    elif isinstance(law, MaximumDissipation):
        header["law_order"], header["law_limit"] = RULES[law.friction_rule], law.max_sweeps
        header["law_accuracy"] = law.tolerance


def problem_of(world: World, scene: Scene) -> ImpactProblem:
    """The problem about which a world asks, in this scene."""
    header = world.header
    bodies, count, dim = int(header["m"]), int(header["found_count"]), int(header["dim"])
    ends, rows = world.table("local_ends", count), world.table("local_jacobian", count)
    blocks = np.zeros((count, dim, bodies, 6))
    for contact, sides in enumerate(ends.tolist()):
        for side, body in enumerate(sides):
            if body >= 0:
                blocks[contact, :, body] += rows[contact, side, :dim]
    jacobian = blocks.reshape(dim * count, 6 * bodies)
    state, turn = world.table("local_state", bodies), world.table("local_turn", bodies)
    velocity = np.empty((bodies, 6))
    velocity[:, :3] = state[:, 7:10]
    velocity[:, 3:] = (turn @ state[:, 10:13, None])[:, :, 0]
    inverse_mass = np.zeros((6 * bodies, 6 * bodies))
    mobility = world.table("local_mobility", bodies)
    for body in range(bodies):
        inverse_mass[6 * body : 6 * body + 6, 6 * body : 6 * body + 6] = mobility[body]
    held = int(header["nj"])
    if held:
        joined = np.zeros((held, 6 * bodies))
        sides = world.table("joint_ends", held)
        for row, side in zip(*np.nonzero(sides >= 0), strict=True):
            body = sides[row, side]
            joined[row, 6 * body : 6 * body + 6] += world.table("joint_jacobian", held)[row, side]
        inverse_mass = allowed_inverse(inverse_mass, joined)
        n = dim * count
        jacobian[world.table("numbers", n * n).reshape(n, n).diagonal() == 0.0] = 0.0  # joints bar these
    found = world.found
    friction, restitution = world.contacts["impact_friction"][found], world.contacts["felt"][found]
    rows = world.contacts[found]
    between = contact_names(scene, np.column_stack([rows["first"], rows["second"]]))
    least = LEAST_APPROACH * float(header["speed"])
    return ImpactProblem._of_engine(
        jacobian, velocity.ravel(), friction, restitution, dim, inverse_mass, least, between
    )


def answer(world: World, outcome: ImpactOutcome) -> bytes:
    """Let a world that asks have an outcome; what its event is to say of it, as text."""
    header = world.header
    count, dim = int(header["found_count"]), int(header["dim"])
    impulse = np.zeros((count, 3))
    impulse[:, :dim] = outcome.impulse.reshape(count, dim)
    world.contacts["impulse"][world.found] = impulse
    header["law_code"] = 0 if outcome.resolved else UNRESOLVED
    stages = outcome.path.impulse[1:]
    world.reserve("stages", -(-stages.size // STAGE))
    world.table("stages", -(-stages.size // STAGE)).reshape(-1)[: stages.size] = stages.ravel()
    header["stages_count"], header["stage_width"] = stages.shape
    info = {
        key: value
        for key, value in outcome.info.items()
        if isinstance(value, int | float | str | tuple | list)
    }
    words = {
        "status": outcome.status.value,
        "message": outcome.message,
        "labels": outcome.path.labels[1:],
        "info": info,
    }
    text = json.dumps(words, default=_plain).encode()
    header["text"] = len(text)
    return text


def _plain(value: Any) -> Any:
    """A number of numpy as JSON knows it; in words what a law of somebody else's tells otherwise."""
    return value.item() if isinstance(value, np.generic) else str(value)


def outcome_of_text(problem: ImpactProblem, stages: Array, text: Mapping[str, Any]) -> ImpactOutcome:
    """The outcome that a law in Python gave, from its stages (k, dim*nc) and what is noted of it."""
    status = ImpactStatus[text["status"].upper()]
    outcome = ImpactOutcome.from_stages(
        problem, stages, text["labels"], status, text["message"], text["info"]
    )
    return outcome if outcome.status is status else replace(outcome, status=status, message=text["message"])


def outcome_of_record(
    law_name: str,
    problem: ImpactProblem,
    impulse: Array,
    stages: Array,
    code: int,
    steps: int,
) -> ImpactOutcome:
    """The outcome that a compiled law gave, from its impulse (dim*nc,), its record of stages and its code."""
    ended = 0 if code >= VERDICT else code
    if law_name in (SequentialReflection.name, SequentialLCP.name):
        _refuse_contacts(stages, problem.contact_count)
    if law_name == StrongeCoulomb.name:
        outcome = StrongeCoulomb.outcome_of_record(problem, stages, ended, steps)
    elif law_name == SequentialReflection.name and ended in (FEASIBLE, TOO_MANY, IMMOVABLE):
        outcome = SequentialReflection.outcome_of_sequence(
            problem, stages[:, :1].astype(np.int64).ravel(), ended
        )
    elif law_name == SequentialLCP.name and ended in (RESOLVED, TOO_MANY, NO_SOLUTION, INACCURATE):
        outcome = SequentialLCP.outcome_of_record(problem, stages, impulse, ended)
    elif law_name == MaximumDissipation.name and ended == 0:
        row = stages[0]
        steps = int(row[2]) if row.size > 2 else 0  # the first recordings have none
        info = {"residual": float(row[0]), "sweeps": int(row[1]), "newton_steps": steps}
        outcome = ImpactOutcome.from_stages(problem, impulse[None], ("simultaneous impact",), info=info)
    else:
        raise ValueError(
            f"law: expected one that is compiled, and a code that it has, got {law_name!r} and {code}"
        )
    return _as_it_was(problem, outcome, impulse, code)


def _refuse_contacts(stages: Array, count: int) -> None:
    """ValueError where the first column of a record is not the numbers of so many contacts."""
    named = stages[:, :1].ravel()
    wrong = ~((named >= 0.0) & (named < count) & (named == np.floor(named)))
    if wrong.any():
        raise ValueError(
            f"stage_log: expected the number of one of {count} contacts, got {named[wrong][0]:g}"
        )


def _as_it_was(problem: ImpactProblem, outcome: ImpactOutcome, impulse: Array, code: int) -> ImpactOutcome:
    """An outcome with the impulse, to the last bit, and the verdict that were noted."""
    status, message = outcome.status, outcome.message
    if code >= VERDICT:
        approaches = code - VERDICT == APPROACHES
        status = ImpactStatus.INACCURATE if approaches else ImpactStatus.ENERGY_GAINED
        message = "a contact still approaches after the impact" if approaches else "kinetic energy would grow"
    elif code == 0:
        status, message = ImpactStatus.RESOLVED, ""
    if len(outcome.path) > 1:
        outcome.path.impulse[-1] = impulse
    velocity = problem.u + problem.W @ impulse
    return replace(outcome, impulse=impulse, velocity=velocity, status=status, message=message)
