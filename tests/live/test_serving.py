"""`make live`: the folder is served, and a port that is taken is told with a remedy."""

import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

from tests.helpers import ROOT

SERVE = [sys.executable, str(ROOT / "docs" / "serve_page.py")]


def test_a_folder_is_served_and_a_taken_port_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("here")
    with subprocess.Popen([*SERVE, tmp_path, "0"], stdout=subprocess.PIPE, text=True) as served:
        try:
            assert served.stdout is not None
            address = served.stdout.readline().split(" at ")[1].partition(";")[0]
            with urlopen(f"{address.replace('localhost', '127.0.0.1')}/a.txt") as page:
                assert page.read() == b"here"
        finally:
            served.terminate()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = subprocess.run([*SERVE, tmp_path, port], capture_output=True, text=True, check=False)
    assert told.returncode == 2
    (line,) = told.stderr.splitlines()
    assert port in line
    assert f"ARGS={int(port) + 1}" in line


def test_what_is_no_folder_is_told(tmp_path: Path) -> None:
    told = subprocess.run(
        [*SERVE, tmp_path / "none", "0"], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert len(told.stderr.splitlines()) == 1
