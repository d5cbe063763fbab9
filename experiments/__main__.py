"""The maintainers' command line: `python -m experiments --help`."""

import sys
from collections.abc import Sequence

from experiments.commands.record import make_parser
from transformer.cli.parser import main as run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; as `transformer.cli.parser.main`, with these commands."""
    return run(arguments, make_parser())


if __name__ == "__main__":
    sys.exit(main())
