"""`lines`, `check` and `ship`: what keeps the repository in shape.

Not in the paper.
"""

import argparse
from pathlib import Path

from experiments.commands.command import Command
from transformer.cli.parser import Parser
from transformer.support.paths import require_checkout


def _add_lines(parser: Parser) -> None:
    parser.add_argument("--at", metavar="COMMIT", help="count there too")


def print_lines(options: argparse.Namespace) -> int:
    """Print how big each room is."""
    from experiments import lines

    root = require_checkout()
    before = lines.sizes_at(root, options.at) if options.at else None
    print(lines.table(lines.sizes(root), before))
    return 0


def _add_attack(parser: Parser) -> None:
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of what is drawn (1)")
    parser.add_argument("--share", type=float, default=1.0, metavar="X", help="of the attacks (1)")


def attack_model(options: argparse.Namespace) -> int:
    """Attack, print the table; status 1 where something got through."""
    from experiments.attack import attack_all

    table, handled = attack_all(options.seed, options.share)
    print(table)
    return 0 if handled else 1


def _add_check(parser: Parser) -> None:
    from experiments.checks import CHECKS

    about = "; ".join(f"{name}: {check.about}" for name, check in CHECKS.items())
    parser.add_argument("check", choices=CHECKS, metavar="CHECK", help=about)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="passed on to its script")


def run_check(options: argparse.Namespace) -> int:
    """Run a check; its exit status says whether anything was wrong."""
    from experiments.checks import run

    return run(options.check, options.arguments)


def _add_ship(parser: Parser) -> None:
    parser.add_argument("folder", type=Path, metavar="RUN", help="a model folder")
    parser.add_argument("name", metavar="NAME", help="of the shipped model, as de-en")


def ship_run(options: argparse.Namespace) -> int:
    """Make a shipped model."""
    from experiments.ship import ship

    print(ship(options.folder, options.name))
    return 0


UPKEEP = (
    Command(
        "lines",
        "count lines and files of each room, now or beside an earlier commit",
        print_lines,
        "--at HEAD~20",
        _add_lines,
    ),
    Command(
        "attack",
        "damage models, kill and crowd trainings, and count what gets through: some 15 minutes",
        attack_model,
        "--share 0.1",
        _add_attack,
    ),
    Command(
        "check",
        "try what needs a browser, npm or Colab's packages",
        run_check,
        "live",
        _add_check,
    ),
    Command(
        "ship",
        "make a shipped model of a training run: measured weights in half precision, and a card",
        ship_run,
        "runs/multi30k-de-en de-en",
        _add_ship,
    ),
)
