"""The command line as a process: `attention-course --help`."""

import sys
from pathlib import Path
from typing import NoReturn


def main() -> NoReturn:
    """Run the command that was typed, and end this process with its status."""
    from transformer.support.signals import run_and_exit

    run_and_exit(_run_typed_command)


def _run_typed_command() -> int:
    # Ctrl-C is minded before this is imported.
    from attention_course.command_line import main

    return main()


if __name__ == "__main__":
    # Python looks in the folder it was started in first; a learner may have a transformer.py there.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main()
