"""The format version in the files of a run, by which later code knows what it reads (no torch)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.support.errors import UserError, short_repr
from transformer.support.files import read_json

FORMAT_KEY = "format"
# Of what this code writes. It goes up with each change that code of before would misread, and what
# reads the file then says which versions it still takes. Files of before there was one have none,
# which counts as 0.
FORMAT_VERSION = 1


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON object, and return it without its format version, which must be a known one."""
    values = read_json(path)
    if not isinstance(values, dict):
        raise UserError(f"{path} is damaged: it holds {short_repr(values)}; copy it again")
    check_format_version(values, path)
    return {key: value for key, value in values.items() if key != FORMAT_KEY}


def check_format_version(values: Mapping[str, Any], path: Path) -> int:
    """Return the format version of what a file holds; a UserError for one of a later version."""
    version = values.get(FORMAT_KEY, 0)
    if type(version) is not int or version < 0:
        raise UserError(f"{path} is damaged: its format is {short_repr(version)}; copy it again")
    if version > FORMAT_VERSION:
        raise UserError(
            f"{path} is of format {version}, of a later version of this course, and this one reads "
            f"formats up to {FORMAT_VERSION}: install a later version"
        )
    return version
