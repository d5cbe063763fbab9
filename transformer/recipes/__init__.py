"""The named recipes: `attention-course train NAME` (no torch in here).

They stand in ours.toml and earlier_systems.toml beside this file. A recipe that is `like` another
takes over its settings, but for those that it sets itself; with a network of another kind it takes
over nothing of the model.
"""

import tomllib
from pathlib import Path
from typing import Any

from transformer.config import RECIPE_SECTIONS, Recipe
from transformer.support.errors import unknown_name_error
from transformer.support.signatures import check_argument_types


def _read_toml(name: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


COURSE_RECIPE_TABLES = _read_toml("ours.toml")
EARLIER_SYSTEM_RECIPE_TABLES = _read_toml("earlier_systems.toml")
RECIPE_TABLES = COURSE_RECIPE_TABLES | EARLIER_SYSTEM_RECIPE_TABLES


def inherit_settings(own: dict[str, Any]) -> dict[str, Any]:
    """Return a recipe's table together with what it takes over from another."""
    if "like" not in own:
        return own
    base = inherit_settings(RECIPE_TABLES[own["like"]])
    table = base | own
    del table["like"]
    for section in RECIPE_SECTIONS:
        table[section] = base[section] | own.get(section, {})
    if table["network"] != base["network"]:
        table["model"] = own.get("model", {})
    return table


RECIPES = {
    name: Recipe.from_dict({"name": name} | inherit_settings(RECIPE_TABLES[name]))
    for name in RECIPE_TABLES
}
# The five that this course grew from.
EARLIER_SYSTEM_RECIPES = [RECIPES[name] for name in EARLIER_SYSTEM_RECIPE_TABLES]


@check_argument_types
def find_recipe(name: str) -> Recipe:
    """Return the recipe of this name; a UserError names the nearest one."""
    if name not in RECIPES:
        raise unknown_name_error("recipe", name, RECIPES)
    return RECIPES[name]
