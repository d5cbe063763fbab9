"""Predictions: a learner guesses a figure first, and then sees it measured (not in the paper).

In a lesson `ex.first_merge.predict(guess)` notes a guess, and the cell that measures ends in
`ex.first_merge.compare(pair)`: no answer is stored. Nothing here raises, whatever is typed or
measured.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lessonkit.exercises.answers import is_blank, parse_number, to_lower_case_word
from lessonkit.exercises.message import Message, wrap_text
from lessonkit.exercises.outcome import format_short
from lessonkit.exercises.progress import record_progress


@dataclass(repr=False)
class Prediction:
    """A number or an option that a learner guesses and then compares with the measured one."""

    name: str  # what it is called in the lesson, after `ex.`
    question: str  # as it stands in the text above the cell (Markdown)
    options: Sequence[str] = ()  # what may be guessed; if there are none, a number is, and then:
    low: float = 0  # the least that a guess may be
    high: float = 0  # the most
    tolerance: float = 0  # how far a guess may be from the measured value and still count as near
    unit: str = ""  # written after a number, with its space; "%" if 70 stands for 70%
    digits: int = 0  # decimal places
    _guess: Any = field(default=None, init=False)  # as it was read; None if there is none

    def __repr__(self) -> str:
        return f"{self.name}: .predict(guess), then .compare(measured)"

    @property
    def question_callout(self) -> str:
        """The question as a lesson's text ends in it, above the cell."""
        return f"> **Predict.** {self.question}"

    @property
    def allowed_guesses_description(self) -> str:
        """What a guess may be, in a few words."""
        if self.options:
            *first, last = map(self._format_guess, self.options)
            return f"{', '.join(first)} or {last}"
        unit = f" ({self.unit.strip()})" if self.unit else ""
        return f"a number from {self.low:g} to {self.high:g}{unit}"

    @property
    def blank_cell(self) -> str:
        """The cell that a lesson offers to fill in."""
        return f"guess = None  # {self.allowed_guesses_description}\nex.{self.name}.predict(guess)"

    def predict(self, guess: Any = None) -> Message:
        """Note what a learner expects, and say so; a new guess replaces the one before."""
        return self._note_guess(guess).printed()

    def compare(self, measured: Any) -> Message:
        """Print the guess beside what was just measured; if there is no guess, say so."""
        if self._guess is None:
            text = f"{self.name}: there is no guess to compare."
            return Message(text, "not attempted").printed()
        text = wrap_text(f"{self.name}: {self._describe_comparison(measured)}")
        return Message(text).printed()

    def _note_guess(self, guess: Any) -> Message:
        self._guess = None
        if is_blank(guess):
            text = (
                f"{self.name}: no guess yet. Put one in place of None: "
                f"{self.allowed_guesses_description}."
            )
            return Message(wrap_text(text), "not attempted")
        value = self._parse_guess(guess)
        if value is None or not (self.options or self.low <= value <= self.high):
            refusal = f"{format_short(guess)} is not {self.allowed_guesses_description}"
            return Message(wrap_text(f"{self.name}: {refusal}. Nothing was taken down."), "wrong")
        self._guess = value
        if hasattr(sys.modules["__main__"], "get_ipython"):
            record_progress("predicted", self.name)
        return Message(wrap_text(f"{self.name}: you expect {self._format_guess(value)}. Now see."))

    def _describe_comparison(self, measured: Any) -> str:
        value = self._parse_guess(measured)
        guess = self._guess
        expected = f"you expected {self._format_guess(guess)}"
        if value is None:  # a cell that was changed measures something else
            return f"{expected}; it measured {format_short(measured)}."
        if self.options:
            it_is = f"it is {self._format_guess(value)}"
            return f"{it_is}, as you expected." if guess == value else f"{expected}; {it_is}."
        both = f"{expected}, measured {self._format_guess(value)}"
        error = abs(guess - value)
        if error <= self.tolerance:
            return f"{both}: near."
        side = "high" if guess > value else "low"
        return f"{both}: too {side} by {error:.{self.digits}f}."

    def _parse_guess(self, typed: Any) -> Any:
        """Read a guess or a measured value; None if it is neither."""
        if not self.options:
            return parse_number(typed)
        word = to_lower_case_word(typed)
        return next((option for option in self.options if to_lower_case_word(option) == word), None)

    def _format_guess(self, value: Any) -> str:
        return f'"{value}"' if self.options else f"{value:.{self.digits}f}{self.unit}"
