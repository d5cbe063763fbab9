"""Attacks on a run while it works: SIGKILL, a full disk, a second run in its folder."""

import json
import random
import shutil
import time
from functools import partial
from pathlib import Path

from tests.attack.attacks import Attack, Outcome, Verdict, fell, is_refused, judge
from tests.attack.process import command, ended
from tests.attack.scene import (
    DEMO,
    GIVEN,
    STEPS,
    Scene,
    ends_as,
    resume,
    same_weights,
)

KILLS = 3  # in a chain
KINDS = ("kill chains", "full disk", "two runs in one folder")


def attacks(scene: Scene, counts: dict[str, int]) -> list[Attack]:
    """List the attacks of this file, so many of each kind."""
    makers = dict(zip(KINDS, (killed, full_disk, two_runs), strict=True))
    return [
        Attack(kind, number, partial(make, scene))
        for kind, make in makers.items()
        for number in range(counts[kind])
    ]


def killed(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Kill a training at random moments, resume it each time, and compare its end."""
    out, at = folder / "run", []
    for _ in range(KILLS):
        running = command(*begin_or_resume(out))
        moment = chance.uniform(0, scene.seconds)
        time.sleep(moment)
        running.kill()
        found = running.wait()
        at.append(f"{moment:.2f} s")
        if found.status not in (0, -9):
            return judge(found, lambda: False, f"resumed after kills at {', '.join(at)}")
    what = f"killed after {', '.join(at)}"
    return judge(ended(*begin_or_resume(out)), lambda: ends_as(scene, out), what)


def begin_or_resume(out: Path) -> list[object]:
    """Give the words that go on with a run, or begin it where nothing is to go on with."""
    begun = (out / "recipe.json").is_file()
    return resume(out) if begun else [*DEMO, "--steps", STEPS, "--out", out]


def full_disk(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Let a command's files end at a random size; then make room, and go on."""
    model = Path(shutil.copytree(scene.half, folder / "run"))
    largest = max(path.stat().st_size for path in scene.straight.rglob("*") if path.is_file())
    limit, what = int(largest * chance.random() ** 2), chance.choice(list(FULL))
    words = FULL[what](folder, model)
    before = {path: path.read_bytes() for path in (model / "checkpoints").iterdir()}
    found = ended(*words, largest=limit, given=GIVEN)
    what = f"{what}, no file over {limit:,} bytes"
    left = [path.name for path in folder.rglob("*.tmp")]
    if left:
        return fell(f"{what}: leaves {left[0]}")
    if found.status == 2 and is_refused(found) and "train" not in what:
        return Outcome(Verdict.REFUSED, what)
    if "train" not in what:
        return judge(found, lambda: made(words), what)
    lost = [path.name for path in before if not path.is_file()]
    if found.status == 2 and lost and "resumed" in what:
        return fell(f"{what}: {lost[0]} is lost")
    first = judge(found, lambda: True, what)
    if first.verdict == Verdict.FELL:
        return first
    out = Path(str(words[words.index("--out") + 1]))
    then = judge(ended(*begin_or_resume(out)), lambda: ends_as(scene, out), f"{what}, then room")
    return first if then.verdict == Verdict.EQUAL else fell(then.seen)


FULL = {
    "train": lambda folder, model: [*DEMO, "--steps", STEPS, "--out", folder / "new"],
    "train, resumed": lambda folder, model: resume(model),
    "evaluate": lambda folder, model: [
        *("evaluate", model, "--beam", 1, "--record", folder / "record.json"),
    ],
    "translate": lambda folder, model: [
        *("translate", model, "--attention", folder / "maps.json"),
    ],
    "export": lambda folder, model: ["export", model, "--to", "onnx", "--out", folder / "onnx"],
}


def made(words: list[object]) -> bool:
    """Tell whether what a command was to write is there, and whole where it is JSON."""
    place = Path(str(words[-1]))
    if place.suffix == ".json":
        json.loads(place.read_text("utf-8"))
    return place.exists()


def two_runs(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Start two trainings in one folder: one does it all, the other is refused."""
    out, pause = folder / "run", chance.uniform(0, 1.1) * scene.seconds
    again = chance.random() < 0.5
    if again:
        shutil.copytree(scene.half, out)
    words = resume(out) if again else [*DEMO, "--steps", STEPS, "--out", out]
    one = command(*words)
    time.sleep(pause if not again else pause / 3)
    two = command(*(words if again or chance.random() < 0.5 else resume(out)))
    found = one.wait(), two.wait()
    what = f"{'two resumed' if again else 'two begun'}, {pause:.2f} s apart"
    for each in found:
        if judge(each, lambda: True, what).verdict == Verdict.FELL:
            return judge(each, lambda: True, what)
    if not any(each.status == 0 for each in found):
        return fell(f"{what}: both refused: {found[0].err.strip()} / {found[1].err.strip()}")
    if not ends_as(scene, out):
        weights = same_weights(scene.straight / "model.safetensors", out / "model.safetensors")
        return fell(f"{what}: {'log or checkpoints' if weights else 'weights'} differ")
    both = all(each.status == 0 for each in found)
    return Outcome(Verdict.EQUAL if both else Verdict.REFUSED, what)
