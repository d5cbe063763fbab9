"""The course on Google Colab: what its runtime lacks, and where trained models stay.

Not in the paper. The first code cell of every lesson clones the repository there, puts the clone
on Python's path and calls `set_up`. Anywhere else that call does nothing: by then `lessonkit` is
imported, and with it the course's own package `transformer`.
"""

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from lessonkit.records import RUNS_FOLDER_VARIABLE
from transformer.support.errors import UserError
from transformer.support.folders import require_checkout_root

DRIVE_MOUNT_FOLDER = "drive"  # where Google Drive is mounted: a folder beside the clone
TPU_ENVIRONMENT_VARIABLES = ("COLAB_TPU_ADDR", "TPU_ACCELERATOR_TYPE")  # set where there is one
RUNS_FOLDER_ON_DRIVE = "MyDrive/attention-course/runs"  # the runs' folder in it
# The clone holds it, and no package index has it (docs/decisions/two-wheels.md).
LAWS_DISTRIBUTION = "attention-laws"


def is_on_colab() -> bool:
    """Return whether this runs in a notebook on Google Colab."""
    return "google.colab" in sys.modules


def set_up(keep_on_drive: bool = False) -> None:
    """Make a Colab runtime ready for the lessons; print one line that says why if it cannot be.

    Elsewhere it does nothing. Packages that are there already stay as they are: torch, numpy and
    IPython are Colab's own. A second call changes nothing.

    Args:
        keep_on_drive: Mount Google Drive, and let lessons train there. After a disconnect they
            go on from the last checkpoint.
    """
    if not is_on_colab():
        return
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch reads this as it loads
    if any(name in os.environ for name in TPU_ENVIRONMENT_VARIABLES):
        print("This runtime has a TPU, which the course cannot use: choose a T4 GPU or a CPU.")
    try:
        install_packages(read_required_packages(require_checkout_root() / "pyproject.toml"))
        if keep_on_drive:
            os.environ[RUNS_FOLDER_VARIABLE] = str(mount_drive_runs_folder())
    except UserError as error:
        print(f"The course is not set up: {error}")


def read_required_packages(pyproject: Path) -> list[str]:
    """Return what the package needs of an index, and what its extra [colab] adds.

    `attention_laws` is imported from the clone, as the package itself is.
    """
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["colab"]]
    return [line for line in lines if not line.startswith(LAWS_DISTRIBUTION)]


def install_packages(packages: list[str]) -> None:
    """Install what is missing into the running Python.

    Raises:
        UserError: pip failed; its last line says why.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    completed = subprocess.run([*command, *packages], capture_output=True, text=True)
    if completed.returncode != 0:
        output = completed.stderr.strip() or f"status {completed.returncode}"
        reason = output.splitlines()[-1]
        raise UserError(f"pip could not install its packages ({reason}); run this cell again")


def mount_drive_runs_folder() -> Path:
    """Mount Google Drive and return the folder in it that keeps runs.

    Raises:
        UserError: it was not allowed, or cannot be written to.
    """
    mount = Path(DRIVE_MOUNT_FOLDER).absolute()
    try:
        importlib.import_module("google.colab.drive").mount(str(mount))
        folder = mount / RUNS_FOLDER_ON_DRIVE
        folder.mkdir(parents=True, exist_ok=True)
    except Exception as error:  # Colab raises several kinds, none of them documented
        reason = " ".join(str(error).split())
        raise UserError(
            f"Google Drive could not be used ({reason}); allow it when asked, or set "
            "KEEP_ON_DRIVE to False, and run this cell again"
        ) from error
    return folder
