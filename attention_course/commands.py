"""The commands: what each does, which its docstring says in its help, and what can be typed.

Not in the paper. A command imports only what it needs, when it runs, so that help answers at once.
"""

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from attention_course.input_lines import read_standard_input_blocks
from attention_course.options import (
    MODEL_HELP,
    TRAIN_OPTION_ADDERS,
    OptionAdder,
    add_alpha_option,
    add_beam_option,
    add_corpus_argument,
    add_model_argument,
    option_adder,
    parse_settings,
)
from attention_course.training import train_with_options
from transformer.recipes import find_recipe
from transformer.support.files import check_writable_file, to_json_bytes, write_json

PROGRAM_NAME = "python -m transformer"
ENGINE_NAMES = ("ctranslate2", "onnx", "transformers")
ATTENTION_HELP = (
    "write the attention weights too: all (.json), or one sentence's as a picture (.png)"
)
N_BEST_HELP = "print the N best of the beam with their scores, instead of the best"
WEIGHTS_HELP = "of an earlier step, instead of the final ones: in checkpoints/ of the model folder"

CommandFunction = Callable[
    [argparse.Namespace], int | None
]  # returns the exit status, or None for 0
COMMANDS: dict[str, tuple[CommandFunction, Sequence[OptionAdder]]] = {}


def register_command(
    name: str, *options: OptionAdder
) -> Callable[[CommandFunction], CommandFunction]:
    """Return a decorator that enters a function in the table of commands.

    The function's docstring is the command's help.
    """

    def enter(function: CommandFunction) -> CommandFunction:
        COMMANDS[name] = function, options
        return function

    return enter


@register_command("corpora list")
def print_corpora(options: argparse.Namespace) -> None:
    """Print each corpus with its languages, splits and licence.

    Example:
      python -m transformer corpora list
    """
    from transformer.data.corpora import CORPORA

    for corpus in CORPORA.values():
        print(f"{corpus.name}: {corpus.about}")
        print(f"  directions: {', '.join(corpus.directions)}")
        print(f"  splits:     {', '.join(corpus.splits)}")
        print(f"  licence:    {corpus.licence}")
        print(f"  cite:       {corpus.citation}")


@register_command("corpora fetch", add_corpus_argument)
def fetch_corpus(options: argparse.Namespace) -> None:
    """Check the sums of a corpus's files, and download what is missing.

    They are in the folder that TRANSFORMER_DATA names, else in the cache.

    Example:
      python -m transformer corpora fetch multi30k
    """
    from transformer.data.corpora import fetch

    paths = [str(path) for path in fetch(options.name)]
    print("\n".join(paths) or f"{options.name} has no files to download")


@register_command("train", *TRAIN_OPTION_ADDERS)
def train_model(options: argparse.Namespace) -> int:
    """Train a recipe and leave a model folder.

    Ctrl-C keeps everything; --resume goes on.

    Examples:
      python -m transformer train demo --out runs/demo
      python -m transformer train demo --set src_lang=de --set tgt_lang=en --out runs/german
      python -m transformer train demo --steps 1200 --out runs/demo --resume
    """
    recipe = find_recipe(options.recipe).override(parse_settings(options.set, options.steps))
    return train_with_options(recipe, options)


@register_command(
    "translate",
    add_model_argument,
    add_beam_option,
    option_adder("--n-best", "N", N_BEST_HELP, type=int),
    option_adder("--json", None, "print a line of JSON for each sentence: its candidates"),
    option_adder("--weights", "FILE", WEIGHTS_HELP, type=Path),
    option_adder("--attention", "FILE", ATTENTION_HELP, type=Path),
)
def translate_standard_input(options: argparse.Namespace) -> None:
    """Translate standard input, one sentence a line.

    UTF-8; an empty line stays empty. --n-best prints a line for each candidate, the best first,
    with five fields between tabs: the number of its sentence, from 1; its rank, from 1; its score;
    its log-probability; its text. The log-probability is the sum of its tokens', the end mark's
    included, in nats. The score, by which candidates are ranked, is the log-probability over the
    length penalty of §6.1. An empty line has no candidate. --json prints the same as a line of
    JSON for each sentence, and whether each candidate is finished: one that was cut off at the
    length limit comes after those that ended.

    Examples:
      python -m transformer translate runs/demo --attention dog.png < sentence.txt
      python -m transformer translate runs/demo --beam 1 < sentences.txt > translations.txt
      python -m transformer translate runs/demo --n-best 4 < sentences.txt > candidates.tsv
    """
    from attention_course.output_lines import format_translations
    from lessonkit.charts.attention_export import check_attention_file, write_attention_file
    from transformer.models.translator import Translator, check_n_best
    from transformer.training.devices import pick_device

    if options.n_best is not None:
        check_n_best(options.n_best, options.beam)
    if options.attention is not None:
        check_attention_file(options.attention)
    translator = Translator.load(options.model, pick_device(), options.weights)
    lines: list[str] = []  # all of them, if their attention is asked for
    number = 1  # of the first sentence of a block
    for block in read_standard_input_blocks():
        for line in format_translations(
            translator, block, number, options.beam, options.n_best, options.json
        ):
            print(line)
        number += len(block)
        sys.stdout.flush()
        if options.attention is not None:
            lines += block
    if options.attention is not None:
        write_attention_file(options.attention, translator, lines, options.beam)


@register_command(
    "evaluate",
    add_model_argument,
    add_beam_option,
    option_adder("--split", "NAME", "instead of the corpus's first test set"),
    add_alpha_option,
    option_adder("--record", "FILE", "write the figures with the run's origin too", type=Path),
)
def evaluate_model(options: argparse.Namespace) -> None:
    """Measure a model: BLEU, chrF, perplexity, as JSON.

    On a split of a corpus.

    Examples:
      python -m transformer evaluate runs/demo --split test_long --beam 1
      python -m transformer evaluate runs/demo --split validation --alpha 1
      python -m transformer evaluate runs/demo --record figures.json
    """
    from attention_course.origin import load_model_origin
    from transformer.evaluation.evaluate import evaluate_folder

    # A record that cannot be written is refused before the work.
    if options.record is not None:
        check_writable_file(options.record)
        origin = load_model_origin(options.model)
    figures = evaluate_folder(options.model, options.split, options.beam, options.alpha)
    print(to_json_bytes(figures).decode(), end="")
    if options.record is not None:
        write_json(options.record, origin | {"figures": figures})


@register_command(
    "export",
    add_model_argument,
    option_adder("--to", "ENGINE", " or ".join(ENGINE_NAMES), required=True, choices=ENGINE_NAMES),
    option_adder("--out", "DIR", "folder to make (runs/MODEL-ENGINE)", type=Path),
)
def export_model_folder(options: argparse.Namespace) -> None:
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


@register_command(
    "diagnose",
    option_adder(
        "target",
        "MODULE:FACTORY",
        f"code; or {MODEL_HELP}",
    ),
    option_adder("--minute", None, "try the laws that train too; they take a minute"),
    option_adder("--json", None, "print the report for a program"),
    option_adder("--length-first", None, "ids are (length, batch), not (batch, length)"),
    option_adder("--pad", "N", "id of padding", type=int),
    option_adder("--bos", "N", "id of what begins a target", type=int),
    option_adder("--eos", "N", "id of the end", type=int),
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
