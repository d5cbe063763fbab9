"""What a run learns from, known again by a digest, so that it is resumed on the same data.

Not in the paper.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from transformer.data.batches import Example
from transformer.support.errors import UserError
from transformer.support.files import read_json


def fingerprint(examples: Iterable[Example]) -> str:
    """Give a digest of encoded examples: of every id, and of their order (SHA-256, hexadecimal)."""
    digest = hashlib.sha256()
    for src, tgt in examples:
        digest.update(repr((src, tgt)).encode())
    return digest.hexdigest()


def require_same_data(file: Path, given: Mapping[str, str]) -> None:
    """Refuse to go on with other data than a run was begun with.

    Args:
        file: JSON with the digests of the data begun with.
        given: The digests of the data now, by the name of the split.

    Raises:
        UserError: one differs, or the file is missing or damaged.
    """
    saved = read_json(file)
    for split, digest in given.items():
        if not isinstance(saved, dict) or saved.get(split) != digest:
            raise UserError(
                f"the {split} examples are not those that the run was begun with ({file}): "
                "put the corpus and the tokenizers back as they were, or begin in another folder"
            )
