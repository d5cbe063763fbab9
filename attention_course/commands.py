"""The commands: what each does, which its docstring says in its help, and what can be typed.

Not in the paper. Only what a command needs is imported, when it runs: help answers at once.
"""

import argparse
import io
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from attention_course.status import keep_freed_memory
from transformer.config import BEAM_SIZE, LENGTH_PENALTY, Recipe
from transformer.recipes import find_recipe
from transformer.support.errors import EXIT_INTERRUPTED, UserError
from transformer.support.files import check_file, to_json, write_json
from transformer.support.folders import model_names

PROGRAM = "python -m transformer"
BLOCK = 512  # lines translated together
READ, MAX_LINE_BYTES = 1 << 16, 1_000_000  # bytes of the input: taken at once; of a line
PRECISIONS = "float32", "tf32", "bf16", "fp16"  # of `training.devices.Precision`, without torch
ENGINES = "ctranslate2", "onnx", "transformers"
AUTO = 0  # as `--micro-tokens`

AddOption = Callable[[argparse.ArgumentParser], object]
Run = Callable[[argparse.Namespace], int | None]  # gives the exit status, or None for 0
COMMANDS: dict[str, tuple[Run, Sequence[AddOption]]] = {}


def option(name: str, metavar: str | None, about: str, **settings: Any) -> AddOption:
    """Describe an option, as `argparse.ArgumentParser.add_argument`; without metavar, a flag."""
    settings |= {"metavar": metavar} if metavar else {"action": "store_true"}
    return lambda parser: parser.add_argument(name, help=about, **settings)


def command(name: str, *options: AddOption) -> Callable[[Run], Run]:
    """Enter a function as a command, with its options; its docstring is the help."""

    def enter(run: Run) -> Run:
        COMMANDS[name] = run, options
        return run

    return enter


def _micro_tokens(text: str) -> int:
    """Read a number of tokens, or "auto"."""
    if text == "auto":
        return AUTO
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text}: give 1 or more, or auto")
    return int(text)


MODELS = f"a model folder, or a shipped model: {', '.join(model_names())}"
ALPHA = f"of the length penalty; more makes translations longer ({LENGTH_PENALTY})"
ATTENTION = "write the attention weights too: all (.json), or one sentence's as a picture (.png)"
AT_ONCE = "most tokens to compute at once, or auto: as many as fit; a step's number is the recipe's"
CHANGE = "change a setting of the recipe, for example d_model=256; may be given again"
PRECISION = f"{', '.join(PRECISIONS)}; instead of the fastest that the hardware has"
WEIGHTS = "of an earlier step, instead of the final ones: in checkpoints/ of the model folder"
add_corpus = option("name", "NAME", "as `corpora list` shows it")
add_model = option("model", "MODEL", MODELS)
add_beam = option(
    "--beam", "K", f"prefixes to follow; 1 is greedy ({BEAM_SIZE})", type=int, default=BEAM_SIZE
)
TRAIN_OPTIONS = (
    option("recipe", "RECIPE", "one of the recipes below"),
    option("--set", "KEY=VALUE", CHANGE, action="append", default=[]),
    option("--steps", "N", "updates, instead of the recipe's", type=int),
    option("--out", "DIR", "model folder (runs/RECIPE)", type=Path),
    option("--resume", None, "go on with the run in the folder"),
    option("--precision", "P", PRECISION, choices=PRECISIONS),
    option("--micro-tokens", "N", AT_ONCE, type=_micro_tokens),
    option("--compile", None, "run the model through torch.compile: its first steps are slow"),
)


# --- the commands ---------------------------------------------------------------------------


@command("corpora list")
def list_corpora(options: argparse.Namespace) -> None:
    """Print each corpus with its languages, splits and licence.

    Example:
      python -m transformer corpora list
    """
    from transformer.data.corpora import CORPORA

    for corpus in CORPORA.values():
        print(f"{corpus.name}: {corpus.about}")
        print(f"  directions: {', '.join(corpus.pairs)}")
        print(f"  splits:     {', '.join(corpus.splits)}")
        print(f"  licence:    {corpus.licence}")
        print(f"  cite:       {corpus.citation}")


@command("corpora fetch", add_corpus)
def fetch_corpus(options: argparse.Namespace) -> None:
    """Check the sums of a corpus's files, and download what is missing.

    They are in the folder that TRANSFORMER_DATA names, else in the cache.

    Example:
      python -m transformer corpora fetch multi30k
    """
    from transformer.data.corpora import fetch

    paths = [str(path) for path in fetch(options.name)]
    print("\n".join(paths) or f"{options.name} has no files to download")


@command("train", *TRAIN_OPTIONS)
def train_model(options: argparse.Namespace) -> int:
    """Train a recipe and leave a model folder.

    Ctrl-C keeps everything; --resume goes on.

    Examples:
      python -m transformer train demo --out runs/demo
      python -m transformer train demo --set src_lang=de --set tgt_lang=en --out runs/german
      python -m transformer train demo --steps 1200 --out runs/demo --resume
    """
    recipe = find_recipe(options.recipe).override(parse_settings(options.set, options.steps))
    return train_as_typed(recipe, options)


def train_as_typed(
    recipe: Recipe, options: argparse.Namespace, parts: Callable[..., dict[str, Any]] | None = None
) -> int:
    """Train a recipe in the processes that there are, and say how it went.

    `parts` gives what else `train_recipe` takes, of the recipe and the precision.
    """
    from transformer.models.folder import holds_run
    from transformer.support.provenance import launcher
    from transformer.training import processes
    from transformer.training.devices import Precision
    from transformer.training.recipe import train_recipe

    keep_freed_memory()
    precision = Precision(options.precision) if options.precision else None
    out: Path = options.out or Path("runs") / recipe.name
    typed = [*options.typed, *([] if options.resume else ["--resume"])]
    package = "experiments" if parts else "transformer"
    again = typed_again(typed, package).replace("python", launcher(), 1)
    try:
        with processes.process_group() as device:
            # The others have the same to say.
            say: Callable[..., None] = print if processes.rank() == 0 else lambda *_: None
            result = train_recipe(
                recipe,
                out,
                resume=options.resume,
                device=device,
                precision=precision,
                micro_tokens=options.micro_tokens,
                compiled=options.compile,
                on_report=say,
                **(parts(recipe, precision) if parts else {}),
            )
    except KeyboardInterrupt:
        if not holds_run(out):
            raise
        print(f"stopped at once; go on from what was last saved with: {again}", file=sys.stderr)
        return EXIT_INTERRUPTED
    if result.interrupted:
        say(f"stopped after step {result.step}, all is kept; go on with: {again}")
        return EXIT_INTERRUPTED
    say(result)
    say(f'try: echo "..." | {PROGRAM} translate {shlex.quote(str(out))}')
    return 0


def typed_again(words: Sequence[str], package: str) -> str:
    """Write a command of a package as it is to be typed in a shell."""
    return shlex.join(["python", "-m", package, *words])


def parse_settings(pairs: Sequence[str], steps: int | None) -> dict[str, str]:
    """Read `KEY=VALUE` strings, and the value of --steps, into one mapping."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"--set {pair}: give KEY=VALUE, for example d_model=256")
        settings[key.strip()] = value.strip()
    return settings if steps is None else settings | {"steps": str(steps)}


@command(
    "translate",
    add_model,
    add_beam,
    option("--weights", "FILE", WEIGHTS, type=Path),
    option("--attention", "FILE", ATTENTION, type=Path),
)
def translate_lines(options: argparse.Namespace) -> None:
    """Translate standard input, one sentence a line.

    UTF-8; an empty line stays empty.

    Examples:
      python -m transformer translate runs/demo --attention dog.png < sentence.txt
      python -m transformer translate runs/demo --beam 1 < sentences.txt > translations.txt
    """
    from lessonkit.charts.attention_export import check_attention_file, write_attention
    from transformer.data.normalizers import normalize_whitespace
    from transformer.models.translator import Translator
    from transformer.training.devices import pick_device

    if options.attention is not None:
        check_attention_file(options.attention)
    translator = Translator.load(options.model, pick_device(), options.weights)
    seen: list[str] = []  # where their attention is asked for
    for block in _blocks():
        for line in translator.translate(block, options.beam):
            # A model may say a line feed, and one line in is one line out.
            print(normalize_whitespace(line))
        sys.stdout.flush()
        seen += block if options.attention else []
    if options.attention is not None:
        write_attention(options.attention, translator, seen, options.beam)


def _blocks() -> Iterator[list[str]]:
    """Give the lines of standard input as they come, at most `BLOCK` of them together."""
    if sys.stdin.isatty():
        print("one sentence a line; end with Ctrl-D", file=sys.stderr)
    rest, number = b"", 1  # of the line that is not whole yet
    stdin = cast(io.BufferedReader, sys.stdin.buffer)
    while chunk := stdin.read1(READ):
        *whole, rest = (rest + chunk).split(b"\n")
        for start in range(0, len(whole), BLOCK):
            yield [_text(line, number + i) for i, line in enumerate(whole[start:][:BLOCK], start)]
        number += len(whole)
        if len(rest) > MAX_LINE_BYTES:
            raise UserError(
                f"line {number} of the input has over {MAX_LINE_BYTES:,} bytes: split it"
            )
    if rest:
        yield [_text(rest, number)]


def _text(line: bytes, number: int) -> str:
    """Read a line of UTF-8, the first one perhaps with its byte order mark."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise UserError(
            f"line {number} of the input is not UTF-8 (byte {line[error.start]:#04x}): "
            "convert it, for example with iconv -t UTF-8"
        ) from error


@command(
    "evaluate",
    add_model,
    add_beam,
    option("--split", "NAME", "instead of the corpus's first test set"),
    option("--alpha", "A", ALPHA, type=float, default=LENGTH_PENALTY),
    option("--record", "FILE", "write the figures with the run's origin too", type=Path),
)
def evaluate_model(options: argparse.Namespace) -> None:
    """Measure a model: BLEU, chrF, perplexity, as JSON.

    On a split of a corpus.

    Examples:
      python -m transformer evaluate runs/demo --split test_long --beam 1
      python -m transformer evaluate runs/demo --split validation --alpha 1
      python -m transformer evaluate runs/demo --record figures.json
    """
    from attention_course.origin import origin_of
    from transformer.evaluation.evaluate import evaluate_folder

    if options.record is not None:  # fails before the work, if at all
        check_file(options.record)
        origin = origin_of(options.model)
    figures = evaluate_folder(options.model, options.split, options.beam, options.alpha)
    print(to_json(figures).decode(), end="")
    if options.record is not None:
        write_json(options.record, origin | {"figures": figures})


@command(
    "export",
    add_model,
    option("--to", "ENGINE", " or ".join(ENGINES), required=True, choices=ENGINES),
    option("--out", "DIR", "folder to make (runs/MODEL-ENGINE)", type=Path),
)
def export_folder(options: argparse.Namespace) -> None:
    """Write a model for another engine: CTranslate2, ONNX or Hugging Face transformers.

    The folder is served without the course: its weights, tokenizers that normalize the text, a
    translate.py to begin with, and a README. CTranslate2 searches with beams; the ONNX graphs
    are one step of decoding, with a cache.

    Examples:
      python -m transformer export runs/demo --to ctranslate2
      python -m transformer export de-en --to onnx --out served
    """
    from engines.folder import export_model

    out = options.out or Path("runs") / f"{Path(options.model).name}-{options.to}"
    export_model(options.model, options.to, out)
    print(out)
    print(f'try: echo "..." | python {shlex.quote(str(out / "translate.py"))}')


@command(
    "diagnose",
    option("target", "MODULE:FACTORY", f"code; or {MODELS}"),
    option("--minute", None, "try the laws that train too; they take a minute"),
    option("--json", None, "print the report for a program"),
    option("--length-first", None, "ids are (length, batch), not (batch, length)"),
    option("--pad", "N", "id of padding", type=int),
    option("--bos", "N", "id of what begins a target", type=int),
    option("--eos", "N", "id of the end", type=int),
)
def diagnose_target(options: argparse.Namespace) -> int:
    """Try the laws of an encoder-decoder on anybody's code.

    No position sees the future, padding changes nothing, a cache is no cache, ... FACTORY is a
    function without arguments, found from the current folder, that gives a torch module whose
    forward(src, tgt_in) gives logits (--length-first, --pad, --bos and --eos say more of it); or
    an Adapter or a Pipeline of attention_laws, which can be asked more. Exit status: 0 no law is
    broken, 1 one is, 2 there is no model, 3 it could not be judged.

    Examples:
      python -m transformer diagnose my_model:make
      python -m transformer diagnose code/my_model.py:make --length-first --pad 1
      python -m transformer diagnose demo-en-fr --json > report.json
    """
    from lessonkit.diagnose import diagnose_target

    return diagnose_target(options)
