"""A prediction: what a learner expects, said before the picture or the number that shows it.

Not in the paper. Nothing here raises, whatever is guessed or measured, and nothing holds the
answer: it is what the lesson has just measured. In a lesson, the question stands in the text:

    guess = None  # "encoder", "decoder" or "neither"
    ex.gender_moved.predict(guess)

and the cell that measures ends in `ex.gender_moved.compare(lost)`.
"""

from abc import ABC, abstractmethod
from typing import Any

from lessonkit.exercises.check import Text
from lessonkit.exercises.outcome import shown
from lessonkit.exercises.typed import as_number, as_word, fill, is_blank, listed


class Prediction(ABC):
    """A question whose answer a learner guesses first and then sees.

    Args:
        name: What it is called in the lesson, after `ex.`.
        asks: The question, as it stands in the text above the cell (Markdown).
    """

    def __init__(self, name: str, asks: str) -> None:
        self.name, self.asks = name, asks
        self._guess: Any = None  # as it was read; None where there is none

    def __repr__(self) -> str:
        """Name the prediction and what it offers."""
        return f"{self.name}: .predict(guess), then .compare(measured)"

    @property
    def question(self) -> str:
        """The callout that stands above the cell."""
        return f"> **Predict.** {self.asks}"

    @property
    def blank(self) -> str:
        """The cell that a lesson gives to fill in."""
        return f"guess = None  # {self.form}\nex.{self.name}.predict(guess)"

    @property
    @abstractmethod
    def form(self) -> str:
        """What a guess may be, in a few words."""

    def predict(self, guess: Any = None) -> Text:
        """Take down what a learner expects; a new guess replaces the one before.

        Args:
            guess: One of the options, or a number; None where nothing is guessed.

        Returns:
            What was taken down. It says nothing of the answer.
        """
        value = None if is_blank(guess) else self._read(guess)
        self._guess = value if value is not None and self._allows(value) else None
        if is_blank(guess):
            text = f"{self.name}: no guess yet. Put one in place of None: {self.form}."
            return Text(fill(text), "not attempted")
        if self._guess is None:
            text = f"{self.name}: {shown(guess)} is not {self.form}. Nothing was taken down."
            return Text(fill(text), "wrong")
        return Text(fill(f"{self.name}: you expect {self._show(self._guess)}. Now see."))

    def compare(self, measured: Any) -> Text:
        """Say how the guess compares with what was just measured.

        Args:
            measured: The option that turned out to be true, or the number.

        Returns:
            The comparison; without a guess one line that gives nothing away.
        """
        if self._guess is None:
            return Text(f"{self.name}: there is no guess to compare.", "not attempted")
        found = self._read(measured)
        if found is None:  # a cell that was changed measures something else
            text = f"you expected {self._show(self._guess)}; it measured {shown(measured)}."
        else:
            text = self._verdict(self._guess, found)
        return Text(fill(f"{self.name}: {text}"))

    @abstractmethod
    def _read(self, given: Any) -> Any:
        """Read a guess or a measured value; None where it is neither."""

    def _allows(self, value: Any) -> bool:
        """Whether a guess may have this value."""
        return True

    @abstractmethod
    def _show(self, value: Any) -> str:
        """Write a value that was read."""

    @abstractmethod
    def _verdict(self, guess: Any, found: Any) -> str:
        """Say how the two compare."""


class Choice(Prediction):
    """A guess among named options.

    Args:
        name: See `Prediction`.
        asks: See `Prediction`; it says what each option means, where its name does not.
        options: The names, two or more.
    """

    def __init__(self, name: str, asks: str, *, options: tuple[str, ...]) -> None:
        super().__init__(name, asks)
        self.options = options

    @property
    def form(self) -> str:
        """The options, in quotation marks."""
        return listed(self.options)

    def _read(self, given: Any) -> str | None:
        word = as_word(given)
        return next((option for option in self.options if as_word(option) == word), None)

    def _show(self, value: str) -> str:
        return f'"{value}"'

    def _verdict(self, guess: str, found: str) -> str:
        if guess == found:
            return f'it is "{found}", as you expected.'
        return f'you expected "{guess}"; it is "{found}".'


class Number(Prediction):
    """A guess that is a number.

    Args:
        name: See `Prediction`.
        asks: See `Prediction`; it names the unit.
        low: The least that a guess may be.
        high: The most.
        near: How far from the measured value a guess may be and still count as near.
        unit: Written after a number, with its space; "%" where 70 stands for 70%.
        digits: Places after the point.
    """

    def __init__(
        self,
        name: str,
        asks: str,
        *,
        low: float,
        high: float,
        near: float,
        unit: str = "",
        digits: int = 0,
    ) -> None:
        super().__init__(name, asks)
        self.low, self.high, self.near = low, high, near
        self.unit, self.digits = unit, digits

    @property
    def form(self) -> str:
        """The range of numbers."""
        unit = f" ({self.unit.strip()})" if self.unit else ""
        return f"a number from {self.low:g} to {self.high:g}{unit}"

    def _read(self, given: Any) -> float | None:
        return as_number(given)

    def _allows(self, value: float) -> bool:
        return self.low <= value <= self.high

    def _show(self, value: float) -> str:
        return f"{value:.{self.digits}f}{self.unit}"

    def _verdict(self, guess: float, found: float) -> str:
        both = f"you expected {self._show(guess)}, measured {self._show(found)}"
        if abs(guess - found) <= self.near:
            return f"{both}: near."
        side = "high" if guess > found else "low"
        return f"{both}: too {side} by {abs(guess - found):.{self.digits}f}."
