"""The checks that need more than `make test` sets up: a browser, npm, Colab's own packages."""

import subprocess
import sys
from typing import NamedTuple

from transformer.support.files import require_checkout

AXE = "axe-core@4.14.1"  # looks for what shuts readers out


class Check(NamedTuple):
    """A script and what it needs besides.

    Attributes:
        about: What it tries.
        script: Its file; what follows the check's name is passed on to it.
        extra: Of pyproject.toml, installed first.
        npm: A package that npm fetches into .venv/node.
    """

    about: str
    script: str
    extra: str = ""
    npm: str = ""


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
    """Install what a check needs, and run it.

    Args:
        name: Of `CHECKS`.
        arguments: What its script is given.

    Returns:
        The script's exit status.
    """
    root, check = require_checkout(), CHECKS[name]
    if check.extra:
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        wanted = ["-c", "constraints.txt", "-e", f".[{check.extra}]"]
        subprocess.run([*pip, *wanted], cwd=root, check=True)
    if check.npm:
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", ".venv/node"]
        subprocess.run([*npm, check.npm], cwd=root, check=True)
    return subprocess.run([sys.executable, check.script, *arguments], cwd=root).returncode
