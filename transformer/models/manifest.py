"""The manifest of a model's folder: its files, and the sums of what its weights are read with.

Not in the paper. It lists the recipe and the tokenizers, so that one flipped bit is seen.
Weights carry their own sum (see `checkpoint`), since a run writes them again and again.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from transformer.support.errors import UserError
from transformer.support.files import read_json, write_atomically, write_json

MANIFEST = "manifest.json"
RECIPE = "recipe.json"
SRC_TOKENIZER = "src_tokenizer.json"
TGT_TOKENIZER = "tgt_tokenizer.json"
WEIGHTS = "model.safetensors"
DESCRIBING = (RECIPE, SRC_TOKENIZER, TGT_TOKENIZER)  # all of a model but its weights


def sha256(path: Path) -> str:
    """Give a file's SHA-256 sum in hexadecimal, "" where there is no file."""
    return sum_of(path.read_bytes()) if path.is_file() else ""


def sum_of(content: bytes) -> str:
    """Give the SHA-256 sum of a content in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def replace_listed(folder: Path, name: str, content: bytes) -> None:
    """Write a file and list it; a kill at any moment leaves one that the manifest knows.

    For that the sums of both, the old and the new, are listed while it is replaced.

    Raises:
        UserError: a file cannot be written, or the manifest is damaged.
    """
    sums = read_manifest(folder)
    new = sum_of(content)
    write_manifest(folder, sums | {name: [*sums.get(name, []), new]})
    write_atomically(folder / name, content)
    write_manifest(folder, sums | {name: [new]})


def write_manifest(folder: Path, sums: Mapping[str, Sequence[str]]) -> None:
    """Write which sums each file may have.

    Raises:
        UserError: the file cannot be written.
    """
    write_json(folder / MANIFEST, {"sha256": sums})


def read_manifest(folder: Path) -> dict[str, list[str]]:
    """Read which sums each file may have.

    Raises:
        UserError: the file is missing or damaged.
    """
    values = read_json(folder / MANIFEST)
    sums = values.get("sha256") if isinstance(values, dict) else None
    if not isinstance(sums, dict) or not all(isinstance(each, list) for each in sums.values()):
        raise UserError(f"{folder / MANIFEST} is no manifest of sums: copy the folder again")
    return sums


def check_manifest(folder: Path, names: Sequence[str]) -> None:
    """Refuse a folder of which a file is not the one that was written.

    Args:
        folder: Of the model.
        names: What must be listed; a file that is missing is for its reader to refuse.

    Raises:
        UserError: a file differs or is not listed, or the manifest is missing or damaged.
    """
    sums = read_manifest(folder)
    for name in names:
        if name not in sums:
            raise UserError(f"{folder / MANIFEST} has no sum of {name}: copy the folder again")
        if (folder / name).is_file() and sha256(folder / name) not in sums[name]:
            raise UserError(
                f"{folder / name} is damaged: its sum is not the one in {MANIFEST}; "
                "copy the folder again, or train anew"
            )
