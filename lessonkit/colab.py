"""The course on Google Colab: what its runtime lacks, and where trained models stay.

Not in the paper. The first code cell of every lesson clones the repository there, puts the clone
on Python's path and calls `set_up`. Anywhere else nothing of this is used.
"""

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

from lessonkit.records import RUNS
from transformer.support.errors import UserError
from transformer.support.folders import require_checkout

DRIVE = "drive"  # where Google Drive is mounted: a folder beside the clone
TPU = ("COLAB_TPU_ADDR", "TPU_ACCELERATOR_TYPE")  # set in a runtime that has one
KEPT = "MyDrive/attention-course/runs"  # in it


def on_colab() -> bool:
    """Tell whether this runs in a notebook on Google Colab."""
    return "google.colab" in sys.modules


def set_up(keep_on_drive: bool = False) -> None:
    """Make a Colab runtime ready for the lessons; where it cannot, say why in one line.

    Packages that are there already stay as they are: torch, numpy and IPython are Colab's own.
    A second call changes nothing.

    Args:
        keep_on_drive: Mount Google Drive, and let lessons train there. After a disconnect they
            go on from the last checkpoint.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch reads this as it loads
    if any(name in os.environ for name in TPU):
        print("This runtime has a TPU, which the course cannot use: choose a T4 GPU or a CPU.")
    try:
        install(requirements(require_checkout() / "pyproject.toml"))
        if keep_on_drive:
            os.environ[RUNS] = str(drive_folder())
    except UserError as error:
        print(f"The course is not set up: {error}")


def requirements(pyproject: Path) -> list[str]:
    """Give what the package needs, and what its extra [colab] adds."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["colab"]]


def install(packages: list[str]) -> None:
    """Install what is missing into the running Python.

    Raises:
        UserError: pip failed; its last line says why.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, *packages], capture_output=True, text=True)
    if done.returncode != 0:
        said = (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]
        raise UserError(f"pip could not install its packages ({said}); run this cell again")


def drive_folder() -> Path:
    """Mount Google Drive and give the folder in it that keeps runs.

    Raises:
        UserError: it was not allowed, or cannot be written to.
    """
    place = Path(DRIVE).absolute()
    try:
        importlib.import_module("google.colab.drive").mount(str(place))
        folder = place / KEPT
        folder.mkdir(parents=True, exist_ok=True)
    except Exception as error:  # Colab raises several kinds, none of them documented
        said = " ".join(str(error).split())
        raise UserError(
            f"Google Drive could not be used ({said}); allow it when asked, or set "
            "KEEP_ON_DRIVE to False, and run this cell again"
        ) from error
    return folder
