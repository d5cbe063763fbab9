"""`make live`: the page is laid out and served, and a port that is taken is told with a remedy."""

import gzip
import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

from tests.helpers import ROOT, python
from transformer.models.folder import MANIFEST, WEIGHTS
from transformer.support.folders import models_folder

SERVE = [sys.executable, str(ROOT / "docs" / "serve_page.py")]


def test_the_page_is_laid_out_without_a_package_and_a_model_anew_when_it_changed(
    tmp_path: Path,
) -> None:
    """-S leaves out what is installed: `make live` needs Python alone."""
    code = (
        "import sys; sys.path.insert(0, 'docs')\n"
        "from pathlib import Path; from serve_page import lay_out_page\n"
        "lay_out_page(Path(sys.argv[1]), ['demo-fr-en'])"
    )
    model = tmp_path / "page" / "models" / "demo-fr-en"
    python("-S", "-c", code, tmp_path / "page", cwd=ROOT)
    assert (tmp_path / "page" / "js" / "page.js").is_file()
    shipped = models_folder() / "demo-fr-en"
    assert (model / WEIGHTS).stat().st_size < 0.5 * (shipped / WEIGHTS).stat().st_size
    written = (model / MANIFEST).stat().st_mtime_ns
    python("-S", "-c", code, tmp_path / "page", cwd=ROOT)
    assert (model / MANIFEST).stat().st_mtime_ns == written
    os.utime(model / MANIFEST, (0, 0))
    python("-S", "-c", code, tmp_path / "page", cwd=ROOT)
    assert (model / MANIFEST).stat().st_mtime_ns > written


def test_a_folder_is_served_and_a_taken_port_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("here")
    (tmp_path / "index.html").write_text("begin here")
    with subprocess.Popen(
        [*SERVE, f"--folder={tmp_path}", "0"], stdout=subprocess.PIPE, text=True
    ) as served:
        try:
            assert served.stdout is not None
            told_address = served.stdout.readline().split(" at ")[1].partition(";")[0]
            address = told_address.replace("localhost", "127.0.0.1")
            with urlopen(f"{address}/a.txt") as page:
                assert page.read() == b"here"
            for path, content in (("a.txt", b"here"), ("?embed=box", b"begin here")):
                request = Request(f"{address}/{path}", headers={"Accept-Encoding": "gzip"})
                with urlopen(request) as page:
                    assert page.headers["Content-Encoding"] == "gzip"
                    assert gzip.decompress(page.read()) == content
        finally:
            served.terminate()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = subprocess.run(
            [*SERVE, f"--folder={tmp_path}", port], capture_output=True, text=True, check=False
        )
    assert told.returncode == 2
    (line,) = told.stderr.splitlines()
    assert port in line
    assert f"ARGS={int(port) + 1}" in line


def test_what_is_no_folder_is_told(tmp_path: Path) -> None:
    told = subprocess.run(
        [*SERVE, f"--folder={tmp_path / 'none'}", "0"], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert len(told.stderr.splitlines()) == 1
