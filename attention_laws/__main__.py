"""The command `attention-laws my_model:make` as a process (not in the paper)."""

import warnings
from typing import NoReturn

from attention_laws.signals import run_and_exit


def main() -> NoReturn:
    """Run the command that was typed, and end this process with its status."""
    run_and_exit(_run_typed_command)


def _run_typed_command() -> int:
    # PyTorch warns of it as it is imported, and the laws need none.
    warnings.filterwarnings("ignore", "Failed to initialize NumPy", UserWarning)
    # Ctrl-C is minded before this is imported.
    from attention_laws.command_line import main

    return main()


if __name__ == "__main__":
    main()
