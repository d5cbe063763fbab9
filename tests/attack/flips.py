"""One bit changed: in models, checkpoints, a shipped model, the embedded corpus."""

import random
import shutil
from functools import partial
from pathlib import Path

from tests.attack.attacks import Attack, Outcome, flip, judge
from tests.attack.process import call, ended
from tests.attack.scene import GIVEN, Scene, embedded_text, ends_as, resume

KINDS = (
    "a bit flipped in a model",
    "a bit flipped in a checkpoint",
    "a bit flipped in a shipped model",
    "a bit flipped in the embedded corpus",
)
READ = ("recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors")


def attacks(scene: Scene, counts: dict[str, int]) -> list[Attack]:
    """List the attacks of this file, so many of each kind."""
    makers = dict(zip(KINDS, (a_model, a_checkpoint, shipped, embedded), strict=True))
    return [
        Attack(kind, number, partial(make, scene))
        for kind, make in makers.items()
        for number in range(counts[kind])
    ]


def damaged(folder: Path, names: list[str], chance: random.Random) -> str:
    """Flip a bit in one of some files; the small ones as often as the large."""
    name = chance.choice(names)
    content, where = flip((folder / name).read_bytes(), chance)
    (folder / name).write_bytes(content)
    return f"{name} {where}"


def a_model(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Translate with a model of which one bit is another."""
    model = Path(shutil.copytree(scene.straight, folder / "model"))
    listed = [name for name in (*READ, "manifest.json") if (model / name).is_file()]
    what = damaged(model, listed, chance)
    found = ended("translate", model, "--beam", 1, given=GIVEN)
    return judge(found, lambda: found.out == scene.said, what)


def a_checkpoint(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Resume a run of which one bit is another."""
    out = Path(shutil.copytree(scene.half, folder / "run"))
    names = [f"checkpoints/{path.name}" for path in sorted((out / "checkpoints").iterdir())]
    what = damaged(out, [*names, "log.jsonl", "data.json"], chance)
    # A digit of the log may be another: its lines have no sum, and no weights hang on them.
    log = not what.startswith("log.jsonl")
    return judge(ended(*resume(out)), lambda: ends_as(scene, out, log), what)


def shipped(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Translate with a shipped model of which one bit is another."""
    model = Path(shutil.copytree(scene.shipped, folder / "model"))
    what = damaged(model, [*READ, "card.json"], chance)
    found = ended("translate", model, "--beam", 1, given=GIVEN)
    return judge(found, lambda: found.out == scene.shipped_said, what)


def embedded(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Read the embedded corpus of which one bit is another."""
    from transformer.data import embedded as reader

    corpus = Path(shutil.copytree(reader.corpus_folder(), folder / "corpus"))
    found_names = ["sentences.tsv.gz", "sentences.tsv.gz.sha256"]
    what = damaged(corpus, [name for name in found_names if (corpus / name).exists()], chance)
    change = partial(setattr, reader, "corpus_folder", lambda: corpus)
    found = call(lambda: embedded_text(corpus), change=change).wait()
    return judge(found, lambda: found.out == scene.embedded_said, what)
