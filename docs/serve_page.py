"""Serve the live page on this computer: `python docs/serve_page.py [--folder FOLDER] [PORT]`.

`make live` calls it. It needs the standard library alone. A port that is taken is told in one line,
with the remedy. Text is compressed on its way, as GitHub Pages compresses it.
"""

import argparse
import gzip
import io
import json
import shutil
import sys
from collections.abc import Collection
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from engines import int8_weights  # noqa: E402

PORT = 8000
FREE_PORTS = range(1024, 65536)  # those that need no administrator
LIVE, MODELS, BUILT = ROOT / "docs" / "live", ROOT / "data" / "models", ROOT / "build" / "live"
MODEL_LIST = "models.json"
GZIP_TYPES = ("text/", "application/json", "application/javascript", "image/svg")


def lay_out_page(folder: Path, names: Collection[str] | None = None) -> None:
    """Lay out the course's page in a folder: links to its files, and its models in 8 bits.

    Args:
        folder: Where; what it holds of an earlier layout is used again where it is still right.
        names: The models; those that the page's list offers by default.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in LIVE.iterdir():
        link = folder / path.name
        link.unlink(missing_ok=True)
        link.symlink_to(path)
    models = folder / "models"
    if models.is_symlink():
        models.unlink()
    if names is None:
        names = json.loads((LIVE / MODEL_LIST).read_text("utf-8"))["models"]
    for name in names:
        source, written = MODELS / name, models / name
        made_of = (*source.iterdir(), Path(int8_weights.__file__))
        # The manifest is written last.
        if not _is_newer(written / int8_weights.MANIFEST, made_of):
            shutil.rmtree(written, ignore_errors=True)
            int8_weights.write_int8_model(source, written)


def _is_newer(file: Path, others: Collection[Path]) -> bool:
    """Return whether a file is there, and was written after the others."""
    if not file.is_file():
        return False
    return file.stat().st_mtime_ns > max(other.stat().st_mtime_ns for other in others)


class PageHandler(SimpleHTTPRequestHandler):
    """Serves files over connections that stay open, and text compressed."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a reply waits for the last one's receipt

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        """Send what stands before a file; return its content, compressed where it is text."""
        name = self.translate_path(self.path)
        path = Path(name, "index.html") if name.endswith("/") else Path(name)
        kind = self.guess_type(path)
        takes_gzip = "gzip" in self.headers.get("Accept-Encoding", "")
        if not (takes_gzip and kind.startswith(GZIP_TYPES) and path.is_file()):
            return super().send_head()
        content = gzip.compress(path.read_bytes(), compresslevel=6)
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Last-Modified", self.date_time_string(path.stat().st_mtime))
        self.end_headers()
        return io.BytesIO(content)


def main(folder: Path | None, port: int) -> int:
    """Serve until Ctrl-C; return the exit status."""
    if folder is not None and not folder.is_dir():
        print(f"{folder} is no folder: give the page's", file=sys.stderr)
        return 2
    if folder is None:
        lay_out_page(BUILT)
    handler = partial(PageHandler, directory=str(folder or BUILT))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except (OSError, OverflowError) as error:
        other = port + 1 if port + 1 in FREE_PORTS else PORT
        print(
            f"Port {port} cannot be served ({error}): end what runs there, or take another: "
            f"make live ARGS={other}",
            file=sys.stderr,
        )
        return 2
    with server:
        print(f"The page is at http://localhost:{server.server_port}; Ctrl-C ends it.", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve the live page on this computer.")
    parser.add_argument("--folder", type=Path, help="serve this folder instead")
    parser.add_argument("port", type=int, nargs="?", default=PORT)
    options = parser.parse_args()
    sys.exit(main(options.folder, options.port))
