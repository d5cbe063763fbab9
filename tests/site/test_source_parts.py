"""A module is cut into parts: nothing is lost, and prose stands beside its own code."""

from pathlib import Path

import pytest
from course_site.source_parts import parts

from tests.helpers import ROOT

MODULE = '''"""What it is about."""

import math

# Stands with the function below.
@staticmethod
def first(x):
    """Say one thing.

    Args:
        x: A number.
    """
    return x


def helper(x):
    return math.sqrt(x)


class Second:
    """Say another."""

    size = 3

    def __init__(self):
        self.x = 1

    def method(self):
        """Do it."""
        return self.x
'''


def test_prose_stands_beside_its_own_code() -> None:
    found = parts(MODULE)
    assert [(part.name, part.level) for part in found] == [
        ("", 0),
        ("first", 1),
        ("Second", 1),
        ("Second.method", 2),
    ]
    top, first, second, method = found
    assert (top.prose, top.code) == ("What it is about.", "import math")
    assert first.prose == "Say one thing.\n\nArgs:\n    x: A number."
    assert first.code == (
        "# Stands with the function below.\n@staticmethod\ndef first(x):\n    return x\n\n\n"
        "def helper(x):\n    return math.sqrt(x)"
    )
    assert second.code.startswith("class Second:\n    size = 3\n")
    assert method.code == "def method(self):\n    return self.x"


def test_a_module_without_prose_is_one_part() -> None:
    (only,) = parts("x = 1\n")
    assert (only.name, only.prose, only.code) == ("", "", "x = 1")


@pytest.mark.parametrize("name", ["attention.py", "model.py", "config.py", "data/bpe.py"])
def test_the_code_of_all_parts_is_the_file_without_docstrings(name: str) -> None:
    source = (ROOT / "transformer" / Path(name)).read_text(encoding="utf-8")
    found = parts(source)
    code = [line for part in found for line in part.lines if line.strip()]
    prose = [line.strip(' "') for part in found for line in part.prose.splitlines()]
    left = [line for line in source.splitlines() if line.strip()]
    for line in code:  # in the file's order
        while left[0] != line:
            assert left[0].strip().strip('"').strip() in [*prose, ""], left[0]
            left.pop(0)
        left.pop(0)
    assert len(code) > len(prose) / 2
