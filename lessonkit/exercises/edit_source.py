"""Functions and classes with their source text changed: how a named mistake is made.

Not in the paper.
"""

import inspect
import sys
import textwrap
from typing import Any


def redefine_with_edits(definition: Any, *edits: str) -> Any:
    """Return a function or class with its text changed.

    Args:
        definition: The function or class.
        edits: An old text, which it has exactly once, and the new one; perhaps more such pairs.
    """
    source = textwrap.dedent(inspect.getsource(definition))
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        if source.count(old) != 1:
            times = source.count(old)
            raise ValueError(f"{old!r} stands {times} times in {definition.__name__}, not once")
        source = source.replace(old, new)
    names = dict(vars(sys.modules[definition.__module__]))
    exec(compile(source, "<edited>", "exec"), names)
    return names[definition.__name__]
