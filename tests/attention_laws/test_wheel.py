"""The laws are a distribution of their own: a wheel that needs torch alone."""

import os
import zipfile
from pathlib import Path

import pytest

from tests.helpers import ROOT, python, wheel


@pytest.mark.slow
def test_the_wheel_has_every_module_and_says_what_it_needs(tmp_path: Path) -> None:
    file = wheel(ROOT / "attention_laws", tmp_path)
    with zipfile.ZipFile(file) as made:
        names = set(made.namelist())
        meta = {Path(name).name: made.read(name).decode() for name in names if ".dist" in name}
    ours = {str(each.relative_to(ROOT)) for each in (ROOT / "attention_laws").rglob("*.py")}
    assert {name for name in names if ".dist-info" not in name} == ours
    assert [line for line in meta["METADATA"].splitlines() if "Requires-Dist" in line] == [
        "Requires-Dist: torch>=2.6"
    ]
    assert meta["LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "attention-laws = attention_laws.__main__:main" in meta["entry_points.txt"]
    where = {**os.environ, "PYTHONPATH": str(file)}
    code = "import attention_laws, sys; print(attention_laws, 'transformer' in sys.modules)"
    said = python("-P", "-c", code, env=where, cwd=tmp_path).stdout
    assert f"{file}/attention_laws/__init__.py" in said
    assert said.endswith("False\n")
