"""A recipe for a user's own text by its size, and recipes in files of the user's (no torch)."""

import tomllib
from pathlib import Path
from typing import Any

from transformer.config import RECIPE_SECTIONS, Recipe
from transformer.data import corpora
from transformer.data.own_corpora import num_train_text_bytes, own_corpus_names
from transformer.recipes import RECIPES, find_recipe, inherit_settings
from transformer.support.errors import UserError, require, short_repr, unknown_name_error
from transformer.support.signatures import check_argument_types

SIZE_TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("own_text.toml").read_text(encoding="utf-8")
)
# Before a tokenizer is learned its tokens cannot be counted. Those of the shipped models have 4.7
# bytes in the training text of Multi30k (de-en) and the embedded corpus (en-fr), 3.8 in Tatoeba's.
BYTES_PER_TOKEN = 4


@check_argument_types
def find_recipe_or_corpus(name: str) -> Recipe:
    """Return what `train NAME` trains: a recipe, one in a .toml file, or one for an own corpus.

    A UserError where there is none names the nearest.
    """
    if name in RECIPES:
        return find_recipe(name)
    if name.endswith(".toml"):
        return read_recipe_file(Path(name))
    if name in own_corpus_names():
        return recipe_for_corpus(name)
    raise unknown_name_error("recipe", name, [*RECIPES, *own_corpus_names()])


@check_argument_types
def read_recipe_file(path: Path) -> Recipe:
    """Read a recipe from a TOML file with `like`, `about`, and tables data, model, training.

    It is called as the file is; `like` names one of `RECIPES`, whose settings it takes over.
    """
    require(path.is_file(), f"no recipe file {path}: give the name of a .toml file that is there")
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path} is no TOML: {error}") from error
    for section in RECIPE_SECTIONS:
        message = f"{path}: {section} is {short_repr(table.get(section))}: write [{section}]"
        require(isinstance(table.get(section, {}), dict), message)
    like = table.get("like")
    if like is not None and not (isinstance(like, str) and like in RECIPES):
        unknown_name = unknown_name_error("recipe", like, RECIPES)
        raise UserError(f"{path}: like: {unknown_name}")
    own = {"about": f"the recipe of {path.name}", "network": "transformer"} | table
    if "like" in table and "network" not in table:
        del own["network"]
    try:
        return Recipe.from_dict({"name": path.stem} | inherit_settings(own))
    except UserError as error:
        raise UserError(f"{path}: {error}") from error


@check_argument_types
def recipe_for_corpus(name: str) -> Recipe:
    """Return the recipe for the size of an own corpus, in the direction in which it was added."""
    src_lang, tgt_lang = corpora.find_corpus(name).directions[0].split("-")
    num_tokens = estimate_num_tokens(name)
    size = next(
        size
        for size, table in SIZE_TABLES.items()
        if num_tokens <= table.get("max_tokens", num_tokens)
    )
    table = {key: value for key, value in SIZE_TABLES[size].items() if key != "max_tokens"}
    table["data"] = table["data"] | {"corpus": name, "src_lang": src_lang, "tgt_lang": tgt_lang}
    about = f"{table['about']} ({name}: about {num_tokens:,} tokens)"
    return Recipe.from_dict({"name": name} | inherit_settings(table) | {"about": about})


def estimate_num_tokens(name: str) -> int:
    """Return about how many tokens train of an own corpus has, `BYTES_PER_TOKEN` bytes each."""
    return num_train_text_bytes(name) // BYTES_PER_TOKEN
