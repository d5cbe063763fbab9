"""What `diagnose` says: each law kept, broken, or not tried with the reason in words.

Not in the paper.
"""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What was found of one law."""

    BROKEN = "broken"
    WARNED = "warned"  # a rule of thumb is not met; right code may do that
    KEPT = "kept"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Finding:
    """What one law's check found.

    Attributes:
        verdict: Kept, broken, warned of, or not tried.
        seen: What was seen, with its figures; of a broken law the smallest input that shows it;
            of one not tried the reason.
    """

    verdict: Verdict
    seen: str


def kept(seen: str) -> Finding:
    """The law holds, as far as was looked."""
    return Finding(Verdict.KEPT, seen)


def broken(seen: str) -> Finding:
    """The law does not hold; `seen` has the smallest input that shows it."""
    return Finding(Verdict.BROKEN, seen)


def warned(seen: str) -> Finding:
    """A rule of thumb is not met."""
    return Finding(Verdict.WARNED, seen)


def not_tried(reason: str) -> Finding:
    """Nothing was looked at, for this reason."""
    return Finding(Verdict.NOT_TRIED, reason)


@dataclass(frozen=True)
class Line:
    """A law and what was found of it.

    Attributes:
        law: Its name.
        says: The law in one sentence.
        verdict: What was found.
        seen: See `Finding`.
        means: What it usually means when it is broken.
        look: Where to look then.
        seconds: What the check took.
    """

    law: str
    says: str
    verdict: Verdict
    seen: str
    means: str
    look: str
    seconds: float


@dataclass(frozen=True)
class Report:
    """What was found of every law.

    Attributes:
        lines: In the order of the laws, cheapest first.
        assumptions: What had to be assumed of the model.
        tolerance: Difference of logits above which two are called different.
        stopped: Why nothing could be tried; empty where something was.
    """

    lines: tuple[Line, ...]
    assumptions: tuple[str, ...] = ()
    tolerance: float = 0.0
    stopped: str = ""

    def of(self, verdict: Verdict) -> list[Line]:
        """Give the lines with this verdict."""
        return [line for line in self.lines if line.verdict == verdict]

    def __getitem__(self, law: str) -> Line:
        """Give the line of the law of this name.

        Raises:
            KeyError: there is no such law.
        """
        for line in self.lines:
            if line.law == law:
                return line
        raise KeyError(law)

    @property
    def broken(self) -> list[str]:
        """Names of the laws that are broken."""
        return [line.law for line in self.of(Verdict.BROKEN)]

    @property
    def exit_status(self) -> int:
        """0: no law is broken; 1: one is; 2: nothing could be tried."""
        untried = all(line.verdict == Verdict.NOT_TRIED for line in self.lines)
        if self.stopped or (self.lines and untried):
            return 2
        return 1 if self.broken else 0

    def __str__(self) -> str:
        """Write it for a reader: what is broken first, what was not tried last."""
        if self.stopped:
            return f"could not be diagnosed: {self.stopped}"
        counts = ", ".join(f"{len(self.of(verdict))} {verdict}" for verdict in Verdict)
        text = [f"{len(self.lines)} laws: {counts}"]
        text += [f"assumed: {each}" for each in self.assumptions]
        if self.tolerance:
            text.append(
                f"logits that differ by more than {self.tolerance:.1g} are called different"
            )
        for verdict in Verdict:
            lines = self.of(verdict)
            if not lines:
                continue
            text += ["", str(verdict).upper()]
            for line in lines:
                text += _written(line)
        return "\n".join(text)

    def to_json(self) -> str:
        """Write it for a program: the fields of `Report` and `Line`."""
        return json.dumps({**asdict(self), "exit_status": self.exit_status}, indent=1)


def _written(line: Line) -> list[str]:
    """Write one law: in a line where all is well, with meaning and place where it is not."""
    if line.verdict in (Verdict.KEPT, Verdict.NOT_TRIED):
        return [f"  {line.law}: {line.seen}"]
    return [
        f"  {line.law}: {line.says}",
        f"    seen     {line.seen}",
        f"    usually  {line.means}",
        f"    look     {line.look}",
    ]
