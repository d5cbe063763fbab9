"""A JupyterLab of its own: a copy of the lessons, no settings of the user's, no network."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
NOWHERE = "http://127.0.0.1:9"  # a port at which nobody answers
START = 90  # seconds a server may take to answer
QUIET = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}
DARK = {"@jupyterlab/apputils-extension:themes": {"theme": "JupyterLab Dark"}}


@contextmanager
def lab(notebooks: list[Path], dark: bool = False) -> Iterator[str]:
    """Serve copies of notebooks from a copy of the checkout's shape, and yield the address to open.

    Args:
        notebooks: Which.
        dark: Whether in JupyterLab's dark theme.

    The copies are new to Jupyter, so it trusts them no more than a stranger's fresh clone, and
    what runs in them changes no file of the checkout. Kernels find a proxy that does not answer.
    """
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _copy(notebooks, folder / "course")
        token = secrets.token_hex(16)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        log = (folder / "lab.log").open("w+")
        server = subprocess.Popen(
            _command(port, token, folder / "course"),
            env=os.environ | _environment(folder, dark),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(server, port, log.name)
            yield f"http://127.0.0.1:{port}/lab/tree/notebooks/{{}}?reset&token={token}"
        finally:
            server.terminate()
            server.wait(timeout=30)
            log.close()


def _copy(notebooks: list[Path], course: Path) -> None:
    """Copy the lessons and the pictures they show; link what else lies in the checkout.

    Jupyter serves no file that a link leads to outside its own folder; kernels may read it.
    """
    (course / "notebooks").mkdir(parents=True)
    for path in notebooks:
        shutil.copy(path, course / "notebooks")
    shutil.copytree(ROOT / "figures", course / "figures")
    for beside in ROOT.iterdir():
        if beside.name not in ("notebooks", "figures") and not beside.name.startswith("."):
            (course / beside.name).symlink_to(beside)


def _command(port: int, token: str, course: Path) -> list[str]:
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    jupyter = shutil.which("jupyter", path=places)
    if jupyter is None:
        sys.exit("The browser check needs JupyterLab: pip install -e '.[course,browser]'")
    return [
        *(jupyter, "lab", "--no-browser", "--allow-root", "--expose-app-in-browser"),
        *(f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--ServerApp.ip=127.0.0.1"),
        *(f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={course}"),
    ]


def _environment(folder: Path, dark: bool) -> dict[str, str]:
    """Return Jupyter empty folders for settings and signatures, and kernels the package."""
    settings = folder / "settings"
    for plugin, values in (QUIET | (DARK if dark else {})).items():
        extension, name = plugin.split(":")
        (settings / extension).mkdir(parents=True, exist_ok=True)
        path = settings / extension / f"{name}.jupyterlab-settings"
        path.write_text(json.dumps(values), encoding="utf-8")
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR")
    return {
        **{place: str(folder / place.lower()) for place in places},
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "COURSE_PROFILE": os.environ.get("COURSE_PROFILE", "quick"),
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
    }


def _wait(server: "subprocess.Popen[bytes]", port: int, log: str) -> None:
    """Wait until the server answers; end the command with its last words if it does not."""
    end = time.monotonic() + START
    while server.poll() is None and time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.5)
    words = Path(log).read_text(encoding="utf-8").splitlines()[-5:]
    sys.exit("\n".join(["JupyterLab did not start. Its last words:", *words]))
