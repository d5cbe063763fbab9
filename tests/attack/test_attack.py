"""The attack programme: a short form of it, and that each kind of attack can fail."""

import json
import os
import re
import subprocess
import sys
from functools import cache

import pytest

from tests.attack import downloads, files, flips, runs, words
from tests.attack.__main__ import COUNTS
from tests.attack.attacks import Verdict, is_refused, judge
from tests.attack.process import Ended
from tests.attack.weakened import WEAKENED
from tests.helpers import ROOT


def program(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a part of the programme as `python -m tests.attack` does: in a process that may fork."""
    environment = {name: value for name, value in os.environ.items() if name != "TRANSFORMER_DATA"}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.mark.slow
def test_nothing_gets_through() -> None:
    done = program("tests.attack", "--short", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    tried = dict(re.findall(r"^\| ([^|]+) \| (\d+) \|", done.stdout, re.MULTILINE))
    assert {kind: int(tried[kind]) for kind in COUNTS} == {k: few for k, (_, few) in COUNTS.items()}
    assert "seed 1; 0 not tried" in done.stdout


@cache
def weakened() -> dict[str, str]:
    done = program("tests.attack.weakened")
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", COUNTS)
def test_an_attack_notices_what_is_weakened(kind: str) -> None:
    assert weakened()[kind], f"nothing of {kind!r} got through where its check is taken away"


def test_every_kind_is_counted_and_can_fail() -> None:
    kinds = [kind for part in (runs, flips, downloads, files, words) for kind in part.KINDS]
    assert sorted(kinds) == sorted(COUNTS) == sorted(WEAKENED)


@pytest.mark.parametrize(
    ("status", "err", "refused"),
    [
        (2, "error: no such thing: do this\n", True),
        (2, "warning: cut short\nerror: no such thing\n", True),
        (2, "", False),
        (2, "error: one\nerror: two\n", False),
        (2, "error: one\nand more\n", False),
        (2, "Traceback (most recent call last):\nerror: one\n", False),
        (70, "error: KeyError: a\n", False),
        (1, "error: no such thing\n", False),
        (-11, "", False),
    ],
)
def test_what_counts_as_a_refusal(status: int, err: str, refused: bool) -> None:
    ended = Ended(status, b"", err)
    assert is_refused(ended) == refused
    expected = Verdict.REFUSED if refused else Verdict.FELL
    assert judge(ended, lambda: True, "").verdict == expected


def test_a_result_is_compared_and_a_hang_is_none() -> None:
    assert judge(Ended(0, b"", ""), lambda: True, "").verdict == Verdict.EQUAL
    assert judge(Ended(0, b"", ""), lambda: False, "").verdict == Verdict.FELL
    assert judge(Ended(2, b"", "error: a\n", hung=True), lambda: True, "").verdict == Verdict.FELL
