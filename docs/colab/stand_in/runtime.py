"""Runtimes: an empty folder with one notebook, and a kernel that knows nothing but Colab's Python.

What a lesson fetches from GitHub comes from a repository on this disk: git is told to go there.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from stamping import lessons

from lessonkit.charts import renderer
from stand_in.environment import HERE, Environment

REPO = "stand-in/course"
KERNEL = "colab-stand-in"


class Runtimes:
    """Where runtimes are made.

    Attributes:
        root: The course's repository; what is committed there is what gets cloned.
        folder: Holds the runtimes, the remote repository and the Drive that outlives them.
        environment: The Python of all of them.
    """

    def __init__(self, root: Path, folder: Path, environment: Environment) -> None:
        self.root, self.folder, self.environment = root, folder, environment
        self._remotes = folder / "remotes"
        self.names: list[str] = []

    def prepare(self) -> None:
        """Make the remote repository from what is committed, and name the kernel."""
        shutil.rmtree(self.folder, ignore_errors=True)
        remote = self._remotes / REPO
        self._git("clone", "--quiet", "--bare", str(self.root), str(remote))
        listed = self._git("ls-tree", "--name-only", "HEAD", f"{lessons.FOLDER}/")
        self.names = [Path(line).name for line in listed.splitlines() if line.endswith(".ipynb")]
        spec = self.folder / "jupyter" / "kernels" / KERNEL
        spec.mkdir(parents=True)
        launcher = HERE / "stub" / "colab_kernel.py"
        about = {
            "argv": [str(self.environment.python), str(launcher), "-f", "{connection_file}"],
            "display_name": KERNEL,
            "language": "python",
            "env": self._variables(),
        }
        (spec / "kernel.json").write_text(json.dumps(about), encoding="utf-8")

    def new(self, name: str) -> Path:
        """Make an empty folder; an earlier one of this name is gone, as after a disconnect."""
        folder = self.folder / "runtimes" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def lesson(self, name: str) -> NotebookNode:
        """Return a committed lesson as Colab would open it: stamped, its charts in Colab's form."""
        books = {each: self._committed(each) for each in self.names}
        titles = {each: lessons.title(book) for each, book in books.items()}
        stamped = lessons.stamped(books[name], name, titles, REPO, old=None)
        book = nbformat.reads(lessons.text(stamped), as_version=4)
        for cell in book["cells"]:
            for output in cell.get("outputs", []):
                if renderer.VEGALITE_MIME_TYPE in output.get("data", {}):
                    shown = renderer.to_colab_bundle(output["data"], output["metadata"])
                    output["data"] = nbformat.from_dict(shown)
        return book

    def outside(self) -> dict[str, str]:
        """Return the variables for a program that starts these kernels."""
        own = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        return own | {"JUPYTER_PATH": str(self.folder / "jupyter")}

    def _committed(self, name: str) -> lessons.Notebook:
        book: lessons.Notebook = json.loads(self._git("show", f"HEAD:{lessons.FOLDER}/{name}"))
        return book

    def _variables(self) -> dict[str, str]:
        """Return a kernel's variables: what `make lessons` has, git's way to the remote, Drive."""
        return {
            "COURSE_PROFILE": "quick",
            "OMP_NUM_THREADS": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{self._remotes.as_uri()}/.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://github.com/",
            "STAND_IN_DRIVE": str(self.folder / "drive"),
            "MPLCONFIGDIR": str(self.environment.folder / "matplotlib"),
        }

    def _git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            raise ValueError(f"git {arguments[0]} failed in {self.root}")
        return done.stdout
