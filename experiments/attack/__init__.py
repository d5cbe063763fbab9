"""Attack models, runs and input, and count what gets through: `python -m experiments attack`.

Not in the paper. Each attack runs a real command in a process of its own, on a copy of a small
model. It is handled where the command refuses it in one line with status 2, or where the result
equals the one without the attack; anything else (a traceback, a hang, another result) fell
short. Bounded in number; nothing outside this machine is asked.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tqdm import tqdm

from experiments.attack import inputs, runs
from experiments.attack.runs import Chance, Scene

# What is tried, and how often.
ATTACKS: dict[str, tuple[Callable[[Scene, Chance, Path], str], int]] = {
    "killed three times, and resumed": (runs.killed, 8),
    "a full disk": (runs.full_disk, 12),
    "two runs in one folder": (runs.two_runs, 8),
    "a bit flipped in a model": (
        runs.flipped_in("straight", runs.OF_A_MODEL),
        40,
    ),
    "a bit flipped in the digests of the data": (runs.flipped_in("half", ("data.json",)), 8),
    "a bit flipped in a shipped model": (
        runs.flipped_in("shipped", runs.OF_A_MODEL),
        20,
    ),
    "files of another kind": (runs.damaged, 60),
    "asked to end, and resumed": (runs.ended, 8),
    "a run's folder moved or removed": (runs.moved, 12),
    "values in Python": (inputs.python_values, 30),
    "streams": (inputs.streams, 16),
    "a stranger's module": (inputs.foreign_modules, 24),
    "the live page's models": (inputs.page_models, 40),
}


def attack_all(seed: int, share: float = 1.0) -> int:
    """Carry out a share of the attacks, at least one of each kind, with a bar.

    Prints what was tried, refused and equal by kind, then what got through; gives 1 if any did.
    """
    rows, through = [f"{'attack':36}{'tried':>7}{'refused':>9}{'equal':>7}"], []
    plan = {kind: max(1, round(number * share)) for kind, (_, number) in ATTACKS.items()}
    with tempfile.TemporaryDirectory() as folder, tqdm(total=sum(plan.values())) as bar:
        scene = Scene(Path(folder))
        for kind, number in plan.items():
            bar.set_description(kind)
            counted: Counter[str] = Counter()
            for each in range(number):
                chance, out = Chance(f"{seed} {kind} {each}"), Path(folder) / "out"
                verdict = ATTACKS[kind][0](scene, chance, out)
                counted[verdict] += 1
                if verdict not in ("refused", "equal"):
                    through.append(f"{kind}, {each}: {verdict}")
                shutil.rmtree(out, ignore_errors=True)
                bar.update()
            rows.append(f"{kind:36}{number:7}{counted['refused']:9}{counted['equal']:7}")
    print(*rows, *through, f"seed {seed}", sep="\n")
    return 1 if through else 0
