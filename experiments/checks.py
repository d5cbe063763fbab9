"""The checks that need more than `make test` sets up: a browser, npm, Colab's own packages."""

import subprocess
import sys
from typing import NamedTuple

from transformer.support.files import require_checkout

AXE = "axe-core@4.14.1"  # looks for what shuts readers out


class Check(NamedTuple):
    """A script, what it tries, and what it needs besides."""

    about: str
    script: str  # what follows the check's name is passed on to it
    extra: str = ""  # of pyproject.toml, installed first
    npm: str = ""  # a package that npm fetches into .venv/node


CHECKS = {
    "browser": Check(
        "every lesson in JupyterLab in headless Chromium, with the network cut",
        "tests/browser/check_lessons.py",
        "browser",
    ),
    "live": Check(
        "the page that translates, in headless Chromium, with the network cut",
        "tests/live/check_page.py",
        "browser",
        AXE,
    ),
    "site": Check(
        "every page that `make site` built, in headless Chromium",
        "tests/browser/check_site.py",
        "browser",
        AXE,
    ),
    "colab": Check(
        "every lesson as on Colab, with its versions (--python=python3.13)", "docs/colab/check.py"
    ),
}


def run(name: str, arguments: list[str]) -> int:
    """Install what one of `CHECKS` needs, run its script, and give its exit status."""
    root, check = require_checkout(), CHECKS[name]
    if check.extra:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        wanted = ["-c", "constraints.txt", "-e", f".[{check.extra}]"]
        subprocess.run([*pip, *wanted], cwd=root, check=True)
    if check.npm:
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", ".venv/node"]
        subprocess.run([*npm, check.npm], cwd=root, check=True)
    return subprocess.run([sys.executable, check.script, *arguments], cwd=root).returncode
