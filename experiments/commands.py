"""What `python -m experiments` measures, draws or makes again: a function a command.

Not in the paper. A command is called as its function is, and its help is the function's first
line. Only what it needs is imported, when it runs: help answers at once.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from experiments import training_parts
from experiments.bench.tables import FOLDER, SECTIONS, put_table
from experiments.checks import CHECKS
from experiments.plans import EXPERIMENTS, find
from transformer.commands import TRAIN_OPTIONS, add_beam, add_model, parse_settings, train_as_typed
from transformer.support.errors import UserError, unknown_name
from transformer.support.files import check_file, require_checkout, results_folder, write_json

Run = Callable[[argparse.Namespace], int | None]
AddOption = Callable[[argparse.ArgumentParser], object]


class Command(NamedTuple):
    """Something that can be measured, drawn or made again."""

    run: Run  # gives the exit status, or None for 0
    about: str  # what is done and where it is written, in a line
    example: str  # what may be typed after the name
    options: tuple[AddOption, ...]
    goes_on: bool  # whether the same command goes on after Ctrl-C


COMMANDS: dict[str, Command] = {}


def command(example: str = "", *options: AddOption, goes_on: bool = False) -> Callable[[Run], Run]:
    """Enter a function as a command of its name."""

    def enter(run: Run) -> Run:
        about = (run.__doc__ or "").rstrip(".")
        about = about[0].lower() + about[1:]
        COMMANDS[run.__name__] = Command(run, about, example, options, goes_on)
        return run

    return enter


def option(name: str, **settings: Any) -> AddOption:
    """Describe an option, as `argparse.ArgumentParser.add_argument` takes it."""
    return lambda parser: parser.add_argument(name, **settings)


NAME = option("name", metavar="NAME", help="of the record, NAME.json")
RECORD = option("--record", type=Path, required=True, metavar="FILE", help="JSON to write")
SEEDS = option("--seeds", type=int, nargs="+", default=[1], metavar="N", help="of the runs (1)")
ONLY = option("--only", nargs="+", default=[], metavar="VARIANT", help="of these variants alone")
PAGE_ALONE = option(
    "--page-alone", action="store_true", help="write the page of what is recorded, measure nothing"
)


def record_file(name: str) -> Path:
    """Give a file of data/results; a UserError where it cannot be written, as in a wheel."""
    require_checkout()
    file = results_folder() / name
    check_file(file)
    return file


@command()
def corpus(options: argparse.Namespace) -> None:
    """Draw the embedded corpus into data/corpus."""
    require_checkout()
    from experiments.grammar import build
    from transformer.data import embedded
    from transformer.support.files import corpus_folder

    file = corpus_folder() / embedded.FILE
    build.write(file)
    print(file)


@command(
    "--each 20",
    option("--each", type=int, default=10, metavar="N", help="mutants of each file (10)"),
    option("--seed", type=int, default=33, metavar="N", help="of the sample (33)"),
)
def mutants(options: argparse.Namespace) -> None:
    """Change the paper's files in small ways, and count the changes that a test notices."""
    require_checkout()
    from experiments.mutants import try_mutants

    try_mutants(options.each, options.seed)


@command()
def figures(options: argparse.Namespace) -> None:
    """Draw the laws on one page, figures/checklist.png."""
    file = require_checkout() / "figures" / "checklist.png"
    from experiments import checklist

    checklist.write(file)
    print(file)


@command()
def text(options: argparse.Namespace) -> None:
    """Measure what vocabularies of Multi30k lack for data/results/text."""
    from experiments import texts

    file = record_file(texts.TEXT)
    texts.write_figures(file, {"figures": texts.multi30k_figures()})
    print(file)


@command("de-en", add_model)
def words(options: argparse.Namespace) -> None:
    """Write the words that a model has read, for the live page to tell others by."""
    from experiments.texts import write_words

    file = require_checkout() / "docs" / "live" / "words" / f"{options.model}.txt"
    write_words(options.model, file)
    print(file)


@command()
def leaks(options: argparse.Namespace) -> None:
    """Measure what of Tatoeba's test pairs stands in training for data/results/leaks."""
    from experiments import texts
    from transformer.data import corpora

    file = record_file(texts.LEAKS)
    pairs = corpora.all_tatoeba_pairs()
    figures = texts.measure_splits(pairs)
    texts.write_figures(file, {"pairs": len(pairs), "figures": figures})
    print(file)


@command("de-en de-en", add_model, NAME)
def heads(options: argparse.Namespace) -> None:
    """Remove every head of a model in turn, by zero and by its mean, and record the BLEU."""
    from experiments import heads

    file = record_file(f"heads/{options.name}.json")
    heads.record_removals(options.model, file)
    print(file)


@command("demo-en-fr demo-en-fr", add_model, NAME)
def roles(options: argparse.Namespace) -> None:
    """Name every head of a model by what it does, and record how often it does it."""
    from experiments import heads

    file = record_file(f"roles/{options.name}.json")
    heads.record_roles(options.model, file)
    print(file)


@command("demo-en-fr demo-en-fr", add_model, NAME)
def attributions(options: argparse.Namespace) -> None:
    """Judge attention weights and hiding by the gold alignments."""
    from experiments import attributions

    file = record_file(f"attributions/{options.name}.json")
    for name, figures in attributions.record_attributions(options.model, file).items():
        print(f"{name}: alignment error {figures['error']:.3f}")


@command("de-en --record five_ways.json", add_model, RECORD, add_beam)
def bleu(options: argparse.Namespace) -> None:
    """Score one model's output on its test set in five ways."""
    from experiments import texts

    record = texts.record_five_ways(options.model, options.record, options.beam)
    print(json.dumps(record["points"], indent=2))


@command("de-en --record two_ways.json", add_model, RECORD)
def loss(options: argparse.Namespace) -> None:
    """Average one model's loss on its validation text in two ways."""
    from experiments import texts

    record = texts.record_two_ways(options.model, options.record)
    print(json.dumps({name: record[name] for name in ("loss", "perplexity")}, indent=2))


@command("de-en --record contrasts.json", add_model, RECORD)
def contrasts(options: argparse.Namespace) -> None:
    """Ask one model about sentences that differ in a negation, gender, number or roles."""
    from experiments import contrasts

    record = contrasts.record_contrasts(options.model, options.record)
    for name, figures in record["phenomena"].items():
        both = figures["says"]["both"]
        print(f"{name}: both sides right in {both} of {figures['pairs']} pairs")


@command(
    "captions --seeds 1 2",
    option("name", metavar="NAME", help=", ".join(EXPERIMENTS)),
    SEEDS,
    ONLY,
    option("--out", type=Path, metavar="FOLDER", help="of the runs (runs/NAME)"),
    option("--record", type=Path, metavar="FILE", help="(data/results/experiments/NAME.json)"),
    goes_on=True,
)
def experiment(options: argparse.Namespace) -> None:
    """Train a recipe with one thing changed at a time, and record what each costs."""
    experiment = find(options.name)
    record = options.record or record_file(f"experiments/{experiment.name}.json")
    from experiments import run

    out = options.out or Path("runs") / experiment.name
    if not run.run_experiment(experiment, out, record, seeds=options.seeds, only=options.only):
        raise KeyboardInterrupt


@command(
    "growth startup",
    option("sections", nargs="*", metavar="SECTION", help=f"alone: {', '.join(SECTIONS)} (all)"),
    goes_on=True,
)
def bench(options: argparse.Namespace) -> None:
    """Measure training steps beside peers, growth, start-up, decoding, for data/results/bench."""
    root = require_checkout()
    if unknown := set(options.sections) - set(SECTIONS):
        raise unknown_name("section", min(unknown), SECTIONS)
    from experiments.bench import sections, tables

    left = list(options.sections or SECTIONS)
    while left:
        options.typed = ["bench", *left]  # which go on after Ctrl-C
        sections.record_section(left.pop(0), results_folder() / FOLDER)
        tables.write_tables(root)


@command("", PAGE_ALONE)
def museum(options: argparse.Namespace) -> None:
    """Try every law on every specimen of the museum of faults, for docs/museum.md."""
    docs = require_checkout() / "docs"
    from experiments import museum_table

    if not options.page_alone:
        file = record_file(museum_table.RECORD)
        write_json(file, museum_table.make_record())
    page = docs / museum_table.PAGE
    for mark, table in museum_table.tables().items():
        put_table(page, mark, table)
    print(page)


@command("--seeds 1 2 3", SEEDS, ONLY, goes_on=True)
def specimens(options: argparse.Namespace) -> None:
    """Train the museum's specimens beside the sound model, for data/results/museum."""
    require_checkout()
    from experiments import museum_training

    folder = results_folder() / "museum"
    museum_training.train_museum(folder, seeds=options.seeds, only=options.only)


@command("multi30k-de-en-fast", *TRAIN_OPTIONS)
def train(options: argparse.Namespace) -> int:
    """Train the fast recipe, or another with its settings: decay, optimizer, cooccurrence_start."""
    recipe, parts = training_parts.find(options.recipe)
    recipe, parts = training_parts.changed(
        recipe, parse_settings(options.set, options.steps), parts
    )
    return train_as_typed(recipe, options, parts.options)


@command(
    '--change "half the dropout" --set dropout=0.05 --processes 2',
    option("--change", metavar="TEXT", help="what is new since the record before"),
    option("--set", action="append", default=[], metavar="KEY=VALUE", help="change the recipe"),
    option("--seeds", type=int, nargs="+", default=[1, 2, 3], metavar="N", help="three (1 2 3)"),
    option("--processes", type=int, default=1, metavar="N", help="that share each step (1)"),
    PAGE_ALONE,
)
def speedrun(options: argparse.Namespace) -> None:
    """Train the fast recipe by the clock, to a published BLEU, for docs/records.md."""
    page = require_checkout() / "docs"
    from experiments import speedrun
    from lessonkit.records import load_speed_runs

    page /= speedrun.PAGE
    if not options.page_alone:
        if not options.change:
            raise UserError('a record says what is new: give --change "..."')
        parse_settings(options.set, None)  # refuses one without "="
        if options.processes < 1:
            raise UserError(f"--processes {options.processes}: give 1 or more")
        print(speedrun.record_runs(options.change, options.set, options.seeds, options.processes))
    put_table(page, speedrun.MARK, speedrun.records_table(load_speed_runs()))
    print(page)


@command("--at HEAD~20", option("--at", default="HEAD", metavar="COMMIT", help="before (HEAD)"))
def lines(options: argparse.Namespace) -> None:
    """Count lines and files of each room, now and at an earlier commit."""
    from experiments.lines import sizes, sizes_at, table

    root = require_checkout()
    print(table(sizes(root), sizes_at(root, options.at)))


@command(
    "--at HEAD~20", option("--at", default="", metavar="COMMIT", help="count that one instead")
)
def lessons(options: argparse.Namespace) -> None:
    """Count what each lesson asks of its reader: words, lines, figures, gaps, minutes."""
    from experiments import lesson_counts

    root = require_checkout()
    print(lesson_counts.table(list(lesson_counts.lessons(root, options.at))))


@command(
    "--share 0.1",
    option("--seed", type=int, default=1, metavar="N", help="of what is drawn (1)"),
    option("--share", type=float, default=1.0, metavar="X", help="of the attacks (1)"),
)
def attack(options: argparse.Namespace) -> int:
    """Damage models, kill and crowd trainings, and count what gets through: some 15 minutes."""
    from experiments.attack import attack_all

    table, handled = attack_all(options.seed, options.share)
    print(table)
    return 0 if handled else 1


@command(
    "live",
    option(
        "check",
        choices=CHECKS,
        metavar="CHECK",
        help="; ".join(f"{name}: {check.about}" for name, check in CHECKS.items()),
    ),
    option("arguments", nargs=argparse.REMAINDER, help="passed on to its script"),
)
def check(options: argparse.Namespace) -> int:
    """Try what needs a browser, npm or Colab's packages."""
    from experiments import checks

    return checks.run(options.check, options.arguments)


@command(
    "runs/multi30k-de-en de-en",
    option("folder", type=Path, metavar="RUN", help="a model folder"),
    option("name", metavar="NAME", help="of the shipped model, as de-en"),
)
def ship(options: argparse.Namespace) -> None:
    """Make a shipped model of a training run: measured weights in half precision, and a card."""
    from experiments import ship

    print(ship.ship(options.folder, options.name))


@command()
def tables(options: argparse.Namespace) -> None:
    """Put the tables of records and lessons into README.md and docs/results.md."""
    from experiments.tables import page_tables

    root = require_checkout()
    for (page, mark), table in page_tables(root).items():
        put_table(root / page, mark, table)
        print(f"{page}: {mark}")
