"""Files of flat arrays, mapped into memory: a line of JSON, then the arrays (no torch in here).

The line holds a key, which says what the arrays were made of, and a check sum of all else.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer.support.files import write_atomically

FORMAT = "arrays of attention-course, 1"
ALIGNMENT = 64  # bytes; each array begins at a multiple
MAX_HEADER_BYTES = 1 << 20
DTYPES = ("uint16", "uint32", "uint64")


class UnusableFileError(Exception):
    """A file is damaged, or was made of something else; the message says which: "is damaged"."""


def write_array_file(
    path: Path, key: Mapping[str, Any], about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write arrays, what they were made of and something about them; errors as of `files`."""
    layout = {name: [str(array.dtype), len(array)] for name, array in arrays.items()}
    body: list[bytes | memoryview] = []
    for array in arrays.values():
        body += [np.ascontiguousarray(array).data, bytes(-array.nbytes % ALIGNMENT)]
    header = {"format": FORMAT, "key": key, "about": about, "arrays": layout}
    header["sha256"] = _sha256(about, layout, body)
    line = json.dumps(header).encode()
    line += b" " * (-(len(line) + 1) % ALIGNMENT) + b"\n"
    write_atomically(path, line, *body)


def _sha256(about: Any, layout: Any, body: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.sha256(json.dumps([about, layout]).encode())
    for part in body:
        digest.update(part)
    return digest.hexdigest()


def read_array_file(
    path: Path, key: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what a file says of its arrays, and the arrays, mapped into memory.

    Raises:
        OSError: there is no such file, or it cannot be read.
        UnusableFileError: the file is damaged, or its key is another.
    """
    # A pipe would wait.
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        line = file.readline(MAX_HEADER_BYTES)
        if not line:
            raise UnusableFileError("is damaged: it is empty")
        # A plain array: each view of a `memmap` is made by Python code.
        whole = np.asarray(np.memmap(file, dtype=np.uint8, mode="r"))
    try:
        header = json.loads(line)
        about, layout, body = header["about"], header["arrays"], whole[len(line) :]
        is_ours = header["format"] == FORMAT
        is_intact = header["sha256"] == _sha256(about, layout, [body.data])
        made_of = dict(header["key"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnusableFileError("is damaged, or no file of this kind") from error
    if not (is_ours and is_intact):
        raise UnusableFileError("is damaged, or of another format")
    require_same_key(made_of, key)
    return about, _arrays_of_layout(layout, body)


def require_same_key(made_of: Mapping[str, Any], key: Mapping[str, Any]) -> None:
    """Raise an UnusableFileError unless a file was made of what a key holds."""
    now = json.loads(json.dumps(key))
    if changed := [name for name in {**made_of, **now} if made_of.get(name) != now.get(name)]:
        raise UnusableFileError(f"was made with another {', another '.join(changed)}")


def _arrays_of_layout(layout: Mapping[str, Any], body: NDArray[np.uint8]) -> dict[str, Any]:
    """Return views of the arrays in the body of a file whose sum is right."""
    arrays, start = {}, 0
    for name, (dtype, length) in layout.items():
        if dtype not in DTYPES:
            raise UnusableFileError("holds other numbers than ids")
        end = start + length * np.dtype(dtype).itemsize
        arrays[name] = body[start:end].view(dtype)
        start = end + -end % ALIGNMENT
    return arrays
