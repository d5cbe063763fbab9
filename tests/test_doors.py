"""Each room's door gives what it names, and opens without loading it."""

import subprocess
import sys

import pytest

import transformer


def test_every_name_of_the_door_is_in_its_module() -> None:
    for module, names in transformer.DOOR.items():
        for name in names:
            found = getattr(transformer, name)
            assert found is getattr(sys.modules[f"transformer.{module}"], name)
    with pytest.raises(AttributeError, match="no attribute 'Transfomer'"):
        transformer.Transfomer  # noqa: B018


def test_a_door_loads_nothing_heavy() -> None:
    code = (
        "import sys, transformer, lessonkit, lessonkit.analysis, lessonkit.charts\n"
        "print({'torch', 'numpy', 'matplotlib', 'altair', 'spacy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
