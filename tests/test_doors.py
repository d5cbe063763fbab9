"""Each room's door gives what it names, and opens without loading it."""

import itertools
import json
import re
import sys

import pytest

import lessonkit
import transformer
from lessonkit import analysis, charts
from tests.helpers import ROOT, python


def test_every_name_of_the_door_is_in_its_module() -> None:
    for module, names in transformer.DOOR.items():
        for name in names:
            found = getattr(transformer, name)
            assert found is getattr(sys.modules[f"transformer.{module}"], name)
    for door in (analysis, charts):
        for name in itertools.chain(*door.DOOR.values()):
            assert getattr(lessonkit, name) is getattr(door, name) is not None
    for module, names in lessonkit.DOOR.items():
        for name in names:
            assert getattr(lessonkit, name) is getattr(sys.modules[f"lessonkit.{module}"], name)
    for door in (transformer, lessonkit, analysis, charts):
        with pytest.raises(AttributeError, match=r"has no .*'Transfomer'"):
            door.Transfomer  # noqa: B018


HEAVY = """
import sys, transformer, lessonkit, lessonkit.analysis, lessonkit.charts
from attention_course.__main__ import main
for command in sys.argv[1:]:
    try: main([*command.split(), '--help'])
    except SystemExit: pass
heavy = {'torch', 'numpy', 'matplotlib', 'altair', 'spacy', 'tokenizers'} & set(sys.modules)
print(sorted(heavy), file=sys.stderr)
"""


def test_a_door_and_help_load_nothing_heavy() -> None:
    commands = ["", "corpora", "train", "translate", "evaluate", "export", "diagnose"]
    assert python("-c", HEAVY, *commands).stderr == "[]\n"


def test_lessons_come_in_by_the_door_and_import_no_experiments() -> None:
    for file in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code") + "\n"
        beside = re.findall(r"(?:from|import) (?:experiments|lessonkit\.analysis\.)", code)
        assert not beside, file.name
        for names in re.findall(r"from lessonkit\.analysis import \(?([^)]*?)\)?\n(?! )", code):
            assert set(re.findall(r"\w+", names)) <= set(analysis.__all__), file.name
