"""Training as a command: in the processes that there are, with what it prints and returns."""

import argparse
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_course.status import keep_freed_memory
from transformer.config import Recipe
from transformer.recipes import RECIPES
from transformer.support.errors import EXIT_INTERRUPTED


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

    keep_freed_memory()
    precision = Precision(options.precision) if options.precision else None
    out: Path = options.out or Path("runs") / recipe.name
    resume_command = _resume_command_line(options, "experiments" if more_options else "transformer")
    try:
        with processes.joined_process_group() as device:
            # The other processes would print the same.
            show: Callable[..., None] = print if processes.rank() == 0 else _ignore_report
            if recipe.name not in RECIPES:  # It was chosen by size, or is the user's own.
                show(recipe.about)
            result = train_recipe(
                recipe,
                out,
                resume=options.resume,
                device=device,
                precision=precision,
                micro_tokens=options.micro_tokens,
                compiled=options.compile,
                on_report=show,
                **(more_options(recipe, precision) if more_options else {}),
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
    show(f'try: echo "..." | python -m transformer translate {shlex.quote(str(out))}')
    return 0


def _ignore_report(*_: object) -> None:
    pass


def _resume_command_line(options: argparse.Namespace, package: str) -> str:
    """Return the command that goes on with the run that `options` began."""
    from transformer.support.provenance import launch_command_prefix

    words = list(options.typed)
    if not options.resume:
        words.append("--resume")
    return f"{launch_command_prefix()} -m {shlex.join([package, *words])}"
