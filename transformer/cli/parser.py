"""The commands and their options, and what runs the one that is typed.

Not in the paper. Only what a command needs is imported, when it runs: help answers at once.
"""

import argparse
import io
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from transformer.cli import commands
from transformer.cli.diagnose import add_diagnose
from transformer.cli.options import Parser, add_beam, add_model, alpha
from transformer.cli.process import check_streams, request_to_end_as_interrupt
from transformer.config import LENGTH_PENALTY
from transformer.recipes.named import RECIPES
from transformer.support.errors import MISTAKE, exit_status


def make_parser() -> argparse.ArgumentParser:
    """Describe the commands and their options."""
    parser = Parser(
        prog="python -m transformer",
        description="Train, use and measure the course's models.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  python -m transformer train demo --out runs/demo
  echo "Ein Hund schläft." | python -m transformer translate de-en
  python -m transformer evaluate runs/demo
--help after a command says more: python -m transformer train --help""",
    )
    parser.add_argument(
        "--traceback", action="store_true", help="show where in the code a command failed"
    )
    actions = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_corpora(actions)
    _add_train(actions)
    _add_translate(actions)
    _add_evaluate(actions)
    _add_export(actions)
    add_diagnose(actions)
    return parser


def main(
    arguments: Sequence[str] | None = None,
    make_parser: Callable[[], argparse.ArgumentParser] = make_parser,
) -> int:
    """Run one command.

    Args:
        arguments: What follows the program's name; None reads `sys.argv`.
        make_parser: Describes the commands.

    Returns:
        The exit status: 0, 1 where `diagnose` finds a law broken, 2 after a user's mistake, 130
        after Ctrl-C or a request to end (SIGTERM), or 70 after a mistake of the course's own.
    """
    if not check_streams():
        return MISTAKE
    typed = sys.argv[1:] if arguments is None else list(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a line at a time; a path as its own bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", line_buffering=True)
    parser = make_parser()
    for word in typed:
        if word.startswith("--") and word.endswith("=--"):  # which argparse takes for no value
            parser.error(f"argument {word[:-3]}: '--' is no value")
    options = parser.parse_args(typed)
    options.typed = typed
    with warnings.catch_warnings(), request_to_end_as_interrupt():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _one_line_each()
        return exit_status(lambda: options.run(options), options.traceback)


def _one_line_each() -> Callable[..., None]:
    """Give a printer of warnings: each text once, in one line, without the place in the code."""
    shown = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            print(f"warning: {text}", file=sys.stderr)
        shown.add(text)

    return show


def _add_corpora(program: "argparse._SubParsersAction[Parser]") -> None:
    corpora = program.add_parser(
        "corpora",
        help="list, fetch and verify the corpora",
        epilog="example: python -m transformer corpora fetch multi30k",
    )
    actions = corpora.add_subparsers(title="actions", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the corpora, with languages, splits and licence")
    listing.set_defaults(run=commands.list_corpora)
    for action, about, run in (
        ("fetch", "download what is missing of a corpus and check its sums", commands.fetch_corpus),
        ("verify", "check the sums of a corpus's files again", commands.verify_corpus),
    ):
        parser = actions.add_parser(
            action,
            help=about,
            description=f"{about[0].upper()}{about[1:]}. Files in the folder that the "
            "environment variable TRANSFORMER_DATA names are used first.",
            epilog=f"example: python -m transformer corpora {action} multi30k",
        )
        parser.add_argument("name", metavar="NAME", help="as `corpora list` shows it")
        parser.set_defaults(run=run)


def _add_train(program: "argparse._SubParsersAction[Parser]") -> None:
    listed = "\n".join(f"  {name:26} {recipe.about}" for name, recipe in RECIPES.items())
    train = program.add_parser(
        "train",
        help="train a recipe and leave a model folder",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Train a recipe. Ctrl-C keeps everything; --resume goes on.",
        epilog=f"""recipes:
{listed}

examples:
  python -m transformer train demo --out runs/demo
  python -m transformer train demo --set src_lang=de --set tgt_lang=en --out runs/german
  python -m transformer train demo --steps 1200 --out runs/demo --resume""",
    )
    add_train_options(train)
    train.set_defaults(run=commands.train_model)


def add_train_options(train: Parser) -> None:
    """Give `train` its options."""
    train.add_argument("recipe", metavar="RECIPE", help="one of the recipes below")
    train.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting of the recipe, for example d_model=256; may be given again",
    )
    train.add_argument("--steps", type=int, metavar="N", help="updates, instead of the recipe's")
    train.add_argument("--out", type=Path, metavar="DIR", help="model folder (runs/RECIPE)")
    train.add_argument("--resume", action="store_true", help="go on with the run in the folder")


def _add_translate(program: "argparse._SubParsersAction[Parser]") -> None:
    translate = program.add_parser(
        "translate",
        help="translate standard input, one sentence a line",
        description="Translate standard input (UTF-8), one sentence a line; "
        "an empty line stays empty.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  echo "The dog sleeps." | python -m transformer translate runs/demo --attention dog.png
  python -m transformer translate runs/demo --beam 1 < sentences.txt > translations.txt""",
    )
    add_model(translate)
    add_beam(translate)
    translate.add_argument(
        "--weights",
        type=Path,
        metavar="FILE",
        help="of an earlier step, instead of the final ones, as "
        "runs/demo/checkpoints/step_000500.safetensors",
    )
    translate.add_argument(
        "--attention",
        type=Path,
        metavar="FILE",
        help="write the attention weights too: every one as .json, or, of one sentence, "
        "the cross-attention as a picture, .png",
    )
    translate.add_argument(
        "--refuse-long",
        action="store_true",
        help="stop at a sentence longer than the model takes, instead of cutting it short",
    )
    translate.set_defaults(run=commands.translate_lines)


def _add_evaluate(program: "argparse._SubParsersAction[Parser]") -> None:
    evaluate = program.add_parser(
        "evaluate",
        help="measure a model: BLEU, chrF, perplexity, as JSON",
        description="Measure a model on a split of a corpus, and print the figures as JSON.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  python -m transformer evaluate runs/demo --split test_long --beam 1
  python -m transformer evaluate runs/demo --split validation --alpha 1
  python -m transformer evaluate runs/demo --record figures.json""",
    )
    add_model(evaluate)
    evaluate.add_argument("--corpus", metavar="NAME", help="instead of the one it was trained on")
    evaluate.add_argument("--split", metavar="NAME", help="instead of the corpus's first test set")
    add_beam(evaluate)
    evaluate.add_argument(
        "--alpha",
        type=alpha,
        default=LENGTH_PENALTY,
        metavar="A",
        help=f"of the length penalty; more makes translations longer ({LENGTH_PENALTY})",
    )
    evaluate.add_argument(
        "--record", type=Path, metavar="FILE", help="write the figures with the run's origin too"
    )
    evaluate.set_defaults(run=commands.evaluate_model)


def _add_export(program: "argparse._SubParsersAction[Parser]") -> None:
    export = program.add_parser(
        "export",
        help="write a model for another engine: CTranslate2 or ONNX",
        description="Write a model into a folder that another engine serves without the course: "
        "its weights, tokenizers that treat the text, a translate.py to begin with, and a README. "
        "CTranslate2 searches with beams; the ONNX graphs are one step of decoding, with a cache.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  python -m transformer export runs/demo --to ctranslate2
  python -m transformer export de-en --to onnx --out served""",
    )
    add_model(export)
    export.add_argument(
        "--to", required=True, choices=("ctranslate2", "onnx"), help="the engine", metavar="ENGINE"
    )
    export.add_argument(
        "--out", type=Path, metavar="DIR", help="folder to make (runs/MODEL-ENGINE)"
    )
    export.set_defaults(run=commands.export_folder)
