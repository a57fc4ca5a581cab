"""A law as plain words and numbers in a recording, from which it is made again without executing anything."""

import json
from dataclasses import fields, is_dataclass
from typing import Any

from ...impact_laws import ImpactLaw, law_by_name, law_names
from ...impact_laws.law import is_of_carom


def law_description(law: ImpactLaw) -> str:
    """JSON of the parameters of one of carom's laws; an empty text for another law, or one with a user's
    function."""
    if not is_of_carom(type(law)) or not is_dataclass(law):
        return ""
    parameters = {field.name: getattr(law, field.name) for field in fields(law)}
    if any(callable(value) for value in parameters.values()):
        return ""
    return json.dumps(parameters, default=_plain)


def described_law(name: str, description: str) -> ImpactLaw | None:
    """The law of that name with these parameters, None where carom knows no such law.

    ValueError where the description is not one of it.
    """
    if name not in law_names() or not description:
        return None
    try:
        parameters = json.loads(description)
        return law_by_name(
            name,
            **{key: tuple(value) if isinstance(value, list) else value for key, value in parameters.items()},
        )
    except (TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"law: {description!r} does not describe {name} ({error})") from None


def _plain(value: Any) -> Any:
    """A number or array of numpy as JSON knows it."""
    return value.tolist()
