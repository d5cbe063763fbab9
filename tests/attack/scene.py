"""What is attacked: a model trained on the spot, a run half way, archives of our own text."""

import hashlib
import io
import json
import os
import random
import shutil
import tarfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.attack.process import Ended, allow_for, call, ended

STEPS, HALF = 24, 12
SETTINGS = {
    "corpus": "iwslt", "src_lang": "de", "tgt_lang": "en",
    "vocab_size": 277, "d_model": 16, "d_ff": 17, "num_heads": 2, "num_layers": 1,
    "batch_tokens": 256, "max_train_tokens": 40, "max_len": 48, "report_every": 1,
    "validate_every": 2, "average_last": 3, "warmup_steps": 9,
}  # fmt: skip
DEMO = ["train", "demo", *(w for k, v in SETTINGS.items() for w in ("--set", f"{k}={v}"))]
GIVEN = "Der Hund schläft.\n\nDie Katze sieht den Vogel nicht.\n".encode()
SHIPPED = "demo-en-fr"
_SUBJECTS = {"Der Hund": "The dog", "Die Katze": "The cat", "Ein Kind": "A child", "Er": "He"}
_VERBS = {"schläft": "sleeps", "sieht den Vogel": "sees the bird", "liest": "reads"}
_ENDS = {"": "", " heute": " today", " nicht mehr": " no more", " im Haus": " in the house"}


@dataclass(frozen=True)
class Scene:
    """What the attacks have in common; they copy it before they change it.

    Attributes:
        data: What TRANSFORMER_DATA names: the archive is in iwslt/.
        straight: A run from its first step to its last.
        half: The same, stopped half way.
        shipped: A copy of a model that comes with the course.
        said, shipped_said: What `straight` and `shipped` make of `GIVEN`.
        embedded_said, archive_said: What is read of the embedded corpus and of the archive.
        seconds: How long the straight run took.
    """

    data: Path
    straight: Path
    half: Path
    shipped: Path
    said: bytes
    shipped_said: bytes
    embedded_said: bytes
    archive_said: bytes
    seconds: float

    @property
    def archive(self) -> Path:
        """The IWSLT archive."""
        return self.data / "iwslt" / "de-en.tgz"


def sentences(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Draw German sentences and their translations."""
    chance, src, tgt = random.Random(seed), [], []
    for _ in range(count):
        parts = [chance.choice(list(each.items())) for each in (_SUBJECTS, _VERBS, _ENDS)]
        src.append("".join((parts[0][0], " ", parts[1][0], parts[2][0], ".")))
        tgt.append("".join((parts[0][1], " ", parts[1][1], parts[2][1], ".")))
    return src, tgt


def write_archive(path: Path) -> None:
    """Write an archive in the layout of IWSLT 2016."""
    contents = {}
    for lang, lines in zip(("de", "en"), sentences(150, seed=1), strict=True):
        contents[f"train.tags.de-en.{lang}"] = "\n".join(["<doc>", *lines, "</doc>", ""])
    for name, seed in (("tst2013", 2), ("tst2014", 3)):
        for lang, lines in zip(("de", "en"), sentences(12, seed), strict=True):
            segments = "".join(f'<seg id="{i}"> {line} </seg>\n' for i, line in enumerate(lines))
            xml = f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n{segments}</mteval>\n'
            contents[f"IWSLT16.TED.{name}.de-en.{lang}.xml"] = xml
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, text in contents.items():
            member = tarfile.TarInfo(f"de-en/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))


def make_scene(folder: Path) -> Scene:
    """Train what is to be attacked, and translate with it.

    Raises:
        RuntimeError: that fails without an attack.
    """
    from transformer.support.paths import models_folder

    data, straight, half = (folder / name for name in ("data", "straight", "half"))
    write_archive(data / "iwslt" / "de-en.tgz")
    os.environ["TRANSFORMER_DATA"] = str(data)
    began = time.monotonic()
    needed(ended(*DEMO, "--steps", STEPS, "--out", straight))
    seconds = time.monotonic() - began
    allow_for(seconds)
    needed(ended(*DEMO, "--steps", HALF, "--out", half))
    shipped = Path(shutil.copytree(models_folder() / SHIPPED, folder / "shipped"))
    said, shipped_said = (
        needed(ended("translate", model, "--beam", 1, given=GIVEN)) for model in (straight, shipped)
    )
    embedded, archive = (call(partial(read, data)).wait() for read in (embedded_text, iwslt_text))
    texts = said, shipped_said, needed(embedded), needed(archive)
    return Scene(data, straight, half, shipped, *texts, seconds)


def embedded_text(folder: Path) -> str:
    """Give a digest of the embedded corpus; its own folder is where `reader` says."""
    from transformer.data import embedded as reader

    read = [reader.pairs(split, "en", "fr") for split in ("train", "validation", "test")]
    text = [(each.src, each.tgt, each.alignments) for each in read]
    return hashlib.sha256(repr(text).encode()).hexdigest()


def iwslt_text(folder: Path) -> list[tuple[list[str], list[str]]]:
    """Give every sentence of the archive in a folder of data."""
    from transformer.data import corpora

    os.environ["TRANSFORMER_DATA"] = str(folder)
    read = [corpora.load("iwslt", s, "de", "en") for s in ("train", "validation", "test")]
    return [(list(each.src), list(each.tgt)) for each in read]


def needed(found: Ended) -> bytes:
    """Give what a command said that must succeed."""
    if found.status != 0:
        raise RuntimeError(f"failed before any attack: {found.err}")
    return found.out


def resume(run: Path, steps: int = STEPS) -> list[object]:
    """Give the words that take a run to its end."""
    return [*DEMO, "--steps", steps, "--out", run, "--resume"]


def same_weights(one: Path, two: Path) -> bool:
    """Tell whether two files of weights hold the same tensors, bit by bit; read without us."""
    from safetensors.numpy import load_file

    if not (one.is_file() and two.is_file()):
        return False
    first, second = load_file(one), load_file(two)
    return first.keys() == second.keys() and all(
        first[name].shape == second[name].shape and first[name].tobytes() == second[name].tobytes()
        for name in first
    )


def ends_as(scene: Scene, run: Path, log: bool = True) -> bool:
    """Tell whether a run has left the weights of the straight one, and its log without times."""
    logs: list[list[object]] = []
    for folder in (scene.straight, run):
        lines = [json.loads(x) for x in (folder / "log.jsonl").read_text("utf-8").splitlines()]
        logs.append([(line["kind"], line["step"], line["loss"]) for line in lines])
    names = ("model.safetensors", "checkpoints/last.safetensors", "checkpoints/best.safetensors")
    return (logs[0] == logs[1] or not log) and all(
        same_weights(scene.straight / n, run / n) for n in names
    )


def sign_anew(model: Path) -> None:
    """Put the sums of a folder's files, as they are now, into its manifest.

    As somebody does who changes a file on purpose: what is left to refuse it is its content.
    """
    manifest = model / "manifest.json"
    about = json.loads(manifest.read_text("utf-8"))
    for name in about["sha256"]:
        about["sha256"][name] = hashlib.sha256((model / name).read_bytes()).hexdigest()
    manifest.write_text(json.dumps(about), "utf-8")
