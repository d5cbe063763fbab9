"""The check of the lessons in a browser says what it needs; it is run by hand, not here."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "browser" / "check_lessons.py"
WITHOUT_PLAYWRIGHT = f"""
import runpy, sys
sys.modules["playwright"] = None
sys.path.insert(0, {str(SCRIPT.parent)!r})
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
"""


def test_without_playwright_one_line_says_how_to_get_it() -> None:
    command = [sys.executable, "-c", WITHOUT_PLAYWRIGHT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("The browser check needs Playwright: pip install -e '.[browser]'")
