"""The maintainers' command line: `python -m experiments --help`."""

import sys

from experiments.commands.record import make_parser
from transformer.cli.parser import main

if __name__ == "__main__":
    sys.exit(main(make_parser=make_parser))
