"""The named recipes: `python -m transformer train NAME` (no torch in here).

They stand in ours.toml and earlier_systems.toml beside this file. A recipe that is `like` another
has its settings, but for those that it gives itself; where its network is of another kind it has
none of that one's model.
"""

import tomllib
from pathlib import Path
from typing import Any

from transformer.config import SECTIONS, Recipe
from transformer.support.errors import unknown_name

OURS, EARLIER = (
    tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    for name in ("ours.toml", "earlier_systems.toml")
)
TABLES = OURS | EARLIER


def _complete(own: dict[str, Any]) -> dict[str, Any]:
    """Give a recipe's table with what it takes over."""
    if "like" not in own:
        return own
    base = _complete(TABLES[own["like"]])
    if own.get("network", base["network"]) != base["network"]:
        base = base | {"model": {}}
    whole = base | {key: value for key, value in own.items() if key != "like"}
    return whole | {name: base[name] | own.get(name, {}) for name in SECTIONS}


RECIPES = {name: Recipe.from_dict({"name": name} | _complete(TABLES[name])) for name in TABLES}
SYSTEMS = [RECIPES[name] for name in EARLIER]  # the five that this course grew from


def find_recipe(name: str) -> Recipe:
    """Give the recipe of this name; a `UserError` gives the nearest one."""
    if not isinstance(name, str) or name not in RECIPES:
        raise unknown_name("recipe", name, RECIPES)
    return RECIPES[name]
