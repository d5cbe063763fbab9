"""Files that are truncated, of another kind, or well-formed and wrong."""

import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.attack.attacks import Attack, Outcome, Verdict, judge
from tests.attack.process import call, ended
from tests.attack.scene import GIVEN, HALF, Scene, ends_as, resume, sign_anew

KINDS = (
    "truncated and foreign files",
    "malformed safetensors",
    "malformed JSON",
)
DESCRIBING = ("recipe.json", "src_tokenizer.json", "tgt_tokenizer.json")
JSON = (*DESCRIBING, "manifest.json", "run.json", "data.json")
SECONDS = 20.0  # a command on these files takes less than one


def attacks(scene: Scene, counts: dict[str, int]) -> list[Attack]:
    """List the attacks of this file, so many of each kind."""
    makers = dict(zip(KINDS, (of_another_kind, safetensors, malformed_json), strict=True))
    return [
        Attack(kind, number, partial(make, scene))
        for kind, make in makers.items()
        for number in range(counts[kind])
    ]


def used(scene: Scene, folder: Path, name: str, what: str, *, strict: bool = True) -> Outcome:
    """Use a folder of which a file is damaged: translate, go on with the run, measure.

    Args:
        scene: Of the attack.
        folder: A model, or a run half way.
        name: Of the file.
        what: What was done to it.
        strict: Whether a result that is another one falls short.
    """
    checkpoint, record = name.startswith("checkpoints/"), name in ("run.json", "log.jsonl")
    if checkpoint or name in ("data.json", "log.jsonl"):
        found = ended(*resume(folder), seconds=SECONDS)
        right = ends_as(scene, folder) if found.status == 0 else False
        first = judge(found, lambda: right or not strict, f"{what}, resumed")
        if first.verdict == Verdict.FELL or not record:
            return first
    if record:
        words = ("evaluate", folder, "--beam", 1, "--record", folder / "record.json")
        return judge(ended(*words, seconds=SECONDS), lambda: True, f"{what}, evaluated")
    found = ended("translate", folder, "--beam", 1, given=GIVEN, seconds=SECONDS)
    said = scene.shipped_said if (folder / "card.json").is_file() else scene.said
    return judge(found, lambda: not strict or found.out == said, what)


def of_another_kind(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Put something else in the place of a file, or a part of it."""
    checkpoints = ("checkpoints/last.safetensors", "checkpoints/best.safetensors")
    name = chance.choice([*JSON, "log.jsonl", "model.safetensors", *checkpoints])
    run = Path(shutil.copytree(scene.half if "/" in name else scene.straight, folder / "run"))
    if not (run / name).exists():
        return Outcome(Verdict.EQUAL, f"{name}: this version writes none")
    content = (run / name).read_bytes()
    how = chance.choice(list(OTHERS))
    (run / name).unlink()
    OTHERS[how](run / name, content, chance)
    # A shorter log and a run.json that is gone change no weights; what is told of them may.
    return used(scene, run, name, f"{name} is {how}", strict=name not in ("log.jsonl", "run.json"))


def _circle(path: Path, content: bytes, chance: random.Random) -> None:
    path.symlink_to(path.name)


OTHERS: dict[str, Callable[[Path, bytes, random.Random], Any]] = {
    "cut": lambda path, content, c: path.write_bytes(content[: c.randrange(len(content))]),
    "cut by a little": lambda p, content, chance: p.write_bytes(content[: -chance.randrange(1, 9)]),
    "empty": lambda path, content, chance: path.write_bytes(b""),
    "missing": lambda path, content, chance: None,
    "random bytes": lambda path, content, chance: path.write_bytes(chance.randbytes(len(content))),
    "zeros": lambda path, content, chance: path.write_bytes(bytes(len(content))),
    "longer": lambda p, content, chance: p.write_bytes(content + chance.randbytes(9)),
    "twice itself": lambda path, content, chance: path.write_bytes(content * 2),
    "a folder": lambda path, content, chance: path.mkdir(),
    "a FIFO": lambda path, content, chance: os.mkfifo(path),
    "a link to nothing": lambda path, content, chance: path.symlink_to("none"),
    "a link to itself": _circle,
    "a link to /dev/zero": lambda path, content, chance: path.symlink_to("/dev/zero"),
    "a link to /dev/null": lambda path, content, chance: path.symlink_to("/dev/null"),
    "UTF-16": lambda path, content, c: path.write_bytes(content.decode("latin-1").encode("utf-16")),
    "after a BOM": lambda path, content, chance: path.write_bytes(b"\xef\xbb\xbf" + content),
}  # fmt: skip


# --- safetensors ------------------------------------------------------------------------------


def safetensors(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Write a safetensors file that is none, or one whose tensors no run has left."""
    name = chance.choice(["model.safetensors", "checkpoints/last.safetensors"])
    run = Path(shutil.copytree(scene.half if "/" in name else scene.straight, folder / "run"))
    if chance.random() < 0.5:
        how = chance.choice(list(HEADERS))
        content = (run / name).read_bytes()
        (size,) = struct.unpack("<Q", content[:8])
        (run / name).write_bytes(HEADERS[how](content[8 : 8 + size], content[8 + size :], chance))
        return used(scene, run, name, f"{name}: {how}")
    changes = TENSORS | STATE if "/" in name else TENSORS
    how = chance.choice(list(changes))
    written = call(lambda: rewrite(run / name, changes[how], chance)).wait()
    if written.status != 0:
        return Outcome(Verdict.REFUSED, f"{name}: {how} is not even written")
    return used(scene, run, name, f"{name}: {how}, with a sum of its own")


def _framed(header: bytes, rest: bytes, size: int | None = None) -> bytes:
    return struct.pack("<Q", len(header) if size is None else size) + header + rest


def _altered(header: bytes, rest: bytes, change: Callable[[dict[str, Any]], Any]) -> bytes:
    values = json.loads(header)
    first = min(key for key in values if key != "__metadata__")
    change(values[first])
    return _framed(json.dumps(values).encode(), rest)


def _saying(header: bytes, rest: bytes, metadata: dict[str, str]) -> bytes:
    return _framed(json.dumps(json.loads(header) | {"__metadata__": metadata}).encode(), rest)


HEADERS: dict[str, Callable[[bytes, bytes, random.Random], bytes]] = {
    "no header": lambda h, r, c: r,
    "a header of 2**63 bytes": lambda h, r, c: _framed(h, r, 2**63),
    "a header longer than the file": lambda h, r, c: _framed(h, r, len(h) + len(r) + 1),
    "a header one byte short": lambda h, r, c: _framed(h, r, len(h) - 1),
    "a header nested deep": lambda h, r, c: _framed(b'{"a":' * 30_000 + b"1" + b"}" * 30_000, r),
    "an empty header": lambda h, r, c: _framed(b"{}", b""),
    "a list for a header": lambda h, r, c: _framed(b"[1, 2]", r),
    "no tensors": lambda h, r, c: _framed(b'{"__metadata__": {"a": "b"}}', b""),
    "foreign metadata": lambda h, r, c: _saying(h, r, {"format": "pt", "made by": "another"}),
    "metadata nested deep": lambda h, r, c: _saying(
        h, r, dict.fromkeys(json.loads(h)["__metadata__"], "[" * 50_000)
    ),
    "an offset beyond the end": lambda h, r, c: _altered(
        h, r, lambda t: t.update(data_offsets=[t["data_offsets"][0], 2**40])
    ),
    "offsets the wrong way round": lambda h, r, c: _altered(
        h, r, lambda t: t.update(data_offsets=t["data_offsets"][::-1])
    ),
    "a negative offset": lambda h, r, c: _altered(h, r, lambda t: t.update(data_offsets=[-8, 0])),
    "a shape of 2**62 by 2**62": lambda h, r, c: _altered(
        h, r, lambda t: t.update(shape=[2**62, 2**62])
    ),
    "a kind of number that is none": lambda h, r, c: _altered(h, r, lambda t: t.update(dtype="F7")),
    "another kind of number": lambda h, r, c: _altered(h, r, lambda t: t.update(dtype="I32")),
    "a shape turned round": lambda h, r, c: _altered(
        h, r, lambda t: t.update(shape=t["shape"][::-1])
    ),
}  # fmt: skip


def rewrite(path: Path, change: Callable[[Any, Any, str], Any], chance: random.Random) -> None:
    """Change a file's tensors, or what it says of them, and write it as the course does."""
    from transformer.models.checkpoint import load_tensors, save_tensors

    tensors, about = load_tensors(path)
    names = [name for name in sorted(tensors) if not name.startswith("random")]
    change(tensors, about, chance.choice(names))
    save_tensors(path, tensors, **about)


def _set(value: float) -> Callable[[Any, Any, str], None]:
    def change(tensors: Any, about: Any, name: str) -> None:
        tensors[name] = tensors[name].clone()
        tensors[name].view(-1)[-1] = value

    return change


def _said(key: str, value: Any) -> Callable[[Any, Any, str], None]:
    def change(tensors: Any, about: Any, name: str) -> None:
        about.setdefault("progress", {})[key] = value

    return change


def _moments(change: Callable[[Any], Any]) -> Callable[[Any, Any, str], None]:
    def change_all(tensors: Any, about: Any, name: str) -> None:
        for each in [n for n in tensors if n.startswith("optimizer")]:
            tensors[each] = change(tensors[each])

    return change_all


TENSORS: dict[str, Callable[[Any, Any, str], Any]] = {
    "a NaN": _set(float("nan")),
    "an infinity": _set(float("inf")),
    "a tensor missing": lambda t, a, n: t.pop(n),
    "a tensor too many": lambda t, a, n: t.update(foreign=t[n].clone()),
    "a tensor cut to one row": lambda t, a, n: t.update({n: t[n].reshape(-1)[:1].clone()}),
    "a tensor of whole numbers": lambda t, a, n: t.update({n: t[n].int()}),
    "a tensor turned round": lambda t, a, n: t.update({n: t[n].reshape(*t[n].shape[::-1], 1)}),
}  # fmt: skip
STATE: dict[str, Callable[[Any, Any, str], Any]] = {  # of what a run is resumed from
    "every moment cut to one row": _moments(lambda t: t.reshape(-1)[:1].clone()),
    "every moment in half precision": _moments(lambda t: t.half()),
    "no optimizer": lambda t, a, n: [t.pop(key) for key in list(t) if key.startswith("optimizer")],
    "moments of a parameter too many": lambda t, a, n: t.update(
        {f"optimizer/999/{key}": t[n].clone() for key in ("step", "exp_avg", "exp_avg_sq")}
    ),
    "random numbers cut short": lambda t, a, n: t.update(
        {"random/cpu": t["random/cpu"][:9].clone()}
    ),
    "step -1": _said("step", -1),
    "step 10**30": _said("step", 10**30),
    "step one half": _said("step", HALF + 0.5),
    "epoch a text": _said("epoch", "two"),
    "batch -7": _said("batch", -7),
    "best_loss a list": _said("best_loss", [1]),
    "progress of a newer version": _said("momentum", 1),
    "no progress": lambda t, a, n: a.pop("progress"),
    "no settings": lambda t, a, n: a.pop("settings"),
    "settings a list": lambda t, a, n: a.update(settings=[]),
}  # fmt: skip


# --- JSON -------------------------------------------------------------------------------------


def malformed_json(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Change a part of a JSON file, as a slip of an editor does, or sign the change anew."""
    shipped = chance.random() < 0.2
    name = chance.choice([*DESCRIBING, "card.json"] if shipped else [*JSON, "log.jsonl"])
    source = scene.shipped if shipped else scene.half if name == "data.json" else scene.straight
    run = Path(shutil.copytree(source, folder / "run"))
    if not (run / name).is_file():
        return Outcome(Verdict.EQUAL, f"{name}: this version writes none")
    text = (run / name).read_text("utf-8")
    rest: list[str] = []
    if name == "log.jsonl":
        text, *rest = text.splitlines()
    how, changed = mutated(text, chance)
    (run / name).write_bytes("\n".join([changed, *rest]).encode("utf-8", "surrogatepass"))
    signed = name in DESCRIBING and chance.random() < 0.5
    if signed:
        sign_anew(run)
    strict = not signed and name not in ("log.jsonl", "run.json")
    return used(scene, run, name, f"{name}: {how}{', signed anew' * signed}", strict=strict)


def mutated(text: str, chance: random.Random) -> tuple[str, str]:
    """Change JSON somewhere; give what was done, and the new text."""
    if chance.random() < 0.3:
        how = chance.choice(list(WHOLE))
        return how, WHOLE[how](text)
    values = json.loads(text)
    place, path = values, []
    while True:
        key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
        path.append(str(key)[:20])
        if not isinstance(place[key], (dict, list)) or not place[key] or chance.random() < 0.3:
            break
        place = place[key]
    where = "/".join(path)
    if chance.random() < 0.4:
        del place[key]
        return f"without {where}", json.dumps(values)
    odd = chance.choice(ODD)
    place[key] = odd
    shown = json.dumps(odd)
    return f"{where} is {shown[:30]}", json.dumps(values)


ODD: list[Any] = [
    None, True, False, 0, -1, 1, 2, 0.5, 10**18, 2**63, 10**400, -(10**30), float("nan"),
    float("inf"), "", " ", "no", "\ud800", "\0", "x" * 100_000, "../../etc/passwd", [], [None], {},
    {"a": {}}, [[[[]]]],
]  # fmt: skip
WHOLE: dict[str, Callable[[str], str]] = {
    "nested deep": lambda text: "[" * 100_000,
    "nested deep and closed": lambda text: '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a number": lambda text: "1",
    "null": lambda text: "null",
    "a list": lambda text: f"[{text}]",
    "a text": lambda text: json.dumps(text),
    "NaN": lambda text: "NaN",
    "a number of a million digits": lambda text: "1" * 1_000_000,
    "of a newer format": lambda text: json.dumps(json.loads(text) | {"format": 99}),
    "of a format that is none": lambda text: json.dumps(json.loads(text) | {"format": [1]}),
    "with a section of another's": lambda text: json.dumps(json.loads(text) | {"other": {"a": 1}}),
    "two values": lambda text: text + text,
    "with a comma too many": lambda text: text.rstrip().removesuffix("}") + ",}",
    "after a BOM": lambda text: "\ufeff" + text,
    "with a lone surrogate": lambda text: text + "\udc80",
    "without its keys": lambda text: "{}",
}  # fmt: skip
