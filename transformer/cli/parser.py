"""What can be typed: the commands and their options, and what runs the one that is.

Not in the paper. Only what a command needs is imported, when it runs: help answers at once.
"""

import argparse
import io
import signal
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from transformer.cli import commands
from transformer.config import BEAM_SIZE, LENGTH_PENALTY
from transformer.recipes.named import RECIPES
from transformer.support.errors import MISTAKE, exit_status, warnings_in_one_line
from transformer.support.paths import model_names

PROGRAM = "python -m transformer"
PRECISIONS = "float32", "tf32", "bf16", "fp16"  # of `training.devices.Precision`, without torch


class Parser(argparse.ArgumentParser):
    """An argument parser that says a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake, and end the program."""
        self.exit(MISTAKE, f"error: {message} (see {self.prog} --help)\n")


def main(
    arguments: Sequence[str] | None = None, parser: argparse.ArgumentParser | None = None
) -> int:
    """Run one command.

    Args:
        arguments: What follows the program's name; None reads `sys.argv`.
        parser: Of other commands than these.

    Returns:
        The exit status: 0, 1 where `diagnose` finds a law broken, 2 after a user's mistake, 130
        after Ctrl-C or a request to end (SIGTERM), or 70 after a mistake of the course's own.
    """
    if sys.stderr is None:  # closed: print would take standard output instead
        sys.stderr = io.StringIO()
    if sys.stdout is None:
        print("error: standard output is closed: give it a place, > out.txt", file=sys.stderr)
        return MISTAKE
    if isinstance(sys.stdout, io.TextIOWrapper):  # a line at a time; a path as its own bytes
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", line_buffering=True)
    typed = sys.argv[1:] if arguments is None else list(arguments)
    parser = parser or make_parser()
    if broken := [word for word in typed if word.startswith("--") and word.endswith("=--")]:
        parser.error(f"{broken[0]}: '--' is no value")  # of which argparse makes none at all
    options = parser.parse_args(typed)
    options.typed = typed
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # `kill` does what Ctrl-C does
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = warnings_in_one_line()
        return exit_status(lambda: options.run(options), options.traceback)


def _listed(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"{title}:", *(f"  {line}" for line in lines)))


def make_parser() -> argparse.ArgumentParser:
    """Describe the commands and their options."""
    examples = (
        f"{PROGRAM} train demo --out runs/demo",
        f'echo "Ein Hund schläft." | {PROGRAM} translate de-en',
        f"{PROGRAM} evaluate runs/demo",
        f"{PROGRAM} train --help",
    )
    parser = Parser(
        prog=PROGRAM,
        description="Train, use and measure the course's models.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_listed("examples", examples),
    )
    parser.add_argument(
        "--traceback", action="store_true", help="show where in the code a command failed"
    )
    program = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_corpora(program)
    _add_train(program)
    _add_translate(program)
    _add_evaluate(program)
    _add_export(program)
    _add_diagnose(program)
    return parser


def _add(
    program: Any, name: str, run: Callable[..., int], about: str, examples: Sequence[str], more: str
) -> Parser:
    """Add a command: a line in the list of commands, and what its own help says besides."""
    command: Parser = program.add_parser(
        name,
        help=about,
        description=textwrap.fill(f"{about[0].upper()}{about[1:]}. {more}", 79),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_listed("examples", [f"{PROGRAM} {example}" for example in examples]),
    )
    command.set_defaults(run=run)
    return command


def _add_corpora(program: Any) -> None:
    corpora = program.add_parser(
        "corpora",
        help="list, fetch and verify the corpora",
        epilog=f"example: {PROGRAM} corpora fetch multi30k",
    )
    actions = corpora.add_subparsers(title="actions", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the corpora, with languages, splits and licence")
    listing.set_defaults(run=commands.list_corpora)
    for action, about, run in (
        ("fetch", "download what is missing of a corpus and check its sums", commands.fetch_corpus),
        ("verify", "check the sums of a corpus's files again", commands.verify_corpus),
    ):
        more = "Files in the folder that TRANSFORMER_DATA names are used first."
        parser = _add(actions, action, run, about, [f"corpora {action} multi30k"], more)
        parser.add_argument("name", metavar="NAME", help="as `corpora list` shows it")


def _add_train(program: Any) -> None:
    train = _add(
        program,
        "train",
        commands.train_model,
        "train a recipe and leave a model folder",
        (
            "train demo --out runs/demo",
            "train demo --set src_lang=de --set tgt_lang=en --out runs/german",
            "train demo --steps 1200 --out runs/demo --resume",
        ),
        "Ctrl-C keeps everything; --resume goes on.",
    )
    recipes = _listed("recipes", [f"{name:26} {each.about}" for name, each in RECIPES.items()])
    train.epilog = f"{recipes}\n\n{train.epilog}"
    add_train_options(train)


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
    train.add_argument(
        "--precision",
        choices=PRECISIONS,
        help="of matrix products, instead of the fastest that the hardware has",
    )
    train.add_argument(
        "--batch-tokens",
        type=_batch_tokens,
        metavar="N",
        help="tokens to compute at once, or auto: as many as fit; a step has the recipe's number",
    )
    train.add_argument("--compile", action="store_true", help="run the model through torch.compile")


def _batch_tokens(text: str) -> int:
    """Read a number of tokens, or "auto"."""
    if text == "auto":
        return commands.AUTO
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: give 1 or more, or auto")
    return number


def _add_translate(program: Any) -> None:
    translate = _add(
        program,
        "translate",
        commands.translate_lines,
        "translate standard input, one sentence a line",
        (
            "translate runs/demo --attention dog.png < sentence.txt",
            "translate runs/demo --beam 1 < sentences.txt > translations.txt",
        ),
        "UTF-8; an empty line stays empty.",
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


def _add_evaluate(program: Any) -> None:
    evaluate = _add(
        program,
        "evaluate",
        commands.evaluate_model,
        "measure a model: BLEU, chrF, perplexity, as JSON",
        (
            "evaluate runs/demo --split test_long --beam 1",
            "evaluate runs/demo --split validation --alpha 1",
            "evaluate runs/demo --record figures.json",
        ),
        "On a split of a corpus.",
    )
    add_model(evaluate)
    add_beam(evaluate)
    evaluate.add_argument("--corpus", metavar="NAME", help="instead of the one it was trained on")
    evaluate.add_argument("--split", metavar="NAME", help="instead of the corpus's first test set")
    evaluate.add_argument(
        "--alpha",
        type=float,
        default=LENGTH_PENALTY,
        metavar="A",
        help=f"of the length penalty; more makes translations longer ({LENGTH_PENALTY})",
    )
    evaluate.add_argument(
        "--record", type=Path, metavar="FILE", help="write the figures with the run's origin too"
    )


def _add_export(program: Any) -> None:
    export = _add(
        program,
        "export",
        commands.export_folder,
        "write a model for another engine: CTranslate2 or ONNX",
        ("export runs/demo --to ctranslate2", "export de-en --to onnx --out served"),
        "The folder is served without the course: its weights, tokenizers that treat the text, a "
        "translate.py to begin with, and a README. CTranslate2 searches with beams; the ONNX "
        "graphs are one step of decoding, with a cache.",
    )
    add_model(export)
    export.add_argument(
        "--to", required=True, choices=("ctranslate2", "onnx"), help="the engine", metavar="ENGINE"
    )
    export.add_argument(
        "--out", type=Path, metavar="DIR", help="folder to make (runs/MODEL-ENGINE)"
    )


def _add_diagnose(program: Any) -> None:
    command = _add(
        program,
        "diagnose",
        commands.diagnose_target,
        "try the laws of an encoder-decoder on anybody's code",
        (
            "diagnose my_model:make",
            "diagnose code/my_model.py:make --length-first --pad 1",
            "diagnose demo-en-fr --json > report.json",
        ),
        "No position sees the future, padding changes nothing, a cache is no cache, ... FACTORY is "
        "a function without arguments, found from the current folder, that gives a torch module "
        "whose forward(src, tgt_in) gives logits; or an Adapter or a Pipeline of attention_laws, "
        "which can be asked more. Exit status: 0 no law is broken, 1 one is, 2 nothing could be "
        "tried.",
    )
    command.add_argument(
        "target",
        metavar="MODULE:FACTORY",
        help=f"code; or a model folder, or a shipped model: {', '.join(model_names())}",
    )
    command.add_argument(
        "--minute", action="store_true", help="try the laws that train too; they take a minute"
    )
    command.add_argument("--json", action="store_true", help="print the report for a program")
    module = command.add_argument_group("of a bare module (an Adapter says them itself)")
    module.add_argument(
        "--length-first", action="store_true", help="ids are (length, batch), not (batch, length)"
    )
    for name, about in (("pad", "padding"), ("bos", "what begins a target"), ("eos", "the end")):
        module.add_argument(f"--{name}", type=int, metavar="N", help=f"id of {about}")


def add_model(command: argparse.ArgumentParser) -> None:
    """Give a command the argument MODEL."""
    command.add_argument(
        "model",
        metavar="MODEL",
        help=f"a model folder, or a shipped model: {', '.join(model_names())}",
    )


def add_beam(command: argparse.ArgumentParser) -> None:
    """Give a command the option --beam."""
    command.add_argument(
        "--beam",
        type=int,
        default=BEAM_SIZE,
        metavar="K",
        help=f"prefixes to follow; 1 is greedy ({BEAM_SIZE})",
    )
