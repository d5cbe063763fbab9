"""What `diagnose` reports: a verdict on each law, with what was seen (not in the paper)."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from torch import Tensor

from attention_laws.argument_kinds import check_argument_kinds
from attention_laws.causes import GroupOfBreaks, group_breaks_by_cause
from attention_laws.errors import UserError

# A model of which these are unknown is not judged: its shape, the future, padding, gradients.
LAWS_NEEDED_TO_JUDGE_MODEL = (
    "logits_have_expected_shape",
    "decoder_is_causal",
    "source_padding_is_ignored",
    "gradients_reach_all_parameters",
)
# The reasons for not trying a law of the core that are accepted: there is nothing to ignore.
NO_PADDING_REASON = "the adapter has no pad_id"
NO_SOURCE_REASON = "a decoder-only model has no source"
DECODER_ONLY_REASON = "it is about decoder-only models, which go on with padding before a sequence"
# Exit statuses; 0: no law is broken, and those of the core are kept.
BROKEN, MISTAKE, NOT_JUDGED = 1, 2, 3
MAX_UNJUDGED_LAWS_NAMED = 4


class Verdict(StrEnum):
    """What was found about one law."""

    BROKEN = "broken"
    WARNED = "warned"  # a rule of thumb is not met; right code may do that
    ACCEPTED = "accepted"  # broken or warned of, and in the baseline with a reason
    NOTED = "noted"  # worth knowing, and no fault: nothing fails for it
    KEPT = "kept"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Finding:
    """The result of one law's check."""

    verdict: Verdict
    seen: str  # what was seen, with its figures; the reason if the law was not tried
    where: str = ""  # the module at fault, with its place in the code, if that was found
    # The smallest input that shows it: ids by the name of their side.
    example: Mapping[str, list[Any]] = field(default_factory=dict)

    @check_argument_kinds
    def seen_with_example(self, *, has_source: bool) -> str:
        """Return what was seen, after the example; of a decoder-only model without its source."""
        shown = {side: ids for side, ids in self.example.items() if has_source or side != "src"}
        example = ", ".join(f"{side} {ids}" for side, ids in shown.items())
        return f"{example}: {self.seen}" if shown else self.seen


def broken_finding(seen: str, **ids: Tensor) -> Finding:
    """Return the finding that a law does not hold; `ids` are the smallest input that shows it."""
    return Finding(Verdict.BROKEN, seen, example={side: x.tolist() for side, x in ids.items()})


def kept_finding(seen: str) -> Finding:
    """Return the finding that a law holds."""
    return Finding(Verdict.KEPT, seen)


def warned_finding(seen: str) -> Finding:
    """Return the finding that a law does not meet its rule of thumb, as right code may."""
    return Finding(Verdict.WARNED, seen)


def noted_finding(seen: str, **ids: Tensor) -> Finding:
    """Return the finding of something that is worth knowing and no fault; `ids` show it."""
    return Finding(Verdict.NOTED, seen, example={side: x.tolist() for side, x in ids.items()})


def not_tried_finding(seen: str) -> Finding:
    """Return the finding that a law could not be tried; `seen` is the reason."""
    return Finding(Verdict.NOT_TRIED, seen)


@dataclass(frozen=True)
class LawResult:
    """A law and what was found about it."""

    law: str  # its name
    says: str  # the law in one sentence
    verdict: Verdict  # what was found
    seen: str  # see `Finding`
    means: str  # what it usually means when it is broken
    look: str  # where to look then
    seconds: float  # time that the check took
    where: str = ""  # see `Finding`
    lost: bool = False  # whether it was not tried because the code raised, hung or died in it

    @check_argument_kinds
    def explanation(self, indent: str = "") -> str:
        """Return the law, what was seen, what that usually means, and where to look."""
        parts = {
            "seen    ": self.seen,
            "where   ": self.where,
            "usually ": self.means,
            "look    ": self.look,
        }
        lines = [f"{indent}{part} {text}" for part, text in parts.items() if text]
        return "\n".join([self.says, *lines])


@dataclass(frozen=True)
class Report:
    """What was found about every law."""

    lines: tuple[LawResult, ...]  # in the order of the laws, cheapest first
    # What had to be assumed of the model, and which entries of its baseline are out of date.
    assumptions: tuple[str, ...] = ()
    tolerance: float = 0.0  # logits further apart than this are called different
    stopped: str = ""  # why no law could be tried; empty if one was
    # Whether it was stopped by what the user named, not by what the model did.
    mistake: bool = False
    strict: bool = False  # whether a warning fails, too
    place: str = ""  # file and line where the model's `forward` begins, if they are the user's

    @check_argument_kinds
    def results_with_verdict(self, verdict: Verdict | str) -> list[LawResult]:
        """Return the lines with this verdict."""
        return [line for line in self.lines if line.verdict == verdict]

    def __getitem__(self, law: str) -> LawResult:
        """Return the line of the law of this name."""
        return {line.law: line for line in self.lines}[law]

    @property
    def broken_laws(self) -> list[str]:
        """Names of the laws that are broken."""
        return [line.law for line in self.results_with_verdict(Verdict.BROKEN)]

    @property
    def groups_of_breaks(self) -> list[GroupOfBreaks]:
        """Groups of broken laws that one cause may explain, the likeliest first."""
        where_by_law = {line.law: line.where for line in self.lines}
        return group_breaks_by_cause(self.broken_laws, where_by_law)

    @property
    def untried_laws_needed_to_judge(self) -> list[str]:
        """Names of the laws that must be tried and were not; of all laws if none was tried.

        They are those of the core, and those in which the code raised, hung or died.
        """
        untried = [
            line
            for line in self.results_with_verdict(Verdict.NOT_TRIED)
            if line.seen not in (NO_PADDING_REASON, NO_SOURCE_REASON)
        ]
        is_any_tried = len(untried) < len(self.lines)
        return [
            line.law
            for line in untried
            if line.lost or line.law in LAWS_NEEDED_TO_JUDGE_MODEL or not is_any_tried
        ]

    @property
    def exit_status(self) -> int:
        """0: no law is broken, and the core's are kept; 1: one is broken; 2: there is no model.

        3: it could not be judged, since laws of the core were not tried, or the code raised, hung
        or died in a law.
        """
        if self.stopped:
            return MISTAKE if self.mistake else NOT_JUDGED
        if self.broken_laws or (self.strict and self.results_with_verdict(Verdict.WARNED)):
            return BROKEN
        return NOT_JUDGED if self.untried_laws_needed_to_judge else 0

    @check_argument_kinds
    def with_baseline(self, reasons: Mapping[str, str]) -> "Report":
        """Return the report with the laws accepted that a baseline names, for its reasons."""
        lines, assumptions = list(self.lines), list(self.assumptions)
        for i, line in enumerate(lines):
            if line.law in reasons and line.verdict in (Verdict.BROKEN, Verdict.WARNED):
                seen = f"{reasons[line.law]} ({line.seen})"
                lines[i] = dataclasses.replace(line, verdict=Verdict.ACCEPTED, seen=seen)
            elif line.law in reasons and line.verdict in (Verdict.KEPT, Verdict.NOTED):
                stale = f"the baseline accepts {line.law}, which is {line.verdict}"
                assumptions.append(f"{stale}: remove it")
        return dataclasses.replace(self, lines=tuple(lines), assumptions=tuple(assumptions))

    def __str__(self) -> str:
        """Return the report for a reader: what is broken first, what was not tried last."""
        if self.stopped:
            return f"could not be {'run' if self.mistake else 'judged'}: {self.stopped}"
        verdicts = [
            each
            for each in Verdict
            if self.results_with_verdict(each) or each not in (Verdict.ACCEPTED, Verdict.NOTED)
        ]
        counts = ", ".join(
            f"{len(self.results_with_verdict(verdict))} {verdict}" for verdict in verdicts
        )
        text = [f"{len(self.lines)} laws: {counts}"]
        if self.untried_laws_needed_to_judge:
            names = ", ".join(self.untried_laws_needed_to_judge[:MAX_UNJUDGED_LAWS_NAMED])
            text.append(f"could not be judged: {names} not tried, see below")
        text += [f"assumed: {assumption}" for assumption in self.assumptions]
        if self.tolerance:
            text.append(f"logits more than {self.tolerance:.1g} apart are called different")
        for verdict in filter(self.results_with_verdict, Verdict):
            text += ["", str(verdict).upper()]
            if verdict == Verdict.BROKEN:
                text += [f"  one cause may explain {group}" for group in self.groups_of_breaks]
            text += self._lines_with_verdict(verdict)
        return "\n".join(text)

    def _lines_with_verdict(self, verdict: Verdict) -> list[str]:
        """Return the lines of one verdict; laws not tried for one reason share a line."""
        results = self.results_with_verdict(verdict)
        if verdict in (Verdict.BROKEN, Verdict.WARNED):
            return [f"  {result.law}: {result.explanation('    ')}" for result in results]
        if verdict != Verdict.NOT_TRIED:
            return [f"  {result.law}: {result.seen}" for result in results]
        laws_by_reason: dict[str, list[str]] = {}
        for result in results:
            laws_by_reason.setdefault(result.seen, []).append(result.law)
        return [f"  {', '.join(laws)}: {reason}" for reason, laws in laws_by_reason.items()]

    def to_json(self) -> str:
        """Return the report for a program: the fields of `Report` and `LawResult`."""
        return json.dumps({**asdict(self), "exit_status": self.exit_status}, indent=1)


def read_baseline(file: Path) -> dict[str, str]:
    """Read the accepted breaks of a file: `law: reason`, one a line; # begins a comment.

    Raises:
        UserError: the file cannot be read, or a law has no reason.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:  # a name with a null byte, bytes that are no UTF-8
        raise UserError(f"no baseline can be read from {file}: {error}") from error
    reasons = {}
    for number, line in enumerate(lines, start=1):
        name, _, reason = line.partition("#")[0].partition(":")
        if name.strip() and not reason.strip():
            raise UserError(f"{file}:{number}: {name.strip()} has no reason: write `law: reason`")
        if name.strip():
            reasons[name.strip()] = reason.strip()
    return reasons
