"""The command line: `python -m transformer --help`.

Only what a command needs is imported, when it runs: help answers at once.
"""

import argparse
import io
import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from transformer import recipes
from transformer.errors import UserError

BLOCK = 512  # lines translated together
MISTAKE = 2
INTERRUPTED = 130  # what a shell expects of a program stopped by Ctrl-C


class _Parser(argparse.ArgumentParser):
    """An argument parser that says a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the mistake, and end the program."""
        self.exit(MISTAKE, f"error: {message} (see {self.prog} --help)\n")


def make_parser() -> argparse.ArgumentParser:
    """Describe the commands and their options."""
    parser = _Parser(
        prog="python -m transformer",
        description="Train, use and measure the course's models.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  python -m transformer train demo --out runs/demo
  echo "The dog sleeps." | python -m transformer translate runs/demo
  python -m transformer evaluate runs/demo
--help after a command says more: python -m transformer train --help""",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_corpora(commands)
    _add_train(commands)
    _add_translate(commands)
    _add_evaluate(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: What follows the program's name; None reads `sys.argv`.

    Returns:
        The exit status: 0, 2 after a user's mistake, or 130 after Ctrl-C.
    """
    typed = sys.argv[1:] if arguments is None else list(arguments)
    options = make_parser().parse_args(typed)
    options.typed = typed
    if isinstance(sys.stdout, io.TextIOWrapper):  # a line at a time, into a pipe too
        sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _one_line_each()
        return _guarded(options.run, options)


def _guarded(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a command; say in one line what stopped it."""
    try:
        status = run(options)
        sys.stdout.flush()
        return status
    except UserError as error:
        message = " ".join(str(error).split())
        print(f"error: {message}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:  # of standard output: all other files are written with care
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # a reader that has read enough is no mistake
            print(f"error: cannot go on: {error}", file=sys.stderr)
        return MISTAKE


def _one_line_each() -> Callable[..., None]:
    """Give a printer of warnings: each text once, in one line, without the place in the code."""
    shown = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            print(f"warning: {text}", file=sys.stderr)
        shown.add(text)

    return show


def _beam_size(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: give a whole number, 1 or more")
    return int(text)


def _add_beam(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--beam",
        type=_beam_size,
        default=4,
        metavar="K",
        help="prefixes to follow; 1 is greedy (4)",
    )


def _add_corpora(commands: "argparse._SubParsersAction[_Parser]") -> None:
    corpora = commands.add_parser(
        "corpora",
        help="list, fetch and verify the corpora",
        epilog="example: python -m transformer corpora fetch multi30k",
    )
    actions = corpora.add_subparsers(title="actions", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="the corpora, with languages, splits and licence")
    listing.set_defaults(run=list_corpora)
    for action, about, run in (
        ("fetch", "download what is missing of a corpus and check its sums", fetch_corpus),
        ("verify", "check the sums of a corpus's files again", verify_corpus),
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


def _add_train(commands: "argparse._SubParsersAction[_Parser]") -> None:
    listed = "\n".join(f"  {name:18} {recipe.about}" for name, recipe in recipes.RECIPES.items())
    train = commands.add_parser(
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
    train.set_defaults(run=train_model)


def _add_translate(commands: "argparse._SubParsersAction[_Parser]") -> None:
    translate = commands.add_parser(
        "translate",
        help="translate standard input, one sentence a line",
        description="Translate standard input (UTF-8), one sentence a line; "
        "an empty line stays empty.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  echo "The dog sleeps." | python -m transformer translate runs/demo --attention dog.png
  python -m transformer translate runs/demo --beam 1 < sentences.txt > translations.txt""",
    )
    translate.add_argument("model", type=Path, metavar="MODEL_DIR")
    _add_beam(translate)
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
    translate.set_defaults(run=translate_lines)


def _add_evaluate(commands: "argparse._SubParsersAction[_Parser]") -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="measure a model: BLEU, chrF, perplexity, as JSON",
        description="Measure a model on a split of a corpus, and print the figures as JSON.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""examples:
  python -m transformer evaluate runs/demo --split test_long --beam 1
  python -m transformer evaluate runs/demo --record figures.json""",
    )
    evaluate.add_argument("model", type=Path, metavar="MODEL_DIR")
    evaluate.add_argument("--corpus", metavar="NAME", help="instead of the one it was trained on")
    evaluate.add_argument("--split", metavar="NAME", help="instead of the corpus's first test set")
    _add_beam(evaluate)
    evaluate.add_argument(
        "--record", type=Path, metavar="FILE", help="write the figures with the run's origin too"
    )
    evaluate.set_defaults(run=evaluate_model)


def list_corpora(options: argparse.Namespace) -> int:
    """Print each corpus with its languages, splits and licence."""
    from transformer.data.corpora import CORPORA

    for corpus in CORPORA.values():
        directions = ", ".join("-".join(pair) for pair in corpus.pairs)
        print(f"{corpus.name}: {corpus.about}")
        print(f"  directions: {directions}")
        print(f"  splits:     {', '.join(corpus.splits)}")
        print(f"  licence:    {corpus.licence}")
        print(f"  cite:       {corpus.citation}")
    return 0


def fetch_corpus(options: argparse.Namespace) -> int:
    """Download what is missing of a corpus, check it, and print where it is."""
    from transformer.data.corpora import fetch

    paths = fetch(options.name)
    for path in paths:
        print(path)
    if not paths:
        print(f"{options.name} needs no download")
    return 0


def verify_corpus(options: argparse.Namespace) -> int:
    """Check a corpus's files and print what is there.

    Raises:
        UserError: a file is missing or corrupted.
    """
    from transformer.data.corpora import State, verify

    reports = verify(options.name)
    for report in reports:
        print(f"{report.state:8} {report.path}")
    if not reports:
        print(f"{options.name} has no downloaded files to check")
    if missing := [report.name for report in reports if report.state == State.MISSING]:
        raise UserError(
            f"missing: {', '.join(missing)} ({len(missing)} of {len(reports)} files); get them "
            f"with python -m transformer corpora fetch {options.name}, or set TRANSFORMER_DATA "
            "to a folder that holds them"
        )
    return 0


def train_model(options: argparse.Namespace) -> int:
    """Train a recipe with its changed settings."""
    recipe = recipes.find(options.recipe).override(parse_settings(options.set, options.steps))
    from transformer.training.runner import train_recipe

    out: Path = options.out or Path("runs") / recipe.name
    result = train_recipe(recipe, out, resume=options.resume)
    if result.interrupted:
        again = [*options.typed, *([] if options.resume else ["--resume"])]
        command = shlex.join(["python", "-m", "transformer", *again])
        print(f"stopped after step {result.step}, all is kept; go on with: {command}")
        return INTERRUPTED
    print(result)
    print(f'try: echo "..." | python -m transformer translate {shlex.quote(str(out))}')
    return 0


def parse_settings(pairs: Sequence[str], steps: int | None) -> dict[str, str]:
    """Read `KEY=VALUE` strings, and the value of --steps, into one mapping.

    Raises:
        UserError: a string has no "=".
    """
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--set {pair}: give KEY=VALUE, for example d_model=256")
        settings[key.strip()] = value.strip()
    return settings if steps is None else settings | {"steps": str(steps)}


def translate_lines(options: argparse.Namespace) -> int:
    """Translate standard input line by line, and write the attention if asked for."""
    from transformer.charts.export import check_attention_file, write_attention
    from transformer.data.lines import tidy
    from transformer.translator import Translator

    if options.attention is not None:
        check_attention_file(options.attention)
    translator = Translator.load(options.model)
    seen: list[str] = []
    for block in _blocks(whole=options.refuse_long):
        for line in translator.translate(block, options.beam, refuse_long=options.refuse_long):
            print(tidy(line))  # a model may say a line feed, and one line in is one line out
        seen += block
    if options.attention is not None:
        write_attention(options.attention, translator, seen, options.beam)
    return 0


def _blocks(whole: bool) -> Iterator[list[str]]:
    """Give the lines of standard input to translate together.

    From a keyboard each by itself; else all is read and checked before the first is given.

    Args:
        whole: Give all in one block, so that a line can be refused before any is printed.
    """
    if sys.stdin.isatty():
        print("one sentence a line; end with Ctrl-D", file=sys.stderr)
        yield from (read_lines(line) for line in sys.stdin.buffer)
        return
    lines = read_lines(sys.stdin.buffer.read())
    size = max(len(lines), 1) if whole else BLOCK
    yield from (lines[start : start + size] for start in range(0, len(lines), size))


def read_lines(content: bytes) -> list[str]:
    """Cut UTF-8 text into lines, at line feeds alone.

    Raises:
        UserError: a line is not UTF-8.
    """
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    texts = []
    for number, line in enumerate(lines, start=1):
        try:
            texts.append(line.removesuffix(b"\r").decode("utf-8-sig" if number == 1 else "utf-8"))
        except UnicodeDecodeError as error:
            raise UserError(
                f"line {number} of the input is not UTF-8 (byte {error.object[error.start]:#04x}): "
                "convert it, for example with iconv -t UTF-8"
            ) from error
    return texts


def evaluate_model(options: argparse.Namespace) -> int:
    """Print a model's figures on a test set as JSON, and record them if asked for."""
    from transformer.evaluation import evaluate_folder
    from transformer.files import check_file

    if options.record is not None:
        check_file(options.record)
    figures = evaluate_folder(
        options.model, options.corpus, options.split, options.beam, options.record
    )
    print(json.dumps(figures, indent=2, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
