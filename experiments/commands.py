"""What `python -m experiments` measures, draws or makes again: a row a command.

Not in the paper. Only what a command needs is imported, when it runs: help answers at once.
"""

import argparse
import inspect
import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from experiments.checks import CHECKS
from experiments.plans import EXPERIMENTS
from transformer.commands import TRAIN_OPTIONS, add_beam, add_model
from transformer.support.files import check_file, require_checkout, results_folder, write_json

AddOption = Callable[[argparse.ArgumentParser], object]


class Command(NamedTuple):
    """Something that can be measured, drawn or made again.

    Its function gets the options that its parameters name; also `root`, of the checkout, `file`,
    which it writes, and `options`, all that was typed. What it returns is printed, or the file's
    path; a number is the exit status.
    """

    work: str  # module and function, in this package
    about: str  # what is done and where it is written, in a line
    example: str = ""  # what may be typed after the name
    options: tuple[AddOption, ...] = ()
    file: str = ""  # in the checkout, with options' names to be filled in
    anywhere: bool = False  # an installed package can do it as well
    goes_on: bool = False  # whether the same command goes on after Ctrl-C

    def run(self, options: argparse.Namespace) -> int:
        """Run it; a UserError where its file cannot be written, before any work."""
        given = {"options": options, **vars(options)}
        if not self.anywhere:
            given["root"] = require_checkout()
        if self.file and not given.get("file"):
            given["file"] = given["root"] / self.file.format_map(given)
        if "file" in given:
            check_file(given["file"])
        module, _, name = self.work.rpartition(".")
        work = getattr(import_module(f"experiments.{module}"), name)
        asked = inspect.signature(work).parameters
        found = work(**{name: value for name, value in given.items() if name in asked})
        if isinstance(found, int):
            return found
        if isinstance(found, dict):
            found = json.dumps(found, indent=2)
        if found is not None or self.file:
            print(found or given["file"])
        return 0


def option(name: str, metavar: str | None, about: str, **settings: Any) -> AddOption:
    """Describe an option, as `argparse.ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(name, metavar=metavar, help=about, **settings)


NAME = option("name", "NAME", "of the record, NAME.json")
RECORD = option("--record", "FILE", "JSON to write", dest="file", type=Path, required=True)
SEEDS = option("--seeds", "N", "of the runs (1)", type=int, nargs="+", default=[1])
ONLY = option("--only", "VARIANT", "of these variants alone", nargs="+", default=[])
SETTINGS = option(
    "--set", "KEY=VALUE", "change the recipe", dest="settings", action="append", default=[]
)
AT = option("--at", "COMMIT", "before (HEAD)", default="HEAD")


def page_alone(parser: argparse.ArgumentParser) -> None:
    """Add a flag."""
    about = "write the page of what is recorded, measure nothing"
    parser.add_argument("--page-alone", action="store_true", help=about)


COMMANDS = {
    "corpus": Command(
        "grammar.build.write",
        "draw the embedded corpus into data/corpus",
        file="data/corpus/sentences.tsv.gz",
    ),
    "mutants": Command(
        "mutants.try_mutants",
        "change the paper's files in small ways, and count the changes that a test notices",
        "--each 20",
        (
            option("--each", "N", "mutants of each file (10)", type=int, default=10),
            option("--seed", "N", "of the sample (33)", type=int, default=33),
        ),
    ),
    "figures": Command(
        "checklist.write",
        "draw the laws on one page, figures/checklist.png",
        file="figures/checklist.png",
    ),
    "text": Command(
        "texts.record_unknown_words",
        "measure what vocabularies of Multi30k lack for data/results/text",
        file="data/results/text/multi30k.json",
    ),
    "words": Command(
        "texts.write_words",
        "write the words that a model has read, for the live page to tell others by",
        "de-en",
        (add_model,),
        file="docs/live/words/{model}.txt",
    ),
    "leaks": Command(
        "texts.record_leaks",
        "measure what of Tatoeba's test pairs stands in training for data/results/leaks",
        file="data/results/leaks/tatoeba.json",
    ),
    "heads": Command(
        "heads.record_removals",
        "remove every head of a model in turn, by zero and by its mean, and record the BLEU",
        "de-en de-en",
        (add_model, NAME),
        file="data/results/heads/{name}.json",
    ),
    "roles": Command(
        "heads.record_roles",
        "name every head of a model by what it does, and record how often it does it",
        "demo-en-fr demo-en-fr",
        (add_model, NAME),
        file="data/results/roles/{name}.json",
    ),
    "attributions": Command(
        "heads.record_attributions",
        "judge attention weights and hiding by the gold alignments",
        "demo-en-fr demo-en-fr",
        (add_model, NAME),
        file="data/results/attributions/{name}.json",
    ),
    "bleu": Command(
        "texts.record_five_ways",
        "score one model's output on its test set in five ways",
        "de-en --record five_ways.json",
        (add_model, RECORD, add_beam),
        anywhere=True,
    ),
    "loss": Command(
        "texts.record_two_ways",
        "average one model's loss on its validation text in two ways",
        "de-en --record two_ways.json",
        (add_model, RECORD),
        anywhere=True,
    ),
    "contrasts": Command(
        "contrasts.record_contrasts",
        "ask one model about sentences that differ in a negation, gender, number or roles",
        "de-en --record contrasts.json",
        (add_model, RECORD),
        anywhere=True,
    ),
    "experiment": Command(
        "run.record_experiment",
        "train a recipe with one thing changed at a time, and record what each costs",
        "captions --seeds 1 2",
        (
            option("name", "NAME", ", ".join(EXPERIMENTS)),
            SEEDS,
            ONLY,
            option("--out", "FOLDER", "of the runs (runs/NAME)", type=Path),
            option("--record", "FILE", "instead of data/results", dest="file", type=Path),
        ),
        file="data/results/experiments/{name}.json",
        goes_on=True,
    ),
    "bench": Command(
        "bench.sections.record_sections",
        "measure start-up, training steps beside peers, and decoding for data/results/bench",
        "training",
        (option("sections", "SECTION", "alone: startup, training, export (all)", nargs="*"),),
    ),
    "museum": Command(
        "commands.museum",
        "try every law on every specimen of the museum of faults, for docs/museum.md",
        options=(page_alone,),
    ),
    "specimens": Command(
        "commands.specimens",
        "train the museum's specimens beside the sound model, for data/results/museum",
        "--seeds 1 2 3",
        (SEEDS, ONLY),
        goes_on=True,
    ),
    "train": Command(
        "training_parts.train",
        "train the fast recipe, or another with its settings: decay, optimizer, cooccurrence_start",
        "multi30k-de-en-fast",
        tuple(TRAIN_OPTIONS),
        anywhere=True,
    ),
    "speedrun": Command(
        "speedrun.record_and_show",
        "train the fast recipe by the clock, to a published BLEU, for docs/records.md",
        '--change "half the dropout" --set dropout=0.05 --processes 2',
        (
            option("--change", "TEXT", "what is new since the record before"),
            SETTINGS,
            option("--seeds", "N", "three (1 2 3)", type=int, nargs="+", default=[1, 2, 3]),
            option("--processes", "N", "that share each step (1)", type=int, default=1),
            page_alone,
        ),
    ),
    "lines": Command(
        "lines.table", "count lines and files of each room, now and before", "--at HEAD~20", (AT,)
    ),
    "lessons": Command(
        "lesson_counts.table",
        "count what each lesson asks of its reader: words, lines, figures, gaps, minutes",
    ),
    "attack": Command(
        "commands.attack",
        "damage models, kill and crowd trainings, and count what gets through: some 15 minutes",
        "--share 0.1",
        (
            option("--seed", "N", "of what is drawn (1)", type=int, default=1),
            option("--share", "X", "of the attacks (1)", type=float, default=1.0),
        ),
        anywhere=True,
    ),
    "check": Command(
        "checks.run",
        "try what needs a browser, npm or Colab's packages",
        "live",
        (
            option("check", "CHECK", ", ".join(CHECKS), choices=CHECKS),
            option("arguments", None, "passed on to its script", nargs=argparse.REMAINDER),
        ),
    ),
    "ship": Command(
        "ship.ship",
        "make a shipped model of a training run: measured weights in half precision, and a card",
        "runs/multi30k-de-en de-en",
        (
            option("folder", "RUN", "a model folder", type=Path),
            option("name", "NAME", "of the shipped model, as de-en"),
        ),
    ),
    "claims": Command(
        "claims.report",
        "compute every claim of docs/claims.toml from its record; 1 where one has turned",
    ),
    "tables": Command(
        "tables.write_tables", "put the tables of records and lessons into README.md and docs"
    ),
}


def museum(root: Path, page_alone: bool) -> Path:
    """Record what the laws find, unless the page alone is wanted, and write the page."""
    from experiments import museum_table
    from experiments.tables import put_table

    if not page_alone:
        file = results_folder() / museum_table.RECORD
        check_file(file)
        write_json(file, museum_table.make_record())
    page = root / "docs" / museum_table.PAGE
    for mark, table in museum_table.tables().items():
        put_table(page, mark, table)
    return page


def specimens(seeds: list[int], only: list[str]) -> None:
    """Train the museum's specimens."""
    from experiments.museum_training import train_museum

    train_museum(results_folder() / "museum", seeds=seeds, only=only)


def attack(seed: int, share: float) -> int:
    """Print what got through."""
    from experiments.attack import attack_all

    table, handled = attack_all(seed, share)
    print(table)
    return 0 if handled else 1
