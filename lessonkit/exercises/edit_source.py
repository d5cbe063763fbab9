"""Functions and classes with their source text changed: how a named mistake is made.

Not in the paper.
"""

import inspect
import sys
import textwrap
from collections.abc import Sequence
from typing import Any


def redefine_with_edits(definition: Any, *edits: str) -> Any:
    """Return a function or class with its text changed.

    Args:
        definition: The function or class.
        edits: An old text, which it has exactly once, and the new one; perhaps more such pairs.
    """
    source = textwrap.dedent(inspect.getsource(definition))
    source = apply_edits(definition.__name__, source, edits)
    names = dict(vars(sys.modules[definition.__module__]))
    exec(compile(source, "<edited>", "exec"), names)
    return names[definition.__name__]


def apply_edits(name: str, source: str, edits: Sequence[str]) -> str:
    """Return the text of what has a name with its edits, as `redefine_with_edits` takes them.

    Raises:
        ValueError: An old text does not stand there exactly once.
    """
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if source.count(old) != 1:
            raise ValueError(f"{old!r} stands {source.count(old)} times in {name}, not once")
        source = source.replace(old, new)
    return source
