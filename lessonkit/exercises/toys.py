"""What every toy of an exercise has: its text as code, chance from its own seed, no insides.

Not in the paper. A toy is small enough that every right answer is known; `toy_models` has those
that several lessons use.
"""

import copy
import inspect
import os
from typing import Any, ClassVar

from lessonkit.exercises.array_libraries import Module
from lessonkit.exercises.compare import format_value

# Added to the seeds of all cases; `python -m lessonkit grade` sets it.
CASE_SEED_SHIFT = int(os.environ.get("LESSONKIT_SHIFT", "0"))
# Special methods of a toy that an answer may call, besides the methods with a plain name.
ALLOWED_SPECIAL_METHODS = ("__call__", "__len__", "__getitem__")


class BaseToy:
    """Written as a lesson would write it, where `ex` is the lesson's module of exercises.

    An answer sees its methods alone (see `restrict_to_methods`): its attributes may be what is
    asked for.
    """

    visible: ClassVar[tuple[str, ...]] = ()  # attributes that an answer may see too

    def __repr__(self) -> str:
        names = inspect.signature(type(self)).parameters
        arguments = ", ".join(format_value(getattr(self, name)) for name in names)
        return f"ex.{type(self).__name__}({arguments})"


def restrict_to_methods(value: Any) -> Any:
    """Return what an answer may see of a toy: its methods. Anything else is returned as it is."""
    if not isinstance(value, BaseToy) or isinstance(value, Module):
        return value

    def forwarded(method: Any) -> Any:
        return lambda _, *args, **options: method(*args, **options)

    kind = type(value)
    names = [name for name, member in vars(kind).items() if inspect.isfunction(member)]
    members: dict[str, Any] = {
        name: forwarded(getattr(value, name))
        for name in names
        if name in ALLOWED_SPECIAL_METHODS or not name.startswith("_")
    }
    members |= {name: getattr(value, name) for name in kind.visible}
    members["__deepcopy__"] = lambda _, memo: restrict_to_methods(copy.deepcopy(value, memo))
    members["__repr__"] = lambda _: f"<ex.{kind.__name__}>"
    return type(kind.__name__, (), members)()
