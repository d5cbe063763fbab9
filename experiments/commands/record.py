"""`record WHAT`: measures or draws again what this repository keeps.

Not in the paper. Only what a WHAT needs is imported, when it runs: help answers at once.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from experiments.commands.command import Command, add_seeds, record_file
from experiments.commands.record_bench import BENCH
from experiments.commands.record_museum import MUSEUM
from experiments.commands.record_speed import SPEED
from experiments.commands.record_speedrun import SPEEDRUN
from experiments.commands.upkeep import UPKEEP
from experiments.plans import EXPERIMENTS, find
from transformer.cli.commands import typed_again
from transformer.cli.parser import Parser, add_beam, add_model
from transformer.support.errors import INTERRUPTED
from transformer.support.files import write_json
from transformer.support.paths import (
    corpus_folder,
    require_checkout,
)


def make_parser() -> argparse.ArgumentParser:
    """Describe what can be measured, drawn or made again."""
    parser = Parser(
        prog="python -m experiments",
        description="Measure or draw again what the repository keeps: its corpus, its figures,\n"
        "its shipped models, and the records in data/results.",
        epilog="example: python -m experiments experiment captions\n"
        "--help after a WHAT says more: python -m experiments heads --help",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--traceback", action="store_true", help="show where in the code a command failed"
    )
    whats = parser.add_subparsers(title="what", required=True, metavar="WHAT")
    for what in WHATS:
        command = whats.add_parser(
            what.name,
            help=what.about,
            description=f"{what.about[0].upper()}{what.about[1:]}.",
            epilog=f"example: python -m experiments {what.name} {what.example}".rstrip(),
        )
        what.add_options(command)
        command.set_defaults(run=what.run)
    return parser


def _origin() -> dict[str, Any]:
    """Say where figures come from that need no model and no GPU."""
    import torch

    from transformer.support.provenance import provenance

    return provenance(torch.device("cpu"))


def record_corpus(options: argparse.Namespace) -> int:
    """Draw the embedded corpus again."""
    require_checkout()
    from experiments.grammar import build
    from transformer.data import embedded as reader

    file = corpus_folder() / reader.FILE
    build.write(file)
    print(file)
    return 0


def record_figures(options: argparse.Namespace) -> int:
    """Draw every figure again."""
    folder = require_checkout() / "figures"
    from experiments import figures

    figures.write_all(folder)
    print(folder)
    return 0


def record_text(options: argparse.Namespace) -> int:
    """Measure the text of Multi30k, and write the record."""
    from lessonkit.analysis import text_figures

    file = record_file(text_figures.RECORD)
    origin = _origin() | {"seed": text_figures.SEED}
    write_json(file, origin | {"figures": text_figures.multi30k_figures()})
    print(file)
    return 0


def record_leaks(options: argparse.Namespace) -> int:
    """Measure Tatoeba's splits, and write the record."""
    from lessonkit.analysis import leaks
    from transformer.data import corpora

    file = record_file(leaks.RECORD)
    pairs = corpora.all_tatoeba_pairs()
    figures = leaks.measure_splits(pairs)
    origin = _origin() | {"seed": leaks.SEED}
    write_json(file, origin | {"pairs": len(pairs), "figures": figures})
    for name, split in figures.items():
        print(
            f"{name}: {split['leak']['either']:.1%} of {split['test']:,} test pairs have a side in "
            f"training; memory alone scores {split['bleu']['score']:.2f} BLEU"
        )
    return 0


def _add_heads(parser: Parser) -> None:
    add_model(parser)
    parser.add_argument("name", metavar="NAME", help="of the record, NAME.json")


def record_heads(options: argparse.Namespace) -> int:
    """Remove every head of a model in turn, and write what each was worth."""
    from lessonkit.analysis import removals

    file = record_file(f"heads/{options.name}.json")
    removals.record_removals(options.model, file)
    print(file)
    return 0


def record_roles(options: argparse.Namespace) -> int:
    """Name every head of a model by what it does on the embedded corpus."""
    from lessonkit.analysis import head_table

    file = record_file(f"roles/{options.name}.json")
    head_table.record_roles(options.model, file)
    print(file)
    return 0


def record_attributions(options: argparse.Namespace) -> int:
    """Judge what a model's words take from its source by the gold alignments, in four ways."""
    from lessonkit.analysis import attribution_scores

    file = record_file(f"attributions/{options.name}.json")
    for name, figures in attribution_scores.record_attributions(options.model, file).items():
        print(f"{name}: alignment error {figures['error']:.3f}")
    return 0


def _add_loss(parser: Parser) -> None:
    add_model(parser)
    parser.add_argument("--record", type=Path, required=True, metavar="FILE", help="JSON to write")


def _add_bleu(parser: Parser) -> None:
    _add_loss(parser)
    add_beam(parser)


def record_bleu(options: argparse.Namespace) -> int:
    """Score a model's output on its test set in five ways, and write and print the figures."""
    from lessonkit.analysis import ways_of_counting

    record = ways_of_counting.record_five_ways(options.model, options.record, options.beam)
    print(json.dumps(record["points"], indent=2))
    return 0


def record_loss(options: argparse.Namespace) -> int:
    """Average a model's loss on its validation text in two ways; write and print the figures."""
    from lessonkit.analysis import ways_of_counting

    record = ways_of_counting.record_two_ways(options.model, options.record)
    print(json.dumps({name: record[name] for name in ("loss", "perplexity")}, indent=2))
    return 0


def record_contrasts(options: argparse.Namespace) -> int:
    """Ask a model about sentences that differ in one thing; write and print the figures."""
    from lessonkit.analysis import contrasts

    record = contrasts.record_contrasts(options.model, options.record)
    for name, figures in record["phenomena"].items():
        both = ", ".join(f"{way} {figures[way]['both']}" for way in contrasts.WAYS)
        print(f"{name}: both sides right in {both} of {figures['pairs']} pairs")
    return 0


def _add_experiment(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help=", ".join(EXPERIMENTS))
    add_seeds(parser)
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="VARIANT", help="of these variants alone"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="of the runs (runs/NAME)")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="(data/results/experiments/NAME.json)"
    )


def record_experiment(options: argparse.Namespace) -> int:
    """Train and measure what is missing of an experiment; Ctrl-C keeps everything."""
    experiment = find(options.name)
    record = options.record or record_file(f"experiments/{experiment.name}.json")
    from experiments import run

    out = options.out or Path("runs") / experiment.name
    again = typed_again(options.typed, "experiments")
    try:
        done = run.run_experiment(experiment, out, record, seeds=options.seeds, only=options.only)
    except KeyboardInterrupt:
        print(f"stopped at once; go on from what was last saved with: {again}", file=sys.stderr)
        return INTERRUPTED
    if not done:
        print(f"stopped, all is kept; go on with: {again}")
        return INTERRUPTED
    return 0


def record_race(options: argparse.Namespace) -> int:
    """Run the race on the embedded corpus; what the record has already is not run again."""
    from experiments import race

    file = record_file(race.RECORD)
    race.record_races(file)
    print(file)
    return 0


def print_tables(options: argparse.Namespace) -> int:
    """Print the tables of recorded runs that stand in README.md."""
    from experiments.bench.tables import readme_table
    from lessonkit.records import seeds_table, systems_table, table

    print(table(), seeds_table(), systems_table(), readme_table(), sep="\n\n")
    return 0


WHATS = (
    Command("corpus", "draw the embedded corpus into data/corpus", record_corpus),
    Command("figures", "draw every figure into figures/, with its page", record_figures),
    Command(
        "text",
        "measure Multi30k's vocabularies and padding for data/results/text",
        record_text,
    ),
    Command(
        "leaks",
        "measure what of Tatoeba's test pairs stands in training for data/results/leaks",
        record_leaks,
    ),
    Command(
        "heads",
        "remove every head of a model in turn, by zero and by its mean, and record the BLEU",
        record_heads,
        "de-en de-en",
        _add_heads,
    ),
    Command(
        "roles",
        "name every head of a model by what it does, and record how often it does it",
        record_roles,
        "demo-en-fr demo-en-fr",
        _add_heads,
    ),
    Command(
        "attributions",
        "judge attention, value zeroing, gradients and hiding by the gold alignments",
        record_attributions,
        "demo-en-fr demo-en-fr",
        _add_heads,
    ),
    Command(
        "bleu",
        "score one model's output on its test set in five ways",
        record_bleu,
        "de-en --record five_ways.json",
        _add_bleu,
    ),
    Command(
        "loss",
        "average one model's loss on its validation text in two ways",
        record_loss,
        "de-en --record two_ways.json",
        _add_loss,
    ),
    Command(
        "contrasts",
        "ask one model about sentences that differ in a negation, gender, number or roles",
        record_contrasts,
        "de-en --record contrasts.json",
        _add_loss,
    ),
    *SPEED,
    Command(
        "experiment",
        "train a recipe with one thing changed at a time, and record what each costs",
        record_experiment,
        "captions --seeds 1 2",
        _add_experiment,
    ),
    Command(
        "race",
        "learn the embedded corpus to a loss by the processor's clock, for lesson 13",
        record_race,
    ),
    *BENCH,
    *MUSEUM,
    *SPEEDRUN,
    *UPKEEP,
    Command("tables", "print the tables of recorded runs that stand in README.md", print_tables),
)
