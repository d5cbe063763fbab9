"""What is downloaded from a hostile server."""

import dataclasses
import gzip
import hashlib
import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.attack.attacks import Attack, Outcome, Verdict, fell, is_refused
from tests.attack.process import call, slower
from tests.attack.scene import Scene
from tests.attack.server import MANNERS, NAME, served

KINDS = ("a hostile server",)
TIMEOUT, DEADLINE = 0.4, 1.5  # seconds without a byte, seconds for a file
LONGEST = 15.0  # seconds that a download may take with three rounds and their pauses
MOST = 8 << 20  # bytes that may be sent to no use: what lies in the system's buffers


def attacks(scene: Scene, counts: dict[str, int]) -> list[Attack]:
    """List the attacks: each manner of the server in turn."""
    manners = list(MANNERS)
    return [
        Attack(KINDS[0], number, partial(against, manners[number % len(manners)]))
        for number in range(counts[KINDS[0]])
    ]


def against(manner: str, chance: random.Random, folder: Path) -> Outcome:
    """Download from a server of bad manners, alone or before a good one."""
    content = gzip.compress(chance.randbytes(chance.randrange(200, 9000)), mtime=0)
    good_follows = chance.random() < 0.7
    sent = folder / "sent"
    with served(manner, content, chance, sent) as address:
        mirrors = [f"{address}bad/"] + [f"{address}good/"] * good_follows
        cache = folder / "cache"
        found = call(lambda: fetched(content, tuple(mirrors), cache)).wait(LONGEST)
    what = f"{manner}{', then a good mirror' if good_follows else ''}"
    left = [path for path in cache.rglob("*") if path.is_file()] if cache.is_dir() else []
    if found.hung:
        return fell(f"{what}: still waiting")
    if sent.is_file() and sent.stat().st_size * 1024 > MOST:
        return fell(f"{what}: {sent.stat().st_size / 1024:.0f} MB taken for {len(content):,} bytes")
    if len(left) > (found.status == 0):
        return fell(f"{what}: leaves {left[-1].name}")
    if found.status == 0:
        right = left[0].read_bytes() == content
        return Outcome(Verdict.EQUAL, what) if right else fell(f"{what}: a wrong file is used")
    if is_refused(found) and not good_follows:
        return Outcome(Verdict.REFUSED, what)
    return fell(f"{what}: status {found.status}: {found.err.strip()[-200:]}")


def fetched(content: bytes, mirrors: tuple[str, ...], cache: Path) -> str:
    """Have the package download a file of this content."""
    from transformer.data.download import obtain
    from transformer.data.registry import CORPORA, DataFile

    os.environ.pop("TRANSFORMER_DATA", None)
    sha256 = hashlib.sha256(content).hexdigest()
    file = made(DataFile, name=f"multi30k/{NAME}", sha256=sha256, size=len(content))
    corpus = made(
        lambda **changes: dataclasses.replace(CORPORA["multi30k"], **changes),
        files=(file,), mirrors=mirrors, cache=cache,
        timeout=TIMEOUT * slower(), deadline=DEADLINE * slower(),
    )  # fmt: skip
    return obtain(corpus, file).name


def made(make: Callable[..., Any], **values: Any) -> Any:
    """Make a thing of a version that may not know sizes and deadlines yet."""
    try:
        return make(**values)
    except TypeError:
        return make(**{k: v for k, v in values.items() if k not in ("size", "deadline")})
