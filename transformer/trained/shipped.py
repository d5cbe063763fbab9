"""The models that come with the course, by name: `de-en` is the folder data/models/de-en.

Not in the paper. `transformer.cli.ship` makes such a folder out of a training run.
"""

import hashlib
from pathlib import Path

from transformer.support.errors import UserError
from transformer.support.files import read_json
from transformer.support.paths import models_folder

CARD = "card.json"


def names() -> list[str]:
    """Name every shipped model."""
    return sorted(card.parent.name for card in models_folder().glob(f"*/{CARD}"))


def find_model(model: str | Path) -> Path:
    """Give the folder of a model.

    Args:
        model: A model folder, or the name of a shipped model; a folder of that name wins.

    Raises:
        UserError: there is neither; or a shipped file is not the one its card describes.
    """
    path = Path(model)
    if path.is_dir():
        return path
    if str(model) not in names():
        known = ", ".join(names()) or "none"
        raise UserError(
            f"no model folder {str(model)!r}: train one, give the right path, or name a model "
            f"that comes with the course ({known})"
        )
    folder = models_folder() / str(model)
    for name, wanted in read_json(folder / CARD)["sha256"].items():
        if sha256(folder / name) != wanted:
            raise UserError(
                f"{folder / name} is damaged: its sum is not the one on its card; get it again "
                "with git checkout, or install the package again"
            )
    return folder


def sha256(path: Path) -> str:
    """Give a file's SHA-256 sum in hexadecimal, "" where there is no file."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
