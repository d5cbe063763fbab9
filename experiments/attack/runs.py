"""Attacks on runs and on the files of models: killed, moved, crowded, cut, flipped.

Not in the paper.
"""

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from experiments.attack.scene import (
    SECONDS,
    STEPS,
    TRAIN,
    WEIGHTS,
    Chance,
    Scene,
    judge,
    run,
    typed,
)

DESCRIBING = ("recipe.json", "src_tokenizer.json", "tgt_tokenizer.json")
OF_A_MODEL = (*DESCRIBING, WEIGHTS[0])


def killed(scene: Scene, chance: Chance, out: Path) -> str:
    """Kill a training three times at random moments, and resume it each time."""
    for _ in range(3):
        training = subprocess.Popen(
            typed(_go_on(out)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0, scene.seconds))
        training.kill()
        training.wait()
    return judge(run(*_go_on(out)), lambda: scene.ends_alike(out))


def _go_on(out: Path) -> list[object]:
    resume = ["--resume"] if (out / "recipe.json").is_file() else []
    return [*TRAIN, "--steps", STEPS, "--out", out, *resume]


def full_disk(scene: Scene, chance: Chance, out: Path) -> str:
    """Let the files of a resumed training end at a random size; then make room, and go on."""
    shutil.copytree(scene.half, out)
    kept = [path.name for path in (out / "checkpoints").iterdir()]
    largest = max(path.stat().st_size for path in scene.straight.rglob("*") if path.is_file())
    first = judge(run(*_go_on(out), largest=int(largest * chance.random() ** 2)), lambda: True)
    if first not in ("refused", "equal"):
        return first
    if first == "refused" and [n for n in kept if not (out / "checkpoints" / n).is_file()]:
        return "a checkpoint is lost"
    then = judge(run(*_go_on(out)), lambda: scene.ends_alike(out))
    return first if then == "equal" else f"with room again: {then}"


def two_runs(scene: Scene, chance: Chance, out: Path) -> str:
    """Start two trainings in one folder: one does it all, the other is refused."""
    words = (*TRAIN, "--steps", STEPS, "--out", out)
    one = subprocess.Popen(typed(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(chance.uniform(0, scene.seconds))
    found = [run(*words)]
    said, why = one.communicate(timeout=SECONDS)
    found.append(subprocess.CompletedProcess([], one.returncode, said, why))
    verdicts = [judge(each, lambda: scene.ends_alike(out)) for each in found]
    return "refused" if sorted(verdicts) == ["equal", "refused"] else " and ".join(verdicts)


def flipped_in(source: str, names: tuple[str, ...]) -> Callable[[Scene, Chance, Path], str]:
    """Give the attack that changes one bit of one of some files."""

    def flip(scene: Scene, chance: Chance, out: Path) -> str:
        shutil.copytree(getattr(scene, source), out)
        name = chance.choice(names)
        content = bytearray((out / name).read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        (out / name).write_bytes(content)
        return _used(scene, source, out)

    return flip


def damaged(scene: Scene, chance: Chance, out: Path) -> str:
    """Put something else in the place of a file of a model, or of a run half way."""
    source = chance.choice(["straight", "half"])
    shutil.copytree(getattr(scene, source), out)
    names = DESCRIBING + (WEIGHTS[1:] if source == "half" else WEIGHTS[:1])
    path = out / chance.choice(names)
    content = path.read_bytes()
    path.unlink()
    chance.choice(OTHERS)(path, content, chance)
    return _used(scene, source, out)


OTHERS: list[Callable[[Path, bytes, Chance], object]] = [
    lambda path, content, chance: path.write_bytes(content[: chance.randrange(len(content))]),
    lambda path, content, chance: path.write_bytes(content[:-1]),
    lambda path, content, chance: path.write_bytes(content * 2),
    lambda path, content, chance: path.write_bytes(b""),
    lambda path, content, chance: path.write_bytes(bytes(len(content))),
    lambda path, content, chance: path.write_bytes(chance.randbytes(len(content))),
    lambda path, content, chance: path.write_bytes(b'{"a":' * 100_000),
    lambda path, content, chance: path.write_bytes(json.dumps({"format": 99}).encode()),
    lambda path, content, chance: path.write_bytes((1 << 63).to_bytes(8, "little") + content[8:]),
    lambda path, content, chance: path.mkdir(),
    lambda path, content, chance: path.symlink_to(path.name),
    lambda path, content, chance: path.symlink_to("/dev/zero"),
    lambda path, content, chance: None,
]  # fmt: skip


def _used(scene: Scene, source: str, out: Path) -> str:
    """Go on with a run half way, or translate with what is a model."""
    if source == "half":
        return judge(run(*_go_on(out)), lambda: scene.ends_alike(out))
    found = run("translate", out, "--beam", 1)
    return judge(found, lambda: found.stdout == scene.said[getattr(scene, source)])


def ended(scene: Scene, chance: Chance, out: Path) -> str:
    """Ask a training at a random moment to end, as Ctrl-C, `kill` or a dropped ssh does; resume."""
    training = subprocess.Popen(
        typed(_go_on(out)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(chance.uniform(0, scene.seconds))
    training.send_signal(chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
    training.wait(timeout=SECONDS)
    return judge(run(*_go_on(out)), lambda: scene.ends_alike(out))


def moved(scene: Scene, chance: Chance, out: Path) -> str:
    """Move a training's folder away at a random moment, or remove it; go on where it is now."""
    shutil.copytree(scene.half, out)
    training = subprocess.Popen(
        typed(_go_on(out)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    time.sleep(chance.uniform(0, scene.seconds))
    away = out.with_name("away")
    out.rename(away)
    if lost := chance.random() < 0.5:
        shutil.rmtree(away)
    _, said = training.communicate(timeout=SECONDS)
    told = judge(subprocess.CompletedProcess([], training.returncode, b"", said), lambda: True)
    if lost or told not in ("refused", "equal"):
        return "a run out of nothing" if any(out.glob("*")) else told
    then = judge(run(*_go_on(away)), lambda: scene.ends_alike(away))
    shutil.rmtree(away)
    return told if then == "equal" else f"where it is now: {then}"
