"""Serves a folder from this computer, for pages that a browser opens there.

Not a script: the checks of pages use it.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it: the terminal is the check's."""

    def log_message(self, format: str, *arguments: object) -> None:
        """Write nothing."""


class QuietServer(ThreadingHTTPServer):
    """Serves on when a browser goes away before it has all that it asked for."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, unless the browser is gone."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served_folder(folder: Path, handler: type[QuietHandler] = QuietHandler) -> Iterator[str]:
    """Serve a folder, and yield its address, without a slash at the end."""
    server = QuietServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
