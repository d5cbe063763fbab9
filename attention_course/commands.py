"""The commands on models: what each does, as its help says, and what can be typed after it.

Not in the paper; corpora_commands.py has those on corpora. A command imports only what it needs,
when it runs, so that help answers at once.
"""

import argparse
import shlex
import sys
from pathlib import Path

from attention_course.command_table import CommandTable, enter_command_in_table
from attention_course.input_lines import read_input_blocks
from attention_course.options import (
    MODEL_HELP,
    TRAIN_OPTION_ADDERS,
    add_alpha_option,
    add_beam_option,
    add_model_argument,
    option_adder,
    parse_path,
    parse_settings,
)
from attention_course.training import train_with_options
from transformer.support.errors import UserError, require
from transformer.support.files import check_writable_file, to_json_bytes, write_json
from transformer.support.folders import find_model_folder

ENGINE_NAMES = ("ctranslate2", "onnx", "transformers")
ATTENTION_OPTION_HELP = (
    "also write the attention weights: of all sentences (.json), or a picture of one (.png)"
)
N_BEST_HELP = "print the N best candidates of the beam with their scores, not only the best"
WEIGHTS_HELP = (
    "use the weights of an earlier step, a file in checkpoints/ of the model folder; by default "
    "the final ones"
)

COMMANDS: CommandTable = {}


@enter_command_in_table(COMMANDS, "train", *TRAIN_OPTION_ADDERS)
def train_model(options: argparse.Namespace) -> int:
    """Train a recipe and leave a model folder.

    RECIPE is also a .toml file of yours, or the name of a corpus of your own (see corpora add),
    whose recipe is chosen by its number of tokens. Ctrl-C saves the run; --resume continues it.

    Examples:
      attention-course train demo --out runs/demo
      attention-course train demo --set src_lang=de --set tgt_lang=en --out runs/german
      attention-course train demo --steps 1200 --out runs/demo --resume
    """
    from transformer.recipes.own_text import find_recipe_or_corpus

    settings = parse_settings(options.set, options.steps)
    if options.start_from is not None:
        find_model_folder(options.start_from)  # Refused before an own corpus is read.
    recipe = find_recipe_or_corpus(options.recipe).override(settings)
    return train_with_options(recipe, options)


@enter_command_in_table(
    COMMANDS,
    "translate",
    add_model_argument,
    option_adder(
        "file", "FILE", "the sentences; by default standard input", type=parse_path, nargs="?"
    ),
    add_beam_option,
    option_adder("--n-best", "N", N_BEST_HELP, type=int),
    option_adder("--json", None, "print one line of JSON for each sentence, with its candidates"),
    option_adder("--weights", "FILE", WEIGHTS_HELP, type=parse_path),
    option_adder("--attention", "FILE", ATTENTION_OPTION_HELP, type=parse_path),
    option_adder("--layer", "L", "layer that the picture shows, from 1 (the last)", type=int),
    option_adder("--head", "H", "the one head that the picture shows, from 1 (all)", type=int),
)
def translate_sentences(options: argparse.Namespace) -> None:
    """Translate a file or standard input, one sentence a line.

    Text is UTF-8; an empty line stays empty. --n-best prints a line for each candidate, the best
    first, with five fields separated by tabs: the number of its sentence, from 1; its rank, from 1;
    its score; its log-probability; its text. The log-probability is the sum over its tokens, eos
    included, in nats. Candidates are ranked by their score, which is the log-probability divided by
    the length penalty of §6.1. An empty line has no candidates. --json prints the same as one line
    of JSON for each sentence, and says whether each candidate is finished: one that was cut off at
    the length limit comes after those that ended. It also says whether the sentence is far longer
    than any of training, and whether it was cut short.

    Examples:
      attention-course translate runs/demo sentence.txt --attention dog.png
      attention-course translate runs/demo sentences.txt --beam 1 > translations.txt
      attention-course translate runs/demo --n-best 4 < sentences.txt > candidates.tsv
    """
    from attention_course.long_lines import warn_of_long_lines
    from attention_course.output_lines import translate_to_output_lines
    from lessonkit.charts.attention_export import (
        check_attention_is_drawable,
        check_attention_output_path,
        write_attention_file,
    )
    from transformer.models.folder import read_longest_source
    from transformer.models.translator import Translator, check_n_best
    from transformer.training.devices import pick_device

    if options.n_best is not None:
        check_n_best(options.n_best, options.beam)
    if options.attention is not None:
        check_attention_output_path(options.attention, options.layer, options.head)
    elif options.layer is not None or options.head is not None:
        raise UserError("--layer and --head are of a picture: give --attention FILE.png too")
    translator = Translator.load(options.model, pick_device(), options.weights)
    if options.attention is not None and options.attention.suffix == ".png":
        check_attention_is_drawable(translator, options.layer, options.head)
    lines: list[str] = []  # all of them, if their attention is asked for
    number = 1  # of the first sentence of a block
    longest_source = read_longest_source(find_model_folder(options.model))
    for block in read_input_blocks(options.file):
        sources = translator.encode_all(block)
        warn_of_long_lines(sources, number, longest_source)
        for line in translate_to_output_lines(
            translator, sources, number, longest_source, options.beam, options.n_best, options.json
        ):
            print(line)
        number += len(block)
        sys.stdout.flush()
        if options.attention is not None:
            lines += block
    if options.attention is not None:
        write_attention_file(
            options.attention, translator, lines, options.beam, options.layer, options.head
        )


@enter_command_in_table(
    COMMANDS,
    "evaluate",
    add_model_argument,
    add_beam_option,
    option_adder("--split", "NAME", "split of the model's corpus; by default the first test set"),
    option_adder("--src", "FILE", "measure on a text of your own: its sources", type=parse_path),
    option_adder("--ref", "FILE", "its reference translations, line by line", type=parse_path),
    add_alpha_option,
    option_adder(
        "--record",
        "FILE",
        "also write the figures to FILE, with the provenance of the run",
        type=parse_path,
    ),
)
def evaluate_model(options: argparse.Namespace) -> None:
    """Measure a model: print its BLEU, chrF++ and perplexity as JSON.

    It is measured on a split of the corpus that it was trained on, or on two files of your own.

    Examples:
      attention-course evaluate runs/demo --split test_long --beam 1
      attention-course evaluate runs/demo --split validation --alpha 1
      attention-course evaluate runs/demo --src my.en --ref my.fr --record figures.json
    """
    from attention_course.origin import load_model_origin
    from transformer.evaluation.evaluate import evaluate_saved_model

    files = None
    if options.src is not None or options.ref is not None:
        both_given = options.src is not None and options.ref is not None
        require(both_given, "--src and --ref belong together: give both")
        require(
            options.split is None, "--split is of the model's corpus: leave it out, or the files"
        )
        files = options.src, options.ref
    # A record that cannot be written is refused before the work.
    if options.record is not None:
        check_writable_file(options.record)
        origin = load_model_origin(options.model)
    figures = evaluate_saved_model(
        options.model, options.split, options.beam, options.alpha, files=files
    )
    print(to_json_bytes(figures).decode(), end="")
    if options.record is not None:
        write_json(options.record, origin | {"figures": figures})


@enter_command_in_table(
    COMMANDS,
    "export",
    add_model_argument,
    option_adder("--to", "ENGINE", " or ".join(ENGINE_NAMES), required=True, choices=ENGINE_NAMES),
    option_adder("--out", "DIR", "folder to write (default: runs/MODEL-ENGINE)", type=parse_path),
    option_adder("--replace", None, "replace an earlier export once the new one is whole"),
)
def export_model_folder(options: argparse.Namespace) -> None:
    """Write a model for another engine: CTranslate2, ONNX or Hugging Face transformers.

    The folder needs nothing of the course: it holds weights, tokenizers that normalize the text, a
    translate.py to start from, and a README. CTranslate2 has a beam search; the ONNX graphs are the
    encoder and one step of decoding with a cache.

    Examples:
      attention-course export runs/demo --to ctranslate2
      attention-course export de-en --to onnx --out served
    """
    from engines.folder import export_model

    out = options.out or Path("runs") / f"{Path(options.model).name}-{options.to}"
    export_model(options.model, options.to, out, options.replace)
    print(out)
    print(f'try: echo "..." | python {shlex.quote(str(out / "translate.py"))}')


@enter_command_in_table(
    COMMANDS,
    "page",
    add_model_argument,
    option_adder("--out", "DIR", "folder to write (default: runs/MODEL-page)", type=parse_path),
    option_adder(
        "--sentence",
        "TEXT",
        "a sentence that the page offers to try; may be repeated (default: some of the test set)",
        action="append",
        default=[],
    ),
    option_adder("--replace", None, "replace an earlier page once the new one is whole"),
)
def write_page_with_model(options: argparse.Namespace) -> None:
    """Write the page that translates in the browser, with this model in it.

    The folder is for any server of files, on this computer or on the web: nothing of the course is
    needed, and nothing that a visitor types leaves the browser.

    Examples:
      attention-course page runs/mine
      attention-course page runs/mine --sentence "Cannot open the file." --out site --replace
    """
    from engines.live_page import write_live_page

    out = options.out or Path("runs") / f"{Path(options.model).resolve().name}-page"
    write_live_page(options.model, out, options.sentence, options.replace)
    print(out)
    served = f"python -m http.server --bind 127.0.0.1 --directory {shlex.quote(str(out))}"
    print(f"open it: {served}, then http://localhost:8000")


@enter_command_in_table(
    COMMANDS,
    "diagnose",
    option_adder(
        "target",
        "MODULE:FACTORY",
        f"your code; or {MODEL_HELP}",
    ),
    option_adder(
        "--minute",
        None,
        "also try the laws that train or compile a model; each takes up to a minute",
    ),
    option_adder("--json", None, "print the report as JSON"),
    option_adder("--length-first", None, "ids are (length, batch), not (batch, length)"),
    option_adder("--pad", "N", "id of the padding token", type=int),
    option_adder("--bos", "N", "id of the token that begins a target", type=int),
    option_adder("--eos", "N", "id of the token that ends a sentence", type=int),
)
def run_diagnose_command(options: argparse.Namespace) -> int:
    """Try the laws of an encoder-decoder on anybody's code.

    Laws are what every right model obeys: no position sees the future, padding changes nothing, a
    cache changes no logits, ... FACTORY is a function without arguments, found from the current
    folder, that returns a torch module whose forward(src, tgt_in) returns logits (--length-first,
    --pad, --bos and --eos describe it); or an Adapter or a Pipeline of attention_laws, of which
    more can be asked. The exit status is 0 if no law is broken, 1 if one is, 2 if there is no
    model, and 3 if the model could not be judged.

    Examples:
      attention-course diagnose my_model:make
      attention-course diagnose code/my_model.py:make --length-first --pad 1
      attention-course diagnose demo-en-fr --json > report.json
    """
    from lessonkit.diagnose import run_diagnose_command

    return run_diagnose_command(options)
