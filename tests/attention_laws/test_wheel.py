"""The laws are a distribution of their own: a wheel that needs torch alone."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.helpers import ROOT


@pytest.mark.slow
def test_the_wheel_has_every_module_and_says_what_it_needs(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "wheel"]
    build = ["--no-deps", "--no-index", "--no-build-isolation", "-w", tmp_path]
    subprocess.run([*pip, *build, ROOT / "attention_laws"], check=True, timeout=120)
    (file,) = tmp_path.glob("attention_laws-*.whl")
    with zipfile.ZipFile(file) as wheel:
        names = set(wheel.namelist())
        meta = {
            name.rpartition("/")[2]: wheel.read(name).decode() for name in names if ".dist" in name
        }
    ours = {str(each.relative_to(ROOT)) for each in (ROOT / "attention_laws").rglob("*.py")}
    assert {name for name in names if ".dist-info" not in name} == ours
    assert [line for line in meta["METADATA"].splitlines() if "Requires-Dist" in line] == [
        "Requires-Dist: torch>=2.6"
    ]
    assert meta["LICENSE"] == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "attention-laws = attention_laws.__main__:main" in meta["entry_points.txt"]
    where = {**os.environ, "PYTHONPATH": str(file)}
    code = (
        "import attention_laws, sys; print(attention_laws.__file__, 'transformer' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=where, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.split() == [f"{file}/attention_laws/__init__.py", "False"]
