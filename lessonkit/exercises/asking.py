"""What a lesson asks before it shows: predictions, and three questions on earlier lessons.

Not in the paper. The texts stand in `words/NN.toml`, with those of the exercises. Nothing here
raises, whatever is typed or measured. In a lesson `ex.gender_moved.predict(guess)` takes a guess
down, and the cell that measures ends in `ex.gender_moved.compare(lost)`: no answer is stored. The
questions on earlier lessons are shown by `ex.recall.answer(one=None, two=None, three=None)`, which
says of each answer whether it is right, why, and after a wrong one where to read again.
"""

import math
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lessonkit.exercises.check import Status, Text, fill, is_blank
from lessonkit.exercises.keep import note, noted
from lessonkit.exercises.outcome import shown

LETTERS = "abcdef"
WORDS = Path(__file__).parent / "words"
ROW = "{:6}  {:9}  {:15}  {:9}  {}"  # of the table of progress
CELL = "ex.recall.answer(one=None, two=None, three=None)"  # as a lesson gives it


def read_words(lesson: str) -> dict[str, Any]:
    """Read what a lesson, "02", says and asks: `words/NN.toml`, with its number under "lesson"."""
    text = (WORDS / f"{lesson}.toml").read_text(encoding="utf-8")
    return {"lesson": lesson, **tomllib.loads(text)}


def asked(words: dict[str, Any]) -> dict[str, Any]:
    """Make what a lesson asks, by name: predictions and `recall`; and `progress`, for all."""
    made: dict[str, Any] = {"progress": progress}
    if "recall" in words:
        made["recall"] = Recall(words["lesson"], [Question(**each) for each in words["recall"]])
    return made | {name: Prediction(name, **each) for name, each in words["predictions"].items()}


def progress() -> Text:
    """Show how far a learner is: what of each lesson is kept, right and predicted, and what next.

    It counts what has passed in cells run in this folder, with what `my_transformer.py` has.
    """
    right, predicted = map(set, noted().values())
    own = read_words("own")["exercises"]
    lines, coming = [ROW.format("lesson", "gaps kept", "exercises right", "predicted", "next")], []
    for path in sorted(WORDS.glob("[0-9][0-9].toml")):
        words = read_words(path.stem)
        asks = words["exercises"]
        gaps = [name for name, each in asks.items() if "gap" in each]
        others, guesses = [name for name in asks if name not in gaps], list(words["predictions"])
        gaps += [name for name, each in own.items() if each["lesson"] == path.stem]
        left = [name for name in gaps + others if name not in right]
        left = [f"my_{name}" if name in asks else name for name in left]
        left += [f"ex.{name}" for name in guesses if name not in predicted]
        pairs = (gaps, right), (others, right), (guesses, predicted)
        counts = [f"{len(done.intersection(each))} of {len(each)}" for each, done in pairs]
        lines.append(ROW.format(path.stem, *counts, left[0] if left else "done"))
        coming += [f"Next: {left[0]}, in lesson {path.stem}."] if left else []
    return Text("\n".join([*lines, *coming[:1]]))


@dataclass(repr=False)
class Prediction:
    """A figure or an option that a learner guesses first and then sees."""

    name: str  # what it is called in the lesson, after `ex.`
    asks: str  # the question, as it stands in the text above the cell (Markdown)
    options: Sequence[str] = ()  # what may be guessed; none where the guess is a number, and then:
    low: float = 0  # the least that a guess may be
    high: float = 0  # the most
    near: float = 0  # how far from the measured value a guess may be and still count as near
    unit: str = ""  # written after a number, with its space; "%" where 70 stands for 70%
    digits: int = 0  # places after the point
    _guess: Any = field(default=None, init=False)  # as it was read; None where there is none

    def __repr__(self) -> str:
        return f"{self.name}: .predict(guess), then .compare(measured)"

    @property
    def question(self) -> str:
        """The callout that stands above the cell."""
        return f"> **Predict.** {self.asks}"

    @property
    def form(self) -> str:
        """What a guess may be, in a few words."""
        if self.options:
            *most, last = map(self._show, self.options)
            return f"{', '.join(most)} or {last}"
        unit = f" ({self.unit.strip()})" if self.unit else ""
        return f"a number from {self.low:g} to {self.high:g}{unit}"

    @property
    def blank(self) -> str:
        """The cell that a lesson gives to fill in."""
        return f"guess = None  # {self.form}\nex.{self.name}.predict(guess)"

    def predict(self, guess: Any = None) -> Text:
        """Take down what a learner expects; a new guess replaces the one before."""
        self._guess = None
        if is_blank(guess):
            text = f"{self.name}: no guess yet. Put one in place of None: {self.form}."
            return Text(fill(text), "not attempted")
        value = self._read(guess)
        if value is None or not (self.options or self.low <= value <= self.high):
            text = f"{self.name}: {shown(guess)} is not {self.form}. Nothing was taken down."
            return Text(fill(text), "wrong")
        self._guess = value
        if hasattr(sys.modules["__main__"], "get_ipython"):
            note("predicted", self.name)
        return Text(fill(f"{self.name}: you expect {self._show(value)}. Now see."))

    def compare(self, measured: Any) -> Text:
        """Say how the guess compares with what was just measured; nothing without a guess."""
        if self._guess is None:
            return Text(f"{self.name}: there is no guess to compare.", "not attempted")
        return Text(fill(f"{self.name}: {self._verdict(measured)}"))

    def _verdict(self, measured: Any) -> str:
        found, guess = self._read(measured), self._guess
        expected = f"you expected {self._show(guess)}"
        if found is None:  # a cell that was changed measures something else
            return f"{expected}; it measured {shown(measured)}."
        if self.options:
            it_is = f"it is {self._show(found)}"
            return f"{it_is}, as you expected." if guess == found else f"{expected}; {it_is}."
        both = f"{expected}, measured {self._show(found)}"
        if abs(guess - found) <= self.near:
            return f"{both}: near."
        side = "high" if guess > found else "low"
        return f"{both}: too {side} by {abs(guess - found):.{self.digits}f}."

    def _read(self, given: Any) -> Any:
        """Read a guess or a measured value; None where it is neither."""
        if not self.options:
            return as_number(given)
        word = as_word(given)
        return next((option for option in self.options if as_word(option) == word), None)

    def _show(self, value: Any) -> str:
        return f'"{value}"' if self.options else f"{value:.{self.digits}f}{self.unit}"


@dataclass(frozen=True)
class Question:
    """A question on an earlier lesson: with answers to choose from, or with a number or a word."""

    asks: str  # it says what kind of answer it wants
    lesson: str  # where the answer stands: the lesson's number, "02"
    heading: str  # and the heading of the section there
    options: Sequence[tuple[str, str]] = ()  # each with why it is right, or what is wrong with it
    right: str = ""  # the letter of the right option; without options there are:
    answer: float | str = ""
    says: str = ""  # why it is right
    otherwise: str = ""  # what is said of a wrong answer that `wrong` does not hold
    wrong: Mapping[str, str] = field(default_factory=dict)  # the wrong answers that people give

    def judge(self, given: Any) -> tuple[Status, str]:
        """Judge an answer, and say why in a line; "" for an answer that was not given."""
        if is_blank(given):
            return "not attempted", ""
        name, is_right, says = self._chosen(given) if self.options else self._said(given)
        if not name:
            return "wrong", says
        if is_right:
            return "passed", f"{name}: right. {says}"
        again = f'Read again: lesson {self.lesson}, "{self.heading}".'
        return "wrong", f"{name}: no. {says} {again}"

    def rows(self) -> list[str]:
        """Write the answers to choose from with their letters, a row each."""
        pairs = zip(LETTERS, self.options, strict=False)
        return [fill(text, f"   {letter}  ") for letter, (text, _) in pairs]

    def _chosen(self, given: Any) -> tuple[str, bool, str]:
        """Name an answer, "" where it is of the wrong kind; judge it; and say why."""
        letters = LETTERS[: len(self.options)]
        letter = as_word(given).strip("(). ")
        if len(letter) != 1 or letter not in letters:
            return "", False, f'Answer with a letter, "a" to "{letters[-1]}".'
        return letter, letter == self.right, self.options[letters.index(letter)][1]

    def _said(self, given: Any) -> tuple[str, bool, str]:
        read, kind = (as_word, "word") if isinstance(self.answer, str) else (as_number, "number")
        value = read(given)
        if value is None or value == "":
            return "", False, f"Answer with a {kind}."
        name = as_word(given) or shown(given)
        if value == read(self.answer):
            return name, True, self.says
        mistakes = {read(mistake): says for mistake, says in self.wrong.items()}
        return name, False, mistakes.get(value, self.otherwise)


@dataclass(frozen=True, repr=False)
class Recall:
    """The three questions that open a lesson, given by its number, "02"."""

    lesson: str
    questions: Sequence[Question]

    def __repr__(self) -> str:
        return f"Three questions on earlier lessons: {CELL}"

    def answer(self, one: Any = None, two: Any = None, three: Any = None) -> Text:
        """Show the questions, and judge the answers given: letters, or what is asked for."""
        lines: list[str] = []
        statuses: list[Status] = []
        answered = zip(self.questions, (one, two, three), strict=True)
        for number, (question, given) in enumerate(answered, start=1):
            status, says = question.judge(given)
            lines += [fill(question.asks, f"{number}. "), *question.rows()]
            lines += [fill(says, "   -> ")] * bool(says) + [""]
            statuses.append(status)
        return counted(lines, statuses, "an answer")


def counted(lines: Sequence[str], statuses: Sequence[Status], what: str) -> Text:
    """Say under judged answers how many are right, and where there is still something to put."""
    right, open_ = statuses.count("passed"), statuses.count("not attempted")
    count = f"{right} of {len(statuses)} right" + (f", {open_} not attempted" if open_ else "")
    last = f"{count}. Put {what} in place of None." if open_ else f"{count}."
    whole: Status = "not attempted" if open_ else "passed"
    return Text("\n".join([*lines, last]), "wrong" if "wrong" in statuses else whole)


def as_number(given: Any) -> float | None:
    """Read a number: 3, "0.7", "70%", or a tensor that holds one; None where there is none."""
    if isinstance(given, bool):
        return None
    try:
        number = float(given.strip().removesuffix("%") if isinstance(given, str) else given)
    except Exception:  # a list, a word, a tensor of several, a value that refuses everything
        return None
    return number if math.isfinite(number) else None


def as_word(given: Any) -> str:
    """Read a word or a whole number as lower-case text; "" where it is neither."""
    if not isinstance(given, str):
        number = as_number(given) if isinstance(given, int | float) else None
        return "" if number is None else f"{number:g}"
    return " ".join(given.casefold().split())
