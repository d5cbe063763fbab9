"""One bit changed: in models, a shipped model, the embedded corpus, an archive."""

import random
import shutil
from functools import partial
from pathlib import Path

from tests.attack.attacks import Attack, Outcome, flip, judge
from tests.attack.process import call, ended
from tests.attack.scene import GIVEN, Scene, embedded_text, iwslt_text

KINDS = (
    "a bit flipped in a model",
    "a bit flipped in a shipped model",
    "a bit flipped in the embedded corpus",
    "a bit flipped in an IWSLT archive",
)
READ = ("recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors")


def attacks(scene: Scene, counts: dict[str, int]) -> list[Attack]:
    """List the attacks of this file, so many of each kind."""
    makers = dict(zip(KINDS, (a_model, shipped, embedded, an_archive), strict=True))
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


def shipped(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Translate with a shipped model of which one bit is another."""
    model = Path(shutil.copytree(scene.shipped, folder / "model"))
    what = damaged(model, [*READ, "manifest.json"], chance)
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


def an_archive(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Read an archive of which one bit is another."""
    content, what = flip(scene.archive.read_bytes(), chance)
    (folder / "iwslt").mkdir()
    (folder / "iwslt" / scene.archive.name).write_bytes(content)
    found = call(lambda: iwslt_text(folder)).wait()
    return judge(found, lambda: found.out == scene.archive_said, what)
