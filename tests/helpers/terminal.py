"""A stream that says it is a terminal, and keeps what is written."""

from io import StringIO


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True
