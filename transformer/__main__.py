"""The command line: `python -m transformer --help`."""

import sys

from transformer.cli.parser import main

if __name__ == "__main__":
    sys.exit(main())
