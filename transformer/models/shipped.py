"""The models that come with the course, by name: `de-en` is the folder data/models/de-en.

Not in the paper. `experiments.ship` makes such a folder out of a training run.
"""

from pathlib import Path

from transformer.support.errors import UserError
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
        UserError: there is neither.
    """
    if Path(model).is_dir():
        return Path(model)
    if str(model) in names():
        return models_folder() / str(model)
    known = ", ".join(names()) or "none"
    raise UserError(
        f"no model folder {str(model)!r}: train one, give the right path, or name a model "
        f"that comes with the course ({known})"
    )
