"""Both distributions, installed by pip in Colab's Python, whose own packages are left alone."""

import subprocess
from pathlib import Path

from stand_in.environment import Environment

INSTALL = "pip install ./attention_laws '.[colab]'"
NAMES = ("attention-course", "attention-laws")
TRY = """
from transformer.models.translator import Translator
print(Translator.load("demo-en-fr").translate(["The small cat is sleeping in the garden."])[0])
"""


def check(environment: Environment, clone: Path, empty: Path) -> list[str]:
    """Install a clone and translate with it from an empty folder; gives a line for each part.

    Raises:
        ValueError: it cannot be installed or used, or another package has changed.
    """
    before = environment.versions()
    environment.install(f"{clone}/attention_laws", f"{clone}[colab]")
    after = environment.versions()
    done = subprocess.run(
        [environment.python, "-c", TRY], cwd=empty, capture_output=True, text=True
    )
    environment.pip("uninstall", "--yes", *NAMES)
    if before != after:
        raise ValueError(f"{INSTALL} changed {before} to {after}")
    if done.returncode:
        raise ValueError(f"the installed package does not translate: {done.stderr}")
    kept = ", ".join(f"{name} {version}" for name, version in after.items())
    return [f"{INSTALL} left {kept}", f"installed, it says {done.stdout.strip()!r}"]
