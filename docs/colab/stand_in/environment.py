"""A Python with Colab's packages and no other: what stands in for a runtime's own."""

import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
VERSION = "3.13"
REQUIREMENTS = HERE / "requirements.txt"
UNTOUCHED = ("torch", "numpy", "ipython")  # what Colab chose, and a course must leave alone


class Environment:
    """A virtual environment that is made once, and put back before each check.

    Attributes:
        folder: Where it lies.
        python: Its interpreter.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.python = folder, folder / "bin" / "python"
        self._frozen = folder / "frozen.txt"  # written last: what it held when it was made

    def make(self, python: str) -> None:
        """Install Colab's packages, unless that has been done with the list as it is.

        Raises:
            ValueError: this is another Python than Colab's, or pip failed.
        """
        if self._frozen.exists() and self._frozen.stat().st_mtime > REQUIREMENTS.stat().st_mtime:
            return
        found = _answer(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
        if found != VERSION:
            raise ValueError(
                f"Colab has Python {VERSION}, and {python} is {found or 'not found'}: "
                f"name one with PYTHON=/path/to/python{VERSION}"
            )
        _answer(python, "-m", "venv", "--clear", str(self.folder))
        self.install("-r", str(REQUIREMENTS))
        self._frozen.write_text("\n".join(self.packages()) + "\n", encoding="utf-8")

    def put_back(self) -> None:
        """Remove what an earlier check has installed.

        Raises:
            ValueError: a package of Colab's is another version now, or gone.
        """
        frozen = set(self._frozen.read_text(encoding="utf-8").split("\n")) - {""}
        names = [line.partition("==")[0].partition(" @")[0] for line in self.packages()]
        had = {line.partition("==")[0] for line in frozen}
        if added := [name for name in names if name not in had]:
            self.pip("uninstall", "--yes", *added)
        if changed := frozen - set(self.packages()):
            raise ValueError(f"{self.folder} has changed ({', '.join(sorted(changed))}): delete it")

    def packages(self) -> list[str]:
        """Return each package with its version, as pip freezes them."""
        return self.pip("freeze").splitlines()

    def versions(self) -> dict[str, str]:
        """Return the versions of what must stay as it is."""
        pairs = (line.partition("==") for line in self.packages())
        return {name: version for name, _, version in pairs if name.lower() in UNTOUCHED}

    def install(self, *what: str) -> None:
        """Install packages."""
        self.pip("install", *what)

    def pip(self, *arguments: str) -> str:
        """Run pip and give what it prints.

        Raises:
            ValueError: it failed; the last line of what it said.
        """
        command = [self.python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True)
        if done.returncode:
            said = (done.stderr.strip() or f"status {done.returncode}").splitlines()[-1]
            raise ValueError(f"pip {arguments[0]} failed: {said}")
        return done.stdout


def _answer(python: str, *arguments: str) -> str:
    """Return what a Python prints; nothing where it is not there."""
    try:
        return subprocess.run([python, *arguments], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""
