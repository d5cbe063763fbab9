"""Charts leave matplotlib's settings alone."""

import pkgutil
import subprocess
import sys

import pytest

import lessonkit.charts


@pytest.mark.slow
def test_importing_changes_no_setting_of_matplotlib() -> None:
    modules = pkgutil.walk_packages(lessonkit.charts.__path__, "lessonkit.charts.")
    code = (
        "import importlib, matplotlib\n"
        "show = lambda: repr({k: matplotlib.rcParams._get(k) for k in matplotlib.rcParams})\n"
        "before = show()\n"
        f"for name in {[module.name for module in modules]}:\n"
        "    importlib.import_module(name)\n"
        "    assert show() == before, name\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
