"""What an exercise says to a learner: lines that need no scrolling, and whether an answer is right.

Not in the paper.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

MAX_LINE_WIDTH = 76

AnswerStatus = Literal["passed", "not attempted", "wrong", ""]


@dataclass(frozen=True)
class Message:
    """What an exercise says; whatever a learner calls prints it."""

    text: str  # the words, with line breaks
    status: AnswerStatus = ""  # of an answer; "" of a hint or solution

    def __repr__(self) -> str:
        return self.text

    def printed(self) -> Self:
        """Print it, and return it: it is seen wherever the call stands in a cell."""
        print(self)
        return self

    def _ipython_display_(self) -> None:
        """Show nothing more where it is a cell's value: it has been printed."""


def wrap_text(text: str, head: str = "") -> str:
    """Break a text into lines of at most `MAX_LINE_WIDTH`, the first one after `head`."""
    return textwrap.fill(
        text,
        MAX_LINE_WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def score_message(
    lines: Sequence[str], statuses: Sequence[AnswerStatus], answer_kind: str
) -> Message:
    """Return judged answers with how many are right below them, and what is still to be filled in.

    Args:
        lines: What is said of each answer.
        statuses: Of the answers.
        answer_kind: What replaces None: "a letter".
    """
    right = statuses.count("passed")
    blank = statuses.count("not attempted")
    score = f"{right} of {len(statuses)} right"
    if blank:
        score += f", {blank} not attempted. Put {answer_kind} in place of None"
    status: AnswerStatus = "passed"
    if "wrong" in statuses:
        status = "wrong"
    elif blank:
        status = "not attempted"
    return Message("\n".join([*lines, f"{score}."]), status)
