"""Training as a command: in the processes that there are, with what it prints and returns."""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_course.command_table import PROGRAM_NAME
from attention_course.options import parse_settings
from attention_course.status import keep_freed_memory
from transformer.config import Recipe
from transformer.data.own_corpora import own_corpus_names
from transformer.recipes import RECIPES
from transformer.support.errors import EXIT_INTERRUPTED, UserError
from transformer.support.folders import find_model_folder


def train_with_options(
    recipe: Recipe,
    options: argparse.Namespace,
    more_options: Callable[..., dict[str, Any]] | None = None,
) -> int:
    """Train a recipe with the options that were typed, print how it went, and return a status.

    `more_options` returns what else `train_recipe` takes, for a recipe and a precision.
    """
    from transformer.models.folder import holds_run
    from transformer.training import processes
    from transformer.training.devices import Precision
    from transformer.training.recipe import train_recipe

    if options.start_from is not None:
        recipe = _fit_to_start_model(recipe, options)
    keep_freed_memory()
    precision = Precision(options.precision) if options.precision else None
    out: Path = options.out or Path("runs") / recipe.name
    program = "python -m experiments" if more_options else PROGRAM_NAME
    resume_command = _resume_command_line(options, program)
    try:
        with processes.joined_process_group() as device:
            # The other processes would print the same.
            show: Callable[..., None] = print if processes.rank() == 0 else _ignore_report
            if recipe.name not in RECIPES:  # It was chosen by size, or is the user's own.
                show(recipe.about)
            more = more_options(recipe, precision) if more_options else {}
            given = _arguments_of_options(options) | more
            result = train_recipe(
                recipe, out, device=device, precision=precision, on_report=show, **given
            )
    except KeyboardInterrupt:
        if not holds_run(out):
            raise
        again = f"go on from what was last saved with: {resume_command}"
        print(f"stopped at once; {again}", file=sys.stderr)
        return EXIT_INTERRUPTED
    if result.interrupted:
        show(f"stopped after step {result.step}, all is kept; go on with: {resume_command}")
        return EXIT_INTERRUPTED
    show(result)
    show(f'try: echo "..." | {PROGRAM_NAME} translate {shlex.quote(str(out))}')
    return 0


def _arguments_of_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `train_recipe` that are options of the command as well."""
    return {
        "resume": options.resume,
        "micro_tokens": options.micro_tokens,
        "start_from": options.start_from,
        "compiled": options.compile,
        "cuda_graphs": options.cuda_graphs,
    }


def _fit_to_start_model(recipe: Recipe, options: argparse.Namespace) -> Recipe:
    """Return a recipe with the network of --start-from where its size was not the user's choice.

    A UserError where the model does not fit what was typed.
    """
    from transformer.models.folder import read_recipe
    from transformer.training.start_model import (
        VOCABULARY_SETTINGS,
        require_same_network,
        with_network_of,
    )

    start = read_recipe(find_model_folder(options.start_from))
    typed = parse_settings(options.set, options.steps)
    for name in sorted(typed.keys() & {*VOCABULARY_SETTINGS}):
        raise UserError(
            f"--set {name} is of the vocabularies, which --start-from takes from "
            f"{options.start_from}: leave it out"
        )
    if options.recipe not in RECIPES and options.recipe in own_corpus_names():
        # The recipe was chosen by the size of the text.
        recipe = with_network_of(recipe, start).override(typed)
    require_same_network(str(options.start_from), start.model, recipe.model)
    return recipe


def _ignore_report(*_: object) -> None:
    pass


def _resume_command_line(options: argparse.Namespace, program: str) -> str:
    """Return the command that goes on with the run that `options` began."""
    from transformer.support.provenance import add_torchrun_prefix

    words = list(options.typed)
    if not options.resume:
        words.append("--resume")
    return add_torchrun_prefix(f"{program} {shlex.join(words)}")
