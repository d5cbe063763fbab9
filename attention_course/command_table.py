"""What a command is, and how a function becomes one.

Not in the paper.
"""

import argparse
from collections.abc import Callable, Sequence

from attention_course.options import OptionAdder

PROGRAM_NAME = "attention-course"

CommandFunction = Callable[
    [argparse.Namespace], int | None
]  # returns the exit status, or None for 0
CommandTable = dict[str, tuple[CommandFunction, Sequence[OptionAdder]]]


def enter_command_in_table(
    table: CommandTable, name: str, *options: OptionAdder
) -> Callable[[CommandFunction], CommandFunction]:
    """Return a decorator that enters a function in a table of commands.

    The function's docstring is the command's help.
    """

    def enter(function: CommandFunction) -> CommandFunction:
        table[name] = function, options
        return function

    return enter
