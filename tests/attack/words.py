"""Odd values on the command line, odd text, and streams that are closed, full or broken."""

import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.attack.attacks import Attack, Outcome, Verdict, fell, judge
from tests.attack.process import ended, program, words_of
from tests.attack.scene import DEMO, GIVEN, Scene

KINDS = ("odd values on the command line", "odd text", "closed, full and broken streams")
SECONDS = 60.0


def attacks(scene: Scene, counts: dict[str, int]) -> list[Attack]:
    """List the attacks of this file, so many of each kind."""
    makers = dict(zip(KINDS, (odd_value, odd_text), strict=False))
    found = [
        Attack(kind, number, partial(make, scene))
        for kind, make in makers.items()
        for number in range(counts[kind])
    ]
    every = list(STREAMS)
    return found + [
        Attack(KINDS[2], number, partial(stream, scene, every[number % len(every)]))
        for number in range(counts[KINDS[2]])
    ]


# --- values -----------------------------------------------------------------------------------

VALUES = [
    "", " ", "0", "-1", "1", "2", "3", "0.5", "1.7", "1e3", "nan", "-nan", "inf", "-inf", "1e309",
    "1e-320", "400", str(2**31), str(2**63), str(10**18), "9" * 5000, "٣", "²", "0x10", "1_000",
    "+1", "true", "none", "None", "no", "é", "\udc80", "de", "x" * 70_000, "a\nb", "%s%n", "$(id)",
    "..", "/", "/dev/null", "~", "-", "--", "=",
]  # fmt: skip
KEYS = [
    "d_model", "d_ff", "num_heads", "num_layers", "d_k", "d_v", "dropout", "attention_dropout",
    "pre_norm", "positions", "position_dim", "max_len", "tie_source_target", "tie_softmax",
    "vocab_size", "min_frequency", "lowercase", "tokenizer", "corpus", "src_lang", "tgt_lang",
    "max_train_tokens", "batch_tokens", "batch_sentences", "accumulate", "learning_rate",
    "learning_rate_factor", "warmup_steps", "beta2", "epsilon",
    "label_smoothing", "clip_norm", "bf16", "report_every", "validate_every",
    "average_last", "seed", "steps", "no_such_key", "", "training.steps", "__class__",
]  # fmt: skip


def odd_value(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Give a value that nobody means: refused, or a command that ends well."""
    value = chance.choice(VALUES)
    words = chance.choice(COMMANDS)(scene, chance, value, folder)
    found = ended(*words, given=GIVEN, seconds=SECONDS, change=lambda: os.chdir(folder))
    shown = [str(word) for word in words if str(word) not in DEMO]
    outcome = judge(found, lambda: True, words_of(shown)[:160])
    if found.status == 2 and outcome.verdict == Verdict.FELL:
        usage = found.err.strip().splitlines()
        if len(usage) == 1 and usage[0].startswith("error: "):
            return Outcome(Verdict.REFUSED, outcome.seen)
    if found.status == 0 and b"nan" in found.out.lower().split():
        return fell(f"{outcome.seen}: NaN in what it says")
    return outcome


def train(scene: Scene, chance: random.Random, value: str, folder: Path) -> list[object]:
    """Train with a setting of this value; one step, unless it says how many."""
    key = chance.choice(KEYS)
    steps = [] if key == "steps" else ["--set", "steps=1"]
    if key == "steps" and value.isascii() and value.isdecimal() and int(value[:9]) > 3:
        value = f"-{value}"  # a million steps are no mistake
    return [*DEMO, *steps, "--set", f"{key}={value}", "--out", folder / "run"]


def written(scene: Scene, chance: random.Random, value: str, folder: Path) -> list[object]:
    """Write to a place of this name in the attack's own folder, and nowhere else."""
    place = folder / value[:300].lstrip("/~.")
    options = ["--beam=1", "--attention"], ["--beam=1", "--record"]
    words: list[list[object]] = [
        [*DEMO, "--set", "steps=1", "--out", place],
        ["translate", scene.straight, *options[0], place],
        ["evaluate", scene.straight, *options[1], place],
    ]
    return chance.choice(words)


COMMANDS: list[Callable[[Scene, random.Random, str, Path], list[object]]] = [
    *[train] * 6,
    *[written] * 3,
    lambda s, c, value, f: ["train", value, "--out", f / "run"],
    lambda s, c, value, f: [*DEMO, f"--steps={value}", "--set", value, "--out", f / "run"],
    lambda s, c, value, f: ["translate", s.straight, f"--beam={value}"],
    lambda s, c, value, f: ["translate", value],
    lambda s, c, value, f: ["translate", s.straight, "--beam=1", f"--weights={value}"],
    lambda s, c, value, f: ["translate", s.straight, f"--refuse-long={value}"],
    lambda s, c, value, f: ["evaluate", s.straight, "--beam=1", f"--alpha={value}"],
    lambda s, c, value, f: ["evaluate", s.straight, "--beam=1", f"--corpus={value}"],
    lambda s, c, value, f: ["evaluate", s.straight, "--beam=1", f"--split={value}"],
    lambda s, c, value, f: ["export", s.straight, f"--to={value}", "--out", f / "out"],
    lambda s, c, value, f: ["corpora", c.choice(["fetch", "verify", "list", value]), value],
    lambda s, c, value, f: [value, value],
]


# --- text -------------------------------------------------------------------------------------

PIECES = [
    b"Der Hund schl\xc3\xa4ft.", b"\xef\xbb\xbf", b"\0", b"\r", b"\r\n", b"\n", b"\n\n\n",
    b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xa8", b"\xc2\x85",
    b"\x0c", b"\x1b[2J", "\u202e".encode(), "e\u0301".encode(), "\U0001f600".encode(),
    "\U0010ffff".encode(), b" ", b"\t", "\u00a0".encode(), b"a" * 5000, b"<eos> <pad> <bos>",
    "\u0300".encode() * 300, "中文".encode(), b"%s %n", b"'\"\\", "\u2581".encode(), b"." * 60,
]  # fmt: skip


def odd_text(scene: Scene, chance: random.Random, folder: Path) -> Outcome:
    """Translate text that nobody writes: one line out for each line in, or a refusal."""
    given = b"".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 9)))
    all_options: list[list[object]] = [[], ["--refuse-long"], ["--attention", folder / "a.json"]]
    options = chance.choice(all_options)
    found = ended("translate", scene.straight, "--beam", 1, *options, given=given, seconds=SECONDS)
    lines = given.removesuffix(b"\n").count(b"\n") + 1 if given else 0
    return judge(found, lambda: found.out.count(b"\n") == lines, f"{given[:60]!r} {options[:1]}")


# --- streams ----------------------------------------------------------------------------------

TRANSLATE: tuple[object, ...] = ("translate", "MODEL", "--beam", "1")
TRAIN: tuple[object, ...] = (*DEMO, "--set", "steps=1", "--out", "FOLDER/run")
LIST: tuple[object, ...] = ("corpora", "list")
# By what is done to the streams: the shell's line, the command, and whether it can succeed.
STREAMS: dict[str, tuple[str, tuple[object, ...], bool]] = {
    "input closed": ('"$@" <&-', TRANSLATE, False),
    "input closed, not needed": ('"$@" <&-', TRAIN, True),
    "input can only be written": ('"$@" 0> /dev/null', TRANSLATE, False),
    "input is empty": ('"$@" < /dev/null', TRANSLATE, True),
    "output closed": ('"$@" >&-', TRANSLATE, False),
    "output closed while training": ('"$@" >&-', TRAIN, False),
    "output full": ('"$@" > /dev/full', TRANSLATE, False),
    "output full while training": ('"$@" > /dev/full', TRAIN, False),
    "output full, a list": ('"$@" > /dev/full', LIST, False),
    "output can only be read": ('"$@" 1< /dev/null', LIST, False),
    "error closed": ('"$@" 2>&-', TRANSLATE, True),
    "error closed while training": ('"$@" 2>&-', TRAIN, True),
    "error full": ('"$@" 2> /dev/full', TRAIN, True),
    "error full, a mistake": ('"$@" 2> /dev/full', ("corpora", "verify", "none"), False),
    "output and error closed": ('"$@" >&- 2>&-', LIST, False),
    "all closed": ('"$@" <&- >&- 2>&-', TRAIN, False),
    "input and output closed": ('"$@" <&- >&-', TRANSLATE, False),
    "the reader has gone": ('"$@" | true', TRANSLATE, True),
    "the reader has gone, a list": ('"$@" | head -1 > /dev/null', LIST, True),
    "no language": ('LC_ALL=C PYTHONUTF8=0 "$@"', TRANSLATE, True),
    "output in Latin-1": ('PYTHONIOENCODING=latin-1 "$@"', TRANSLATE, True),
    "no home, nothing known": ('env -i PYTHONPATH="$PYTHONPATH" "$@"', LIST, True),
    "a folder that is gone": ('mkdir FOLDER/a && cd FOLDER/a && rmdir ../a && "$@"', LIST, True),
    "bytes for a model": ('"$@"', ("translate", b"\xff\xfe"), False),
    "bytes for a folder": ('"$@"', (*TRAIN[:-1], b"FOLDER/\xff\xfe"), True),
}  # fmt: skip


def stream(scene: Scene, how: str, chance: random.Random, folder: Path) -> Outcome:
    """Run the real program, from a shell that does something to its streams."""
    line, words, can_succeed = STREAMS[how]
    typed = [_place(scene, folder, word) for word in words]
    found = program(line.replace("FOLDER", str(folder)), *typed, given=GIVEN, seconds=SECONDS)
    silent = "2>" in line
    if silent and found.status == 2 and "Traceback" not in found.err and not can_succeed:
        return Outcome(Verdict.REFUSED, how)  # nobody can hear why
    if "|" in line and found.err == "":
        return Outcome(Verdict.EQUAL, how)
    outcome = judge(found, lambda: can_succeed, how)
    if outcome.verdict == Verdict.REFUSED and can_succeed:
        return fell(f"{how}: refused without need: {found.err.strip()}")
    if words is TRANSLATE and found.status == 0 and can_succeed and "< /dev/null" not in line:
        return outcome if found.out == scene.said else fell(f"{how}: says {found.out[:60]!r}")
    return outcome


def _place(scene: Scene, folder: Path, word: object) -> object:
    if isinstance(word, bytes):
        return word.replace(b"FOLDER", os.fsencode(folder))
    return str(word).replace("MODEL", str(scene.straight)).replace("FOLDER", str(folder))
