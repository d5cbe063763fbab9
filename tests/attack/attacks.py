"""What an attack is, and how it is judged."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from tests.attack.process import Ended


class Verdict(StrEnum):
    """How an attack ended."""

    REFUSED = "refused"  # in one line, with status 2
    EQUAL = "equal"  # the result is the one without the attack
    FELL = "fell short"  # traceback, crash, hang, another result, something lost


class Outcome(NamedTuple):
    """A verdict, and what was seen."""

    verdict: Verdict
    seen: str = ""


@dataclass(frozen=True)
class Attack:
    """One attack.

    Attributes:
        kind: Its row in the table.
        number: Its place in the row; with the seed it decides all that is drawn.
        carry_out: Does it, with random numbers and an empty folder of its own.
    """

    kind: str
    number: int
    carry_out: Callable[[random.Random, Path], Outcome]


def fell(seen: str) -> Outcome:
    """Build the outcome of an attack that got through."""
    return Outcome(Verdict.FELL, seen)


def is_refused(ended: Ended) -> bool:
    """Tell whether a process ended with status 2 and, last, the one line that says why."""
    # Warnings may stand before it, and the bar of a download that was given up.
    lines = re.sub(r"[^\n]*B/s\]", "", ended.err).splitlines()
    whys = [line for line in lines if line.startswith("error: ")]
    said = len(whys) == 1 and whys == lines[-1:] and "Traceback" not in ended.err
    return ended.status == 2 and said


def judge(ended: Ended, equal: Callable[[], bool], what: str) -> Outcome:
    """Judge how a process ended.

    Args:
        ended: How.
        equal: Tells whether its result is right; asked where it ended with status 0.
        what: What was done, in a few words.
    """
    if ended.hung:
        return fell(f"{what}: hangs")
    if is_refused(ended):
        return Outcome(Verdict.REFUSED, f"{what}: {ended.err.strip()}")
    if ended.status != 0:
        last = (ended.err.strip().splitlines() or ["nothing said"])[-1]
        return fell(f"{what}: status {ended.status}: {last[:200]}")
    return Outcome(Verdict.EQUAL, what) if equal() else fell(f"{what}: another result, status 0")


def flip(content: bytes, chance: random.Random) -> tuple[bytes, str]:
    """Change one bit; give the new content, and which."""
    place, bit = chance.randrange(len(content)), chance.randrange(8)
    changed = bytearray(content)
    changed[place] ^= 1 << bit
    return bytes(changed), f"byte {place:,} bit {bit}"
