"""Where the course's own files lie, in a checkout or inside an installed package."""

from pathlib import Path

from transformer.support.errors import UserError

CARD = "card.json"  # of every shipped model; `experiments.ship` makes its folder
PACKAGE = Path(__file__).resolve().parents[1]


def checkout() -> Path | None:
    """Give the root of the checkout that the package is part of; None once it is installed."""
    root = PACKAGE.parent
    return root if (root / "pyproject.toml").is_file() else None


def require_checkout() -> Path:
    """Give the root of the checkout, where records, figures and shipped models are made.

    Raises:
        UserError: this is an installed package.
    """
    root = checkout()
    if root is None:
        raise UserError(
            f"{PACKAGE} is an installed package, and what the course keeps is made in its "
            "repository: clone the repository, and run this there"
        )
    return root


def data_folder() -> Path:
    """Give the checkout's data/, or what the wheel has in its place."""
    root = checkout()
    return PACKAGE / "_data" if root is None else root / "data"


def corpus_folder() -> Path:
    """Give the folder of the embedded corpus."""
    return data_folder() / "corpus"


def models_folder() -> Path:
    """Give the folder of shipped models."""
    return data_folder() / "models"


def results_folder() -> Path:
    """Give the folder of recorded runs."""
    return data_folder() / "results"


def cache_folder() -> Path:
    """Give the folder of downloads: data/cache of a checkout, else the user's cache folder."""
    root = checkout()
    if root is not None:
        return root / "data" / "cache"
    import pooch

    return Path(pooch.os_cache("attention-course"))


def model_names() -> list[str]:
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
    if str(model) in model_names():
        return models_folder() / str(model)
    known = ", ".join(model_names()) or "none"
    raise UserError(
        f"no model folder {str(model)!r}: train one, give the right path, or name a model "
        f"that comes with the course ({known})"
    )
