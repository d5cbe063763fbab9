"""Take one check of the package away, attack it, and see that the attack notices.

    python -m tests.attack.weakened

Prints, as JSON, for each kind of attack what first got through; "" where nothing did.
"""

import contextlib
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import ANY, patch

from tests.attack.__main__ import COUNTS, carry_out, plan, prepare
from tests.attack.attacks import Verdict
from tests.attack.scene import Scene, make_scene

SEED, MOST = 5, 150  # attacks of a kind, until one gets through


def _nothing(*_: object, **__: object) -> None:
    pass


def _inflate(content: bytes) -> bytes:
    """Unpack gzip as far as it goes, without a look at its check sum."""
    named = content[3] & 8
    begin = content.index(b"\0", 10) + 1 if named else 10
    return zlib.decompressobj(-zlib.MAX_WBITS).decompress(content[begin:])


def _write_in_place(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8").splitlines()


@contextlib.contextmanager
def _streams_not_checked() -> Iterator[None]:
    """Have each new Python of this environment look at no stream."""
    with tempfile.TemporaryDirectory() as folder:
        code = "from transformer.cli import process\nprocess.check_streams = lambda: True\n"
        (Path(folder) / "sitecustomize.py").write_text(code, "utf-8")
        path = f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}"
        with patch.dict(os.environ, PYTHONPATH=path):
            yield


# What is taken away, by the kind of attack that has to notice.
MANIFEST = "transformer.models.folder.check_manifest"
WEAKENED: dict[str, Callable[[], list[contextlib.AbstractContextManager[object]]]] = {
    "kill chains": lambda: [patch("torch.optim.Adam.load_state_dict", _nothing)],
    "a bit flipped in a model": lambda: [patch(MANIFEST, _nothing)],
    "a bit flipped in a shipped model": lambda: [patch(MANIFEST, _nothing)],
    "a bit flipped in the embedded corpus": lambda: [
        patch("transformer.data.embedded.sum_line", lambda _: ANY),
        patch("transformer.data.embedded.gzip.decompress", _inflate),
    ],
    "a bit flipped in an IWSLT archive": lambda: [patch("transformer.data.iwslt.BLOCK", 0)],
    "a hostile server": lambda: [
        patch("transformer.data.fetch._Bounded.write", lambda self, part: self.stream.write(part))
    ],
    "truncated and foreign files": lambda: [
        patch("transformer.models.checkpoint.SafetensorError", KeyError)
    ],
    "malformed safetensors": lambda: [
        patch("transformer.training.checkpoint._require_moments", _nothing)
    ],
    "malformed JSON": lambda: [
        patch("transformer.support.files.from_json", json.loads),
        patch("transformer.models.log.from_json", json.loads),
        patch("transformer.models.log._is_report", lambda _: True),
    ],
    "full disk": lambda: [patch("transformer.models.checkpoint.write_atomically", _write_in_place)],
    "two runs in one folder": lambda: [patch("transformer.support.lock._is_free", lambda _: True)],
    "odd values on the command line": lambda: [
        patch("transformer.config.convert_fields", _nothing)
    ],
    "odd text": lambda: [patch("transformer.cli.commands.read_lines", _lines)],
    "closed, full and broken streams": lambda: [_streams_not_checked()],
}


def first_through(kind: str, scene: Scene, folder: Path) -> str:
    """Attack a weakened package until something gets through; "" where nothing does."""
    with contextlib.ExitStack() as stack:
        for each in WEAKENED[kind]():
            stack.enter_context(each)
        for attack in plan(scene, short=False, only=kind)[:MOST]:
            outcome = carry_out(attack, SEED, folder)
            if outcome.verdict == Verdict.FELL:
                return outcome.seen
    return ""


def main() -> None:
    """Weaken for each kind of attack in turn."""
    prepare()
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        scene = make_scene(Path(folder) / "scene")
        found = {kind: first_through(kind, scene, Path(folder)) for kind in COUNTS}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
