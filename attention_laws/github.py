"""A report as GitHub's workflow commands, which stand at their lines in a pull request.

Not in the paper. https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

import re

from attention_laws.report import LawResult, Report, Verdict

PLACE_PATTERN = re.compile(r"(?:^|\), |, )(?P<file>[^()]+):(?P<line>\d+)$")
# GitHub shows no more errors of one step.
MAX_ANNOTATIONS = 10


def annotations(report: Report) -> str:
    """Return a line for each cause of breaks, the likeliest first, then one for each warning.

    A break stands at the module at fault, or else where the model's `forward` begins.
    """
    if report.stopped:
        return _command("error", "", "attention-laws", str(report))
    broken = {line.law: line for line in report.results_with_verdict(Verdict.BROKEN)}
    commands = []
    for group in report.groups_of_breaks:
        lines = [broken.pop(law) for law in group.laws]
        place = next((line.where for line in lines if line.where), report.place)
        seen = "\n".join(f"{line.law}: {line.seen}" for line in lines)
        title = f"{len(lines)} laws are broken"
        commands.append(_command("error", place, title, f"{group.cause}\n{seen}"))
    commands += [_command_of_result("error", line, report.place) for line in broken.values()]
    if report.untried_laws_needed_to_judge:
        names = ", ".join(report.untried_laws_needed_to_judge)
        message = f"it could not be judged, since these were not tried: {names}"
        commands.append(_command("error", report.place, "attention-laws", message))
    level = "error" if report.strict else "warning"
    warned = report.results_with_verdict(Verdict.WARNED)
    commands += [_command_of_result(level, line, report.place) for line in warned]
    return "\n".join(commands[:MAX_ANNOTATIONS])


def _command_of_result(level: str, line: LawResult, place: str) -> str:
    return _command(level, line.where or place, line.law, line.explanation())


def _command(level: str, place: str, title: str, message: str) -> str:
    """Return one workflow command; `place` ends in FILE:LINE, or is empty."""
    found = PLACE_PATTERN.search(place)
    properties = {"title": title}
    if found:
        properties = {**found.groupdict(), **properties}
    shown = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    return f"::{level} {shown}::{_escape(message)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
