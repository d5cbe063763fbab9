"""Attack the course's files, processes and downloads, and count what gets through.

    python -m tests.attack [--short] [--seed N] [--only KIND]

Bounded in number and time; nothing outside this machine is asked. Ends with status 1 where an
attack got through.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # PyTorch reads it as it loads

from tests.attack import downloads, files, flips, runs, words
from tests.attack.attacks import Attack, Outcome, Verdict, fell
from tests.attack.scene import Scene, make_scene

MINUTES = 15.0  # after which no attack is begun
PARTS = (runs, flips, downloads, files, words)
# How many of each kind, and how many in the short form.
COUNTS = {
    "kill chains": (24, 1),
    "a bit flipped in a model": (120, 6),
    "a bit flipped in a shipped model": (40, 2),
    "a bit flipped in the embedded corpus": (30, 2),
    "a bit flipped in an IWSLT archive": (300, 10),
    "a hostile server": (64, 5),
    "truncated and foreign files": (120, 6),
    "malformed safetensors": (120, 6),
    "malformed JSON": (150, 8),
    "full disk": (40, 3),
    "two runs in one folder": (24, 2),
    "odd values on the command line": (150, 8),
    "odd text": (50, 3),
    "closed, full and broken streams": (25, 2),
}


def plan(scene: Scene, short: bool, only: str | None = None) -> list[Attack]:
    """List the attacks, those of each kind spread over the whole time."""
    counts = {k: each[short] if only in (None, k) else 0 for k, each in COUNTS.items()}
    found = [attack for part in PARTS for attack in part.attacks(scene, counts)]
    return sorted(found, key=lambda attack: (attack.number + 0.5) / counts[attack.kind])


def carry_out(attack: Attack, seed: int, folder: Path) -> Outcome:
    """Carry out one attack in a new folder below a given one."""
    chance = random.Random(f"{seed} {attack.kind} {attack.number}")
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as own:
        try:
            return attack.carry_out(chance, Path(own))
        except Exception as error:  # what was left cannot even be judged
            return fell(f"{type(error).__name__}: {error}")


_planned: list[Attack] = []  # set before the lanes are forked, which inherit it


def _carry_out_nth(job: tuple[int, int, Path, float]) -> Outcome | None:
    """Carry out a planned attack in one of the lanes; not after a moment."""
    number, seed, folder, end = job
    return carry_out(_planned[number], seed, folder) if time.monotonic() < end else None


def carry_out_all(attacks: list[Attack], seed: int, folder: Path) -> dict[Attack, Outcome]:
    """Carry out attacks on two cores, with a line of progress now and then, until time is up."""
    _planned[:] = attacks
    began, shown, fallen = time.monotonic(), 0.0, 0
    found: dict[Attack, Outcome] = {}
    jobs = [(number, seed, folder, began + 60 * MINUTES) for number in range(len(attacks))]
    lanes = min(2, os.cpu_count() or 1)
    ignore = signal.signal, (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that counts
    with (
        multiprocessing.get_context("fork").Pool(lanes, *ignore) as pool,
        contextlib.suppress(KeyboardInterrupt),
    ):
        outcomes = pool.imap(_carry_out_nth, jobs)
        for number, (attack, outcome) in enumerate(zip(attacks, outcomes, strict=True), start=1):
            if outcome is not None:
                found[attack] = outcome
                fallen += outcome.verdict == Verdict.FELL
            passed = time.monotonic() - began
            if passed - shown > 10:
                shown, left = passed, passed / number * (len(attacks) - number) / 60
                say(f"{number} of {len(attacks)} attacks, {fallen} fell short, {left:.1f} min left")
    return found


def say(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


def table(found: dict[Attack, Outcome]) -> str:
    """Count outcomes by kind, as a table."""
    counts = {kind: Counter[Verdict]() for kind in COUNTS}
    for attack, outcome in found.items():
        counts[attack.kind][outcome.verdict] += 1
    counts = {kind: each for kind, each in counts.items() if each}
    rows = [
        f"| {kind} | {each.total()} | {each[Verdict.REFUSED]} | {each[Verdict.EQUAL]} "
        f"| {each[Verdict.FELL]} |"
        for kind, each in [*counts.items(), ("all", sum(counts.values(), Counter()))]
    ]
    head = "| class | tried | refused in a line | equal result | fell short |"
    return "\n".join([head, "| --- | ---: | ---: | ---: | ---: |", *rows])


def prepare() -> None:
    """Import what a command needs, so that each fork has it; shut off what lies outside."""
    import torch
    import torch._dynamo  # or else each fork imports it, when it makes its optimizer

    import transformer.evaluation.evaluate
    import transformer.models.translator
    import transformer.training.runner

    torch.set_num_threads(1)
    root = Path(transformer.__file__).parents[1]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    os.environ.update(nowhere, no_proxy="127.0.0.1", PYTHONPATH=str(root), PYTHONWARNINGS="default")
    for name in ("COURSE_RUNS", "COURSE_PROFILE"):
        os.environ.pop(name, None)


def main() -> int:
    """Carry out the attacks, and print what got through and the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a few of each kind")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--only", choices=COUNTS, metavar="KIND", help="one row of the table")
    options = parser.parse_args()
    say(f"seed {options.seed}")
    prepare()
    with tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True) as folder:
        scene = make_scene(Path(folder) / "scene")
        attacks = plan(scene, options.short, options.only)
        found = carry_out_all(attacks, options.seed, Path(folder))
    through = {a: o for a, o in found.items() if o.verdict == Verdict.FELL}
    for attack, outcome in sorted(through.items(), key=lambda each: (each[0].kind, each[0].number)):
        print(f"{attack.kind}, {attack.number}: {outcome.seen}")
    print(table(found))
    print(f"seed {options.seed}; {len(attacks) - len(found)} not tried for want of time")
    return 1 if through else 0


if __name__ == "__main__":
    sys.exit(main())
