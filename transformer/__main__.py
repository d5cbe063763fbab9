"""The command line: `python -m transformer --help`."""

import sys
from collections.abc import Sequence

from transformer.cli import parser
from transformer.cli.commands import COMMANDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, as `transformer.cli.parser.main`."""
    return parser.main(arguments, parser.make_parser(COMMANDS))


if __name__ == "__main__":
    sys.exit(main())
