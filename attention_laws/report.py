"""What `diagnose` says: each law kept, broken, or not tried with the reason (not in the paper)."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from torch import Tensor

from attention_laws.errors import UserError

# Without these nothing is known of a model: its shape, the future, padding, gradients.
CORE = (
    "logits_have_expected_shape",
    "decoder_is_causal",
    "source_padding_is_ignored",
    "gradients_reach_all_parameters",
)
NO_PADDING = "the adapter has no pad_id"  # nor has the model any padding
BROKEN, MISTAKE, NOT_JUDGED = 1, 2, 3  # exit statuses; 0: no law is broken, the core's are kept


class Verdict(StrEnum):
    """What was found of one law."""

    BROKEN = "broken"
    WARNED = "warned"  # a rule of thumb is not met; right code may do that
    ACCEPTED = "accepted"  # broken or warned of, and in the baseline with a reason
    KEPT = "kept"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Finding:
    """What one law's check found."""

    verdict: Verdict
    seen: str  # with its figures; of one not tried the reason


def broken(seen: str, **ids: Tensor) -> Finding:
    """Give the finding that a law does not hold; `ids` are the smallest input that shows it."""
    shown = ", ".join(f"{name} {each.tolist()}" for name, each in ids.items())
    return Finding(Verdict.BROKEN, f"{shown}: {seen}" if ids else seen)


kept = partial(Finding, Verdict.KEPT)
warned = partial(Finding, Verdict.WARNED)
not_tried = partial(Finding, Verdict.NOT_TRIED)


@dataclass(frozen=True)
class Line:
    """A law and what was found of it."""

    law: str  # its name
    says: str  # the law in one sentence
    verdict: Verdict  # what was found
    seen: str  # see `Finding`
    means: str  # what it usually means when it is broken
    look: str  # where to look then
    seconds: float  # what the check took

    def told(self, indent: str = "") -> str:
        """Write the law, what was seen, what that means, and where to look."""
        words = {"seen    ": self.seen, "usually ": self.means, "look    ": self.look}
        return "\n".join([self.says, *(f"{indent}{each} {words[each]}" for each in words)])


@dataclass(frozen=True)
class Report:
    """What was found of every law."""

    lines: tuple[Line, ...]  # in the order of the laws, cheapest first
    # what had to be assumed of the model, and what of its baseline is out of date
    assumptions: tuple[str, ...] = ()
    tolerance: float = 0.0  # difference of logits above which two are called different
    stopped: str = ""  # why nothing could be tried; empty where something was
    # whether it was stopped by what the user named, not by what the model did
    mistake: bool = False
    strict: bool = False  # whether a warning fails, too

    def of(self, verdict: Verdict) -> list[Line]:
        """Give the lines with this verdict."""
        return [line for line in self.lines if line.verdict == verdict]

    def __getitem__(self, law: str) -> Line:
        """Give the line of the law of this name."""
        return {line.law: line for line in self.lines}[law]

    @property
    def broken(self) -> list[str]:
        """Names of the laws that are broken."""
        return [line.law for line in self.of(Verdict.BROKEN)]

    @property
    def unjudged(self) -> list[str]:
        """Names of the core's laws that were not tried, or of all where none was."""
        untried = [line.law for line in self.of(Verdict.NOT_TRIED) if line.seen != NO_PADDING]
        nothing = len(untried) == len(self.lines)
        return [law for law in untried if nothing or law in CORE]

    @property
    def exit_status(self) -> int:
        """0: no law is broken, and the core's are kept; 1: one is broken; 2: there is no model.

        3: it could not be judged, since laws of the core were not tried.
        """
        if self.stopped:
            return MISTAKE if self.mistake else NOT_JUDGED
        if self.broken or (self.strict and self.of(Verdict.WARNED)):
            return BROKEN
        return NOT_JUDGED if self.unjudged else 0

    def accepting(self, reasons: Mapping[str, str]) -> "Report":
        """Give the report with the laws accepted that a baseline names, for its reasons."""
        lines, said = list(self.lines), list(self.assumptions)
        for i, line in enumerate(lines):
            if line.law in reasons and line.verdict in (Verdict.BROKEN, Verdict.WARNED):
                seen = f"{reasons[line.law]} ({line.seen})"
                lines[i] = dataclasses.replace(line, verdict=Verdict.ACCEPTED, seen=seen)
            elif line.law in reasons and line.verdict == Verdict.KEPT:
                said.append(f"the baseline accepts {line.law}, which is kept: take it out")
        return dataclasses.replace(self, lines=tuple(lines), assumptions=tuple(said))

    def __str__(self) -> str:
        """Write it for a reader: what is broken first, what was not tried last."""
        if self.stopped:
            return f"could not be {'run' if self.mistake else 'judged'}: {self.stopped}"
        shown = [each for each in Verdict if self.of(each) or each != Verdict.ACCEPTED]
        counts = ", ".join(f"{len(self.of(verdict))} {verdict}" for verdict in shown)
        text = [f"{len(self.lines)} laws: {counts}"]
        if self.unjudged:
            text.append(f"could not be judged: {', '.join(self.unjudged[:4])} not tried, see below")
        text += [f"assumed: {each}" for each in self.assumptions]
        if self.tolerance:
            text.append(f"logits more than {self.tolerance:.1g} apart are called different")
        for verdict in filter(self.of, Verdict):
            text += ["", str(verdict).upper()]
            told = verdict in (Verdict.BROKEN, Verdict.WARNED)
            text += [f"  {x.law}: {x.told('    ') if told else x.seen}" for x in self.of(verdict)]
        return "\n".join(text)

    def to_json(self) -> str:
        """Write it for a program: the fields of `Report` and `Line`."""
        return json.dumps({**asdict(self), "exit_status": self.exit_status}, indent=1)


def read_baseline(file: Path) -> dict[str, str]:
    """Read the accepted breaks of a file: `law: reason`, one a line; # begins a remark.

    Raises:
        UserError: the file cannot be read, or a law has no reason.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"no baseline can be read from {file}: {error}") from error
    reasons = {}
    for number, line in enumerate(lines, start=1):
        name, _, reason = line.partition("#")[0].partition(":")
        if name.strip() and not reason.strip():
            raise UserError(f"{file}:{number}: {name.strip()} has no reason: write `law: reason`")
        if name.strip():
            reasons[name.strip()] = reason.strip()
    return reasons
