"""Serve a folder on this computer: `python docs/serve_page.py FOLDER [PORT]`, for `make live`.

It needs the standard library alone. A port that is taken is told in one line, with the remedy.
"""

import argparse
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PORT = 8000
FREE_PORTS = range(1024, 65536)  # those that need no administrator


def main(folder: Path, port: int) -> int:
    """Serve until Ctrl-C; return the exit status."""
    if not folder.is_dir():
        print(f"{folder} is no folder: give the page's", file=sys.stderr)
        return 2
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
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
    parser = argparse.ArgumentParser(description="Serve a folder on this computer.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("port", type=int, nargs="?", default=PORT)
    options = parser.parse_args()
    sys.exit(main(options.folder, options.port))
