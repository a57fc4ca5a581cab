"""A Python program of the user's whose functions members are run by, also where its file does not lie.

Its text travels with the members, so workers need not have the file; what it imports they must have.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

_modules: dict[tuple[str, str], ModuleType] = {}


@dataclass(frozen=True)
class Program:
    """A program, whose text is executed once in each process that needs it.

    path : where it was read
    text : all of it
    """

    path: str
    text: str

    @classmethod
    def read(cls, path: "str | os.PathLike") -> "Program":
        """OSError or ValueError for what cannot be read as text."""
        place = Path(path).resolve()
        return cls(str(place), place.read_text(encoding="utf-8"))

    @property
    def module(self) -> ModuleType:
        """What the program defines; whatever it raises while it is executed."""
        key = self.path, self.text
        if key not in _modules:
            module = ModuleType(f"carom_program_{Path(self.path).stem}")
            module.__file__ = self.path
            folder = str(Path(self.path).parent)
            if folder not in sys.path:
                sys.path.append(folder)  # last: a file named like a module of others must not replace it
            sys.modules[module.__name__] = module
            exec(compile(self.text, self.path, "exec"), module.__dict__)
            _modules[key] = module
        return _modules[key]

    def function(self, name: str) -> Callable[..., Any] | None:
        """A function of the program, or None where it has none of that name."""
        found = getattr(self.module, name, None)
        return found if callable(found) else None


@dataclass(frozen=True)
class ProgramFunction:
    """A function of a program, which travels as its text and name."""

    program: Program
    name: str

    def __call__(self, *arguments: Any) -> Any:
        return getattr(self.program.module, self.name)(*arguments)

    @property
    def label(self) -> str:
        """What tells it from other functions in the file of an ensemble."""
        return f"{Path(self.program.path).name}:{self.name}"
