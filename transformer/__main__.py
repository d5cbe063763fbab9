"""The command line: `python -m transformer --help`."""

import sys
from collections.abc import Sequence

from transformer import cli
from transformer.cli.commands import COMMANDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, as `transformer.cli.main`."""
    return cli.main(arguments, cli.make_parser(COMMANDS))


if __name__ == "__main__":
    sys.exit(main())
