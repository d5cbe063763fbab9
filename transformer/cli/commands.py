"""What each command of the command line does, once its options are read.

Not in the paper. Only what a command needs is imported, when it runs: help answers at once.
"""

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from transformer.config import Recipe
from transformer.recipes.named import find_recipe
from transformer.support.errors import INTERRUPTED, UserError

AUTO = 0  # as `--batch-tokens`: as many as fit
BLOCK = 512  # lines translated together


def typed_again(words: Sequence[str], package: str = "transformer") -> str:
    """Write a command of a package as it is to be typed in a shell."""
    return shlex.join(["python", "-m", package, *words])


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
    recipe = find_recipe(options.recipe).override(parse_settings(options.set, options.steps))
    return train_as_typed(recipe, options)


def train_as_typed(
    recipe: Recipe, options: argparse.Namespace, parts: Callable[..., dict[str, Any]] | None = None
) -> int:
    """Train a recipe in the processes that there are, and say how it went.

    Args:
        recipe: With its changed settings.
        options: Of the command `train`.
        parts: Gives what else `train_recipe` takes, of the recipe and the precision.
    """
    from transformer.models.folder import holds_run
    from transformer.training import processes
    from transformer.training.devices import Precision, keep_freed_memory
    from transformer.training.recipe import train_recipe

    keep_freed_memory()
    precision = Precision(options.precision) if options.precision else None
    out: Path = options.out or Path("runs") / recipe.name
    typed = [*options.typed, *([] if options.resume else ["--resume"])]
    package = "experiments" if parts else "transformer"
    command = typed_again(typed, package).replace("python", processes.launcher(), 1)
    try:
        with processes.joined() as device:
            # The others have the same to say.
            say: Callable[..., None] = print if processes.rank() == 0 else lambda *_: None
            result = train_recipe(
                recipe,
                out,
                resume=options.resume,
                device=device,
                precision=precision,
                micro_tokens=options.batch_tokens or None,
                fit_memory=options.batch_tokens == AUTO,
                compiled=options.compile,
                on_report=say,
                **(parts(recipe, precision) if parts else {}),
            )
    except KeyboardInterrupt:
        if not holds_run(out):
            raise
        print(f"stopped at once; go on from what was last saved with: {command}", file=sys.stderr)
        return INTERRUPTED
    if result.interrupted:
        say(f"stopped after step {result.step}, all is kept; go on with: {command}")
        return INTERRUPTED
    say(result)
    say(f'try: echo "..." | python -m transformer translate {shlex.quote(str(out))}')
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
    from lessonkit.charts.export import check_attention_file, write_attention
    from transformer.data.treatment import tidy
    from transformer.models.translator import Translator
    from transformer.support.provenance import pick_device

    if sys.stdin is None:
        raise UserError("standard input is closed: give it sentences, < sentences.txt")
    if options.attention is not None:
        check_attention_file(options.attention)
    translator = Translator.load(options.model, pick_device(), options.weights)
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
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"line {number} of the input is not UTF-8 (byte {content[error.start]:#04x}): "
            "convert it, for example with iconv -t UTF-8"
        ) from error
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def evaluate_model(options: argparse.Namespace) -> int:
    """Print a model's figures on a test set as JSON, and record them if asked for."""
    from transformer.evaluation.evaluate import evaluate_folder, origin_of
    from transformer.support.files import check_file, to_json, write_json

    if options.record is not None:
        check_file(options.record)
        origin = origin_of(options.model)  # fails before the work, if at all
    figures = evaluate_folder(
        options.model, options.corpus, options.split, options.beam, options.alpha
    )
    print(to_json(figures).decode(), end="")
    if options.record is not None:
        write_json(options.record, origin | {"figures": figures})
    return 0


def diagnose_target(options: argparse.Namespace) -> int:
    """Try the laws of an encoder-decoder on somebody's code, and print the report."""
    from lessonkit.diagnose import diagnose_target

    return diagnose_target(options)


def export_folder(options: argparse.Namespace) -> int:
    """Write a model for another engine, and print where it is and how to try it."""
    from engines.folder import export_model

    out = options.out or Path("runs") / f"{Path(options.model).name}-{options.to}"
    export_model(options.model, options.to, out)
    print(out)
    print(f'try: echo "..." | python {shlex.quote(str(out / "translate.py"))}')
    return 0
