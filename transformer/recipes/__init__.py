"""The named recipes: `python -m transformer train NAME` (no torch in here).

They stand in ours.toml and earlier_systems.toml beside this file. A recipe that is `like` another
takes over its settings, but for those that it sets itself; with a network of another kind it takes
over nothing of the model.
"""

import tomllib
from pathlib import Path
from typing import Any

from transformer.config import SECTIONS, Recipe
from transformer.support.errors import unknown_name


def _read_tables(name: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


OURS = _read_tables("ours.toml")
EARLIER = _read_tables("earlier_systems.toml")
TABLES = OURS | EARLIER


def _complete(own: dict[str, Any]) -> dict[str, Any]:
    """Return a recipe's table together with what it takes over from another."""
    if "like" not in own:
        return own
    base = _complete(TABLES[own["like"]])
    table = base | own
    del table["like"]
    for section in SECTIONS:
        table[section] = base[section] | own.get(section, {})
    if table["network"] != base["network"]:
        table["model"] = own.get("model", {})
    return table


RECIPES = {name: Recipe.from_dict({"name": name} | _complete(TABLES[name])) for name in TABLES}
SYSTEMS = [RECIPES[name] for name in EARLIER]  # the five that this course grew from


def find_recipe(name: str) -> Recipe:
    """Return the recipe of this name; a UserError names the nearest one."""
    if not isinstance(name, str) or name not in RECIPES:
        raise unknown_name("recipe", name, RECIPES)
    return RECIPES[name]
