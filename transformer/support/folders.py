"""Where the course's files lie, in a checkout and in an installed package (no torch in here)."""

import glob
import os
import re
from pathlib import Path

from transformer.support.errors import UserError
from transformer.support.signatures import check_argument_types

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
TEXT_CACHE_VARIABLE = "TRANSFORMER_TEXT_CACHE"  # names another folder
# The user may keep other files in that folder.
TEXT_CACHE_NAME_END = r"\.[0-9a-f]{16}\.(arrays|tokenizers\.json)$"
CARD_FILE_NAME = "card.json"  # in the folder of every shipped model; `experiments.ship` makes it


def checkout_root() -> Path | None:
    """Return the root of the checkout that the package is part of; None once it is installed."""
    root = PACKAGE_FOLDER.parent
    return root if (root / "pyproject.toml").is_file() else None


def require_checkout_root() -> Path:
    """Return the root of the checkout; a UserError in an installed package."""
    root = checkout_root()
    if root is None:
        reason = "is an installed package, and what the course keeps is made in its repository"
        raise UserError(f"{PACKAGE_FOLDER} {reason}: clone the repository, and run this there")
    return root


def course_data_folder() -> Path:
    """Return the checkout's data/, or what the wheel has in its place."""
    root = checkout_root()
    return root / "data" if root else PACKAGE_FOLDER / "_data"


def embedded_corpus_folder() -> Path:
    """Return the folder of the embedded corpus."""
    return course_data_folder() / "corpus"


def models_folder() -> Path:
    """Return the folder of shipped models."""
    return course_data_folder() / "models"


def course_live_page_folder() -> Path:
    """Return the folder of the page that translates in the browser; a wheel's has no word lists."""
    root = checkout_root()
    return root / "docs" / "live" if root else course_data_folder() / "live"


def licence_file() -> Path:
    """Return the licence of the course's code."""
    root = checkout_root()
    return root / "LICENSE" if root else course_data_folder() / "live" / "LICENSE"


def results_folder() -> Path:
    """Return the folder of recorded runs."""
    return course_data_folder() / "results"


def cache_folder() -> Path:
    """Return the folder of downloads: data/cache of a checkout, else in the user's cache folder."""
    if checkout_root():
        return course_data_folder() / "cache"
    users_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(users_cache) / "attention-course"


def text_cache_folder() -> Path:
    """Return the folder of encoded text: that of `TEXT_CACHE_VARIABLE`, else one in the cache."""
    named = os.environ.get(TEXT_CACHE_VARIABLE)
    return Path(named).expanduser() if named else cache_folder() / "encoded"


def text_cache_files(prefix: str) -> list[Path]:
    """Return the files of encoded text, of any version, whose names begin with `prefix`."""
    paths = text_cache_folder().glob(f"{glob.escape(prefix)}*")
    return [path for path in paths if re.search(TEXT_CACHE_NAME_END, path.name)]


def users_own_data_folder() -> Path:
    """Return the folder of what is the user's own: data/own of a checkout, else among their data.

    Other than the cache, nobody deletes it to make room.
    """
    if checkout_root():
        return course_data_folder() / "own"
    users_data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(users_data) / "attention-course"


def shipped_model_names() -> list[str]:
    """Return the name of every shipped model."""
    return sorted(card.parent.name for card in models_folder().glob(f"*/{CARD_FILE_NAME}"))


@check_argument_types
def find_model_folder(model: str | Path) -> Path:
    """Return the folder of a model: this path, or that of the shipped model of this name.

    A UserError where there is neither.
    """
    if os.path.isdir(model):  # False too where a name is too long
        return Path(model)
    if str(model) in shipped_model_names():
        return models_folder() / str(model)
    raise UserError(
        f"no model folder {str(model)!r}: train one, give the right path, or name a model "
        f"that comes with the course ({', '.join(shipped_model_names()) or 'none'})"
    )
