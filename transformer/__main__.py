"""The command line, `python -m transformer --help`; its room is attention_course/."""

import sys


def main() -> int:
    """Run what was typed (see `attention_course.__main__.main`)."""
    from attention_course.__main__ import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
