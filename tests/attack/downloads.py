"""What is downloaded from a hostile server."""

import gzip
import hashlib
import os
import random
from functools import partial
from pathlib import Path
from unittest.mock import patch

from tests.attack.attacks import Attack, Outcome, Verdict, fell, is_refused
from tests.attack.process import call, slower
from tests.attack.scene import Scene
from tests.attack.server import MANNERS, NAME, served

KINDS = ("a hostile server",)
TIMEOUT = 0.4  # seconds without a byte
LONGEST = 15.0  # seconds that a download may take with three rounds


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
    with served(manner, content, chance) as address:
        mirrors = [f"{address}bad/"] + [f"{address}good/"] * good_follows
        cache = folder / "cache"
        found = call(lambda: fetched(content, tuple(mirrors), cache)).wait(LONGEST)
    what = f"{manner}{', then a good mirror' if good_follows else ''}"
    left = [path for path in cache.rglob("*") if path.is_file()] if cache.is_dir() else []
    if found.hung:
        return fell(f"{what}: still waiting")
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
    from transformer.data import download

    os.environ.pop("TRANSFORMER_DATA", None)
    sha256 = hashlib.sha256(content).hexdigest()
    file = download.DataFile(name=f"multi30k/{NAME}", sha256=sha256)
    with (
        patch.object(download, "cache_folder", lambda: cache),
        patch.object(download, "TIMEOUT", TIMEOUT * slower()),
        patch("pooch.core.time.sleep"),
    ):
        return download.obtain(file, mirrors).name
