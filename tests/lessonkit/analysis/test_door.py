"""The door: every name that lessons import is there, and what it gives is what its file has."""

import json
import re

import pytest

from lessonkit import analysis
from tests.helpers import ROOT


def test_every_name_is_its_file_s() -> None:
    for name in analysis.__all__:
        assert getattr(analysis, name) is not None
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from lessonkit.analysis import nothing  # noqa: F401


def test_lessons_come_in_by_the_door_and_import_no_experiments() -> None:
    for file in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        code = "".join(
            line for c in cells if c["cell_type"] == "code" for line in [*c["source"], "\n"]
        )
        assert not re.findall(r"(?:from|import) (?:experiments|lessonkit\.analysis\.)", code), (
            file.name
        )
        for names in re.findall(r"from lessonkit\.analysis import \(?([^)]*?)\)?\n(?! )", code):
            assert set(re.findall(r"\w+", names)) <= set(analysis.__all__), file.name
