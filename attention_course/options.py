"""The options that commands share, and how what is typed after them is read."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transformer.config import BEAM_SIZE, LENGTH_PENALTY
from transformer.support.errors import UserError
from transformer.support.folders import shipped_model_names

# The names of `training.devices.Precision`, which would load torch.
PRECISION_NAMES = ("float32", "tf32", "bf16", "fp16")
AUTO_MICRO_TOKENS_SENTINEL = 0  # the value of `--micro-tokens auto`

OptionAdder = Callable[[argparse.ArgumentParser], object]


def option_adder(name: str, metavar: str | None, help_text: str, **settings: Any) -> OptionAdder:
    """Return what adds an option to a parser; without a metavar it is a flag.

    `settings` are those of `argparse.ArgumentParser.add_argument`.
    """
    settings |= {"metavar": metavar} if metavar else {"action": "store_true"}
    return lambda parser: parser.add_argument(name, help=help_text, **settings)


def parse_micro_tokens(text: str) -> int:
    """Read a number of tokens, or "auto"."""
    if text == "auto":
        return AUTO_MICRO_TOKENS_SENTINEL
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text}: give 1 or more, or auto")
    return int(text)


def parse_path(text: str) -> Path:
    """Read a path; an empty text, which `Path` takes for the current folder, is none."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty: give the name of a file or folder")
    return Path(text)


def parse_settings(pairs: Sequence[str], steps: int | None) -> dict[str, str]:
    """Read `KEY=VALUE` strings, and the value of --steps, into one mapping."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--set {pair}: give KEY=VALUE, for example d_model=256")
        settings[key.strip()] = value.strip()
    if steps is not None:
        settings["steps"] = str(steps)
    return settings


MODEL_HELP = f"a model folder, or a shipped model: {', '.join(shipped_model_names())}"
add_model_argument = option_adder("model", "MODEL", MODEL_HELP)
add_beam_option = option_adder(
    "--beam",
    "K",
    f"beam size; 1 is greedy search (default: {BEAM_SIZE})",
    type=int,
    default=BEAM_SIZE,
)
add_alpha_option = option_adder(
    "--alpha",
    "A",
    f"exponent of the length penalty; a larger one favours longer translations "
    f"(default: {LENGTH_PENALTY})",
    type=float,
    default=LENGTH_PENALTY,
)
add_start_from_option = option_adder(
    "--start-from",
    "MODEL",
    "begin with the weights and vocabularies of a trained model: its folder, or a shipped "
    "model's name",
)
TRAIN_OPTION_ADDERS = (
    option_adder(
        "recipe", "RECIPE", "one of the recipes below, a .toml file, or a corpus of your own"
    ),
    option_adder(
        "--set",
        "KEY=VALUE",
        "change a setting of the recipe, for example d_model=256; may be repeated",
        action="append",
        default=[],
    ),
    option_adder("--steps", "N", "number of updates, instead of the recipe's", type=int),
    option_adder("--out", "DIR", "model folder (default: runs/RECIPE)", type=parse_path),
    add_start_from_option,
    option_adder("--resume", None, "continue the run in the model folder"),
    option_adder(
        "--precision",
        "P",
        f"precision of matrix products: {', '.join(PRECISION_NAMES)}; by default the fastest that "
        "the hardware has",
        choices=PRECISION_NAMES,
    ),
    option_adder(
        "--micro-tokens",
        "N",
        "maximum tokens of a micro-batch, or auto for as many as memory holds; the recipe says how "
        "many a step has",
        type=parse_micro_tokens,
    ),
    option_adder(
        "--compile", None, "run the model through torch.compile: its first steps are slow"
    ),
    option_adder(
        "--cuda-graphs",
        None,
        "record a GPU's steps as CUDA graphs and replay them: for small models; not yet run on a "
        "GPU",
    ),
)
