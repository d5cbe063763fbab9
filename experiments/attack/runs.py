"""The scene of every attack; those on runs and model files: killed, moved, crowded, cut, flipped.

Not in the paper.
"""

import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from safetensors.numpy import load_file

from transformer.support.files import models_folder

STEPS, HALF, SECONDS = 24, 12, 120.0
SMALL = {
    "vocab_size": 293, "d_model": 16, "d_ff": 17, "num_heads": 2, "num_layers": 1,
    "batch_tokens": 256, "max_train_tokens": 23, "report_every": 1, "validate_every": 6,
}  # fmt: skip
TRAIN = ["train", "demo", *(word for k, v in SMALL.items() for word in ("--set", f"{k}={v}"))]
GIVEN = b"The dog sleeps.\n\nThe cat does not see the bird.\n"
WEIGHTS = ("model.safetensors", "checkpoints/last.safetensors", "checkpoints/best.safetensors")
DESCRIBING = ("recipe.json", "src_tokenizer.json", "tgt_tokenizer.json")
OF_A_MODEL = (*DESCRIBING, WEIGHTS[0])

Ended = subprocess.CompletedProcess[bytes]
Chance = random.Random


def run(*words: object, largest: int = 1 << 30) -> Ended:
    """Run `python -m transformer` with these words; no file it writes can grow beyond `largest`."""
    full_disk = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (largest, largest))
    return subprocess.run(
        typed(words), input=GIVEN, capture_output=True, timeout=SECONDS, preexec_fn=full_disk
    )


def typed(words: Iterable[object]) -> list[str]:
    """Give the command with these words."""
    return [sys.executable, "-m", "transformer", *map(str, words)]


class Scene:
    """What is attacked: a run to its last step, the same half way, and a shipped model."""

    def __init__(self, folder: Path) -> None:
        self.straight, self.half = folder / "straight", folder / "half"
        began = time.monotonic()
        self._need(*TRAIN, "--steps", STEPS, "--out", self.straight)
        self.seconds = time.monotonic() - began
        self._need(*TRAIN, "--steps", HALF, "--out", self.half)
        self.shipped = models_folder() / "demo-en-fr"
        models = (self.straight, self.shipped)
        self.said = {model: self._need("translate", model, "--beam", 1) for model in models}

    @staticmethod
    def _need(*words: object) -> bytes:
        found = run(*words)
        if found.returncode:
            raise RuntimeError(f"failed before any attack: {found.stderr.decode()}")
        return found.stdout

    def ends_alike(self, out: Path) -> bool:
        """Tell whether a run has left the weights of the straight one, bit by bit."""
        return all(_same(self.straight / name, out / name) for name in WEIGHTS)


def _same(one: Path, two: Path) -> bool:
    if not (one.is_file() and two.is_file()):
        return False
    first, second = load_file(one), load_file(two)
    return first.keys() == second.keys() and all(
        first[name].tobytes() == second[name].tobytes() for name in first
    )


def judge(found: Ended, equal: Callable[[], bool]) -> str:
    """Say how an attack ended: "refused", "equal", or what got through."""
    said = found.stderr.decode("utf-8", "replace")
    lines = [line for line in said.splitlines() if line.startswith("error: ")]
    if found.returncode == 2 and len(lines) == 1 and "Traceback" not in said:
        return "refused"
    if found.returncode:
        return f"status {found.returncode}: {said.strip()[-200:]}"
    return "equal" if equal() else "another result, status 0"


def killed(scene: Scene, chance: Chance, out: Path) -> str:
    """Kill a training three times at random moments, and resume it each time."""
    for _ in range(3):
        training = _at_work(scene, chance, out)
        training.kill()
        training.communicate()
    return judge(run(*_go_on(out)), lambda: scene.ends_alike(out))


def _at_work(scene: Scene, chance: Chance, out: Path) -> subprocess.Popen[bytes]:
    """Go on with a training, and give it at a random moment."""
    work = subprocess.Popen(typed(_go_on(out)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(chance.uniform(0, scene.seconds))
    return work


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
    training = _at_work(scene, chance, out)
    training.send_signal(chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP]))
    training.communicate(timeout=SECONDS)
    return judge(run(*_go_on(out)), lambda: scene.ends_alike(out))


def moved(scene: Scene, chance: Chance, out: Path) -> str:
    """Move a training's folder away at a random moment, or remove it; go on where it is now."""
    shutil.copytree(scene.half, out)
    training, away = _at_work(scene, chance, out), out.with_name("away")
    shutil.rmtree(away, ignore_errors=True)  # of an attack before
    out.rename(away)
    if lost := chance.random() < 0.5:
        shutil.rmtree(away)
    _, said = training.communicate(timeout=SECONDS)
    told = judge(subprocess.CompletedProcess([], training.returncode, b"", said), lambda: True)
    if any(out.glob("*")):
        return "a run out of nothing"
    if lost or told not in ("refused", "equal"):
        return told
    then = judge(run(*_go_on(away)), lambda: scene.ends_alike(away))
    return told if then == "equal" else f"where it is now: {then}"
