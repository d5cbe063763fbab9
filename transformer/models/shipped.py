"""The models that come with the course, by name: `de-en` is the folder data/models/de-en.

Not in the paper. `experiments.ship` makes such a folder out of a training run.
"""

from pathlib import Path

from transformer.models.manifest import DESCRIBING, WEIGHTS, sha256
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
        if (path / CARD).is_file():
            check_card(path)
        return path
    if str(model) not in names():
        known = ", ".join(names()) or "none"
        raise UserError(
            f"no model folder {str(model)!r}: train one, give the right path, or name a model "
            f"that comes with the course ({known})"
        )
    folder = models_folder() / str(model)
    check_card(folder)
    return folder


def check_card(folder: Path) -> None:
    """Refuse a shipped model of which a file is not the one that its card describes.

    Raises:
        UserError: one is not, or the card has no sum of a file that a model needs.
    """
    remedy = "get it again with git checkout, or install the package again"
    card = read_json(folder / CARD)
    sums = card.get("sha256") if isinstance(card, dict) else None
    needed = {*DESCRIBING, WEIGHTS}
    if not isinstance(sums, dict) or (needed := needed - sums.keys()):
        raise UserError(f"{folder / CARD} has no sum of {min(needed)}: {remedy}")
    for name, wanted in sums.items():
        if sha256(folder / name) != wanted:
            raise UserError(
                f"{folder / name} is damaged: its sum is not the one on its card; {remedy}"
            )
