"""The checks that need more than `make test` sets up: a browser, npm, Colab's own packages."""

import subprocess
import sys
from pathlib import Path

AXE = "axe-core@4.14.1"  # looks for what shuts readers out

# A script, the extra of pyproject.toml that it needs, and a package that npm fetches for it.
CHECKS = {
    "browser": ("tests/browser/check_lessons.py", "browser", ""),  # every lesson in JupyterLab
    "live": ("tests/live/check_page.py", "browser", AXE),  # the page that translates
    "site": ("tests/browser/check_site.py", "browser", AXE),  # every page that `make site` built
    "colab": ("docs/colab/check.py", "", ""),  # every lesson as on Colab (--python=python3.13)
}


def run(root: Path, check: str, arguments: list[str]) -> int:
    """Install what one of `CHECKS` needs, run its script, and give its exit status."""
    script, extra, package = CHECKS[check]
    if extra:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        wanted = ["-c", "constraints.txt", "-e", f".[{extra}]"]
        subprocess.run([*pip, *wanted], cwd=root, check=True)
    if package:
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", ".venv/node"]
        subprocess.run([*npm, package], cwd=root, check=True)
    return subprocess.run([sys.executable, script, *arguments], cwd=root).returncode
