"""Three questions on earlier lessons, with which a lesson opens (not in the paper).

`ex.earlier_lessons_quiz.answer(one=None, two=None, three=None)` shows them. It says of each answer
whether it is right and why, and after a wrong one where to read again. Nothing here raises,
whatever is typed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lessonkit.exercises.answers import is_blank, parse_number, to_lower_case_word
from lessonkit.exercises.message import AnswerStatus, Message, score_message, wrap_text
from lessonkit.exercises.outcome import format_short

OPTION_LETTERS = "abcdef"
ANSWER_CELL = (
    "ex.earlier_lessons_quiz.answer(one=None, two=None, three=None)"  # as a lesson offers it
)


@dataclass(frozen=True)
class Question:
    """A question on an earlier lesson, answered by a letter, a number or a word."""

    question: str  # it says what kind of answer it wants
    lesson: str  # the number of the lesson where the answer stands, "02"
    heading: str  # of the section there
    options: Sequence[tuple[str, str]] = ()  # each with why it is right, or what is wrong with it
    right: str = ""  # the letter of the right option; if there are no options:
    answer: float | str = ""
    why: str = ""  # it is right
    wrong_answers: Mapping[str, str] = field(default_factory=dict)  # likely ones: what is said
    other_answers: str = ""  # what is said of any other wrong answer

    def judge(self, answer: Any) -> tuple[AnswerStatus, str]:
        """Judge an answer, and say why in a line; "" if nothing was answered."""
        if is_blank(answer):
            return "not attempted", ""
        name, is_right, comment = (self._judge_letter if self.options else self._judge_value)(
            answer
        )
        if not name:
            return "wrong", comment
        if is_right:
            return "passed", f"{name}: right. {comment}"
        again = f'Read again: lesson {self.lesson}, "{self.heading}".'
        return "wrong", f"{name}: no. {comment} {again}"

    def lettered_options(self) -> list[str]:
        """Return the options with their letters, a row each."""
        pairs = zip(OPTION_LETTERS, self.options, strict=False)
        return [wrap_text(text, f"   {letter}  ") for letter, (text, _) in pairs]

    def _judge_letter(self, answer: Any) -> tuple[str, bool, str]:
        """Return an answer's name ("" if it is of the wrong kind), whether it is right, and why."""
        letters = OPTION_LETTERS[: len(self.options)]
        letter = to_lower_case_word(answer).strip("(). ")
        if len(letter) != 1 or letter not in letters:
            return "", False, f'Answer with a letter, "a" to "{letters[-1]}".'
        return letter, letter == self.right, self.options[letters.index(letter)][1]

    def _judge_value(self, answer: Any) -> tuple[str, bool, str]:
        """Return the same of a number or a word."""
        read, kind = (
            (to_lower_case_word, "word")
            if isinstance(self.answer, str)
            else (parse_number, "number")
        )
        value = read(answer)
        if value is None or value == "":
            return "", False, f"Answer with a {kind}."
        name = to_lower_case_word(answer) or format_short(answer)
        if value == read(self.answer):
            return name, True, self.why
        comments = {read(wrong): comment for wrong, comment in self.wrong_answers.items()}
        return name, False, comments.get(value, self.other_answers)


@dataclass(frozen=True, repr=False)
class Quiz:
    """The three questions that open a lesson, given by its number, "02"."""

    lesson: str
    questions: Sequence[Question]

    def __repr__(self) -> str:
        return f"Three questions on earlier lessons: {ANSWER_CELL}"

    def answer(self, one: Any = None, two: Any = None, three: Any = None) -> Message:
        """Print the questions, and judge the answers: letters, or what is asked for."""
        lines: list[str] = []
        statuses: list[AnswerStatus] = []
        answered = zip(self.questions, (one, two, three), strict=True)
        for number, (question, answer) in enumerate(answered, start=1):
            status, comment = question.judge(answer)
            lines += [wrap_text(question.question, f"{number}. "), *question.lettered_options()]
            if comment:
                lines.append(wrap_text(comment, "   -> "))
            lines.append("")
            statuses.append(status)
        return score_message(lines, statuses, "an answer").printed()
