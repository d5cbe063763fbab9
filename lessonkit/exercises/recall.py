"""Three questions at a lesson's start, about the last lesson and the one before.

Not in the paper. Nothing here raises, whatever is answered. In a lesson:

    ex.recall.answer(one=None, two=None, three=None)

It shows the questions; under each that was answered it says whether the answer is right, why,
and after a wrong one where to read again.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lessonkit.exercises.check import Text
from lessonkit.exercises.outcome import shown
from lessonkit.exercises.typed import as_number, as_word, fill, is_blank

LETTERS = "abcdef"
CELL = "ex.recall.answer(one=None, two=None, three=None)"  # as a lesson gives it

Status = Literal["passed", "not attempted", "wrong", ""]


@dataclass(frozen=True)
class Place:
    """Where the answer stands.

    Attributes:
        lesson: The lesson's number, "02".
        heading: The heading of the section, as the lesson has it.
    """

    lesson: str
    heading: str

    def __str__(self) -> str:
        """Write it for a learner."""
        return f'lesson {self.lesson}, "{self.heading}"'


@dataclass(frozen=True)
class Option:
    """One of the answers to choose from.

    Attributes:
        text: The answer.
        says: Why it is right, or what is wrong with it, in a line.
        is_right: Whether it is the right one.
    """

    text: str
    says: str
    is_right: bool = False


@dataclass(frozen=True)
class Verdict:
    """What is said of an answer.

    Attributes:
        status: As in `Text`.
        says: The line; "" for an answer that was not given.
    """

    status: Status
    says: str = ""


class Question(ABC):
    """What any question of these has: `asks`, the text, and `again`, where to read."""

    asks: str
    again: Place

    @abstractmethod
    def rows(self) -> list[str]:
        """Write the answers to choose from, a row each."""

    @abstractmethod
    def judge(self, given: Any) -> Verdict:
        """Judge an answer."""


@dataclass(frozen=True)
class Choose(Question):
    """A question with answers to choose from.

    Attributes:
        asks: The question.
        again: Where to read again.
        options: The answers, exactly one of them right.
    """

    asks: str
    again: Place
    options: Sequence[Option]

    def rows(self) -> list[str]:
        """Write the options with their letters."""
        pairs = zip(LETTERS, self.options, strict=False)
        return [fill(each.text, f"   {letter}  ") for letter, each in pairs]

    def judge(self, given: Any) -> Verdict:
        """Judge a letter."""
        if is_blank(given):
            return Verdict("not attempted")
        letters = LETTERS[: len(self.options)]
        letter = as_word(given)
        if len(letter) != 1 or letter not in letters:
            return Verdict("wrong", f'Answer with a letter, "a" to "{letters[-1]}".')
        option = self.options[letters.index(letter)]
        if option.is_right:
            return Verdict("passed", f"{letter}: right. {option.says}")
        return Verdict("wrong", f"{letter}: no. {option.says} Read again: {self.again}.")


@dataclass(frozen=True)
class Say(Question):
    """A question with a number or a word for an answer.

    Attributes:
        asks: The question; it says what kind of answer it wants.
        again: Where to read again.
        answer: The right one.
        says: Why it is right.
        otherwise: What is said of a wrong answer that `wrong` does not hold.
        wrong: What is said of the wrong answers that people give.
    """

    asks: str
    again: Place
    answer: float | str
    says: str
    otherwise: str
    wrong: Mapping[float | str, str] = field(default_factory=dict)

    def rows(self) -> list[str]:
        """There is nothing to choose from."""
        return []

    def judge(self, given: Any) -> Verdict:
        """Judge a number or a word."""
        if is_blank(given):
            return Verdict("not attempted")
        read, kind = (as_word, "word") if isinstance(self.answer, str) else (as_number, "number")
        value = read(given)
        if value is None or value == "":
            return Verdict("wrong", f"Answer with a {kind}.")
        name = as_word(given) or shown(given)
        if value == read(self.answer):
            return Verdict("passed", f"{name}: right. {self.says}")
        mistakes = {read(mistake): says for mistake, says in self.wrong.items()}
        says = mistakes.get(value, self.otherwise)
        return Verdict("wrong", f"{name}: no. {says} Read again: {self.again}.")


class Recall:
    """The three questions of a lesson.

    Args:
        lesson: The number of the lesson that opens with them, "02".
        one: The first question.
        two: The second.
        three: The third.
    """

    def __init__(self, lesson: str, one: Question, two: Question, three: Question) -> None:
        self.lesson, self.questions = lesson, (one, two, three)

    def __repr__(self) -> str:
        """Name what it offers."""
        return f"Three questions on earlier lessons: {CELL}"

    def answer(self, one: Any = None, two: Any = None, three: Any = None) -> Text:
        """Show the questions, and judge what was answered.

        Args:
            one: The answer to the first: a letter, or what the question asks for.
            two: The answer to the second.
            three: The answer to the third.

        Returns:
            The questions and the verdicts; "passed" where all three are right.
        """
        verdicts = [
            question.judge(given)
            for question, given in zip(self.questions, (one, two, three), strict=True)
        ]
        lines: list[str] = []
        for number, (question, verdict) in enumerate(
            zip(self.questions, verdicts, strict=True), start=1
        ):
            lines += [fill(question.asks, f"{number}. "), *question.rows()]
            lines += [fill(verdict.says, "   -> ")] * bool(verdict.says) + [""]
        statuses = [verdict.status for verdict in verdicts]
        right, open_ = statuses.count("passed"), statuses.count("not attempted")
        count = f"{right} of 3 right" + (f", {open_} not attempted" if open_ else "")
        lines.append(f"{count}. Put an answer in place of None." if open_ else f"{count}.")
        return Text("\n".join(lines), _whole(statuses))


def _whole(statuses: Sequence[Status]) -> Status:
    if "wrong" in statuses:
        return "wrong"
    return "not attempted" if "not attempted" in statuses else "passed"
