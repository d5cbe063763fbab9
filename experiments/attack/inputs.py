"""Attacks by what is given: values in Python, streams, a stranger's module, the page's models.

Not in the paper.
"""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from experiments.attack.runs import GIVEN, SECONDS, Chance, Ended, Scene, judge, typed
from experiments.laws import plain
from transformer.support.files import models_folder

TRIED = tomllib.loads(Path(__file__).with_name("given.toml").read_text(encoding="utf-8"))
PYTHON = """
import math, torch, transformer as t
from transformer.decoding import beam_search
from attention_course.status import exit_status
config = t.ModelConfig(d_model=14, num_heads=2, d_ff=11, num_layers=1, max_len=60)
model = t.Transformer(config, src_vocab_size=13, tgt_vocab_size=13).eval()
ids, floats = torch.tensor([[5, 7, 3], [6, 3, 0]]), torch.randn(2, 3, 14)
raise SystemExit(exit_status(lambda: bool({typed})))
"""
HOSTILE = """
import ctypes, os, sys, time, torch
from sound import Model
class make(Model):
    calls = 0
    def forward(self, src, tgt_in):
        make.calls += 1
        if make.calls > {after}:
            {act}
        return super().forward(src, tgt_in)
"""
ENDLESS = b"The dog sleeps.\n" * 512


def python_values(scene: Scene, chance: Chance, out: Path) -> str:
    """Call a function with a value that it cannot take."""
    program = PYTHON.replace("{typed}", chance.choice(TRIED["typed"]))
    return judge(_run([sys.executable, "-c", program]), lambda: False)


def streams(scene: Scene, chance: Chance, out: Path) -> str:
    """Translate what is no text, or without end, or to somewhere that takes no more."""
    words = typed(["translate", scene.straight, "--beam", 1])
    line, lines = chance.randrange(3), GIVEN.splitlines(keepends=True)
    kind = chance.choice(["no UTF-8", "no line feed", "a full disk", "a reader that goes"])
    if kind == "no UTF-8":
        lines[line] = chance.randbytes(7) + b"\xff\n"
        return judge(_run(words, b"".join(lines)), lambda: False)
    if kind == "no line feed":
        lines[line] = b"a " * 10**6
        return judge(_run(words, b"".join(lines)), lambda: False)
    if kind == "a full disk":
        with Path("/dev/full").open("wb") as full:
            return judge(_run(words, GIVEN, full), lambda: False)
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(ENDLESS)
    process.stdin.flush()  # and is left open: what is there is to be translated now
    first = process.stdout.readline()
    process.stdout.close()
    with process.stdin:
        process.stdin.write(ENDLESS)
    said, status = process.stderr.read(), process.wait(timeout=SECONDS)
    right = first == scene.said[scene.straight].partition(b"\n")[0] + b"\n" and not said
    return "equal" if right and status in (0, 2) else f"status {status}: {first!r} {said!r}"


def foreign_modules(scene: Scene, chance: Chance, out: Path) -> str:
    """Try the laws on a module that does anything but its work: never "no law is broken"."""
    out.mkdir()
    shutil.copy(plain.__file__, out / "sound.py")
    act, after = chance.choice(TRIED["acts"]), chance.choice([0, 0, 7, 40])
    (out / "hostile.py").write_text(HOSTILE.format(act=act, after=after), encoding="utf-8")
    words = [sys.executable, "-m", "attention_laws", "hostile:make", "--seconds", "2"]
    found = _run([*words, "--only", "shape,no_future,no_padding"], folder=out)
    harmless = act.startswith("print") and found.returncode == 0
    told = found.returncode in (1, 2, 3) and b"Traceback" not in found.stderr
    small = len(found.stdout + found.stderr) < 100_000
    refused = "refused" if told and small else f"{act}: status {found.returncode}"
    return "equal" if harmless and small else refused


def page_models(scene: Scene, chance: Chance, out: Path) -> str:
    """Flip a bit of a file that the live page loads, or cut it, or take another model's."""
    shutil.copytree(scene.shipped, out)
    names = ["recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors"]
    path = out / chance.choice([*names, "manifest.json"])
    content, other = bytearray(path.read_bytes()), models_folder() / "demo-fr-en" / path.name
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    cut = bytes(content[: chance.randrange(len(content))])
    path.write_bytes(chance.choice([bytes(content), bytes(content), cut, other.read_bytes()]))
    found = _run(["node", str(Path(__file__).with_name("page.mjs")), str(out)])
    return judge(found, lambda: found.stdout == scene.said[scene.shipped].splitlines(True)[0])


def _run(
    words: list[str], given: bytes = b"", to: object = subprocess.PIPE, folder: Path | None = None
) -> Ended:
    return subprocess.run(
        words, input=given, stdout=to, stderr=subprocess.PIPE, timeout=SECONDS, cwd=folder
    )  # type: ignore[call-overload]
