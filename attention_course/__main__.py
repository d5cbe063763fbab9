"""The command line as a process: `attention-course --help`."""

from typing import NoReturn

from transformer.support.signals import run_and_exit


def main() -> NoReturn:
    """Run the command that was typed, and end this process with its status."""
    run_and_exit(_run_typed_command)


def _run_typed_command() -> int:
    # Ctrl-C is minded before this is imported.
    from attention_course.command_line import main

    return main()


if __name__ == "__main__":
    main()
