"""What a record says of a model besides its figures: how it was trained, and what measures it."""

from pathlib import Path
from typing import Any

from transformer.models.folder import LOG, RUN, read_recipe
from transformer.support.files import read_json
from transformer.support.folders import find_model_folder
from transformer.support.provenance import provenance
from transformer.training.devices import pick_device
from transformer.training.report import read_log


def load_model_origin(model: str | Path) -> dict[str, Any]:
    """Return a model's recipe, training and log, and the machine and code that measure it."""
    folder = find_model_folder(model)
    return {
        "recipe": read_recipe(folder).to_dict(),
        "training": read_json(folder / RUN),
        "evaluation": provenance(pick_device()),
        "log": read_log(folder / LOG),
    }
