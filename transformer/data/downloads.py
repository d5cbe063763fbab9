"""Files of corpora: read from the user's folder or the cache, else downloaded and checked.

Not in the paper. No torch in here.
"""

import hashlib
import os
import sys
import time
from pathlib import Path

from transformer.support.errors import UserError, require
from transformer.support.files import file_sha256, write_atomically
from transformer.support.folders import cache_folder, users_own_data_folder

# The largest file of a corpus has 3 MB. A chunk is small, so that a slow server is noticed in time.
MAX_DOWNLOAD_BYTES = 10**8
MAX_DOWNLOAD_SECONDS = 600
CHUNK_BYTES = 1 << 8


def corpus_files_folder() -> Path:
    """Return the folder of the corpora's files: the user's `TRANSFORMER_DATA`, or the cache."""
    return _folder_in_environment() or cache_folder()


def own_corpora_folder() -> Path:
    """Return the folder of the user's own corpora: `TRANSFORMER_DATA`, or among the user's data."""
    return _folder_in_environment() or users_own_data_folder()


def _folder_in_environment() -> Path | None:
    """Return the folder that `TRANSFORMER_DATA` names, None where it is not set."""
    named = os.environ.get("TRANSFORMER_DATA")
    if not named:
        return None
    folder = Path(named).expanduser()
    message = f"TRANSFORMER_DATA is {named!r}, which is no folder: create it or unset it"
    require(folder.is_dir(), message)
    return folder


def download_if_missing(path: Path, url: str, sha256: str) -> Path:
    """Return the path of a file whose check sum is right, downloaded anew unless it is there.

    A UserError where it cannot be had, or where a wrong one is in the user's own folder, which
    stays as it is.
    """
    remedy = f"put the right file there yourself (its sha256 is {sha256})"
    if has_sha256(path, sha256):
        return path
    is_users_own = path.exists() and os.environ.get("TRANSFORMER_DATA")
    require(not is_users_own, f"{path} is not the publisher's, or damaged: remove it, or {remedy}")
    require(url != "", f"{path} is not there, and nobody offers it for download: {remedy}")
    try:
        content = _download_bytes(url)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise ValueError(f"another file came, of {len(content):,} bytes")
    except (OSError, ValueError) as error:
        folder = url.removesuffix(path.name)
        raise UserError(
            f"cannot get {path} from {folder} ({error}): see to the network (https_proxy "
            f"and REQUESTS_CA_BUNDLE too, where they are set) and try again, or {remedy}"
        ) from error
    write_atomically(path, content)
    return path


def has_sha256(path: Path, sha256: str) -> bool:
    """Return whether a file is there and has this check sum."""
    return path.is_file() and file_sha256(path) == sha256


def _download_bytes(url: str) -> bytes:
    """Return what a URL holds, within bounds of size and time."""
    import requests

    print(f"downloading {url}", file=sys.stderr)
    content = bytearray()
    deadline = time.monotonic() + MAX_DOWNLOAD_SECONDS
    with requests.get(url, stream=True, timeout=30) as response:
        response.raise_for_status()
        for chunk in response.iter_content(CHUNK_BYTES):
            content += chunk
            if len(content) > MAX_DOWNLOAD_BYTES or time.monotonic() > deadline:
                limits = f"over {MAX_DOWNLOAD_BYTES:,} bytes, or {MAX_DOWNLOAD_SECONDS} seconds"
                raise ValueError(limits)
    return bytes(content)
